"""Numerical faults of simulators conditioned on their outputs."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

import auxmc
from auxmc.interface.prior import Prior
from tests.faults.numerical.numerical_trials import (
    WARNED,
    Trial,
    checked_draws,
    moments_are,
    nothing_was_said,
)
from tests.faults.trials import REFUSED, RIGHT

__all__ = ["TRIALS"]

_FAMILY = "`auxmc.simulator`, on a manifold"


def _conditioned(
    generate: Callable[[dict[str, Array]], Any],
    observed: Any,
    inputs: Mapping[str, Prior],
    check: Callable[[xr.Dataset], str],
    *,
    start: Any = None,
    noise_scale: float | None = None,
    step_size: float | None = None,
    warm_up: int = 200,
    draws: int = 300,
) -> Callable[[], str]:
    def run() -> str:
        own = {} if step_size is None else {"step_size": step_size}
        model = auxmc.simulator(generate, observed, inputs, noise_scale=noise_scale)
        method = auxmc.constrained_hmc(model, **own)
        tree = auxmc.sample(method, start, draws=draws, warm_up=warm_up, chains=2, cores=1, progress=False)
        return checked_draws(tree, check)

    return run


def _pair() -> dict[str, Prior]:
    return {"mean": auxmc.prior.normal(), "noise": auxmc.prior.normal()}


def _added(inputs: dict[str, Array]) -> Array:
    return jnp.reshape(inputs["mean"] + inputs["noise"], (1,))


def _anything(draws: xr.Dataset) -> str:
    del draws
    return ""


def _trial(fault: str, given: str, run: Callable[[], str], outcome: str, says: str = "") -> Trial:
    # Programs of chains on manifolds take long to compile.
    return Trial(_FAMILY, fault, given, run, outcome, says, slow=outcome != REFUSED)


def _scaled(mean: str, factor: float) -> Callable[[dict[str, Array]], Array]:
    return lambda inputs: jnp.reshape(factor * (inputs[mean] + inputs["noise"]), (1,))


def _five_rows(inputs: dict[str, Array]) -> Array:
    return inputs["mean"] + jnp.exp(inputs["log_sd"]) * inputs["noise"]


_TRIALS_OF_STARTS = [
    _trial(
        "start off the manifold",
        "mean + noise = 1, start (0, 0)",
        _conditioned(_added, [1.0], _pair(), nothing_was_said, start={"mean": 0.0, "noise": 0.0}),
        REFUSED,
        "the start is off the manifold",
    ),
    _trial(
        "start at 1e300",
        "mean + noise = 1, start (1e300, -1e300)",
        _conditioned(_added, [1.0], _pair(), nothing_was_said, start={"mean": 1e300, "noise": -1e300}),
        REFUSED,
        "off the manifold",
    ),
    _trial(
        "start far out on the manifold",
        "mean + noise = 1, start (1e4, 1 - 1e4)",
        _conditioned(
            _added,
            [1.0],
            _pair(),
            moments_are(0.5, math.sqrt(0.5), most=0.35),
            start={"mean": 1e4, "noise": 1.0 - 1e4},
        ),
        RIGHT,
    ),
    _trial(
        "data that no inputs give",
        "exp(mean) + noise^2 = -1",
        _conditioned(
            lambda i: jnp.reshape(jnp.exp(i["mean"]) + i["noise"] ** 2, (1,)),
            [-1.0],
            _pair(),
            nothing_was_said,
        ),
        REFUSED,
        "no inputs that generate the data were found",
    ),
    _trial(
        "outputs of NaN",
        "log(mean) + noise",
        _conditioned(
            lambda i: jnp.reshape(jnp.log(i["mean"]) + i["noise"], (1,)), [0.0], _pair(), nothing_was_said
        ),
        WARNED,
        "what generate returns is not finite at",
    ),
    _trial(
        "outputs of NaN everywhere",
        "sqrt(-1 - mean^2) + noise",
        _conditioned(
            lambda i: jnp.reshape(jnp.sqrt(-1.0 - i["mean"] ** 2) + i["noise"], (1,)),
            [0.0],
            _pair(),
            nothing_was_said,
        ),
        REFUSED,
        "no finite outputs",
    ),
]

_TRIALS_OF_GRAMS = [
    _trial(
        "singular Gram matrix: an output twice",
        "(mean + noise, mean + noise) = (1, 1)",
        _conditioned(lambda i: jnp.tile(_added(i), 2), [1.0, 1.0], _pair(), nothing_was_said),
        REFUSED,
        "lacks full rank",
    ),
    _trial(
        "singular Gram matrix: an output without inputs",
        "(mean + noise, 3) = (1, 3)",
        _conditioned(lambda i: jnp.append(_added(i), 3.0), [1.0, 3.0], _pair(), nothing_was_said),
        REFUSED,
        "no inputs that generate the data",
    ),
    _trial(
        "singular Gram matrix at the datum",
        "mean^2 + noise^2 = 0",
        _conditioned(
            lambda i: jnp.reshape(i["mean"] ** 2 + i["noise"] ** 2, (1,)), [0.0], _pair(), nothing_was_said
        ),
        REFUSED,
        "is nearly zero",
    ),
    _trial(
        "singular Gram matrix at a point",
        "mean * noise = 0: two lines that cross",
        _conditioned(lambda i: jnp.reshape(i["mean"] * i["noise"], (1,)), [0.0], _pair(), _anything),
        WARNED,
    ),
    _trial(
        "duplicated rows",
        "(mean + noise, mean + noise') with one noise each = (1, 1)",
        _conditioned(
            lambda i: i["mean"] + i["noise"],
            [1.0, 1.0],
            {"mean": auxmc.prior.normal(), "noise": auxmc.prior.normal(2)},
            moments_are(2.0 / 3.0, math.sqrt(1.0 / 3.0), most=0.35),
        ),
        RIGHT,
    ),
    _trial(
        "constant data, proper prior of the scale",
        "five times 3 from a normal law with log-normal scale",
        _conditioned(
            _five_rows,
            np.full(5, 3.0),
            {
                "mean": auxmc.prior.normal(mean=3.0, sd=1.0),
                "log_sd": auxmc.prior.normal(sd=0.5),
                "noise": auxmc.prior.normal(5),
            },
            # By quadrature. A wider prior leaves draws near the largest scales rare, and then a warning is right too.
            moments_are(-1.0098, 0.4956, "log_sd"),
            draws=1500,
        ),
        RIGHT,
    ),
    _trial(
        "all trajectories fail",
        "mean^2 + noise^2 = 1, step 1e6, no warm-up",
        _conditioned(
            lambda i: jnp.reshape(i["mean"] ** 2 + i["noise"] ** 2, (1,)),
            [1.0],
            _pair(),
            nothing_was_said,
            step_size=1e6,
            warm_up=0,
        ),
        WARNED,
        "never moved",
    ),
]

_TRIALS_OF_SCALES = [
    _trial(
        "datum of 1e300",
        "mean + noise = 1e300",
        _conditioned(_added, [1e300], _pair(), nothing_was_said),
        REFUSED,
        "the log density of the prior",
    ),
    _trial(
        "datum of 1e-300",
        "mean + noise = 1e-300",
        _conditioned(_added, [1e-300], _pair(), moments_are(0.0, math.sqrt(0.5), most=0.35)),
        RIGHT,
    ),
    _trial(
        "outputs of size 1e300",
        "1e300 (mean + noise) = 1e300",
        _conditioned(_scaled("mean", 1e300), [1e300], _pair(), nothing_was_said),
        REFUSED,
        "no inputs",
    ),
    _trial(
        "outputs of size 1e-300",
        "1e-300 (mean + noise) = 1e-300",
        _conditioned(_scaled("mean", 1e-300), [1e-300], _pair(), nothing_was_said),
        REFUSED,
        "lacks full rank",
    ),
    _trial(
        "outputs of size 1e-10",
        "1e-10 (mean + noise) = 1e-10, below the tolerance",
        _conditioned(_scaled("mean", 1e-10), [1e-10], _pair(), nothing_was_said),
        REFUSED,
        "is not small beside the outputs",
    ),
    _trial(
        "outputs that overflow",
        "exp(1000 mean) + noise = 1",
        _conditioned(
            lambda i: jnp.reshape(jnp.exp(1000.0 * i["mean"]) + i["noise"], (1,)), [1.0], _pair(), _anything
        ),
        WARNED,
        "what generate returns is not finite at",
    ),
    _trial(
        "prior of standard deviation 1e300",
        "mean + noise = 1",
        _conditioned(
            _added,
            [1.0],
            {"mean": auxmc.prior.normal(mean=0.0, sd=1e300), "noise": auxmc.prior.normal()},
            nothing_was_said,
        ),
        REFUSED,
        "no inputs",
    ),
    _trial(
        "noise of standard deviation 1e-300",
        "mean, noise_scale=1e-300",
        _conditioned(
            lambda i: jnp.reshape(i["mean"], (1,)),
            [1.0],
            {"mean": auxmc.prior.normal()},
            nothing_was_said,
            noise_scale=1e-300,
        ),
        REFUSED,
        "the log density of the prior",
    ),
    _trial(
        "noise of standard deviation 1e300",
        "mean, noise_scale=1e300",
        _conditioned(
            lambda i: jnp.reshape(i["mean"], (1,)),
            [1.0],
            {"mean": auxmc.prior.normal()},
            nothing_was_said,
            noise_scale=1e300,
        ),
        REFUSED,
        "lacks full rank",
    ),
]

TRIALS = [*_TRIALS_OF_STARTS, *_TRIALS_OF_GRAMS, *_TRIALS_OF_SCALES]
