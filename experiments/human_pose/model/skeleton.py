"""The skeleton of the human pose study: nodes, bones, free rotations and output joints. NumPy only.

At rest all rotations are zero, and arms point sideways; x is to the body's left, y up, z forward.
"""

from typing import NamedTuple

import numpy as np

_TRUNK_AND_ARM = "waist mid-spine spine head half-shoulder upper-arm lower-arm hand"
# Independent bone lengths; left and right share theirs, and the last moves no output joint.
BONE_NAMES = tuple(f"{_TRUNK_AND_ARM} half-hip upper-leg lower-leg back-foot fore-foot".split())
N_BONES = len(BONE_NAMES)


class Node(NamedTuple):
    """A node of the tree."""

    name: str  # what it is called
    parent: int  # index of the node that it hangs on; -1 for the root
    direction: tuple[float, float, float]  # unit vector from the parent in the parent's frame
    bone: str  # name of the bone whose length it is away; empty for the root
    order: str  # axes of its rotations, the first outermost; empty for a node that turns nothing
    free: str  # axes of them that are free, in the order of the angle vector; the others are zero
    joint: str  # name of the output joint at its place; empty for none


_UP, _DOWN = (0.0, 1.0, 0.0), (0.0, -1.0, 0.0)
# The foot slopes downwards by a quarter of its length.
_FOOT_OFFSET = np.array([0.0, -1.33694, 4.98954])
_FOOT = tuple(float(value) for value in _FOOT_OFFSET / np.linalg.norm(_FOOT_OFFSET))


def _arm(side: str, sign: float, first: int) -> list[Node]:
    outward = (sign, 0.0, 0.0)
    return [
        Node(f"{side} shoulder", 1, _UP, "mid-spine", "xyz", "xyz", ""),
        Node(f"{side} arm", first, outward, "half-shoulder", "xyz", "xyz", f"{side}_shoulder"),
        Node(f"{side} forearm", first + 1, outward, "upper-arm", "yzx", "yx", f"{side}_elbow"),
        Node(f"{side} hand", first + 2, outward, "lower-arm", "xyz", "xyz", f"{side}_wrist"),
        Node(f"{side} hand end", first + 3, outward, "hand", "", "", f"{side}_fingertips"),
    ]


def _leg(side: str, sign: float, first: int) -> list[Node]:
    return [
        Node(f"{side} up-leg", 0, (sign, 0.0, 0.0), "half-hip", "xyz", "xyz", f"{side}_hip"),
        Node(f"{side} leg", first, _DOWN, "upper-leg", "xyz", "x", f"{side}_knee"),
        Node(f"{side} foot", first + 1, _DOWN, "lower-leg", "xyz", "xyz", f"{side}_ankle"),
        Node(f"{side} toe base", first + 2, _FOOT, "back-foot", "xyz", "x", f"{side}_toes"),  # type: ignore[arg-type]
    ]


# Depth-first, of Graham and Storkey 2017, section 10.3, but for thumbs and toe ends, which move no output joint.
NODES: tuple[Node, ...] = (
    Node("hips", -1, (0.0, 0.0, 0.0), "", "xyz", "xyz", ""),
    Node("spine", 0, _UP, "waist", "xyz", "xyz", "lower_spine"),
    Node("head", 1, _UP, "spine", "xyz", "xyz", "neck"),
    Node("head end", 2, _UP, "head", "", "", "head_top"),
    *_arm("left", 1.0, 4),
    *_arm("right", -1.0, 9),
    *_leg("left", 1.0, 14),
    *_leg("right", -1.0, 18),
)

# The 19 output joints, in the order of all arrays of joints.
JOINT_NAMES = tuple(node.joint for node in NODES if node.joint)
N_JOINTS = len(JOINT_NAMES)
N_ANGLES = sum(len(node.free) for node in NODES)
# Index of each node's bone length; -1 for the root.
BONES = tuple(BONE_NAMES.index(node.bone) if node.bone else -1 for node in NODES)

DRAWN_BONES = (  # Pairs of output joints between which a line is drawn.
    *((0, 1), (1, 2)),
    *((1, 3), (3, 4), (4, 5), (5, 6)),
    *((1, 7), (7, 8), (8, 9), (9, 10)),
    *((0, 11), (11, 12), (12, 13), (13, 14)),
    *((0, 15), (15, 16), (16, 17), (17, 18)),
)


def channel_index(node: str, axis: str) -> int:
    """Place of a free rotation in the vector of joint angles; raises KeyError if there is none."""
    channels = [(one.name, free) for one in NODES for free in one.free]
    if (node, axis) not in channels:
        raise KeyError(f"no free rotation about {axis} at node {node!r}")
    return channels.index((node, axis))
