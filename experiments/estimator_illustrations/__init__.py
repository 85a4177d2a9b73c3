"""Kernels and simple estimators of the evidence where everything is known."""
