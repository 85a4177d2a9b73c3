"""Labelled statistics of chains: synthetic draws whose moments are known."""

import numpy as np
import pytest
import xarray as xr

from auxmc.driver.chains import Chains
from auxmc_pipeline import chain_statistics
from auxmc_pipeline.chain_statistics import (
    arviz_groups,
    chain_moments,
    error_of_mean,
    fraction_of_time,
    histogram,
    labelled_draws,
    longest_run,
    over_chains,
    pooled,
    scale_reduction,
    thinned,
    thinned_r_hat,
    with_units,
    without_sweep,
)

N_CHAINS, N_DRAWS = 4, 2000
MEAN, SD = np.array([1.0, -3.0]), np.array([2.0, 0.5])


def chains(axes, n_chains):
    shape = (*(len(values) for values in axes.values()), n_chains, N_DRAWS)
    rng = np.random.default_rng(5)
    draws = {
        "x": MEAN + SD * rng.normal(size=(*shape, 2)),
        "accepted": np.ones(shape, bool),
        "n_gradients": np.full(shape, 3, np.int8),
    }
    return Chains(draws, axes, compile_s=1.0, run_s=8.0)


@pytest.fixture(scope="module")
def draws():
    made = chains({"step_size": np.array([0.1, 0.2])}, N_CHAINS)
    return labelled_draws(made, {"coordinate": ["a", "b"]}, {"x": ["coordinate"]})


def test_draws_have_the_dims_of_sweep_chain_and_draw(draws):
    assert draws["x"].dims == ("step_size", "chain", "draw", "coordinate")
    assert draws["accepted"].dims == ("step_size", "chain", "draw")
    assert draws["coordinate"].values.tolist() == ["a", "b"]
    assert draws["chain"].values.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["chain", "start"])
def test_chains_that_are_sweep_points_become_the_dim_chain(name):
    made = chains({"step_size": np.array([0.1, 0.2]), name: np.arange(3.0)}, 1)
    found = labelled_draws(made, {}, {"x": ["coordinate"]}, chain=name)
    assert found["x"].dims == ("step_size", "chain", "draw", "coordinate")
    assert found["chain"].values.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(found["x"], made.draws["x"][:, :, 0])


def test_moments_of_independent_draws_are_those_of_their_distribution(draws):
    by_chain = chain_moments(draws["x"])
    assert by_chain["ess"].dims == ("step_size", "chain", "coordinate")
    np.testing.assert_allclose(by_chain["ess"], N_DRAWS, rtol=0.3)
    names = ("posterior_mean", "posterior_sd", "mcse_mean", "mcse_sd", "bulk_ess", "tail_ess", "r_hat")
    found = pooled(draws["x"], *names)
    assert all(array.dims == ("step_size", "coordinate") for array in found.values())
    np.testing.assert_allclose(found["posterior_sd"], np.broadcast_to(SD, (2, 2)), rtol=0.05)
    assert (np.abs(found["posterior_mean"] - MEAN) < 6.0 * found["mcse_mean"]).all()
    np.testing.assert_allclose(found["r_hat"], 1.0, atol=0.01)
    np.testing.assert_allclose(thinned_r_hat(draws["x"], 500), 1.0, atol=0.02)
    error = error_of_mean(found["posterior_sd"], by_chain["ess"])
    np.testing.assert_allclose(error, found["mcse_mean"], rtol=0.2)


def test_chains_apart_have_a_large_scale_reduction(draws):
    agree = scale_reduction(draws["x"], "coordinate")
    assert agree["psrf_multivariate"].dims == ("step_size",)
    apart = scale_reduction(draws["x"] + 10.0 * draws["chain"], "coordinate")
    for name in ("psrf", "psrf_upper", "psrf_multivariate"):
        assert (agree[name] < 1.05).all()
        assert (apart[name] > 3.0).all()
    assert "psrf_multivariate" not in scale_reduction(draws["x"])


def test_an_error_of_a_mean_is_missing_where_no_chain_moved():
    ess = xr.DataArray([[0.0, 40.0], [0.0, 60.0]], dims=("chain", "coordinate"))
    found = error_of_mean(xr.DataArray([1.0, 2.0], dims="coordinate"), ess)
    assert np.isnan(found[0])
    assert float(found[1]) == 0.2


def test_a_state_is_the_same_if_all_its_coordinates_are():
    series = xr.DataArray([[[1.0, 1.0], [1.0, 2.0], [1.0, 2.0]]], dims=("chain", "draw", "coordinate"))
    assert longest_run(series, "coordinate").values.tolist() == [2]
    assert longest_run(series).values.tolist() == [[3, 2]]


def test_time_is_shared_by_work():
    seconds = fraction_of_time(8.0, xr.DataArray([1, 3], dims="chain"))
    assert seconds.values.tolist() == [2.0, 6.0]


def test_histograms_count_the_draws_of_each_chain():
    series = xr.DataArray([[0.1, 0.2, 1.5], [1.1, 1.2, 7.0]], dims=("chain", "draw"))
    found = histogram(series, np.array([0.0, 1.0, 2.0]))
    assert found.values.tolist() == [[2, 1], [0, 2]]
    assert found["bin"].values.tolist() == [0.5, 1.5]


def test_thinned_draws_are_evenly_spaced():
    data = xr.DataArray(np.arange(10), dims="draw")
    assert thinned(data, 4).values.tolist() == [0, 3, 6, 9]
    assert thinned(data, 4, last=True).values.tolist() == [2, 5, 8]
    assert thinned(data, 20).values.tolist() == list(range(10))
    assert thinned(data, 4)["draw"].values.tolist() == [0, 1, 2, 3]


def test_a_function_of_one_chain_array_may_have_several_results(draws):
    low, high = over_chains(lambda x: (x.min(), x.max()), draws["x"], [], [], one_by_one=True)
    xr.testing.assert_equal(low, draws["x"].min(["chain", "draw"]))
    xr.testing.assert_equal(high, draws["x"].max(["chain", "draw"]))


def test_groups_are_those_of_arviz_and_hold_few_numbers(draws):
    groups = arviz_groups(draws, ["x"], prefix="warmup_")
    assert set(groups) == {"warmup_posterior", "warmup_sample_stats"}
    assert groups["warmup_posterior"]["x"].dims == ("chain", "draw", "step_size", "coordinate")
    names = "accepted n_gradients chain draw step_size"
    assert set(groups["warmup_sample_stats"].variables) == set(names.split())
    assert arviz_groups(draws, ["x"], most=draws["x"].size)
    assert arviz_groups(draws, ["x"], most=draws["x"].size - 1) == {}


def test_units_are_those_of_the_project_and_of_the_study():
    found = with_units({"ess": 3.0, "misfit": 1.0, "n_failures": 0}, {"n_failures": "proposals"})
    units = {name: array.attrs["units"] for name, array in found.data_vars.items()}
    assert units == {"ess": "draws", "misfit": "", "n_failures": "proposals"}
    assert chain_statistics.UNITS["ess"] == "draws"


def test_a_sweep_over_one_point_leaves_chains_without_it():
    made = chains({"step_size": np.array([0.1])}, N_CHAINS)
    found = labelled_draws(without_sweep(made), {}, {"x": ["coordinate"]})
    assert found["x"].dims == ("chain", "draw", "coordinate")
    with pytest.raises(ValueError, match="step_size has 2 values"):
        without_sweep(chains({"step_size": np.array([0.1, 0.2])}, 1))
