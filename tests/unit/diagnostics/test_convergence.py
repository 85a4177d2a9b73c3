"""Rank-normalised diagnostics on series with known properties."""

import numpy as np
import pytest
import xarray as xr
from arviz_stats.base.array import array_stats

from auxmc.diagnostics.convergence import (
    bulk_ess,
    mcse_mean,
    mcse_sd,
    r_hat_limit,
    rank_r_hat,
    summarise_chains,
    tail_ess,
)

FUNCTIONS = [bulk_ess, tail_ess, rank_r_hat, mcse_mean, mcse_sd, summarise_chains]


@pytest.mark.parametrize(
    ("coefficient", "tolerance"),
    [(-0.5, 0.05), (0.0, 0.05), (0.9, 0.05), pytest.param(0.99, 0.10, marks=pytest.mark.slow)],
)
def test_bulk_size_and_errors_of_an_autoregression(autoregression, coefficient, tolerance):
    n_draws = 5000 if coefficient == 0.99 else 1500
    chains = autoregression(1, coefficient, (60, 4, n_draws))
    n_total = 4 * n_draws
    exact = n_total * (1.0 - coefficient) / (1.0 + coefficient)
    exact_squares = n_total * (1.0 - coefficient**2) / (1.0 + coefficient**2)
    assert np.median(bulk_ess(chains)) == pytest.approx(exact, rel=tolerance)
    assert np.median(mcse_mean(chains)) == pytest.approx(exact**-0.5, rel=tolerance)
    assert np.median(mcse_sd(chains)) == pytest.approx((2.0 * exact_squares) ** -0.5, rel=tolerance)
    # Eight half chains with exact / 8 effective draws each: R-hat is about 1 + 4 / exact.
    assert np.median(rank_r_hat(chains)) < 1.0 + 8.0 / exact


def test_constant_chains_say_nothing_about_their_error_and_a_single_one_has_no_r_hat(autoregression):
    summary = summarise_chains(np.full((4, 100), 0.1))
    assert summary.bulk_ess == summary.tail_ess == 0.0
    assert np.isnan([summary.r_hat, summary.mcse_mean, summary.mcse_sd]).all()
    assert np.isposinf(rank_r_hat(np.repeat([[0.0], [1.0], [2.0]], 50, axis=1)))
    summary = summarise_chains(autoregression(7, 0.0, (1, 2000)))
    assert np.isnan(summary.r_hat)
    assert summary.bulk_ess > 1500


def test_many_quantities_equal_each_alone(autoregression):
    chains = autoregression(9, 0.5, (2, 3, 4, 200))
    together = summarise_chains(chains)
    for field, values in together._asdict().items():
        assert values.shape == (2, 3)
        assert values[1, 2] == getattr(summarise_chains(chains[1, 2]), field)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_chains_that_cannot_be_judged_are_rejected(function):
    chains = np.zeros((4, 100))
    chains[3, 17] = np.nan
    with pytest.raises(ValueError, match="chain 3, draw 17"):
        function(chains)
    with pytest.raises(ValueError, match="at least 4 draws"):
        function(np.zeros((4, 3)))
    draws = np.random.default_rng(11).normal(size=(1000, 4))
    with pytest.raises(ValueError, match=r"got shape \(1000, 4\), more chains than draws. Give chains.T"):
        function(draws)
    function(xr.DataArray(draws, dims=("chain", "draw")))


def test_draws_with_their_axes_in_another_order_are_rejected():
    """Eight chains of five numbers must not pass for five draws of 1000 chains: R-hat would be 1 whatever they do."""
    draws = np.random.default_rng(0).normal(size=(8, 1000, 5))
    with pytest.raises(ValueError, match=r"got shape \(8, 1000, 5\).*np\.moveaxis\(chains, -1, 0\)"):
        summarise_chains(draws)
    right = summarise_chains(np.moveaxis(draws, -1, 0))
    assert right.r_hat.shape == (5,)
    labelled = xr.DataArray(draws, dims=("chain", "draw", "dim"))
    assert np.array_equal(summarise_chains(labelled).r_hat, right.r_hat)


def _awkward():
    """Thirty arrays [chain, draw] of wide or narrow values, ties, few draws, drifts and chains that disagree."""
    noise = np.random.default_rng(0).normal(size=(4, 200))
    slow = np.cumsum(noise, axis=1)
    moved, far = noise + np.array([[1.0], [0.0], [0.0], [0.0]]), noise.copy()
    far[2, 50] = -1e17
    moved_far = moved.copy()
    moved_far[2, 50] = -1e17
    stuck = noise.copy()
    stuck[1] = stuck[1, 0]
    bases = {"noise": noise, "slow": slow, "moved": moved, "far": far, "moved far": moved_far, "stuck": stuck}
    arrays = {
        f"{name}, {how}": function(array)
        for name, array in bases.items()
        for how, function in (
            ("as it is", lambda x: x),
            ("growing", lambda x: np.arctan(x) ** 61),
            ("tiny", lambda x: 1e-300 * x),
            ("rounded", np.round),
        )
    }
    return arrays | {
        "odd": noise[:, :199],
        "four draws": noise[:, :4],
        "one chain": noise[:1],
        "two values": (noise > 1.0).astype(float),
        "powers": np.exp(50.0 * noise),
        "shifted": 1e12 + noise,
    }


@pytest.mark.parametrize("name", _awkward())
def test_awkward_arrays_have_the_ranks_of_arviz(name):
    array = _awkward()[name]
    assert bulk_ess(array) == pytest.approx(array_stats.ess(array, method="bulk"), rel=1e-12)
    expected = array_stats.ess(array, method="tail", prob=(0.05, 0.95))
    assert tail_ess(array) == pytest.approx(expected, rel=1e-12)
    if len(array) > 1:
        assert rank_r_hat(array) == pytest.approx(array_stats.rhat(array, method="rank"), rel=1e-12)


def test_stationary_chains_keep_below_the_limit_of_r_hat(autoregression):
    """Each of 30 runs of five quantities is above its limit with probability 0.01 at most: three are with 0.003."""
    chains = autoregression(12, 0.8, (30, 5, 4, 250))
    r_hat = rank_r_hat(chains)
    assert np.mean(r_hat.max(axis=1) > 1.01) > 0.9
    assert np.sum(np.any(r_hat > r_hat_limit(chains, 5), axis=1)) <= 2
    chains[0, :, 0] += 2.0 * np.std(chains)
    assert np.all(rank_r_hat(chains[0]) > r_hat_limit(chains[0], 5))
