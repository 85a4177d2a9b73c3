"""Evidence of a stream of rows: particles that follow the posterior by stochastic gradients, chunk by chunk.

Two estimators share the dynamics. The annealed one (stochastic-gradient annealed importance sampling) brings in each
chunk along a path of powers of its likelihood and gathers importance weights; the sequential one scores a chunk by
the particles that have not seen it.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import check_choice, check_integer
from auxmc.kernels.streams import contract
from auxmc.kernels.streams.annealing_path import AnnealingPath, follow_path
from auxmc.kernels.streams.stochastic_gradient_moves import (
    no_anchors,
    renewed_anchors,
    stochastic_gradient_moves,
)
from auxmc.models.row_model import RowModel
from auxmc.numerics.annealing import annealing_increment, log_effective_size
from auxmc.numerics.array_types import FloatArray
from auxmc.sampling.resampling import systematic_indices

# The bias of a model with more parameters is not computed, and draws of the prior among which a typical one is found.
_MAX_PARAMETERS = 1000
_N_PRIOR_DRAWS = 256


def particle_evidence(
    model: RowModel,
    settings: contract.StreamSettings = contract.StreamSettings(),  # noqa: B008
    mover: contract.Mover | None = None,
    fetch: contract.Fetch | None = None,
) -> contract.Stream:
    """Makes the estimator of a model's evidence over a stream.

    Args:
        model: the model of a row.
        settings: see `StreamSettings`.
        mover: maps (key, particles [particle, dim], Target) to moved particles; stochastic-gradient Hamiltonian Monte
            Carlo by default. The estimate's expectation is the evidence where the mover leaves its target
            invariant and no schedule is adapted.
        fetch: where the default mover takes past rows from; from `PastRows.rows` unless given.

    Raises:
        ValueError: a setting is outside its range, or control variates are to be used with `fetch`.

    Source: MSc thesis, Algorithm 8 (annealed) and section 4.1 (sequential).
    """
    _check(settings)
    if settings.control_variates and fetch is not None:
        raise ValueError(
            "control_variates need all past rows in PastRows.rows, where anchors are renewed: they cannot be used with "
            "fetch"
        )
    move = mover or stochastic_gradient_moves(model, settings, fetch)
    log_n = math.log(settings.n_particles)
    log_target = math.log(settings.target_size) if settings.target_size > 1.0 else 0.0
    anneal = settings.estimator == "annealed"

    def init(key: Array, dtype: Any = jnp.float32) -> contract.StreamState:
        draws = jax.vmap(model.draw_prior)(jax.random.split(key, settings.n_particles)).astype(dtype)
        return contract.StreamState(
            draws,
            jnp.zeros(settings.n_particles, jnp.float64),
            jnp.zeros((), jnp.int64),
            no_anchors(draws) if settings.control_variates else None,
        )

    def absorb(
        key: Array, state: contract.StreamState, chunk: contract.Chunk, past: contract.PastRows
    ) -> tuple[contract.StreamState, contract.ChunkRecord]:
        n_rows = state.n_rows + chunk.n_valid.astype(jnp.int64)

        def advance(path: AnnealingPath) -> AnnealingPath:
            scores = _scores(model, path.particles, chunk)
            if anneal:
                increment = annealing_increment(scores, 1.0 - path.power, log_target)
                last = increment >= 1.0 - path.power
                power = jnp.where(last, 1.0, path.power + increment)
                log_weights = path.log_weights + jnp.where(jnp.isfinite(scores), increment * scores, -jnp.inf)
            else:
                increment, last = jnp.ones((), jnp.float64), jnp.ones((), bool)
                power = jnp.ones((), jnp.float64)
                log_weights = path.log_weights + jax.nn.logsumexp(scores) - log_n
            step_key = jax.random.fold_in(key, path.n_steps)
            particles, anchors, log_weights = _resample(
                settings, jax.random.fold_in(step_key, 0), path, log_weights, last
            )
            size = jnp.exp(log_effective_size(increment * scores))
            target = contract.Target(chunk, power, past, state.n_rows, anchors)
            return AnnealingPath(
                move(jax.random.fold_in(step_key, 1), particles, target),
                anchors,
                log_weights,
                power,
                path.n_steps + 1,
                jnp.minimum(path.smallest_size, size),
                jnp.where(path.n_steps == 0, increment, path.first_increment),
            )

        end = follow_path(state, advance, settings.max_annealing_steps)
        record = end.record(n_rows)
        anchors = end.anchors
        if anchors is not None:
            anchors = renewed_anchors(model, anchors, end.particles, chunk, past, state.n_rows)
        return contract.StreamState(end.particles, end.log_weights, n_rows, anchors), record

    return contract.Stream(init, absorb)


def remember(key: Array, past: contract.PastRows, chunk: contract.Chunk, n_rows: Array) -> contract.PastRows:
    """Stores a chunk among the past rows: all of it while there is room, afterwards as a uniform reservoir.

    Each row of the stream so far, of which `n_rows` came before the chunk, is stored with the same probability.

    Source: Vitter 1985, algorithm R.
    """
    capacity = past.rows.shape[0]
    numbers = n_rows + jnp.arange(chunk.rows.shape[0], dtype=jnp.int64)
    uniforms = jax.random.uniform(key, numbers.shape, dtype=jnp.float64)
    drawn = jnp.floor(uniforms * (numbers + 1).astype(jnp.float64)).astype(jnp.int64)
    slots = jnp.where(numbers < capacity, numbers, drawn)
    # Slots outside the array are dropped.
    slots = jnp.where(contract.counted_rows(chunk), slots, capacity)
    # Of several rows for one slot the last one counts, as if they had come one after the other.
    places = jnp.arange(1, slots.shape[0] + 1, dtype=jnp.int32)
    last = jnp.zeros(capacity + 1, jnp.int32).at[slots].max(places)
    slots = jnp.where(last[slots] == places, slots, capacity)
    rows = past.rows.at[slots].set(chunk.rows, mode="drop")
    stored = jnp.minimum(n_rows + chunk.n_valid.astype(jnp.int64), capacity)
    return contract.PastRows(rows, stored.astype(jnp.int32))


def bias_per_row(
    model: RowModel, settings: contract.StreamSettings, rows: FloatArray, key: Array
) -> float | None:
    """Returns the nats a row by which the annealed estimate falls short on a long stream.

    The noise of the gradients keeps particles as wide as a posterior of some thousand rows, however many there are:
    learning rate * trace of the information of a row / (4 * friction * batch size). The information is that of the
    first rows of the stream [row, column], at the one of some draws of the prior with the highest likelihood.

    Returns:
        None where that is not known: another estimator, other moves, resampling, cooling, control variates, many
        parameters.
    """
    kinds = (settings.estimator, settings.resampling, settings.dynamics)
    is_cooled = settings.cooling_rows is not None
    is_plain = kinds == ("annealed", "none", "sghmc") and not is_cooled and not settings.control_variates
    if not is_plain or model.dim > _MAX_PARAMETERS:
        return None
    data = jnp.asarray(rows)
    draws = jax.vmap(model.draw_prior)(jax.random.split(key, _N_PRIOR_DRAWS))
    scores = lax.map(lambda draw: jnp.sum(model.log_likelihood(draw, data)), draws)
    best = draws[jnp.argmax(jnp.where(jnp.isfinite(scores), scores, -jnp.inf))]
    weights = jnp.full(len(rows), 1.0 / len(rows), data.dtype)
    slope = jax.jacfwd(lambda point: model.weighted_gradient(point, data, weights))(best)
    trace = -float(jnp.trace(slope))
    if not math.isfinite(trace):
        return None
    return settings.learning_rate * trace / (4.0 * settings.friction * settings.batch_size)


def _scores(model: RowModel, particles: Array, chunk: contract.Chunk) -> Array:
    """Log likelihood of a chunk [particle], float64 in nats; minus infinity for a lost particle."""
    by_row = jax.vmap(model.log_likelihood, (0, None))(particles, chunk.rows)
    by_row = jnp.where(contract.counted_rows(chunk)[None, :], by_row, 0.0)
    total = jnp.sum(by_row, axis=1, dtype=jnp.float64)
    return jnp.where(jnp.isfinite(total), total, -jnp.inf)


def _resample(
    settings: contract.StreamSettings, key: Array, path: AnnealingPath, log_weights: Array, last: Array
) -> tuple[Array, contract.Anchors | None, Array]:
    """Particles, their anchors and weights, drawn again where the settings want it."""
    particles, anchors = path.particles, path.anchors
    if settings.resampling == "none" or settings.estimator == "sequential":
        return particles, anchors, log_weights
    n = settings.n_particles
    if settings.resampling == "always":
        wanted = jnp.ones((), bool)
    elif settings.resampling == "chunk":
        wanted = last
    else:
        wanted = log_effective_size(log_weights) < math.log(0.5 * n)
    chosen = jnp.where(wanted, systematic_indices(key, log_weights, n), jnp.arange(n, dtype=jnp.int32))
    if anchors is not None:
        anchors = anchors._replace(points=anchors.points[chosen], gradients=anchors.gradients[chosen])
    level = jnp.full_like(log_weights, jax.nn.logsumexp(log_weights) - math.log(n))
    return particles[chosen], anchors, jnp.where(wanted, level, log_weights)


def _check(settings: contract.StreamSettings) -> None:
    for name in ("n_moves", "batch_size", "max_annealing_steps"):
        check_integer(name, getattr(settings, name), 1)
    check_integer("n_particles", settings.n_particles, 2)
    check_choice("estimator", settings.estimator, contract.ESTIMATORS)
    check_choice("dynamics", settings.dynamics, contract.DYNAMICS)
    check_choice("resampling", settings.resampling, contract.RESAMPLING)
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
