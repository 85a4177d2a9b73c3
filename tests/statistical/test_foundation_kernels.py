"""Kernels on states that can be counted reach the distribution found by enumeration."""

import jax
import jax.numpy as jnp
import numpy as np

from auxmc.kernels.metropolis.coupling_from_the_past import coupling_from_the_past
from auxmc.kernels.metropolis.gibbs import gibbs, spin_blocks, systematic_scan
from experiments.boltzmann.model.data import BoltzmannParameters
from experiments.boltzmann.model.enumeration import exact_moments
from experiments.foundations.models.machines import five_units
from tests.statistical.levels import assert_fractions, assert_standard_mean, draw_many


def test_spins_reach_the_distribution_found_by_enumeration():
    """Twenty sweeps from one state: what is left of the start, 0.4^20 at most, is far below what is tested."""
    machine = five_units()
    machine = BoltzmannParameters(0.4 * machine.weights, machine.biases)
    weights, biases = (jnp.asarray(values) for values in machine)
    kernel = gibbs(spin_blocks(lambda s: 2.0 * (weights @ s + biases), 5), systematic_scan(range(5)))

    def replica(key):
        step = lambda i, state: kernel.step(jax.random.fold_in(key, i), state)[0]
        return jax.lax.fori_loop(0, 20, step, kernel.init(jnp.ones(5), key=jax.random.key(0))).position

    spins = draw_many(replica, "five spins", 20_000)
    assert_standard_mean(_standardised(spins, machine), detects=0.08, label="moments of spins")


def test_chains_that_meet_late_are_drawn_from_their_stationary_distribution():
    """A walk on seven states that holds at both ends, up with probability 0.4.

    With new numbers at every extension the ends would be drawn too often, the lowest by 0.24 standard deviations.
    """
    n_states, up = 7, 0.4
    sampler = coupling_from_the_past(
        jax.random.uniform,
        lambda uniform, state: jnp.clip(jnp.where(uniform < up, state + 1, state - 1), 0, n_states - 1),
        jnp.array([0, n_states - 1]),
    )
    drawn = draw_many(sampler, "from a long past", 20_000)
    assert np.all(drawn.coalesced)
    powers = (up / (1.0 - up)) ** np.arange(n_states)
    found = drawn.position[:, None] == np.arange(n_states)
    assert_fractions(found, powers / powers.sum(), detects=0.08, label="states")


def _standardised(spins, machine):
    """Spins and products of two [draw, function], with mean 0 and variance 1 under the exact distribution."""
    exact = exact_moments(machine)
    first, second = np.triu_indices(5, 1)
    values = np.concatenate([spins, spins[:, first] * spins[:, second]], axis=1)
    means = np.concatenate([exact.mean, exact.second[first, second]])
    return (values - means) / np.sqrt(1.0 - means**2)
