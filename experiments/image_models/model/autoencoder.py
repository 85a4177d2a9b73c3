"""A generative model of binary images with a Gaussian latent vector, and a Gaussian near its posterior."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from auxmc.models.bridge import Bridge, bridge, gaussian_base
from experiments.image_models.model.autoencoder_weights import Autoencoder, Dense


class Code(NamedTuple):
    """Gaussian approximation of the posterior of an image's latent vector."""

    mean: Array  # [latent]
    scale: Array  # standard deviations [latent]


def logits(model: Autoencoder, latent: Array) -> Array:
    """Logits [pixel] given a latent vector [latent], by two hidden layers (PhD thesis, section 5.6.2)."""
    first, second, last = model.decoder
    return _dense(last, jnp.tanh(_dense(second, jnp.tanh(_dense(first, latent)))))


def log_likelihood(model: Autoencoder, image: Array, latent: Array) -> Array:
    """Log probability of a binary image [pixel] (of the floating type of the weights), in nats."""
    level = logits(model, latent)
    # log(1 + exp(level)) in a form that neither overflows nor needs the probability.
    softplus = jnp.maximum(level, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(level)))
    return jnp.sum(image * level - softplus)


def encode(model: Autoencoder, image: Array) -> Code:
    """Approximate posterior of the latent vector of an image [pixel]."""
    first, second = model.encoder
    hidden = jnp.tanh(_dense(second, jnp.tanh(_dense(first, image))))
    return Code(_dense(model.code_mean, hidden), jnp.exp(_dense(model.code_log_scale, hidden)))


def log_importance_weights(model: Autoencoder, image: Array, code: Code, noise: Array) -> Array:
    """Log of joint density over approximate posterior in nats [draw], for an image [pixel] with such a code.

    `noise` is normal [draw, latent] (Burda, Grosse and Salakhutdinov 2016; PhD thesis, section 5.6.2).
    """

    def one(standard: Array) -> Array:
        latent = code.mean + code.scale * standard
        # Constants of the two Gaussians cancel.
        log_ratio = 0.5 * jnp.sum(jnp.square(standard) - jnp.square(latent)) + jnp.sum(jnp.log(code.scale))
        return log_likelihood(model, image, latent) + log_ratio

    return jax.vmap(one)(noise)


def latent_bridge(
    model: Autoencoder, image: Array, code: Code, log_zeta: Array, *, whitened: bool = True
) -> Bridge:
    """Joins the posterior of the latent vector z of an image [pixel] to its code.

    See PhD thesis, section 5.6.2. `log_zeta` guesses the log evidence in nats. If `whitened`, x is
    (z - mean) / scale, otherwise z.
    """
    constant = jnp.asarray(0.5 * model.n_latent * np.log(2.0 * np.pi), dtype=image.dtype)

    def energy(latent: Array) -> Array:
        return 0.5 * jnp.sum(jnp.square(latent)) + constant - log_likelihood(model, image, latent)

    if not whitened:
        return bridge(lambda x: -energy(x), gaussian_base(code.mean, code.scale), log_zeta)
    log_volume = jnp.sum(jnp.log(code.scale))
    standard = gaussian_base(jnp.zeros_like(code.mean), jnp.ones_like(code.scale))
    return bridge(lambda x: -(energy(code.mean + code.scale * x) - log_volume), standard, log_zeta)


def initial_autoencoder(
    rng: np.random.Generator, mean_image: NDArray[np.floating[Any]], n_hidden: int = 200, n_latent: int = 50
) -> Autoencoder:
    """Parameters to start training from, float32, with the variance of Glorot and Bengio 2010.

    The biases of the last layer reproduce `mean_image`, the probability that each pixel is on [pixel].
    """

    def layer(n_in: int, n_out: int) -> Dense:
        limit = np.sqrt(6.0 / (n_in + n_out))
        weights = rng.uniform(-limit, limit, size=(n_in, n_out))
        return Dense(jnp.asarray(weights, jnp.float32), jnp.zeros(n_out, jnp.float32))

    n_pixels = mean_image.size
    on = np.clip(mean_image, 1e-3, 1.0 - 1e-3)
    last = layer(n_hidden, n_pixels)._replace(biases=jnp.asarray(np.log(on / (1.0 - on)), jnp.float32))
    return Autoencoder(
        (layer(n_latent, n_hidden), layer(n_hidden, n_hidden), last),
        (layer(n_pixels, n_hidden), layer(n_hidden, n_hidden)),
        layer(n_hidden, n_latent),
        layer(n_hidden, n_latent),
    )


def to_precision(model: Autoencoder, dtype: Any) -> Autoencoder:
    """The same parameters as arrays of a floating type."""
    return jax.tree.map(lambda array: jnp.asarray(array, dtype=dtype), model)


def _dense(layer: Dense, inputs: Array) -> Array:
    # Without this, GPUs round factors to ten bits, which changes a log likelihood by tenths of a nat.
    return jnp.matmul(inputs, layer.weights, precision=jax.lax.Precision.HIGHEST) + layer.biases
