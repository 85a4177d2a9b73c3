"""The running Gaussian's evidence: exact where the posterior is Gaussian, near the truth where it is not."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.driver.row_chunks import ChunkSizes
from auxmc.driver.streams import run_stream
from auxmc.kernels.streams.contract import Chunk, PastRows
from auxmc.kernels.streams.running_laplace import RunningLaplaceSettings, running_laplace
from auxmc.models.regression.linear_regression import linear_regression
from auxmc.models.row_model import row_model
from experiments.streaming_evidence.model import rows
from tests.exact_posteriors import linear_log_evidence, tempered_posterior

DATA = rows("linear", 3000)


def after(model, settings, data):
    read = lambda skip, checksum: iter([data[skip:]])
    options = {"chunk_sizes": ChunkSizes((50, 50, 100), 200), "capacity": 1000}
    return run_stream(running_laplace(model, settings), read, jax.random.key(0), model.n_columns, **options)


@pytest.fixture(scope="module")
def linear_run():
    return after(linear_regression(5), RunningLaplaceSettings(n_particles=100, first_fit=200), DATA)


def test_a_gaussian_posterior_is_followed_exactly(linear_run):
    """Once the Gaussian is there the predictive probabilities are exact: the error stays what it was."""
    record = linear_run.record
    errors = record["log_evidence"] - [linear_log_evidence(DATA[: int(n)]) for n in record["n_rows"]]
    later = record["n_rows"] > 400
    assert np.ptp(errors[later]) < 5e-3
    # 100 particles and about 15 steps that halve their effective size: a standard deviation near 0.4 nats.
    assert abs(errors[-1]) < 2.5
    np.testing.assert_allclose(record["weight_size"][later], 100.0, rtol=1e-3)
    assert record["n_unfinished"].sum() == 0


def test_records_say_how_even_weights_were(linear_run):
    record = linear_run.record
    # Particles take steps that leave half of them in effect, until the Gaussian, which fits, takes their place.
    np.testing.assert_allclose(record["smallest_size"][0], 50.0, rtol=1e-3)
    np.testing.assert_allclose(record["weight_size"][record["n_rows"] == 200], 100.0, rtol=1e-3)


@pytest.mark.slow
def test_a_posterior_without_a_mode_is_counted():
    """Each row multiplies a flat prior by exp(sqrt(1 + theta^2) / 1000): the density rises for ever."""
    log_likelihood = lambda p, data: 1e-3 * jnp.sqrt(1.0 + p[0] ** 2) + 0.0 * data[:, 0]
    model = row_model(1, 1, log_likelihood, lambda p: 0.0 * p[0], draw_normal(1))
    # No rows can be seen at once after the next chunk: the Gaussian must be taken, fit or not.
    settings = RunningLaplaceSettings(n_particles=100, first_fit=200, exact_rows=200)
    assert after(model, settings, np.zeros((200, 1))).record["n_unfinished"].tolist() == [1, 1, 1]


def test_the_gaussian_is_the_exact_posterior(linear_run):
    state = linear_run.state
    mean, covariance = tempered_posterior(DATA, np.ones(len(DATA)))
    assert bool(state.gaussian)
    np.testing.assert_allclose(state.mean, mean, atol=1e-4 * math.sqrt(covariance[0, 0]) * 10)
    np.testing.assert_allclose(jnp.linalg.inv(state.precision), covariance, rtol=1e-3, atol=1e-9)


def draw_normal(dim):
    return lambda key: jax.random.normal(key, (dim,), dtype=jnp.float64)


def poisson():
    """Counts with log rate theta ~ N(0, 1): one parameter, a skewed posterior, evidence by quadrature."""

    def log_likelihood(p, data):
        return data[:, 0] * p[0] - jnp.exp(p[0]) - jax.scipy.special.gammaln(data[:, 0] + 1.0)

    log_prior = lambda p: -0.5 * jnp.sum(p**2) - 0.5 * math.log(2.0 * math.pi)
    return row_model(1, 1, log_likelihood, log_prior, draw_normal(1))


def one_chunk(model, settings, data, capacity, **state):
    """A chunk that is absorbed from a state made by hand, when no rows have been kept."""
    stream = running_laplace(model, settings)
    begin = stream.init(jax.random.key(0))._replace(**state)
    past = PastRows(jnp.zeros((capacity, model.n_columns)), jnp.zeros((), jnp.int32))
    chunk = Chunk(jnp.asarray(data), jnp.asarray(len(data), jnp.int32))
    return jax.jit(stream.absorb)(jax.random.key(1), begin, chunk, past)


def test_a_step_to_the_mode_that_goes_too_far_is_shortened():
    """From a log rate of -4 the first Newton step leads to 24, where fifty ones are as good as impossible."""
    settings = RunningLaplaceSettings(n_particles=100, first_fit=50, exact_rows=50)
    particles = jnp.full((100, 1), -4.0)
    state, record = one_chunk(poisson(), settings, np.ones((50, 1)), 100, particles=particles)
    assert bool(state.gaussian)
    assert int(record.n_unfinished) == 0
    # The posterior of 50 counts of which each is one has its mode where 50 = 50 exp(theta) + theta.
    assert abs(float(state.mean[0])) < 0.1
    # Particles are draws of the Gaussian from here on, in pairs on both sides of its mean.
    np.testing.assert_allclose(state.particles.mean(axis=0), state.mean, atol=1e-9)
    assert np.ptp(state.particles) > 0.1


def test_a_chunk_moves_the_gaussian_to_the_mean_of_a_skewed_posterior_of_dependent_parameters():
    """Five counts of none bring one parameter down, and with it the other, beyond the mode."""
    log_likelihood = lambda p, data: data[:, 0] * p[0] - jnp.exp(p[0])
    model = row_model(2, 1, log_likelihood, lambda p: -0.5 * jnp.sum(p**2), draw_normal(2))
    settings = RunningLaplaceSettings(n_particles=20_000, n_draws=20_000)
    precision = jnp.linalg.inv(np.array([[1.0, 0.9], [0.9, 1.0]]))
    # The rows so far are no longer kept: the Gaussian is not fitted again.
    begin = {"gaussian": jnp.ones((), bool), "precision": precision, "n_rows": jnp.int64(1000)}
    state, _ = one_chunk(model, settings, np.zeros((5, 1)), 10, **begin)
    grid = np.linspace(-8.0, 4.0, 10_001)
    density = np.exp(-5.0 * np.exp(grid) - 0.5 * grid**2)
    first = (grid * density).sum() / density.sum()
    # Given the first parameter the second has mean 0.9 times it, whatever the rows.
    np.testing.assert_allclose(state.mean, [first, 0.9 * first], atol=0.02)


@pytest.mark.slow
def test_a_skewed_posterior_is_followed_to_a_fraction_of_a_nat():
    data = np.random.default_rng(3).poisson(0.05, (4000, 1)).astype(float)
    # A Gaussian from the first hundred rows on: five counts, where the posterior is far from one.
    settings = RunningLaplaceSettings(n_particles=400, first_fit=100, exact_rows=100)
    record = after(poisson(), settings, data).record
    grid = np.linspace(-8.0, 2.0, 20_001)
    total, n = data.sum(), len(data)
    constant = sum(math.lgamma(y + 1.0) for y in data[:, 0])
    terms = total * grid - n * np.exp(grid) - 0.5 * grid**2 - 0.5 * math.log(2 * math.pi) - constant
    truth = terms.max() + math.log(np.exp(terms - terms.max()).sum() * (grid[1] - grid[0]))
    assert abs(record["log_evidence"][-1] - truth) < 0.6
