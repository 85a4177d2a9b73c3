"""Measures the claims about kernels and stochastic gradients: SE-01 to SE-09 and SE-22."""

from collections.abc import Callable
from functools import partial

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures, recorded
from auxmc_pipeline.error_rules import (
    difference,
    mean_over_replicates,
    paired_ratio,
    ratio_of_means,
)
from auxmc_pipeline.tables import Tables, Wanted

_HMC, _RANDOM_WALK = {"method": "hmc"}, {"method": "random_walk"}
_SGHMC, _SGLD = {"dynamics": "sghmc"}, {"dynamics": "sgld"}


def _of_chains(tables: Tables, quantity: str, **wanted: Wanted) -> FloatArray:
    return tables.summary.array(quantity, "chain", **wanted).values


def _ratio(quantity: str, over: dict[str, str], under: dict[str, str], tables: Tables) -> Measurement:
    """Ratio of two means over chains."""
    first, second = (_of_chains(tables, quantity, **wanted) for wanted in (over, under))
    return ratio_of_means(first, second, f"{first.mean():.4g} and {second.mean():.4g}")


def _difference_of_smoothness(tables: Tables) -> Measurement:
    a, b = (mean_over_replicates(_of_chains(tables, "turning_cosine", **name)) for name in (_SGHMC, _SGLD))
    return difference(a, b, f"{a.value:.4g} and {b.value:.4g}")


def _variance(configuration: str, tables: Tables) -> Measurement:
    """Stationary variance times curvature, which is 1."""
    expected = tables.summary.value("variance_expected", configuration=configuration)
    found = _of_chains(tables, "variance", configuration=configuration)
    return mean_over_replicates(found, f"formula {expected:.5g}")


def _inflation(n_rows: int, tables: Tables) -> Measurement:
    """Variance with mini-batches over the posterior's."""
    expected = tables.summary.value("inflation_expected", n_rows=n_rows)
    return mean_over_replicates(_of_chains(tables, "inflation", n_rows=n_rows), f"formula {expected:.5g}")


def _growth(used: str, tables: Tables) -> Measurement:
    """Mean square in the last tenth of the chains over that in the second tenth of the same chains."""
    early, late = (
        _of_chains(tables, "variance_by_time", friction_used=used, tenth=tenth) for tenth in (1, 9)
    )
    return paired_ratio(late, early, f"{early.mean():.4g} to {late.mean():.4g}; target 1")


MEASURE: Measures = {
    "SE-01": {
        "squared jump": partial(_ratio, "squared_jump_per_evaluation", _HMC, _RANDOM_WALK),
        "autocorrelation time": partial(_ratio, "autocorrelation_time", _RANDOM_WALK, _HMC),
    },
    "SE-02": {
        "round trip": recorded("round_trip_error", exact=True),
        "volume": recorded("jacobian_error", exact=True),
        "acceptance": recorded("acceptance_error", exact=True),
    },
    "SE-03": {"largest difference": recorded("langevin_error", exact=True)},
    "SE-04": {"largest difference": recorded("friction_one_error", exact=True)},
    "SE-05": {"limit of small steps": partial(_variance, "step 0.01")},
    "SE-06": {f"{n_rows} rows": partial(_inflation, n_rows) for n_rows in (200, 2000, 20_000, 200_000)},
    "SE-07": {
        "growth without friction": partial(_growth, "frictionless"),
        "growth with friction": partial(_growth, "uncorrected"),
    },
    "SE-08": {
        "autocorrelation time": partial(_ratio, "gradient_autocorrelation_time", _SGHMC, _SGLD),
        "distance after 100 steps": partial(_ratio, "displacement", _SGHMC, _SGLD),
        "smoothness": _difference_of_smoothness,
    },
    "SE-09": {"as printed: the noise variance": partial(_variance, "overcorrected")},
    "SE-22": {"largest violation": recorded("size_violation", exact=True)},
}

NUMBERS: dict[str, Callable[[Tables], Measurement]] = {
    **{
        f"inflation at {n_rows} rows": recorded("inflation_expected", exact=True, n_rows=n_rows)
        for n_rows in (200, 2000, 20_000, 200_000)
    },
    "length of the path of SGHMC over that of SGLD": partial(_ratio, "travelled_length", _SGHMC, _SGLD),
    "variance left by half the correction": partial(_variance, "corrected"),
    "variance at the smallest step": recorded("variance_expected", exact=True, configuration="step 0.01"),
}
