"""Nested sampling on the line with exact draws under the constraint, for tests of its estimators."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from auxmc.numerics.array_types import FloatArray

__all__ = ["IdealNestedRuns", "ideal_nested_sampling"]


class IdealNestedRuns(NamedTuple):
    """Independent runs of nested sampling.

    Attributes:
        dead: points in the order of their death, farthest from the centre first [run, dead].
        masses: true prior mass that is nearer to the centre than each [run, dead], decreasing.
        live: points alive at the end [run, live].
    """

    dead: FloatArray
    masses: FloatArray
    live: FloatArray


def ideal_nested_sampling(
    rng: np.random.Generator,
    cdf: Callable[[FloatArray], FloatArray],
    quantile: Callable[[FloatArray], FloatArray],
    centre: float,
    *,
    n_live: int,
    n_dead: int,
    n_runs: int,
) -> IdealNestedRuns:
    """Runs nested sampling for a likelihood that falls with the distance from a centre.

    The prior mass with a larger likelihood is then that of an interval around the centre, and a point of it is drawn
    exactly by the inverse of the prior's distribution function.

    Args:
        rng: generator.
        cdf: distribution function of a continuous prior on the line, elementwise.
        quantile: its inverse, elementwise.
        centre: where the likelihood is largest.
        n_live: live points, at least 1.
        n_dead: points that die in a run, at least 1.
        n_runs: independent runs, side by side.

    Returns:
        Dead and live points with the true masses.

    Must hold: ratios of successive masses are independent with distribution Beta(n_live, 1); live points are
        independent of
    each other under the prior inside the last mass, and nearer to the centre than every dead point.

    Source: MSc thesis, Algorithm 5 with the constrained draw made exactly; Skilling 2006.


    >>> unit = ideal_nested_sampling(
    ...     np.random.default_rng(0), np.asarray, np.asarray, 0.5, n_live=2, n_dead=3, n_runs=1
    ... )
    >>> bool(np.all(np.diff(unit.masses[0]) < 0.0))
    True
    """
    live = quantile(rng.random((n_runs, n_live)))
    distances = np.abs(live - centre)
    dead, masses = np.empty((n_runs, n_dead)), np.empty((n_runs, n_dead))
    every = np.arange(n_runs)
    for step in range(n_dead):
        worst = np.argmax(distances, axis=1)
        distance = distances[every, worst]
        below, above = cdf(centre - distance), cdf(centre + distance)
        dead[:, step], masses[:, step] = live[every, worst], above - below
        fresh = quantile(below + rng.random(n_runs) * (above - below))
        # The inverse rounds: a point may not land outside the contour by it.
        fresh = np.clip(fresh, centre - distance, centre + distance)
        live[every, worst], distances[every, worst] = fresh, np.abs(fresh - centre)
    return IdealNestedRuns(dead, masses, live)
