"""Kernels and estimators reject wrong arguments by name, where they are built."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.hamiltonian.dual_averaging import dual_averaging
from auxmc.kernels.hamiltonian.hmc import hmc
from auxmc.kernels.hamiltonian.persistent_hmc import persistent_hmc
from auxmc.kernels.manifold.constrained_hmc import constrained_hmc
from auxmc.kernels.manifold.modified_abc import modified_abc
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.kernels.metropolis.adaptation import batch_adaptation
from auxmc.kernels.metropolis.coupling_from_the_past import coupling_from_the_past
from auxmc.kernels.metropolis.gibbs import gaussian_blocks, gibbs, spin_blocks, systematic_scan
from auxmc.kernels.metropolis.metropolis import random_walk_metropolis
from auxmc.kernels.metropolis.simulated_annealing import simulated_annealing
from auxmc.kernels.pseudo_marginal.updates import pseudo_marginal_method, slice_position
from auxmc.kernels.slices.blocked_elliptical_slice import blocked_elliptical_slice
from auxmc.kernels.slices.directed_slice import along_axes, along_gaussian, directed_slice
from auxmc.kernels.slices.elliptical_slice import elliptical_slice
from auxmc.kernels.slices.linear_slice import linear_slice
from auxmc.kernels.streams.contract import StreamSettings
from auxmc.kernels.streams.full_data_evidence import AnnealedSettings, full_data_evidence
from auxmc.kernels.streams.growing_data import GrowingDataSettings, growing_data_evidence
from auxmc.kernels.streams.nested_sampling import NestedSettings, nested_sampling
from auxmc.kernels.streams.nested_updating import UpdatingSettings, nested_updating
from auxmc.kernels.streams.particle_filter import sequential_importance_resampling
from auxmc.kernels.streams.published_estimators import particle_evidence
from auxmc.kernels.streams.running_laplace import RunningLaplaceSettings, running_laplace
from auxmc.kernels.tempering.annealed_importance import annealed_importance_sampling
from auxmc.kernels.tempering.continuous_tempering import (
    continuously_tempered_hmc,
    gibbs_continuous_tempering,
    tempered_hmc,
)
from auxmc.kernels.tempering.simulated_tempering import simulated_tempering
from auxmc.kernels.tempering.tempered_nuts import tempered_nuts
from auxmc.models.bridge import bridge, gaussian_base
from auxmc.models.conditioned import condition_generator
from auxmc.models.regression.linear_regression import linear_regression
from tests.unit.kernels.toys import latent_estimator, log_normal

BRIDGE = bridge(log_normal, gaussian_base(jnp.zeros(2), jnp.ones(2)))
SPHERE = condition_generator(lambda u: jnp.sum(jnp.square(u), keepdims=True), log_normal, jnp.ones(1))
ESTIMATOR = latent_estimator()
LINEAR = linear_regression(5)
SPINS = spin_blocks(lambda spins: spins, 3)
draw = lambda key: jnp.zeros(())
walk = lambda scale: random_walk_metropolis(log_normal, scale, 2)
on_sphere = partial(constrained_hmc, SPHERE, 0.1, dim=3)
annealing = partial(simulated_annealing, log_normal, draw, lambda _, x: x)
past = partial(coupling_from_the_past, jax.random.uniform, lambda uniform, state: state)
nested = lambda **changes: nested_sampling(log_normal, log_normal, NestedSettings(**changes))
updating = lambda **changes: nested_updating(LINEAR, UpdatingSettings(**changes))
stream = lambda **changes: particle_evidence(LINEAR, StreamSettings(**changes))
annealed = lambda **changes: full_data_evidence(LINEAR, AnnealedSettings(**changes))
growing = lambda **changes: growing_data_evidence(LINEAR, GrowingDataSettings(**changes))
laplace = lambda **changes: running_laplace(LINEAR, RunningLaplaceSettings(**changes))
resampled = lambda **changes: sequential_importance_resampling(
    draw, lambda step, x: x, lambda key, step, x: x, **{"n_steps": 2, "n_particles": 2} | changes
)
ladder = partial(simulated_tempering, BRIDGE, step_size=0.1, n_steps=1)
ENDS = np.array([0.0, 1.0])
COVARIANCE = jnp.array([[1.0, 0.9], [0.9, 1.0]])
ONE_OF_BLOCKS = "blocks must hold every input exactly once"
INCREASING = "powers must be positive and increase to 1"
MONOTONE = "strictly increasing or decreasing"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hmc(log_normal, 0.1, 0), "1 <= low <= high, got 0"),
        (lambda: hmc(log_normal, 0.1, (0, 5), 2), r"1 <= low <= high, got \(0, 5\)"),
        (lambda: hmc(log_normal, 0.1, (6, 5), 2), r"1 <= low <= high, got \(6, 5\)"),
        (lambda: hmc(log_normal, -0.1, 3), "step_size: expected a positive number, got -0.1"),
        (lambda: tempered_hmc(BRIDGE, np.array(np.nan), 3), "step_size: expected a positive number, got nan"),
        (lambda: persistent_hmc(log_normal, 0.1, 0, 0.5, 1), "n_steps .*at least 1, got 0"),
        (lambda: persistent_hmc(log_normal, 0.1, 3, 1.0, 1), "at least 0 and below 1, got 1.0"),
        (lambda: persistent_hmc(log_normal, 0.1, 3, -0.1, 1), "at least 0 and below 1, got -0.1"),
        (lambda: dual_averaging(walk, 0.1, 10, 1.2), "target must be between 0 and 1, got 1.2"),
        (lambda: dual_averaging(walk, 0.1, -1), "n_warm_up .*at least 0, got -1"),
        (lambda: batch_adaptation(walk, 0.5, 0), "batch_size .*at least 1, got 0"),
        (lambda: batch_adaptation(walk, 0.5, 10, -1), "n_batches .*at least 0, got -1"),
        (lambda: on_sphere(n_steps=(0, 3)), r"1 <= low <= high, got \(0, 3\)"),
        (lambda: on_sphere(n_steps=(1, 2), n_inner_steps=0), "n_inner_steps .*at least 1, got 0"),
        (lambda: on_sphere(n_steps=(1, 2), projection=ProjectionSettings("newtn")), "unknown solver 'newtn'"),
        (lambda: on_sphere(n_steps=(1, 2), reversibility_check="no"), "unknown reversibility_check 'no'"),
        (
            lambda: modified_abc(lambda p, z: p, log_normal, jnp.zeros((2, 2)), 0.1, 0.5, 1),
            r"must be a vector.*got shape \(2, 2\)",
        ),
        (lambda: gibbs(SPINS, systematic_scan([0, 3])), r"from 0 to 2.*\[0, 3\]"),
        (lambda: gibbs(SPINS, systematic_scan([])), "at least one, got"),
        (lambda: spin_blocks(lambda spins: spins, 0), "at least one coordinate, got 0"),
        (lambda: spin_blocks(lambda spins: spins, 3, [(0,), (5,)]), "from 0 to 2, got 5"),
        (lambda: spin_blocks(lambda spins: spins, 3, [()]), "at least one coordinate each"),
        (lambda: gaussian_blocks(np.zeros(2), np.eye(3)), r"got \(2,\) and \(3, 3\)"),
        (lambda: gaussian_blocks(np.zeros(2), [[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        (lambda: past(jnp.arange(1)), r"at least two states \[start, ...\], got shape \(1,\)"),
        (lambda: past(jnp.zeros(())), "at least two states"),
        (lambda: past(jnp.arange(2), first_horizon=0), "first 0 and largest 65536"),
        (lambda: past(jnp.arange(2), first_horizon=8, max_horizon=4), "first 8 and largest 4"),
        (lambda: annealing([]), "one a step, got shape"),
        (lambda: annealing([[1.0]]), r"one a step, got shape \(1, 1\)"),
        (lambda: annealing([1.0, 0.5]), "not fall, got"),
        (lambda: annealing([0.0, 1.0]), "must be positive"),
        (lambda: annealing([1.0, np.inf]), "finite and not fall"),
        (lambda: pseudo_marginal_method("apm", ESTIMATOR, 1.0, 2), r"unknown method 'apm'.*pm_mh, apm_mi_mh"),
        (lambda: slice_position(ESTIMATOR, 1.0, 1, -2), "max_step_outs .*at least 0"),
        (lambda: linear_slice(log_normal, 1.0, 1, -1), "max_step_outs .*at least 0, got -1"),
        (lambda: linear_slice(log_normal, 1.0, 1, max_doublings=-1), "max_doublings .*at least 0, got -1"),
        (lambda: linear_slice(log_normal, 1.0, 1, 2, max_doublings=2), "expected one of them, got both"),
        (lambda: directed_slice(log_normal, along_axes(1), 1.0, 1, -1), ".*at least 0, got -1"),
        (lambda: along_gaussian(jnp.zeros((2, 3))), r"square matrix, got shape \(2, 3\)"),
        (lambda: elliptical_slice(log_normal), "got neither"),
        (lambda: elliptical_slice(log_normal, jnp.zeros((2, 3))), r"square matrix, got shape \(2, 3\)"),
        (lambda: elliptical_slice(log_normal, COVARIANCE), "prior_cholesky: expected .* factor"),
        (lambda: gaussian_base(jnp.zeros(2), COVARIANCE), "scale: expected a lower Cholesky factor, got num"),
        (lambda: blocked_elliptical_slice(log_normal, [(0, 2), (3, 5)]), ONE_OF_BLOCKS),
        (lambda: blocked_elliptical_slice(log_normal, [(0, 3), (2, 5)]), ONE_OF_BLOCKS),
        (lambda: blocked_elliptical_slice(log_normal, [(0, 0), (0, 5)]), ONE_OF_BLOCKS),
        (lambda: blocked_elliptical_slice(log_normal, [(1, 5)]), ONE_OF_BLOCKS),
        (lambda: blocked_elliptical_slice(log_normal, []), "at least one block"),
        (lambda: growing(n_particles=1), "n_particles .*at least 2, got 1"),
        (lambda: growing(first_chunk=0), "first_chunk .*at least 1, got 0"),
        (lambda: growing(growth=-0.1), "growth must not be negative, got -0.1"),
        (lambda: growing(n_leapfrog=0), "n_leapfrog .*at least 1, got 0"),
        (lambda: growing(resampling="rarely"), "resampling must be one of none, always"),
        (lambda: annealed(n_particles=1), "n_particles .*at least 2, got 1"),
        (lambda: annealed(n_moves=0), "n_moves .*at least 1, got 0"),
        (lambda: annealed(kernel="gibbs"), "one of stochastic_gradient, hamiltonian, got 'gibbs'"),
        (lambda: annealed(target_size=10.0), "target_size must be below n_particles=10, got 10.0"),
        (lambda: annealed(friction=1.5), r"friction in \(0, 1\]"),
        (lambda: annealed(powers=(0.5, 0.5, 1.0)), INCREASING),
        (lambda: annealed(powers=(0.5,)), INCREASING),
        (lambda: annealed(powers=()), INCREASING),
        (lambda: nested(n_live=1), "n_live .*at least 2"),
        (lambda: nested(stopping_rule="never"), "one of additive_term, remaining_mass, got 'never'"),
        (lambda: nested(n_live=10)(jax.random.key(1), jnp.zeros((3, 6))), r"\[10, dim\], got \[3, 6\]"),
        (lambda: updating(n_live=2), "n_live .*at least 10: .*, got 2"),
        (lambda: updating(n_moves=0), "n_moves .*at least 1, got 0"),
        (lambda: updating(friction=0.0), r"friction must be in \(0, 1\], got 0.0"),
        (lambda: updating(free_friction=1.1), r"free_friction must be in \(0, 1\], got 1.1"),
        (lambda: updating(first_step=0.0), "first_step must be positive, got 0.1 and 0.0"),
        (lambda: resampled(n_particles=0), "n_particles .*at least 1, got 0"),
        (lambda: resampled(n_steps=0), "n_steps .*at least 1, got 0"),
        (lambda: resampled(n_steps=True), "n_steps .*at least 1, got True"),
        (lambda: resampled(threshold=1.5), r"threshold must be from 0 to 1, got 1\.5"),
        (lambda: resampled(threshold=float("nan")), "threshold must be from 0 to 1, got nan"),
        (lambda: laplace(n_particles=5), "n_particles must be even and at least 4, got 5"),
        (lambda: laplace(n_particles=2), "n_particles must be even and at least 4, got 2"),
        (lambda: laplace(n_moves=0), "n_moves .*at least 1, got 0"),
        (lambda: laplace(exact_rows=0), "exact_rows .*at least 1, got 0"),
        (lambda: laplace(least_fit=1.0), r"least_fit must be in \[0, 1\), got 1.0"),
        (lambda: stream(estimator="anneal"), "one of annealed, sequential, got 'anneal'"),
        (lambda: stream(resampling="sometimes"), "resampling must be one of none, always"),
        (lambda: stream(dynamics="nose"), "dynamics must be one of sghmc, nose_hoover, got 'nose'"),
        (lambda: stream(n_particles=1), "n_particles .*at least 2, got 1"),
        (lambda: stream(target_size=10.0), "target_size must be below n_particles=10, got 10.0"),
        (lambda: stream(batch_size=0), "batch_size .*at least 1, got 0"),
        (lambda: stream(friction=0.0), r"friction in \(0, 1\]"),
        (
            lambda: particle_evidence(LINEAR, StreamSettings(control_variates=True), fetch=lambda p, n: p),
            "control_variates need all past rows in PastRows",
        ),
        (lambda: annealed_importance_sampling(BRIDGE, [0.0], 0.1, 1), "vector of 2 numbers or more"),
        (lambda: annealed_importance_sampling(BRIDGE, [0.0, 0.5, 0.5, 1.0], 0.1, 1), MONOTONE),
        (lambda: annealed_importance_sampling(BRIDGE, [[0.0, 1.0]], 0.1, 1), MONOTONE),
        (lambda: annealed_importance_sampling(BRIDGE, [1.0, 0.0], 0.1, 1), "give draw_start"),
        (lambda: ladder(np.array([0.0])), "vectors of one length, at least 2"),
        (lambda: ladder(np.zeros((2, 2))), "vectors of one length, at least 2"),
        (lambda: ladder(ENDS, log_weights=np.zeros(3)), r"got shapes \[2\] and \[3\]"),
        (lambda: ladder(ENDS, index_update="gibbs"), "one of independent, random_walk, got 'gibbs'"),
        (lambda: tempered_nuts(BRIDGE, 0.1, jnp.ones(2)), r"inverse_mass must be \[3\]"),
        (lambda: tempered_nuts(BRIDGE, 0.1, jnp.ones(3), 0), "max_doublings .*at least 1, got"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_numbers_may_be_of_numpy_or_traced():
    steps = [hmc(log_normal, 0.1, n, 2).draw(jax.random.key(0)).n_steps for n in (3, np.int32(3))]
    assert steps[0] == steps[1] == 3
    jax.jit(lambda size: hmc(log_normal, size, 3).init(jnp.zeros(2)))(-0.1)


@pytest.mark.parametrize("build", [tempered_hmc, gibbs_continuous_tempering, continuously_tempered_hmc])
@pytest.mark.parametrize(
    ("n_steps", "options", "message"),
    [
        (0, {}, "n_steps .*at least 1, got 0"),
        (2.5, {}, "n_steps .*at least 1, got 2.5"),
        (3, {"refreshment": 0.0}, "refreshment must be above 0 and at most 1, got 0.0"),
        (3, {"refreshment": 1.5}, "refreshment must be above 0 and at most 1, got 1.5"),
        (3, {"integrator": "euler"}, "one of drift_kick_drift, kick_drift_kick, got 'euler'"),
    ],
)
def test_wrong_arguments_of_tempered_trajectories_are_named(build, n_steps, options, message):
    with pytest.raises(ValueError, match=message):
        build(BRIDGE, 0.1, n_steps, **options)


def test_the_smallest_settings_are_allowed():
    stream = laplace(n_moves=1, n_leapfrog=1, first_fit=1, exact_rows=1, max_annealing_steps=1)
    assert callable(stream.absorb)
