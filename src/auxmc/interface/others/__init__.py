"""Kernels of other packages here, and ours in their form."""
