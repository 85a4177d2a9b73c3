"""The generalised lambda study: statistics of synthetic draws, tiny runs and settings."""

import numpy as np
import pytest
import xarray as xr

from auxmc.driver.chains import RunContext
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.settings import SettingsError
from experiments.generalised_lambda import run
from experiments.generalised_lambda.measure import chain_groups, chain_statistics
from experiments.generalised_lambda.problem import build_problem
from experiments.generalised_lambda.reference import limit_statistics, targets
from experiments.generalised_lambda.settings import ROWS

STUDY = load_study("generalised_lambda")
NAMES = ["z1", "z2", "z3", "z4"]
MEANS = np.array([4.705, 0.96, 0.53, -0.16])
SDS = np.array([0.108, 0.1, 0.085, 0.075])
ERRORS = ("n_not_converged", "n_not_converged_reverse", "n_irreversible", "n_not_finite", "n_singular")


def _run(tmp_path, words):
    settings = STUDY.settings(["preset=smoke", *words.split()])
    return run.run(settings, RunContext("generalised_lambda", settings.seed, tmp_path, "identity", "tiny"))


def _draws(dims, n_draws, counters, scale=1.0):
    """Independent draws of a normal posterior at every point, with constant work and flags."""
    rng = np.random.default_rng(len(counters) + n_draws)
    shape = (*(len(values) for values in dims.values()), n_draws)
    z = MEANS + scale * SDS * rng.normal(size=(*shape, 4))
    names = (*dims, "draw")
    variables = {
        "z": ((*names, "parameter"), z),
        "accepted": (names, rng.uniform(size=shape) < 0.9),
        "acceptance_probability": (names, np.full(shape, 0.9)),
        "log_density": (names, np.zeros(shape)),
        "n_evaluations": (names, np.full(shape, 10)),
        **{name: (names, np.zeros(shape, dtype=int)) for name in counters},
    }
    return xr.Dataset(variables, coords={**dims, "parameter": NAMES})


def _constrained_draws(dims, n_draws):
    draws = _draws(dims, n_draws, (*ERRORS, "n_fallback", "n_projections", "n_projection_iterations"))
    draws["n_projections"] += 40
    draws["n_projection_iterations"] += 120
    draws["residual"] = xr.full_like(draws["log_density"], 1e-13)
    return draws


def test_statistics_are_those_of_the_draws_after_the_warm_up():
    draws = _constrained_draws({"prior": ["strong"], "chain": [0, 1, 2]}, 420)
    draws["z"][{"draw": slice(0, 20)}] = 1e6
    draws["n_not_converged"][{"chain": 1, "draw": 3}] = 2
    draws["n_irreversible"][{"chain": 2, "draw": 100}] = 1
    settings = STUDY.settings(["n_warm_up=20"])
    redraws = draws["accepted"].isel(draw=0, drop=True).astype(float)
    found = chain_statistics(draws, settings, 12.0, redraws).isel(prior=0)
    kept = draws["z"].isel(prior=0, draw=slice(20, None))
    np.testing.assert_allclose(found["posterior_mean"], kept.mean(["chain", "draw"]))
    np.testing.assert_allclose(
        found["acceptance"], draws["accepted"].isel(prior=0, draw=slice(20, None)).mean("draw")
    )
    # Independent draws: about as many effective as there are.
    assert float(found["ess"].mean()) == pytest.approx(400.0, rel=0.15)
    np.testing.assert_allclose(found["chain_seconds"], 4.0)
    np.testing.assert_allclose(found["ess_per_second"], found["ess"] / 4.0)
    np.testing.assert_allclose(found["failed_share"], [0.0, 0.0, 1.0 / 400.0])
    np.testing.assert_allclose(found["failed_warm_up"], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(found["failed_early"], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(found["iterations_per_projection"], 3.0)
    assert set(STUDY.sweep_quantities) <= set(found.data_vars)


def test_run_time_is_shared_by_work():
    draws = _draws({"prior": ["strong"], "chain": [0, 1]}, 50, ())
    draws["n_evaluations"][{"chain": 1}] = 30
    settings = STUDY.settings(["n_warm_up=0"])
    redraws = draws["accepted"].isel(draw=0, drop=True).astype(float)
    found = chain_statistics(draws, settings, 8.0, redraws)
    np.testing.assert_allclose(found["chain_seconds"].values.ravel(), [2.0, 6.0])


def test_where_no_chain_moved_nothing_is_said_of_the_posterior():
    draws = _draws({"step_size": [0.1, 9.0], "prior": ["strong"], "chain": [0, 1]}, 50, ())
    draws["accepted"][{"step_size": 1}] = False
    draws["z"][{"step_size": 1}] = 1.0
    settings = STUDY.settings(["n_warm_up=0"])
    found = chain_statistics(draws, settings, 8.0, draws["accepted"].isel(draw=0, drop=True).astype(float))
    still = found.sel(step_size=9.0)
    for name in ("posterior_mean", "posterior_sd", "ess", "ess_per_second", "psrf", "r_hat"):
        assert bool(np.isnan(still[name]).all()), name
    assert bool(np.isfinite(found["posterior_mean"].sel(step_size=0.1)).all())
    np.testing.assert_array_equal(still["moved"], 0.0)
    np.testing.assert_array_equal(still["longest_run"], 50.0)


def test_draws_are_kept_as_arviz_expects_them():
    draws = _draws({"prior": ["strong"], "chain": [0, 1]}, 50, ())
    groups = chain_groups(draws, STUDY.settings(["n_warm_up=10"]))
    assert groups["posterior"]["z"].dims[:2] == ("chain", "draw")
    assert groups["posterior"].sizes["draw"] == 40
    assert "accepted" in groups["sample_stats"]


def test_the_limit_of_small_tolerances_is_approached_in_the_right_order():
    problem = build_problem(STUDY.settings([]))
    rng = np.random.default_rng(2)
    values = MEANS + 0.1 * SDS * rng.normal(size=(10, 16, 4))
    exact = xr.DataArray(values, dims=("draw", "walker", "parameter"))
    found = limit_statistics(problem, exact, [0.05, 0.2])
    small, large = np.abs(found["limit_shift"].values)
    assert np.all(small <= large)
    assert np.all(found["limit_shift_error"] >= 0.0)
    assert float(found["limit_weight_ess"].sel(limit_tolerance=0.05)) > 150.0


def test_reference_targets_are_named_as_the_figures_expect():
    settings = STUDY.settings(["design=reference", "tolerance=0.1"])
    assert {row.target for row in ROWS} == set(targets(settings))


@pytest.fixture(scope="module")
def own_data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "own.csv"
    values = np.random.default_rng(1).logistic(size=9)
    path.write_text("x\n" + "\n".join(f"{value:.3f}" for value in values))
    return path


@pytest.mark.slow
def test_modified_abc_runs_on_own_data_under_an_own_prior(tmp_path, own_data):
    result = _run(
        tmp_path,
        f"data={own_data} method=modified_abc prior=own prior_sd=2.0 prior_rate=0.5 tolerance=0.5 "
        "step_size=0.2 n_draws=60 n_warm_up=20 n_chains=2",
    )
    statistics = result["statistics"]
    assert statistics["prior"].values.tolist() == ["own"]
    assert statistics["posterior_mean"].dims == ("prior", "parameter")
    assert 0.0 < float(statistics["acceptance"].mean()) < 1.0
    assert result["observed_data"]["x"].size == 9
    assert result["posterior"]["z"].sizes["draw"] == 60


@pytest.mark.slow
def test_hmc_runs_with_several_tolerances_and_the_same_starts(tmp_path, own_data):
    result = _run(
        tmp_path,
        f"data={own_data} method=abc_hmc step_unit=tolerance step_size=0.05 "
        "++batch.tolerance=[0.3,0.6] n_draws=12 n_warm_up=3 n_chains=2 warm_up_step_size=1e-3",
    )
    statistics = result["statistics"]
    assert statistics["acceptance"].dims == ("prior", "tolerance", "chain")
    np.testing.assert_array_equal(statistics["tolerance"], [0.3, 0.6])
    # Starts depend on the data, the prior and the number of the chain alone.
    np.testing.assert_array_equal(statistics["start_redraws"].dims, ("prior", "chain"))


@pytest.mark.slow
def test_reference_posteriors_and_facts_of_the_prior_are_found_for_own_data(tmp_path, own_data):
    result = _run(
        tmp_path,
        f"data={own_data} design=reference ++batch.prior=[strong,weak] gaussian_tolerances=[0.5] "
        "limit_tolerances=[0.2] n_draws=20 n_burn_in=40 n_walkers=16 n_prior_draws=200",
    )
    statistics, curves = result["statistics"], result["curves"]
    assert statistics["target"].values.tolist() == ["exact", "cube_0.1", "gaussian_0.5"]
    assert statistics["reference_mean"].dims == ("prior", "target", "parameter")
    assert bool(np.isfinite(statistics["reference_mean"]).all())
    assert bool((statistics["reference_sd"] > 0.0).all())
    # A weak prior puts more of its draws where nine logistic values cannot come from, and more in far tails.
    fractions = statistics["prior_over_1e10_share"]
    assert float(fractions.sel(prior="weak")) > float(fractions.sel(prior="strong"))
    assert bool(
        ((statistics["prior_feasible_share"] > 0.0) & (statistics["prior_feasible_share"] < 1.0)).all()
    )
    assert bool(np.isnan(statistics["data_difference"]))
    assert curves["reference_z"].dims == ("prior", "target", "parameter", "index")
    assert curves["observation"].size == 9


@pytest.mark.slow
def test_chains_that_never_move_stop_the_case_and_say_what_to_change(tmp_path, own_data):
    with pytest.raises(SettingsError, match=r"no proposal of 2 chains.*step_size=500.*smaller step_size"):
        _run(
            tmp_path,
            f"data={own_data} method=abc_hmc tolerance=0.1 step_size=500 n_draws=10 n_warm_up=0 n_chains=2",
        )


def test_data_that_the_prior_cannot_generate_are_rejected_with_advice(tmp_path, own_data, monkeypatch):
    monkeypatch.setattr(run, "_MOST_REDRAWS", 20)
    far = tmp_path / "far.csv"
    far.write_text("x\n" + "\n".join(str(1e12 + 1e9 * i) for i in range(9)))
    with pytest.raises(
        SettingsError, match=r"none of 20 draws from the prior \(strong: prior_sd=1.*prior=own"
    ):
        _run(tmp_path, f"data={far} method=modified_abc n_draws=10 n_warm_up=0 n_chains=1")


def test_a_data_file_with_two_columns_is_rejected(tmp_path):
    path = tmp_path / "two.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(SettingsError, match=r"two.csv: has 2 columns, needs one column of observations"):
        STUDY.settings([f"data={path}"])
