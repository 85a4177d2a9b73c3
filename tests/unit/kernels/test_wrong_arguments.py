"""Kernels and estimators reject wrong arguments by name, where they are built."""

from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import yaml

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
past = partial(kernels.coupling_from_the_past, jax.random.uniform, lambda uniform, state: state)
laplace = lambda **changes: kernels.running_laplace(LINEAR, kernels.RunningLaplaceSettings(**changes))
nested = lambda **changes: kernels.nested_sampling(log_normal, log_normal, kernels.NestedSettings(**changes))
stream = lambda changes, **more: kernels.particle_evidence(LINEAR, kernels.StreamSettings(**changes), **more)
COVARIANCE = jnp.array([[1.0, 0.9], [0.9, 1.0]])

GIVEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
CALLS = {
    "hmc": partial(kernels.hmc, log_normal),
    "persistent_hmc": partial(kernels.persistent_hmc, log_normal, 0.1),
    "dual_averaging": partial(kernels.dual_averaging, walk, 0.1),
    "batch_adaptation": partial(kernels.batch_adaptation, walk, 0.5),
    "constrained_hmc": partial(kernels.constrained_hmc, SPHERE, 0.1, dim=3),
    "spin_blocks": partial(kernels.spin_blocks, lambda spins: spins),
    "gaussian_blocks": kernels.gaussian_blocks,
    "simulated_annealing": partial(kernels.simulated_annealing, log_normal, draw, lambda _, x: x),
    "slice_position": partial(kernels.slice_position, ESTIMATOR),
    "linear_slice": partial(kernels.linear_slice, log_normal, 1.0, 1),
    "directed_slice": partial(kernels.directed_slice, log_normal, kernels.along_axes(1), 1.0, 1),
    "blocked_elliptical_slice": partial(kernels.blocked_elliptical_slice, log_normal),
    "growing_data_evidence": lambda **c: kernels.growing_data_evidence(
        LINEAR, kernels.GrowingDataSettings(**c)
    ),
    "full_data_evidence": lambda **c: kernels.full_data_evidence(LINEAR, kernels.AnnealedSettings(**c)),
    "nested_sampling": nested,
    "nested_updating": lambda **c: kernels.nested_updating(LINEAR, kernels.UpdatingSettings(**c)),
    "sequential_importance_resampling": lambda **c: kernels.sequential_importance_resampling(
        draw, lambda step, x: x, lambda key, step, x: x, **{"n_steps": 2, "n_particles": 2} | c
    ),
    "running_laplace": laplace,
    "particle_evidence": lambda **changes: stream(changes),
    "particle_evidence of a file": lambda **changes: stream(changes, fetch=lambda past, numbers: past),
    "annealed_importance_sampling": partial(
        kernels.annealed_importance_sampling, BRIDGE, step_size=0.1, n_steps=1
    ),
    "plateau_tempered_hmc": partial(kernels.plateau_tempered_hmc, BRIDGE, 0.1, 2),
    "simulated_tempering": partial(kernels.simulated_tempering, BRIDGE, step_size=0.1, n_steps=1),
    "tempered_hmc": partial(tempered_hmc, BRIDGE, 0.1),
    "gibbs_continuous_tempering": partial(kernels.gibbs_continuous_tempering, BRIDGE, 0.1),
    "continuously_tempered_hmc": partial(kernels.continuously_tempered_hmc, BRIDGE, 0.1),
}


def as_tuples(given):
    return tuple(map(as_tuples, given)) if isinstance(given, list) else given


@pytest.mark.parametrize(
    ("name", "given", "message"), [(name, *case) for name, cases in GIVEN.items() for case in cases]
)
def test_wrong_arguments_are_named(name, given, message):
    places, names = ((), given) if isinstance(given, dict) else (given, {})
    with pytest.raises(ValueError, match=message):
        CALLS[name](*as_tuples(places), **{key: as_tuples(value) for key, value in names.items()})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tempered_hmc(BRIDGE, np.array(np.nan), 3), "step_size: expected a positive number, got nan"),
        (
            lambda: kernels.constrained_hmc(
                SPHERE, 0.1, 1, 3, projection=kernels.ProjectionSettings("newtn")
            ),
            "unknown solver 'newtn'",
        ),
        (
            lambda: kernels.modified_abc(lambda p, z: p, log_normal, jnp.zeros((2, 2)), 0.1, 0.5, 1),
            r"must be a vector.*got shape \(2, 2\)",
        ),
        (lambda: kernels.gibbs(SPINS, kernels.systematic_scan([0, 3])), r"from 0 to 2.*\[0, 3\]"),
        (lambda: kernels.gibbs(SPINS, kernels.systematic_scan([])), "at least one, got"),
        (lambda: past(jnp.arange(1)), r"at least two states \[start, ...\], got shape \(1,\)"),
        (lambda: past(jnp.zeros(())), "at least two states"),
        (lambda: past(jnp.arange(2), first_horizon=0), "first 0 and largest 65536"),
        (lambda: past(jnp.arange(2), first_horizon=8, max_horizon=4), "first 8 and largest 4"),
        (
            lambda: kernels.pseudo_marginal_method("apm", ESTIMATOR, 1.0, 2),
            "unknown method 'apm'.*pm_mh, apm_mi_mh",
        ),
        (lambda: kernels.along_gaussian(jnp.zeros((2, 3))), r"square matrix, got shape \(2, 3\)"),
        (lambda: kernels.elliptical_slice(log_normal), "got neither"),
        (
            lambda: kernels.elliptical_slice(log_normal, jnp.zeros((2, 3))),
            r"square matrix, got shape \(2, 3\)",
        ),
        (lambda: kernels.elliptical_slice(log_normal, COVARIANCE), "prior_cholesky: expected .* factor"),
        (lambda: kernels.gaussian_base(jnp.zeros(2), COVARIANCE), "scale: expected a lower Cholesky factor"),
        (lambda: nested(n_live=10)(jax.random.key(1), jnp.zeros((3, 6))), r"\[10, dim\], got \[3, 6\]"),
        (lambda: kernels.tempered_nuts(BRIDGE, 0.1, jnp.ones(2)), r"inverse_mass must be \[3\]"),
        (lambda: kernels.tempered_nuts(BRIDGE, 0.1, jnp.ones(3), 0), "max_doublings .*at least 1, got"),
    ],
)
def test_wrong_functions_and_arrays_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_numbers_may_be_of_numpy_or_traced():
    steps = [kernels.hmc(log_normal, 0.1, n, 2).draw(jax.random.key(0)).n_steps for n in (3, np.int32(3))]
    assert steps[0] == steps[1] == 3
    jax.jit(lambda size: kernels.hmc(log_normal, size, 3).init(jnp.zeros(2)))(-0.1)


def test_the_smallest_settings_are_allowed():
    stream = laplace(n_moves=1, n_leapfrog=1, first_fit=1, exact_rows=1, max_annealing_steps=1)
    assert callable(stream.absorb)
