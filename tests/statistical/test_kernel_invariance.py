"""Kernels leave their target invariant and are reversible; the numbers inside an update have their distributions."""

from functools import cache
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import hamiltonian_monte_carlo
from auxmc.kernels.hamiltonian.langevin import metropolis_langevin
from auxmc.kernels.metropolis.involution import involution_metropolis
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
from auxmc.kernels.slices.directed_slice import along_axes, directed_slice
from auxmc.kernels.slices.elliptical_slice import elliptical_slice
from auxmc.kernels.slices.linear_slice import draw_line, linear_slice
from auxmc.kernels.slices.reflective_slice import reflective_slice
from tests.statistical.kernel_checks import (
    TARGETS,
    check_ellipse_bracket,
    check_height,
    check_invariance,
    check_line_bracket,
    check_reversibility,
    check_structure,
    flat_infos,
    latent_driver,
    latent_estimator,
    line_driver,
    log_square,
    log_target,
    slice_internals,
    square_driver,
)
from tests.statistical.levels import assert_independent, assert_uniform, key_for


def random_walk(index):
    return random_walk_metropolis(lambda x: log_target(index, x), 1.0, 1)


def independence(index):
    def log_weight(x):
        scaled = x[0] / 1.5
        return log_target(index, x) + scaled + 2.0 * jnp.logaddexp(0.0, -scaled)

    return metropolis_independence(log_weight, lambda key: 1.5 * jax.random.logistic(key, (1,)))


def elliptical(index):
    return elliptical_slice(lambda x: log_target(index, x) + 0.5 * x[0] ** 2, dim=1)


def linear(index):
    return linear_slice(lambda x: log_target(index, x), 1.5, 1)


def linear_step_out(index):
    return linear_slice(lambda x: log_target(index, x), 0.8, 1, 3)


def directed(index):
    return directed_slice(lambda x: log_target(index, x), along_axes(1), 0.8, 1, 2)


def hmc(index):
    """A step of 0.12 is coarse for the narrow mode (sd 0.1), where one proposal in five is rejected."""
    return hamiltonian_monte_carlo(lambda x: log_target(index, x), 0.12, (2, 6), 1)


def langevin(index):
    return metropolis_langevin(lambda x: log_target(index, x), jnp.where(index == 0, 0.15, 1.1), 1)


def partner(x):
    """An involution of the line with a Jacobian: 3 / u, u being log(1 + exp(x)), taken back by log(exp(u) - 1)."""
    image = 3.0 / jax.nn.softplus(x)
    return image + jnp.log(-jnp.expm1(-image))


def involution(index):
    return involution_metropolis(lambda x: log_target(index, x), partner)


BUILDS = (random_walk, independence, elliptical, linear, linear_step_out, directed, hmc, langevin, involution)
LINE_KERNELS = {build.__name__: build for build in BUILDS}

UPDATES = {
    "independence_auxiliary": independence_auxiliary,
    "elliptical_auxiliary": elliptical_auxiliary,
    "metropolis_position": lambda estimator: metropolis_position(estimator, 1.0, 1),
    "slice_position_step_out": lambda estimator: slice_position(estimator, 0.8, 1, 3),
}


@cache
def _line_driver(name):
    return line_driver(LINE_KERNELS[name])


# The involution does not lead from one mode to the other.
PAIRS = [
    pytest.param(name, target, marks=[pytest.mark.slow] * (target == "logistic" and name != "involution"))
    for name, target in product(LINE_KERNELS, TARGETS)
    if (name, target) != ("involution", "bimodal")
]


@pytest.mark.parametrize(("name", "target"), PAIRS)
def test_kernel_on_the_line_is_invariant_and_reversible(name, target):
    runs = _line_driver(name)(TARGETS.index(target), f"invariance/{name}/{target}")
    check_invariance(runs, floor=0.2 if name == "involution" else 0.5)
    check_reversibility(runs)


def test_reflective_slice_is_invariant_and_reversible():
    runs = square_driver(reflective_slice(log_square, 2))(0, "invariance/reflective")
    check_invariance(runs, floor=0.5)
    check_reversibility(runs)


@pytest.mark.slow
@pytest.mark.parametrize("n_importance", [1, 4])
@pytest.mark.parametrize("name", METHODS)
def test_method_leaves_the_joint_distribution_invariant(name, n_importance):
    driver = latent_driver(lambda estimator: pseudo_marginal_method(name, estimator, 1.5, 1), n_importance)
    runs = driver(0, f"invariance/{name}/{n_importance}")
    check_invariance(runs, floor=0.5)
    if name == "pm_mh":
        check_reversibility(runs)


@pytest.mark.parametrize("name", UPDATES)
def test_single_update_is_reversible(name):
    def build(estimator):
        update = UPDATES[name](estimator)
        return Kernel(pseudo_marginal_metropolis(estimator, 1.0, 1).init, update.draw, update.apply)

    runs = latent_driver(build, 4)(0, f"reversibility/{name}")
    check_reversibility(runs)


@pytest.mark.parametrize("name", ["elliptical", "linear", "linear_step_out"])
def test_slice_structure_and_height(name):
    internals = slice_internals(LINE_KERNELS[name](jnp.asarray(0)), f"internals/{name}")
    check_structure(internals)
    check_height(internals)


@pytest.mark.parametrize("max_step_outs", [0, 3])
def test_line_bracket_has_its_distribution(max_step_outs):
    kernel = linear_slice(lambda _: jnp.zeros(()), 0.7, 1, max_step_outs)
    check_line_bracket(flat_infos(kernel, f"bracket/{max_step_outs}"), 0.7, max_step_outs)


def test_reflective_bracket_has_its_distribution():
    check_line_bracket(flat_infos(reflective_slice(lambda _: jnp.zeros(()), 1), "bracket/reflective"), 1.0, 0)


def test_ellipse_bracket_has_its_distribution():
    check_ellipse_bracket(flat_infos(elliptical_slice(lambda _: jnp.zeros(()), dim=1), "bracket/ellipse"))


def test_directions_are_uniform_on_the_sphere():
    """Each coordinate of a uniform direction in three dimensions is uniform on [-1, 1] (Archimedes)."""
    keys = jax.random.split(key_for("directions"), 20_000)
    directions = np.asarray(jax.vmap(lambda key: draw_line(key, 3).direction)(keys))
    oblique = directions @ np.array([1.0, 2.0, -2.0]) / 3.0
    for projection in (*directions.T, oblique):
        assert_uniform(0.5 * (projection + 1.0), detects=0.04)


def test_metropolis_random_numbers_have_their_distributions_and_are_independent():
    keys = jax.random.split(key_for("metropolis noise"), 20_000)
    kernel = pseudo_marginal_metropolis(latent_estimator(1), 1.0, 1)
    noise = jax.vmap(kernel.draw)(keys)
    numbers = np.stack([noise.normal[:, 0], noise.auxiliary[:, 0]], axis=1)
    uniforms = np.column_stack([stats.norm.cdf(numbers), np.exp(noise.log_uniform)])
    assert_independent(uniforms, "metropolis noise", detects=0.04, detects_mean=0.07)
