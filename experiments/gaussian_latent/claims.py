"""What this study measures for each published claim, read from its two tables."""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from auxmc.engine.claims import Measurement, measure_settings, standard_error
from auxmc.engine.lookup import MissingData, rows_of
from experiments.gaussian_latent.selection import (
    Grid,
    bootstrap_error,
    grid_of,
    scalar_of,
    smoothed,
)

__all__ = ["MEASURE"]

_SIZES = (1, 8, 32)
_TARGET_ACCEPT = 0.234
_BEST_PM_STEP = {1: 0.55, 8: 0.375, 32: 0.4}

Where = dict[str, str | float]
Measure = Callable[[pd.DataFrame], Measurement]
Curve = NDArray[np.float64]

_PER_EVALUATION, _PER_SECOND = "ess_per_evaluation", "ess_per_second"


def _by_size(make: Callable[[int], Measure], suffix: str = "") -> dict[str, Measure]:
    return {f"N = {size}{suffix}": make(size) for size in _SIZES}


# Statistics of sweeps.


def _peak(quantity: str, method: str, size: int) -> Callable[[pd.DataFrame], tuple[float, float, float]]:
    """Largest value of the smoothed mean curve, its standard error, and where it is."""

    def find(summary: pd.DataFrame) -> tuple[float, float, float]:
        grid = grid_of(summary, quantity, method, size)
        curve = smoothed(grid.mean)
        error = bootstrap_error(lambda mean: float(smoothed(mean).max()), grid)
        return float(curve.max()), error, float(grid.points[np.argmax(curve)])

    return find


def _peak_ratio(quantity: str, first: tuple[str, int], second: tuple[str, int]) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        above, below = _peak(quantity, *first)(summary), _peak(quantity, *second)(summary)
        note = f"peaks at {above[2]:g} and {below[2]:g} of five-point moving averages"
        return _ratio(above[:2], below[:2], note)

    return measure


def _ratio(above: tuple[float, float], below: tuple[float, float], note: str = "") -> Measurement:
    """Ratio of two independent estimates (value, standard error)."""
    if not below[0] > 0.0:
        return Measurement(math.nan, math.nan, "the denominator is zero: all chains are stuck")
    value = above[0] / below[0]
    relative = math.hypot(above[1] / above[0], below[1] / below[0]) if above[0] > 0.0 else math.nan
    return Measurement(value, abs(value) * relative, note)


def _curve_statistic(
    statistic: Callable[..., float], *about: tuple[str, str, int], low: float = -math.inf, note: str = ""
) -> Measure:
    """A number computed from mean curves (quantity, method, n_importance) at common points from `low` on."""

    def measure(summary: pd.DataFrame) -> Measurement:
        grids = _on_common_points([grid_of(summary, *one) for one in about], low)
        value = statistic(*(grid.mean for grid in grids))
        return Measurement(value, bootstrap_error(statistic, *grids), note)

    return measure


def _on_common_points(grids: list[Grid], low: float) -> list[Grid]:
    points = grids[0].points
    for grid in grids[1:]:
        points = points[np.isin(points.round(9), grid.points.round(9))]
    points = points[points >= low - 1e-9]
    if points.size == 0:
        raise MissingData("no common values of the tuning parameter at this preset")
    return [grid.where(np.isin(grid.points.round(9), points.round(9))) for grid in grids]


def _median_ratio(above: Curve, below: Curve) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = above / below
    return float(np.nanmedian(ratios)) if np.isfinite(ratios).any() else math.nan


def _fraction_above(quantity: str, first: tuple[str, int], second: tuple[str, int]) -> Measure:
    """Fraction of sweep points where the first has the larger mean.

    Its error is half the fraction of points at which the two means are within two standard errors.
    """

    def measure(summary: pd.DataFrame) -> Measurement:
        above, below = _on_common_points(
            [grid_of(summary, quantity, *one) for one in (first, second)], -math.inf
        )
        difference = above.mean - below.mean
        unclear = np.abs(difference) < 2.0 * np.hypot(above.standard_error, below.standard_error)
        note = f"{difference.size} values; differences within two standard errors at {int(unclear.sum())}"
        return Measurement(float(np.mean(difference > 0.0)), 0.5 * float(np.mean(unclear)), note)

    return measure


# The claims, in order.


def _noise(size: int) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        where: Where = {"design": "checks", "dataset": "calibrated", "n_importance": size}
        return Measurement(
            scalar_of(summary, "sd_log_estimate", **where),
            scalar_of(summary, "sd_log_estimate_error", **where),
        )

    return measure


def _long_moments(summary: pd.DataFrame) -> pd.DataFrame:
    names = ["posterior_mean", "mcse_mean", "posterior_sd", "mcse_sd", "exact_mean"]
    where: Where = {
        "design": "long",
        "method": "apm_mi_mh",
        "dataset": "calibrated",
        "case": "long_apm_mi_mh",
    }
    rows = pd.concat([rows_of(summary, name, **where) for name in names])
    return rows.pivot_table(index=["n_importance", "coordinate"], columns="quantity", values="value")


def _exact_sd(summary: pd.DataFrame) -> Measurement:
    return Measurement(scalar_of(summary, "exact_sd", design="long"), 0.0, "closed form")


def _sd_error(summary: pd.DataFrame) -> Measurement:
    moments = _long_moments(summary)
    exact = scalar_of(summary, "exact_sd", design="long")
    deviations = (moments["posterior_sd"] / exact - 1.0).abs()
    worst = int(np.argmax(deviations.to_numpy()))
    size, coordinate = moments.index.to_list()[worst]
    note = f"largest of {len(deviations)}, at N = {size:g}, {coordinate}"
    return Measurement(float(deviations.iloc[worst]), float(moments["mcse_sd"].iloc[worst]) / exact, note)


def _mean_error(summary: pd.DataFrame) -> Measurement:
    moments = _long_moments(summary)
    scores = ((moments["posterior_mean"] - moments["exact_mean"]) / moments["mcse_mean"]).abs()
    return Measurement(float(scores.max()), 0.0, f"largest of {len(scores)}")


def _best_point(quantity: str, method: str, size: int) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        grid = grid_of(summary, quantity, method, size)

        def best(mean: Curve) -> float:
            return float(grid.points[np.argmax(smoothed(mean))])

        return Measurement(
            best(grid.mean), bootstrap_error(best, grid), "peak of a five-point moving average"
        )

    return measure


def _peak_value(size: int) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        value, error, point = _peak(_PER_EVALUATION, "pm_mh", size)(summary)
        return Measurement(value, error, f"peak of a five-point moving average, at {point:g}")

    return measure


def _rises_first(summary: pd.DataFrame) -> Measurement:
    grid = grid_of(summary, "acceptance_position", "pm_mh", 1)
    rng = np.random.default_rng(5)
    n_points, n_chains = grid.values.shape
    later = [
        np.argmax(
            np.take_along_axis(grid.values, rng.integers(0, n_chains, (n_points, n_chains)), 1).mean(axis=1)
        )
        > 0
        for _ in range(1000)
    ]
    largest = grid.points[np.argmax(grid.mean)]
    note = f"largest mean accept rate {grid.mean.max():.3g} at {largest:g}, {grid.mean[0]:.3g} at {grid.points[0]:g}"
    return Measurement(float(np.mean(later)), 0.0, note)


def _largest_accept(size: int) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        grid = grid_of(summary, "acceptance_position", "pm_mh", size)
        best = int(np.argmax(grid.mean))
        note = f"at step size {grid.points[best]:g}"
        return Measurement(float(grid.mean[best]), float(grid.standard_error[best]), note)

    return measure


def _efficiency_at_largest_accept(summary: pd.DataFrame) -> Measurement:
    rates = grid_of(summary, "acceptance_position", "pm_mh", 32)
    efficiency = grid_of(summary, _PER_EVALUATION, "pm_mh", 32)
    best = int(np.argmax(rates.mean))

    def share(mean: Curve) -> float:
        return float(mean[best] / smoothed(mean).max())

    return Measurement(
        share(efficiency.mean), bootstrap_error(share, efficiency), f"at step size {rates.points[best]:g}"
    )


def _longest_stick(summary: pd.DataFrame) -> Measurement:
    rows = _long_rows(summary, "longest_run_window", "pm_mh", 1)
    return Measurement(float(rows["value"].max()), 0.0, f"largest of {len(rows)} chains; a random event")


def _long_rows(summary: pd.DataFrame, quantity: str, method: str, size: int) -> pd.DataFrame:
    where: Where = {
        "design": "long",
        "dataset": "calibrated",
        "method": method,
        "n_importance": size,
    }
    if method == "pm_mh":
        where["step_size"] = _BEST_PM_STEP[size]
    else:
        # This method also runs, for fewer iterations, in the case of figure 3.8.
        where["case"] = f"long_{method}"
    return rows_of(summary, quantity, **where)


def _median_run_ratio(first: int, second: int) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        grids = [grid_of(summary, "longest_run_position", "pm_mh", size) for size in (first, second)]

        def middle(grid: Grid) -> tuple[float, float]:
            runs = grid.values.ravel()
            resampled = np.random.default_rng(7).choice(runs, (400, runs.size))
            return float(np.median(runs)), float(np.median(resampled, axis=1).std(ddof=1))

        above, below = (middle(grid) for grid in grids)
        return _ratio(above, below, f"medians {above[0]:g} and {below[0]:g} iterations")

    return measure


def _distance(summary: pd.DataFrame, method: str, size: int) -> tuple[float, float]:
    """Total variation distance, mean over coordinates and chains, and its standard error over chains."""
    rows = _long_rows(summary, "total_variation", method, size)
    return _mean_over_chains(rows.groupby("chain")["value"].mean().to_numpy())


def _mean_over_chains(values: NDArray[np.float64]) -> tuple[float, float]:
    return float(values.mean()), standard_error(values)


def _distance_ratio(first: tuple[str, int], second: tuple[str, int]) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        above, below = _distance(summary, *first), _distance(summary, *second)
        return _ratio(above, below, f"means over coordinates and chains: {above[0]:.3g} and {below[0]:.3g}")

    return measure


def _independence_accept(size: int) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        rates = grid_of(summary, "acceptance_auxiliary", "apm_mi_mh", size)
        error = bootstrap_error(lambda mean: float(mean.mean()), rates)
        exact = rows_of(
            summary, "exact_acceptance_auxiliary", method="apm_mi_mh", n_importance=size, dataset="calibrated"
        )
        known = float(exact["value"].iloc[0])
        note = f"exact stationary value {known:.4f}" if math.isfinite(known) else ""
        return Measurement(
            float(rates.mean.mean()), error, f"mean over chains and step sizes; {note}".rstrip("; ")
        )

    return measure


def _independence_trend(size: int) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        rates = _on_common_points([grid_of(summary, "acceptance_auxiliary", "apm_mi_mh", size)], 0.1)[0]
        if rates.points.size < 3:
            raise MissingData("a trend needs three step sizes from 0.1 on: not run at this preset")
        fit = stats.linregress(rates.points, rates.mean)
        change = abs(fit.slope) * np.ptp(rates.points) / rates.mean.mean()
        error = fit.stderr * np.ptp(rates.points) / rates.mean.mean()
        note = f"relative change {change:.3f}, p value of the correlation {fit.pvalue:.2g}"
        if fit.pvalue > 0.05:
            return Measurement(0.0, 0.0, note)
        return Measurement(float(change), float(error), note)

    return measure


def _best_over_sizes(summary: pd.DataFrame) -> Measurement:
    best = {}
    for method in ("apm_mi_mh", "pm_mh"):
        peaks = {size: _peak(_PER_SECOND, method, size)(summary) for size in _SIZES}
        best[method] = max((peak[0], peak[1], size) for size, peak in peaks.items())
    note = f"N = {best['apm_mi_mh'][2]} and N = {best['pm_mh'][2]}; chains ran side by side"
    return _ratio(best["apm_mi_mh"][:2], best["pm_mh"][:2], note)


def _step_at_target(points: Curve, rates: Curve) -> float:
    below = np.flatnonzero(rates < _TARGET_ACCEPT)
    if below.size == 0 or below[0] == 0:
        return math.nan
    right = int(below[0])
    share = (rates[right - 1] - _TARGET_ACCEPT) / (rates[right - 1] - rates[right])
    return float(points[right - 1] + share * (points[right] - points[right - 1]))


def _target_step(size: int) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        rates = grid_of(summary, "acceptance_position", "apm_mi_mh", size)
        step = _step_at_target(rates.points, rates.mean)
        error = bootstrap_error(lambda mean: _step_at_target(rates.points, mean), rates)
        return Measurement(step, error, f"linear interpolation between {rates.points.size} step sizes")

    return measure


def _efficiency_at_target(size: int) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        rates = grid_of(summary, "acceptance_position", "apm_mi_mh", size)
        efficiency = grid_of(summary, _PER_EVALUATION, "apm_mi_mh", size)
        step = _step_at_target(rates.points, rates.mean)

        def share(mean: Curve) -> float:
            curve = smoothed(mean)
            return float(np.interp(step, efficiency.points, curve) / curve.max())

        return Measurement(
            share(efficiency.mean), bootstrap_error(share, efficiency), f"at step size {step:.3f}"
        )

    return measure


def _monotone(summary: pd.DataFrame) -> Measurement:
    falls, largest = [], 0.0
    for size in _SIZES:
        rates = grid_of(summary, "acceptance_position", "apm_mi_mh", size)
        rise = np.diff(rates.mean)
        error = np.hypot(rates.standard_error[1:], rates.standard_error[:-1])
        falls.append(rise <= 4.0 * error)
        largest = max(largest, float(rise.max()))
    together = np.concatenate(falls)
    return Measurement(
        float(together.mean()), 0.0, f"{together.size} pairs; largest rise {max(largest, 0.0):.2g}"
    )


def _noise_ratio(size: int) -> Measure:
    def median_spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Median over points of sd/mean over chains; values [..., point, chain]."""
        mean = values.mean(axis=-1)
        spread = np.divide(
            values.std(axis=-1, ddof=1), mean, out=np.full_like(mean, np.nan), where=mean > 0.0
        )
        return np.asarray(np.nanmedian(spread, axis=-1))

    def relative(summary: pd.DataFrame, method: str) -> tuple[float, float]:
        values = grid_of(summary, "acceptance_position", method, size).values
        if values.shape[1] < 2 or not values.any():
            raise MissingData("a spread over chains needs two chains that move: not run at this preset")
        shape = (400, *values.shape)
        chosen = np.random.default_rng(11).integers(0, values.shape[1], shape)
        resampled = np.take_along_axis(np.broadcast_to(values, shape), chosen, axis=-1)
        return float(median_spread(values)), float(np.nanstd(median_spread(resampled), ddof=1))

    def measure(summary: pd.DataFrame) -> Measurement:
        above, below = relative(summary, "pm_mh"), relative(summary, "apm_mi_mh")
        return _ratio(above, below, f"medians {above[0]:.3g} and {below[0]:.3g}")

    return measure


def _closed_form_difference(summary: pd.DataFrame) -> Measurement:
    rates = grid_of(summary, "acceptance_position", "apm_mi_mh", 1)
    exact = grid_of(summary, "exact_acceptance_position", "apm_mi_mh", 1)
    difference = np.abs(rates.mean - exact.mean)
    worst = int(np.argmax(difference))
    return Measurement(
        float(difference[worst]), float(rates.standard_error[worst]), f"at step size {rates.points[worst]:g}"
    )


def _accept_at_published(summary: pd.DataFrame) -> Measurement:
    rates = grid_of(summary, "acceptance_position", "apm_mi_mh", 1)
    here = np.isclose(rates.points, 0.425)
    if not here.any():
        raise MissingData("step size 0.425: not run at this preset")
    return Measurement(float(rates.mean[here][0]), float(rates.standard_error[here][0]), "exact value 0.2373")


def _longest_run_of_x(size: int) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        rows = _long_rows(summary, "longest_run_window", "apm_mi_mh", size)
        return Measurement(float(rows["value"].max()), 0.0, f"largest of {len(rows)} chains")

    return measure


def _in_band_everywhere(summary: pd.DataFrame) -> Measurement:
    grids = [grid_of(summary, _PER_EVALUATION, method, 1) for method in ("apm_ss_mh", "apm_mi_mh")]
    above, below = _on_common_points(grids, 0.05)
    if not (below.mean > 0.0).all():
        return Measurement(math.nan, math.nan, "a mean is zero: all chains are stuck")
    ratio = above.mean / below.mean
    error = ratio * np.hypot(
        above.standard_error / np.maximum(above.mean, 1e-300), below.standard_error / below.mean
    )
    inside = (ratio >= 0.33) & (ratio <= 0.55)
    unclear = np.minimum(np.abs(ratio - 0.33), np.abs(ratio - 0.55)) < 2.0 * error
    note = f"from {ratio.min():.2f} to {ratio.max():.2f}; within two standard errors of an edge at {int(unclear.sum())}"
    return Measurement(float(inside.mean()), 0.5 * float(unclear.mean()), note)


def _auxiliary_values(summary: pd.DataFrame, quantity: str, method: str) -> tuple[float, float]:
    rows = rows_of(
        summary,
        quantity,
        case="auxiliary",
        design="long",
        dataset="calibrated",
        method=method,
        n_importance=1,
    )
    return _mean_over_chains(rows["value"].to_numpy(dtype=np.float64))


def _auxiliary_ratio(quantity: str, first: str, second: str, also: str = "") -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        above, below = (_auxiliary_values(summary, quantity, method) for method in (first, second))
        note = ""
        if also:
            per = [_auxiliary_values(summary, also, method)[0] for method in (first, second)]
            note = f"per density evaluation {per[0] / per[1]:.2g}" if per[1] > 0.0 else ""
        return _ratio(above, below, note)

    return measure


def _auxiliary_run(summary: pd.DataFrame) -> Measurement:
    rows = rows_of(summary, "longest_run_auxiliary", design="long", dataset="calibrated", method="apm_ss_mh")
    return Measurement(float(rows["value"].max()), 0.0, f"largest of {len(rows)} chains")


def _auxiliary_sd(summary: pd.DataFrame) -> Measurement:
    where: Where = {"case": "auxiliary", "method": "apm_ss_mh", "dataset": "calibrated"}
    mean = rows_of(summary, "auxiliary_mean", **where).sort_values("chain")["value"].to_numpy()
    second = rows_of(summary, "auxiliary_second_moment", **where).sort_values("chain")["value"].to_numpy()
    value, error = _mean_over_chains(np.sqrt(second - mean**2))
    exact = scalar_of(summary, "exact_auxiliary_sd", **where)
    return Measurement(value, error, f"mean over {mean.size} chains; exact {exact:.4f}")


def _flatness(low: float, high: float) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        grid = grid_of(summary, _PER_EVALUATION, "apm_mi_ss", 1)
        inside = (grid.points >= low - 1e-9) & (grid.points <= high + 1e-9)
        if not inside.any():
            raise MissingData(f"no bracket from {low:g} to {high:g}: not run at this preset")

        def share(mean: Curve) -> float:
            curve = smoothed(mean)
            return float(curve[inside].min() / curve.max())

        return Measurement(share(grid.mean), bootstrap_error(share, grid), "moving averages")

    return measure


def _calls_ratio(summary: pd.DataFrame) -> Measurement:
    best = _peak(_PER_EVALUATION, "apm_ss_ss", 1)(summary)[2]
    calls = []
    for quantity in ("estimates_auxiliary", "estimates_position"):
        grid = grid_of(summary, quantity, "apm_ss_ss", 1)
        here = int(np.argmin(np.abs(grid.points - best)))
        calls.append((float(grid.mean[here]), float(grid.standard_error[here])))
    return _ratio(
        calls[0], calls[1], f"{calls[0][0]:.2f} and {calls[1][0]:.2f} calls an iteration at bracket {best:g}"
    )


def _elliptical_calls(summary: pd.DataFrame) -> Measurement:
    grid = grid_of(summary, "estimates_auxiliary", "apm_ss_mh", 1)
    error = bootstrap_error(lambda mean: float(mean.mean()), grid)
    return Measurement(float(grid.mean.mean()), error, "APM SS+MH, mean over step sizes")


def _tuning_ranges(summary: pd.DataFrame) -> Measurement:
    slices = grid_of(summary, _PER_EVALUATION, "apm_mi_ss", 1)
    walks = grid_of(summary, _PER_EVALUATION, "apm_mi_mh", 1)

    def ends(points: Curve, mean: Curve) -> tuple[float, float]:
        curve = smoothed(mean)
        good = points[curve >= 0.9 * curve.max()]
        return float(good[0]), float(good[-1])

    def ratio(slice_mean: Curve, walk_mean: Curve) -> float:
        (a, b), (c, d) = ends(slices.points, slice_mean), ends(walks.points, walk_mean)
        return (b / a) / (d / c)

    value = ratio(slices.mean, walks.mean)
    error = bootstrap_error(ratio, slices, walks)
    (a, b), (c, d) = ends(slices.points, slices.mean), ends(walks.points, walks.mean)
    note = f"bracket {a:g} to {b:g}, step size {c:g} to {d:g}"
    if b >= slices.points[-1] - 1e-9:
        # The range goes on beyond the grid, so that the ratio is a lower bound; the claim then counts as met.
        return Measurement(
            max(value, 1.5), 0.0, f"{note}; the range reaches the end of the grid, lower bound {value:.2f}"
        )
    return Measurement(value, error, note)


def _growth(first: Curve, second: Curve, third: Curve) -> float:
    rates = [float(curve.mean()) for curve in (first, second, third)]
    return float((rates[1] / rates[0]) ** (1.0 / 3.0) / (rates[2] / rates[1]) ** 0.5)


def _always_moves(quantity: str, methods: tuple[str, ...]) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        runs = np.concatenate([grid_of(summary, quantity, method, 1).values.ravel() for method in methods])
        return Measurement(float(runs.max()), 0.0, f"largest of {runs.size} chains")

    return measure


def _constant(name: str) -> Measure:
    return lambda summary: Measurement(scalar_of(summary, name, design="checks"), 0.0, "numerical optimum")


def _auxiliary_moments(size: int) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        where: Where = {
            "design": "long",
            "dataset": "calibrated",
            "method": "apm_mi_mh",
            "n_importance": size,
        }
        where["case"] = "long_apm_mi_mh"
        mean = scalar_of(summary, "exact_auxiliary_mean", **where)
        exact = {
            "auxiliary_mean": mean,
            "auxiliary_second_moment": scalar_of(summary, "exact_auxiliary_sd", **where) ** 2 + mean**2,
        }
        scores = []
        for name, value in exact.items():
            found = rows_of(summary, name, **where)["value"].to_numpy()
            errors = rows_of(summary, f"{name}_error", **where)["value"].to_numpy()
            scores.append(abs(found.mean() - value) / (math.sqrt(np.square(errors).sum()) / found.size))
        note = f"mean {scores[0]:.2f}, second moment {scores[1]:.2f}; chains pooled"
        return Measurement(float(max(scores)), 0.0, note)

    return measure


def _check(name: str) -> Measure:
    return lambda summary: Measurement(scalar_of(summary, name, design="checks"), 0.0)


_MI, _PM, _SS = ("apm_mi_mh", 1), ("pm_mh", 1), ("apm_ss_mh", 1)
_MI_SLICE, _SS_SLICE = ("apm_mi_ss", 1), ("apm_ss_ss", 1)

MEASURE: dict[str, Callable[[pd.DataFrame, pd.DataFrame], dict[str, Measurement]]] = {
    "PM-G01": measure_settings(_by_size(_noise)),
    "PM-G02": measure_settings(
        {"exact sd": _exact_sd, "sd of long APM chains": _sd_error, "mean of long APM chains": _mean_error}
    ),
    "PM-G03": measure_settings(
        {
            "N = 1 over N = 8": _peak_ratio(_PER_EVALUATION, _PM, ("pm_mh", 8)),
            "N = 8 over N = 32": _peak_ratio(_PER_EVALUATION, ("pm_mh", 8), ("pm_mh", 32)),
        }
    ),
    "PM-G04": measure_settings(_by_size(lambda size: _best_point(_PER_EVALUATION, "pm_mh", size))),
    "PM-G05": measure_settings(_by_size(_peak_value)),
    "PM-G06": measure_settings({"N = 1": _rises_first}),
    "PM-G07": measure_settings(
        {**_by_size(_largest_accept), "N = 32 efficiency there": _efficiency_at_largest_accept}
    ),
    "PM-G08": measure_settings(
        {f"N = {n}": _fraction_above(_PER_SECOND, ("pm_mh", n), _PM) for n in (8, 32)}
    ),
    "PM-G09": measure_settings(
        {
            "N = 1 longest": _longest_stick,
            "N = 1 over N = 8": _median_run_ratio(1, 8),
            "N = 8 over N = 32": _median_run_ratio(8, 32),
        }
    ),
    "PM-G10": measure_settings({"N = 1": _distance_ratio(_PM, _MI)}),
    "PM-G11": measure_settings({**_by_size(_independence_accept), **_by_size(_independence_trend, " trend")}),
    "PM-G12": measure_settings({"N = 1": _peak_ratio(_PER_EVALUATION, _MI, _PM)}),
    "PM-G13": measure_settings({"best N of each": _best_over_sizes}),
    "PM-G14": measure_settings(
        {
            "N = 1 best step": _best_point(_PER_EVALUATION, *_MI),
            **_by_size(_target_step, " target"),
            **_by_size(_efficiency_at_target, " efficiency there"),
        }
    ),
    "PM-G15": measure_settings(
        {
            "monotone": _monotone,
            **_by_size(_noise_ratio, " noise"),
            "N = 1 closed form": _closed_form_difference,
            "N = 1 at 0.425": _accept_at_published,
        }
    ),
    "PM-G16": measure_settings(
        _by_size(
            lambda size: _curve_statistic(
                _median_ratio,
                ("acceptance_position", "apm_mi_mh", size),
                ("acceptance_position", "pm_mh", size),
            )
        )
    ),
    "PM-G17": measure_settings(
        {
            f"N = {n} {unit}": _fraction_above(quantity, _MI, ("apm_mi_mh", n))
            for unit, quantity in (("per evaluation", _PER_EVALUATION), ("per second", _PER_SECOND))
            for n in (8, 32)
        }
    ),
    "PM-G18": measure_settings(
        {
            **_by_size(_longest_run_of_x),
            "N = 8 over N = 1": _distance_ratio(("apm_mi_mh", 8), _MI),
            "N = 32 over N = 8": _distance_ratio(("apm_mi_mh", 32), ("apm_mi_mh", 8)),
        }
    ),
    "PM-G19": measure_settings(
        {
            "median": _curve_statistic(
                _median_ratio, (_PER_EVALUATION, *_SS), (_PER_EVALUATION, *_MI), low=0.05
            ),
            "every step size": _in_band_everywhere,
            "per second": _curve_statistic(_median_ratio, (_PER_SECOND, *_SS), (_PER_SECOND, *_MI), low=0.05),
        }
    ),
    "PM-G20": measure_settings(
        {
            "ESS per iteration": _auxiliary_ratio(
                "auxiliary_ess_per_iteration", "apm_ss_mh", "apm_mi_mh", "auxiliary_ess_per_evaluation"
            ),
            "longest run of u": _auxiliary_run,
            "histogram of u": _auxiliary_ratio("total_variation_auxiliary", "apm_mi_mh", "apm_ss_mh"),
        }
    ),
    "PM-G21": measure_settings({"N = 1": _auxiliary_sd}),
    "PM-G22": measure_settings(
        {
            "per evaluation": _peak_ratio(_PER_EVALUATION, _MI, _MI_SLICE),
            "per second": _peak_ratio(_PER_SECOND, _MI, _MI_SLICE),
        }
    ),
    "PM-G23": measure_settings(
        {"bracket 2 to 10": _flatness(2.0, 10.0), "bracket 3.5 to 9": _flatness(3.5, 9.0)}
    ),
    "PM-G24": measure_settings(
        {
            unit: _curve_statistic(_median_ratio, (quantity, *_SS_SLICE), (quantity, *_MI_SLICE), low=2.0)
            for unit, quantity in (("per evaluation", _PER_EVALUATION), ("per second", _PER_SECOND))
        }
    ),
    "PM-G25": measure_settings(
        {
            "per evaluation": _peak_ratio(_PER_EVALUATION, _SS_SLICE, _SS),
            "per second": _peak_ratio(_PER_SECOND, _SS_SLICE, _SS),
        }
    ),
    "PM-G26": measure_settings({"u over x": _calls_ratio, "calls for u": _elliptical_calls}),
    "PM-G27": measure_settings({"MI+SS over MI+MH": _tuning_ranges}),
    "PM-G28": measure_settings(
        {"N": _curve_statistic(_growth, *(("acceptance_auxiliary", "apm_mi_mh", size) for size in _SIZES))}
    ),
    "PM-G29": measure_settings(
        {
            "x in slice updates": _always_moves("longest_run_position", ("apm_mi_ss", "apm_ss_ss")),
            "u in elliptical updates": _always_moves("longest_run_auxiliary", ("apm_ss_mh", "apm_ss_ss")),
        }
    ),
    "PM-T01": measure_settings(
        {
            "random-walk accept rate": _constant("theory_random_walk_acceptance"),
            "pseudo-marginal accept rate": _constant("theory_pseudo_marginal_acceptance"),
            "pseudo-marginal noise variance": _constant("theory_pseudo_marginal_variance"),
            "recommended noise sd": _constant("theory_compromise_sd"),
        }
    ),
    "PM-T04": measure_settings(_by_size(_auxiliary_moments)),
    "PM-T05": measure_settings({"unit square": _check("reflective_p_value")}),
    "PM-T06": measure_settings({"N = 1": _check("identity_largest_difference")}),
}
