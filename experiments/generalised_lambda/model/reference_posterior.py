"""Reference draws of posteriors with few parameters, from their log density alone.

Differential evolution finds the posterior whatever its scales; independence Metropolis with proposals fitted to it
makes nearly independent draws. Neither shares code with the kernels under study.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

# Tails of the proposals are heavier than those of a posterior with a proper prior.
_DEGREES_OF_FREEDOM = 5.0


def differential_evolution(
    key: Array, log_density: Callable[[Array], Array], starts: Array, n_draws: int
) -> tuple[Array, Array]:
    """Walkers [draw, walker, dim] from distinct starts, and the acceptance rate over all iterations.

    Halves of the population [walker, dim] move in turn by differences of walkers of the other half
    (ter Braak 2006). Every tenth iteration takes the whole difference, which lets walkers jump between modes.
    """
    n_walkers, dim = starts.shape
    if n_walkers < 8 or n_walkers % 2:
        raise ValueError(f"starts must hold an even number of at least 8 walkers, got {n_walkers}")
    half = n_walkers // 2

    usual = 2.38 / np.sqrt(2.0 * dim)

    def iterate(state: tuple[Array, Array], index: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        scale = jnp.where(index % 10 == 9, 1.0, usual)

        def move(
            state: tuple[Array, Array], side_and_key: tuple[Array, Array]
        ) -> tuple[tuple[Array, Array], Array]:
            (walkers, values), (side, key) = state, side_and_key
            points, others = walkers[side], walkers[1 - side]
            first_key, second_key, noise_key, accept_key = jax.random.split(key, 4)
            first = jax.random.randint(first_key, (half,), 0, half)
            # A shift between 1 and half - 1 makes the second walker another one than the first.
            second = (first + jax.random.randint(second_key, (half,), 1, half)) % half
            noise = 1e-5 * jax.random.normal(noise_key, points.shape, dtype=jnp.float64)
            proposed = points + scale * (others[first] - others[second]) + noise
            proposed = jnp.where(index < 0, points, proposed)
            proposed_values = _densities(log_density, proposed)
            log_uniform = -jax.random.exponential(accept_key, (half,), dtype=jnp.float64)
            accepted = (log_uniform < proposed_values - values[side]) & jnp.isfinite(proposed_values)
            walkers = walkers.at[side].set(jnp.where(accepted[:, None], proposed, points))
            values = values.at[side].set(jnp.where(accepted, proposed_values, values[side]))
            return (walkers, values), jnp.mean(accepted, dtype=jnp.float64)

        keys = jax.random.split(jax.random.fold_in(key, index))
        state, rates = lax.scan(move, state, (jnp.arange(2), keys))
        return state, (state[0].reshape(starts.shape), 0.5 * (rates[0] + rates[1]))

    # The density is compiled at one place: halves move one after the other, and the first iteration is for the starts.
    begin = (starts.reshape(2, half, dim), jnp.full((2, half), -jnp.inf))
    _, (draws, rates) = lax.scan(iterate, begin, jnp.arange(-1, n_draws))
    return draws[1:], jnp.mean(rates[1:])


def independence_metropolis(
    key: Array, log_density: Callable[[Array], Array], pilot: Array, n_draws: int
) -> tuple[Array, Array]:
    """Chains [draw, walker, dim] of independence Metropolis and their acceptance rate.

    Student's t proposals have the moments of pilot draws [pilot draw, walker, dim]
    (Tierney 1994, section 2.3.3).
    """
    _, n_walkers, dim = pilot.shape
    flat = pilot.reshape(-1, dim)
    centre = jnp.mean(flat, axis=0)
    centred = flat - centre[None]
    factor = jnp.linalg.cholesky(centred.T @ centred / (flat.shape[0] - 1))
    normal_key, scale_key, accept_key = jax.random.split(key, 3)
    shape = (n_draws, n_walkers)
    normals = jax.random.normal(normal_key, (*shape, dim), dtype=jnp.float64)
    halves = jax.random.gamma(scale_key, 0.5 * _DEGREES_OF_FREEDOM, shape, dtype=jnp.float64)
    whitened = normals * jnp.sqrt(0.5 * _DEGREES_OF_FREEDOM / halves)[..., None]

    def log_proposal(whitened: Array) -> Array:
        square = jnp.sum(whitened**2, axis=-1) / _DEGREES_OF_FREEDOM
        return -0.5 * (_DEGREES_OF_FREEDOM + dim) * jnp.log1p(square)

    start, proposed = pilot[-1], centre[None, None] + whitened @ factor.T
    densities = _densities(log_density, jnp.concatenate([start, proposed.reshape(-1, dim)]))
    start_densities, densities = densities[:n_walkers], densities[n_walkers:].reshape(shape)
    log_weights = jnp.where(jnp.isfinite(densities), densities - log_proposal(whitened), -jnp.inf)
    start_whitened = jax.scipy.linalg.solve_triangular(factor, (start - centre[None]).T, lower=True).T
    start_weights = start_densities - log_proposal(start_whitened)
    thresholds = -jax.random.exponential(accept_key, shape, dtype=jnp.float64)

    def iterate(
        state: tuple[Array, Array], step: tuple[Array, Array, Array]
    ) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        points, weights = state
        proposed, proposed_weights, threshold = step
        accepted = threshold < proposed_weights - weights
        points = jnp.where(accepted[:, None], proposed, points)
        return (points, jnp.where(accepted, proposed_weights, weights)), (points, accepted)

    _, (draws, accepted) = lax.scan(iterate, (start, start_weights), (proposed, log_weights, thresholds))
    return draws, jnp.mean(accepted, dtype=jnp.float64)


def _densities(log_density: Callable[[Array], Array], points: Array) -> Array:
    # One after the other: a table searched for many points at once is far slower on a processor.
    return lax.map(log_density, points)
