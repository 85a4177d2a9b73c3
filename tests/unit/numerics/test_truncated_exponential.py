"""The inverse temperature: a finite, symmetric distribution that agrees with quadrature (CT-T01 to CT-T03)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.numerics.truncated_exponential import draw_inverse_temperature, log_base_weight, log_target_weight

SIZES = (1e-320, 1e-310, 1e-300, 1e-100, 1e-45, 1e-38, 1e-20, 1e-9, 9.9e-5, 1.01e-4, 9e-3, 1.1e-2, 0.5, 30.0, 88.0,
         100.0, 709.0, 1e3, 1e6)  # fmt: skip
DTYPES = (jnp.float32, jnp.float64)


def _differences(dtype):
    sizes = np.array(SIZES)
    return jnp.asarray(np.concatenate([-sizes[::-1], [0.0], sizes]), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_weights_their_derivatives_and_draws_are_finite_for_every_difference(dtype):
    delta = _differences(dtype)
    for function in (log_target_weight, log_base_weight):
        values = jax.jit(jax.vmap(function))(delta)
        assert values.dtype == dtype
        assert np.all(np.isfinite(values))
    slopes = jax.vmap(jax.grad(log_target_weight))(delta)
    assert np.all((slopes <= 0.0) & (slopes >= -1.0))
    for uniform in (0.0, 1e-30, 0.5, 1.0 - float(jnp.finfo(dtype).eps)):
        b = np.asarray(jax.jit(draw_inverse_temperature)(jnp.full_like(delta, uniform), delta))
        assert b.dtype == dtype
        assert np.all((b >= 0.0) & (b <= 1.0))


def test_weights_satisfy_their_identities():
    delta = jnp.asarray([-30.0, -2.0, -1e-3, -1e-9, 0.0, 1e-9, 1e-5, 0.3, 5.0, 30.0])
    w1, w0 = np.exp(log_target_weight(delta)), np.exp(log_base_weight(delta))
    np.testing.assert_allclose(w0, np.exp(log_target_weight(-delta)), rtol=1e-12)
    np.testing.assert_allclose(w0 - w1, delta, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(w0 / w1, np.exp(delta), rtol=1e-12)
    assert w0[4] == 1.0
    assert w1[4] == 1.0


def test_weights_agree_with_high_precision_values_on_both_sides_of_the_series():
    for delta in (1e-5, 9.99e-5, 1.001e-4, 1e-3):
        series = -delta / 2 - delta**2 / 24 + delta**4 / 2880
        assert float(log_target_weight(delta)) == pytest.approx(series, abs=2e-16, rel=1e-12)
    assert float(log_target_weight(jnp.asarray(5.0))) == pytest.approx(np.log(5.0 / np.expm1(5.0)), rel=1e-14)


def test_weights_have_their_limits():
    assert float(log_target_weight(1e6)) == pytest.approx(np.log(1e6) - 1e6, rel=1e-15)
    assert float(log_target_weight(-1e6)) == pytest.approx(np.log(1e6), rel=1e-15)
    assert float(log_base_weight(1e6)) == pytest.approx(np.log(1e6), rel=1e-15)


@pytest.mark.parametrize("delta", [-700.0, -5.0, -1e-9, 1e-300, 1e-9, 0.3, 5.0, 700.0])
def test_draws_invert_the_distribution_function(delta):
    uniform = jnp.linspace(0.0, 1.0, 101)[:-1]
    b = np.asarray(draw_inverse_temperature(uniform, jnp.full_like(uniform, delta)))
    size = abs(delta)
    nearer = b if delta > 0 else 1.0 - b
    found = np.expm1(-size * nearer) / np.expm1(-size) if size > 1e-200 else nearer
    np.testing.assert_allclose(found, uniform, atol=1e-12)
