"""Stochastic assertions with a stated false-alarm level and a stated power.

A correct program fails an assertion with probability at most `ALPHA`. Every assertion also says which
discrepancy it must find, and checks that its sample is large enough to find it with probability 0.999. The
sum of the levels of a run, which bounds its false-alarm probability (Bonferroni), must not exceed
`TOTAL_LEVEL`: see `tests/conftest.py`.

Seeds belong to names, so that a run gives the same numbers everywhere; the environment variable
AUXMC_STATISTICAL_SEED (any text) enters every name and so makes a run with fresh numbers.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import jax
import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from auxmc.diagnostics.confidence_sequence import confidence_sequence

__all__ = [
    "ALPHA",
    "TOTAL_LEVEL",
    "Sequence",
    "assert_at_least",
    "assert_bounded_mean",
    "assert_sequential",
    "assert_standard_mean",
    "assert_uniform",
    "dkw_half_width",
    "expecting_failure",
    "key_for",
    "legendre",
    "mean_p_value",
    "seed_for",
    "uniform_p_value",
]

ALPHA = 1e-7
"""False-alarm level of one assertion."""

TOTAL_LEVEL = 1e-4
"""False-alarm level of a whole run."""

MISS = 1e-3
"""Probability of not finding the declared discrepancy."""

n_assertions = 0
"""Number of assertions that this process has made, without those that are expected to fail."""

_charging = True


def seed_for(name: str) -> int:
    """Seed that belongs to a name, the same in every run and on every machine unless a run asks for fresh ones."""
    fresh = os.environ.get("AUXMC_STATISTICAL_SEED", "")
    return int.from_bytes(hashlib.sha256(f"{fresh}{name}".encode()).digest()[:4], "big")


def key_for(name: str) -> jax.Array:
    """JAX key that belongs to a name."""
    return jax.random.key(seed_for(name))


def dkw_half_width(n: int, alpha: float) -> float:
    """Half-width of the Dvoretzky-Kiefer-Wolfowitz-Massart band for n draws: exact for every n."""
    return float(np.sqrt(np.log(2.0 / alpha) / (2.0 * n)))


def assert_uniform(values: ArrayLike, alpha: float = ALPHA, detects: float = 0.02, label: str = "") -> None:
    """Asserts that independent values are uniform on (0, 1).

    Args:
        values: draws [draw].
        alpha: false-alarm probability.
        detects: difference of distribution functions that is found with probability 0.999.
        label: what is tested, for the report and the message.
    """
    n = len(np.asarray(values))
    threshold = dkw_half_width(n, alpha)
    _assert_power(threshold + dkw_half_width(n, MISS), detects, n)
    _judge("uniform", label, n, _distance_from_uniform(values), threshold, alpha)


def assert_standard_mean(values: ArrayLike, detects: float = 0.03, label: str = "") -> None:
    """Asserts that independent bounded values of variance 1 have mean 0, by a z test.

    Args:
        values: draws [draw] or [draw, function]; the level is shared equally by the functions.
        detects: mean, in standard deviations, that is found with probability 0.999.
        label: what is tested, for the report and the message.
    """
    statistic, n, n_functions = _largest_z(values)
    threshold = float(stats.norm.isf(ALPHA / (2.0 * n_functions)))
    _assert_power((threshold + float(stats.norm.isf(MISS))) / np.sqrt(n), detects, n)
    _judge("mean", label, n, statistic, threshold, ALPHA)


def assert_at_least(values: ArrayLike, floor: float, detects: float = 0.02, label: str = "") -> None:
    """Asserts that independent values in [0, 1] have a mean of at least `floor` (Hoeffding inequality)."""
    sample = np.asarray(values, float)
    n = len(sample)
    threshold = float(np.sqrt(np.log(1.0 / ALPHA) / (2.0 * n)))
    _assert_power(threshold + float(np.sqrt(np.log(1.0 / MISS) / (2.0 * n))), detects, n)
    _judge("floor", label, n, floor - float(sample.mean()), threshold, ALPHA)


def assert_bounded_mean(
    values: ArrayLike, low: float, high: float, expected: float, *, detects: float, label: str = ""
) -> None:
    """Asserts that independent values with proved bounds have a known mean, by a confidence sequence.

    Args:
        values: draws [draw], each in [low, high]: a value outside is an error, as the bound is then not one.
        low: proved lower bound.
        high: proved upper bound.
        expected: mean of a correct program.
        detects: difference of the mean, in the unit of the values, that is found: the interval must not be
            wider, so that a mean this far away is missed only if the interval does not cover it.
        label: what is tested, for the report and the message.
    """
    sample = np.asarray(values, float)
    n = len(sample)
    if not np.all((sample >= low) & (sample <= high)):
        raise AssertionError(f"{label}: a value is outside of its bounds [{low}, {high}]")
    interval = confidence_sequence(sample, low, high, ALPHA)
    lower, upper = interval.lower.item(), interval.upper.item()
    _assert_power(upper - lower, detects, n)
    half_width = 0.5 * (upper - lower)
    _judge("bounded mean", label, n, abs(expected - 0.5 * (upper + lower)), half_width, ALPHA)


# --- sequential tests ----------------------------------------------------------------------------------


class Sequence(NamedTuple):
    """Stages of a sequential test whose false-alarm probability is at most `alpha` in total.

    A stage draws again. With p-value q it fails if q <= beta, passes if q > gamma + beta, and otherwise the
    next stage has `factor` times as many draws and beta / gamma in the place of beta; the last one passes. A
    correct program reaches stage i with probability gamma^(i - 1) and fails there with beta / gamma^(i - 1),
    beta = alpha / n_stages in all of them together: alpha.

    Attributes:
        alpha: false-alarm probability of all stages together.
        n_stages: at most so many.
        factor: growth of the number of draws from stage to stage.

    Source: A. Gandy and J. Scott (2020), Unit testing for MCMC and other Monte Carlo methods, algorithm 1.
    """

    alpha: float = ALPHA
    n_stages: int = 4
    factor: int = 4

    @property
    def gamma(self) -> float:
        """Probability with which a correct program continues to the next stage."""
        return float((self.alpha / self.n_stages) ** (1.0 / self.n_stages))

    def betas(self) -> list[float]:
        """Levels of the stages."""
        return [self.alpha / self.n_stages / self.gamma**stage for stage in range(self.n_stages)]

    def run(self, p_value: Callable[[int, int], float], n: int) -> tuple[bool, list[int], float, float]:
        """Runs the stages; returns whether it passed, draws of each stage, the last p-value and its level."""
        sizes = []
        for stage, beta in enumerate(self.betas()):
            sizes.append(n * self.factor**stage)
            q = float(p_value(sizes[-1], stage))
            if not q > beta:
                return False, sizes, q, beta
            if q > self.gamma + beta:
                break
        return True, sizes, q, beta

    def found(self, n: int, n_statistics: int = 1) -> float:
        """Difference of distribution functions found with probability 0.999 by the band of each stage."""
        last = self.n_stages - 1
        widths = []
        for stage, beta in enumerate(self.betas()):
            size = n * self.factor**stage
            level = (beta if stage == last else self.gamma + beta) / n_statistics
            widths.append(dkw_half_width(size, level) + dkw_half_width(size, MISS / self.n_stages))
        return max(widths)


def assert_sequential(
    p_value: Callable[[int, int], float],
    n: int,
    *,
    detects: float,
    n_statistics: int = 1,
    sequence: Sequence | None = None,
    label: str = "",
) -> None:
    """Asserts a hypothesis by a sequential test: small samples first, larger ones only in doubt.

    Args:
        p_value: maps (number of draws, stage from 0) to a p-value of fresh draws, independent of those of
            other stages; of several statistics, the smallest p-value times their number.
        n: draws of the first stage.
        detects: difference of distribution functions that is found with probability 0.999.
        n_statistics: number of statistics of which `p_value` takes the smallest.
        sequence: stages and levels.
        label: what is tested, for the report and the message.
    """
    stages = sequence or Sequence()
    _assert_power(stages.found(n, n_statistics), detects, n)
    _, sizes, q, beta = stages.run(p_value, n)
    evidence = abs(np.log10(max(q, 1e-300))) if q == q else np.inf
    _judge("sequential", label, sizes, evidence, -np.log10(beta), stages.alpha)


def uniform_p_value(values: ArrayLike) -> float:
    """Bound of the p-value of independent values being uniform on (0, 1), from the same band as `assert_uniform`."""
    return min(1.0, float(2.0 * np.exp(-2.0 * len(np.asarray(values)) * _distance_from_uniform(values) ** 2)))


def mean_p_value(values: ArrayLike) -> float:
    """Smallest p-value of columns [draw, function] of variance 1 having mean 0, times the number of columns."""
    statistic, _, n_functions = _largest_z(values)
    return min(1.0, float(2.0 * n_functions * stats.norm.sf(statistic)))


# --- shared --------------------------------------------------------------------------------------------


def legendre(uniforms: ArrayLike, n_degrees: int = 4) -> np.ndarray:
    """Legendre polynomials of degree 1, ..., n_degrees, orthonormal under the uniform distribution [draw, degree]."""
    argument = 2.0 * np.asarray(uniforms, float) - 1.0
    columns = [
        np.sqrt(2.0 * k + 1.0) * np.polynomial.Legendre.basis(k)(argument) for k in range(1, n_degrees + 1)
    ]
    return np.stack(columns, axis=1)


@contextmanager
def expecting_failure() -> Iterator[None]:
    """Marks assertions on a program known to be wrong, which must fail and cost no false alarm."""
    global _charging
    _charging = False
    try:
        yield
    finally:
        _charging = True


def _distance_from_uniform(values: ArrayLike) -> float:
    ordered = np.sort(np.asarray(values, float))
    if not np.all((ordered >= 0.0) & (ordered <= 1.0)):
        return 1.0
    ranks = np.arange(len(ordered) + 1) / len(ordered)
    return float(max(np.max(ranks[1:] - ordered), np.max(ordered - ranks[:-1])))


def _largest_z(values: ArrayLike) -> tuple[float, int, int]:
    table = np.asarray(values, float)
    table = table.reshape(len(table), -1)
    n, n_functions = table.shape
    if n < 10_000:
        raise ValueError(f"a z test at five standard errors needs 10000 draws for its normal tail, got {n}")
    statistics = np.abs(table.mean(axis=0)) * np.sqrt(n)
    return float(np.max(np.where(np.isfinite(statistics), statistics, np.inf))), n, n_functions


def _assert_power(found: float, detects: float, n: int) -> None:
    if found > detects:
        raise ValueError(
            f"{n} draws find a discrepancy of {found:.4g}, not the declared {detects}: draw more"
        )


def _judge(
    rule: str, label: str, n: int | list[int], statistic: float, threshold: float, alpha: float
) -> None:
    global n_assertions
    if _charging:
        if alpha > ALPHA:
            raise ValueError(f"alpha: expected at most {ALPHA:g}, the level of one assertion, got {alpha:g}")
        n_assertions += 1
    assert statistic <= threshold, (
        f"{label}: {rule} statistic {statistic:.5g} exceeds {threshold:.5g} "
        f"(n = {n}, false-alarm probability {alpha:g})"
    )
