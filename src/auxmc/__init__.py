"""Auxiliary-variable Markov chain Monte Carlo and evidence estimation, as reproducible experiments."""

__version__ = "0.1.0"
