"""Evidence of a stream to a few nats: exact moves while rows are few, then a running Gaussian that each chunk corrects.

Stochastic gradients leave particles as wide as a posterior of some thousand rows, whatever the number of rows, and each
chunk pays for it. Here the rows beyond the first few thousand enter a quadratic expansion of the log likelihood, of
which the posterior is known, and the probability of a chunk given the past is an importance-sampling mean under a
proposal that has seen the chunk: nothing is lost at a constant rate.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import check_integer, select
from auxmc.kernels.streams.annealing_path import AnnealingPath, follow_path, n_lost
from auxmc.kernels.streams.contract import Chunk, ChunkRecord, Mover, PastRows, Stream, Target, counted_rows
from auxmc.kernels.streams.curvature_moves import curvature_moves
from auxmc.models.row_model import RowModel
from auxmc.numerics.annealing import annealing_increment, log_effective_size
from auxmc.numerics.random import standard_normal
from auxmc.numerics.row_blocks import row_total, sum_over_rows
from auxmc.sampling.importance import log_mean_weight
from auxmc.sampling.resampling import systematic_indices

_MAX_NEWTON = 60
_DECREMENT = 1e-9
_DRAWS_OF_A_FIT = 2000
# Effective size, as a fraction of the draws, above which so few draws as there are particles do for a chunk: the error
# that they leave is below 0.003 nats a chunk, and falls with the rows.
_EVEN_WEIGHTS = 0.999
# Rows worked on at once: what a hundred points make of them stays in a processor's cache.
_BLOCK_ROWS = 128


class RunningLaplaceSettings(NamedTuple):
    """How a stream is absorbed.

    Attributes:
        n_particles: particles of the first rows; even, at least 4.
        n_draws: importance draws of a chunk once the Gaussian is there, even, not fewer than the particles. They are
            made where as many draws as there are particles have uneven weights.
        n_moves: Hamiltonian moves whenever the particles are drawn again, among the first rows.
        n_leapfrog: mean number of leapfrog steps of a move.
        first_fit: rows at which a Gaussian is first tried in place of the particles. They must all be kept among the
            past rows.
        least_fit: effective size of importance draws from the Gaussian, as a fraction of their number, from which on it
            takes the place of the particles.
        exact_rows: rows at which it does in any case: moves of particles take time in proportion to rows.
        max_annealing_steps: of a chunk of the first rows, after which it is given up as it is, and counted.
    """

    n_particles: int = 100
    n_draws: int = 400
    n_moves: int = 3
    n_leapfrog: int = 6
    first_fit: int = 2000
    least_fit: float = 0.3
    exact_rows: int = 12_000
    max_annealing_steps: int = 1000


class RunningLaplaceState(NamedTuple):
    """State between chunks."""

    particles: Array  # [particle, dim], float64; draws from the Gaussian once that has taken their place
    log_weights: Array  # of the particles, the log evidence included [particle], float64 in nats
    n_rows: Array  # rows absorbed (int64)
    gaussian: Array  # whether the Gaussian has taken the place of the particles (bool)
    mean: Array  # of the running Gaussian [dim]; meaningless before
    precision: Array  # its inverse covariance [dim, dim]
    next_fit: Array  # rows at which the Gaussian is next fitted to all rows, if they are still kept (int64)


def running_laplace(
    model: RowModel,
    settings: RunningLaplaceSettings = RunningLaplaceSettings(),  # noqa: B008
) -> Stream:
    """Makes the estimator; it takes the place of `stream_evidence`.

    The first rows are absorbed by annealing and reweighting particles; whenever the effective size of their weights has
    fallen to a half they are drawn again and make Hamiltonian moves that see all rows. Their number of moves grows with
    the logarithm of the rows. The start costs nothing in accuracy so, and needs no knowledge of how many equivalent
    modes a mixture has.

    Each time the rows have doubled, a Gaussian is fitted to the posterior of all of them at its mode. If importance
    draws from it have a good effective size, or if soon not all rows will be kept any more, it takes the place of the
    particles. From then on a chunk moves the mean by two Newton steps and adds its curvature; the chunk's probability
    is the mean of likelihood times old Gaussian over new one under draws from the new one, and the weights of these
    draws correct mean and covariance. As long as importance draws do not fit well, the Gaussian is fitted
    again whenever the rows have grown by a tenth; the last time when no more rows can be kept.

    One mode, or several that differ by names of components only, must hold the mass once the Gaussian is there; a
    stream whose distribution changes may leave the mode that is followed behind. `ChunkRecord.weight_size` falls where
    the Gaussian does not fit.

    Args:
        model: the model of a row; its `weighted_gradient` must be differentiable.
        settings: see `RunningLaplaceSettings`.

    Returns:
        Estimator with state RunningLaplaceState. In the record, `n_annealing_steps` is 1 for a chunk that comes in at
        once, `smallest_size` and `weight_size` are effective sizes of the accumulated weights (particles) or of the
        chunk's importance weights (Gaussian), as if as many had been drawn as there are particles, and `n_unfinished`
        counts annealing paths that were given up and fits that did not end at a maximum.

    Raises:
        ValueError: a setting is outside its range.

    Source: this project's. Its parts: sequential Monte Carlo over growing data (Chopin 2002), a Gaussian that takes in
        chunks by their moments (assumed-density filtering).
    """
    for name in ("n_moves", "n_leapfrog", "first_fit", "exact_rows", "max_annealing_steps"):
        check_integer(name, getattr(settings, name), 1)
    if settings.n_particles < 4 or settings.n_particles % 2:
        raise ValueError(f"n_particles must be even and at least 4, got {settings.n_particles}")
    if settings.n_draws < settings.n_particles or settings.n_draws % 2:
        raise ValueError(
            f"n_draws must be even and at least n_particles={settings.n_particles}, got {settings.n_draws}"
        )
    if not 0.0 <= settings.least_fit < 1.0:
        raise ValueError(f"least_fit must be in [0, 1), got {settings.least_fit}")
    moves = curvature_moves(model, settings.n_moves, settings.n_leapfrog)

    def init(key: Array, dtype: object = jnp.float64) -> RunningLaplaceState:
        del dtype  # The Gaussian needs all digits of float64.
        draws = jax.vmap(model.draw_prior)(jax.random.split(key, settings.n_particles))
        return RunningLaplaceState(
            draws.astype(jnp.float64),
            jnp.zeros(settings.n_particles, jnp.float64),
            jnp.zeros((), jnp.int64),
            jnp.zeros((), bool),
            jnp.zeros(model.dim, jnp.float64),
            jnp.eye(model.dim, dtype=jnp.float64),
            jnp.full((), settings.first_fit, jnp.int64),
        )

    def absorb(
        key: Array, state: RunningLaplaceState, chunk: Chunk, past: PastRows
    ) -> tuple[RunningLaplaceState, ChunkRecord]:
        absorb_key, fit_key = jax.random.split(key)
        end, record = lax.cond(
            state.gaussian,
            lambda: _absorb_by_gaussian(model, settings.n_draws, absorb_key, state, chunk),
            lambda: _absorb_by_particles(model, settings, moves, absorb_key, state, chunk, past),
        )
        # All rows before the chunk are kept as long as none had to make room for another.
        kept = past.n_stored.astype(jnp.int64) == state.n_rows
        size, capacity = chunk.rows.shape[0], past.rows.shape[0]
        last = end.n_rows + size > min(settings.exact_rows, capacity)
        # The fit that later chunks build on should have seen all rows that can be seen at once.
        full = end.n_rows + size > capacity
        return lax.cond(
            kept & ((end.n_rows >= state.next_fit) | (last & ~state.gaussian) | full),
            lambda: _try_gaussian(model, settings, fit_key, end, record, chunk, past, last),
            lambda: (end, record),
        )

    return Stream(init, absorb)


def _absorb_by_particles(
    model: RowModel,
    settings: RunningLaplaceSettings,
    moves: Mover,
    key: Array,
    state: RunningLaplaceState,
    chunk: Chunk,
    past: PastRows,
) -> tuple[RunningLaplaceState, ChunkRecord]:
    """Brings in a chunk, with moves where the weights ask for them."""
    log_n = math.log(settings.n_particles)
    total = row_total(model.log_likelihood, model.weighted_gradient, _BLOCK_ROWS)

    def advance(path: AnnealingPath) -> AnnealingPath:
        scores = jax.vmap(lambda x: total(x, chunk.rows, chunk.n_valid))(path.particles)
        scores = jnp.where(jnp.isfinite(scores), scores, -jnp.inf)
        remaining = 1.0 - path.power
        increment = annealing_increment(scores, remaining, log_n - math.log(2.0), path.log_weights)
        whole = increment >= remaining
        power = jnp.where(whole, 1.0, path.power + increment)
        added = jnp.where(jnp.isfinite(scores), increment * scores, -jnp.inf)
        log_weights = path.log_weights + added
        draw_key, move_key = jax.random.split(jax.random.fold_in(key, path.n_steps))

        def renewed() -> tuple[Array, Array]:
            drawn = path.particles[systematic_indices(draw_key, log_weights, log_weights.shape[0])]
            level = jnp.full_like(log_weights, jax.nn.logsumexp(log_weights) - log_n)
            return moves(move_key, drawn, Target(chunk, power, past, state.n_rows)), level

        particles, after = lax.cond(whole, lambda: (path.particles, log_weights), renewed)
        return path._replace(
            particles=particles,
            log_weights=after,
            power=power,
            n_steps=path.n_steps + 1,
            smallest_size=jnp.minimum(path.smallest_size, jnp.exp(log_effective_size(log_weights))),
            first_increment=jnp.where(path.n_steps == 0, increment, path.first_increment),
        )

    end = follow_path(state, advance, settings.max_annealing_steps)
    n_rows = state.n_rows + chunk.n_valid.astype(jnp.int64)
    new = state._replace(particles=end.particles, log_weights=end.log_weights, n_rows=n_rows)
    return new, end.record(n_rows)


class _Scored(NamedTuple):
    """Estimates of a chunk by importance draws.

    They are its log probability, the draws' relative effective size, mean and covariance that they give
    standard normal numbers, some of the draws, and how many were lost.
    """

    gain: Array
    size: Array
    shift: Array
    spread: Array
    draws: Array
    n_lost: Array


def _absorb_by_gaussian(
    model: RowModel, n_draws: int, key: Array, state: RunningLaplaceState, chunk: Chunk
) -> tuple[RunningLaplaceState, ChunkRecord]:
    """Brings a chunk into the Gaussian and scores it by importance sampling."""
    rows, n_particles = chunk.rows.astype(jnp.float64), state.particles.shape[0]
    weights = counted_rows(chunk).astype(jnp.float64)

    def gradient(point: Array) -> Array:
        return model.weighted_gradient(point, rows, weights)

    mean, precision = state.mean, state.precision
    new_precision, definite = _definite(precision - jax.jacfwd(gradient)(mean), precision)
    factor = jnp.linalg.cholesky(new_precision)

    def newton(point: Array) -> Array:
        slope = gradient(point) - jnp.matmul(precision, point - mean)
        return point + jax.scipy.linalg.cho_solve((factor, True), slope)

    total = row_total(model.log_likelihood, model.weighted_gradient, _BLOCK_ROWS)

    def log_density(point: Array) -> Array:
        return total(point, rows, chunk.n_valid) - 0.5 * (point - mean) @ precision @ (point - mean)

    first = newton(mean)
    # Where the Gaussian does not fit, a step may go too far.
    candidates = jnp.stack([mean, first, newton(first)])
    heights = jax.vmap(log_density)(candidates)
    new_mean = candidates[jnp.argmax(jnp.where(jnp.isfinite(heights), heights, -jnp.inf))]
    old_factor = jnp.linalg.cholesky(precision)
    determinants = jnp.sum(jnp.log(jnp.diagonal(old_factor)) - jnp.log(jnp.diagonal(factor)))

    def scored(key: Array, n: int) -> _Scored:
        normals, draws = _draws(key, new_mean, factor, n)
        log_weights = jax.vmap(log_density)(draws) + 0.5 * jnp.sum(jnp.square(normals), axis=1) + determinants
        size = jnp.exp(log_effective_size(log_weights)) / n
        return _Scored(
            log_mean_weight(log_weights),
            size,
            *_moments(log_weights, normals, 1.0),
            draws[:n_particles],
            n_lost(draws),
        )

    few_key, many_key = jax.random.split(key)
    few = scored(few_key, n_particles)
    found = lax.cond(few.size >= _EVEN_WEIGHTS, lambda: few, lambda: scored(many_key, n_draws))
    log_evidence, size = state.log_weights[0] + found.gain, found.size * n_particles
    # Without this correction the mean would drift: an expansion at today's mean leaves out what the third derivative
    # makes of the distance to the last one, always to the same side.
    new_mean = new_mean + jax.scipy.linalg.solve_triangular(factor, found.shift, lower=True, trans=1)
    new_precision = factor @ jnp.linalg.inv(found.spread) @ factor.T
    n_rows = state.n_rows + chunk.n_valid.astype(jnp.int64)
    end = state._replace(
        particles=found.draws,
        log_weights=jnp.full_like(state.log_weights, log_evidence),
        n_rows=n_rows,
        mean=new_mean,
        precision=0.5 * (new_precision + new_precision.T),
    )
    record = ChunkRecord(
        n_rows,
        log_evidence,
        jnp.ones((), jnp.int32),
        size,
        size,
        jnp.ones((), jnp.float64),
        (~definite).astype(jnp.int32),
        found.n_lost,
    )
    return end, record


def _try_gaussian(
    model: RowModel,
    settings: RunningLaplaceSettings,
    key: Array,
    state: RunningLaplaceState,
    record: ChunkRecord,
    chunk: Chunk,
    past: PastRows,
    last: Array,
) -> tuple[RunningLaplaceState, ChunkRecord]:
    """Fits the Gaussian to all rows, and lets it take the place of the particles if it fits or if it must."""
    total = row_total(model.log_likelihood, model.weighted_gradient, _BLOCK_ROWS)

    def log_density(point: Array) -> Array:
        of_rows = total(point, past.rows, past.n_stored) + total(point, chunk.rows, chunk.n_valid)
        return of_rows + model.log_prior(point)

    best = state.particles[jnp.argmax(jax.vmap(log_density)(state.particles))]
    mode, precision, found = _fit(model, jnp.where(state.gaussian, state.mean, best), chunk, past)
    mean, precision, size = _corrected(log_density, key, mode, precision, settings.n_particles)
    fits = found & (size >= settings.least_fit * settings.n_particles)
    taken = state.gaussian | last | fits
    _, draws = _draws(key, mean, jnp.linalg.cholesky(precision), settings.n_particles)
    level = jnp.full_like(state.log_weights, record.log_evidence)
    new = RunningLaplaceState(
        jnp.where(taken, draws, state.particles),
        jnp.where(taken, level, state.log_weights),
        state.n_rows,
        taken,
        mean,
        precision,
        jnp.where(taken & ~fits, state.n_rows + state.n_rows // 10, 2 * state.n_rows),
    )
    # A Gaussian that need not be taken may fail.
    n_failed = record.n_unfinished + (taken & ~found).astype(jnp.int32)
    return new, record._replace(weight_size=jnp.where(taken, size, record.weight_size), n_unfinished=n_failed)


def _corrected(
    log_density: Callable[[Array], Array], key: Array, mode: Array, precision: Array, n_particles: int
) -> tuple[Array, Array, Array]:
    """Mean and precision of the posterior by importance draws around the mode, and their effective size.

    Only the difference that the weights make enters: where the posterior is Gaussian the draws add no noise. With
    few effective draws the correction is held back. The size is that of `n_particles` draws.
    """
    factor = jnp.linalg.cholesky(precision)
    n_draws, dim = _DRAWS_OF_A_FIT, mode.shape[0]
    normals, draws = _draws(key, mode, factor, n_draws)
    # One after the other: all at once would take too much memory for what they make of a block of rows.
    of_target = lax.map(log_density, draws, batch_size=100)
    log_weights = of_target + 0.5 * jnp.sum(jnp.square(normals), axis=1)
    size = jnp.exp(log_effective_size(log_weights))
    shift, spread = _moments(log_weights, normals, size / (size + dim))
    mean = mode + jax.scipy.linalg.solve_triangular(factor, shift, lower=True, trans=1)
    corrected = factor @ jnp.linalg.inv(spread) @ factor.T
    return mean, 0.5 * (corrected + corrected.T), size * (n_particles / n_draws)


def _moments(log_weights: Array, normals: Array, fraction: Array | float) -> tuple[Array, Array]:
    """Mean [dim] and covariance [dim, dim] that weights give standard normal draws.

    Only the excess of the weights over equal ones enters, a fraction of it: equal weights give exactly zero and one.
    """
    n_draws, dim = normals.shape
    excess = fraction * (jnp.exp(log_weights - jax.nn.logsumexp(log_weights)) - 1.0 / n_draws)
    shift = jnp.matmul(excess, normals)
    spread = jnp.eye(dim) + jnp.matmul(normals.T * excess[None, :], normals) - jnp.outer(shift, shift)
    return shift, _definite(0.5 * (spread + spread.T), jnp.eye(dim))[0]


def _draws(key: Array, mean: Array, factor: Array, n_draws: int) -> tuple[Array, Array]:
    """Standard normal numbers and the draws [draw, dim] that they make with the precision's Cholesky factor."""
    normals = standard_normal(key, (n_draws // 2, mean.shape[0]))
    # Pairs on both sides of the mean: odd terms of the log weights cancel.
    normals = jnp.concatenate([normals, -normals])
    offsets = jax.scipy.linalg.solve_triangular(factor, normals.T, lower=True, trans=1).T
    return normals, mean[None, :] + offsets


def _definite(precision: Array, otherwise: Array) -> tuple[Array, Array]:
    """The precision if it is positive definite, or else the other one; and whether it was."""
    definite = jnp.isfinite(jnp.linalg.cholesky(precision)).all()
    return jnp.where(definite, precision, otherwise), definite


def _expansion(model: RowModel, point: Array, chunk: Chunk, past: PastRows) -> tuple[Array, Array, Array]:
    """Log posterior density of all rows up to a constant, gradient and second derivatives, all in float64."""

    def of_rows(rows: Array, counts: Array) -> tuple[Array, Array, Array]:
        rows, weights = rows.astype(jnp.float64), counts.astype(jnp.float64)
        value = jnp.sum(jnp.where(counts, model.log_likelihood(point, rows), 0.0))

        def gradient(x: Array) -> Array:
            return model.weighted_gradient(x, rows, weights)

        return value, gradient(point), jax.jacfwd(gradient)(point)

    of_past = sum_over_rows(of_rows, past.rows, past.n_stored, _BLOCK_ROWS)
    of_chunk = sum_over_rows(of_rows, chunk.rows, chunk.n_valid, _BLOCK_ROWS)
    prior = model.log_prior
    of_prior = (prior(point), jax.grad(prior)(point), jax.hessian(prior)(point))
    return jax.tree.map(lambda a, b, c: a + b + c, of_past, of_chunk, of_prior)


class _Search(NamedTuple):
    point: Array
    value: Array
    gradient: Array
    curvature: Array
    scale: Array
    decrement: Array
    n_steps: Array


def _fit(model: RowModel, start: Array, chunk: Chunk, past: PastRows) -> tuple[Array, Array, Array]:
    """Mode of the posterior of all rows, precision there, and whether it is a maximum."""

    def direction(gradient: Array, curvature: Array) -> tuple[Array, Array]:
        # Curvatures of the wrong sign are turned round, so that every step goes up.
        values, vectors = jnp.linalg.eigh(-0.5 * (curvature + curvature.T))
        along = vectors.T @ gradient / jnp.maximum(jnp.abs(values), 1e-6)
        return vectors @ along, jnp.sum(along * (vectors.T @ gradient))

    def going(search: _Search) -> Array:
        return (search.decrement > _DECREMENT) & (search.n_steps < _MAX_NEWTON) & (search.scale > 1e-8)

    def advance(search: _Search) -> _Search:
        step, decrement = direction(search.gradient, search.curvature)
        point = search.point + search.scale * step
        value, gradient, curvature = _expansion(model, point, chunk, past)
        better = value > search.value - 1e-9 * jnp.abs(search.value)
        scale = jnp.where(better, jnp.minimum(1.0, 4.0 * search.scale), 0.25 * search.scale)
        new = _Search(point, value, gradient, curvature, scale, decrement, search.n_steps + 1)
        return select(better, new, search)._replace(scale=scale, n_steps=search.n_steps + 1)

    expansion = _expansion(model, start, chunk, past)
    begin = _Search(start, *expansion, jnp.ones(()), jnp.full((), jnp.inf), jnp.zeros((), jnp.int32))
    end = lax.while_loop(going, advance, begin)
    precision, definite = _definite(-0.5 * (end.curvature + end.curvature.T), jnp.eye(model.dim))
    return end.point, precision, definite & (end.decrement <= 1e-3)
