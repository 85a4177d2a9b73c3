"""Constrained HMC and modified ABC leave known distributions invariant, from exact draws; broken versions do not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import ndtr
from scipy import linalg

from auxmc.kernels.manifold.constrained_hmc import constrained_hmc
from auxmc.kernels.manifold.constrained_nuts import constrained_nuts
from auxmc.kernels.manifold.modified_abc import bracket_uniforms, modified_abc
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.models.conditioned import condition_generator
from tests.statistical.broken import with_noise
from tests.statistical.kernel_checks import check_invariance, check_reversibility, follow, many_replicas
from tests.statistical.levels import expecting_failure

RADIUS = 0.4
GRID = jnp.linspace(-3.0, 3.0, 4001)

HYPERBOLA = condition_generator(
    lambda u: jnp.array([u[0] ** 2 - u[1] ** 2]), lambda u: -0.5 * jnp.sum(jnp.square(u)), jnp.ones(1)
)
TORUS = condition_generator(
    lambda u: jnp.array([(jnp.sqrt(u[0] ** 2 + u[1] ** 2) - 1.0) ** 2 + u[2] ** 2]),
    lambda u: 0.0 * jnp.sum(u),
    jnp.array([RADIUS**2]),
)


# --- the branch u1 > 0 of u1^2 - u2^2 = 1 with normal inputs: density exp(-cosh(2 t) / 2) in t = asinh(u2) ----


def _branch_cdf():
    density = jnp.exp(-0.5 * jnp.cosh(2.0 * GRID))
    total = jnp.cumsum(0.5 * (density[1:] + density[:-1]))
    return jnp.concatenate([jnp.zeros(1), total / total[-1]])


BRANCH_CDF = _branch_cdf()


def draw_branch(key):
    t = jnp.interp(jax.random.uniform(key), BRANCH_CDF, GRID)
    return jnp.stack([jnp.cosh(t), jnp.sinh(t)])


def branch_transform(u):
    return jnp.interp(jnp.arcsinh(u[1]), GRID, BRANCH_CDF)[None]


# --- the torus with its area: angle about the axis uniform, angle about the tube with density 1 + r cos ------


def draw_torus(key):
    key_axis, key_tube = jax.random.split(key)
    theta = 2.0 * jnp.pi * jax.random.uniform(key_axis)
    grid = jnp.linspace(-jnp.pi, jnp.pi, 8001)
    phi = jnp.interp(jax.random.uniform(key_tube), _tube_cdf(grid), grid)
    ring = 1.0 + RADIUS * jnp.cos(phi)
    return jnp.stack([ring * jnp.cos(theta), ring * jnp.sin(theta), RADIUS * jnp.sin(phi)])


def _tube_cdf(phi):
    return (phi + jnp.pi + RADIUS * jnp.sin(phi)) / (2.0 * jnp.pi)


def torus_transform(u):
    theta = jnp.arctan2(u[1], u[0]) / (2.0 * jnp.pi)
    phi = jnp.arctan2(u[2], jnp.hypot(u[0], u[1]) - 1.0)
    return jnp.stack([theta - jnp.floor(theta), _tube_cdf(phi)])


def run(kernel, draw, transform, name):
    """Replicas that start from exact draws; transforms are uniform if the kernel is right."""

    def replica(_, key):
        key_start, key_steps = jax.random.split(key)
        state = kernel.init(jax.random.key(0), draw(key_start))
        return follow(kernel, state, key_steps, lambda state: transform(state.position))

    return many_replicas(replica, batch_size=500)(0, name)


NEWTON = ProjectionSettings("newton", None, max_iterations=10)


def kernel_on(model, dim, step_size=0.5, projection=NEWTON):
    return constrained_hmc(model, step_size, (1, 3), dim, n_inner_steps=2, projection=projection)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["quasi_newton", "newton"])
def test_the_distribution_on_a_branch_of_the_hyperbola_is_unchanged(solver):
    kernel = kernel_on(HYPERBOLA, 2, projection=ProjectionSettings(solver, max_iterations=20))
    runs = run(kernel, draw_branch, branch_transform, f"hyperbola/{solver}")
    check_invariance(runs, floor=0.5)
    check_reversibility(runs)


@pytest.mark.slow
def test_the_area_of_the_torus_is_unchanged_by_steps_so_large_that_many_fail():
    runs = run(kernel_on(TORUS, 3, 0.6), draw_torus, torus_transform, "torus")
    check_invariance(runs, floor=0.3)
    check_reversibility(runs)


@pytest.mark.slow
def test_the_area_of_the_torus_is_unchanged_though_many_steps_cannot_be_reversed():
    """Steps of 1 on a tube of radius 0.4, in one piece: one trajectory in twenty ends at such a step.

    Accepted, these would move the angle about the tube by seven standard errors of 20 000 replicas.
    """
    kernel = constrained_hmc(TORUS, 1.0, (1, 3), 3, projection=NEWTON)
    check_invariance(run(kernel, draw_torus, torus_transform, "torus/irreversible"), floor=0.2)


def test_trajectories_that_end_by_themselves_leave_the_distribution_unchanged():
    kernel = constrained_nuts(HYPERBOLA, 0.3, 2, max_depth=4, projection=NEWTON)
    check_invariance(run(kernel, draw_branch, branch_transform, "no-U-turn"), floor=0.7)


def test_linear_constraints_give_the_exact_conditional_distribution():
    """Normal inputs on a plane: standard normal along it, and nothing across."""
    normal, value = np.array([[1.0, 2.0, -1.0]]), 0.7
    plane = condition_generator(
        lambda u: jnp.asarray(normal) @ u, lambda u: -0.5 * jnp.sum(jnp.square(u)), jnp.array([value])
    )
    mean, basis = jnp.asarray(value * normal[0] / np.sum(normal**2)), jnp.asarray(linalg.null_space(normal))
    kernel = constrained_hmc(plane, 0.4, (2, 5), 3)
    runs = run(
        kernel, lambda key: mean + basis @ jax.random.normal(key, (2,)), lambda u: ndtr(basis.T @ u), "plane"
    )
    check_invariance(runs, floor=0.8)


def _without_log_determinant():
    def jacobian(u):
        return HYPERBOLA.jacobian(u)._replace(half_log_determinant=jnp.zeros(()))

    return kernel_on(HYPERBOLA._replace(jacobian=jacobian), 2)


def _momentum_too_large():
    return with_noise(kernel_on(HYPERBOLA, 2), lambda n, _: n._replace(normal=1.3 * n.normal))


def _without_accept_step():
    accepted = jnp.full((), -jnp.inf)
    return with_noise(kernel_on(HYPERBOLA, 2), lambda n, _: n._replace(log_uniform=accepted))


@pytest.mark.parametrize(
    "build",
    [
        _without_log_determinant,
        pytest.param(_momentum_too_large, marks=pytest.mark.slow),
        pytest.param(_without_accept_step, marks=pytest.mark.slow),
    ],
)
def test_broken_versions_are_noticed(build):
    runs = run(build(), draw_branch, branch_transform, f"constrained mutant/{build.__name__}")
    with expecting_failure(), pytest.raises(AssertionError):
        check_invariance(runs, floor=0.0)


# --- modified ABC for quantile models -----------------------------------------------------------------

N_STEPS = 3
DATA = np.array([0.2, 1.1])
TOLERANCE = 0.4
N_BISECTIONS = 4

_GRID = np.linspace(-8.0, 8.0, 20_001)


def _quantile(p, z):
    return z[0] + jnp.log(p) - jnp.log1p(-p)


def _log_prior(z):
    return -0.5 * jnp.sum(jnp.square(z))


def _sigmoid(values):
    return 1.0 / (1.0 + np.exp(-values))


def _marginal_cdf():
    """Distribution function of z on the grid: prior times the product of the widths of the allowed intervals."""
    ends = DATA[:, None] - _GRID[None, :]
    widths = _sigmoid(ends + TOLERANCE) - _sigmoid(ends - TOLERANCE)
    density = np.exp(-0.5 * _GRID**2) * widths.prod(axis=0)
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    return cumulative / cumulative[-1]


CDF = _marginal_cdf()


def _allowed(z):
    data = jnp.asarray(DATA)
    return jax.nn.sigmoid(data - TOLERANCE - z), jax.nn.sigmoid(data + TOLERANCE - z)


def _transforms(state):
    """Distribution functions of z and of each uniform given z: independent uniforms under the target [1 + data]."""
    low, high = _allowed(state.position[0])
    first = jnp.interp(state.position, jnp.asarray(_GRID), jnp.asarray(CDF))
    return jnp.concatenate([first, (state.uniforms - low) / (high - low)])


def _quantile_runs(kernel, name):
    """Replicas from exact draws of (z, p); brackets of 1/16 are far wider than the allowed intervals need."""

    def replica(_, key):
        key_z, key_p, key_steps = jax.random.split(key, 3)
        z = jnp.interp(jax.random.uniform(key_z, (1,)), jnp.asarray(CDF), jnp.asarray(_GRID))
        low, high = _allowed(z[0])
        uniforms = low + (high - low) * jax.random.uniform(key_p, DATA.shape)
        state = kernel.init(jax.random.key(0), z)._replace(uniforms=uniforms, log_density=_log_prior(z))
        fresh = lambda state: state._replace(log_density=_log_prior(state.position))
        return follow(kernel, state, key_steps, _transforms, fresh, N_STEPS)

    return many_replicas(replica)(0, name)


def _modified_abc():
    return modified_abc(_quantile, _log_prior, jnp.asarray(DATA), TOLERANCE, 0.9, 1, N_BISECTIONS)


def test_modified_abc_keeps_the_distribution_of_parameters_and_uniforms():
    check_invariance(_quantile_runs(_modified_abc(), "modified abc"), floor=0.1)


def _without_widths_of_the_brackets():
    """The current width is replaced by the proposed one, so that the two cancel."""
    kernel = _modified_abc()

    def apply(noise, state):
        position = state.position + 0.9 * noise.offsets
        brackets = bracket_uniforms(_quantile, position, jnp.asarray(DATA), TOLERANCE, N_BISECTIONS)
        log_width = jnp.sum(jnp.log(brackets.upper - brackets.lower))
        return kernel.apply(noise, state._replace(log_width=log_width))

    return kernel._replace(apply=apply)


def _with_the_first_datum_alone():
    """All data but the first are given values near their target, whatever the uniforms are."""

    def blind(p, z):
        values = _quantile(p, z)
        return values.at[1].set(jnp.clip(values[1], DATA[1] - TOLERANCE, DATA[1] + TOLERANCE))

    return modified_abc(blind, _log_prior, jnp.asarray(DATA), TOLERANCE, 0.9, 1, N_BISECTIONS)


@pytest.mark.parametrize("build", [_without_widths_of_the_brackets, _with_the_first_datum_alone])
def test_broken_versions_of_modified_abc_are_noticed(build):
    runs = _quantile_runs(build(), build.__name__)
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        check_invariance(runs, floor=0.0)
