"""Adaptation reaches the acceptance that was asked for, and freezes."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.dual_averaging import dual_averaging


class Info(NamedTuple):
    acceptance_rate: Array


def build(scale):
    """A stand-in whose acceptance probability is exp(-scale), with noise that has mean one."""
    return Kernel(
        init=lambda position, key=None: position,
        draw=lambda key: jax.random.uniform(key, minval=0.8, maxval=1.2),
        apply=lambda noise, state: (state, Info(jnp.clip(noise * jnp.exp(-scale), 0.0, 1.0))),
    )


def run(initial, n_warm_up, target, n=1500):
    kernel = dual_averaging(build, initial, n_warm_up, target)

    def one(state, key):
        state, info = kernel.step(key, state)
        return state, info.scale

    keys = jax.random.split(jax.random.key(0), n)
    return np.asarray(
        jax.jit(lambda: jax.lax.scan(one, kernel.init(jnp.zeros(1), key=jax.random.key(0)), keys)[1])()
    )


@pytest.mark.parametrize("initial", [0.01, 3.0])
@pytest.mark.parametrize("target", [0.6, 0.8])
def test_the_target_is_reached_from_both_sides_and_the_scale_is_frozen(initial, target):
    scales = run(initial, 1000, target)
    assert abs(np.exp(-scales[-1]) - target) < 0.03
    assert (scales[1000:] == scales[-1]).all()
    assert len(set(scales[:1000])) > 900


def test_without_warm_up_the_initial_scale_stays():
    np.testing.assert_allclose(run(0.3, 0, 0.8, 10), 0.3)
