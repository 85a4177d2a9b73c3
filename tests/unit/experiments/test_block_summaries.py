"""Steps that are summarised are the steps of the kernel."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.metropolis.metropolis import random_walk_metropolis
from experiments.boltzmann.programs import block_summaries

KERNEL = random_walk_metropolis(lambda x: -0.5 * jnp.sum(x**2), 1.0, 2)


def test_a_summary_is_that_of_the_single_steps():
    blocks = block_summaries(
        KERNEL,
        7,
        lambda state, info: (state.position, info.is_accepted),
        lambda kept: (kept[0], kept[1].sum()),
    )
    key = jax.random.key(3)
    end, (positions, n_accepted) = jax.jit(blocks.step)(key, blocks.init(jnp.ones(2), key=jax.random.key(0)))
    state, total = KERNEL.init(jnp.ones(2), key=jax.random.key(0)), 0
    for i in range(7):
        state, info = KERNEL.step(jax.random.fold_in(key, i), state)
        np.testing.assert_allclose(positions[i], state.position, rtol=1e-13)
        total += int(info.is_accepted)
    np.testing.assert_allclose(end.position, state.position, rtol=1e-13)
    assert int(n_accepted) == total


def test_numbers_of_steps_are_checked():
    with pytest.raises(ValueError, match="n_steps must be at least 1, got 0"):
        block_summaries(KERNEL, 0, lambda state, info: state, lambda kept: kept)
