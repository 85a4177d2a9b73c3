"""Contracts of models, and models by family."""
