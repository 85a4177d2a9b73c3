"""Simulated tempering: index, first passage, probabilities of the ends, wrong arguments (CT-T19 to T21)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.tempering.simulated_tempering import (
    draw_categorical_index,
    draw_geometric_index,
    draw_index_of,
    propose_neighbour,
    simulated_tempering,
)
from auxmc.models.bridge import bridge, gaussian_base
from auxmc.numerics.schedules import sigmoidal_schedule

LOG_ZETA = 0.3
BRIDGE = bridge(lambda x: -2.0 * jnp.sum((x - 0.5) ** 2), gaussian_base(jnp.zeros(2), jnp.ones(2)), LOG_ZETA)


def _probabilities(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def _measured(draw, n_options, n=20_000):
    """Probability of each index over a fine grid of uniform numbers: exact to 1/n each."""
    uniforms = (jnp.arange(n, dtype=float) + 0.5) / n
    return np.bincount(np.asarray(jax.jit(jax.vmap(draw))(uniforms)), minlength=n_options) / n


@pytest.mark.parametrize("n_options", [2, 3, 7, 50, 1001])
@pytest.mark.parametrize("spread", [0.0, 1.0, 300.0])
def test_categorical_draws_have_the_probabilities_of_the_logits(n_options, spread):
    logits = spread * np.random.default_rng(n_options).normal(size=n_options) - 1e4
    distribution = _probabilities(logits)
    from_logits = _measured(lambda u: draw_categorical_index(u, jnp.asarray(logits)), n_options)
    from_distribution = _measured(lambda u: draw_index_of(u, jnp.asarray(1e-5 * distribution)), n_options)
    for found in (from_logits, from_distribution):
        np.testing.assert_allclose(found, distribution, atol=1.01 / 20_000)


@pytest.mark.parametrize("delta", [-400.0, -3.0, -1e-9, 0.0, 1e-320, 1e-9, 3.0, 400.0])
@pytest.mark.parametrize("slope", [0.0, 1.5])
def test_geometric_draws_have_the_probabilities_of_a_linear_ladder(delta, slope):
    k = np.arange(13)
    logits = -(k / 12) * (delta - slope)
    found = _measured(lambda u: draw_geometric_index(u, jnp.asarray(delta), 12, slope), 13)
    np.testing.assert_allclose(found, _probabilities(logits), atol=1.01 / 20_000)
    ratio = np.exp((slope - delta) / 12)
    if ratio != 1.0 and abs(delta) < 100.0:
        assert np.exp(logits).sum() == pytest.approx((1 - ratio**13) / (1 - ratio), rel=1e-6)


@pytest.mark.parametrize("uniform", [0.0, np.nextafter(1.0, 0.0)])
def test_extreme_uniforms_stay_on_the_ladder(uniform):
    for delta in (-1e6, -1.0, 0.0, 1.0, 1e6):
        logits = -jnp.asarray(sigmoidal_schedule(10)) * delta
        for index in (
            draw_categorical_index(jnp.asarray(uniform), logits),
            draw_geometric_index(jnp.asarray(uniform), jnp.asarray(delta), 10),
        ):
            assert 0 <= int(index) <= 10


def _walk_matrix(logits, n=400):
    """Transition probabilities of the random walk, from a fine grid of both uniform numbers."""
    grid = (jnp.arange(n, dtype=float) + 0.5) / n
    sides = jnp.array([0.25, 0.75])
    uniforms = jnp.stack(jnp.meshgrid(sides, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    step = jax.jit(jax.vmap(lambda u, k: propose_neighbour(u, jnp.asarray(logits), k), in_axes=(0, None)))
    rows = [
        np.bincount(np.asarray(step(uniforms, jnp.asarray(k, jnp.int32))), minlength=len(logits))
        for k in range(len(logits))
    ]
    return np.array(rows) / (2 * n)


@pytest.mark.parametrize("n_options", [2, 3, 6])
def test_the_random_walk_is_reversible(n_options):
    logits = np.random.default_rng(n_options).normal(size=n_options)
    matrix, distribution = _walk_matrix(logits), _probabilities(logits)
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
        distribution = _probabilities(weights - ladder * float(base - (target - LOG_ZETA)))
        assert np.exp(float(state.log_base_weight)) == pytest.approx(distribution[0], rel=1e-10)
        # With the scale of the path and of the index in it, sums of this weight over the other's estimate Z.
        assert float(state.log_target_weight) == pytest.approx(
            np.log(distribution[-1]) + LOG_ZETA + 2.0, rel=1e-10
        )
        assert int(info.n_gradients) == 3
        indices.add(int(state.index))
    assert len(indices) > 3
