"""The samplers that make reference draws leave known distributions unchanged: whole populations from exact draws."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy import stats

from experiments.generalised_lambda.model.reference_posterior import (
    differential_evolution,
    independence_metropolis,
)
from tests.statistical.levels import (
    assert_at_least,
    assert_independent,
    assert_standard_mean,
    assert_uniform,
    key_for,
    legendre,
)

N_POPULATIONS, N_WALKERS = 3000, 8
PRECISION = jnp.array([[2.0, 1.2], [1.2, 1.0]])
# With this factor F of the precision, F^T x is standard normal.
FACTOR = jnp.linalg.cholesky(PRECISION)


def log_density(x: Array) -> Array:
    return -0.5 * x @ PRECISION @ x


def exact_draws(key: Array) -> Array:
    normals = jax.random.normal(key, (N_WALKERS, 2))
    return jax.scipy.linalg.solve_triangular(FACTOR.T, normals.T, lower=False).T


def populations(evolve: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """First and last walkers [population, walker, dim]; `evolve` maps keys and starts to draws [draw, walker, dim]."""

    def replica(key: Array) -> tuple[Array, Array]:
        key_start, key_run = jax.random.split(key)
        starts = exact_draws(key_start)
        return starts, evolve(key_run, starts)[-1]

    keys = jax.random.split(key_for(f"reference/{name}"), N_POPULATIONS)
    starts, ends = jax.jit(lambda keys: jax.lax.map(replica, keys, batch_size=100))(keys)
    return np.asarray(starts), np.asarray(ends)


def check_population(starts: np.ndarray, ends: np.ndarray, floor: float) -> None:
    """Walkers are independent draws of the distribution after the moves as before; most have moved."""
    uniforms = stats.norm.cdf(ends @ np.asarray(FACTOR)).reshape(-1, 2)
    # Walkers of one half of a population against those of the other.
    halves = [legendre(uniforms[:, i], 2).reshape(N_POPULATIONS, 2, -1, 2) for i in (0, 1)]
    across = np.concatenate([(part[:, 0] * part[:, 1]).reshape(-1, 2) for part in halves], axis=1)
    assert_independent(uniforms, "coordinates", detects=0.04, detects_mean=0.07, n_pair=3)
    assert_standard_mean(across, detects=0.08, label="two halves")
    moved = np.any(starts != ends, axis=2).ravel()
    assert_at_least(moved, floor, detects=0.04, label="movement")


def test_differential_evolution_keeps_a_correlated_normal_distribution() -> None:
    """Twelve iterations, of which the tenth takes the whole difference of two walkers."""
    evolve = lambda key, starts: differential_evolution(key, log_density, starts, 12)[0]
    check_population(*populations(evolve, "evolution"), floor=0.9)


def test_independence_metropolis_corrects_a_pilot_that_is_off() -> None:
    """The pilot has no correlation, another scale and another centre; chains start at its last draws.

    These are one in sixty, and near each other next to the rest: what they add to the fit is too little to see.
    """

    def evolve(key: Array, starts: Array) -> Array:
        key_pilot, key_run = jax.random.split(key)
        pilot = 0.7 + 2.5 * jax.random.normal(key_pilot, (60, N_WALKERS, 2))
        return independence_metropolis(key_run, log_density, jnp.concatenate([pilot, starts[None]]), 6)[0]

    check_population(*populations(evolve, "independence"), floor=0.7)


def test_independence_metropolis_keeps_a_distribution_on_the_half_line() -> None:
    def replica(key: Array) -> Array:
        keys = jax.random.split(key, 3)
        starts = jax.random.exponential(keys[0], (1, N_WALKERS, 1))
        pilot = jnp.abs(jax.random.normal(keys[1], (60, N_WALKERS, 1))) + 0.01
        log_exponential = lambda x: jnp.where(x[0] > 0.0, -x[0], jnp.nan)
        return independence_metropolis(keys[2], log_exponential, jnp.concatenate([pilot, starts]), 6)[0][-1]

    keys = jax.random.split(key_for("reference/half line"), N_POPULATIONS)
    ends = np.asarray(jax.jit(lambda keys: jax.lax.map(replica, keys, batch_size=100))(keys)).ravel()
    uniforms = -np.expm1(-ends)
    assert_uniform(uniforms, detects=0.04, label="half line")
    assert_standard_mean(legendre(uniforms), detects=0.06, label="half line, Legendre")
