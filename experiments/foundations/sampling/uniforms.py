"""Uniform floats from random bits, and the guard that a logarithm of one needs."""

import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike

__all__ = ["avoiding_zero", "uniform_from_bits"]

# Bits of an integer and of the significand of the float that it becomes.
_PRECISIONS = {jnp.dtype(jnp.float32): (32, 24), jnp.dtype(jnp.float64): (64, 53)}


def uniform_from_bits(bits: Array, dtype: DTypeLike = jnp.float64) -> Array:
    """Maps random bits to multiples of 2^-24 (float32) or 2^-53 (float64) in [0, 1).

    Args:
        bits: uint32 for float32, uint64 for float64, any shape.
        dtype: of the result.

    Returns:
        Floats of the shape of bits: 0 can occur, 1 cannot.

    Raises:
        ValueError: dtype is neither float32 nor float64, or bits are not of its width.

    Must hold: at least 0 and below 1 for every pattern of bits; rises with the integer.

    Source: PhD thesis, section 2.1.2.

    >>> float(uniform_from_bits(jnp.uint64(2**63)))
    0.5
    """
    wanted = jnp.dtype(dtype)
    if wanted not in _PRECISIONS:
        raise ValueError(f"dtype must be float32 or float64, got {wanted}")
    width, digits = _PRECISIONS[wanted]
    if bits.dtype != jnp.dtype(f"uint{width}"):
        raise ValueError(f"bits must be uint{width} to make {wanted}, got {bits.dtype}")
    shifted = bits >> jnp.asarray(width - digits, bits.dtype)
    return shifted.astype(wanted) * jnp.asarray(2.0**-digits, wanted)


def avoiding_zero(uniforms: Array) -> Array:
    """1 - u, exactly: moves floats of [0, 1) to (0, 1], where a logarithm is finite.

    Args:
        uniforms: as `uniform_from_bits` makes them, any shape.

    Returns:
        Floats of the same shape and type; the distribution is the same but for the end that can occur.

    Must hold: above 0 and at most 1 for every float that `uniform_from_bits` makes; no rounding.
    """
    return jnp.asarray(1.0, uniforms.dtype) - uniforms
