"""Random numbers: shapes, extreme bits, batches, rejections. Distributions are tested in tests/statistical."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.numerics import random


def test_the_extreme_bit_patterns_give_finite_numbers():
    bits = jnp.array([0, 2**64 - 1, 2**62 - 1, 2**62, 2**63, 2**63 - 1], jnp.uint64)
    uniform = np.asarray(random._unit_interval(bits))
    assert uniform.min() == 2.0**-53
    assert uniform.max() == 1.0 - 2.0**-53
    assert math.sqrt(-2.0 * math.log(uniform.min())) < 8.58
    assert np.all(np.isfinite(np.stack(random._circle_point(bits))))


@pytest.mark.parametrize("degrees", [0, -1, 2.5, True])
def test_chi_square_rejects_impossible_degrees(degrees):
    with pytest.raises(ValueError, match="degrees must be a positive integer"):
        random.chi_square(jax.random.key(0), degrees, (1,))


def test_single_precision_is_rejected():
    with jax.enable_x64(False):
        for draw in (random.standard_normal, lambda key, shape: random.chi_square(key, 3, shape)):
            with pytest.raises(RuntimeError, match="enable_x64"):
                draw(jax.random.key(0), (2,))
