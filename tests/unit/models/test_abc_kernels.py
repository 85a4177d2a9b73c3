"""ABC kernels: normalisation up to the stated constants, edges, values that are not finite, and the estimator."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from auxmc.models import abc_kernels
from auxmc.models.abc_kernels import ABC_KERNELS, log_abc_kernel

TOLERANCE = 0.7


MASSES = {
    "ball": math.pi * TOLERANCE**2,
    "epanechnikov": math.pi * TOLERANCE**2 / 2.0,
    "gaussian": 2.0 * math.pi * TOLERANCE**2,
    "cube": (2.0 * TOLERANCE) ** 2,
}
"""Integrals of the kernels in the plane, as their docstrings state them."""


@pytest.mark.parametrize("name", ABC_KERNELS)
def test_kernel_integrates_to_its_stated_constant(name):
    """Midpoint sums; the uniform kernels have edges, at which a sum errs by about a cell."""
    half, n = 6.0 * TOLERANCE, 1200
    middle = (np.arange(n) + 0.5) / n * 2 * half - half
    grid = jnp.asarray(np.stack(np.meshgrid(middle, middle), axis=-1).reshape(-1, 2))
    values = jax.vmap(lambda residual: log_abc_kernel(name)(residual, TOLERANCE))(grid)
    assert float(jnp.sum(jnp.exp(values))) * (2 * half / n) ** 2 == pytest.approx(MASSES[name], rel=2e-3)


def test_gaussian_kernel_has_the_density_of_scipy_and_a_finite_gradient():
    residual = np.array([[0.3, -1.2], [0.0, 2.5]])
    value, gradient = jax.value_and_grad(abc_kernels.log_gaussian_kernel)(jnp.asarray(residual), TOLERANCE)
    expected = stats.norm.logpdf(residual, scale=TOLERANCE) - stats.norm.logpdf(0.0, scale=TOLERANCE)
    assert float(value) == pytest.approx(expected.sum(), abs=1e-12)
    np.testing.assert_allclose(gradient, -residual / TOLERANCE**2, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [("ball", [0.6, 0.8], [0.6, 0.8 + 1e-9]), ("cube", [1.0, -1.0], [0.0, -1.0 - 1e-9])],
)
def test_uniform_kernels_include_their_edge(name, inside, outside):
    kernel = log_abc_kernel(name)
    assert float(kernel(jnp.array(inside), 1.0)) == 0.0
    assert float(kernel(jnp.array(outside), 1.0)) == -math.inf


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e200])
@pytest.mark.parametrize("name", ABC_KERNELS)
def test_values_that_are_not_finite_or_overflow_give_minus_infinity(name, bad):
    assert float(log_abc_kernel(name)(jnp.array([0.0, bad, 0.1]), 1e3)) == -math.inf


def test_distance_that_is_not_a_number_is_outside_every_ball():
    assert float(abc_kernels.euclidean_distance(jnp.array([math.nan]))) == math.inf
    assert float(abc_kernels.log_ball_kernel(jnp.array(math.nan), math.inf)) == -math.inf
    assert float(abc_kernels.log_cube_kernel(jnp.array([math.nan]), math.inf)) == -math.inf


def test_the_epanechnikov_kernel_is_a_parabola_in_the_ball_with_a_finite_gradient_everywhere():
    inside, outside = jnp.array([0.3, -0.4]), jnp.array([0.6, 0.8])
    assert float(jnp.exp(abc_kernels.log_epanechnikov_kernel(inside, 1.0))) == pytest.approx(0.75, rel=1e-14)
    assert float(abc_kernels.log_epanechnikov_kernel(outside, 1.0)) == -math.inf
    gradient = jax.grad(abc_kernels.log_epanechnikov_kernel)
    np.testing.assert_allclose(gradient(inside, 1.0), -2.0 * inside / 0.75, rtol=1e-14)
    assert np.all(np.isfinite(gradient(outside, 0.5)))


@pytest.mark.parametrize(
    ("log_kernel", "expected"),
    [(lambda x, u: x[0] + u[0], 1.5 + 0.25 - 2.0), (lambda x, u: jnp.nan * x[0], -math.inf)],
    ids=["finite", "not a number"],
)
def test_estimate_is_kernel_plus_prior_and_never_nan(log_kernel, expected):
    estimator = abc_kernels.abc_estimator(log_kernel, lambda x: jnp.full((), -2.0), 3)
    cache = estimator.prepare(jnp.array([1.5]))
    assert float(estimator.log_estimate(cache, jnp.array([0.25, 0.0, 0.0]))) == expected
    assert estimator.draw_auxiliary(jax.random.key(0)).shape == (3,)
    assert int(estimator.n_cubic(cache)) == int(estimator.n_failures(cache)) == 0
