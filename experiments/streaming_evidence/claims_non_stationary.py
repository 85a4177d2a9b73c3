"""Measures the claims about a stream that changes: SE-70 to SE-75."""

import math

import numpy as np
import pandas as pd

from auxmc.diagnostics.change_points import change_points, chunk_scores
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, mean_over_replicates
from auxmc_pipeline.lookup import MissingData
from experiments.streaming_evidence.claims_evidence import share_of_runs
from experiments.streaming_evidence.lookup import (
    Measure,
    Series,
    Tables,
    against,
    annealing_steps,
    at,
    curve,
    measures,
    row_counts,
)

COMPONENTS = (3, 5, 7)
CHANGES = (1000, 10_000)
"""Rows after which the data have more clusters."""

_CHUNKS_BEFORE = 4
_SETTLED = 2000


def change_series(n_components: int, stream: str) -> Series:
    """Runs of a mixture on the stream in order or shuffled."""
    return Series(f"change__n_components-{n_components}", {"stream": stream})


def drop(n_components: int, change: int) -> Measure:
    """SE-70, in order: scores of a row before the change minus those of the chunk after."""

    def measure(tables: Tables) -> Measurement:
        scores = row_scores(tables, change_series(n_components, "non_stationary"))
        return mean_over_replicates(_drops(scores, _chunk_after(scores, change)))

    return measure


def largest_shuffled_drop(n_components: int) -> Measure:
    """SE-70, shuffled."""

    def measure(tables: Tables) -> Measurement:
        scores = row_scores(tables, change_series(n_components, "shuffled"))
        first = _chunk_after(scores, _SETTLED)
        if row_counts(scores)[-1] < 50_000:
            raise MissingData("fewer than 50000 rows at this preset")
        drops = np.stack([_drops(scores, i) for i in range(first, scores.shape[1])])
        return Measurement(float(drops.max()), 0.0, f"largest of {drops.size} chunks")

    return measure


def later_steps(tables: Tables) -> Measurement:
    """SE-71, many annealing steps afterwards."""
    steps = annealing_steps(tables, change_series(3, "non_stationary"))
    place = _chunk_after(steps, CHANGES[1])
    values = steps.to_numpy()
    after = np.median(values[:, place:], axis=1)
    before = np.median(values[:, place - _CHUNKS_BEFORE : place], axis=1)
    return mean_over_replicates(after / before, f"medians {before.mean():.1f} and {after.mean():.1f} steps")


def spikes(n_components: int) -> Measure:
    """SE-71, share of runs with a spike at a change."""

    def measure(tables: Tables) -> Measurement:
        steps = annealing_steps(tables, change_series(n_components, "non_stationary"))
        values = steps.to_numpy()
        ratios = []
        for change in CHANGES:
            place = _chunk_after(steps, change)
            first = max(1, place - _CHUNKS_BEFORE)
            ratios.append(values[:, place] / np.median(values[:, first:place], axis=1))
        note = f"mean factors {', '.join(f'{r.mean():.2f}' for r in ratios)}"
        return share_of_runs(np.max(ratios, axis=0) >= 1.5, note)

    return measure


def detected(tables: Tables) -> Measurement:
    """SE-72, changes that are found."""
    found, words = [], []
    for n_components in COMPONENTS:
        record = curve(tables, change_series(n_components, "non_stationary"), "log_evidence")
        hits = [_alarms(record, run) for run in record.index]
        for change in CHANGES:
            seen = [any(change < row <= change + 1000 for row in alarms) for alarms in hits]
            found += seen
            words.append(f"K={n_components} at {change}: {sum(seen)}")
    return share_of_runs(np.array(found), ", ".join(words), exact=True)


def false_alarms(stream: str) -> Measure:
    """SE-72, alarms for each 100 000 rows that no change explains."""

    def measure(tables: Tables) -> Measurement:
        counts, n_rows = [], 1.0
        for n_components in COMPONENTS:
            record = curve(tables, change_series(n_components, stream), "log_evidence")
            n_rows = float(record.columns[-1])
            changes = CHANGES if stream == "non_stationary" else ()
            for run in record.index:
                alarms = _alarms(record, run)
                counts.append(sum(not any(c < row <= c + 1000 for c in changes) for row in alarms))
        if n_rows < 50_000:
            raise MissingData("fewer than 50000 rows at this preset")
        return mean_over_replicates(np.array(counts) * 1e5 / n_rows)

    return measure


def orders_agree(n_components: int) -> Measure:
    """SE-73: shuffled against in order."""

    def measure(tables: Tables) -> Measurement:
        first, second = (
            at(curve(tables, change_series(n_components, name), "log_evidence"), 100_000) / 100_000
            for name in ("non_stationary", "shuffled")
        )
        difference = first.mean() - second.mean()
        spread = mean_over_replicates(first - second).error
        return Measurement(
            abs(float(difference)), spread, f"in order {first.mean():.4f}, shuffled {second.mean():.4f}"
        )

    return measure


def near_reference(n_components: int) -> Measure:
    """SE-73: largest distance of a mean from the near-exact value."""

    def measure(tables: Tables) -> Measurement:
        truth = curve(tables, Series(f"change__n_components-{n_components}", {}), "reference").iloc[0]
        values = []
        for name in ("non_stationary", "shuffled"):
            record = curve(tables, change_series(n_components, name), "log_evidence")
            values.append(mean_over_replicates(at(against(record, truth), 100_000) / 100_000))
        worst = max(values, key=lambda m: abs(m.value))
        note = ", ".join(f"{m.value:.4f}" for m in values)
        return Measurement(abs(worst.value), worst.error, f"in order and shuffled: {note}")

    return measure


def three_below_five(stream: str) -> Measure:
    """SE-73 to SE-75: share of runs in which five components beat three."""

    def measure(tables: Tables) -> Measurement:
        low, high = (_ends(tables, k, stream) for k in (3, 5))
        return share_of_runs(low < high, f"gap {np.mean(high - low):.4f} a row", exact=True)

    return measure


def gap_ratio(tables: Tables) -> Measurement:
    """SE-74: gap of 5 and 7 over gap of 3 and 5."""
    three, five, seven = (_ends(tables, k, "shuffled") for k in COMPONENTS)
    value = abs(float(seven.mean() - five.mean())) / float(five.mean() - three.mean())
    spread = max(mean_over_replicates(x).error for x in (three, five, seven))
    error = spread * math.sqrt(2.0) / abs(float(five.mean() - three.mean()))
    return Measurement(value, error, f"{three.mean():.4f}, {five.mean():.4f}, {seven.mean():.4f} a row")


def between_orders(pair: tuple[int, int]) -> Measure:
    """SE-75: difference between orders of rows, over the gap between two models."""

    def measure(tables: Tables) -> Measurement:
        gap = float(_ends(tables, pair[1], "shuffled").mean() - _ends(tables, pair[0], "shuffled").mean())
        found = [orders_agree(k)(tables) for k in pair]
        worst = max(found, key=lambda m: m.value)
        return Measurement(worst.value / abs(gap), worst.error / abs(gap), f"gap {gap:.4f} a row")

    return measure


def row_scores(tables: Tables, series: Series) -> pd.DataFrame:
    """Log predictive density of a row, mean over its chunk, one line a run."""
    record = curve(tables, series, "log_evidence")
    return pd.DataFrame(
        [chunk_scores(row, record.columns).per_row for row in record.to_numpy()],
        index=record.index,
        columns=record.columns,
    )


def _alarms(record: pd.DataFrame, run: int) -> list[int]:
    """Last rows of the chunks of a run that the detector flags."""
    scores = chunk_scores(record.loc[run], record.columns)
    return [found.last_row for found in change_points(scores.per_row, scores.n_rows)]


def _drops(scores: pd.DataFrame, place: int) -> FloatArray:
    """Mean score of up to four chunks before a chunk, the first of the stream apart, minus its own [repeat]."""
    values = scores.to_numpy(dtype=np.float64)
    first = max(1, place - _CHUNKS_BEFORE)
    return np.asarray(values[:, first:place].mean(axis=1) - values[:, place])


def _chunk_after(table: pd.DataFrame, n_rows: int) -> int:
    """Place of the first chunk that ends after a number of rows."""
    columns = table.columns.to_numpy(dtype=np.float64)
    if columns[-1] <= n_rows:
        raise MissingData(f"more than {n_rows} rows: not run at this preset")
    return int(np.argmax(columns > n_rows))


def _ends(tables: Tables, n_components: int, stream: str) -> FloatArray:
    return at(curve(tables, change_series(n_components, stream), "log_evidence"), 100_000) / 100_000


MEASURE = {
    "SE-70": measures(
        {
            **{f"K = {k}, at {n}": drop(k, n) for n in CHANGES for k in COMPONENTS},
            **{f"K = {k}, shuffled": largest_shuffled_drop(k) for k in COMPONENTS},
        }
    ),
    "SE-71": measures(
        {
            "K = 3, after over before": later_steps,
            **{f"K = {k}, runs with a spike": spikes(k) for k in COMPONENTS},
        }
    ),
    "SE-72": measures(
        {
            "changes found": detected,
            "false alarms, in order": false_alarms("non_stationary"),
            "false alarms, shuffled": false_alarms("shuffled"),
        }
    ),
    "SE-73": measures(
        {
            **{f"K = {k}, two orders": orders_agree(k) for k in COMPONENTS},
            **{f"K = {k}, reference": near_reference(k) for k in COMPONENTS},
            "3 below 5, in order": three_below_five("non_stationary"),
        }
    ),
    "SE-74": measures({"3 below 5, shuffled": three_below_five("shuffled"), "gap ratio": gap_ratio}),
    "SE-75": measures({"3 and 5": between_orders((3, 5)), "5 and 7": between_orders((5, 7))}),
}
