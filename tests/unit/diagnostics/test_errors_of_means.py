"""Errors of means: autocorrelations against closed forms, coverage of few chains and of chains that hold one state."""

import numpy as np
import pytest

from auxmc import diagnostics


@pytest.mark.parametrize("n", [1, 2, 3, 17])
@pytest.mark.parametrize("rho", [0.9, -0.5])
def test_the_variance_of_a_mean_is_the_mean_of_the_covariances(rho, n):
    covariance = 1.7 * rho ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    assert diagnostics.variance_of_mean(1.7, rho ** np.arange(1, n), n) == pytest.approx(
        covariance.mean(), rel=1e-13
    )


def test_autocorrelations_are_the_sums_of_their_definition():
    x = np.random.default_rng(5).normal(size=(2, 13)).cumsum(axis=1)
    centred = x - x.mean(axis=1, keepdims=True)
    expected = [[(row[: 13 - k] * row[k:]).sum() / (row**2).sum() for k in range(13)] for row in centred]
    np.testing.assert_allclose(diagnostics.autocorrelations(x), expected, atol=1e-13)


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.9])
def test_the_median_time_of_autoregressions_is_right(autoregression, rho):
    times = diagnostics.autocorrelation_time(autoregression(6, rho, (60, 20_000)))
    assert np.median(times) == pytest.approx((1.0 + rho) / (1.0 - rho), rel=0.05)


def test_a_linear_map_changes_no_time_and_chains_do_not_mix(autoregression):
    x = autoregression(7, 0.7, (3, 500))
    times = diagnostics.autocorrelation_time(x)
    np.testing.assert_allclose(diagnostics.autocorrelation_time(1e6 - 1e3 * x), times, rtol=1e-6)
    np.testing.assert_allclose([float(diagnostics.autocorrelation_time(row)) for row in x], times, rtol=1e-12)


def test_a_constant_chain_has_no_time_and_an_alternating_one_a_short_one():
    assert np.isnan(diagnostics.autocorrelation_time(np.full(10, 3.3)))
    found = diagnostics.autocorrelation_time(np.stack([np.full(1000, 0.1), np.tile([1.0, -1.0], 500)]))
    assert np.isnan(found[0])
    assert found[1] < 0.01


@pytest.mark.parametrize("n_chains", [2, 4, 10])
def test_errors_of_few_normal_chains_cover_as_those_of_many(n_chains):
    means = np.random.default_rng(n_chains).normal(3.0, 0.5, (200_000, n_chains))
    covered = np.abs(means.mean(axis=-1) - 3.0) < 2.0 * diagnostics.error_between_chains(means)
    assert covered.mean() == pytest.approx(0.9545, abs=0.0025)


def test_states_held_for_long_are_seen_between_chains_and_not_within():
    """A slow part that is held for a fifth of a chain, under fast noise of 25 times its variance; the mean is 0."""
    rng = np.random.default_rng(5)
    held = np.repeat(rng.normal(0.0, 0.1, (200, 4, 5)), 2000, axis=-1)
    chains = held + rng.normal(0.0, 0.5, held.shape)
    means = chains.mean(axis=-1)
    within = chains.std(axis=-1) / np.sqrt(diagnostics.effective_sample_size(chains))
    pooled = np.sqrt(np.sum(within**2, axis=-1)) / 4.0
    assert means.std() > 3.0 * within.mean()
    assert np.mean(np.abs(means.mean(axis=-1)) > 4.0 * pooled) > 0.25
    assert np.mean(np.abs(means.mean(axis=-1)) < 2.0 * diagnostics.error_between_chains(means)) > 0.9
