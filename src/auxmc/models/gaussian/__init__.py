"""Models in which all distributions are Gaussian, with exact answers to compare with."""
