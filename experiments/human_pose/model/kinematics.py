"""Forward kinematics of the skeleton and its derivatives in closed form.

A node's rotation, a product of elementary ones in the order of its channels, turns its descendants and not the node.
The derivative of a joint by an angle is the cross product of the rotation's axis with the way from node to joint; by a
length it is the sum of the directions of the bones with that length on the way.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.numerics.array_types import FloatArray
from experiments.human_pose.model.skeleton import BONES, N_ANGLES, N_BONES, NODES


class PoseDerivatives(NamedTuple):
    """Joint positions and their derivatives."""

    positions: Array  # of the joints, in metres [joint, 3]
    by_angle: Array  # in metres per radian [joint, 3, angle]
    by_length: Array  # [joint, 3, bone]


def joint_positions(angles: Array, lengths: Array) -> Array:
    """Positions [joint, 3] of the output joints in metres from the hips.

    The axes are x to the left of the body, y up, z forward. `angles` are in radians [47], nodes depth-first,
    `lengths` in metres [13] (Graham and Storkey 2017, section 10.3).

    >>> joint_positions(jnp.zeros(47), jnp.ones(13))[2].tolist()
    [0.0, 3.0, 0.0]
    """
    directions, _ = _directions(angles)
    return _ON_WAY_OF_JOINT @ (directions * _node_lengths(lengths))


def pose_derivatives(angles: Array, lengths: Array) -> PoseDerivatives:
    """Positions of the output joints and their derivatives by angles [47] and lengths [13]."""
    directions, axes = _directions(angles)
    steps = directions * _node_lengths(lengths)
    positions = _ON_WAY_OF_JOINT @ steps
    turning = (_ON_WAY_OF_NODE @ steps)[_NODE_OF_ANGLE]
    arms = positions[:, None, :] - turning[None, :, :]
    by_angle = jnp.cross(jnp.broadcast_to(axes[None, :, :], arms.shape), arms) * _MOVES[:, :, None]
    by_length = jnp.tensordot(_BONES_ON_WAY, directions, axes=((2,), (0,)))
    return PoseDerivatives(positions, jnp.swapaxes(by_angle, 1, 2), jnp.swapaxes(by_length, 1, 2))


def _node_lengths(lengths: Array) -> Array:
    # The root has no bone: its direction is zero, and any length will do.
    return lengths[_BONE_OF_NODE][:, None]


def _directions(angles: Array) -> tuple[Array, Array]:
    """Unit vectors from parents to nodes [node, 3] and axes of the free rotations [47, 3], in the frame of the root."""
    full = jnp.concatenate([angles, jnp.zeros(1)])[_ANGLE_OF_SLOT]
    cos, sin = jnp.cos(full)[:, :, None, None], jnp.sin(full)[:, :, None, None]
    first, second, third = jnp.moveaxis(cos * _COSINES + sin * _SINES + _CONSTANTS, 1, 0)
    two = first @ second
    # Products over the last 1, 2, 4 and 8 nodes on the way from the root; behind it stands one that turns nothing.
    turns = jnp.concatenate([two @ third, jnp.eye(3)[None]])
    for ancestors in _ANCESTORS:
        turns = turns[ancestors] @ turns
    parent_turns = turns[_ANCESTORS[0][:-1]]
    directions = jnp.sum(parent_turns * _REST_DIRECTIONS[:, None, :], axis=-1)
    own_axes = jnp.stack(
        [
            jnp.broadcast_to(_AXES[:, 0], first.shape[:2]),
            jnp.sum(first * _AXES[:, 1][:, None, :], axis=-1),
            jnp.sum(two * _AXES[:, 2][:, None, :], axis=-1),
        ],
        axis=1,
    )
    in_root = jnp.einsum("nij,nsj->nsi", parent_turns, own_axes)
    return directions, in_root.reshape(-1, 3)[_SLOT_OF_ANGLE]


def _elementary(axis: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Matrices C, S, K with rotation about an axis by t = cos(t) C + sin(t) S + K."""
    unit = np.eye(3)[axis]
    constant = np.outer(unit, unit)
    return np.eye(3) - constant, -np.cross(np.eye(3), unit).T, constant


def _ancestors(index: int) -> list[int]:
    return [] if index < 0 else [index, *_ancestors(NODES[index].parent)]


_N_NODES = len(NODES)
_ORDERS = [["xyz".index(axis) for axis in (node.order or "xyz")] for node in NODES]
_PARTS = [[_elementary(axis) for axis in order] for order in _ORDERS]
_COSINES, _SINES, _CONSTANTS = (
    np.array([[part[kind] for part in parts] for parts in _PARTS]) for kind in range(3)
)
_AXES = np.array([[np.eye(3)[axis] for axis in order] for order in _ORDERS])
_REST_DIRECTIONS = np.array([node.direction for node in NODES])
# Nodes of the angles, and places among their rotations, of which fixed ones read the zero behind the angles' end.
_NODE_OF_ANGLE, _PLACE = np.array(
    [(i, node.order.index(axis)) for i, node in enumerate(NODES) for axis in node.free]
).T
_SLOT_OF_ANGLE = 3 * _NODE_OF_ANGLE + _PLACE
_ANGLE_OF_SLOT = np.full((_N_NODES, 3), N_ANGLES)
_ANGLE_OF_SLOT[_NODE_OF_ANGLE, _PLACE] = np.arange(N_ANGLES)

# Ancestors 1, 2 and 4 steps up, in a tree of at most 8 levels; the last place is above the root.
_PARENTS = np.array([node.parent if node.parent >= 0 else _N_NODES for node in NODES] + [_N_NODES])
_ANCESTORS = (_PARENTS, _PARENTS[_PARENTS], _PARENTS[_PARENTS][_PARENTS[_PARENTS]])
_BONE_OF_NODE = np.maximum(np.array(BONES), 0)
_ON_WAY_OF_NODE = np.array([[float(j in _ancestors(i)) for j in range(_N_NODES)] for i in range(_N_NODES)])
_JOINT_NODES = np.array([i for i, node in enumerate(NODES) if node.joint])
_ON_WAY_OF_JOINT = _ON_WAY_OF_NODE[_JOINT_NODES]
_ONE_BONE = np.array([[float(BONES[i] == bone) for i in range(_N_NODES)] for bone in range(N_BONES)])
_BONES_ON_WAY = _ON_WAY_OF_JOINT[:, None, :] * _ONE_BONE[None]
# A rotation moves what lies strictly below its node.
_MOVES = (_ON_WAY_OF_JOINT * (1.0 - (_JOINT_NODES[:, None] == np.arange(_N_NODES))))[:, _NODE_OF_ANGLE]
