"""Kernels with exact draws of what they leave invariant, next to broken versions that the checks must notice."""
