"""Hamiltonian moves of particles under all rows, in coordinates scaled by the information that the rows carry."""

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import select
from auxmc.kernels.hamiltonian.hmc import HMCNoise, HMCState, leapfrog, metropolis_end, trajectory_noise
from auxmc.kernels.streams.contract import Mover, Target
from auxmc.models.row_model import RowModel
from auxmc.numerics.row_blocks import row_total, sum_over_rows

_FIRST_STEP = 0.6
_WANTED_ACCEPTANCE = 0.8
_GAIN = 2.0
# Moves that are made where there are few rows, in multiples of those where there are many, and what few means.
_EARLY_MOVES = 5
_FEW_ROWS = 2000
# Rows worked on at once: what a hundred particles make of them stays in a processor's cache.
_BLOCK_ROWS = 128
# Particles at which the information is found; their median is not moved by a few that are far out.
_N_PROBES = 16


def curvature_moves(model: RowModel, n_moves: int, n_leapfrog: int) -> Mover:
    """Makes the moves.

    Each coordinate is scaled by the inverse root of its information: squared scores of the rows, those of the chunk by
    its power, and the prior's curvature. The spread of the particles would not do: where components of a mixture may
    change names it tells how far the modes are from each other, not how wide they are. The step size follows the
    mean acceptance from move to move, and is found again for every target. All particles make the same number of
    leapfrog steps in a move, drawn again for every move: side by side they would all wait for the longest trajectory.

    Args:
        model: the model of a row.
        n_moves: Hamiltonian moves; up to five times as many while rows are few, when modes are found and moves cheap.
        n_leapfrog: leapfrog steps of a move.

    Returns:
        Mover for `stream_evidence`. Rows are worked on in their own precision and summed in float64; past rows are
        those of `PastRows.rows`, which must still hold every row.

    Source: Hamiltonian Monte Carlo as in `hmc`; the scales are this project's.
    """
    total = row_total(model.log_likelihood, model.weighted_gradient, _BLOCK_ROWS)

    def move(key: Array, particles: Array, target: Target) -> Array:
        past, chunk = target.past, target.chunk
        n_particles, dim = particles.shape
        scale = _scales(model, particles[:: max(1, n_particles // _N_PROBES)], target)

        def log_density(scaled: Array) -> Array:
            point = scaled * scale
            of_past = total(point, past.rows, past.n_stored)
            of_chunk = total(point, chunk.rows, chunk.n_valid)
            return of_past + target.power * of_chunk + model.log_prior(point)

        evaluate = jax.value_and_grad(log_density)
        draw = trajectory_noise((1, 2 * n_leapfrog - 1), dim)

        def slope(point: Array) -> tuple[Array, Array]:
            # Only the end of a trajectory needs the density itself.
            return jnp.zeros((), jnp.float64), jax.grad(log_density)(point)

        def one(number: Array, given: tuple[HMCState, Array]) -> tuple[HMCState, Array]:
            states, step_size = given
            noise = jax.vmap(draw)(jax.random.split(jax.random.fold_in(key, number), n_particles))
            n_steps = noise.n_steps[0]

            def trajectory(state: HMCState, noise: HMCNoise) -> tuple[HMCState, Array]:
                middle, momentum, n_made = leapfrog(slope, state, noise.normal, step_size, n_steps - 1)
                end, momentum, n_last = leapfrog(evaluate, middle, momentum, step_size, jnp.int32(1))
                info = metropolis_end(
                    (state, noise.normal), (end, momentum), n_made + n_last, n_steps, noise.log_uniform
                )
                return select(info.is_accepted, end, state), info.acceptance_rate

            states, acceptance = jax.vmap(trajectory)(states, noise)
            return states, step_size * jnp.exp(_GAIN * (jnp.mean(acceptance) - _WANTED_ACCEPTANCE))

        first_step = jnp.full((), _FIRST_STEP * dim**-0.25, jnp.float64)
        begin = jax.vmap(lambda x: HMCState(x, *evaluate(x)))(particles / scale[None, :])
        n_rows = target.n_past + chunk.n_valid.astype(jnp.int64)
        fraction = jnp.clip(_FEW_ROWS / n_rows, 1.0, _EARLY_MOVES)
        end, _ = lax.fori_loop(0, jnp.ceil(n_moves * fraction).astype(jnp.int32), one, (begin, first_step))
        return end.position * scale[None, :]

    return move


def _scales(model: RowModel, probes: Array, target: Target) -> Array:
    """One over the root of the median information of each coordinate [dim]."""

    def squares(point: Array, rows: Array, counts: Array) -> Array:
        one = jnp.ones(1, rows.dtype)
        scores = jax.vmap(lambda row: model.weighted_gradient(point, row[None, :], one))(rows)
        return jnp.matmul(counts.astype(rows.dtype), jnp.square(scores))

    def information(point: Array) -> Array:
        past, chunk = target.past, target.chunk
        here = point.astype(past.rows.dtype)
        of_past = sum_over_rows(lambda r, c: squares(here, r, c), past.rows, past.n_stored, _BLOCK_ROWS)
        of_chunk = sum_over_rows(lambda r, c: squares(here, r, c), chunk.rows, chunk.n_valid, _BLOCK_ROWS)
        of_prior = jnp.abs(jnp.diagonal(jax.hessian(model.log_prior)(point)))
        return of_past + target.power * of_chunk + of_prior

    by_probe = jax.vmap(information)(probes)
    median = jnp.median(jnp.where(jnp.isfinite(by_probe), by_probe, 1.0), axis=0)
    return 1.0 / jnp.sqrt(jnp.maximum(median, 1e-8))
