"""The diagonal that makes a symmetric matrix positive semi-definite with the smallest largest eigenvalue."""

import clarabel
import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from auxmc.numerics.array_types import FloatArray


def smallest_diagonal_shift(matrix: ArrayLike) -> FloatArray:
    """Minimises the largest eigenvalue of A + diag(d) over d for which it is positive semi-definite.

    Takes A [row, row] and returns d [row]. What rounding leaves below zero of the smallest eigenvalue is
    added to all elements of d.

    Source: PhD thesis, Appendix E; a semi-definite programme, solved by an interior-point method.

    >>> smallest_diagonal_shift([[0.0, 2.0], [2.0, 0.0]]).round(6)
    array([2., 2.])
    """
    a = np.asarray(matrix, dtype=np.float64)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or not np.array_equal(a, a.T):
        raise ValueError(f"matrix must be square and symmetric, got shape {list(a.shape)}")
    n = len(a)
    # Unknowns are d and the bound t. Both t I - A - diag(d) and A + diag(d) lie in the cone, which the solver takes
    # as columns of the upper triangle with elements off the diagonal times the square root of 2.
    columns, rows = np.tril_indices(n)
    triangle = a[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))
    size = len(triangle)
    places = np.flatnonzero(rows == columns)
    diagonal = sparse.csc_matrix((np.ones(n), (places, np.arange(n))), shape=(size, n))
    trace = sparse.csc_matrix((np.ones(n), (places, np.zeros(n, dtype=int))), shape=(size, 1))
    constraints = sparse.bmat([[-diagonal, None], [diagonal, -trace]], format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix((n + 1, n + 1)),
        np.append(np.zeros(n), 1.0),
        constraints,
        np.concatenate([triangle, -triangle]),
        [clarabel.PSDTriangleConeT(n), clarabel.PSDTriangleConeT(n)],
        settings,
    ).solve()
    if solution.status not in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved):
        raise RuntimeError(f"the semi-definite programme of {n} unknowns was not solved: {solution.status}")
    shift = np.asarray(solution.x[:n], dtype=np.float64)
    lowest = float(np.linalg.eigvalsh(a + np.diag(shift))[0])
    return np.asarray(shift + max(0.0, -lowest), dtype=np.float64)
