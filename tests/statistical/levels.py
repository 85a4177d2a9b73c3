"""Stochastic assertions with a stated false-alarm level, a stated power, and a ledger of both.

A correct program fails an assertion with probability at most `alpha`. Every assertion also says which
discrepancy it must find, and checks, without chance, that its sample is large enough to find it with
probability 0.999. The number of assertions of each test file is declared below; an assertion made outside
its file's allowance is an error, so the sum of all levels is known: at most `TOTAL_LEVEL` a run.
"""

import csv
import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jax
import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

__all__ = [
    "ALPHA",
    "DECLARED",
    "TOTAL_LEVEL",
    "assert_at_least",
    "assert_standard_mean",
    "assert_uniform",
    "dkw_half_width",
    "expecting_failure",
    "key_for",
    "legendre",
    "seed_for",
]

ALPHA = 2e-7
"""False-alarm level of one assertion."""

TOTAL_LEVEL = 1e-4
"""False-alarm level of a whole run."""

MISS = 1e-3
"""Probability of not finding the declared discrepancy."""

DECLARED = {
    "test_abc_posteriors.py": 22,
    "test_constrained_invariance.py": 29,
    "test_input_space_kernels.py": 22,
    "test_kernel_invariance.py": 320,
    "test_levels.py": 10,
    "test_mutants.py": 6,
    "test_nuts_invariance.py": 6,
    "test_tempering.py": 41,
}
"""Largest number of assertions, each of level ALPHA, that each test file makes."""

_charged: Counter[str] = Counter()
_uncharged = False


def seed_for(name: str) -> int:
    """Seed that belongs to a name, the same in every run and on every machine."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")


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
    ordered = np.sort(np.asarray(values, float))
    n = len(ordered)
    threshold = dkw_half_width(n, alpha)
    _assert_power(threshold + dkw_half_width(n, MISS), detects, n)
    ranks = np.arange(n + 1) / n
    distance = float(max(np.max(ranks[1:] - ordered), np.max(ordered - ranks[:-1])))
    if not np.all((ordered >= 0.0) & (ordered <= 1.0)):
        distance = 1.0
    _judge("uniform", label, n, distance, threshold, alpha, detects)


def assert_standard_mean(
    values: ArrayLike, alpha: float = ALPHA, detects: float = 0.03, label: str = ""
) -> None:
    """Asserts that independent bounded values of variance 1 have mean 0, by a z test.

    Args:
        values: draws [draw] or [draw, function]; the level is shared equally by the functions.
        alpha: false-alarm probability.
        detects: mean, in standard deviations, that is found with probability 0.999.
        label: what is tested, for the report and the message.
    """
    table = np.asarray(values, float)
    table = table.reshape(len(table), -1)
    n, n_functions = table.shape
    if n < 10_000:
        raise ValueError(f"a z test at five standard errors needs 10000 draws for its normal tail, got {n}")
    threshold = float(stats.norm.isf(alpha / (2.0 * n_functions)))
    _assert_power((threshold + float(stats.norm.isf(MISS))) / np.sqrt(n), detects, n)
    statistics = np.abs(table.mean(axis=0)) * np.sqrt(n)
    statistic = float(np.max(np.where(np.isfinite(statistics), statistics, np.inf)))
    _judge("mean", label, n, statistic, threshold, alpha, detects)


def assert_at_least(
    values: ArrayLike, floor: float, alpha: float = ALPHA, detects: float = 0.02, label: str = ""
) -> None:
    """Asserts that independent values in [0, 1] have a mean of at least `floor` (Hoeffding inequality)."""
    sample = np.asarray(values, float)
    n = len(sample)
    threshold = float(np.sqrt(np.log(1.0 / alpha) / (2.0 * n)))
    _assert_power(threshold + float(np.sqrt(np.log(1.0 / MISS) / (2.0 * n))), detects, n)
    _judge("floor", label, n, floor - float(sample.mean()), threshold, alpha, detects)


def legendre(uniforms: ArrayLike, n_degrees: int = 4) -> np.ndarray:
    """Legendre polynomials of degree 1, ..., n_degrees, orthonormal under the uniform law [draw, degree]."""
    argument = 2.0 * np.asarray(uniforms, float) - 1.0
    columns = [
        np.sqrt(2.0 * k + 1.0) * np.polynomial.Legendre.basis(k)(argument) for k in range(1, n_degrees + 1)
    ]
    return np.stack(columns, axis=1)


@contextmanager
def expecting_failure() -> Iterator[None]:
    """Marks assertions on a program known to be wrong, which must fail and cost no false alarm."""
    global _uncharged
    _uncharged = True
    try:
        yield
    finally:
        _uncharged = False


def _assert_power(found: float, detects: float, n: int) -> None:
    if found > detects:
        raise ValueError(
            f"{n} draws find a discrepancy of {found:.4f}, not the declared {detects}: draw more"
        )


def _judge(
    rule: str, label: str, n: int, statistic: float, threshold: float, alpha: float, detects: float
) -> None:
    test = os.environ.get("PYTEST_CURRENT_TEST", "").split(" ")[0]
    if not _uncharged:
        _charge(test, alpha)
        _report([test, label, rule, n, f"{statistic:.6g}", f"{threshold:.6g}", alpha, detects])
    assert statistic <= threshold, (
        f"{label or test}: {rule} statistic {statistic:.5g} exceeds {threshold:.5g} "
        f"(n = {n}, false-alarm probability {alpha:g})"
    )


def _charge(test: str, alpha: float) -> None:
    name = Path(test.split("::")[0]).name
    if name not in DECLARED:
        raise ValueError(
            f"{name or 'this file'} has no allowance of stochastic assertions: declare it in levels.py"
        )
    _charged[name] += 1
    if alpha > ALPHA:
        raise ValueError(f"level {alpha:g} exceeds the declared {ALPHA:g} of one assertion")
    if _charged[name] > DECLARED[name]:
        raise ValueError(f"{name} makes more than its {DECLARED[name]} declared stochastic assertions")


def _report(row: list[object]) -> None:
    target = os.environ.get("AUXMC_STATISTICAL_REPORT")
    if target is None:
        return
    path = Path(target)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(["test", "label", "rule", "n", "statistic", "threshold", "alpha", "detects"])
        writer.writerow(row)
