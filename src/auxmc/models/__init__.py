"""Target densities, their estimators and their data."""
