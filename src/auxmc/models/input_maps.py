"""Random inputs of unit variance on the whole line, and maps that give them other distributions.

A generator whose inputs all have unit variance and no bounds is easy to step in: no move can leave the support, and one
step size fits all. Source: PhD thesis, Table D.1 of appendix D.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import ndtr

_LOGISTIC = math.pi / math.sqrt(3.0)
_SECANT = 0.5 * math.pi


class InputDensity(NamedTuple):
    """Distribution of one input, with mean 0 and variance 1."""

    log_density: Callable[[Array], Array]  # elementwise, in nats
    cdf: Callable[[Array], Array]  # distribution function, elementwise


class InputMap(NamedTuple):
    """Map, elementwise, of inputs with a distribution of `INPUTS`, the source, and of parameters to values."""

    source: str
    forward: Callable[..., Array]


def _log_cosh(z: Array) -> Array:
    return jnp.logaddexp(z, -z) - math.log(2.0)


INPUTS: Mapping[str, InputDensity] = {
    "normal": InputDensity(lambda u: -0.5 * jnp.square(u) - 0.5 * math.log(2.0 * math.pi), lambda u: ndtr(u)),
    "logistic": InputDensity(
        lambda u: math.log(0.25 * _LOGISTIC) - 2.0 * _log_cosh(0.5 * _LOGISTIC * u),
        lambda u: jax.nn.sigmoid(_LOGISTIC * u),
    ),
    "inverse cosh": InputDensity(
        lambda u: -math.log(2.0) - _log_cosh(_SECANT * u),
        lambda u: jnp.arctan(jnp.exp(_SECANT * u)) / _SECANT,
    ),
}
"""Distributions of inputs by name.

Must hold: each integrates to 1 and has variance 1.
"""

INPUT_MAPS: Mapping[str, InputMap] = {
    "normal": InputMap("normal", lambda u, mu, sigma: mu + sigma * u),
    "log-normal": InputMap("normal", lambda u, mu, sigma: jnp.exp(mu + sigma * u)),
    "exponential": InputMap("logistic", lambda u, rate: jax.nn.softplus(_LOGISTIC * u) / rate),
    "uniform": InputMap("logistic", lambda u, a, b: a + (b - a) * jax.nn.sigmoid(-_LOGISTIC * u)),
    "half-Cauchy": InputMap("inverse cosh", lambda u, gamma: gamma * jnp.exp(_SECANT * u)),
}
"""Maps by the name of the distribution that they give, which is a name in `experiments.foundations.models.densities`.

Must hold: the distribution function of a value is that of its input, or 1 minus it where the map falls.
"""
