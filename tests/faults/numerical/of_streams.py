"""Numerical faults of evidences of rows."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import auxmc
from auxmc.kernels.streams.growing_data import GrowingDataSettings
from auxmc.kernels.streams.running_laplace import RunningLaplaceSettings
from tests.faults.numerical.numerical_trials import WARNED, Trial
from tests.faults.trials import REFUSED, RIGHT

__all__ = ["TRIALS"]

_FAMILIES = {
    "stream": "`auxmc.stream_evidence`",
    "growing": "`auxmc.growing_data`",
    "laplace": "`auxmc.laplace_evidence`",
}
_ROWS = np.array([0.3, 1.4, -0.2, 0.9, 1.1, 0.1, 0.7, 1.9, 0.5, 0.4])[:, None]
_LOG_2_PI = math.log(2.0 * math.pi)


def _normal(p: Any, rows: Array) -> Array:
    return -0.5 * (rows[:, 0] - p["mean"]) ** 2 - 0.5 * _LOG_2_PI


def _exact(rows: np.ndarray) -> float:
    """Log evidence of a normal law of variance 1 whose mean is standard normal."""
    y, n = rows[:, 0], len(rows)
    return float(
        -0.5 * n * _LOG_2_PI - 0.5 * math.log1p(n) - 0.5 * np.sum(y**2) + 0.5 * np.sum(y) ** 2 / (1.0 + n)
    )


def _estimate(name: str, model: Any, rows: np.ndarray) -> tuple[float, float]:
    found: Any
    if name == "stream":
        settings = RunningLaplaceSettings(n_particles=100, n_moves=2)
        found = auxmc.stream_evidence(model, rows, chunk=5, replicates=4, settings=settings, progress=False)
    elif name == "growing":
        found = auxmc.growing_data(model, rows, replicates=4, settings=GrowingDataSettings(n_particles=50))
    else:
        found = auxmc.laplace_evidence(model, rows, draws=1000)
    return found.log_evidence, found.standard_error


def _run(
    name: str, log_likelihood: Callable[[Any, Array], Array], rows: np.ndarray, exact: float | None
) -> Callable[[], str]:
    """Where there is no exact value, something must be said."""

    def run() -> str:
        model = auxmc.row_model(
            log_likelihood,
            lambda p: -0.5 * p["mean"] ** 2 - 0.5 * _LOG_2_PI,
            lambda key: {"mean": jax.random.normal(key)},
        )
        value, error = _estimate(name, model, rows)
        if exact is None:
            return f"the log evidence {value} +- {error} came without a word"
        return "" if abs(value - exact) <= 4.0 * error + 0.1 else f"{value} +- {error}, not {exact}"

    return run


def _labels(p: Any, rows: Array) -> Array:
    return jax.nn.log_sigmoid(jnp.sign(rows[:, 0]) * rows[:, 0] * p["mean"])


def _exact_of_labels(rows: np.ndarray) -> float:
    grid = np.linspace(-10.0, 10.0, 20001)
    x = np.abs(rows[:, 0])
    logs = -np.sum(np.logaddexp(0.0, -x[None] * grid[:, None]), axis=1) - 0.5 * grid**2 - 0.5 * _LOG_2_PI
    return float(np.log(np.sum(np.exp(logs)) * (grid[1] - grid[0])))


_IMPOSSIBLE = np.concatenate([_ROWS[:8], [[5.0]], _ROWS[8:]])


def _impossible(p: Any, rows: Array) -> Array:
    """A row above 4 has probability zero whatever the mean."""
    return jnp.where(rows[:, 0] > 4.0, -jnp.inf, _normal(p, rows))


def _trials(name: str) -> list[Trial]:
    def trial(
        fault: str,
        given: str,
        log_likelihood: Callable[[Any, Array], Array],
        rows: np.ndarray,
        outcome: str,
        says: str = "",
        exact: float | None = None,
    ) -> Trial:
        run = _run(name, log_likelihood, rows, exact)
        return Trial(_FAMILIES[name], fault, given, run, outcome, says, slow=outcome != REFUSED)

    constant, twice = np.full((10, 1), 0.7), np.tile(_ROWS, (2, 1))
    far = 1e4 + _ROWS
    return [
        trial(
            "NaN in a row",
            "row 3 is NaN",
            _normal,
            np.where(np.arange(10)[:, None] == 3, math.nan, _ROWS),
            REFUSED,
            "row 3, column 0 (from 0) is nan",
        ),
        trial(
            "row of 1e300",
            "row 3 is 1e300",
            _normal,
            np.where(np.arange(10)[:, None] == 3, 1e300, _ROWS),
            REFUSED,
            "log_likelihood is not finite at 32 of 32 draws from the prior",
        ),
        trial(
            "a later row of 1e300",
            "row 8, of a later chunk, is 1e300",
            _normal,
            np.where(np.arange(10)[:, None] == 8, 1e300, _ROWS),
            REFUSED if name != "stream" else WARNED,
            "not finite" if name != "stream" else "the log evidence is -inf in rows 5 to",
        ),
        trial(
            "rows of 1e-300",
            "ten times 1e-300",
            _normal,
            np.full((10, 1), 1e-300),
            RIGHT,
            "",
            _exact(np.zeros((10, 1))),
        ),
        trial("constant rows", "ten times 0.7", _normal, constant, RIGHT, "", _exact(constant)),
        trial("duplicated rows", "every row twice", _normal, twice, RIGHT, "", _exact(twice)),
        trial(
            "separable labels",
            "logistic regression, labels = sign(x), normal prior",
            _labels,
            _ROWS,
            RIGHT,
            "",
            _exact_of_labels(_ROWS),
        ),
        trial(
            "weights that underflow",
            "rows near 1e4, prior standard normal",
            _normal,
            far,
            RIGHT if name == "laplace" else WARNED,
            "",
            _exact(far),
        ),
        trial(
            "evidence of zero",
            "a row of probability zero whatever the parameters, in a later chunk",
            _impossible,
            _IMPOSSIBLE,
            WARNED if name == "stream" else REFUSED,
            "the log evidence is -inf in rows 5 to" if name == "stream" else "not finite",
        ),
        trial(
            "few finite particles",
            "rows of probability zero unless the mean is above 1",
            lambda p, rows: jnp.where(p["mean"] > 1.0, _normal(p, rows), -jnp.inf),
            _ROWS,
            REFUSED,
            "log_likelihood is not finite at",
        ),
    ]


TRIALS = [trial for name in _FAMILIES for trial in _trials(name)]
