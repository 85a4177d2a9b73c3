"""Models in which all laws are Gaussian, with exact answers to compare with."""
