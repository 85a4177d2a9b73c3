"""Hamiltonian kernels: the integrator, special cases that are plain HMC, counted failures, adaptation."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.dual_averaging import dual_averaging
from auxmc.kernels.hamiltonian.hmc import HMCNoise, HMCState, hmc, leapfrog
from auxmc.kernels.hamiltonian.langevin import mala, unadjusted_langevin
from auxmc.kernels.hamiltonian.persistent_hmc import persistent_hmc
from auxmc.kernels.hamiltonian.phased import phased
from auxmc.kernels.hamiltonian.riemannian_hmc import riemannian_hmc
from auxmc.kernels.metropolis.metropolis import MoveNoise
from tests.unit.kernels.toys import chain, log_normal

START, MOMENTUM = jnp.array([0.7, -1.1]), jnp.array([0.9, 0.4])
ALWAYS, NEVER = jnp.array(-jnp.inf), jnp.array(jnp.inf)


def log_quartic(x):
    return -jnp.sum(0.25 * x**4) - 0.3 * x[0] * x[1]


def log_steep(x):
    return -jnp.sum(x**4)


EVALUATE = jax.value_and_grad(log_quartic)


def trajectory(step_size, n_steps, phase):
    """End of a trajectory of leapfrog steps, of position and momentum [2 dim]."""
    start = HMCState(phase[:2], *EVALUATE(phase[:2]))
    end, momentum, _ = leapfrog(EVALUATE, start, phase[2:], step_size, jnp.int32(n_steps))
    return jnp.concatenate([end.position, momentum])


def energy(phase):
    return float(0.5 * jnp.sum(phase[2:] ** 2) - log_quartic(phase[:2]))


# --- integrator ----------------------------------------------------------------------------------------


def test_trajectories_can_be_reversed_keep_volume_and_have_an_energy_error_of_second_order():
    begin = jnp.concatenate([START, MOMENTUM])
    turn = jnp.array([1.0, 1.0, -1.0, -1.0])
    end = trajectory(0.13, 25, begin)
    np.testing.assert_allclose(turn * trajectory(0.13, 25, turn * end), begin, atol=1e-12)
    jacobian = jax.jacfwd(lambda phase: trajectory(0.2, 3, phase))(begin)
    assert float(jnp.linalg.det(jacobian)) == pytest.approx(1.0, abs=1e-12)
    errors = [abs(energy(trajectory(0.5 / n, n, begin)) - energy(begin)) for n in (10, 20)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


@pytest.mark.slow
def test_trajectories_are_those_of_blackjax():
    from blackjax.mcmc import integrators, metrics

    state = HMCState(START, *EVALUATE(START))
    end, end_momentum, _ = leapfrog(EVALUATE, state, MOMENTUM, 0.11, jnp.asarray(25, jnp.int32))
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        step = integrators.velocity_verlet(log_quartic, metrics.default_metric(jnp.ones(2)).kinetic_energy)
        theirs = integrators.IntegratorState(START, MOMENTUM, *EVALUATE(START))
        for _ in range(25):
            theirs = step(theirs, 0.11)
    ours = (end.position, end_momentum, end.log_density, end.gradient)
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_info_tells_what_happened():
    kernel = hmc(log_quartic, 0.2, (4, 9), dim=2)
    state = kernel.init(START)
    noise = kernel.draw(jax.random.key(3))
    new, info = jax.jit(kernel.apply)(noise, state)
    begin = jnp.concatenate([START, noise.normal])
    end = trajectory(0.2, noise.n_steps, begin)
    change = energy(end) - energy(begin)
    assert float(info.energy_change) == pytest.approx(change, rel=1e-10)
    assert float(info.acceptance_rate) == pytest.approx(min(1.0, np.exp(-change)), rel=1e-10)
    assert bool(info.is_accepted) == (float(noise.log_uniform) < -change)
    assert int(info.n_gradients) == int(info.num_integration_steps) == int(noise.n_steps)
    assert int(info.n_not_finite) == 0
    expected = end[:2] if bool(info.is_accepted) else state.position
    np.testing.assert_allclose(new.position, expected, rtol=1e-12)
    assert float(new.log_density) == pytest.approx(float(log_quartic(new.position)), rel=1e-12)
    np.testing.assert_allclose(new.gradient, EVALUATE(new.position)[1], rtol=1e-10)


# --- special cases -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "step_size", "n_steps", "energy_change"),
    [
        (mala(log_quartic, 0.8, 2), 0.8, 1, lambda info: -info.log_ratio),
        (persistent_hmc(log_quartic, 0.3, 5, 0.0, 2), 0.3, 5, lambda info: info.energy_change),
    ],
    ids=["mala", "no persistence"],
)
def test_one_step_or_a_momentum_that_does_not_persist_is_plain_hmc(kernel, step_size, n_steps, energy_change):
    plain = hmc(log_quartic, step_size, n_steps, 2)
    state, plain_state = kernel.init(START, key=jax.random.key(0)), plain.init(START)
    apply, plain_apply = jax.jit(kernel.apply), jax.jit(plain.apply)
    for normal in jnp.asarray(np.random.default_rng(1).normal(size=(10, 2))):
        new, info = apply(MoveNoise(normal, jnp.array(-0.1)), state)
        other, expected = plain_apply(HMCNoise(normal, jnp.int32(n_steps), jnp.array(-0.1)), plain_state)
        np.testing.assert_allclose(new.position, other.position, atol=1e-13)
        assert float(energy_change(info)) == pytest.approx(float(expected.energy_change), abs=1e-11)
        assert bool(info.is_accepted) == bool(expected.is_accepted)
        assert int(info.n_gradients) == n_steps
        assert float(new.log_density) == pytest.approx(float(log_quartic(new.position)), rel=1e-13)


def test_the_warm_up_of_a_phased_kernel_has_its_own_steps_and_then_ends():
    build = lambda step: hmc(log_normal, step, (5, 9), dim=2)
    kernel = phased(build, 2, jnp.asarray(0.3), 0.01, 3)
    state = kernel.init(jnp.ones(2), key=jax.random.key(0))
    plain = build(jnp.asarray(0.3))
    for iteration in range(4):
        noise = kernel.draw(jax.random.key(iteration))
        before = state
        state, info = kernel.apply(noise, state)
        if iteration < 2:
            assert int(info.num_integration_steps) == 3
        else:
            expected, _ = plain.apply(noise, before.inner)
            np.testing.assert_allclose(state.inner.position, expected.position, rtol=1e-12)
            assert 5 <= int(info.num_integration_steps) <= 9
        assert int(state.iteration) == iteration + 1


def test_without_an_accept_step_every_proposal_is_taken():
    adjusted, free = (build(log_quartic, 0.9, 2) for build in (mala, unadjusted_langevin))
    start = jnp.array([1.5, -1.5])
    noise = MoveNoise(jnp.array([2.0, -2.0]), jnp.array(0.0))
    kept, kept_info = adjusted.apply(noise, adjusted.init(start))
    moved, moved_info = free.apply(noise, free.init(start))
    assert not bool(kept_info.is_accepted)
    assert bool(moved_info.is_accepted)
    np.testing.assert_array_equal(kept.position, start)
    assert float(moved_info.log_ratio) == float(kept_info.log_ratio)
    assert not np.allclose(moved.position, start)


def test_a_rejection_keeps_the_point_and_reverses_the_refreshed_momentum():
    kernel = persistent_hmc(log_quartic, 0.3, 5, 0.6, 2)
    momentum, normal = jnp.array([0.4, -0.2]), jnp.array([1.0, 0.5])
    state = kernel.init(START, key=jax.random.key(0))._replace(momentum=momentum)
    rejected, info = kernel.apply(MoveNoise(normal, NEVER), state)
    assert not bool(info.is_accepted)
    np.testing.assert_allclose(rejected.momentum, -(0.6 * momentum + 0.8 * normal), atol=1e-15)
    for name in ("position", "log_density", "gradient"):
        np.testing.assert_array_equal(getattr(rejected, name), getattr(state, name))
    accepted, info = kernel.apply(MoveNoise(normal, ALWAYS), state)
    assert bool(info.is_accepted)
    np.testing.assert_allclose(accepted.gradient, jax.grad(log_quartic)(accepted.position), rtol=1e-12)


# --- Riemannian ----------------------------------------------------------------------------------------


def curved(x):
    return jnp.diag(1.0 + x**2) + 0.5 * jnp.outer(x, x)


def riemannian_step(metric, step_size, n_steps, **options):
    """From START with an accept step that always passes."""
    kernel = riemannian_hmc(log_quartic, metric, step_size, n_steps, 2, **options)
    return jax.jit(kernel.apply)(HMCNoise(MOMENTUM, jnp.int32(n_steps), ALWAYS), kernel.init(START))


def test_with_a_constant_metric_it_is_hmc_with_that_mass_matrix():
    mass = jnp.array([[2.0, 0.4], [0.4, 0.7]])
    state, info = riemannian_step(lambda x: mass, 0.2, 5, tolerance=1e-13)
    plain = hmc(log_quartic, 0.2, 5, 2, jnp.linalg.inv(mass))
    # The other whitens by a factor of the inverse mass.
    whitened = jnp.linalg.cholesky(jnp.linalg.inv(mass)).T @ jnp.linalg.cholesky(mass) @ MOMENTUM
    other, expected = plain.apply(HMCNoise(whitened, jnp.int32(5), ALWAYS), plain.init(START))
    np.testing.assert_allclose(state.position, other.position, atol=1e-11)
    assert float(info.energy_change) == pytest.approx(float(expected.energy_change), abs=1e-10)
    assert int(info.n_gradients) == 2 * 5


def test_the_energy_error_falls_with_the_square_of_the_step_size():
    infos = [riemannian_step(curved, 0.1 / n, 4 * n, tolerance=1e-12)[1] for n in (1, 2, 4)]
    changes = [abs(float(info.energy_change)) for info in infos]
    assert 3.0 < changes[0] / changes[1] < 5.0
    assert 3.5 < changes[1] / changes[2] < 4.5


# --- failures ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("step_size", "options"), [(4.0, {}), (0.3, {"max_iterations": 1})])
def test_a_step_without_a_solution_is_a_counted_rejection(step_size, options):
    new, info = riemannian_step(curved, step_size, 3, **options)
    assert not bool(info.is_accepted)
    assert bool(info.is_divergent)
    assert int(info.n_not_converged) == 1
    assert int(info.n_gradients) == 2
    assert float(info.acceptance_rate) == 0.0
    np.testing.assert_array_equal(new.position, START)


@pytest.mark.parametrize("kernel", [hmc(log_steep, 30.0, 50, 1), persistent_hmc(log_steep, 30.0, 50, 0.5, 1)])
def test_a_trajectory_that_overflows_is_rejected_counted_and_cut_short(kernel):
    state = kernel.init(jnp.array([2.0]), key=jax.random.key(0))
    new, info = kernel.step(jax.random.key(1), state)
    assert not bool(info.is_accepted)
    assert int(info.n_not_finite) == 1
    assert float(info.energy_change) == np.inf
    assert float(info.acceptance_rate) == 0.0
    assert int(info.n_gradients) < 50
    np.testing.assert_array_equal(new.position, state.position)
    assert all(np.isfinite(leaf).all() for leaf in new)


def test_a_trajectory_may_pass_through_points_without_density_but_not_end_in_one():
    kernel = hmc(lambda x: jnp.where(jnp.abs(x[0]) < 0.5, -jnp.inf, 0.0), 0.5, (4, 4), dim=1)
    state = kernel.init(jnp.array([-1.0]))
    noise = kernel.draw(jax.random.key(1))
    _, stopped = kernel.apply(noise._replace(normal=jnp.array([0.5])), state)
    moved, passed = kernel.apply(noise._replace(normal=jnp.array([1.0])), state)
    assert not bool(stopped.is_accepted)
    assert int(stopped.n_not_finite) == 1
    assert bool(passed.is_accepted)
    assert float(moved.position[0]) == pytest.approx(1.0)


def test_a_langevin_proposal_that_is_not_finite_is_rejected_or_counted():
    log_density = lambda x: jnp.where(x[0] > 0.0, -x[0], jnp.nan)
    noise = MoveNoise(jnp.array([-50.0]), jnp.array(-100.0))
    for build, accepted in ((mala, False), (unadjusted_langevin, True)):
        kernel = build(log_density, 0.5, 1)
        new, info = kernel.apply(noise, kernel.init(jnp.array([1.0])))
        assert bool(info.is_accepted) == accepted
        assert int(info.n_not_finite) == 1
        assert float(info.acceptance_rate) == 0.0
        assert np.isfinite(float(new.log_density)) != accepted


# --- adaptation ----------------------------------------------------------------------------------------


class Info(NamedTuple):
    acceptance_rate: Array


def stand_in(scale):
    """A kernel whose acceptance probability is exp(-scale), with noise that has mean one."""
    return Kernel(
        init=lambda position, key=None: position,
        draw=lambda key: jax.random.uniform(key, minval=0.8, maxval=1.2),
        apply=lambda noise, state: (state, Info(jnp.clip(noise * jnp.exp(-scale), 0.0, 1.0))),
    )


def adapted_scales(initial, n_warm_up, target, n=1500):
    """Scales of n steps [step]."""
    kernel = dual_averaging(stand_in, initial, n_warm_up, target)
    start = kernel.init(jnp.zeros(1), key=jax.random.key(0))
    _, (_, infos) = jax.jit(partial(chain, kernel))(start, jax.random.split(jax.random.key(0), n))
    return np.asarray(infos.scale)


@pytest.mark.parametrize(("initial", "target"), [(0.01, 0.6), (3.0, 0.8)])
def test_the_target_is_reached_from_both_sides_and_the_scale_is_frozen(initial, target):
    scales = adapted_scales(initial, 1000, target)
    assert abs(np.exp(-scales[-1]) - target) < 0.03
    assert (scales[1000:] == scales[-1]).all()
    assert len(set(scales[:1000])) > 900


def test_without_warm_up_the_initial_scale_stays():
    np.testing.assert_allclose(adapted_scales(0.3, 0, 0.8, 10), 0.3)
