"""Pseudo-marginal and auxiliary pseudo-marginal kernels."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.metropolis.metropolis import random_walk_metropolis
from auxmc.kernels.pseudo_marginal import updates
from auxmc.kernels.pseudo_marginal.joint_hmc import pseudo_marginal_hmc
from auxmc.kernels.slices.linear_slice import linear_slice
from tests.unit.kernels.toys import DIM, chain, exact_estimator, latent_estimator, log_bimodal

KEYS = jax.random.split(jax.random.key(11), 200)


def _chain(kernel, state):
    """States and infos of all steps of a chain."""
    return jax.jit(lambda state: chain(kernel, state, KEYS)[1])(state)


def _start(estimator, position):
    return updates.pseudo_marginal_method("pm_mh", estimator, 1.0, DIM).init(position, key=jax.random.key(0))


EXACT = exact_estimator(log_bimodal)
WITHOUT_NOISE = {
    "pm_mh": (
        updates.pseudo_marginal_metropolis(EXACT, 0.4, DIM),
        random_walk_metropolis(log_bimodal, 0.4, DIM),
    ),
    "metropolis": (
        updates.metropolis_position(EXACT, 0.4, DIM),
        random_walk_metropolis(log_bimodal, 0.4, DIM),
    ),
    "slice": (updates.slice_position(EXACT, 0.8, DIM), linear_slice(log_bimodal, 0.8, DIM)),
    "step out": (updates.slice_position(EXACT, 0.8, DIM, 3), linear_slice(log_bimodal, 0.8, DIM, 3)),
}


@pytest.mark.parametrize("name", WITHOUT_NOISE)
def test_without_noise_the_plain_kernel_is_reproduced_to_the_last_bit(name):
    update, marginal = WITHOUT_NOISE[name]
    position = jnp.array([-1.0, 1.2])
    states, infos = _chain(update, _start(EXACT, position))
    expected, expected_infos = _chain(marginal, marginal.init(position, key=jax.random.key(0)))
    np.testing.assert_array_equal(states.position, expected.position)
    np.testing.assert_array_equal(states.log_estimate, expected.log_density)
    np.testing.assert_array_equal(infos.n_estimates_position, expected_infos.n_evaluations)
    if hasattr(expected_infos, "is_accepted"):
        np.testing.assert_array_equal(infos.accepted_position, expected_infos.is_accepted)


UPDATES_OF_U = [
    updates.independence_auxiliary,
    updates.elliptical_auxiliary,
    lambda estimator: updates.crank_nicolson_auxiliary(estimator, 0.5),
    lambda estimator: updates.random_walk_auxiliary(estimator, 0.5),
]


@pytest.mark.parametrize("build", UPDATES_OF_U)
def test_an_update_of_u_leaves_x_and_its_cache_alone_and_costs_nothing_cubic(build):
    estimator, prepared = latent_estimator(), []
    watched = estimator._replace(prepare=lambda x: prepared.append(1) or x)
    states, infos = _chain(build(watched), _start(estimator, jnp.ones(DIM)))
    assert not prepared
    np.testing.assert_array_equal(states.position, np.ones((len(KEYS), DIM)))
    np.testing.assert_array_equal(infos.n_cubic, 0)
    np.testing.assert_array_equal(infos.n_estimates_position, 0)
    assert not np.any(infos.accepted_position)
    assert np.any(infos.accepted_auxiliary)


POSITION_UPDATES = {
    "mh": lambda estimator: updates.metropolis_position(estimator, 1.0, DIM),
    "ss": lambda estimator: updates.slice_position(estimator, 0.7, DIM),
    "ss_step_out": lambda estimator: updates.slice_position(estimator, 0.7, DIM, 3),
}


@pytest.mark.parametrize("update", POSITION_UPDATES)
def test_an_update_of_x_leaves_u_alone_and_counts_every_preparation_with_its_cost_and_its_failure(update):
    calls = []

    def prepare(position):
        jax.debug.callback(lambda x: calls.append(np.array(x)), position)
        return position

    estimator = latent_estimator()
    part = POSITION_UPDATES[update](estimator._replace(prepare=prepare))
    step = jax.jit(lambda key, state: part.apply(part.draw(key), state))
    # Points beyond 1 are failures: a start there meets some.
    start = state = _start(estimator, jnp.full(DIM, 1.5))
    n_failures = 0
    for key in KEYS[:20]:
        calls.clear()
        state, info = step(key, state)
        jax.effects_barrier()
        first = np.array([x[0] for x in calls])
        assert int(info.n_estimates_position) == len(calls)
        assert int(info.n_cubic) == np.sum(1 + (first > 0.0))
        assert int(info.n_failures) == np.sum(first > 1.0)
        n_failures += int(info.n_failures)
        assert int(info.n_estimates_auxiliary) == 0
        np.testing.assert_array_equal(state.auxiliary, start.auxiliary)
        np.testing.assert_array_equal(state.cache, state.position)
    assert n_failures > 0
    assert not np.array_equal(state.position, start.position)


@pytest.mark.parametrize(
    "name",
    [
        # Of each of their updates there is a fast test above.
        pytest.param(name, marks=[pytest.mark.slow] * (name not in ("pm_mh", "apm_mi_mh", "apm_ss_ss")))
        for name in updates.METHODS
    ],
)
def test_counts_per_step_are_those_of_the_method_and_only_finite_estimates_are_accepted(name):
    inner = latent_estimator()

    def log_estimate(cache, auxiliary):
        value = jnp.where(jnp.abs(cache[0]) < 0.3, inner.log_estimate(cache, auxiliary), jnp.nan)
        return jnp.where(auxiliary[0, 0] < 1.0, value, -jnp.inf)

    kernel = updates.pseudo_marginal_method(name, inner._replace(log_estimate=log_estimate), 1.0, DIM)
    states, infos = _chain(kernel, kernel.init(jnp.zeros(DIM), key=jax.random.key(0)))
    assert np.all(np.isfinite(states.log_estimate))
    assert np.all(np.abs(states.position[:, 0]) < 0.3)
    assert np.all(states.auxiliary[:, 0, 0] < 1.0)
    if name in ("pm_mh", "cpm_mh"):
        np.testing.assert_array_equal(infos.n_estimates_auxiliary, 0)
        np.testing.assert_array_equal(infos.accepted_position, infos.accepted_auxiliary)
    else:
        assert np.all(infos.n_estimates_auxiliary >= 1)
    if any(part in name for part in ("mi", "cn", "rw")):
        np.testing.assert_array_equal(infos.n_estimates_auxiliary, 1)
    if name.endswith("mh"):
        np.testing.assert_array_equal(infos.n_estimates_position, 1)
    else:
        assert np.max(infos.n_estimates_position) > 1
        assert np.all(infos.accepted_position)
    if name.startswith("apm_ss"):
        assert np.all(infos.accepted_auxiliary)
        assert np.max(infos.n_estimates_auxiliary) > 1
    moved = np.any(np.diff(np.asarray(states.position), axis=0) != 0.0, axis=1)
    np.testing.assert_array_equal(moved, np.asarray(infos.accepted_position)[1:])
    np.testing.assert_array_equal(infos.n_collapsed, 0)


@pytest.mark.parametrize("name", updates.METHODS)
def test_an_estimator_that_rejects_everything_keeps_the_state_and_is_counted(name):
    estimator = latent_estimator()
    start = _start(estimator, jnp.ones(DIM))
    rejecting = estimator._replace(log_estimate=lambda cache, auxiliary: jnp.full((), -jnp.inf))
    state, info = updates.pseudo_marginal_method(name, rejecting, 1.0, DIM).step(jax.random.key(1), start)
    jax.tree.map(np.testing.assert_array_equal, state, start)
    assert int(info.n_collapsed) == name.count("ss")


def test_init_draws_again_until_the_estimate_is_finite():
    inner = latent_estimator()
    picky = lambda cache, u: jnp.where(u[0, 0] > 1.0, inner.log_estimate(cache, u), -jnp.inf)
    kernel = updates.pseudo_marginal_method("apm_mi_mh", inner._replace(log_estimate=picky), 1.0, DIM)
    states = jax.jit(jax.vmap(lambda key, x: kernel.init(x, key=key)))(KEYS[:50], jnp.zeros((50, DIM)))
    assert np.all(np.isfinite(states.log_estimate))
    assert np.all(states.auxiliary[:, 0, 0] > 1.0)
    assert len(np.unique(states.auxiliary[:, 0, 0])) == 50


def test_init_gives_up_after_a_hundred_draws_with_an_estimate_that_says_so():
    calls = []

    def log_estimate(cache, auxiliary):
        jax.debug.callback(lambda: calls.append(1))
        return jnp.full((), -jnp.inf)

    state = _start(latent_estimator()._replace(log_estimate=log_estimate), jnp.zeros(DIM))
    jax.effects_barrier()
    assert isinstance(state, updates.PseudoMarginalState)
    assert float(state.log_estimate) == -np.inf
    assert len(calls) == updates.MAX_INITIAL_DRAWS == 100


@pytest.mark.parametrize(("name", "like"), [("cpm_mh", "pm_mh"), ("apm_cn_mh", "apm_mi_mh")])
def test_crank_nicolson_steps_of_size_one_draw_fresh_auxiliary_variables(name, like):
    estimator = latent_estimator()
    kernels = [
        updates.pseudo_marginal_method(n, estimator, 1.0, DIM, auxiliary_step=1.0) for n in (name, like)
    ]
    start = kernels[0].init(jnp.zeros(DIM), key=jax.random.key(0))
    one, other = (_chain(kernel, start) for kernel in kernels)
    # Two programs, whose last bits XLA may round apart
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-12), one, other)


def test_joint_trajectories_turn_u_exactly_where_the_estimate_has_no_noise():
    """Four eighths of a half turn without a force on u: u ends at its momentum."""
    kernel = pseudo_marginal_hmc(exact_estimator(lambda x: -0.5 * jnp.sum(x**2)), jnp.pi / 8.0, 4, DIM)
    start = kernel.init(jnp.array([0.3, -1.1]), key=jax.random.key(0))
    noise = kernel.draw(jax.random.key(1))
    noise = noise._replace(trajectory=noise.trajectory._replace(log_uniform=jnp.array(-10.0)))
    end, info = kernel.apply(noise, start)
    np.testing.assert_allclose(end.auxiliary, noise.spin, rtol=1e-13)
    assert bool(info.accepted_auxiliary)
    assert int(info.n_estimates_position) == 2 * 4 + 1
    # Drift, kick, drift for a unit Gaussian, written out.
    x, p, step = start.position, noise.trajectory.normal, np.pi / 8.0
    for _ in range(4):
        x = x + 0.5 * step * p
        p = p - step * x
        x = x + 0.5 * step * p
    np.testing.assert_allclose(end.position, x, rtol=1e-13)


def test_the_error_of_joint_trajectories_is_of_second_order_in_the_step():
    kernel_of = lambda step, n: pseudo_marginal_hmc(latent_estimator(), step, n, DIM)
    start = kernel_of(0.1, 1).init(jnp.array([0.3, -1.1]), key=jax.random.key(0))
    noise = kernel_of(0.1, 1).draw(jax.random.key(1))

    def end_of(step, n):
        trajectory = noise.trajectory._replace(n_steps=jnp.int32(n), log_uniform=jnp.array(-np.inf))
        return kernel_of(step, n).apply(noise._replace(trajectory=trajectory), start)[0]

    exact = end_of(0.001, 800)
    errors = [np.abs(end_of(0.8 / n, n).position - exact.position).max() for n in (8, 16, 32)]
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 4.0, rtol=0.1)
