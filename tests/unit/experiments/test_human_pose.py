"""The human pose study: model against plain matrices, measures of synthetic chains, drawings, tiny runs."""

import hashlib
import json
import re
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from motion_clips import N_NUMBERS, SPREADS, convert_frames, euler_xyz, read_clips, rotation_xyz
from scipy.spatial.transform import Rotation

from auxmc.errors import DataError
from auxmc.models.conditioned import noisy_input
from auxmc.plots.style import use_style
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.chains import RunContext
from auxmc_pipeline.settings import SettingsError
from auxmc_pipeline.tables import Tables
from experiments.human_pose import claims, measure, skeletons
from experiments.human_pose.model import cameras, generator, hierarchy, pose_priors, skeleton
from experiments.human_pose.model.body_proportions import FRACTIONS, log_length_distribution
from experiments.human_pose.model.joint_observations import read_joint_observations
from experiments.human_pose.model.kinematics import joint_positions, pose_derivatives
from experiments.human_pose.model.pose_priors import read_pose_prior
from experiments.human_pose.model.prior import bone_lengths, joint_angles
from experiments.human_pose.run import check_moves, run
from experiments.human_pose.settings import noise_scale, start_of, tuning

STUDY = load_study("human_pose")
EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "joints.csv"


def run_small(folder, *overrides):
    settings = STUDY.settings(["preset=smoke", "n_draws=10", "n_chains=2", *overrides])
    return run(settings, RunContext("human_pose", 5, folder, "identity", "tiny"))


@pytest.mark.slow
def test_own_images_give_poses_on_the_manifold_without_an_error(tmp_path):
    result = run_small(tmp_path, f"data={EXAMPLE}", "n_steps=[1,2]", "n_inner_steps=2", "n_chains=1")
    data = result["statistics"]
    assert "rmse" not in data
    assert "rms_depth" not in data
    assert float(data["largest_residual"].max()) < 1e-8
    assert (data["rank"] == 50).all()
    for name in ("not_converged", "not_converged_reverse", "irreversible", "not_finite", "singular"):
        assert data[f"n_{name}"].dims == ("chain",)
    assert result["posterior"]["positions"].dims[:2] == ("chain", "draw")
    assert "true_position" not in result["curves"]
    assert np.isfinite(result["curves"]["sample_image"]).all()
    # Noise explains everything at the start, and is spent from there on.
    misfit = result["sample_stats"]["misfit"].values[0]
    assert misfit[-1] < misfit[0]


@pytest.mark.slow
def test_hmc_runs_scenes_together(tmp_path):
    words = "method=hmc", "n_steps=[3,3]", "++batch.scene=[1,3]", "step_size=1e-5"
    data = run_small(tmp_path, *words)["statistics"]
    assert data["rmse"].dims == ("scene", "chain")
    assert data["scene"].values.tolist() == [1, 3]
    assert (data["n_chains_still"] == 0).all()
    assert (data["acceptance"] > 0.9).all()
    # Both scenes have the chains' starts, and errors of their own.
    assert len(np.unique(data["rmse"].values)) == 4


def test_a_case_in_which_nothing_moves_stops_with_advice():
    draws = synthetic(20)[0].assign_coords(step_size=[50.0])
    settings = STUDY.settings(["method=hmc", "step_size=50", "n_draws=20", "n_chains=3"])
    check_moves(draws, settings)
    draws["accepted"][:] = False
    draws["n_failures"][0, 0, 0] = 1
    message = r"no trajectory of 3 chains in 20 iterations was accepted at step_size=50 \(n_failures=20\).*smaller step"
    with pytest.raises(SettingsError, match=message):
        check_moves(draws, settings)


def test_error_of_the_running_mean():
    rng = np.random.default_rng(1)
    truth, samples = rng.normal(size=(19, 3)), rng.normal(size=(7, 19, 3))
    counts = np.array([1, 4, 7])
    found = measure.running_rmse(samples, truth, counts)
    for place, count in enumerate(counts):
        mean = samples[:count].mean(axis=0)
        assert found[place] == pytest.approx(np.sqrt(np.mean((mean - truth) ** 2)))
    four = measure.running_rmse(samples, truth, counts, homogeneous=True)
    assert np.allclose(four, np.sqrt(0.75) * found)


def synthetic(n_draws):
    """Three chains of HMC about one true pose; first positions; true poses."""
    rng = np.random.default_rng(n_draws + 1)
    dims = {"scene": [1], "step_size": [2e-4], "chain": [0, 1, 2]}
    shape, names = (1, 1, 3, n_draws), (*dims, "draw")
    truth = rng.normal(scale=0.4, size=(1, 19, 3))
    variables = {
        "positions": ((*names, "joint", "axis"), truth + 0.01 * rng.normal(size=(*shape, 19, 3))),
        "camera": ((*names, "axis"), np.ones((*shape, 3))),
        "misfit": (names, np.ones(shape)),
        "accepted": (names, np.ones(shape, dtype=bool)),
        "acceptance_probability": (names, np.ones(shape)),
        "n_failures": (names, np.zeros(shape, dtype=int)),
        "n_work": (names, np.full(shape, 100)),
    }
    coords = {"joint": list(skeleton.JOINT_NAMES), "axis": list(measure.AXES)}
    draws = xr.Dataset(variables, coords=dims | coords)
    first = xr.DataArray(rng.normal(size=(3, 19, 3)), {"chain": dims["chain"], **coords})
    return draws, first, xr.DataArray(truth, {"scene": [1], **coords})


def test_chains_that_never_moved_are_counted():
    draws, first, truth = synthetic(40)
    draws["accepted"][0, 0, 1] = False
    draws["positions"][0, 0, 1] = draws["positions"][0, 0, 1, 0].values
    found = measure.chain_statistics(draws, first, truth, 3.0)
    assert found["n_chains_still"].item() == 1.0
    assert found["moved"].values.ravel().tolist() == [1.0, 0.0, 1.0]
    assert np.isfinite(found["psrf"]).all()
    draws["positions"][:] = draws["positions"].isel(draw=0)
    assert np.isinf(measure.chain_statistics(draws, first, truth, 3.0)["psrf"]).all()
    draws["accepted"][0, 0, 1, 3] = True
    assert measure.chain_statistics(draws, first, truth, 3.0)["n_chains_still"].item() == 0.0


def test_run_time_is_shared_by_work_and_depth_is_told_from_the_front():
    draws, first, truth = synthetic(400)
    draws["n_work"][0, 0, 2] = 200
    draws["positions"][..., 2] += 0.5
    found = measure.chain_statistics(draws, first, truth, 8.0)
    assert found["seconds_per_chain"].values.ravel().tolist() == [2.0, 2.0, 4.0]
    assert np.allclose(found["rms_front"], 0.01, rtol=0.1)
    assert np.allclose(found["rms_depth"], 0.5, rtol=0.01)
    assert np.allclose(found["log_depth_over_front"], np.log(50.0), rtol=0.05)
    curves = measure.chain_curves(draws, first, truth, 8.0)
    assert curves["rmse"].sizes["point"] == 100
    start = np.sqrt(np.mean((first.isel(chain=0) - truth.isel(scene=0)) ** 2))
    assert float(curves["rmse"][0, 0, 0, 0]) == pytest.approx(float(start))
    assert float(curves["time_s"][0, 0, 2, -1]) == pytest.approx(4.0)
    assert float(curves["time_s"].min()) == 0.0


def test_long_chains_are_thinned_in_the_result_file():
    draws, _, _ = synthetic(2 * measure.MOST_STORED_DRAWS + 2)
    groups = measure.chain_groups(draws)
    assert groups["posterior"].sizes["draw"] <= measure.MOST_STORED_DRAWS
    assert set(groups["sample_stats"].data_vars) >= {"accepted", "misfit"}


def test_a_chain_far_from_the_median_pose_is_in_another_mode():
    chains = pd.DataFrame(
        {"chain": range(11), "acceptance": [0.9] * 10 + [0.05], "misfit": [1.0] * 10 + [9.0]}
    )
    chains = chains.assign(case="constrained_hmc", spread_within=0.1).merge(
        pd.Series([1, 2, 3], name="scene"), "cross"
    )
    poses = chains[["case", "scene", "chain"]].assign(joint="head", axis="z")
    poses["mean_position"] = np.where(chains["chain"] == 7, 0.5, 0.01 * chains["chain"])
    tables = Tables({"chain": chains, "chain_joint_axis": poses, "settings": chains[["case"]]})
    for which in ("fit", "moved"):
        found = claims.in_another_mode(tables, "constrained_hmc", 1, which)
        np.testing.assert_array_equal(found, [0.0] * 7 + [1.0, 0.0, 0.0, np.nan])
        # Half of the sets of five of ten chains hold that one.
        assert claims.different_modes(tables, which).value == pytest.approx(0.5)


def test_variants_bring_their_numbers_unless_they_are_given():
    thesis = STUDY.settings([])
    assert (noise_scale(thesis), start_of(thesis)) == (0.01, "prior")
    assert tuning(thesis) == (0.05, (10, 20), 8)
    notebook = STUDY.settings(["variant=notebook"])
    assert (noise_scale(notebook), start_of(notebook)) == (0.001, "prior_mean")
    assert tuning(notebook) == (0.1, (10, 15), 20)
    words = ["variant=notebook", "step_size=0.2", "n_steps=[2,3]", "noise_scale=0.5", "start=prior"]
    own = STUDY.settings(words)
    assert tuning(own) == (0.2, (2, 3), 20)
    assert (noise_scale(own), start_of(own)) == (0.5, "prior")


def test_a_result_depends_on_the_prior_and_on_the_data_file():
    simulated, own = STUDY.settings([]), STUDY.settings([f"data={EXAMPLE}"])
    assert STUDY.data_digest(simulated) != ""
    assert STUDY.data_digest(simulated) != STUDY.data_digest(own)


@cache
def model(views="binocular"):
    return generator.PoseModel(read_pose_prior("own"), views)


GENERATE = jax.jit(lambda u: generator.generate(model(), u))
JACOBIAN = jax.jit(lambda u: generator.generator_jacobian(model(), u))
DRAWS = np.random.default_rng(11).normal(size=(4, 140))


# The published skeleton, written down once more: node, parent, offset direction, bone, channels, free channels, joint.
SLOPE = np.array([0.0, -1.33694, 4.98954]) / np.hypot(1.33694, 4.98954)
SKELETON = [("hips", None, [0, 0, 0], None, "xyz", "xyz", None)]
SKELETON += [
    ("spine", "hips", [0, 1, 0], 0, "xyz", "xyz", 0),
    ("head", "spine", [0, 1, 0], 2, "xyz", "xyz", 1),
    ("head end", "head", [0, 1, 0], 3, "xyz", "", 2),
]
for side, sign, joint in (("l", 1, 3), ("r", -1, 7)):
    SKELETON += [
        (f"{side} shoulder", "spine", [0, 1, 0], 1, "xyz", "xyz", None),
        (f"{side} arm", f"{side} shoulder", [sign, 0, 0], 4, "xyz", "xyz", joint),
        (f"{side} forearm", f"{side} arm", [sign, 0, 0], 5, "yzx", "yx", joint + 1),
        (f"{side} hand", f"{side} forearm", [sign, 0, 0], 6, "xyz", "xyz", joint + 2),
        (f"{side} hand end", f"{side} hand", [sign, 0, 0], 7, "xyz", "", joint + 3),
    ]
for side, sign, joint in (("l", 1, 11), ("r", -1, 15)):
    SKELETON += [
        (f"{side} up-leg", "hips", [sign, 0, 0], 8, "xyz", "xyz", joint),
        (f"{side} leg", f"{side} up-leg", [0, -1, 0], 9, "xyz", "x", joint + 1),
        (f"{side} foot", f"{side} leg", [0, -1, 0], 10, "xyz", "xyz", joint + 2),
        (f"{side} toe base", f"{side} foot", SLOPE, 11, "xyz", "x", joint + 3),
    ]


def plain_kinematics(angles, lengths):
    """Homogeneous 4 x 4 matrices node by node, angles consumed one by one in depth-first order."""
    values, transforms, joints = iter(angles), {None: np.eye(4)}, np.zeros((19, 3))
    for name, parent, direction, bone, order, free, joint in SKELETON:
        local = np.eye(4)
        channels = {axis: next(values) for axis in free}
        turns = [channels.get(axis, 0.0) for axis in order]
        local[:3, :3] = Rotation.from_euler(order.upper(), turns).as_matrix()
        local[:3, 3] = np.asarray(direction, dtype=float) * (0.0 if bone is None else lengths[bone])
        transforms[name] = transforms[parent] @ local
        if joint is not None:
            joints[joint] = transforms[name][:3, 3]
    return joints


def test_joints_are_those_of_plain_matrices_and_derivatives_those_of_differences():
    rng = np.random.default_rng(4)
    angles, lengths = rng.uniform(-np.pi, np.pi, 47), rng.uniform(0.05, 0.5, 13)
    found = jax.jit(pose_derivatives)(angles, lengths)
    for joints in (found.positions, jax.jit(joint_positions)(angles, lengths)):
        assert np.allclose(joints, plain_kinematics(angles, lengths), rtol=0, atol=1e-13)
    step = 1e-6
    for index, turn in enumerate(np.eye(47) * step):
        difference = plain_kinematics(angles + turn, lengths) - plain_kinematics(angles - turn, lengths)
        assert np.allclose(found.by_angle[:, :, index], difference / (2 * step), atol=1e-8)
    for index, stretch in enumerate(np.eye(13) * step):
        difference = plain_kinematics(angles, lengths + stretch) - plain_kinematics(angles, lengths - stretch)
        assert np.allclose(found.by_length[:, :, index], difference / (2 * step), atol=1e-8)


def test_lengths_of_drawn_bones_are_those_generated():
    joints = np.asarray(jax.jit(lambda u: generator.positions(model(), u))(DRAWS[0]))
    lengths = np.asarray(bone_lengths(model().prior, jnp.asarray(DRAWS[0, : skeleton.N_BONES])))
    bone_of_joint = {node.joint: node.bone for node in skeleton.NODES}
    for a, b in skeleton.DRAWN_BONES:
        # The first bones of limbs begin at nodes that are no joints.
        if a in (0, 1) and b not in (1, 2):
            continue
        expected = lengths[skeleton.BONE_NAMES.index(bone_of_joint[skeleton.JOINT_NAMES[b]])]
        assert np.linalg.norm(joints[b] - joints[a]) == pytest.approx(expected, abs=1e-12)


def test_bone_lengths_have_the_distribution_of_the_factor():
    prior = model().prior
    inputs = DRAWS[0, : skeleton.N_BONES]
    covariance = prior.log_length_factor.T @ prior.log_length_factor
    # The map is linear in the inputs, with the transposed upper factor.
    linear = np.log(np.asarray(bone_lengths(prior, jnp.asarray(inputs)))) - prior.log_length_mean
    assert np.allclose(linear, prior.log_length_factor.T @ inputs)
    assert np.allclose(np.linalg.cholesky(covariance).T, prior.log_length_factor)


def test_angles_are_those_of_a_plain_network():
    prior = model().prior
    code, cos_noise, sin_noise = (DRAWS[1][part] for part in (slice(13, 43), slice(43, 90), slice(90, 137)))
    hidden = np.tanh(code @ prior.weights[0] + prior.biases[0])
    for layer in range(1, 6):
        hidden = np.tanh(hidden @ prior.weights[layer] + prior.biases[layer]) + hidden
    out = hidden @ prior.weights[6] + prior.biases[6]
    cos_part = out[:47] + np.exp(out[94:141] / 2) * cos_noise
    sin_part = out[47:94] + np.exp(out[141:] / 2) * sin_noise
    found = joint_angles(prior, *map(jnp.asarray, (code, cos_noise, sin_noise)))
    assert np.allclose(found, np.arctan2(sin_part, cos_part), atol=1e-12)


def test_cameras_are_the_published_matrices():
    rng = np.random.default_rng(5)
    joints, inputs = rng.normal(size=(19, 3)), np.array([0.3, -1.2, 0.4])
    place = np.asarray(cameras.camera_place(jnp.asarray(inputs)))
    assert np.allclose(place, [0.03, -0.12, np.exp(1.5 + 0.2)])
    assert np.allclose(cameras.camera_inputs(jnp.asarray(place)), inputs)
    expected = []
    lens, turn = np.diag([cameras.FOCAL_LENGTH, cameras.FOCAL_LENGTH, 1.0]), np.diag([-1.0, 1.0, -1.0])
    for offset in (0.5, -0.5):
        matrix = lens @ np.c_[turn, place + np.array([offset, 0.0, 0.0])]
        image = matrix @ np.c_[joints, np.ones(19)].T
        expected += [image[0] / image[2], image[1] / image[2]]
    found = cameras.project_joints(jnp.asarray(joints), jnp.asarray(place), "binocular")
    assert np.allclose(found, np.concatenate(expected))
    # One view has no offset.
    single = cameras.project_joints(jnp.zeros((19, 3)), jnp.asarray([0.0, 0.0, 4.0]), "monocular")
    assert np.array_equal(single, np.zeros(38))


@pytest.mark.parametrize(("views", "rank"), [("binocular", 50), ("monocular", 38)])
def test_jacobian_agrees_with_automatic_differentiation(views, rank):
    one = model(views)

    @jax.jit
    def both(u, v):
        _, along = jax.jvp(lambda w: generator.generate(one, w), (u,), (v,))
        return generator.generator_jacobian(one, u), along

    found, along = map(np.asarray, both(*DRAWS[2:]))
    assert np.allclose(found @ DRAWS[3], along, rtol=0, atol=1e-12)
    # One view is the first half of two, but for the offset of the cameras: no rank is lost.
    assert np.linalg.matrix_rank(found) == rank


def test_dimensions_rank_and_inputs_without_effect_are_the_published_ones():
    matrices = np.stack([JACOBIAN(inputs) for inputs in DRAWS])
    assert matrices.shape[1:] == (76, 140)
    assert np.linalg.matrix_rank(matrices).tolist() == [50, 50, 50, 50]
    dead = np.flatnonzero(np.abs(matrices).max(axis=(0, 1)) == 0.0)
    assert dead.tolist() == [12, 81, 89, 128, 136]


def test_bodies_are_in_front_of_the_cameras():
    inputs = np.random.default_rng(6).normal(size=(500, 140))
    depth = lambda u: cameras.camera_place(generator.split_inputs(model(), u).camera)[2]
    in_front = lambda u: depth(u) > generator.positions(model(), u)[:, 2].max()
    assert np.mean(jax.jit(jax.vmap(in_front))(inputs)) > 0.98


def test_scenes_are_those_of_the_stated_generator():
    scenes = generator.simulated_scenes(model(), 0.01)
    row = np.random.RandomState(1234).normal(size=(3, 216))[1]
    assert np.allclose(scenes[1].inputs, row[:140])
    expected = np.asarray(GENERATE(row[:140])) + 0.01 * row[140:]
    assert np.allclose(scenes[1].observed, expected)
    single = generator.simulated_scenes(model("monocular"), 0.01)[1]
    assert np.allclose(single.positions, scenes[1].positions)
    assert single.observed.shape == (38,)


def test_log_density_is_prior_and_misfit():
    inputs = jnp.asarray(DRAWS[0])
    observed = GENERATE(inputs) + 0.02
    run = jax.jit(lambda u: generator.log_density(model(), u, observed, 0.01))
    found = run(inputs)
    assert found == pytest.approx(-0.5 * float(jnp.sum(inputs**2)) - 0.5 * 76 * 4.0)
    # Beyond the range of the exponential there is no body.
    assert run(inputs.at[0].set(1e6)) == -jnp.inf


def test_conditioned_model_starts_on_its_manifold_with_full_rank():
    inputs = jnp.asarray(DRAWS[0])
    observed = jnp.asarray(generator.simulated_scenes(model(), 0.01)[0].observed)
    conditioned = generator.conditioned_model(model(), observed, 0.01)
    point = noisy_input(GENERATE, inputs, observed, 0.01)
    half_log_determinant = jax.jit(lambda point: conditioned.jacobian(point).half_log_determinant)(point)
    assert float(jnp.max(jnp.abs(jax.jit(conditioned.constraint)(point)))) < 1e-12
    dense = np.concatenate([JACOBIAN(point[:140]), 0.01 * np.eye(76)], axis=1)
    sign, log_determinant = np.linalg.slogdet(dense @ dense.T)
    assert sign == 1.0
    assert float(half_log_determinant) == pytest.approx(0.5 * log_determinant)
    assert np.linalg.svd(dense, compute_uv=False).min() >= 0.01 * (1 - 1e-9)


def test_states_and_inputs_are_two_names_of_one_thing():
    inputs = jnp.asarray(DRAWS[3])

    @jax.jit
    def there_and_back(inputs):
        state = hierarchy.state_of_inputs(model(), inputs)
        by_state, by_inputs = hierarchy.state_positions(model(), state), generator.positions(model(), inputs)
        return hierarchy.inputs_of_state(model(), state), by_state, by_inputs

    back, by_state, by_inputs = there_and_back(inputs)
    assert np.allclose(back, inputs, atol=1e-10)
    assert np.allclose(by_state, by_inputs)


def test_hierarchical_density_is_that_of_the_inputs_after_the_change_of_variables():
    # The two differ by the log-determinant of the map from inputs to states, up to one constant.
    small, observed = model("monocular"), jnp.zeros(38)

    def both(inputs):
        state = hierarchy.state_of_inputs(small, inputs)
        jacobian = jax.jacfwd(lambda u: hierarchy.state_of_inputs(small, u))(inputs)
        in_inputs = generator.log_density(small, inputs, observed, 1.0)
        in_state = hierarchy.hierarchical_log_density(small, state, observed, 1.0)
        in_misfit = in_inputs - generator.log_prior(inputs)
        state_misfit = in_state - hierarchy.hierarchical_log_prior(small, state)
        return in_inputs - jnp.linalg.slogdet(jacobian)[1], in_state, in_misfit, state_misfit

    first, second, one_misfit, other_misfit = jax.jit(lambda many: jax.lax.map(both, many))(DRAWS)
    assert np.ptp(first - second) < 1e-9
    assert np.allclose(one_misfit, other_misfit)


def drawn(near):
    bones, sides = ((0, 1), (1, 2), (0, 3), (0, 4)), ("trunk", "trunk", "left", "right")
    across, up = np.array([0.0, 0.0, 0.0, -0.4, 0.4]), np.array([0.0, 0.5, 0.7, -0.8, -0.8])
    with use_style():
        axis = Figure().subplots()
        skeletons.draw_skeleton(axis, across, up, near, skeletons.Drawing(bones, sides, head=(1, 2)))
    return axis


def test_near_limbs_are_in_front_of_far_ones_and_darker():
    axis = drawn(np.array([0.0, 0.0, 0.0, 1.0, -1.0]))
    # Each limb is a white rim and the line over it.
    by_end = {float(line.get_xdata()[1]): line for line in axis.lines if line.get_color() != "white"}
    left, right = by_end[-0.4], by_end[0.4]
    assert left.get_zorder() > right.get_zorder()
    full = [to_rgb(skeletons.SIDE_COLOURS[side]) for side in ("left", "right")]
    faded = [np.sum(np.subtract(line.get_color(), c)) for line, c in zip((left, right), full, strict=True)]
    assert 0.0 <= faded[0] < faded[1]
    with pytest.raises(ValueError, match=r"must be \[joint\], got shapes \(5,\), \(5,\) and \(4,\)"):
        drawn(np.zeros(4))


def test_skeleton_has_the_published_numbers():
    assert (skeleton.N_JOINTS, skeleton.N_ANGLES, skeleton.N_BONES) == (19, 47, 13)
    assert len(set(skeleton.JOINT_NAMES)) == 19
    assert len(skeleton.DRAWN_BONES) == 18
    assert sum(len(node.free) == 3 for node in skeleton.NODES) == 13
    assert skeleton.channel_index("right toe base", "x") == 46
    with pytest.raises(KeyError, match="about z at node 'left leg'"):
        skeleton.channel_index("left leg", "z")


def test_bone_distribution_grows_with_stature():
    mean, factor = log_length_distribution()
    covariance = factor.T @ factor
    assert np.allclose(np.tril(factor, -1), 0.0)
    correlation = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert correlation == pytest.approx(0.055**2 / (0.055**2 + 0.04**2))
    assert set(FRACTIONS) == set(skeleton.BONE_NAMES)
    # From the ground to the top of the head: legs, and from the hips over the spine.
    upright = "upper-leg", "lower-leg", "waist", "spine", "head"
    height = sum(np.exp(mean)[skeleton.BONE_NAMES.index(name)] for name in upright)
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


def test_euler_angles_give_their_rotation_back():
    angles = np.random.default_rng(2).uniform(-np.pi, np.pi, size=(50, 3))
    rotation = rotation_xyz(angles)
    assert np.allclose(rotation, Rotation.from_euler("XYZ", angles).as_matrix())
    assert np.allclose(rotation_xyz(euler_xyz(rotation)), rotation)


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
    folder = Path(pose_priors.__file__).parent
    note = (folder / "pose_prior.md").read_text()
    listed = re.findall(r"^([0-9a-f]{64})  (\S+)$", note, re.M)
    assert len(listed) == 2
    for sha256, name in listed:
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == sha256
        assert (folder / name).stat().st_size < 1_000_000
    with np.load(folder / "pose_angles.npz") as content:
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
    with pytest.raises(ValueError, match="prior must be one of own, published, got 'mine'"):
        read_pose_prior("mine")
    # Settings are composed without the file, which the run asks for.
    with pytest.raises(SettingsError, match=r"cannot be read .*, or use prior=own"):
        run_small(tmp_path, "prior=published")


TABLE = ["joint,view,x,y"] + [
    f"{joint},{view},{0.1 * index + view},{index}"
    for view in (1, 2)
    for index, joint in enumerate(skeleton.JOINT_NAMES)
]


def read(folder, rows, views="binocular"):
    path = folder / "mine.csv"
    path.write_text("\n".join(rows) + "\n")
    return read_joint_observations(path, views)


def test_coordinates_are_all_x_then_all_y_of_each_view_in_any_order_of_rows_and_columns(tmp_path):
    header, *rows = [row.split(",") for row in TABLE]
    moved = [",".join([y, "note", joint, x, view]) for joint, view, x, y in (header, *rows[::-1])]
    found = read(tmp_path, moved)
    assert found.shape == (76,)
    along, up = 0.1 * np.arange(19), np.arange(19)
    assert np.allclose(found, np.concatenate([along + 1, up, along + 2, up]))
    assert read(tmp_path, TABLE[:20], "monocular").shape == (38,)


def changed(row, text):
    return [*TABLE[:row], text, *TABLE[row + 1 :]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (TABLE[:-1], r"'right_toes' is missing in view 2 \(1 missing in all\); every joint"),
        (TABLE[:3] + TABLE[5:], r"'head_top' is missing in view 1 \(2 missing in all\)"),
        (changed(5, "left_elbow,1,4,left"), r"row 5 .*, column 'y': 'left' is not a number"),
        (changed(5, "elbow,1,4,4"), r"row 5 \(line 6\): unknown joint 'elbow'; allowed: lower_spine, neck"),
        (changed(5, "left_elbow,3,4,4"), r"row 5 \(line 6\): view: expected 1 or 2, got 3"),
        (changed(5, "neck,1,4,4"), r"row 5 \(line 6\): joint 'neck' in view 1 appears twice"),
        (TABLE[:20], r"views=binocular: expected view 1 and 2, got 1; change views"),
        (changed(0, "joint,camera,x,y"), r"there is no column 'view', only joint, camera, x, y"),
    ],
)
def test_wrong_files_are_named_precisely(tmp_path, rows, message):
    with pytest.raises(DataError, match=r"mine\.csv: .*" + message):
        read(tmp_path, rows)
