"""Test images drawn from a generative image model, with known latent vectors, and bases of their posteriors."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from auxmc.numerics.array_types import FloatArray
from experiments.image_models.model.autoencoder import (
    Autoencoder,
    Code,
    encode,
    log_importance_weights,
    logits,
    to_precision,
)


class GeneratedImages(NamedTuple):
    """Images and the latent vectors that they were drawn from: an exact draw from each posterior."""

    latents: FloatArray  # [image, latent]
    images: NDArray[np.uint8]  # 0 or 1 (uint8) [image, pixel]


class Bases(NamedTuple):
    """Gaussian approximations of the posteriors of images, and what importance samples from them say."""

    means: FloatArray  # [image, latent]
    scales: FloatArray  # standard deviations [image, latent]
    # importance-weighted lower bound on the log evidence of each image, in nats [image]
    log_zeta: FloatArray
    log_zeta_error: FloatArray  # its standard error [image]; NaN for a single sample
    single_bound: FloatArray  # mean of the bounds by a single sample each, in nats [image]


def generate_images(model: Autoencoder, state: np.random.RandomState, n_images: int) -> GeneratedImages:
    """Draws images in float64, the same on every machine; 1000 of a published model and seed are the published ones."""
    latents = state.normal(size=(n_images, model.n_latent))
    decode = jax.jit(jax.vmap(logits, in_axes=(None, 0)))
    on = expit(np.asarray(decode(to_precision(model, jnp.float64), jnp.asarray(latents))))
    images = state.uniform(size=on.shape) < on
    return GeneratedImages(latents, images.astype(np.uint8))


def encoder_bases(
    model: Autoencoder,
    images: NDArray[np.uint8],
    state: np.random.RandomState,
    n_drawn: int,
    n_draws: int = 100,
) -> Bases:
    """Codes of images and importance-sampled bounds on their log evidence.

    See PhD thesis, section 5.6.2. Numbers are drawn for all `n_drawn` images of `generate_images`, which left
    `state`; these are the first.
    """
    precise, binary = to_precision(model, jnp.float64), jnp.asarray(images, jnp.float64)
    codes = jax.jit(jax.vmap(encode, in_axes=(None, 0)))(precise, binary)

    # All arrays are arguments: XLA would spend minutes on products of constants.
    @jax.jit
    def weigh(model: Autoencoder, binary: Array, codes: Code, noise: Array) -> Array:
        weights = jax.vmap(log_importance_weights, in_axes=(None, 0, 0, 0))
        return weights(model, binary, codes, noise[:, None])[:, 0]

    draws = (state.normal(size=(n_drawn, model.n_latent))[: len(images)] for _ in range(n_draws))
    logs = np.stack([np.asarray(weigh(precise, binary, codes, jnp.asarray(noise))) for noise in draws])
    log_zeta = np.asarray(logsumexp(logs, axis=0) - np.log(n_draws), dtype=np.float64)
    weights = np.exp(logs - log_zeta)
    error = weights.std(axis=0, ddof=1) / np.sqrt(n_draws) if n_draws > 1 else np.full_like(log_zeta, np.nan)
    return Bases(np.asarray(codes.mean), np.asarray(codes.scale), log_zeta, error, logs.mean(axis=0))
