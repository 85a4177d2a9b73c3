"""Settings, cases, block-wise driver, result files and provenance."""
