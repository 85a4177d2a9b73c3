"""Annealed importance sampling: identities of the weights, reversal, bookkeeping, wrong arguments (CT-T15)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.tempering.annealed_importance import annealed_importance_sampling
from auxmc.models.bridge import bridge, gaussian_base
from auxmc.numerics.schedules import linear_schedule, sigmoidal_schedule

LOG_ZETA = 0.3
BRIDGE = bridge(lambda x: -2.0 * jnp.sum((x - 0.5) ** 2), gaussian_base(jnp.zeros(2), jnp.ones(2)), LOG_ZETA)


def _run(kernel, n: int = 6):
    keys = jax.random.split(jax.random.key(4), n)
    return jax.jit(jax.vmap(lambda key: kernel.step(key, kernel.init(jax.random.key(0)))))(keys)


def _delta(x: np.ndarray) -> np.ndarray:
    target, base = jax.vmap(BRIDGE.log_densities)(x)
    return np.asarray(base - (target - LOG_ZETA))


def test_one_interval_is_importance_sampling_from_the_base() -> None:
    state, info = _run(annealed_importance_sampling(BRIDGE, linear_schedule(1), 0.3, 2))
    np.testing.assert_allclose(state.log_weight, LOG_ZETA - _delta(state.position), rtol=1e-12)
    np.testing.assert_array_equal(state.position, info.start)
    assert np.all(info.n_gradients == 0)
    assert np.all(info.acceptance_probability == 1.0)


def test_two_intervals_have_the_weights_of_their_two_points() -> None:
    ladder = np.array([0.0, 0.4, 1.0])
    state, info = _run(annealed_importance_sampling(BRIDGE, ladder, 0.3, 2))
    expected = LOG_ZETA - 0.4 * _delta(info.start) - 0.6 * _delta(state.position)
    np.testing.assert_allclose(state.log_weight, expected, rtol=1e-12)
    np.testing.assert_array_equal(info.halfway, state.position)
    assert np.all(info.n_gradients == 2)


@pytest.mark.parametrize("n_intervals", [3, 33, 34, 35, 66, 100])
def test_every_length_makes_one_transition_a_temperature(n_intervals: int) -> None:
    """Where trajectories do not move, all points are the start and the weight telescopes."""
    kernel = annealed_importance_sampling(BRIDGE, sigmoidal_schedule(n_intervals), 0.0, 3)
    state, info = _run(kernel, 2)
    np.testing.assert_allclose(state.log_weight, LOG_ZETA - _delta(info.start), rtol=1e-11)
    assert np.all(info.n_gradients == 3 * (n_intervals - 1))
    np.testing.assert_allclose(info.acceptance_probability, 1.0, rtol=1e-12)


def test_the_reversed_ladder_changes_the_sign_of_the_weight() -> None:
    start = jnp.array([0.2, -0.1])
    kernel = annealed_importance_sampling(
        BRIDGE, sigmoidal_schedule(20)[::-1], 0.0, 1, draw_start=lambda _: start
    )
    state, _ = _run(kernel, 1)
    np.testing.assert_allclose(state.log_weight, _delta(start[None]) - LOG_ZETA, rtol=1e-11)


def test_a_constant_in_the_target_shifts_every_weight_and_zeta_none() -> None:
    def build(constant: float, log_zeta: float):
        base = gaussian_base(jnp.zeros(2), jnp.ones(2))
        joined = bridge(lambda x: constant - 2.0 * jnp.sum((x - 0.5) ** 2), base, log_zeta)
        return annealed_importance_sampling(joined, sigmoidal_schedule(12), 0.3, 2)

    plain, raised, scaled = (_run(build(*numbers))[0] for numbers in ((0.0, 0.0), (1.5, 0.0), (0.0, -1.5)))
    np.testing.assert_allclose(raised.log_weight, plain.log_weight + 1.5, rtol=1e-11)
    np.testing.assert_allclose(scaled.log_weight, plain.log_weight, rtol=1e-11)


def test_failed_trajectories_are_counted() -> None:
    joined = bridge(lambda x: -jnp.sum(x**4), gaussian_base(jnp.zeros(1), jnp.ones(1)))
    state, info = _run(annealed_importance_sampling(joined, linear_schedule(4), 1e30, 5))
    assert np.all(info.n_not_finite == 3)
    np.testing.assert_array_equal(state.position, info.start)
    assert np.all(np.isfinite(state.log_weight))


def test_runs_under_jit_and_alone_agree() -> None:
    kernel = annealed_importance_sampling(BRIDGE, sigmoidal_schedule(40), 0.4, 1, refreshment=0.54)
    together, _ = _run(kernel, 3)
    keys = jax.random.split(jax.random.key(4), 3)
    alone, _ = kernel.step(keys[1], kernel.init(jax.random.key(0)))
    np.testing.assert_allclose(together.log_weight[1], alone.log_weight, rtol=1e-11)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ([0.0], "strictly increasing or decreasing vector of 2 numbers or more"),
        ([0.0, 0.5, 0.5, 1.0], "strictly increasing or decreasing"),
        ([[0.0, 1.0]], "strictly increasing or decreasing"),
        ([1.0, 0.0], "schedule starts at 1: give draw_start"),
    ],
)
def test_wrong_schedules_are_rejected(schedule, message) -> None:
    with pytest.raises(ValueError, match=message):
        annealed_importance_sampling(BRIDGE, schedule, 0.1, 1)
