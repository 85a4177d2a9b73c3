"""Measures the claims about the best step sizes and brackets: PM-G04, G06, G07, G14, G23 and G27."""

import math
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.tables import MissingData, Tables
from experiments.gaussian_latent.comparisons import (
    by_size,
    rounding_error,
    smoothed,
    statistic_of_means,
    with_rounding,
)
from experiments.gaussian_latent.sweeps import TARGET_ACCEPT, grid_of

# PM-G27: efficiency is good from this share of its peak on.
_GOOD = 0.9
# PM-G06: the smallest step sizes, up to where figure 3.3 shows the accept rate to rise.
_SMALL_STEPS = 0.15


def _best_step(method: str, size: int, tables: Tables) -> Measurement:
    grid = grid_of(tables, "ess_per_evaluation", method, size)
    found = statistic_of_means(
        lambda mean: float(grid.points[np.argmax(smoothed(mean))]),
        grid,
        note="peak of a five-point moving average",
    )
    return with_rounding(found, rounding_error(grid), grid)


def _first_rise(size: int, tables: Tables) -> Measurement:
    """Mean accept rate at small step sizes, those next to the smallest, minus that at the smallest."""
    grid = grid_of(tables, "acceptance_position", "pm_mh", size)
    small = np.flatnonzero(grid.points[1:] <= _SMALL_STEPS) + 1
    if small.size == 0:
        raise MissingData(f"no second step size up to {_SMALL_STEPS:g}: not run at this preset")
    smallest, largest = grid.points[0], grid.points[small[-1]]
    note = f"at step sizes up to {largest:g}, minus {grid.mean[0]:.3g} at {smallest:g}"
    return statistic_of_means(lambda mean: float(mean[small].mean() - mean[0]), grid, note=note)


def _largest_accept(size: int, tables: Tables) -> Measurement:
    rates = grid_of(tables, "acceptance_position", "pm_mh", size)
    note = f"at step size {rates.points[int(np.argmax(rates.mean))]:g}"
    return statistic_of_means(lambda mean: float(mean.max()), rates, note=note)


def _efficiency_at_largest_accept(tables: Tables) -> Measurement:
    rates = grid_of(tables, "acceptance_position", "pm_mh", 32)
    efficiency = grid_of(tables, "ess_per_evaluation", "pm_mh", 32)
    best = int(np.argmax(rates.mean))
    return statistic_of_means(
        lambda mean: float(mean[best] / smoothed(mean).max()),
        efficiency,
        note=f"at step size {rates.points[best]:g}",
    )


def _step_at_target(points: FloatArray, rates: FloatArray) -> float:
    """Where accept rates first fall to the target, by linear interpolation; NaN if they do not."""
    below = np.flatnonzero(rates < TARGET_ACCEPT)
    if below.size == 0 or below[0] == 0:
        return math.nan
    right = int(below[0])
    fraction = (rates[right - 1] - TARGET_ACCEPT) / (rates[right - 1] - rates[right])
    return float(points[right - 1] + fraction * (points[right] - points[right - 1]))


def _target_step(size: int, tables: Tables) -> Measurement:
    rates = grid_of(tables, "acceptance_position", "apm_mi_mh", size)
    note = f"linear interpolation between {rates.points.size} step sizes"
    return statistic_of_means(partial(_step_at_target, rates.points), rates, note=note)


def _efficiency_at_target(size: int, tables: Tables) -> Measurement:
    rates = grid_of(tables, "acceptance_position", "apm_mi_mh", size)
    efficiency = grid_of(tables, "ess_per_evaluation", "apm_mi_mh", size)
    step = _step_at_target(rates.points, rates.mean)

    def fraction(mean: FloatArray) -> float:
        curve = smoothed(mean)
        return float(np.interp(step, efficiency.points, curve) / curve.max())

    return statistic_of_means(fraction, efficiency, note=f"at step size {step:.3f}")


def _flatness(low: float, high: float, tables: Tables) -> Measurement:
    grid = grid_of(tables, "ess_per_evaluation", "apm_mi_ss", 1)
    inside = (grid.points >= low - 1e-9) & (grid.points <= high + 1e-9)
    if not inside.any():
        raise MissingData(f"no bracket from {low:g} to {high:g}: not run at this preset")

    def fraction(mean: FloatArray) -> float:
        curve = smoothed(mean)
        return float(curve[inside].min() / curve.max())

    return statistic_of_means(fraction, grid, note="moving averages")


def _good_range(points: FloatArray, mean: FloatArray) -> tuple[float, float]:
    """First and last value of a tuning parameter at which efficiency is good.

    Raises:
        MissingData: all chains are stuck.
    """
    curve = smoothed(mean)
    if not curve.max() > 0.0:
        raise MissingData("all chains are stuck")
    good = points[curve >= _GOOD * curve.max()]
    return float(good[0]), float(good[-1])


def _tuning_ranges(tables: Tables) -> Measurement:
    slices = grid_of(tables, "ess_per_evaluation", "apm_mi_ss", 1)
    walks = grid_of(tables, "ess_per_evaluation", "apm_mi_mh", 1)

    def ratio_of_widths(slice_mean: FloatArray, walk_mean: FloatArray) -> float:
        (a, b), (c, d) = _good_range(slices.points, slice_mean), _good_range(walks.points, walk_mean)
        return (b / a) / (d / c)

    (a, b), (c, d) = _good_range(slices.points, slices.mean), _good_range(walks.points, walks.mean)
    note = f"bracket {a:g} to {b:g}, step size {c:g} to {d:g}"
    if b > slices.points[-1] - 1e-9:
        note = f"{note}; the range goes on beyond the grid, so that the ratio is a lower bound"
    found = statistic_of_means(ratio_of_widths, slices, walks, note=note)
    # Each end is known to a point of its grid.
    of_slices, of_walks = rounding_error(slices), rounding_error(walks)
    relative = np.linalg.norm([of_slices / a, of_slices / b, of_walks / c, of_walks / d])
    return with_rounding(found, found.value * float(relative), slices, walks)


MEASURE: Measures = {
    "PM-G04": by_size(partial(_best_step, "pm_mh")),
    "PM-G06": {f"N = {size}": partial(_first_rise, size) for size in (1, 8)},
    "PM-G07": {**by_size(_largest_accept), "N = 32 efficiency there": _efficiency_at_largest_accept},
    "PM-G14": {
        "N = 1 best step": partial(_best_step, "apm_mi_mh", 1),
        **by_size(_target_step, " target"),
        **by_size(_efficiency_at_target, " efficiency there"),
    },
    "PM-G23": {
        "bracket 2 to 10": partial(_flatness, 2.0, 10.0),
        "bracket 3.5 to 9": partial(_flatness, 3.5, 9.0),
    },
    "PM-G27": {"MI+SS over MI+MH": _tuning_ranges},
}
