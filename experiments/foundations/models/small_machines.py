"""Small Boltzmann machines, exactly solved by summing over a handful of states."""

import numpy as np

from experiments.boltzmann.model.data import BoltzmannParameters
from experiments.foundations.models.restricted_boltzmann import RestrictedBoltzmann, restricted_boltzmann

__all__ = ["LAYER_DATA", "five_units", "three_by_two", "three_units"]

LAYER_DATA: tuple[tuple[float, ...], ...] = ((1.0, 0.0, 1.0), (1.0, 1.0, 0.0))
"""Two visible states [data, visible] on which `three_by_two` is trained."""


def five_units() -> BoltzmannParameters:
    """Machine of five spins -1 and +1 with frustrated couplings and two modes.

    W_ij = cos(3 i j) and b_i = 0.2 sin(i), units counted from 1.

    Must hold: log normaliser 5.895045722265, and two states that no single flip makes more probable.

    >>> five_units().weights.shape
    (5, 5)
    """
    units = np.arange(1, 6)
    weights = np.cos(3.0 * np.outer(units, units))
    np.fill_diagonal(weights, 0.0)
    return BoltzmannParameters(weights, 0.2 * np.sin(units))


def three_units() -> BoltzmannParameters:
    """The first three units of `five_units`, small enough for exact transition matrices [8, 8].

    Must hold: its eight probabilities.
    """
    weights, biases = five_units()
    return BoltzmannParameters(weights[:3, :3], biases[:3])


def three_by_two() -> RestrictedBoltzmann:
    """Restricted machine of three visible and two hidden units 0 and 1.

    Must hold: log normaliser 4.221014123980.
    """
    weights = [[1.0, -0.5], [0.5, 1.0], [-1.5, 0.75]]
    return restricted_boltzmann(weights, [0.2, -0.1, 0.0], [0.1, -0.3])
