"""What gradient noise costs, against values by hand."""

import pytest

from auxmc.kernels.streams.gradient_noise import evidence_loss_per_row, particle_variance_ratio


def test_predicted_loss_is_a_thousandth_of_the_log_evidence() -> None:
    assert evidence_loss_per_row(0.1, 500, 0.2, 6.0) == pytest.approx(-1.5e-3 / (1.0 - 0.1 / 3.6))
    assert evidence_loss_per_row(1.0, 500, 0.2, 6.0) == pytest.approx(-0.0208, rel=2e-3)


def test_particles_are_twice_as_wide_where_noise_and_posterior_are_of_one_size() -> None:
    assert particle_variance_ratio(0.1, 500, 0.2, 0.0) == 1.0
    assert particle_variance_ratio(0.1, 500, 0.2, 2000.0) == pytest.approx(2.0)
