"""Measures the claims of the study from its tables."""

from functools import partial

from auxmc_pipeline.measuring import Measurement, estimate, mean
from auxmc_pipeline.tables import Tables


def mass_on_the_right(tables: Tables, case: str) -> Measurement:
    """MX-01: fraction of draws with x_1 > 0."""
    return mean(tables.values("fraction_right", case=case))


def efficiency_ratio(tables: Tables) -> Measurement:
    """MX-02: effective samples an iteration, HMC over random walk."""
    above, below = (tables.values("ess_per_iteration", case=case) for case in ("hmc", "random_walk"))
    return estimate(lambda a, b: a.mean() / b.mean(), above, below)


MEASURE = {
    "MX-01": {case: partial(mass_on_the_right, case=case) for case in ("hmc", "random_walk")},
    "MX-02": {"HMC over random walk": efficiency_ratio},
}

NUMBERS = {"mean of x_1 by HMC": lambda tables: mean(tables.values("chain_mean", case="hmc"))}
