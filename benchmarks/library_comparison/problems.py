"""Exact answers of the three problems, and how far an answer is from them."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import quad
from scipy.stats import halfcauchy, multivariate_normal

from benchmarks.library_comparison.data import EFFECTS, ERRORS

__all__ = ["PROBLEMS", "Problem"]


class Problem(NamedTuple):
    """A problem and its answer.

    Attributes:
        moments: mean and standard deviation of each quantity under the posterior, by name.
        quantities: maps an answer to draws of the quantities, by name.
        log_evidence: in nats; None where none is asked for.
    """

    moments: dict[str, tuple[float, float]]
    quantities: Callable[[dict[str, Any]], dict[str, np.ndarray]]
    log_evidence: float | None

    def error(self, answer: dict[str, Any]) -> float:
        """The largest error of a mean or a standard deviation, in standard deviations of the posterior."""
        found = {name: np.ravel(draws) for name, draws in self.quantities(answer).items()}
        return max(
            max(abs(found[name].mean() - mean), abs(found[name].std() - sd)) / sd
            for name, (mean, sd) in self.moments.items()
        )


def _eight_schools() -> Problem:
    y, variances = np.asarray(EFFECTS), np.asarray(ERRORS) ** 2

    def weight(tau: float) -> float:
        covariance = np.diag(variances + tau**2) + 25.0
        return float(halfcauchy.pdf(tau, scale=5.0) * multivariate_normal.pdf(y, np.zeros(8), covariance))

    def mu(tau: float) -> tuple[float, float]:
        precision = np.sum(1.0 / (variances + tau**2)) + 1.0 / 25.0
        return float(np.sum(y / (variances + tau**2)) / precision), 1.0 / precision

    def integral(function: Callable[[float], float]) -> float:
        parts = [(0.0, 5.0), (5.0, 20.0), (20.0, 100.0), (100.0, 10_000.0)]
        return sum(quad(lambda t: weight(t) * function(t), a, b, epsabs=0.0)[0] for a, b in parts)

    total = integral(lambda tau: 1.0)
    tau = integral(lambda tau: tau) / total
    tau_sd = math.sqrt(integral(lambda t: t**2) / total - tau**2)
    mean = integral(lambda tau: mu(tau)[0]) / total
    mean_sd = math.sqrt(integral(lambda tau: mu(tau)[0] ** 2 + mu(tau)[1]) / total - mean**2)
    return Problem(
        {"mu": (mean, mean_sd), "tau": (tau, tau_sd)},
        lambda answer: {name: np.asarray(answer[name]) for name in ("mu", "tau")},
        math.log(total),
    )


def _two_moons() -> Problem:
    def quantities(answer: dict[str, Any]) -> dict[str, np.ndarray]:
        theta = np.asarray(answer["theta"]).reshape(-1, 2)
        along, across = theta.sum(axis=1) / math.sqrt(2.0), np.diff(theta)[:, 0] / math.sqrt(2.0)
        return {"side": np.sign(along), "along": np.abs(along), "across": across}

    # Given radius and angle the parameters are known up to the side, with a constant derivative.
    square = (0.1**2 + 0.01**2) / 2.0
    cosine = 0.1 * 2.0 / math.pi
    return Problem(
        {
            "side": (0.0, 1.0),
            "along": (0.25 + cosine, math.sqrt(square - cosine**2)),
            "across": (0.0, math.sqrt(square)),
        },
        quantities,
        None,
    )


def _two_modes() -> Problem:
    def quantities(answer: dict[str, Any]) -> dict[str, np.ndarray]:
        first = np.asarray(answer["x"]).reshape(-1, 10)[:, 0]
        return {"side": np.sign(first), "distance": np.abs(first)}

    variance = 1.0 / (1.0 / 0.25 + 1.0 / 25.0)
    evidence = -5.0 * math.log(2.0 * math.pi * 25.25) - 0.5 * 10 * 9.0 / 25.25
    return Problem(
        {
            "side": (0.4, math.sqrt(1.0 - 0.16)),
            "distance": (3.0 / 0.25 * variance, math.sqrt(variance)),
        },
        quantities,
        evidence,
    )


PROBLEMS = {"eight_schools": _eight_schools(), "two_moons": _two_moons(), "two_modes": _two_modes()}
