"""Points that lie apart from draws: modes that chains did not visit; and starts that lie apart from each other."""

import numpy as np
from scipy.cluster.vq import kmeans2
from scipy.spatial import cKDTree

__all__ = ["lie_apart", "spread_starts"]

_MOST_DRAWS = 4000
# Of the draws' range, how far beyond it a point must lie.
_MARGIN = 0.5
# How much farther a point must be from the nearest draw than any draw is.
_DISTANCE = 2.0


def lie_apart(draws: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Which points are in none of the regions that draws visited.

    A point lies apart where a coordinate is far outside the draws' range, or where its distance to the nearest draw, in
    units of the draws' standard deviations, is more than twice the largest such distance between two halves of them.

    Args:
        draws: [draw, dim], at least two.
        points: [point, dim].

    Returns:
        Flags [point].
    """
    thinned = draws[:: max(1, len(draws) // _MOST_DRAWS)]
    low, high = thinned.min(axis=0), thinned.max(axis=0)
    beyond = np.any(
        (points < low - _MARGIN * (high - low)) | (points > high + _MARGIN * (high - low)), axis=1
    )
    sds = thinned.std(axis=0)
    scaled = thinned / np.where(sds > 0.0, sds, 1.0)
    first, second = cKDTree(scaled[::2]), scaled[1::2]
    usual = float(np.max(first.query(second)[0]))
    far = first.query(points / np.where(sds > 0.0, sds, 1.0))[0] > _DISTANCE * usual
    return np.asarray(beyond | (far & (usual > 0.0)))


def spread_starts(points: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Points that stand for different parts of a cloud: the nearest ones to its clusters' centres.

    Args:
        points: [point, dim], at least one.
        n: number of starts.
        seed: of the clusters.

    Returns:
        Indices of the points [n]; clusters that are empty, or more starts than points, repeat points in turn.
    """
    sds = points.std(axis=0)
    scaled = points / np.where(sds > 0.0, sds, 1.0)
    if len(points) <= n:
        return np.arange(n) % len(points)
    centres, _ = kmeans2(scaled, n, minit="++", seed=seed, missing="warn")
    chosen: list[int] = []
    for centre in centres:
        order = np.argsort(np.sum((scaled - centre) ** 2, axis=1))
        chosen.append(next(int(i) for i in order if i not in chosen))
    return np.asarray(chosen)
