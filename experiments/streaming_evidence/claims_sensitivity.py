"""Measures the claims about settings: SE-80 to SE-94, all on the mixture unless said otherwise."""

import math

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, rank_correlation
from auxmc_pipeline.lookup import MissingData
from experiments.streaming_evidence.claims_evidence import ratio_of_means, time_slope
from experiments.streaming_evidence.lookup import (
    Measure,
    Series,
    Tables,
    annealing_steps,
    at,
    between,
    curve,
    default,
    errors,
    final_rows,
    full_data,
    main,
    measures,
    reference_at,
    row_counts,
    slope,
    varied,
)

_CASE = "sensitivity"

SWEEPS: dict[str, dict[float, str]] = {
    "particles": {5: "n_particles=5", 10: "default", 20: "n_particles=20", 50: "n_particles=50",
                  100: "n_particles=100"},
    "moves": {2: "n_moves=2", 5: "n_moves=5", 10: "n_moves=10", 20: "default", 50: "n_moves=50"},
    "batch": {100: "batch_size=100", 200: "batch_size=200", 500: "default", 1000: "batch_size=1000",
              2000: "batch_size=2000"},
    "target": {1: "target_share=0.1", 2: "target_share=0.2", 3: "target_share=0.3", 5: "default",
               7: "target_share=0.7", 9: "target_share=0.9"},
    "rate": {0.01: "learning_rate=0.01", 0.03: "learning_rate=0.03", 0.1: "default", 0.3: "learning_rate=0.3",
             1.0: "learning_rate=1"},
    "exchange": {0.01: "learning_rate=0.01 rate_times_moves=2", 0.05: "learning_rate=0.05 rate_times_moves=2",
                 0.1: "default", 0.3: "learning_rate=0.3 rate_times_moves=2",
                 0.5: "learning_rate=0.5 rate_times_moves=2", 1.0: "learning_rate=1 rate_times_moves=2"},
}  # fmt: skip
"""Variations of the sensitivity case by the value of what is swept; a preset may leave some out."""

_EXACT_RATE = "learning_rate=1 method=control_variates"


def sweep(tables: Tables, name: str) -> dict[float, Series]:
    """Runs of a sweep that the preset has, by the value of what is swept.

    Raises:
        MissingData: fewer than three values were run.
    """
    there = set(_variations(tables))
    found = {}
    for number, variation in SWEEPS[name].items():
        if variation == "default":
            found[number] = default(tables, _CASE)
        elif variation in there:
            found[number] = varied(_CASE, variation)
    if len(found) < 3:
        raise MissingData(f"the sweep over {name}: not run at this preset")
    return found


def error_trend(name: str, least_rows: int = 0) -> Measure:
    """Rank correlation of what is swept with the median absolute error at the end."""

    def measure(tables: Tables) -> Measurement:
        n_rows = final_rows(tables, _CASE)
        found = {number: _errors(tables, series) for number, series in sweep(tables, name).items()}
        words = ", ".join(f"{number:g}: {np.median(np.abs(values)):.0f}" for number, values in found.items())
        if n_rows < least_rows:
            raise MissingData(f"needs {least_rows} rows; nats at {n_rows:.0f} rows: {words}")
        sizes = {number: np.abs(values) for number, values in found.items()}
        return rank_correlation(sizes, f"nats at {n_rows:.0f} rows: {words}")

    return measure


def steps_trend(name: str) -> Measure:
    """Rank correlation of what is swept with the annealing steps of a chunk."""

    def measure(tables: Tables) -> Measurement:
        found = {number: _steps(tables, series) for number, series in sweep(tables, name).items()}
        words = ", ".join(f"{number:g}: {values.mean():.2f}" for number, values in found.items())
        return rank_correlation(found, f"steps a chunk: {words}")

    return measure


def time_trend(name: str) -> Measure:
    """Rank correlation of what is swept with the run time."""

    def measure(tables: Tables) -> Measurement:
        found = {number: _seconds(tables, series) for number, series in sweep(tables, name).items()}
        words = ", ".join(f"{number:g}: {values.mean():.3g}" for number, values in found.items())
        return rank_correlation(found, f"seconds: {words}")

    return measure


def time_of_particles(tables: Tables) -> Measurement:
    """SE-80, growth of time."""
    found = {number: _seconds(tables, series) for number, series in sweep(tables, "particles").items()}
    seconds = np.array([float(np.median(values)) for values in found.values()])
    return Measurement(
        time_slope(seconds, np.array(list(found))), math.nan, f"{len(found)} numbers of particles"
    )


def steps_of_particles(tables: Tables) -> Measurement:
    """SE-80, annealing steps."""
    found = [float(_steps(tables, s).mean()) for s in sweep(tables, "particles").values()]
    return Measurement(max(found) / min(found), math.nan, ", ".join(f"{v:.2f}" for v in found))


def compared(quantity: str, above: str, below: str) -> Measure:
    """Ratio of errors, steps or seconds of two variations at the end."""

    def measure(tables: Tables) -> Measurement:
        first, second = (_series(tables, name) for name in (above, below))
        n_rows = f"at {final_rows(tables, _CASE):.0f} rows"
        if quantity == "error":
            above_values, below_values = (np.abs(_errors(tables, s)) for s in (first, second))
        else:
            read = _steps if quantity == "steps" else _seconds
            above_values, below_values = (read(tables, s) for s in (first, second))
        note = f"{n_rows}: {above_values.mean():.3g} against {below_values.mean():.3g}"
        return ratio_of_means(above_values, below_values, note)

    return measure


def one_step(tables: Tables) -> Measurement:
    """SE-84, no annealing."""
    steps = annealing_steps(tables, varied(_CASE, "target_share=0.1"))
    return Measurement(float(steps.to_numpy().max()), 0.0, "largest number of steps in any chunk")


def early_error(tables: Tables) -> Measurement:
    """SE-84, errors at 500 rows; nested sampling, some nats off, stands for the truth."""
    truth = float(np.median(full_data(tables, "mixture", "nested_log_evidence", 500)))
    own, usual = (
        np.abs(at(curve(tables, series, "log_evidence"), 500) - truth)
        for series in (varied(_CASE, "target_share=0.1"), default(tables, _CASE))
    )
    note = f"{own.mean():.0f} against {usual.mean():.0f} nats"
    if own.size < 2:
        return Measurement(float(own.mean() / usual.mean()), math.nan, note)
    return ratio_of_means(own, usual, note)


def early_steps(tables: Tables) -> Measurement:
    """SE-85: share of the annealing steps in the first tenth of the rows."""
    series = main("mixture")
    steps = curve(tables, series, "n_steps_so_far")
    n_rows = min(50_000.0, float(row_counts(steps)[-1]))
    if n_rows < 10_000:
        raise MissingData(f"needs 10000 rows, this preset has {n_rows:.0f}")
    columns = row_counts(between(steps, 0.0, n_rows))
    last = columns[-1]
    first = columns[int(np.argmin(np.abs(columns - 0.1 * last)))]
    shares = (steps[first] / steps[last]).to_numpy()
    chunk = float(steps.iloc[:, 0].mean())
    return Measurement(
        float(shares.mean()),
        float(np.std(shares)),
        f"of the first {last:.0f} rows; {chunk:.0f} in the first chunk",
    )


def worst_target(tables: Tables) -> Measurement:
    """SE-86."""
    n_rows = final_rows(tables, _CASE)
    found = {number: _errors(tables, s) for number, s in sweep(tables, "target").items() if number > 1}
    unit = abs(reference_at(tables, "mixture", n_rows))
    worst = max(float(np.max(np.abs(values))) for values in found.values()) / unit
    return Measurement(worst, 0.0, f"largest of all runs at {n_rows:.0f} rows")


def bend(tables: Tables) -> Measurement:
    """SE-88."""
    series = varied(_CASE, "learning_rate=0.01")
    steps = curve(tables, series, "n_steps_so_far")
    chunks = curve(tables, series, "n_chunks_so_far").iloc[0]
    last = float(row_counts(steps)[-1])
    if last < 200_000:
        raise MissingData(f"needs 200000 rows, this preset has {last:.0f}")
    first, end = at(steps, 100_000), at(steps, last)
    before = first / float(chunks[100_000])
    after = (end - first) / float(chunks[last] - chunks[100_000])
    return ratio_of_means(after, before)


def without_noise(case: str) -> Measure:
    """SE-90: loss at rate 1 without gradient noise, over the loss with it."""

    def measure(tables: Tables) -> Measurement:
        exact, noisy = (varied(case, name) for name in (_EXACT_RATE, "learning_rate=1"))
        n_rows = final_rows(tables, case)
        found = [np.abs(at(errors(tables, s), n_rows)) for s in (exact, noisy)]
        usual = np.abs(at(errors(tables, default(tables, case)), n_rows))
        note = (
            f"at {n_rows:.0f} rows: {found[0].mean():.0f} without and {found[1].mean():.0f} nats with gradient noise; "
            f"{usual.mean():.0f} with rate 0.1 and noise"
        )
        return ratio_of_means(found[0], found[1], note)

    return measure


def noise_growth(tables: Tables) -> Measurement:
    """SE-90: late loss for each row at rate 1 over that at rate 0.1, both with noise."""
    n_rows = final_rows(tables, "floor")
    if n_rows < 100_000:
        raise MissingData(f"needs 100000 rows, this preset has {n_rows:.0f}")
    own, usual = (
        slope(errors(tables, s), n_rows / 5, n_rows)
        for s in (varied("floor", "learning_rate=1"), default(tables, "floor"))
    )
    return ratio_of_means(own, usual, "10 from the noise times 1.35 from the discretisation are predicted")


def linear_steps(tables: Tables) -> Measurement:
    """SE-91, linear regression."""
    own = _steps(tables, varied("floor", "learning_rate=1 n_moves=2"))
    usual = annealing_steps_at_end(tables, default(tables, "floor"))
    return ratio_of_means(own, usual, f"{own.mean():.2f} against {usual.mean():.2f} steps a chunk")


def relative_error(case: str, variation: str) -> Measure:
    """SE-92."""

    def measure(tables: Tables) -> Measurement:
        n_rows = final_rows(tables, case)
        series = varied(case, variation)
        unit = abs(reference_at(tables, series.model, n_rows))
        found = np.abs(at(errors(tables, series), n_rows)) / unit
        return Measurement(float(found.max()), 0.0, f"largest of {found.size} runs at {n_rows:.0f} rows")

    return measure


def speed_up_over_nested(tables: Tables) -> Measurement:
    """SE-93, against nested sampling."""
    n_rows = final_rows(tables, _CASE)
    own = _seconds(tables, varied(_CASE, "learning_rate=1 rate_times_moves=2"))
    full = full_data(tables, "mixture", "nested_seconds", n_rows)
    return ratio_of_means(full, own, f"at {n_rows:.0f} rows")


def spread_of_all(tables: Tables) -> Measurement:
    """SE-94."""
    n_rows = final_rows(tables, _CASE)
    names = {v for s in SWEEPS.values() for v in s.values()} - {"default", "target_share=0.1"}
    series = [varied(_CASE, v) for v in _variations(tables) if v in names] + [default(tables, _CASE)]
    means = [float(np.median(at(curve(tables, s, "log_evidence"), n_rows))) for s in series]
    return Measurement(
        (max(means) - min(means)) / abs(max(means)), 0.0, f"{len(series)} settings at {n_rows:.0f} rows"
    )


def annealing_steps_at_end(tables: Tables, series: Series) -> FloatArray:
    """Annealing steps of a chunk, mean over all chunks [repeat]."""
    steps = curve(tables, series, "n_steps_so_far")
    chunks = curve(tables, series, "n_chunks_so_far").iloc[0]
    last = steps.columns[-1]
    return (steps[last] / chunks[last]).to_numpy(dtype=np.float64)


_steps = annealing_steps_at_end


def _variations(tables: Tables) -> list[str]:
    found: pd.DataFrame = tables.summary
    if "variation" not in found:
        return []
    return [str(v) for v in found.loc[found["case"] == _CASE, "variation"].dropna().unique()]


def _series(tables: Tables, variation: str) -> Series:
    return default(tables, _CASE) if variation == "default" else varied(_CASE, variation)


def _errors(tables: Tables, series: Series) -> FloatArray:
    return at(errors(tables, series), final_rows(tables, _CASE))


def _seconds(tables: Tables, series: Series) -> FloatArray:
    return at(curve(tables, series, "seconds"), final_rows(tables, _CASE))


_FAST = "learning_rate=1 rate_times_moves=2"

MEASURE = {
    "SE-80": measures(
        {
            "error": error_trend("particles"),
            "growth of time": time_of_particles,
            "steps, most over fewest": steps_of_particles,
        }
    ),
    "SE-81": measures({name: compared(name, "n_moves=2", "default") for name in ("error", "steps", "time")}),
    "SE-82": measures({"steps": steps_trend("batch"), "error": error_trend("batch")}),
    "SE-83": measures({"steps": steps_trend("target")}),
    "SE-84": measures({"steps": one_step, "error at 500 rows": early_error}),
    "SE-85": measures({"first tenth": early_steps}),
    "SE-86": measures({"relative error": worst_target}),
    "SE-87": measures(
        {name: compared(name, "learning_rate=0.01", "default") for name in ("error", "steps", "time")}
    ),
    "SE-88": measures({"steps after over before": bend}),
    "SE-89": measures({"time": time_trend("exchange"), "error": error_trend("exchange", 1_000_000)}),
    "SE-90": measures(
        {
            "linear, part without noise": without_noise("floor"),
            "mixture, part without noise": without_noise(_CASE),
            "linear, growth of the loss": noise_growth,
        }
    ),
    "SE-91": measures({"mixture": compared("steps", _FAST, "default"), "linear": linear_steps}),
    "SE-92": measures(
        {
            "linear, 20 moves": relative_error("floor", "learning_rate=1"),
            "linear, 2 moves": relative_error("floor", "learning_rate=1 n_moves=2"),
            "mixture, 2 moves": relative_error(_CASE, _FAST),
        }
    ),
    "SE-93": measures(
        {"over nested sampling": speed_up_over_nested, "over rate 0.1": compared("time", "default", _FAST)}
    ),
    "SE-94": measures({"spread": spread_of_all}),
}
