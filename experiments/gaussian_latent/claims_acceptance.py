"""Measures the claims about accept rates of the updates in APM MI+MH: PM-G11, G15, G16 and G28."""

import math
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import jackknife, largest, mean_over_replicates, ratio
from auxmc_pipeline.tables import MissingData, Tables
from experiments.gaussian_latent.comparisons import (
    by_size,
    median_ratio,
    on_common_points,
    statistic_of_means,
)
from experiments.gaussian_latent.sweeps import BEST_STEP, SIZES, grid_of, shared_value

# Least step size of the claims about a trend, PM-G11.
_TREND_FROM = 0.1


def _independence_accept(size: int, tables: Tables) -> Measurement:
    rates = grid_of(tables, "acceptance_auxiliary", "apm_mi_mh", size)
    known = shared_value(
        tables, "exact_acceptance_auxiliary", method="apm_mi_mh", n_importance=size, dataset="calibrated"
    )
    exact = f"; exact stationary value {known:.4f}" if math.isfinite(known) else ""
    return statistic_of_means(
        lambda mean: float(mean.mean()), rates, note=f"mean over chains and step sizes{exact}"
    )


def _independence_trend(size: int, tables: Tables) -> Measurement:
    (rates,) = on_common_points([grid_of(tables, "acceptance_auxiliary", "apm_mi_mh", size)], _TREND_FROM)
    if rates.points.size < 3:
        raise MissingData(f"a trend needs three step sizes from {_TREND_FROM:g} on: not run at this preset")

    def change(mean: FloatArray) -> float:
        gradient = np.polyfit(rates.points, mean, 1)[0]
        return float(gradient * np.ptp(rates.points) / mean.mean())

    return statistic_of_means(change, rates, note=f"straight line through {rates.points.size} step sizes")


def _largest_rise(tables: Tables) -> Measurement:
    rises: list[float] = []
    errors: list[float] = []
    names: list[str] = []
    for size in SIZES:
        rates = grid_of(tables, "acceptance_position", "apm_mi_mh", size)
        rises.extend(np.diff(rates.mean))
        errors.extend(np.hypot(rates.standard_error[1:], rates.standard_error[:-1]))
        names.extend(f"N = {size}, from step size {point:g} on" for point in rates.points[:-1])
    return largest(rises, errors, names)


def _median_spread(values: FloatArray) -> float:
    """Median over points of sd/mean over chains; values [point, chain]."""
    mean = values.mean(axis=1)
    spread = np.divide(values.std(axis=1, ddof=1), mean, out=np.full_like(mean, np.nan), where=mean > 0.0)
    return float(np.nanmedian(spread))


def _relative_noise(tables: Tables, method: str, size: int) -> Measurement:
    values = grid_of(tables, "acceptance_position", method, size).values
    if values.shape[1] < 3 or not values.any():
        raise MissingData("a spread over chains needs three chains that move: not run at this preset")
    return jackknife(lambda kept: _median_spread(values[:, kept]), values.shape[1])


def _noise_ratio(size: int, tables: Tables) -> Measurement:
    above, below = (_relative_noise(tables, method, size) for method in ("pm_mh", "apm_mi_mh"))
    return ratio(above, below, f"medians {above.value:.3g} and {below.value:.3g}")


def _closed_form_difference(tables: Tables) -> Measurement:
    rates = grid_of(tables, "acceptance_position", "apm_mi_mh", 1)
    exact = grid_of(tables, "exact_acceptance_position", "apm_mi_mh", 1)
    names = [f"at step size {point:g}" for point in rates.points]
    return largest(np.abs(rates.mean - exact.mean), rates.standard_error, names)


def _accept_at_published(tables: Tables) -> Measurement:
    rates = grid_of(tables, "acceptance_position", "apm_mi_mh", 1)
    step = BEST_STEP["apm_mi_mh"][1]
    here = np.flatnonzero(np.isclose(rates.points, step))
    if here.size == 0:
        raise MissingData(f"step size {step:g}: not run at this preset")
    return mean_over_replicates(rates.values[here[0]])


def _ratio_to_joint_update(size: int, tables: Tables) -> Measurement:
    return median_ratio("acceptance_position", ("apm_mi_mh", size), ("pm_mh", size), tables)


def _growth(tables: Tables) -> Measurement:
    def growth(first: FloatArray, second: FloatArray, third: FloatArray) -> float:
        rates = [float(curve.mean()) for curve in (first, second, third)]
        return float((rates[1] / rates[0]) ** (1.0 / 3.0) / (rates[2] / rates[1]) ** 0.5)

    grids = [grid_of(tables, "acceptance_auxiliary", "apm_mi_mh", size) for size in SIZES]
    return statistic_of_means(growth, *on_common_points(grids))


MEASURE: Measures = {
    "PM-G11": {**by_size(_independence_accept), **by_size(_independence_trend, " trend")},
    "PM-G15": {
        "largest rise": _largest_rise,
        **by_size(_noise_ratio, " noise"),
        "N = 1 closed form": _closed_form_difference,
        "N = 1 at 0.425": _accept_at_published,
    },
    "PM-G16": {**by_size(_ratio_to_joint_update), "N = 2 as printed": partial(_ratio_to_joint_update, 2)},
    "PM-G28": {"N": _growth},
}
