"""Measures that claims about both streaming estimators share: costs beside rivals, growth of time, final errors."""

from collections.abc import Callable
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.error_rules import mean_over_replicates, ratio_of_means
from auxmc_pipeline.tables import Tables
from experiments.streaming_evidence.stream_runs import (
    RIVALS,
    between,
    by_size,
    enough_rows,
    errors_of,
    full_data,
    published,
    reference_at,
    row_counts,
    values_at,
)

LATE_ROWS = 20_000
"""Beyond these rows the time of a run is that of its chunks, and terms of the posterior's width do not count."""

# Ratios of costs with fewer rows than these say nothing about a million.
_FEWEST_ROWS = 5000


def largest_size(tables: Tables, model: str, rival: str) -> float:
    """Most rows for which an estimator that needs all rows was run.

    Raises:
        MissingData: it was not, or they are too few.
    """
    return enough_rows(float(by_size(tables, model, RIVALS[rival].seconds).columns[-1]), _FEWEST_ROWS)


def full_cost(tables: Tables, model: str, rival: str, size: float, cost: str) -> FloatArray:
    """Seconds or operations of an estimator that needs all rows, for a number of rows [repeat]."""
    if cost == "seconds":
        return full_data(tables, model, RIVALS[rival].seconds, size)
    return np.sum([full_data(tables, model, name, size) for name in RIVALS[rival].operations], axis=0)


def speed_up(tables: Tables, model: str, method: str, cost: str, rival: str = "nested") -> Measurement:
    """Cost of an estimator that needs all rows over that of a streaming one, for as many rows as both have.

    Args:
        tables: of the study.
        model: one of MODEL_CASES.
        method: the streaming estimator.
        cost: "seconds" or "operations".
        rival: one of RIVALS.
    """
    size = largest_size(tables, model, rival)
    full = full_cost(tables, model, rival, size, cost)
    own = values_at(published(tables, model, method).curve(cost), size)
    unit = " s" if cost == "seconds" else ""
    return ratio_of_means(
        full, own, f"at {size:.0f} rows: {full.mean():.3g}{unit} against {own.mean():.3g}{unit}"
    )


def final_error(
    tables: Tables, model: str, method: str, least: int, *, relative: bool = False
) -> Measurement:
    """Absolute error at the end of the stream, for each row or relative to the log evidence."""
    found = errors_of(published(tables, model, method))
    n_rows = enough_rows(float(found.columns[-1]), least)
    own = values_at(found, n_rows)
    unit = abs(reference_at(tables, model, n_rows)) if relative else n_rows
    return mean_over_replicates(np.abs(own) / unit, f"{own.mean():.0f} nats at {n_rows:.0f} rows")


def power_of_rows(n_rows: FloatArray, seconds: FloatArray) -> float:
    """Slope of log seconds against log rows, or another size, by least squares."""
    return float(np.polyfit(np.log(n_rows), np.log(seconds), 1)[0])


def growth_of_time(tables: Tables, model: str, method: str) -> Measurement:
    """Slope of log time against log rows of a streaming estimator, where the rows are many."""
    late = between(published(tables, model, method).curve("seconds"), LATE_ROWS)
    enough_rows(float(max(late.columns, default=0)), 5 * LATE_ROWS)
    return mean_over_replicates([power_of_rows(row_counts(late), row) for row in late.to_numpy()])


def speed_up_measures(
    model: str, method: str, rival: str = "nested"
) -> dict[str, Callable[[Tables], Measurement]]:
    """Both settings of a claim about speed, in time and in operations."""
    both = partial(speed_up, model=model, method=method, rival=rival)
    return {"time": partial(both, cost="seconds"), "operations": partial(both, cost="operations")}
