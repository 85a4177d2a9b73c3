"""Perfect annealing: moments against their definition, ladders against the fraction they keep."""

import numpy as np
import pytest

from auxmc.numerics.schedules import linear_schedule
from experiments.estimator_illustrations.model.gaussian_mean import HUNDRED_OBSERVATIONS as MODEL
from experiments.estimator_illustrations.model.perfect_annealing import annealed_moments, limit_ladder


def log_fraction(step: float, at: float) -> float:
    middle, end = MODEL.log_normaliser(at + step), MODEL.log_normaliser(at + 2.0 * step)
    return float(2.0 * middle - MODEL.log_normaliser(at) - end)


@pytest.mark.parametrize(
    ("n", "mean", "variance", "gap", "tolerance"),
    [
        (10, -22.321072, 451.0347, 2.627463, 1e-4),
        (100, -1.575898, 5.625522, 0.918955, 1e-5),
        (1000, -0.128486, 0.273065, 0.121, 1e-5),
    ],
)
def test_moments_on_the_canonical_example(
    n: int, mean: float, variance: float, gap: float, tolerance: float
) -> None:
    found = MODEL.annealed_moments(linear_schedule(n))
    assert found.forward_mean - MODEL.log_evidence == pytest.approx(mean, abs=tolerance)
    assert found.forward_variance == pytest.approx(variance, abs=tolerance)
    assert -found.reverse_mean - MODEL.log_evidence == pytest.approx(gap, abs=1e-5)


def test_one_interval_is_a_draw_of_the_base() -> None:
    found = annealed_moments([0.0, 1.0], [-2.0, 5.0], [9.0, 1.0])
    assert found == (-2.0, 9.0, -5.0, 1.0)


@pytest.mark.parametrize(
    ("fraction", "n_temperatures", "first"),
    [(0.5, 4, 0.0084496), (0.9, 14, 0.0019535), (0.99, 48, 0.00050700)],
)
def test_ladders_keep_the_fraction(fraction: float, n_temperatures: int, first: float) -> None:
    ladder = limit_ladder(lambda b: float(MODEL.log_normaliser(b)), fraction)
    assert ladder[0] == 0.0
    assert ladder[-1] == 1.0
    assert np.all(np.diff(ladder) > 0.0)
    assert ladder.size - 1 == n_temperatures
    assert ladder[1] == pytest.approx(first, abs=1e-7)
    fractions = np.exp(
        [log_fraction(step, at) for step, at in zip(np.diff(ladder), ladder[:-1], strict=True)]
    )
    np.testing.assert_allclose(fractions[:-1], fraction, rtol=1e-9)
    assert fractions[-1] >= fraction


def test_an_easy_path_is_taken_at_once() -> None:
    assert limit_ladder(lambda b: 0.1 * b, 0.9).tolist() == [0.0, 1.0]


def test_what_is_no_ladder_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"ladder must rise strictly from 0 to 1, got 0 to 0\.5"):
        annealed_moments([0.0, 0.5], [0.0, 0.0], [0.0, 0.0])
    with pytest.raises(
        ValueError, match=r"vectors of one length, at least 2, got shapes \[2\], \[1\] and \[2\]"
    ):
        annealed_moments([0.0, 1.0], [0.0], [0.0, 0.0])
    with pytest.raises(ValueError, match=r"target_share must be above 0 and below 1, got 1\.0"):
        limit_ladder(lambda b: b, 1.0)
    with pytest.raises(ValueError, match="needs more than 10000 steps"):
        limit_ladder(lambda b: 0.5e9 * b**2, 0.99)
