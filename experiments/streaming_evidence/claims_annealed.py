"""Measures the claims about annealed importance sampling of streams: SE-50 to SE-66."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import mean_over_replicates, ratio_of_means, share_of_replicates
from auxmc_pipeline.tables import MissingData, Tables
from experiments.streaming_evidence.predicted_noise import NOISES, predicted_loss, predicted_ratio
from experiments.streaming_evidence.stream_runs import (
    MODEL_CASES,
    RIVALS,
    StreamRuns,
    by_size,
    errors_of,
    final_rows,
    full_data,
    published,
    row_counts,
    slope_per_row,
    values_at,
    varied,
)
from experiments.streaming_evidence.streaming_costs import (
    LATE_ROWS,
    final_error,
    growth_of_time,
    power_of_rows,
    speed_up_measures,
)

_SIZES_SEEN = (500, 1000, 5000)
_SIZES_TIMED = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


def growth_of_annealed_time(tables: Tables) -> Measurement:
    """SE-55, growth of the time of annealed importance sampling."""
    found = by_size(tables, "linear", "annealed_seconds")
    found = found[[n for n in _SIZES_TIMED if n in found.columns]]
    n_rows = row_counts(found)
    if n_rows.size < 2:
        raise MissingData("fewer than two numbers of rows: not run at this preset")
    slope = power_of_rows(n_rows, found.median().to_numpy())
    return Measurement(slope, math.nan, f"{n_rows[0]:.0f} to {n_rows[-1]:.0f} rows")


def annealed_steps(tables: Tables, size: int) -> Measurement:
    """SE-55, annealing steps."""
    return mean_over_replicates(full_data(tables, "linear", "annealed_steps", size))


def within_rivals(tables: Tables, model: str) -> Measurement:
    """SE-58: runs within the range of the runs of nested and annealed sampling, a nat on either side added."""
    inside = []
    for size in _SIZES_SEEN:
        rivals = np.concatenate([full_data(tables, model, r.log_evidence, size) for r in RIVALS.values()])
        own = values_at(published(tables, model).curve("log_evidence"), size)
        inside += list((own >= rivals.min() - 1.0) & (own <= rivals.max() + 1.0))
    return share_of_replicates(np.array(inside), "at 500, 1000 and 5000 rows")


def better_early(tables: Tables) -> Measurement:
    """SE-58, against the sequential estimator."""
    ratios, words = [], []
    for size in (500, 1000):
        own, rival = (
            np.median(np.abs(values_at(errors_of(published(tables, "linear", name)), size)))
            for name in ("annealed", "sequential")
        )
        ratios.append(float(own / rival))
        words.append(f"{size} rows: {own:.0f} against {rival:.0f} nats")
    return Measurement(max(ratios), math.nan, "; ".join(words))


def slower_than_sequential(tables: Tables, model: str) -> Measurement:
    """SE-59."""
    own, rival = published(tables, model), published(tables, model, "sequential")
    note = f"{float(np.mean(own.totals('steps_per_chunk'))):.2f} annealing steps a chunk"
    return ratio_of_means(own.totals("seconds_total"), rival.totals("seconds_total"), note)


def time_of_all_sizes(tables: Tables, rival: str) -> Measurement:
    """SE-60: time of a rival for all numbers of rows over that for the largest."""
    means = by_size(tables, "linear", RIVALS[rival].seconds).mean()
    value = float(means.sum() / means.iloc[-1])
    return Measurement(value, math.nan, f"{len(means)} numbers of rows up to {means.index[-1]:.0f}")


def loss_of_weights(tables: Tables, variation: str) -> Measurement:
    """SE-62, mean log weight: slope over the predicted one."""
    runs = varied(tables, "floor", variation)
    lost = runs.curve("mean_log_weight") - runs.curve("exact").iloc[0]
    n_rows = final_rows(tables, "floor", 5 * LATE_ROWS)
    return _over_predicted(slope_per_row(lost, LATE_ROWS, n_rows), predicted_loss(*NOISES[variation]))


def loss_of_evidence(tables: Tables) -> Measurement:
    """SE-62, log evidence, published settings."""
    found = slope_per_row(errors_of(published(tables, "linear")), 200_000, 1_000_000)
    return _over_predicted(found, predicted_loss())


def _over_predicted(found: FloatArray, predicted: float) -> Measurement:
    return mean_over_replicates(found / predicted, f"{found.mean():.3g} a row, predicted {predicted:.3g}")


def spread_of_particles(tables: Tables, n_rows: int) -> Measurement:
    """SE-63: mean over the chunks within a fifth of a number of rows."""
    runs = published(tables, "linear")
    found, chunks = runs.curve("variance_ratio"), runs.curve("n_chunks_so_far").iloc[0].diff()
    columns = row_counts(found)
    near = found.loc[:, (columns > 0.8 * n_rows) & (columns <= 1.2 * n_rows)]
    if columns[-1] < n_rows or near.empty:
        raise MissingData(f"{n_rows} rows: not run at this preset")
    expected = np.array([predicted_ratio(n) for n in row_counts(near)])
    weights = chunks[near.columns].to_numpy()
    ratios = (near.to_numpy() / expected) @ weights / weights.sum()
    return mean_over_replicates(
        ratios, f"{ratios.mean() * predicted_ratio(n_rows):.4g} times the posterior's"
    )


def shared_rows(tables: Tables, method: str, shared: str) -> Measurement:
    """SE-64."""
    n_rows = final_rows(tables, "floor", 5 * LATE_ROWS)
    with_shared, own = (
        slope_per_row(errors_of(runs), LATE_ROWS, n_rows)
        for runs in (varied(tables, "floor", shared), published(tables, "linear", method))
    )
    note = f"{with_shared.mean():.3g} against {own.mean():.3g} a row"
    return ratio_of_means(with_shared, own, note)


def lowered_loss(tables: Tables, runs_of: Callable[[Tables], StreamRuns]) -> Measurement:
    """SE-65: slope of the error of a corrected estimator over that of the published one, both late."""
    runs = runs_of(tables)
    n_rows = final_rows(tables, runs.case, 100_000)
    first = n_rows / 5
    own, usual = (slope_per_row(errors_of(r), first, n_rows) for r in (runs, published(tables, "linear")))
    found = mean_over_replicates(own / float(usual.mean()))
    note = f"{own.mean():.3g} against {usual.mean():.3g} a row from {first:.0f} to {n_rows:.0f} rows"
    return Measurement(abs(found.value), found.error, note)


def right_signs(tables: Tables, method: str) -> Measurement:
    """SE-66."""
    signs, words = [], []
    for name in ("irrelevant", "weak"):
        exact = float(StreamRuns(tables, "pair", {"input": name}).totals("exact_factor")[0])
        found = StreamRuns(tables, "pair", {"input": name, "method": method}).totals("factor")
        signs += list(np.sign(found) == np.sign(exact))
        words.append(f"{name} input: {found.mean():.1f} nats, exactly {exact:.1f}")
    final_rows(tables, "pair", 100_000)
    return share_of_replicates(np.array(signs), "; ".join(words), exact=True)


def _lowered_by(variation: str) -> Callable[[Tables], Measurement]:
    return partial(lowered_loss, runs_of=partial(varied, case="floor", variation=variation))


_relative_error = partial(final_error, method="annealed", relative=True)

MEASURE: Measures = {
    "SE-50": {"relative": partial(_relative_error, model="linear", least=1_000_000)},
    "SE-51": speed_up_measures("linear", "annealed"),
    "SE-52": speed_up_measures("linear", "annealed", "ais"),
    "SE-53": {"relative": partial(_relative_error, model="softmax", least=100_000)},
    "SE-54": speed_up_measures("softmax", "annealed"),
    "SE-55": {
        "slope": growth_of_annealed_time,
        **{f"steps, {n} rows": partial(annealed_steps, size=n) for n in (1000, 10_000, 100_000, 1_000_000)},
    },
    "SE-56": {"relative": partial(_relative_error, model="mixture", least=30_000)},
    "SE-57": speed_up_measures("mixture", "annealed"),
    "SE-58": {
        **{f"{model}, within": partial(within_rivals, model=model) for model in MODEL_CASES},
        "linear, error over sequential error": better_early,
    },
    "SE-59": {model: partial(slower_than_sequential, model=model) for model in MODEL_CASES},
    "SE-60": {
        "nested sampling": partial(time_of_all_sizes, rival="nested"),
        "annealed importance sampling": partial(time_of_all_sizes, rival="ais"),
    },
    "SE-61": {model: partial(growth_of_time, model=model, method="annealed") for model in MODEL_CASES},
    "SE-62": {
        **{f"mean log weight, {name}": partial(loss_of_weights, variation=name) for name in NOISES},
        "log evidence, default": loss_of_evidence,
    },
    "SE-63": {f"{n} rows": partial(spread_of_particles, n_rows=n) for n in (10_000, 100_000, 1_000_000)},
    "SE-64": {
        "sequential": partial(shared_rows, method="sequential", shared="method=sequential_shared"),
        "annealed": partial(shared_rows, method="annealed", shared="method=annealed_shared"),
    },
    "SE-65": {
        "resampled": _lowered_by("method=resampled"),
        "cooled": _lowered_by("method=cooled"),
        "control_variates": _lowered_by("method=control_variates"),
        "corrected": partial(lowered_loss, runs_of=partial(published, case="linear", method="corrected")),
    },
    "SE-66": {
        "published settings": partial(right_signs, method="annealed"),
        "corrected": partial(right_signs, method="corrected"),
    },
}
