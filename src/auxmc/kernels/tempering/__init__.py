"""Continuous and simulated tempering, and annealed importance sampling."""
