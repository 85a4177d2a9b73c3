"""Exact and fast random numbers: normal by Box and Muller, chi-squared by Marsaglia and Tsang, row numbers by hashing.

The generators of normal and chi-squared numbers are those of `jax.random`; only the maps from random bits to numbers
differ. They are laid out so that a compiler can vectorise them when many small draws are made side by side with `vmap`.
"""

import math

import jax
import jax.numpy as jnp
from jax import Array, lax

# A draw is rounded up to a multiple of this many pairs of numbers, which fill vector registers: 16 numbers of
# which 6 are thrown away take less time than exactly 10.
_PAIRS = 8

# Taylor coefficients of sin(pi t/2)/t and cos(pi t/2) in t^2, exact to rounding for |t| <= 1/2.
_SINE = tuple((-1) ** k * (math.pi / 2) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(9))
_COSINE = tuple((-1) ** k * (math.pi / 2) ** (2 * k) / math.factorial(2 * k) for k in range(9))


def standard_normal(key: Array, shape: tuple[int, ...]) -> Array:
    """Draws independent standard normal numbers in double precision.

    Pairs sqrt(-2 log U) (cos(2 pi V), sin(2 pi V)), U being an odd multiple of 2^-53 and V one of 2^-55. No number is
    larger than 8.58 in size, which an ideal one is with probability 1e-17. RuntimeError if JAX is not set to double
    precision.

    Source: Box and Muller 1958.
    """
    _require_double_precision("normal numbers")
    n = math.prod(shape)
    n_pairs = (n + 1) // 2
    if n_pairs > _PAIRS // 2:
        n_pairs = _PAIRS * math.ceil(n_pairs / _PAIRS)
    bits = jax.random.bits(key, (2 * n_pairs,), jnp.uint64)
    radius = jnp.sqrt(-2.0 * jnp.log(_unit_interval(bits[:n_pairs])))
    cosine, sine = _circle_point(bits[n_pairs:])
    return jnp.concatenate([radius * cosine, radius * sine])[:n].reshape(shape)


def chi_square(key: Array, degrees: int, shape: tuple[int, ...]) -> Array:
    """Draws independent chi-squared numbers, float64, exactly, by rejection from a cubed normal.

    ValueError if degrees is not a positive integer, RuntimeError if JAX is not set to double precision.

    Source: Marsaglia and Tsang 2000, for the gamma distribution with shape degrees/2.
    """
    if isinstance(degrees, bool) or not isinstance(degrees, int) or degrees < 1:
        raise ValueError(f"degrees must be a positive integer, got {degrees!r}")
    _require_double_precision("the numbers")
    if degrees == 1:
        return jnp.square(standard_normal(key, shape))
    n = math.prod(shape)
    centre = 0.5 * degrees - 1.0 / 3.0
    width = 1.0 / math.sqrt(9.0 * centre)

    def judge(normal: Array, uniform: Array) -> tuple[Array, Array]:
        cube = (1.0 + width * normal) ** 3
        positive = cube > 0.0
        log_cube = jnp.log(jnp.where(positive, cube, 1.0))
        log_ratio = 0.5 * jnp.square(normal) + centre * (1.0 - cube + log_cube)
        return cube, positive & (jnp.log(uniform) < log_ratio)

    def propose(attempt: Array) -> tuple[Array, Array]:
        # The second proposal of an attempt serves where the first is rejected: it has probability 0.05 at most, far
        # less with many degrees of freedom, so that a third one is hardly ever drawn.
        bits = jax.random.bits(jax.random.fold_in(key, attempt), (4 * n,), jnp.uint64)
        radius = jnp.sqrt(-2.0 * jnp.log(_unit_interval(bits[:n])))
        cosine, sine = _circle_point(bits[n : 2 * n])
        first, first_accepted = judge(radius * cosine, _unit_interval(bits[2 * n : 3 * n]))
        second, second_accepted = judge(radius * sine, _unit_interval(bits[3 * n :]))
        return jnp.where(first_accepted, first, second), first_accepted | second_accepted

    def repeat(loop: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        attempt, cube, accepted = loop
        proposed_cube, proposed_accepted = propose(attempt)
        return attempt + jnp.uint32(1), jnp.where(accepted, cube, proposed_cube), accepted | proposed_accepted

    # The loop makes the first attempt too: a copy of its body in front would take as long again to compile.
    start = (jnp.uint32(0), jnp.zeros((n,)), jnp.zeros((n,), bool))
    _, cube, _ = lax.while_loop(lambda loop: ~jnp.all(loop[2]), repeat, start)
    return (2.0 * centre * cube).reshape(shape)


def row_numbers(key: Array, shape: tuple[int, ...], n_rows: Array) -> Array:
    """Draws row numbers 0, 1, ..., n_rows - 1 (int32) with replacement, for stochastic gradients.

    A counter is hashed twice with the words of the key, by multiplications that a compiler can vectorise: a tenth of
    the time of `jax.random.randint`, most of a step of a cheap model otherwise. Made for choosing rows, not for
    numbers whose tails matter. A row's probability differs from 1 / n_rows by less than one part in 2^32 / n_rows.
    A draw has fewer than 2^32 numbers, and n_rows is below 2^31.

    Source: the mixing function is Wellons's `lowbias32` in its form of 2023 with the smaller bias.

    >>> drawn = row_numbers(jax.random.key(0), (1000,), jnp.int32(3))
    >>> sorted(set(drawn.tolist()))
    [0, 1, 2]
    """
    words = jax.random.key_data(key).astype(jnp.uint32)
    counter = lax.iota(jnp.uint32, math.prod(shape))
    hashed = _mix(_mix(counter + words[0]) ^ words[-1])
    scaled = (hashed.astype(jnp.uint64) * n_rows.astype(jnp.uint64)) >> 32
    return scaled.astype(jnp.int32).reshape(shape)


def _mix(x: Array) -> Array:
    x = (x ^ (x >> 16)) * jnp.uint32(0x21F0AAAD)
    x = (x ^ (x >> 15)) * jnp.uint32(0xD35A2D97)
    return x ^ (x >> 15)


def _require_double_precision(what: str) -> None:
    if not jax.config.read("jax_enable_x64"):
        raise RuntimeError(f"{what} are made of 64 random bits: call auxmc.enable_x64() before drawing them")


def _unit_interval(bits: Array) -> Array:
    """Maps 64 random bits to a number strictly between 0 and 1: an odd multiple of 2^-53."""
    return _one_to_two(bits) - (1.0 - 2.0**-53)


def _circle_point(bits: Array) -> tuple[Array, Array]:
    """Maps 64 random bits to cosine and sine of a uniform angle: two bits for the quadrant, 52 for the rest."""
    quadrant = bits >> jnp.uint64(62)
    t = _one_to_two(bits << jnp.uint64(2)) - (1.5 - 2.0**-53)
    squared = jnp.square(t)
    sine, cosine = t * _polynomial(_SINE, squared), _polynomial(_COSINE, squared)
    odd = (quadrant & jnp.uint64(1)) == jnp.uint64(1)
    sign = jnp.where(quadrant >= jnp.uint64(2), -1.0, 1.0)
    return sign * jnp.where(odd, -sine, cosine), sign * jnp.where(odd, cosine, sine)


def _one_to_two(bits: Array) -> Array:
    """Puts the upper 52 bits into the mantissa of a double between 1 and 2."""
    return lax.bitcast_convert_type((bits >> jnp.uint64(12)) | jnp.uint64(0x3FF0000000000000), jnp.float64)


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    value = jnp.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value * x + coefficient
    return value
