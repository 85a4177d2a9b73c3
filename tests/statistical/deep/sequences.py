"""Sequential tests on replicas in batches: samples of a million draws, larger ones only in doubt."""

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import stats

from tests.statistical.kernel_checks import N, Runs
from tests.statistical.levels import Sequence, assert_sequential, legendre, uniform_p_value

__all__ = ["N_FIRST", "STAGES", "assert_distribution_unchanged", "smallest_p_value"]

N_FIRST = 1_000_000
STAGES = Sequence(n_stages=3)
DETECTS = 0.005
"""Difference of distribution functions that is found with probability 0.999, of every coordinate."""

Driver = Callable[[int, str], Runs]


class _Sums(NamedTuple):
    """Sums of functions and of their squares over all batches so far [function]."""

    values: np.ndarray
    squares: np.ndarray


def assert_distribution_unchanged(driver: Driver, index: int, name: str, *, reversible: bool) -> None:
    """Asserts that one and five steps keep the distribution of exact starts, and that pairs are exchangeable.

    Args:
        driver: maps (target index, name of the random numbers) to replicas.
        index: of the target.
        name: of the random numbers.
        reversible: whether start and next point must be exchangeable.
    """
    n_coordinates = driver(index, f"{name}/pilot").start.shape[1]

    def p_value(n: int, stage: int) -> float:
        return smallest_p_value(
            (driver(index, f"{name}/{stage}/{batch}") for batch in range(n // N)), reversible=reversible
        )

    # Two times, a band and the set of means for each coordinate, the joint functions and the pairs.
    n_statistics = 4 * n_coordinates + 3
    assert_sequential(
        p_value, N_FIRST, detects=DETECTS, n_statistics=n_statistics, sequence=STAGES, label=name
    )


def smallest_p_value(batches: object, *, reversible: bool) -> float:
    """Smallest p-value of all statistics of replicas, times their number; zero where a fact does not hold."""
    transforms: list[tuple[np.ndarray, np.ndarray]] = []
    sums: dict[str, _Sums] = {}
    for runs in batches:  # type: ignore[attr-defined]
        if runs.n_collapsed or runs.cache_error > 1e-9:
            return 0.0
        transforms.append((runs.once, runs.last))
        for name, table in _functions(runs, reversible).items():
            new = _Sums(table.sum(axis=0), np.square(table).sum(axis=0))
            sums[name] = (
                _Sums(*(a + b for a, b in zip(sums[name], new, strict=True))) if name in sums else new
            )
    p_values = []
    for values in (np.concatenate(parts) for parts in zip(*transforms, strict=True)):
        p_values += [uniform_p_value(values[:, coordinate]) for coordinate in range(values.shape[1])]
    p_values += [
        _mean_p_value(total, known_scale=name != "pairs", n=len(values)) for name, total in sums.items()
    ]
    return min(1.0, len(p_values) * min(p_values))


def _functions(runs: Runs, reversible: bool) -> dict[str, np.ndarray]:
    tables = {}
    for label, values in (("once", runs.once), ("last", runs.last)):
        own = [legendre(values[:, coordinate]) for coordinate in range(values.shape[1])]
        if len(own) == 2:
            own.append((own[0][:, :3, None] * own[1][:, None, :3]).reshape(len(values), -1))
        tables[label] = np.concatenate(own, axis=1)
    if reversible:
        before, after = _with_joint(runs.start), _with_joint(runs.once)
        tables["pairs"] = np.stack(
            [
                before[:, i] * after[:, j] - before[:, j] * after[:, i]
                for i, j in combinations(range(before.shape[1]), 2)
            ],
            axis=1,
        )
    return tables


def _with_joint(transforms: np.ndarray) -> np.ndarray:
    ones = np.ones((len(transforms), 1))
    if transforms.shape[1] == 1:
        return np.concatenate([ones, legendre(transforms[:, 0], 7)], axis=1)
    first, second = legendre(transforms[:, 0], 3), legendre(transforms[:, 1], 3)
    return np.concatenate([ones, first, second, first[:, :1] * second[:, :1]], axis=1)


def _mean_p_value(sums: _Sums, *, known_scale: bool, n: int) -> float:
    """Smallest two-sided p-value of the means being zero, times their number; variances are 1 or estimated."""
    scale = np.ones_like(sums.values) if known_scale else np.sqrt(sums.squares / n)
    statistics = np.abs(sums.values) / np.sqrt(n) / np.where(scale > 0.0, scale, 1.0)
    if not np.all(np.isfinite(statistics)):
        return 0.0
    return min(1.0, float(2.0 * len(statistics) * stats.norm.sf(statistics.max())))
