"""Numerical faults of models whose likelihood is estimated."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import xarray as xr
from jax import Array

import auxmc
from tests.faults.numerical.numerical_trials import (
    WARNED,
    Trial,
    checked_draws,
    moments_are,
    nothing_was_said,
)
from tests.faults.trials import REFUSED, RIGHT

__all__ = ["TRIALS"]

_FAMILY = "`auxmc.estimated`: pseudo-marginal"
_N = 8


def _estimated(
    log_estimate: Callable[[Any, Array], Array],
    check: Callable[[xr.Dataset], str],
    *,
    log_prior: Callable[[Any], Array] = lambda p: -0.5 * p["mean"] ** 2,
    start: float = 0.0,
    plain: bool = False,
) -> Callable[[], str]:
    def run() -> str:
        model = auxmc.estimated(log_prior, log_estimate, _N, {"mean": start})
        method = auxmc.pseudo_marginal(model) if plain else auxmc.auxiliary_pseudo_marginal(model)
        tree = auxmc.sample(method, draws=4000, warm_up=1000, chains=2, cores=1, progress=False)
        return checked_draws(tree, check)

    return run


def _mean_of(logs: Array) -> Array:
    return jax.nn.logsumexp(logs) - math.log(_N)


def _datum(datum: float, scale: float = 1.0) -> Callable[[Any, Array], Array]:
    """One datum with a normal shift of standard deviation 1 and noise of the same."""
    return lambda p, u: _mean_of(-0.5 * ((datum - p["mean"]) / scale - u) ** 2)


def _trial(fault: str, given: str, run: Callable[[], str], outcome: str, says: str = "") -> Trial:
    return Trial(_FAMILY, fault, given, run, outcome, says, slow=outcome != REFUSED)


TRIALS = [
    _trial(
        "start of density zero",
        "prior of minus infinity below 0, start at -1",
        _estimated(
            _datum(1.0),
            nothing_was_said,
            log_prior=lambda p: jnp.where(p["mean"] > 0.0, 0.0, -jnp.inf),
            start=-1.0,
        ),
        REFUSED,
        "the log density at the start is not finite",
    ),
    _trial(
        "start far out",
        "normal prior, one datum, start at 50",
        _estimated(_datum(1.0), moments_are(1.0 / 3.0, math.sqrt(2.0 / 3.0)), start=50.0),
        RIGHT,
    ),
    _trial(
        "start at 1e300",
        "normal prior",
        _estimated(_datum(1.0), nothing_was_said, start=1e300),
        REFUSED,
        "the log density at the start is not finite",
    ),
    _trial(
        "weights that underflow, in logs",
        "logsumexp of -1e5 - (1 - mean - u)^2 / 2",
        _estimated(lambda p, u: _datum(1.0)(p, u) - 1e5, moments_are(1.0 / 3.0, math.sqrt(2.0 / 3.0))),
        RIGHT,
    ),
    _trial(
        "weights that underflow, without logs",
        "log(mean(exp(-1e5 - (1 - mean - u)^2 / 2)))",
        _estimated(
            lambda p, u: jnp.log(jnp.mean(jnp.exp(-1e5 - 0.5 * (1.0 - p["mean"] - u) ** 2))), nothing_was_said
        ),
        REFUSED,
        "the log density at the start is not finite",
    ),
    _trial(
        "one finite particle",
        "only particles above 1 count: most estimates have one or none",
        _estimated(
            lambda p, u: _mean_of(jnp.where(u > 1.0, -0.5 * (1.0 - p["mean"]) ** 2, -jnp.inf)),
            moments_are(0.5, math.sqrt(0.5)),
        ),
        RIGHT,
    ),
    _trial(
        "one estimate of thousands is not zero",
        "all eight particles must lie above 0.5",
        _estimated(
            lambda p, u: jnp.where(jnp.all(u > 0.5), -0.5 * (1.0 - p["mean"]) ** 2, -jnp.inf),
            nothing_was_said,
        ),
        REFUSED,
        "the log density at the start is not finite",
    ),
    _trial(
        "estimates of NaN",
        "NaN where the first particle is below 0",
        _estimated(lambda p, u: _datum(1.0)(p, u) + jnp.where(u[0] > 0.0, 0.0, math.nan), nothing_was_said),
        WARNED,
        "is NaN at",
    ),
    _trial(
        "estimates of plus infinity",
        "infinite where the first particle is above 1",
        _estimated(lambda p, u: _datum(1.0)(p, u) + jnp.where(u[0] > 1.0, jnp.inf, 0.0), nothing_was_said),
        REFUSED,
        "plus infinity",
    ),
    _trial(
        "estimates that vary by hundreds of nats",
        "300 u",
        _estimated(lambda p, u: -0.5 * (1.0 - p["mean"]) ** 2 + 300.0 * u[0], nothing_was_said, plain=True),
        WARNED,
    ),
    _trial(
        "improper: prior and likelihood flat",
        "0 of a real mean",
        _estimated(
            lambda p, u: 0.0 * (p["mean"] + u[0]), nothing_was_said, log_prior=lambda p: 0.0 * p["mean"]
        ),
        REFUSED,
        "is the same everywhere",
    ),
    _trial(
        "separable labels, flat prior",
        "log sigmoid of slope times a random effect",
        _estimated(
            lambda p, u: _mean_of(4.0 * jax.nn.log_sigmoid(p["mean"] + u)),
            nothing_was_said,
            log_prior=lambda p: 0.0 * p["mean"],
        ),
        WARNED,
        "does not fall far out along mean",
    ),
    _trial(
        "datum of 1e300",
        "(1e300 - mean - u)^2 / 2",
        _estimated(_datum(1e300), nothing_was_said),
        REFUSED,
        "the log density at the start is not finite",
    ),
    _trial(
        "datum of 1e-300",
        "(1e-300 - mean - u)^2 / 2",
        _estimated(_datum(1e-300), moments_are(0.0, math.sqrt(2.0 / 3.0))),
        RIGHT,
    ),
    _trial(
        "scale of 1e-300",
        "((1 - mean) / 1e-300 - u)^2 / 2",
        _estimated(_datum(1.0, 1e-300), nothing_was_said, start=1.0),
        REFUSED,
        "around it",
    ),
]
