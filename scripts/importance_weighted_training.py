"""Trains a latent-variable model and its approximate posterior together, by the importance-weighted bound."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from numpy.typing import NDArray

from auxmc.numerics.array_types import FloatArray

__all__ = ["Stage", "TrainingCurve", "importance_weighted_bound", "published_stages", "train"]

LogWeights = Callable[[Any, Array, Array], Array]


class Stage(NamedTuple):
    """Passes over the images at one learning rate."""

    n_epochs: int
    learning_rate: float


class TrainingCurve(NamedTuple):
    """What happened during training.

    Attributes:
        objective: mean bound of the training images in each epoch, in nats per image [epoch].
        held_out: mean bound of the held-out images after each epoch [epoch].
        n_not_finite: steps that changed nothing because a number was not finite.
    """

    objective: FloatArray
    held_out: FloatArray
    n_not_finite: int


def published_stages(n_stages: int = 8) -> tuple[Stage, ...]:
    """Stages i = 1 to n of 3^(i-1) epochs at learning rates that fall from 1e-3 to 1e-4.

    Args:
        n_stages: 8 as published; fewer keep the range of learning rates and take a third of the time each.

    Raises:
        ValueError: there are fewer than two stages.

    Source: Burda, Grosse and Salakhutdinov 2016, section 5.

    >>> [(stage.n_epochs, round(stage.learning_rate, 6)) for stage in published_stages(3)]
    [(1, 0.001), (3, 0.00032), (9, 0.0001)]
    """
    if n_stages < 2:
        raise ValueError(f"n_stages must be at least 2, got {n_stages}")
    return tuple(Stage(3**i, 1e-4 * round(10.0 ** (1.0 - i / (n_stages - 1)), 1)) for i in range(n_stages))


def importance_weighted_bound(log_weights: Array) -> Array:
    """Log of the mean of weights given as logs [draw], in nats: below the log evidence in expectation."""
    return jax.nn.logsumexp(log_weights) - math.log(log_weights.shape[0])


def train(
    parameters: Any,
    log_weights: LogWeights,
    grey_images: NDArray[np.uint8],
    held_out: NDArray[np.uint8],
    *,
    key: Array,
    n_latent: int,
    stages: Sequence[Stage],
    n_importance: int = 5,
    batch_size: int = 20,
    report: Callable[[int, float], None] | None = None,
) -> tuple[Any, TrainingCurve]:
    """Maximises the mean importance-weighted bound with Adam on minibatches.

    Images are made binary again in every epoch: a pixel is on with a probability equal to its grey level.

    Args:
        parameters: pytree of float32 arrays to start from.
        log_weights: maps (parameters, binary image [pixel], noise [draw, latent]) to log importance weights [draw].
        grey_images: to train on, 0 to 255 [image, pixel]; an epoch leaves out what its last batch cannot hold.
        held_out: to watch [image, pixel]; made binary once.
        key: of all randomness.
        n_latent: length of the latent vector.
        stages: epochs and learning rates.
        n_importance: importance samples of an image in a step.
        batch_size: images in a step.
        report: told of the number of finished epochs and the seconds spent, after each of them.

    Returns:
        Trained parameters and the curve of training.

    Raises:
        ValueError: sizes are not positive, or there are fewer images than a batch takes.
    """
    if min(n_importance, batch_size, n_latent) < 1 or not stages:
        raise ValueError("n_importance, batch_size, n_latent and the number of stages must be at least 1")
    if len(grey_images) < batch_size or not len(held_out):
        raise ValueError(
            f"training needs batch_size={batch_size} images or more and a held-out one, "
            f"got {len(grey_images)} and {len(held_out)}"
        )
    adam = optax.scale_by_adam()
    n_steps = len(grey_images) // batch_size
    images = jnp.asarray(grey_images)

    def objective(parameters: Any, batch: Array, noise: Array) -> Array:
        bounds = jax.vmap(lambda x, n: importance_weighted_bound(log_weights(parameters, x, n)))(batch, noise)
        return jnp.mean(bounds)

    def draw_noise(key: Array, n: int) -> Array:
        return jax.random.normal(key, (n, n_importance, n_latent), jnp.float32)

    def step(
        loop: tuple[Any, Any, Array], given: tuple[Array, Array]
    ) -> tuple[tuple[Any, Any, Array], Array]:
        parameters, moments, rate = loop
        step_key, members = given
        pixel_key, noise_key = jax.random.split(step_key)
        batch = _made_binary(pixel_key, images[members])
        value, slope = jax.value_and_grad(objective)(parameters, batch, draw_noise(noise_key, batch_size))
        # The optimiser raises a Python number to the power of its counter.
        with jax.numpy_dtype_promotion("standard"):
            change, new_moments = adam.update(slope, moments)
        finite = jnp.isfinite(optax.tree.norm(slope)) & jnp.isfinite(value)
        moved = jax.tree.map(lambda p, c: p + rate * c, parameters, change)
        kept = jax.tree.map(
            lambda new, old: jnp.where(finite, new, old), (moved, new_moments), (parameters, moments)
        )
        return (*kept, rate), jnp.where(finite, value, jnp.nan)

    @jax.jit
    def epoch(parameters: Any, moments: Any, rate: Array, key: Array) -> tuple[Any, Any, Array, Array]:
        order = jax.random.permutation(jax.random.fold_in(key, 0), len(images))[: n_steps * batch_size]
        keys = jax.random.split(jax.random.fold_in(key, 1), n_steps)
        (parameters, moments, _), values = jax.lax.scan(
            step, (parameters, moments, rate), (keys, order.reshape(n_steps, batch_size))
        )
        return parameters, moments, jnp.nanmean(values), jnp.sum(jnp.isnan(values))

    watched = _made_binary(jax.random.fold_in(key, 0), jnp.asarray(held_out))
    watched_noise = draw_noise(jax.random.fold_in(key, 1), len(held_out))
    watch = jax.jit(objective)
    moments = adam.init(parameters)
    curve: list[tuple[float, float]] = []
    n_not_finite, begin = 0, time.monotonic()
    rates = [stage.learning_rate for stage in stages for _ in range(stage.n_epochs)]
    for number, rate in enumerate(rates):
        parameters, moments, value, n_bad = epoch(
            parameters, moments, jnp.asarray(rate, jnp.float32), jax.random.fold_in(key, number + 2)
        )
        n_not_finite += int(n_bad)
        curve.append((float(value), float(watch(parameters, watched, watched_noise))))
        if report is not None:
            report(number + 1, time.monotonic() - begin)
    values = np.array(curve)
    return parameters, TrainingCurve(values[:, 0], values[:, 1], n_not_finite)


def _made_binary(key: Array, grey: Array) -> Array:
    levels = grey.astype(jnp.float32) / 255.0
    return (jax.random.uniform(key, levels.shape, jnp.float32) < levels).astype(jnp.float32)
