"""Stochastic Lotka-Volterra model: exact conditioning on a manifold against approximate Bayesian computation."""
