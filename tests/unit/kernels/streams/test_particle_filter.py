"""Sequential importance resampling: structure, identities, failures."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.streams.particle_filter import (
    ancestral_lines,
    backward_draws,
    bootstrap_particle_filter,
    sequential_importance_resampling,
)
from auxmc.numerics.random import standard_normal
from auxmc.sampling.resampling import SCHEMES
from experiments.foundations.evidence.sequential import SINE_OBSERVATIONS, TWENTY_STEPS

N_STEPS, N_PARTICLES = 4, 6


def toward_one(step, particles):
    return -0.5 * jnp.square(particles - 1.0) * (1.0 + step.astype(jnp.float64))


def wandering(log_weight, n_particles, scheme, threshold):
    """A population that wanders, as a function of the key."""
    return sequential_importance_resampling(
        lambda key, n: standard_normal(key, (n,)),
        log_weight,
        lambda key, step, particles: particles + 0.3 * standard_normal(key, particles.shape),
        n_steps=N_STEPS,
        n_particles=n_particles,
        resampling=SCHEMES[scheme],
        threshold=threshold,
    )


@cache
def program(log_weight, n_particles, scheme):
    return jax.jit(lambda key, threshold: wandering(log_weight, n_particles, scheme, threshold)(key))


def run(log_weight=toward_one, n_particles=N_PARTICLES, scheme="systematic", threshold=1.0):
    return program(log_weight, n_particles, scheme)(jax.random.key(0), jnp.asarray(threshold))


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
@pytest.mark.parametrize("threshold", [0.0, 0.7, 1.0])
def test_record_is_consistent(scheme, threshold):
    found = run(scheme=scheme, threshold=threshold)
    weights = np.asarray(found.log_weights)
    assert found.ancestors.dtype == jnp.int32
    assert np.all((found.ancestors >= 0) & (found.ancestors < N_PARTICLES))
    fractions = np.exp(weights - weights.max(axis=1, keepdims=True))
    sizes = fractions.sum(axis=1) ** 2 / np.square(fractions).sum(axis=1) / N_PARTICLES
    np.testing.assert_allclose(found.effective_fraction, sizes, rtol=1e-12)
    assert np.all((sizes >= 1.0 / N_PARTICLES - 1e-12) & (sizes <= 1.0 + 1e-12))
    wanted = {0.0: np.zeros(N_STEPS, bool), 0.7: sizes < 0.7, 1.0: np.ones(N_STEPS, bool)}[threshold]
    np.testing.assert_array_equal(found.resampled, wanted)
    kept = np.asarray(found.ancestors)[~wanted]
    np.testing.assert_array_equal(kept, np.broadcast_to(np.arange(N_PARTICLES), kept.shape))
    increments = np.diff(np.asarray(found.log_evidence), prepend=0.0)
    np.testing.assert_allclose(increments, np.log(np.exp(weights).mean(axis=1)), rtol=1e-11)
    assert np.exp(np.asarray(found.last_log_weights)).mean() == pytest.approx(1.0)


def test_without_resampling_the_evidence_is_the_mean_of_the_products():
    found = run(threshold=0.0)
    logs = -0.5 * np.square(np.asarray(found.particles) - 1.0) * (1.0 + np.arange(N_STEPS))[:, None]
    exact = np.log(np.exp(np.cumsum(logs, axis=0)).mean(axis=1))
    np.testing.assert_allclose(found.log_evidence, exact, rtol=1e-12)


def test_particles_descend_from_their_ancestors():
    frozen = sequential_importance_resampling(
        lambda key, n: standard_normal(key, (n, 2)),
        lambda step, particles: particles[:, 0],
        lambda key, step, particles: particles,
        n_steps=N_STEPS,
        n_particles=N_PARTICLES,
    )
    found = jax.jit(frozen)(jax.random.key(3))
    for step in range(N_STEPS - 1):
        np.testing.assert_array_equal(found.particles[step + 1], found.particles[step][found.ancestors[step]])
    lines = np.asarray(ancestral_lines(found.ancestors))
    np.testing.assert_array_equal(lines[-1], np.arange(N_PARTICLES))
    for step in range(N_STEPS):
        np.testing.assert_array_equal(found.particles[step][lines[step]], found.particles[-1])
    distinct = [len(set(line)) for line in lines]
    assert distinct == sorted(distinct)


def shifted_at_one(step, particles):
    return toward_one(step, particles) - jnp.where(step == 1, 1e5, 0.0)


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_a_constant_of_a_step_is_added_to_the_evidence(threshold):
    plain, moved = run(threshold=threshold), run(shifted_at_one, threshold=threshold)
    np.testing.assert_allclose(moved.log_evidence[0], plain.log_evidence[0], rtol=1e-13)
    np.testing.assert_allclose(moved.log_evidence[1:] + 1e5, plain.log_evidence[1:], atol=1e-9)
    np.testing.assert_array_equal(moved.ancestors, plain.ancestors)


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_numbers_spare_work_and_change_nothing(threshold):
    """A threshold that is a number, not traced, takes other branches of the program."""
    found = jax.jit(wandering(toward_one, N_PARTICLES, "systematic", threshold))(jax.random.key(0))
    np.testing.assert_allclose(found.log_evidence, run(threshold=threshold).log_evidence, rtol=1e-13)


def test_weights_that_are_no_numbers_count_as_none_and_are_counted():
    def with_holes(step, particles):
        wrong = jnp.where(step == 1, jnp.nan, jnp.inf)
        return jnp.where(jnp.arange(N_PARTICLES) == 2, wrong, 0.0)

    found = run(with_holes)
    assert found.n_not_finite.tolist() == [1] * N_STEPS
    assert not np.any(np.asarray(found.ancestors) == 2)
    np.testing.assert_allclose(np.diff(found.log_evidence, prepend=0.0), np.log(5.0 / 6.0), rtol=1e-12)


def nothing_at_one(step, particles):
    return jnp.where(step == 1, -jnp.inf, 0.0) * jnp.ones_like(particles)


@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
def test_an_evidence_of_zero_stays_zero(threshold):
    found = run(nothing_at_one, threshold=threshold)
    assert found.log_evidence[0] == 0.0
    assert np.all(np.isneginf(np.asarray(found.log_evidence[1:])))
    assert np.all(np.isfinite(np.asarray(found.last)))


def test_one_particle_is_never_resampled():
    assert not np.any(np.asarray(run(n_particles=1).resampled))


def filtered(observations, n_particles, **options):
    model = TWENTY_STEPS
    densities = (model.draw_initial, model.draw_next, model.log_emission)
    return bootstrap_particle_filter(*densities, jnp.asarray(observations), n_particles, **options)


def test_runs_side_by_side_are_those_one_by_one():
    one = filtered(SINE_OBSERVATIONS[:3], 5, threshold=0.6)
    keys = jax.random.split(jax.random.key(1), 3)
    alone = [jax.jit(one)(key).log_evidence for key in keys]
    np.testing.assert_allclose(jax.jit(jax.vmap(one))(keys).log_evidence, alone, rtol=1e-13)


def smoothed_moments():
    """Exact means and covariance of all states given all observations, from the joint normal distribution."""
    model, n = TWENTY_STEPS, len(SINE_OBSERVATIONS)
    recursion = np.eye(n) - model.coefficient * np.eye(n, k=-1)
    precisions = np.full(n, 1.0 / model.state_variance)
    precisions[0] = 1.0 / model.initial_variance
    precision = recursion.T @ (precisions[:, None] * recursion) + np.eye(n) / model.noise_variance
    covariance = np.linalg.inv(precision)
    return covariance @ np.asarray(SINE_OBSERVATIONS) / model.noise_variance, covariance


def log_transition(step, states, following):
    return -0.5 * (following - TWENTY_STEPS.coefficient * states) ** 2 / TWENTY_STEPS.state_variance


def smoothing_draws(transition):
    run = jax.jit(filtered(SINE_OBSERVATIONS, 1000))(jax.random.key(5))
    return np.asarray(jax.jit(backward_draws(run, transition, 1000))(jax.random.key(6)))


def test_backward_draws_have_the_moments_of_the_smoother():
    paths = smoothing_draws(log_transition)
    mean, covariance = smoothed_moments()
    assert paths.shape == (1000, 20)
    # Errors of the filter's 1000 particles and of as many paths, each near a thirtieth of a standard deviation.
    np.testing.assert_allclose(paths.mean(axis=0), mean, atol=0.2 * np.sqrt(covariance.max()))
    np.testing.assert_allclose(np.cov(paths.T), covariance, atol=0.25 * covariance.max())
    # Ancestral lines come from few of the first states, backward draws from many.
    assert len(np.unique(paths[:, 0])) > 300


@pytest.mark.slow
def test_backward_draws_without_the_transition_density_are_those_of_the_filter_and_miss_the_smoother():
    paths = smoothing_draws(lambda step, states, following: jnp.zeros_like(states))
    mean, covariance = smoothed_moments()
    assert np.abs(paths.mean(axis=0) - mean).max() > 0.4 * np.sqrt(covariance.max())
