"""Metropolis and Gibbs kernels: proposals, involutions, batch adaptation, annealing, scans, coupling from the past."""

from functools import partial
from itertools import permutations, product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax

from auxmc import kernels
from auxmc.diagnostics import finite_chains
from auxmc.kernels.metropolis.gibbs import GibbsNoise, GibbsState
from auxmc.kernels.metropolis.involution import InvolutionNoise
from auxmc.kernels.metropolis.metropolis import MetropolisState, MoveNoise
from tests.unit.kernels.toys import log_normal

KEYS = jax.random.split(jax.random.key(3), 400)
WEIGHTS = np.array([[0.0, 0.8, -0.5], [0.8, 0.0, 0.3], [-0.5, 0.3, 0.0]])
BIASES = np.array([0.2, -0.1, 0.4])
STATES = np.array(list(product([-1.0, 1.0], repeat=3)))


def log_spins(spins):
    return 0.5 * spins @ jnp.asarray(WEIGHTS) @ spins + spins @ jnp.asarray(BIASES)


def boltzmann_distribution(inverse_temperature=1.0):
    """Probabilities of STATES."""
    return softmax(inverse_temperature * np.asarray(jax.vmap(log_spins)(jnp.asarray(STATES))))


def state_numbers(spins):
    """Places in STATES [...] of spins [..., unit]."""
    return ((np.asarray(spins) > 0.0) @ [4, 2, 1]).astype(int)


# --- Metropolis ----------------------------------------------------------------------------------------


def test_proposal_is_the_scaled_normal_draw():
    kernel = kernels.random_walk_metropolis(log_normal, jnp.array([0.5, 2.0]), 2)
    noise = MoveNoise(jnp.array([1.0, -1.0]), jnp.array(-50.0))
    state, _ = kernel.apply(noise, kernel.init(jnp.array([0.25, 0.25])))
    np.testing.assert_array_equal(state.position, [0.75, -1.75])


def test_a_proposal_of_exactly_equal_log_uniform_is_rejected():
    kernel = kernels.random_walk_metropolis(log_normal, 1.0, 1)
    noise = MoveNoise(jnp.array([1.0]), jnp.array(-0.5))
    state, info = kernel.apply(noise, kernel.init(jnp.zeros(1)))
    assert not bool(info.is_accepted)
    assert float(info.acceptance_rate) == pytest.approx(np.exp(-0.5))
    np.testing.assert_array_equal(state.position, [0.0])


@pytest.mark.parametrize("bad", [jnp.nan, jnp.inf, -jnp.inf])
@pytest.mark.parametrize(
    "build",
    [
        lambda log_density: kernels.random_walk_metropolis(log_density, 1.0, 1),
        lambda log_density: kernels.involution_metropolis(log_density, lambda x: -x),
        lambda log_density: kernels.simulated_annealing(log_density, jax.random.normal, jnp.add, [1.0]),
    ],
    ids=["random walk", "involution", "annealing"],
)
def test_a_proposal_without_a_finite_density_is_rejected(build, bad):
    kernel = build(lambda x: jnp.where(x[0] == 1.0, -1.0, bad))
    start = kernel.init(jnp.ones(1))
    states, infos = jax.vmap(lambda key: kernel.step(key, start))(KEYS[:50])
    assert not np.any(infos.is_accepted)
    np.testing.assert_array_equal(states.position, 1.0)
    np.testing.assert_array_equal(getattr(infos, "acceptance_rate", 0.0), 0.0)
    np.testing.assert_array_equal(getattr(states, "best_log_density", -1.0), -1.0)


def test_a_start_outside_the_support_is_left_at_once():
    kernel = kernels.random_walk_metropolis(log_normal, 1.0, 1)
    noise = MoveNoise(jnp.array([1.0]), jnp.array(-0.1))
    _, info = kernel.apply(noise, MetropolisState(jnp.zeros(1), jnp.array(-jnp.inf)))
    assert bool(info.is_accepted)


# --- batch adaptation ----------------------------------------------------------------------------------

FACTORS = (4.025, 3.05, 2.075, 1.1, 1.1, 1.1)


class _Info(NamedTuple):
    is_accepted: jax.Array


def _scripted(scale):
    """A kernel whose noise is the accept flag and whose state counts steps."""
    apply = lambda noise, state: (state + 1, _Info(noise))
    return kernels.Kernel(lambda position, key=None: position, lambda key: jnp.zeros((), bool), apply)


def _run(flags, batch_size, n_batches):
    kernel = kernels.batch_adaptation(_scripted, 0.5, batch_size, n_batches)
    start = kernel.init(jnp.zeros((), jnp.int32), key=jax.random.key(0))
    return jax.lax.scan(lambda state, flag: kernel.apply(flag, state), start, jnp.asarray(flags))


def test_the_scale_changes_only_outside_the_band_of_acceptance_rates():
    n_accepted, directions = np.array([[0, -1], [14, -1], [15, 0], [23, 0], [30, 0], [31, 1], [100, 1]]).T
    flags = np.tile(np.arange(100) < n_accepted[:, None], 6)
    states, infos = jax.vmap(lambda row: _run(row, 100, 6))(flags)
    scales = 0.5 * np.cumprod([1.0, *FACTORS]) ** directions[:, None]
    np.testing.assert_allclose(infos.scale, np.repeat(scales[:, :-1], 100, axis=1), rtol=1e-14)
    np.testing.assert_allclose(states.scale, scales[:, -1], rtol=1e-14)


def test_the_scale_is_frozen_after_the_last_batch():
    state, info = _run(np.ones(100, bool), 10, 2)
    assert len(np.unique(np.asarray(info.scale)[20:])) == 1
    assert float(state.scale) == pytest.approx(0.5 * 4.025 * 3.05)
    unchanged, _ = _run(np.ones(100, bool), 10, 0)
    assert float(unchanged.scale) == 0.5


def test_a_frozen_chain_is_the_plain_chain_at_that_scale():
    adapted = kernels.batch_adaptation(
        lambda scale: kernels.random_walk_metropolis(log_normal, scale, 2), 0.5, 5, 0
    )
    plain = kernels.random_walk_metropolis(log_normal, jnp.asarray(0.5), 2)
    state, expected = (kernel.init(jnp.zeros(2), key=jax.random.key(0)) for kernel in (adapted, plain))
    for key in jax.random.split(jax.random.key(0), 10):
        state, _ = adapted.step(key, state)
        expected, _ = plain.step(key, expected)
    jax.tree.map(np.testing.assert_array_equal, state.inner, expected)


# --- involutions ---------------------------------------------------------------------------------------


def test_the_ratio_has_the_volume_of_the_map():
    """For x -> 1 / x on Gamma(3): log p(1/x) - 2 log x - log p(x) = -6 log x - 1/x + x."""
    kernel = kernels.involution_metropolis(lambda x: 2.0 * jnp.log(x[0]) - x[0], lambda x: 1.0 / x)
    for start in (0.3, 1.0, 2.5):
        _, info = kernel.step(jax.random.key(0), kernel.init(jnp.array([start])))
        expected = -6.0 * np.log(start) - 1.0 / start + start
        assert float(info.log_ratio) == pytest.approx(expected, abs=1e-12)
        assert float(info.acceptance_rate) == pytest.approx(min(1.0, np.exp(expected)), rel=1e-12)
        assert int(info.n_evaluations) == 1


def test_a_given_volume_is_used_for_the_differentiated_one():
    swap = lambda x: jnp.stack([2.0 * x[1], 0.5 * x[0]])
    log_density = lambda x: -jnp.sum(x**2) - x[0]
    computed = kernels.involution_metropolis(log_density, swap)
    given = kernels.involution_metropolis(log_density, swap, lambda x: jnp.zeros(()))
    start, noise = computed.init(jnp.array([0.3, -1.0])), InvolutionNoise(jnp.array(-0.1))
    close = partial(np.testing.assert_allclose, atol=1e-14)
    jax.tree.map(close, computed.apply(noise, start), given.apply(noise, start))


# --- simulated annealing -------------------------------------------------------------------------------


def build(schedule):
    draw_unit = lambda key: jax.random.randint(key, (), 0, 3)
    flip = lambda unit, spins: jnp.where(jnp.arange(3) == unit, -spins, spins)
    return kernels.simulated_annealing(log_spins, draw_unit, flip, schedule)


def test_steps_use_the_schedule_and_then_its_last_value_and_the_best_point_is_the_highest_met():
    kernel = build([0.05, 0.08, 0.1])
    state, step = kernel.init(jnp.ones(3)), jax.jit(kernel.step)
    met, temperatures = [float(state.log_density)], []
    for i in range(60):
        before = float(state.best_log_density)
        state, info = step(jax.random.key(i), state)
        temperatures.append(float(info.inverse_temperature))
        met.append(float(state.log_density))
        assert met[-1] == pytest.approx(float(log_spins(state.position)), abs=1e-14)
        assert before <= float(state.best_log_density) == max(met)
        assert float(log_spins(state.best_position)) == pytest.approx(max(met), abs=1e-14)
    assert temperatures == [0.05, 0.08] + [0.1] * 58
    assert int(state.n_made) == 60


def test_at_a_constant_temperature_the_boltzmann_distribution_is_invariant():
    kernel = build([0.7])
    distribution = boltzmann_distribution(0.7)
    thresholds = np.minimum(1.0, distribution[None, :] / distribution[:, None]).ravel()
    points, volumes = finite_chains.uniform_cells([thresholds])

    def move(unit, uniform, spins):
        return kernel.apply(MoveNoise(unit, jnp.log(uniform)), kernel.init(spins))[0].position

    many = jax.jit(jax.vmap(jax.vmap(jax.vmap(move, (None, None, 0)), (None, 0, None)), (0, None, None)))
    moved = many(jnp.arange(3), jnp.asarray(points[:, 0]), jnp.asarray(STATES))
    matrix = finite_chains.transition_matrix(state_numbers(moved).reshape(-1, 8), np.tile(volumes, 3) / 3.0)
    assert finite_chains.invariance_residual(matrix, distribution) < 1e-14
    assert finite_chains.detailed_balance_residual(matrix, distribution) < 1e-14


# --- Gibbs ---------------------------------------------------------------------------------------------

DISTRIBUTION = boltzmann_distribution()
COVARIANCE = np.array([[2.0, 0.5, -0.3], [0.5, 1.0, 0.2], [-0.3, 0.2, 0.7]])


def log_odds(spins):
    return 2.0 * (jnp.asarray(WEIGHTS) @ spins + jnp.asarray(BIASES))


def step_matrix(update, order, shared=True):
    """Exact matrix of a step with a given order, by running it in all boxes of its uniform numbers."""
    thresholds = 1.0 / (1.0 + np.exp(-2.0 * (STATES @ WEIGHTS + BIASES)))
    columns = [thresholds[:, i] for i in order] if shared else list(thresholds.T)
    points, volumes = finite_chains.uniform_cells(columns)
    uniforms = np.repeat(points[:, :, None], 3, axis=2) if shared else points[:, None, :]
    kernel = kernels.gibbs(update, kernels.systematic_scan(order))

    def move(numbers, state):
        return kernel.apply(GibbsNoise(jnp.asarray(order, jnp.int32), numbers), GibbsState(state))[0].position

    many = jax.jit(jax.vmap(jax.vmap(move, (None, 0)), (0, None)))
    moved = many(jnp.asarray(uniforms), jnp.asarray(STATES))
    return finite_chains.transition_matrix(state_numbers(moved), volumes)


def test_sweeps_of_spins_are_invariant_and_reversible_where_their_order_is():
    update = kernels.spin_blocks(log_odds, 3)
    singles = [step_matrix(update, (i,)) for i in range(3)]
    in_order = lambda order: np.linalg.multi_dot([singles[i] for i in order])
    systematic, palindrome = (step_matrix(update, order) for order in ((0, 1, 2), (0, 1, 2, 1, 0)))
    np.testing.assert_allclose(systematic, in_order((0, 1, 2)), atol=1e-14)
    np.testing.assert_allclose(palindrome, in_order((0, 1, 2, 1, 0)), atol=1e-14)
    permuted = np.mean([in_order(order) for order in permutations(range(3))], axis=0)
    for matrix in (systematic, np.mean(singles, axis=0), permuted, palindrome):
        assert finite_chains.invariance_residual(matrix, DISTRIBUTION) < 1e-14
    for matrix in (np.mean(singles, axis=0), permuted, palindrome):
        assert finite_chains.detailed_balance_residual(matrix, DISTRIBUTION) < 1e-14
    assert finite_chains.detailed_balance_residual(systematic, DISTRIBUTION) > 1e-3


def test_spins_redrawn_together_must_be_independent_given_the_others():
    """Units 0 and 2 without a coupling may be a block; all three at once may not."""
    together = step_matrix(kernels.spin_blocks(log_odds, 3, blocks=[(0, 1, 2)]), (0,), shared=False)
    assert finite_chains.invariance_residual(together, DISTRIBUTION) > 1e-3


def test_the_numbers_of_other_units_do_not_matter():
    update = kernels.spin_blocks(log_odds, 3)
    spins = jnp.array([1.0, -1.0, 1.0])
    first = update.redraw(jnp.array([0.1, 0.5, 0.5]), jnp.int32(0), spins)
    second = update.redraw(jnp.array([0.1, 0.9, 0.1]), jnp.int32(0), spins)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first[1:], spins[1:])


@pytest.mark.parametrize("blocks", [None, [(0,), (1, 2)], [(2, 0), (1,)]])
def test_gaussian_conditionals_are_those_of_the_precision(blocks):
    mean = np.array([1.0, -2.0, 0.5])
    update = kernels.gaussian_blocks(mean, COVARIANCE, blocks)
    position = jnp.array([0.3, -1.0, 2.0])
    for number, block in enumerate(blocks or [(0,), (1,), (2,)]):
        inside = list(block)
        rest = [i for i in range(3) if i not in block]
        gain = COVARIANCE[np.ix_(inside, rest)] @ np.linalg.inv(COVARIANCE[np.ix_(rest, rest)])
        expected = mean[inside] + gain @ (np.asarray(position)[rest] - mean[rest])
        spread = COVARIANCE[np.ix_(inside, inside)] - gain @ COVARIANCE[np.ix_(rest, inside)]
        moved = lambda normal, number=number: update.redraw(normal, jnp.int32(number), position)
        centre, slope = moved(jnp.zeros(3)), jax.jacfwd(moved)(jnp.zeros(3))
        np.testing.assert_allclose(np.asarray(centre)[inside], expected, atol=1e-12)
        np.testing.assert_array_equal(np.asarray(centre)[rest], np.asarray(position)[rest])
        np.testing.assert_allclose(np.asarray(slope @ slope.T)[np.ix_(inside, inside)], spread, atol=1e-12)


def test_scans_name_the_blocks_they_say():
    keys = jax.random.split(jax.random.key(1), 200)
    permuted = np.asarray(jax.vmap(kernels.permuted_scan(4))(keys))
    assert np.all(np.sort(permuted, axis=1) == np.arange(4))
    assert len(np.unique(permuted, axis=0)) == 24
    drawn = np.asarray(jax.vmap(kernels.random_scan(3, 2))(keys))
    assert set(np.unique(drawn)) == {0, 1, 2}
    assert np.any(drawn[:, 0] == drawn[:, 1])
    assert kernels.systematic_scan([2, 0])(keys[0]).tolist() == [2, 0]


def test_a_step_draws_apart_from_its_state_and_tells_its_order():
    kernel = kernels.gibbs(kernels.gaussian_blocks(np.zeros(3), COVARIANCE), kernels.random_scan(3, 5))
    state, key = kernel.init(jnp.ones(3)), jax.random.key(4)
    plain = jax.jit(kernel.step)(key, state)
    assert plain[1].order.shape == (5,)
    assert int(plain[1].n_updates) == 5
    noise = jax.jit(kernel.draw)(key)
    position, update = state.position, kernels.gaussian_blocks(np.zeros(3), COVARIANCE)
    for block, numbers in zip(noise.order, noise.updates, strict=True):
        position = update.redraw(numbers, block, position)
    np.testing.assert_allclose(plain[0].position, position, atol=1e-13)


# --- coupling from the past ----------------------------------------------------------------------------


def test_a_longer_horizon_changes_no_draw():
    """A chain of three states that moves by the inverse of its distribution function."""
    cumulative = np.cumsum([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]], axis=1)
    jump = lambda uniform, state: jnp.sum(uniform >= jnp.asarray(cumulative)[state, :2], dtype=jnp.int32)
    coupled = partial(
        kernels.coupling_from_the_past, jax.random.uniform, jump, jnp.arange(3, dtype=jnp.int32)
    )
    short, long = (jax.jit(jax.vmap(coupled(first_horizon=first)))(KEYS) for first in (1, 16))
    np.testing.assert_array_equal(short.position, long.position)
    horizons = np.asarray(short.horizon)
    assert np.all(np.asarray(short.coalesced))
    assert set(np.unique(horizons)) <= {1, 2, 4, 8, 16, 32, 64}
    # Horizons 1, 2, ..., h of three chains each.
    np.testing.assert_array_equal(short.n_updates, 3 * (2 * horizons - 1))


def test_the_top_and_the_bottom_state_are_enough_where_the_update_keeps_order():
    couplings = jnp.asarray(0.4 * (1.0 - np.eye(3)))
    update = kernels.spin_blocks(lambda s: 2.0 * (couplings @ s + 0.1), 3)

    def sweep(uniforms, spins):
        for unit in range(3):
            spins = update.redraw(uniforms, jnp.int32(unit), spins)
        return spins

    draw = lambda key: jax.random.uniform(key, (3,))
    some, all_states = (
        jax.jit(jax.vmap(kernels.coupling_from_the_past(draw, sweep, starts)))(KEYS)
        for starts in (jnp.asarray(STATES[[0, 7]]), jnp.asarray(STATES))
    )
    np.testing.assert_array_equal(some.position, all_states.position)
    np.testing.assert_array_equal(some.horizon, all_states.horizon)


def test_a_search_without_an_end_is_cut_off_and_says_so():
    swap = lambda uniform, state: 1 - state
    search = kernels.coupling_from_the_past(jax.random.uniform, swap, jnp.arange(2), max_horizon=40)
    result = search(jax.random.key(0))
    assert not bool(result.coalesced)
    assert int(result.horizon) == 32
