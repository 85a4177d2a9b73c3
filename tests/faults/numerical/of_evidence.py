"""Numerical faults of `auxmc.evidence`, by each of its methods."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import auxmc
from auxmc.interface.tempered.evidence import METHODS
from tests.faults.numerical.numerical_trials import WARNED, Trial
from tests.faults.numerical.of_densities import separable
from tests.faults.trials import REFUSED, RIGHT

__all__ = ["TRIALS"]


def _evidence(
    method: str,
    log_density: Callable[[Any], Array],
    exact: float | None = None,
    *,
    start: float = 0.0,
    base: Any = "laplace",
) -> Callable[[], str]:
    """Where there is no exact value, something must be said."""

    def run() -> str:
        found = auxmc.evidence(
            log_density,
            {"x": start},
            base=base() if callable(base) else base,
            method=method,
            draws=1000,
            warm_up=300,
            chains=8,
            cores=1,
            progress=False,
        )
        if exact is None:
            return f"{found} came without a word"
        far = not abs(found.log_evidence - exact) <= 4.0 * found.standard_error + 0.05
        return f"{found}, not {exact}" if far else ""

    return run


def _normal(p: Any) -> Array:
    return -0.5 * p["x"] ** 2


def _log_mass_of_separable() -> float:
    grid = np.linspace(-15.0, 20.0, 20001)
    logs = np.asarray(jax.vmap(lambda slope: separable(slope, 2.0))(jnp.asarray(grid)))
    return float(np.log(np.sum(np.exp(logs)) * (grid[1] - grid[0])))


_LOG_ROOT = 0.5 * math.log(2.0 * math.pi)


def _trials(method: str) -> list[Trial]:
    def trial(fault: str, given: str, run: Callable[[], str], outcome: str, says: str = "") -> Trial:
        return Trial(
            f'`auxmc.evidence`, method="{method}"', fault, given, run, outcome, says, slow=outcome != REFUSED
        )

    return [
        trial(
            "density zero everywhere",
            "minus infinity",
            _evidence(method, lambda p: -math.inf + 0.0 * p["x"]),
            REFUSED,
            "the log density at the start is",
        ),
        trial(
            "density at one point alone",
            "0 at the start, minus infinity elsewhere",
            _evidence(method, lambda p: jnp.where(p["x"] == 0.0, 0.0, -jnp.inf)),
            REFUSED,
            "around it",
        ),
        trial(
            "start of density zero",
            "minus infinity below 1, start at 0",
            _evidence(method, lambda p: jnp.where(p["x"] > 1.0, _normal(p), -jnp.inf)),
            REFUSED,
            "the log density at the start is -inf",
        ),
        trial(
            "improper", "x, of a real x", _evidence(method, lambda p: p["x"]), REFUSED, "grows without end"
        ),
        trial(
            "constant of -1e300",
            "-1e300 - x^2 / 2",
            _evidence(method, lambda p: -1e300 + _normal(p)),
            REFUSED,
            "is the same everywhere",
        ),
        trial(
            "base that is nowhere near",
            "standard normal, base at 1e300",
            _evidence(method, _normal, base=lambda: auxmc.gaussian({"x": 1e300}, {"x": 1.0})),
            REFUSED,
            "no annealed run reached the target",
        ),
        trial(
            "base of standard deviation 1e-300",
            "standard normal",
            _evidence(method, _normal, base=lambda: auxmc.gaussian({"x": 0.0}, {"x": 1e-300})),
            WARNED,
        ),
        trial(
            "weights that underflow",
            "-1e5 - x^2 / 2: exp of every weight is 0",
            _evidence(method, lambda p: -1e5 + _normal(p), _LOG_ROOT - 1e5),
            RIGHT,
        ),
        trial(
            "separable labels, normal prior",
            "logistic regression, labels = sign(x)",
            _evidence(method, lambda p: separable(p["x"], 2.0), _log_mass_of_separable()),
            RIGHT,
        ),
        trial(
            "NaN in half of the space",
            "standard normal, NaN below 0",
            _evidence(
                method, lambda p: jnp.where(p["x"] > 0.0, _normal(p), math.nan), start=1.0, base="automatic"
            ),
            REFUSED,
            "no base was found",
        ),
    ]


TRIALS = [trial for method in METHODS for trial in _trials(method)]
