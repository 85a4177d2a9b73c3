"""Expectation propagation against exact posteriors and quadrature."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from auxmc.approximations.expectation_propagation import (
    TiltedMoments,
    expectation_propagation,
    gaussian_factor,
    probit_factor,
)

PRIOR = np.array([[1.0, 0.4], [0.4, 2.0]])
MEAN = np.array([0.3, -0.2])
ROWS = np.array([[1.0, 0.0], [0.5, -1.0], [1.0, 1.0], [-2.0, 0.3]])


def test_gaussian_factors_are_exact_after_one_sweep():
    """Posterior and evidence of a linear model with Gaussian noise, through the distribution of the observations."""
    observations, variances = np.array([0.5, -1.0, 2.0, 0.1]), np.array([1.0, 0.5, 2.0, 0.3])
    factors = [gaussian_factor(y, v) for y, v in zip(observations, variances, strict=True)]
    fit = expectation_propagation(MEAN, PRIOR, ROWS, factors, n_sweeps=1)
    distribution = ROWS @ PRIOR @ ROWS.T + np.diag(variances)
    gain = np.linalg.solve(distribution, ROWS @ PRIOR).T
    log_evidence = stats.multivariate_normal(ROWS @ MEAN, distribution).logpdf(observations)
    np.testing.assert_allclose(fit.mean, MEAN + gain @ (observations - ROWS @ MEAN), rtol=1e-12)
    np.testing.assert_allclose(fit.covariance, PRIOR - gain @ ROWS @ PRIOR, rtol=1e-12)
    assert fit.log_normaliser == pytest.approx(log_evidence, rel=1e-12)
    np.testing.assert_allclose(fit.site_precisions, 1.0 / variances, rtol=1e-12)


@pytest.mark.parametrize(
    ("mean", "variance", "label"), [(0.4, 2.0, 1.0), (-3.0, 0.7, 1.0), (5.0, 10.0, -1.0)]
)
def test_probit_moments_are_those_of_quadrature(mean, variance, label):
    sd = np.sqrt(variance)

    def moment(power):
        integrand = lambda x: float(x**power * stats.norm.pdf(x, mean, sd) * stats.norm.cdf(label * x))
        return quad(integrand, mean - 12 * sd, mean + 12 * sd, epsabs=1e-13, limit=300)[0]

    z, first, second = (moment(power) for power in range(3))
    truth = np.log(z), first / z, second / z - (first / z) ** 2
    np.testing.assert_allclose(probit_factor(label)(mean, variance), truth, rtol=1e-8)


def test_far_tails_stay_finite():
    tilted = probit_factor(1.0)(-35.0, 0.5)
    assert np.all(np.isfinite(tilted))
    assert 0.0 < tilted.variance < 0.5


def test_several_probit_factors_settle_near_the_exact_evidence():
    labels = [1.0, -1.0, 1.0, 1.0]
    fit = expectation_propagation(MEAN, PRIOR, ROWS, [probit_factor(y) for y in labels], n_sweeps=40)
    assert fit.largest_change < 1e-10
    assert fit.n_skipped == 0
    # The evidence is the orthant probability of y_i (a_i x + noise).
    signed = np.array(labels)[:, None] * ROWS
    distribution = stats.multivariate_normal(-signed @ MEAN, signed @ PRIOR @ signed.T + np.eye(4))
    assert fit.log_normaliser == pytest.approx(np.log(distribution.cdf(np.zeros(4))), abs=0.01)


def test_damping_reaches_the_same_fixed_point():
    factors = [probit_factor(y) for y in (1.0, -1.0, 1.0, 1.0)]
    full = expectation_propagation(MEAN, PRIOR, ROWS, factors, n_sweeps=40)
    damped = expectation_propagation(MEAN, PRIOR, ROWS, factors, n_sweeps=120, damping=0.4)
    np.testing.assert_allclose(damped.mean, full.mean, atol=1e-9)
    assert damped.log_normaliser == pytest.approx(full.log_normaliser, abs=1e-9)


def test_a_cavity_without_positive_variance_is_skipped_and_counted():
    # A factor that widens so much that the other's cavity loses its variance.
    widening = lambda mean, variance: TiltedMoments(0.0, mean, 20.0 * variance)
    factors = [gaussian_factor(0.0, 0.1), widening]
    fit = expectation_propagation([0.0], [[1.0]], [[1.0], [1.0]], factors, n_sweeps=3)
    assert fit.n_skipped > 0
