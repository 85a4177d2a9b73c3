"""Measures the claims about settings: SE-80 to SE-94, all on the mixture unless said otherwise."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures, exact
from auxmc_pipeline.error_rules import (
    difference,
    jackknife,
    largest,
    mean_over_replicates,
    rank_correlation,
    ratio_of_means,
)
from auxmc_pipeline.tables import MissingData, Tables
from experiments.streaming_evidence.stream_runs import (
    StreamRuns,
    between,
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
from experiments.streaming_evidence.streaming_costs import ALL_ROWS, full_cost, power_of_rows
from experiments.streaming_evidence.sweeps import SWEEPS, sweep, variations_run

_CASE = "sensitivity"
_FAST = "learning_rate=1 rate_times_moves=2"
_EXACT_RATE = "learning_rate=1 method=control_variates"
_EARLY_ROWS = 50_000
_SMALL_ROWS = 5000
_BEND = 100_000


def final_distance(runs: StreamRuns) -> FloatArray:
    """Absolute error after all rows [repeat]."""
    return np.abs(values_at(errors_of(runs), runs.end))


def mean_steps(runs: StreamRuns) -> FloatArray:
    """Annealing steps of a chunk, mean over all chunks [repeat]."""
    steps, chunks = runs.curve("n_steps_so_far"), runs.curve("n_chunks_so_far").iloc[0]
    return values_at(steps / chunks, runs.end)


def final_seconds(runs: StreamRuns) -> FloatArray:
    """Time of all rows [repeat]."""
    return values_at(runs.curve("seconds"), runs.end)


def final_operations(runs: StreamRuns) -> FloatArray:
    """Likelihoods and gradients of rows for all rows [repeat]."""
    return values_at(runs.curve("operations"), runs.end)


Read = Callable[[StreamRuns], FloatArray]
"""One of the four above."""


def error_trend(tables: Tables, name: str) -> Measurement:
    """Rank correlation of what is swept with the median absolute error at the end."""
    found = _over_sweep(tables, name, final_distance)
    words = ", ".join(f"{number:g}: {np.median(values):.0f}" for number, values in found.items())
    n_rows = final_rows(tables, _CASE)
    return rank_correlation(found, f"nats at {n_rows:.0f} rows: {words}")


def cost_trend(tables: Tables, name: str, read: Read, unit: str, digits: str) -> Measurement:
    """Rank correlation of what is swept with annealing steps, time or operations."""
    found = _over_sweep(tables, name, read)
    words = ", ".join(f"{number:g}: {values.mean():{digits}}" for number, values in found.items())
    return rank_correlation(found, f"{unit}: {words}")


def growth_with_particles(tables: Tables, read: Read) -> Measurement:
    """SE-80, growth of time or operations."""
    found = _over_sweep(tables, "particles", read)
    numbers = np.array(list(found))
    slopes = [power_of_rows(numbers, costs) for costs in _by_run(found)]
    return mean_over_replicates(slopes, f"{numbers.size} numbers of particles")


def steps_of_particles(tables: Tables) -> Measurement:
    """SE-80, annealing steps."""
    steps = _by_run(_over_sweep(tables, "particles", mean_steps))

    def most_over_fewest(kept: np.ndarray) -> float:
        means = steps[kept].mean(axis=0)
        return float(means.max() / means.min())

    return jackknife(most_over_fewest, len(steps), ", ".join(f"{v:.2f}" for v in steps.mean(axis=0)))


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
    note = "largest number of steps in any chunk; no weights have an effective size below one"
    return exact(float(steps.to_numpy().max()), note)


def spread_without_annealing(tables: Tables) -> Measurement:
    """SE-84, standard deviation over runs at 500 rows, over that with annealing."""
    own, usual = (
        values_at(varied(tables, _CASE, name).curve("log_evidence"), 500)
        for name in ("target_share=0.1", "default")
    )
    note = f"{np.std(own, ddof=1):.0f} against {np.std(usual, ddof=1):.0f} nats, {own.size} runs"
    # Runs are few, so that their fourth moment would say little: leaving them out says more.
    return jackknife(lambda kept: float(np.std(own[kept]) / np.std(usual[kept])), own.size, note)


def early_steps(tables: Tables, free: int = 0) -> Measurement:
    """SE-85: fraction of the annealing steps in the first tenth of the rows.

    Args:
        tables: of the study.
        free: steps of each chunk that do not count.
    """
    runs = published(tables, "mixture")
    steps, chunks = runs.curve("n_steps_so_far"), runs.curve("n_chunks_so_far").iloc[0]
    counted = between((steps - free * chunks).dropna(axis=1), 0.0, _EARLY_ROWS)
    # Of long streams not every chunk is recorded.
    columns = row_counts(counted)
    last = columns[-1]
    first = columns[int(np.argmin(np.abs(columns - 0.1 * last)))]
    note = f"of the first {last:.0f} rows; {float(steps.iloc[:, 0].mean()):.0f} in the first chunk"
    return mean_over_replicates((counted[first] / counted[last]).to_numpy(), note)


def worst_target(tables: Tables) -> Measurement:
    """SE-86: the largest of the mean errors with targets above one particle, relative to the log evidence."""
    n_rows = final_rows(tables, _CASE)
    unit = abs(reference_at(tables, "mixture", n_rows))
    found = {
        f"target {number:g}": mean_over_replicates(values / unit)
        for number, values in _over_sweep(tables, "target", final_distance).items()
        if number > 1
    }
    return _largest_of(found, f"{{}}, at {n_rows:.0f} rows")


def small_target(tables: Tables) -> Measurement:
    """SE-86: log evidence with a target of two particles minus that of annealed importance sampling of all rows."""
    own = values_at(varied(tables, _CASE, "target_share=0.2").curve("log_evidence"), _SMALL_ROWS)
    rival = full_data(tables, "mixture", "annealed_log_evidence", _SMALL_ROWS)
    return difference(mean_over_replicates(own), mean_over_replicates(rival), f"nats at {_SMALL_ROWS} rows")


def bend_of_steps(tables: Tables) -> Measurement:
    """SE-88."""
    runs = varied(tables, _CASE, "learning_rate=0.01")
    steps, chunks = runs.curve("n_steps_so_far"), runs.curve("n_chunks_so_far").iloc[0]
    last = float(row_counts(steps)[-1])
    if last <= _BEND:
        raise MissingData(f"more than {_BEND} rows: not run at this preset")
    first, end = values_at(steps, _BEND), values_at(steps, last)
    after = (end - first) / float(chunks[last] - chunks[_BEND])
    return ratio_of_means(after, first / float(chunks[_BEND]))


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
    """Late loss for each row at rate 1 over that at rate 0.1, both with noise."""
    n_rows = final_rows(tables, "floor")
    own, usual = (
        slope_per_row(errors_of(varied(tables, "floor", name)), n_rows / 5, n_rows)
        for name in ("learning_rate=1", "default")
    )
    return ratio_of_means(own, usual, "10 from the noise times 1.35 from the discretisation are predicted")


def relative_error(tables: Tables) -> Measurement:
    """SE-92."""
    n_rows = final_rows(tables, _CASE)
    runs = varied(tables, _CASE, _FAST)
    found = final_distance(runs) / abs(reference_at(tables, runs.model, n_rows))
    return mean_over_replicates(found, f"at {n_rows:.0f} rows")


def gain_over_nested(tables: Tables, cost: str, read: Read) -> Measurement:
    """SE-93, against nested sampling."""
    full = full_cost(tables, "mixture", "nested", ALL_ROWS, cost)
    return ratio_of_means(full, read(varied(tables, _CASE, _FAST)))


def gain_over_usual_rate(tables: Tables, n_rows: int, cost: str) -> Measurement:
    """SE-93, against a rate of 0.1 with as much motion, for a number of rows."""
    usual, own = (values_at(varied(tables, _CASE, name).curve(cost), n_rows) for name in ("default", _FAST))
    return ratio_of_means(usual, own, f"{usual.mean():.3g} against {own.mean():.3g}")


def spread_of_settings(tables: Tables) -> Measurement:
    """SE-94: largest minus smallest mean log evidence, over all settings but the one without annealing."""
    n_rows = final_rows(tables, _CASE)
    swept = {variation for by_value in SWEEPS.values() for variation in by_value.values()} - {
        "target_share=0.1"
    }
    names = [name for name in (*variations_run(tables), "default") if name in swept]
    finals = _by_run(
        {name: values_at(varied(tables, _CASE, name).curve("log_evidence"), n_rows) for name in names}
    )

    def spread(kept: np.ndarray) -> float:
        means = finals[kept].mean(axis=0)
        return float(np.ptp(means) / abs(means.max()))

    return jackknife(spread, len(finals), f"{len(names)} settings at {n_rows:.0f} rows")


def _over_sweep(tables: Tables, name: str, read: Read) -> dict[float, FloatArray]:
    return {number: read(runs) for number, runs in sweep(tables, name).items()}


def _by_run(found: Mapping[float, FloatArray] | Mapping[str, FloatArray]) -> FloatArray:
    """Values [repeat, what is varied]: runs of one number share their random numbers, so they stay together."""
    return np.stack(list(found.values()), axis=1)


def _largest_of(found: Mapping[str, Measurement], note: str) -> Measurement:
    worst = largest([m.value for m in found.values()], [m.error for m in found.values()], list(found))
    return worst._replace(note=note.format(worst.note))


_steps_trend = partial(cost_trend, read=mean_steps, unit="steps a chunk", digits=".2f")
_exchange_trend = partial(cost_trend, name="exchange", digits=".3g")
_READ: dict[str, Read] = {
    "error": final_distance,
    "steps": mean_steps,
    "time": final_seconds,
    "operations": final_operations,
}

MEASURE: Measures = {
    "SE-80": {
        "error": partial(error_trend, name="particles"),
        "growth of time": partial(growth_with_particles, read=final_seconds),
        "growth of operations": partial(growth_with_particles, read=final_operations),
        "steps, most over fewest": steps_of_particles,
    },
    "SE-81": {n: partial(compared, read=r, above="n_moves=2", below="default") for n, r in _READ.items()},
    "SE-82": {"steps": partial(_steps_trend, name="batch"), "error": partial(error_trend, name="batch")},
    "SE-83": {"steps": partial(_steps_trend, name="target")},
    "SE-84": {
        "steps": one_step,
        "spread at 500 rows": spread_without_annealing,
    },
    "SE-85": {
        "first tenth": early_steps,
        "first tenth, steps beyond one": partial(early_steps, free=1),
    },
    "SE-86": {"relative error": worst_target, "target of 2 against AIS": small_target},
    "SE-87": {
        n: partial(compared, read=r, above="learning_rate=0.01", below="default") for n, r in _READ.items()
    },
    "SE-88": {"steps after over before": bend_of_steps},
    "SE-89": {
        "time": partial(_exchange_trend, read=final_seconds, unit="seconds"),
        "operations": partial(_exchange_trend, read=final_operations, unit="operations"),
        "error": partial(error_trend, name="exchange"),
    },
    "SE-90": {"mixture, part without noise": partial(without_noise, case=_CASE)},
    "SE-91": {"mixture": partial(compared, read=mean_steps, above=_FAST, below="default")},
    "SE-92": {"mixture, 2 moves": relative_error},
    "SE-93": {
        "over nested sampling, time": partial(gain_over_nested, cost="seconds", read=final_seconds),
        "over nested sampling, operations": partial(
            gain_over_nested, cost="operations", read=final_operations
        ),
        "over rate 0.1, time": partial(gain_over_usual_rate, n_rows=ALL_ROWS, cost="seconds"),
        "over rate 0.1, operations": partial(gain_over_usual_rate, n_rows=ALL_ROWS, cost="operations"),
    },
    "SE-94": {"spread": spread_of_settings},
}

NUMBERS: dict[str, Callable[[Tables], Measurement]] = {
    "linear, part of the error without noise": partial(without_noise, case="floor"),
    "linear, growth of the loss with the rate": noise_growth,
    "operations over rate 0.1, 1e5 rows": partial(gain_over_usual_rate, n_rows=100_000, cost="operations"),
}
