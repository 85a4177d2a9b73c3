"""Kernels of the background chapters: Gibbs, persistent momentum, slices along chosen directions, annealing."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import ndtr

from auxmc.kernels.hamiltonian.langevin import unadjusted_langevin
from auxmc.kernels.hamiltonian.persistent_hmc import persistent_hmc
from auxmc.kernels.metropolis.coupling_from_the_past import coupling_from_the_past
from auxmc.kernels.metropolis.gibbs import gaussian_blocks, gibbs, permuted_scan, spin_blocks, systematic_scan
from auxmc.kernels.metropolis.simulated_annealing import simulated_annealing
from auxmc.kernels.slices.directed_slice import along_axes, along_gaussian, along_unit_vectors, directed_slice
from experiments.boltzmann.model.data import BoltzmannParameters
from experiments.boltzmann.model.enumeration import exact_moments
from experiments.foundations.models.machines import five_units
from tests.statistical.kernel_checks import (
    check_invariance,
    check_reversibility,
    draw_target,
    follow,
    log_square,
    log_target,
    many_replicas,
    normal_transform,
    square_driver,
    target_cdf,
)
from tests.statistical.levels import assert_at_least, assert_standard_mean, assert_uniform, key_for

RHO = 0.7
BIMODAL = jnp.asarray(0, jnp.int32)


def test_slices_along_chosen_directions_are_invariant_and_reversible():
    """Directions of a correlated Gaussian, of which any distribution that does not know the point would do as well."""
    factor = jnp.array([[0.5, 0.0], [0.3, 0.2]])
    kernel = directed_slice(log_square, along_gaussian(factor), 0.6, 2, 2)
    runs = square_driver(kernel)(0, "invariance/directed")
    check_invariance(runs, floor=0.5)
    check_reversibility(runs)


def test_directions_have_their_distributions():
    """A coordinate of a uniform direction in three dimensions is uniform (Archimedes); the others are by definition."""
    factor = np.array([[2.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-1.0, 0.3, 0.2]])
    keys = jax.random.split(key_for("directions of slices"), 20_000)
    distributions = along_axes(3), along_unit_vectors(3), along_gaussian(jnp.asarray(factor))
    draws = jax.jit(jax.vmap(lambda key: [distribution(key) for distribution in distributions]))(keys)
    axes, sphere, gaussian = (np.asarray(values) for values in draws)
    assert_standard_mean((axes[:, :2] - 1.0 / 3.0) / np.sqrt(2.0 / 9.0), detects=0.07, label="axes")
    oblique = np.array([2.0, -1.0, 2.0]) / 3.0
    assert_uniform(0.5 * (sphere @ oblique + 1.0), detects=0.04, label="sphere")
    spread = np.linalg.norm(factor.T @ oblique)
    assert_uniform(normal_transform(gaussian @ oblique / spread), detects=0.04, label="Gaussian")


def _runs(kernel, start, transform, name):
    def replica(_, key):
        key_start, key_steps = jax.random.split(key)
        return follow(kernel, start(key_start), key_steps, transform)

    return many_replicas(replica)(0, name)


SCANS = {"systematic": systematic_scan((0, 1)), "permuted": permuted_scan(2)}


@pytest.mark.parametrize("name", SCANS)
def test_gaussian_gibbs_is_invariant_and_reversible_where_its_scan_is(name):
    covariance = np.array([[1.0, RHO], [RHO, 1.0]])
    kernel = gibbs(gaussian_blocks(np.zeros(2), covariance), SCANS[name])
    factor = jnp.asarray(np.linalg.cholesky(covariance))

    def transform(state):
        x, y = state.position
        return ndtr(jnp.stack([x, (y - RHO * x) / jnp.sqrt(1.0 - RHO**2)]))

    start = lambda key: kernel.init(jax.random.key(0), factor @ jax.random.normal(key, (2,)))
    runs = _runs(kernel, start, transform, f"invariance/gibbs/{name}")
    check_invariance(runs, floor=0.5)
    if name != "systematic":
        check_reversibility(runs)


def test_spins_reach_the_distribution_found_by_enumeration():
    """Twenty sweeps from one state: what is left of the start, 0.4^20 at most, is far below what is tested."""
    machine = five_units()
    machine = BoltzmannParameters(0.4 * machine.weights, machine.biases)
    weights, biases = (jnp.asarray(values) for values in machine)
    kernel = gibbs(spin_blocks(lambda s: 2.0 * (weights @ s + biases), 5), systematic_scan(range(5)))

    def replica(key):
        step = lambda i, state: kernel.step(jax.random.fold_in(key, i), state)[0]
        return jax.lax.fori_loop(0, 20, step, kernel.init(jax.random.key(0), jnp.ones(5))).position

    spins = np.asarray(jax.jit(jax.vmap(replica))(jax.random.split(key_for("five spins"), 20_000)))
    assert_standard_mean(_standardised(spins, machine), detects=0.08, label="moments of spins")


def test_persistent_momentum_keeps_the_joint_distribution_and_trajectories_are_reversible():
    fraction = 0.7
    kernel = persistent_hmc(lambda x: log_target(BIMODAL, x), 0.17, 4, fraction, 1)

    def start(key):
        key_position, key_momentum = jax.random.split(key)
        return kernel.init(key_momentum, draw_target(BIMODAL, key_position))

    def transform(state):
        return jnp.stack([target_cdf(BIMODAL, state.position[0]), ndtr(state.momentum[0])])

    check_invariance(_runs(kernel, start, transform, "invariance/persistent"), floor=0.5)

    def trajectory(noise, state):
        """A step whose refreshment gives the momentum back as it is, and then turns it round."""
        kept = state.momentum * (1.0 - fraction) / jnp.sqrt(1.0 - fraction**2)
        new, info = kernel.apply(noise._replace(normal=kept), state)
        return new._replace(momentum=-new.momentum), info

    kept = kernel._replace(apply=trajectory)
    check_reversibility(_runs(kept, start, transform, "reversibility/persistent"))


def test_unadjusted_langevin_keeps_its_biased_distribution():
    size = 0.9
    sd = 1.0 / np.sqrt(1.0 - size**2 / 4.0)
    kernel = unadjusted_langevin(lambda x: -0.5 * jnp.sum(x**2), size, 1)
    start = lambda key: kernel.init(jax.random.key(0), sd * jax.random.normal(key, (1,)))
    runs = _runs(kernel, start, lambda state: ndtr(state.position / sd), "invariance/unadjusted")
    check_invariance(runs, floor=0.5)


@pytest.mark.slow
def test_draws_from_the_past_have_the_distribution_found_by_enumeration():
    machine = five_units()
    machine = BoltzmannParameters(0.6 * np.abs(machine.weights), machine.biases)
    weights, biases = (jnp.asarray(values) for values in machine)
    update = spin_blocks(lambda s: 2.0 * (weights @ s + biases), 5)

    def sweep(uniforms, spins):
        one = lambda i, spins: update.redraw(uniforms, i, spins)
        return jax.lax.fori_loop(0, 5, one, spins)

    sampler = coupling_from_the_past(
        lambda key: jax.random.uniform(key, (5,)), sweep, jnp.stack([-jnp.ones(5), jnp.ones(5)])
    )
    drawn = jax.jit(jax.vmap(sampler))(jax.random.split(key_for("from the past"), 20_000))
    assert np.all(np.asarray(drawn.coalesced))
    assert_standard_mean(_standardised(np.asarray(drawn.position), machine), detects=0.08, label="moments")


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
    drawn = jax.jit(jax.vmap(sampler))(jax.random.split(key_for("from a long past"), 20_000))
    assert np.all(np.asarray(drawn.coalesced))
    powers = (up / (1.0 - up)) ** np.arange(n_states)
    distribution = powers / powers.sum()
    found = np.asarray(drawn.position)[:, None] == np.arange(n_states)
    assert_standard_mean(
        (found - distribution) / np.sqrt(distribution * (1.0 - distribution)), detects=0.08, label="states"
    )


def _standardised(spins, machine):
    """Spins and products of two [draw, function], with mean 0 and variance 1 under the exact distribution."""
    exact = exact_moments(machine)
    first, second = np.triu_indices(5, 1)
    values = np.concatenate([spins, spins[:, first] * spins[:, second]], axis=1)
    means = np.concatenate([exact.mean, exact.second[first, second]])
    return (values - means) / np.sqrt(1.0 - means**2)


@pytest.mark.slow
def test_slow_annealing_finds_the_state_of_highest_density():
    """In at least 95 % of runs, on the frustrated machine of five spins, from the worst of all states."""
    machine = five_units()
    weights, biases = (jnp.asarray(values) for values in machine)
    log_density = lambda s: 0.5 * s @ weights @ s + biases @ s
    states = jnp.asarray(list(product([-1.0, 1.0], repeat=5)))
    values = np.asarray(jax.vmap(log_density)(states))
    kernel = simulated_annealing(
        log_density,
        lambda key: jax.random.randint(key, (), 0, 5),
        lambda unit, s: jnp.where(jnp.arange(5) == unit, -s, s),
        np.linspace(0.1, 5.0, 2000),
    )
    start = kernel.init(jax.random.key(0), states[int(np.argmin(values))])

    def run(key):
        step = lambda i, state: kernel.step(jax.random.fold_in(key, i), state)[0]
        return jax.lax.fori_loop(0, 2000, step, start).best_log_density

    best = np.asarray(jax.jit(jax.vmap(run))(jax.random.split(key_for("annealing"), 5000)))
    assert_at_least(best >= values.max() - 1e-9, 0.95, detects=0.07, label="global maximum")
