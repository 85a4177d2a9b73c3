"""Errors between chains: exact coverage for few normal chains, and chains that hold one state for long."""

import numpy as np
import pytest

from auxmc.diagnostics.coda import effective_sample_size
from auxmc.diagnostics.independent_chains import error_between_chains, few_replicates, score_between_chains


@pytest.mark.layer("diagnostics", "L12")
@pytest.mark.parametrize("n_chains", [2, 4, 10])
def test_errors_and_scores_of_few_normal_chains_cover_as_those_of_many(n_chains: int) -> None:
    means = np.random.default_rng(n_chains).normal(3.0, 0.5, (200_000, n_chains))
    covered = np.abs(means.mean(axis=-1) - 3.0) < 2.0 * error_between_chains(means)
    assert covered.mean() == pytest.approx(0.9545, abs=0.0025)
    scores = score_between_chains(means, 3.0)
    for quantile, share in ((-2.0, 0.0228), (0.0, 0.5), (1.0, 0.8413), (3.0, 0.99865)):
        assert np.mean(scores < quantile) == pytest.approx(share, abs=0.006)


def test_error_of_many_chains_is_the_usual_one() -> None:
    means = np.random.default_rng(0).normal(size=(3, 1000))
    usual = means.std(axis=-1, ddof=1) / np.sqrt(1000)
    np.testing.assert_allclose(error_between_chains(means), usual, rtol=2e-3)
    np.testing.assert_allclose(error_between_chains(means) / usual, few_replicates(1000))
    np.testing.assert_allclose(
        score_between_chains(means, 0.1), (means.mean(axis=-1) - 0.1) / usual, rtol=0.02
    )


def test_the_error_of_a_single_chain_cannot_be_known() -> None:
    assert np.isnan(error_between_chains(np.ones((2, 1)))).tolist() == [True, True]
    assert np.isnan(score_between_chains(np.ones((2, 1)), 0.0)).tolist() == [True, True]


def test_chains_without_spread_are_as_far_from_another_value_as_can_be() -> None:
    assert score_between_chains([2.0, 2.0, 2.0], 1.0) == np.inf


@pytest.mark.layer("diagnostics", "L12")
def test_states_held_for_long_are_seen_between_chains_and_not_within() -> None:
    """A slow part that is held for a fifth of a chain, under fast noise of 25 times its variance; the mean is 0."""
    rng = np.random.default_rng(5)
    held = np.repeat(rng.normal(0.0, 0.1, (200, 4, 5)), 2000, axis=-1)
    chains = held + rng.normal(0.0, 0.5, held.shape)
    means = chains.mean(axis=-1)
    within = chains.std(axis=-1) / np.sqrt(effective_sample_size(chains))
    pooled = np.sqrt(np.sum(within**2, axis=-1)) / 4.0
    assert means.std() > 3.0 * within.mean()
    assert np.mean(np.abs(means.mean(axis=-1)) > 4.0 * pooled) > 0.25
    assert np.mean(np.abs(means.mean(axis=-1)) < 2.0 * error_between_chains(means)) > 0.9
    assert np.max(np.abs(score_between_chains(means, 0.0))) < 4.0
