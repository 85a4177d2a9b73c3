"""Linear congruential generator: a teaching object, whose low bits repeat at once; never the project's generator.

The project's own random numbers are those of JAX, by name (`driver.seeds`). This one shows what a period is.
"""

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import IntegerArray

__all__ = ["bit_rows", "congruential_states", "smallest_period"]


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

    Must hold: a state depends on the one before it alone; the sequence is purely periodic where a and m have no
    common factor.

    Source: PhD thesis, section 2.1.2; Lehmer 1951.

    >>> congruential_states(37, 61, 128, 37, 4).tolist()
    [37, 22, 107, 52]
    """
    a, c, state = (np.asarray(values, np.int64) for values in (multiplier, increment, seed))
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

    Must hold: the sum of bits times powers of two is the state.

    >>> bit_rows([6, 1], 3).tolist()
    [[0, 1], [1, 0], [1, 0]]
    """
    values = np.asarray(states, np.int64)
    return (values[None, :] >> np.arange(n_bits, dtype=np.int64)[:, None]) & 1


def smallest_period(sequence: ArrayLike) -> int:
    """The smallest k for which x_(i + k) = x_i throughout the sequence [draw]; its length if it never repeats.

    Must hold: the sequence is its first k entries repeated.

    >>> smallest_period([0, 1, 1, 0, 1, 1, 0])
    3
    """
    values = np.asarray(sequence)
    for period in range(1, values.size):
        if np.array_equal(values[period:], values[:-period]):
            return period
    return int(values.size)
