"""Measures the claims CT-B01 to CT-B23, CT-T06, CT-T17, CT-T23 and CT-T24, and numbers of the findings."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import (
    Measurement,
    estimate,
    exact,
    largest_of,
    largest_score,
    mean,
    proportion,
    score_of_p_values,
)
from auxmc_pipeline.published_values import DISTANCE, log_distance, published_series, published_settings
from auxmc_pipeline.tables import Measure, MissingData, Tables, Wanted, recorded
from experiments.boltzmann.model.data import N_SYSTEMS
from experiments.boltzmann.relative_errors import (
    CURVE_METHODS,
    ERROR_LABELS,
    METHOD_LABELS,
    Averages,
    annealed_errors,
    cost_per_repeat,
    errors_by_base,
    rows_of,
    running_errors,
)
from experiments.boltzmann.settings import BASES

# Width of a component of the mixture, points of the density estimate, and the part of its highest peak that counts.
_WIDTH, _N_POINTS, _LEAST_PEAK = 1.0, 400, 0.05
# "Thousands of iterations", after the first of them.
_FIRST, _THOUSANDS, _LAST = 201, 2001, 5000
# Seconds of a sample, and of a set of annealed runs by number of temperatures, on the time axis of figure 5.2.
_SECONDS = {"st": 87.5382 / 19_800, "gibbs_ct": 76.1812 / 29_800, "ct_hmc": 72.1096 / 24_800}
_ANNEALED_SECONDS = {1000: 7.4399, 5000: 37.4604, 10_000: 74.351}
# Samples of a chain at the published values of each method.
_SAMPLES = {
    "st": (1, 2001, 9801, 19_801),
    "gibbs_ct": (1, 2001, 9801, 29_801),
    "ct_hmc": (1, 2001, 9801, 24_801),
}
# Samples at which poolings are compared.
_POOLED = (1, 2001)
# Published bands of annealed importance sampling, by number of temperatures.
_BANDS = {
    "log_z": {1000: (0.6453, 2.148), 5000: (0.3054, 0.6767), 10_000: (0.3669, 0.9412)},
    "mean": {1000: (0.7723, 1.04), 5000: (0.6622, 0.8876), 10_000: (0.571, 0.7864)},
    "covariance": {1000: (0.8057, 0.9824), 5000: (0.7337, 0.9673), 10_000: (0.6398, 0.8455)},
}
_LADDERS = (50, 200, 1000, 5000)

# The machines, their relaxations and variational bases: CT-B01 to CT-B09, CT-B11.


def by_system(tables: Tables, quantity: str) -> FloatArray:
    """An exact property of each system [system]."""
    if quantity not in tables["point"]:
        raise MissingData("needs the author's files: set AUXMC_DATA_DIR")
    found = tables.rows("point", quantity, case="systems").sort_values("system")[quantity]
    if found.size < N_SYSTEMS:
        raise MissingData(f"{found.size} of the {N_SYSTEMS} published systems: not run at this preset")
    return found.to_numpy(np.float64)


def largest_of_systems(quantity: str, note: str, tables: Tables) -> Measurement:
    """Largest value over systems."""
    return exact(by_system(tables, quantity).max(), f"{note}; {N_SYSTEMS} systems")


def of_systems(tables: Tables, quantity: str, extreme: Callable[[FloatArray], float]) -> Measurement:
    """Smallest or largest value of a system."""
    return exact(extreme(by_system(tables, quantity)))


def bases_below(tables: Tables, quantity: str) -> Measurement:
    """CT-B09: number of systems whose variational bound lies below."""
    values = by_system(tables, quantity)
    each = ", ".join(f"{value:.2f}" for value in values)
    return exact(float(np.sum(values < 0.0)), f"systems with log zeta below log Z; excess, nats: {each}")


def large_eigenvalues(tables: Tables) -> Measurement:
    """CT-B02."""
    n_spectra, n_units = (tables.setting(name, case="systems") for name in ("n_spectra", "n_units"))
    probability, found = (tables.value(f"large_eigenvalue_{name}") for name in ("probability", "share"))
    note = f"modulus above 5 of at most 6; exact probability {probability:.4f}"
    return proportion(found, n_spectra * n_units, note)


def p_value_of_eigenvalues(tables: Tables) -> Measurement:
    """CT-B02: p-value of the count of large eigenvalues, of which each draw is independent."""
    n_spectra, n_units = (int(tables.setting(name, case="systems")) for name in ("n_spectra", "n_units"))
    probability, found = (tables.value(f"large_eigenvalue_{name}") for name in ("probability", "share"))
    n_drawn = n_spectra * n_units
    count = round(found * n_drawn)
    return exact(stats.binomtest(count, n_drawn, probability).pvalue, f"{count} of {n_drawn} eigenvalues")


def exact_sample_means(tables: Tables) -> Measurement:
    """CT-B05: largest error of a mean of exact samples, in standard deviations of a sample."""
    scores = largest_score(tables.values("exact_sample_score", "direction"))
    return scores * (1.0 / math.sqrt(float(tables.setting("n_exact_samples", case="systems"))))


def plain_shift(tables: Tables) -> Measurement:
    """CT-B07, next to the smallest multiple of the identity."""
    optimal, plain = (by_system(tables, f"largest_eigenvalue{shift}") for shift in ("", "_plain_shift"))
    note = "largest ratio of the top eigenvalues, optimal over plain shift"
    return exact((optimal / plain).max(), note)


def valley(tables: Tables) -> Measurement:
    """CT-B11: density between the clusters over that of the lower cluster, by resampling the samples."""
    samples = tables.values("projection", "view_sample_axis", view="published", axis="x")
    note = f"{samples.size} exact samples along the eigenvector of the largest value"
    return estimate(deepest_valley, samples, note=note)


def deepest_valley(samples: Sequence[float] | FloatArray) -> float:
    """Density of samples [sample] in the deepest valley over that of the lower peak next to it; 1 for no valley.

    The kernel is as wide as a component of the mixture. Peaks below a twentieth of the highest do not count.
    """
    values = np.asarray(samples, dtype=np.float64)
    edges = np.linspace(values.min() - 3.0 * _WIDTH, values.max() + 3.0 * _WIDTH, _N_POINTS + 1)
    counts, _ = np.histogram(values, bins=edges)
    centres = 0.5 * (edges[1:] + edges[:-1])
    density = np.exp(-0.5 * ((centres[:, None] - centres) / _WIDTH) ** 2) @ counts
    before, behind = np.maximum.accumulate(density), np.maximum.accumulate(density[::-1])[::-1]
    lower_peak = np.minimum(before, behind)
    counted = lower_peak > _LEAST_PEAK * density.max()
    return float(np.min(density[counted] / lower_peak[counted]))


# Which method has the smaller error: CT-B10, CT-B12 to CT-B15.


def over_tempered(tables: Tables) -> Measurement:
    """CT-B10: error of the mean by a chain of HMC over that by one of Gibbs CT, both after thousands of iterations."""
    first, second = (running_errors(tables, method, "mean", "single") for method in ("hmc", "gibbs_ct"))
    above, below = (each.measured(each.at_samples(_THOUSANDS)) for each in (first, second))
    return (above / below).noted(f"{_THOUSANDS} samples, {N_SYSTEMS} systems")


def error_kept(tables: Tables) -> Measurement:
    """CT-B10: error of the mean by a chain of HMC over what it was thousands of iterations earlier."""
    found = running_errors(tables, "hmc", "mean", "single")
    first, last = (found.at_samples(n) for n in (_FIRST, _LAST))
    note = found.measured(last, f"{_LAST} over {_FIRST} samples").note
    late, early = (found.values[place].T for place in (last, first))
    return estimate(lambda a, b: float(a.mean() / b.mean()), late, early, method="paired", note=note)


def over_method(
    tables: Tables, first: str, second: str, errors: Iterable[str], *, largest: bool, pooling: str = "single"
) -> Measurement:
    """CT-B12, CT-B13 and CT-B15: average error over that by another method, at equal run times."""
    above, below = (
        [running_errors(tables, method, each, pooling) for each in errors] for method in (first, second)
    )
    for curves, method in ((above, first), (below, second)):
        curves[0].measured(curves[0].at_samples(_SAMPLES[method][-1]))
    return at_equal_times(above, below, _SECONDS[second] / _SECONDS[first], largest=largest)


def at_equal_times(
    first: Sequence[Averages], second: Sequence[Averages], time_ratio: float, *, largest: bool
) -> Measurement:
    """Averages of one method over those of another, errors at the same points, when equal times have passed.

    `time_ratio` is the time of a sample of the second method in units of the first's; with `largest` the ratio where it
    is largest, else the geometric mean over errors and times.
    """
    points = second[0].points
    compared = points * time_ratio <= first[0].points[-1]
    places = np.log(points[compared] * time_ratio)

    # Arrays are [repeat, error, point, system].
    def log_ratios(above: FloatArray, below: FloatArray) -> FloatArray:
        one, other = (np.log(values.mean(axis=(0, 3))) for values in (above, below))
        between = [np.interp(places, np.log(first[0].points), each) for each in one]
        return np.asarray(between - other[:, compared], dtype=np.float64)

    arrays = [np.stack([each.values for each in curves]).transpose(3, 0, 1, 2) for curves in (first, second)]
    all_ratios = log_ratios(arrays[0], arrays[1])
    # The place is that of all repeats: the extreme of other ones has no error of its own.
    place = np.unravel_index(np.argmax(all_ratios), all_ratios.shape)
    chosen: Any = place if largest else np.s_[:]
    where = f", largest after {points[compared][place[1]]:.0f} samples" if largest else ""
    error, at = int(place[0]), int(place[1])
    if largest and first[error].nested_error is not None:
        # Repeats that share chains cannot be left out one by one.
        spreads = [each[error].standard_error / each[error].mean for each in (first, second)]
        above = np.interp(places[at], np.log(first[0].points), spreads[0])
        ratio = Measurement(all_ratios[place], math.hypot(above, spreads[1][at])).exp()
        return ratio.noted(f"of {all_ratios.size} comparisons{where}")
    return estimate(
        lambda *kept: float(np.exp(log_ratios(*kept)[chosen].mean())),
        *arrays,
        method="jackknife",
        note=f"of {all_ratios.size} comparisons{where}",
    )


def over_annealed(tables: Tables, annealed: str, pooling: str, temperatures: Sequence[int]) -> Measurement:
    """CT-B14: largest of six ratios of errors to those of AIS, geometric means over its numbers of temperatures."""
    cost = partial(cost_per_repeat, tables, quantity="gradients_per_repeat")
    seconds = [
        _ANNEALED_SECONDS[k] * cost(annealed, n_temperatures=k) / cost("h_ais", n_temperatures=k)
        for k in temperatures
    ]
    ratios = {}
    for method, (error, label) in itertools.product(("gibbs_ct", "ct_hmc"), ERROR_LABELS.items()):
        points = annealed_errors(tables, annealed, error)
        running = running_errors(tables, method, error, pooling)
        above = [running.measured(running.at_samples(each / _SECONDS[method])) for each in seconds]
        below = [points.measured(points.at_temperatures(k)) for k in temperatures]
        logs = [math.log(a.value / b.value) for a, b in zip(above, below, strict=True)]
        # The chains are the same at each number of temperatures, annealed runs are not.
        spread = math.hypot(sum(a.error / a.value for a in above), *(b.error / b.value for b in below))
        name = f"largest of 6: {METHOD_LABELS[method]}, {label}"
        ratios[name] = Measurement(float(np.mean(logs)), spread / len(logs)).exp()
    return largest_of(ratios)


# Errors that figure 5.2 shows: CT-B16 to CT-B18, CT-B22.


def curve_value(tables: Tables, method: str, error: str, n_samples: int) -> Measurement:
    """CT-B16: a curve after a number of samples."""
    found = running_errors(tables, method, error, "nested")
    index = found.at_samples(n_samples)
    return found.measured(index, f"{found.points[index]:.0f} samples")


def annealed_value(tables: Tables, error: str, n_temperatures: int) -> Measurement:
    """CT-B17: a point of annealed importance sampling."""
    found = annealed_errors(tables, "h_ais", error)
    return found.measured(found.at_temperatures(n_temperatures))


class _Compared(NamedTuple):
    """A point of figure 5.2: log of our error over the published one, and standard errors of both logs."""

    log_ratio: float
    own: float
    published: float


def points_of_curves(tables: Tables, method: str) -> dict[str, _Compared]:
    """CT-B16: the points of a method's three curves at which both are known."""
    return {
        curve_setting(error, method, n): _compared(
            curve_value(tables, method, error, n), f"{error} {method}", n
        )
        for error in ERROR_LABELS
        for n in _SAMPLES[method]
    }


def points_of_annealed(tables: Tables, n_temperatures: int) -> dict[str, _Compared]:
    """CT-B17: the three errors with a number of temperatures."""
    return {
        f"{label}, K = {n_temperatures}": _compared(
            annealed_value(tables, error, n_temperatures), f"{error} ais", n_temperatures
        )
        for error, label in ERROR_LABELS.items()
    }


def _compared(found: Measurement, series: str, x: float) -> _Compared:
    """A value against the published curve at x, whose bars are intervals of 95 % by the notebook that draws them."""
    there = published_series("boltzmann", "5.2", series)
    index = int(np.argmin(np.abs(there.x - x)))
    low, high = math.log(there.low[index]), math.log(there.high[index])
    # Where the curve's own height is missing, it is the middle of its bar.
    height = there.y[index] if there.y[index] > 0.0 else math.exp(0.5 * (low + high))
    return _Compared(
        math.log(found.value / height),
        found.error / found.value,
        (high - low) / (2.0 * stats.norm.isf(0.025)),
    )


def least_p_value(groups: Iterable[dict[str, _Compared]]) -> Measurement:
    """CT-B16 and CT-B17: p-value of the smallest of the p-values of all points, by both errors."""
    points = {name: point for group in groups for name, point in group.items()}
    scores = {name: abs(p.log_ratio) / math.hypot(p.own, p.published) for name, p in points.items()}
    furthest = max(scores, key=lambda name: scores[name])
    smallest = 2.0 * stats.norm.sf(scores[furthest])
    chance = -np.expm1(len(scores) * np.log1p(-smallest))
    return exact(chance, f"smallest of {len(scores)} p-values {smallest:.3g}; {furthest}")


def mean_log_ratio(groups: Iterable[dict[str, _Compared]]) -> Measurement:
    """CT-B16 and CT-B17: mean over all points of the log of our error over the published one.

    Points of a group come from the same chains: their errors are added; groups are independent.
    """
    each = [list(group.values()) for group in groups]
    n = sum(map(len, each))
    errors = [sum(point.own for point in group) / n for group in each]
    return Measurement(
        sum(point.log_ratio for group in each for point in group) / n, math.hypot(*errors), f"{n} points"
    )


def curves_compared(tables: Tables, measure: Callable[..., Measurement]) -> Measurement:
    """CT-B16: a measure of the points of all curves, by method."""
    return measure([points_of_curves(tables, method) for method in CURVE_METHODS])


def annealed_compared(tables: Tables, measure: Callable[..., Measurement]) -> Measurement:
    """CT-B17: a measure of the points of all ladders, whose runs are independent."""
    return measure([points_of_annealed(tables, k) for k in _BANDS["mean"]])


def disjoint_value(tables: Tables, method: str) -> Measurement:
    """The running error of the mean after 2001 samples, disjoint groups."""
    found = running_errors(tables, method, "mean")
    return found.measured(found.at_samples(_POOLED[-1]))


def start(tables: Tables) -> Measurement:
    """CT-B18: the lowest of the nine curves at its start."""
    found = largest_of({name: curve.measured(0) * -1.0 for name, (_, curve) in _drawn_curves(tables).items()})
    return found._replace(value=-found.value)


def end(tables: Tables) -> Measurement:
    """CT-B18: the highest of the nine curves at the end of the published one."""
    return largest_of(
        {
            name: curve.measured(curve.at_samples(_SAMPLES[method][-1]))
            for name, (method, curve) in _drawn_curves(tables).items()
        }
    )


def end_annealed(tables: Tables) -> Measurement:
    """CT-B18: the highest of the three errors of annealed importance sampling with the longest ladder."""
    return largest_of(
        {
            f"of 3: {METHOD_LABELS['h_ais']}, {label}": annealed_value(tables, error, max(_BANDS[error]))
            for error, label in ERROR_LABELS.items()
        }
    )


def pooling_distance(tables: Tables, pooling: str) -> Measurement:
    """Mean absolute log ratio of running errors in a pooling to the published values, after 1 and 2001 samples.

    Errors of the three quantities come from the same chains and are added; those of methods and times are independent.
    """
    published = published_settings("boltzmann", "CT-B16")
    distances, errors = [], []
    for method in CURVE_METHODS:
        for n_samples in _POOLED:
            found = []
            for error in ERROR_LABELS:
                curve = running_errors(tables, method, error, pooling)
                there = published[curve_setting(error, method, n_samples)]
                found.append(curve.measured(curve.at_samples(n_samples)) / exact(there.value))
            distances.append(np.mean([abs(math.log(each.value)) for each in found]))
            errors.append(np.mean([each.error / each.value for each in found]))
    return Measurement(float(np.mean(distances)), math.hypot(*errors) / len(errors), pooling)


def band_ratio(tables: Tables) -> Measurement:
    """CT-B22: half width of the published bands in our standard errors."""
    ratios = []
    for error, bands in _BANDS.items():
        found = annealed_errors(tables, "h_ais", error)
        for k, (low, high) in bands.items():
            ratios.append(0.5 * (high - low) / found.drawn_error[found.at_temperatures(k)])
    each = ", ".join(f"{each:.2f}" for each in ratios)
    return estimate(np.median, ratios, note=f"median of AIS bands: {each}")


def curve_setting(error: str, method: str, n_samples: int) -> str:
    """Setting of a line of CT-B16."""
    return f"{ERROR_LABELS[error]}, {METHOD_LABELS[method]}, {n_samples} samples"


def _drawn_curves(tables: Tables) -> dict[str, tuple[str, Averages]]:
    """The nine curves of the figure, with the method of each."""
    return {
        f"of 9: {METHOD_LABELS[method]}, {label}": (method, running_errors(tables, method, error, "nested"))
        for method in CURVE_METHODS
        for error, label in ERROR_LABELS.items()
    }


# What chains and annealed runs do, their time, temperatures and weights: CT-B19, B20, B23, CT-T06, T17, T23, T24.


def mean_over_systems(tables: Tables, design: str, quantity: str, note: str, **wanted: Wanted) -> Measurement:
    """CT-B10, CT-B19: mean over systems, which stand for all that the recipe makes."""
    return mean(rows_of(tables, design, "point", quantity, **wanted)[quantity], note)


def seconds_ratio(tables: Tables, method: str) -> Measurement:
    """CT-B20: time of a method over that of Gibbs continuous tempering."""
    seconds, unit = (cost_per_repeat(tables, name, "seconds_per_repeat") for name in (method, "gibbs_ct"))
    return Measurement(seconds / unit, math.nan, "time per sample over that of Gibbs CT")


def thousand_temperatures(tables: Tables) -> Measurement:
    """CT-B23: errors with 1000 temperatures over those with the best number of them, repeats left out in turn."""
    errors = _moment_errors(tables, "ladder", "error_by_target_weights", n_temperatures=_LADDERS)

    def ratio(kept: FloatArray) -> float:
        means = kept.mean(axis=(0, 3))
        return float(np.max(means[_LADDERS.index(1000)] / means.min(axis=0)))

    by_length = errors.mean(axis=(0, 2, 3))
    each = "; ".join(f"K = {k}: {mean:.2f}" for k, mean in zip(_LADDERS, by_length, strict=True))
    return estimate(
        ratio, errors, method="jackknife", note=f"largest ratio to the best K; mean error by K: {each}"
    )


def base_moments(tables: Tables) -> Measurement:
    """CT-T06: largest distance of a base mean from its known value in each run, as a p-value for all coordinates."""
    # A method that does not visit the base has no base moments.
    found = rows_of(tables, "chains", "point", "base_mean_z")
    inside = np.log1p(-2.0 * stats.norm.sf(found["base_mean_z"]))
    return score_of_p_values(-np.expm1(found["dimension"] * inside), "largest of all coordinates of a run")


def base_errors(tables: Tables) -> Measurement:
    """CT-T06: largest of six errors by base weights, of three methods and two moments, averages over systems."""
    found = {}
    for method, moment in itertools.product(CURVE_METHODS, ("mean", "covariance")):
        rows = rows_of(
            tables, "chains", "repeat_coordinate", "error_by_base_weights", method=method, coordinate=moment
        )
        errors = rows.groupby("repeat")["error_by_base_weights"].mean()
        found[f"largest of 6: {METHOD_LABELS[method]}, {ERROR_LABELS[moment]}"] = mean(errors)
    return largest_of(found)


def narrowing(tables: Tables, method: str, table: str, quantity: str) -> Measurement:
    """CT-T17: largest ratio of a quantity of AIS to that with the next smaller number of temperatures.

    Geometric mean over systems, mean over repeats of a system.
    """
    of_log_z: dict[str, Wanted] = {"coordinate": "log_z"} if table == "repeat_coordinate" else {}
    rows = rows_of(tables, "annealed", table, quantity, method=method, **of_log_z)
    spread = rows.pivot_table(index="system", columns="n_temperatures", values=quantity)
    if spread.shape[1] < 2:
        raise MissingData("two numbers of temperatures: not run at this preset")

    def ratios(kept: FloatArray) -> FloatArray:
        return np.asarray(np.exp(np.diff(np.log(kept).mean(axis=0))), dtype=np.float64)

    each = ", ".join(f"{ratio:.2f}" for ratio in ratios(spread.to_numpy()))
    lengths = " to ".join(f"{k:.0f}" for k in spread.columns)
    return estimate(
        lambda kept: float(ratios(kept).max()),
        spread.to_numpy(),
        method="jackknife",
        note=f"K = {lengths}: {each}; {len(spread)} systems",
    )


def integrated_weights(tables: Tables, other: str) -> Measurement:
    """CT-T23, CT-T24: proportion of systems whose errors are smaller than by the `other` weights, not integrated."""
    integrated, others = (
        _moment_errors(tables, "chains", quantity, method="st")[:, 0]
        for quantity in ("error_by_target_weights", other)
    )
    # No visit at all in a group is no estimate: the other weights lose.
    others = np.where(np.isfinite(others), others, np.inf)
    if integrated.shape[2] < N_SYSTEMS:
        raise MissingData(
            f"{integrated.shape[2]} of the {N_SYSTEMS} published systems: not run at this preset"
        )

    ratios = integrated.mean(axis=0) / others.mean(axis=0)
    smaller = (ratios < 1.0).all(axis=0)
    note = f"{smaller.sum()} of {N_SYSTEMS} systems; largest ratio of errors {ratios.max():.3f}"
    return proportion(float(smaller.mean()), N_SYSTEMS, note)


def _moment_errors(tables: Tables, design: str, quantity: str, **wanted: Wanted) -> FloatArray:
    """Errors of mean and covariance [repeat, n_temperatures, moment, system]; that of the normaliser is far noisier."""
    moments = ("mean", "covariance")
    rows = rows_of(
        tables, design, "repeat_coordinate", "error_by_target_weights", coordinate=moments, **wanted
    )
    dims = ["repeat", "n_temperatures", "coordinate", "system"]
    rows = rows.assign(n_temperatures=rows["n_temperatures"].fillna(0.0))
    return rows.set_index(dims)[quantity].to_xarray().sel(coordinate=list(moments)).values


# With the numbers of temperatures whose time chains reach.
_ANNEALED = {
    "h_ais": ("AIS as drawn", (1000, 5000, 10_000)),
    "ais_10": ("AIS, 10 steps", (1000, 5000)),
    "ais_20": ("AIS, 20 steps", (1000,)),
}

MEASURE: dict[str, dict[str, Measure]] = {
    "CT-B01": {
        "three numbers of each file": partial(
            largest_of_systems, "generation_difference", "two weights and a bias of each file"
        ),
        "whole files": partial(
            largest_of_systems, "generation_difference_all", "all weights and biases of each file"
        ),
    },
    "CT-B02": {
        "fraction of large eigenvalues": large_eigenvalues,
        "p-value of the fraction": p_value_of_eigenvalues,
    },
    "CT-B03": {
        "log Z": partial(
            largest_of_systems, "published_log_z_difference", "author's diagonal, all states enumerated"
        )
    },
    "CT-B04": {
        setting: partial(largest_of_systems, quantity, "relative difference")
        for setting, quantity in (
            ("norm of mean", "published_mean_norm_difference"),
            ("largest variance", "published_variance_difference"),
        )
    },
    "CT-B05": {
        **{
            name: recorded(quantity, exact=True, note="4 units: quadrature of equation 5.51")
            for name, quantity in (
                ("mean", "mean_difference"),
                ("second moments", "second_moment_difference"),
            )
        },
        "exact sample": exact_sample_means,
    },
    "CT-B06": {
        "density": recorded(
            "density_difference", exact=True, note="4 units: log density minus that of the explicit mixture"
        ),
        "normaliser": recorded(
            "normaliser_difference", exact=True, note="4 units: sum on a grid against equation E.9"
        ),
    },
    "CT-B07": {
        "rank": partial(largest_of_systems, "dimension", "largest rank"),
        "below plain shift": plain_shift,
    },
    "CT-B08": {
        "log zeta": partial(
            largest_of_systems, "published_log_zeta_difference", "author's diagonal and recipe"
        )
    },
    "CT-B09": {
        "as published": partial(bases_below, quantity="log_zeta_excess_published"),
        "converged fits": partial(bases_below, quantity="log_zeta_excess_converged"),
    },
    "CT-B10": {
        "error of the mean": over_tempered,
        "changes of component": partial(
            mean_over_systems,
            design="chains",
            quantity="pattern_change_rate",
            method="hmc",
            note="direct HMC: fraction of pairs of samples whose signs differ",
        ),
        "error kept": error_kept,
    },
    "CT-B11": {"valley between clusters": valley},
    **{
        claim: {
            f"whole run{name}": partial(
                over_method,
                first=method,
                second="st",
                errors=list(ERROR_LABELS),
                largest=True,
                pooling=pooling,
            )
            for name, pooling in (("", "single"), (", nested", "nested"))
        }
        for claim, method in (("CT-B12", "gibbs_ct"), ("CT-B13", "ct_hmc"))
    },
    "CT-B14": {
        f"{name}, {pooling}": partial(
            over_annealed, annealed=method, pooling=pooling, temperatures=temperatures
        )
        for method, (name, temperatures) in _ANNEALED.items()
        for pooling in ("nested", "disjoint", *(["single"] if method == "h_ais" else []))
    },
    "CT-B15": {
        f"{ERROR_LABELS[error]}, whole run": partial(
            over_method, first="ct_hmc", second="gibbs_ct", errors=[error], largest=False
        )
        for error in ("log_z", "mean")
    },
    "CT-B16": {
        "p-value of all points": partial(curves_compared, measure=least_p_value),
        "mean log ratio": partial(curves_compared, measure=mean_log_ratio),
        **{
            curve_setting(error, method, n): partial(curve_value, method=method, error=error, n_samples=n)
            for error in ERROR_LABELS
            for method in CURVE_METHODS
            for n in _SAMPLES[method]
        },
    },
    "CT-B17": {
        "p-value of all points": partial(annealed_compared, measure=least_p_value),
        "mean log ratio": partial(annealed_compared, measure=mean_log_ratio),
        **{
            f"{ERROR_LABELS[error]}, K = {k}": partial(annealed_value, error=error, n_temperatures=k)
            for error, bands in _BANDS.items()
            for k in bands
        },
    },
    "CT-B18": {"start": start, "end, chains": end, "end, AIS": end_annealed},
    "CT-B19": {
        "AIS runs": partial(
            mean_over_systems,
            design="annealed",
            quantity="settled_share",
            method="h_ais",
            n_temperatures=1000,
            note="AIS as drawn, K = 1000: fraction of runs that end with the signs they had halfway",
        ),
        "CT chains": partial(
            mean_over_systems,
            design="chains",
            quantity="pattern_change_rate",
            method="gibbs_ct",
            note="Gibbs CT: fraction of pairs of samples, both with b > 1/2, whose signs differ",
        ),
    },
    "CT-B20": {"ST": partial(seconds_ratio, method="st"), "CT-HMC": partial(seconds_ratio, method="ct_hmc")},
    "CT-B22": {"bars as captioned": band_ratio, "bars as drawn": band_ratio},
    "CT-B23": {"K = 1000": thousand_temperatures},
    "CT-T06": {"chains": base_moments, "mean and covariance": base_errors},
    "CT-T17": {
        _ANNEALED[method][0] + name: partial(narrowing, method=method, table=table, quantity=quantity)
        for method in ("h_ais", "ais_20")
        for name, table, quantity in (
            ("", "repeat_coordinate", "annealed_error"),
            (", log weights", "point", "log_weight_sd"),
        )
    },
    "CT-T23": {"visits": partial(integrated_weights, other="error_by_visits_weights")},
    "CT-T24": {"naive weights": partial(integrated_weights, other="error_by_naive_weights")},
}


def over_mixture(tables: Tables, method: str, base: str, errors: Iterable[str]) -> Measurement:
    """Errors with a base over those with the published one, geometric mean over errors and systems."""
    found = errors_by_base(tables, method)
    if base not in found or found.index.get_level_values("system").nunique() < N_SYSTEMS:
        raise MissingData(f"base {base} on the {N_SYSTEMS} published systems: not run at this preset")
    logs = (found[base] / found["mixture"]).map(math.log).unstack("coordinate")
    return mean(logs[list(errors)].mean(axis=1), f"{N_SYSTEMS} systems, paired").exp()


def distance_from_curve(tables: Tables, error: str, method: str) -> Measurement:
    """Distance of running errors from a curve of figure 5.2, at equal numbers of samples."""
    found = running_errors(tables, method, error, "nested")
    return log_distance(published_series("boltzmann", "5.2", f"{error} {method}"), found.points, found.mean)


NUMBERS: dict[str, Measure] = {
    **{
        f"{DISTANCE} 5.2, {error} {method}": partial(distance_from_curve, error=error, method=method)
        for error in ERROR_LABELS
        for method in CURVE_METHODS
    },
    **{
        f"{base} base, {METHOD_LABELS[method]}{name}": partial(
            over_mixture, method=method, base=base, errors=errors
        )
        for method, base in itertools.product(("gibbs_ct", "ct_hmc"), BASES[1:])
        for name, errors in (("", list(ERROR_LABELS)), (", log Z", ["log_z"]))
    },
    "fewest fits kept": partial(of_systems, quantity="n_fits_published", extreme=np.min),
    "most fits kept": partial(of_systems, quantity="n_fits_published", extreme=np.max),
    "fewest distinct fits": partial(of_systems, quantity="n_fits_converged", extreme=np.min),
    "most distinct fits": partial(of_systems, quantity="n_fits_converged", extreme=np.max),
    "distance of nested groups": partial(pooling_distance, pooling="nested"),
    "distance of disjoint groups": partial(pooling_distance, pooling="disjoint"),
    "distance of single chains": partial(pooling_distance, pooling="single"),
    **{
        f"mean, disjoint groups, {METHOD_LABELS[m]}": partial(disjoint_value, method=m) for m in CURVE_METHODS
    },
}
