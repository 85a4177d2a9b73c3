"""Measures the claims about kernels and stochastic gradients: SE-01 to SE-09 and SE-22."""

from collections.abc import Callable
from functools import partial

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures, recorded
from auxmc_pipeline.error_rules import (
    difference,
    largest,
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


def _variance_over_formula(configuration: str, tables: Tables) -> Measurement:
    """Measured stationary variance over the closed form, less 1."""
    expected = tables.summary.value("variance_expected", configuration=configuration)
    found = _variance(configuration, tables)
    note = f"{found.value:.5g}, {found.note}"
    return Measurement(found.value / expected - 1.0, found.error / expected, note)


def _inflation(n_rows: int, tables: Tables) -> Measurement:
    """Variance with mini-batches over the posterior's."""
    expected = tables.summary.value("inflation_expected", n_rows=n_rows)
    return mean_over_replicates(_of_chains(tables, "inflation", n_rows=n_rows), f"formula {expected:.5g}")


def _inflation_over_formula(tables: Tables) -> Measurement:
    """Largest relative distance of the measured inflation from 1 + n / 2000."""
    distances, errors, names = [], [], []
    for expected in tables.summary.array("inflation_leading", "n_rows"):
        n_rows = float(expected["n_rows"])
        mean = mean_over_replicates(_of_chains(tables, "inflation", n_rows=n_rows) / float(expected))
        distances.append(abs(mean.value - 1.0))
        errors.append(mean.error)
        names.append(f"at {n_rows:.0f} rows")
    return largest(distances, errors, names)


def _growth(used: str, tables: Tables) -> Measurement:
    """Mean square in the last tenth of the chains over that in the second tenth of the same chains."""
    early, late = (
        _of_chains(tables, "variance_by_time", friction_used=used, tenth=tenth) for tenth in (1, 9)
    )
    return paired_ratio(late, early, f"{early.mean():.4g} to {late.mean():.4g}; target 1")


def _growth_rate(tables: Tables) -> Measurement:
    """Rise of the mean square between the first and the last tenth over eta g / 2 a step."""
    early, late = (
        _of_chains(tables, "variance_by_time", friction_used="frictionless", tenth=tenth) for tenth in (0, 9)
    )
    rate = 9.0 * tables.summary.value("variance_rate_expected")
    return mean_over_replicates((late - early) / rate)


MEASURE: Measures = {
    "SE-01": {
        "squared jump": partial(_ratio, "squared_jump_per_evaluation", _HMC, _RANDOM_WALK),
        "autocorrelation time": partial(_ratio, "autocorrelation_time", _RANDOM_WALK, _HMC),
    },
    "SE-02": {
        "round trip": recorded("round_trip_error", exact=True),
        "volume": recorded("jacobian_error", exact=True),
        "acceptance": recorded("acceptance_error", exact=True),
        "order of the energy error": recorded("energy_order", "energy_order_error"),
    },
    "SE-03": {"largest difference": recorded("langevin_error", exact=True)},
    "SE-04": {"largest difference": recorded("friction_one_error", exact=True)},
    "SE-05": {
        "limit of small steps": partial(_variance, "step 0.01"),
        **{
            f"formula at {step}": partial(_variance_over_formula, f"step {step}")
            for step in ("0.01", "0.1", "0.5", "1.5", "3")
        },
    },
    "SE-06": {
        "farthest from 1 + n / 2000": _inflation_over_formula,
        **{f"{n_rows} rows": partial(_inflation, n_rows) for n_rows in (200, 2000, 20_000, 200_000)},
    },
    "SE-07": {
        "growth without friction": partial(_growth, "frictionless"),
        "growth with friction": partial(_growth, "uncorrected"),
        "rate of growth": _growth_rate,
    },
    "SE-08": {
        "autocorrelation time": partial(_ratio, "gradient_autocorrelation_time", _SGHMC, _SGLD),
        "distance after 100 steps": partial(_ratio, "displacement", _SGHMC, _SGLD),
        "length of the path": partial(_ratio, "travelled_length", _SGHMC, _SGLD),
        "smoothness": _difference_of_smoothness,
    },
    "SE-09": {
        "corrected: half the noise variance": partial(_variance, "corrected"),
        "as printed: the noise variance": partial(_variance, "overcorrected"),
        "formula uncorrected": partial(_variance_over_formula, "uncorrected"),
        "formula over-corrected": partial(_variance_over_formula, "overcorrected"),
    },
    "SE-22": {"largest violation": recorded("size_violation", exact=True)},
}

NUMBERS: dict[str, Callable[[Tables], Measurement]] = {
    **{
        f"inflation at {n_rows} rows": recorded("inflation_expected", exact=True, n_rows=n_rows)
        for n_rows in (200, 2000, 20_000, 200_000)
    },
    "variance left by the whole correction": recorded(
        "variance_expected", exact=True, configuration="overcorrected"
    ),
    "variance at the smallest step": recorded("variance_expected", exact=True, configuration="step 0.01"),
}
