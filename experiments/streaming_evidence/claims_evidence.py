"""Measures the claims about nested sampling, AIS and the sequential estimator: SE-19 to SE-42."""

from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import (
    mean_over_replicates,
    median_over_replicates,
    ratio_of_means,
    share_of_replicates,
)
from auxmc_pipeline.tables import Tables
from experiments.streaming_evidence.stream_runs import (
    MODEL_CASES,
    StreamRuns,
    enough_rows,
    errors_of,
    full_data,
    full_data_errors,
    published,
    row_counts,
    slope_per_row,
    values_at,
)
from experiments.streaming_evidence.streaming_costs import (
    final_error,
    full_cost,
    growth_of_time,
    largest_size,
    speed_up_measures,
)

# A run with these variations is followed by nested sampling chunk by chunk.
_UPDATED = "method=nested_updating n_rows=10000 n_particles=10"


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


def annealed_error(tables: Tables, model: str, size: int) -> Measurement:
    """SE-24."""
    found, nested = (
        values_at(full_data_errors(tables, model, name), size) / size for name in ("ais", "nested")
    )
    width = np.ptp(np.concatenate([found, nested]))
    return mean_over_replicates(found, f"NS {nested.mean():.2g} a row; all runs within {width:.2g}")


def annealed_over_nested(tables: Tables, cost: str) -> Measurement:
    """SE-25."""
    size = largest_size(tables, "linear", "ais")
    above, below = (full_cost(tables, "linear", name, size, cost) for name in ("ais", "nested"))
    return ratio_of_means(above, below, f"at {size:.0f} rows")


def drift_of_time(tables: Tables) -> Measurement:
    """SE-30, time of a chunk."""
    seconds = published(tables, "linear", "sequential").curve("seconds")
    end = enough_rows(float(row_counts(seconds)[-1]), 50_000)
    early, late = (
        slope_per_row(seconds, first * end, last * end) for first, last in ((0.1, 0.3), (0.7, 1.0))
    )
    return mean_over_replicates(late / early - 1.0, "last 30 % of the rows against 10 to 30 %")


def share_below(tables: Tables, model: str) -> Measurement:
    """SE-32, sign."""
    found = values_at(errors_of(published(tables, model, "sequential")), 1000)
    return share_of_replicates(found < 0.0, f"mean {found.mean():.0f} nats", exact=True)


def error_at_100_rows(tables: Tables) -> Measurement:
    """SE-32, size."""
    return mean_over_replicates(values_at(errors_of(published(tables, "linear", "sequential")), 100))


def later_error(tables: Tables) -> Measurement:
    """SE-32, constancy."""
    found = errors_of(published(tables, "linear", "sequential"))
    first, later = values_at(found, 1000), values_at(found, 10_000)
    end = found.iloc[:, -1].to_numpy()
    note = f"{first.mean():.1f}, {later.mean():.1f} and, at the end, {end.mean():.1f} nats"
    return mean_over_replicates(later / first, note)


def hybrid_error(tables: Tables, estimate: str) -> FloatArray:
    """Absolute error at 1000 rows of an estimate of the sequential runs [repeat]."""
    return np.abs(values_at(errors_of(published(tables, "linear", "sequential"), estimate), 1000))


def hybrid_size(tables: Tables) -> Measurement:
    """SE-33, size."""
    few = hybrid_error(tables, "log_evidence_hybrid_published")
    note = f"with two live points {few.mean():.1f} nats"
    return mean_over_replicates(hybrid_error(tables, "log_evidence_hybrid"), note)


def hybrid_part(tables: Tables) -> Measurement:
    """SE-33, part of the error without it."""
    return ratio_of_means(hybrid_error(tables, "log_evidence_hybrid"), hybrid_error(tables, "log_evidence"))


def better_starts(tables: Tables, stream: str) -> Measurement:
    """SE-40."""
    near = {
        name: StreamRuns(tables, f"starts__stream-{stream}", {"start": name}).totals("near_best")
        for name in ("growing", "chunks", "at_once")
    }
    shares = ", ".join(f"{name} {values.mean():.2f}" for name, values in near.items())
    return mean_over_replicates(near["growing"] - near["at_once"], f"shares near the best mode: {shares}")


def near_nested(tables: Tables, model: str) -> Measurement:
    """SE-41."""
    size = largest_size(tables, model, "nested")
    own = values_at(published(tables, model, "sequential").curve("log_evidence"), size)
    ratio = ratio_of_means(own, full_data(tables, model, "nested_log_evidence", size))
    return Measurement(abs(ratio.value - 1.0), ratio.error, f"at {size:.0f} rows")


def updated_cost(tables: Tables, cost: str, total: str) -> Measurement:
    """SE-42."""
    runs = StreamRuns(tables, "floor", {"variation": _UPDATED})
    size = float(runs.curve("log_evidence").columns[-1])
    own, full = runs.totals(total), full_cost(tables, "linear", "nested", size, cost)
    off = values_at(errors_of(runs), size)
    return ratio_of_means(
        own, full, f"at {size:.0f} rows; error of the updated estimate {off.mean():.1f} nats"
    )


_final_error = partial(final_error, method="sequential")

MEASURE: Measures = {
    "SE-19": {
        "2 live points, difference": partial(stopping_rules, live_points=2),
        "200 live points, additive rule": partial(stopping_rules, live_points=200),
    },
    "SE-20": {f"{n} rows": partial(nested_error, size=n) for n in (100, 1000, 10_000, 100_000)},
    "SE-24": {
        f"{model}, {n} rows": partial(annealed_error, model=model, size=n)
        for model in ("linear", "softmax")
        for n in (1000, 10_000)
    },
    "SE-25": {
        "time": partial(annealed_over_nested, cost="seconds"),
        "operations": partial(annealed_over_nested, cost="operations"),
    },
    "SE-30": {"slope": partial(growth_of_time, model="linear", method="sequential"), "drift": drift_of_time},
    "SE-32": {
        **{f"{model}, runs below": partial(share_below, model=model) for model in MODEL_CASES},
        "linear, error at 100 rows": error_at_100_rows,
        "linear, error at 10000 over error at 1000 rows": later_error,
    },
    "SE-33": {"linear, error at 1000 rows": hybrid_size, "linear, part of the error": hybrid_part},
    "SE-34": {
        "per row": partial(_final_error, model="linear", least=1_000_000),
        "relative": partial(_final_error, model="linear", least=1_000_000, relative=True),
    },
    "SE-35": speed_up_measures("linear", "sequential"),
    "SE-36": {"per row": partial(_final_error, model="softmax", least=100_000)},
    "SE-37": speed_up_measures("softmax", "sequential"),
    "SE-38": {"per row": partial(_final_error, model="mixture", least=30_000)},
    "SE-39": speed_up_measures("mixture", "sequential"),
    "SE-40": {
        "intermediate": partial(better_starts, stream="mixture_intermediate"),
        "separated": partial(better_starts, stream="mixture_separated"),
    },
    "SE-41": {model: partial(near_nested, model=model) for model in MODEL_CASES},
    "SE-42": {
        "time": partial(updated_cost, cost="seconds", total="seconds_total"),
        "operations": partial(updated_cost, cost="operations", total="operations_total"),
    },
}
