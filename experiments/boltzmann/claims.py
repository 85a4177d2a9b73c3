"""Measures the claims CT-B01 to CT-B24, CT-T06, CT-T17, CT-T23 and CT-T24, and numbers of the findings."""

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import Measurement, estimate, exact, largest_of, mean, proportion
from auxmc_pipeline.published_values import DISTANCE, log_distance, published_series
from auxmc_pipeline.tables import Measure, MissingData, Tables, Wanted, recorded
from experiments.boltzmann.model.data import N_SYSTEMS
from experiments.boltzmann.relative_errors import (
    CURVE_METHODS,
    ERROR_LABELS,
    METHOD_LABELS,
    Averages,
    annealed_errors,
    check_all_systems,
    cost_per_repeat,
    errors_by_base,
    rows_of,
    running_errors,
)
from experiments.boltzmann.settings import BASES

# Width of a component of the mixture, points of the density estimate, and the part of its highest peak that counts.
_WIDTH, _N_POINTS, _LEAST_PEAK = 1.0, 400, 0.05
# "Over thousands of iterations": samples of chains of direct HMC.
_THOUSANDS = (2001, 5000)
# Seconds of a sample, the first being at time 0, and of a set of annealed runs by number of temperatures, on the time
# axis of figure 5.2: those of all hundred chains, or ten sets, over ten. Chains take them in groups of so many.
_SECONDS = {"st": 87.5382 / 19_800, "gibbs_ct": 76.1812 / 29_800, "ct_hmc": 72.1096 / 24_800}
_GROUP = 10
_ANNEALED_SECONDS = {1000: 7.4399, 5000: 37.4604, 10_000: 74.351}
# Annealed runs, pooling of chains and numbers of temperatures as drawn, and of the text, where more of them take
# more time than chains have.
_OF_FIGURE, _OF_TEXT = ("h_ais", "nested", tuple(_ANNEALED_SECONDS)), ("ais_20", "single", (1000,))
# Samples of a chain at the published values of each method.
_SAMPLES = {
    "st": (1, 2001, 9801, 19_801),
    "gibbs_ct": (1, 2001, 9801, 29_801),
    "ct_hmc": (1, 2001, 9801, 24_801),
}
# Which chains make one estimate, by the end of the settings' names.
_POOLINGS = {"": "single", ", nested": "nested"}
_POOLED = (1, 2001)  # Samples at which poolings are compared
_LADDERS = (50, 200, 1000, 5000)
_MOMENTS = ("mean", "covariance")


def by_system(tables: Tables, quantity: str) -> FloatArray:
    """An exact property of each system [system]."""
    if quantity not in tables["point"]:
        raise MissingData("needs the author's files: set AUXMC_DATA_DIR")
    found = tables.rows("point", quantity, case="systems").sort_values("system")[quantity]
    check_all_systems(found.size)
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
    note = f"modulus above 5 of at most 6; exactly {probability:.4f}"
    return proportion(found, n_spectra * n_units, note)


def valley(tables: Tables) -> Measurement:
    """CT-B11: density in the deepest valley over that of the lower cluster."""
    samples = tables.values("projection", "view_sample_axis", view="principal", axis="x")
    note = f"{samples.size} exact samples along the leading principal axis of the equal largest eigenvalues"
    # The places are those of all samples: the extreme of others has no error of its own.
    places = np.array(deepest_valley(samples)[1:])[:, None]

    def ratio(kept: FloatArray) -> float:
        in_valley, at_peak = np.exp(-0.5 * ((places - kept) / _WIDTH) ** 2).sum(axis=1)
        return float(in_valley / at_peak)

    return estimate(ratio, samples, note=note)


def deepest_valley(samples: FloatArray) -> tuple[float, float, float]:
    """Density of samples [sample] in the deepest valley over that of the lower peak next to it, and their places."""
    edges = np.linspace(samples.min() - 3.0 * _WIDTH, samples.max() + 3.0 * _WIDTH, _N_POINTS + 1)
    counts, _ = np.histogram(samples, bins=edges)
    centres = 0.5 * (edges[1:] + edges[:-1])
    density = np.exp(-0.5 * ((centres[:, None] - centres) / _WIDTH) ** 2) @ counts
    before, behind = np.maximum.accumulate(density), np.maximum.accumulate(density[::-1])[::-1]
    lower_peak = np.minimum(before, behind)
    depth = np.where(lower_peak > _LEAST_PEAK * density.max(), density / lower_peak, np.inf)
    valley = int(np.argmin(depth))
    peak = int(np.flatnonzero(density == lower_peak[valley])[0])
    return float(depth[valley]), float(centres[valley]), float(centres[peak])


def over_tempered(tables: Tables, n_samples: int) -> Measurement:
    """CT-B10: error of the mean by a chain of HMC over that by one of Gibbs CT."""
    both = [running_errors(tables, method, "mean", "single") for method in ("hmc", "gibbs_ct")]
    above, below = (each.measured(each.at_samples(n_samples)) for each in both)
    return (above / below).noted(above.note)


def stuck_chains(tables: Tables) -> Measurement:
    """CT-B10: proportion of chains of direct HMC that stay in one component over thousands of iterations."""
    rows = rows_of(tables, "direct", "point", "stuck_share", method="hmc")
    proportions = rows["stuck_share"]
    check_all_systems(len(proportions))
    n_chains = tables.setting("n_chains", case=rows["case"].tolist())
    note = f"by system {proportions.min():.2f} to {proportions.max():.2f}"
    note += f"; over systems as a sample +- {mean(proportions).error:.3f}"
    # The sentence is about these systems, so that chains alone are drawn.
    return proportion(float(proportions.mean()), n_chains * len(proportions), note)


def over_method(
    first: str, second: str, errors: Collection[str], pooling: str, tables: Tables, *, largest: bool = False
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
    """Averages of one method over another's at the same points, when equal times have passed.

    This is the largest ratio, or the geometric mean over errors and times. `time_ratio` is the time of a sample of the
    second method in units of the first's. The first sample is at time 0, as in the figure, and is not compared.
    """
    points = second[0].points
    samples = 1.0 + (points - 1.0) * time_ratio
    compared = (points > 1.0) & (samples <= first[0].points[-1])
    places = np.log(samples[compared])

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
    if first[0].nested_error is not None:
        # Repeats with common chains cannot be left out one by one. Errors of one chain's points are added.
        one, other = ([each.standard_error / each.mean for each in curves] for curves in (first, second))
        above = np.array([np.interp(places, np.log(first[0].points), each) for each in one])
        spread = math.hypot(above[chosen].mean(), np.array(other)[:, compared][chosen].mean())
        ratio = Measurement(float(all_ratios[chosen].mean()), spread).exp()
        return ratio.noted(f"of {all_ratios.size} comparisons{where}")
    return estimate(
        lambda *kept: float(np.exp(log_ratios(*kept)[chosen].mean())),
        *arrays,
        method="jackknife",
        note=f"of {all_ratios.size} comparisons{where}",
    )


def over_annealed(
    annealed: str,
    pooling: str,
    temperatures: Collection[int],
    methods: Sequence[str],
    tables: Tables,
    *,
    largest: bool = False,
) -> Measurement:
    """CT-B12 to CT-B14, CT-B24: largest ratio of an error to that of AIS at equal run times.

    Over its numbers of temperatures it is the largest, or the geometric mean. Chains that end earlier are taken at
    their end: the ratio is at most this, and where it is not below 1 its error is NaN, unknown: it cannot fail.
    """
    cost = partial(cost_per_repeat, tables, quantity="gradients_per_repeat")
    group = _GROUP if pooling == "single" else 1  # A chain takes the time of its group
    seconds = {
        k: group * _ANNEALED_SECONDS[k] * cost(annealed, n_temperatures=k) / cost("h_ais", n_temperatures=k)
        for k in temperatures
    }
    parts = [[k] for k in temperatures] if largest else [list(temperatures)]
    ratios = {}
    for method, (error, label), of in itertools.product(methods, ERROR_LABELS.items(), parts):
        points = annealed_errors(tables, annealed, error)
        runs = [running_errors(tables, method, error, pooling)]
        runs[0].at_samples(_SAMPLES[method][-1])  # No shorter chains than those of the figure
        samples = [1.0 + seconds[k] / _SECONDS[method] for k in of]
        if float(runs[0].points[-1]) < max(samples):
            # A bound may decide nothing: longer chains where they were run.
            with suppress(MissingData):
                runs.append(running_errors(tables, method, error, pooling, "longer"))
        end = float(runs[-1].points[-1])
        which = [next((run for run in runs if run.points[-1] >= n), runs[-1]) for n in samples]
        above = [run.measured(run.at_samples(min(n, end))) for run, n in zip(which, samples, strict=True)]
        below = [points.measured(points.at_temperatures(k)) for k in of]
        logs = [math.log(a.value / b.value) for a, b in zip(above, below, strict=True)]
        # The chains are the same at each number of temperatures, annealed runs are not.
        spread = math.hypot(sum(a.error / a.value for a in above), *(b.error / b.value for b in below))
        ratio = Measurement(float(np.mean(logs)), spread / len(logs)).exp()
        name = f"largest of {3 * len(methods) * len(parts)}: {METHOD_LABELS[method]}, {label}"
        name += f", K = {of[0]}" * largest
        if end < 0.9 * max(samples):  # Farther than `at_samples` takes as equal
            name += "; chains end earlier: the ratio is at most this"
            ratio = ratio._replace(error=ratio.error if ratio.value < 1.0 else math.nan)
        ratios[name] = ratio
    return largest_of(ratios)


def annealed_value(tables: Tables, error: str, n_temperatures: int, method: str = "h_ais") -> Measurement:
    """CT-B17: a point of annealed importance sampling."""
    found = annealed_errors(tables, method, error)
    return found.measured(found.at_temperatures(n_temperatures))


def curve_compared(tables: Tables, error: str, method: str, pooling: str) -> Measurement:
    """CT-B16: mean log ratio of an error to the drawn one, over points of a curve."""
    found, series = running_errors(tables, method, error, pooling), f"{error} {method}"
    ours = {n: found.measured(found.at_samples(n)) for n in _SAMPLES[method]}
    return mean_log_ratio([[from_drawn(value, series, n) for n, value in ours.items()]])


def annealed_compared(tables: Tables, error: str, method: str) -> Measurement:
    """CT-B17: mean log ratio of an error to the drawn one, over numbers of temperatures, whose runs are independent."""
    return mean_log_ratio(
        [[from_drawn(annealed_value(tables, error, k, method), f"{error} ais", k)] for k in _ANNEALED_SECONDS]
    )


def from_drawn(found: Measurement, series: str, x: float) -> Measurement:
    """Log of an error over the height of a curve of figure 5.2 at x."""
    return Measurement(math.log(found.value / _drawn(series, x)[0]), found.error / found.value)


def _drawn(series: str, x: float) -> tuple[float, float]:
    """Height of a curve of figure 5.2 at x, and half the width of its bar."""
    there = published_series("boltzmann", "5.2", series)
    index = int(np.argmin(np.abs(there.x - x)))
    low, height, high = there.low[index], there.y[index], there.high[index]
    # Where the curve's own height is missing, it is the middle of its bar.
    return float(height if height > 0.0 else math.sqrt(low * high)), float(high - low) / 2.0


def mean_log_ratio(groups: Sequence[Sequence[Measurement]]) -> Measurement:
    """Mean over points of groups, of which those of one group come from the same chains: their errors are added."""
    n = sum(map(len, groups))
    errors = [sum(point.error for point in group) / n for group in groups]
    note = f"{n} points" + "; errors of one chain's points are added, an upper bound" * (n > len(groups))
    return Measurement(sum(point.value for group in groups for point in group) / n, math.hypot(*errors), note)


def disjoint_value(tables: Tables, method: str) -> Measurement:
    """The running error of the mean after 2001 samples, disjoint groups."""
    found = running_errors(tables, method, "mean")
    return found.measured(found.at_samples(_POOLED[-1]))


def start(tables: Tables) -> Measurement:
    """CT-B18: the lowest of the nine curves at its start."""
    found = largest_of({name: curve.measured(0) * -1.0 for name, (_, curve) in _drawn_curves(tables).items()})
    return found._replace(value=-found.value)


def end(tables: Tables, pooling: str) -> Measurement:
    """CT-B18: the highest of the nine curves, in a pooling, at the end of the published one."""
    ends = {
        name: curve.measured(curve.at_samples(_SAMPLES[method][-1]))
        for name, (method, curve) in _drawn_curves(tables, pooling).items()
    }
    return largest_of(ends)


def end_annealed(tables: Tables, method: str) -> Measurement:
    """CT-B18: the highest of the three errors of AIS with the longest ladder."""
    n = max(_ANNEALED_SECONDS)
    ends = {
        f"of 3: {METHOD_LABELS[method]}, {label}": annealed_value(tables, error, n, method)
        for error, label in ERROR_LABELS.items()
    }
    return largest_of(ends)


def pooling_distance(tables: Tables, pooling: str) -> Measurement:
    """Mean absolute log ratio of running errors in a pooling to the published values.

    Errors after 1 and 2001 samples are compared. Those of the three quantities come from the same chains and
    are added; those of methods and times are independent.
    """
    distances, errors = [], []
    for method, n_samples in itertools.product(CURVE_METHODS, _POOLED):
        found = []
        for error in ERROR_LABELS:
            curve = running_errors(tables, method, error, pooling)
            ours = curve.measured(curve.at_samples(n_samples))
            found.append(from_drawn(ours, f"{error} {method}", n_samples))
        distances.append(np.mean([abs(each.value) for each in found]))
        errors.append(np.mean([each.error for each in found]))
    return Measurement(float(np.mean(distances)), math.hypot(*errors) / len(errors), pooling)


def band_ratio(tables: Tables) -> Measurement:
    """CT-B22: half width of the published bars and filled regions in our standard errors, both over the height.

    Those of a method, or of AIS with a number of temperatures, come from the same runs: their median is one value.
    """
    by_runs: dict[str, list[float]] = {}
    for error in ERROR_LABELS:
        for method, samples in _SAMPLES.items():
            curve = running_errors(tables, method, error, "nested")
            places = [(n, curve.at_samples(n)) for n in samples]
            widths = _half_widths(curve, f"{error} {method}", places)
            by_runs.setdefault(METHOD_LABELS[method], []).extend(widths)
        points = annealed_errors(tables, "h_ais", error)
        for k in _ANNEALED_SECONDS:
            widths = _half_widths(points, f"{error} ais", [(k, points.at_temperatures(k))])
            by_runs.setdefault(f"AIS with K = {k}", []).extend(widths)
    medians = {name: float(np.median(widths)) for name, widths in by_runs.items()}
    return mean(list(medians.values()), ", ".join(f"{name} {each:.2f}" for name, each in medians.items()))


def _half_widths(found: Averages, series: str, places: Iterable[tuple[int, int]]) -> list[float]:
    """Half widths of what figure 5.2 draws in our standard errors, at places (x, index of our point).

    Both are relative to their heights: a ratio of heights says nothing of the width of a bar.
    """
    check_all_systems(found.systems.size)
    relative = found.drawn_error / found.mean
    drawn = [(*_drawn(series, x), index) for x, index in places]
    return [width / height / float(relative[index]) for height, width, index in drawn]


def _drawn_curves(tables: Tables, pooling: str = "nested") -> dict[str, tuple[str, Averages]]:
    """The nine curves of the figure, in another pooling too, with the method of each."""
    return {
        f"of 9: {METHOD_LABELS[method]}, {label}": (method, running_errors(tables, method, error, pooling))
        for method in CURVE_METHODS
        for error, label in ERROR_LABELS.items()
    }


def mean_over_systems(design: str, quantity: str, note: str, tables: Tables, **wanted: Wanted) -> Measurement:
    """CT-B10, CT-B19: mean over systems, which stand for all that the recipe makes."""
    found = rows_of(tables, design, "point", quantity, **wanted).groupby("system")[quantity].mean()
    return mean(found, f"{note}; by system {found.min():.3f} to {found.max():.3f}")


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


def base_errors(tables: Tables) -> Measurement:
    """CT-T06: largest of six errors by base weights, of three methods and two moments, averages over systems."""
    found = {}
    for method, moment in itertools.product(CURVE_METHODS, _MOMENTS):
        rows = rows_of(
            tables, "chains", "repeat_coordinate", "error_by_base_weights", method=method, coordinate=moment
        )
        errors = rows.groupby("repeat")["error_by_base_weights"].mean()
        found[f"largest of 6: {METHOD_LABELS[method]}, {ERROR_LABELS[moment]}"] = mean(errors)
    return largest_of(found)


def narrowing(tables: Tables, method: str, table: str, quantity: str, **wanted: Wanted) -> Measurement:
    """CT-T17: a spread by AIS with most temperatures over that with fewest, geometric mean over systems."""
    rows = rows_of(tables, "annealed", table, quantity, method=method, **wanted)
    spreads = rows.pivot_table(index="system", columns="n_temperatures", values=quantity)
    if spreads.shape[1] < 2:
        raise MissingData("two numbers of temperatures: not run at this preset")
    fewest, most = spreads.columns[[0, -1]]
    steps = np.exp(np.diff(np.log(spreads.to_numpy()), axis=1).mean(axis=0))
    by_step = ", ".join(f"{step:.2f}" for step in steps)
    note = f"K = {most:.0f} over K = {fewest:.0f}, step by step {by_step}; {len(spreads)} systems"
    return mean(np.log(spreads[most] / spreads[fewest]), note).exp()


def integrated_weights(tables: Tables) -> Measurement:
    """CT-T23: error by integrated weights over that by visits, largest of two moments and all systems."""
    integrated, visits = _simulated_tempering(tables, "error_by_visits_weights")
    # No visit at all in a group is no estimate: the other weights lose.
    visits = np.where(np.isfinite(visits), visits, np.inf)
    ratios = integrated.mean(axis=0) / visits.mean(axis=0)
    # The place is that of all repeats: the extreme of other ones has no error of its own.
    moment, system = np.unravel_index(np.argmax(ratios), ratios.shape)
    note = f"{int((ratios < 1.0).sum())} of {ratios.size} ratios below 1; largest in system {system}"
    pair = (errors[:, moment, system] for errors in (integrated, visits))
    return estimate(lambda a, b: float(a.mean() / b.mean()), *pair, method="paired", note=note)


def naive_weights(tables: Tables, moment: str) -> Measurement:
    """CT-T24: error by naive weights over that by integrated ones, geometric mean over systems."""
    integrated, naive = (
        errors.mean(axis=0)[_MOMENTS.index(moment)]
        for errors in _simulated_tempering(tables, "error_by_naive_weights")
    )
    return mean(np.log(naive / integrated), f"{N_SYSTEMS} systems, paired").exp()


def _simulated_tempering(tables: Tables, other: str) -> tuple[FloatArray, FloatArray]:
    """Errors by integrated and by other weights [repeat, moment, system]."""
    integrated, others = (
        _moment_errors(tables, ("chains", "visits"), quantity, method="st")[:, 0]
        for quantity in ("error_by_target_weights", other)
    )
    check_all_systems(integrated.shape[2])
    return integrated, others


def _moment_errors(
    tables: Tables, designs: str | tuple[str, ...], quantity: str, **wanted: Wanted
) -> FloatArray:
    """Errors of mean and covariance [repeat, n_temperatures, moment, system]; that of the normaliser is far noisier."""
    rows = rows_of(
        tables, designs, "repeat_coordinate", "error_by_target_weights", coordinate=_MOMENTS, **wanted
    )
    dims = ["repeat", "n_temperatures", "coordinate", "system"]
    rows = rows.assign(n_temperatures=rows["n_temperatures"].fillna(0.0))
    return rows.set_index(dims)[quantity].to_xarray().sel(coordinate=list(_MOMENTS)).values


_SPREADS = {
    "": partial(narrowing, table="repeat_coordinate", quantity="annealed_error", coordinate="log_z"),
    ", log weights": partial(narrowing, table="point", quantity="log_weight_sd"),
}
_pattern_changes = partial(mean_over_systems, "chains", "pattern_change_rate")

MEASURE: dict[str, dict[str, Measure]] = {
    "CT-B01": {
        "whole files": partial(
            largest_of_systems, "generation_difference_all", "all weights and biases of each file"
        )
    },
    "CT-B02": {
        "fraction of large eigenvalues": large_eigenvalues,
        "distinct fits": partial(of_systems, quantity="n_fits_converged", extreme=np.min),
    },
    "CT-B03": {"log Z": partial(largest_of_systems, "predicted_log_z_difference", "all states enumerated")},
    "CT-B04": {
        "norm of mean": partial(largest_of_systems, "predicted_mean_norm_difference", "relative difference"),
        "largest variance": partial(
            largest_of_systems, "predicted_variance_difference", "relative difference"
        ),
    },
    "CT-B05": {
        name: recorded(quantity, exact=True, note="4 units: quadrature of equation 5.51")
        for name, quantity in (("mean", "mean_difference"), ("second moments", "second_moment_difference"))
    },
    "CT-B06": {
        "density": recorded(
            "density_difference", exact=True, note="4 units: log density minus that of the explicit mixture"
        ),
        "normaliser": recorded(
            "normaliser_difference", exact=True, note="4 units: sum on a grid against equation E.9"
        ),
    },
    "CT-B07": {"rank": partial(largest_of_systems, "dimension", "largest rank")},
    "CT-B08": {
        "log zeta": partial(largest_of_systems, "log_zeta_excess_difference", "fits of the published recipe")
    },
    "CT-B09": {
        "as published": partial(bases_below, quantity="log_zeta_excess_published"),
        "converged fits": partial(bases_below, quantity="log_zeta_excess_converged"),
    },
    "CT-B10": {
        **{f"error after {n} samples": partial(over_tempered, n_samples=n) for n in _THOUSANDS},
        "changes of component": partial(
            _pattern_changes, "direct HMC: fraction of pairs of samples whose signs differ", method="hmc"
        ),
        "chains stuck": stuck_chains,
    },
    "CT-B11": {"valley between clusters": valley},
    **{
        claim: {
            **{
                f"whole run{name}": partial(over_method, method, "st", ERROR_LABELS, pooling, largest=True)
                for name, pooling in _POOLINGS.items()
            },
            **{
                name: partial(over_annealed, annealed, pooling, temperatures, (method,), largest=True)
                for name, annealed, pooling, temperatures in (
                    ("over AIS", *_OF_TEXT),
                    ("over AIS, nested", *_OF_FIGURE),
                    ("over AIS as drawn, single", "h_ais", "single", (1000,)),
                )
            },
        }
        for claim, method in (("CT-B12", "gibbs_ct"), ("CT-B13", "ct_hmc"))
    },
    **{
        claim: {
            name: partial(over_annealed, annealed, pooling, temperatures, methods)
            for name, annealed, pooling, temperatures in (
                ("AIS as drawn, nested", *_OF_FIGURE),
                ("AIS as drawn, groups of ten", "h_ais", "disjoint", _ANNEALED_SECONDS),
                ("AIS, 20 steps, single", *_OF_TEXT),
                ("AIS as drawn, single", "h_ais", "single", _ANNEALED_SECONDS),
            )
        }
        for claim, methods in (("CT-B14", CURVE_METHODS), ("CT-B24", ("gibbs_ct", "ct_hmc")))
    },
    "CT-B15": {
        f"{ERROR_LABELS[error]}, whole run{name}": partial(
            over_method, "ct_hmc", "gibbs_ct", [error], pooling
        )
        for error in ("log_z", "mean")
        for name, pooling in _POOLINGS.items()
    },
    "CT-B16": {
        f"{label}, {METHOD_LABELS[method]}{name}": partial(
            curve_compared, error=error, method=method, pooling=pooling
        )
        for name, pooling in (("", "nested"), (", single", "single"))
        for error, label in ERROR_LABELS.items()
        for method in CURVE_METHODS
    },
    "CT-B17": {
        f"{label}{name}": partial(annealed_compared, error=error, method=method)
        for name, method in (("", "h_ais"), (", 20 steps", "ais_20"))
        for error, label in ERROR_LABELS.items()
    },
    "CT-B18": {
        "start": start,
        "end, chains": partial(end, pooling="nested"),
        "end, chains, single": partial(end, pooling="single"),
        "end, AIS": partial(end_annealed, method="h_ais"),
        "end, AIS, 20 steps": partial(end_annealed, method="ais_20"),
    },
    "CT-B19": {
        "AIS runs": partial(
            mean_over_systems,
            "annealed",
            "settled_share",
            "AIS as drawn, K = 1000: fraction of runs that end with the signs they had halfway",
            method="h_ais",
            n_temperatures=1000,
        ),
        "CT chains": partial(
            _pattern_changes,
            "Gibbs CT: fraction of pairs of samples, both with b > 1/2, whose signs differ",
            method="gibbs_ct",
        ),
    },
    "CT-B20": {"ST": partial(seconds_ratio, method="st"), "CT-HMC": partial(seconds_ratio, method="ct_hmc")},
    "CT-B22": {"bars as captioned": band_ratio, "bars as drawn": band_ratio},
    "CT-B23": {"K = 1000": thousand_temperatures},
    "CT-T06": {"mean and covariance": base_errors},
    "CT-T17": {
        name + line: partial(spread, method=method)
        for name, method in (("AIS as drawn", "h_ais"), ("AIS, 20 steps", "ais_20"))
        for line, spread in _SPREADS.items()
    },
    "CT-T23": {"visits": integrated_weights},
    "CT-T24": {f"systems, {moment}": partial(naive_weights, moment=moment) for moment in _MOMENTS},
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
