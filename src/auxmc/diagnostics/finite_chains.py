"""Exact transition matrices of Markov chains with few states, and what they say about a chain.

A matrix has transition probabilities [state, state], rows summing to 1; ValueError is raised for any other, and for a
distribution that is not [state].
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray

_ROW_SUM_TOLERANCE = 1e-12


def uniform_cells(thresholds: Sequence[ArrayLike]) -> tuple[FloatArray, FloatArray]:
    """Cuts a unit cube of uniform numbers into boxes on which all comparisons with thresholds have one outcome.

    A kernel that compares its uniform numbers with known thresholds, a list in [0, 1] for each, does the same for all
    numbers of a box. Running it once at the point inside each [box, number], and weighting by volume [box],
    integrates its random numbers without error.
    """
    sides = []
    for values in thresholds:
        inner = np.asarray(values, float).ravel()
        if not np.all((inner >= 0.0) & (inner <= 1.0)):
            raise ValueError(f"thresholds must be in [0, 1], got {inner.tolist()}")
        ends = np.unique(np.concatenate([[0.0], inner, [1.0]]))
        sides.append(list(zip(0.5 * (ends[:-1] + ends[1:]), np.diff(ends), strict=True)))
    boxes = list(product(*sides))
    points = np.array([[middle for middle, _ in box] for box in boxes]).reshape(len(boxes), len(sides))
    return points, np.array([np.prod([length for _, length in box]) for box in boxes])


def transition_matrix(ends: ArrayLike, probabilities: ArrayLike) -> FloatArray:
    """Matrix of a chain whose step is a map of the states that chance chooses.

    Args:
        ends: for each map, the state to which it moves each state [map, state] (integers).
        probabilities: of the maps [map].

    Returns:
        Probability of moving from a row's state to a column's [state, state].

    Raises:
        ValueError: shapes do not fit, or an end is no state.

    Must hold: rows sum to the sum of the probabilities.
    """
    targets, weights = np.asarray(ends, np.int64), np.asarray(probabilities, float)
    if targets.ndim != 2 or weights.shape != targets.shape[:1]:
        got = f"{targets.shape} and {weights.shape}"
        raise ValueError(f"ends must be [map, state] and probabilities [map], got {got}")
    n_states = targets.shape[1]
    if targets.size and not (targets.min() >= 0 and targets.max() < n_states):
        raise ValueError(f"ends must be numbers of states from 0 to {n_states - 1}")
    matrix = np.zeros((n_states, n_states))
    rows = np.broadcast_to(np.arange(n_states), targets.shape)
    np.add.at(matrix, (rows, targets), np.broadcast_to(weights[:, None], targets.shape))
    return matrix


def invariance_residual(matrix: ArrayLike, distribution: ArrayLike) -> float:
    """Largest element of |distribution @ matrix - distribution|, 0 where the distribution is stationary.

    Args:
        matrix: transition probabilities [state, state], rows summing to 1.
        distribution: probabilities of the states [state].

    Raises:
        ValueError: shapes do not fit, or the matrix is not one of transition probabilities.

    Source: PhD thesis, Eq. 2.21.
    """
    kernel, probabilities = _checked(matrix, distribution)
    return float(np.max(np.abs(probabilities @ kernel - probabilities)))


def detailed_balance_residual(matrix: ArrayLike, distribution: ArrayLike) -> float:
    """Largest difference of the flows between two states, 0 where the chain is reversible.

    Args:
        matrix: transition probabilities [state, state], rows summing to 1.
        distribution: probabilities of the states [state].

    Raises:
        ValueError: shapes do not fit, or the matrix is not one of transition probabilities.

    Source: PhD thesis, section 2.2 (detailed balance).
    """
    kernel, probabilities = _checked(matrix, distribution)
    flow = probabilities[:, None] * kernel
    return float(np.max(np.abs(flow - flow.T)))


def second_eigenvalue(matrix: ArrayLike) -> float:
    """Modulus of the second largest eigenvalue, the rate at which the chain forgets its start.

    Args:
        matrix: transition probabilities [state, state], rows summing to 1.

    Raises:
        ValueError: the matrix is not one of transition probabilities.

    Source: PhD thesis, section 2.2 (geometric ergodicity).

    >>> round(second_eigenvalue([[0.9, 0.1], [0.2, 0.8]]), 12)
    0.7
    """
    kernel, _ = _checked(matrix)
    return float(np.sort(np.abs(np.linalg.eigvals(kernel)))[-2])


def stationary_distribution(matrix: ArrayLike) -> FloatArray:
    """The stationary distribution of an irreducible chain [state], by a linear solve.

    Raises:
        ValueError: the matrix is not one of transition probabilities, or has several stationary distributions.

    >>> [round(p, 12) for p in stationary_distribution([[0.5, 0.5], [1.0, 0.0]]).tolist()]
    [0.666666666667, 0.333333333333]
    """
    kernel, _ = _checked(matrix)
    n_states = len(kernel)
    system = np.vstack([kernel.T - np.eye(n_states), np.ones(n_states)])
    distribution, _, rank, _ = np.linalg.lstsq(system, np.append(np.zeros(n_states), 1.0), rcond=1e-10)
    if rank < n_states:
        raise ValueError("the chain has several stationary distributions: some states do not lead to others")
    return np.asarray(distribution, float)


def _checked(matrix: ArrayLike, distribution: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
    kernel = np.asarray(matrix, float)
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1] or len(kernel) < 2:
        raise ValueError(f"matrix must be square, of at least two states, got shape {kernel.shape}")
    if np.any(kernel < 0.0) or np.max(np.abs(kernel.sum(axis=1) - 1.0)) > _ROW_SUM_TOLERANCE:
        raise ValueError("matrix must hold probabilities with rows that sum to 1")
    if distribution is None:
        return kernel, np.empty(0)
    probabilities = np.asarray(distribution, float)
    if probabilities.shape != kernel.shape[:1]:
        raise ValueError(f"distribution must be probabilities [{len(kernel)}], got {probabilities.shape}")
    return kernel, probabilities
