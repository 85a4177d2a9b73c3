"""Evidence by sequential Monte Carlo over growing data: particles are weighted by chunks of rows and moved under all
rows so far."""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import HMCState, hamiltonian_monte_carlo
from auxmc.kernels.streams.contract import (
    Chunk,
    Mover,
    PastRows,
    Stream,
    StreamSettings,
    StreamState,
    Target,
)
from auxmc.kernels.streams.published_estimators import stream_evidence
from auxmc.models.row_model import RowModel
from auxmc.numerics.row_blocks import BLOCK_ROWS, map_over_rows, row_total

__all__ = [
    "GrowingDataRecord",
    "GrowingDataRun",
    "GrowingDataSettings",
    "chunk_boundaries",
    "growing_data_evidence",
]

_WANTED_ACCEPTANCE = 0.8
_ADAPTATION = 0.5
# Draws that the covariance of the last chunk is worth when that of the next one is estimated.
_MEMORY = 2.0
# Folded into the keys of a pilot.
_PILOT = 1_000


class GrowingDataSettings(NamedTuple):
    """How rows come in and particles are moved.

    Attributes:
        n_particles: at least 2.
        own_pilot: whether as many further particles, whose weights do not count, tune the moves. The estimate's
            expectation is then the evidence. Particles that tune their own moves make it too large on average: by half
            for 200 particles on nine rows of a mixture.
        first_chunk: rows of the first chunk.
        growth: rows of a later chunk, as a share of the rows before it (at least one row).
        largest_chunk: rows that no chunk exceeds.
        resampling: as in `StreamSettings`.
        move_always: whether particles move after every chunk (published), or only where the effective size of the
            weights has fallen below half the particles or resampling has just taken place.
        n_moves: Hamiltonian moves after a chunk.
        n_leapfrog: leapfrog steps of a move, whose length is at most a quarter of a period.
        block_rows: rows worked on at once.
    """

    n_particles: int = 200
    own_pilot: bool = True
    first_chunk: int = 1
    growth: float = 0.25
    largest_chunk: int = 500
    resampling: str = "effective_size"
    move_always: bool = True
    n_moves: int = 3
    n_leapfrog: int = 3
    block_rows: int = BLOCK_ROWS


class GrowingDataRecord(NamedTuple):
    """What became of each chunk [chunk].

    Attributes:
        n_rows: rows absorbed, the chunk included (int64).
        log_evidence: of all rows absorbed, float64 in nats.
        log_predictive: of the chunk given the rows before it, in nats; they sum to the log evidence.
        n_annealing_steps: 1, since a chunk comes in whole (int32).
        increment_size: effective size of the weights that the chunk alone gives, in particles.
        weight_size: effective size of the accumulated weights after the chunk and resampling, in particles.
        n_resampled: 1 where particles were drawn anew, else 0 (int32).
        n_moves: moves of each particle (int32).
        acceptance: mean probability of accepting a move, particles counting by their weights; 1 where there was no
            move, or for a mover that was given.
        step_size: of the leapfrog steps after the chunk, in standard deviations of the particles.
        n_likelihood_rows: likelihoods of rows evaluated for weights, those of a pilot included (int64).
        n_gradient_rows: gradients of rows evaluated, each with its likelihood, those of a pilot included (int64).
        n_not_finite: particles that are not finite (int32).
    """

    n_rows: Array
    log_evidence: Array
    log_predictive: Array
    n_annealing_steps: Array
    increment_size: Array
    weight_size: Array
    n_resampled: Array
    n_moves: Array
    acceptance: Array
    step_size: Array
    n_likelihood_rows: Array
    n_gradient_rows: Array
    n_not_finite: Array


class GrowingDataRun(NamedTuple):
    """What a run left behind.

    Attributes:
        log_evidence: of all rows, float64 in nats.
        record: see `GrowingDataRecord`.
        particles: float64 [particle, dim], for the posterior of all rows.
        log_weights: of these [particle].
    """

    log_evidence: Array
    record: GrowingDataRecord
    particles: Array
    log_weights: Array


def chunk_boundaries(n_rows: int, settings: GrowingDataSettings) -> tuple[int, ...]:
    """Rows absorbed after each chunk, the last one being all.

    >>> chunk_boundaries(20, GrowingDataSettings(first_chunk=4, growth=0.5, largest_chunk=6))
    (4, 6, 9, 13, 19, 20)
    """
    boundaries = [min(settings.first_chunk, n_rows)]
    while boundaries[-1] < n_rows:
        size = min(max(1, int(settings.growth * boundaries[-1])), settings.largest_chunk)
        boundaries.append(min(boundaries[-1] + size, n_rows))
    return tuple(boundaries)


def growing_data_evidence(
    model: RowModel,
    settings: GrowingDataSettings = GrowingDataSettings(),  # noqa: B008
    mover: Mover | None = None,
) -> Callable[[Array, Array], GrowingDataRun]:
    """Makes a run of sequential Monte Carlo with data tempering.

    Particles are moved by Hamiltonian Monte Carlo on the posterior of all rows absorbed, in coordinates in which their
    covariance is the identity; the step size follows the acceptance. Covariance and step size are those of a pilot, see
    `GrowingDataSettings`. Moves cost time in proportion to the rows
    absorbed, so that chunks of a fixed size cost the square of the number of rows, chunks that grow with the rows
    (a large `largest_chunk`) their number.

    Args:
        model: the model of a row.
        settings: see `GrowingDataSettings`.
        mover: in place of the moves: maps (key, particles [particle, dim], Target) to moved particles. Its work is
            not counted, and no pilot runs. The estimate's expectation is the evidence at every prefix where the mover
            leaves its target invariant.

    Returns:
        Function of a key and of rows [row, column], in float32 or float64. Rows are worked on in their own precision;
        particles, sums over rows and weights are float64.

    Raises:
        ValueError: a setting is outside its range, or there is no row.

    Source: MSc thesis, Algorithm 7; Chopin 2002.
    """
    _check(settings)
    weigh = stream_evidence(
        _in_blocks(model, settings.block_rows),
        StreamSettings(
            n_particles=settings.n_particles,
            # A chunk comes in whole.
            target_size=1.0,
            max_annealing_steps=1,
            resampling=settings.resampling,
        ),
        # Moves are made apart, since they have a record and adapt.
        mover=lambda key, particles, target: particles,
    )
    if mover is not None:
        settings = settings._replace(own_pilot=False)
    move = _given_moves(mover) if mover is not None else _hamiltonian_moves(model, settings)

    def run(key: Array, rows: Array) -> GrowingDataRun:
        boundaries = np.asarray(chunk_boundaries(rows.shape[0], settings))
        begins = np.concatenate([[0], boundaries[:-1]])
        size = int(np.max(boundaries - begins))
        absorb = _absorb(settings, weigh, move, rows, size)
        state = weigh.init(jax.random.fold_in(key, 0), jnp.float64)
        pilot = weigh.init(jax.random.fold_in(key, _PILOT), jnp.float64) if settings.own_pilot else None
        covariance = _moments(state if pilot is None else pilot)[1]
        begin = _Carry(state, pilot, covariance, jnp.full((), _longest_step(settings), jnp.float64))
        numbers = jnp.arange(1, len(boundaries) + 1, dtype=jnp.uint32)
        given = (
            jax.vmap(lambda number: jax.random.fold_in(key, number))(numbers),
            jnp.asarray(begins, jnp.int32),
            jnp.asarray(boundaries, jnp.int32),
        )
        end, record = lax.scan(absorb, begin, given)
        return GrowingDataRun(record.log_evidence[-1], record, end.state.particles, end.state.log_weights)

    return run


class _Carry(NamedTuple):
    """Particles that count and, unless they tune their own moves, those of the pilot; what has been tuned."""

    state: StreamState
    pilot: StreamState | None
    covariance: Array
    step_size: Array


class _Moved(NamedTuple):
    particles: Array
    of_pilot: Array | None
    covariance: Array
    step_size: Array
    acceptance: Array
    n_gradients: Array


# Maps (key, carry after weighting, target of the moves, all rows) to moved particles.
_Moves = Callable[[Array, _Carry, Target, Array], _Moved]


def _absorb(
    settings: GrowingDataSettings, weigh: Stream, move: _Moves, rows: Array, size: int
) -> Callable[[_Carry, tuple[Array, Array, Array]], tuple[_Carry, GrowingDataRecord]]:
    n_particles = settings.n_particles

    def absorb(carry: _Carry, given: tuple[Array, Array, Array]) -> tuple[_Carry, GrowingDataRecord]:
        key, begin, end = given
        numbers = jnp.minimum(begin + jnp.arange(size, dtype=jnp.int32), rows.shape[0] - 1)
        chunk, past = Chunk(rows[numbers], end - begin), PastRows(rows, begin)
        state, found = weigh.absorb(jax.random.fold_in(key, 0), carry.state, chunk, past)
        before = jax.nn.logsumexp(carry.state.log_weights) - math.log(n_particles)
        resampled = jnp.any(state.particles != carry.state.particles)
        pilot = carry.pilot
        if pilot is not None:
            pilot, _ = weigh.absorb(jax.random.fold_in(key, _PILOT), pilot, chunk, past)
        carry_in = carry._replace(state=state, pilot=pilot)
        target = Target(chunk, jnp.ones((), jnp.float64), past, begin.astype(jnp.int64))

        def moved() -> _Moved:
            return move(jax.random.fold_in(key, 1), carry_in, target, rows)

        def kept() -> _Moved:
            of_pilot = None if pilot is None else pilot.particles
            zero = jnp.zeros((), jnp.int64)
            one = jnp.ones((), jnp.float64)
            return _Moved(state.particles, of_pilot, carry.covariance, carry.step_size, one, zero)

        wanted = resampled | (found.weight_size < 0.5 * n_particles)
        after = moved() if settings.move_always else lax.cond(wanted, moved, kept)
        n_moves = settings.n_moves * (wanted | settings.move_always).astype(jnp.int32)
        lost = ~jnp.all(jnp.isfinite(after.particles), axis=1)
        record = GrowingDataRecord(
            found.n_rows,
            found.log_evidence,
            jnp.where(jnp.isfinite(found.log_evidence), found.log_evidence - before, -jnp.inf),
            found.n_annealing_steps,
            found.smallest_size,
            found.weight_size,
            resampled.astype(jnp.int32),
            n_moves,
            after.acceptance,
            after.step_size,
            (1 + settings.own_pilot) * n_particles * (end - begin).astype(jnp.int64),
            after.n_gradients * end.astype(jnp.int64),
            jnp.sum(lost, dtype=jnp.int32),
        )
        state = state._replace(particles=after.particles)
        if pilot is not None:
            pilot = pilot._replace(particles=after.of_pilot)
        return _Carry(state, pilot, after.covariance, after.step_size), record

    return absorb


def _given_moves(mover: Mover) -> _Moves:
    def move(key: Array, carry: _Carry, target: Target, rows: Array) -> _Moved:
        particles = mover(key, carry.state.particles, target)
        zero = jnp.zeros((), jnp.int64)
        return _Moved(particles, None, carry.covariance, carry.step_size, jnp.ones((), jnp.float64), zero)

    return move


def _hamiltonian_moves(model: RowModel, settings: GrowingDataSettings) -> _Moves:
    total = row_total(model.log_likelihood, model.weighted_gradient, settings.block_rows)

    def move(key: Array, carry: _Carry, target: Target, rows: Array) -> _Moved:
        tuned_on = carry.state if carry.pilot is None else carry.pilot
        n_rows = target.past.n_stored + target.chunk.n_valid
        mean, covariance = _moments(tuned_on)
        # With few effective particles the last covariance counts, narrowed as a posterior is by its rows.
        size = 1.0 / jnp.maximum(jnp.sum(jnp.square(_weights(tuned_on))), 1.0 / settings.n_particles)
        share = jnp.maximum(target.n_past, 1).astype(jnp.float64) / n_rows.astype(jnp.float64)
        narrowed = carry.covariance * share
        covariance = (size * covariance + _MEMORY * narrowed) / (size + _MEMORY)
        factor = jnp.linalg.cholesky(covariance)

        def log_density(standard: Array) -> Array:
            particle = mean + jnp.matmul(factor, standard)
            return total(particle, rows, n_rows) + model.log_prior(particle)

        def kernel(step_size: Array) -> Kernel:
            return hamiltonian_monte_carlo(log_density, step_size, settings.n_leapfrog, model.dim)

        def moved(key: Array, state: StreamState, *, tunes: bool) -> tuple[Array, Array, Array, Array]:
            weights = _weights(state)

            def one(
                given: tuple[HMCState, Array], key: Array
            ) -> tuple[tuple[HMCState, Array], tuple[Array, Array]]:
                states, step_size = given
                keys = jax.random.split(key, settings.n_particles)
                states, info = jax.vmap(kernel(step_size).step)(keys, states)
                acceptance = jnp.sum(weights * info.acceptance_probability)
                changed = step_size * jnp.exp(_ADAPTATION * (acceptance - _WANTED_ACCEPTANCE))
                if tunes:
                    step_size = jnp.minimum(changed, _longest_step(settings))
                return (states, step_size), (acceptance, jnp.sum(info.n_gradients, dtype=jnp.int64))

            standard = jax.scipy.linalg.solve_triangular(
                factor, (state.particles - mean[None, :]).T, lower=True
            ).T
            begin = jax.vmap(kernel(carry.step_size).init, (None, 0))(key, standard)
            keys = jax.random.split(key, settings.n_moves)
            (end, step_size), (acceptance, n_gradients) = lax.scan(one, (begin, carry.step_size), keys)
            particles = mean[None, :] + jnp.matmul(end.position, factor.T)
            return particles, step_size, jnp.mean(acceptance), settings.n_particles + jnp.sum(n_gradients)

        if carry.pilot is None:
            particles, step_size, acceptance, n_gradients = moved(key, carry.state, tunes=True)
            return _Moved(particles, None, covariance, step_size, acceptance, n_gradients)
        of_pilot, step_size, _, n_more = moved(jax.random.fold_in(key, _PILOT), carry.pilot, tunes=True)
        # The step that the pilot had come to before the chunk: nothing depends on the particles that it moves.
        particles, _, acceptance, n_gradients = moved(key, carry.state, tunes=False)
        return _Moved(particles, of_pilot, covariance, step_size, acceptance, n_gradients + n_more)

    return move


def _longest_step(settings: GrowingDataSettings) -> float:
    """Step of trajectories of a quarter of a period, after which a normal position is independent of its start."""
    return 0.5 * math.pi / settings.n_leapfrog


def _weights(state: StreamState) -> Array:
    """Normalised weights [particle]; zero for particles that are lost, and for all where none has a likelihood."""
    usable = jnp.isfinite(state.log_weights) & jnp.all(jnp.isfinite(state.particles), axis=1)
    log_weights = jnp.where(usable, state.log_weights, -jnp.inf)
    largest = jnp.max(log_weights)
    weights = jnp.exp(log_weights - jnp.where(jnp.isfinite(largest), largest, 0.0))
    return weights / jnp.maximum(jnp.sum(weights), 1e-300)


def _moments(state: StreamState) -> tuple[Array, Array]:
    """Mean [dim] and covariance [dim, dim] of the particles, correlations shrunk as their number requires."""
    weights = _weights(state)
    particles = jnp.where(weights[:, None] > 0.0, state.particles, 0.0)
    mean = jnp.matmul(weights, particles)
    centred = (particles - mean[None, :]) * jnp.sqrt(weights)[:, None]
    covariance = jnp.matmul(centred.T, centred)
    dim = mean.shape[0]
    share = dim / (dim + 1.0 / jnp.maximum(jnp.sum(jnp.square(weights)), 1e-300))
    return mean, covariance * (1.0 - share) + share * jnp.diag(jnp.diagonal(covariance))


def _in_blocks(model: RowModel, block_rows: int) -> RowModel:
    """The model with likelihoods worked out in the precision of the rows, block by block: chunks may be long."""

    def log_likelihood(parameters: Array, rows: Array) -> Array:
        here = parameters.astype(rows.dtype)
        return map_over_rows(lambda block: model.log_likelihood(here, block), rows, block_rows)

    return model._replace(log_likelihood=log_likelihood)


def _check(settings: GrowingDataSettings) -> None:
    for name in ("first_chunk", "largest_chunk", "n_moves", "n_leapfrog", "block_rows"):
        if getattr(settings, name) < 1:
            raise ValueError(f"{name} must be at least 1, got {getattr(settings, name)}")
    if settings.growth < 0.0:
        raise ValueError(f"growth must not be negative, got {settings.growth}")
