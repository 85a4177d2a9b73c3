"""Gaussian latent variable model: pseudo-marginal and auxiliary pseudo-marginal methods."""
