"""Deterministic approximations to posterior distributions."""
