"""Simulated annealing: its schedule, its best point, the distribution at a constant temperature, what it rejects."""

from itertools import product

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
from auxmc.kernels.metropolis.metropolis import MoveNoise
from auxmc.kernels.metropolis.simulated_annealing import simulated_annealing

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
