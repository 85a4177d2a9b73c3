"""The report of a preset: one self-contained page with findings, figures, claims and provenance."""
