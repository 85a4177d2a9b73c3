"""Measures that claims about both streaming estimators share: costs next to rivals, growth of costs, final errors."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.error_rules import difference, mean_over_replicates, ratio_of_means
from auxmc_pipeline.tables import MissingData, Tables
from experiments.streaming_evidence.stream_runs import (
    RIVALS,
    between,
    by_size,
    errors_of,
    full_data,
    published,
    reference_at,
    row_counts,
    values_at,
)

ALL_ROWS = 1_000_000
"""Rows for which the document states costs and discrepancies."""

LATE_ROWS = 20_000
"""Beyond these rows the time of a run is that of its chunks, and terms of the posterior's width do not count."""


def magnitude(found: Measurement, unit: float = 1.0, note: str = "") -> Measurement:
    """The absolute value of a measurement in another unit; without a note it keeps its own."""
    return Measurement(abs(found.value) / unit, found.error / unit, note or found.note, found.exact)


def costs_by_size(tables: Tables, model: str, rival: str, cost: str) -> pd.DataFrame:
    """Seconds or operations of an estimator that needs all rows, by the numbers of rows that it was run for.

    Only runs that were made for all of them: large numbers may have fewer.

    Raises:
        MissingData: it was run for none.
    """
    about = RIVALS[rival]
    first, *others = (about.seconds,) if cost == "seconds" else about.operations
    found = by_size(tables, model, first)
    for name in others:
        found = found + by_size(tables, model, name)
    found = found.dropna(axis=1, how="all").dropna()
    if found.empty:
        raise MissingData(f"costs of {rival}, {model}: not run at this preset")
    return found


def full_cost(tables: Tables, model: str, rival: str, size: float, cost: str) -> FloatArray:
    """Seconds or operations of an estimator that needs all rows, for a number of rows [repeat]."""
    return values_at(costs_by_size(tables, model, rival, cost), size)


def speed_up(tables: Tables, model: str, method: str, cost: str, rival: str = "nested") -> Measurement:
    """Cost of an estimator that needs all rows over that of a streaming one, for a million rows.

    Args:
        tables: of the study.
        model: one of MODEL_CASES.
        method: the streaming estimator.
        cost: "seconds" or "operations".
        rival: one of RIVALS.
    """
    own = values_at(published(tables, model, method).curve(cost), ALL_ROWS)
    full = full_cost(tables, model, rival, ALL_ROWS, cost)
    unit = " s" if cost == "seconds" else ""
    return ratio_of_means(full, own, f"{full.mean():.3g}{unit} against {own.mean():.3g}{unit}")


def final_error(
    tables: Tables, model: str, method: str, n_rows: int = ALL_ROWS, *, relative: bool = False
) -> Measurement:
    """Absolute error for a number of rows, for each of them or relative to the log evidence."""
    own = mean_over_replicates(values_at(errors_of(published(tables, model, method)), n_rows))
    unit = abs(reference_at(tables, model, n_rows)) if relative else n_rows
    return magnitude(own, unit, f"{own.value:.0f} nats")


def discrepancy(tables: Tables, model: str, method: str, *, relative: bool = False) -> Measurement:
    """Distance from nested sampling for a million rows, for each of them or relative to the log evidence."""
    nested = mean_over_replicates(full_data(tables, model, "nested_log_evidence", ALL_ROWS))
    own = mean_over_replicates(values_at(published(tables, model, method).curve("log_evidence"), ALL_ROWS))
    off = difference(own, nested)
    return magnitude(off, abs(nested.value) if relative else ALL_ROWS, f"{off.value:.0f} nats")


def power_of_rows(n_rows: FloatArray, costs: FloatArray) -> float:
    """Slope of log costs against log rows, or another size, by least squares."""
    return float(np.polyfit(np.log(n_rows), np.log(costs), 1)[0])


def growth_of_cost(tables: Tables, model: str, method: str, cost: str) -> Measurement:
    """Slope of log cost against log rows of a streaming estimator, where the rows are many."""
    late = between(published(tables, model, method).curve(cost), LATE_ROWS)
    if late.shape[1] < 2:
        raise MissingData(f"more than {LATE_ROWS} rows: not run at this preset")
    return mean_over_replicates([power_of_rows(row_counts(late), row) for row in late.to_numpy()])


def speed_up_measures(
    model: str, method: str, rival: str = "nested"
) -> dict[str, Callable[[Tables], Measurement]]:
    """Both settings of a claim about speed, in time and in operations."""
    both = partial(speed_up, model=model, method=method, rival=rival)
    return {"time": partial(both, cost="seconds"), "operations": partial(both, cost="operations")}
