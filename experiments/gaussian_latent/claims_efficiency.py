"""Measures the claims about efficiency and cost: PM-G03, G05, G08, G12, G13, G17, G19, G22 and G24 to G26."""

from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import paired_ratio
from auxmc_pipeline.tables import MissingData, Tables
from experiments.gaussian_latent.comparisons import (
    by_size,
    extreme_ratio,
    median_ratio,
    smoothed,
    statistic_of_means,
)
from experiments.gaussian_latent.sweeps import SIZES, Grid, grid_of

_UNITS = {"per evaluation": "ess_per_evaluation", "per second": "ess_per_second"}

# Method and number of importance samples.
_PM, _MI, _SS = ("pm_mh", 1), ("apm_mi_mh", 1), ("apm_ss_mh", 1)
_MI_SLICE, _SS_SLICE = ("apm_mi_ss", 1), ("apm_ss_ss", 1)

# PM-G19 is about step sizes from the first on, PM-G24 about brackets from the second on.
_LEAST_STEP, _LEAST_BRACKET = 0.05, 2.0


def _peak(grid: Grid) -> float:
    """Where the smoothed mean curve is largest."""
    return float(grid.points[np.argmax(smoothed(grid.mean))])


def _height(mean: FloatArray) -> float:
    return float(smoothed(mean).max())


def _peak_value(size: int, tables: Tables) -> Measurement:
    grid = grid_of(tables, "ess_per_evaluation", "pm_mh", size)
    note = f"peak of a five-point moving average, at {_peak(grid):g}"
    return statistic_of_means(_height, grid, note=note)


def _peak_ratio(
    quantity: str, first: tuple[str, int], second: tuple[str, int], tables: Tables
) -> Measurement:
    above, below = (grid_of(tables, quantity, *one) for one in (first, second))
    if not below.values.any():
        raise MissingData(f"all chains of {second[0]} are stuck")
    note = f"peaks at {_peak(above):g} and {_peak(below):g} of five-point moving averages"
    return statistic_of_means(lambda a, b: _height(a) / _height(b), above, below, note=note)


def _best_over_sizes(quantity: str, tables: Tables) -> Measurement:
    above, below = (
        [grid_of(tables, quantity, method, size) for size in SIZES] for method in ("apm_mi_mh", "pm_mh")
    )

    def ratio_of_best(*means: FloatArray) -> float:
        heights = [_height(mean) for mean in means]
        return max(heights[: len(SIZES)]) / max(heights[len(SIZES) :])

    best = [SIZES[int(np.argmax([_height(grid.mean) for grid in grids]))] for grids in (above, below)]
    return statistic_of_means(ratio_of_best, *above, *below, note=f"N = {best[0]} and N = {best[1]}")


def _evaluations_ratio(tables: Tables) -> Measurement:
    above, below = (grid_of(tables, "evaluations_per_iteration", *one) for one in (_SS, _MI))
    return statistic_of_means(lambda a, b: float(a.mean() / b.mean()), above, below)


def _calls_ratio(tables: Tables) -> Measurement:
    bracket = _peak(grid_of(tables, "ess_per_evaluation", *_SS_SLICE))
    grids = [grid_of(tables, name, *_SS_SLICE) for name in ("estimates_auxiliary", "estimates_position")]
    above, below = (grid.values[int(np.argmin(np.abs(grid.points - bracket)))] for grid in grids)
    note = f"{above.mean():.2f} and {below.mean():.2f} calls an iteration at bracket {bracket:g}"
    return paired_ratio(above, below, note)


def _elliptical_calls(tables: Tables) -> Measurement:
    grid = grid_of(tables, "estimates_auxiliary", *_SS)
    return statistic_of_means(lambda mean: float(mean.mean()), grid, note="APM SS+MH, mean over step sizes")


MEASURE: Measures = {
    "PM-G03": {
        "N = 1 over N = 8": partial(_peak_ratio, "ess_per_evaluation", _PM, ("pm_mh", 8)),
        "N = 1 over N = 32": partial(_peak_ratio, "ess_per_evaluation", _PM, ("pm_mh", 32)),
        "N = 8 over N = 32": partial(_peak_ratio, "ess_per_evaluation", ("pm_mh", 8), ("pm_mh", 32)),
    },
    "PM-G05": by_size(_peak_value),
    "PM-G08": {
        **{
            f"N = {size}": partial(extreme_ratio, np.argmin, "ess_per_second", ("pm_mh", size), _PM)
            for size in SIZES[1:]
        },
        # A call of the estimator evaluates N densities.
        **{
            f"N = {size} per estimator call": partial(
                extreme_ratio, np.argmin, "ess_per_evaluation", ("pm_mh", size), _PM, factor=size
            )
            for size in SIZES[1:]
        },
    },
    "PM-G12": {"N = 1": partial(_peak_ratio, "ess_per_evaluation", _MI, _PM)},
    "PM-G13": {
        "best N of each": partial(_best_over_sizes, "ess_per_second"),
        "best N of each per evaluation": partial(_best_over_sizes, "ess_per_evaluation"),
    },
    "PM-G17": {
        f"N = {size} {unit}": partial(extreme_ratio, np.argmin, quantity, _MI, ("apm_mi_mh", size))
        for unit, quantity in _UNITS.items()
        for size in SIZES[1:]
    },
    "PM-G19": {
        "median": partial(median_ratio, "ess_per_evaluation", _MI, _SS, low=_LEAST_STEP),
        "smallest": partial(extreme_ratio, np.argmin, "ess_per_evaluation", _MI, _SS, low=_LEAST_STEP),
        "largest": partial(extreme_ratio, np.argmax, "ess_per_evaluation", _MI, _SS, low=_LEAST_STEP),
        "per second": partial(median_ratio, "ess_per_second", _MI, _SS, low=_LEAST_STEP),
        "evaluations per iteration": _evaluations_ratio,
    },
    "PM-G22": {unit: partial(_peak_ratio, quantity, _MI, _MI_SLICE) for unit, quantity in _UNITS.items()},
    "PM-G24": {
        unit: partial(median_ratio, quantity, _SS_SLICE, _MI_SLICE, low=_LEAST_BRACKET)
        for unit, quantity in _UNITS.items()
    },
    "PM-G25": {unit: partial(_peak_ratio, quantity, _SS_SLICE, _SS) for unit, quantity in _UNITS.items()},
    "PM-G26": {"u over x": _calls_ratio, "calls for u": _elliptical_calls},
}
