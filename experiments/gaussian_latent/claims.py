"""Measures the published claims PM-G01 to PM-T06, and the numbers of the findings, from the tables of the study."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from auxmc.diagnostics.distributions import histogram_roughness
from auxmc.diagnostics.errors_of_means import error_between_chains, few_replicates
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import Measurement, estimate, exact, largest, mean, proportion
from auxmc_pipeline.published_values import DISTANCE, log_distance, published_series, published_value
from auxmc_pipeline.tables import Measure, MissingData, Tables, first_run, recorded
from experiments.gaussian_latent.settings import RIVAL_CASES, SIZES, TARGET_ACCEPTANCE, long_case
from experiments.gaussian_latent.sweeps import (
    Program,
    at_best_steps,
    average,
    cases_of,
    extreme_ratio,
    height,
    median_ratio,
    noise_ratio,
    peak,
    peak_ratio,
    rounding_error,
    smoothed,
    spread_over_drawn,
    statistic,
    step_at_target,
    sweep_of,
    sweeps_of,
    with_rounding,
)

PM, MI, SS, MI_SLICE, SS_SLICE = (
    (method, 1) for method in ("pm_mh", "apm_mi_mh", "apm_ss_mh", "apm_mi_ss", "apm_ss_ss")
)
PM_32 = ("pm_mh", 32)

_GOOD = 0.9  # PM-G27: efficiency is good from this fraction of its peak on
_HALF_UNITS = {1: 0.0005, 8: 0.005, 32: 0.005}  # PM-G11: of the last digits of 0.025, 0.11 and 0.23
_ORDINARY = 0.025  # PM-G04, G05, G07, G10, G11: the edge of the bands
_SMALL_STEPS = 0.15  # PM-G06: where figure 3.3 shows the acceptance rate to rise
_noise = partial(recorded, "sd_log_estimate", "sd_log_estimate_error", case="checks")


def sd_ratio(tables: Tables, size: int) -> Measurement:
    """PM-G02: posterior standard deviation in chains over the exact one, mean over coordinates."""
    rows = tables.rows("coordinate", "exact_sd", case="long_apm_mi_mh", n_importance=size)
    found = (rows["posterior_sd"] / rows["exact_sd"]).to_numpy()
    errors = (rows["mcse_sd"] / rows["exact_sd"]).to_numpy()  # Same chains: errors go together
    return Measurement(float(found.mean()), float(errors.mean()), f"mean over {found.size} coordinates")


def sd_ratio_as_printed(tables: Tables) -> Measurement:
    """PM-G02 with the printed denominator, which has the number of importance samples in place of that of data."""
    sds = [tables.setting(name, case="long_apm_mi_mh") for name in ("sd_latent", "sd_observation")]
    variance = sum(sd**2 for sd in sds)
    return sd_ratio(tables, 1) * (exact_sd(tables).value / math.sqrt(variance / (1.0 + variance)))


def auxiliary_sd(tables: Tables) -> Measurement:
    """PM-G21, samples."""
    rows = tables.rows("chain", "auxiliary_mean", case="auxiliary", method="apm_ss_mh")
    moments = rows["auxiliary_mean"], rows["auxiliary_second_moment"]
    note = f"all {len(rows)} chains together"
    return estimate(lambda m, s: math.sqrt(s.mean() - m.mean() ** 2), *moments, method="paired", note=note)


def efficiency_of(tables: Tables, program: Program, more: str = "") -> xr.DataArray:
    """Effective samples per density evaluation [chain, point], of case `more` where it was run."""
    return sweep_of(tables, "ess_per_evaluation", program, more=more)


def best_step(tables: Tables, size: int) -> Measurement:
    """PM-G14: the step size of the peak, which is known to a point of the sweep."""
    sweep, note = efficiency_of(tables, ("apm_mi_mh", size)), "peak of a five-point moving average"
    found = statistic(lambda c: float(sweep["point"].values[np.argmax(smoothed(c))]), sweep, note=note)
    return with_rounding(found, rounding_error(sweep), sweep)


def by_data(tables: Tables, case: str, quantity: str, size: int) -> xr.DataArray:
    """A quantity on several data sets [data set, step size, chain], of a case of that many seeds."""
    rows = tables.rows("chain", quantity, case=cases_of(tables, case), n_importance=size)
    return rows.set_index(["case", "step_size", "chain"])[quantity].to_xarray()


def of_another_data_set(values: FloatArray) -> Measurement:
    """Mean over data sets, with the error of that of one other data set, as the document has one."""
    spread = float(np.std(values, ddof=1)) * math.sqrt(1.0 + 1.0 / len(values))
    return Measurement(float(np.mean(values)), spread, f"{len(values)} data sets")


def tail_of_drawn(
    values: FloatArray, claim: str, size: int, half_unit: float = 0.0, of: str = "data set"
) -> Measurement:
    """Smaller tail probability of the document's number among data sets, normal with mean and spread of ours.

    Two errors reach to its farthest value towards the edge of the band, by the errors of mean and spread. A printed
    number, rounded to within `half_unit`, is the nearest that is printed so.
    """
    n_sets, center, spread = len(values), float(np.mean(values)), float(np.std(values, ddof=1))
    drawn = published_value("gaussian_latent", claim, f"N = {size}, one {of}").value
    score = max(abs(drawn - center) - half_unit, 0.0) / spread
    error = math.sqrt(1.0 / n_sets + score**2 / (2.0 * (n_sets - 1))) * few_replicates(n_sets)
    tail = float(stats.norm.sf(score))
    farthest = float(stats.norm.sf(score + (2.0 if tail > _ORDINARY else -2.0) * error))
    note = f"{n_sets} {of}s: {center:.3g}, standard deviation {spread:.2g}"
    return Measurement(tail, abs(tail - farthest) / 2.0, note)


def peak_over_data(tables: Tables, size: int, claim: str) -> Measurement:
    """PM-G04, where the peak is, and PM-G05, its height."""
    curves = by_data(tables, "pm_mh_peaks", "ess_per_evaluation", size).mean("chain")
    places = curves["step_size"].values[smoothed(curves.values).argmax(axis=1)]
    return tail_of_drawn(smoothed(curves.values).max(axis=1) if claim == "PM-G05" else places, claim, size)


def best_over_sizes(tables: Tables, quantity: str) -> Measurement:
    """PM-G13; where a clock enters, the error is unknown."""
    sweeps = [sweep_of(tables, quantity, (name, size)) for name in ("apm_mi_mh", "pm_mh") for size in SIZES]

    def ratio_of_best(*curves: FloatArray) -> float:
        above, below = np.reshape([height(curve) for curve in curves], (2, -1))
        return float(above.max() / below.max())

    best = np.reshape([height(average(sweep)) for sweep in sweeps], (2, -1)).argmax(axis=1)
    found = statistic(ratio_of_best, *sweeps, note=f"N = {SIZES[best[0]]} and N = {SIZES[best[1]]}")
    return found._replace(error=math.nan) if quantity == "ess_per_second" else found


def evaluations_ratio(tables: Tables) -> Measurement:
    """PM-G19, work of an iteration."""
    sweeps = [sweep_of(tables, "evaluations_per_iteration", one) for one in (SS, MI)]
    return statistic(lambda a, b: float(a.mean() / b.mean()), *sweeps)


def flatness(tables: Tables) -> Measurement:
    """PM-G23: least efficiency over brackets from 2 to 10, as a fraction of its peak."""
    sweep = efficiency_of(tables, MI_SLICE)
    inside = sweep["point"].values >= 2.0 - 1e-9
    return statistic(lambda c: float(smoothed(c)[inside].min()) / height(c), sweep, note="moving averages")


def wide_range(tables: Tables) -> Measurement:
    """PM-G23: largest over smallest bracket within around a tenth of the peak."""
    sweep = efficiency_of(tables, MI_SLICE)

    def ends(curve: FloatArray) -> FloatArray:
        return np.asarray(sweep["point"].values[smoothed(curve) >= 0.875 * height(curve)][[0, -1]])

    low, high = ends(average(sweep))
    found = statistic(lambda curve: float(np.divide(*ends(curve)[::-1])), sweep, note=f"{low:g} to {high:g}")
    return with_rounding(found, found.value * rounding_error(sweep) / low, sweep)


def at_peak(tables: Tables, quantity: str, program: Program) -> FloatArray:
    """PM-G26: a quantity of a program where its efficiency has its peak [chain]."""
    best = peak(efficiency_of(tables, program))
    return np.asarray(sweep_of(tables, quantity, program).sel(point=best, method="nearest"))


def calls_ratio(tables: Tables) -> Measurement:
    """PM-G26: calls of the estimator for u over those for x, at the best bracket."""
    above, below = (at_peak(tables, f"estimates_{part}", SS_SLICE) for part in ("auxiliary", "position"))
    note = f"{above.mean():.2f} and {below.mean():.2f} calls an iteration"
    return estimate(lambda a, b: float(a.mean() / b.mean()), above, below, method="paired", note=note)


def cost_ratio(tables: Tables) -> Measurement:
    """PM-G26: density evaluations of an iteration, with slice over Metropolis updates of x, each at its best."""
    above, below = (at_peak(tables, "evaluations_per_iteration", one) for one in (SS_SLICE, SS))
    return (mean(above) / mean(below)).noted(f"{above.mean():.2f} and {below.mean():.2f} an iteration")


def good_range(points: FloatArray, curve: FloatArray) -> tuple[float, float]:
    """PM-G27: where a curve crosses `_GOOD` of its peak first and last, by linear interpolation, or ends."""
    if not curve.max() > 0.0:
        raise MissingData("all chains are stuck")
    level = _GOOD * curve.max()
    first, last = np.flatnonzero(curve >= level)[[0, -1]]
    before, after = max(first - 1, 0), min(last + 1, curve.size - 1)
    return (
        float(np.interp(level, curve[[before, first]], points[[before, first]])),
        float(np.interp(level, curve[[after, last]], points[[after, last]])),
    )


def tuning_ranges(
    tables: Tables, above: Program, below: Program, more: str = "", on_grid: bool = False
) -> Measurement:
    """PM-G27; `more` as of `sweep_of`, of the program below. Beyond the grid there is an error only `on_grid`."""
    sweeps = [efficiency_of(tables, above), efficiency_of(tables, below, more)]

    def ends(*curves: FloatArray) -> list[tuple[float, float]]:
        return [good_range(s["point"].values, smoothed(c)) for s, c in zip(sweeps, curves, strict=True)]

    def ratio_of_widths(*curves: FloatArray) -> float:
        (a, b), (c, d) = ends(*curves)
        return (b / a) / (d / c)

    bracket, step = ends(*map(average, sweeps))
    note = f"bracket {bracket[0]:.3g} to {bracket[1]:.3g}, step size {step[0]:.3g} to {step[1]:.3g}"
    if bracket[1] > float(sweeps[0]["point"][-1]) - 1e-9:
        note = f"{note}; the range continues beyond the grid, so that the ratio is a lower bound"
        if not on_grid:
            return Measurement(ratio_of_widths(*map(average, sweeps)), math.nan, note)
    return statistic(ratio_of_widths, *sweeps, note=note)


def first_rise(tables: Tables, size: int) -> Measurement:
    """PM-G06, figure: as `rise_over_data`, of one data set, and so without an error."""
    sweep = sweep_of(tables, "acceptance_position", ("pm_mh", size))
    small = sweep.sel(point=slice(None, _SMALL_STEPS))["point"].values
    if small.size < 2:
        raise MissingData(f"no second step size up to {_SMALL_STEPS:g}: not run at this preset")
    curve = average(sweep)
    note = f"at step sizes up to {small[-1]:g}, over {curve[0]:.3g} at {small[0]:g}"
    return Measurement(float(curve[1 : small.size].mean() / curve[0] - 1.0), math.nan, note)


def log_rises(tables: Tables, size: int) -> FloatArray:
    """Log of the acceptance rate at small step sizes over that at the smallest, of each data set."""
    rates = by_data(tables, "pm_mh_small_steps", "acceptance_position", size)
    first = rates.isel(step_size=0)
    others = rates.isel(step_size=slice(1, None)).mean(["step_size", "chain"])
    mean_first = first.mean("chain")
    # The log of a mean of few chains is too small by half its squared relative error.
    bias = first.var("chain", ddof=1) / (2.0 * first.sizes["chain"] * mean_first**2)
    return np.asarray(np.log(others / mean_first) - bias)


def rise_over_data(tables: Tables, size: int, less: int = 0) -> Measurement:
    """PM-G06: mean over data sets of the log rise, `less` that with another number of importance samples."""
    rises = log_rises(tables, size) - (log_rises(tables, less) if less else 0.0)
    return mean(rises, f"{np.sum(rises > 0.0)} of {rises.size} data sets above 0")


def largest_rates(tables: Tables, size: int) -> FloatArray:
    """PM-G07: the largest acceptance rate of each data set, over small step sizes."""
    case = "pm_mh_small_steps_32" if size == 32 else "pm_mh_small_steps"
    rates = by_data(tables, case, "acceptance_position", size)
    return np.asarray(rates.mean("chain").max("step_size"))


def largest_over_steps(tables: Tables, size: int) -> Measurement:
    """PM-G07: the largest rate over all step sizes."""
    rates = sweep_of(tables, "acceptance_position", ("pm_mh", size))
    names = [f"at step size {point:g}" for point in rates["point"].values]
    return largest(average(rates), error_between_chains(rates.values.T), names)


def last_close_step(tables: Tables) -> Measurement:
    """PM-G07: the largest step size with a rate within a tenth of the target, 0 for none."""
    rates, close = sweep_of(tables, "acceptance_position", PM_32), 0.9 * TARGET_ACCEPTANCE
    found = statistic(lambda c: float(np.max(rates["point"].values[c >= close], initial=0.0)), rates)
    return with_rounding(found, rounding_error(rates), rates)


def efficiency_at_largest_acceptance(tables: Tables) -> Measurement:
    """PM-G07: as a fraction of the peak."""
    rates, efficiency = sweep_of(tables, "acceptance_position", PM_32), efficiency_of(tables, PM_32)
    best = int(np.argmax(average(rates)))
    note = f"at step size {rates['point'].values[best]:g}"
    return statistic(lambda curve: float(curve[best] / height(curve)), efficiency, note=note)


def independence_acceptance(tables: Tables, size: int) -> Measurement:
    """PM-G11."""
    rates = by_data(tables, "apm_mi_mh_data_sets", "acceptance_auxiliary", size)
    return tail_of_drawn(rates.mean(["step_size", "chain"]).values, "PM-G11", size, _HALF_UNITS[size])


def independence_trend(tables: Tables, size: int) -> Measurement:
    """PM-G11: relative change over step sizes."""
    more = "apm_mi_mh_one" if size == 1 else ""
    rates = sweep_of(tables, "acceptance_auxiliary", ("apm_mi_mh", size), more=more)
    points = rates["point"].values

    def change(curve: FloatArray) -> float:
        return float(np.polyfit(points, curve, 1)[0] * np.ptp(points) / curve.mean())

    return statistic(change, rates, note=f"straight line through {points.size} step sizes")


def target_step(tables: Tables, size: int) -> Measurement:
    """PM-G14: the step size at which updates of x have the acceptance rate that they are tuned for."""
    rates = sweep_of(tables, "acceptance_position", ("apm_mi_mh", size))
    note = f"linear interpolation between {rates.sizes['point']} step sizes"
    return statistic(partial(step_at_target, rates["point"].values), rates, note=note)


def efficiency_at_target(tables: Tables, size: int) -> Measurement:
    """PM-G14: efficiency at that step size, as a fraction of the peak."""
    program = ("apm_mi_mh", size)
    rates, efficiency = sweep_of(tables, "acceptance_position", program), efficiency_of(tables, program)
    points = rates["point"].values
    step = step_at_target(points, average(rates))

    def at_step(curve: FloatArray) -> float:
        return float(np.interp(step, points, smoothed(curve)) / height(curve))

    return statistic(at_step, efficiency, note=f"at step size {step:.3f}")


def largest_rise(tables: Tables) -> Measurement:
    """PM-G15: from one step size to the next."""
    sweeps = {size: sweep_of(tables, "acceptance_position", ("apm_mi_mh", size)) for size in SIZES}
    errors = [error_between_chains(rates.values.T) for rates in sweeps.values()]
    names = [
        f"N = {size}, from step size {point:g} on"
        for size, rates in sweeps.items()
        for point in rates["point"].values[:-1]
    ]
    rises = np.concatenate([np.diff(average(rates)) for rates in sweeps.values()])
    return largest(rises, np.concatenate([np.hypot(error[1:], error[:-1]) for error in errors]), names)


def acceptance_ratio(tables: Tables, size: int) -> Measurement:
    """PM-G16: median over step sizes; the rate of APM MI+MH, which hardly depends on the data, is of one data set."""
    below = by_data(tables, "pm_mh_peaks", "acceptance_position", size).mean("chain")
    above = sweep_of(tables, "acceptance_position", ("apm_mi_mh", size)).mean("chain")
    ratios = above.sel(point=below["step_size"], method="nearest", tolerance=1e-9) / below
    return of_another_data_set(ratios.median("step_size").values)


def growth_per_doubling(first: float, second: float, third: float) -> float:
    """PM-G28: growth factor of rates with 1, 8 and 32 importance samples, from 1 to 8 over from 8 to 32."""
    return float((second / first) ** (1.0 / 3.0) / (third / second) ** 0.5)


def gain_per_sample(first: float, second: float, third: float) -> float:
    """PM-G28: gain of these rates per added sample, from 1 to 8 less from 8 to 32."""
    return (second - first) / (8 - 1) - (third - second) / (32 - 8)


def diminishing(tables: Tables, of_rates: Callable[..., float]) -> Measurement:
    """PM-G28: a statistic of the acceptance rates of u, means over step sizes."""
    sweeps = sweeps_of(tables, "acceptance_auxiliary", *(("apm_mi_mh", size) for size in SIZES))
    return statistic(lambda *curves: of_rates(*(float(curve.mean()) for curve in curves)), *sweeps)


def longest_run(tables: Tables, method: str, size: int) -> Measurement:
    """PM-G09, G18: mean over chains of the longest runs of one state at the end of the long chains."""
    runs = tables.values("longest_run_window", **long_case(method, size))
    return mean(runs, f"longest runs of the chains: {', '.join(f'{run:g}' for run in np.sort(runs))}")


def of_pm_mh(tables: Tables, size: int) -> dict[str, Any]:
    """Where long chains of PM MH are, of the case with more of them where it was run."""
    place = long_case("pm_mh", size)
    return {**place, "case": first_run(tables, f"{place['case']}_more", place["case"])}


def log_longest_run(tables: Tables, size: int) -> Measurement:
    """PM-G09: mean log of these runs of PM MH, which are skew."""
    return mean(np.log(tables.values("longest_run_window", **of_pm_mh(tables, size))))


def less_runs(tables: Tables, size: int) -> Measurement:
    """PM-G09: that with one importance sample less that with `size`."""
    return log_longest_run(tables, 1) - log_longest_run(tables, size)


def relative_roughness(tables: Tables, size: int) -> FloatArray:
    """Roughness of histograms of PM MH [chain] over that expected of as many independent draws."""
    place = of_pm_mh(tables, size)
    density = tables.values("exact_density_position", "bin", **place)
    weights, n_draws = density / density.sum(), tables.value("n_iterations", **place)
    bends = np.diff(weights, 2) ** 2
    of_noise = np.convolve(weights, [1.0, 4.0, 1.0], mode="valid") - bends
    independent = float(np.sum(bends + of_noise / n_draws))
    found = tables.array("histogram_position", "chain", "bin", **place).values
    return np.array([histogram_roughness(counts) for counts in found]) / independent


def noisiness(tables: Tables, size: int) -> Measurement:
    """PM-G10: log of the mean over chains."""
    return estimate(lambda each: math.log(each.mean()), relative_roughness(tables, size))


def noisiness_of_drawn(tables: Tables, size: int) -> Measurement:
    """PM-G10, figure: of its single chain, logs of single chains of ours taken as normal."""
    return tail_of_drawn(np.log(relative_roughness(tables, size)), "PM-G10", size, of="chain")


def log_ratio_of_roughness(tables: Tables, first: Program, second: Program) -> Measurement:
    """PM-G10, G18: of histograms of x_1, means over chains."""
    places = (long_case(*program) for program in (first, second))
    found = [tables.array("histogram_position", "chain", "bin", **place).values for place in places]
    if not all(counts.any(axis=1).all() for counts in found):
        raise MissingData("a chain without draws in the range of the histogram")
    above, below = (list(map(histogram_roughness, counts)) for counts in found)
    note = f"means over chains: {np.mean(above):.2g} and {np.mean(below):.2g}"
    return estimate(lambda a, b: math.log(a.mean() / b.mean()), above, below, note=note)


def auxiliary_ratio(tables: Tables, quantity: str, first: str, second: str) -> Measurement:
    """PM-G20: of means over the chains of figure 3.8."""
    above, below = (tables.values(quantity, case="auxiliary", method=one) for one in (first, second))
    return mean(above) / mean(below)


def auxiliary_efficiency(tables: Tables) -> Measurement:
    """PM-G20: effective samples of u."""
    methods = ("apm_ss_mh", "apm_mi_mh")
    costed = auxiliary_ratio(tables, "auxiliary_ess_per_evaluation", *methods).value
    note = f"per density evaluation {costed:.2g}" if costed > 0.0 else ""
    return auxiliary_ratio(tables, "auxiliary_ess_per_iteration", *methods).noted(note)


def kept(quantity: str, *programs: tuple[str, str]) -> Measure:
    """PM-G29: fraction of updates of some (case, method) that keep their variables: one minus acceptance rates."""

    def measure(tables: Tables) -> Measurement:
        rates = [tables.values(quantity, case=case, method=method) for case, method in programs]
        case, method = programs[-1]
        n_updates = sum(map(len, rates)) * tables.value("n_iterations", case=case, method=method)
        return proportion(1.0 - float(np.concatenate(rates).mean()), n_updates, f"of {n_updates:.0f} updates")

    return measure


def longest_of_sweep(tables: Tables, dataset: str = "calibrated") -> Measurement:
    """PM-G09: longest run of PM MH with one importance sample, median over chains and step sizes."""
    return estimate(np.median, sweep_of(tables, "longest_run_position", PM, dataset))


def stuck_fraction(tables: Tables) -> Measurement:
    """The same as a fraction of a chain, data as stated."""
    n_iterations = tables.value("n_iterations", case="as_stated", method="pm_mh", n_importance=1)
    return longest_of_sweep(tables, "as_stated") / n_iterations


def by_size(
    measure: Callable[..., Measurement], suffix: str = "", sizes: Sequence[int] = SIZES, **about: object
) -> dict[str, Measure]:
    """Settings of a claim, one for each number of importance samples."""
    return {f"N = {size}{suffix}": partial(measure, size=size, **about) for size in sizes}


def _by_quantity(
    quantities: Mapping[str, str], measure: Callable[..., Measurement], prefix: str = "", **about: object
) -> dict[str, Measure]:
    """Settings of a claim, or numbers, by a prefix and the name of each quantity."""
    return {f"{prefix}{name}": partial(measure, quantity=q, **about) for name, q in quantities.items()}


by_unit = partial(_by_quantity, {"per evaluation": "ess_per_evaluation", "per second": "ess_per_second"})
by_measure = partial(_by_quantity, {"ESS": "ess_per_evaluation", "errors": "work_normalised_error"})
_SS_SLICES = ("apm_slice", "apm_ss_ss")
_optimum = partial(recorded, exact=True, note="numerical optimum", case="checks")
_extreme, _median = (partial(ratio, quantity="ess_per_evaluation") for ratio in (extreme_ratio, median_ratio))

MEASURE: Mapping[str, Mapping[str, Measure]] = {
    "PM-G01": {
        **{f"N = {size}": _noise(n_importance=size, dataset="calibrated") for size in SIZES[1:]},
        **{f"N = {size} data as stated": _noise(n_importance=size, dataset="as_stated") for size in SIZES},
    },
    "PM-G02": {"as printed": sd_ratio_as_printed, **by_size(sd_ratio, " corrected")},
    "PM-G03": {f"N = 1 over N = {n}": partial(_extreme, above=PM, below=("pm_mh", n)) for n in SIZES[1:]},
    **{claim: by_size(peak_over_data, claim=claim) for claim in ("PM-G04", "PM-G05")},
    "PM-G06": {
        **by_size(rise_over_data, sizes=(1, 8)),
        **by_size(first_rise, ", figure", sizes=(1, 8)),
        "N = 1 less N = 8": partial(rise_over_data, size=1, less=8),
    },
    "PM-G07": {
        **by_size(lambda tables, size: tail_of_drawn(largest_rates(tables, size), "PM-G07", size)),
        **by_size(largest_over_steps, " over all steps", sizes=(1, 8)),
        "N = 32 over all steps": lambda tables: of_another_data_set(largest_rates(tables, 32)),
        "N = 32 last step": last_close_step,
        "N = 32 efficiency there": efficiency_at_largest_acceptance,
    },
    "PM-G08": {
        f"N = {size}{drawn}": partial(
            extreme_ratio, quantity="ess_per_second", above=("pm_mh", size), below=PM
        )
        for size in SIZES[1:]
        for drawn in ("", ", figure")
    },
    "PM-G09": {
        "N = 1 longest": longest_of_sweep,
        "N = 1 trace": partial(log_longest_run, size=1),
        **{f"N = 1 less N = {size}": partial(less_runs, size=size) for size in SIZES[1:]},
    },
    "PM-G10": {
        **by_size(noisiness, " histogram"),
        **by_size(noisiness_of_drawn, " histogram, figure", sizes=(32,)),
    },
    "PM-G11": {**by_size(independence_acceptance), **by_size(independence_trend, " trend")},
    "PM-G12": {
        "N = 1": partial(peak_ratio, quantity="ess_per_evaluation", first=MI, second=PM, more="pm_mh_one")
    },
    "PM-G13": {"best N of each": partial(best_over_sizes, quantity="ess_per_second")},
    "PM-G14": {
        **by_size(best_step, " best step", sizes=(1,)),
        **by_size(target_step, " target"),
        **by_size(efficiency_at_target, " efficiency there"),
    },
    "PM-G15": {
        "largest rise": largest_rise,
        **by_size(noise_ratio, " noise", is_relative=True),
        **by_size(noise_ratio, " noise, as drawn"),
        **by_size(spread_over_drawn, " spread, PM MH", figure="3.3", method="pm_mh"),
        **by_size(spread_over_drawn, " spread, APM MI+MH", figure="3.5", method="apm_mi_mh"),
    },
    "PM-G16": {
        **by_size(acceptance_ratio),
        "N = 2 as printed": partial(
            median_ratio, quantity="acceptance_position", above=("apm_mi_mh", 2), below=("pm_mh", 2)
        ),
    },
    "PM-G17": {
        **by_unit(extreme_ratio, "N = 8 ", above=MI, below=("apm_mi_mh", 8)),
        **by_unit(extreme_ratio, "N = 32 ", above=MI, below=("apm_mi_mh", 32)),
    },
    "PM-G18": {
        **by_size(longest_run, method="apm_mi_mh"),
        **{
            f"N = {size} over N = 1": partial(log_ratio_of_roughness, first=("apm_mi_mh", size), second=MI)
            for size in SIZES[1:]
        },
        "N = 1 against the exact density": lambda tables: mean(
            tables.values("total_variation", "chain_coordinate", **long_case(*MI), coordinate="x1")
        ),
    },
    "PM-G19": {
        "median": partial(_median, above=MI, below=SS),
        "smallest": partial(_extreme, above=MI, below=SS),
        "largest": partial(_extreme, above=MI, below=SS, sign=1.0),
        "per second": partial(median_ratio, quantity="ess_per_second", above=MI, below=SS),
        "evaluations per iteration": evaluations_ratio,
        "figures 3.5 and 3.7": partial(_median, above=MI, below=SS),
    },
    "PM-G20": {
        "ESS per iteration": auxiliary_efficiency,
        "u kept": lambda t: mean(
            1.0 - t.values("acceptance_auxiliary", case="auxiliary", method="apm_mi_mh")
        ),
        "histogram of u": lambda t: auxiliary_ratio(t, "total_variation_auxiliary", "apm_mi_mh", "apm_ss_mh"),
    },
    "PM-G21": {
        "as drawn": recorded("exact_auxiliary_sd", exact=True, note="closed form", case="auxiliary"),
        "samples": auxiliary_sd,
    },
    "PM-G22": by_unit(peak_ratio, first=MI, second=MI_SLICE),
    "PM-G23": {"wide range": wide_range, "bracket 2 to 10": flatness, "figure 3.9": flatness},
    "PM-G24": by_unit(median_ratio, above=SS_SLICE, below=MI_SLICE),
    "PM-G25": by_unit(peak_ratio, first=SS_SLICE, second=SS),
    "PM-G26": {"u over x": calls_ratio, "SS+SS over SS+MH": cost_ratio},
    "PM-G27": {
        "MI+SS over MI+MH": partial(tuning_ranges, above=MI_SLICE, below=MI, more="apm_mi_mh_one"),
        "SS+SS over SS+MH": partial(tuning_ranges, above=SS_SLICE, below=SS),
        "figures 3.7 and 3.9": partial(tuning_ranges, above=SS_SLICE, below=SS, on_grid=True),
    },
    "PM-G28": {
        "N": partial(diminishing, of_rates=growth_per_doubling),
        "gain per added sample": partial(diminishing, of_rates=gain_per_sample),
    },
    "PM-G29": {
        "x in slice updates": kept("acceptance_position", ("apm_slice", "apm_mi_ss"), _SS_SLICES),
        "u in elliptical updates": kept("acceptance_auxiliary", ("apm_ss_mh", "apm_ss_mh"), _SS_SLICES),
    },
    "PM-T01": {
        "random-walk acceptance rate": _optimum("theory_random_walk_acceptance"),
        "pseudo-marginal acceptance rate": _optimum("theory_pseudo_marginal_acceptance"),
        "pseudo-marginal noise sd": lambda tables: exact(
            tables.value("theory_pseudo_marginal_variance", case="checks") ** 0.5, "numerical optimum"
        ),
    },
    "PM-T06": {"N = 1": recorded("identity_largest_difference", exact=True, case="checks")},
}


def exact_sd(tables: Tables) -> Measurement:
    """Exact posterior standard deviation of the first coordinate of x."""
    return exact(float(tables.values("exact_sd", "coordinate", case="long_apm_mi_mh")[0]))


def at_best(tables: Tables, method: str, quantity: str, **where: Any) -> pd.DataFrame:
    """Chains of a method with one importance sample at the step sizes where their mean is best.

    Best is the largest `ess_per_evaluation` or the smallest `work_normalised_error`; `where` names given step
    sizes or a case.
    """
    point: dict[str, Any] = {"case": RIVAL_CASES[method], "method": method, "n_importance": 1, **where}
    return at_best_steps(tables.rows("chain", quantity, **point), quantity=quantity)


def gain(
    tables: Tables, above: str, below: str, quantity: str = "ess_per_evaluation", **where: float
) -> Measurement:
    """Efficiency of one method over that of another with one importance sample, both at their best step sizes."""
    best = at_best(tables, above, quantity, **where), at_best(tables, below, quantity)
    first, second = (chains[quantity].to_numpy(np.float64) for chains in best)
    if quantity != "ess_per_evaluation":
        first, second = second, first
    return estimate(lambda a, b: float(a.mean() / b.mean()), first, second)


def smallest_step_of_u(tables: Tables, quantity: str) -> Measurement:
    """Efficiency of Crank-Nicolson updates at the smallest step size of u over that at the best."""
    least = float(tables.rows("chain", quantity, case="crank_nicolson")["auxiliary_step"].min())
    found = gain(tables, "apm_cn_mh", "apm_cn_mh", quantity, auxiliary_step=least)
    return found.noted(f"step size {least:g}")


def best_step_of_u(tables: Tables, quantity: str) -> Measurement:
    """Step size of Crank-Nicolson updates with the best efficiency of those that were run."""
    best = at_best(tables, "apm_cn_mh", quantity)["auxiliary_step"]
    return exact(float(best.iloc[0]), "of the step sizes that were run")


def largest_score(tables: Tables, method: str) -> Measurement:
    """Largest error of the mean of a coordinate of x in standard errors, at the step sizes of the smallest errors."""
    best = at_best(tables, method, "work_normalised_error").iloc[0]
    where = best[["case", "method", "n_importance", "step_size", "auxiliary_step"]].dropna()
    rows = tables.rows("coordinate", "exact_mean", **where)
    scores = (rows["posterior_mean"] - rows["exact_mean"]) / rows["mcse_mean"]
    return Measurement(float(scores.abs().max()), 1.0, f"of {len(scores)} coordinates")


_DRAWN_SWEEPS = [("3.3", "pm_mh", SIZES), ("3.5", "apm_mi_mh", SIZES), ("3.7", "apm_ss_mh", (1,))]
_DRAWN_SWEEPS += [("3.9", "apm_mi_ss", (1,)), ("3.9", "apm_ss_ss", (1,))]
_DRAWN = {"ess_per_density_eval": "ess_per_evaluation", "target_acceptance_rate": "acceptance_position"}


def distance_from_figure(tables: Tables, figure: str, program: Program, drawn: str) -> Measurement:
    """Distance of a sweep from the published curve."""
    sweep = sweep_of(tables, _DRAWN[drawn], program)
    there = published_series("gaussian_latent", figure, f"{program[0]} {program[1]} {drawn}")
    return log_distance(there, sweep["point"].values, average(sweep))


NUMBERS: Mapping[str, Measure] = {
    **{
        f"{DISTANCE} {figure}, {method} {size} {drawn}": partial(
            distance_from_figure, figure=figure, program=(method, size), drawn=drawn
        )
        for figure, method, sizes in _DRAWN_SWEEPS
        for size in sizes
        for drawn in _DRAWN
        if figure != "3.9" or drawn == "ess_per_density_eval"
    },
    "mean weight of u": recorded("exact_mean_weight", exact=True, case="checks", dataset="calibrated"),
    "fraction of weights above a long chain, data as stated": recorded(
        "exact_fraction_above_long_chain", exact=True, case="checks", dataset="as_stated"
    ),
    "longest run of PM MH over its chain, data as stated": stuck_fraction,
    "longest run of long PM MH chains": partial(longest_run, method="pm_mh", size=1),
    "sd of the log estimate, N = 1, calibrated data": _noise(n_importance=1, dataset="calibrated"),
    "exact sd of x": exact_sd,
    "calls of an elliptical update": lambda tables: statistic(
        np.mean, sweep_of(tables, "estimates_auxiliary", SS), note="APM SS+MH, mean over step sizes"
    ),
    **by_measure(gain, "Crank-Nicolson over elliptical, by ", above="apm_cn_mh", below="apm_ss_mh"),
    **by_measure(gain, "Crank-Nicolson over independence, by ", above="apm_cn_mh", below="apm_mi_mh"),
    **by_measure(gain, "random walk over Crank-Nicolson, by ", above="apm_rw_mh", below="apm_cn_mh"),
    **by_measure(gain, "correlated over PM MH, by ", above="cpm_mh", below="pm_mh"),
    **by_measure(gain, "PM HMC over elliptical, by ", above="pm_hmc", below="apm_ss_mh"),
    **by_measure(best_step_of_u, "best step size of u, by "),
    **by_measure(smallest_step_of_u, "smallest step size of u over the best, by "),
    **{
        f"largest z, {method}": partial(largest_score, method=method)
        for method in ("cpm_mh", "apm_cn_mh", "apm_rw_mh", "pm_hmc")
    },
}
