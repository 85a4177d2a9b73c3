"""A linear Gaussian chain of scalar states seen through noise, its Kalman filter, and the draws of particle filters."""

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.random import standard_normal

__all__ = ["SINE_OBSERVATIONS", "TWENTY_STEPS", "KalmanRun", "LinearGaussianStates", "kalman_filter"]


class LinearGaussianStates(NamedTuple):
    """x_1 ~ N(0, initial_variance), x_t = coefficient x_{t-1} + N(0, state_variance), y_t = x_t + N(0, noise_variance).

    Attributes:
        coefficient: of the previous state.
        state_variance: of the noise of the states, positive.
        noise_variance: of the noise of the observations, positive.
        initial_variance: of the first state, positive.
    """

    coefficient: float
    state_variance: float
    noise_variance: float
    initial_variance: float

    def draw_initial(self, key: Array, n_particles: int) -> Array:
        """Draws first states [particle]."""
        return math.sqrt(self.initial_variance) * standard_normal(key, (n_particles,))

    def draw_next(self, key: Array, states: Array) -> Array:
        """Draws a successor of each state [particle]."""
        noise = standard_normal(key, states.shape)
        return self.coefficient * states + math.sqrt(self.state_variance) * noise

    def log_emission(self, observation: Array, states: Array) -> Array:
        """Log density of an observation, scalar, given each state [particle], in nats."""
        constant = -0.5 * math.log(2.0 * math.pi * self.noise_variance)
        return constant - 0.5 * jnp.square(states - observation) / self.noise_variance

    def log_largest_likelihood(self, n_steps: int) -> float:
        """Log of the largest density of observations given any states: no likelihood estimate exceeds it."""
        return -0.5 * n_steps * math.log(2.0 * math.pi * self.noise_variance)


TWENTY_STEPS = LinearGaussianStates(0.9, 0.25, 1.0, 1.0)
"""States of the fixture whose observations are `SINE_OBSERVATIONS`: log likelihood -26.685529062."""

SINE_OBSERVATIONS: FloatArray = np.sin(np.arange(1.0, 21.0))
"""y_t = sin(t) for t = 1 to 20, in radians."""


class KalmanRun(NamedTuple):
    """What a Kalman filter finds, one entry for each observation [step].

    Attributes:
        log_predictive: log density of the observation given those before it, in nats; they sum to the log likelihood.
        mean: of the state given the observations so far.
        variance: of the same.
    """

    log_predictive: FloatArray
    mean: FloatArray
    variance: FloatArray

    @property
    def log_likelihood(self) -> float:
        """Log density of all observations, in nats."""
        return float(self.log_predictive.sum())


def kalman_filter(model: LinearGaussianStates, observations: ArrayLike) -> KalmanRun:
    """Exact filter of a linear Gaussian chain.

    Args:
        model: the chain.
        observations: [step].

    Returns:
        Predictive densities and moments of the states.

    Must hold: the likelihood and the last moments are those of the joint Gaussian of all states and observations.

    Source: Kalman 1960; the exact value that the particle filter of the lecture slides estimates.


    >>> round(kalman_filter(TWENTY_STEPS, SINE_OBSERVATIONS).log_likelihood, 9)
    -26.685529062
    """
    values = np.asarray(observations, np.float64)
    found = np.empty((3, values.size))
    mean, variance = 0.0, model.initial_variance
    for step, value in enumerate(values):
        total = variance + model.noise_variance
        surprise = value - mean
        log_predictive = -0.5 * (math.log(2.0 * math.pi * total) + surprise**2 / total)
        mean += variance / total * surprise
        variance *= model.noise_variance / total
        found[:, step] = log_predictive, mean, variance
        mean, variance = model.coefficient * mean, model.coefficient**2 * variance + model.state_variance
    return KalmanRun(*found)
