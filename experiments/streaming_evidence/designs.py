"""Three small designs: rules that end nested sampling, starts of particles, and Bayes factors of two models."""

import dataclasses
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from auxmc.diagnostics.dead_points import nested_evidence
from auxmc.driver.seeds import generator
from auxmc.kernels.streams.nested_sampling import NestedSettings
from auxmc.models.regression.linear_regression import linear_regression
from auxmc.models.row_model import RowModel
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chains import RunContext
from auxmc_pipeline.units import each
from experiments.streaming_evidence import problem
from experiments.streaming_evidence.drive import Runs, run_repeats
from experiments.streaming_evidence.estimators import build_stream
from experiments.streaming_evidence.nested import dead_points, nested_runs
from experiments.streaming_evidence.problem import HYBRID_ROWS, exact_linear, keys_of_runs, rows_of_stream
from experiments.streaming_evidence.settings import Settings

LIVE_POINTS = (2, 200)  # The published number, and one with which runs are accurate
_FRACTION = 0.01


def run_stopping(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Errors of nested sampling [live points, repeat] by the additive rule and at its end, without the live points."""
    rows = rows_of_stream(settings)[:HYBRID_ROWS]
    model = problem.model_of(settings)
    exact = float(exact_linear(rows, [HYBRID_ROWS])[0])
    shape = (len(LIVE_POINTS), settings.n_repeats)
    errors = {name: np.full(shape, np.nan) for name in ("additive_error", "remaining_error", "spread")}
    unfinished = 0
    for place, n_live in enumerate(LIVE_POINTS):
        program = nested_runs(model, rows, NestedSettings(n_live=n_live, n_moves=5 * model.dim))
        keys = keys_of_runs(context, settings.n_repeats, settings.stream, "stopping", n_live)
        for repeat, key in enumerate(keys):
            run = program(key, HYBRID_ROWS)
            dead = dead_points(run)
            unfinished += int(not run.finished)
            early = nested_evidence(dead[: additive_stop(dead, n_live)], n_live)
            late = nested_evidence(dead, n_live)
            errors["additive_error"][place, repeat] = early.value - exact
            errors["remaining_error"][place, repeat] = late.value - exact
            errors["spread"][place, repeat] = late.standard_error
    jax.clear_caches()
    variables: dict[str, Any] = {
        name: (("live_points", "repeat"), values, {"units": "nats"}) for name, values in errors.items()
    }
    variables["n_failures"] = ((), unfinished, {"units": "runs"})
    coords = {"live_points": list(LIVE_POINTS), "repeat": np.arange(settings.n_repeats)}
    return {"statistics": xr.Dataset(variables, coords)}


def additive_stop(log_likelihoods: FloatArray, n_live: int) -> int:
    """Dead points after which a term of the sum is first below a hundredth of it, all if it never is."""
    numbers = np.arange(1, log_likelihoods.size + 1)
    terms = log_likelihoods - numbers / n_live
    sums = np.logaddexp.accumulate(terms)
    below = np.flatnonzero((terms < sums + np.log(_FRACTION)) & (numbers > 1))
    return int(below[0]) + 1 if below.size else int(log_likelihoods.size)


STARTS = ("growing", "chunks", "at_once")  # chunks growing from 20 rows, of 500 rows, of all rows
_NEAR = 0.05  # nats for each row within which a particle is in the best mode
_EARLY = 500  # rows after which a growing stream is early on


def run_starts(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Follows a mixture's posterior in three ways and scores where the particles end [start, repeat, particle].

    Particles that see all rows at once make `n_start_moves` moves with the whole gradient from the prior.
    """
    rows = rows_of_stream(settings)
    model = problem.model_of(settings)
    made = each(lambda start: _run(settings, context, model, rows, start), STARTS)
    found = np.stack([_scores(model, runs, rows) / len(rows) for runs in made])
    lost = np.stack([runs.record["n_not_finite"][:, -1] for runs in made])
    beginning = dataclasses.replace(settings, n_rows=min(_EARLY, len(rows)))
    early_runs = _run(beginning, context, model, rows[: beginning.n_rows], "growing", "early")
    early = _scores(model, early_runs, rows) / len(rows)
    near, near_early = (np.mean(one > np.nanmax(found) - _NEAR, axis=-1) for one in (found, early))
    variables: dict[str, Any] = {
        "log_likelihood_per_row": (("start", "repeat", "particle"), found, {"units": "nats"}),
        "near_best": (("start", "repeat"), near, {"units": "share of particles"}),  # codespell:ignore
        "near_best_early": ("repeat", near_early, {"units": "share of particles"}),  # codespell:ignore
        "n_not_finite": (("start", "repeat"), lost, {"units": "particles"}),
    }
    numbers = {"repeat": np.arange(settings.n_repeats), "particle": np.arange(settings.n_particles)}
    return {"statistics": xr.Dataset(variables, {"start": list(STARTS), **numbers})}


def _run(
    settings: Settings, context: RunContext, model: RowModel, rows: FloatArray, start: str, names: str = ""
) -> Runs:
    schedule = "growing" if start == "growing" else "constant"
    own = dataclasses.replace(settings, method="sequential", schedule=schedule)
    ends = problem.ends_of(own)
    if start == "at_once":
        own = dataclasses.replace(own, n_moves=settings.n_start_moves, batch_size=1)
        ends = problem.chunk_ends(len(rows), len(rows), cuts=())
    keys = keys_of_runs(context, settings.n_repeats, settings.stream, "starts", start)
    return run_repeats(build_stream(model, own), [rows] * len(keys), ends, keys, context, names or start)


def _scores(model: RowModel, runs: Runs, rows: FloatArray) -> FloatArray:

    def total(particle: jax.Array) -> jax.Array:
        return jnp.sum(model.log_likelihood(particle, jnp.asarray(rows)))

    scores = jax.jit(jax.vmap(jax.vmap(total)))(runs.last.particles.astype(np.float64))
    return np.asarray(scores)


INPUTS = ("irrelevant", "weak")  # without an effect, or just worth its prior
PAIR_METHODS = ("annealed", "corrected")
_EXPECTED_GAIN = 5.0  # log Bayes factor, in nats, that the weak coefficient is chosen for


def run_nested_pair(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Log Bayes factors, in nats, of a linear model with one input more than the stream has: exact and estimated."""
    rows = rows_of_stream(settings)
    extra = generator(context.seed, context.study, "input").standard_normal(len(rows))
    data = [with_input(rows, extra, name) for name in INPUTS]
    exact = [float(exact_linear(d, [len(rows)])[0] - exact_linear(d[:, 1:], [len(rows)])[0]) for d in data]
    shape = (len(PAIR_METHODS), len(INPUTS), settings.n_repeats)

    def run(which: tuple[str, int]) -> Runs:
        method, n_features = which
        own, where = dataclasses.replace(settings, method=method), (method, n_features, "pair")
        keys = [key for name in INPUTS for key in keys_of_runs(context, settings.n_repeats, *where, name)]
        # The larger model has the additional input as its first column.
        columns = [d[:, 6 - n_features :] for d in data]
        given = [own_rows for own_rows in columns for _ in range(settings.n_repeats)]
        estimator = build_stream(linear_regression(n_features, problem.NOISE_SCALE), own)
        return run_repeats(estimator, given, problem.ends_of(own), keys, context, "-".join(map(str, where)))

    combinations = list(itertools.product(PAIR_METHODS, (6, 5)))
    found, lost = np.zeros(shape), np.zeros(shape)
    for (method, n_features), runs in zip(combinations, each(run, combinations), strict=True):
        sign, place = 1.0 if n_features == 6 else -1.0, PAIR_METHODS.index(method)
        found[place] += sign * runs.record["log_evidence"][:, -1].reshape(shape[1:])
        lost[place] += runs.record["n_not_finite"][:, -1].reshape(shape[1:])
    nats = {"units": "nats"}
    variables: dict[str, Any] = {
        "exact_factor": ("input", exact, nats),
        "factor": (("method", "input", "repeat"), found, nats),
        "n_not_finite": (("method", "input", "repeat"), lost, {"units": "particles"}),
    }
    coords = {"method": list(PAIR_METHODS), "input": list(INPUTS), "repeat": np.arange(settings.n_repeats)}
    return {"statistics": xr.Dataset(variables, coords)}


def with_input(rows: FloatArray, extra: FloatArray, name: str) -> FloatArray:
    """Rows [row, feature + 1] with values [row] of one of INPUTS before the others, and its effect on the response."""
    # The likelihood ratio of a weak one is worth the gain and half the log of the rows, the price of a coefficient.
    n = len(rows)
    coefficient = float(np.sqrt((2.0 * _EXPECTED_GAIN + np.log(n)) / n)) if name == "weak" else 0.0
    response = rows[:, -1] + coefficient * extra
    return np.column_stack([extra, rows[:, :-1], response])
