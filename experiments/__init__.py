"""Numerical studies: one folder each, all of the same form."""
