"""Kernels leave distributions unchanged and are reversible: a million exact draws, targets made to be difficult."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.scipy.special import ndtr

from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import hamiltonian_monte_carlo
from auxmc.kernels.hamiltonian.langevin import metropolis_langevin
from auxmc.kernels.hamiltonian.persistent_hmc import persistent_hmc
from auxmc.kernels.metropolis.metropolis import random_walk_metropolis
from auxmc.kernels.pseudo_marginal.updates import METHODS, pseudo_marginal_method
from auxmc.kernels.slices.directed_slice import along_axes, directed_slice
from auxmc.kernels.slices.reflective_slice import reflective_slice
from tests.statistical.deep.sequences import Driver, assert_distribution_unchanged
from tests.statistical.kernel_checks import (
    ALL_TARGETS,
    N_STEPS,
    N,
    Runs,
    draw_target,
    latent_driver,
    line_driver,
    log_square,
    log_target,
    many_replicas,
    square_driver,
    target_cdf,
)
from tests.statistical.levels import expecting_failure, key_for
from tests.statistical.test_constrained_invariance import (
    HYPERBOLA,
    TORUS,
    branch_transform,
    draw_branch,
    draw_torus,
    kernel_on,
    manifold_driver,
    torus_transform,
)
from tests.statistical.test_kernel_invariance import LINE_KERNELS
from tests.statistical.test_tempering import CASES, GRID, Case, Distribution, _distributions, _log_densities

pytestmark = pytest.mark.slow

PERSISTENCE = 0.7

LINE: dict[str, Callable[[Array], Kernel]] = {
    **LINE_KERNELS,
    "directed": lambda index: directed_slice(lambda x: log_target(index, x), along_axes(1), 0.8, 1, 2),
    "hmc": lambda index: hamiltonian_monte_carlo(lambda x: log_target(index, x), 0.12, (2, 6), 1),
    "langevin": lambda index: metropolis_langevin(lambda x: log_target(index, x), 0.15, 1),
}


@cache
def _line(name: str) -> Driver:
    return line_driver(LINE[name])


@pytest.mark.parametrize("target", ALL_TARGETS)
@pytest.mark.parametrize("name", LINE)
def test_kernels_on_the_line(name: str, target: str) -> None:
    assert_distribution_unchanged(
        _line(name), ALL_TARGETS.index(target), f"deep/{name}/{target}", reversible=True
    )


@cache
def _persistent() -> Driver:
    """Transforms of position and momentum, as needed for reversibility.

    The start has the momentum after its refreshment, and the momentum after the first step is turned round: refreshment
    and trajectory are each reversible so, one after the other are not.
    """

    def replica(index: Array, key: Array) -> Any:
        kernel = persistent_hmc(lambda x: log_target(index, x), 0.12, 4, PERSISTENCE, 1)
        key_start, key_momentum, key_steps = jax.random.split(key, 3)
        state = kernel.init(key_momentum, draw_target(index, key_start))
        keys = jax.random.split(key_steps, N_STEPS)
        normal = kernel.draw(keys[0]).normal
        refreshed = PERSISTENCE * state.momentum + np.sqrt(1.0 - PERSISTENCE**2) * normal

        def transform(x: Array, momentum: Array) -> Array:
            return jnp.stack([target_cdf(index, x[0]), ndtr(momentum[0])])

        def step(state: Any, key: Array) -> Any:
            state, _ = kernel.step(key, state)
            return state, transform(state.position, state.momentum)

        start = transform(state.position, refreshed)
        state, path = jax.lax.scan(step, state, keys)
        error = jnp.abs(state.log_density - log_target(index, state.position))
        turned = path[0].at[1].set(1.0 - path[0, 1])
        return start, turned, path[-1], error, jnp.zeros((), jnp.int32)

    return many_replicas(replica)


@pytest.mark.parametrize("target", ALL_TARGETS)
def test_persistent_momentum(target: str) -> None:
    """Reversible up to the sign of the momentum, whose distribution is symmetric."""
    assert_distribution_unchanged(
        _persistent(), ALL_TARGETS.index(target), f"deep/persistent/{target}", reversible=True
    )


def test_reflective_slice_on_the_unit_square() -> None:
    assert_distribution_unchanged(
        square_driver(reflective_slice(log_square, 2)), 0, "deep/reflective", reversible=True
    )


@pytest.mark.parametrize("n_importance", [1, 4])
@pytest.mark.parametrize("name", METHODS)
def test_pseudo_marginal_methods(name: str, n_importance: int) -> None:
    driver = latent_driver(lambda estimator: pseudo_marginal_method(name, estimator, 1.5, 1), n_importance)
    assert_distribution_unchanged(driver, 0, f"deep/{name}/{n_importance}", reversible=name == "pm_mh")


# --- distributions on manifolds and of temperatures --------------------------------------------------------------


MANIFOLDS: dict[str, Any] = {
    "hyperbola": (HYPERBOLA, 2, 0.5, draw_branch, branch_transform),
    "torus": (TORUS, 3, 0.6, draw_torus, torus_transform),
}


@pytest.mark.parametrize("name", MANIFOLDS)
def test_constrained_trajectories(name: str) -> None:
    model, dim, step_size, draw, transform = MANIFOLDS[name]
    driver = manifold_driver(kernel_on(model, dim, step_size), draw, transform)
    assert_distribution_unchanged(driver, 0, f"deep/{name}", reversible=True)


def _tempering_driver(case: Case) -> Driver:
    """Uniform numbers of position and of temperature given it, after one and five steps."""
    distribution = _distributions()[case.distribution]
    distribution, grid = jnp.asarray(distribution.distribution), jnp.asarray(GRID)

    @jax.jit
    def many(keys: Array, uniforms: Array) -> tuple[tuple[Array, Array], ...]:
        def chain(key: Array, uniform: Array) -> tuple[tuple[Array, Array], ...]:
            start = jnp.interp(uniform[0], distribution, grid)
            state = case.start(jax.random.fold_in(key, 0), start[None], uniform[1])

            def step(state: Any, key: Array) -> Any:
                state, _ = case.kernel.step(key, state)
                return state, (state.position[0], case.temperature(state))

            _, (x, b) = jax.lax.scan(step, state, jax.random.split(jax.random.fold_in(key, 1), N_STEPS))
            return (start, case.temperature(state)), (x[0], b[0]), (x[-1], b[-1])

        return jax.vmap(chain)(keys, uniforms)

    def run(index: int, name: str) -> Runs:
        key = key_for(name)
        uniforms = jax.random.uniform(jax.random.fold_in(key, 0), (N, 2))
        fresh = np.asarray(jax.random.uniform(jax.random.fold_in(key, 1), (3, N)))
        points = many(jax.random.split(jax.random.fold_in(key, 2), N), uniforms)
        start, once, last = (
            _uniforms(distribution, np.asarray(x), np.asarray(b), u)
            for (x, b), u in zip(points, fresh, strict=True)
        )
        return Runs(start, once, last, 0.0, 0)

    return run


def _uniforms(
    distribution: Distribution, x: np.ndarray, temperature: np.ndarray, fresh: np.ndarray
) -> np.ndarray:
    target, base = _log_densities(x)
    given = distribution.temperature(base - target, temperature.astype(float), fresh)
    return np.stack([np.interp(x, GRID, distribution.distribution), np.clip(given, 0.0, 1.0)], axis=1)


@pytest.mark.parametrize("name", CASES)
def test_tempering_kernels(name: str) -> None:
    """With all momenta renewed, the extended dynamics are reversible in position and temperature together."""
    assert_distribution_unchanged(
        _tempering_driver(CASES[name]), 0, f"deep/tempering/{name}", reversible=name == "extended"
    )


# --- controls -------------------------------------------------------------------------------------------


def test_a_density_raised_to_nearly_one_is_found() -> None:
    """An error of a twentieth in the log ratio, which a hundred thousand draws would pass."""
    driver = line_driver(lambda index: random_walk_metropolis(lambda x: log_target(index, x) / 1.05, 1.0, 1))
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        assert_distribution_unchanged(driver, 0, "deep/raised", reversible=True)
