"""The study of Gaussian process probit regression, run on a few rows of synthetic data."""

import math

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

from auxmc.driver.chains import Chains, RunContext
from auxmc.driver.units import Share, Units, read_pieces, write_piece
from auxmc.errors import UnitsMissing
from auxmc_pipeline.catalogue import load_study
from experiments.gp_probit import run
from experiments.gp_probit.claims import PM, SLICE, Path, at_most_ends, margins
from experiments.gp_probit.measure import estimator_statistics, expected_acceptance, recorded
from experiments.gp_probit.settings import MAIN_METHODS, main_case

STUDY = load_study("gp_probit")
COORDINATES = ["log_output_scale", "log_length_scale[width]", "log_length_scale[height]"]
TINY = ["preset=smoke", "n_draws=30", "n_chains=2", "n_importance=3", "batch_size=5", "n_batches=4"]


@pytest.fixture(scope="module")
def data_file(tmp_path_factory):
    rng = np.random.default_rng(3)
    features = rng.normal(size=(14, 2)).round(2)
    kinds = np.where(features.sum(axis=1) + 0.3 * rng.normal(size=14) > 0, "ripe", "green")
    path = tmp_path_factory.mktemp("data") / "fruit.csv"
    table = pd.DataFrame(features, columns=["width", "height"])
    table.assign(kind=kinds).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def run_tiny(data_file, tmp_path_factory):
    def run_one(*overrides):
        settings = STUDY.settings([*TINY, f"data={data_file}", "label=kind", *overrides])
        folder = tmp_path_factory.mktemp("checkpoints")
        return run.run(settings, RunContext("gp_probit", settings.seed, folder, "identity", "tiny"))

    return run_one


@pytest.fixture(scope="module")
def chains(run_tiny):
    return run_tiny("method=apm_mi_mh", "block_size=50")


@pytest.fixture(scope="module")
def estimates(run_tiny):
    sizes = ("n_reference_draws=2", "n_weights=60", "n_importance_grid=[1,10]", "n_fixed_step_draws=12")
    return run_tiny("design=estimator", *sizes)


def test_statistics_have_the_right_dimensions_and_are_finite(chains):
    statistics = chains["statistics"]
    assert statistics["ess"].dims == ("chain", "coordinate")
    assert statistics["cubic_operations"].dims == ("chain",)
    assert statistics["posterior_mean"].dims == ("coordinate",)
    assert statistics["coordinate"].values.tolist() == COORDINATES
    assert all(np.isfinite(statistics[name]).all() for name in statistics.data_vars)
    assert statistics["run_time"].attrs["units"] == "s"
    assert statistics["ess_per_1000_cubic_operations"].attrs["units"] == "draws per 1000 operations"
    assert {"rows_used", "features", "distinct_inputs"} <= set(statistics.data_vars)
    assert set(STUDY.sweep_quantities) <= set(statistics.data_vars)


@pytest.mark.slow
def test_a_case_in_pieces_gives_the_arrays_of_the_whole_one(data_file, tmp_path):
    sizes = ["method=apm_ss_mh", "n_chains=5", "n_draws=10", "batch_size=2", "n_batches=2", "block_size=7"]
    settings = STUDY.settings([*TINY, f"data={data_file}", "label=kind", *sizes])

    def result(name, units):
        context = RunContext("gp_probit", settings.seed, tmp_path / name, "identity", name, units)
        return run.run(settings, context)

    whole = result("whole", Units())
    for n_pieces in (3, 5):
        paths = []
        for piece in range(n_pieces):
            units, path = Units(Share(piece, n_pieces)), tmp_path / f"{piece}-of-{n_pieces}.npz"
            with pytest.raises(UnitsMissing):
                result(f"piece-{piece}-of-{n_pieces}", units)
            write_piece(path, units, "identity", {})
            paths.append(path)
        merged = result("merged", Units(given=read_pieces(paths, "identity")[0]))
        for group in ("posterior", "warmup_posterior", "sample_stats", "warmup_sample_stats"):
            for quantity, values in whole[group].items():
                np.testing.assert_array_equal(merged[group][quantity], values, strict=True, err_msg=quantity)
        # Whatever else is recorded follows from the draws, save what a clock measures.
        differing = {
            quantity
            for quantity, values in whole["statistics"].items()
            if not values.identical(merged["statistics"][quantity])
        }
        assert {quantity for quantity in differing if "run_time" not in quantity} == set()


def test_main_runs_of_the_published_length_are_cut_into_pieces():
    pieces = {c.name: c.settings.resources["pieces"] for c in STUDY.cases("paper")}
    assert {pieces[main_case(method)] for method in MAIN_METHODS} == {5}
    assert {c.settings.resources["pieces"] for c in STUDY.cases("quick")} == {1}


def test_efficiency_is_ess_over_the_cubic_operations_of_the_main_run(chains):
    statistics, stats_of_draws = chains["statistics"], chains["sample_stats"]
    n_cubic = stats_of_draws["n_cubic"].sum("draw").values
    np.testing.assert_array_equal(statistics["cubic_operations"].values, n_cubic)
    expected = 1000 * statistics["ess"].values / n_cubic[:, None]
    np.testing.assert_allclose(statistics["ess_per_1000_cubic_operations"].values, expected, rtol=1e-12)
    # Every iteration factorises at least one Newton matrix and three others.
    assert (stats_of_draws["n_cubic"] >= 4).all()


def test_draws_are_kept_as_arviz_expects_them(chains):
    assert chains["posterior"]["x"].dims == ("chain", "draw", "coordinate")
    assert chains["posterior"].sizes == {"chain": 2, "draw": 30, "coordinate": 3}
    assert chains["warmup_posterior"].sizes["draw"] == 20
    kept = set(chains["sample_stats"].data_vars)
    assert {"accepted_position", "accepted_auxiliary", "n_cubic", "lp", "step_size"} <= kept
    assert set(np.unique(chains["observed_data"]["label"])) == {-1.0, 1.0}
    features = chains["constant_data"]["features"]
    np.testing.assert_allclose(features.mean("row"), 0.0, atol=1e-12)
    np.testing.assert_allclose(features.std("row"), 1.0, rtol=1e-12)


def test_the_step_size_adapts_in_the_warm_up_alone(chains):
    warm_up = chains["warmup_sample_stats"]
    main = chains["sample_stats"]["step_size"].values
    for chain in range(2):
        step = 0.5
        for batch in range(4):
            part = warm_up.isel(chain=chain, draw=slice(5 * batch, 5 * batch + 5))
            np.testing.assert_allclose(part["step_size"].values, step, rtol=1e-12)
            rate = float(part["accepted_position"].mean())
            factor = (4.025, 3.05, 2.075, 1.1)[batch]
            step *= 1 / factor if rate < 0.15 else factor if rate > 0.30 else 1.0
        np.testing.assert_allclose(main[chain], step, rtol=1e-12)
        adapted = chains["statistics"]["adapted_step_size"].values[chain]
        assert adapted == main[chain, 0]


def test_the_main_run_continues_where_the_warm_up_ended(chains):
    last = chains["warmup_posterior"]["x"].values[:, -1]
    first = chains["posterior"]["x"].values[:, 0]
    accepted = chains["sample_stats"]["accepted_position"].values[:, 0]
    np.testing.assert_array_equal((last == first).all(axis=1), ~accepted)


@pytest.mark.slow
def test_the_size_of_the_blocks_does_not_change_the_draws(chains, run_tiny):
    again = run_tiny("method=apm_mi_mh", "block_size=7")
    for group in ("posterior", "warmup_posterior", "sample_stats"):
        xr.testing.assert_equal(again[group], chains[group])


@pytest.mark.slow
def test_slice_methods_have_their_own_warm_up_and_adapt_nothing(run_tiny):
    result = run_tiny("method=apm_ss_ss", "n_warm_up_slice=6", "n_draws=20")
    assert result["warmup_posterior"].sizes["draw"] == 6
    assert result["posterior"].sizes["draw"] == 20
    assert (result["sample_stats"]["step_size"] == 4.0).all()
    assert (result["statistics"]["longest_run"] == 1).all()
    assert (result["curves"]["histogram_draws"] == 8).all()
    assert int(result["curves"]["histogram"].sum()) == 2 * 8


def test_curves_end_at_the_statistics(chains):
    statistics, curves = chains["statistics"], chains["curves"]
    last = curves.isel(end=-1)
    mean_cubic = float(statistics["cubic_operations"].mean())
    assert float(last["cubic_operations_so_far"]) == pytest.approx(mean_cubic)
    assert float(last["run_time_so_far"]) == pytest.approx(float(statistics["run_time"].mean()))
    expected = statistics["psrf"].mean().item()
    assert float(last["psrf"].sel(aggregate="mean over coordinates")) == pytest.approx(expected)
    assert (last["longest_run_so_far"] == statistics["longest_run"]).all()
    assert int(curves["histogram"].sum()) == 2 * 30


@pytest.mark.slow
def test_small_steps_are_tried_from_posterior_draws(estimates):
    accepted = estimates["statistics"]["acceptance_fixed_step"]
    assert accepted.dims == ("step_size", "chain")
    np.testing.assert_array_equal(accepted["step_size"], [0.001, 0.01, 0.1])
    # With so few data the estimate has little noise, and such a step hardly changes the density.
    assert float(accepted.sel(step_size=0.001).mean()) > 0.2
    assert (estimates["statistics"]["longest_run_fixed_step"] <= 12).all()


def test_noise_of_the_estimate_falls_with_the_number_of_importance_samples(estimates):
    statistics = estimates["statistics"]
    noise = statistics["sd_log_estimate"]
    assert noise.dims == ("n_importance", "chain", "reference")
    assert float(noise.sel(n_importance=10).mean()) < float(noise.sel(n_importance=1).mean())
    for name in ("acceptance_mi", "acceptance_pm_mh", "acceptance_apm_mh"):
        assert ((statistics[name] >= 0) & (statistics[name] <= 1)).all()
    assert (statistics["newton_steps"] >= 1).all()
    assert estimates["posterior"]["x"].dims == ("chain", "draw", "coordinate")


@pytest.mark.parametrize("sd", [0.5, 1.5])
def test_expected_acceptance_is_that_of_log_normal_noise(sd):
    # Quantiles in place of draws: no chance in the test.
    normal = stats.norm.ppf((np.arange(40_000) + 0.5) / 40_000)
    noise = sd * normal
    exact = 2 * stats.norm.cdf(-sd / math.sqrt(2))
    assert expected_acceptance(noise, noise) == pytest.approx(exact, abs=1e-3)
    # A proposal whose density is higher by a factor is accepted more often, by the same distribution.
    shift = 0.7
    spread = math.sqrt(2) * sd
    mean = shift - sd**2
    gain = math.exp(mean + sd**2) * stats.norm.cdf(-(mean + spread**2) / spread)
    higher = gain + stats.norm.cdf(mean / spread)
    assert expected_acceptance(noise, shift + noise) == pytest.approx(higher, abs=1e-3)


def test_expected_acceptance_agrees_with_all_pairs():
    rng = np.random.default_rng(2)
    current, proposed = rng.normal(size=7), rng.normal(size=7)
    e, f = np.exp(current), np.exp(proposed)
    pairs = [min(e[i], f[j]) for i in range(7) for j in range(7) if i != j]
    assert expected_acceptance(current, proposed) == pytest.approx(sum(pairs) / (6 * e.sum()), rel=1e-12)
    assert expected_acceptance(current, np.full(7, -np.inf)) == 0.0


def test_acceptance_with_fixed_auxiliaries_is_one_where_the_density_does_not_change():
    log_weights = np.random.default_rng(5).normal(size=(1, 1, 40))
    found = estimator_statistics(log_weights, log_weights, np.full((1, 1), 8), [1, 4])
    np.testing.assert_allclose(found["acceptance_apm_mh"], 1.0)


def test_a_chain_that_never_starts_is_an_error():
    draws = {"log_estimate": np.array([[[0.0, 0.0], [-np.inf, -np.inf]]])}
    with pytest.raises(ValueError, match=r"chains \[1\] found no start"):
        recorded(Chains(draws, {"scale": np.ones(1)}, 0.0, 1.0), ("a",))


def test_margins_are_above_one_where_all_statements_hold_alone():
    """Coordinates: all hold; SS+MH below PM MH; SS+SS above PM MH."""
    pm, mi, ss, of_slice = (np.array(row) for row in ([2, 2, 2], [3, 3, 3], [2.5, 1, 4], [1, 0.5, 2.5]))
    np.testing.assert_allclose(margins(pm, mi, ss, of_slice), [1.25, 0.5, 0.8])


def test_most_ends_are_those_of_the_second_half_at_equal_cost():
    ends = np.arange(1.0, 21.0)
    # Of the last ten ends, PM MH is above the other at eight, at equal cost, and below it at two.
    own = np.where(ends <= 12, 1.01, 1.4)
    pm = Path(ends, ends, own, np.tile(own, (3, 1)))
    other = Path(2.0 * ends, ends, np.full(20, 1.1), np.full((3, 20), 1.1))
    assert at_most_ends({PM: pm, SLICE: other}) == pytest.approx(math.log(4.0))
    below = pm._replace(r_hat=np.where(ends <= 14, 1.01, 1.4))
    assert at_most_ends({PM: below, SLICE: other}) < 0.0
    assert pm.of(np.array([0, 1, 2])) is pm
    np.testing.assert_array_equal(below.of(np.array([0, 2])).r_hat, own)
