"""How far a histogram of draws is from a reference, and how rough it is."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from auxmc.diagnostics.checks import finite_series
from auxmc.numerics.array_types import FloatArray


def sample_frequencies(samples: ArrayLike, edges: ArrayLike) -> FloatArray:
    """Fraction of the draws in each bin [edge + 1], the space below and above the edges being bins of their own.

    Edges [edge] increase strictly, and bins hold their lower edge.
    """
    values = finite_series(samples, "samples", min_draws=1).ravel()
    checked = _edges(edges)
    bins = np.searchsorted(checked, values, side="right")
    return np.bincount(bins, minlength=checked.size + 1) / values.size


def bin_probabilities(cdf: Callable[[FloatArray], ArrayLike], edges: ArrayLike) -> FloatArray:
    """Exact probability [edge + 1] of the bins of `sample_frequencies`, by their distribution function."""
    checked = _edges(edges)
    cumulative = np.asarray(cdf(checked), dtype=np.float64)
    probabilities = np.diff(np.concatenate([[0.0], cumulative, [1.0]]))
    if cumulative.shape != checked.shape or not np.all(probabilities >= 0.0):
        raise ValueError(f"cdf must map edges to increasing probabilities within [0, 1], got {cumulative}")
    return probabilities


def total_variation(first: ArrayLike, second: ArrayLike) -> float:
    """Total variation distance in [0, 1] of two discrete distributions, counts or probabilities of the same bins [bin].

    Between a histogram of n independent draws and their exact distribution it is not zero but about half the sum of
    sqrt(2 p (1 - p) / (pi n)) over the bins.

    Source: PhD thesis, figures 3.4, 3.6 and 3.8 compare histograms with exact densities by eye; this is
    the measure used here for the same comparison.
    """
    weights, other = _normalised(first, "first"), _normalised(second, "second")
    if weights.shape != other.shape:
        raise ValueError(f"first and second must share bins [bin], got {weights.shape} and {other.shape}")
    return float(0.5 * np.sum(np.abs(weights - other)))


def histogram_roughness(counts: ArrayLike) -> float:
    """Sum of squared second differences of a histogram of equally wide bins [bin], normalised to sum to one.

    It is zero for a straight line and grows with spurious peaks. Compare only histograms over the same edges.

    Source: PhD thesis, figure 3.12, whose comparison of histograms is by eye.

    >>> histogram_roughness([1, 1, 1, 1])
    0.0
    """
    weights = _normalised(counts, "counts")
    if weights.size < 3:
        raise ValueError(f"counts must have at least 3 bins, got {weights.size}")
    return float(np.sum(np.diff(weights, 2) ** 2))


def _edges(edges: ArrayLike) -> FloatArray:
    checked = np.asarray(edges, dtype=np.float64)
    if checked.ndim != 1 or checked.size < 2 or not np.all(np.diff(checked) > 0.0):
        raise ValueError(f"edges must be at least 2 strictly increasing numbers [edge], got {edges!r}")
    return checked


def _normalised(weights: ArrayLike, what: str) -> FloatArray:
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim != 1 or not (np.all((values >= 0.0) & (values < np.inf)) and np.any(values > 0.0)):
        raise ValueError(f"{what} must be non-negative finite weights [bin], not all zero, got {weights!r}")
    return values / np.sum(values)
