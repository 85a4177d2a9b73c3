"""From a study's claims and tables to verdicts: judged, counted, kept, and the check of the checks."""
