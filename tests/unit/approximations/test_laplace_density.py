"""Laplace's approximation of general densities."""

import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.approximations.laplace_density import laplace_density


def test_a_gaussian_is_its_own_approximation():
    precision = jnp.array([[2.0, 0.5], [0.5, 1.0]])
    mode = jnp.array([1.0, -3.0])
    fit = laplace_density(lambda x: 1.5 - 0.5 * (x - mode) @ precision @ (x - mode), np.zeros(2))
    np.testing.assert_allclose(fit.mode, mode, atol=1e-10)
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(precision), rtol=1e-10)
    expected = 1.5 + np.log(2.0 * np.pi) - 0.5 * np.linalg.slogdet(precision)[1]
    assert fit.log_normaliser == pytest.approx(float(expected), rel=1e-12)


def generalised_logistic(x):
    return jnp.log(0.4) - 0.4 * x[0] - 1.4 * jnp.log1p(jnp.exp(-x[0]))


@pytest.mark.parametrize("start", [-20.0, 0.0, 30.0])
def test_the_published_numbers_from_any_start(start):
    fit = laplace_density(generalised_logistic, [start])
    assert float(fit.mode[0]) == pytest.approx(0.916291, abs=1e-6)
    assert float(fit.hessian[0, 0]) == pytest.approx(-0.285714, abs=1e-6)
    assert fit.log_density == pytest.approx(-1.753868, abs=1e-6)
    assert np.exp(fit.log_normaliser) == pytest.approx(0.811762, abs=1e-6)


def test_newton_goes_up_where_the_density_is_not_concave():
    fit = laplace_density(lambda x: -jnp.log1p(x[0] ** 2), [5.0])
    assert float(fit.mode[0]) == pytest.approx(0.0, abs=1e-9)


def test_a_density_without_a_mode_is_rejected():
    with pytest.raises(ValueError, match="has not settled after 20 steps"):
        laplace_density(lambda x: x[0], [0.0], max_newton=20)
