"""What this study measures for each published claim, read from its two tables."""

import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import largest, mean_over_replicates, ratio, share_of_trials
from auxmc_pipeline.tables import MissingData, Tables
from experiments.lotka_volterra.lookup import (
    COORDINATES,
    FIGURE_ROWS,
    LOG_GENERATING,
    ROWS,
    by_chain,
    by_rate,
    known,
    known_value,
    of_row,
)

_ABC_ROWS = ("ball_10", "ball_100", "gaussian")
_READINGS = {"distance": "l2", "squared distance": "l2_squared"}


# Data and runs that fail.


def _data(tables: Tables) -> Measurement:
    value = known_value(tables.summary, "data_difference")
    return Measurement(value, 0.0, "prey and predators at steps 1, 2 and 50, against the thesis' data files")


def _rejected_all(reading: str, tables: Tables) -> Measurement:
    """Accepted prior draws on all data, of the published 1e6."""
    count = known_value(
        tables.summary, "rejection_accepted_all", rejection_tolerance_all=1000.0, reading=reading
    )
    return _of_published_draws(count, known_value(tables.summary, "rejection_draws_all"), 1e6)


def _rejected_summaries(tolerance: float, reading: str, tables: Tables) -> Measurement:
    """Accepted prior draws on normalised summaries, of the published 5e7."""
    count = known_value(
        tables.summary,
        "rejection_accepted_summaries",
        rejection_tolerance_summaries=tolerance,
        reading=reading,
    )
    return _of_published_draws(count, known_value(tables.summary, "rejection_draws_summaries"), 5e7)


def _of_published_draws(count: float, n_draws: float, published_draws: float) -> Measurement:
    """A count of accepted draws, scaled to the published number of draws."""
    factor = published_draws / n_draws
    # With fewer draws than published, none accepted does not mean none in the published number.
    spread = math.sqrt(max(count, 1.0 if factor > 1.0 else 0.0))
    return Measurement(count * factor, spread * factor, f"{count:.0f} of {n_draws:.3g} draws")


def _failing(method: str, tolerance: float, quantity: str, tables: Tables) -> Measurement:
    """Largest number of accepted updates (per 1e5) or longest run over chains and proposal scales."""
    found = known(tables.summary, quantity, design="failures", method=method, tolerance=tolerance)
    n_draws = known_value(tables.summary, "n_iterations", design="failures", method=method)
    by_scale = found.groupby("step_size")["value"].max()
    each = ", ".join(f"{value:.4g} at scale {scale:g}" for scale, value in by_scale.items())
    factor = 1e5 / n_draws if quantity == "n_accepted" else 1.0
    return Measurement(float(by_scale.max()) * factor, 0.0, f"{n_draws:.0f} iterations: {each}")


def _finite(tables: Tables) -> Measurement:
    n_draws = known_value(tables.summary, "rejection_draws_all")
    value = known_value(tables.summary, "finite_prior_fraction")
    return share_of_trials(value, n_draws, "prior paths finite after all steps, scheme code")


# Convergence and efficiency.


def _psrf(row: str, tables: Tables) -> Measurement:
    factors = by_rate(tables, "psrf", row)
    try:
        joint = float(of_row(tables.summary, "psrf_multivariate", row)["value"].iloc[0])
    except MissingData:
        joint = math.nan
    each = ", ".join(f"{factor:.3f}" for factor in factors)
    note = f"largest of {each} for log z1 to z4; multivariate factor {joint:.3f}"
    return Measurement(float(np.max(factors)), math.nan, note)


def _least_mixed(tables: Tables) -> Measurement:
    factors = by_rate(tables, "psrf", "ball_10")[2:]
    return Measurement(float(factors.max()), math.nan, "PSRF of log z3 and z4, the larger")


def _efficiency(row: str, rate: int, tables: Tables) -> Measurement:
    rates = by_chain(tables, "ess_per_second", row)[rate]
    return mean_over_replicates(rates, "mean over chains; depends on the machine")


def _efficiency_ratio(row: str, others: tuple[str, ...], tables: Tables) -> Measurement:
    """Smallest ratio of the efficiency of a row, averaged over rates, to that of others."""
    above, *below = (
        mean_over_replicates(by_chain(tables, "ess_per_second", name).mean(axis=0)) for name in (row, *others)
    )
    moving = {other: mean for other, mean in zip(others, below, strict=True) if mean.value > 0.0}
    if not moving:
        return Measurement(math.nan, math.nan, "the other methods do not move")
    ratios = {other: ratio(above, mean) for other, mean in moving.items()}
    note = ", ".join(f"{ROWS[other].label} {found.value:.3g}" for other, found in ratios.items())
    nearest = min(ratios.values(), key=lambda found: found.value)
    return nearest._replace(note=f"mean over rates; ratio to {note}")


def _acceptance(tables: Tables) -> Measurement:
    rates = by_chain(tables, "acceptance", "all")
    return mean_over_replicates(rates, "over proposals, integration errors counted as rejections")


def _warm_up(tables: Tables) -> Measurement:
    found = float(by_chain(tables, "iterations_to_band", "all").max())
    return Measurement(found, 0.0, "potential within 3 sds of its stationary mean; slowest chain")


# Posterior distributions.


def _exact(quantity: str, scheme: str, tables: Tables) -> FloatArray:
    """A moment of the exact posterior given all data [rate]."""
    found = known(tables.summary, quantity, scheme=scheme).groupby("coordinate")["value"].first()
    return np.asarray(found.reindex(list(COORDINATES)), dtype=np.float64)


def _posterior_mean(rate: int, tables: Tables) -> Measurement:
    """Posterior mean of a log rate under constrained HMC on all data."""
    mean, _, error = (moment[rate] for moment in _moments("all", tables))
    exact = _exact("exact_mean", "code", tables)[rate]
    return Measurement(float(mean), float(error), f"exact value {exact:.4f}")


def _posterior_sd(rate: int, tables: Tables) -> Measurement:
    """Posterior standard deviation of a log rate under constrained HMC on all data."""
    exact = _exact("exact_sd", "code", tables)[rate]
    return _sd("all", rate, tables)._replace(note=f"exact value {exact:.4f}")


def _sd(row: str, rate: int, tables: Tables) -> Measurement:
    """Posterior standard deviation of a log rate, with the error that it has for a Gaussian."""
    _, sd, error = (moment[rate] for moment in _moments(row, tables))
    return Measurement(float(sd), float(error) / math.sqrt(2.0))


def _moments(row: str, tables: Tables) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Posterior means, standard deviations and Monte Carlo errors of the means [rate]."""
    mean, sd, error = (by_rate(tables, name, row) for name in ("posterior_mean", "posterior_sd", "mcse_mean"))
    return mean, sd, error


def _largest_z_score(row: str, tables: Tables) -> Measurement:
    means, sds, errors = _moments(row, tables)
    found = largest(np.abs(means - LOG_GENERATING) / sds, errors / sds, COORDINATES)
    return found._replace(note=f"largest at {found.note}")


def _distance_from_oracle(scheme: str, tables: Tables) -> Measurement:
    """Distance of the mean of log z4 under constrained HMC, scheme code, from an oracle, in posterior sds."""
    mean, _, error = (moment[3] for moment in _moments("all", tables))
    exact, sd = (_exact(quantity, scheme, tables)[3] for quantity in ("exact_mean", "exact_sd"))
    return Measurement(float(abs(mean - exact) / sd), float(error / sd), "mean of log z4, in posterior sds")


def _sd_ratio(rate: int, tables: Tables) -> Measurement:
    """Standard deviation given the summaries over that given all data."""
    return ratio(_sd("summaries", rate, tables), _sd("all", rate, tables))


def _smallest_sampled(tables: Tables) -> Measurement:
    smallest = float(by_rate(tables, "smallest", "pm_normalised")[3])
    return Measurement(
        smallest, 0.0, "smallest log z4 of the kept iterations; the generating value is -6.908"
    )


def _inside(tables: Tables) -> Measurement:
    low, high = (by_rate(tables, name, "pm_normalised") for name in ("lower_quantile", "upper_quantile"))
    inside = (low <= LOG_GENERATING) & (high >= LOG_GENERATING)
    return Measurement(float(inside[:3].sum()), 0.0, "of log z1 to z3, inside the central 95 %")


def _by_abc_row(quantity: str, tables: Tables) -> dict[str, FloatArray]:
    return {row: by_rate(tables, quantity, row) for row in _ABC_ROWS}


def _listed(by_row: Mapping[str, FloatArray]) -> str:
    return "; ".join(
        f"{ROWS[row].label} {', '.join(f'{value:.2f}' for value in values)}" for row, values in by_row.items()
    )


def _wider_than_exact(tables: Tables) -> Measurement:
    exact = _exact("exact_sd", "code", tables)
    ratios = {row: sds / exact for row, sds in _by_abc_row("posterior_sd", tables).items()}
    smallest = min(float(values.min()) for values in ratios.values())
    return Measurement(smallest, math.nan, f"smallest ratio of sds to exact: {_listed(ratios)}")


def _widest(tables: Tables) -> Measurement:
    sds = np.stack(list(_by_abc_row("posterior_sd", tables).values()))
    share = float(np.mean(np.argmax(sds, axis=0) == _ABC_ROWS.index("ball_100")))
    return Measurement(
        share, 0.0, "share of the four log rates for which ball 100 has the largest sd of the three"
    )


def _narrower_than_summary_abc(tables: Tables) -> Measurement:
    wide = by_rate(tables, "posterior_sd", "pm_normalised")
    widest = max(float((sds / wide).max()) for sds in _by_abc_row("posterior_sd", tables).values())
    return Measurement(widest, math.nan, "largest ratio of sds to PM ABC on summaries")


def _abc_near_generating(tables: Tables) -> Measurement:
    farthest = max(_largest_z_score(row, tables).value for row in _ABC_ROWS)
    return Measurement(farthest, math.nan, "largest distance of a mean, in its own sds")


def _nearest(tables: Tables) -> Measurement:
    distances = _by_abc_row("total_variation", tables)
    nearest = np.argmin([values[:2] for values in distances.values()], axis=0)
    share = float(np.mean(nearest == _ABC_ROWS.index("ball_10")))
    return Measurement(share, 0.0, f"of log z1, z2; total variation distances {_listed(distances)}")


MEASURE: Measures = {
    "IM-LV-01": {"largest difference": _data},
    "IM-LV-02": {name: partial(_rejected_all, reading) for name, reading in _READINGS.items()},
    "IM-LV-03": {"ball 100": partial(_failing, "pm_ball", 100.0, "n_accepted")},
    "IM-LV-04": {"ball 1000": partial(_failing, "pm_ball", 1000.0, "longest_run")},
    "IM-LV-05": {
        "Gaussian 10": partial(_failing, "pm_gaussian", 10.0, "longest_run"),
        "Gaussian 100": partial(_failing, "pm_gaussian", 100.0, "longest_run"),
    },
    "IM-LV-06": {name: partial(_rejected_summaries, 2.0, reading) for name, reading in _READINGS.items()},
    "IM-LV-07": {name: partial(_rejected_summaries, 1.0, reading) for name, reading in _READINGS.items()},
    "IM-LV-08": {"normalised": partial(_psrf, "pm_normalised"), "raw": partial(_psrf, "pm_raw")},
    "IM-LV-09": {"smallest log z4": _smallest_sampled, "log z1 to z3": _inside},
    "IM-LV-10": {
        **{f"mean {name}": partial(_posterior_mean, i) for i, name in enumerate(COORDINATES)},
        **{f"sd {name}": partial(_posterior_sd, i) for i, name in enumerate(COORDINATES)},
        "z-score, all": partial(_largest_z_score, "all"),
        "z-score, summaries": partial(_largest_z_score, "summaries"),
    },
    "IM-LV-11": {ROWS[row].label: partial(_psrf, row) for row in FIGURE_ROWS},
    "IM-LV-12": {name: partial(_sd_ratio, i) for i, name in enumerate(COORDINATES)},
    "IM-LV-13": {
        "wider than exact": _wider_than_exact,
        "ball 100 widest": _widest,
        "narrower than summary ABC": _narrower_than_summary_abc,
        "near generating values": _abc_near_generating,
    },
    "IM-LV-14": {"nearest to exact": _nearest, "log z3 and z4": _least_mixed},
    "IM-LV-17": {
        f"{ROWS[row].label}, {name}": partial(_efficiency, row, i)
        for row in FIGURE_ROWS
        for i, name in enumerate(COORDINATES)
    },
    "IM-LV-18": {"all over summaries": partial(_efficiency_ratio, "all", ("summaries",))},
    "IM-LV-19": {
        "ball 100": partial(_efficiency_ratio, "all", ("ball_100",)),
        "others": partial(_efficiency_ratio, "all", ("ball_10", "gaussian", "hmc")),
    },
    "IM-LV-20": {"all": _acceptance},
    "IM-LV-21": {
        "code oracle": partial(_distance_from_oracle, "code"),
        "text oracle": partial(_distance_from_oracle, "text"),
    },
    "IM-LV-22": {"finite paths": _finite},
    "IM-LV-23": {"slowest chain": _warm_up},
    "IM-LV-24": {"ball 100": partial(_psrf, "ball_100"), "Gaussian 10": partial(_psrf, "gaussian")},
}
