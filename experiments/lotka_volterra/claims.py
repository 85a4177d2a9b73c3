"""What this study measures for each published claim, read from its two tables."""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from auxmc.models.lotka_volterra.data import GENERATING_RATES
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, mean_over_replicates, measure_settings, standard_error
from auxmc_pipeline.lookup import MissingData
from experiments.lotka_volterra.lookup import (
    COORDINATES,
    ROWS,
    by_chain,
    by_rate,
    of_row,
    rows_of,
    scalar_of,
)

Measure = Callable[[pd.DataFrame], Measurement]

_LOG_GENERATING = np.log(GENERATING_RATES)
_FIGURE_ROWS = ("all", "summaries", "ball_10", "ball_100", "gaussian", "hmc")
_ABC_ROWS = ("ball_10", "ball_100", "gaussian")
_PER_SECOND = "ess_per_second"


# Data and runs that fail.


def _data(summary: pd.DataFrame) -> Measurement:
    value = scalar_of(summary, "data_difference")
    return Measurement(value, 0.0, "prey and predators at steps 1, 2 and 50, against the thesis' data files")


def _rejected(target: str, tolerance: float, reading: str, published_draws: float) -> Measure:
    """Accepted prior draws, scaled to the published number of draws."""

    def measure(summary: pd.DataFrame) -> Measurement:
        where: dict[str, str | float] = {f"rejection_tolerance_{target}": tolerance, "reading": reading}
        count = scalar_of(summary, f"rejection_accepted_{target}", **where)
        n_draws = scalar_of(summary, f"rejection_draws_{target}")
        factor = published_draws / n_draws
        # With fewer draws than published, none accepted does not mean none in the published number.
        spread = math.sqrt(max(count, 1.0 if factor > 1.0 else 0.0))
        return Measurement(count * factor, spread * factor, f"{count:.0f} of {n_draws:.3g} draws")

    return measure


def _failing(method: str, tolerance: float, quantity: str) -> Measure:
    """Largest number of accepted updates (per 1e5) or longest run over chains and proposal scales."""

    def measure(summary: pd.DataFrame) -> Measurement:
        found = rows_of(summary, quantity, design="failures", method=method, tolerance=tolerance)
        n_draws = scalar_of(summary, "n_iterations", design="failures", method=method)
        largest = float(found["value"].max())
        at = found.groupby("step_size")["value"].max()
        each = ", ".join(f"{value:.4g} at scale {scale:g}" for scale, value in at.items())
        factor = 1e5 / n_draws if quantity == "n_accepted" else 1.0
        return Measurement(largest * factor, 0.0, f"{n_draws:.0f} iterations: {each}")

    return measure


def _finite(summary: pd.DataFrame) -> Measurement:
    value = scalar_of(summary, "finite_prior_fraction")
    n_draws = scalar_of(summary, "rejection_draws_all")
    return Measurement(
        value, math.sqrt(value * (1.0 - value) / n_draws), "prior paths finite after all steps, scheme code"
    )


# Convergence and efficiency.


def _psrf(row: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        factors = by_rate(summary, "psrf", row)
        try:
            joint = float(of_row(summary, "psrf_multivariate", row)["value"].iloc[0])
        except MissingData:
            joint = math.nan
        each = ", ".join(f"{factor:.3f}" for factor in factors)
        note = f"largest of {each} for log z1 to z4; multivariate factor {joint:.3f}"
        return Measurement(float(np.max(factors)), math.nan, note)

    return measure


def _mean_and_error(values: FloatArray) -> tuple[float, float]:
    """Mean over rates and chains [rate, chain], and its standard error from the chains."""
    by_chain_mean = values.mean(axis=0)
    return float(by_chain_mean.mean()), standard_error(by_chain_mean)


def _efficiency(row: str, rate: int) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        value, error = _mean_and_error(by_chain(summary, _PER_SECOND, row)[rate : rate + 1])
        return Measurement(value, error, "mean over chains; depends on the machine")

    return measure


def _efficiency_ratio(row: str, others: tuple[str, ...]) -> Measure:
    """Smallest ratio of the efficiency of a row, averaged over rates, to that of others."""

    def measure(summary: pd.DataFrame) -> Measurement:
        above = _mean_and_error(by_chain(summary, _PER_SECOND, row))
        ratios = {}
        for other in others:
            below = _mean_and_error(by_chain(summary, _PER_SECOND, other))
            if below[0] > 0.0:
                relative = math.hypot(above[1] / above[0], below[1] / below[0])
                ratios[other] = (above[0] / below[0], above[0] / below[0] * relative)
        if not ratios:
            return Measurement(math.nan, math.nan, "the other methods do not move")
        nearest = min(ratios, key=lambda other: ratios[other][0])
        note = ", ".join(f"{ROWS[other].label} {ratio[0]:.3g}" for other, ratio in ratios.items())
        return Measurement(*ratios[nearest], f"mean over rates; ratio to {note}")

    return measure


def _acceptance(summary: pd.DataFrame) -> Measurement:
    rates = by_chain(summary, "acceptance", "all")
    return mean_over_replicates(rates, "over proposals, integration errors counted as rejections")


def _warm_up(summary: pd.DataFrame) -> Measurement:
    found = by_chain(summary, "iterations_to_band", "all")
    return Measurement(
        float(np.max(found)), 0.0, "potential within 3 sds of its stationary mean; slowest chain"
    )


# Posterior distributions.


def _exact(summary: pd.DataFrame, quantity: str, scheme: str) -> FloatArray:
    found = rows_of(summary, quantity, scheme=scheme).groupby("coordinate")["value"].first()
    return np.asarray(found.reindex(list(COORDINATES)), dtype=np.float64)


def _posterior_mean(rate: int) -> Measure:
    """Posterior mean of a log rate under constrained HMC on all data."""

    def measure(summary: pd.DataFrame) -> Measurement:
        mean, error = (by_rate(summary, name, "all")[rate] for name in ("posterior_mean", "mcse_mean"))
        exact = _exact(summary, "exact_mean", "code")[rate]
        return Measurement(float(mean), float(error), f"exact value {exact:.4f}")

    return measure


def _posterior_sd(rate: int) -> Measure:
    """Posterior standard deviation of a log rate under constrained HMC on all data; error of a Gaussian."""

    def measure(summary: pd.DataFrame) -> Measurement:
        sd, error = (by_rate(summary, name, "all")[rate] for name in ("posterior_sd", "mcse_mean"))
        exact = _exact(summary, "exact_sd", "code")[rate]
        return Measurement(float(sd), float(error) / math.sqrt(2.0), f"exact value {exact:.4f}")

    return measure


def _largest_z_score(row: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        means, sds, errors = _moments(summary, row)
        scores = np.abs(means - _LOG_GENERATING) / sds
        worst = int(np.argmax(scores))
        return Measurement(
            float(scores[worst]), float(errors[worst] / sds[worst]), f"largest at {COORDINATES[worst]}"
        )

    return measure


def _moments(summary: pd.DataFrame, row: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Posterior means, standard deviations and Monte Carlo errors of the means [rate]."""
    mean, sd, error = (
        by_rate(summary, name, row) for name in ("posterior_mean", "posterior_sd", "mcse_mean")
    )
    return mean, sd, error


def _distance_from_oracle(scheme: str) -> Measure:
    """Distance of the mean of log z4 under constrained HMC, scheme code, from an oracle, in posterior sds."""

    def measure(summary: pd.DataFrame) -> Measurement:
        mean, error = (by_rate(summary, name, "all")[3] for name in ("posterior_mean", "mcse_mean"))
        exact, sd = (_exact(summary, f"exact_{name}", scheme)[3] for name in ("mean", "sd"))
        return Measurement(
            float(abs(mean - exact) / sd), float(error / sd), "mean of log z4, in posterior sds"
        )

    return measure


def _sd_ratio(rate: int) -> Measure:
    """Standard deviation given the summaries over that given all data."""

    def measure(summary: pd.DataFrame) -> Measurement:
        (_, above, above_error), (_, below, below_error) = (
            _moments(summary, row) for row in ("summaries", "all")
        )
        ratio = above[rate] / below[rate]
        relative = math.hypot(above_error[rate] / above[rate], below_error[rate] / below[rate]) / math.sqrt(
            2.0
        )
        return Measurement(float(ratio), float(ratio * relative))

    return measure


def _smallest_sampled(summary: pd.DataFrame) -> Measurement:
    smallest = float(by_rate(summary, "smallest", "pm_normalised")[3])
    return Measurement(
        smallest, 0.0, "smallest log z4 of the kept iterations; the generating value is -6.908"
    )


def _inside(summary: pd.DataFrame) -> Measurement:
    low, high = (by_rate(summary, f"{end}_quantile", "pm_normalised") for end in ("lower", "upper"))
    inside = (low <= _LOG_GENERATING) & (high >= _LOG_GENERATING)
    return Measurement(float(inside[:3].sum()), 0.0, "of log z1 to z3, inside the central 95 %")


def _wider_than_exact(summary: pd.DataFrame) -> Measurement:
    exact = _exact(summary, "exact_sd", "code")
    ratios = {row: by_rate(summary, "posterior_sd", row) / exact for row in _ABC_ROWS}
    smallest = min(ratios, key=lambda row: float(ratios[row].min()))
    note = "; ".join(
        f"{ROWS[row].label} {', '.join(f'{r:.2f}' for r in values)}" for row, values in ratios.items()
    )
    return Measurement(float(ratios[smallest].min()), math.nan, f"smallest ratio of sds to exact: {note}")


def _widest(summary: pd.DataFrame) -> Measurement:
    sds = np.stack([by_rate(summary, "posterior_sd", row) for row in _ABC_ROWS])
    share = float(np.mean(np.argmax(sds, axis=0) == _ABC_ROWS.index("ball_100")))
    return Measurement(
        share, 0.0, "share of the four log rates for which ball 100 has the largest sd of the three"
    )


def _narrower_than_summary_abc(summary: pd.DataFrame) -> Measurement:
    wide = by_rate(summary, "posterior_sd", "pm_normalised")
    ratios = np.stack([by_rate(summary, "posterior_sd", row) / wide for row in _ABC_ROWS])
    return Measurement(float(ratios.max()), math.nan, "largest ratio of sds to PM ABC on summaries")


def _abc_near_generating(summary: pd.DataFrame) -> Measurement:
    scores = {}
    for row in _ABC_ROWS:
        mean, sd, _ = _moments(summary, row)
        scores[row] = float(np.max(np.abs(mean - _LOG_GENERATING) / sd))
    return Measurement(max(scores.values()), math.nan, "largest distance of a mean, in its own sds")


def _nearest(summary: pd.DataFrame) -> Measurement:
    distances = np.stack([by_rate(summary, "total_variation", row) for row in _ABC_ROWS])
    share = float(np.mean(np.argmin(distances[:, :2], axis=0) == 0))
    each = "; ".join(
        f"{ROWS[row].label} {', '.join(f'{d:.2f}' for d in values)}"
        for row, values in zip(_ABC_ROWS, distances, strict=True)
    )
    return Measurement(share, 0.0, f"of log z1, z2; total variation distances {each}")


def _least_mixed(summary: pd.DataFrame) -> Measurement:
    factors = by_rate(summary, "psrf", "ball_10")[2:]
    return Measurement(float(factors.max()), math.nan, "PSRF of log z3 and z4, the larger")


MEASURE: dict[str, Callable[[pd.DataFrame, pd.DataFrame], dict[str, Measurement]]] = {
    "IM-LV-01": measure_settings({"largest difference": _data}),
    "IM-LV-02": measure_settings(
        {
            "distance": _rejected("all", 1000.0, "l2", 1e6),
            "squared distance": _rejected("all", 1000.0, "l2_squared", 1e6),
        }
    ),
    "IM-LV-03": measure_settings({"ball 100": _failing("pm_ball", 100.0, "n_accepted")}),
    "IM-LV-04": measure_settings({"ball 1000": _failing("pm_ball", 1000.0, "longest_run")}),
    "IM-LV-05": measure_settings(
        {
            "Gaussian 10": _failing("pm_gaussian", 10.0, "longest_run"),
            "Gaussian 100": _failing("pm_gaussian", 100.0, "longest_run"),
        }
    ),
    "IM-LV-06": measure_settings(
        {
            "distance": _rejected("summaries", 2.0, "l2", 5e7),
            "squared distance": _rejected("summaries", 2.0, "l2_squared", 5e7),
        }
    ),
    "IM-LV-07": measure_settings(
        {
            "distance": _rejected("summaries", 1.0, "l2", 5e7),
            "squared distance": _rejected("summaries", 1.0, "l2_squared", 5e7),
        }
    ),
    "IM-LV-08": measure_settings({"normalised": _psrf("pm_normalised"), "raw": _psrf("pm_raw")}),
    "IM-LV-09": measure_settings({"smallest log z4": _smallest_sampled, "log z1 to z3": _inside}),
    "IM-LV-10": measure_settings(
        {
            **{f"mean {name}": _posterior_mean(i) for i, name in enumerate(COORDINATES)},
            **{f"sd {name}": _posterior_sd(i) for i, name in enumerate(COORDINATES)},
            "z-score, all": _largest_z_score("all"),
            "z-score, summaries": _largest_z_score("summaries"),
        }
    ),
    "IM-LV-11": measure_settings({ROWS[row].label: _psrf(row) for row in _FIGURE_ROWS}),
    "IM-LV-12": measure_settings({name: _sd_ratio(i) for i, name in enumerate(COORDINATES)}),
    "IM-LV-13": measure_settings(
        {
            "wider than exact": _wider_than_exact,
            "ball 100 widest": _widest,
            "narrower than summary ABC": _narrower_than_summary_abc,
            "near generating values": _abc_near_generating,
        }
    ),
    "IM-LV-14": measure_settings({"nearest to exact": _nearest, "log z3 and z4": _least_mixed}),
    "IM-LV-17": measure_settings(
        {
            f"{ROWS[row].label}, {name}": _efficiency(row, i)
            for row in _FIGURE_ROWS
            for i, name in enumerate(COORDINATES)
        }
    ),
    "IM-LV-18": measure_settings({"all over summaries": _efficiency_ratio("all", ("summaries",))}),
    "IM-LV-19": measure_settings(
        {
            "ball 100": _efficiency_ratio("all", ("ball_100",)),
            "others": _efficiency_ratio("all", ("ball_10", "gaussian", "hmc")),
        }
    ),
    "IM-LV-20": measure_settings({"all": _acceptance}),
    "IM-LV-21": measure_settings(
        {"code oracle": _distance_from_oracle("code"), "text oracle": _distance_from_oracle("text")}
    ),
    "IM-LV-22": measure_settings({"finite paths": _finite}),
    "IM-LV-23": measure_settings({"slowest chain": _warm_up}),
    "IM-LV-24": measure_settings({"ball 100": _psrf("ball_100"), "Gaussian 10": _psrf("gaussian")}),
}
