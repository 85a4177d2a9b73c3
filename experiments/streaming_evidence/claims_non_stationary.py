"""Measures the claims about a stream that changes: SE-70 to SE-75."""

from functools import partial

import numpy as np
import pandas as pd

from auxmc.diagnostics.change_points import change_points, chunk_scores
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import (
    bootstrap,
    difference,
    fraction_of_replicates,
    jackknife,
    largest,
    mean_over_replicates,
    rate_of_events,
    ratio,
    ratio_of_means,
)
from auxmc_pipeline.tables import MissingData, Tables
from experiments.streaming_evidence.stream_runs import (
    StreamRuns,
    row_counts,
    steps_of_chunks,
    values_at,
)
from experiments.streaming_evidence.streaming_costs import magnitude
from experiments.streaming_evidence.sweeps import CHANGES, COMPONENTS, following

_CHUNKS_BEFORE = 4
_SETTLED = 2000
_ALL_ROWS = 100_000
_CHUNK = 500


def drop_at_change(tables: Tables, n_components: int, change: int) -> Measurement:
    """SE-70, in order: scores of a row before the change minus those of the chunk after."""
    scores = row_scores(following(tables, n_components, "non_stationary"))
    return mean_over_replicates(_drops(scores, _chunk_after(scores, change)))


def largest_shuffled_drop(tables: Tables, n_components: int) -> Measurement:
    """SE-70, shuffled."""
    scores = row_scores(following(tables, n_components, "shuffled"))
    first = _chunk_after(scores, _SETTLED)
    drops = np.stack([_drops(scores, i) for i in range(first, scores.shape[1])])
    return bootstrap(np.max, drops.max(axis=0), f"largest of {drops.size} chunks")


def stays_high(tables: Tables, n_components: int, since: int) -> Measurement:
    """SE-71, steps of a chunk once there are more clusters than components, in order over shuffled."""
    in_order, shuffled = (
        steps_of_chunks(following(tables, n_components, stream)) for stream in ("non_stationary", "shuffled")
    )
    place = _chunk_after(in_order, since)
    above, below = (
        np.median(steps.to_numpy(dtype=np.float64)[:, place:], axis=1) for steps in (in_order, shuffled)
    )
    return ratio_of_means(above, below, f"medians {above.mean():.1f} and {below.mean():.1f} steps")


def spike_at_change(tables: Tables, n_components: int, change: int) -> Measurement:
    """SE-71, steps of the chunk after a change over those of the chunks before."""
    steps = steps_of_chunks(following(tables, n_components, "non_stationary"))
    place = _chunk_after(steps, change)
    values = steps.to_numpy()
    return mean_over_replicates(values[:, place] / np.median(values[:, _chunks_before(place)], axis=1))


def changes_found(tables: Tables) -> Measurement:
    """SE-72, runs that find both changes in the chunk after them."""
    found: list[bool] = []
    words = []
    for n_components in COMPONENTS:
        hits = _alarms(following(tables, n_components, "non_stationary").curve("log_evidence"))
        seen = [[any(_just_after(row, change) for row in alarms) for change in CHANGES] for alarms in hits]
        # A run sees both changes or misses one: its changes are no replicates.
        found += [all(both) for both in seen]
        words += [
            f"K={n_components} at {change}: {sum(of_change)}"
            for change, of_change in zip(CHANGES, zip(*seen, strict=True), strict=True)
        ]
    return fraction_of_replicates(np.array(found), ", ".join(words))


def false_alarms(tables: Tables) -> Measurement:
    """Alarms for each 100 000 rows in order that no change explains."""
    n_alarms, n_rows = 0, 0.0
    for n_components in COMPONENTS:
        record = following(tables, n_components, "non_stationary").curve("log_evidence")
        n_rows += float(record.columns[-1]) * len(record)
        for alarms in _alarms(record):
            n_alarms += sum(not any(_just_after(row, change) for change in CHANGES) for row in alarms)
    return rate_of_events(n_alarms, n_rows / 1e5)


def orders_agree(tables: Tables, n_components: int) -> Measurement:
    """SE-73: shuffled against in order."""
    first, second = (
        mean_over_replicates(_final(tables, n_components, name)) for name in ("non_stationary", "shuffled")
    )
    note = f"in order {first.value:.4f}, shuffled {second.value:.4f}"
    return magnitude(difference(first, second), note=note)


def gap(tables: Tables, stream: str, low: int, high: int) -> Measurement:
    """SE-73 to SE-75: final log evidence for each row with more components minus that with fewer."""
    more, fewer = (mean_over_replicates(_final(tables, k, stream)) for k in (high, low))
    return difference(more, fewer)


def gap_ratio(tables: Tables) -> Measurement:
    """SE-74: gap of 5 and 7 over gap of 3 and 5."""
    three, five, seven = (_final(tables, k, "shuffled") for k in COMPONENTS)
    return jackknife(
        lambda kept: float(
            abs(seven[kept].mean() - five[kept].mean()) / (five[kept].mean() - three[kept].mean())
        ),
        five.size,
        f"{three.mean():.4f}, {five.mean():.4f}, {seven.mean():.4f} a row",
    )


def orders_over_gap(tables: Tables, pair: tuple[int, int]) -> Measurement:
    """SE-75: the larger difference between orders of rows, over the gap between two models."""
    apart = magnitude(gap(tables, "shuffled", *pair))
    both = [orders_agree(tables, k) for k in pair]
    worst = largest([m.value for m in both], [m.error for m in both], [f"{k} components" for k in pair])
    return ratio(worst, apart, f"{worst.note}; gap {apart.value:.4f} a row")


def row_scores(runs: StreamRuns) -> pd.DataFrame:
    """Log predictive density of a row, mean over its chunk, one line a run."""
    record = runs.curve("log_evidence")
    scores = [chunk_scores(row, record.columns).per_row for row in record.to_numpy()]
    return pd.DataFrame(scores, index=record.index, columns=record.columns)


def _alarms(record: pd.DataFrame) -> list[list[int]]:
    """Last rows of the chunks that the detector flags, for each run."""
    scores = [chunk_scores(row, record.columns) for row in record.to_numpy()]
    return [[found.last_row for found in change_points(s.per_row, s.n_rows)] for s in scores]


def _just_after(row: int, change: int) -> bool:
    """Whether the chunk that ends with a row is the first after a change."""
    return change < row <= change + _CHUNK


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
        **{
            f"K = {k}, in order over shuffled": partial(stays_high, n_components=k, since=since)
            for k, since in zip(COMPONENTS, CHANGES, strict=False)
        },
        **{
            f"K = {k}, at {n}": partial(spike_at_change, n_components=k, change=n)
            for n in CHANGES
            for k in COMPONENTS
        },
    },
    "SE-72": {"changes found": changes_found},
    "SE-73": {
        **{f"K = {k}, two orders": partial(orders_agree, n_components=k) for k in COMPONENTS},
        "5 above 3, in order": partial(gap, stream="non_stationary", low=3, high=5),
    },
    "SE-74": {
        "5 above 3, shuffled": partial(gap, stream="shuffled", low=3, high=5),
        "7 above 3, shuffled": partial(gap, stream="shuffled", low=3, high=7),
        "gap ratio": gap_ratio,
    },
    "SE-75": {
        "3 and 5": partial(orders_over_gap, pair=(3, 5)),
        "5 and 7": partial(orders_over_gap, pair=(5, 7)),
    },
}

NUMBERS = {"false alarms in 100000 rows": false_alarms}
