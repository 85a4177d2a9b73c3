"""Gaussian process probit regression: pseudo-marginal and auxiliary pseudo-marginal methods."""
