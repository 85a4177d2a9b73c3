"""Estimates of log normalisers: known weights, shifts, pooling, bounds, errors, messages."""

import numpy as np
import pytest

from auxmc.diagnostics.tempered_evidence import (
    annealed_evidence,
    bidirectional_bounds,
    importance_tempering,
    log_evidence,
    log_evidence_error,
    running_log_evidence,
    weighted_moments,
)

RNG = np.random.default_rng(8)
TARGET, BASE = RNG.normal(size=(4, 50)), RNG.normal(size=(4, 50)) + 0.5


def test_evidence_is_the_log_ratio_of_sums_whatever_the_scale():
    expected = np.log(np.exp(TARGET).sum() / np.exp(BASE).sum()) + 2.0
    assert log_evidence(TARGET + 2.0, BASE) == pytest.approx(expected, rel=1e-14)
    assert log_evidence(TARGET - 4998.0, BASE + 3000.0) == pytest.approx(expected - 8000.0, rel=1e-14)


def test_running_estimates_pool_chains_and_end_at_the_whole():
    running = running_log_evidence(TARGET, BASE)
    assert running.shape == (50,)
    for n in (1, 17, 50):
        assert running[n - 1] == pytest.approx(log_evidence(TARGET[:, :n], BASE[:, :n]), rel=1e-13)


def test_batches_of_a_single_chain_stand_for_chains():
    chains = TARGET.reshape(1, -1), BASE.reshape(1, -1)
    batched = log_evidence_error(*chains, n_batches=4)
    assert batched == pytest.approx(log_evidence_error(TARGET, BASE), rel=1e-12)
    assert np.isnan(log_evidence_error([[0.0, 1.0]], [[0.0, 0.0]]))


def test_weighted_moments_are_those_of_repeated_points():
    points = RNG.normal(size=(6, 3))
    counts = np.array([1, 2, 3, 1, 5, 2])
    repeated = np.repeat(points, counts, axis=0)
    found = weighted_moments(np.log(counts) - 900.0, points)
    np.testing.assert_allclose(found.mean, repeated.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.covariance, np.cov(repeated.T, bias=True), rtol=1e-11)


def test_annealed_evidence_and_its_error():
    logs = np.log([1.0, 2.0, 3.0, 6.0]) + 400.0
    found = annealed_evidence(logs)
    assert found.value == pytest.approx(np.log(3.0) + 400.0, rel=1e-14)
    relative = np.array([1.0, 2.0, 3.0, 6.0]) / 3.0
    assert found.standard_error == pytest.approx(relative.std(ddof=1) / 2.0, rel=1e-12)
    assert np.isnan(annealed_evidence([0.3]).standard_error)
    assert annealed_evidence([-np.inf, 0.0]).value == pytest.approx(-np.log(2.0))


def test_bounds_of_constant_weights_meet_and_others_are_in_order():
    truth = 2.0 + np.arange(3.0)
    exact = bidirectional_bounds(np.tile(truth[:, None], 5), -np.tile(truth[:, None], 7))
    for bound in exact:
        np.testing.assert_allclose(bound, truth, rtol=1e-14)
    forward, reverse = RNG.normal(size=(6, 20)) - 1.0, 3.0 * RNG.normal(size=(6, 20))
    found = bidirectional_bounds(forward, reverse)
    assert np.all(found.upper_arithmetic >= found.upper)
    np.testing.assert_allclose(found.upper, -np.log(np.exp(reverse).mean(axis=-1)), rtol=1e-12)
    np.testing.assert_allclose(found.upper_arithmetic, np.log(np.exp(-reverse).mean(axis=-1)), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: log_evidence([], []), "log_target_weights is empty"),
        (lambda: log_evidence([0.0], [0.0, 1.0]), r"must have one shape, got \(1,\) and \(2,\)"),
        (lambda: log_evidence([np.nan, 0.0], [0.0, 0.0]), "log_target_weights: 1 of 2 values are NaN"),
        (lambda: log_evidence([0.0], [np.inf]), "log_base_weights: 1 of 1 values are NaN or plus infinity"),
        (lambda: running_log_evidence([0.0], [0.0]), r"must be \[chain, draw\], got shape \(1,\)"),
        (lambda: weighted_moments([0.0], np.zeros((2, 3))), r"positions must be log_weights' shape \(1,\)"),
        (lambda: weighted_moments([-np.inf], np.zeros((1, 3))), "all weights are zero"),
    ],
)
def test_weights_that_make_no_estimate_are_rejected(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_importance_tempering_combines_temperatures_by_their_effective_sizes():
    """Normal states of several widths for a standard normal target: equation 5.55 written out."""
    rng = np.random.default_rng(3)
    sds = np.array([1.0, 1.5, 4.0])
    levels = rng.integers(0, 3, 30_000)
    x = sds[levels] * rng.standard_normal(levels.size)
    logs = -0.5 * x**2 + 0.5 * (x / sds[levels]) ** 2
    values = np.stack([x, x**2], axis=1)
    found = importance_tempering(logs + np.array([0.0, 7.0, -300.0])[levels], levels, values)
    weights, estimates = [], []
    for level in range(3):
        own = np.exp(logs[levels == level])
        weights.append(own.sum() ** 2 / np.square(own).sum())
        estimates.append(own @ values[levels == level] / own.sum())
    np.testing.assert_allclose(found, np.average(estimates, axis=0, weights=weights), rtol=1e-10)
    np.testing.assert_allclose(found, [0.0, 1.0], atol=0.05)


def test_importance_tempering_leaves_out_temperatures_without_a_weight():
    values = np.array([[1.0], [2.0]])
    assert importance_tempering([-np.inf, 0.0], [0, 1], values).tolist() == [2.0]
    assert np.isnan(importance_tempering([-np.inf, -np.inf], [0, 1], values)).all()
    with pytest.raises(ValueError, match=r"log_weights and levels must be \[draw\]"):
        importance_tempering([0.0, 0.0], [0], values)
