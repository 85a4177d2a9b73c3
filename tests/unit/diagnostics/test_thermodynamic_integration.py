"""Thermodynamic integration: exact for polynomials, bounds, errors, and the annealed expectations that it equals."""

import numpy as np
import pytest

from auxmc.diagnostics.path_integrals import thermodynamic_integration
from auxmc.numerics.schedules import linear_schedule, sigmoidal_schedule
from experiments.estimator_illustrations.model import FOUR_OBSERVATIONS, HUNDRED_OBSERVATIONS


def test_it_is_exact_for_linear_means_and_with_variances_for_cubic_ones():
    b = sigmoidal_schedule(5)
    assert thermodynamic_integration(b, 3.0 * b - 2.0).value == pytest.approx(-0.5, abs=1e-14)
    cubic = thermodynamic_integration(b, b**3 + b**2, variances=3.0 * b**2 + 2.0 * b)
    assert cubic.value == pytest.approx(1.0 / 4.0 + 1.0 / 3.0, abs=1e-14)


@pytest.mark.parametrize("model", [FOUR_OBSERVATIONS, HUNDRED_OBSERVATIONS])
def test_its_sums_are_the_expectations_of_perfect_annealing(model):
    b = linear_schedule(40)
    means, variances = model.log_likelihood_moments(b)
    found = thermodynamic_integration(b, means, variances=variances)
    annealed = model.annealed_moments(b)
    assert found.lower == pytest.approx(annealed.forward_mean, rel=1e-13)
    assert found.upper == pytest.approx(-annealed.reverse_mean, rel=1e-13)
    assert found.lower < model.log_evidence < found.upper


def test_errors_of_the_means_add_up_with_the_weights_of_the_rule():
    b = np.array([0.0, 0.2, 1.0])
    found = thermodynamic_integration(b, np.zeros(3), standard_errors=[1.0, 2.0, 3.0])
    assert found.standard_error == pytest.approx(np.sqrt(0.1**2 + (0.5 * 2.0) ** 2 + (0.4 * 3.0) ** 2))
    assert thermodynamic_integration(b, np.zeros(3)).standard_error == 0.0


def test_what_is_no_path_is_rejected():
    for ladder in ([0.0, 0.5], [0.1, 1.0], [0.0, 0.7, 0.3, 1.0], [1.0]):
        with pytest.raises(ValueError, match="at least 2 and rise strictly from 0 to 1"):
            thermodynamic_integration(ladder, np.zeros(len(ladder)))
    with pytest.raises(ValueError, match=r"means must be \[2\], one for each inverse temperature, got shape"):
        thermodynamic_integration([0.0, 1.0], np.zeros(3))
    with pytest.raises(ValueError, match="means must be finite, got 1 that are not"):
        thermodynamic_integration([0.0, 1.0], [0.0, np.inf])
