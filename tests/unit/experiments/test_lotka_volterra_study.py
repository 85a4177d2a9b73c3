"""The Lotka-Volterra study: tiny real runs, statistics against known answers, settings."""

import numpy as np
import pytest
import xarray as xr

from auxmc.driver.chains import RunContext
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.settings import SettingsError
from experiments.lotka_volterra import settings as declared
from experiments.lotka_volterra.measure import chain_statistics, iterations_to_band
from experiments.lotka_volterra.model.exact import exact_posterior
from experiments.lotka_volterra.model.generator import published_model
from experiments.lotka_volterra.programs import COORDINATES
from experiments.lotka_volterra.run import run

STUDY = load_study("lotka_volterra")


def run_small(folder, words):
    settings = STUDY.settings(["n_draws=20", "n_discard=5", "n_chains=2", *words.split()])
    return run(settings, RunContext("lotka_volterra", 5, folder / "checkpoints", "identity", "test"))


def own_series(folder):
    rng = np.random.default_rng(2)
    series = np.array([30.0, 20.0]) + np.cumsum(rng.normal(size=(9, 2)), axis=0)
    path = folder / "own.csv"
    np.savetxt(path, series, delimiter=",", header="hares,lynx", comments="")
    return path


@pytest.mark.slow
def test_own_data_give_moments_failures_and_an_exact_posterior(tmp_path):
    path = own_series(tmp_path)
    words = f"method=chmc_teacher_forced data={path} time_step=0.5 noise_scales=[1.5,2.0]"
    data = run_small(tmp_path, words)["statistics"].squeeze()
    assert data.sizes["chain"] == 2
    assert data["posterior_mean"].sizes["coordinate"] == data["exact_mean"].sizes["coordinate"] == 4
    assert "data_difference" not in data
    assert (data["largest_residual"] < 1e-8).all()
    for name in ("not_converged", "not_converged_reverse", "irreversible", "not_finite", "singular"):
        assert data[f"n_{name}"].sizes["chain"] == 2
    assert (data["acceptance"] > 0.5).all()


@pytest.mark.slow
def test_case_stops_with_advice_when_every_trajectory_fails(tmp_path):
    with pytest.raises(
        SettingsError, match=r"none of 20 updates .* take a smaller step_size or a larger tol"
    ):
        run_small(tmp_path, "method=hmc_gaussian step_size=50.0")


def test_failures_count_rejection_under_both_readings(tmp_path):
    result = run_small(
        tmp_path,
        "design=failures method=pm_ball n_rejection_all=20000 n_rejection_summaries=20000 "
        "n_normalisation=20000",
    )
    data = result["statistics"]
    all_data = data["rejection_accepted_all"].squeeze()
    assert list(data["reading"].values) == ["l2", "l2_squared"]
    # About 0.24 per cent within a distance of 1000; no draw within its root.
    assert 20 < float(all_data[0]) < 90
    assert float(all_data[1]) == 0.0
    assert 0.001 < float(data["finite_prior_fraction"]) < 0.006
    assert (data["n_accepted"].sel({"tolerance": 100.0}) == 0).all()
    assert data["data_difference"].item() < 1e-10


def test_iterations_to_band_count_from_one():
    potential = np.full((1, 1, 2, 100), 10.0) + np.random.default_rng(1).normal(size=(1, 1, 2, 100))
    potential[0, 0, 1, :6] = 200.0
    reached = iterations_to_band(potential)
    assert reached[0, 0].tolist() == [1.0, 7.0]
    assert np.isnan(iterations_to_band(np.r_[np.full(99, np.nan), 1.0].reshape(1, 1, 1, 100))).all()


DIMS = ("tolerance", "step_size", "chain", "draw")


def recorded_draws(rates, tolerances, n_evaluations):
    """Draws of log rates [tolerance, step_size, chain, draw, coordinate], all accepted."""
    shape = rates.shape[:-1]
    return xr.Dataset(
        {
            "log_rates": ((*DIMS, "coordinate"), rates),
            "accepted": (DIMS, np.ones(shape, bool)),
            "n_evaluations": (DIMS, np.broadcast_to(n_evaluations, shape)),
            "n_failed": (DIMS, np.zeros(shape, int)),
        },
        coords={"tolerance": tolerances, "step_size": [0.5], "coordinate": list(COORDINATES)},
    )


def test_errors_of_means_come_from_between_chains_where_noise_may_stay():
    # Each chain stays near a place of its own: within them the mean looks far surer than it is.
    rng = np.random.default_rng(6)
    places = np.array([-1.0, -0.5, 0.5, 1.0])
    rates = places[None, None, :, None, None] + 0.1 * rng.normal(size=(1, 1, 4, 510, 4))
    draws, exact = recorded_draws(rates, [1.0], np.array(1)), exact_posterior(published_model("code"), 200)
    within, between = (
        float(chain_statistics(draws, method, 0, 1.0, exact)["mcse_mean"].squeeze()[0])
        for method in ("chmc_all", "pm_summaries")
    )
    assert within < 0.05
    assert between == pytest.approx(1.66 * 0.456, rel=0.05)


def test_the_time_of_a_chain_follows_its_runs_of_the_generator():
    """Slices at tolerance 10 take more of them than at 100: they must not be given the time of an average chain."""
    exact = exact_posterior(published_model("code"), 200)
    rates = exact.mean + exact.sd * np.random.default_rng(8).normal(size=(2, 1, 4, 510, 4))
    draws = recorded_draws(rates, [10.0, 100.0], np.array([24, 12])[:, None, None, None])
    found = chain_statistics(draws, "ss_ball", 10, 12.0, exact)
    np.testing.assert_allclose(found["chain_seconds"].isel(step_size=0), [[2.0] * 4, [1.0] * 4])
    xr.testing.assert_allclose(found["ess_per_second"] * found["chain_seconds"], found["ess"])


def test_the_paper_preset_is_that_of_the_thesis():
    cases = {case.name: case.settings for case in STUDY.cases("paper")}
    lengths = {name: (case.n_chains, case.n_draws, case.n_discard) for name, case in cases.items()}
    assert lengths["constrained"] == (10, 1000, 10)
    # Lengths as published, of more than the ten chains.
    assert lengths["slices"] == (100, 60_000, 30_000)
    assert lengths["hmc"] == (100, 10_000, 5_000)
    assert lengths["summaries"] == (10, 500_000, 250_000)
    assert cases["failures"].n_draws == 100_000
    constrained = cases["constrained"]
    assert declared.step_range(constrained, "chmc_all") == (4, 8)
    assert declared.step_sizes(constrained, "chmc_all") == (0.25,)
    assert constrained.n_inner_steps == 3
    assert declared.tolerances(constrained, "ss_ball") == (10.0, 100.0)


def test_own_data_without_initial_state_need_a_row_more(tmp_path):
    path = tmp_path / "short.csv"
    path.write_text("r,f\n" + "1.0,2.0\n" * 4)
    STUDY.settings([f"data={path}", "initial_state=[1.0,2.0]"])
    with pytest.raises(SettingsError, match="has 4 rows of data, needs at least 5"):
        STUDY.settings([f"data={path}"])
    with pytest.raises(SettingsError, match="leave data empty"):
        STUDY.settings([f"data={path}", "initial_state=[1.0,2.0]", "design=failures", "method=pm_ball"])
