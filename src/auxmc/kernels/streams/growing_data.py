"""Evidence by sequential Monte Carlo over growing data.

Particles are weighted by chunks of rows and moved under all rows so far.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from auxmc.kernels.base import Kernel, check_choice, check_integer, select
from auxmc.kernels.hamiltonian.hmc import HMCState, hmc
from auxmc.kernels.streams.annealing_path import n_lost
from auxmc.kernels.streams.contract import RESAMPLING, Chunk, Mover, PastRows, StreamState, Target
from auxmc.models.row_model import RowModel
from auxmc.numerics.annealing import annealing_increment, log_effective_size
from auxmc.numerics.row_blocks import BLOCK_ROWS, row_total
from auxmc.sampling.importance import log_mean_weight
from auxmc.sampling.resampling import systematic_indices

_WANTED_ACCEPTANCE = 0.8
_ADAPTATION = 0.5
# Powers of a chunk after which the rest comes in at once.
_MAX_STEPS = 1000
# Draws that the covariance of the last chunk is worth when that of the next one is estimated.
_MEMORY = 2.0


class GrowingDataSettings(NamedTuple):
    """How rows come in and particles are moved.

    Attributes:
        n_particles: at least 2.
        own_pilot: whether as many further particles, whose weights do not count, tune the moves. The estimate's
            expectation is then the evidence. Particles that tune their own moves make it too large on average: by half
            for 200 particles on nine rows of a mixture.
        first_chunk: rows of the first chunk.
        growth: rows of a later chunk, as a fraction of the rows before it (at least one row).
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
    """What became of each chunk [chunk]."""

    n_rows: Array  # rows absorbed, the chunk included (int64)
    log_evidence: Array  # of all rows absorbed, float64 in nats
    log_predictive: Array  # of the chunk given the rows before it, in nats; they sum to the log evidence
    n_annealing_steps: Array  # powers by which the chunk came in; 1 where it came in whole (int32)
    increment_size: Array  # smallest effective size of the weights that a step alone gives, in particles
    # Effective size of the accumulated weights after the chunk and resampling, in particles.
    weight_size: Array
    n_resampled: Array  # steps at which particles were drawn again (int32)
    n_moves: Array  # moves of each particle (int32)
    # Mean probability of accepting a move of the last step, particles counting by their weights; 1 where there was no
    # move, or for a mover that was given.
    acceptance: Array
    step_size: Array  # of the leapfrog steps after the chunk, in standard deviations of the particles
    n_likelihood_rows: Array  # likelihoods of rows evaluated for weights, those of a pilot included (int64)
    # Gradients of rows evaluated, each with its likelihood, those of a pilot included (int64).
    n_gradient_rows: Array
    n_not_finite: Array  # particles that are not finite (int32)


class GrowingDataRun(NamedTuple):
    """What a run left behind."""

    log_evidence: Array  # of all rows, float64 in nats
    record: GrowingDataRecord  # see `GrowingDataRecord`
    particles: Array  # float64 [particle, dim], for the posterior of all rows
    log_weights: Array  # of these [particle]


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

    A chunk that would leave less than half of the particles in effect comes in by powers of its likelihood, with moves
    after each: a single row of inputs on large scales narrows the posterior by orders of magnitude. Particles are moved
    by Hamiltonian Monte Carlo on the posterior of all rows absorbed, in coordinates in which their covariance is the
    identity; the step size follows the acceptance. Powers, covariance and step size are those of a pilot, see
    `GrowingDataSettings`. Moves cost time in proportion to the rows absorbed, so that chunks of a fixed size cost the
    square of the number of rows, chunks that grow with the rows (a large `largest_chunk`) their number.

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
    for name in ("first_chunk", "largest_chunk", "n_moves", "n_leapfrog", "block_rows"):
        check_integer(name, getattr(settings, name), 1)
    check_integer("n_particles", settings.n_particles, 2)
    check_choice("resampling", settings.resampling, RESAMPLING)
    if settings.growth < 0.0:
        raise ValueError(f"growth must not be negative, got {settings.growth}")
    if mover is not None:
        settings = settings._replace(own_pilot=False)
    move = _given_moves(mover) if mover is not None else _hamiltonian_moves(model, settings)

    def run(key: Array, rows: Array) -> GrowingDataRun:
        boundaries = np.asarray(chunk_boundaries(rows.shape[0], settings))
        begins = np.concatenate([[0], boundaries[:-1]])
        size = int(np.max(boundaries - begins))
        absorb = _absorb(model, settings, move, rows, size)

        n_populations = 1 + settings.own_pilot
        keys = jax.random.split(jax.random.fold_in(key, 0), (n_populations, settings.n_particles))
        states = StreamState(
            jax.vmap(jax.vmap(model.draw_prior))(keys).astype(jnp.float64),
            jnp.zeros(keys.shape, jnp.float64),
            jnp.zeros(n_populations, jnp.int64),
        )
        covariance = _moments(jax.tree.map(lambda leaf: leaf[-1], states))[1]
        begin = _Carry(states, covariance, jnp.full((), _longest_step(settings), jnp.float64))
        numbers = jnp.arange(1, len(boundaries) + 1, dtype=jnp.uint32)
        given = (
            jax.vmap(lambda number: jax.random.fold_in(key, number))(numbers),
            jnp.asarray(begins, jnp.int32),
            jnp.asarray(boundaries, jnp.int32),
        )
        end, record = lax.scan(absorb, begin, given)
        return GrowingDataRun(
            record.log_evidence[-1], record, end.states.particles[0], end.states.log_weights[0]
        )

    return run


class _Carry(NamedTuple):
    """Particles that count, then those of a pilot if there is one [population, ...]; what the last of them tuned."""

    states: StreamState
    covariance: Array
    step_size: Array


_Moved = tuple[_Carry, Array, Array]
# Maps (key, carry after weighting, target) to the carry after the moves, their acceptance and number of gradients.
_Moves = Callable[[Array, _Carry, Target], _Moved]


class _Loop(NamedTuple):
    """What goes from one power of a chunk to the next, and the counts of its record."""

    carry: _Carry
    power: Array
    n_steps: Array
    increment_size: Array
    n_resampled: Array
    n_move_steps: Array
    acceptance: Array
    n_gradients: Array


def _absorb(
    model: RowModel, settings: GrowingDataSettings, move: _Moves, rows: Array, size: int
) -> Callable[[_Carry, tuple[Array, Array, Array]], tuple[_Carry, GrowingDataRecord]]:
    n_particles = settings.n_particles
    total = row_total(model.log_likelihood, model.weighted_gradient, settings.block_rows)
    log_half = math.log(0.5 * n_particles)

    def weighted(key: Array, state: StreamState, added: Array, last: Array) -> tuple[StreamState, Array]:
        state = state._replace(log_weights=state.log_weights + added)
        if settings.resampling == "none":
            return state, jnp.zeros((), bool)
        # Between two powers always: the next one starts from equal weights.
        wanted = ~last | (log_effective_size(state.log_weights) < log_half)
        wanted = wanted | (settings.resampling != "effective_size")
        chosen = systematic_indices(key, state.log_weights, n_particles)
        level = jnp.full(n_particles, log_mean_weight(state.log_weights))
        drawn = state._replace(particles=state.particles[chosen], log_weights=level)
        return select(wanted, drawn, state), wanted

    def absorb(carry: _Carry, given: tuple[Array, Array, Array]) -> tuple[_Carry, GrowingDataRecord]:
        key, begin, end = given
        numbers = jnp.minimum(begin + jnp.arange(size, dtype=jnp.int32), rows.shape[0] - 1)
        chunk, past = Chunk(rows[numbers], end - begin), PastRows(rows, begin)

        def advance(loop: _Loop) -> _Loop:
            key_of_step, states = jax.random.fold_in(key, loop.n_steps), loop.carry.states
            scores = jax.vmap(jax.vmap(lambda x: total(x, chunk.rows, chunk.n_valid)))(states.particles)
            scores = jnp.where(jnp.isfinite(scores), scores, -jnp.inf)
            remaining = 1.0 - loop.power
            # Without resampling no step of a path is better than the whole of it; nor where no particle explains the
            # chunk.
            whole = (loop.n_steps + 1 >= _MAX_STEPS) | jnp.all(jnp.isneginf(scores[-1]))
            log_least = jnp.where(whole | (settings.resampling == "none"), -jnp.inf, log_half)
            increment = annealing_increment(scores[-1], remaining, log_least, states.log_weights[-1])
            last = increment >= remaining
            power = jnp.where(last, 1.0, loop.power + increment)
            added = jnp.where(jnp.isfinite(scores), increment * scores, -jnp.inf)
            keys = jax.random.split(jax.random.fold_in(key_of_step, 0), len(scores))
            states, resampled = jax.vmap(weighted, (0, 0, 0, None))(keys, states, added, last)
            carry = loop.carry._replace(states=states)

            def moved() -> _Moved:
                target = Target(chunk, power, past, begin.astype(jnp.int64))
                return move(jax.random.fold_in(key_of_step, 1), carry, target)

            def kept() -> _Moved:
                return carry, jnp.ones((), jnp.float64), jnp.zeros((), jnp.int64)

            uneven = log_effective_size(states.log_weights[0]) < log_half
            wanted = resampled[0] | uneven | settings.move_always
            carry, acceptance, n_gradients = lax.cond(wanted, moved, kept)
            return _Loop(
                carry,
                power,
                loop.n_steps + 1,
                jnp.minimum(loop.increment_size, jnp.exp(log_effective_size(added[0]))),
                loop.n_resampled + resampled[0].astype(jnp.int32),
                loop.n_move_steps + wanted.astype(jnp.int32),
                acceptance,
                loop.n_gradients + n_gradients,
            )

        none, one = jnp.zeros((), jnp.int32), jnp.ones((), jnp.float64)
        start = _Loop(carry, 0.0 * one, none, n_particles * one, none, none, one, jnp.zeros((), jnp.int64))
        loop = lax.while_loop(lambda loop: loop.power < 1.0, advance, start)
        log_weights = loop.carry.states.log_weights[0]
        before, log_evidence = map(log_mean_weight, (carry.states.log_weights[0], log_weights))
        n_rows, n_weighted = end.astype(jnp.int64), ((end - begin) * loop.n_steps).astype(jnp.int64)
        record = GrowingDataRecord(
            n_rows,
            log_evidence,
            jnp.where(jnp.isfinite(log_evidence), log_evidence - before, -jnp.inf),
            loop.n_steps,
            loop.increment_size,
            jnp.exp(log_effective_size(log_weights)),
            loop.n_resampled,
            settings.n_moves * loop.n_move_steps,
            loop.acceptance,
            loop.carry.step_size,
            (1 + settings.own_pilot) * n_particles * n_weighted,
            loop.n_gradients * n_rows,
            n_lost(loop.carry.states.particles[0]),
        )
        return loop.carry, record

    return absorb


def _given_moves(mover: Mover) -> _Moves:
    def move(key: Array, carry: _Carry, target: Target) -> _Moved:
        states = carry.states._replace(particles=mover(key, carry.states.particles[0], target)[None])
        return carry._replace(states=states), jnp.ones((), jnp.float64), jnp.zeros((), jnp.int64)

    return move


def _hamiltonian_moves(model: RowModel, settings: GrowingDataSettings) -> _Moves:
    total = row_total(model.log_likelihood, model.weighted_gradient, settings.block_rows)

    def move(key: Array, carry: _Carry, target: Target) -> _Moved:
        tuned_on = jax.tree.map(lambda leaf: leaf[-1], carry.states)
        past, chunk = target.past, target.chunk
        n_rows = past.n_stored + chunk.n_valid
        mean, covariance = _moments(tuned_on)
        # With few effective particles the last covariance counts, narrowed as a posterior is by its rows.
        size = 1.0 / jnp.maximum(jnp.sum(jnp.square(_weights(tuned_on))), 1.0 / settings.n_particles)
        fraction = jnp.maximum(target.n_past, 1).astype(jnp.float64) / n_rows.astype(jnp.float64)
        narrowed = carry.covariance * fraction
        covariance = (size * covariance + _MEMORY * narrowed) / (size + _MEMORY)
        factor = jnp.linalg.cholesky(covariance)

        def log_density(standard: Array) -> Array:
            particle = mean + jnp.matmul(factor, standard)
            of_chunk = target.power * total(particle, chunk.rows, chunk.n_valid)
            return total(particle, past.rows, past.n_stored) + of_chunk + model.log_prior(particle)

        def kernel(step_size: Array) -> Kernel:
            return hmc(log_density, step_size, settings.n_leapfrog, model.dim)

        def moved(key: Array, state: StreamState, tunes: Array) -> tuple[Array, Array, Array, Array]:
            weights = _weights(state)

            def one(
                given: tuple[HMCState, Array], key: Array
            ) -> tuple[tuple[HMCState, Array], tuple[Array, Array]]:
                states, step_size = given
                keys = jax.random.split(key, settings.n_particles)
                states, info = jax.vmap(kernel(step_size).step)(keys, states)
                acceptance = jnp.sum(weights * info.acceptance_rate)
                changed = step_size * jnp.exp(_ADAPTATION * (acceptance - _WANTED_ACCEPTANCE))
                # Particles that count keep the step that the pilot had come to: nothing depends on those it moves.
                step_size = jnp.where(tunes, jnp.minimum(changed, _longest_step(settings)), step_size)
                return (states, step_size), (acceptance, jnp.sum(info.n_gradients, dtype=jnp.int64))

            standard = jax.scipy.linalg.solve_triangular(
                factor, (state.particles - mean[None, :]).T, lower=True
            ).T
            begin = jax.vmap(kernel(carry.step_size).init)(standard)
            keys = jax.random.split(key, settings.n_moves)
            (end, step_size), (acceptance, n_gradients) = lax.scan(one, (begin, carry.step_size), keys)
            particles = mean[None, :] + jnp.matmul(end.position, factor.T)
            return particles, step_size, jnp.mean(acceptance), settings.n_particles + jnp.sum(n_gradients)

        n_populations = len(carry.states.log_weights)
        tunes = jnp.arange(n_populations) == n_populations - 1
        keys = jax.random.split(key, n_populations)
        particles, step_size, acceptance, n_gradients = jax.vmap(moved)(keys, carry.states, tunes)
        states = carry.states._replace(particles=particles)
        return _Carry(states, covariance, step_size[-1]), acceptance[0], jnp.sum(n_gradients)

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
    # None where the particles are enough: what inputs on large scales leave is a ridge, which shrinking would widen.
    fraction = jnp.clip(4.0 * dim * jnp.sum(jnp.square(weights)) - 1.0, 0.0, 1.0)
    return mean, covariance * (1.0 - fraction) + fraction * jnp.diag(jnp.diagonal(covariance))
