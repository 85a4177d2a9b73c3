"""The human pose model in its natural variables, another set of coordinates of the generator's distribution.

The state is (13 log lengths, code, 47 cosine parts, 47 sine parts, camera sideways, up, log depth).
"""

import jax.numpy as jnp
from jax import Array
from jax.scipy.linalg import solve_triangular

from experiments.human_pose.model.cameras import camera_inputs, camera_place, project_joints
from experiments.human_pose.model.generator import PoseModel, log_prior, split_inputs
from experiments.human_pose.model.kinematics import joint_positions
from experiments.human_pose.model.prior import angle_pairs, pair_distribution


def state_of_inputs(model: PoseModel, inputs: Array) -> Array:
    """State [input] that the generator makes of inputs [input]."""
    parts = split_inputs(model, inputs)
    mean, factor = jnp.asarray(model.prior.log_length_mean), jnp.asarray(model.prior.log_length_factor)
    log_lengths = mean + parts.bones @ factor
    pairs = angle_pairs(model.prior, parts.code, parts.cos_noise, parts.sin_noise)
    place = camera_place(parts.camera)
    return jnp.concatenate([log_lengths, parts.code, *pairs, place[:2], jnp.log(place[2:])])


def inputs_of_state(model: PoseModel, state: Array) -> Array:
    """Inputs [input] from which the generator makes a given state [input]."""
    log_lengths, code, cos_part, sin_part, camera = split_inputs(model, state)
    distribution = pair_distribution(model.prior, code)
    mean, factor = jnp.asarray(model.prior.log_length_mean), jnp.asarray(model.prior.log_length_factor)
    bones = solve_triangular(factor, log_lengths - mean, trans=1)  # R^T u = log lengths - mean.
    cos_noise = (cos_part - distribution.cos_mean) / distribution.cos_sd
    sin_noise = (sin_part - distribution.sin_mean) / distribution.sin_sd
    place = jnp.concatenate([camera[:2], jnp.exp(camera[2:])])
    return jnp.concatenate([bones, code, cos_noise, sin_noise, camera_inputs(place)])


def state_positions(model: PoseModel, state: Array) -> Array:
    """Joint positions in metres [joint, 3] of a state [input]."""
    log_lengths, _, cos_part, sin_part, _ = split_inputs(model, state)
    return joint_positions(jnp.arctan2(sin_part, cos_part), jnp.exp(log_lengths))


def hierarchical_log_prior(model: PoseModel, state: Array) -> Array:
    """Log prior density of the state [input], up to a constant, in nats."""
    distribution = pair_distribution(model.prior, split_inputs(model, state).code)
    # The densities of the pairs have scales that depend on the code.
    log_scales = jnp.sum(jnp.log(distribution.cos_sd)) + jnp.sum(jnp.log(distribution.sin_sd))
    return log_prior(inputs_of_state(model, state)) - log_scales


def hierarchical_log_density(
    model: PoseModel, state: Array, observed: Array, noise_scale: Array | float
) -> Array:
    """Log density of the state [input] given images [constraint], up to a constant, in nats.

    The images have normal noise. The density is that of the published notebook, with the full covariance of
    bone lengths; minus infinity where the generator overflows.
    """
    camera = split_inputs(model, state).camera
    place = jnp.concatenate([camera[:2], jnp.exp(camera[2:])])
    misfit = (observed - project_joints(state_positions(model, state), place, model.views)) / noise_scale
    value = hierarchical_log_prior(model, state) - 0.5 * jnp.sum(jnp.square(misfit))
    return jnp.where(jnp.isfinite(value), value, -jnp.inf)
