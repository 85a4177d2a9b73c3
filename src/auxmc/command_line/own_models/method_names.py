"""Methods that the commands offer, repeated from the interface so that the help needs none of its libraries."""

__all__ = ["EVIDENCE_METHODS", "METHODS"]

METHODS = {
    "simulator": ("constrained_hmc", "constrained_nuts"),
    "estimate": ("auxiliary_pseudo_marginal", "pseudo_marginal"),
    "density": ("hmc",),
}
"""Methods for each kind of model, the default first; a test holds them equal to what there is."""

EVIDENCE_METHODS = (
    "annealed_importance",
    "simulated_tempering",
    "gibbs_continuous_tempering",
    "continuously_tempered_hmc",
)
"""Methods of `auxmc evidence`, the default first."""
