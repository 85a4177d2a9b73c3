"""Generalised lambda distribution: exact conditioning against approximate Bayesian computation."""
