"""Measures the claims about a stream that changes, SE-70 to SE-75, and about settings, SE-80 to SE-94."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from auxmc.diagnostics.stream_changes import change_points, chunk_scores
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import Measurement, estimate, largest_of, mean, proportion, proportion_of, rate
from auxmc_pipeline.tables import Measure, MissingData, Tables, first_run
from experiments.streaming_evidence.claims_evidence import ALL_ROWS, COSTS, gain, magnitude, power, ratio
from experiments.streaming_evidence.stream_runs import (
    CHANGES,
    COMPONENTS,
    MORE_REPEATS,
    RIVALS,
    SWEEPS,
    StreamRuns,
    between,
    by_size,
    case_with,
    early,
    errors_of,
    estimates,
    final_rows,
    following,
    following_redrawn,
    most_rows_of_ais,
    published,
    reference_at,
    row_counts,
    slope_per_row,
    steps_of_chunks,
    sweep,
    thermostat_errors,
    values_at,
    variations_run,
    varied,
)

_CHUNKS_BEFORE = 4
_CUSP = 0.2  # four standard deviations of a chunk's score, in nats a row
_CHANGING_ROWS = 100_000
_PRECISELY = 0.0036  # a thousandth of the log evidence of a row
_ORDERS = ("non_stationary", "shuffled")
_CHUNK = 500


def drop_at_change(tables: Tables, n_components: int, change: int) -> Measurement:
    """SE-70, in order: scores of a row before the change minus those of the chunk after."""
    scores = row_scores(following_redrawn(tables, n_components, "non_stationary"))
    return mean(_drops(scores, _chunk_after(scores, change)))


def shuffled_drop(tables: Tables, n_components: int) -> Measurement:
    """SE-70, shuffled: proportion of runs with a drop in a chunk."""
    scores = row_scores(following_redrawn(tables, n_components, "shuffled"))
    first = _chunk_after(scores, CHANGES[0])
    drops = np.stack([_drops(scores, i) for i in range(first, scores.shape[1])])
    return proportion_of(drops.max(axis=0) > _CUSP, f"largest drop {drops.max():.2f}")


def steps_after(
    tables: Tables, n_components: int, change: int, n_chunks: int | None = None, *, shuffled: bool = False
) -> Measurement:
    """SE-71, median steps of chunks after a change over those before, or over the same chunks where shuffled."""
    in_order, elsewhere = (steps_of_chunks(following_redrawn(tables, n_components, name)) for name in _ORDERS)
    place = _chunk_after(in_order, change)
    after = slice(place, n_chunks and place + n_chunks)
    base = elsewhere.iloc[:, after] if shuffled else in_order.iloc[:, _chunks_before(place)]
    above, below = (np.median(part, axis=1) for part in (in_order.iloc[:, after], base))
    note = f"{above.mean():.1f} and {below.mean():.1f} steps"
    if shuffled:
        note += f"; {in_order.iloc[:, place + 1].mean():.1f} in the next chunk in order"
    # Runs share their data.
    return estimate(lambda a, b: float(a.mean() / b.mean()), above, below, method="paired", note=note)


def steps_over_enough(tables: Tables, n_components: int, change: int) -> Measurement:
    """SE-71, median steps of chunks after a change over those of the model with most components, in order."""
    numbers = (n_components, COMPONENTS[-1])
    runs = (steps_of_chunks(following_redrawn(tables, k, "non_stationary")) for k in numbers)
    above, below = (np.median(steps.iloc[:, _chunk_after(steps, change) :], axis=1) for steps in runs)
    note = f"{above.mean():.1f} and {below.mean():.1f} steps"
    # Models follow the same data sets.
    return estimate(lambda a, b: float(a.mean() / b.mean()), above, below, method="paired", note=note)


def cusps_at_changes(tables: Tables, threshold: float | None = None) -> Measurement:
    """SE-72, runs whose drops after the changes exceed all others, shuffled ones too, or a threshold between them."""
    found: list[bool] = []
    for k in COMPONENTS:
        scores = row_scores(following_redrawn(tables, k, "non_stationary"))
        shuffled = row_scores(following_redrawn(tables, k, "shuffled"))
        places = [_chunk_after(scores, change) - 1 for change in CHANGES]
        drops, others = (-np.diff(table.to_numpy(), axis=1) for table in (scores, shuffled))
        others = np.concatenate([np.delete(drops, places, axis=1), others], axis=1)
        least, most = drops[:, places].min(axis=1), others.max(axis=1)
        found += list(least > most if threshold is None else (least > threshold) & (most <= threshold))
    return proportion(float(np.mean(found)), len(found) / len(COMPONENTS))  # models share the data sets


def changes_found(tables: Tables) -> Measurement:
    """SE-72, runs in which a threshold finds both changes in the chunk after them."""
    found: list[bool] = []
    for k in COMPONENTS:
        hits = _alarms(following_redrawn(tables, k, "non_stationary").curve("log_evidence"))
        found += [all(any(_just_after(row, change) for row in rows) for change in CHANGES) for rows in hits]
    return proportion(float(np.mean(found)), len(found) / len(COMPONENTS))


def false_alarms(tables: Tables) -> Measurement:
    """Alarms for each 100 000 rows in order that no change explains."""
    n_alarms, n_rows = 0, 0.0
    for n_components in COMPONENTS:
        record = following(tables, n_components, "non_stationary").curve("log_evidence")
        n_rows += float(record.columns[-1]) * len(record)
        for alarms in _alarms(record):
            n_alarms += sum(not any(_just_after(row, change) for change in CHANGES) for row in alarms)
    return rate(n_alarms, n_rows / 1e5)


def orders_agree(tables: Tables, n_components: int) -> Measurement:
    """SE-73: proportion of pairs of runs, in order and shuffled, that agree very precisely."""
    runs = [_final(tables, n_components, name) for name in _ORDERS]
    note = "in order {:.4f}, shuffled {:.4f}".format(*map(np.mean, runs))

    def agree(*runs: FloatArray) -> float:
        return float(np.mean(np.abs(np.subtract.outer(*runs)) <= _PRECISELY))

    found = estimate(agree, *runs, note=note)
    # Where all resamples agree, more runs might not.
    return found if found.error > 0.0 else proportion(found.value, runs[0].size, note)


def gap(tables: Tables, low: int, high: int) -> Measurement:
    """SE-74, shuffled: final log evidence for each row with more components minus that with fewer."""
    more, fewer = (mean(_final(tables, k, "shuffled")) for k in (high, low))
    return more - fewer


def gap_ratio(tables: Tables) -> Measurement:
    """SE-74: gap of 5 and 7 over gap of 3 and 5."""
    finals = [_final(tables, k, "shuffled") for k in COMPONENTS]

    def of_gaps(*finals: FloatArray) -> float:
        three, five, seven = (values.mean() for values in finals)
        return float(abs(seven - five) / (five - three))

    note = f"{', '.join(f'{values.mean():.4f}' for values in finals)} a row"
    return estimate(of_gaps, *finals, method="paired", note=note)


def told_apart(tables: Tables, pair: tuple[int, int]) -> Measurement:
    """SE-75: proportion of sets of four runs whose gap between two models exceeds either difference between orders."""
    runs = [_final(tables, k, name) for k in pair for name in _ORDERS]

    def apart(*runs: FloatArray) -> float:
        fewer, fewer_shuffled, more, more_shuffled = np.ix_(*runs)
        orders = np.maximum(np.abs(fewer - fewer_shuffled), np.abs(more - more_shuffled))
        return float(np.mean(orders < np.abs(more_shuffled - fewer_shuffled)))

    found = estimate(apart, *runs, note=f"{runs[0].size} runs of each")
    # Where all resamples agree, more runs might not.
    return found._replace(error=float(np.fmax(found.error, proportion(found.value, runs[0].size).error)))


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
    return change < row <= change + _CHUNK


def _chunks_before(place: int) -> slice:
    """Up to four chunks before a chunk, the first of the stream apart."""
    return slice(max(1, place - _CHUNKS_BEFORE), place)


def _drops(scores: pd.DataFrame, place: int) -> FloatArray:
    """Mean score of the chunks before a chunk, minus its own [repeat]."""
    values = scores.to_numpy(dtype=np.float64)
    return np.asarray(values[:, _chunks_before(place)].mean(axis=1) - values[:, place])


def _chunk_after(table: pd.DataFrame, n_rows: int) -> int:
    columns = row_counts(table)
    if columns[-1] <= n_rows:
        raise MissingData(f"more than {n_rows} rows: not run at this preset")
    return int(np.argmax(columns > n_rows))


def _final(tables: Tables, n_components: int, stream: str) -> FloatArray:
    curve = following(tables, n_components, stream).curve("log_evidence")
    return values_at(curve, _CHANGING_ROWS) / _CHANGING_ROWS


# What the settings do, on the mixture unless said otherwise: SE-80 to SE-94.

_CASE = "sensitivity"
_FAST = "learning_rate=1 rate_times_moves=2"
_EXACT = "method=control_variates"
_EARLY_ROWS = 50_000
_SMALL_ROWS = (500, 1000, 5000)
_REFERENCES = (1000, 10_000, 100_000)  # Numbers of rows with a reference, before the last
_BEND = 100_000
_KEPT_TARGET, _KEPT_TARGET_CASES = "particles, target of 5", ("fixed_target",)
_BEND_CASES = ("slow_rate", *MORE_REPEATS)


def final_distance(runs: StreamRuns) -> FloatArray:
    """Absolute error after all rows [repeat]."""
    return np.abs(values_at(errors_of(runs), runs.end))


def mean_steps(runs: StreamRuns) -> FloatArray:
    """Annealing steps of a chunk, mean over all chunks [repeat]."""
    steps, chunks = runs.curve("n_steps_so_far"), runs.curve("n_chunks_so_far").iloc[0]
    return (steps / chunks).iloc[:, -1].to_numpy(np.float64)


def at_end(runs: StreamRuns, quantity: str) -> FloatArray:
    """A cost of all rows [repeat]."""
    return values_at(runs.curve(quantity), runs.end)


_READ: dict[str, Callable[[StreamRuns], FloatArray]] = {
    "error": final_distance,
    "steps": mean_steps,
    "time": partial(at_end, quantity="seconds"),
    "operations": partial(at_end, quantity="operations"),  # likelihoods and gradients of rows
}


def growth(
    tables: Tables,
    name: str,
    what: str,
    cases: tuple[str, ...] = (),
    *,
    first: float = 0.0,
    last: float = np.inf,
    n_rows: float = np.inf,
) -> Measurement:
    """Power of what is swept, from a first to a last value, with which one of _READ grows, mean over paired runs."""
    runs = {
        number: each._replace(last=min(each.last, n_rows))
        for number, each in sweep(tables, name, cases).items()
        # Times are compared within the runs of one machine; the published settings are those of another case.
        if first <= number <= last and (what != "time" or each.case == _CASE)
    }
    found = {number: _READ[what](each) for number, each in runs.items()}
    words = ", ".join(f"{number:g}: {values.mean():.3g}" for number, values in found.items())
    slopes = [power(np.array(list(found)), values) for values in _by_run(found)]
    return mean(slopes, f"at {min(each.end for each in runs.values()):.0f} rows: {words}")


_growth_with_rate = partial(growth, name="rate", cases=MORE_REPEATS)


def _early_growth(name: str, cases: tuple[str, ...] = (), said: str = "") -> dict[str, Measure]:
    """Growth of the error at fewer than all rows, by the settings of the lines."""
    early = partial(growth, name=name, what="error", cases=cases)
    return {f"error, {said}{n} rows": partial(early, n_rows=n) for n in _REFERENCES}


def growth_at_most_rows(tables: Tables) -> Measurement:
    """SE-87, the error at most of four numbers of rows: the largest power but one."""
    early = [measure(tables) for measure in _early_growth("rate", MORE_REPEATS).values()]
    found = sorted([*early, _growth_with_rate(tables, what="error")], key=lambda each: each.value)
    return found[-2]


def steps_of_particles(tables: Tables, name: str = "particles", cases: tuple[str, ...] = ()) -> Measurement:
    """SE-80, annealing steps."""
    steps = _by_run({n: mean_steps(runs) for n, runs in sweep(tables, name, cases).items()})

    def most_over_fewest(steps: FloatArray) -> float:
        means = steps.mean(axis=0)
        return float(means.max() / means.min())

    note = ", ".join(f"{v:.2f}" for v in steps.mean(axis=0))
    return estimate(most_over_fewest, steps, method="jackknife", note=note)


def with_annealing(tables: Tables, cost: str, target: str = "default") -> Measurement:
    """SE-84: cost of all rows with the published target, or another, over that without annealing."""
    runs = [varied(tables, case_with(tables, name), name) for name in (target, "target_share=0.1")]
    first, second = map(_READ[cost], runs)
    note = f"at {runs[1].end:.0f} rows: {first.mean():.3g} against {second.mean():.3g}"
    return ratio(first, second, note)


def error_at_slow_rate(tables: Tables) -> Measurement:
    """SE-87: mean log ratio of errors at rates 0.01 and 0.1, paired: their repeats share random numbers."""
    case = case_with(tables, "learning_rate=0.01")
    first, second = (final_distance(varied(tables, case, name)) for name in ("learning_rate=0.01", "default"))
    n_shared = min(first.size, second.size)
    note = f"at {final_rows(tables, case):.0f} rows: {first.mean():.3g} against {second.mean():.3g} nats"
    return mean(np.log(first[:n_shared] / second[:n_shared]), note)


def spread_without_annealing(tables: Tables, n_rows: int) -> Measurement:
    """SE-84, standard deviation over runs at a number of rows, over that with annealing."""
    own, usual = (
        values_at(runs.curve("log_evidence"), n_rows)
        for runs in (_early_target(tables, "target_share=0.1"), early(tables, "mixture"))
    )
    note = f"{np.std(own, ddof=1):.0f} against {np.std(usual, ddof=1):.0f} nats, {own.size} runs"
    # Runs are few, so that their fourth moment would say little: leaving them out says more.
    return estimate(lambda a, b: float(np.std(a) / np.std(b)), own, usual, method="paired", note=note)


def early_steps(tables: Tables, free: int = 0) -> Measurement:
    """SE-85: fraction of the annealing steps in the first tenth of the rows, without the free steps of each chunk."""
    runs = published(tables, "mixture")
    steps, chunks = runs.curve("n_steps_so_far"), runs.curve("n_chunks_so_far").iloc[0]
    counted = between((steps - free * chunks).dropna(axis=1), 0.0, _EARLY_ROWS)
    columns = row_counts(counted)  # of long streams not every chunk is recorded
    last = columns[-1]
    first = columns[int(np.argmin(np.abs(columns - 0.1 * last)))]
    note = f"of the first {last:.0f} rows; {float(steps.iloc[:, 0].mean()):.0f} in the first chunk"
    return mean((counted[first] / counted[last]).to_numpy(), note)


def over_rivals(tables: Tables, *settings: StreamRuns) -> Measurement:
    """Largest distance of some mean log evidences from nested sampling, over that of AIS, at the most rows of AIS."""
    n_rows = most_rows_of_ais(tables, "mixture")
    rivals = [estimates(tables, "mixture", name, n_rows) for name in RIVALS]
    own = [values_at(runs.curve("log_evidence"), n_rows) for runs in settings]

    def over(nested: FloatArray, annealed: FloatArray, *own: FloatArray) -> float:
        farthest = max(abs(values.mean() - nested.mean()) for values in own)
        return float(farthest / abs(annealed.mean() - nested.mean()))

    each = ", ".join(f"{values.mean():.0f}" for values in own)
    note = f"at {n_rows:.0f} rows: {each}; NS {rivals[0].mean():.0f}, AIS {rivals[1].mean():.0f} nats"
    return estimate(over, *rivals, *own, method="jackknife", note=note)


def targets_at_end(tables: Tables) -> Measurement:
    """SE-86: largest of the targets' mean absolute errors after all rows, from the reference and relative to it."""
    runs = {number: each for number, each in sweep(tables, "target").items() if number > 1}
    unit = abs(reference_at(tables, "mixture", next(iter(runs.values())).end))
    found = {number: magnitude(mean(final_distance(r)), unit) for number, r in runs.items()}
    return largest_of({f"target {number:.0f}": distance for number, distance in found.items()})


def small_target(tables: Tables, n_rows: Sequence[int]) -> Measurement:
    """SE-86: distance of a target of two from AIS, over that of nested sampling, mean over numbers of rows."""
    own = partial(values_at, _early_target(tables, "target_share=0.2").curve("log_evidence"))
    of_each = own, *(partial(estimates, tables, "mixture", name) for name in ("ais", "nested"))
    samples = [np.stack([runs(n) for n in n_rows], axis=1) for runs in of_each]  # [repeat, rows]

    def from_annealed(own: FloatArray, annealed: FloatArray, nested: FloatArray) -> FloatArray:
        return np.stack([own.mean(axis=0), nested.mean(axis=0)]) - annealed.mean(axis=0)

    def over(*samples: FloatArray) -> float:
        own, nested = np.abs(from_annealed(*samples))
        return float(np.mean(own / nested))

    words = "; ".join(f"{own:.0f}, NS {nested:.0f} nats" for own, nested in from_annealed(*samples).T)
    return estimate(over, *samples, method="jackknife", note=f"minus AIS: {words}")


def above_annealed(tables: Tables, n_rows: int) -> Measurement:
    """Log evidence with a target of two particles minus that of annealed importance sampling, in nats."""
    own = values_at(_early_target(tables, "target_share=0.2").curve("log_evidence"), n_rows)
    return mean(own) - mean(estimates(tables, "mixture", "ais", n_rows))


def _early_target(tables: Tables, variation: str) -> StreamRuns:
    return StreamRuns(tables, first_run(tables, "early_targets", _CASE), {"variation": variation})


def bend_of_steps(tables: Tables, *, over_usual: bool) -> Measurement:
    """SE-88: fall of the annealing steps over 1e5 rows over the fall before, at rate 0.01, or also over that at 0.1."""
    own, usual = (_bend(tables, "n_steps_so_far", name) for name in ("learning_rate=0.01", "default"))
    return mean(own / usual if over_usual else own, f"{own.mean():.3g}; {usual.mean():.3g} at rate 0.1")


def bend_elsewhere(tables: Tables, octave: float) -> Measurement:
    """SE-88: mean log of the bend near 1e5 rows over that near another multiple of them, paired by run."""
    cases = MORE_REPEATS if octave > 1.0 else _BEND_CASES
    own, other = (_bend(tables, "n_steps_so_far", at=at, cases=cases) for at in (1.0, octave))
    return mean(np.log(own / other), f"{own.mean():.3g} and {other.mean():.3g}")


def runs_that_bend(tables: Tables, setting: str = "learning_rate=0.01") -> Measurement:
    """SE-88: proportion of runs with a bend that a plot displays, a fifth."""
    return proportion_of(_bend(tables, "n_steps_so_far", setting) <= 0.8)


def _bend(
    tables: Tables,
    quantity: str,
    setting: str = "learning_rate=0.01",
    at: float = 1.0,
    cases: tuple[str, ...] = _BEND_CASES,
) -> FloatArray:
    """Slope beyond a multiple of 1e5 rows over that of the octave before, over the same an octave before [repeat]."""
    curve = varied(tables, case_with(tables, "learning_rate=0.01", cases), setting).curve(quantity)
    early, before, after = (slope_per_row(curve, at * _BEND * k, 2 * at * _BEND * k) for k in (0.25, 0.5, 1))
    return (after / before) / (before / early)


def without_noise(tables: Tables, case: str, rate: str = "learning_rate=1") -> Measurement:
    """SE-90: error at rate 1 without gradient noise, over the error with it."""
    names = (f"{rate} {_EXACT}", rate, "default")
    exact, noisy, usual = (final_distance(varied(tables, case, name)) for name in names)
    note = (
        f"at {final_rows(tables, case):.0f} rows: {exact.mean():.0f} without and {noisy.mean():.0f} nats with gradient "
        f"noise; {usual.mean():.0f} with rate 0.1 and noise"
    )
    return ratio(exact, noisy, note)


def decrease_without_noise(tables: Tables, n_rows: float = ALL_ROWS) -> Measurement:
    """SE-90: growth of the error from rate 0.1 to rate 1 with 2 moves without gradient noise, over that with it."""
    usual = (case_with(tables, "default"), "default")
    runs = (("fast", f"{_FAST} {_EXACT}"), ("noiseless", _EXACT), ("fast", _FAST), usual)
    errors = [np.abs(values_at(errors_of(varied(tables, *names)), n_rows)) for names in runs]

    def part(*runs: FloatArray) -> float:
        exact, usual_exact, noisy, usual = (values.mean() for values in runs)
        return float((exact - usual_exact) / (noisy - usual))

    words = "{:.0f} and {:.0f} nats without gradient noise, {:.0f} and {:.0f} with it"
    note = f"at rates 1 and 0.1: {words.format(*(values.mean() for values in errors))}"
    return estimate(part, *errors, method="jackknife", note=note)


def noise_growth(tables: Tables) -> Measurement:
    """Late loss for each row at rate 1 over that at rate 0.1, both with noise."""
    n_rows = final_rows(tables, "floor")
    own, usual = (
        slope_per_row(errors_of(varied(tables, "floor", name)), n_rows / 5, n_rows)
        for name in ("learning_rate=1", "default")
    )
    return ratio(own, usual, "10 from the noise times 1.35 from the discretisation are predicted")


def distance_at_end(tables: Tables) -> Measurement:
    """SE-92, relative to the reference."""
    own = mean(final_distance(varied(tables, "fast", _FAST)))
    return magnitude(own, abs(reference_at(tables, "mixture", ALL_ROWS)), f"{own.value:.0f} nats")


def gain_over_nested(tables: Tables, cost: str) -> Measurement:
    """SE-93, against nested sampling."""
    return gain(tables, "mixture", "nested", _fast(tables, cost), cost)


def gain_over_usual_rate(tables: Tables, cost: str) -> Measurement:
    """SE-93, against a rate of 0.1 with as much motion."""
    both = varied(tables, _CASE, "default"), _fast(tables, cost)
    usual, own = (values_at(runs.curve(cost), ALL_ROWS) for runs in both)
    return ratio(usual, own, f"{usual.mean():.3g} against {own.mean():.3g}")


def _fast(tables: Tables, cost: str) -> StreamRuns:
    """Runs at rate 1 with 2 moves, of the case with most; seconds are compared within the runs of one machine."""
    return varied(tables, _CASE if cost == "seconds" else first_run(tables, "fast", _CASE), _FAST)


def spread_of_settings(tables: Tables, n_rows: float, without: tuple[str, ...] = ()) -> Measurement:
    """SE-94: largest minus smallest mean log evidence of all settings but some, in units of the largest."""
    swept = {variation for by_value in SWEEPS.values() for variation in by_value.values()}
    run = (*variations_run(tables), "default")
    names = [name for name in run if name in swept and name not in ("target_share=0.1", *without)]
    cases = ("few_moves", *MORE_REPEATS)
    curves = [varied(tables, case_with(tables, name, cases), name).curve("log_evidence") for name in names]
    samples = [values_at(curve, n_rows) for curve in curves]
    return estimate(_relative_spread, *samples, method="jackknife", note=f"{len(names)} settings")


def spread_over_rivals(tables: Tables, without: tuple[str, ...] = ()) -> Measurement:
    """SE-94: over the distance of AIS from nested sampling, which section 5.1.2 calls acceptable, at its most rows."""
    n_rows = most_rows_of_ais(tables, "mixture")
    rivals = (estimates(tables, "mixture", name, n_rows) for name in RIVALS)
    found = spread_of_settings(tables, n_rows, without)
    usual = estimate(_relative_spread, *rivals, method="jackknife")
    parts = f"relative {found.value:.2g}, {usual.value:.2g} for AIS at {n_rows:.0f} rows"
    return (found / usual).noted(f"{found.note} at {n_rows:.0f} rows; {parts}")


def _relative_spread(*runs: FloatArray) -> float:
    means = [each.mean() for each in runs]
    return float((max(means) - min(means)) / abs(max(means)))


def _by_run(found: Mapping[float, FloatArray]) -> FloatArray:
    """Values [repeat, what is varied]: runs of one number share their random numbers, so they stay together."""
    n_shared = min(values.size for values in found.values())
    return np.stack([values[:n_shared] for values in found.values()], axis=1)


MEASURE: dict[str, dict[str, Measure]] = {
    "SE-70": {
        **{
            f"K = {k}, at {n}": partial(drop_at_change, n_components=k, change=n)
            for n in CHANGES
            for k in COMPONENTS
        },
        **{f"K = {k}, shuffled": partial(shuffled_drop, n_components=k) for k in COMPONENTS},
    },
    "SE-71": {
        **{
            f"K = {k}, over K = 7": partial(steps_over_enough, n_components=k, change=n)
            for k, n in zip(COMPONENTS, CHANGES, strict=False)
        },
        "K = 5, after over before": partial(steps_after, n_components=5, change=CHANGES[1]),
        **{  # at the first change steps still fall from the start of the stream
            f"K = {k}, at {n}": partial(
                steps_after, n_components=k, change=n, n_chunks=1, shuffled=n == CHANGES[0]
            )
            for n in CHANGES
            for k in COMPONENTS
        },
    },
    "SE-72": {
        "changes found": cusps_at_changes,
        "one threshold": partial(cusps_at_changes, threshold=_CUSP),
        "found blind": changes_found,
    },
    "SE-73": {f"K = {k}, two orders": partial(orders_agree, n_components=k) for k in COMPONENTS},
    "SE-74": {
        "5 above 3, shuffled": partial(gap, low=3, high=5),
        "7 above 3, shuffled": partial(gap, low=3, high=7),
        "gap ratio": gap_ratio,
    },
    "SE-75": {f"{k} and {m}": partial(told_apart, pair=(k, m)) for k, m in ((3, 5), (5, 7), (3, 7))},
    "SE-80": {
        "error": partial(growth, name="particles", what="error"),
        **_early_growth("particles"),
        **{f"growth of {n}": partial(growth, name="particles", what=n) for n in COSTS},
        "steps, most over fewest": steps_of_particles,
        **_early_growth(_KEPT_TARGET, _KEPT_TARGET_CASES, "target of 5, "),
        "steps, target of 5": partial(steps_of_particles, name=_KEPT_TARGET, cases=_KEPT_TARGET_CASES),
    },
    "SE-81": {n: partial(growth, name="moves", what=n) for n in _READ} | _early_growth("moves"),
    "SE-82": {
        **{n: partial(growth, name="batch", what=n, cases=MORE_REPEATS) for n in ("steps", "error")},
        **_early_growth("batch", MORE_REPEATS),
        "error, 1000 rows": partial(
            growth, name="batch", what="error", cases=MORE_REPEATS, last=_CHUNK, n_rows=1000
        ),
    },
    "SE-83": {"steps": partial(growth, name="target", what="steps")},
    "SE-84": {
        **{f"spread at {n} rows": partial(spread_without_annealing, n_rows=n) for n in _SMALL_ROWS},
        **{n: partial(with_annealing, cost=n) for n in COSTS},
    },
    "SE-85": {"first tenth": early_steps, "first tenth, steps beyond one": partial(early_steps, free=1)},
    "SE-86": {
        "most rows of AIS": lambda tables: over_rivals(
            tables, *(runs for number, runs in sweep(tables, "target").items() if number > 1)
        ),
        "1000000 rows": targets_at_end,
        **{f"target of 2, {n} rows": partial(small_target, n_rows=[n]) for n in _SMALL_ROWS},
        "target of 2, over the numbers of rows": partial(small_target, n_rows=_SMALL_ROWS),
    },
    "SE-87": {
        **{n: partial(_growth_with_rate, what=n) for n in ("error", "operations")},
        **_early_growth("rate", MORE_REPEATS),
        "error, most numbers of rows": growth_at_most_rows,
        "error, 0.01 over 0.1": error_at_slow_rate,
        "error, 0.1 to 1": partial(_growth_with_rate, what="error", first=0.1),
        "steps": partial(_growth_with_rate, what="steps", n_rows=_EARLY_ROWS),
        "time": partial(growth, name="rate", what="time"),
    },
    "SE-88": {
        "single runs": runs_that_bend,
        "single runs, over rate 0.1": lambda tables: (
            runs_that_bend(tables) - runs_that_bend(tables, "default")
        ),
        "steps after over before": partial(bend_of_steps, over_usual=False),
        "over rate 0.1": partial(bend_of_steps, over_usual=True),
        "over that near 5e4 rows": partial(bend_elsewhere, octave=0.5),
        "over that near 2e5 rows": partial(bend_elsewhere, octave=2.0),
        "time after over before": lambda tables: mean(_bend(tables, "seconds")),
    },
    "SE-89": {
        **{n: partial(growth, name="exchange", what=n) for n in ("time", "operations", "error")},
        **_early_growth("exchange", ("exchange_more",)),
    },
    "SE-90": {
        "part of the decrease": decrease_without_noise,
        **{f"part of the decrease, {n} rows": partial(decrease_without_noise, n_rows=n) for n in _REFERENCES},
        "mixture, 2 moves, part without noise": partial(without_noise, case="fast", rate=_FAST),
        "mixture, part without noise": partial(without_noise, case=_CASE),
    },
    "SE-91": {"mixture": partial(growth, name="exchange", what="steps", cases=("exchange_more",))},
    "SE-92": {
        "most rows of AIS": lambda tables: over_rivals(
            tables, varied(tables, first_run(tables, "fast", _CASE), _FAST)
        ),
        "1000000 rows": distance_at_end,
    },
    "SE-93": {
        **{f"over nested sampling, {n}": partial(gain_over_nested, cost=c) for n, c in COSTS.items()},
        **{f"over rate 0.1, {n}": partial(gain_over_usual_rate, cost=c) for n, c in COSTS.items()},
    },
    "SE-94": {
        "spread, most rows of AIS": spread_over_rivals,
        "spread, 1000000 rows": partial(spread_of_settings, n_rows=ALL_ROWS),
        "spread without 2 moves": partial(spread_over_rivals, without=("n_moves=2",)),
    },
}


def over_sghmc(tables: Tables, model: str, variation: str) -> Measurement:
    """Geometric mean of the paired ratios of absolute errors, other moves over SGHMC, at the most rows of both."""
    own, rival = (found.iloc[:, -1].abs().to_numpy() for found in thermostat_errors(tables, model, variation))
    note = f"{own.mean():.0f} against {rival.mean():.0f} nats"
    return estimate(lambda a, b: float(np.exp(np.log(a / b).mean())), own, rival, method="paired", note=note)


def width_of_bounds(tables: Tables) -> Measurement:
    """Mean distance of the bounds from both sides at the most rows, in nats."""
    low, high = (by_size(tables, "linear", f"{end}_bound", "bounds") for end in ("lower", "upper"))
    return mean((high - low).iloc[:, -1].to_numpy(), f"at {row_counts(low)[-1]:.0f} rows")


NUMBERS: dict[str, Measure] = {
    **{
        f"SGNHT, {model}, {rate}": partial(
            over_sghmc, model=model, variation=f"moves=nose_hoover learning_rate={rate}"
        )
        for model in ("linear", "mixture")
        for rate in ("0.1", "0.3", "1")
    },
    "friction 1, linear": partial(over_sghmc, model="linear", variation="friction=1"),
    "bounds, nats": width_of_bounds,
    **{f"target of 2, {n} rows": partial(above_annealed, n_rows=n) for n in (500, 5000)},
    **{
        f"target={n}": partial(with_annealing, cost="operations", target=f"target_share=0.{n}")
        for n in (2, 3)
    },
    "linear, part of the error without noise": partial(without_noise, case="floor"),
    "linear, growth of the loss with the rate": noise_growth,
    "false alarms in 100000 rows": false_alarms,
}
