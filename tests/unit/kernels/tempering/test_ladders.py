"""Fixed ladders of temperatures: annealed importance sampling and simulated tempering."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax

from auxmc.kernels.tempering.annealed_importance import annealed_importance_sampling
from auxmc.kernels.tempering.simulated_tempering import (
    draw_categorical_index,
    draw_geometric_index,
    draw_index_of,
    propose_neighbour,
    simulated_tempering,
)
from auxmc.kernels.tempering.tempered_move import tempered_hmc
from auxmc.models.bridge import bridge, gaussian_base
from auxmc.numerics.schedules import linear_schedule, sigmoidal_schedule

LOG_ZETA = 0.3
BRIDGE = bridge(lambda x: -2.0 * jnp.sum((x - 0.5) ** 2), gaussian_base(jnp.zeros(2), jnp.ones(2)), LOG_ZETA)


# --- annealed importance sampling ----------------------------------------------------------------------


def _run(kernel):
    keys = jax.random.split(jax.random.key(4), 6)
    return jax.jit(jax.vmap(lambda key: kernel.step(key, kernel.init(key=jax.random.key(0)))))(keys)


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
    [
        ((0.0, 1.0), 1.0),
        ((0.0, 0.4, 1.0), 0.5),
        ((0.0, 0.05, 0.6, 1.0), 1.0),
        ((1.0, 0.7, 0.2, 0.0), 0.5),
        (sigmoidal_schedule(34), 1.0),  # more transitions than one loop makes
    ],
)
def test_a_run_weighs_before_it_moves_and_moves_at_its_own_temperature(ladder, refreshment):
    """A plain loop over the published algorithm, with the random numbers of the run."""
    options = {"draw_start": BRIDGE.draw_base, "refreshment": refreshment}
    kernel = annealed_importance_sampling(BRIDGE, ladder, 0.15, 2, **options)
    key = jax.random.key(5)
    found, info = kernel.step(key, kernel.init(key=jax.random.key(0)))
    move = tempered_hmc(BRIDGE, 0.15, 2, refreshment=refreshment)
    state = move.init(info.start, key=jax.random.fold_in(key, 2))
    apply, log_weight, rates = jax.jit(move.apply), 0.0, []
    for k, (here, following) in enumerate(itertools.pairwise(ladder)):
        if k > 0:
            noise = move.draw(jax.random.fold_in(jax.random.fold_in(key, 1), k - 1))
            state, moved = apply(noise, state, jnp.asarray(here))
            rates.append(float(moved.acceptance_rate))
        target, base = BRIDGE.log_densities(state.position)
        log_weight += (following - here) * float(target - base)
    assert np.any(np.asarray(found.position) != np.asarray(info.start)) == (len(ladder) > 2)
    np.testing.assert_allclose(found.position, state.position, rtol=1e-10)
    assert float(found.log_weight) == pytest.approx(log_weight, rel=1e-10)
    assert int(info.n_gradients) == 2 * len(rates)
    assert float(info.acceptance_rate) == pytest.approx(np.mean(rates or [1.0]), rel=1e-10)


# --- simulated tempering ---------------------------------------------------------------------------------


N_GRID = 20_000
UNIFORMS = (jnp.arange(N_GRID, dtype=float) + 0.5) / N_GRID
CATEGORICAL, OF_PROBABILITIES = (
    jax.jit(jax.vmap(draw, (0, None))) for draw in (draw_categorical_index, draw_index_of)
)
GEOMETRIC = jax.jit(
    jax.vmap(lambda u, delta, slope: draw_geometric_index(u, delta, 12, slope), (0, None, None))
)


def _assert_probabilities(indices, expected):
    """Over a fine grid of uniform numbers the fraction of each index is exact to a point of the grid."""
    found = np.bincount(np.asarray(indices), minlength=len(expected)) / N_GRID
    np.testing.assert_allclose(found, expected, atol=1.01 / N_GRID)


@pytest.mark.parametrize("n_options", [2, 3, 7, 50, 1001])
def test_categorical_draws_have_the_probabilities_of_the_logits(n_options):
    for spread in (0.0, 1.0, 300.0):
        logits = spread * np.random.default_rng(n_options).normal(size=n_options) - 1e4
        distribution = softmax(logits)
        _assert_probabilities(CATEGORICAL(UNIFORMS, logits), distribution)
        _assert_probabilities(OF_PROBABILITIES(UNIFORMS, 1e-5 * distribution), distribution)


@pytest.mark.parametrize("delta", [-400.0, -3.0, -1e-9, 0.0, 1e-320, 1e-9, 3.0, 400.0])
@pytest.mark.parametrize("slope", [0.0, 1.5])
def test_geometric_draws_have_the_probabilities_of_a_linear_ladder(delta, slope):
    logits = -(np.arange(13) / 12) * (delta - slope)
    _assert_probabilities(GEOMETRIC(UNIFORMS, delta, slope), softmax(logits))


@pytest.mark.parametrize("uniform", [0.0, np.nextafter(1.0, 0.0)])
def test_extreme_uniforms_stay_on_the_ladder(uniform):
    for delta in (-1e6, -1.0, 0.0, 1.0, 1e6):
        logits = -jnp.asarray(sigmoidal_schedule(10)) * delta
        assert 0 <= int(draw_categorical_index(jnp.asarray(uniform), logits)) <= 10
        assert 0 <= int(draw_geometric_index(jnp.asarray(uniform), jnp.asarray(delta), 10)) <= 10


@pytest.mark.parametrize("n_options", [2, 3, 6])
def test_the_random_walk_is_reversible(n_options):
    """Its transition probabilities, from a fine grid of both uniform numbers."""
    logits = np.random.default_rng(n_options).normal(size=n_options)
    grid = (jnp.arange(400, dtype=float) + 0.5) / 400
    uniforms = jnp.stack(jnp.meshgrid(jnp.array([0.25, 0.75]), grid, indexing="ij"), axis=-1).reshape(-1, 2)
    step = jax.jit(jax.vmap(lambda u, k: propose_neighbour(u, jnp.asarray(logits), k), in_axes=(0, None)))
    ends = [step(uniforms, jnp.int32(k)) for k in range(n_options)]
    matrix = np.array([np.bincount(row, minlength=n_options) for row in ends]) / 800
    distribution = softmax(logits)
    flows = distribution[:, None] * matrix
    np.testing.assert_allclose(flows, flows.T, atol=0.5 / 400)
    np.testing.assert_allclose(distribution @ matrix, distribution, atol=1.0 / 400)
    assert np.all(matrix[np.abs(np.subtract.outer(range(n_options), range(n_options))) > 1] == 0.0)


@pytest.mark.parametrize("index_update", ["independent", "random_walk"])
def test_states_carry_weights_of_both_ends(index_update):
    ladder = sigmoidal_schedule(20)
    weights = np.linspace(0.0, -2.0, 21)
    kernel = simulated_tempering(BRIDGE, ladder, 0.4, 3, index_update=index_update, log_weights=weights)
    state = kernel.init(jnp.zeros(2), key=jax.random.key(0))
    step = jax.jit(kernel.step)
    indices = set()
    for i in range(30):
        state, info = step(jax.random.fold_in(jax.random.key(1), i), state)
        target, base = BRIDGE.log_densities(state.position)
        distribution = softmax(weights - ladder * float(base - (target - LOG_ZETA)))
        assert np.exp(float(state.log_base_weight)) == pytest.approx(distribution[0], rel=1e-10)
        # With the scale of the path and of the index in it, sums of this weight over the other's estimate Z.
        scaled = np.log(distribution[-1]) + LOG_ZETA + 2.0
        assert float(state.log_target_weight) == pytest.approx(scaled, rel=1e-10)
        assert int(info.n_gradients) == 3
        indices.add(int(state.index))
    assert len(indices) > 3
