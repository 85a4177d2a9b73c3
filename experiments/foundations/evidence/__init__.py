"""Topics on tempering paths, estimators of the evidence, nested sampling and particle filters."""
