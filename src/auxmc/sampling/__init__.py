"""Draws without a Markov chain: transforms, rejection, weights, resampling."""
