"""Numerical faults of a log density that `auxmc.sample` draws from."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
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

__all__ = ["TRIALS", "separable"]

_FAMILY = "`auxmc.sample` on a density"
_X = np.array([-2.0, -1.0, 1.0, 2.0])
_Y = np.array([-1.9, -1.2, 0.8, 2.1])


def _sampled(
    log_density: Callable[[Any], Array],
    start: Any,
    check: Callable[[xr.Dataset], str],
    *,
    step_size: float | None = None,
    warm_up: int = 500,
) -> Callable[[], str]:
    def run() -> str:
        own = {} if step_size is None else {"step_size": step_size}
        method = auxmc.hmc(auxmc.density(log_density, start), **own)
        tree = auxmc.sample(method, draws=1000, warm_up=warm_up, chains=2, cores=1, progress=False)
        return checked_draws(tree, check)

    return run


def separable(slope: Array, prior_sd: float = math.inf) -> Array:
    """Log density of a logistic regression on four rows whose labels the sign of x tells."""
    labels = jnp.asarray(np.sign(_X))
    prior = 0.0 if math.isinf(prior_sd) else -0.5 * (slope / prior_sd) ** 2
    return jnp.sum(jax.nn.log_sigmoid(labels * slope * jnp.asarray(_X))) + prior


def _moments_of_separable() -> tuple[float, float]:
    """Mean and standard deviation of the slope with a normal prior of standard deviation 2, by quadrature."""
    grid = np.linspace(-10.0, 15.0, 20001)
    logs = np.asarray(jax.vmap(lambda slope: separable(slope, 2.0))(jnp.asarray(grid)))
    weights = np.exp(logs - logs.max())
    mean = float(np.sum(weights * grid) / np.sum(weights))
    return mean, math.sqrt(float(np.sum(weights * (grid - mean) ** 2) / np.sum(weights)))


def _slope_is_right(draws: xr.Dataset) -> str:
    return moments_are(*_moments_of_separable(), "slope")(draws)


def _regression(p: Any, x: np.ndarray, y: np.ndarray) -> Array:
    residual = jnp.asarray(y) - p["slope"] * jnp.asarray(x)
    return -0.5 * jnp.sum(residual**2) - 0.5 * p["slope"] ** 2


def _constant_rows(p: Any, prior: float) -> Array:
    """Ten equal values of a normal law whose mean and scale are not known."""
    log_sd = p["log_sd"]
    terms = -10.0 * log_sd - 5.0 * (3.0 - p["mean"]) ** 2 * jnp.exp(-2.0 * log_sd)
    return terms - prior * (0.5 * log_sd**2 + 0.5 * p["mean"] ** 2)


def _where(p: Any, inside: Array, outside: float) -> Array:
    return jnp.where(inside, -0.5 * p["x"] ** 2, outside)


def _trial(fault: str, given: str, run: Callable[[], str], outcome: str, says: str = "") -> Trial:
    return Trial(_FAMILY, fault, given, run, outcome, says)


_TWICE = float(2.0 * np.dot(_X, _Y) / (1.0 + 2.0 * np.dot(_X, _X)))
_TWICE_SD = float(1.0 / math.sqrt(1.0 + 2.0 * np.dot(_X, _X)))

TRIALS = [
    _trial(
        "start off the support",
        "log(x) at x = -1",
        _sampled(lambda p: jnp.log(p["x"]) - p["x"], {"x": -1.0}, nothing_was_said),
        REFUSED,
        "the log density at the start is nan",
    ),
    _trial(
        "start of density zero",
        "minus infinity below 0, start at -1",
        _sampled(lambda p: _where(p, p["x"] > 0.0, -math.inf), {"x": -1.0}, nothing_was_said),
        REFUSED,
        "the log density at the start is -inf",
    ),
    _trial(
        "start at a pole",
        "-log|x| at x = 0",
        _sampled(lambda p: -jnp.log(jnp.abs(p["x"])) - p["x"] ** 2, {"x": 0.0}, nothing_was_said),
        REFUSED,
        "plus infinity",
    ),
    _trial(
        "start without a derivative",
        "-sqrt|x| at x = 0",
        _sampled(lambda p: -jnp.sqrt(jnp.abs(p["x"])) - p["x"] ** 2, {"x": 0.0}, nothing_was_said),
        REFUSED,
        "derivatives of the log density at the start are not finite",
    ),
    _trial(
        "start far out",
        "standard normal, start at 1e6",
        _sampled(lambda p: -0.5 * p["x"] ** 2, {"x": 1e6}, moments_are(0.0, 1.0, "x")),
        RIGHT,
    ),
    _trial(
        "start at 1e300",
        "standard normal",
        _sampled(lambda p: -0.5 * p["x"] ** 2, {"x": 1e300}, nothing_was_said),
        REFUSED,
        "the log density at the start is -inf",
    ),
    _trial(
        "infinite start",
        "standard normal, start at infinity",
        _sampled(lambda p: -0.5 * p["x"] ** 2, {"x": math.inf}, nothing_was_said),
        REFUSED,
        "not finite",
    ),
    _trial(
        "constant density",
        "0 everywhere",
        _sampled(lambda p: 0.0 * p["x"], {"x": 0.0}, nothing_was_said),
        REFUSED,
        "is the same everywhere",
    ),
    _trial(
        "density at one point alone",
        "0 at the start, minus infinity elsewhere",
        _sampled(lambda p: jnp.where(p["x"] == 0.5, 0.0, -math.inf), {"x": 0.5}, nothing_was_said),
        REFUSED,
        "at none of 96 points around it",
    ),
    _trial(
        "improper: grows",
        "x, of a real x",
        _sampled(lambda p: p["x"], {"x": 0.0}, nothing_was_said),
        REFUSED,
        "grows without end along x",
    ),
    _trial(
        "improper: grows along one of two",
        "x - y^2 / 2",
        _sampled(lambda p: p["x"] - 0.5 * p["y"] ** 2, {"x": 0.0, "y": 0.0}, nothing_was_said),
        REFUSED,
        "grows without end along x",
    ),
    _trial(
        "improper: does not fall",
        "log sigmoid(x)",
        _sampled(lambda p: jax.nn.log_sigmoid(p["x"]), {"x": 0.0}, nothing_was_said),
        WARNED,
        "does not fall far out along x",
    ),
    _trial(
        "separable labels, flat prior",
        "logistic regression, labels = sign(x)",
        _sampled(lambda p: separable(p["slope"]), {"slope": 0.0}, nothing_was_said),
        WARNED,
        "does not fall far out along slope",
    ),
    _trial(
        "separable labels, normal prior",
        "logistic regression, labels = sign(x)",
        _sampled(lambda p: separable(p["slope"], 2.0), {"slope": 0.0}, _slope_is_right),
        RIGHT,
    ),
    _trial(
        "duplicated rows",
        "linear regression, every row twice",
        _sampled(
            lambda p: _regression(p, np.tile(_X, 2), np.tile(_Y, 2)),
            {"slope": 0.0},
            moments_are(_TWICE, _TWICE_SD, "slope"),
        ),
        RIGHT,
    ),
    _trial(
        "duplicated columns",
        "two slopes of the same column, normal priors",
        _sampled(
            lambda p: (
                _regression({"slope": p["a"] + p["b"]}, _X, _Y)
                + 0.5 * (p["a"] + p["b"]) ** 2
                - 0.5 * (p["a"] ** 2 + p["b"] ** 2)
            ),
            {"a": 0.0, "b": 0.0},
            moments_are(float(np.dot(_X, _Y) / (1.0 + 2.0 * np.dot(_X, _X))), math.sqrt(11.0 / 21.0), "a"),
        ),
        RIGHT,
    ),
    _trial(
        "constant data, improper prior",
        "ten equal values, mean and log scale flat",
        _sampled(lambda p: _constant_rows(p, 0.0), {"mean": 2.0, "log_sd": 0.0}, nothing_was_said),
        WARNED,
    ),
    _trial(
        "constant data, proper prior",
        "ten equal values, mean and log scale normal",
        _sampled(lambda p: _constant_rows(p, 1.0), {"mean": 2.0, "log_sd": 0.0}, lambda draws: ""),
        WARNED,
    ),
    _trial(
        "NaN in half of the space",
        "standard normal, NaN below 0",
        _sampled(lambda p: _where(p, p["x"] > 0.0, math.nan), {"x": 1.0}, nothing_was_said),
        WARNED,
        "is NaN at",
    ),
    _trial(
        "NaN derivative in half of the space",
        "sqrt(max(x, 0)) by jnp.where",
        _sampled(
            lambda p: -0.5 * p["x"] ** 2 + jnp.where(p["x"] > 0.0, jnp.sqrt(p["x"]), 0.0),
            {"x": 1.0},
            nothing_was_said,
        ),
        WARNED,
        "NaN",
    ),
    _trial(
        "NaN far out",
        "standard normal as log(exp(-x^2 / 2)), NaN where that underflows",
        _sampled(lambda p: jnp.log(jnp.exp(-0.5 * p["x"] ** 2)), {"x": 0.0}, moments_are(0.0, 1.0, "x")),
        RIGHT,
    ),
    _trial(
        "all trajectories diverge",
        "standard normal, step 1e200, no warm-up",
        _sampled(lambda p: -0.5 * p["x"] ** 2, {"x": 0.0}, nothing_was_said, step_size=1e200, warm_up=0),
        WARNED,
        "energies that are not finite",
    ),
    _trial(
        "scale of 1e-300",
        "-(x / 1e-300)^2 / 2",
        _sampled(lambda p: -0.5 * (p["x"] / 1e-300) ** 2, {"x": 0.0}, nothing_was_said),
        REFUSED,
        "the log density at the start is nan",
    ),
    _trial(
        "scale of 1e300",
        "-(x / 1e300)^2 / 2",
        _sampled(lambda p: -0.5 * (p["x"] / 1e300) ** 2, {"x": 0.0}, nothing_was_said),
        REFUSED,
        "is the same everywhere",
    ),
    _trial(
        "scale of 1e-6",
        "-(x / 1e-6)^2 / 2",
        _sampled(lambda p: -0.5 * (p["x"] / 1e-6) ** 2, {"x": 0.0}, moments_are(0.0, 1e-6, "x")),
        RIGHT,
    ),
    _trial(
        "datum of 1e300",
        "-(1e300 - x)^2 / 2",
        _sampled(lambda p: -0.5 * (1e300 - p["x"]) ** 2, {"x": 0.0}, nothing_was_said),
        REFUSED,
        "the log density at the start is -inf",
    ),
    _trial(
        "log density of -1e300",
        "-1e300 - x^2 / 2",
        _sampled(lambda p: -1e300 - 0.5 * p["x"] ** 2, {"x": 0.0}, nothing_was_said),
        REFUSED,
        "is the same everywhere",
    ),
]
