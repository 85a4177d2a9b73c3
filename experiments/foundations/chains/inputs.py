"""What several topics on chains are made of: covariances, random numbers, mixtures on the line."""

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from auxmc.numerics.array_types import FloatArray
from experiments.tempering_illustration.model import ScalarMixture

SHAPE = 0.4  # shape alpha of the skewed density of figure 2.12, a generalised logistic distribution


def correlated(rho: float) -> FloatArray:
    """Covariance with unit variances and a correlation [2, 2]."""
    return np.array([[1.0, rho], [rho, 1.0]])


def log_uniforms(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Logs of uniform numbers, as accept steps and slice heights use them."""
    return -rng.exponential(size=shape)


def random_keys(rng: np.random.Generator, shape: tuple[int, ...]) -> jax.Array:
    """Independent JAX keys of any shape, from random bits; splitting one key compiles a program for every shape."""
    return jax.random.wrap_key_data(jnp.asarray(rng.integers(0, 2**32, (*shape, 2), np.uint32)))


def mixture_density(mixture: ScalarMixture, x: ArrayLike) -> FloatArray:
    """Density of a mixture on the line, elementwise."""
    weights, means, sds = (np.array(values) for values in mixture)
    standard = (np.asarray(x, float)[..., None] - means) / sds
    return np.asarray(np.sum(weights / sds * np.exp(-0.5 * standard**2), axis=-1) / np.sqrt(2.0 * np.pi))


def mixture_draws(mixture: ScalarMixture, rng: np.random.Generator, n: int) -> FloatArray:
    """Exact draws of a mixture [draw]."""
    weights, means, sds = (np.array(values) for values in mixture)
    component = rng.choice(len(weights), n, p=weights)
    return np.asarray(means[component] + sds[component] * rng.normal(size=n))


def mixture_cdf(mixture: ScalarMixture, x: FloatArray) -> FloatArray:
    """Distribution function of a mixture, elementwise."""
    return np.asarray(sum(w * special.ndtr((x - m) / s) for w, m, s in zip(*mixture, strict=True)))
