"""Drawing skeletons: who is in front, what is paler, and what is rejected."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Circle, Ellipse

from auxmc.plots.style import use_style
from experiments.human_pose import skeletons

DRAWING = skeletons.Drawing(
    bones=((0, 1), (1, 2), (0, 3), (0, 4)), sides=("trunk", "trunk", "left", "right"), head=(1, 2)
)
ACROSS, UP = np.array([0.0, 0.0, 0.0, -0.4, 0.4]), np.array([0.0, 0.5, 0.7, -0.8, -0.8])


def drawn(near, **options):
    with use_style():
        axis = plt.figure().subplots()
        skeletons.draw_skeleton(axis, ACROSS, UP, near, DRAWING, **options)
        plt.close(axis.figure)
    return axis


def test_near_limbs_are_in_front_of_far_ones_and_darker():
    axis = drawn(np.array([0.0, 0.0, 0.0, 1.0, -1.0]))
    # Each limb is a white rim and the line over it.
    lines = [line for line in axis.lines if line.get_color() != "white"]
    by_end = {float(line.get_xdata()[1]): line for line in lines}
    left, right = by_end[-0.4], by_end[0.4]
    assert left.get_zorder() > right.get_zorder()
    faded = [
        np.sum(np.subtract(line.get_color(), to_rgb(skeletons.SIDE_COLOURS[s])))
        for line, s in ((left, "left"), (right, "right"))
    ]
    assert 0.0 <= faded[0] < faded[1]


def test_the_head_is_a_disc_and_the_ground_lies_below():
    axis = drawn(np.zeros(5), ground=-0.85)
    heads = [patch for patch in axis.patches if isinstance(patch, Circle)]
    grounds = [
        patch for patch in axis.patches if isinstance(patch, Ellipse) and not isinstance(patch, Circle)
    ]
    assert len(heads) == len(grounds) == 1
    assert 0.5 < heads[0].center[1] < 0.7
    assert grounds[0].get_zorder() < min(line.get_zorder() for line in axis.lines)
    assert axis.get_aspect() == 1.0
    assert not [patch for patch in drawn(np.zeros(5)).patches if not isinstance(patch, Circle)]


def test_one_colour_serves_all_sides():
    axis = drawn(np.zeros(5), colour="#000000")
    assert {line.get_color() for line in axis.lines} == {"white", (0.0, 0.0, 0.0)}


def test_coordinates_of_different_length_are_rejected():
    with pytest.raises(ValueError, match=r"must be \[joint\], got shapes \(5,\), \(5,\) and \(4,\)"):
        drawn(np.zeros(4))


def test_points_box_and_clean_axis():
    with use_style():
        axis = plt.figure().subplots()
        skeletons.draw_points(axis, ACROSS, UP)
        skeletons.clean_axis(axis)
        plt.close(axis.figure)
    assert len(axis.get_xticks()) == 0
    assert skeletons.common_box(ACROSS, UP, 0.1) == ((-0.5, 0.5), pytest.approx((-0.9, 0.8)))
