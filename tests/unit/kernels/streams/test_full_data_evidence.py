"""Annealed importance sampling over all rows, on linear models with known evidence."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.streams.full_data_evidence import AnnealedSettings, full_data_evidence
from auxmc.models.regression.linear_regression import linear_regression
from auxmc.models.row_model import row_model
from experiments.streaming_evidence.model import rows
from tests.exact_posteriors import linear_log_evidence
from tests.unit.kernels.linear_moves import exact_linear_moves

MODEL = linear_regression(5)
DATA = rows("linear", 1000)
EXACT = linear_log_evidence(DATA)

SMALL = linear_regression(1)
FEW = np.random.default_rng(5).normal(size=(20, 2)) + np.array([0.0, 0.5])


def run(settings, dtype=jnp.float64):
    return jax.jit(full_data_evidence(MODEL, settings))(jax.random.key(1), jnp.asarray(DATA, dtype))


@pytest.fixture(scope="module")
def default_run():
    return run(AnnealedSettings())


def test_published_settings_come_near_the_exact_evidence(default_run):
    # Ten particles that move slowly: some tens of nats low.
    assert -80.0 < float(default_run.log_evidence) - EXACT < 5.0
    assert default_run.particles.dtype == default_run.log_weights.dtype == jnp.float64
    assert int(default_run.n_unfinished) == int(default_run.n_not_finite) == 0


def test_the_path_keeps_the_effective_size_and_ends_at_one(default_run):
    n = int(default_run.n_annealing_steps)
    powers, sizes = np.asarray(default_run.powers), np.asarray(default_run.sizes)
    assert (np.diff(powers[:n]) > 0.0).all()
    assert powers[n - 2] < 1.0
    assert (powers[n - 1 :] == 1.0).all()
    np.testing.assert_allclose(sizes[: n - 1], 5.0, rtol=1e-6)
    assert sizes[n - 1] >= 5.0 - 1e-6
    total = jax.nn.logsumexp(default_run.log_weights) - math.log(10)
    assert float(default_run.log_evidence) == float(total)


def test_work_is_counted(default_run):
    n = int(default_run.n_annealing_steps)
    assert int(default_run.n_likelihood_rows) == n * 10 * 1000
    assert int(default_run.n_gradient_rows) == n * 20 * 10 * 1000
    assert float(default_run.acceptance) == 1.0  # stochastic gradients have no accept step


def test_single_precision_rows_and_other_blocks_give_the_same(default_run):
    single = run(AnnealedSettings(block_rows=64), jnp.float32)
    assert float(single.log_evidence) == pytest.approx(float(default_run.log_evidence), abs=0.01)


def test_hamiltonian_moves_and_many_particles_meet_the_evidence():
    moves = {"kernel": "hamiltonian", "n_moves": 5, "n_leapfrog": 4}
    found = run(AnnealedSettings(n_particles=100, target_size=90.0, **moves))
    # Errors of this setting over seeds have a standard deviation below 0.5.
    assert abs(float(found.log_evidence) - EXACT) < 3.0
    assert int(found.n_gradient_rows) == int(found.n_annealing_steps) * 100 * (5 * 4 + 1) * 1000
    assert 0.5 < float(found.acceptance) < 1.0


def test_first_increments_of_a_ten_millionth_lead_to_the_end():
    noise = 1e-3
    data = FEW * np.array([1.0, noise])
    exact = linear_log_evidence(data, noise)
    settings = AnnealedSettings(n_particles=100, target_size=99.0)
    annealed = full_data_evidence(linear_regression(1, noise), settings, exact_linear_moves(noise))
    found = jax.jit(annealed)(jax.random.key(3), jnp.asarray(data))
    assert float(found.powers[0]) < 1e-7
    assert int(found.n_unfinished) == 0
    # Each of some 150 steps has weights with a variance near 0.01, the mean of 100 particles a deviation near 0.15.
    assert abs(float(found.log_evidence) - exact) < 1.5


def without_moves(log_likelihood, **settings):
    """Evidence of five rows under a model of one parameter, from ten particles that stay where they are drawn."""
    model = row_model(1, 1, log_likelihood, SMALL.log_prior, lambda key: jax.random.normal(key, (1,)))
    settings = AnnealedSettings(n_moves=1, **settings)
    annealed = full_data_evidence(model, settings, lambda key, particles, target: particles)
    return annealed(jax.random.key(3), jnp.zeros((5, 1)))


@pytest.mark.parametrize(
    ("lost", "left", "settings"),
    [(jnp.nan, 0.0, {"target_size": 1.0}), (-jnp.inf, -0.1, {"powers": (0.5, 1.0)})],
)
def test_particles_without_a_likelihood_weigh_nothing_and_the_path_goes_on(lost, left, settings):
    log_likelihood = lambda p, rows: jnp.where(p[0] > 0.0, lost, left) * jnp.ones(rows.shape[0])
    found = without_moves(log_likelihood, **settings)
    n_left = int(jnp.sum(found.particles[:, 0] <= 0.0))
    assert 0 < n_left < 10
    assert int(found.n_annealing_steps) == len(settings.get("powers", [1.0]))
    assert int(found.n_unfinished) == 0
    # All parts of the likelihood of five rows are in the weights.
    assert float(found.log_evidence) == pytest.approx(math.log(n_left / 10.0) + 5 * left)


def test_a_run_ends_where_no_particle_has_a_likelihood():
    nothing = lambda p, rows: jnp.full(rows.shape[0], -jnp.inf) * (1.0 + 0.0 * p[0])
    found = without_moves(nothing, target_size=1.0)
    assert float(found.log_evidence) == -math.inf
    assert int(found.n_unfinished) == 1
    assert int(found.n_annealing_steps) == 1


def test_a_particle_is_lost_with_one_coordinate():
    settings = AnnealedSettings(n_particles=2, target_size=1.0, n_moves=1)
    move = lambda key, particles, target: particles.at[:, 0].set(jnp.nan)
    found = full_data_evidence(SMALL, settings, move)(jax.random.key(3), jnp.asarray(FEW))
    assert found.particles.shape[1] == 2
    assert int(found.n_not_finite) == 2
