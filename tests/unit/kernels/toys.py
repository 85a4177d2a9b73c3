"""Small targets, estimators and one kernel of every kind, for the kernel tests."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import Kernel
from auxmc.kernels.metropolis.adaptation import batch_adaptation
from auxmc.kernels.metropolis.metropolis import metropolis_independence, random_walk_metropolis
from auxmc.kernels.pseudo_marginal.updates import (
    METHODS,
    auxiliary_pseudo_marginal,
    independence_auxiliary,
    pseudo_marginal_method,
    slice_position,
)
from auxmc.kernels.slices.elliptical_slice import elliptical_slice
from auxmc.kernels.slices.linear_slice import linear_slice
from auxmc.kernels.slices.reflective_slice import reflective_slice
from auxmc.models.estimator import Estimator

DIM = 2
N_IMPORTANCE = 3


class Case(NamedTuple):
    """A kernel, a function that makes its initial state, and the log density its state must carry."""

    kernel: Kernel
    start: Callable[[Array], Any]
    log_density: Callable[[Any], Array]


def log_normal(position: Array) -> Array:
    """Standard normal log density, up to a constant."""
    return -0.5 * jnp.sum(position**2)


def log_bimodal(position: Array) -> Array:
    """Two well separated modes with different widths in each coordinate."""
    left = jnp.log(0.3) - 0.5 * ((position + 1.0) / 0.1) ** 2 - jnp.log(0.1)
    right = jnp.log(0.7) - 0.5 * ((position - 1.2) / 0.4) ** 2 - jnp.log(0.4)
    return jnp.sum(jnp.logaddexp(left, right))


def latent_estimator(n_importance: int = N_IMPORTANCE, dim: int = DIM) -> Estimator:
    """x ~ N(0, I), z | x ~ N(x, I), an observation of ones with unit noise; z drawn from its prior.

    Preparing a point costs 2 cubic operations if its first coordinate is positive and 1 otherwise, and
    fails where it exceeds 1, which is made up to make the counts tell points apart.
    """

    def log_estimate(cache: Array, auxiliary: Array) -> Array:
        residual = 1.0 - cache[None] - auxiliary
        log_weights = -0.5 * jnp.sum(residual**2, axis=1)
        return log_normal(cache) + jax.nn.logsumexp(log_weights) - jnp.log(1.0 * n_importance)

    return Estimator(
        prepare=lambda position: position,
        log_estimate=log_estimate,
        draw_auxiliary=lambda key: jax.random.normal(key, (n_importance, dim)),
        n_cubic=lambda cache: 1 + (cache[0] > 0.0).astype(jnp.int32),
        n_failures=lambda cache: (cache[0] > 1.0).astype(jnp.int32),
    )


def exact_estimator(log_density: Callable[[Array], Array], dim: int = DIM) -> Estimator:
    """Estimator without noise: its value is the density, whatever the auxiliary variables."""
    return Estimator(
        prepare=log_density,
        log_estimate=lambda cache, _: cache,
        draw_auxiliary=lambda key: jax.random.normal(key, (dim,)),
    )


def cases() -> dict[str, Case]:
    """One kernel of every kind with a start inside its support."""
    cholesky = jnp.array([[1.0, 0.0], [0.5, 0.8]])
    position = jnp.array([-0.9, 1.1])
    plain = {
        "random_walk": (random_walk_metropolis(log_bimodal, 0.3, DIM), log_bimodal, position),
        "independence": (
            metropolis_independence(
                log_normal, lambda key: jax.random.uniform(key, (DIM,), minval=-1.5, maxval=1.5)
            ),
            log_bimodal,
            position,
        ),
        "elliptical": (elliptical_slice(log_bimodal, dim=DIM), log_bimodal, position),
        "elliptical_cholesky": (elliptical_slice(log_bimodal, cholesky), log_bimodal, position),
        "linear": (linear_slice(log_bimodal, 2.0, DIM), log_bimodal, position),
        "linear_step_out": (linear_slice(log_bimodal, 0.4, DIM, 3), log_bimodal, position),
        "reflective": (
            reflective_slice(lambda u: log_bimodal(4.0 * u - 2.0), DIM),
            None,
            jnp.array([0.3, 0.8]),
        ),
    }
    result = {
        name: Case(
            kernel,
            lambda key, kernel=kernel, position=position: kernel.init(key, position),
            lambda state, kernel=kernel: kernel.init(jax.random.key(0), state.position).log_density,
        )
        for name, (kernel, _, position) in plain.items()
    }
    estimator = latent_estimator()
    marginal = {name: pseudo_marginal_method(name, estimator, 1.0, DIM) for name in METHODS}
    marginal["apm_mi_ss_step_out"] = auxiliary_pseudo_marginal(
        estimator, independence_auxiliary(estimator), slice_position(estimator, 0.5, DIM, 3)
    )
    for name, kernel in marginal.items():
        result[name] = Case(
            kernel,
            lambda key, kernel=kernel: kernel.init(key, jnp.zeros(DIM)),
            lambda state: estimator.log_estimate(estimator.prepare(state.position), state.auxiliary),
        )
    adapted = batch_adaptation(
        lambda scale: pseudo_marginal_method("apm_mi_mh", estimator, scale, DIM), 0.5, 3, 2
    )
    result["adapted"] = Case(
        adapted,
        lambda key: adapted.init(key, jnp.zeros(DIM)),
        lambda state: estimator.log_estimate(estimator.prepare(state.inner.position), state.inner.auxiliary),
    )
    return result


def cached_log_density(state: Any) -> Array:
    """The log density that a state of any kernel carries."""
    inner = getattr(state, "inner", state)
    return inner.log_estimate if hasattr(inner, "log_estimate") else inner.log_density
