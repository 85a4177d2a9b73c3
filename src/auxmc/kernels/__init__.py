"""Markov transition operators: pure `init`, `draw`, `apply` and `step`."""
