"""The contract between a model with an intractable density and the kernels that sample from it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array


def _none(cache: Any) -> Array:
    return jnp.zeros((), jnp.int32)


class Estimator(NamedTuple):
    """Unbiased, non-negative density estimator as a deterministic function of auxiliary variables.

    With `estimate(x, u) = exp(log_estimate(prepare(x), u))`, the integral of `estimate(x, u) rho(u)` over
    u is the unnormalised target density at x. All functions are pure and written for one chain.

    Attributes:
        prepare: maps the target variables x [dim] to a cache (any pytree) of everything that depends on x
            alone. It must be a function of x only: a cache that depends on the history of the chain breaks
            exactness.
        log_estimate: maps (cache, u) to the log of the density estimate, a float64 scalar in nats; `-inf`
            where the density or its estimate is zero or cannot be computed, never NaN.
        draw_auxiliary: maps a key to auxiliary variables u ~ rho, an array of any fixed shape.
        n_cubic: maps a cache to the number of cubic-cost matrix operations that `prepare` spent on it, an
            int32 scalar, counted as an unbatched program would spend them; none by default.
        n_failures: maps a cache to the number of numerical failures met in `prepare` (0 or 1, int32); none by default.

    Source: PhD thesis, section 3.3, Eq. 3.5.
    """

    prepare: Callable[[Array], Any]
    log_estimate: Callable[[Any, Array], Array]
    draw_auxiliary: Callable[[Array], Array]
    n_cubic: Callable[[Any], Array] = _none
    n_failures: Callable[[Any], Array] = _none


def estimator_of(
    log_estimate: Callable[[Array, Array], Array], draw_auxiliary: Callable[[Array], Array]
) -> Estimator:
    """Makes an `Estimator` that prepares nothing: its estimate is a function of (x [dim], u).

    >>> noisy = estimator_of(lambda x, u: -0.5 * jnp.sum((x - u) ** 2), lambda key: jnp.zeros(2))
    >>> float(noisy.log_estimate(noisy.prepare(jnp.ones(2)), noisy.draw_auxiliary(None)))
    -1.0
    """
    return Estimator(lambda x: x, log_estimate, draw_auxiliary)
