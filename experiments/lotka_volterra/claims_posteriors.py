"""Measures the claims about posterior distributions: IM-LV-09, IM-LV-10, IM-LV-12 to IM-LV-14.

Standard deviations and distances of a method come with the spread over its chains; so do means, but for those of exact
methods, whose draws are nearly independent.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import (
    bootstrap,
    bootstrap_groups,
    difference,
    fraction_of_trials,
    jackknife,
    largest,
    left_out,
    mean_over_replicates,
    ratio,
    smallest,
)
from auxmc_pipeline.tables import Tables
from experiments.lotka_volterra.claims_convergence import largest_psrf
from experiments.lotka_volterra.lookup import (
    ABC_ROWS,
    COORDINATES,
    LOG_GENERATING,
    ROWS,
    by_chain,
    by_rate,
    known,
    without_chain,
)


def _exact(quantity: str, scheme: str, tables: Tables) -> FloatArray:
    """A moment of the exact posterior given all data [rate]."""
    found = known(tables.summary, quantity, scheme=scheme).groupby("coordinate")["value"].first()
    return np.asarray(found.reindex(list(COORDINATES)), dtype=np.float64)


def _posterior_mean(rate: int, tables: Tables) -> Measurement:
    """Posterior mean of a log rate under constrained HMC on all data."""
    mean, error = (by_rate(tables, name, "all")[rate] for name in ("posterior_mean", "mcse_mean"))
    exact_mean = _exact("exact_mean", "code", tables)[rate]
    return Measurement(float(mean), float(error), f"exact value {exact_mean:.4f}")


def _posterior_sd(rate: int, tables: Tables) -> Measurement:
    """Posterior standard deviation of a log rate under constrained HMC on all data."""
    exact_sd = _exact("exact_sd", "code", tables)[rate]
    return _sd("all", rate, tables)._replace(note=f"exact value {exact_sd:.4f}")


def _sd(row: str, rate: int, tables: Tables) -> Measurement:
    moments = _chain_moments(row, tables)
    return jackknife(lambda kept: float(_pooled_sds(moments[kept])[rate]), len(moments))


def _chain_moments(row: str, tables: Tables) -> FloatArray:
    """Means and standard deviations of the log rates of each chain [chain, 2, rate]."""
    moments = [by_chain(tables, quantity, row).T for quantity in ("chain_mean", "chain_sd")]
    return np.stack(moments, axis=1)


def _pooled_sds(moments: FloatArray) -> FloatArray:
    """Standard deviations of the draws of all chains together [rate], from moments [chain, 2, rate]."""
    means, sds = moments[:, 0], moments[:, 1]
    return np.asarray(np.sqrt(np.mean(np.square(sds), axis=0) + np.var(means, axis=0)))


def _z_scores(row: str, tables: Tables) -> dict[str, Measurement]:
    """Distances of means from the generating values, in posterior standard deviations."""
    mean, sd, error = (by_rate(tables, name, row) for name in ("posterior_mean", "posterior_sd", "mcse_mean"))
    return _by_name(np.abs(mean - LOG_GENERATING) / sd, error / sd)


def _by_name(values: FloatArray, errors: FloatArray) -> dict[str, Measurement]:
    """Measurements [rate] by log rate."""
    return {name: Measurement(float(values[i]), float(errors[i])) for i, name in enumerate(COORDINATES)}


def _largest_of(found: Mapping[str, Measurement]) -> Measurement:
    return largest([one.value for one in found.values()], [one.error for one in found.values()], list(found))


def _smallest_of(found: Mapping[str, Measurement]) -> Measurement:
    return smallest([one.value for one in found.values()], [one.error for one in found.values()], list(found))


def _largest_z_score(row: str, tables: Tables) -> Measurement:
    found = _largest_of(_z_scores(row, tables))
    return found._replace(note=f"largest at {found.note}")


def _distances_from_exact(row: str, scheme: str, tables: Tables) -> dict[str, Measurement]:
    """Distances of means of chains under scheme code from exact ones, in exact standard deviations."""
    mean, error = (by_rate(tables, name, row) for name in ("posterior_mean", "mcse_mean"))
    exact_mean, sd = (_exact(quantity, scheme, tables) for quantity in ("exact_mean", "exact_sd"))
    return _by_name(np.abs(mean - exact_mean) / sd, error / sd)


def _log_z4_from_exact(scheme: str, tables: Tables) -> Measurement:
    return _distances_from_exact("all", scheme, tables)["log z4"]._replace(note="in posterior sds")


def _sd_ratio(rate: int, tables: Tables) -> Measurement:
    """Standard deviation given the summaries over that given all data."""
    return ratio(_sd("summaries", rate, tables), _sd("all", rate, tables))


def _smallest_sampled(tables: Tables) -> Measurement:
    by_rate_and_chain = by_chain(tables, "smallest", "pm_normalised")
    return bootstrap(np.min, by_rate_and_chain[3], "smallest log z4 of the kept iterations of all chains")


def _fraction_below(tables: Tables) -> Measurement:
    """Fraction of draws of log z4 below the generating value; its error knows chains and number of draws."""
    fractions = by_chain(tables, "share_below_generating", "pm_normalised")[3]
    n_draws = by_chain(tables, "ess", "pm_normalised")[3].sum()
    between = mean_over_replicates(fractions)
    within = fraction_of_trials(between.value, n_draws)
    return between._replace(error=max(between.error, within.error), note=f"{n_draws:.0f} effective draws")


def _place_in_interval(rate: int, tables: Tables) -> Measurement:
    """Where the generating value lies in the central 95 % of a chain, from its lower (0) to its upper end (1)."""
    low, high = (
        by_chain(tables, name, "pm_normalised")[rate] for name in ("lower_quantile", "upper_quantile")
    )
    return mean_over_replicates((LOG_GENERATING[rate] - low) / (high - low), "mean over chains")


def _listed(quantity: str, tables: Tables) -> str:
    return "; ".join(
        f"{ROWS[row].label} {', '.join(f'{value:.2f}' for value in by_rate(tables, quantity, row))}"
        for row in ABC_ROWS
    )


def _moments_of_moving_chains(row: str, tables: Tables) -> FloatArray:
    """Moments [chain, 2, rate] of the chains that accepted something."""
    return _chain_moments(row, tables)[by_chain(tables, "acceptance", row) > 0.0]


def _typical_sds(moments: FloatArray) -> FloatArray:
    """Standard deviations [rate] that a chain finds, the median over chains, from moments [chain, 2, rate].

    Not of all chains together: one that stands still far off would decide it.
    """
    return np.asarray(np.median(moments[:, 1], axis=0))


def _wider_than_exact(tables: Tables) -> Measurement:
    exact_sds = _exact("exact_sd", "code", tables)
    return bootstrap_groups(
        lambda *chains: min(np.min(_typical_sds(moments) / exact_sds) for moments in chains),
        *(_moments_of_moving_chains(row, tables) for row in ABC_ROWS),
        note=f"sds of a chain {_listed_sds(tables)}",
    )


def _ball_100_widest(tables: Tables) -> Measurement:
    """Smallest ratio of its standard deviations to those of the other ABC methods."""
    others = [row for row in ABC_ROWS if row != "ball_100"]
    return bootstrap_groups(
        lambda widest, *chains: min(np.min(_typical_sds(widest) / _typical_sds(one)) for one in chains),
        *(_moments_of_moving_chains(row, tables) for row in ("ball_100", *others)),
        note=f"sds of a chain {_listed_sds(tables)}",
    )


def _narrower_than_summary_abc(tables: Tables) -> Measurement:
    return bootstrap_groups(
        lambda wide, *chains: max(np.max(_typical_sds(one) / _typical_sds(wide)) for one in chains),
        *(_moments_of_moving_chains(row, tables) for row in ("pm_normalised", *ABC_ROWS)),
        note=f"sds of a chain {_listed_sds(tables)}",
    )


def _listed_sds(tables: Tables) -> str:
    return "; ".join(
        f"{ROWS[row].label} {', '.join(f'{sd:.2f}' for sd in _typical_sds(_moments_of_moving_chains(row, tables)))}"
        for row in ABC_ROWS
    )


def _abc_near_generating(tables: Tables) -> Measurement:
    """Largest distance of a method's mean from a generating value, medians over chains of mean and sd."""

    def distance(*chains: FloatArray) -> float:
        return max(
            np.max(np.abs(np.median(one[:, 0], axis=0) - LOG_GENERATING) / _typical_sds(one))
            for one in chains
        )

    return bootstrap_groups(distance, *(_moments_of_moving_chains(row, tables) for row in ABC_ROWS))


def _nearest(tables: Tables) -> Measurement:
    """Distance of the ball of radius 10 from the exact posterior less that of the nearest other, log z1 and z2."""
    distances = {}
    for row in ABC_ROWS:
        together = by_rate(tables, "total_variation", row)
        without = without_chain("total_variation_without_chain", row, tables)
        distances[row] = left_out(float(together[:2].mean()), without[:2].mean(axis=0))
    ball_10 = distances.pop("ball_10")
    note = f"total variation distances {_listed('total_variation', tables)}"
    return difference(ball_10, _smallest_of(distances), note)


def _least_mixed(tables: Tables) -> Measurement:
    return largest_psrf(slice(2, None), "ball_10", tables, "PSRF of log z3 and z4, the larger")


MEASURE: Measures = {
    "IM-LV-09": {
        "smallest log z4": _smallest_sampled,
        "fraction below, log z4": _fraction_below,
        **{f"place of {name}": partial(_place_in_interval, i) for i, name in enumerate(COORDINATES[:3])},
    },
    "IM-LV-10": {
        **{f"mean {name}": partial(_posterior_mean, i) for i, name in enumerate(COORDINATES)},
        **{f"sd {name}": partial(_posterior_sd, i) for i, name in enumerate(COORDINATES)},
        "z-score, all": partial(_largest_z_score, "all"),
        "z-score, summaries": partial(_largest_z_score, "summaries"),
    },
    "IM-LV-12": {name: partial(_sd_ratio, i) for i, name in enumerate(COORDINATES)},
    "IM-LV-13": {
        "wider than exact": _wider_than_exact,
        "ball 100 widest": _ball_100_widest,
        "narrower than summary ABC": _narrower_than_summary_abc,
        "near generating values": _abc_near_generating,
    },
    "IM-LV-14": {"nearest to exact": _nearest, "log z3 and z4": _least_mixed},
}

NUMBERS: dict[str, Callable[[Tables], Measurement]] = {
    "distance of the mean of log z4 from the exact one, scheme code": partial(_log_z4_from_exact, "code"),
    "distance of the mean of log z4 from the exact one, scheme text": partial(_log_z4_from_exact, "text"),
}
