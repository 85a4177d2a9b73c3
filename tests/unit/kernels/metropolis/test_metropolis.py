"""Metropolis kernels: proposals, involutions, batch adaptation, annealing, coupling from the past."""

from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.diagnostics.finite_chains import (
    detailed_balance_residual,
    invariance_residual,
    transition_matrix,
    uniform_cells,
)
from auxmc.kernels.base import Kernel
from auxmc.kernels.metropolis.adaptation import batch_adaptation
from auxmc.kernels.metropolis.coupling_from_the_past import coupling_from_the_past
from auxmc.kernels.metropolis.gibbs import spin_blocks
from auxmc.kernels.metropolis.involution import InvolutionNoise, involution_metropolis
from auxmc.kernels.metropolis.metropolis import MetropolisState, MoveNoise, random_walk_metropolis
from auxmc.kernels.metropolis.simulated_annealing import simulated_annealing
from tests.unit.kernels.toys import log_normal


def test_proposal_is_the_scaled_normal_draw():
    kernel = random_walk_metropolis(log_normal, jnp.array([0.5, 2.0]), 2)
    noise = MoveNoise(jnp.array([1.0, -1.0]), jnp.array(-50.0))
    state, _ = kernel.apply(noise, kernel.init(jnp.array([0.25, 0.25])))
    np.testing.assert_array_equal(state.position, [0.75, -1.75])


def test_a_proposal_of_exactly_equal_log_uniform_is_rejected():
    kernel = random_walk_metropolis(log_normal, 1.0, 1)
    noise = MoveNoise(jnp.array([1.0]), jnp.array(-0.5))
    state, info = kernel.apply(noise, kernel.init(jnp.zeros(1)))
    assert not bool(info.is_accepted)
    assert float(info.acceptance_rate) == pytest.approx(np.exp(-0.5))
    np.testing.assert_array_equal(state.position, [0.0])


@pytest.mark.parametrize("value", [jnp.nan, -jnp.inf, jnp.inf])
def test_a_proposal_without_finite_density_is_rejected(value):
    def log_density(position):
        return jnp.where(position[0] == 0.0, 0.0, value)

    kernel = random_walk_metropolis(log_density, 1.0, 1)
    start = kernel.init(jnp.zeros(1))
    states, infos = jax.vmap(lambda key: kernel.step(key, start))(jax.random.split(jax.random.key(0), 50))
    assert not np.any(infos.is_accepted)
    np.testing.assert_array_equal(states.position, 0.0)
    np.testing.assert_array_equal(infos.acceptance_rate, 0.0)


def test_a_start_outside_the_support_is_left_at_once():
    kernel = random_walk_metropolis(log_normal, 1.0, 1)
    noise = MoveNoise(jnp.array([1.0]), jnp.array(-0.1))
    _, info = kernel.apply(noise, MetropolisState(jnp.zeros(1), jnp.array(-jnp.inf)))
    assert bool(info.is_accepted)


FACTORS = (4.025, 3.05, 2.075, 1.1, 1.1, 1.1)


class _Info(NamedTuple):
    is_accepted: jax.Array


def _scripted(scale):
    """A kernel whose noise is the accept flag and whose state counts steps."""
    return Kernel(
        lambda position, key=None: position,
        lambda key: jnp.zeros((), bool),
        lambda noise, state: (state + 1, _Info(noise)),
    )


def _run(flags, batch_size, n_batches):
    kernel = batch_adaptation(_scripted, 0.5, batch_size, n_batches)
    start = kernel.init(jnp.zeros((), jnp.int32), key=jax.random.key(0))
    return jax.lax.scan(lambda state, flag: kernel.apply(flag, state), start, jnp.asarray(flags))


@pytest.mark.parametrize(
    ("n_accepted", "direction"), [(0, -1), (14, -1), (15, 0), (23, 0), (30, 0), (31, 1), (100, 1)]
)
def test_the_scale_changes_only_outside_the_band_of_acceptance_rates(n_accepted, direction):
    flags = np.tile(np.arange(100) < n_accepted, 6)
    state, info = _run(flags, 100, 6)
    factors = np.concatenate([[1.0], np.cumprod(FACTORS)]) ** direction
    np.testing.assert_allclose(info.scale, np.repeat(0.5 * factors[:-1], 100), rtol=1e-14)
    assert float(state.scale) == pytest.approx(0.5 * factors[-1], rel=1e-14)


def test_each_batch_counts_its_own_steps_and_the_chain_goes_on():
    flags = np.concatenate([np.ones(10), np.zeros(10), np.arange(10) < 2]).astype(bool)
    state, info = _run(flags, 10, 3)
    np.testing.assert_allclose(info.scale[::10], [0.5, 0.5 * 4.025, 0.5 * 4.025 / 3.05], rtol=1e-14)
    assert int(state.inner) == 30
    assert int(state.n_steps) == 30


def test_the_scale_is_frozen_after_the_last_batch():
    state, info = _run(np.ones(100, bool), 10, 2)
    assert len(np.unique(np.asarray(info.scale)[20:])) == 1
    assert float(state.scale) == pytest.approx(0.5 * 4.025 * 3.05)
    unchanged, _ = _run(np.ones(100, bool), 10, 0)
    assert float(unchanged.scale) == 0.5


def test_a_frozen_chain_is_the_plain_chain_at_that_scale():
    adapted = batch_adaptation(lambda scale: random_walk_metropolis(log_normal, scale, 2), 0.5, 5, 0)
    plain = random_walk_metropolis(log_normal, jnp.asarray(0.5), 2)
    state, expected = (
        adapted.init(jnp.zeros(2), key=jax.random.key(0)),
        plain.init(jnp.zeros(2), key=jax.random.key(0)),
    )
    for key in jax.random.split(jax.random.key(0), 10):
        state, _ = adapted.step(key, state)
        expected, _ = plain.step(key, expected)
    jax.tree.map(np.testing.assert_array_equal, state.inner, expected)


def log_gamma(x):
    return 2.0 * jnp.log(x[0]) - x[0]


def test_the_ratio_has_the_volume_of_the_map():
    """For x -> 1 / x on Gamma(3): log p(1/x) - 2 log x - log p(x) = -6 log x - 1/x + x."""
    kernel = involution_metropolis(log_gamma, lambda x: 1.0 / x)
    for start in (0.3, 1.0, 2.5):
        _, info = kernel.step(jax.random.key(0), kernel.init(jnp.array([start])))
        expected = -6.0 * np.log(start) - 1.0 / start + start
        assert float(info.log_ratio) == pytest.approx(expected, abs=1e-12)
        assert float(info.acceptance_rate) == pytest.approx(min(1.0, np.exp(expected)), rel=1e-12)
        assert int(info.n_evaluations) == 1


def test_a_given_volume_is_used_for_the_differentiated_one():
    def swap(x):
        return jnp.stack([2.0 * x[1], 0.5 * x[0]])

    log_density = lambda x: -jnp.sum(x**2) - x[0]
    computed = involution_metropolis(log_density, swap)
    given = involution_metropolis(log_density, swap, lambda x: jnp.zeros(()))
    start, noise = computed.init(jnp.array([0.3, -1.0])), InvolutionNoise(jnp.array(-0.1))
    for a, b in zip(
        jax.tree.leaves(computed.apply(noise, start)), jax.tree.leaves(given.apply(noise, start)), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-14)


@pytest.mark.parametrize("bad", [jnp.nan, jnp.inf, -jnp.inf])
def test_an_image_without_a_finite_density_is_rejected(bad):
    kernel = involution_metropolis(lambda x: jnp.where(x[0] > 0.0, 0.0, bad), lambda x: -x)
    new, info = kernel.apply(InvolutionNoise(jnp.array(-50.0)), kernel.init(jnp.array([1.0])))
    assert not bool(info.is_accepted)
    assert float(info.acceptance_rate) == 0.0
    assert float(new.position[0]) == 1.0


WEIGHTS = np.array([[0.0, 0.8, -0.5], [0.8, 0.0, 0.3], [-0.5, 0.3, 0.0]])
STATES = np.array(list(product([-1.0, 1.0], repeat=3)))


def log_density(spins):
    return 0.5 * spins @ jnp.asarray(WEIGHTS) @ spins + 0.2 * spins[0]


def flip(unit, spins):
    return jnp.where(jnp.arange(3) == unit, -spins, spins)


def build(schedule):
    return simulated_annealing(log_density, lambda key: jax.random.randint(key, (), 0, 3), flip, schedule)


def test_steps_use_the_schedule_and_then_its_last_value():
    kernel = build([0.5, 1.0, 3.0])
    state, step = kernel.init(jnp.ones(3)), jax.jit(kernel.step)
    seen = []
    for i in range(5):
        state, info = step(jax.random.key(i), state)
        seen.append(float(info.inverse_temperature))
        assert float(state.log_density) == pytest.approx(float(log_density(state.position)), abs=1e-14)
    assert seen == [0.5, 1.0, 3.0, 3.0, 3.0]
    assert int(state.n_made) == 5


def test_the_best_point_is_the_highest_met_and_never_falls():
    kernel = build(np.full(1, 0.1))
    state, step = kernel.init(jnp.ones(3)), jax.jit(kernel.step)
    met = [float(state.log_density)]
    for i in range(60):
        before = float(state.best_log_density)
        state, _ = step(jax.random.key(i), state)
        met.append(float(state.log_density))
        assert float(state.best_log_density) >= before
        assert float(state.best_log_density) == max(met)
        assert float(log_density(state.best_position)) == pytest.approx(max(met), abs=1e-14)


def test_at_a_constant_temperature_the_boltzmann_distribution_is_invariant():
    inverse_temperature = 0.7
    kernel = build([inverse_temperature])
    values = np.asarray(jax.vmap(log_density)(jnp.asarray(STATES)))
    distribution = np.exp(inverse_temperature * values)
    distribution /= distribution.sum()
    thresholds = np.minimum(1.0, distribution[None, :] / distribution[:, None]).ravel()
    points, volumes = uniform_cells([thresholds])

    def move(unit, uniform, spins):
        return kernel.apply(MoveNoise(unit, jnp.log(uniform)), kernel.init(spins))[0].position

    many = jax.jit(jax.vmap(jax.vmap(jax.vmap(move, (None, None, 0)), (None, 0, None)), (0, None, None)))
    moved = np.asarray(many(jnp.arange(3), jnp.asarray(points[:, 0]), jnp.asarray(STATES)))
    ends = ((moved > 0.0) @ [4, 2, 1]).astype(int).reshape(-1, 8)
    matrix = transition_matrix(ends, np.tile(volumes, 3) / 3.0)
    assert invariance_residual(matrix, distribution) < 1e-14
    assert detailed_balance_residual(matrix, distribution) < 1e-14


def test_a_proposal_without_a_finite_density_is_rejected():
    kernel = simulated_annealing(
        lambda x: jnp.where(x[0] > 0.0, -x[0], jnp.nan), lambda key: jnp.zeros(()), lambda _, x: -x, [1.0]
    )
    state, info = kernel.step(jax.random.key(0), kernel.init(jnp.array([1.0])))
    assert not bool(info.is_accepted)
    assert float(state.best_log_density) == -1.0


CUMULATIVE = np.cumsum([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]], axis=1)
KEYS = jax.random.split(jax.random.key(3), 400)


def jump(uniform, state):
    """Next state of a chain of three states by the inverse of its distribution function."""
    return jnp.sum(uniform >= jnp.asarray(CUMULATIVE)[state, :2], dtype=jnp.int32)


def test_a_longer_horizon_changes_no_draw():
    states = jnp.arange(3, dtype=jnp.int32)
    draws = [
        jax.jit(jax.vmap(coupling_from_the_past(jax.random.uniform, jump, states, first_horizon=first)))(KEYS)
        for first in (1, 16)
    ]
    np.testing.assert_array_equal(draws[0].position, draws[1].position)
    horizons = np.asarray(draws[0].horizon)
    assert np.all(np.asarray(draws[0].coalesced))
    assert set(np.unique(horizons)) <= {1, 2, 4, 8, 16, 32, 64}
    # Horizons 1, 2, ..., h of three chains each.
    np.testing.assert_array_equal(draws[0].n_updates, 3 * (2 * horizons - 1))


def test_the_top_and_the_bottom_state_are_enough_where_the_update_keeps_order():
    couplings = jnp.asarray(0.4 * (1.0 - np.eye(3)))
    update = spin_blocks(lambda s: 2.0 * (couplings @ s + 0.1), 3)

    def sweep(uniforms, spins):
        for unit in range(3):
            spins = update.redraw(uniforms, jnp.int32(unit), spins)
        return spins

    every = jnp.asarray(list(product([-1.0, 1.0], repeat=3)))
    draw = lambda key: jax.random.uniform(key, (3,))
    some, all_states = (
        jax.jit(jax.vmap(coupling_from_the_past(draw, sweep, starts)))(KEYS)
        for starts in (every[jnp.array([0, 7])], every)
    )
    np.testing.assert_array_equal(some.position, all_states.position)
    np.testing.assert_array_equal(some.horizon, all_states.horizon)


def test_a_search_without_an_end_is_cut_off_and_says_so():
    swap = lambda uniform, state: 1 - state
    result = coupling_from_the_past(jax.random.uniform, swap, jnp.arange(2), max_horizon=40)(
        jax.random.key(0)
    )
    assert not bool(result.coalesced)
    assert int(result.horizon) == 32
