"""Change points: found where there are, not where there are none."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from auxmc.diagnostics.stream_changes import change_points, chunk_scores
from experiments.streaming_evidence.model import rows


def mixture_scores(stream, n_rows, size, n_components=5):
    """Predictive scores of a mixture of round clusters that is fitted to the rows before each chunk."""
    data, rng = rows(stream, n_rows), np.random.default_rng(1)
    means, variances = rng.normal(size=(n_components, 2)), np.full(n_components, 2.0)
    weights = np.full(n_components, 1.0 / n_components)

    def log_terms(rows):
        squares = np.sum((rows[:, None, :] - means[None]) ** 2, axis=2)
        return np.log(weights / (2 * np.pi * variances))[None] - 0.5 * squares / variances[None]

    scores = []
    for begin in range(0, len(data), size):
        scores.append(np.mean(logsumexp(log_terms(data[begin : begin + size]), axis=1)))
        past = data[: begin + size]
        sample = past[rng.integers(0, len(past), 1000)]
        for _ in range(5):
            fractions = softmax(log_terms(sample), axis=1)
            totals = fractions.sum(axis=0)
            weights = totals / totals.sum()
            means = fractions.T @ sample / totals[:, None]
            squares = np.sum((sample[:, None, :] - means[None]) ** 2, axis=2)
            variances = np.sum(fractions * squares, axis=0) / (2 * totals)
    return np.array(scores), np.full(len(scores), size)


@pytest.mark.parametrize("size", [250, 500])
def test_both_changes_of_the_non_stationary_stream_are_found_within_a_chunk(size):
    found = change_points(*mixture_scores("non_stationary", 30_000, size))
    for change in (1000, 10_000):
        assert any(abs(point.first_row - (change + 1)) <= size for point in found)
    others = [p for p in found if min(abs(p.first_row - 1001), abs(p.first_row - 10_001)) > size]
    assert len(others) <= 1


def test_a_shuffled_stream_has_at_most_one_false_alarm():
    assert len(change_points(*mixture_scores("shuffled", 100_000, 500))) <= 1


def test_false_alarms_are_rare_for_scores_of_independent_rows():
    # Scores of a normal distribution of two columns: -|x|^2 / 2, whose standard deviation is 1. Twenty million rows.
    scores = -np.random.default_rng(5).chisquare(1000, size=40_000) / 1000
    assert len(change_points(scores, np.full(len(scores), 500))) <= 0.2 * 20_000_000 / 1e5
    # A rule without any alarm would pass that.
    assert change_points([*scores[:20], scores.mean() - 8.0 / np.sqrt(500)], [500] * 21)


def test_a_small_lasting_drop_adds_up():
    scores = np.random.default_rng(6).normal(size=200) / np.sqrt(500)
    scores[100:] -= 3.0 / np.sqrt(500)
    found = change_points(scores, np.full(200, 500))
    assert found
    assert found[0].kind == "drift"
    assert 100 < found[0].chunk < 115


def test_a_rise_is_no_change_and_a_chunk_without_probability_is_one():
    assert change_points(np.linspace(-3.0, -1.0, 50), np.full(50, 500)) == []
    found = change_points([-1.0, -1.1, -np.inf, -1.0, -1.0], [500] * 5)
    assert [(point.chunk, point.kind) for point in found] == [(2, "jump")]


def test_scores_come_from_the_running_record():
    scores, counts = chunk_scores([-10.0, -40.0, -45.0], [5, 15, 20])
    assert counts.tolist() == [5, 10, 5]
    assert scores.tolist() == [-2.0, -3.0, -1.0]
    assert chunk_scores([-40.0, -45.0], [15, 20], -10.0, 5).per_row.tolist() == [-3.0, -1.0]
