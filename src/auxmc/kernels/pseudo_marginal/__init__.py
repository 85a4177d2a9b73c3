"""Pseudo-marginal and auxiliary pseudo-marginal updates."""
