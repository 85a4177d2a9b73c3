"""Gaussian observations with a Gaussian mean, the example of which everything is known in closed form."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Toy", "make_toy"]

FloatArray = NDArray[np.float64]


class Toy(NamedTuple):
    """mu ~ N(0, 1), y_i ~ N(mu, 1), as far as likelihoods of mu depend on the data.

    Attributes:
        n_rows: observations.
        total: their sum.
        total_square: sum of their squares.
    """

    n_rows: int
    total: float
    total_square: float

    @property
    def log_evidence(self) -> float:
        """Log density of the observations, in nats."""
        quadratic = self.total_square - self.total**2 / (self.n_rows + 1)
        return -0.5 * (self.n_rows * math.log(2.0 * math.pi) + math.log(self.n_rows + 1) + quadratic)

    @property
    def log_largest_likelihood(self) -> float:
        """Log likelihood at the mean of the observations, in nats."""
        return float(self.log_likelihood(np.array(self.total / self.n_rows)))

    def log_likelihood(self, mu: FloatArray) -> FloatArray:
        """Log likelihood of all observations at each mean [...], in nats."""
        # About the sample mean: the sums themselves would lose digits.
        sample_mean = self.total / self.n_rows
        residual = self.total_square - self.total * sample_mean
        constant = -0.5 * (self.n_rows * math.log(2.0 * math.pi) + residual)
        return np.asarray(constant - 0.5 * self.n_rows * np.square(mu - sample_mean), dtype=np.float64)

    def draw_posterior(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Exact draws of the mean."""
        n = self.n_rows + 1
        return np.asarray(rng.normal(self.total / n, 1.0 / math.sqrt(n), shape), dtype=np.float64)


def make_toy(observations: FloatArray) -> Toy:
    """The example with the given observations [row].

    Source: MSc thesis, section 3.1.
    """
    return Toy(len(observations), float(observations.sum()), float(np.square(observations).sum()))
