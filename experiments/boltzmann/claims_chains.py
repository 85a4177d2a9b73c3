"""Measures the claims about what chains and annealed runs do, their time, temperatures and weights.

CT-B19, CT-B20, CT-B23, CT-T06, CT-T17, CT-T23, CT-T24.
"""

from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import bootstrap, jackknife, mean_over_replicates
from auxmc_pipeline.tables import MissingData, Tables, Wanted
from experiments.boltzmann.model.data import N_SYSTEMS
from experiments.boltzmann.relative_errors import METHOD_LABELS, cost_per_repeat, of_grid

_LADDERS = (50, 200, 1000, 5000)


def mean_over_systems(
    tables: Tables, grid: str, quantity: str, method: str, note: str, **wanted: Wanted
) -> Measurement:
    """Mean over systems, which stand for all that the recipe makes."""
    return mean_over_replicates(_by_system(tables, grid, quantity, method=method, **wanted), note)


def seconds_ratio(tables: Tables, method: str) -> Measurement:
    """CT-B20: time of a method over that of Gibbs continuous tempering."""
    seconds, unit = (cost_per_repeat(tables, name, "seconds_per_repeat") for name in (method, "gibbs_ct"))
    return Measurement(seconds / unit, np.nan, "time per sample over that of Gibbs CT")


def thousand_temperatures(tables: Tables) -> Measurement:
    """CT-B23: errors with 1000 temperatures over those with the best number of them, repeats left out in turn."""
    ladder = of_grid(tables.summary, "ladder")
    # The error of the log normaliser is the noisiest by far: only moments are compared.
    errors = np.stack(
        [
            ladder.array("error_by_target_weights", "coordinate", "repeat", "system", n_temperatures=k)
            .sel(coordinate=["mean", "covariance"])
            .values
            for k in _LADDERS
        ]
    )

    def ratio(repeats: IntegerArray) -> float:
        means = errors[:, :, repeats].mean(axis=(2, 3))
        return float(np.max(means[_LADDERS.index(1000)] / means.min(axis=0)))

    by_length = errors.mean(axis=(1, 2, 3))
    each = "; ".join(f"K = {k}: {mean:.2f}" for k, mean in zip(_LADDERS, by_length, strict=True))
    return jackknife(ratio, errors.shape[2], f"largest ratio to the best K; mean error by K: {each}")


def base_moments(tables: Tables) -> Measurement:
    """CT-T06: largest distance of a base mean from its known value in standard errors."""
    chains = of_grid(tables.summary, "chains")
    # A method that does not visit the base has no base moments.
    found = chains.rows("base_mean_z").dropna(subset=["value"])
    worst = found.iloc[int(np.argmax(found["value"]))]
    n = int(len(found) * chains.rows("dimension")["value"].mean())
    where = f"{METHOD_LABELS[str(worst['method'])]}, system {worst['system']:.0f}"
    return bootstrap(np.max, found["value"].to_numpy(), f"largest of about {n} coordinates: {where}")


def narrowing_weights(tables: Tables, method: str) -> Measurement:
    """CT-T17: largest ratio of the spread of log weights to that with the next smaller number of temperatures."""
    found = of_grid(tables.summary, "annealed").array(
        "log_weight_sd", "n_temperatures", "system", method=method
    )
    spread = found.sortby("n_temperatures")
    if len(spread) < 2:
        raise MissingData("two numbers of temperatures: not run at this preset")

    def ratios(systems: IntegerArray) -> FloatArray:
        means = spread.values[:, systems].mean(axis=1)
        return np.asarray(means[1:] / means[:-1], dtype=np.float64)

    n = spread.sizes["system"]
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios(np.arange(n)))
    lengths = " to ".join(f"{k:.0f}" for k in spread["n_temperatures"].values)
    return jackknife(lambda systems: float(ratios(systems).max()), n, f"K = {lengths}: {each}; {n} systems")


def integrated_weights(tables: Tables, other: str) -> Measurement:
    """CT-T23 and CT-T24: error with the temperature integrated out over that by other weights, the largest of all.

    Args:
        tables: of the study.
        other: quantity that holds the errors by the other weights.
    """
    chains = of_grid(tables.summary, "chains")
    integrated, others = (
        chains.array(quantity, "coordinate", "system", "repeat", method="st")
        .sel(coordinate=["mean", "covariance"])
        .values
        for quantity in ("error_by_target_weights", other)
    )
    # No visit at all in a group is no estimate: the other weights lose.
    others = np.where(np.isfinite(others), others, np.inf)
    n_systems, n_repeats = integrated.shape[1:]
    if n_systems < N_SYSTEMS:
        raise MissingData(f"{n_systems} of the {N_SYSTEMS} published systems: not run at this preset")

    def ratios(repeats: IntegerArray) -> FloatArray:
        above, below = (values[:, :, repeats].mean(axis=2) for values in (integrated, others))
        return np.asarray(above / below, dtype=np.float64)

    below_one = (ratios(np.arange(n_repeats)) < 1.0).sum(axis=1)
    note = f"systems below 1: mean {below_one[0]}, covariance {below_one[1]} of {n_systems}"
    return jackknife(lambda repeats: float(ratios(repeats).max()), n_repeats, note)


def _by_system(tables: Tables, grid: str, quantity: str, **wanted: Wanted) -> FloatArray:
    return np.asarray(of_grid(tables.summary, grid).array(quantity, "system", **wanted), dtype=np.float64)


MEASURE: Measures = {
    "CT-B19": {
        "AIS runs": partial(
            mean_over_systems,
            grid="annealed",
            quantity="settled_share",
            method="h_ais",
            n_temperatures=1000,
            note="AIS as drawn, K = 1000: fraction of runs that end with the signs they had halfway",
        ),
        "CT chains": partial(
            mean_over_systems,
            grid="chains",
            quantity="pattern_change_rate",
            method="gibbs_ct",
            note="Gibbs CT: fraction of pairs of samples, both with b > 1/2, whose signs differ",
        ),
    },
    "CT-B20": {"ST": partial(seconds_ratio, method="st"), "CT-HMC": partial(seconds_ratio, method="ct_hmc")},
    "CT-B23": {"K = 1000": thousand_temperatures},
    "CT-T06": {"chains": base_moments},
    "CT-T17": {
        "AIS as drawn": partial(narrowing_weights, method="h_ais"),
        "AIS, 20 steps": partial(narrowing_weights, method="ais_20"),
    },
    "CT-T23": {"visits": partial(integrated_weights, other="error_by_visits_weights")},
    "CT-T24": {"naive weights": partial(integrated_weights, other="error_by_naive_weights")},
}
