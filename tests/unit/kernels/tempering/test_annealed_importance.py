"""Annealed importance sampling and the no-U-turn sampler on position and temperature control."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.tempering.annealed_importance import annealed_importance_sampling
from auxmc.kernels.tempering.tempered_move import tempered_hmc
from auxmc.kernels.tempering.tempered_nuts import tempered_nuts
from auxmc.models.bridge import bridge, gaussian_base
from auxmc.numerics.schedules import linear_schedule, sigmoidal_schedule

LOG_ZETA = 0.3
BRIDGE = bridge(lambda x: -2.0 * jnp.sum((x - 0.5) ** 2), gaussian_base(jnp.zeros(2), jnp.ones(2)), LOG_ZETA)


def _run(kernel, n=6):
    keys = jax.random.split(jax.random.key(4), n)
    return jax.jit(jax.vmap(lambda key: kernel.step(key, kernel.init(key=jax.random.key(0)))))(keys)


def _delta(x):
    target, base = jax.vmap(BRIDGE.log_densities)(x)
    return np.asarray(base - (target - LOG_ZETA))


@pytest.mark.parametrize("n_intervals", [3, 34])
def test_every_length_makes_one_transition_a_temperature(n_intervals):
    """Where trajectories do not move, all points are the start and the weight telescopes."""
    kernel = annealed_importance_sampling(BRIDGE, sigmoidal_schedule(n_intervals), jnp.zeros(()), 3)
    state, info = _run(kernel, 2)
    np.testing.assert_allclose(state.log_weight, LOG_ZETA - _delta(info.start), rtol=1e-11)
    assert np.all(info.n_gradients == 3 * (n_intervals - 1))
    np.testing.assert_allclose(info.acceptance_rate, 1.0, rtol=1e-12)


def test_a_step_size_may_depend_on_the_temperature():
    late = lambda b: jnp.where(b < 0.3, 0.0, 0.2)
    state, info = _run(annealed_importance_sampling(BRIDGE, [0.0, 0.2, 0.6, 1.0], late, 3))
    np.testing.assert_array_equal(info.halfway, info.start)
    assert np.all(state.position != info.start)


def test_failed_trajectories_are_counted():
    joined = bridge(lambda x: -jnp.sum(x**4), gaussian_base(jnp.zeros(1), jnp.ones(1)))
    state, info = _run(annealed_importance_sampling(joined, linear_schedule(4), 1e30, 5))
    assert np.all(info.n_not_finite == 3)
    np.testing.assert_array_equal(state.position, info.start)
    assert np.all(np.isfinite(state.log_weight))


@pytest.mark.parametrize(
    ("ladder", "refreshment"),
    [((0.0, 1.0), 1.0), ((0.0, 0.4, 1.0), 0.5), ((0.0, 0.05, 0.6, 1.0), 1.0), ((1.0, 0.7, 0.2, 0.0), 0.5)],
)
def test_a_run_weighs_before_it_moves_and_moves_at_its_own_temperature(ladder, refreshment):
    """A plain loop over the published algorithm, with the random numbers of the run."""
    kernel = annealed_importance_sampling(
        BRIDGE, ladder, 0.15, 2, draw_start=BRIDGE.draw_base, refreshment=refreshment
    )
    key = jax.random.key(5)
    found, info = kernel.step(key, kernel.init(key=jax.random.key(0)))
    move = tempered_hmc(BRIDGE, 0.15, 2, refreshment=refreshment)
    state = move.init(info.start, key=jax.random.fold_in(key, 2))
    log_weight = 0.0
    for k, (here, following) in enumerate(itertools.pairwise(ladder)):
        if k > 0:
            noise = move.draw(jax.random.fold_in(jax.random.fold_in(key, 1), k - 1))
            state, _ = move.apply(noise, state, jnp.asarray(here))
        target, base = BRIDGE.log_densities(state.position)
        log_weight += (following - here) * float(target - base)
    assert np.any(np.asarray(found.position) != np.asarray(info.start)) == (len(ladder) > 2)
    np.testing.assert_allclose(found.position, state.position, rtol=1e-10)
    assert float(found.log_weight) == pytest.approx(log_weight, rel=1e-10)


JOINED = bridge(
    lambda x: -2.0 * jnp.sum((x - 1.0) ** 2), gaussian_base(jnp.zeros(2), jnp.array([1.0, 2.0])), 0.5
)
KERNEL = tempered_nuts(JOINED, 0.4, jnp.array([1.0, 1.0, 4.0]), max_doublings=5)
STEP = jax.jit(KERNEL.step)


def log_density(extended):
    """b (1 - b) (target / zeta)^b base^(1 - b), written out."""
    target, base = JOINED.log_densities(jnp.asarray(extended[:-1]))
    b = 1.0 / (1.0 + np.exp(-extended[-1]))
    return float(b * (target - 0.5) + (1.0 - b) * base + np.log(b) + np.log(1.0 - b))


def check_caches(state):
    extended = np.asarray(state.extended)
    assert float(state.log_density) == pytest.approx(log_density(extended), rel=1e-10)
    target, base = JOINED.log_densities(state.position)
    assert float(state.delta) == pytest.approx(float(base - (target - 0.5)), rel=1e-12)
    for i in range(3):
        away = 1e-5 * np.eye(3)[i]
        slope = (log_density(extended + away) - log_density(extended - away)) / 2e-5
        assert float(state.gradient[i]) == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_states_carry_what_belongs_to_their_point():
    state = KERNEL.init(jnp.array([0.5, -1.0]), 0.7)
    check_caches(state)
    assert float(state.inverse_temperature) == pytest.approx(1.0 / (1.0 + np.exp(-0.7)))
    for i in range(3):
        state, _ = STEP(jax.random.key(i), state)
        check_caches(state)
        assert float(state.log_base_weight - state.log_target_weight) == pytest.approx(
            float(state.delta) - 0.5
        )


def test_a_step_is_a_function_of_its_key_and_counts_its_work():
    start = KERNEL.init(jnp.zeros(2))
    first, info = STEP(jax.random.key(3), start)
    again, _ = STEP(jax.random.key(3), start)
    np.testing.assert_array_equal(first.extended, again.extended)
    assert 1 <= int(info.n_gradients) < 2**5
    assert int(info.n_gradients) >= 2 ** (int(info.n_doublings) - 1)
    assert not bool(info.is_divergent)
    assert 0.0 < float(info.acceptance_rate) <= 1.0


def test_a_step_that_is_far_too_long_diverges_stays_and_says_so():
    wild = tempered_nuts(JOINED, 1e3, jnp.ones(3))
    start = wild.init(jnp.ones(2), 5.0)
    state, info = jax.jit(wild.step)(jax.random.key(0), start)
    assert bool(info.is_divergent)
    np.testing.assert_array_equal(state.extended, start.extended)
