"""Generative model of joint positions in images: bone lengths, joint angles and camera from normal inputs.

The inputs u are in the order of `SLICES`; the noise of the images follows them where the model is conditioned exactly.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.models.conditioned import ConditionedModel, condition_noisy_generator
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.jacobians import Jacobian, noisy_jacobian
from experiments.human_pose.model import cameras
from experiments.human_pose.model.kinematics import joint_positions, pose_derivatives
from experiments.human_pose.model.pose_priors import PosePrior
from experiments.human_pose.model.prior import angle_derivatives, bone_lengths, joint_angles
from experiments.human_pose.model.skeleton import N_ANGLES, N_BONES, N_JOINTS

N_SCENES = 3
SCENE_SEED = 1234
_N_NOISE_BINOCULAR = 76


class PoseModel(NamedTuple):
    """The generator."""

    prior: PosePrior  # of bone lengths and joint angles
    views: str  # `binocular` or `monocular`

    @property
    def n_inputs(self) -> int:
        """Number of inputs, noise of the images not counted."""
        return N_BONES + self.prior.n_code + 2 * N_ANGLES + cameras.N_CAMERA


class Inputs(NamedTuple):
    """Inputs by what they are for: bones [13], code [30], noise of cosine and of sine parts [47], camera [3]."""

    bones: Array
    code: Array
    cos_noise: Array
    sin_noise: Array
    camera: Array


class Scene(NamedTuple):
    """A pose that images were made of."""

    inputs: FloatArray  # [input]
    positions: FloatArray  # true joint positions in metres [joint, 3]
    observed: FloatArray  # image coordinates, noise included [constraint]


def n_observed(views: str) -> int:
    """Number of observed coordinates."""
    return 2 * N_JOINTS * len(cameras.CAMERA_OFFSETS[views])


def split_inputs(model: PoseModel, inputs: Array) -> Inputs:
    """Inputs [input] by what they are for."""
    ends = np.cumsum([N_BONES, model.prior.n_code, N_ANGLES, N_ANGLES, cameras.N_CAMERA])
    parts = [inputs[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    return Inputs(*parts)


def positions(model: PoseModel, inputs: Array) -> Array:
    """Joint positions in metres [joint, 3] of inputs [input]."""
    parts = split_inputs(model, inputs)
    angles = joint_angles(model.prior, parts.code, parts.cos_noise, parts.sin_noise)
    return joint_positions(angles, bone_lengths(model.prior, parts.bones))


def generate(model: PoseModel, inputs: Array) -> Array:
    """Noiseless image coordinates [constraint] (PhD thesis, Algorithm 12; Graham and Storkey 2017, section 10.3)."""
    place = cameras.camera_place(split_inputs(model, inputs).camera)
    return cameras.project_joints(positions(model, inputs), place, model.views)


def generator_jacobian(model: PoseModel, inputs: Array) -> Array:
    """Jacobian of `generate` [constraint, input] in closed form.

    One forward pass replaces one for each input: an angle depends on its own two noises and on the code.
    """
    parts = split_inputs(model, inputs)
    angle = angle_derivatives(model.prior, parts.code, parts.cos_noise, parts.sin_noise)
    lengths = bone_lengths(model.prior, parts.bones)
    pose = pose_derivatives(angle.angles, lengths)
    place = cameras.camera_place(parts.camera)
    by_position, by_camera = cameras.projection_derivatives(pose.positions, place, model.views)
    by_joints = jnp.concatenate([pose.by_length, pose.by_angle], axis=2)
    # Each image coordinate depends on its own joint alone.
    by_skeleton = jnp.einsum("vcji,jik->vcjk", by_position, by_joints)
    by_skeleton = by_skeleton.reshape(-1, N_BONES + N_ANGLES)
    by_length, by_angle = by_skeleton[:, :N_BONES], by_skeleton[:, N_BONES:]
    factor = jnp.asarray(model.prior.log_length_factor)
    return jnp.concatenate(
        [
            (by_length * lengths[None, :]) @ factor.T,
            by_angle @ angle.by_code,
            by_angle * angle.by_cos_noise[None, :],
            by_angle * angle.by_sin_noise[None, :],
            by_camera,
        ],
        axis=1,
    )


def log_prior(inputs: Array) -> Array:
    """Log density of standard normal inputs, up to a constant, in nats."""
    return -0.5 * jnp.sum(jnp.square(inputs))


def log_density(model: PoseModel, inputs: Array, observed: Array, noise_scale: Array | float) -> Array:
    """Log density in nats of inputs [input] given images [constraint], up to a constant (thesis, section 4.10.3)."""
    misfit = (observed - generate(model, inputs)) / noise_scale
    value = log_prior(inputs) - 0.5 * jnp.sum(jnp.square(misfit))
    return jnp.where(jnp.isfinite(value), value, -jnp.inf)


def conditioned_model(model: PoseModel, observed: Array, noise_scale: Array | float) -> ConditionedModel:
    """Inputs (u, n) with g(u) + eps n equal to noisy images [constraint].

    See PhD thesis, section 4.10.3. Without noise the Jacobian is singular: two views of 19 joints are 76
    numbers of 57 coordinates.
    """

    noisy = condition_noisy_generator(partial(generate, model), log_prior, observed, noise_scale)

    def jacobian(inputs: Array) -> Jacobian:
        return noisy_jacobian(generator_jacobian(model, inputs[: model.n_inputs]), noise_scale)

    return noisy._replace(jacobian=jacobian)


def simulated_scenes(model: PoseModel, noise_scale: float, seed: int = SCENE_SEED) -> list[Scene]:
    """The scenes, drawn as the published code does.

    The seed and so the scenes of the publications are unknown. A row of normal numbers holds inputs, then the
    noise of two views, of which the monocular model uses the first half.
    """
    normal = np.random.RandomState(seed).normal(size=(N_SCENES, model.n_inputs + _N_NOISE_BINOCULAR))
    inputs, noise = normal[:, : model.n_inputs], normal[:, model.n_inputs :][:, : n_observed(model.views)]
    make = jax.jit(jax.vmap(lambda one: (positions(model, one), generate(model, one))))
    places, images = map(np.asarray, make(jnp.asarray(inputs)))
    observed = images + noise_scale * noise
    return [Scene(*row) for row in zip(inputs, places, observed, strict=True)]
