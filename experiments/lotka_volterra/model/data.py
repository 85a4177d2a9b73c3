"""Series of prey and predators: the published one, made again from its seed, and the user's own. NumPy only."""

import os

import numpy as np

from auxmc.data.tables import read_matrix
from auxmc.errors import DataError
from auxmc.numerics.array_types import FloatArray

GENERATING_RATES = (0.4, 0.005, 0.05, 0.001)  # Rates z that generated the published data
MIN_STEPS = 4  # Fewest steps from which all summaries and rates can be had
POPULATIONS = ("prey", "predators")  # What the two columns of a series are
_DATA_SEED = 1234
_PUBLISHED_STEPS = 50


def published_data(scheme: str = "code") -> FloatArray:
    """The published prey and predators [step, 2] of figure 4.9, made again from their seed; `text` gives other ones."""
    noise = np.random.RandomState(_DATA_SEED).normal(size=2 * _PUBLISHED_STEPS).reshape(-1, 2)
    z1, z2, z3, z4 = GENERATING_RATES
    states = np.empty_like(noise)
    prey, predators = 100.0, 100.0
    for step, (prey_noise, predator_noise) in enumerate(noise):
        new_prey = prey + (z1 * prey - z2 * prey * predators) + prey_noise
        food = new_prey if scheme == "code" else prey
        predators = predators + (z4 * food * predators - z3 * predators) + predator_noise
        prey = new_prey
        states[step] = prey, predators
    return states


def read_populations(path: str | os.PathLike[str], min_rows: int = MIN_STEPS + 1) -> FloatArray:
    """Reads at least `min_rows` rows of prey and predators [step, 2] from two columns of text, names first or none."""
    values = read_matrix(path, min_rows=min_rows)
    if values.shape[1] != 2:
        raise DataError(
            f"{os.fspath(path)}: expected 2 columns, prey and predators, got {values.shape[1]}; "
            "remove columns of times or labels: rows are taken to be equally spaced in time"
        )
    return values
