"""Effective sizes and the steps that keep them."""

import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.numerics.annealing import annealing_increment, log_effective_size

LOGS = jnp.asarray(np.random.default_rng(2).normal(scale=30.0, size=20) - 1e6)


def test_effective_size_falls_from_the_number_of_particles_to_one():
    sizes = np.exp([float(log_effective_size(step * LOGS)) for step in np.linspace(0.0, 5.0, 400)])
    assert sizes[0] == pytest.approx(20.0)
    assert (np.diff(sizes) <= 1e-10).all()
    assert 1.0 - 1e-12 <= sizes[-1] < 1.001


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e7])
def test_increments_keep_the_size_to_many_digits(scale):
    logs = scale * (LOGS + 1e6)
    step = annealing_increment(logs, jnp.ones(()), np.log(10.0))
    assert 0.0 < float(step) < 1.0
    assert np.exp(float(log_effective_size(step * logs))) == pytest.approx(10.0, rel=1e-7)


def test_the_rest_is_taken_whole_where_it_keeps_the_size():
    remaining = jnp.asarray(1.0 - 0.9)
    assert float(annealing_increment(1e-3 * LOGS, remaining, np.log(10.0))) == float(remaining)
    assert float(annealing_increment(LOGS, remaining, 0.0)) == float(remaining)


def test_lost_particles_do_not_stop_the_others():
    logs = LOGS.at[3].set(-jnp.inf)
    step = annealing_increment(logs, jnp.ones(()), np.log(10.0))
    assert np.exp(float(log_effective_size(step * logs))) == pytest.approx(10.0, rel=1e-7)
    # With fewer left than are asked for a path still comes to its end.
    few = jnp.where(jnp.arange(20) < 3, LOGS, -jnp.inf)
    assert float(annealing_increment(few, jnp.ones(()), np.log(10.0))) == pytest.approx(1e-12)
    assert float(log_effective_size(jnp.full(4, -jnp.inf))) == -np.inf
