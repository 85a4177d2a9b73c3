"""Kernels and estimators reject wrong arguments by name, where they are built."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc import kernels
from auxmc.kernels.tempering.tempered_move import tempered_hmc
from auxmc.models.regression.linear_regression import linear_regression
from tests.unit.kernels.toys import latent_estimator, log_normal

BRIDGE = kernels.bridge(log_normal, kernels.gaussian_base(jnp.zeros(2), jnp.ones(2)))
SPHERE = kernels.condition_generator(lambda u: jnp.sum(jnp.square(u), keepdims=True), log_normal, jnp.ones(1))
ESTIMATOR = latent_estimator()
LINEAR = linear_regression(5)
SPINS = kernels.spin_blocks(lambda spins: spins, 3)
draw = lambda key: jnp.zeros(())
walk = lambda scale: kernels.random_walk_metropolis(log_normal, scale, 2)
estimated, matched = kernels.pseudo_marginal_method, partial(kernels.modified_abc, lambda p, z: p, log_normal)
on_sphere = partial(kernels.constrained_hmc, SPHERE, 0.1, dim=3)
annealing = partial(kernels.simulated_annealing, log_normal, draw, lambda _, x: x)
past = partial(kernels.coupling_from_the_past, jax.random.uniform, lambda uniform, state: state)
nested = lambda **changes: kernels.nested_sampling(log_normal, log_normal, kernels.NestedSettings(**changes))
updating = lambda **changes: kernels.nested_updating(LINEAR, kernels.UpdatingSettings(**changes))
stream = lambda **changes: kernels.particle_evidence(LINEAR, kernels.StreamSettings(**changes))
stored = lambda **changes: kernels.particle_evidence(
    LINEAR, kernels.StreamSettings(**changes), fetch=lambda past, numbers: past
)
annealed = lambda **changes: kernels.full_data_evidence(LINEAR, kernels.AnnealedSettings(**changes))
growing = lambda **changes: kernels.growing_data_evidence(LINEAR, kernels.GrowingDataSettings(**changes))
laplace = lambda **changes: kernels.running_laplace(LINEAR, kernels.RunningLaplaceSettings(**changes))
resampled = lambda **changes: kernels.sequential_importance_resampling(
    draw, lambda step, x: x, lambda key, step, x: x, **{"n_steps": 2, "n_particles": 2} | changes
)
blocked = partial(kernels.blocked_elliptical_slice, log_normal)
directed = partial(kernels.directed_slice, log_normal, kernels.along_axes(1), 1.0, 1)
elliptical = partial(kernels.elliptical_slice, log_normal)
line = partial(kernels.linear_slice, log_normal, 1.0, 1)
importance = partial(kernels.annealed_importance_sampling, BRIDGE, step_size=0.1, n_steps=1)
plateau = partial(kernels.plateau_tempered_hmc, BRIDGE, 0.1, 2)
ladder = partial(kernels.simulated_tempering, BRIDGE, step_size=0.1, n_steps=1)
ENDS = np.array([0.0, 1.0])
COVARIANCE = jnp.array([[1.0, 0.9], [0.9, 1.0]])
ONE_OF_BLOCKS = "blocks must hold every input exactly once"
INCREASING = "powers must be positive and increase to 1"
MONOTONE = "strictly increasing or decreasing"
THRESHOLDS = "thresholds must be two numbers with 0 < first < second, got"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kernels.hmc(log_normal, 0.1, 0), "1 <= low <= high, got 0"),
        (lambda: kernels.hmc(log_normal, 0.1, (0, 5), 2), r"1 <= low <= high, got \(0, 5\)"),
        (lambda: kernels.hmc(log_normal, 0.1, (6, 5), 2), r"1 <= low <= high, got \(6, 5\)"),
        (lambda: kernels.hmc(log_normal, -0.1, 3), "step_size: expected a positive number, got -0.1"),
        (lambda: tempered_hmc(BRIDGE, np.array(np.nan), 3), "step_size: expected a positive number, got nan"),
        (lambda: kernels.persistent_hmc(log_normal, 0.1, 0, 0.5, 1), "n_steps .*at least 1, got 0"),
        (lambda: kernels.persistent_hmc(log_normal, 0.1, 3, 1.0, 1), "at least 0 and below 1, got 1.0"),
        (lambda: kernels.persistent_hmc(log_normal, 0.1, 3, -0.1, 1), "at least 0 and below 1, got -0.1"),
        (lambda: kernels.dual_averaging(walk, 0.1, 10, 1.2), "target must be between 0 and 1, got 1.2"),
        (lambda: kernels.dual_averaging(walk, 0.1, -1), "n_warm_up .*at least 0, got -1"),
        (lambda: kernels.batch_adaptation(walk, 0.5, 0), "batch_size .*at least 1, got 0"),
        (lambda: kernels.batch_adaptation(walk, 0.5, 10, -1), "n_batches .*at least 0, got -1"),
        (lambda: on_sphere(n_steps=(0, 3)), r"1 <= low <= high, got \(0, 3\)"),
        (lambda: on_sphere(n_steps=(1, 2), n_inner_steps=0), "n_inner_steps .*at least 1, got 0"),
        (lambda: on_sphere(1, projection=kernels.ProjectionSettings("newtn")), "unknown solver 'newtn'"),
        (lambda: on_sphere(n_steps=(1, 2), reversibility_check="no"), "unknown reversibility_check 'no'"),
        (lambda: matched(jnp.zeros((2, 2)), 0.1, 0.5, 1), r"must be a vector.*got shape \(2, 2\)"),
        (lambda: kernels.gibbs(SPINS, kernels.systematic_scan([0, 3])), r"from 0 to 2.*\[0, 3\]"),
        (lambda: kernels.gibbs(SPINS, kernels.systematic_scan([])), "at least one, got"),
        (lambda: kernels.spin_blocks(lambda spins: spins, 0), "at least one coordinate, got 0"),
        (lambda: kernels.spin_blocks(lambda spins: spins, 3, [(0,), (5,)]), "from 0 to 2, got 5"),
        (lambda: kernels.spin_blocks(lambda spins: spins, 3, [()]), "at least one coordinate each"),
        (lambda: kernels.gaussian_blocks(np.zeros(2), np.eye(3)), r"got \(2,\) and \(3, 3\)"),
        (lambda: kernels.gaussian_blocks(np.zeros(2), [[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        (lambda: past(jnp.arange(1)), r"at least two states \[start, ...\], got shape \(1,\)"),
        (lambda: past(jnp.zeros(())), "at least two states"),
        (lambda: past(jnp.arange(2), first_horizon=0), "first 0 and largest 65536"),
        (lambda: past(jnp.arange(2), first_horizon=8, max_horizon=4), "first 8 and largest 4"),
        (lambda: annealing([]), "one a step, got shape"),
        (lambda: annealing([[1.0]]), r"one a step, got shape \(1, 1\)"),
        (lambda: annealing([1.0, 0.5]), "not fall, got"),
        (lambda: annealing([0.0, 1.0]), "must be positive"),
        (lambda: annealing([1.0, np.inf]), "finite and not fall"),
        (lambda: estimated("apm", ESTIMATOR, 1.0, 2), "unknown method 'apm'.*pm_mh, apm_mi_mh"),
        (lambda: kernels.slice_position(ESTIMATOR, 1.0, 1, -2), "max_step_outs .*at least 0"),
        (lambda: line(-1), "max_step_outs .*at least 0, got -1"),
        (lambda: line(max_doublings=-1), "max_doublings .*at least 0, got -1"),
        (lambda: line(2, max_doublings=2), "expected one of them, got both"),
        (lambda: directed(-1), ".*at least 0, got -1"),
        (lambda: kernels.along_gaussian(jnp.zeros((2, 3))), r"square matrix, got shape \(2, 3\)"),
        (lambda: elliptical(), "got neither"),
        (lambda: elliptical(jnp.zeros((2, 3))), r"square matrix, got shape \(2, 3\)"),
        (lambda: elliptical(COVARIANCE), "prior_cholesky: expected .* factor"),
        (lambda: kernels.gaussian_base(jnp.zeros(2), COVARIANCE), "scale: expected a lower Cholesky factor"),
        (lambda: blocked([(0, 2), (3, 5)]), ONE_OF_BLOCKS),
        (lambda: blocked([(0, 3), (2, 5)]), ONE_OF_BLOCKS),
        (lambda: blocked([(0, 0), (0, 5)]), ONE_OF_BLOCKS),
        (lambda: blocked([(1, 5)]), ONE_OF_BLOCKS),
        (lambda: blocked([]), "at least one block"),
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
        (lambda: stored(control_variates=True), "control_variates need all past rows in PastRows"),
        (lambda: importance([0.0]), "vector of 2 numbers or more"),
        (lambda: importance([0.0, 0.5, 0.5, 1.0]), MONOTONE),
        (lambda: importance([[0.0, 1.0]]), MONOTONE),
        (lambda: importance([1.0, 0.0]), "give draw_start"),
        (lambda: plateau((0.0, 1.0)), THRESHOLDS),
        (lambda: plateau((2.0, 1.0)), THRESHOLDS),
        (lambda: plateau((1.0, 1.0)), THRESHOLDS),
        (lambda: ladder(np.array([0.0])), "vectors of one length, at least 2"),
        (lambda: ladder(np.zeros((2, 2))), "vectors of one length, at least 2"),
        (lambda: ladder(ENDS, log_weights=np.zeros(3)), r"got shapes \[2\] and \[3\]"),
        (lambda: ladder(ENDS, index_update="gibbs"), "one of independent, random_walk, got 'gibbs'"),
        (lambda: kernels.tempered_nuts(BRIDGE, 0.1, jnp.ones(2)), r"inverse_mass must be \[3\]"),
        (lambda: kernels.tempered_nuts(BRIDGE, 0.1, jnp.ones(3), 0), "max_doublings .*at least 1, got"),
        *[
            (partial(build, BRIDGE, 0.1, n_steps, **options), message)
            for build in (tempered_hmc, kernels.gibbs_continuous_tempering, kernels.continuously_tempered_hmc)
            for n_steps, options, message in (
                (0, {}, "n_steps .*at least 1, got 0"),
                (2.5, {}, "n_steps .*at least 1, got 2.5"),
                (3, {"refreshment": 0.0}, "refreshment must be above 0 and at most 1, got 0.0"),
                (3, {"refreshment": 1.5}, "refreshment must be above 0 and at most 1, got 1.5"),
                (3, {"integrator": "euler"}, "one of drift_kick_drift, kick_drift_kick, got 'euler'"),
            )
        ],
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_numbers_may_be_of_numpy_or_traced():
    steps = [kernels.hmc(log_normal, 0.1, n, 2).draw(jax.random.key(0)).n_steps for n in (3, np.int32(3))]
    assert steps[0] == steps[1] == 3
    jax.jit(lambda size: kernels.hmc(log_normal, size, 3).init(jnp.zeros(2)))(-0.1)


def test_the_smallest_settings_are_allowed():
    stream = laplace(n_moves=1, n_leapfrog=1, first_fit=1, exact_rows=1, max_annealing_steps=1)
    assert callable(stream.absorb)
