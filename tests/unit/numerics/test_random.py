"""Random numbers: shapes, extreme bits, batches, rejections. Distributions are tested in tests/statistical."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.numerics import random


@pytest.mark.parametrize("shape", [(), (1,), (7,), (10,), (3, 5), (2, 10, 10)])
def test_normal_numbers_have_the_shape_asked_for(shape):
    values = random.standard_normal(jax.random.key(1), shape)
    assert values.shape == shape
    assert values.dtype == jnp.float64


def test_the_extreme_bit_patterns_give_finite_numbers():
    bits = jnp.array([0, 2**64 - 1, 2**62 - 1, 2**62, 2**63, 2**63 - 1], jnp.uint64)
    uniform = np.asarray(random._unit_interval(bits))
    assert uniform.min() == 2.0**-53
    assert uniform.max() == 1.0 - 2.0**-53
    assert math.sqrt(-2.0 * math.log(uniform.min())) < 8.58
    assert np.all(np.isfinite(np.stack(random._circle_point(bits))))


def test_points_of_the_circle_are_cosine_and_sine_of_their_angle():
    bits = jax.random.bits(jax.random.key(5), (10_000,), jnp.uint64)
    # Integers above 2^53 are rounded on the way, so that the angle is only known to 1e-15.
    angle = np.asarray(bits).astype(np.float64) * (2.0 * np.pi / 2.0**64) - np.pi / 4.0
    cosine, sine = random._circle_point(bits)
    np.testing.assert_allclose(cosine, np.cos(angle), rtol=0.0, atol=3e-15)
    np.testing.assert_allclose(sine, np.sin(angle), rtol=0.0, atol=3e-15)
    np.testing.assert_allclose(jnp.square(cosine) + jnp.square(sine), 1.0, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize(
    "draw", [random.standard_normal, lambda key, shape: random.chi_square(key, 2, shape)]
)
def test_draws_side_by_side_equal_single_draws(draw):
    keys = jax.random.split(jax.random.key(6), 50)
    together = jax.jit(jax.vmap(lambda key: draw(key, (3, 4))))(keys)
    draw_one = jax.jit(lambda key: draw(key, (3, 4)))
    single = jnp.stack([draw_one(key) for key in keys])
    np.testing.assert_allclose(together, single, rtol=1e-12)


@pytest.mark.parametrize("degrees", [0, -1, 2.5, True])
def test_chi_square_rejects_impossible_degrees(degrees):
    with pytest.raises(ValueError, match="degrees must be a positive integer"):
        random.chi_square(jax.random.key(0), degrees, (1,))


def test_single_precision_is_rejected():
    with jax.enable_x64(False):
        for draw in (random.standard_normal, lambda key, shape: random.chi_square(key, 3, shape)):
            with pytest.raises(RuntimeError, match="jax_enable_x64"):
                draw(jax.random.key(0), (2,))
