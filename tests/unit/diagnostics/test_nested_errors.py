"""Nested sampling's evidence by simulated shrinkage: its error covers the truth, and bad input is named."""

import math

import numpy as np
import pytest

from auxmc.diagnostics.dead_points import nested_evidence
from auxmc.diagnostics.nested_errors import simulated_nested_evidence


def test_simulated_shrinkage_covers_where_the_information_is_small():
    """Trap 9: sqrt(information / live points) held the truth in 58 % and 91 % where 68 and 95 were said."""
    n_live, n_dead, width = 50, 60, 0.6
    exact = math.log(width * -math.expm1(-1.0 / width))  # of the likelihood exp(-X / width) at prior mass X
    random = np.random.default_rng(1)
    new, old = [], []
    for seed in range(400):
        masses = np.exp(np.cumsum(-random.exponential(size=n_dead)) / n_live)
        live = -masses[-1] * random.random(n_live) / width
        found = simulated_nested_evidence(-masses / width, n_live, live, 200, seed)
        before = nested_evidence(-masses / width, n_live, live, estimator="trapezoid")
        new.append(abs(found.value - exact) / found.standard_error)
        old.append(abs(before.value - exact) / before.standard_error)
    assert 0.63 < np.mean(np.array(new) < 1.0) < 0.73
    assert 0.92 < np.mean(np.array(new) < 2.0) < 0.98
    assert np.mean(np.array(old) < 1.0) < 0.62


@pytest.mark.parametrize(
    ("dead", "live", "n_draws", "message"),
    [
        ([0.0, 1.0], [1.0, 2.0], 1, "n_draws must be at least 2, got 1"),
        ([1.0, 0.0], [1.0, 2.0], 2, "log_likelihoods must be a vector that does not decrease"),
        ([0.0, 1.0], [1.0], 2, r"live_log_likelihoods must be \[2\], as many as live points, got \(1,\)"),
    ],
)
def test_points_that_are_no_run_are_rejected(dead, live, n_draws, message):
    with pytest.raises(ValueError, match=message):
        simulated_nested_evidence(dead, 2, live, n_draws)
