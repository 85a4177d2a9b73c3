"""Densities with two modes, and the exact answers of bridges to them."""
