"""Prior of bone lengths and joint angles as functions of standard normal inputs.

Angles are decoded as cosine and sine parts, so that an angle near the cut of the circle is no jump.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from experiments.human_pose.model.pose_priors import PosePrior
from experiments.human_pose.model.skeleton import N_ANGLES


class PairDistribution(NamedTuple):
    """Distribution of the cosine and sine parts given the code: independent normals."""

    cos_mean: Array  # means of the cosine parts [angle]
    sin_mean: Array  # means of the sine parts [angle]
    cos_sd: Array  # standard deviations of the cosine parts [angle]
    sin_sd: Array  # standard deviations of the sine parts [angle]


class AngleDerivatives(NamedTuple):
    """Joint angles and their derivatives by the inputs."""

    angles: Array  # in radians [angle]
    by_code: Array  # [angle, code]
    by_cos_noise: Array  # each angle by its own input [angle]
    by_sin_noise: Array  # each angle by its own input [angle]


def bone_lengths(prior: PosePrior, inputs: Array) -> Array:
    """Bone lengths in metres [13] of standard normal inputs [13].

    Graham and Storkey 2017, section 10.3, print the covariance in place of its Cholesky factor.
    """
    return jnp.exp(jnp.asarray(prior.log_length_mean) + inputs @ jnp.asarray(prior.log_length_factor))


def decode(weights: Sequence[Array], biases: Sequence[Array], code: Array) -> Array:
    """Means, then log variances, cosine before sine [..., 188], of a code [..., 30] (PhD thesis, Algorithm 12)."""
    hidden = jnp.tanh(code @ weights[0] + biases[0])
    for weight, bias in zip(weights[1:-1], biases[1:-1], strict=True):
        hidden = jnp.tanh(hidden @ weight + bias) + hidden
    return hidden @ weights[-1] + biases[-1]


def pair_distribution(prior: PosePrior, code: Array) -> PairDistribution:
    """Distribution of the cosine and sine parts given a code [30]."""
    weights = [jnp.asarray(weight) for weight in prior.weights]
    outputs = decode(weights, [jnp.asarray(bias) for bias in prior.biases], code)
    cos_mean, sin_mean, cos_log_variance, sin_log_variance = jnp.split(outputs, 4)
    cos_sd, sin_sd = jnp.exp(0.5 * cos_log_variance), jnp.exp(0.5 * sin_log_variance)
    return PairDistribution(cos_mean, sin_mean, cos_sd, sin_sd)


def angle_pairs(prior: PosePrior, code: Array, cos_noise: Array, sin_noise: Array) -> tuple[Array, Array]:
    """Cosine and sine parts [47] of standard normal inputs: a code [30] and noises [47]."""
    cos_mean, sin_mean, cos_sd, sin_sd = pair_distribution(prior, code)
    return cos_mean + cos_sd * cos_noise, sin_mean + sin_sd * sin_noise


def joint_angles(prior: PosePrior, code: Array, cos_noise: Array, sin_noise: Array) -> Array:
    """Joint angles in radians [47] of standard normal inputs: a code [30] and noises [47]."""
    cos_part, sin_part = angle_pairs(prior, code, cos_noise, sin_noise)
    return jnp.arctan2(sin_part, cos_part)


def angle_derivatives(prior: PosePrior, code: Array, cos_noise: Array, sin_noise: Array) -> AngleDerivatives:
    """Joint angles and their derivatives, in one forward pass through the network."""
    weights = [jnp.asarray(weight) for weight in prior.weights]
    biases = [jnp.asarray(bias) for bias in prior.biases]
    hidden = jnp.tanh(code @ weights[0] + biases[0])
    by_code = weights[0] * (1.0 - jnp.square(hidden))[None, :]
    for weight, bias in zip(weights[1:-1], biases[1:-1], strict=True):
        bent = jnp.tanh(hidden @ weight + bias)
        by_code = by_code + (by_code @ weight) * (1.0 - jnp.square(bent))[None, :]
        hidden = hidden + bent
    outputs = (hidden @ weights[-1] + biases[-1]).reshape(4, N_ANGLES)
    cos_sd, sin_sd = jnp.exp(0.5 * outputs[2]), jnp.exp(0.5 * outputs[3])
    cos_part, sin_part = outputs[0] + cos_sd * cos_noise, outputs[1] + sin_sd * sin_noise
    square = jnp.square(cos_part) + jnp.square(sin_part)
    by_cos, by_sin = -sin_part / square, cos_part / square
    # How each angle moves with the four outputs that belong to it.
    by_output = jnp.stack(
        [by_cos, by_sin, 0.5 * by_cos * cos_sd * cos_noise, 0.5 * by_sin * sin_sd * sin_noise]
    )
    last = jnp.sum(weights[-1].reshape(-1, 4, N_ANGLES) * by_output[None], axis=1)
    angles = jnp.arctan2(sin_part, cos_part)
    return AngleDerivatives(angles, (by_code @ last).T, by_cos * cos_sd, by_sin * sin_sd)
