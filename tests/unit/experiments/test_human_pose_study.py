"""The human pose study: tiny runs, measures of synthetic chains and settings."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from auxmc.driver.chains import RunContext
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.settings import SettingsError
from experiments.human_pose import measure
from experiments.human_pose.model.skeleton import JOINT_NAMES
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
    data = run_small(tmp_path, "method=hmc", "n_steps=[3,3]", "++batch.scene=[1,3]", "step_size=1e-5")[
        "statistics"
    ]
    assert data["rmse"].dims == ("scene", "chain")
    assert data["scene"].values.tolist() == [1, 3]
    assert (data["n_chains_still"] == 0).all()
    assert (data["acceptance"] > 0.9).all()
    # Both scenes have the chains' starts, and errors of their own.
    assert len(np.unique(data["rmse"].values)) == 4


def test_a_case_in_which_nothing_moves_stops_with_advice():
    draws, _, _ = made_up("hmc", [1], [50.0], 20, 0.01, 0.0)
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


def made_up(method, scenes, steps, n_draws, spread, offset):
    """Chains about true poses, each with a mode of its own in depth; first positions; true poses."""
    rng = np.random.default_rng(n_draws + len(steps))
    dims = {"scene": scenes, "step_size": steps, "chain": [0, 1, 2]}
    shape = (*(len(values) for values in dims.values()), n_draws)
    truth = rng.normal(scale=0.4, size=(len(scenes), 19, 3))
    positions = truth[:, None, None, None] + spread * rng.normal(size=(*shape, 19, 3))
    positions[..., 2] += offset * np.arange(3)[None, None, :, None, None]
    names = (*dims, "draw")
    counts = {"n_failures": np.zeros(shape, dtype=int), "n_work": np.full(shape, 100)}
    variables = {
        "positions": ((*names, "joint", "axis"), positions),
        "camera": ((*names, "axis"), np.ones((*shape, 3))),
        "misfit": (names, np.ones(shape)),
        "accepted": (names, np.ones(shape, dtype=bool)),
        "acceptance_probability": (names, np.ones(shape)),
        **{name: (names, values) for name, values in counts.items()},
    }
    if method == "constrained_hmc":
        variables["residual"] = (names, np.full(shape, 1e-10))
    coords = {**dims, "joint": list(JOINT_NAMES), "axis": list(measure.AXES)}
    draws = xr.Dataset(variables, coords=coords)

    def poses(values, dim):
        dims = (dim, "joint", "axis")
        return xr.DataArray(values, dims=dims, coords={name: draws[name] for name in dims})

    return draws, poses(rng.normal(size=(3, 19, 3)), "chain"), poses(truth, "scene")


def test_chains_that_never_moved_are_counted():
    draws, first, truth = made_up("hmc", [1], [2e-4], 40, 0.01, 0.0)
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
    draws, first, truth = made_up("hmc", [1], [2e-4], 400, 0.01, 0.0)
    draws["n_work"][0, 0, 2] = 200
    draws["positions"][..., 2] += 0.5
    found = measure.chain_statistics(draws, first, truth, 8.0)
    assert found["seconds_per_chain"].values.ravel().tolist() == [2.0, 2.0, 4.0]
    assert np.allclose(found["rms_front"], 0.01, rtol=0.1)
    assert np.allclose(found["rms_depth"], 0.5, rtol=0.01)
    curves = measure.chain_curves(draws, first, truth, 8.0)
    assert curves["rmse"].sizes["point"] == 100
    start = np.sqrt(np.mean((first.isel(chain=0) - truth.isel(scene=0)) ** 2))
    assert float(curves["rmse"][0, 0, 0, 0]) == pytest.approx(float(start))
    assert float(curves["time_s"][0, 0, 2, -1]) == pytest.approx(4.0)
    assert float(curves["time_s"].min()) == 0.0


def test_long_chains_are_thinned_in_the_result_file():
    draws, _, _ = made_up("hmc", [1], [2e-4], 2 * measure.MOST_STORED_DRAWS + 2, 0.01, 0.0)
    groups = measure.chain_groups(draws)
    assert groups["posterior"].sizes["draw"] <= measure.MOST_STORED_DRAWS
    assert set(groups["sample_stats"].data_vars) >= {"accepted", "misfit"}


def test_factors_without_a_chain_say_which_chain_is_apart():
    draws, first, truth = made_up("hmc", [1], [2e-4], 400, 0.01, 0.0)
    draws["positions"][0, 0, 2] += 1.0
    found = measure.chain_statistics(draws, first, truth, 3.0)["largest_psrf_without_chain"].values.ravel()
    assert found[2] < 1.2 < 10.0 < found[:2].min()


def test_variants_bring_their_numbers_unless_they_are_given():
    thesis = STUDY.settings([])
    assert (noise_scale(thesis), start_of(thesis)) == (0.01, "prior")
    assert tuning(thesis) == (0.05, (10, 20), 8)
    notebook = STUDY.settings(["variant=notebook"])
    assert (noise_scale(notebook), start_of(notebook)) == (0.001, "prior_mean")
    assert tuning(notebook) == (0.1, (10, 15), 20)
    own = STUDY.settings(
        ["variant=notebook", "step_size=0.2", "n_steps=[2,3]", "noise_scale=0.5", "start=prior"]
    )
    assert tuning(own) == (0.2, (2, 3), 20)
    assert (noise_scale(own), start_of(own)) == (0.5, "prior")


def test_a_result_depends_on_the_prior_and_on_the_data_file():
    simulated, own = STUDY.settings([]), STUDY.settings([f"data={EXAMPLE}"])
    assert STUDY.data_digest(simulated) != ""
    assert STUDY.data_digest(simulated) != STUDY.data_digest(own)
