"""Traps that a first user fell into and that concern no single module."""

import math
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln

import auxmc
from auxmc.command_line.stream_setup import parse_model
from auxmc.kernels.streams.growing_data import GrowingDataSettings, growing_data_evidence
from auxmc.models.mixtures.gaussian_mixture import gaussian_mixture, single_gaussian
from auxmc.models.row_model import RowModel

# Two clouds of rows in one column, few enough for the prior's own draws to give the exact evidence.
_MIXTURE = gaussian_mixture(2, 1)
_ROWS = np.array([-2.0, 1.5, -1.7, 2.2, 0.4, -2.5, 1.9, 2.4, -1.2])[:, None]


@pytest.fixture(scope="module")
def exact_mixture():
    """Log evidence of the rows, from draws of the prior; the error is below 0.02 nats."""

    def log_likelihood(key):
        return jnp.sum(_MIXTURE.log_likelihood(_MIXTURE.draw_prior(key), jnp.asarray(_ROWS)))

    values = jax.jit(jax.vmap(log_likelihood))(jax.random.split(jax.random.key(0), 200_000))
    return float(jax.nn.logsumexp(values) - math.log(values.size))


@pytest.mark.slow
def test_particles_of_their_own_tune_the_moves_over_growing_data(exact_mixture):
    """Trap 8: with moves tuned on the particles that count the mean of Z-hat over Z was 1.5."""
    settings = GrowingDataSettings(n_particles=20, n_moves=2, growth=0.5)
    run = growing_data_evidence(_MIXTURE, settings)
    program = jax.jit(jax.vmap(lambda key: run(key, jnp.asarray(_ROWS)).log_evidence))
    ratios = np.exp(np.asarray(program(jax.random.split(jax.random.key(1), 400))) - exact_mixture)
    assert abs(ratios.mean() - 1.0) < 3.0 * ratios.std() / math.sqrt(ratios.size)


@pytest.mark.slow
def test_growing_data_has_an_error_and_warns(exact_mixture):
    """Trap 8: there was no error, and no warning where runs disagree."""
    settings = GrowingDataSettings(n_moves=2, growth=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", auxmc.SamplingWarning)
        found = auxmc.growing_data(_MIXTURE, _ROWS, settings=settings)
    assert abs(found.log_evidence - exact_mixture) < 2.0 * found.standard_error
    assert found.standard_error < 0.5
    few = settings._replace(n_particles=4, own_pilot=False, growth=1.0)
    with pytest.warns(auxmc.SamplingWarning) as caught:
        auxmc.growing_data(_MIXTURE, 10.0 * _ROWS, settings=few)
    text = " ".join(str(one.message) for one in caught)
    assert "runs differ by" in text
    assert "particles that tune their own moves make the evidence too large" in text


@pytest.mark.slow
def test_importance_draws_around_overlapping_modes_are_warned_of(exact_mixture):
    """Trap 10: up to 1.55 nats off with a small error; where modes do not overlap nothing is said."""
    with pytest.warns(auxmc.SamplingWarning):
        found = auxmc.laplace_evidence(_MIXTURE, _ROWS, copies=2, draws=1000)
    assert found.warnings
    model = single_gaussian(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", auxmc.SamplingWarning)
        good = auxmc.laplace_evidence(model, np.repeat(_ROWS, 5, axis=0), draws=1000)
    assert abs(good.log_evidence - _exact_single(np.repeat(_ROWS, 5, axis=0))) < 3.0 * good.standard_error


def _exact_single(rows):
    """Conjugate: N(0, 4 v) for the mean, inverse gamma(1, 1) for the variance of each column."""
    n, precision = len(rows), 0.25
    after = precision + n
    rates = 1.0 + 0.5 * (np.sum(rows**2, axis=0) - np.sum(rows, axis=0) ** 2 / after)
    shape = 1.0 + 0.5 * n
    terms = (
        0.5 * math.log(precision / after)
        - 0.5 * n * math.log(2.0 * math.pi)
        + gammaln(shape)
        - shape * np.log(rates)
    )
    return float(np.sum(terms))


def test_a_mixture_may_have_one_component():
    """Trap 15: `mixture components=1` was rejected; its prior is that of a component of more."""
    model = parse_model("mixture components=1", 2).model
    assert isinstance(model, RowModel)
    drawn = jax.vmap(model.draw_prior)(jax.random.split(jax.random.key(0), 3))
    for parameters in drawn:
        means, log_variances = parameters[:2], parameters[2:]
        pair = gaussian_mixture(2, 2, weight_coordinates="log_ratio")
        both = jnp.concatenate([jnp.zeros(1), means, means, log_variances, log_variances])
        # The weights' coordinate has the logistic density, 1/4 at zero.
        expected = 0.5 * (float(pair.log_prior(both)) - math.log(0.25))
        assert float(model.log_prior(parameters)) == pytest.approx(expected, rel=1e-12)
        rows = jnp.array([[0.3, -1.0], [2.0, 0.1]])
        np.testing.assert_allclose(
            model.log_likelihood(parameters, rows), pair.log_likelihood(both, rows), rtol=1e-12
        )
