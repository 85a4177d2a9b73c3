"""Uniform floats of every kind of bit pattern."""

import jax.numpy as jnp
import numpy as np
import pytest

from experiments.foundations.sampling.uniforms import avoiding_zero, uniform_from_bits

WIDTHS = [(jnp.float32, 32, 24), (jnp.float64, 64, 53)]


def patterns(width: int) -> jnp.ndarray:
    numbers = sorted({p for k in range(width) for p in (0, 2**k - 1, 2**k, 2**width - 2**k, 2**width - 1)})
    return jnp.asarray(np.array(numbers, f"uint{width}"))


@pytest.mark.parametrize(("dtype", "width", "digits"), WIDTHS)
def test_floats_are_multiples_of_their_resolution_below_one(dtype: type, width: int, digits: int) -> None:
    uniforms = uniform_from_bits(patterns(width), dtype)
    assert uniforms.dtype == dtype
    values = np.asarray(uniforms, np.float64)
    assert values.min() == 0.0
    assert values.max() == 1.0 - 2.0**-digits
    assert np.all(np.diff(values) >= 0.0)
    np.testing.assert_array_equal(values * 2.0**digits % 1.0, 0.0)


@pytest.mark.parametrize(("dtype", "width", "digits"), WIDTHS)
def test_the_guard_moves_the_open_end_from_one_to_zero_without_rounding(
    dtype: type, width: int, digits: int
) -> None:
    uniforms = uniform_from_bits(patterns(width), dtype)
    guarded = np.asarray(avoiding_zero(uniforms), np.float64)
    assert guarded.min() == 2.0**-digits
    assert guarded.max() == 1.0
    np.testing.assert_array_equal(guarded + np.asarray(uniforms, np.float64), 1.0)


def test_bits_of_another_width_and_other_types_are_rejected() -> None:
    with pytest.raises(ValueError, match="bits must be uint64 to make float64, got uint32"):
        uniform_from_bits(jnp.uint32(1), jnp.float64)
    with pytest.raises(ValueError, match="dtype must be float32 or float64, got int32"):
        uniform_from_bits(jnp.uint32(1), jnp.int32)
