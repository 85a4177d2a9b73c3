"""Moves of particles by stochastic gradients of the rows absorbed so far."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.streams.contract import (
    Anchors,
    Chunk,
    Fetch,
    Mover,
    PastRows,
    StreamSettings,
    Target,
    counted_rows,
)
from auxmc.kernels.streams.stochastic_gradient import sghmc_step, sgnht_step
from auxmc.models.row_model import RowModel
from auxmc.numerics.random import row_numbers
from auxmc.numerics.row_blocks import sum_over_rows


def stochastic_gradient_moves(model: RowModel, settings: StreamSettings, fetch: Fetch | None = None) -> Mover:
    """Makes the moves of stochastic-gradient Hamiltonian Monte Carlo, or with a Nose-Hoover thermostat.

    Velocities, and the thermostat of each particle, begin again after each change of the target. The mass is one
    where the step is measured in widths of the posterior of rows with unit information.

    Past rows of all steps are gathered at once, each particle having its own: particles with common rows make the
    same errors, which averaging over them would not remove.

    Args:
        model: the model of a row.
        settings: `n_moves`, `batch_size`, `learning_rate`, `friction`, `gradient_noise`, `control_variates`,
            `cooling_rows` and `dynamics` are used.
        fetch: where past rows are taken from; from `PastRows.rows` unless given.

    Returns:
        Mover; with `control_variates` its targets must have anchors.

    Source: MSc thesis, Algorithm 4 and Eqs. 4.5 and 4.14; control variates: Johnson and Zhang 2013;
    thermostat: Ding et al. 2014.
    """
    rows_of = fetch or (lambda past, numbers: past.rows.at[numbers].get(mode="promise_in_bounds"))

    def move(key: Array, particles: Array, target: Target) -> Array:
        dtype = particles.dtype
        n_particles, dim = particles.shape
        shape = (settings.n_moves, n_particles)
        row_key, noise_key, velocity_key = (jax.random.fold_in(key, i) for i in range(3))
        numbers = row_numbers(row_key, (*shape, settings.batch_size), jnp.maximum(target.past.n_stored, 1))
        batches = rows_of(target.past, numbers)
        normals = jax.random.normal(noise_key, (*shape, dim), dtype)
        n_rows = (target.n_past + target.chunk.n_valid.astype(jnp.int64)).astype(jnp.float64)
        eta = settings.learning_rate / n_rows
        if settings.cooling_rows is not None:
            eta = eta * jnp.minimum(1.0, settings.cooling_rows / n_rows)
        velocity = jnp.sqrt(eta).astype(dtype) * jax.random.normal(velocity_key, (n_particles, dim), dtype)
        rate = (eta * n_rows).astype(dtype)
        eta = eta.astype(dtype)
        chunk_weights = jnp.where(counted_rows(target.chunk), target.power, 0.0).astype(dtype)
        # Nothing of the past enters before there is one.
        past_weights = jnp.full(settings.batch_size, target.n_past / settings.batch_size, dtype)

        def gradient(particle: Array, batch: Array, anchor: tuple[Array, Array] | None) -> Array:
            fitted = model.weighted_gradient(particle, target.chunk.rows, chunk_weights)
            remembered = model.weighted_gradient(particle, batch, past_weights)
            if anchor is not None:
                point, known = anchor
                remembered = remembered - model.weighted_gradient(point, batch, past_weights) + known
            return -(fitted + remembered + jax.grad(model.log_prior)(particle))

        anchors = None
        if target.anchors is not None:
            anchors = (target.anchors.points, target.anchors.gradients.astype(dtype))

        def one(state: Any, given: tuple[Array, Array]) -> tuple[Any, None]:
            (position, velocity, *thermostat), (batch, normal) = state, given
            about = (jax.vmap(gradient)(position, batch, anchors), normal, eta, settings.friction)
            if thermostat:
                return sgnht_step(position, velocity, thermostat[0], *about, rate), None
            return sghmc_step(position, velocity, *about, settings.gradient_noise), None

        begin: tuple[Array, ...] = (particles, velocity)
        if settings.dynamics == "nose_hoover":
            begin = (*begin, jnp.full(n_particles, settings.friction, dtype))
        return lax.scan(one, begin, (batches, normals))[0][0]

    return move


def no_anchors(particles: Array) -> Anchors:
    """Anchors before the first row: their gradients are zero wherever they are."""
    zeros = jnp.zeros(particles.shape, jnp.float64)
    return Anchors(jnp.zeros_like(particles), zeros, jnp.zeros((), jnp.int64))


def renewed_anchors(
    model: RowModel, anchors: Anchors, particles: Array, chunk: Chunk, past: PastRows, n_past: Array
) -> Anchors:
    """Anchors after a chunk: its gradients are added, or the particles become the anchors when that is due.

    Where not all past rows are stored, of the number `n_past`, those that are stand for all.
    """
    n_rows = n_past + chunk.n_valid.astype(jnp.int64)
    weights = counted_rows(chunk).astype(particles.dtype)

    def of_chunk(points: Array) -> Array:
        gradients = jax.vmap(lambda x: model.weighted_gradient(x, chunk.rows, weights))(points)
        return gradients.astype(jnp.float64)

    def renewed() -> Anchors:
        def of_block(rows: Array, counts: Array) -> Array:
            counted = counts.astype(rows.dtype)
            return jax.vmap(lambda x: model.weighted_gradient(x, rows, counted))(particles)

        fraction = n_past.astype(jnp.float64) / jnp.maximum(past.n_stored, 1).astype(jnp.float64)
        of_past = fraction * sum_over_rows(of_block, past.rows, past.n_stored)
        return Anchors(particles, of_past + of_chunk(particles), 2 * n_rows)

    def extended() -> Anchors:
        return anchors._replace(gradients=anchors.gradients + of_chunk(anchors.points))

    return lax.cond(n_rows >= anchors.next_refresh, renewed, extended)
