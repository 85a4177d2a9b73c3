"""Mean-field fits find what they must, and both gradients are unbiased."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.approximations import advi

MEAN, SD, LOG_Z = jnp.array([1.0, -2.0, 0.5]), jnp.array([0.5, 2.0, 1.0]), 3.0
START = advi.MeanField(jnp.zeros(3), jnp.zeros(3))


def log_gaussian(x):
    """Unnormalised Gaussian with independent coordinates: its own mean-field approximation, with log Z = 3."""
    log_sd = jnp.sum(jnp.log(SD)) + 1.5 * jnp.log(2.0 * jnp.pi)
    return LOG_Z - 0.5 * jnp.sum(((x - MEAN) / SD) ** 2) - log_sd


def test_a_fit_that_can_be_exact_is_nearly_so():
    """Gradients keep their noise at the optimum, so the fit wanders by a fraction of a standard deviation."""
    # optax itself mixes types.
    with jax.numpy_dtype_promotion("standard"):
        fit = advi.fit_mean_field(
            log_gaussian, START, advi.decaying_adam(0.05, 2000), jax.random.key(0), 2000, 4
        )
    np.testing.assert_allclose((fit.approximation.mean - MEAN) / SD, 0.0, atol=0.15)
    np.testing.assert_allclose(jnp.exp(fit.approximation.log_sd), SD, rtol=0.15)
    assert int(fit.n_not_finite) == 0
    assert float(advi.log_normaliser_guess(fit.objective)) == pytest.approx(LOG_Z, abs=0.05)


def test_the_bound_of_the_exact_approximation_is_the_log_normaliser_for_every_draw():
    exact = advi.MeanField(MEAN, jnp.log(SD))
    bound, error = advi.evidence_lower_bound(log_gaussian, exact, jax.random.key(1), 1000)
    assert float(bound) == pytest.approx(LOG_Z, abs=1e-12)
    assert float(error) < 1e-12


def test_windowed_adagrad_forgets_gradients_after_ten_steps():
    optimiser = advi.windowed_adagrad(0.5)
    state = optimiser.init(jnp.array([0.0]))
    changes = []
    for gradient in [3.0, 1.0, *([2.0] * 10)]:
        change, state = optimiser.update(jnp.array([gradient]), state)
        changes.append(float(change[0]))
    assert changes[0] == pytest.approx(-0.5 * 3.0 / np.sqrt(0.1 + 9.0))
    assert changes[1] == pytest.approx(-0.5 * 1.0 / np.sqrt(0.1 + 10.0))
    assert changes[-1] == pytest.approx(-0.5 * 2.0 / np.sqrt(0.1 + 40.0))


def test_steps_that_are_not_finite_change_nothing_and_are_counted():
    broken = lambda x: jnp.where(x[0] > 0.0, -jnp.inf, log_gaussian(x))
    fit = advi.fit_mean_field(broken, START, advi.windowed_adagrad(1e-3), jax.random.key(0), 200)
    assert 0 < int(fit.n_not_finite) < 200
    assert bool(jnp.all(jnp.isfinite(fit.approximation.mean)))
    assert int(jnp.sum(~jnp.isfinite(fit.objective))) == int(fit.n_not_finite)


def test_both_gradients_have_the_gradient_of_the_bound_as_their_mean():
    """Gauss-Hermite quadrature over the noise makes their means exact: no chance is involved."""
    fit = advi.MeanField(jnp.array([0.2]), jnp.array([0.1]))
    log_density = lambda x: jnp.sum(x - 0.25 * x**4)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()

    def mean_of(estimate):
        found = jax.vmap(lambda n: estimate(log_density, fit, n))(jnp.asarray(nodes)[:, None])
        return np.array([weights @ np.asarray(leaf)[:, 0] for leaf in found])

    def bound(parameters):
        q = advi.MeanField(parameters[:1], parameters[1:])
        terms = jax.vmap(lambda n: log_density(q.draw(n)))(jnp.asarray(nodes)[:, None])
        return jnp.asarray(weights) @ terms + parameters[1]

    exact = np.asarray(jax.grad(bound)(jnp.array([0.2, 0.1])))
    np.testing.assert_allclose(mean_of(advi.reparameterisation_gradient), exact, rtol=1e-10)
    np.testing.assert_allclose(mean_of(advi.score_function_gradient), exact, rtol=1e-10)
