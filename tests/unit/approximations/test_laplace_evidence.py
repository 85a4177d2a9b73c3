"""Evidence around the mode, against exact values, quadrature and the values of the reference."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

from auxmc.approximations.laplace_evidence import laplace_evidence, prior_starts
from auxmc.models.mixtures.gaussian_mixture import gaussian_mixture
from auxmc.models.regression.linear_regression import linear_regression
from auxmc.models.regression.softmax_regression import softmax_regression
from auxmc.models.row_model import row_model
from experiments.streaming_evidence.model import rows
from tests.exact_posteriors import linear_log_evidence, tempered_posterior

LINEAR = linear_regression(5)
DATA = rows("linear", 300)
KEY = jax.random.key(1)


def test_the_evidence_of_a_linear_model_is_exact():
    exact = linear_log_evidence(DATA)
    starts = np.random.default_rng(1).normal(size=(3, 6))
    found = laplace_evidence(LINEAR, DATA, starts, 2000, KEY, block_rows=128)
    # The posterior is normal: Laplace's approximation is exact, and the mode and covariance are known.
    assert found.laplace == pytest.approx(exact, abs=1e-7)
    assert abs(found.log_evidence - exact) < 6.0 * found.standard_error < 0.03
    assert found.relative_size > 0.95
    mean, covariance = tempered_posterior(DATA, np.ones(300))
    np.testing.assert_allclose(found.mode, mean, atol=1e-8)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-7, atol=1e-12)
    assert (found.n_better, found.n_near, found.n_not_finite) == (0, 0, 0)


def test_a_softmax_model_meets_the_reference():
    data = rows("softmax", 1000)
    found = laplace_evidence(softmax_regression(10, 4), data, np.zeros((1, 44)), 1000, KEY)
    # The reference has a standard error of 0.05.
    assert abs(found.log_evidence + 654.738476) < 6.0 * (0.0518 + found.standard_error) < 1.0
    assert found.relative_size > 0.3


def test_a_mixture_may_be_relabelled():
    data = rows("mixture_separated", 1000)
    model = gaussian_mixture(5, weight_coordinates="log_ratio")
    start = np.concatenate(
        [
            np.log(np.array([0.30, 0.25, 0.20, 0.15]) / 0.10),
            np.array([(0.0, 0.0), (2.5, 1.5), (-2.0, 2.0), (-2.0, -2.0), (2.0, -2.5)]).ravel(),
            2.0 * np.log([(0.6, 0.8), (0.5, 0.7), (0.8, 0.5), (0.6, 0.6), (0.9, 0.7)]).ravel(),
        ]
    )
    means = np.arange(4, 14).reshape(5, 2)
    order = np.array([1, 0, 2, 3, 4])
    relabelled = start.copy()
    relabelled[:2] = start[1::-1]
    relabelled[means] = start[means[order]]
    relabelled[means + 10] = start[means[order] + 10]
    found = laplace_evidence(model, data, np.stack([start, relabelled]), 500, KEY, math.factorial(5))
    np.testing.assert_allclose(found.log_densities, found.log_densities[0], atol=1e-5)
    assert (found.n_better, found.n_near) == (0, 0)
    # The reference has a standard error of 0.03.
    assert abs(found.log_evidence + 3561.643078) < 6.0 * (0.029 + found.standard_error) < 0.5


def two_peaks(height):
    """Log density of one parameter with peaks at -3 and 3, the right one higher; rows are not looked at."""

    def log_prior(parameters):
        left, right = (-8.0 * jnp.square(parameters[0] - c) for c in (-3.0, 3.0))
        return jnp.logaddexp(left, right + height)

    return row_model(
        1,
        1,
        lambda parameters, rows: jnp.zeros(rows.shape[0]) * parameters[0],
        log_prior,
        lambda key: 3.0 * jax.random.normal(key, (1,), dtype=jnp.float64),
    )


@pytest.mark.parametrize(("height", "n_near"), [(2.0, 1), (9.0, 0)])
def test_other_optima_are_counted(height, n_near):
    model = two_peaks(height)
    found = laplace_evidence(model, np.zeros((2, 1)), np.array([[-2.5], [3.3], [2.6], [-3.1]]), 2000, KEY)
    assert found.mode[0] == pytest.approx(3.0, abs=1e-4)
    assert (found.n_better, found.n_near) == (1, n_near)
    np.testing.assert_allclose(found.optima[:, 0], [3.0, 3.0, -3.0, -3.0], atol=1e-3)
    highest = integrate.quad(lambda x: float(np.exp(height - 8.0 * (x - 3.0) ** 2)), -1.0, 7.0)[0]
    assert abs(found.log_evidence - math.log(highest)) < 6.0 * found.standard_error < 0.05


def test_copies_are_added():
    model = two_peaks(0.0)
    found = laplace_evidence(model, np.zeros((2, 1)), np.array([[-2.5], [3.3]]), 2000, KEY, n_copies=2)
    everything = 2.0 * math.sqrt(2.0 * math.pi / 16.0)
    assert abs(found.log_evidence - math.log(everything)) < 6.0 * found.standard_error < 0.05
    assert found.laplace == pytest.approx(math.log(everything), abs=1e-6)
    assert (found.n_better, found.n_near) == (0, 0)


def test_starts_from_the_prior_are_likely_ones():
    starts = prior_starts(LINEAR, DATA, KEY, n_starts=5, n_candidates=100, n_rows=50)
    likely = jax.vmap(lambda p: jnp.sum(LINEAR.log_likelihood(p, jnp.asarray(DATA))))
    draws = jax.vmap(LINEAR.draw_prior)(jax.random.split(jax.random.key(9), 100))
    assert starts.shape == (5, 6)
    assert float(jnp.min(likely(jnp.asarray(starts)))) > float(jnp.median(likely(draws)))


def no_peak(parameters):
    return jnp.square(parameters[0]) * 1e-3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": DATA[:, :3]}, r"rows must be \[row, 6\] with a row at least, got \[300, 3\]"),
        ({"rows": DATA[:0]}, r"rows must be \[row, 6\] with a row at least, got \[0, 6\]"),
        ({"rows": np.where(np.arange(300)[:, None] == 7, np.nan, DATA)}, "rows must be finite, row 7 is not"),
        ({"starts": np.zeros(6)}, r"starts must be \[start, 6\], got \[6\]"),
        ({"n_draws": 1}, "n_draws must be at least 2 and n_copies at least 1, got 1 and 1"),
        ({"n_copies": 0}, "n_draws must be at least 2 and n_copies at least 1, got 10 and 0"),
        ({"starts": np.full((1, 6), 1e200)}, "no search ended at a finite density: give starts"),
    ],
)
def test_arguments_outside_their_range_are_rejected(changes, message):
    given = {"rows": DATA, "starts": np.zeros((1, 6)), "n_draws": 10, "key": KEY}
    with pytest.raises(ValueError, match=message):
        laplace_evidence(LINEAR, **{**given, **changes})


def test_a_density_without_a_peak_is_rejected():
    model = row_model(1, 1, lambda p, r: jnp.zeros(r.shape[0]) * p[0], no_peak, lambda key: jnp.zeros(1))
    with pytest.raises(ValueError, match="is not positive definite"):
        laplace_evidence(model, np.zeros((1, 1)), np.zeros((1, 1)), 10, KEY)


def test_numbers_of_starts_must_be_positive():
    with pytest.raises(ValueError, match="n_starts, n_candidates and n_rows must be positive, got 0, 200"):
        prior_starts(LINEAR, DATA, KEY, n_starts=0)
