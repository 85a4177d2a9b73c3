"""Exact rank tests: the place of an exact posterior draw among a chain through it is uniform, however slow the chain.

An exact draw of parameter and data stands at a random place of a chain of 31; a reversible kernel makes what follows
and what precedes. The rank of a function there, among all 31, is uniform on 0, ..., 30.

Source: A. Gandy and J. Scott (2020), Unit testing for MCMC and other Monte Carlo methods.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import hamiltonian_monte_carlo
from auxmc.kernels.hamiltonian.langevin import metropolis_langevin
from auxmc.kernels.metropolis.metropolis import random_walk_metropolis
from auxmc.kernels.pseudo_marginal.updates import pseudo_marginal_metropolis
from auxmc.kernels.slices.elliptical_slice import elliptical_slice
from auxmc.kernels.slices.linear_slice import linear_slice
from tests.statistical.kernel_checks import draw_auxiliary_given, latent_estimator
from tests.statistical.levels import (
    Sequence,
    assert_sequential,
    expecting_failure,
    key_for,
    seed_for,
    uniform_p_value,
)

pytestmark = pytest.mark.slow

LENGTH = 31
N_FIRST = 100_000
BATCH = 20_000
N_FUNCTIONS = 3
ROUNDING = 1e-12

Build = Callable[[Array], Kernel]


def log_joint(x: Array, y: Array, noise_sd: float = 1.0) -> Array:
    return -0.5 * x[0] ** 2 - 0.5 * ((y - x[0]) / noise_sd) ** 2


KERNELS: dict[str, Build] = {
    "random_walk": lambda y: random_walk_metropolis(lambda x: log_joint(x, y), 1.0, 1),
    "linear": lambda y: linear_slice(lambda x: log_joint(x, y), 0.5, 1, 3),
    "elliptical": lambda y: elliptical_slice(lambda x: -0.5 * (y - x[0]) ** 2, dim=1),
    "hmc": lambda y: hamiltonian_monte_carlo(lambda x: log_joint(x, y), 0.3, (1, 4), 1),
    "langevin": lambda y: metropolis_langevin(lambda x: log_joint(x, y), 0.6, 1),
}


def _ranks(start: Callable[[Array], tuple[Kernel, Any, Array]], key: Array) -> Array:
    """Ranks of three functions; `start` maps a key to a kernel, its exact state and the data."""
    key_start, key_place, *keys = jax.random.split(key, 4)
    kernel, state, y = start(key_start)
    place = jax.random.randint(key_place, (), 0, LENGTH)
    functions = lambda x: jnp.stack([x[0], jnp.abs(y - x[0]), jnp.sin(2.0 * x[0])])

    def away(key: Array) -> Array:
        def step(state: Any, key: Array) -> Any:
            state, _ = kernel.step(key, state)
            return state, functions(state.position)

        return jax.lax.scan(step, state, jax.random.split(key, LENGTH - 1))[1]

    counted = jnp.arange(LENGTH - 1)
    here = functions(state.position)
    # Steps that are rejected leave ties, which the caller breaks at random. Equal points may have values that differ by
    # rounding, as programs contract multiplications and additions in one place and not in another.
    total = jnp.zeros((2, N_FUNCTIONS), jnp.int32)
    for path, n in ((away(keys[0]), LENGTH - 1 - place), (away(keys[1]), place)):
        inside = (counted < n)[:, None]
        total += jnp.stack(
            [
                jnp.sum(inside & (path < here[None] - ROUNDING), axis=0),
                jnp.sum(inside & (jnp.abs(path - here[None]) <= ROUNDING), axis=0),
            ]
        ).astype(jnp.int32)
    return total


def _assert_uniform_ranks(start: Callable[[Array], tuple[Kernel, Any, Array]], name: str) -> None:
    many = jax.jit(jax.vmap(lambda key: _ranks(start, key)))

    def p_value(n: int, stage: int) -> float:
        batches = [
            np.asarray(many(jax.random.split(key_for(f"ranks/{name}/{stage}/{i}"), BATCH)))
            for i in range(n // BATCH)
        ]
        below, equal = np.moveaxis(np.concatenate(batches), 1, 0)
        fresh = np.random.default_rng(seed_for(f"ranks/{name}/{stage}")).uniform(size=below.shape)
        # Among equal values every place is as likely as any other.
        uniforms = (below + fresh * (equal + 1)) / LENGTH
        return min(1.0, N_FUNCTIONS * min(uniform_p_value(column) for column in uniforms.T))

    assert_sequential(
        p_value, N_FIRST, detects=0.016, n_statistics=N_FUNCTIONS, sequence=Sequence(n_stages=3), label=name
    )


def _exact(build: Build) -> Callable[[Array], tuple[Kernel, Any, Array]]:
    def start(key: Array) -> tuple[Kernel, Any, Array]:
        theta, noise = jax.random.normal(key, (2,))
        kernel = build(theta + noise)
        return kernel, kernel.init(jax.random.key(0), theta[None]), theta + noise

    return start


@pytest.mark.parametrize("name", ["random_walk", "linear", "elliptical", "hmc", "langevin"])
def test_ranks_of_exact_draws_are_uniform(name: str) -> None:
    _assert_uniform_ranks(_exact(KERNELS[name]), name)


@pytest.mark.parametrize("n_importance", [1, 4])
def test_ranks_with_estimated_likelihoods_are_uniform(n_importance: int) -> None:
    def start(key: Array) -> tuple[Kernel, Any, Array]:
        keys = jax.random.split(key, 3)
        theta = jax.random.normal(keys[0], (1,))
        y = theta[0] + jnp.sqrt(2.0) * jax.random.normal(keys[1])
        estimator = latent_estimator(n_importance, y)
        kernel = pseudo_marginal_metropolis(estimator, 1.5, 1)
        u = draw_auxiliary_given(keys[2], n_importance, theta[0], y)
        value = estimator.log_estimate(theta, u)
        return kernel, kernel.init(keys[2], theta)._replace(auxiliary=u, log_estimate=value), y

    _assert_uniform_ranks(start, f"estimated/{n_importance}")


def test_a_noise_that_is_taken_too_small_is_found() -> None:
    wrong = lambda y: random_walk_metropolis(lambda x: log_joint(x, y, noise_sd=0.9), 1.0, 1)
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        _assert_uniform_ranks(_exact(wrong), "too small")
