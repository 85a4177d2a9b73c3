"""Measures the claims about settings: SE-80 to SE-94, all on the mixture unless said otherwise."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import rank_correlation, ratio_of_means
from auxmc_pipeline.tables import MissingData, Tables
from experiments.streaming_evidence.stream_runs import (
    StreamRuns,
    between,
    enough_rows,
    errors_of,
    final_rows,
    full_data,
    published,
    reference_at,
    row_counts,
    slope_per_row,
    steps_of_chunks,
    values_at,
    varied,
)
from experiments.streaming_evidence.streaming_costs import power_of_rows
from experiments.streaming_evidence.sweeps import SWEEPS, sweep, variations_run

_CASE = "sensitivity"
_FAST = "learning_rate=1 rate_times_moves=2"
_EXACT_RATE = "learning_rate=1 method=control_variates"


def final_distance(runs: StreamRuns) -> FloatArray:
    """Absolute error after all rows [repeat]."""
    return np.abs(values_at(errors_of(runs), runs.end))


def mean_steps(runs: StreamRuns) -> FloatArray:
    """Annealing steps of a chunk, mean over all chunks [repeat]."""
    steps, chunks = runs.curve("n_steps_so_far"), runs.curve("n_chunks_so_far").iloc[0]
    last = steps.columns[-1]
    return (steps[last] / chunks[last]).to_numpy(dtype=np.float64)


def final_seconds(runs: StreamRuns) -> FloatArray:
    """Time of all rows [repeat]."""
    return values_at(runs.curve("seconds"), runs.end)


Read = Callable[[StreamRuns], FloatArray]
"""One of the three above."""


def error_trend(tables: Tables, name: str, least_rows: int = 0) -> Measurement:
    """Rank correlation of what is swept with the median absolute error at the end."""
    found = _over_sweep(tables, name, final_distance)
    words = ", ".join(f"{number:g}: {np.median(values):.0f}" for number, values in found.items())
    n_rows = final_rows(tables, _CASE)
    if n_rows < least_rows:
        raise MissingData(f"needs {least_rows} rows; nats at {n_rows:.0f} rows: {words}")
    return rank_correlation(found, f"nats at {n_rows:.0f} rows: {words}")


def cost_trend(tables: Tables, name: str, read: Read, unit: str, digits: str) -> Measurement:
    """Rank correlation of what is swept with annealing steps or time."""
    found = _over_sweep(tables, name, read)
    words = ", ".join(f"{number:g}: {values.mean():{digits}}" for number, values in found.items())
    return rank_correlation(found, f"{unit}: {words}")


def time_of_particles(tables: Tables) -> Measurement:
    """SE-80, growth of time."""
    found = _over_sweep(tables, "particles", final_seconds)
    seconds = np.array([float(np.median(values)) for values in found.values()])
    return Measurement(
        power_of_rows(np.array(list(found)), seconds), math.nan, f"{len(found)} numbers of particles"
    )


def steps_of_particles(tables: Tables) -> Measurement:
    """SE-80, annealing steps."""
    found = [float(values.mean()) for values in _over_sweep(tables, "particles", mean_steps).values()]
    return Measurement(max(found) / min(found), math.nan, ", ".join(f"{v:.2f}" for v in found))


def compared(tables: Tables, read: Read, above: str, below: str) -> Measurement:
    """Ratio of errors, steps or seconds of two variations at the end."""
    first, second = (read(varied(tables, _CASE, name)) for name in (above, below))
    n_rows = final_rows(tables, _CASE)
    return ratio_of_means(
        first, second, f"at {n_rows:.0f} rows: {first.mean():.3g} against {second.mean():.3g}"
    )


def one_step(tables: Tables) -> Measurement:
    """SE-84, no annealing."""
    steps = steps_of_chunks(varied(tables, _CASE, "target_share=0.1"))
    return Measurement(float(steps.to_numpy().max()), 0.0, "largest number of steps in any chunk")


def error_without_annealing(tables: Tables) -> Measurement:
    """SE-84, errors at 500 rows; nested sampling, some nats off, stands for the truth."""
    truth = float(np.median(full_data(tables, "mixture", "nested_log_evidence", 500)))
    own, usual = (
        np.abs(values_at(varied(tables, _CASE, name).curve("log_evidence"), 500) - truth)
        for name in ("target_share=0.1", "default")
    )
    note = f"{own.mean():.0f} against {usual.mean():.0f} nats"
    if own.size < 2:
        return Measurement(float(own.mean() / usual.mean()), math.nan, note)
    return ratio_of_means(own, usual, note)


def early_steps(tables: Tables) -> Measurement:
    """SE-85: share of the annealing steps in the first tenth of the rows."""
    steps = published(tables, "mixture").curve("n_steps_so_far")
    n_rows = enough_rows(min(50_000.0, float(row_counts(steps)[-1])), 10_000)
    columns = row_counts(between(steps, 0.0, n_rows))
    last = columns[-1]
    first = columns[int(np.argmin(np.abs(columns - 0.1 * last)))]
    shares = (steps[first] / steps[last]).to_numpy()
    chunk = float(steps.iloc[:, 0].mean())
    note = f"of the first {last:.0f} rows; {chunk:.0f} in the first chunk"
    return Measurement(float(shares.mean()), float(np.std(shares)), note)


def worst_target(tables: Tables) -> Measurement:
    """SE-86."""
    n_rows = final_rows(tables, _CASE)
    found = [values for number, values in _over_sweep(tables, "target", final_distance).items() if number > 1]
    worst = max(float(np.max(values)) for values in found) / abs(reference_at(tables, "mixture", n_rows))
    return Measurement(worst, 0.0, f"largest of all runs at {n_rows:.0f} rows")


def bend_of_steps(tables: Tables) -> Measurement:
    """SE-88."""
    runs = varied(tables, _CASE, "learning_rate=0.01")
    steps, chunks = runs.curve("n_steps_so_far"), runs.curve("n_chunks_so_far").iloc[0]
    last = enough_rows(float(row_counts(steps)[-1]), 200_000)
    first, end = values_at(steps, 100_000), values_at(steps, last)
    after = (end - first) / float(chunks[last] - chunks[100_000])
    return ratio_of_means(after, first / float(chunks[100_000]))


def without_noise(tables: Tables, case: str) -> Measurement:
    """SE-90: loss at rate 1 without gradient noise, over the loss with it."""
    exact, noisy, usual = (
        final_distance(varied(tables, case, name)) for name in (_EXACT_RATE, "learning_rate=1", "default")
    )
    note = (
        f"at {final_rows(tables, case):.0f} rows: {exact.mean():.0f} without and {noisy.mean():.0f} nats with gradient "
        f"noise; {usual.mean():.0f} with rate 0.1 and noise"
    )
    return ratio_of_means(exact, noisy, note)


def noise_growth(tables: Tables) -> Measurement:
    """SE-90: late loss for each row at rate 1 over that at rate 0.1, both with noise."""
    n_rows = final_rows(tables, "floor", 100_000)
    own, usual = (
        slope_per_row(errors_of(varied(tables, "floor", name)), n_rows / 5, n_rows)
        for name in ("learning_rate=1", "default")
    )
    return ratio_of_means(own, usual, "10 from the noise times 1.35 from the discretisation are predicted")


def linear_steps(tables: Tables) -> Measurement:
    """SE-91, linear regression."""
    own, usual = (
        mean_steps(varied(tables, "floor", name)) for name in ("learning_rate=1 n_moves=2", "default")
    )
    return ratio_of_means(own, usual, f"{own.mean():.2f} against {usual.mean():.2f} steps a chunk")


def relative_error(tables: Tables, case: str, variation: str) -> Measurement:
    """SE-92."""
    n_rows = final_rows(tables, case)
    runs = varied(tables, case, variation)
    found = final_distance(runs) / abs(reference_at(tables, runs.model, n_rows))
    return Measurement(float(found.max()), 0.0, f"largest of {found.size} runs at {n_rows:.0f} rows")


def speed_up_over_nested(tables: Tables) -> Measurement:
    """SE-93, against nested sampling."""
    n_rows = final_rows(tables, _CASE)
    own = final_seconds(varied(tables, _CASE, _FAST))
    full = full_data(tables, "mixture", "nested_seconds", n_rows)
    return ratio_of_means(full, own, f"at {n_rows:.0f} rows")


def spread_of_settings(tables: Tables) -> Measurement:
    """SE-94."""
    n_rows = final_rows(tables, _CASE)
    swept = {variation for by_value in SWEEPS.values() for variation in by_value.values()} - {
        "target_share=0.1"
    }
    names = [name for name in (*variations_run(tables), "default") if name in swept]
    finals = [values_at(varied(tables, _CASE, name).curve("log_evidence"), n_rows) for name in names]
    medians = [float(np.median(values)) for values in finals]
    spread = (max(medians) - min(medians)) / abs(max(medians))
    return Measurement(spread, 0.0, f"{len(names)} settings at {n_rows:.0f} rows")


def _over_sweep(tables: Tables, name: str, read: Read) -> dict[float, FloatArray]:
    return {number: read(runs) for number, runs in sweep(tables, name).items()}


_steps_trend = partial(cost_trend, read=mean_steps, unit="steps a chunk", digits=".2f")
_time_trend = partial(cost_trend, read=final_seconds, unit="seconds", digits=".3g")
_READ: dict[str, Read] = {"error": final_distance, "steps": mean_steps, "time": final_seconds}

MEASURE: Measures = {
    "SE-80": {
        "error": partial(error_trend, name="particles"),
        "growth of time": time_of_particles,
        "steps, most over fewest": steps_of_particles,
    },
    "SE-81": {n: partial(compared, read=r, above="n_moves=2", below="default") for n, r in _READ.items()},
    "SE-82": {"steps": partial(_steps_trend, name="batch"), "error": partial(error_trend, name="batch")},
    "SE-83": {"steps": partial(_steps_trend, name="target")},
    "SE-84": {"steps": one_step, "error at 500 rows": error_without_annealing},
    "SE-85": {"first tenth": early_steps},
    "SE-86": {"relative error": worst_target},
    "SE-87": {
        n: partial(compared, read=r, above="learning_rate=0.01", below="default") for n, r in _READ.items()
    },
    "SE-88": {"steps after over before": bend_of_steps},
    "SE-89": {
        "time": partial(_time_trend, name="exchange"),
        "error": partial(error_trend, name="exchange", least_rows=1_000_000),
    },
    "SE-90": {
        "linear, part without noise": partial(without_noise, case="floor"),
        "mixture, part without noise": partial(without_noise, case=_CASE),
        "linear, growth of the loss": noise_growth,
    },
    "SE-91": {
        "mixture": partial(compared, read=mean_steps, above=_FAST, below="default"),
        "linear": linear_steps,
    },
    "SE-92": {
        "linear, 20 moves": partial(relative_error, case="floor", variation="learning_rate=1"),
        "linear, 2 moves": partial(relative_error, case="floor", variation="learning_rate=1 n_moves=2"),
        "mixture, 2 moves": partial(relative_error, case=_CASE, variation=_FAST),
    },
    "SE-93": {
        "over nested sampling": speed_up_over_nested,
        "over rate 0.1": partial(compared, read=final_seconds, above="default", below=_FAST),
    },
    "SE-94": {"spread": spread_of_settings},
}
