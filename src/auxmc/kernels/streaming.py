"""Evidence of a stream of rows: particles that follow the posterior by stochastic gradients, chunk by chunk.

Two estimators share the dynamics. The annealed one (stochastic-gradient annealed importance sampling) brings in each
chunk along a path of powers of its likelihood and gathers importance weights; the sequential one scores a chunk by
the particles that have not seen it.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.stochastic_gradient import sghmc_step
from auxmc.models.row_model import RowModel
from auxmc.numerics.annealing import annealing_increment, log_effective_size

__all__ = [
    "ESTIMATORS",
    "RESAMPLING",
    "Chunk",
    "ChunkRecord",
    "Mover",
    "PastRows",
    "Stream",
    "StreamSettings",
    "StreamState",
    "Target",
    "remember",
    "stream_evidence",
]

ESTIMATORS = ("annealed", "sequential")
"""Importance weights along an annealing path for each chunk, or the mean likelihood of each chunk as it comes."""

RESAMPLING = ("none", "always", "effective_size", "chunk")
"""When particles are drawn anew in proportion to their weights; the published estimator never does."""


class StreamSettings(NamedTuple):
    """How a stream is absorbed.

    Attributes:
        estimator: one of ESTIMATORS.
        n_particles: at least 2.
        n_moves: stochastic-gradient steps after each change of the target.
        batch_size: past rows drawn for each step and particle, independently and with replacement.
        learning_rate: eta times the rows in the target.
        friction: alpha, in (0, 1].
        gradient_noise: see `stochastic_gradient.injected_noise`.
        target_size: effective sample size that an annealing step keeps; 1 or less brings in a chunk at once.
        resampling: one of RESAMPLING (annealed estimator).
        max_annealing_steps: after which a chunk is given up as it is, and counted.
        cooling_rows: rows from which on the learning rate falls in inverse proportion to the rows; None for never.
    """

    estimator: str = "annealed"
    n_particles: int = 10
    n_moves: int = 20
    batch_size: int = 500
    learning_rate: float = 0.1
    friction: float = 0.2
    gradient_noise: float = 0.0
    target_size: float = 5.0
    resampling: str = "none"
    max_annealing_steps: int = 1000
    cooling_rows: int | None = None


class PastRows(NamedTuple):
    """Where rows that have been absorbed are drawn from.

    Attributes:
        rows: [capacity, column]; only the first `n_stored` are meaningful.
        n_stored: rows to draw from (int32).
    """

    rows: Array
    n_stored: Array


class Chunk(NamedTuple):
    """Rows that come in together.

    Attributes:
        rows: [row, column]; those from `n_valid` on only fill up the array.
        n_valid: rows that count (int32), at least 1.
    """

    rows: Array
    n_valid: Array


class StreamState(NamedTuple):
    """State between chunks.

    Attributes:
        particles: parameters [particle, dim], in the precision of the rows.
        log_weights: annealed estimator: log importance weights [particle]; sequential estimator: all equal to the
            log evidence. Float64 in nats.
        n_rows: rows absorbed (int64).
    """

    particles: Array
    log_weights: Array
    n_rows: Array


class ChunkRecord(NamedTuple):
    """What became of a chunk.

    Attributes:
        n_rows: rows absorbed, this chunk included (int64).
        log_evidence: of all rows absorbed, float64 in nats.
        n_annealing_steps: changes of the target (int32).
        smallest_size: least effective size of the incremental weights of a step, in particles.
        weight_size: effective size of the accumulated weights at the end of the chunk, in particles.
        first_increment: of the annealing path.
        n_unfinished: 1 if the path was given up before its end, else 0 (int32).
        n_not_finite: particles that have been lost, from the beginning (int32).
    """

    n_rows: Array
    log_evidence: Array
    n_annealing_steps: Array
    smallest_size: Array
    weight_size: Array
    first_increment: Array
    n_unfinished: Array
    n_not_finite: Array


class Stream(NamedTuple):
    """An estimator as pure functions.

    Attributes:
        init: maps (key, dtype) to a StreamState of prior draws.
        absorb: maps (key, state, Chunk, PastRows) to (StreamState, ChunkRecord). Numbers depend on the key alone, so
            that a stream that is stopped and goes on gives the same record as one that was not.
    """

    init: Callable[[Array, Any], StreamState]
    absorb: Callable[[Array, StreamState, Chunk, PastRows], tuple[StreamState, ChunkRecord]]


class Target(NamedTuple):
    """What particles are moved towards: prior, rows of the past, and a power of the chunk's likelihood.

    Attributes:
        chunk: rows that come in.
        power: of the chunk's likelihood, in (0, 1] (float64).
        past: where past rows are drawn from.
        n_past: rows before the chunk (int64).
    """

    chunk: Chunk
    power: Array
    past: PastRows
    n_past: Array


Mover = Callable[[Array, Array, Target], Array]


def stream_evidence(
    model: RowModel,
    settings: StreamSettings = StreamSettings(),  # noqa: B008
    mover: Mover | None = None,
) -> Stream:
    """Makes the estimator of a model's evidence over a stream.

    Args:
        model: the model of a row.
        settings: see `StreamSettings`.
        mover: maps (key, particles [particle, dim], Target) to moved particles; stochastic-gradient Hamiltonian Monte
            Carlo by default. The estimate's expectation is the evidence where the mover leaves its target
            invariant and no schedule is adapted.

    Raises:
        ValueError: a setting is outside its range.

    Source: MSc thesis, Algorithm 8 (annealed) and section 4.1 (sequential).
    """
    _check(settings)
    move = mover or _stochastic_gradient_mover(model, settings)
    log_n = math.log(settings.n_particles)
    log_target = math.log(settings.target_size) if settings.target_size > 1.0 else 0.0
    anneal = settings.estimator == "annealed"

    def init(key: Array, dtype: Any = jnp.float32) -> StreamState:
        draws = jax.vmap(model.draw_prior)(jax.random.split(key, settings.n_particles))
        return StreamState(
            draws.astype(dtype),
            jnp.zeros(settings.n_particles, jnp.float64),
            jnp.zeros((), jnp.int64),
        )

    def absorb(
        key: Array, state: StreamState, chunk: Chunk, past: PastRows
    ) -> tuple[StreamState, ChunkRecord]:
        n_rows = state.n_rows + chunk.n_valid.astype(jnp.int64)

        def going(loop: _Loop) -> Array:
            return (loop.power < 1.0) & (loop.n_steps < settings.max_annealing_steps)

        def advance(loop: _Loop) -> _Loop:
            scores = _scores(model, loop.particles, chunk)
            if anneal:
                increment = annealing_increment(scores, 1.0 - loop.power, log_target)
                last = increment >= 1.0 - loop.power
                power = jnp.where(last, 1.0, loop.power + increment)
                log_weights = loop.log_weights + jnp.where(jnp.isfinite(scores), increment * scores, -jnp.inf)
            else:
                increment, last = jnp.ones((), jnp.float64), jnp.ones((), bool)
                power = jnp.ones((), jnp.float64)
                log_weights = loop.log_weights + jax.nn.logsumexp(scores) - log_n
            step_key = jax.random.fold_in(key, loop.n_steps)
            particles, log_weights = _resample(
                settings, jax.random.fold_in(step_key, 0), loop.particles, log_weights, last
            )
            size = jnp.exp(log_effective_size(increment * scores))
            return _Loop(
                move(jax.random.fold_in(step_key, 1), particles, Target(chunk, power, past, state.n_rows)),
                log_weights,
                power,
                loop.n_steps + 1,
                jnp.minimum(loop.smallest_size, size),
                jnp.where(loop.n_steps == 0, increment, loop.first_increment),
            )

        begin = _Loop(
            state.particles,
            state.log_weights,
            jnp.zeros((), jnp.float64),
            jnp.zeros((), jnp.int32),
            jnp.full((), settings.n_particles, jnp.float64),
            jnp.zeros((), jnp.float64),
        )
        end = lax.while_loop(going, advance, begin)
        lost = ~jnp.all(jnp.isfinite(end.particles), axis=1)
        record = ChunkRecord(
            n_rows,
            jax.nn.logsumexp(end.log_weights) - log_n,
            end.n_steps,
            end.smallest_size,
            jnp.exp(log_effective_size(end.log_weights)),
            end.first_increment,
            (end.power < 1.0).astype(jnp.int32),
            jnp.sum(lost, dtype=jnp.int32),
        )
        return StreamState(end.particles, end.log_weights, n_rows), record

    return Stream(init, absorb)


def remember(key: Array, past: PastRows, chunk: Chunk, n_rows: Array) -> PastRows:
    """Stores a chunk among the past rows: all of it while there is room, afterwards as a uniform reservoir.

    Args:
        key: of this chunk's draws.
        past: rows stored before.
        chunk: rows to store.
        n_rows: rows of the stream before the chunk (int64).

    Returns:
        Past rows of which each row of the stream so far is one with the same probability.

    Source: Vitter 1985, algorithm R.
    """
    capacity = past.rows.shape[0]
    numbers = n_rows + jnp.arange(chunk.rows.shape[0], dtype=jnp.int64)
    uniforms = jax.random.uniform(key, numbers.shape, dtype=jnp.float64)
    drawn = jnp.floor(uniforms * (numbers + 1).astype(jnp.float64)).astype(jnp.int64)
    slots = jnp.where(numbers < capacity, numbers, drawn)
    # Slots outside the array are dropped.
    slots = jnp.where(_valid(chunk), slots, capacity)
    # Of several rows for one slot the last one counts, as if they had come one after the other.
    later = jnp.triu(slots[:, None] == slots[None, :], 1).any(axis=1)
    slots = jnp.where(later, capacity, slots)
    rows = past.rows.at[slots].set(chunk.rows, mode="drop")
    stored = jnp.minimum(n_rows + chunk.n_valid.astype(jnp.int64), capacity)
    return PastRows(rows, stored.astype(jnp.int32))


class _Loop(NamedTuple):
    particles: Array
    log_weights: Array
    power: Array
    n_steps: Array
    smallest_size: Array
    first_increment: Array


def _step_size(settings: StreamSettings, n_rows: Array) -> Array:
    rate = settings.learning_rate / n_rows.astype(jnp.float64)
    if settings.cooling_rows is None:
        return rate
    return rate * jnp.minimum(1.0, settings.cooling_rows / n_rows.astype(jnp.float64))


def _scores(model: RowModel, particles: Array, chunk: Chunk) -> Array:
    """Log likelihood of the chunk at each particle [particle], float64; minus infinity for a lost particle."""
    by_row = jax.vmap(model.log_likelihood, (0, None))(particles, chunk.rows)
    by_row = jnp.where(_valid(chunk)[None, :], by_row, 0.0)
    total = jnp.sum(by_row, axis=1, dtype=jnp.float64)
    return jnp.where(jnp.isfinite(total), total, -jnp.inf)


def _valid(chunk: Chunk) -> Array:
    return jnp.arange(chunk.rows.shape[0], dtype=jnp.int32) < chunk.n_valid


def _resample(
    settings: StreamSettings, key: Array, particles: Array, log_weights: Array, last: Array
) -> tuple[Array, Array]:
    if settings.resampling == "none" or settings.estimator == "sequential":
        return particles, log_weights
    n = settings.n_particles
    if settings.resampling == "always":
        wanted = jnp.ones((), bool)
    elif settings.resampling == "chunk":
        wanted = last
    else:
        wanted = log_effective_size(log_weights) < math.log(0.5 * n)
    total = jax.nn.logsumexp(log_weights)
    # Systematic: one uniform number for all.
    heights = (jnp.arange(n, dtype=jnp.float64) + jax.random.uniform(key, dtype=jnp.float64)) / n
    chosen = jnp.minimum(jnp.searchsorted(jnp.cumsum(jnp.exp(log_weights - total)), heights), n - 1)
    level = jnp.full_like(log_weights, total - math.log(n))
    return (
        jnp.where(wanted, particles[chosen], particles),
        jnp.where(wanted, level, log_weights),
    )


def _stochastic_gradient_mover(model: RowModel, settings: StreamSettings) -> Mover:
    """Stochastic-gradient Hamiltonian Monte Carlo.

    Past rows of all steps are gathered at once, each particle having its own: particles that share rows
    make the same errors, which averaging over them would not remove.
    """

    def move(key: Array, particles: Array, target: Target) -> Array:
        dtype = particles.dtype
        n_particles, dim = particles.shape
        shape = (settings.n_moves, n_particles)
        row_key, noise_key, velocity_key = (jax.random.fold_in(key, i) for i in range(3))
        chosen = jax.random.randint(
            row_key, (*shape, settings.batch_size), 0, jnp.maximum(target.past.n_stored, 1), jnp.int32
        )
        normals = jax.random.normal(noise_key, (*shape, dim), dtype)
        eta = _step_size(settings, target.n_past + target.chunk.n_valid.astype(jnp.int64))
        velocity = jnp.sqrt(eta).astype(dtype) * jax.random.normal(velocity_key, (n_particles, dim), dtype)
        eta = eta.astype(dtype)
        chunk_weights = jnp.where(_valid(target.chunk), target.power, 0.0).astype(dtype)
        # Nothing of the past enters before there is one.
        past_weights = jnp.full(settings.batch_size, target.n_past / settings.batch_size, dtype)

        def gradient(particle: Array, batch: Array) -> Array:
            fitted = model.weighted_gradient(particle, target.chunk.rows, chunk_weights)
            remembered = model.weighted_gradient(particle, batch, past_weights)
            return -(fitted + remembered + jax.grad(model.log_prior)(particle))

        def one(state: tuple[Array, Array], given: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
            position, velocity = state
            batch, normal = given
            slope = jax.vmap(gradient)(position, batch)
            return (
                sghmc_step(
                    position, velocity, slope, normal, eta, settings.friction, settings.gradient_noise
                ),
                None,
            )

        (moved, _), _ = lax.scan(one, (particles, velocity), (target.past.rows[chosen], normals))
        return moved

    return move


def _check(settings: StreamSettings) -> None:
    for name in ("n_moves", "batch_size", "max_annealing_steps"):
        if getattr(settings, name) < 1:
            raise ValueError(f"{name} must be at least 1, got {getattr(settings, name)}")
    if settings.n_particles < 2:
        raise ValueError(f"n_particles must be at least 2, got {settings.n_particles}")
    if settings.estimator not in ESTIMATORS:
        raise ValueError(f"estimator must be one of {', '.join(ESTIMATORS)}, got {settings.estimator!r}")
    if settings.resampling not in RESAMPLING:
        raise ValueError(f"resampling must be one of {', '.join(RESAMPLING)}, got {settings.resampling!r}")
    if not settings.learning_rate > 0.0 or not 0.0 < settings.friction <= 1.0:
        raise ValueError(
            f"learning_rate must be positive and friction in (0, 1], got {settings.learning_rate} and "
            f"{settings.friction}"
        )
    if settings.target_size >= settings.n_particles:
        raise ValueError(
            f"target_size must be below n_particles={settings.n_particles}, got {settings.target_size}: no step "
            "of any length keeps the weights of all particles equal"
        )
