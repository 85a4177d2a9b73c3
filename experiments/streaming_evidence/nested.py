"""Nested sampling of the first rows of a stream, with the published settings and with safer ones."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.diagnostics.dead_points import NestedEvidence, nested_evidence
from auxmc.kernels.streams.nested_sampling import NestedRun, NestedSettings, nested_sampling
from auxmc.models.row_model import RowModel
from auxmc.numerics.array_types import FloatArray, NamedArrays
from auxmc.numerics.row_blocks import row_total
from auxmc_pipeline.chains import RunContext
from auxmc_pipeline.stopwatch import stopwatch
from experiments.streaming_evidence.problem import HYBRID_ROWS, keys_of_runs, model_of
from experiments.streaming_evidence.settings import Settings

PUBLISHED = NestedSettings(  # MSc thesis, section 5.1.2
    n_live=2,
    n_moves=20,
    step=1e-3,
    friction=0.1,
    metropolis=False,
    adapt=False,
    stopping_rule="additive_term",
    max_iterations=4000,
)


def nested_runs(
    model: RowModel, rows: FloatArray, settings: NestedSettings
) -> Callable[[Array, int], NestedRun]:
    """Makes one compiled program for any number of the first rows: a function of a key and that number."""
    total = row_total(model.log_likelihood, model.weighted_gradient)
    data = jnp.asarray(rows)

    @jax.jit
    def program(key: Array, n_rows: Array, data: Array) -> NestedRun:
        run = nested_sampling(lambda point: total(point, data, n_rows), model.log_prior, settings)
        draw_key, run_key = jax.random.split(key)
        draws = jax.vmap(model.draw_prior)(jax.random.split(draw_key, settings.n_live))
        return run(run_key, draws.astype(jnp.float64))

    def run(key: Array, n_rows: int) -> NestedRun:
        return jax.block_until_ready(program(key, jnp.int32(n_rows), data))

    return run


def evidence_of(run: NestedRun, settings: NestedSettings) -> NestedEvidence:
    """The published estimate leaves out the points that are still alive; the other counts them."""
    live = None if settings.stopping_rule == "additive_term" else np.asarray(run.live_log_likelihoods)
    return nested_evidence(dead_points(run), settings.n_live, live)


def dead_points(run: NestedRun) -> FloatArray:
    """Log likelihoods of the dead points of a run, in the order of their death [point]."""
    return np.asarray(run.log_likelihoods)[: int(run.n_iterations)]


class HybridStart(NamedTuple):
    """Log evidence of the first rows, in nats."""

    robust: FloatArray  # runs with many live points [run]
    published: FloatArray  # runs with the published two live points [run]
    seconds: float  # run time of a robust run, without compiling


def hybrid_start(settings: Settings, rows: FloatArray, context: RunContext, names: str) -> HybridStart:
    """Makes `n_hybrid_runs` runs in either way on the first HYBRID_ROWS rows, a unit of the case each way."""
    model = model_of(settings)
    # Many live points, long adapted moves, and a stopping rule that looks at what is left.
    robust = NestedSettings(n_live=settings.n_hybrid_live, n_moves=5 * model.dim)
    ways = {"robust": robust, "published": PUBLISHED}

    def make(number: int) -> NamedArrays:
        name = list(ways)[number]
        about = (settings.stream, settings.n_components, "hybrid", name)
        with stopwatch() as times:
            program = nested_runs(model, rows[:HYBRID_ROWS], ways[name])
            keys = keys_of_runs(context, settings.n_hybrid_runs, *about)
            runs = [program(key, HYBRID_ROWS) for key in keys]
        values = np.array([evidence_of(run, ways[name]).value for run in runs])
        return {"values": values, "seconds": np.asarray(times.run_s / len(runs))}

    robust_runs, published_runs = context.units.stage(f"{names}-hybrid", len(ways), make)
    return HybridStart(robust_runs["values"], published_runs["values"], float(robust_runs["seconds"]))
