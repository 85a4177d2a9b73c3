"""Measures the claims about a stream that changes: SE-70 to SE-75."""

import math
from functools import partial

import numpy as np
import pandas as pd

from auxmc.diagnostics.change_points import change_points, chunk_scores
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import mean_over_replicates, share_of_replicates
from auxmc_pipeline.tables import MissingData, Tables
from experiments.streaming_evidence.stream_runs import (
    StreamRuns,
    against,
    enough_rows,
    reference,
    row_counts,
    steps_of_chunks,
    values_at,
)
from experiments.streaming_evidence.sweeps import CHANGES, COMPONENTS, following

_CHUNKS_BEFORE = 4
_SETTLED = 2000
_ALL_ROWS = 100_000
# Fewer rows have too few chunks without a change for what happens by chance.
_MANY_ROWS = 50_000


def drop_at_change(tables: Tables, n_components: int, change: int) -> Measurement:
    """SE-70, in order: scores of a row before the change minus those of the chunk after."""
    scores = row_scores(following(tables, n_components, "non_stationary"))
    return mean_over_replicates(_drops(scores, _chunk_after(scores, change)))


def largest_shuffled_drop(tables: Tables, n_components: int) -> Measurement:
    """SE-70, shuffled."""
    scores = row_scores(following(tables, n_components, "shuffled"))
    first = _chunk_after(scores, _SETTLED)
    enough_rows(row_counts(scores)[-1], _MANY_ROWS)
    drops = np.stack([_drops(scores, i) for i in range(first, scores.shape[1])])
    return Measurement(float(drops.max()), 0.0, f"largest of {drops.size} chunks")


def later_steps(tables: Tables) -> Measurement:
    """SE-71, many annealing steps afterwards."""
    steps = steps_of_chunks(following(tables, 3, "non_stationary"))
    place = _chunk_after(steps, CHANGES[1])
    values = steps.to_numpy()
    after = np.median(values[:, place:], axis=1)
    before = np.median(values[:, place - _CHUNKS_BEFORE : place], axis=1)
    return mean_over_replicates(after / before, f"medians {before.mean():.1f} and {after.mean():.1f} steps")


def spikes_at_changes(tables: Tables, n_components: int) -> Measurement:
    """SE-71, share of runs with a spike at a change."""
    steps = steps_of_chunks(following(tables, n_components, "non_stationary"))
    values = steps.to_numpy()
    ratios = []
    for change in CHANGES:
        place = _chunk_after(steps, change)
        ratios.append(values[:, place] / np.median(values[:, _chunks_before(place)], axis=1))
    note = f"mean factors {', '.join(f'{r.mean():.2f}' for r in ratios)}"
    return share_of_replicates(np.max(ratios, axis=0) >= 1.5, note)


def changes_found(tables: Tables) -> Measurement:
    """SE-72, changes that are found."""
    found, words = [], []
    for n_components in COMPONENTS:
        hits = _alarms(following(tables, n_components, "non_stationary").curve("log_evidence"))
        for change in CHANGES:
            seen = [any(_soon_after(row, change) for row in alarms) for alarms in hits]
            found += seen
            words.append(f"K={n_components} at {change}: {sum(seen)}")
    return share_of_replicates(np.array(found), ", ".join(words), exact=True)


def false_alarms(tables: Tables, stream: str) -> Measurement:
    """SE-72, alarms for each 100 000 rows that no change explains."""
    counts, n_rows = [], 1.0
    changes = CHANGES if stream == "non_stationary" else ()
    for n_components in COMPONENTS:
        record = following(tables, n_components, stream).curve("log_evidence")
        n_rows = float(record.columns[-1])
        counts += [
            sum(not any(_soon_after(row, change) for change in changes) for row in alarms)
            for alarms in _alarms(record)
        ]
    enough_rows(n_rows, _MANY_ROWS)
    return mean_over_replicates(np.array(counts) * 1e5 / n_rows)


def orders_agree(tables: Tables, n_components: int) -> Measurement:
    """SE-73: shuffled against in order."""
    first, second = (_final(tables, n_components, name) for name in ("non_stationary", "shuffled"))
    spread = mean_over_replicates(first - second).error
    note = f"in order {first.mean():.4f}, shuffled {second.mean():.4f}"
    return Measurement(abs(float(first.mean() - second.mean())), spread, note)


def near_reference(tables: Tables, n_components: int) -> Measurement:
    """SE-73: largest distance of a mean from the near-exact value."""
    values = []
    for name in ("non_stationary", "shuffled"):
        runs = following(tables, n_components, name)
        errors = against(runs.curve("log_evidence"), reference(tables, runs.case))
        values.append(mean_over_replicates(values_at(errors, _ALL_ROWS) / _ALL_ROWS))
    worst = max(values, key=lambda m: abs(m.value))
    note = ", ".join(f"{m.value:.4f}" for m in values)
    return Measurement(abs(worst.value), worst.error, f"in order and shuffled: {note}")


def three_below_five(tables: Tables, stream: str) -> Measurement:
    """SE-73 to SE-75: share of runs in which five components beat three."""
    low, high = (_final(tables, k, stream) for k in (3, 5))
    return share_of_replicates(low < high, f"gap {np.mean(high - low):.4f} a row", exact=True)


def gap_ratio(tables: Tables) -> Measurement:
    """SE-74: gap of 5 and 7 over gap of 3 and 5."""
    finals = [_final(tables, k, "shuffled") for k in COMPONENTS]
    three, five, seven = (float(values.mean()) for values in finals)
    error = max(mean_over_replicates(values).error for values in finals) * math.sqrt(2.0) / abs(five - three)
    note = f"{three:.4f}, {five:.4f}, {seven:.4f} a row"
    return Measurement(abs(seven - five) / (five - three), error, note)


def orders_over_gap(tables: Tables, pair: tuple[int, int]) -> Measurement:
    """SE-75: difference between orders of rows, over the gap between two models."""
    low, high = (_final(tables, k, "shuffled").mean() for k in pair)
    gap = float(high - low)
    worst = max((orders_agree(tables, k) for k in pair), key=lambda m: m.value)
    return Measurement(worst.value / abs(gap), worst.error / abs(gap), f"gap {gap:.4f} a row")


def row_scores(runs: StreamRuns) -> pd.DataFrame:
    """Log predictive density of a row, mean over its chunk, one line a run."""
    record = runs.curve("log_evidence")
    scores = [chunk_scores(row, record.columns).per_row for row in record.to_numpy()]
    return pd.DataFrame(scores, index=record.index, columns=record.columns)


def _alarms(record: pd.DataFrame) -> list[list[int]]:
    """Last rows of the chunks that the detector flags, for each run."""
    scores = [chunk_scores(row, record.columns) for row in record.to_numpy()]
    return [[found.last_row for found in change_points(s.per_row, s.n_rows)] for s in scores]


def _soon_after(row: int, change: int) -> bool:
    return change < row <= change + 1000


def _chunks_before(place: int) -> slice:
    """Up to four chunks before a chunk, the first of the stream apart."""
    return slice(max(1, place - _CHUNKS_BEFORE), place)


def _drops(scores: pd.DataFrame, place: int) -> FloatArray:
    """Mean score of the chunks before a chunk, minus its own [repeat]."""
    values = scores.to_numpy(dtype=np.float64)
    return np.asarray(values[:, _chunks_before(place)].mean(axis=1) - values[:, place])


def _chunk_after(table: pd.DataFrame, n_rows: int) -> int:
    """Place of the first chunk that ends after a number of rows."""
    columns = row_counts(table)
    if columns[-1] <= n_rows:
        raise MissingData(f"more than {n_rows} rows: not run at this preset")
    return int(np.argmax(columns > n_rows))


def _final(tables: Tables, n_components: int, stream: str) -> FloatArray:
    """Log evidence of all rows, for each of them [repeat]."""
    return values_at(following(tables, n_components, stream).curve("log_evidence"), _ALL_ROWS) / _ALL_ROWS


MEASURE: Measures = {
    "SE-70": {
        **{
            f"K = {k}, at {n}": partial(drop_at_change, n_components=k, change=n)
            for n in CHANGES
            for k in COMPONENTS
        },
        **{f"K = {k}, shuffled": partial(largest_shuffled_drop, n_components=k) for k in COMPONENTS},
    },
    "SE-71": {
        "K = 3, after over before": later_steps,
        **{f"K = {k}, runs with a spike": partial(spikes_at_changes, n_components=k) for k in COMPONENTS},
    },
    "SE-72": {
        "changes found": changes_found,
        "false alarms, in order": partial(false_alarms, stream="non_stationary"),
        "false alarms, shuffled": partial(false_alarms, stream="shuffled"),
    },
    "SE-73": {
        **{f"K = {k}, two orders": partial(orders_agree, n_components=k) for k in COMPONENTS},
        **{f"K = {k}, reference": partial(near_reference, n_components=k) for k in COMPONENTS},
        "3 below 5, in order": partial(three_below_five, stream="non_stationary"),
    },
    "SE-74": {
        "3 below 5, shuffled": partial(three_below_five, stream="shuffled"),
        "gap ratio": gap_ratio,
    },
    "SE-75": {
        "3 and 5": partial(orders_over_gap, pair=(3, 5)),
        "5 and 7": partial(orders_over_gap, pair=(5, 7)),
    },
}
