from decimal import Decimal, localcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_ndtr

from experiments.gp_probit.special_functions import log_normal_cdf, probit_terms


def _curvature_to_many_digits(distance):
    """Curvature of -log Phi at -distance, by the continued fraction of the Mills ratio with 60 digits."""
    with localcontext() as context:
        context.prec = 60
        slope = distance
        for k in range(4000, 0, -1):
            slope = distance + Decimal(k) / slope
        return float(slope * (slope - distance))


@pytest.mark.parametrize(
    "z",
    [
        np.linspace(-45.0, 37.0, 5001),
        np.linspace(-20.001, -19.999, 101),
        np.linspace(-1e-6, 1e-6, 101),
        np.array([-1e6, -1e4, -300.0, -40.0, 0.0, 37.0]),
    ],
    ids=["whole range", "start of the tail", "around zero", "extremes"],
)
def test_log_normal_cdf_agrees_with_scipy(z):
    np.testing.assert_allclose(log_normal_cdf(jnp.asarray(z)), log_ndtr(z), rtol=1e-12)


def test_log_normal_cdf_goes_to_zero_above_the_range_of_the_result():
    np.testing.assert_array_equal(log_normal_cdf(jnp.asarray([40.0, 1e3, 1e6, jnp.inf])), 0.0)


def test_not_a_number_stays_not_a_number():
    assert bool(jnp.isnan(log_normal_cdf(jnp.asarray(jnp.nan))))


@pytest.mark.parametrize("centre", [-30.0, -20.0, -8.0, -1.0, 0.0, 2.0, 5.0])
def test_slope_and_curvature_are_derivatives_of_the_log(centre):
    z, step = jnp.asarray([centre]), 1e-4
    terms = probit_terms(z)
    difference = (log_normal_cdf(z + step) - log_normal_cdf(z - step)) / (2.0 * step)
    np.testing.assert_allclose(terms.slope, difference, rtol=1e-6, atol=1e-12)
    slope_difference = (probit_terms(z + step).slope - probit_terms(z - step).slope) / (2.0 * step)
    np.testing.assert_allclose(terms.curvature, -slope_difference, rtol=1e-5, atol=1e-11)


@pytest.mark.parametrize("distance", ["12", "19", "20", "25", "100", "1000000"])
def test_curvature_keeps_its_digits_in_the_lower_tail(distance):
    terms = probit_terms(-jnp.asarray(float(distance)))
    np.testing.assert_allclose(terms.curvature, _curvature_to_many_digits(Decimal(distance)), rtol=1e-10)


def test_terms_are_in_range_everywhere():
    z = jnp.asarray(np.concatenate([np.linspace(-60.0, 60.0, 4001), [-1e8, 1e8]]))
    terms = probit_terms(z)
    assert bool(jnp.all(jnp.isfinite(terms.log_cdf) & (terms.log_cdf <= 0.0)))
    assert bool(jnp.all(jnp.isfinite(terms.slope) & (terms.slope >= 0.0)))
    assert bool(jnp.all((terms.curvature >= 0.0) & (terms.curvature <= 1.0)))


def test_compiled_and_plain_give_the_same():
    z = jnp.linspace(-30.0, 10.0, 64)
    np.testing.assert_allclose(jax.jit(log_normal_cdf)(z), log_normal_cdf(z), rtol=1e-14)
