"""The estimator illustrations: closed forms, tiny real runs, figures, claims and settings."""

import decimal
import math
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import linalg

from auxmc.driver.chains import RunContext
from auxmc.kernels.streams.stochastic_gradient_chain import ChainNoise, ChainState, stochastic_gradient_chain
from auxmc.models.regression.linear_regression import linear_regression
from auxmc_pipeline.catalogue import load_study
from experiments.estimator_illustrations import exact_moves, nested
from experiments.estimator_illustrations.dynamics import stationary_variance
from experiments.estimator_illustrations.kernels import (
    Bent,
    correlated,
    lag_one_autocorrelation,
    trajectories,
)
from experiments.estimator_illustrations.run import run
from experiments.estimator_illustrations.simple import excess_probabilities
from experiments.streaming_evidence.model import rows
from tests.exact_posteriors import tempered_posterior

STUDY = load_study("estimator_illustrations")
DATA = rows("linear", 60)
TINY = ["preset=smoke", "n_chains=3", "n_draws=1000", "n_batch_draws=100", "batch_rows=[200,2000]"]
TINY += ["n_replicates=20000", "n_runs=100", "n_nested_runs=5"]


def settings(*words):
    composed = STUDY.settings([*TINY, *words])
    return composed


def context():
    return RunContext("estimator_illustrations", 5, Path(mkdtemp()), "identity", "test")


@cache
def with_chains():
    kernels = run(settings(), context())
    return kernels, run(
        settings("design=evidence", "exact_estimators=[ais,adaptive]", "n_live=[2]"), context()
    )


@pytest.mark.slow
def test_chains_of_the_figures_begin_where_they_are_said_to_and_paths_join_their_states():
    curves = with_chains()[0]["curves"]
    np.testing.assert_array_equal(curves["random_walk_path"].values[0], [-2.0, -2.0])
    np.testing.assert_array_equal(curves["gradient_path"].values[:, 0], [[-3.0, 3.0]] * 2)
    paths, states = curves["leapfrog_path"].values, curves["hmc_states"].values
    assert paths.shape == (20, 11, 2)
    np.testing.assert_array_equal(paths[:, 0], states[:-1])
    moved = np.any(states[1:] != states[:-1], axis=1)
    assert moved.sum() > 5
    np.testing.assert_allclose(paths[moved, -1], states[1:][moved], rtol=1e-12)


def test_the_stationary_variance_is_that_of_the_step():
    """The step is linear in the state and the noise: its distribution follows from a discrete Lyapunov equation."""
    step, friction, curvature, variance, correction = 0.7, 0.2, 1.5, 2.0, 0.1
    kernel = stochastic_gradient_chain(
        lambda x, noise: curvature * x + math.sqrt(variance) * noise,
        lambda key: jnp.zeros(1),
        step,
        friction,
        1,
        correction,
    )

    def after(numbers):
        position, velocity, normal, gradient = (jnp.asarray(numbers[i : i + 1]) for i in range(4))
        state, _ = kernel.apply(ChainNoise(normal, gradient), ChainState(position, velocity))
        return np.concatenate([state.position, state.velocity])

    columns = np.stack([after(unit) for unit in np.eye(4)], axis=1)
    distribution = linalg.solve_discrete_lyapunov(columns[:, :2], columns[:, 2:] @ columns[:, 2:].T)
    found = stationary_variance(step, friction, curvature, variance, correction)
    assert float(found) == pytest.approx(distribution[0, 0], rel=1e-12)
    with pytest.raises(
        ValueError, match=r"step times curvature must be below 2 \(2 - friction\) = 3.6, got 4"
    ):
        stationary_variance(4.0, 0.2, 1.0)


def test_the_distribution_of_a_stage_is_the_tempered_posterior():
    past = np.column_stack([DATA[:12], np.ones(12)])
    past[10:, -1] = 0.25
    chunk = np.zeros((20, 7))
    chunk[:2] = np.column_stack([DATA[10:12], np.full(2, 0.5)])
    distribution = exact_moves.conjugate_distribution(past, chunk)
    power = 0.6
    mean, covariance = tempered_posterior(DATA[:12], np.append(np.ones(10), np.full(2, 0.25 + power * 0.5)))
    variances = 1.0 / (1.0 + power * distribution.curvatures)
    found = distribution.basis @ (variances * (distribution.past_linear + power * distribution.linear))
    np.testing.assert_allclose(found, mean, rtol=1e-10)
    np.testing.assert_allclose(
        (distribution.basis * variances) @ distribution.basis.T, covariance, rtol=1e-10, atol=1e-13
    )


def test_powers_of_rows_add_up_to_one():
    stages = exact_moves.annealed_stages(DATA, [10] * 6, 8)
    assert [stage.prefix for stage in stages if stage.prefix] == [10, 20, 30, 40, 50, 60]
    assert len(stages) == 48
    for first in range(0, 48, 8):
        powers = np.array([stage.chunk[:10, -1] for stage in stages[first : first + 8]])
        np.testing.assert_allclose(powers.sum(axis=0), 1.0, rtol=1e-12)
        assert (np.diff(powers[:, 0]) > 0.0).all()
    single = exact_moves.whole_stages(DATA[:3], [1, 1, 1])
    assert [stage.n_valid for stage in single] == [1, 1, 1]
    np.testing.assert_array_equal([stage.chunk[0, -1] for stage in single], 1.0)


def test_likelihoods_are_raised_to_the_power_of_their_row():
    parameters = jnp.arange(6.0) / 10.0
    block = jnp.asarray(np.column_stack([DATA[:4], [0.0, 0.5, 1.0, 2.0]]))
    powered = jax.jit(exact_moves.powered_regression().log_likelihood)(parameters, block)
    plain = jax.jit(linear_regression(5).log_likelihood)(parameters, block[:, :-1])
    np.testing.assert_allclose(powered, np.array([0.0, 0.5, 1.0, 2.0]) * np.asarray(plain), rtol=1e-14)


def test_the_compressed_likelihood_is_the_sum_over_rows():
    parameters = jnp.asarray(np.random.default_rng(3).normal(size=6))
    by_row = jax.jit(linear_regression(5).log_likelihood)(parameters, jnp.asarray(DATA))
    expected = float(np.asarray(by_row).sum())
    assert float(jax.jit(nested.compressed_log_likelihood(DATA))(parameters)) == pytest.approx(
        expected, rel=1e-12
    )


def test_masses_of_exact_nested_sampling_fall_and_sums_are_right_to_rounding():
    masses = nested.exact_masses(np.random.default_rng(1), 50, 3, 10)
    assert ((masses > 0.0) & (masses < 1.0)).all()
    assert (np.diff(masses, axis=1) < 0.0).all()
    assert max(nested.sum_errors(np.random.default_rng(2)).values()) < 1e-10
    with decimal.localcontext() as arithmetic:
        arithmetic.prec = 40
        exact = (decimal.Decimal(10) / 11 - (decimal.Decimal(-1) / 10).exp()) * 200
    assert float(nested.shrinkage_ratios(np.array([10.0]))[0]) == pytest.approx(float(exact), rel=1e-12)


def test_trajectories_on_a_round_gaussian_are_circles_and_may_be_many():
    turns = np.linspace(0.0, 2.0, 300)
    starts = np.tile([1.0, 0.0, 0.0, 1.0], (300, 1))
    ends = trajectories(correlated(0.0), starts, turns / 200.0, 200)
    np.testing.assert_allclose(ends[:, 0], np.cos(turns), atol=1e-4)
    np.testing.assert_allclose(ends[:, 1], np.sin(turns), atol=1e-4)
    np.testing.assert_array_equal(trajectories(correlated(0.0), starts[:1], 0.3, 0), starts[:1])


def test_slopes_of_the_bent_target_are_those_of_its_energy():
    target = Bent(np.array([[2.0, 0.3], [0.3, 1.0]]), 0.7)
    phase = np.array([0.4, -1.1, 0.2, 0.6])
    nudges = 1e-6 * np.eye(4)[:2]
    found = (target.energy(phase + nudges) - target.energy(phase - nudges)) / 2e-6
    np.testing.assert_allclose(found, target.slope(phase[:2]), rtol=1e-8)


def test_measures_of_a_series():
    alternating = np.tile([1.0, -1.0], (2, 50))
    np.testing.assert_allclose(lag_one_autocorrelation(alternating), -1.0)
    _, fractions = excess_probabilities(np.array([0.0, 1.0, 2.5, 3.5]))
    np.testing.assert_array_equal(fractions, [0.75, 0.5, 0.25])
