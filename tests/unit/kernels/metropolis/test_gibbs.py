"""Gibbs sampler: exact matrices of spins, conditionals of Gaussians, scans, what it rejects."""

from itertools import permutations, product

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
from auxmc.kernels.metropolis.gibbs import (
    GibbsNoise,
    GibbsState,
    gaussian_blocks,
    gibbs,
    permuted_scan,
    random_scan,
    spin_blocks,
    systematic_scan,
)

WEIGHTS = np.array([[0.0, 0.8, -0.5], [0.8, 0.0, 0.3], [-0.5, 0.3, 0.0]])
BIASES = np.array([0.2, -0.1, 0.4])
STATES = np.array(list(product([-1.0, 1.0], repeat=3)))
DISTRIBUTION = np.exp(0.5 * np.einsum("si,ij,sj->s", STATES, WEIGHTS, STATES) + STATES @ BIASES)
DISTRIBUTION = DISTRIBUTION / DISTRIBUTION.sum()
COVARIANCE = np.array([[2.0, 0.5, -0.3], [0.5, 1.0, 0.2], [-0.3, 0.2, 0.7]])


def log_odds(spins):
    return 2.0 * (jnp.asarray(WEIGHTS) @ spins + jnp.asarray(BIASES))


def step_matrix(update, order, shared=True):
    """Exact matrix of a step with a given order, by running it in all boxes of its uniform numbers."""
    thresholds = 1.0 / (1.0 + np.exp(-2.0 * (STATES @ WEIGHTS + BIASES)))
    columns = [thresholds[:, i] for i in order] if shared else list(thresholds.T)
    points, volumes = uniform_cells(columns)
    uniforms = np.repeat(points[:, :, None], 3, axis=2) if shared else points[:, None, :]
    kernel = gibbs(update, systematic_scan(order))

    def move(numbers, state):
        return kernel.apply(GibbsNoise(jnp.asarray(order, jnp.int32), numbers), GibbsState(state))[0].position

    moved = jax.jit(jax.vmap(jax.vmap(move, (None, 0)), (0, None)))(
        jnp.asarray(uniforms), jnp.asarray(STATES)
    )
    return transition_matrix(((np.asarray(moved) > 0.0) @ [4, 2, 1]).astype(int), volumes)


def test_sweeps_of_spins_are_invariant_and_reversible_where_their_order_is():
    update = spin_blocks(log_odds, 3)
    systematic = step_matrix(update, (0, 1, 2))
    singles = [step_matrix(update, (i,)) for i in range(3)]
    permuted = np.mean([step_matrix(update, order) for order in permutations(range(3))], axis=0)
    palindrome = step_matrix(update, (0, 1, 2, 1, 0))
    np.testing.assert_allclose(systematic, singles[0] @ singles[1] @ singles[2], atol=1e-14)
    for matrix in (systematic, np.mean(singles, axis=0), permuted, palindrome):
        assert invariance_residual(matrix, DISTRIBUTION) < 1e-14
    for matrix in (np.mean(singles, axis=0), permuted, palindrome):
        assert detailed_balance_residual(matrix, DISTRIBUTION) < 1e-14
    assert detailed_balance_residual(systematic, DISTRIBUTION) > 1e-3


def test_spins_redrawn_together_must_be_independent_given_the_others():
    """Units 0 and 2 without a coupling may be a block; all three at once may not."""
    together = step_matrix(spin_blocks(log_odds, 3, blocks=[(0, 1, 2)]), (0,), shared=False)
    assert invariance_residual(together, DISTRIBUTION) > 1e-3


def test_the_numbers_of_other_units_do_not_matter():
    update = spin_blocks(log_odds, 3)
    spins = jnp.array([1.0, -1.0, 1.0])
    first = update.redraw(jnp.array([0.1, 0.5, 0.5]), jnp.int32(0), spins)
    second = update.redraw(jnp.array([0.1, 0.9, 0.1]), jnp.int32(0), spins)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first[1:], spins[1:])


@pytest.mark.parametrize("blocks", [None, [(0,), (1, 2)], [(2, 0), (1,)]])
def test_gaussian_conditionals_are_those_of_the_precision(blocks):
    mean = np.array([1.0, -2.0, 0.5])
    update = gaussian_blocks(mean, COVARIANCE, blocks)
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
    permuted = np.asarray(jax.vmap(permuted_scan(4))(keys))
    assert np.all(np.sort(permuted, axis=1) == np.arange(4))
    assert len(np.unique(permuted, axis=0)) == 24
    drawn = np.asarray(jax.vmap(random_scan(3, 2))(keys))
    assert set(np.unique(drawn)) == {0, 1, 2}
    assert np.any(drawn[:, 0] == drawn[:, 1])
    assert systematic_scan([2, 0])(keys[0]).tolist() == [2, 0]


def test_a_step_draws_apart_from_its_state_and_tells_its_order():
    kernel = gibbs(gaussian_blocks(np.zeros(3), COVARIANCE), random_scan(3, 5))
    state, key = kernel.init(jnp.ones(3)), jax.random.key(4)
    plain = jax.jit(kernel.step)(key, state)
    assert plain[1].order.shape == (5,)
    assert int(plain[1].n_updates) == 5
    noise = jax.jit(kernel.draw)(key)
    position, update = state.position, gaussian_blocks(np.zeros(3), COVARIANCE)
    for block, numbers in zip(noise.order, noise.updates, strict=True):
        position = update.redraw(numbers, block, position)
    np.testing.assert_allclose(plain[0].position, position, atol=1e-13)
