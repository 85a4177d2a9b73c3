"""Evidence of streams by stochastic-gradient annealed importance sampling, and its rivals."""
