"""Measures the claims about nested sampling, AIS and the sequential estimator: SE-19 to SE-42."""

import math
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import Measurement, estimate, largest_of, mean, proportion, proportion_of
from auxmc_pipeline.tables import Measure, MissingData, Tables, first_run
from experiments.streaming_evidence.problem import HYBRID_ROWS
from experiments.streaming_evidence.stream_runs import (
    MODEL_CASES,
    RIVALS,
    StreamRuns,
    between,
    by_size,
    early,
    errors_of,
    estimates,
    full_data,
    full_data_errors,
    published,
    reference_at,
    rivals_at,
    row_counts,
    slope_per_row,
    values_at,
)

# Quantities of costs by the names that settings of claims have for them.
COSTS = {"time": "seconds", "operations": "operations"}
ALL_ROWS = 1_000_000  # Rows for which the document states costs and discrepancies
# Beyond these rows the time of a run is that of its chunks, and terms of the posterior's width do not count.
LATE_ROWS = 20_000


def magnitude(found: Measurement, unit: float = 1.0, note: str = "") -> Measurement:
    """The absolute value of a measurement in another unit; without a note it keeps its own."""
    return Measurement(abs(found.value) / unit, found.error / unit, note or found.note, found.exact)


def ratio(above: FloatArray, below: FloatArray, note: str = "") -> Measurement:
    """Ratio of means over independent runs [repeat]."""
    return (mean(above) / mean(below)).noted(note)


def full_cost(tables: Tables, model: str, rival: str, size: float, cost: str) -> FloatArray:
    """Seconds or operations of an estimator that needs all rows, for a number of rows [repeat]."""
    about = RIVALS[rival]
    if cost == "seconds":
        # Times are compared within the runs of one machine.
        return values_at(by_size(tables, model, about.seconds), size)
    return np.sum([full_data(tables, model, name, size) for name in about.operations], axis=0)


def speed_up(tables: Tables, model: str, method: str, cost: str, rival: str = "nested") -> Measurement:
    """Cost, "seconds" or "operations", of one of RIVALS over that of a streaming method, for a million rows."""
    own = values_at(published(tables, model, method).curve(cost), ALL_ROWS)
    full = full_cost(tables, model, rival, ALL_ROWS, cost)
    unit = " s" if cost == "seconds" else ""
    return ratio(full, own, f"{full.mean():.3g}{unit} against {own.mean():.3g}{unit}")


def final_error(
    tables: Tables, model: str, method: str, n_rows: int = ALL_ROWS, *, relative: bool = False
) -> Measurement:
    """Absolute error for a number of rows, for each of them or relative to the log evidence."""
    own = mean(values_at(errors_of(published(tables, model, method)), n_rows))
    unit = abs(reference_at(tables, model, n_rows)) if relative else n_rows
    return magnitude(own, unit, f"{own.value:.0f} nats")


def discrepancy(tables: Tables, model: str, method: str) -> Measurement:
    """SE-41: distance from nested sampling for a million rows, over the acceptable one."""
    nested = mean(full_data(tables, model, "nested_log_evidence", ALL_ROWS))
    own = mean(values_at(published(tables, model, method).curve("log_evidence"), ALL_ROWS))
    off = own - nested
    return over_acceptable(magnitude(off, abs(nested.value), f"{off.value:.0f} nats"), tables, model)


def as_near(
    tables: Tables, model: str, method: str, published_distance: float, *, relative: bool = False
) -> Measurement:
    """Proportion of pairs of a run and one of nested sampling that are no farther apart than the published pair.

    The published distance is for a million rows, for each of them or relative to the log evidence.
    """
    nested = full_data(tables, model, "nested_log_evidence", ALL_ROWS)
    case = first_run(tables, f"{model}_more", model) if method == "annealed" else model
    own = values_at(published(tables, case, method).curve("log_evidence"), ALL_ROWS)
    unit = abs(nested.mean()) if relative else ALL_ROWS

    def distances(own: FloatArray, nested: FloatArray) -> FloatArray:
        return np.abs(own[:, None] - nested) / unit

    def within(own: FloatArray, nested: FloatArray) -> float:
        return float(np.mean(distances(own, nested) <= published_distance))

    note = f"{own.size} and {nested.size} runs; median distance {np.median(distances(own, nested)):.2g}"
    # The error of either side is widened for its own number of runs; it is none where all resamples agree.
    sides = estimate(lambda runs: within(runs, nested), own), estimate(lambda runs: within(own, runs), nested)
    resampled = math.hypot(*np.nan_to_num([side.error for side in sides]))
    # More runs might not agree. Pairs share runs: as many are independent as the side that varies more has.
    found = proportion(within(own, nested), max(own, nested, key=np.var).size, note)
    return found._replace(error=max(found.error, resampled))


def relative_spread(*runs: FloatArray) -> float:
    """Largest minus smallest mean log evidence, relative to the largest."""
    means = [each.mean() for each in runs]
    return float((max(means) - min(means)) / abs(max(means)))


def acceptable(tables: Tables, model: str) -> Measurement:
    """What section 5.1.2 calls acceptable: relative distance of AIS from nested sampling, at the most rows of AIS."""
    most = float(row_counts(by_size(tables, model, RIVALS["ais"].log_evidence))[-1])
    rivals = (estimates(tables, model, name, most) for name in RIVALS)
    found = estimate(relative_spread, *rivals, method="jackknife")
    return found.noted(f"{found.value:.2g} for AIS at {most:.0f} rows")


def over_acceptable(found: Measurement, tables: Tables, model: str) -> Measurement:
    """A relative distance over the acceptable one."""
    unit = acceptable(tables, model)
    return (found / unit).noted(f"{found.note}; relative {found.value:.2g}, {unit.note}")


def power_of_rows(n_rows: FloatArray, costs: FloatArray) -> float:
    """Slope of log costs against log rows, or another size, by least squares."""
    return float(np.polyfit(np.log(n_rows), np.log(costs), 1)[0])


def growth_of_cost(tables: Tables, model: str, method: str, cost: str) -> Measurement:
    """Slope of log cost against log rows of a streaming estimator, where the rows are many."""
    late = between(published(tables, model, method).curve(cost), LATE_ROWS)
    if late.shape[1] < 2:
        raise MissingData(f"more than {LATE_ROWS} rows: not run at this preset")
    found = mean([power_of_rows(row_counts(late), row) for row in late.to_numpy()])
    return found._replace(exact=(method, cost) == ("sequential", "operations"))


def speed_up_measures(model: str, method: str, rival: str = "nested") -> dict[str, Measure]:
    """Both settings of a claim about speed, in time and in operations."""
    both = partial(speed_up, model=model, method=method, rival=rival)
    return {name: partial(both, cost=cost) for name, cost in COSTS.items()}


# A run with these variations is followed by nested sampling chunk by chunk.
_UPDATED = "method=nested_updating n_rows=100000 n_particles=10"
_UPDATED_ROWS = 100_000
_FIRST_REFERENCE = 1000


def stopping_rules(tables: Tables, live_points: int) -> Measurement:
    """SE-19: with two live points both rules on the same points, with many the error of the additive rule."""
    runs = StreamRuns(tables, "stopping", {"live_points": live_points})
    early, late = runs.totals("additive_error"), runs.totals("remaining_error")
    spread = float(np.mean(runs.totals("spread")))
    note = f"other rule {late.mean():.2f} nats off; standard deviation of a run {spread:.1f}"
    return mean(early - late if live_points == 2 else early, note)


def error_over_rivals(tables: Tables, name: str) -> Measurement:
    """SE-20: largest ratio of the error of a run to the distance of a run of AIS from one of nested sampling."""
    found = {}
    truth = by_size(tables, "linear", "exact")
    curve = truth if name in RIVALS else published(tables, "linear", name).curve("error")
    for n, (nested, annealed) in rivals_at(tables, curve, "linear").items():
        errors = estimates(tables, "linear", name, n) - values_at(truth, n)
        note = f"{np.abs(errors).mean():.1f} nats at {n:.0f} rows"
        found[note] = estimate(_error_over_distance, errors, nested, annealed)
    return largest_of(found)


def _error_over_distance(errors: FloatArray, nested: FloatArray, annealed: FloatArray) -> float:
    return float(np.abs(errors).mean() / np.abs(annealed[:, None] - nested).mean())


def runs_below(tables: Tables, name: str) -> Measurement:
    """SE-24: least of the models' proportions of runs below the exact or near-exact value, at 1000 rows."""
    found = {}
    for model in MODEL_CASES:
        truth = reference_at(tables, model, _FIRST_REFERENCE)
        below = proportion_of(estimates(tables, model, name, _FIRST_REFERENCE) < truth)
        found[f"{model}, {below.note}"] = below * -1.0
    return largest_of(found) * -1.0


def annealed_error(tables: Tables, model: str, size: int) -> Measurement:
    """SE-24."""
    found, nested = (
        values_at(full_data_errors(tables, model, name), size) / size for name in ("ais", "nested")
    )
    width = np.ptp(np.concatenate([found, nested]))
    return mean(found, f"NS {nested.mean():.2g} a row; all runs within {width:.2g}")


def annealed_over_nested(tables: Tables, cost: str, size: float = 0.0) -> Measurement:
    """SE-25, by default at the most rows for which annealed importance sampling was run."""
    size = size or float(by_size(tables, "linear", RIVALS["ais"].seconds).columns[-1])
    above, below = (full_cost(tables, "linear", name, size, cost) for name in ("ais", "nested"))
    return ratio(above, below, f"at {size:.0f} rows")


def drift_of_cost(tables: Tables, cost: str) -> Measurement:
    """SE-30, cost of a chunk; its operations are no matter of chance."""
    costs = published(tables, "linear", "sequential").curve(cost)
    end = float(row_counts(costs)[-1])
    drift = slope_per_row(costs, 0.7 * end, end) / slope_per_row(costs, 0.1 * end, 0.3 * end) - 1.0
    found = mean(drift, "last 30 % of the rows against 10 to 30 %")
    return found._replace(exact=cost == "operations")


def sequential_error(tables: Tables, model: str, size: int) -> Measurement:
    """SE-32, size."""
    return mean(values_at(errors_of(early(tables, model, "sequential", size)), size))


def hybrid_distance(tables: Tables, model: str) -> Measurement:
    """SE-33: largest distance of the hybrid estimate from nested sampling over that of AIS, beyond its start."""
    start = full_data(tables, model, RIVALS["nested"].log_evidence, HYBRID_ROWS)
    curve = between(published(tables, model, "sequential").curve("log_evidence"), HYBRID_ROWS + 1)
    distances = {}
    for n, (nested, annealed) in rivals_at(tables, curve, model).items():
        own = early(tables, model, "sequential", n).curve("log_evidence")
        gained = values_at(own, n) - values_at(own, HYBRID_ROWS)
        distances[f"at {n:.0f} rows"] = estimate(_relative_distance, gained, start, nested, annealed)
    return largest_of(distances)


def _relative_distance(
    gained: FloatArray, start: FloatArray, nested: FloatArray, annealed: FloatArray
) -> float:
    own = gained.mean() + start.mean()
    return float(abs(own - nested.mean()) / abs(annealed.mean() - nested.mean()))


def hybrid_size(tables: Tables) -> Measurement:
    """Absolute error of the hybrid estimate at 1000 rows."""
    runs = published(tables, "linear", "sequential")
    names = ("log_evidence_hybrid", "log_evidence_hybrid_published")
    own, few = (np.abs(values_at(errors_of(runs, name), 1000)) for name in names)
    return mean(own, f"with two live points {few.mean():.1f} nats")


def better_starts(tables: Tables, stream: str) -> Measurement:
    """SE-40, a comparison of ours: all rows at once make more moves, with the whole gradient."""
    near = {
        name: StreamRuns(tables, f"starts__stream-{stream}", {"start": name}).totals("near_best")
        for name in ("growing", "chunks", "at_once")
    }
    fractions = ", ".join(f"{name} {values.mean():.2f}" for name, values in near.items())
    growing, at_once = (mean(near[name]) for name in ("growing", "at_once"))
    return (growing - at_once).noted(f"shares near the best mode: {fractions}")


def poor_modes_left(tables: Tables, stream: str) -> Measurement:
    """SE-40: fraction of the particles far from the best mode after 500 rows that are near it at the end."""
    case = f"starts__stream-{stream}"
    early = 1.0 - tables.values("near_best_early", "repeat", case=case)
    late = 1.0 - StreamRuns(tables, case, {"start": "growing"}).totals("near_best")
    note = f"far from it {early.mean():.2f} early, {late.mean():.2f} at the end"
    return estimate(
        lambda one, two: float(1.0 - two.mean() / one.mean()), early, late, method="paired", note=note
    )


def updated_cost(tables: Tables, cost: str) -> Measurement:
    """SE-42."""
    runs = StreamRuns(tables, "floor", {"variation": _UPDATED})
    own, full = runs.totals(f"{cost}_total"), full_cost(tables, "linear", "nested", _UPDATED_ROWS, cost)
    off = values_at(errors_of(runs), _UPDATED_ROWS)
    return ratio(own, full, f"error of the updated estimate {off.mean():.1f} nats")


_final_error = partial(final_error, method="sequential")
_discrepancy = partial(discrepancy, method="sequential")
_as_near = partial(as_near, method="sequential")
_growth = partial(growth_of_cost, model="linear", method="sequential")
_ALGORITHMS = {"nested sampling": "nested", "sequential estimator": "sequential"}

MEASURE: dict[str, dict[str, Measure]] = {
    "SE-19": {"2 live points, difference": partial(stopping_rules, live_points=2)},
    "SE-20": {name: partial(error_over_rivals, name=method) for name, method in _ALGORITHMS.items()},
    "SE-24": {
        f"{name}, runs below": partial(runs_below, name=method)
        for name, method in {"AIS": "ais", "SGAIS": "annealed", **_ALGORITHMS}.items()
    },
    "SE-25": {
        **{name: partial(annealed_over_nested, cost=cost, size=ALL_ROWS) for name, cost in COSTS.items()},
        "operations, most rows of AIS": partial(annealed_over_nested, cost="operations"),
    },
    "SE-30": {
        "slope": partial(_growth, cost="seconds"),
        "drift": partial(drift_of_cost, cost="seconds"),
        "slope, operations": partial(_growth, cost="operations"),
        "drift, operations": partial(drift_of_cost, cost="operations"),
    },
    "SE-32": {
        f"{model}, error at 1000 rows": partial(sequential_error, model=model, size=1000)
        for model in MODEL_CASES
    },
    "SE-33": {
        f"{model}, distance from nested sampling": partial(hybrid_distance, model=model)
        for model in MODEL_CASES
    },
    "SE-34": {
        "per row": partial(_final_error, model="linear"),
        "relative": partial(_final_error, model="linear", relative=True),
    },
    "SE-35": speed_up_measures("linear", "sequential"),
    **{
        claim: {
            "from nested sampling, per row": partial(_as_near, model=model, published_distance=per_row),
            "from nested sampling, relative": partial(
                _as_near, model=model, published_distance=fraction, relative=True
            ),
        }
        for claim, model, per_row, fraction in (
            ("SE-36", "softmax", 0.0003, 0.007),
            ("SE-38", "mixture", 0.002, 0.0006),
        )
    },
    "SE-37": speed_up_measures("softmax", "sequential"),
    "SE-39": speed_up_measures("mixture", "sequential"),
    "SE-40": {
        "poor modes left": partial(poor_modes_left, stream="mixture_separated"),
        "poor modes left, intermediate": partial(poor_modes_left, stream="mixture_intermediate"),
        **{n: partial(better_starts, stream=f"mixture_{n}") for n in ("intermediate", "separated")},
    },
    "SE-41": {m: partial(_discrepancy, model=m) for m in MODEL_CASES},
    "SE-42": {
        **{name: partial(updated_cost, cost=cost) for name, cost in COSTS.items()},
        "no gain": partial(updated_cost, cost="seconds"),
    },
}

NUMBERS: dict[str, Measure] = {
    **{
        f"AIS, linear, nats a row at {n} rows": partial(annealed_error, model="linear", size=n)
        for n in (1000, 10_000)
    },
    "sequential, linear, nats at 1e2 rows": partial(sequential_error, model="linear", size=100),
    "hybrid, linear, nats at 1e3 rows": hybrid_size,
}
