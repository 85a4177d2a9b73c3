"""Annealed importance sampling: identities of the weights, reversal, bookkeeping, wrong arguments (CT-T15)."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.tempering.annealed_importance import annealed_importance_sampling
from auxmc.kernels.tempering.tempered_move import tempered_hmc
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
