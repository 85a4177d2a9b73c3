"""Illustrations of exact and approximate conditioning on two-dimensional inputs."""
