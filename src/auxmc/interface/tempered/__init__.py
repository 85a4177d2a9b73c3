"""Evidence by chains that temper between a target and a base: the base, its annealed runs, the chains, the advice."""

CHAINS = ("simulated_tempering", "gibbs_continuous_tempering", "continuously_tempered_hmc")
"""Methods whose chains move between the target and a Gaussian base."""
METHODS = ("annealed_importance", *CHAINS)
"""Methods of `evidence`, the default first."""
