"""Measures the claims about annealed importance sampling of streams, SE-50 to SE-61, and numbers of the findings."""

import math
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import Measurement, estimate, exact, largest_of, mean, proportion_of
from auxmc_pipeline.tables import Measure, MissingData, Tables
from experiments.streaming_evidence import claims_evidence
from experiments.streaming_evidence.predicted_noise import NOISES, predicted_loss, predicted_ratio
from experiments.streaming_evidence.stream_runs import (
    MODEL_CASES,
    RIVALS,
    StreamRuns,
    between,
    by_size,
    errors_of,
    estimates,
    final_rows,
    published,
    reference_at,
    row_counts,
    slope_per_row,
    values_at,
    varied,
)

_INPUTS = ("irrelevant", "weak")
_FEW_ROWS = 10_000  # "small N" of section 5.4.1: of a million rows the printed errors contradict its words
_TITLES = {"nested sampling": "nested", "AIS": "ais"}


def inside_rivals(tables: Tables, model: str) -> Measurement:
    """SE-58: least distance from either edge of the band between rivals, in nats; negative outside; one chunk: AIS."""
    curve = between(published(tables, model).curve("log_evidence"), claims_evidence.CHUNK_ROWS + 1)
    sizes = by_size(tables, model, "annealed_log_evidence").columns.intersection(curve.columns)
    if sizes.empty:
        raise MissingData("no number of rows of all estimators: not run at this preset")
    distances = {}
    for n in map(float, sizes):
        own, *rivals = (mean(estimates(tables, model, name, n)) for name in ("annealed", *RIVALS))
        low, high = sorted(rivals, key=lambda rival: rival.value)
        distances[f"above the lower one at {n:.0f} rows"] = low - own
        distances[f"below the upper one at {n:.0f} rows"] = own - high
    return largest_of(distances) * -1.0


def more_reliable(tables: Tables, model: str) -> Measurement:
    """SE-58, against the sequential estimator: the largest of the ratios of absolute errors at few rows."""
    own, rival = (claims_evidence.errors_by_size(tables, model, name) for name in ("annealed", "sequential"))
    ratios = {n: _error_ratio(own[n], rival[n]) for n in own if n in rival and n <= _FEW_ROWS}
    if not ratios:
        raise MissingData("no number of rows of all estimators: not run at this preset")
    words = ", ".join(f"{found.value:.2g}" for found in ratios.values())
    return largest_of({f"at {n:.0f} rows": found for n, found in ratios.items()}).noted(
        f"at {', '.join(f'{n:.0f}' for n in ratios)} rows: {words}"
    )


def more_reliable_at_end(tables: Tables) -> Measurement:
    """SE-58, linear, at a million rows."""
    runs = (published(tables, "linear", name) for name in ("annealed", "sequential"))
    return _error_ratio(*(values_at(errors_of(each), claims_evidence.ALL_ROWS) for each in runs))


def _error_ratio(own: FloatArray, rival: FloatArray) -> Measurement:
    sizes = np.abs(own), np.abs(rival)
    return claims_evidence.ratio(*sizes, "{:.0f} against {:.0f} nats".format(*map(np.mean, sizes)))


def longer_than_sequential(tables: Tables, model: str) -> Measurement:
    """SE-59."""
    steps = float(np.mean(published(tables, model).totals("steps_per_chunk")))
    return time_over(tables, model, "annealed", "sequential").noted(f"{steps:.2f} annealing steps a chunk")


def cost_of_all_sizes(tables: Tables, rival: str) -> Measurement:
    """SE-60: operations of a rival for all numbers of rows over those for the largest; runs of each are independent."""
    sizes = row_counts(by_size(tables, "linear", f"{RIVALS[rival]}_seconds"))
    costs = [mean(claims_evidence.full_cost(tables, "linear", rival, n, "operations")) for n in sizes]
    *smaller, largest = costs
    total = Measurement(sum(c.value for c in smaller), math.hypot(*(c.error for c in smaller)))
    return (total / largest - -1.0).noted(f"{len(costs)} numbers of rows up to {sizes[-1]:.0f}")


def estimates_on_the_way(tables: Tables, model: str) -> Measurement:
    """SE-60: largest relative difference of estimates on the way from those of shorter runs, with equal seeds."""
    long, short = (
        published(tables, case).curve("log_evidence") for case in (model, f"early__stream-{model}")
    )
    runs, sizes = long.index.intersection(short.index), long.columns.intersection(short.columns)
    if sizes.empty:
        raise MissingData("no number of rows of both: not run at this preset")
    differences = (long.loc[runs, sizes] / short.loc[runs, sizes] - 1.0).abs()
    return exact(float(differences.to_numpy().max()), f"{runs.size} runs, {sizes.size} numbers of rows")


def loss_of_weights(tables: Tables, variation: str) -> Measurement:
    """Slope of the mean log weight over the predicted one."""
    runs = varied(tables, "floor", variation)
    lost = runs.curve("mean_log_weight") - runs.curve("exact").iloc[0]
    found = slope_per_row(lost, claims_evidence.LATE_ROWS, final_rows(tables, "floor"))
    predicted = predicted_loss(*NOISES[variation])
    return mean(found / predicted, f"{found.mean():.3g} a row, predicted {predicted:.3g}")


def spread_of_particles(tables: Tables) -> Measurement:
    """Spread of the particles over the predicted one: mean over the chunks within a fifth of a million rows."""
    runs, n_rows = published(tables, "linear"), claims_evidence.ALL_ROWS
    found, chunks = runs.curve("variance_ratio"), runs.curve("n_chunks_so_far").iloc[0].diff()
    columns = row_counts(found)
    near = found.loc[:, (columns > 0.8 * n_rows) & (columns <= 1.2 * n_rows)]
    if columns[-1] < n_rows or near.empty:
        raise MissingData(f"{n_rows} rows: not run at this preset")
    expected = np.array([predicted_ratio(n) for n in row_counts(near)])
    weights = chunks[near.columns].to_numpy()
    ratios = (near.to_numpy() / expected) @ weights / weights.sum()
    return mean(ratios, f"{ratios.mean() * predicted_ratio(n_rows):.4g} times the posterior's")


def shared_rows(tables: Tables) -> Measurement:
    """Slope of the sequential error with rows that particles share, over that with rows of their own."""
    runs = varied(tables, "floor", "method=sequential_shared"), published(tables, "linear", "sequential")
    n_rows = final_rows(tables, "floor")
    with_shared, own = (slope_per_row(errors_of(r), claims_evidence.LATE_ROWS, n_rows) for r in runs)
    note = f"{with_shared.mean():.3g} against {own.mean():.3g} a row"
    return claims_evidence.ratio(with_shared, own, note)


def lowered_loss(tables: Tables, method: str) -> Measurement:
    """Slope of the error of a corrected estimator over that of the published one, both late."""
    is_own_case = method == "corrected"
    runs = published(tables, "linear", method) if is_own_case else varied(tables, "floor", f"method={method}")
    n_rows = final_rows(tables, runs.case)
    first = n_rows / 5
    own, usual = (slope_per_row(errors_of(r), first, n_rows) for r in (runs, published(tables, "linear")))
    note = f"{own.mean():.3g} against {usual.mean():.3g} a row from {first:.0f} to {n_rows:.0f} rows"
    return claims_evidence.magnitude(claims_evidence.ratio(own, usual, note))


def right_signs(tables: Tables, method: str) -> Measurement:
    """Fraction of log Bayes factors with the right sign."""
    signs, words = [], []
    for name in _INPUTS:
        exact = exact_factor(tables, name).value
        found = StreamRuns(tables, "pair", {"input": name, "method": method}).totals("factor")
        signs += list(np.sign(found) == np.sign(exact))
        words.append(f"{name} input: {found.mean():.1f} nats, exactly {exact:.1f}")
    return proportion_of(signs, "; ".join(words))


_distance = partial(claims_evidence.distance_from_nested, method="annealed")


def error(tables: Tables, model: str, method: str, n_rows: int = claims_evidence.ALL_ROWS) -> Measurement:
    """Mean error of a streaming method, in nats."""
    return mean(values_at(errors_of(published(tables, model, method)), n_rows))


def exact_factor(tables: Tables, name: str) -> Measurement:
    """Log Bayes factor in favour of the larger model, in nats, in closed form."""
    return exact(float(StreamRuns(tables, "pair", {"input": name}).totals("exact_factor")[0]))


def time_over(tables: Tables, model: str, method: str, rival: str) -> Measurement:
    """Time of a streaming method over that of another."""
    own, usual = (published(tables, model, name).totals("seconds_total") for name in (method, rival))
    return claims_evidence.ratio(own, usual)


MEASURE: dict[str, dict[str, Measure]] = {
    "SE-50": {
        "relative": partial(claims_evidence.final_error, model="linear", method="annealed", relative=True)
    },
    "SE-51": claims_evidence.speed_up_measures("linear", "annealed"),
    "SE-52": claims_evidence.speed_up_measures("linear", "annealed", "ais"),
    "SE-53": {
        "from nested sampling, per row": partial(_distance, model="softmax"),
        "from nested sampling, relative": partial(_distance, model="softmax", relative=True),
    },
    "SE-54": claims_evidence.speed_up_measures("softmax", "annealed"),
    "SE-56": {"from nested sampling, relative": partial(_distance, model="mixture", relative=True)},
    "SE-57": claims_evidence.speed_up_measures("mixture", "annealed"),
    "SE-58": {
        **{f"{model}, inside": partial(inside_rivals, model=model) for model in MODEL_CASES},
        **{f"{m}, error over sequential error": partial(more_reliable, model=m) for m in MODEL_CASES},
        **dict.fromkeys(("linear, 1e6 rows", "linear, 1e6 rows, as printed"), more_reliable_at_end),
        **{
            f"{model}, from nested sampling": partial(_distance, model=model, relative=model != "softmax")
            for model in MODEL_CASES
        },
        **{
            f"{model}, converging": partial(claims_evidence.distance_left, model=model, method="annealed")
            for model in MODEL_CASES
        },
    },
    "SE-59": {f"{model}, time": partial(longer_than_sequential, model=model) for model in MODEL_CASES},
    "SE-60": {
        **{f"{model}, on the way": partial(estimates_on_the_way, model=model) for model in MODEL_CASES},
        **{f"{title}, operations": partial(cost_of_all_sizes, rival=name) for title, name in _TITLES.items()},
    },
    "SE-61": {
        f"{model}, {name}": partial(claims_evidence.growth_of_cost, model=model, method="annealed", cost=cost)
        for name, cost in claims_evidence.COSTS.items()
        for model in MODEL_CASES
    },
}
for _claim in ("SE-50", "SE-53", "SE-56"):  # as in `claims_evidence`
    MEASURE[_claim] |= {f"{name}, both edges": measure for name, measure in MEASURE[_claim].items()}

NUMBERS: dict[str, Measure] = {
    **{
        f"loss over prediction, {name}": partial(loss_of_weights, variation=name)
        for name in ("default", "learning_rate=1")
    },
    "spread over prediction, 1000000 rows": spread_of_particles,
    "loss with shared rows, sequential": shared_rows,
    **{
        f"loss left by {method}": partial(lowered_loss, method=method)
        for method in ("resampled", "cooled", "control_variates", "corrected")
    },
    **{
        f"right signs of Bayes factors, {method}": partial(right_signs, method=method)
        for method in ("annealed", "corrected")
    },
    **{
        f"{method}, linear, nats at 1e6 rows": partial(error, model="linear", method=method)
        for method in ("annealed", "sequential", "corrected")
    },
    **{f"exact factor, {name} input, nats": partial(exact_factor, name=name) for name in _INPUTS},
    **{
        f"running Gaussian, {model}, nats at 1e6 rows": partial(error, model=model, method="running_laplace")
        for model in MODEL_CASES
    },
    **{
        f"running Gaussian, {m}, time over annealed": partial(
            time_over, model=m, method="running_laplace", rival="annealed"
        )
        for m in ("linear", "softmax")
    },
    "nested, mixture, nats at 1e4 rows": lambda tables: mean(
        estimates(tables, "mixture", "nested", 10_000) - reference_at(tables, "mixture", 10_000)
    ),
    "annealed, mixture, nats at 1e5 rows": partial(error, model="mixture", method="annealed", n_rows=100_000),
    "corrected, mixture, worst nats at 1e5 rows": lambda tables: estimate(
        np.max, np.abs(values_at(errors_of(published(tables, "mixture", "corrected")), 100_000))
    ),
}
