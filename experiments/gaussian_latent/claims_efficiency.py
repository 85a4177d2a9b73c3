"""Measures the claims about efficiency and cost: PM-G03, G05, G08, G12, G13, G17, G19, G22 and G24 to G26."""

import math

import numpy as np
import pandas as pd

from auxmc_pipeline.claims import Measurement, measure_settings
from experiments.gaussian_latent.comparisons import (
    Measure,
    by_size,
    mean_at,
    median_ratio,
    on_common_points,
    ratio,
    statistic_of_means,
)
from experiments.gaussian_latent.selection import SIZES, bootstrap_error, grid_of, smoothed

_PER_EVALUATION, _PER_SECOND = "ess_per_evaluation", "ess_per_second"
_UNITS = {"per evaluation": _PER_EVALUATION, "per second": _PER_SECOND}

# Method and number of importance samples.
_PM, _MI, _SS = ("pm_mh", 1), ("apm_mi_mh", 1), ("apm_ss_mh", 1)
_MI_SLICE, _SS_SLICE = ("apm_mi_ss", 1), ("apm_ss_ss", 1)

# PM-G19 is about step sizes from the first on, PM-G24 about brackets from the second on.
_LEAST_STEP, _LEAST_BRACKET = 0.05, 2.0
# What PM-G19 takes for about a half.
_BAND = (0.33, 0.55)


def _peak(summary: pd.DataFrame, quantity: str, method: str, size: int) -> tuple[Measurement, float]:
    """Largest value of the smoothed mean curve, and where it is."""
    grid = grid_of(summary, quantity, method, size)
    curve = smoothed(grid.mean)
    error = bootstrap_error(lambda mean: float(smoothed(mean).max()), grid)
    return Measurement(float(curve.max()), error), float(grid.points[np.argmax(curve)])


def _peak_value(size: int) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        value, point = _peak(summary, _PER_EVALUATION, "pm_mh", size)
        return value._replace(note=f"peak of a five-point moving average, at {point:g}")

    return measure


def _peak_ratio(quantity: str, first: tuple[str, int], second: tuple[str, int]) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        (above, point_above), (below, point_below) = (
            _peak(summary, quantity, *one) for one in (first, second)
        )
        note = f"peaks at {point_above:g} and {point_below:g} of five-point moving averages"
        return ratio(above, below, note)

    return measure


def _best_over_sizes(summary: pd.DataFrame) -> Measurement:
    (above, size_above), (below, size_below) = (
        max((_peak(summary, _PER_SECOND, method, size)[0], size) for size in SIZES)
        for method in ("apm_mi_mh", "pm_mh")
    )
    return ratio(above, below, f"N = {size_above} and N = {size_below}; chains ran side by side")


def _fraction_above(quantity: str, first: tuple[str, int], second: tuple[str, int]) -> Measure:
    """Fraction of sweep points where the first has the larger mean.

    Its error is half the fraction of points at which the two means are within two standard errors.
    """

    def measure(summary: pd.DataFrame) -> Measurement:
        above, below = on_common_points([grid_of(summary, quantity, *one) for one in (first, second)])
        difference = above.mean - below.mean
        unclear = np.abs(difference) < 2.0 * np.hypot(above.standard_error, below.standard_error)
        note = f"{difference.size} values; differences within two standard errors at {int(unclear.sum())}"
        return Measurement(float(np.mean(difference > 0.0)), 0.5 * float(np.mean(unclear)), note)

    return measure


def _median_ratio(quantity: str, first: tuple[str, int], second: tuple[str, int], low: float) -> Measure:
    return lambda summary: median_ratio(summary, (quantity, *first), (quantity, *second), low)


def _in_band_everywhere(summary: pd.DataFrame) -> Measurement:
    grids = [grid_of(summary, _PER_EVALUATION, *one) for one in (_SS, _MI)]
    above, below = on_common_points(grids, _LEAST_STEP)
    if not (below.mean > 0.0).all():
        return Measurement(math.nan, math.nan, "a mean is zero: all chains are stuck")
    ratios = above.mean / below.mean
    error = ratios * np.hypot(
        above.standard_error / np.maximum(above.mean, 1e-300), below.standard_error / below.mean
    )
    low, high = _BAND
    inside = (ratios >= low) & (ratios <= high)
    unclear = np.minimum(np.abs(ratios - low), np.abs(ratios - high)) < 2.0 * error
    note = (
        f"from {ratios.min():.2f} to {ratios.max():.2f}; "
        f"within two standard errors of an edge at {int(unclear.sum())}"
    )
    return Measurement(float(inside.mean()), 0.5 * float(unclear.mean()), note)


def _calls_ratio(summary: pd.DataFrame) -> Measurement:
    _, bracket = _peak(summary, _PER_EVALUATION, *_SS_SLICE)
    calls = []
    for quantity in ("estimates_auxiliary", "estimates_position"):
        grid = grid_of(summary, quantity, *_SS_SLICE)
        calls.append(mean_at(grid, int(np.argmin(np.abs(grid.points - bracket)))))
    note = f"{calls[0].value:.2f} and {calls[1].value:.2f} calls an iteration at bracket {bracket:g}"
    return ratio(calls[0], calls[1], note)


def _elliptical_calls(summary: pd.DataFrame) -> Measurement:
    grid = grid_of(summary, "estimates_auxiliary", *_SS)
    return statistic_of_means(lambda mean: float(mean.mean()), grid, note="APM SS+MH, mean over step sizes")


MEASURE = {
    "PM-G03": measure_settings(
        {
            "N = 1 over N = 8": _peak_ratio(_PER_EVALUATION, _PM, ("pm_mh", 8)),
            "N = 8 over N = 32": _peak_ratio(_PER_EVALUATION, ("pm_mh", 8), ("pm_mh", 32)),
        }
    ),
    "PM-G05": measure_settings(by_size(_peak_value)),
    "PM-G08": measure_settings(
        {f"N = {size}": _fraction_above(_PER_SECOND, ("pm_mh", size), _PM) for size in SIZES[1:]}
    ),
    "PM-G12": measure_settings({"N = 1": _peak_ratio(_PER_EVALUATION, _MI, _PM)}),
    "PM-G13": measure_settings({"best N of each": _best_over_sizes}),
    "PM-G17": measure_settings(
        {
            f"N = {size} {unit}": _fraction_above(quantity, _MI, ("apm_mi_mh", size))
            for unit, quantity in _UNITS.items()
            for size in SIZES[1:]
        }
    ),
    "PM-G19": measure_settings(
        {
            "median": _median_ratio(_PER_EVALUATION, _SS, _MI, _LEAST_STEP),
            "every step size": _in_band_everywhere,
            "per second": _median_ratio(_PER_SECOND, _SS, _MI, _LEAST_STEP),
        }
    ),
    "PM-G22": measure_settings(
        {unit: _peak_ratio(quantity, _MI, _MI_SLICE) for unit, quantity in _UNITS.items()}
    ),
    "PM-G24": measure_settings(
        {
            unit: _median_ratio(quantity, _SS_SLICE, _MI_SLICE, _LEAST_BRACKET)
            for unit, quantity in _UNITS.items()
        }
    ),
    "PM-G25": measure_settings(
        {unit: _peak_ratio(quantity, _SS_SLICE, _SS) for unit, quantity in _UNITS.items()}
    ),
    "PM-G26": measure_settings({"u over x": _calls_ratio, "calls for u": _elliptical_calls}),
}
