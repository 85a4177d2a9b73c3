"""Evidence of a stream of rows by nested sampling, chunk by chunk, over the posterior of the rows before."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import check_integer
from auxmc.kernels.streams.annealing_path import n_lost
from auxmc.kernels.streams.contract import Chunk, PastRows, Stream, StreamSettings, StreamState, counted_rows
from auxmc.kernels.streams.nested_sampling import NestedRun, NestedSettings, nested_sampling
from auxmc.kernels.streams.published_estimators import particle_evidence
from auxmc.kernels.streams.weighted_reservoir import weighted_reservoirs
from auxmc.models.row_model import RowModel
from auxmc.numerics.annealing import log_effective_size


class UpdatingSettings(NamedTuple):
    """How chunks are absorbed.

    Attributes:
        n_live: live points, at least 10: with fewer the draws from the dead points are copies of one.
        n_moves: constrained moves of a replacement.
        n_free_moves: moves under the posterior after each chunk, which part copies from one another.
        batch_size: past rows drawn for each move.
        learning_rate: eta times the rows in the target.
        first_step: eta while the prior is the target.
        friction: alpha of constrained moves, in (0, 1].
        free_friction: alpha of the others, in (0, 1].
        adapt: as in `NestedSettings`.
        max_iterations: dead points of a chunk after which it is given up as it is, and counted.
    """

    n_live: int = 50
    n_moves: int = 20
    n_free_moves: int = 20
    batch_size: int = 500
    learning_rate: float = 0.1
    first_step: float = 1e-3
    friction: float = 0.1
    free_friction: float = 0.2
    adapt: bool = True
    max_iterations: int = 5000


class UpdatingRecord(NamedTuple):
    """What became of a chunk."""

    n_rows: Array  # rows absorbed, this chunk included (int64)
    log_evidence: Array  # of all rows absorbed, float64 in nats
    log_predictive: Array  # of the chunk given the rows before it, in nats
    variance: Array  # of the log predictive density, in nats squared: information over live points
    n_annealing_steps: Array  # dead points (int32)
    weight_size: Array  # effective size of the posterior weights of dead and live points
    n_stuck: Array  # replacements in which no move was made (int32)
    n_likelihood_rows: Array  # likelihoods of rows evaluated (int64)
    # Gradients of rows evaluated, those of reflections apart, which count as likelihoods (int64).
    n_gradient_rows: Array
    n_unfinished: Array  # 1 if the chunk was given up, else 0 (int32)
    n_not_finite: Array  # live points that are not finite (int32)


def nested_updating(
    model: RowModel,
    settings: UpdatingSettings = UpdatingSettings(),  # noqa: B008
) -> Stream:
    """Makes the estimator of a model's evidence over a stream by nested sampling of each chunk's likelihood.

    Live points begin as draws of the posterior before the chunk. Constrained moves follow that posterior by the
    gradient of a mini-batch of its rows; the batch is a function of the point, so that a point has one gradient.
    Dead and live points are drawn from by weighted reservoirs and moved without constraint: these are the live points
    of the next chunk.

    Args:
        model: the model of a row.
        settings: see `UpdatingSettings`.

    Returns:
        Stream whose records are of type `UpdatingRecord`; the log weights of its state are all the log evidence. The
        estimate is consistent as live points and moves become many.

    Raises:
        ValueError: a setting is outside its range.

    Source: MSc thesis, section 4.3.
    """
    check_integer(
        "n_live", settings.n_live, 10, "with fewer the points of the next chunk are mostly copies of one"
    )
    for name in ("n_moves", "n_free_moves", "batch_size", "max_iterations"):
        check_integer(name, getattr(settings, name), 1)
    for name in ("friction", "free_friction"):
        if not 0.0 < getattr(settings, name) <= 1.0:
            raise ValueError(f"{name} must be in (0, 1], got {getattr(settings, name)}")
    if not settings.learning_rate > 0.0 or not settings.first_step > 0.0:
        raise ValueError(
            f"learning_rate and first_step must be positive, got {settings.learning_rate} and {settings.first_step}"
        )
    n_live = settings.n_live
    free = particle_evidence(
        model,
        StreamSettings(
            # Its moves after a chunk are those of the posterior with the chunk; its own score is not used.
            estimator="sequential",
            n_particles=n_live,
            n_moves=settings.n_free_moves,
            batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            friction=settings.free_friction,
        ),
    )

    def absorb(key: Array, state: StreamState, chunk: Chunk, past: PastRows) -> tuple[StreamState, Any]:
        batch_key, nested_key, slot_key, free_key = jax.random.split(key, 4)
        counts = counted_rows(chunk)

        def chunk_log_likelihood(point: Array) -> Array:
            by_row = model.log_likelihood(point, chunk.rows)
            return jnp.sum(jnp.where(counts, by_row, 0.0), dtype=jnp.float64)

        rate = settings.learning_rate / jnp.maximum(state.n_rows, 1).astype(jnp.float64)
        step: Any = jnp.where(state.n_rows > 0, rate, settings.first_step)
        nested = nested_sampling(
            chunk_log_likelihood,
            _past_log_density(model, settings, batch_key, past, state.n_rows),
            NestedSettings(
                n_live=n_live,
                n_moves=settings.n_moves,
                step=step,
                friction=settings.friction,
                # The gradient of the past is an estimate, for which there is no energy to accept by.
                metropolis=False,
                adapt=settings.adapt,
                max_iterations=settings.max_iterations,
            ),
        )
        run = nested(nested_key, state.particles)
        log_fractions = _log_weights(run, n_live)
        log_predictive = jax.nn.logsumexp(log_fractions)
        values = jnp.concatenate([run.log_likelihoods, run.live_log_likelihoods])
        fractions = jnp.exp(log_fractions - log_predictive)
        information = jnp.sum(jnp.where(fractions > 0.0, fractions * values, 0.0)) - log_predictive
        points = jnp.concatenate([run.dead, run.live])
        particles = points[weighted_reservoirs(slot_key, log_fractions, n_live)]
        log_weights = state.log_weights + log_predictive
        # The chunk's likelihood is in the log weights already: of what `free` makes only the particles count.
        parted, _ = free.absorb(free_key, state._replace(particles=particles), chunk, past)
        n_moves = run.n_iterations.astype(jnp.int64) * settings.n_moves
        n_free = n_live * settings.n_free_moves
        per_move = jnp.where(state.n_rows > 0, settings.batch_size, 0).astype(jnp.int64)
        n_valid = chunk.n_valid.astype(jnp.int64)
        record = UpdatingRecord(
            parted.n_rows,
            log_weights[0],
            log_predictive,
            jnp.maximum(information, 0.0) / n_live,
            run.n_iterations,
            jnp.exp(log_effective_size(log_fractions)),
            run.n_stuck,
            (run.n_evaluations + n_live) * n_valid,
            n_moves * per_move + n_free * (per_move + n_valid),
            (~run.finished).astype(jnp.int32),
            n_lost(parted.particles),
        )
        return parted._replace(log_weights=log_weights), record

    return Stream(free.init, absorb)


def _log_weights(run: NestedRun, n_live: int) -> Array:
    """Log of likelihood times prior mass, of dead points and then of live ones; lower sum, exponential shrinkage."""
    numbers = jnp.arange(run.log_likelihoods.shape[0], dtype=jnp.float64)
    n_dead = run.n_iterations.astype(jnp.float64)
    log_width = math.log(-math.expm1(-1.0 / n_live))
    dead = run.log_likelihoods - (numbers + 1.0) / n_live + log_width
    live = run.live_log_likelihoods - (n_dead + 1.0) / n_live - math.log(n_live)
    return jnp.concatenate([jnp.where(numbers < n_dead, dead, -jnp.inf), live])


def _past_log_density(
    model: RowModel, settings: UpdatingSettings, key: Array, past: PastRows, n_past: Array
) -> Any:
    """Log density of the posterior before the chunk at a point [dim]; callers use its gradient alone.

    That is the gradient of the prior plus the scaled one of a batch, which the bits of the point choose.
    """

    def gradient(point: Array) -> Array:
        bits = lax.bitcast_convert_type(point.astype(jnp.float32), jnp.uint32)
        batch_key = jax.random.fold_in(key, jnp.sum(bits, dtype=jnp.uint32))
        numbers = jax.random.randint(
            batch_key, (settings.batch_size,), 0, jnp.maximum(past.n_stored, 1), jnp.int32
        )
        weights = jnp.full(settings.batch_size, n_past / settings.batch_size, point.dtype)
        return model.weighted_gradient(point, past.rows[numbers], weights) + jax.grad(model.log_prior)(point)

    @jax.custom_vjp
    def log_density(point: Array) -> Array:
        return model.log_prior(point)

    log_density.defvjp(
        lambda point: (model.log_prior(point), gradient(point)), lambda slope, cotangent: (cotangent * slope,)
    )
    return log_density
