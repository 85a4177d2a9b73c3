"""Chains that start far from a posterior reach it: posteriors that are known in closed form.

Ten thousand independent chains of each kernel start from the prior, forget it, and then average functions of the
posterior's distribution function along their way: averages of independent chains, whose mean must be zero.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.scipy.special import gammainc, ndtr

from auxmc.kernels.hamiltonian.hmc import hamiltonian_monte_carlo
from auxmc.kernels.metropolis.metropolis import random_walk_metropolis
from auxmc.kernels.pseudo_marginal.updates import pseudo_marginal_method
from auxmc.kernels.slices.elliptical_slice import elliptical_slice
from auxmc.kernels.slices.linear_slice import linear_slice
from tests.statistical.kernel_checks import OBSERVED, latent_estimator
from tests.statistical.levels import assert_standard_mean, expecting_failure, key_for

pytestmark = pytest.mark.slow

N_CHAINS = 10_000
N_FORGET = 60
N_KEPT = 20


class Posterior(NamedTuple):
    """A posterior on the line.

    Attributes:
        log_density: maps a position [1] to the unnormalised log density.
        cdf: maps a scalar to the distribution function.
        draw_prior: maps a key to a position [1] drawn from the prior.
        scale: of steps of kernels on it.
    """

    log_density: Callable[[Array], Array]
    cdf: Callable[[Array], Array]
    draw_prior: Callable[[Array], Array]
    scale: float


_DATA = np.array([0.9, 2.3, 1.4, 1.1])
_SHAPE, _RATE = 2.0 + 9.0, 1.0 + 4.0

POSTERIORS = {
    # theta ~ N(0, 1), four observations of unit noise.
    "gaussian mean": Posterior(
        lambda x: -0.5 * x[0] ** 2 - 0.5 * jnp.sum(jnp.square(_DATA - x[0])),
        lambda x: ndtr((x - _DATA.sum() / 5.0) * np.sqrt(5.0)),
        lambda key: jax.random.normal(key, (1,)),
        1.0,
    ),
    # Log of a rate with a gamma(2, 1) prior, and four Poisson counts of sum 9.
    "poisson rate": Posterior(
        lambda x: _SHAPE * x[0] - _RATE * jnp.exp(x[0]),
        lambda x: gammainc(_SHAPE, _RATE * jnp.exp(x)),
        lambda key: jnp.log(jax.random.gamma(key, 2.0, (1,))),
        0.6,
    ),
}

KERNELS = {
    "random_walk": lambda p: random_walk_metropolis(p.log_density, p.scale, 1),
    "linear": lambda p: linear_slice(p.log_density, 2.0 * p.scale, 1, 2),
    "elliptical": lambda p: elliptical_slice(lambda x: p.log_density(x) + 0.5 * x[0] ** 2, dim=1),
    "hmc": lambda p: hamiltonian_monte_carlo(p.log_density, 0.4 * p.scale, (2, 5), 1),
}


def averages(kernel, start, cdf, name):
    """Averages of four Legendre functions along the later part of each chain [chain, degree]."""

    def functions(x):
        z = 2.0 * cdf(x) - 1.0
        second, third = 1.5 * z**2 - 0.5, 2.5 * z**3 - 1.5 * z
        fourth = (35.0 * z**4 - 30.0 * z**2 + 3.0) / 8.0
        return jnp.stack([z, second, third, fourth])

    def chain(key):
        key_start, key_steps = jax.random.split(key)

        def step(state, key):
            state, _ = kernel.step(key, state)
            return state, state.position[0]

        keys = jax.random.split(key_steps, N_FORGET + N_KEPT)
        _, path = jax.lax.scan(step, start(key_start), keys)
        return jax.vmap(functions)(path[N_FORGET:]).mean(axis=0)

    keys = jax.random.split(key_for(f"conjugate/{name}"), N_CHAINS)
    return np.asarray(jax.jit(lambda keys: jax.lax.map(chain, keys, batch_size=1000))(keys))


def check_means(values, label):
    """Each mean is zero; the scale is that of the chains' averages themselves."""
    assert_standard_mean(values / values.std(axis=0), detects=0.1, label=label)


@pytest.mark.parametrize("posterior", POSTERIORS)
@pytest.mark.parametrize("kernel", ["random_walk", "linear", "elliptical", "hmc"])
def test_chains_reach_a_known_posterior(kernel, posterior):
    distribution = POSTERIORS[posterior]
    built = KERNELS[kernel](distribution)
    found = averages(
        built,
        lambda key: built.init(jax.random.key(0), distribution.draw_prior(key)),
        distribution.cdf,
        f"{kernel}/{posterior}",
    )
    check_means(found, f"{kernel}, {posterior}")


@pytest.mark.parametrize("name", ["pm_mh", "apm_ss_ss"])
def test_estimated_likelihoods_lead_to_the_posterior(name):
    kernel = pseudo_marginal_method(name, latent_estimator(4), 1.5, 1)
    found = averages(
        kernel,
        lambda key: kernel.init(key, jax.random.normal(jax.random.fold_in(key, 1), (1,))),
        lambda x: ndtr((x - OBSERVED / 3.0) / np.sqrt(2.0 / 3.0)),
        f"estimated/{name}",
    )
    check_means(found, name)


def test_a_chain_of_another_posterior_is_found():
    """The data's noise is taken to be a tenth too small."""
    distribution = POSTERIORS["gaussian mean"]
    wrong = distribution._replace(
        log_density=lambda x: -0.5 * x[0] ** 2 - 0.5 * jnp.sum(jnp.square((_DATA - x[0]) / 0.9))
    )
    kernel = KERNELS["hmc"](wrong)
    found = averages(
        kernel,
        lambda key: kernel.init(jax.random.key(0), distribution.draw_prior(key)),
        distribution.cdf,
        "another",
    )
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        check_means(found, "another")
