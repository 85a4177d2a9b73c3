"""A Gaussian mean with known evidence, and annealing with perfect moves."""
