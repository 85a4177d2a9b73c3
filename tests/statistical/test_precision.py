"""Single precision: kernels keep type and distribution, or reject it; nothing is demoted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc import kernels
from auxmc.approximations.advi import MeanField
from auxmc.diagnostics.convergence import bulk_ess, mcse_mean, rank_r_hat, summarise_chains
from auxmc.diagnostics.weighted import weighted_estimates
from tests.statistical.kernel_checks import check_standard_normal
from tests.statistical.kernels.latent import OBSERVED, draw_auxiliary_given, latent_estimator, with_auxiliary
from tests.statistical.levels import assert_at_least, key_for, seed_for
from tests.unit.kernels.toys import log_normal

N = 20_000
N_STEPS = 3


SINGLE = {
    "random_walk": lambda: kernels.random_walk_metropolis(log_normal, 1.5, 1),
    "linear": lambda: kernels.linear_slice(log_normal, 2.0, 1, 2),
    "elliptical": lambda: kernels.elliptical_slice(lambda x: jnp.zeros((), x.dtype), dim=1),
}


@pytest.mark.parametrize("name", SINGLE)
def test_kernels_in_single_precision_keep_type_and_distribution(name):
    with jax.enable_x64(False):
        kernel = SINGLE[name]()

        def replica(key):
            key_start, key_steps = jax.random.split(key)
            start = kernel.init(jax.random.normal(key_start, (1,)), key=jax.random.key(0))
            step = lambda state, key: (kernel.step(key, state)[0], None)
            return jax.lax.scan(step, start, jax.random.split(key_steps, N_STEPS))[0].position[0]

        keys = jax.random.split(jax.random.key(seed_for(f"single/{name}")), N)
        found = jax.jit(jax.vmap(replica))(keys)
    assert found.dtype == jnp.float32
    check_standard_normal(np.asarray(found, float)[:, None], name)


def test_estimates_in_single_precision_lead_to_the_same_decisions():
    """With the same random numbers two precisions agree until a decision falls within the rounding of the other."""
    estimator = latent_estimator(4)
    kernel = kernels.pseudo_marginal_method("apm_mi_mh", estimator, 1.5, 1)

    def chain(key, single):
        x = jnp.full(1, 0.3)
        u = draw_auxiliary_given(key, 4, x[0], OBSERVED)
        start = with_auxiliary(estimator, kernel.init(x, key=key), u)
        noise = jax.vmap(kernel.draw)(jax.random.split(key, N_STEPS))
        if single:
            as_single = lambda a: a.astype(jnp.float32) if a.dtype == jnp.float64 else a
            start, noise = jax.tree.map(as_single, (start, noise))
        step = lambda state, noise: (kernel.apply(noise, state)[0], None)
        return jax.lax.scan(step, start, noise)[0].position[0]

    keys = jax.random.split(key_for("single/estimates"), 2000)
    double, single = (np.asarray(jax.jit(jax.vmap(lambda k, s=s: chain(k, s)))(keys)) for s in (False, True))
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    assert_at_least(np.abs(double - single) < 1e-5, 0.99, detects=0.11, label="same decisions")


def test_trajectories_reject_single_precision():
    with jax.enable_x64(False):
        plain = kernels.hmc(log_normal, 0.1, (2, 6), 2)
        model = kernels.condition_generator(lambda u: jnp.sum(jnp.square(u))[None], log_normal, jnp.ones(1))
        for kernel in (plain, kernels.constrained_hmc(model, 0.1, (1, 3), 2)):
            with pytest.raises(RuntimeError, match=r"enable_x64\(\)"):
                kernel.draw(jax.random.key(0))


def test_nested_sampling_keeps_points_single_and_sums_double():
    sampler = kernels.nested_sampling(
        lambda x: -2.0 * jnp.sum(jnp.square(x)),
        log_normal,
        kernels.NestedSettings(n_live=20, max_iterations=200),
    )
    draws = jax.random.normal(jax.random.key(0), (20, 2), jnp.float32)
    found = jax.jit(sampler)(jax.random.key(1), draws)
    assert found.dead.dtype == found.live.dtype == jnp.float32
    assert found.log_likelihoods.dtype == found.live_log_likelihoods.dtype == jnp.float64
    assert bool(found.finished)


def test_the_log_density_of_a_fit_has_the_precision_of_its_arguments():
    mean, log_sd, x = np.array([0.5, -1.0]), np.array([0.3, -0.9]), np.array([0.1, 0.2])
    values = []
    for dtype in (jnp.float32, jnp.float64):
        fit = MeanField(jnp.asarray(mean, dtype), jnp.asarray(log_sd, dtype))
        values.append(fit.log_density(jnp.asarray(x, dtype)))
        assert values[-1].dtype == dtype
    np.testing.assert_allclose(*values, rtol=1e-6)


def test_diagnostics_of_single_precision_chains_are_double():
    chains = np.random.default_rng(1).normal(size=(4, 500)).astype(np.float32)
    for function in (bulk_ess, rank_r_hat, mcse_mean):
        found = function(chains)
        assert np.asarray(found).dtype == np.float64
        np.testing.assert_allclose(found, function(chains.astype(float)), rtol=1e-12)
    for value in summarise_chains(chains):
        assert np.asarray(value).dtype == np.float64
    # Weights as small as exp(-148) of a double are not lost by a step through single precision.
    log_weights = np.array([[-148.0, -149.0, -150.0]])
    values = np.array([[[1.0], [2.0], [4.0]]])
    assert np.all(np.isfinite(weighted_estimates(log_weights, values).mean))
