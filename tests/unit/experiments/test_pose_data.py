"""Data of the human pose study: skeleton, motion clips, body proportions, priors, image coordinates of the user."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from motion_clips import (
    N_NUMBERS,
    SPREADS,
    convert_frames,
    euler_xyz,
    mirrored,
    read_clips,
    rotation_xyz,
    with_heading,
)
from scipy.spatial.transform import Rotation

import experiments.human_pose.model.pose_priors as pose_priors
from auxmc.errors import DataError
from experiments.human_pose.model import skeleton
from experiments.human_pose.model.body_proportions import FRACTIONS, log_length_distribution
from experiments.human_pose.model.joint_observations import read_joint_observations
from experiments.human_pose.model.pose_priors import read_pose_prior

DATA = Path(pose_priors.__file__).parent
EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "joints.csv"


def test_skeleton_has_the_published_numbers():
    assert (skeleton.N_JOINTS, skeleton.N_ANGLES, skeleton.N_BONES) == (19, 47, 13)
    assert len(set(skeleton.JOINT_NAMES)) == 19
    assert len(skeleton.DRAWN_BONES) == 18
    assert sum(len(node.free) == 3 for node in skeleton.NODES) == 13
    assert skeleton.channel_index("right toe base", "x") == 46
    with pytest.raises(KeyError, match="about z at node 'left leg'"):
        skeleton.channel_index("left leg", "z")


def test_left_and_right_mirror_each_other():
    left = [node for node in skeleton.NODES if node.name.startswith("left")]
    right = [node for node in skeleton.NODES if node.name.startswith("right")]
    for one, other in zip(left, right, strict=True):
        assert (one.bone, one.order, one.free) == (other.bone, other.order, other.free)
        assert np.allclose(np.array(one.direction) * [-1, 1, 1], other.direction)


def test_bone_distribution_grows_with_stature():
    mean, factor = log_length_distribution()
    covariance = factor.T @ factor
    assert np.allclose(np.tril(factor, -1), 0.0)
    correlation = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert correlation == pytest.approx(0.055**2 / (0.055**2 + 0.04**2))
    assert set(FRACTIONS) == set(skeleton.BONE_NAMES)
    # From the ground to the top of the head: legs, and from the hips over the spine.
    height = sum(
        np.exp(mean)[skeleton.BONE_NAMES.index(name)]
        for name in ("upper-leg", "lower-leg", "waist", "spine", "head")
    )
    assert 1.55 < height < 1.70


def resting_frame():
    frame = np.zeros((1, N_NUMBERS))
    frame[0, [4, 8, 12, 16, 21, 25, 30, 35, 39]] = 1.0
    return frame


def test_a_body_at_rest_hangs_its_arms_and_has_no_other_angle():
    angles = convert_frames(resting_frame())[0]
    expected = np.zeros(skeleton.N_ANGLES)
    expected[skeleton.channel_index("left arm", "z")] = -np.pi / 2
    expected[skeleton.channel_index("right arm", "z")] = np.pi / 2
    assert np.allclose(angles, expected)


def test_hinges_bend_the_right_way():
    frame = resting_frame()
    frame[0, [20, 34]] = -0.7  # knees of clips bend by negative angles
    frame[0, [29, 43]] = 0.5
    angles = convert_frames(frame)[0]
    assert angles[skeleton.channel_index("left leg", "x")] == pytest.approx(0.7)
    assert angles[skeleton.channel_index("right forearm", "y")] == pytest.approx(0.5)
    assert angles[skeleton.channel_index("left forearm", "y")] == pytest.approx(-0.5)


def test_heading_of_a_clip_does_not_matter():
    rng = np.random.default_rng(1)
    turn, tilt = Rotation.from_rotvec([0.0, 1.9, 0.0]), Rotation.from_rotvec(0.3 * rng.normal(size=3))
    frames = np.repeat(resting_frame(), 2, axis=0)
    frames[0, 4:8], frames[1, 4:8] = (r.as_quat(scalar_first=True) for r in (tilt, turn * tilt))
    angles = convert_frames(frames)
    assert np.allclose(angles[0], angles[1])


def test_euler_angles_give_their_rotation_back():
    angles = np.random.default_rng(2).uniform(-np.pi, np.pi, size=(50, 3))
    rotation = rotation_xyz(angles)
    assert np.allclose(rotation, Rotation.from_euler("XYZ", angles).as_matrix())
    assert np.allclose(rotation_xyz(euler_xyz(rotation)), rotation)


def test_mirroring_twice_changes_nothing_and_heading_turns_the_hips_alone():
    angles = np.random.default_rng(3).uniform(-1.0, 1.0, size=(4, skeleton.N_ANGLES))
    assert np.allclose(mirrored(mirrored(angles)), angles)
    turned = with_heading(angles, np.full(4, 0.4))
    assert np.allclose(turned[:, 3:], angles[:, 3:])
    up = np.array([0.0, 1.0, 0.0])
    before, after = rotation_xyz(angles[:, :3]) @ up, rotation_xyz(turned[:, :3]) @ up
    assert np.allclose(before[:, 1], after[:, 1])


def test_clips_are_read_and_wrong_ones_named(tmp_path):
    with pytest.raises(DataError, match="no files humanoid3d_"):
        read_clips(tmp_path)
    path = tmp_path / "humanoid3d_rest.txt"
    path.write_text(json.dumps({"Frames": np.repeat(resting_frame(), 3, axis=0).tolist()}))
    clips = read_clips(tmp_path)
    assert clips.angles.shape == (3, skeleton.N_ANGLES)
    assert clips.names == ("rest",)
    path.write_text(json.dumps({"Frames": [[0.0] * 43]}))
    with pytest.raises(DataError, match=r"frames of a humanoid have 44 numbers, got shape \(1, 43\)"):
        read_clips(tmp_path)
    path.write_text("no JSON")
    with pytest.raises(DataError, match="not a motion clip"):
        read_clips(tmp_path)


def test_shipped_files_are_those_that_their_note_describes():
    note = (DATA / "pose_prior.md").read_text()
    listed = re.findall(r"^([0-9a-f]{64})  (\S+)$", note, re.M)
    assert len(listed) == 2
    for sha256, name in listed:
        assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == sha256
        assert (DATA / name).stat().st_size < 1_000_000
    with np.load(DATA / "pose_angles.npz") as content:
        angles, clip = content["angles"], content["clip"]
        assert angles.dtype == np.float32
        assert angles.shape == (1620, skeleton.N_ANGLES)
        assert clip.max() + 1 == len(content["names"]) == 15
        assert np.isfinite(angles).all()
        assert (angles[:, list(SPREADS)] == 0.0).all()


def test_own_prior_has_the_published_shapes():
    prior = read_pose_prior("own")
    assert [w.shape for w in prior.weights] == [(30, 50), *[(50, 50)] * 5, (50, 188)]
    assert all(w.dtype == np.float64 for w in (*prior.weights, *prior.biases))
    assert prior.n_code == 30


def test_published_prior_is_looked_for_in_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("AUXMC_DATA_DIR", str(tmp_path))
    with pytest.raises(DataError, match=r"cannot be read .*, or use prior=own"):
        read_pose_prior("published")
    folder = tmp_path / "implicit_models" / "pose"
    folder.mkdir(parents=True)
    (folder / "joint_angle_vae_params.npz").write_bytes(b"other")
    with pytest.raises(DataError, match=r"has sha256 \w{64}, the published file has 9a8bc54e"):
        read_pose_prior("published")


def test_published_prior_without_a_network_says_what_to_do(monkeypatch):
    monkeypatch.delenv("AUXMC_DATA_DIR", raising=False)

    def reject(*args, **options):
        raise ConnectionError("no route to host")

    monkeypatch.setattr("pooch.retrieve", reject)
    with pytest.raises(DataError, match=r"https://raw.* could not be fetched .no route to host.*.*prior=own"):
        read_pose_prior("published")


def test_an_unknown_prior_is_rejected():
    with pytest.raises(ValueError, match="prior must be one of own, published, got 'mine'"):
        read_pose_prior("mine")


def table(n_views=2):
    rows = [
        f"{joint},{view},{0.1 * index + view},{index}"
        for view in range(1, n_views + 1)
        for index, joint in enumerate(skeleton.JOINT_NAMES)
    ]
    return ["joint,view,x,y", *rows]


def written(tmp_path, rows):
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_coordinates_are_all_x_then_all_y_of_each_view(tmp_path):
    rows = table()
    found = read_joint_observations(written(tmp_path, [rows[0], *rows[:0:-1]]), "binocular")
    assert found.shape == (76,)
    assert np.allclose(found[:19], 0.1 * np.arange(19) + 1)
    assert np.allclose(found[19:38], np.arange(19))
    assert np.allclose(found[38:57], 0.1 * np.arange(19) + 2)
    assert read_joint_observations(written(tmp_path, table(1)), "monocular").shape == (38,)


def test_columns_may_come_in_any_order_beside_others(tmp_path):
    rows = [row.split(",") for row in table()]
    moved = [",".join([y, "note", joint, x, view]) for joint, view, x, y in rows]
    assert np.allclose(
        read_joint_observations(written(tmp_path, moved), "binocular"),
        read_joint_observations(written(tmp_path, table()), "binocular"),
    )


def test_the_example_file_can_be_used():
    assert np.isfinite(read_joint_observations(EXAMPLE, "binocular")).all()


def changed(row, text):
    return lambda rows: [*rows[:row], text, *rows[row + 1 :]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda rows: rows[:-1],
            r"joint 'right_toes' is missing in view 2 \(1 missing in all\); every joint",
        ),
        (lambda rows: [*rows[:3], *rows[5:]], r"'head_top' is missing in view 1 \(2 missing in all\)"),
        (changed(5, "left_elbow,1,nan,4"), r"row 5 \(line 6\), column 'x': missing value \(nan\)"),
        (changed(5, "left_elbow,1,4,"), r"row 5 \(line 6\), column 'y': missing value \(empty cell\)"),
        (changed(5, "left_elbow,1,4,left"), r"row 5 .*, column 'y': 'left' is not a number"),
        (changed(5, "left_elbow,1,4,inf"), r"row 5 .*, column 'y': 'inf' is not a finite number"),
        (changed(5, "elbow,1,4,4"), r"row 5 \(line 6\): unknown joint 'elbow'; allowed: lower_spine, neck"),
        (changed(5, "left_elbow,3,4,4"), r"row 5 \(line 6\): view: expected 1 or 2, got 3"),
        (changed(5, "neck,1,4,4"), r"row 5 \(line 6\): joint 'neck' in view 1 appears twice"),
        (changed(5, "left_elbow,1,4"), r"row 5 \(line 6\): expected 4 cells as in the first line, got 3"),
        (lambda rows: rows[:20], r"views=binocular: expected view 1 and 2, got 1; change views"),
        (lambda rows: [rows[0]], "the file has no rows below its names"),
        (changed(0, "joint,camera,x,y"), r"there is no column 'view', only joint, camera, x, y"),
        (lambda rows: [""], "the file is empty"),
    ],
)
def test_wrong_files_are_named_precisely(tmp_path, change, message):
    with pytest.raises(DataError, match=r"mine\.csv: .*" + message):
        read_joint_observations(written(tmp_path, change(table())), "binocular")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.csv: no such file"):
        read_joint_observations(tmp_path / "nowhere.csv", "binocular")
