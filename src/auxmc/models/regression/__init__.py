"""Regression and classification."""
