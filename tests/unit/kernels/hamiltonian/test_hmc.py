"""Hamiltonian Monte Carlo: the integrator, counts, rejections, bad inputs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.hamiltonian.hmc import HMCState, hmc, leapfrog


def log_quartic(position):
    return -jnp.sum(0.25 * position**4 + 0.5 * position**2) - 0.3 * position[0] * position[1]


def _state(position):
    return HMCState(position, *jax.value_and_grad(log_quartic)(position))


def _energy(state, momentum):
    return float(0.5 * jnp.sum(momentum**2) - state.log_density)


EVALUATE = jax.value_and_grad(log_quartic)
START = jnp.array([0.7, -1.1])
MOMENTUM = jnp.array([0.9, 0.4])


def test_leapfrog_on_a_harmonic_oscillator_is_the_known_rotation():
    """One step maps (x, p) to ((1 - h^2/2) x + h p, -h (1 - h^2/4) x + (1 - h^2/2) p)."""
    h, x, p = 0.4, 1.3, -0.6
    evaluate = jax.value_and_grad(lambda x: -0.5 * jnp.sum(x**2))
    state = HMCState(jnp.array([x]), *evaluate(jnp.array([x])))
    end, momentum, n_made = leapfrog(evaluate, state, jnp.array([p]), h, jnp.asarray(1, jnp.int32))
    assert float(end.position[0]) == pytest.approx((1 - h**2 / 2) * x + h * p, rel=1e-14)
    assert float(momentum[0]) == pytest.approx(-h * (1 - h**2 / 4) * x + (1 - h**2 / 2) * p, rel=1e-14)
    assert int(n_made) == 1


def test_a_trajectory_leads_back_when_the_momentum_is_reversed():
    n_steps = jnp.asarray(25, jnp.int32)
    end, momentum, _ = leapfrog(EVALUATE, _state(START), MOMENTUM, 0.13, n_steps)
    back, reversed_momentum, _ = leapfrog(EVALUATE, end, -momentum, 0.13, n_steps)
    np.testing.assert_allclose(back.position, START, atol=1e-12)
    np.testing.assert_allclose(-reversed_momentum, MOMENTUM, atol=1e-12)


def test_the_energy_error_is_of_second_order_in_the_step():
    def error(step, n_steps):
        end, momentum, _ = leapfrog(EVALUATE, _state(START), MOMENTUM, step, jnp.asarray(n_steps, jnp.int32))
        return abs(_energy(end, momentum) - _energy(_state(START), MOMENTUM))

    assert error(0.05, 10) / error(0.025, 20) == pytest.approx(4.0, rel=0.1)


def test_an_integrator_step_keeps_volume():
    def map_phase(phase):
        end, momentum, _ = leapfrog(EVALUATE, _state(phase[:2]), phase[2:], 0.2, jnp.asarray(3, jnp.int32))
        return jnp.concatenate([end.position, momentum])

    jacobian = jax.jacfwd(map_phase)(jnp.concatenate([START, MOMENTUM]))
    assert float(jnp.linalg.det(jacobian)) == pytest.approx(1.0, abs=1e-12)


def test_info_tells_what_happened():
    kernel = hmc(log_quartic, 0.2, (4, 9), dim=2)
    state = kernel.init(START)
    noise = kernel.draw(jax.random.key(3))
    new, info = jax.jit(kernel.apply)(noise, state)
    end, momentum, _ = leapfrog(EVALUATE, state, noise.normal, 0.2, noise.n_steps)
    change = _energy(end, momentum) - _energy(state, noise.normal)
    assert float(info.energy_change) == pytest.approx(change, rel=1e-10)
    assert float(info.acceptance_rate) == pytest.approx(min(1.0, np.exp(-change)), rel=1e-10)
    assert bool(info.is_accepted) == (float(noise.log_uniform) < -change)
    assert int(info.n_gradients) == int(info.num_integration_steps) == int(noise.n_steps)
    assert int(info.n_not_finite) == 0
    expected = end.position if bool(info.is_accepted) else state.position
    np.testing.assert_allclose(new.position, expected, rtol=1e-12)
    assert float(new.log_density) == pytest.approx(float(log_quartic(new.position)), rel=1e-12)
    np.testing.assert_allclose(new.gradient, EVALUATE(new.position)[1], rtol=1e-10)


def test_a_trajectory_that_overflows_is_rejected_counted_and_cut_short():
    kernel = hmc(lambda x: -jnp.sum(x**4), 30.0, (50, 50), dim=1)
    state = kernel.init(jnp.array([2.0]))
    new, info = kernel.step(jax.random.key(0), state)
    assert not bool(info.is_accepted)
    assert int(info.n_not_finite) == 1
    assert float(info.energy_change) == np.inf
    assert float(info.acceptance_rate) == 0.0
    assert int(info.n_gradients) < 50
    np.testing.assert_array_equal(new.position, state.position)


def test_an_end_of_density_zero_is_rejected_and_one_on_the_way_is_not():
    """A slab without density between two halves: leapfrog passes through it, but may not end in it."""

    def log_density(x):
        return jnp.where(jnp.abs(x[0]) < 0.5, -jnp.inf, 0.0)

    kernel = hmc(log_density, 0.5, (4, 4), dim=1)
    state = kernel.init(jnp.array([-1.0]))
    noise = kernel.draw(jax.random.key(1))
    inside = noise._replace(normal=jnp.array([0.5]))
    beyond = noise._replace(normal=jnp.array([1.0]))
    _, stopped = kernel.apply(inside, state)
    moved, passed = kernel.apply(beyond, state)
    assert not bool(stopped.is_accepted)
    assert int(stopped.n_not_finite) == 1
    assert bool(passed.is_accepted)
    assert float(moved.position[0]) == pytest.approx(1.0)


@pytest.mark.slow
def test_trajectories_are_those_of_blackjax():
    from blackjax.mcmc import integrators, metrics

    state = _state(START)
    end, end_momentum, _ = leapfrog(EVALUATE, state, MOMENTUM, 0.11, jnp.asarray(25, jnp.int32))
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        step = integrators.velocity_verlet(log_quartic, metrics.default_metric(jnp.ones(2)).kinetic_energy)
        theirs = integrators.IntegratorState(START, MOMENTUM, *EVALUATE(START))
        for _ in range(25):
            theirs = step(theirs, 0.11)
    ours = (end.position, end_momentum, end.log_density, end.gradient)
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
