"""Measures the claims about accept rates of the updates in APM MI+MH: PM-G11, G15, G16 and G28."""

import math

import numpy as np
from scipy import stats

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import ratio
from auxmc_pipeline.tables import MissingData, Tables
from experiments.gaussian_latent.comparisons import (
    by_size,
    mean_at,
    median_ratio,
    on_common_points,
    statistic_of_means,
)
from experiments.gaussian_latent.sweeps import BEST_STEP, SIZES, grid_of, shared_value

_N_RESAMPLES = 400
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
    fit = stats.linregress(rates.points, rates.mean)
    change = abs(fit.slope) * np.ptp(rates.points) / rates.mean.mean()
    error = fit.stderr * np.ptp(rates.points) / rates.mean.mean()
    note = f"relative change {change:.3f}, p value of the correlation {fit.pvalue:.2g}"
    if fit.pvalue > 0.05:
        return Measurement(0.0, 0.0, note)
    return Measurement(float(change), float(error), note)


def _monotone(tables: Tables) -> Measurement:
    falls, largest = [], 0.0
    for size in SIZES:
        rates = grid_of(tables, "acceptance_position", "apm_mi_mh", size)
        rise = np.diff(rates.mean)
        error = np.hypot(rates.standard_error[1:], rates.standard_error[:-1])
        falls.append(rise <= 4.0 * error)
        largest = max(largest, float(rise.max()))
    together = np.concatenate(falls)
    return Measurement(float(together.mean()), 0.0, f"{together.size} pairs; largest rise {largest:.2g}")


def _median_spread(values: FloatArray) -> FloatArray:
    """Median over points of sd/mean over chains; values [..., point, chain]."""
    mean = values.mean(axis=-1)
    spread = np.divide(values.std(axis=-1, ddof=1), mean, out=np.full_like(mean, np.nan), where=mean > 0.0)
    return np.asarray(np.nanmedian(spread, axis=-1))


def _relative_noise(tables: Tables, method: str, size: int) -> Measurement:
    values = grid_of(tables, "acceptance_position", method, size).values
    if values.shape[1] < 2 or not values.any():
        raise MissingData("a spread over chains needs two chains that move: not run at this preset")
    shape = (_N_RESAMPLES, *values.shape)
    chosen = np.random.default_rng(11).integers(0, values.shape[1], shape)
    resampled = np.take_along_axis(np.broadcast_to(values, shape), chosen, axis=-1)
    return Measurement(float(_median_spread(values)), float(np.nanstd(_median_spread(resampled), ddof=1)))


def _noise_ratio(size: int, tables: Tables) -> Measurement:
    above, below = (_relative_noise(tables, method, size) for method in ("pm_mh", "apm_mi_mh"))
    return ratio(above, below, f"medians {above.value:.3g} and {below.value:.3g}")


def _closed_form_difference(tables: Tables) -> Measurement:
    rates = grid_of(tables, "acceptance_position", "apm_mi_mh", 1)
    exact = grid_of(tables, "exact_acceptance_position", "apm_mi_mh", 1)
    difference = np.abs(rates.mean - exact.mean)
    worst = int(np.argmax(difference))
    note = f"at step size {rates.points[worst]:g}"
    return Measurement(float(difference[worst]), float(rates.standard_error[worst]), note)


def _accept_at_published(tables: Tables) -> Measurement:
    rates = grid_of(tables, "acceptance_position", "apm_mi_mh", 1)
    step = BEST_STEP["apm_mi_mh"][1]
    here = np.flatnonzero(np.isclose(rates.points, step))
    if here.size == 0:
        raise MissingData(f"step size {step:g}: not run at this preset")
    return mean_at(rates, int(here[0]), "exact value 0.2373")


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
        "monotone": _monotone,
        **by_size(_noise_ratio, " noise"),
        "N = 1 closed form": _closed_form_difference,
        "N = 1 at 0.425": _accept_at_published,
    },
    "PM-G16": by_size(_ratio_to_joint_update),
    "PM-G28": {"N": _growth},
}
