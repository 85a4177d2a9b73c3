"""Bridges: normalised bases, log zeta, derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from auxmc.models.bridge import bridge, gaussian_base

MEAN = jnp.array([0.3, -1.0])
FACTOR = jnp.array([[1.5, 0.0], [0.4, 0.7]])


def target(x):
    return jnp.sum(x**2 - 0.25 * x**4) - 0.3 * x[0] * x[1]


@pytest.mark.parametrize("scale", [FACTOR, jnp.array([1.5, 0.7])])
def test_density_and_draws_of_a_base_are_those_of_the_normal_distribution(scale):
    base = gaussian_base(MEAN, scale)
    covariance = scale @ scale.T if scale.ndim == 2 else jnp.diag(scale**2)
    x = jnp.array([0.9, 2.0])
    expected = stats.multivariate_normal(MEAN, covariance).logpdf(x)
    assert float(base.log_density(x)) == pytest.approx(float(expected), rel=1e-13)
    # A draw is linear in its noise.
    np.testing.assert_allclose(base.draw(jnp.zeros(2)), MEAN)
    jacobian = jax.jacobian(base.draw)(jnp.zeros(2))
    np.testing.assert_allclose(jacobian @ jacobian.T, covariance, rtol=1e-14)


def test_log_zeta_is_beside_the_log_densities_not_in_them():
    base = gaussian_base(MEAN, FACTOR)
    x = jnp.array([0.9, 2.0])
    plain, scaled = bridge(target, base), bridge(target, base, 2.5)
    assert (plain.log_zeta, scaled.log_zeta) == (0.0, 2.5)
    assert float(scaled.log_densities(x)[0]) == float(plain.log_densities(x)[0]) == float(target(x))
    assert float(scaled.log_densities(x)[1]) == float(plain.log_densities(x)[1]) == float(base.log_density(x))
    assert plain.dim == 2


def test_automatic_gradients_agree_with_finite_differences():
    joined = bridge(target, gaussian_base(MEAN, FACTOR), 1.0)
    x, h = jnp.array([0.9, -0.4]), 1e-6
    values, gradients = joined.log_densities_and_gradients(x)
    np.testing.assert_allclose(values, joined.log_densities(x), rtol=1e-15)
    for i in range(2):
        step = h * jnp.eye(2)[i]
        above, below = joined.log_densities(x + step), joined.log_densities(x - step)
        for k in range(2):
            assert float(gradients[k][i]) == pytest.approx(float(above[k] - below[k]) / (2 * h), abs=1e-8)


@pytest.mark.parametrize("scale", [jnp.ones(3), jnp.ones((2, 3)), jnp.ones(())])
def test_shapes_that_do_not_agree_are_rejected(scale):
    with pytest.raises(ValueError, match=r"mean must be \[dim\], scale"):
        gaussian_base(MEAN, scale)
