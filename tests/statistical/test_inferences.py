"""Whole inferences: parallel Geweke tests, and calibration by simulated data.

Geweke: every replica starts from the prior and its data, so that replicas are independent and the joint distribution
after ten cycles of new data and of a kernel is known exactly. Calibration: ranks of the truth among draws of inferences
begun far from it, for ten thousand data sets and 63 thinned draws each. Ranks are of the parameter and of the log
likelihood: parameters alone would not notice an inference that ignores its data.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import ndtr

from auxmc.kernels.hamiltonian.hmc import hamiltonian_monte_carlo
from auxmc.kernels.manifold.constrained_hmc import constrained_hmc
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.kernels.metropolis.gibbs import gaussian_blocks, gibbs, systematic_scan
from auxmc.kernels.metropolis.metropolis import random_walk_metropolis
from auxmc.kernels.pseudo_marginal.updates import pseudo_marginal_method
from auxmc.kernels.slices.blocked_elliptical_slice import blocked_elliptical_slice
from auxmc.kernels.slices.elliptical_slice import elliptical_slice
from auxmc.kernels.slices.linear_slice import linear_slice
from auxmc.models.abc_estimator import abc_estimator
from auxmc.models.abc_kernels import log_abc_kernel
from auxmc.models.conditioned import condition_generator
from tests.statistical.kernel_checks import draw_auxiliary_given, latent_estimator
from tests.statistical.levels import (
    assert_independent,
    assert_standard_mean,
    assert_uniform,
    expecting_failure,
    key_for,
    legendre,
    seed_for,
)

pytestmark = pytest.mark.slow

N = 100_000
N_CYCLES = 10
TOLERANCE = 0.7


def log_normal(u):
    return -0.5 * jnp.sum(jnp.square(u))


def mean_of_one_datum(build, noise_sd=1.0):
    """theta ~ N(0, 1), y given theta ~ N(theta, 1).

    Args:
        build: maps the log density of the posterior and the log likelihood to a kernel.
        noise_sd: standard deviation of the data that the kernel takes for granted.
    """

    def cycle(key, theta):
        key_data, key_step = jax.random.split(key)
        y = theta + jax.random.normal(key_data, (1,))
        log_likelihood = lambda x: log_normal((y - x) / noise_sd)
        kernel = build(lambda x: log_normal(x) + log_likelihood(x), log_likelihood)
        theta = kernel.step(key_step, kernel.init(jax.random.key(0), theta))[0].position
        return theta, ndtr(jnp.concatenate([theta, y - theta]))

    return cycle


def estimated(name):
    """A latent variable between theta and y; u is drawn from its exact distribution given both."""

    def cycle(key, theta):
        key_data, key_u, key_step = jax.random.split(key, 3)
        y = theta[0] + jnp.sqrt(2.0) * jax.random.normal(key_data)
        estimator = latent_estimator(2, y)
        kernel = pseudo_marginal_method(name, estimator, 1.5, 1)
        u = draw_auxiliary_given(key_u, 2, theta[0], y)
        state = kernel.init(key_u, theta)
        state = state._replace(auxiliary=u, log_estimate=estimator.log_estimate(theta, u))
        theta = kernel.step(key_step, state)[0].position
        return theta, ndtr(jnp.concatenate([theta, (y - theta) / jnp.sqrt(2.0)]))

    return cycle


GIBBS = gibbs(
    gaussian_blocks(np.zeros(2), np.linalg.inv(np.eye(2) + np.ones((2, 2)))), systematic_scan((0, 1))
)


def two_means(key, theta):
    """theta ~ N(0, I_2), y given theta ~ N(theta_1 + theta_2, 1); the posterior mean of both is y / 3."""
    key_data, key_step = jax.random.split(key)
    y = jnp.sum(theta) + jax.random.normal(key_data)
    state, _ = GIBBS.step(key_step, GIBBS.init(jax.random.key(0), theta - y / 3.0))
    theta = state.position + y / 3.0
    return theta, ndtr(jnp.append(theta, y - jnp.sum(theta)))


def abc_ball(key, inputs, tolerance=TOLERANCE):
    """A simulation u1 + u2 and data uniform within the tolerance of it."""
    key_data, key_step = jax.random.split(key)
    y = jnp.sum(inputs) + jax.random.uniform(key_data, minval=-TOLERANCE, maxval=TOLERANCE)
    log_kernel = log_abc_kernel("ball")
    kernel = blocked_elliptical_slice(
        lambda u: log_kernel(jnp.sum(u, keepdims=True) - y, tolerance), [(1, 2), (0, 1)]
    )
    inputs = kernel.step(key_step, kernel.init(jax.random.key(0), inputs))[0].position
    place = 0.5 * (y - jnp.sum(inputs)) / TOLERANCE + 0.5
    return inputs, jnp.concatenate([ndtr(inputs), place[None]])


def abc_split(key, inputs):
    """A simulation u1 + u2, data with Gaussian noise of the tolerance, updates of noise and parameter in turn."""
    key_data, key_step = jax.random.split(key)
    y = jnp.sum(inputs, keepdims=True) + TOLERANCE * jax.random.normal(key_data, (1,))
    log_kernel = log_abc_kernel("gaussian")
    estimator = abc_estimator(lambda u1, u2: log_kernel(u1 + u2 - y, TOLERANCE), log_normal, 1)
    kernel = pseudo_marginal_method("apm_mi_mh", estimator, 1.0, 1)
    cache = estimator.prepare(inputs[:1])
    state = kernel.init(key_step, inputs[:1])._replace(
        auxiliary=inputs[1:], log_estimate=estimator.log_estimate(cache, inputs[1:])
    )
    state, _ = kernel.step(key_step, state)
    inputs = jnp.concatenate([state.position, state.auxiliary])
    return inputs, ndtr(jnp.concatenate([inputs, (y - jnp.sum(inputs)) / TOLERANCE]))


def constrained(key, inputs, slope=0.4):
    """Data y = u1 + 0.4 u2^2 + 0.8 n with independent normal inputs, kept exactly by the kernel.

    `slope` takes the place of 0.4 in the density that the kernel uses for the volume of the fibre.
    """
    key_noise, key_step = jax.random.split(key)
    inputs = inputs.at[2].set(jax.random.normal(key_noise))

    def generate(u, slope=0.4):
        return (u[0] + slope * u[1] ** 2 + 0.8 * u[2])[None]

    model = condition_generator(generate, log_normal, generate(inputs))
    half = lambda u: 0.5 * jnp.log(1.64 + jnp.square(0.8 * u[1]))
    other = lambda u: 0.5 * jnp.log(1.64 + jnp.square(2.0 * slope * u[1]))
    # With the right slope the two terms cancel.
    model = model._replace(log_prior=lambda u: log_normal(u) + half(u) - other(u))
    kernel = constrained_hmc(
        model, 0.5, (1, 3), 3, projection=ProjectionSettings("newton", None, max_iterations=10)
    )
    inputs = kernel.step(key_step, kernel.init(jax.random.key(0), inputs))[0].position
    return inputs, ndtr(inputs)


def uniforms_after_cycles(cycle, dim, name):
    """Uniform numbers under the joint distribution after ten cycles from exact draws [draw, number]."""

    def replica(key):
        key_start, key_cycles = jax.random.split(key)
        start = jax.random.normal(key_start, (dim,))
        _, path = jax.lax.scan(
            lambda inputs, key: cycle(key, inputs), start, jax.random.split(key_cycles, N_CYCLES)
        )
        return path[-1]

    keys = jax.random.split(key_for(f"joint distribution/{name}"), N)
    found = jax.jit(lambda keys: jax.lax.map(replica, keys, batch_size=1000))(keys)
    return np.clip(np.asarray(found), 0.0, 1.0)


HMC = lambda posterior, _: hamiltonian_monte_carlo(posterior, 0.6, (1, 4), 1)
CYCLES = {
    "random walk": (mean_of_one_datum(lambda posterior, _: random_walk_metropolis(posterior, 1.0, 1)), 1),
    "linear slice": (mean_of_one_datum(lambda posterior, _: linear_slice(posterior, 2.0, 1)), 1),
    "elliptical slice": (mean_of_one_datum(lambda _, likelihood: elliptical_slice(likelihood, dim=1)), 1),
    "hmc": (mean_of_one_datum(HMC), 1),
    "apm_mi_mh": (estimated("apm_mi_mh"), 1),
    "apm_ss_ss": (estimated("apm_ss_ss"), 1),
    "gibbs": (two_means, 2),
    "abc_ball": (abc_ball, 2),
    "abc_split": (abc_split, 2),
    "constrained": (constrained, 3),
}
WRONG = {
    "noise too small": (mean_of_one_datum(HMC, noise_sd=0.8), 1),
    "tolerance too large": (lambda key, inputs: abc_ball(key, inputs, tolerance=0.8), 2),
    "volume of another fibre": (lambda key, inputs: constrained(key, inputs, slope=0.0), 3),
}


@pytest.mark.parametrize("name", CYCLES)
def test_kernels_keep_the_joint_distribution(name):
    assert_independent(uniforms_after_cycles(*CYCLES[name], name), name, n_pair=3)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_models_are_found(name):
    uniforms = uniforms_after_cycles(*WRONG[name], name)
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        assert_independent(uniforms, name, n_pair=3)


# --- ranks of the truth -------------------------------------------------------------------------------


N_SETS = 10_000
N_DRAWS = 63
SLOPE, NOISE = 0.4, 0.8


def thinned(kernel, state, key, functions, n_forget, n_between):
    """Functions of draws of a chain, after some steps that are forgotten, some steps apart [draw, function]."""

    def steps(state, key, n):
        forget = lambda state, key: (kernel.step(key, state)[0], None)
        return jax.lax.scan(forget, state, jax.random.split(key, n))[0]

    def one(state, key):
        state = steps(state, key, n_between)
        return state, functions(state)

    key_forget, key_draws = jax.random.split(key)
    keys = jax.random.split(key_draws, N_DRAWS)
    _, found = jax.lax.scan(one, steps(state, key_forget, n_forget), keys)
    return found


def infer_estimated(key):
    """theta ~ N(0, 1), y given theta ~ N(theta, 2), its likelihood infer_estimated by two importance samples."""
    keys = jax.random.split(key, 5)
    truth = jax.random.normal(keys[0], (1,))
    y = truth[0] + jnp.sqrt(2.0) * jax.random.normal(keys[1])
    kernel = pseudo_marginal_method("apm_ss_ss", latent_estimator(2, y), 1.5, 1)
    state = kernel.init(keys[2], jax.random.normal(keys[3], (1,)))
    functions = lambda x: jnp.stack([x[0], jnp.abs(y - x[0])])
    return functions(truth), thinned(kernel, state, keys[4], lambda state: functions(state.position), 60, 10)


def hamiltonian(key, noise_sd=1.0):
    """theta ~ N(0, 1), y given theta ~ N(theta, 1); `noise_sd` is what the inference takes the noise to be."""
    keys = jax.random.split(key, 4)
    truth = jax.random.normal(keys[0], (1,))
    y = truth + jax.random.normal(keys[1], (1,))
    kernel = hamiltonian_monte_carlo(lambda x: log_normal(x) + log_normal((y - x) / noise_sd), 0.5, (2, 4), 1)
    functions = lambda x: jnp.concatenate([x, jnp.abs(y - x)])
    state = kernel.init(jax.random.key(0), jax.random.normal(keys[2], (1,)))
    return functions(truth), thinned(kernel, state, keys[3], lambda state: functions(state.position), 30, 4)


def infer_constrained(key):
    """Data u1 + 0.4 u2^2 + 0.8 n, kept exactly; the start takes up the data in its noise."""
    keys = jax.random.split(key, 3)
    truth = jax.random.normal(keys[0], (3,))
    generate = lambda u: (u[0] + SLOPE * u[1] ** 2 + NOISE * u[2])[None]
    y = generate(truth)
    model = condition_generator(generate, log_normal, y)
    kernel = constrained_hmc(
        model, 0.6, (2, 4), 3, projection=ProjectionSettings("newton", None, max_iterations=10)
    )
    start = jax.random.normal(keys[1], (3,))
    start = start.at[2].set((y[0] - start[0] - SLOPE * start[1] ** 2) / NOISE)
    functions = lambda u: jnp.stack([u[0], u[1], jnp.abs(u[2])])
    draws = thinned(
        kernel, kernel.init(jax.random.key(0), start), keys[2], lambda state: functions(state.position), 30, 4
    )
    return functions(truth), draws


def approximate(key):
    """A simulation u1 + u2 and data uniform within the tolerance of it: the posterior of the ball kernel."""
    keys = jax.random.split(key, 4)
    truth = jax.random.normal(keys[0], (2,))
    y = jnp.sum(truth) + jax.random.uniform(keys[1], minval=-TOLERANCE, maxval=TOLERANCE)
    log_kernel = log_abc_kernel("ball")
    kernel = blocked_elliptical_slice(
        lambda u: log_kernel(jnp.sum(u, keepdims=True) - y, TOLERANCE), [(1, 2), (0, 1)]
    )
    first = jax.random.normal(keys[2])
    functions = lambda u: jnp.stack([u[0], u[0] * u[1], jnp.abs(jnp.sum(u) - y)])
    state = kernel.init(jax.random.key(0), jnp.stack([first, y - first]))
    draws = thinned(kernel, state, keys[3], lambda state: functions(state.position), 120, 20)
    return functions(truth), draws


def ranks(inference, name):
    """Ranks made continuous [data set, function]."""

    def one(key):
        truth, draws = inference(key)
        return jnp.sum(draws < truth[None], axis=0)

    keys = jax.random.split(key_for(f"calibration/{name}"), N_SETS)
    found = np.asarray(jax.jit(lambda keys: jax.lax.map(one, keys, batch_size=1000))(keys))
    fresh = np.random.default_rng(seed_for(f"calibration/{name}/fresh")).uniform(size=found.shape)
    return (found + fresh) / (N_DRAWS + 1)


def check_ranks(uniforms, label):
    """Ranks are uniform, and so are their mean and variance."""
    for i, column in enumerate(uniforms.T):
        assert_uniform(column, detects=0.05, label=f"{label}, function {i}")
        assert_standard_mean(legendre(column, 2), detects=0.09, label=f"{label}, Legendre {i}")


INFERENCES = {
    "estimated": infer_estimated,
    "hamiltonian": hamiltonian,
    "constrained": infer_constrained,
    "approximate": approximate,
}


@pytest.mark.parametrize("name", INFERENCES)
def test_truths_are_calibrated(name):
    check_ranks(ranks(INFERENCES[name], name), name)


def test_a_noise_that_is_taken_too_small_is_found():
    uniforms = ranks(lambda key: hamiltonian(key, noise_sd=0.8), "too small")
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        check_ranks(uniforms, "too small")
