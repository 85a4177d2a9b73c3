"""Generative models of images."""
