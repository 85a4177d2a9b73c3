"""Measures the claims about efficiency and cost: PM-G03, G05, G08, G12, G13, G17, G19, G22 and G24 to G26."""

import math
from functools import partial

import numpy as np

from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import ratio
from auxmc_pipeline.tables import Tables
from experiments.gaussian_latent.comparisons import (
    by_size,
    mean_at,
    median_ratio,
    on_common_points,
    smoothed,
    statistic_of_means,
)
from experiments.gaussian_latent.sweeps import SIZES, grid_of

_UNITS = {"per evaluation": "ess_per_evaluation", "per second": "ess_per_second"}

# Method and number of importance samples.
_PM, _MI, _SS = ("pm_mh", 1), ("apm_mi_mh", 1), ("apm_ss_mh", 1)
_MI_SLICE, _SS_SLICE = ("apm_mi_ss", 1), ("apm_ss_ss", 1)

# PM-G19 is about step sizes from the first on, PM-G24 about brackets from the second on.
_LEAST_STEP, _LEAST_BRACKET = 0.05, 2.0
# What PM-G19 takes for about a half.
_BAND = (0.33, 0.55)


def _peak(tables: Tables, quantity: str, method: str, size: int) -> tuple[Measurement, float]:
    """Largest value of the smoothed mean curve, and where it is."""
    grid = grid_of(tables, quantity, method, size)
    largest = statistic_of_means(lambda mean: float(smoothed(mean).max()), grid)
    return largest, float(grid.points[np.argmax(smoothed(grid.mean))])


def _peak_value(size: int, tables: Tables) -> Measurement:
    value, point = _peak(tables, "ess_per_evaluation", "pm_mh", size)
    return value._replace(note=f"peak of a five-point moving average, at {point:g}")


def _peak_ratio(
    quantity: str, first: tuple[str, int], second: tuple[str, int], tables: Tables
) -> Measurement:
    (above, point_above), (below, point_below) = (_peak(tables, quantity, *one) for one in (first, second))
    note = f"peaks at {point_above:g} and {point_below:g} of five-point moving averages"
    return ratio(above, below, note)


def _best_over_sizes(tables: Tables) -> Measurement:
    (above, size_above), (below, size_below) = (
        max((_peak(tables, "ess_per_second", method, size)[0], size) for size in SIZES)
        for method in ("apm_mi_mh", "pm_mh")
    )
    return ratio(above, below, f"N = {size_above} and N = {size_below}; chains ran side by side")


def _fraction_above(
    quantity: str, first: tuple[str, int], second: tuple[str, int], tables: Tables
) -> Measurement:
    """Fraction of sweep points where the first has the larger mean.

    Its error is half the fraction of points at which the two means are within two standard errors.
    """
    above, below = on_common_points([grid_of(tables, quantity, *one) for one in (first, second)])
    difference = above.mean - below.mean
    unclear = np.abs(difference) < 2.0 * np.hypot(above.standard_error, below.standard_error)
    note = f"{difference.size} values; differences within two standard errors at {int(unclear.sum())}"
    return Measurement(float(np.mean(difference > 0.0)), 0.5 * float(np.mean(unclear)), note)


def _in_band_everywhere(tables: Tables) -> Measurement:
    grids = [grid_of(tables, "ess_per_evaluation", *one) for one in (_SS, _MI)]
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


def _calls_ratio(tables: Tables) -> Measurement:
    _, bracket = _peak(tables, "ess_per_evaluation", *_SS_SLICE)
    grids = [grid_of(tables, name, *_SS_SLICE) for name in ("estimates_auxiliary", "estimates_position")]
    above, below = (mean_at(grid, int(np.argmin(np.abs(grid.points - bracket)))) for grid in grids)
    note = f"{above.value:.2f} and {below.value:.2f} calls an iteration at bracket {bracket:g}"
    return ratio(above, below, note)


def _elliptical_calls(tables: Tables) -> Measurement:
    grid = grid_of(tables, "estimates_auxiliary", *_SS)
    return statistic_of_means(lambda mean: float(mean.mean()), grid, note="APM SS+MH, mean over step sizes")


MEASURE: Measures = {
    "PM-G03": {
        "N = 1 over N = 8": partial(_peak_ratio, "ess_per_evaluation", _PM, ("pm_mh", 8)),
        "N = 8 over N = 32": partial(_peak_ratio, "ess_per_evaluation", ("pm_mh", 8), ("pm_mh", 32)),
    },
    "PM-G05": by_size(_peak_value),
    "PM-G08": {
        f"N = {size}": partial(_fraction_above, "ess_per_second", ("pm_mh", size), _PM) for size in SIZES[1:]
    },
    "PM-G12": {"N = 1": partial(_peak_ratio, "ess_per_evaluation", _MI, _PM)},
    "PM-G13": {"best N of each": _best_over_sizes},
    "PM-G17": {
        f"N = {size} {unit}": partial(_fraction_above, quantity, _MI, ("apm_mi_mh", size))
        for unit, quantity in _UNITS.items()
        for size in SIZES[1:]
    },
    "PM-G19": {
        "median": partial(median_ratio, "ess_per_evaluation", _SS, _MI, low=_LEAST_STEP),
        "every step size": _in_band_everywhere,
        "per second": partial(median_ratio, "ess_per_second", _SS, _MI, low=_LEAST_STEP),
    },
    "PM-G22": {unit: partial(_peak_ratio, quantity, _MI, _MI_SLICE) for unit, quantity in _UNITS.items()},
    "PM-G24": {
        unit: partial(median_ratio, quantity, _SS_SLICE, _MI_SLICE, low=_LEAST_BRACKET)
        for unit, quantity in _UNITS.items()
    },
    "PM-G25": {unit: partial(_peak_ratio, quantity, _SS_SLICE, _SS) for unit, quantity in _UNITS.items()},
    "PM-G26": {"u over x": _calls_ratio, "calls for u": _elliptical_calls},
}
