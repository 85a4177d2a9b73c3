"""Kernels leave their target invariant from exact draws; broken ones do not; numbers inside an update are right."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import ndtr
from scipy import linalg

from auxmc.kernels.hamiltonian.hmc import hmc
from auxmc.kernels.manifold.constrained_hmc import project_momentum
from auxmc.kernels.pseudo_marginal.updates import pseudo_marginal_metropolis
from auxmc.kernels.slices.blocked_elliptical_slice import blocked_elliptical_slice
from auxmc.kernels.slices.directed_slice import along_axes, along_gaussian, along_unit_vectors
from auxmc.kernels.slices.elliptical_slice import elliptical_slice
from auxmc.kernels.slices.linear_slice import draw_line, linear_slice
from auxmc.kernels.slices.reflective_slice import reflective_slice
from auxmc.kernels.streams.stochastic_gradient import injected_noise
from auxmc.kernels.streams.stochastic_gradient_chain import stochastic_gradient_chain
from auxmc.numerics.jacobians import dense_jacobian
from tests.statistical import levels
from tests.statistical.kernel_checks import (
    BIMODAL,
    LOGISTIC,
    N_UPDATES,
    Case,
    at_position,
    check_ellipse_bracket,
    check_height,
    check_invariance,
    check_line_bracket,
    check_reversibility,
    check_standard_normal,
    check_structure,
    flat_infos,
    gaussian,
    run,
)
from tests.statistical.kernels import latent, manifold, metropolis, slices, tempering
from tests.unit.kernels.toys import log_normal

CURVATURE = np.array([[2.0, 0.6], [0.6, 0.7]])
GRADIENT_SD, STEP = 0.8, 0.3


def on_line(build, target=BIMODAL):
    return at_position(build(target.log_density), target)


def noisy_gradients(friction, gradient_noise):
    """On a quadratic potential position and velocity are Gaussian, with step size and gradient noise in the covariance.

    The covariance is from the discrete Lyapunov equation of the linear recursion.
    """
    identity = np.eye(2)
    velocity = np.hstack([-STEP * CURVATURE, (1.0 - friction) * identity])
    recursion = np.vstack([np.hstack([identity, 0.0 * identity]) + velocity, velocity])
    variance = float(injected_noise(friction, STEP, gradient_noise)) ** 2 + (STEP * GRADIENT_SD) ** 2
    covariance = linalg.solve_discrete_lyapunov(recursion, variance * np.kron(np.ones((2, 2)), identity))
    joint = gaussian(np.zeros(4), covariance)
    kernel = stochastic_gradient_chain(
        lambda x, noise: jnp.asarray(CURVATURE) @ x + GRADIENT_SD * noise,
        lambda key: jax.random.normal(key, (2,)),
        STEP,
        friction,
        2,
        gradient_noise,
    )

    def start(key):
        point = joint.draw(key)
        return kernel.init(point[:2], key=key)._replace(velocity=point[2:])

    transform = lambda state, _: joint.transform(jnp.concatenate([state.position, state.velocity]))
    return Case(kernel, start, transform, reversible=False)


ON_LINE = metropolis.ON_LINE | slices.ON_LINE
CASES = {name: partial(on_line, build) for name, build in ON_LINE.items()}
CASES |= metropolis.CASES | slices.CASES | latent.CASES | manifold.CASES | tempering.CASES
CASES["noisy gradients (0.3, 0.32)"] = partial(noisy_gradients, 0.3, 0.32)
# Most share their code with a fast case, which tests in tests/unit/kernels compare them with.
SLOW = {name: partial(on_line, build) for name, build in slices.SLOW_ON_LINE.items()}
ON_LINE |= slices.SLOW_ON_LINE
SLOW |= {f"{name} on logistic": partial(on_line, build, LOGISTIC) for name, build in ON_LINE.items()}
SLOW |= metropolis.SLOW | slices.SLOW | latent.SLOW | manifold.SLOW | tempering.SLOW
SLOW["noisy gradients (1, 0)"] = partial(noisy_gradients, 1, 0)

BROKEN_ON_LINE = metropolis.BROKEN_ON_LINE | slices.BROKEN_ON_LINE
BROKEN = {name: partial(on_line, build) for name, build in BROKEN_ON_LINE.items()}
BROKEN |= metropolis.BROKEN | slices.BROKEN | latent.BROKEN | manifold.BROKEN | tempering.BROKEN
BROKEN |= manifold.BROKEN_FAST

# Slices that are looked at inside an update.
WIDEST_BRACKETS = {
    "elliptical": 2.0 * np.pi,
    "linear": 1.5,
    "linear step out": 4 * 0.8,
    "directed": 3 * 0.8,
    "reflective": 1.0,
}


@pytest.mark.parametrize("name", levels.fast_and_slow(CASES | SLOW, CASES))
def test_kernel_is_invariant_and_reversible(name):
    case = (CASES | SLOW)[name]()
    runs = run(case, f"invariance/{name}")
    check_invariance(runs, case.floor)
    if case.reversible:
        check_reversibility(runs)


@pytest.mark.parametrize("name", levels.fast_and_slow(BROKEN, manifold.BROKEN_FAST))
def test_broken_kernel_is_not_invariant(name):
    runs = run(BROKEN[name](), f"mutant/{name}")
    with levels.expecting_failure():
        check_invariance(runs, floor=0.0)


@pytest.mark.slow
def test_rejection_in_the_bracket_without_shrinking_is_valid():
    check_invariance(run(on_line(slices.unshrunk_slice, LOGISTIC), "mutant/positive control"), floor=0.5)


# --- inside an update ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WIDEST_BRACKETS)
def test_slice_structure_and_height(name):
    runs = run((CASES | SLOW)[name]()._replace(n_steps=1), f"internals/{name}")
    check_structure(runs)
    check_height(runs)
    _, _, info = runs.inside
    assert np.all(info.upper - info.lower <= WIDEST_BRACKETS[name] + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", slices.STRUCTURE | slices.HEIGHT)
def test_broken_slice_is_noticed_inside_an_update(name):
    runs = run(on_line((slices.STRUCTURE | slices.HEIGHT)[name]), f"mutant/{name}")
    with levels.expecting_failure():
        (check_structure if name in slices.STRUCTURE else check_height)(runs)


def flat(_):
    return jnp.zeros(())


BRACKETS = {
    "plain": (linear_slice(flat, 0.7, 1, 0), partial(check_line_bracket, width=0.7, max_step_outs=0)),
    "step outs": (linear_slice(flat, 0.7, 1, 3), partial(check_line_bracket, width=0.7, max_step_outs=3)),
    "reflective": (reflective_slice(flat, 1), partial(check_line_bracket, width=1.0, max_step_outs=0)),
    "ellipse": (elliptical_slice(flat, dim=1), check_ellipse_bracket),
}


@pytest.mark.parametrize("name", BRACKETS)
def test_bracket_has_its_distribution(name):
    kernel, check = BRACKETS[name]
    check(flat_infos(kernel, f"bracket/{name}"))


@pytest.mark.slow
@pytest.mark.parametrize("name", slices.BRACKET)
def test_broken_bracket_is_not_uniform(name):
    build, check = slices.BRACKET[name]
    infos = flat_infos(build(flat), f"mutant/{name}")
    with levels.expecting_failure():
        check(infos)


def test_directions_have_their_distributions():
    """A coordinate of a uniform direction in three dimensions is uniform (Archimedes); the others are by definition."""
    factor = np.array([[2.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-1.0, 0.3, 0.2]])
    distributions = (
        along_axes(3),
        along_unit_vectors(3),
        lambda key: draw_line(key, 3).direction,
        along_gaussian(jnp.asarray(factor)),
    )
    axes, *spheres, long = levels.draw_many(
        lambda key: [distribution(key) for distribution in distributions], "directions of slices", N_UPDATES
    )
    levels.assert_fractions(axes[:, :2], 1.0 / 3.0, detects=0.07, label="axes")
    oblique = np.array([2.0, -1.0, 2.0]) / 3.0
    for sphere in spheres:
        for projection in (*sphere.T, sphere @ oblique):
            levels.assert_uniform(0.5 * (projection + 1.0), detects=0.04, label="sphere")
    spread = np.linalg.norm(factor.T @ oblique)
    check_standard_normal((long @ oblique / spread)[:, None], "Gaussian")


def _of_blocks(noise):
    of_block = lambda block: [*ndtr(block.direction), block.angle / (2.0 * np.pi), jnp.exp(block.log_uniform)]
    return [uniform for block in noise for uniform in of_block(block)]


NUMBERS = {
    "metropolis noise": (
        pseudo_marginal_metropolis(latent.latent_estimator(1), 1.0, 1),
        lambda noise: [*ndtr(noise.move), *ndtr(noise.auxiliary), jnp.exp(noise.log_uniform)],
        0.07,
    ),
    "trajectory": (
        hmc(log_normal, 0.1, (2, 6), 2),
        lambda noise: [*ndtr(noise.normal), jnp.exp(noise.log_uniform), noise.n_steps],
        0.07,
    ),
    "blocks": (blocked_elliptical_slice(flat, [(2, 5), (0, 2)]), _of_blocks, 0.08),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_random_numbers_of_a_step_have_their_distributions_and_are_independent(name):
    kernel, transform, detects_mean = NUMBERS[name]
    columns = levels.draw_many(lambda key: transform(kernel.draw(key)), name, N_UPDATES)
    if name == "trajectory":
        # Numbers of steps from 2 to 6, spread over the unit interval.
        columns[-1] = (columns[-1] - 2 + levels.rng_for("trajectory/fresh").uniform(size=N_UPDATES)) / 5.0
    levels.assert_independent(np.stack(columns, axis=1), name, detects=0.04, detects_mean=detects_mean)


def test_first_velocities_have_the_variance_of_the_step():
    kernel = stochastic_gradient_chain(lambda x, noise: x, lambda key: jnp.zeros(2), STEP, 0.2, 2)
    velocity = lambda key: kernel.init(jnp.zeros(2), key=key).velocity
    velocities = levels.draw_many(velocity, "first velocity", N_UPDATES)
    check_standard_normal(velocities / np.sqrt(STEP), "first velocity")


def test_momenta_are_standard_normal_in_the_tangent_space():
    """Along two orthonormal tangents the projected momentum is normal; along the gradient there is nothing left."""
    gradient = np.array([[1.0, -2.0, 0.5]])
    jacobian = dense_jacobian(jnp.asarray(gradient))
    normals = jax.random.normal(levels.key_for("tangent"), (20_000, 3))
    momenta = np.asarray(jax.jit(jax.vmap(lambda normal: project_momentum(jacobian, normal)))(normals))
    np.testing.assert_allclose(momenta @ gradient[0], 0.0, atol=1e-12)
    check_standard_normal(momenta @ linalg.null_space(gradient), "along the tangents")
