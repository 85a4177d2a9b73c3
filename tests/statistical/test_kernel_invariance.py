"""Every kernel leaves its target invariant: invariance, reversibility, joint distribution with data."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from auxmc.kernels.base import Kernel
from auxmc.kernels.metropolis.metropolis import metropolis_independence, random_walk_metropolis
from auxmc.kernels.pseudo_marginal.updates import (
    METHODS,
    elliptical_auxiliary,
    independence_auxiliary,
    metropolis_position,
    pseudo_marginal_method,
    pseudo_marginal_metropolis,
    slice_position,
)
from auxmc.kernels.slices.elliptical_slice import elliptical_slice
from auxmc.kernels.slices.linear_slice import draw_line, linear_slice
from auxmc.kernels.slices.reflective_slice import reflective_slice
from auxmc.models.estimator import Estimator
from tests.statistical.kernel_checks import (
    TARGETS,
    N,
    check_ellipse_bracket,
    check_height,
    check_invariance,
    check_line_bracket,
    check_reversibility,
    check_structure,
    draw_auxiliary_given,
    flat_infos,
    latent_driver,
    latent_estimator,
    line_driver,
    log_square,
    log_target,
    normal_transform,
    slice_internals,
    square_driver,
)
from tests.statistical.levels import assert_standard_mean, assert_uniform, key_for, legendre


def random_walk(index: Array) -> Kernel:
    return random_walk_metropolis(lambda x: log_target(index, x), 1.0, 1)


def independence(index: Array) -> Kernel:
    def log_weight(x: Array) -> Array:
        scaled = x[0] / 1.5
        return log_target(index, x) + scaled + 2.0 * jnp.logaddexp(0.0, -scaled)

    return metropolis_independence(log_weight, lambda key: 1.5 * jax.random.logistic(key, (1,)))


def elliptical(index: Array) -> Kernel:
    return elliptical_slice(lambda x: log_target(index, x) + 0.5 * x[0] ** 2, dim=1)


def linear(index: Array) -> Kernel:
    return linear_slice(lambda x: log_target(index, x), 1.5, 1)


def linear_step_out(index: Array) -> Kernel:
    return linear_slice(lambda x: log_target(index, x), 0.8, 1, 3)


LINE_KERNELS: dict[str, Callable[[Array], Kernel]] = {
    "random_walk": random_walk,
    "independence": independence,
    "elliptical": elliptical,
    "linear": linear,
    "linear_step_out": linear_step_out,
}

UPDATES: dict[str, Callable[[Estimator], Any]] = {
    "independence_auxiliary": independence_auxiliary,
    "elliptical_auxiliary": elliptical_auxiliary,
    "metropolis_position": lambda estimator: metropolis_position(estimator, 1.0, 1),
    "slice_position_step_out": lambda estimator: slice_position(estimator, 0.8, 1, 3),
}


@cache
def _line_driver(name: str) -> Any:
    return line_driver(LINE_KERNELS[name])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", LINE_KERNELS)
def test_kernel_on_the_line_is_invariant_and_reversible(name: str, target: str) -> None:
    runs = _line_driver(name)(TARGETS.index(target), f"invariance/{name}/{target}")
    check_invariance(runs, floor=0.5)
    check_reversibility(runs)


def test_reflective_slice_is_invariant_and_reversible() -> None:
    runs = square_driver(reflective_slice(log_square, 2))(0, "invariance/reflective")
    check_invariance(runs, floor=0.5)
    check_reversibility(runs)


@pytest.mark.slow
@pytest.mark.parametrize("n_importance", [1, 4])
@pytest.mark.parametrize("name", METHODS)
def test_method_leaves_the_joint_distribution_invariant(name: str, n_importance: int) -> None:
    driver = latent_driver(lambda estimator: pseudo_marginal_method(name, estimator, 1.5, 1), n_importance)
    runs = driver(0, f"invariance/{name}/{n_importance}")
    check_invariance(runs, floor=0.5)
    if name == "pm_mh":
        check_reversibility(runs)


@pytest.mark.parametrize("name", UPDATES)
def test_single_update_is_reversible(name: str) -> None:
    def build(estimator: Estimator) -> Kernel:
        update = UPDATES[name](estimator)
        return Kernel(pseudo_marginal_metropolis(estimator, 1.0, 1).init, update.draw, update.apply)

    runs = latent_driver(build, 4)(0, f"reversibility/{name}")
    check_reversibility(runs)


@pytest.mark.parametrize("name", ["elliptical", "linear", "linear_step_out"])
def test_slice_structure_and_height(name: str) -> None:
    internals = slice_internals(LINE_KERNELS[name](jnp.asarray(0)), f"internals/{name}")
    check_structure(internals)
    check_height(internals)


@pytest.mark.parametrize("max_step_outs", [0, 3])
def test_line_bracket_has_its_distribution(max_step_outs: int) -> None:
    kernel = linear_slice(lambda _: jnp.zeros(()), 0.7, 1, max_step_outs)
    check_line_bracket(flat_infos(kernel, f"bracket/{max_step_outs}"), 0.7, max_step_outs)


def test_reflective_bracket_has_its_distribution() -> None:
    check_line_bracket(flat_infos(reflective_slice(lambda _: jnp.zeros(()), 1), "bracket/reflective"), 1.0, 0)


def test_ellipse_bracket_has_its_distribution() -> None:
    check_ellipse_bracket(flat_infos(elliptical_slice(lambda _: jnp.zeros(()), dim=1), "bracket/ellipse"))


def test_directions_are_uniform_on_the_sphere() -> None:
    """Each coordinate of a uniform direction in three dimensions is uniform on [-1, 1] (Archimedes)."""
    keys = jax.random.split(key_for("directions"), 20_000)
    directions = np.asarray(jax.vmap(lambda key: draw_line(key, 3).direction)(keys))
    oblique = directions @ np.array([1.0, 2.0, -2.0]) / 3.0
    for projection in (*directions.T, oblique):
        assert_uniform(0.5 * (projection + 1.0), detects=0.04)


def test_metropolis_random_numbers_have_their_distributions_and_are_independent() -> None:
    keys = jax.random.split(key_for("metropolis noise"), 20_000)
    kernel = pseudo_marginal_metropolis(latent_estimator(1), 1.0, 1)
    noise = jax.vmap(kernel.draw)(keys)
    transforms = [
        normal_transform(np.asarray(noise.normal)[:, 0]),
        normal_transform(np.asarray(noise.auxiliary)[:, 0]),
        np.exp(np.asarray(noise.log_uniform)),
    ]
    for values in transforms:
        assert_uniform(values, detects=0.04)
    for first, second in ((0, 1), (0, 2), (1, 2)):
        products = legendre(transforms[first], 2)[:, :, None] * legendre(transforms[second], 2)[:, None, :]
        assert_standard_mean(products.reshape(len(products), -1), detects=0.07)


GEWEKE_KERNELS: dict[str, Callable[[Array], Kernel]] = {
    "random_walk": lambda y: random_walk_metropolis(lambda x: -0.5 * (x[0] ** 2 + (y - x[0]) ** 2), 1.0, 1),
    "elliptical": lambda y: elliptical_slice(lambda x: -0.5 * (y - x[0]) ** 2, dim=1),
    "linear": lambda y: linear_slice(lambda x: -0.5 * (x[0] ** 2 + (y - x[0]) ** 2), 2.0, 1),
}


@pytest.mark.parametrize("name", GEWEKE_KERNELS)
def test_joint_distribution_of_parameter_and_data_is_unchanged(name: str) -> None:
    """Parallel Geweke test: theta ~ N(0, 1), y | theta ~ N(theta, 1), ten cycles of kernel and new data."""

    def replica(key: Array) -> tuple[Array, Array]:
        key_start, key_cycles = jax.random.split(key)
        start = jax.random.normal(key_start, (2,))

        def cycle(theta_y: tuple[Array, Array], key: Array) -> Any:
            theta, y = theta_y
            key_step, key_data = jax.random.split(key)
            kernel = GEWEKE_KERNELS[name](y)
            theta = kernel.step(key_step, kernel.init(jax.random.key(0), theta))[0].position
            return (theta, theta[0] + jax.random.normal(key_data)), None

        (theta, y), _ = jax.lax.scan(
            cycle, (start[:1], start[0] + start[1]), jax.random.split(key_cycles, 10)
        )
        return theta[0], y

    _check_joint(*jax.jit(jax.vmap(replica))(jax.random.split(key_for(f"geweke/{name}"), N)))


@pytest.mark.parametrize("name", ["apm_mi_mh", "apm_ss_ss"])
def test_joint_distribution_is_unchanged_with_an_estimated_likelihood(name: str) -> None:
    """As above with a latent variable between theta and y; u is drawn from its exact distribution given both."""

    def replica(key: Array) -> tuple[Array, Array]:
        key_start, key_cycles = jax.random.split(key)
        start = jax.random.normal(key_start, (2,))

        def cycle(theta_y: tuple[Array, Array], key: Array) -> Any:
            theta, y = theta_y
            key_u, key_step, key_data = jax.random.split(key, 3)
            estimator = latent_estimator(2, y)
            kernel = pseudo_marginal_method(name, estimator, 1.5, 1)
            u = draw_auxiliary_given(key_u, 2, theta[0], y)
            log_estimate = estimator.log_estimate(theta, u)
            state = kernel.init(key_u, theta)._replace(auxiliary=u, log_estimate=log_estimate)
            theta = kernel.step(key_step, state)[0].position
            return (theta, theta[0] + jnp.sqrt(2.0) * jax.random.normal(key_data)), None

        first = (start[:1], start[0] + jnp.sqrt(2.0) * start[1])
        (theta, y), _ = jax.lax.scan(cycle, first, jax.random.split(key_cycles, 10))
        return theta[0], y

    theta, y = jax.jit(jax.vmap(replica))(jax.random.split(key_for(f"geweke/{name}"), N))
    _check_joint(theta, y, noise_sd=np.sqrt(2.0))


def _check_joint(theta: Array, y: Array, noise_sd: float = 1.0) -> None:
    parameter = normal_transform(np.asarray(theta))
    residual = normal_transform(np.asarray(y - theta) / noise_sd)
    marginal = normal_transform(np.asarray(y) / np.hypot(1.0, noise_sd))
    assert_uniform(parameter, label="theta")
    assert_uniform(marginal, label="data")
    assert_standard_mean(legendre(parameter), label="theta, Legendre")
    products = legendre(parameter, 3)[:, :, None] * legendre(residual, 3)[:, None, :]
    assert_standard_mean(products.reshape(N, -1), label="theta and residual")
