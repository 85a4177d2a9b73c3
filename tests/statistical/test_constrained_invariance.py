"""Constrained HMC leaves known distributions on manifolds invariant; broken versions do not."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.scipy.special import ndtr
from scipy import linalg

from auxmc.kernels.base import Kernel
from auxmc.kernels.manifold.constrained_hmc import ConstrainedState, constrained_hmc
from auxmc.kernels.manifold.constrained_nuts import constrained_nuts
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.models.conditioned import ConditionedModel, condition_generator
from tests.statistical.kernel_checks import N_STEPS, N, Runs, check_invariance, check_reversibility
from tests.statistical.levels import expecting_failure, key_for

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


def _branch_cdf() -> Array:
    density = jnp.exp(-0.5 * jnp.cosh(2.0 * GRID))
    total = jnp.cumsum(0.5 * (density[1:] + density[:-1]))
    return jnp.concatenate([jnp.zeros(1), total / total[-1]])


BRANCH_CDF = _branch_cdf()


def draw_branch(key: Array) -> Array:
    t = jnp.interp(jax.random.uniform(key), BRANCH_CDF, GRID)
    return jnp.stack([jnp.cosh(t), jnp.sinh(t)])


def branch_transform(u: Array) -> Array:
    return jnp.interp(jnp.arcsinh(u[1]), GRID, BRANCH_CDF)[None]


# --- the torus with its area: angle about the axis uniform, angle about the tube with density 1 + r cos ------


def draw_torus(key: Array) -> Array:
    key_axis, key_tube = jax.random.split(key)
    theta = 2.0 * jnp.pi * jax.random.uniform(key_axis)
    grid = jnp.linspace(-jnp.pi, jnp.pi, 8001)
    phi = jnp.interp(jax.random.uniform(key_tube), _tube_cdf(grid), grid)
    ring = 1.0 + RADIUS * jnp.cos(phi)
    return jnp.stack([ring * jnp.cos(theta), ring * jnp.sin(theta), RADIUS * jnp.sin(phi)])


def _tube_cdf(phi: Array) -> Array:
    return (phi + jnp.pi + RADIUS * jnp.sin(phi)) / (2.0 * jnp.pi)


def torus_transform(u: Array) -> Array:
    theta = jnp.arctan2(u[1], u[0]) / (2.0 * jnp.pi)
    phi = jnp.arctan2(u[2], jnp.hypot(u[0], u[1]) - 1.0)
    return jnp.stack([theta - jnp.floor(theta), _tube_cdf(phi)])


def manifold_driver(
    kernel: Kernel, draw: Callable[[Array], Array], transform: Callable[[Array], Array]
) -> Callable[[int, str], Runs]:
    """Compiles replicas that start from exact draws; transforms are uniform if the kernel is right."""

    def replica(key: Array) -> Any:
        key_start, key_steps = jax.random.split(key)
        state = kernel.init(jax.random.key(0), draw(key_start))

        def step(state: ConstrainedState, key: Array) -> Any:
            state, _ = kernel.step(key, state)
            return state, transform(state.position)

        end, path = jax.lax.scan(step, state, jax.random.split(key_steps, N_STEPS))
        error = jnp.abs(end.potential - kernel.init(jax.random.key(0), end.position).potential)
        return transform(state.position), path[0], path[-1], error

    # Small batches: a loop in one of them ends when its own slowest replica has ended.
    many = jax.jit(lambda keys: jax.lax.map(replica, keys, batch_size=500))

    def run(index: int, name: str) -> Runs:
        start, once, last, error = many(jax.random.split(key_for(name), N))
        clip = lambda values: np.clip(np.asarray(values), 0.0, 1.0)
        return Runs(clip(start), clip(once), clip(last), float(jnp.max(error)), 0)

    return run


def run(
    kernel: Kernel, draw: Callable[[Array], Array], transform: Callable[[Array], Array], name: str
) -> Runs:
    return manifold_driver(kernel, draw, transform)(0, name)


NEWTON = ProjectionSettings("newton", None, max_iterations=10)


def kernel_on(
    model: ConditionedModel, dim: int, step_size: float = 0.5, projection: ProjectionSettings = NEWTON
) -> Kernel:
    return constrained_hmc(model, step_size, (1, 3), dim, n_inner_steps=2, projection=projection)


@pytest.mark.parametrize("solver", ["quasi_newton", pytest.param("newton", marks=pytest.mark.slow)])
def test_the_distribution_on_a_branch_of_the_hyperbola_is_unchanged(solver: str) -> None:
    kernel = kernel_on(HYPERBOLA, 2, projection=ProjectionSettings(solver, max_iterations=20))
    runs = run(kernel, draw_branch, branch_transform, f"hyperbola/{solver}")
    check_invariance(runs, floor=0.5)
    check_reversibility(runs)


@pytest.mark.slow
def test_the_area_of_the_torus_is_unchanged_by_steps_so_large_that_many_fail() -> None:
    runs = run(kernel_on(TORUS, 3, 0.6), draw_torus, torus_transform, "torus")
    check_invariance(runs, floor=0.3)
    check_reversibility(runs)


def test_trajectories_that_end_by_themselves_leave_the_distribution_unchanged() -> None:
    kernel = constrained_nuts(HYPERBOLA, 0.3, 2, max_depth=4, projection=NEWTON)
    check_invariance(run(kernel, draw_branch, branch_transform, "no-U-turn"), floor=0.7)


def test_linear_constraints_give_the_exact_conditional_distribution() -> None:
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


def _without_log_determinant() -> Kernel:
    def jacobian(u: Array) -> Any:
        return HYPERBOLA.jacobian(u)._replace(half_log_determinant=jnp.zeros(()))  # type: ignore[attr-defined]

    return kernel_on(HYPERBOLA._replace(jacobian=jacobian), 2)


def _without_momentum_projection() -> Kernel:
    kernel = kernel_on(HYPERBOLA, 2)

    def draw(key: Array) -> Any:
        noise = kernel.draw(key)
        return noise._replace(normal=1.3 * noise.normal)

    return kernel._replace(draw=draw)


def _potential_of_the_start() -> Kernel:
    """Accepts by the kinetic energy alone, as the printed algorithm with the current potential would."""
    kernel = kernel_on(HYPERBOLA, 2)

    def apply(noise: Any, state: ConstrainedState) -> Any:
        new, info = kernel.apply(noise._replace(log_uniform=jnp.full((), -jnp.inf)), state)
        return new, info

    return kernel._replace(apply=apply)


MUTANTS = {
    "no Gram determinant": _without_log_determinant,
    "momentum too large": _without_momentum_projection,
    "no accept step": _potential_of_the_start,
}


@pytest.mark.parametrize(
    "name",
    [
        "no Gram determinant",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("momentum too large", "no accept step")),
    ],
)
def test_broken_versions_are_noticed(name: str) -> None:
    runs = run(MUTANTS[name](), draw_branch, branch_transform, f"constrained mutant/{name}")
    with expecting_failure(), pytest.raises(AssertionError):
        check_invariance(runs, floor=0.0)
