"""Curves over step sizes and brackets: read from the tables, smoothed and compared, with errors from their chains."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import pandas as pd
import xarray as xr

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import Measurement, estimate, largest, mean
from auxmc_pipeline.published_values import published_series
from auxmc_pipeline.tables import MissingData, Tables
from experiments.gaussian_latent.settings import TARGET_ACCEPTANCE, program_rows, scale_name

Program = tuple[str, int]  # Method and number of importance samples
_SMOOTHING_POINTS = 5


@lru_cache(maxsize=256)
def sweep_of(
    tables: Tables, quantity: str, program: Program, dataset: str = "calibrated", more: str = ""
) -> xr.DataArray:
    """A quantity of a program over step sizes or brackets [chain, point], of the cases `more` where they were run."""
    scale, where = scale_name(program[0]), program_rows(*program, dataset)
    where["case"] = (more and cases_of(tables, more)) or where["case"]
    found = tables.array(quantity, "chain", scale, table="chain", **where)
    # Rounded, so that points of several grids can be equal.
    return found.rename({scale: "point"}).assign_coords(point=found[scale].values.round(9)).sortby("point")


def cases_of(tables: Tables, name: str) -> list[str]:
    """Cases that were run of one of the configuration, which may have one for each value of a setting."""
    return [case for case in tables["settings"]["case"] if case.partition("__")[0] == name]


def at_best_steps(
    rows: pd.DataFrame, by: Sequence[str] = (), quantity: str = "ess_per_evaluation"
) -> pd.DataFrame:
    """Rows of a program at the step sizes with the largest mean ESS, or the smallest mean error.

    A row is a chain at a point; the best step sizes are those for each value of the columns `by`.
    """
    steps = [name for name in ("step_size", "auxiliary_step") if name in rows and rows[name].notna().any()]
    keys = [*dict.fromkeys([*steps, *by])]
    means = rows.groupby(keys)[quantity].mean().reset_index()
    groups = means.groupby(list(by) or (lambda _: 0))[quantity]
    best = groups.idxmax() if quantity == "ess_per_evaluation" else groups.idxmin()
    return rows.merge(means.loc[best, keys], on=keys)


def sweeps_of(tables: Tables, quantity: str, *programs: Program) -> Sequence[xr.DataArray]:
    """A quantity of several programs at the points that all of them have."""
    each = (sweep_of(tables, quantity, one) for one in programs)
    sweeps = xr.align(*each, join="inner", exclude=["chain"])
    if not sweeps[0].sizes["point"]:
        raise MissingData("no common values of the tuning parameter at this preset")
    return sweeps


def average(sweep: xr.DataArray) -> FloatArray:
    """Mean over chains [point]."""
    return np.asarray(sweep.mean("chain"))


def statistic(function: Callable[..., float], *sweeps: xr.DataArray, note: str = "") -> Measurement:
    """A statistic of curves of means [point], one for each sweep; its error is from resampling their chains."""
    return estimate(lambda *chains: function(*(one.mean(axis=0) for one in chains)), *sweeps, note=note)


def smoothed(curve: FloatArray) -> FloatArray:
    """Moving average over up to five neighbours [point]; fewer at the ends and for curves under 12 points."""
    n = curve.shape[-1]
    half = min(_SMOOTHING_POINTS // 2, n // 6)
    distance = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    weights = (distance <= half).astype(np.float64)
    return np.asarray(curve @ (weights / weights.sum(axis=0)))


def median_ratio(tables: Tables, quantity: str, above: Program, below: Program) -> Measurement:
    """Median over common points of the ratio of two means."""

    def ratios(above: FloatArray, below: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            found = above / below
        return found[~np.isnan(found)] if np.isfinite(found).any() else np.array([math.nan])

    sweeps = sweeps_of(tables, quantity, above, below)
    each = ratios(*map(average, sweeps))
    note = f"from {each.min():.3g} to {each.max():.3g}"
    return statistic(lambda *curves: float(np.median(ratios(*curves))), *sweeps, note=note)


def extreme_ratio(
    tables: Tables, quantity: str, above: Program, below: Program, sign: float = -1.0
) -> Measurement:
    """Smallest (sign -1) or largest (sign 1) ratio of two means over common points."""
    first, second = sweeps_of(tables, quantity, above, below)
    if not average(second).all():
        raise MissingData(f"all chains of {below[0]} are stuck at a point of the sweep")
    ratios = [mean(a) / mean(b) for a, b in zip(first.values.T, second.values.T, strict=True)]
    values = np.array([found.value for found in ratios])
    span = f"from {values.min():.3g} to {values.max():.3g}"
    names = [f"at {point:g}; {span}" for point in first["point"].values]
    found = largest(sign * values, [ratio.error for ratio in ratios], names)
    return found._replace(value=sign * found.value)


def height(curve: FloatArray) -> float:
    """Largest value of the smoothed curve."""
    return float(smoothed(curve).max())


def peak(sweep: xr.DataArray) -> float:
    """Where the smoothed mean curve is largest."""
    return float(sweep["point"].values[np.argmax(smoothed(average(sweep)))])


def peak_ratio(tables: Tables, quantity: str, first: Program, second: Program, more: str = "") -> Measurement:
    """PM-G12, G22, G25: ratio of the heights of two peaks; `more` as of `sweep_of`, of the second."""
    above, below = sweep_of(tables, quantity, first), sweep_of(tables, quantity, second, more=more)
    if not below.any():
        raise MissingData(f"all chains of {second[0]} are stuck")
    note = f"peaks at {peak(above):g} and {peak(below):g} of five-point moving averages"
    return statistic(lambda a, b: height(a) / height(b), above, below, note=note)


def rounding_error(sweep: xr.DataArray) -> float:
    """Standard error of a value that is rounded to a point of a sweep."""
    return float(np.ptp(sweep["point"].values)) / max(sweep.sizes["point"] - 1, 1) / math.sqrt(12.0)


def with_rounding(found: Measurement, rounding: float, *sweeps: xr.DataArray) -> Measurement:
    """A point of sweeps with the error of resampling and that of rounding; NaN if a sweep has one chain."""
    if any(sweep.sizes["chain"] < 2 for sweep in sweeps):
        return found
    # Where all resamples have the same peak, rounding alone is left.
    return found._replace(error=math.hypot(0.0 if math.isnan(found.error) else found.error, rounding))


def noise_ratio(tables: Tables, size: int, *, is_relative: bool = False) -> Measurement:
    """PM-G15: (relative) spreads over chains of acceptance rates, PM MH over APM MI+MH: mean log over steps."""
    sweeps = sweeps_of(tables, "acceptance_position", ("pm_mh", size), ("apm_mi_mh", size))

    def ratio(first: FloatArray, second: FloatArray) -> float:
        return math.exp(np.nanmean(_log_spread(first, is_relative) - _log_spread(second, is_relative)))

    return estimate(ratio, *map(_moving, sweeps), method="jackknife")


def spread_over_drawn(tables: Tables, figure: str, method: str, size: int) -> Measurement:
    """PM-G15: spread over chains of acceptance rates over that of a figure: mean log over steps."""
    more = "apm_mi_mh_one" if (method, size) == ("apm_mi_mh", 1) else ""
    sweep = sweep_of(tables, "acceptance_position", (method, size), more=more)
    there = published_series("gaussian_latent", figure, f"{method} {size} target_acceptance_rate")
    drawn = np.log(np.interp(sweep["point"].values, there.x, (there.high - there.low) / 2.0))
    return estimate(
        lambda chains: math.exp(np.nanmean(_log_spread(chains) - drawn)), _moving(sweep), method="jackknife"
    )


def _moving(sweep: xr.DataArray) -> xr.DataArray:
    if sweep.sizes["chain"] < 3 or not sweep.any():
        raise MissingData("a spread over chains needs three chains that move: not run at this preset")
    return sweep


def _log_spread(chains: FloatArray, is_relative: bool = False) -> FloatArray:
    rates, spreads = chains.mean(axis=0), chains.std(axis=0, ddof=1)
    scaled = spreads / np.where(rates > 0.0, rates, 1.0) if is_relative else spreads
    return np.log(scaled, out=np.full_like(spreads, np.nan), where=spreads > 0.0)


def step_at_target(points: FloatArray, rates: FloatArray) -> float:
    """Where acceptance rates first fall to the target, by linear interpolation; NaN if they do not."""
    right = int(np.argmax(rates < TARGET_ACCEPTANCE))
    if right == 0:
        return math.nan
    return float(np.interp(-TARGET_ACCEPTANCE, -rates[[right - 1, right]], points[[right - 1, right]]))
