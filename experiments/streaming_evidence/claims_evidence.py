"""Measures the claims about nested sampling, AIS and the sequential estimator: SE-19 to SE-42."""

from collections.abc import Callable
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import (
    difference,
    fraction_of_replicates,
    largest,
    mean_over_replicates,
    median_over_replicates,
    ratio_of_means,
)
from auxmc_pipeline.tables import Tables
from experiments.streaming_evidence.stream_runs import (
    MODEL_CASES,
    RIVALS,
    StreamRuns,
    by_size,
    errors_of,
    full_data,
    full_data_errors,
    published,
    row_counts,
    slope_per_row,
    values_at,
)
from experiments.streaming_evidence.streaming_costs import (
    ALL_ROWS,
    discrepancy,
    final_error,
    full_cost,
    growth_of_cost,
    magnitude,
    speed_up_measures,
)

# A run with these variations is followed by nested sampling chunk by chunk.
_UPDATED = "method=nested_updating n_rows=100000 n_particles=10"
_UPDATED_ROWS = 100_000
_SIZES_WITH_REFERENCE = (1000, 10_000)
_SIZES_OF_HYBRID = (500, 1000, 5000, 10_000)


def stopping_rules(tables: Tables, live_points: int) -> Measurement:
    """SE-19: with two live points both rules on the same points, with many the error of the additive rule."""
    runs = StreamRuns(tables, "stopping", {"live_points": live_points})
    early, late = runs.totals("additive_error"), runs.totals("remaining_error")
    spread = float(np.mean(runs.totals("spread")))
    note = f"other rule {late.mean():.2f} nats off; standard deviation of a run {spread:.1f}"
    return mean_over_replicates(early - late if live_points == 2 else early, note)


def nested_error(tables: Tables, size: int) -> Measurement:
    """SE-20."""
    found = values_at(full_data_errors(tables, "linear", "nested"), size)
    return median_over_replicates(np.abs(found) / size, f"{found.size} runs")


def runs_below(tables: Tables, rival: str) -> Measurement:
    """SE-24: runs of an estimator that needs all rows below the exact or near-exact value, of all models."""
    errors = [
        values_at(full_data_errors(tables, model, rival), size)
        for model in MODEL_CASES
        for size in _SIZES_WITH_REFERENCE
    ]
    return fraction_of_replicates(np.concatenate(errors) < 0.0, "three models, 1000 and 10000 rows")


def annealed_error(tables: Tables, model: str, size: int) -> Measurement:
    """SE-24."""
    found, nested = (
        values_at(full_data_errors(tables, model, name), size) / size for name in ("ais", "nested")
    )
    width = np.ptp(np.concatenate([found, nested]))
    return mean_over_replicates(found, f"NS {nested.mean():.2g} a row; all runs within {width:.2g}")


def annealed_over_nested(tables: Tables, cost: str, size: float = ALL_ROWS) -> Measurement:
    """SE-25."""
    above, below = (full_cost(tables, "linear", name, size, cost) for name in ("ais", "nested"))
    return ratio_of_means(above, below, f"at {size:.0f} rows")


def annealed_over_nested_at_most_rows(tables: Tables) -> Measurement:
    """SE-25, at the most rows for which annealed importance sampling was run."""
    size = float(by_size(tables, "linear", RIVALS["ais"].seconds).columns[-1])
    return annealed_over_nested(tables, "operations", size)


def drift_of_time(tables: Tables) -> Measurement:
    """SE-30, time of a chunk."""
    early, late = _early_and_late(tables, "seconds")
    return mean_over_replicates(late / early - 1.0, "last 30 % of the rows against 10 to 30 %")


def _early_and_late(tables: Tables, cost: str) -> tuple[FloatArray, FloatArray]:
    """Costs for each row of the sequential estimator [repeat], early and late in the stream."""
    costs = published(tables, "linear", "sequential").curve(cost)
    end = float(row_counts(costs)[-1])
    return slope_per_row(costs, 0.1 * end, 0.3 * end), slope_per_row(costs, 0.7 * end, end)


def sequential_error(tables: Tables, model: str, size: int) -> Measurement:
    """SE-32, size."""
    return mean_over_replicates(values_at(errors_of(published(tables, model, "sequential")), size))


def hybrid_distance(tables: Tables, model: str) -> Measurement:
    """SE-33: largest distance of the hybrid estimate from nested sampling, relative to the log evidence."""
    hybrid = published(tables, model, "sequential").curve("log_evidence_hybrid")
    distances = []
    for size in _SIZES_OF_HYBRID:
        nested = mean_over_replicates(full_data(tables, model, "nested_log_evidence", size))
        off = difference(mean_over_replicates(values_at(hybrid, size)), nested)
        distances.append(magnitude(off, abs(nested.value)))
    names = [f"at {size} rows" for size in _SIZES_OF_HYBRID]
    return largest([d.value for d in distances], [d.error for d in distances], names)


def hybrid_error(tables: Tables, estimate: str) -> FloatArray:
    """Absolute error at 1000 rows of an estimate of the sequential runs [repeat]."""
    return np.abs(values_at(errors_of(published(tables, "linear", "sequential"), estimate), 1000))


def hybrid_size(tables: Tables) -> Measurement:
    """Error of the hybrid estimate at 1000 rows."""
    few = hybrid_error(tables, "log_evidence_hybrid_published")
    note = f"with two live points {few.mean():.1f} nats"
    return mean_over_replicates(hybrid_error(tables, "log_evidence_hybrid"), note)


def better_starts(tables: Tables, stream: str) -> Measurement:
    """SE-40."""
    near = {
        name: StreamRuns(tables, f"starts__stream-{stream}", {"start": name}).totals("near_best")
        for name in ("growing", "chunks", "at_once")
    }
    fractions = ", ".join(f"{name} {values.mean():.2f}" for name, values in near.items())
    growing, at_once = (mean_over_replicates(near[name]) for name in ("growing", "at_once"))
    return difference(growing, at_once, f"shares near the best mode: {fractions}")


def updated_cost(tables: Tables, cost: str, total: str) -> Measurement:
    """SE-42."""
    runs = StreamRuns(tables, "floor", {"variation": _UPDATED})
    own, full = runs.totals(total), full_cost(tables, "linear", "nested", _UPDATED_ROWS, cost)
    off = values_at(errors_of(runs), _UPDATED_ROWS)
    return ratio_of_means(own, full, f"error of the updated estimate {off.mean():.1f} nats")


_final_error = partial(final_error, method="sequential")
_discrepancy = partial(discrepancy, method="sequential")
_updated_operations = partial(updated_cost, cost="operations", total="operations_total")

MEASURE: Measures = {
    "SE-19": {"2 live points, difference": partial(stopping_rules, live_points=2)},
    "SE-20": {f"{n} rows": partial(nested_error, size=n) for n in (100, 1000, 10_000, 100_000)},
    "SE-24": {
        "AIS, runs below": partial(runs_below, rival="ais"),
        "nested sampling, runs below": partial(runs_below, rival="nested"),
    },
    "SE-25": {
        "time": partial(annealed_over_nested, cost="seconds"),
        "operations": partial(annealed_over_nested, cost="operations"),
        "operations, most rows of AIS": annealed_over_nested_at_most_rows,
    },
    "SE-30": {
        "slope": partial(growth_of_cost, model="linear", method="sequential", cost="seconds"),
        "drift": drift_of_time,
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
    "SE-36": {
        "from nested sampling, per row": partial(_discrepancy, model="softmax"),
        "from nested sampling, relative": partial(_discrepancy, model="softmax", relative=True),
    },
    "SE-37": speed_up_measures("softmax", "sequential"),
    "SE-38": {
        "from nested sampling, per row": partial(_discrepancy, model="mixture"),
        "from nested sampling, relative": partial(_discrepancy, model="mixture", relative=True),
    },
    "SE-39": speed_up_measures("mixture", "sequential"),
    "SE-40": {
        "intermediate": partial(better_starts, stream="mixture_intermediate"),
        "separated": partial(better_starts, stream="mixture_separated"),
    },
    "SE-41": {model: partial(_discrepancy, model=model, relative=True) for model in MODEL_CASES},
    "SE-42": {
        "time": partial(updated_cost, cost="seconds", total="seconds_total"),
        "operations": _updated_operations,
        "no gain in operations": _updated_operations,
    },
}

NUMBERS: dict[str, Callable[[Tables], Measurement]] = {
    **{
        f"AIS, linear, nats a row at {n} rows": partial(annealed_error, model="linear", size=n)
        for n in _SIZES_WITH_REFERENCE
    },
    "sequential, linear, nats at 1e2 rows": partial(sequential_error, model="linear", size=100),
    "hybrid, linear, nats at 1e3 rows": hybrid_size,
}
