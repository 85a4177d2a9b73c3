"""Motion clips of the PyPI package pybullet as joint angles of our skeleton.

The clips are JSON files `humanoid3d_*.txt` in the format of DeepMimic. Each frame has 44 numbers: duration,
position of the root (3), then quaternions (w, x, y, z) of root, chest, neck, right hip, one angle of the right
knee, quaternions of right ankle and right shoulder, one angle of the right elbow, and the same for the left side.
In the frame of the clips x points forward, y up and z to the right of the body, and arms hang down at rest.

How clip joints feed our nodes:

* root, its heading removed: hips, channels x, y, z;
* chest: spine, x, y, z; neck: head, x, y, z;
* shoulders, turned from hanging to sideways arms: arms, x, y, z; elbows: forearms, y;
* hips: up-legs, x, y, z; knees: legs, x; ankles: feet, x, y, z.

Shoulders (collar bones), twists of forearms (x), hands and toe bases have no counterpart: their angles are zero
here, and `SPREADS` says how much a prior should let them vary. Heading, the turn about the vertical, is removed
too because a clip has an arbitrary one.
"""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from auxmc.errors import DataError
from auxmc.numerics.array_types import FloatArray, IntegerArray
from experiments.human_pose.model.skeleton import N_ANGLES, NODES, channel_index

__all__ = [
    "HEADING_SPREAD",
    "N_NUMBERS",
    "SPREADS",
    "Clips",
    "convert_frames",
    "euler_xyz",
    "mirrored",
    "read_clips",
    "rotation_xyz",
    "with_heading",
]


N_NUMBERS = 44
"""Numbers in a frame."""

HEADING_SPREAD = 0.5
"""Standard deviation of the heading that a prior should have, in radians: bodies roughly face the cameras."""

_ARM_TWIST, _COLLAR, _HAND, _TOES = 0.2, 0.08, 0.15, 0.1
SPREADS: dict[int, float] = {
    channel_index(f"{side} {node}", axis): spread
    for side in ("left", "right")
    for node, axes, spread in (
        ("shoulder", "xyz", _COLLAR),
        ("forearm", "x", _ARM_TWIST),
        ("hand", "xyz", _HAND),
        ("toe base", "x", _TOES),
    )
    for axis in axes
}
"""Standard deviations, in radians, of the angles without a counterpart in the clips, by their index."""

# Clip axes (forward, up, right) in ours (left, up, forward).
_AXES = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
# Where the numbers of a frame begin; quaternions have four, hinges one.
_QUATERNIONS = {
    "hips": 4,
    "spine": 8,
    "head": 12,
    "right up-leg": 16,
    "right foot": 21,
    "right arm": 25,
    "left up-leg": 30,
    "left foot": 35,
    "left arm": 39,
}
_KNEES = {"right leg": 20, "left leg": 34}
_ELBOWS = {"right forearm": 29, "left forearm": 43}
_CHANNELS = [(node.name, axis) for node in NODES for axis in node.free]
# What turns an arm at rest to the side into one that hangs down, about our z axis.
_HANGING = {"left arm": -0.5 * np.pi, "right arm": 0.5 * np.pi}


class Clips(NamedTuple):
    """Frames of all clips, one after the other.

    Attributes:
        angles: joint angles in radians, heading removed [frame, 47].
        clip: index of each frame's clip [frame].
        names: of the clips.
    """

    angles: FloatArray
    clip: IntegerArray
    names: tuple[str, ...]


def read_clips(folder: str | os.PathLike[str]) -> Clips:
    """Reads all clips of a folder.

    Args:
        folder: with files `humanoid3d_*.txt`.

    Raises:
        DataError: the folder has no clips, or one of them is not in the format.
    """
    paths = sorted(Path(folder).glob("humanoid3d_*.txt"))
    if not paths:
        raise DataError(
            f"{folder}: no files humanoid3d_*.txt; give the folder data/motions of the package pybullet_data"
        )
    angles = [convert_frames(_frames(path)) for path in paths]
    clip = np.repeat(np.arange(len(paths)), [len(frames) for frames in angles])
    names = tuple(path.stem.removeprefix("humanoid3d_") for path in paths)
    return Clips(np.concatenate(angles), clip, names)


def convert_frames(frames: FloatArray) -> FloatArray:
    """Joint angles [frame, 47], in radians and without heading, of clip frames [frame, 44]."""
    angles = np.zeros((len(frames), N_ANGLES))
    for node, first in _QUATERNIONS.items():
        quaternions = frames[:, first : first + 4]
        if node == "hips":
            quaternions = _without_heading(quaternions)
        rotation = _AXES @ Rotation.from_quat(quaternions, scalar_first=True).as_matrix() @ _AXES.T
        if node in _HANGING:
            rotation = rotation @ rotation_xyz(np.array([0.0, 0.0, _HANGING[node]]))
        place = channel_index(node, "x")
        angles[:, place : place + 3] = euler_xyz(rotation)
    for node, first in _KNEES.items():
        # Clip hinges turn about the axis to the right, ours about the axis to the left.
        angles[:, channel_index(node, "x")] = -frames[:, first]
    for node, first in _ELBOWS.items():
        # Seen from an arm at rest to the side, a bend forward is a turn about the vertical.
        sign = 1.0 if node.startswith("right") else -1.0
        angles[:, channel_index(node, "y")] = sign * frames[:, first]
    return _wrapped(angles)


def mirrored(angles: FloatArray) -> FloatArray:
    """The same poses with left and right exchanged [frame, 47]."""
    swapped = np.empty_like(angles)
    for index, (node, axis) in enumerate(_CHANNELS):
        side, _, rest = node.partition(" ")
        other = {"left": "right", "right": "left"}.get(side)
        source = channel_index(f"{other} {rest}", axis) if other else index
        # Under reflection in the plane of y and z, turns about x stay and the others change sign.
        swapped[:, index] = angles[:, source] if axis == "x" else -angles[:, source]
    return swapped


def with_heading(angles: FloatArray, heading: FloatArray) -> FloatArray:
    """The same poses turned about the vertical by `heading` [frame], in radians; angles are [frame, 47]."""
    turned = angles.copy()
    turn = rotation_xyz(np.stack([np.zeros_like(heading), heading, np.zeros_like(heading)], axis=-1))
    turned[:, :3] = euler_xyz(turn @ rotation_xyz(angles[:, :3]))
    return turned


def rotation_xyz(angles: FloatArray) -> FloatArray:
    """Rotation matrices R_x R_y R_z [..., 3, 3] of angles about x, y and z [..., 3]."""
    return np.asarray(Rotation.from_euler("XYZ", angles).as_matrix(), float)


def euler_xyz(rotation: FloatArray) -> FloatArray:
    """Angles [..., 3] with R_x R_y R_z = rotation [..., 3, 3], that about y within a right angle."""
    y = np.arcsin(np.clip(rotation[..., 0, 2], -1.0, 1.0))
    x = np.arctan2(-rotation[..., 1, 2], rotation[..., 2, 2])
    z = np.arctan2(-rotation[..., 0, 1], rotation[..., 0, 0])
    return np.stack([x, y, z], axis=-1)


def _frames(path: Path) -> FloatArray:
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        frames = np.asarray(content["Frames"], dtype=np.float64)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path}: not a motion clip, which is a JSON object with equally long lists under 'Frames' ({error})"
        ) from error
    if frames.ndim != 2 or frames.shape[1] != N_NUMBERS:
        raise DataError(f"{path}: frames of a humanoid have {N_NUMBERS} numbers, got shape {frames.shape}")
    if not np.isfinite(frames).all():
        raise DataError(
            f"{path}: frame {int(np.argmin(np.isfinite(frames).all(axis=1)))} has a number that is not finite"
        )
    return frames


def _without_heading(quaternions: FloatArray) -> FloatArray:
    """Removes the twist about the vertical (clip y) of quaternions [frame, 4]."""
    w, x, y, z = quaternions.T
    size = np.maximum(np.hypot(w, y), 1e-12)
    cos, sin = w / size, y / size
    # The conjugate of the twist (cos, 0, sin, 0), times the quaternion.
    return np.stack(
        [cos * w + sin * y, cos * x - sin * z, cos * y - sin * w, cos * z + sin * x],
        axis=-1,
    )


def _wrapped(angles: FloatArray) -> FloatArray:
    return np.remainder(angles + np.pi, 2.0 * np.pi) - np.pi
