"""Measures the claims about nested sampling, AIS and the sequential estimator: SE-19 to SE-42."""

import math

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import BooleanArray, FloatArray
from auxmc_pipeline.claims import Measurement, few_replicates, mean_over_replicates
from auxmc_pipeline.lookup import MissingData
from experiments.streaming_evidence.lookup import (
    Measure,
    Series,
    Tables,
    at,
    between,
    curve,
    errors,
    full_data,
    largest_size,
    main,
    measures,
    reference_at,
    row_counts,
    slope,
    total,
)

# Ratios of costs with fewer rows than these say nothing about a million.
_FEWEST_ROWS = 5000
# Beyond these rows the time of a run is that of its chunks.
_LATE = 20_000
# A run with these variations is followed by nested sampling chunk by chunk.
UPDATED = "method=nested_updating n_rows=10000 n_particles=10"


def median_with_error(values: FloatArray, note: str = "") -> Measurement:
    """Median over runs, with the standard error that it has under a normal law, widened for few runs."""
    n = values.size
    if n < 2:
        return Measurement(float(np.median(values)), math.nan, note or "one run")
    spread = float(np.std(values, ddof=1)) / math.sqrt(n) * math.sqrt(math.pi / 2.0)
    return Measurement(float(np.median(values)), spread * few_replicates(n), note)


def ratio_of_means(above: FloatArray, below: FloatArray, note: str = "") -> Measurement:
    """Ratio of two means with its standard error by the delta method, widened for few runs."""
    value = float(above.mean() / below.mean())
    square = 0.0
    for values in (above, below):
        if values.size > 1:
            relative = float(np.std(values, ddof=1)) / (abs(float(values.mean())) * math.sqrt(values.size))
            square += (relative * few_replicates(values.size)) ** 2
    error = abs(value) * math.sqrt(square) if above.size > 1 or below.size > 1 else math.nan
    return Measurement(value, error, note)


def share_of_runs(inside: BooleanArray, note: str = "", *, exact: bool = False) -> Measurement:
    """Share of runs with a property, with the standard error of a share, or none where the runs are all there is."""
    n, share = inside.size, float(np.mean(inside))
    # Half a success and half a failure added, so that an extreme share has an error too.
    smoothed = (inside.sum() + 0.5) / (n + 1.0)
    error = 0.0 if exact else math.sqrt(smoothed * (1.0 - smoothed) / n)
    return Measurement(share, error, f"{int(inside.sum())} of {n} runs; {note}" if note else f"{n} runs")


def time_slope(seconds: FloatArray, n_rows: FloatArray) -> float:
    """Slope of log seconds against log rows, by least squares."""
    return float(np.polyfit(np.log(n_rows), np.log(seconds), 1)[0])


def streaming_speed_up(model: str, method: str, rival: str = "nested", *, count: bool = False) -> Measure:
    """Cost of an estimator that needs all rows over that of a streaming one, for as many rows as both have."""

    def measure(tables: Tables) -> Measurement:
        quantity = f"{rival}_likelihood_rows" if count else f"{rival}_seconds"
        size = largest_size(tables, model, quantity)
        if size < _FEWEST_ROWS:
            raise MissingData(f"needs {_FEWEST_ROWS} rows, this preset has {size:.0f}")
        full = full_data(tables, model, quantity, size)
        if count and rival == "annealed":
            full = full + full_data(tables, model, "annealed_gradient_rows", size)
        own = at(curve(tables, main(model, method), "operations" if count else "seconds"), size)
        unit = "" if count else " s"
        return ratio_of_means(
            full, own, f"at {size:.0f} rows: {full.mean():.3g}{unit} against {own.mean():.3g}{unit}"
        )

    return measure


def stopping(live_points: int) -> Measure:
    """SE-19: with two live points both rules on the same points, with many the error of the additive rule."""

    def measure(tables: Tables) -> Measurement:
        series = Series("stopping", {"live_points": live_points})
        early, late = (total(tables, series, f"{name}_error") for name in ("additive", "remaining"))
        spread = float(np.mean(total(tables, series, "spread")))
        note = f"other rule {late.mean():.2f} nats off; standard deviation of a run {spread:.1f}"
        return mean_over_replicates(early - late if live_points == 2 else early, note)

    return measure


def nested_error(size: int) -> Measure:
    """SE-20."""

    def measure(tables: Tables) -> Measurement:
        found = full_data(tables, "linear", "nested_log_evidence", size)
        exact = _truth_at(tables, "linear", size)
        return median_with_error(np.abs(found - exact) / size, f"{found.size} runs")

    return measure


def annealed_error(model: str, size: int) -> Measure:
    """SE-24."""

    def measure(tables: Tables) -> Measurement:
        exact = _truth_at(tables, model, size)
        found = (full_data(tables, model, "annealed_log_evidence", size) - exact) / size
        nested = (full_data(tables, model, "nested_log_evidence", size) - exact) / size
        joined = np.concatenate([found, nested])
        note = f"NS {nested.mean():.2g} a row; all runs within {np.ptp(joined):.2g}"
        return mean_over_replicates(found, note)

    return measure


def annealed_over_nested(count: bool) -> Measure:
    """SE-25."""

    def measure(tables: Tables) -> Measurement:
        size = largest_size(tables, "linear", "annealed_seconds")
        if size < _FEWEST_ROWS:
            raise MissingData(f"needs {_FEWEST_ROWS} rows, this preset has {size:.0f}")
        if count:
            above = full_data(tables, "linear", "annealed_likelihood_rows", size)
            above = above + full_data(tables, "linear", "annealed_gradient_rows", size)
            below = full_data(tables, "linear", "nested_likelihood_rows", size)
        else:
            above, below = (
                full_data(tables, "linear", f"{name}_seconds", size) for name in ("annealed", "nested")
            )
        return ratio_of_means(above, below, f"at {size:.0f} rows")

    return measure


def sequential_slope(tables: Tables) -> Measurement:
    """SE-30, total time."""
    seconds = curve(tables, main("linear", "sequential"), "seconds")
    return slope_of_time(seconds)


def sequential_drift(tables: Tables) -> Measurement:
    """SE-30, time of a chunk."""
    seconds = curve(tables, main("linear", "sequential"), "seconds")
    end = float(row_counts(seconds)[-1])
    if end < 50_000:
        raise MissingData(f"{end:.0f} rows are too few to see a drift")
    early, late = (slope(seconds, first * end, last * end) for first, last in ((0.1, 0.3), (0.7, 1.0)))
    return mean_over_replicates(late / early - 1.0, "last 30 % of the rows against 10 to 30 %")


def slope_of_time(seconds: pd.DataFrame) -> Measurement:
    """Slope of log time against log rows, where the rows are many."""
    late = between(seconds, _LATE)
    columns = row_counts(late)
    if columns.size < 3 or columns[-1] < 5 * _LATE:
        raise MissingData(f"fewer than {5 * _LATE} rows at this preset")
    return mean_over_replicates(np.array([time_slope(row, columns) for row in late.to_numpy()]))


def share_below(model: str) -> Measure:
    """SE-32, sign."""

    def measure(tables: Tables) -> Measurement:
        found = at(errors(tables, main(model, "sequential")), 1000)
        return share_of_runs(found < 0.0, f"mean {found.mean():.0f} nats", exact=True)

    return measure


def early_error(tables: Tables) -> Measurement:
    """SE-32, size."""
    return mean_over_replicates(at(errors(tables, main("linear", "sequential")), 100))


def later_error(tables: Tables) -> Measurement:
    """SE-32, constancy."""
    found = errors(tables, main("linear", "sequential"))
    first, later = at(found, 1000), at(found, 10_000)
    end = found.iloc[:, -1].to_numpy()
    note = f"{first.mean():.1f}, {later.mean():.1f} and, at the end, {end.mean():.1f} nats"
    return mean_over_replicates(later / first, note)


def hybrid_error(relative: bool) -> Measure:
    """SE-33."""

    def measure(tables: Tables) -> Measurement:
        series = main("linear", "sequential")
        found = np.abs(at(errors(tables, series, "log_evidence_hybrid"), 1000))
        if not relative:
            published = np.abs(at(errors(tables, series, "log_evidence_hybrid_published"), 1000))
            return mean_over_replicates(found, f"with two live points {published.mean():.1f} nats")
        return ratio_of_means(found, np.abs(at(errors(tables, series), 1000)))

    return measure


def final_error(model: str, method: str, least: int, *, relative: bool = False) -> Measure:
    """Absolute error at the end of the stream, for each row or relative to the log evidence."""

    def measure(tables: Tables) -> Measurement:
        found = errors(tables, main(model, method))
        n_rows = float(found.columns[-1])
        if n_rows < least:
            raise MissingData(f"needs {least} rows, this preset has {n_rows:.0f}")
        own = at(found, n_rows)
        unit = abs(reference_at(tables, model, n_rows)) if relative else n_rows
        return mean_over_replicates(np.abs(own) / unit, f"{own.mean():.0f} nats at {n_rows:.0f} rows")

    return measure


def better_starts(stream: str) -> Measure:
    """SE-40."""

    def measure(tables: Tables) -> Measurement:
        case = f"starts__stream-{stream}"
        near = {
            name: total(tables, Series(case, {"start": name}), "near_best")
            for name in ("growing", "chunks", "at_once")
        }
        shares = ", ".join(f"{name} {values.mean():.2f}" for name, values in near.items())
        return mean_over_replicates(near["growing"] - near["at_once"], f"shares near the best mode: {shares}")

    return measure


def near_nested(model: str, method: str = "sequential") -> Measure:
    """SE-41."""

    def measure(tables: Tables) -> Measurement:
        size = largest_size(tables, model, "nested_log_evidence")
        if size < _FEWEST_ROWS:
            raise MissingData(f"needs {_FEWEST_ROWS} rows, this preset has {size:.0f}")
        own = at(curve(tables, main(model, method), "log_evidence"), size)
        nested = full_data(tables, model, "nested_log_evidence", size)
        value = abs(float(own.mean() / nested.mean()) - 1.0)
        error = ratio_of_means(own, nested).error
        return Measurement(value, error, f"at {size:.0f} rows")

    return measure


def updated_cost(count: bool) -> Measure:
    """SE-42."""

    def measure(tables: Tables) -> Measurement:
        series = Series("floor", {"variation": UPDATED})
        size = float(curve(tables, series, "log_evidence").columns[-1])
        if count:
            own = total(tables, series, "operations_total")
            full = full_data(tables, "linear", "nested_likelihood_rows", size)
        else:
            own = total(tables, series, "seconds_total")
            full = full_data(tables, "linear", "nested_seconds", size)
        off = at(curve(tables, series, "error"), size)
        return ratio_of_means(
            own, full, f"at {size:.0f} rows; error of the updated estimate {off.mean():.1f} nats"
        )

    return measure


def _truth_at(tables: Tables, model: str, size: float) -> float:
    """Reference for a number of rows of the estimators that need all of them."""
    if model == "linear":
        return float(full_data(tables, model, "exact", size)[0])
    return reference_at(tables, model, size)


MEASURE = {
    "SE-19": measures(
        {"2 live points, difference": stopping(2), "200 live points, additive rule": stopping(200)}
    ),
    "SE-20": measures({f"{n} rows": nested_error(n) for n in (100, 1000, 10_000, 100_000)}),
    "SE-24": measures(
        {
            f"{model}, {n} rows": annealed_error(model, n)
            for model in ("linear", "softmax")
            for n in (1000, 10_000)
        }
    ),
    "SE-25": measures({"time": annealed_over_nested(False), "operations": annealed_over_nested(True)}),
    "SE-30": measures({"slope": sequential_slope, "drift": sequential_drift}),
    "SE-32": measures(
        {
            "linear, runs below": share_below("linear"),
            "softmax, runs below": share_below("softmax"),
            "mixture, runs below": share_below("mixture"),
            "linear, error at 100 rows": early_error,
            "linear, error at 10000 over error at 1000 rows": later_error,
        }
    ),
    "SE-33": measures(
        {"linear, error at 1000 rows": hybrid_error(False), "linear, part of the error": hybrid_error(True)}
    ),
    "SE-34": measures(
        {
            "per row": final_error("linear", "sequential", 1_000_000),
            "relative": final_error("linear", "sequential", 1_000_000, relative=True),
        }
    ),
    "SE-35": measures(
        {
            "time": streaming_speed_up("linear", "sequential"),
            "operations": streaming_speed_up("linear", "sequential", count=True),
        }
    ),
    "SE-36": measures({"per row": final_error("softmax", "sequential", 100_000)}),
    "SE-37": measures(
        {
            "time": streaming_speed_up("softmax", "sequential"),
            "operations": streaming_speed_up("softmax", "sequential", count=True),
        }
    ),
    "SE-38": measures({"per row": final_error("mixture", "sequential", 30_000)}),
    "SE-39": measures(
        {
            "time": streaming_speed_up("mixture", "sequential"),
            "operations": streaming_speed_up("mixture", "sequential", count=True),
        }
    ),
    "SE-40": measures(
        {
            "intermediate": better_starts("mixture_intermediate"),
            "separated": better_starts("mixture_separated"),
        }
    ),
    "SE-41": measures({model: near_nested(model) for model in ("linear", "softmax", "mixture")}),
    "SE-42": measures({"time": updated_cost(False), "operations": updated_cost(True)}),
}
