"""Linear congruential generator: a teaching object, whose low bits repeat at once; never the project's generator.

The project's own random numbers are those of JAX, by name (`driver.seeds`). This one shows what a period is.
"""

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import IntegerArray

__all__ = ["bit_rows", "congruential_states", "smallest_period"]


_LARGEST_MODULUS = 2**31


def congruential_states(
    multiplier: ArrayLike, increment: ArrayLike, modulus: int, seed: ArrayLike, n: int
) -> IntegerArray:
    """States s, f(s), f(f(s)), ... of the recursion f(s) = (a s + c) mod m, the seed first.

    Args:
        multiplier: a, in (0, m); an array [...] gives as many generators side by side.
        increment: c, in [0, m); [...].
        modulus: m, below 2^31, so that a product fits into 64 bits.
        seed: first state, in [0, m); [...].
        n: number of states, at least 1.

    Returns:
        States [draw, ...], int64.

    Raises:
        ValueError: an argument is outside its range.

    Must hold: a state depends on the one before it alone; the sequence is purely periodic where a and m have no
    common factor.

    Source: PhD thesis, section 2.1.2; Lehmer 1951.

    >>> congruential_states(37, 61, 128, 37, 4).tolist()
    [37, 22, 107, 52]
    """
    if not 1 <= modulus < _LARGEST_MODULUS:
        raise ValueError(f"modulus must be in [1, 2^31), got {modulus}")
    if n < 1:
        raise ValueError(f"n must be a positive whole number, got {n}")
    a, c, state = (np.asarray(values, np.int64) for values in (multiplier, increment, seed))
    for name, values, least in (("multiplier", a, 1), ("increment", c, 0), ("seed", state, 0)):
        if np.any((values < least) | (values >= modulus)):
            raise ValueError(f"{name} must be in [{least}, modulus = {modulus}), got {values}")
    states = np.empty((n, *np.broadcast_shapes(a.shape, c.shape, state.shape)), np.int64)
    states[0] = state
    for i in range(1, n):
        states[i] = (a * states[i - 1] + c) % modulus
    return states


def bit_rows(states: ArrayLike, n_bits: int) -> IntegerArray:
    """Bits of each state, the least significant in row 0.

    Args:
        states: not negative [draw].
        n_bits: number of bits, 1 to 62.

    Returns:
        0 or 1 [bit, draw], int64.

    Raises:
        ValueError: a state does not fit into the bits.

    Must hold: the sum of bits times powers of two is the state.

    >>> bit_rows([6, 1], 3).tolist()
    [[0, 1], [1, 0], [1, 0]]
    """
    values = np.asarray(states, np.int64)
    if not 1 <= n_bits <= 62 or np.any((values < 0) | (values >= 2**n_bits)):
        raise ValueError(f"states must be in [0, 2^n_bits) with n_bits in [1, 62], got n_bits = {n_bits}")
    return (values[None, :] >> np.arange(n_bits, dtype=np.int64)[:, None]) & 1


def smallest_period(sequence: ArrayLike) -> int:
    """The smallest k for which x_(i + k) = x_i throughout the sequence [draw]; its length if it never repeats.

    Raises:
        ValueError: the sequence is empty or has more than one axis.

    Must hold: the sequence is its first k entries repeated.

    >>> smallest_period([0, 1, 1, 0, 1, 1, 0])
    3
    """
    values = np.asarray(sequence)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"sequence must have one axis and at least one entry, got shape {values.shape}")
    for period in range(1, values.size):
        if np.array_equal(values[period:], values[:-period]):
            return period
    return int(values.size)
