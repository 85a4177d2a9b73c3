"""Whole inferences are calibrated: ranks of the truth among draws of chains that start far from it.

Each of ten thousand data sets has a truth drawn from the prior and 63 thinned draws. Ranks are of the parameter and of
the log likelihood: parameters alone would not notice an inference that ignores its data.
"""

from functools import partial

import jax
import jax.numpy as jnp
import pytest

from auxmc import kernels
from auxmc.models.abc_kernels import log_abc_kernel
from tests.statistical import levels
from tests.statistical.kernels.latent import latent_estimator
from tests.unit.kernels.toys import log_normal

pytestmark = pytest.mark.slow

N_SETS = 10_000
N_DRAWS = 63
TOLERANCE = 0.7
SLOPE, NOISE = 0.4, 0.8


def infer(kernel, start, key, functions, truth, n_forget=60, n_between=10):
    """Functions of the truth, and of draws of a chain some steps apart after a forgotten beginning [draw, function]."""

    def steps(state, key, n):
        step = lambda state, key: (kernel.step(key, state)[0], None)
        return jax.lax.scan(step, state, jax.random.split(key, n))[0]

    def one(state, key):
        state = steps(state, key, n_between)
        return state, functions(state.position)

    key_start, key_forget, key_draws = jax.random.split(key, 3)
    begun = steps(kernel.init(start, key=key_start), key_forget, n_forget)
    return functions(truth), jax.lax.scan(one, begun, jax.random.split(key_draws, N_DRAWS))[1]


def one_datum(key, build, noise_sd=1.0):
    """theta ~ N(0, 1), y given theta ~ N(theta, 1).

    Args:
        key: of truth, data and chain.
        build: maps the log density of the posterior and the log likelihood to a kernel.
        noise_sd: what the inference takes the noise of the data to be.
    """
    keys = jax.random.split(key, 4)
    truth = jax.random.normal(keys[0], (1,))
    y = truth + jax.random.normal(keys[1], (1,))
    log_likelihood = lambda x: log_normal((y - x) / noise_sd)
    kernel = build(lambda x: log_normal(x) + log_likelihood(x), log_likelihood)
    start = jax.random.normal(keys[2], (1,))
    return infer(kernel, start, keys[3], lambda x: jnp.concatenate([x, jnp.abs(y - x)]), truth)


def estimated(key, name):
    """theta ~ N(0, 1), y given theta ~ N(theta, 2), its likelihood estimated by two importance samples."""
    keys = jax.random.split(key, 4)
    truth = jax.random.normal(keys[0], (1,))
    y = truth[0] + jnp.sqrt(2.0) * jax.random.normal(keys[1])
    kernel = kernels.pseudo_marginal_method(name, latent_estimator(2, y), 1.5, 1)
    start = jax.random.normal(keys[2], (1,))
    return infer(kernel, start, keys[3], lambda x: jnp.stack([x[0], jnp.abs(y - x[0])]), truth)


def constrained(key, slope=SLOPE):
    """Data u1 + 0.4 u2^2 + 0.8 n, kept exactly; the start takes up the data in its noise.

    `slope` takes the place of 0.4 in the density that the kernel uses for the volume of the fibre.
    """
    keys = jax.random.split(key, 3)
    truth = jax.random.normal(keys[0], (3,))
    generate = lambda u: (u[0] + SLOPE * u[1] ** 2 + NOISE * u[2])[None]
    y = generate(truth)
    model = kernels.condition_generator(generate, log_normal, y)
    half = lambda u, slope: 0.5 * jnp.log(1.0 + NOISE**2 + jnp.square(2.0 * slope * u[1]))
    # With the right slope the two terms cancel.
    model = model._replace(log_prior=lambda u: log_normal(u) + half(u, SLOPE) - half(u, slope))
    settings = kernels.ProjectionSettings("newton", None, max_iterations=10)
    kernel = kernels.constrained_hmc(model, 0.6, (2, 4), 3, projection=settings)
    start = jax.random.normal(keys[1], (3,))
    start = start.at[2].set((y[0] - start[0] - SLOPE * start[1] ** 2) / NOISE)
    functions = lambda u: jnp.stack([u[0], u[1], jnp.abs(u[2])])
    return infer(kernel, start, keys[2], functions, truth, 30, 4)


def abc_ball(key, tolerance=TOLERANCE):
    """A simulation u1 + u2 and data uniform within the tolerance of it: the posterior of the ball kernel."""
    keys = jax.random.split(key, 4)
    truth = jax.random.normal(keys[0], (2,))
    y = jnp.sum(truth) + jax.random.uniform(keys[1], minval=-TOLERANCE, maxval=TOLERANCE)
    log_likelihood = lambda u: log_abc_kernel("ball")(jnp.sum(u, keepdims=True) - y, tolerance)
    kernel = kernels.blocked_elliptical_slice(log_likelihood, [(1, 2), (0, 1)])
    first = jax.random.normal(keys[2])
    functions = lambda u: jnp.stack([u[0], u[0] * u[1], jnp.abs(jnp.sum(u) - y)])
    start = jnp.stack([first, y - first])
    return infer(kernel, start, keys[3], functions, truth, 120, 20)


HMC = lambda posterior, _: kernels.hmc(posterior, 0.5, (2, 4), 1)
INFERENCES = {
    "random walk": partial(
        one_datum, build=lambda posterior, _: kernels.random_walk_metropolis(posterior, 1.5, 1)
    ),
    "linear slice": partial(one_datum, build=lambda posterior, _: kernels.linear_slice(posterior, 2.0, 1, 2)),
    "elliptical slice": partial(
        one_datum, build=lambda _, likelihood: kernels.elliptical_slice(likelihood, dim=1)
    ),
    "hmc": partial(one_datum, build=HMC),
    **{name: partial(estimated, name=name) for name in ("pm_mh", "apm_mi_mh", "apm_ss_ss")},
    "constrained": constrained,
    "abc_ball": abc_ball,
}
WRONG = {
    "noise too small": partial(one_datum, build=HMC, noise_sd=0.8),
    "tolerance too large": partial(abc_ball, tolerance=0.8),
    "volume of another fibre": partial(constrained, slope=0.0),
}


def check_ranks(inference, name):
    """Ranks, made continuous, are uniform, and so are their mean and variance."""

    def one(key):
        truth, draws = inference(key)
        return jnp.sum(draws < truth[None], axis=0)

    found = levels.draw_many(one, f"calibration/{name}", N_SETS, batch_size=1000)
    fresh = levels.rng_for(f"calibration/{name}/fresh").uniform(size=found.shape)
    for i, column in enumerate(((found + fresh) / (N_DRAWS + 1)).T):
        levels.assert_uniform(column, detects=0.05, label=f"{name}, function {i}")
        levels.assert_standard_mean(levels.legendre(column, 2), detects=0.09, label=f"{name}, Legendre {i}")


@pytest.mark.parametrize("name", INFERENCES)
def test_truths_are_calibrated(name):
    check_ranks(INFERENCES[name], name)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_models_are_found(name):
    with levels.expecting_failure("exceeds"):
        check_ranks(WRONG[name], name)
