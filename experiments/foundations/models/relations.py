"""What can be said of a Boltzmann machine without sums over its states."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray
from experiments.boltzmann.model.data import BoltzmannParameters

__all__ = ["condition_on_units", "log_weights"]


def log_weights(parameters: BoltzmannParameters, spins: ArrayLike) -> FloatArray:
    """s^T W s / 2 + s^T b [...] of spins -1 and +1 [..., unit], in nats."""
    s = np.asarray(spins, float)
    return np.asarray(0.5 * np.sum((s @ parameters.weights) * s, axis=-1) + s @ parameters.biases, float)


def condition_on_units(
    parameters: BoltzmannParameters, units: Sequence[int], spins: ArrayLike
) -> BoltzmannParameters:
    """The machine of the other units given some: the same couplings, and biases b + W s of the units that are given.

    Args:
        parameters: of the whole machine.
        units: indices of the units that are given, each once.
        spins: their values, -1 or +1 [given].

    Source: PhD thesis, section 1.3.3.
    Must hold: its distribution is the conditional distribution.
    """
    s = np.asarray(spins, float)
    n = parameters.n_units
    given = np.asarray(units, int)
    rest = np.setdiff1d(np.arange(n), given)
    w, b = parameters
    return BoltzmannParameters(w[np.ix_(rest, rest)], b[rest] + w[np.ix_(rest, given)] @ s)
