"""Stable special functions and structured linear algebra."""
