"""Evidence by chains that temper between a target and a base: the base, its annealed runs, the chains, the advice."""
