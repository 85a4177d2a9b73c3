"""Comparisons next to plain programs and other packages: `python -m benchmarks --help`, `docs/benchmarks.md`."""
