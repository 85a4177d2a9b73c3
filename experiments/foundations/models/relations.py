"""What can be said of a Boltzmann machine without sums over its states: other units, conditions, local maxima."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import BooleanArray, FloatArray
from experiments.boltzmann.model.data import BoltzmannParameters

__all__ = [
    "ZeroOneParameters",
    "condition_on_units",
    "is_single_flip_maximum",
    "log_weights",
    "zero_one_log_weights",
    "zero_one_parameters",
]


class ZeroOneParameters(NamedTuple):
    """Machine with units u in {0, 1} whose log weight is the sum over i < j of C_ij u_i u_j minus that of c_i u_i.

    Attributes:
        couplings: C [unit, unit], zero on and below its diagonal.
        biases: c [unit]; a positive one switches a unit off.
    """

    couplings: FloatArray
    biases: FloatArray


def log_weights(parameters: BoltzmannParameters, spins: ArrayLike) -> FloatArray:
    """s^T W s / 2 + s^T b [...] of spins -1 and +1 [..., unit], in nats."""
    s = np.asarray(spins, float)
    return np.asarray(0.5 * np.sum((s @ parameters.weights) * s, axis=-1) + s @ parameters.biases, float)


def zero_one_parameters(parameters: BoltzmannParameters) -> ZeroOneParameters:
    """The same machine for units u = (s + 1) / 2: C is four times the upper triangle of W, c is 2 W 1 - 2 b.

    Source: PhD thesis, Eq. 1.45, and lecture slides, whose conventions these are.
    Must hold: log weights of both differ by a constant.
    """
    w, b = parameters
    return ZeroOneParameters(4.0 * np.triu(w, 1), 2.0 * w.sum(axis=1) - 2.0 * b)


def zero_one_log_weights(parameters: ZeroOneParameters, units: ArrayLike) -> FloatArray:
    """Log weights [...] of states of zeros and ones [..., unit], in nats."""
    u = np.asarray(units, float)
    return np.asarray(np.sum((u @ parameters.couplings) * u, axis=-1) - u @ parameters.biases, float)


def condition_on_units(
    parameters: BoltzmannParameters, units: Sequence[int], spins: ArrayLike
) -> BoltzmannParameters:
    """The machine of the other units given some: the same couplings, and biases b + W s of the units that are given.

    Args:
        parameters: of the whole machine.
        units: indices of the units that are given, each once.
        spins: their values, -1 or +1 [given].

    Raises:
        ValueError: an index twice or out of range, no unit is left, or values that are not one spin for each index.

    Source: PhD thesis, section 1.3.3.
    Must hold: its law is the conditional law.
    """
    s = np.asarray(spins, float)
    n = parameters.n_units
    if len(set(units)) != len(units) or not set(units) < set(range(n)):
        raise ValueError(
            f"units must be different indices below {n} that leave a unit over, got {list(units)}"
        )
    if s.shape != (len(units),) or not np.all(np.abs(s) == 1.0):
        raise ValueError(f"spins must be one of -1 and +1 for each of {len(units)} units, got {s.tolist()}")
    given = np.asarray(units, int)
    rest = np.setdiff1d(np.arange(n), given)
    w, b = parameters
    return BoltzmannParameters(w[np.ix_(rest, rest)], b[rest] + w[np.ix_(rest, given)] @ s)


def is_single_flip_maximum(parameters: BoltzmannParameters, spins: ArrayLike) -> BooleanArray:
    """Whether no flip of one spin makes a state [..., unit] more probable [...].

    Flipping s_i changes the log weight by -2 s_i (W s + b)_i.
    """
    s = np.asarray(spins, float)
    return np.asarray(np.all(s * (s @ parameters.weights + parameters.biases) >= 0.0, axis=-1), bool)
