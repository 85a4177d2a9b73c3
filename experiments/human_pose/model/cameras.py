"""Pinhole cameras that look at a body from the front: image coordinates, and their derivatives.

They are in metres, in a plane at the focal length; x runs against the x of the body.
"""

import math

import jax.numpy as jnp
from jax import Array

FOCAL_LENGTH = math.exp(2.0)  # Focal length f
# Sideways offset of each camera, in metres, by kind of observation.
CAMERA_OFFSETS = {"binocular": (0.5, -0.5), "monocular": (0.0,)}
N_CAMERA = 3
_SIDEWAYS_SD, _LOG_DEPTH_MEAN, _LOG_DEPTH_SD = 0.1, 1.5, 0.5


def camera_place(inputs: Array) -> Array:
    """Translation of the cameras in metres [3] of standard normal inputs [3]: sideways, up, and depth (log-normal)."""
    depth = jnp.exp(_LOG_DEPTH_MEAN + _LOG_DEPTH_SD * inputs[2])
    return jnp.stack([_SIDEWAYS_SD * inputs[0], _SIDEWAYS_SD * inputs[1], depth])


def camera_inputs(place: Array) -> Array:
    """Inputs [3] from which `camera_place` makes a given translation [3]."""
    log_depth = (jnp.log(place[2]) - _LOG_DEPTH_MEAN) / _LOG_DEPTH_SD
    return jnp.stack([place[0] / _SIDEWAYS_SD, place[1] / _SIDEWAYS_SD, log_depth])


def project_joints(positions: Array, place: Array, views: str) -> Array:
    """Image coordinates [view * 2 * joint], for each view all x, then all y.

    Joints [joint, 3] and camera place [3] are in metres (Graham and Storkey 2017, section 10.3). The
    coordinates are not finite where a joint is in the plane of the cameras.
    """
    return _images(positions, place, views)[0].reshape(-1)


def projection_derivatives(positions: Array, place: Array, views: str) -> tuple[Array, Array]:
    """Derivatives of image coordinates by positions [joint, 3] and by the inputs of the camera place [3].

    The first is of each coordinate by its own joint [view, 2, joint, 3], the second [view * 2 * joint, 3].
    """
    images, depth = _images(positions, place, views)
    zero = jnp.zeros_like(images[:, 0])
    scale = jnp.broadcast_to(FOCAL_LENGTH / depth, zero.shape)
    x, y = images[:, 0], images[:, 1]
    by_position = jnp.stack(
        [jnp.stack([-scale, zero, x / depth], axis=-1), jnp.stack([zero, scale, y / depth], axis=-1)], axis=1
    )
    by_depth = _LOG_DEPTH_SD * place[2]
    by_camera = jnp.stack(
        [
            jnp.stack([_SIDEWAYS_SD * scale, zero, -by_depth * x / depth], axis=-1),
            jnp.stack([zero, _SIDEWAYS_SD * scale, -by_depth * y / depth], axis=-1),
        ],
        axis=1,
    )
    return by_position, by_camera.reshape(-1, N_CAMERA)


def _images(positions: Array, place: Array, views: str) -> tuple[Array, Array]:
    """Image coordinates [view, 2, joint] and depths of the joints [1, joint]."""
    offsets = jnp.asarray(CAMERA_OFFSETS[views])[:, None]
    depth = (place[2] - positions[:, 2])[None, :]
    x = FOCAL_LENGTH * (place[0] + offsets - positions[:, 0][None, :]) / depth
    y = jnp.broadcast_to(FOCAL_LENGTH * (place[1] + positions[:, 1])[None, :] / depth, x.shape)
    return jnp.stack([x, y], axis=1), depth
