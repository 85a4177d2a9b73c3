"""Calibration by simulated data: ranks of the truth among draws of whole inferences, begun far from it, are uniform.

Ten thousand data sets, 63 thinned draws each. Ranks are of the parameter and of the log likelihood: parameters alone
would not notice an inference that ignores its data. Ranks are made continuous by a fresh uniform.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import hamiltonian_monte_carlo
from auxmc.kernels.manifold.constrained_hmc import constrained_hmc
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.kernels.pseudo_marginal.updates import pseudo_marginal_method
from auxmc.kernels.slices.blocked_elliptical_slice import blocked_elliptical_slice
from auxmc.models.abc_kernels import log_abc_kernel
from auxmc.models.conditioned import condition_generator
from tests.statistical.kernel_checks import latent_estimator
from tests.statistical.levels import (
    assert_standard_mean,
    assert_uniform,
    expecting_failure,
    key_for,
    legendre,
    seed_for,
)

pytestmark = pytest.mark.slow

N_SETS = 10_000
N_DRAWS = 63
TOLERANCE = 0.7
SLOPE, NOISE = 0.4, 0.8

Inference = Callable[[Array], tuple[Array, Array]]
"""Maps a key to (functions of the true inputs [function], of the draws [draw, function])."""


def log_normal(u: Array) -> Array:
    return -0.5 * jnp.sum(jnp.square(u))


def thinned(kernel: Kernel, state: Any, key: Array, functions: Any, n_forget: int, n_between: int) -> Array:
    """Functions of draws of a chain, after some steps that are forgotten, some steps apart [draw, function]."""

    def steps(state: Any, key: Array, n: int) -> Any:
        forget = lambda state, key: (kernel.step(key, state)[0], None)
        return jax.lax.scan(forget, state, jax.random.split(key, n))[0]

    def one(state: Any, key: Array) -> Any:
        state = steps(state, key, n_between)
        return state, functions(state)

    key_forget, key_draws = jax.random.split(key)
    keys = jax.random.split(key_draws, N_DRAWS)
    _, found = jax.lax.scan(one, steps(state, key_forget, n_forget), keys)
    return found


def estimated(key: Array) -> tuple[Array, Array]:
    """theta ~ N(0, 1), y given theta ~ N(theta, 2), its likelihood estimated by two importance samples."""
    keys = jax.random.split(key, 5)
    truth = jax.random.normal(keys[0], (1,))
    y = truth[0] + jnp.sqrt(2.0) * jax.random.normal(keys[1])
    kernel = pseudo_marginal_method("apm_ss_ss", latent_estimator(2, y), 1.5, 1)
    state = kernel.init(keys[2], jax.random.normal(keys[3], (1,)))
    functions = lambda x: jnp.stack([x[0], jnp.abs(y - x[0])])
    return functions(truth), thinned(kernel, state, keys[4], lambda state: functions(state.position), 60, 10)


def hamiltonian(key: Array, noise_sd: float = 1.0) -> tuple[Array, Array]:
    """theta ~ N(0, 1), y given theta ~ N(theta, 1); `noise_sd` is what the inference takes the noise to be."""
    keys = jax.random.split(key, 4)
    truth = jax.random.normal(keys[0], (1,))
    y = truth + jax.random.normal(keys[1], (1,))
    kernel = hamiltonian_monte_carlo(lambda x: log_normal(x) + log_normal((y - x) / noise_sd), 0.5, (2, 4), 1)
    functions = lambda x: jnp.concatenate([x, jnp.abs(y - x)])
    state = kernel.init(jax.random.key(0), jax.random.normal(keys[2], (1,)))
    return functions(truth), thinned(kernel, state, keys[3], lambda state: functions(state.position), 30, 4)


def constrained(key: Array) -> tuple[Array, Array]:
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


def approximate(key: Array) -> tuple[Array, Array]:
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


def ranks(inference: Inference, name: str) -> np.ndarray:
    """Ranks made continuous [data set, function]."""

    def one(key: Array) -> Array:
        truth, draws = inference(key)
        return jnp.sum(draws < truth[None], axis=0)

    keys = jax.random.split(key_for(f"calibration/{name}"), N_SETS)
    found = np.asarray(jax.jit(lambda keys: jax.lax.map(one, keys, batch_size=1000))(keys))
    fresh = np.random.default_rng(seed_for(f"calibration/{name}/fresh")).uniform(size=found.shape)
    return (found + fresh) / (N_DRAWS + 1)


def check_ranks(uniforms: np.ndarray, label: str) -> None:
    """Ranks are uniform, and so are their mean and variance."""
    for i, column in enumerate(uniforms.T):
        assert_uniform(column, detects=0.05, label=f"{label}, function {i}")
        assert_standard_mean(legendre(column, 2), detects=0.09, label=f"{label}, Legendre {i}")


INFERENCES: dict[str, Inference] = {
    "estimated": estimated,
    "hamiltonian": hamiltonian,
    "constrained": constrained,
    "approximate": approximate,
}


@pytest.mark.parametrize("name", INFERENCES)
def test_truths_are_calibrated(name: str) -> None:
    check_ranks(ranks(INFERENCES[name], name), name)


def test_a_noise_that_is_taken_too_small_is_found() -> None:
    uniforms = ranks(lambda key: hamiltonian(key, noise_sd=0.8), "too small")
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        check_ranks(uniforms, "too small")
