"""Adaptive rejection sampling from log-concave densities on the line.

Tangents of the log density make an upper hull, chords between their points a lower one. The hull is drawn from exactly;
a point that is not decided by the chords alone is evaluated and its tangent sharpens the hull. NumPy, because the hull
grows.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray

LogDensity = Callable[[FloatArray], tuple[ArrayLike, ArrayLike]]

# Relative excess over a hull that rounding explains.
_ROUNDING = 1e-9
_BATCH = 4096


class Hull(NamedTuple):
    """Tangents of a log density."""

    points: FloatArray  # where they touch, in rising order [tangent]
    heights: FloatArray  # log density there, in nats [tangent]
    slopes: FloatArray  # its slopes there, falling [tangent]
    # The domain's lower end, where neighbouring tangents meet, and its upper end [tangent + 1].
    ends: FloatArray


class AdaptiveDraws(NamedTuple):
    """Exact draws and what they cost."""

    positions: FloatArray  # [draw]
    n_proposals: int  # draws from the hull
    n_evaluations: int  # points at which the log density was evaluated
    hull: Hull  # the last hull


def make_hull(
    log_density: LogDensity, points: ArrayLike, lower: float = -np.inf, upper: float = np.inf
) -> Hull:
    """Makes the tangents at some points [point], which differ and are inside the domain (lower, upper).

    The log density maps points to values [point], in nats and up to a constant, and slopes. Where the domain has no
    lower end the slope at the first point must be positive, where it has no upper end that at the last negative.

    Raises:
        ValueError: a point is outside the domain; the hull has no finite area; a value is not finite; or slopes rise,
            so that the density is not log-concave.

    Must hold: the tangents lie above the log density, the chords below.
    Source: Gilks and Wild 1992.
    """
    x = np.unique(np.asarray(points, np.float64))
    if x.size == 0 or not (lower < x[0] and x[-1] < upper):
        raise ValueError(f"points must lie inside the domain ({lower:g}, {upper:g}), got {x}")
    heights, slopes = _evaluated(log_density, x)
    return _hull(x, heights, slopes, lower, upper)


def tangent_bound(hull: Hull, x: ArrayLike) -> FloatArray:
    """The upper hull at points of the domain [...], in nats."""
    array = np.asarray(x, np.float64)
    i = np.clip(np.searchsorted(hull.ends, array, side="right") - 1, 0, hull.points.size - 1)
    return np.asarray(hull.heights[i] + hull.slopes[i] * (array - hull.points[i]))


def chord_bound(hull: Hull, x: ArrayLike) -> FloatArray:
    """The lower hull at points [...], in nats; minus infinity outside the touching points."""
    array = np.asarray(x, np.float64)
    return np.interp(array, hull.points, hull.heights, left=-np.inf, right=-np.inf)


def log_hull_mass(hull: Hull) -> float:
    """Log of the area below exp of the upper hull; it decides how many proposals are accepted."""
    return float(np.logaddexp.reduce(_log_masses(hull)))


def draw_from_hull(hull: Hull, uniforms: FloatArray) -> FloatArray:
    """Maps uniform numbers in [0, 1) [draw, 2] to draws [draw] from the density in proportion to exp of the upper hull.

    Must hold: the distribution is that of the piecewise exponential density.
    """
    logs = _log_masses(hull)
    cumulated = np.cumsum(np.exp(logs - logs.max()))
    found = np.searchsorted(cumulated / cumulated[-1], uniforms[:, 0], side="right")
    piece = np.minimum(found, logs.size - 1)
    low, high, slope = hull.ends[piece], hull.ends[piece + 1], hull.slopes[piece]
    steep = np.abs(slope)
    flat = steep == 0.0
    with np.errstate(invalid="ignore"):
        # Distance from the higher end, by inversion; exact also where the piece is nearly flat or without an end.
        fall = np.expm1(-steep * (high - low))
        inverted = -np.log1p(uniforms[:, 1] * fall) / np.where(flat, 1.0, steep)
        away = np.where(flat, (high - low) * uniforms[:, 1], inverted)
        return np.where(slope > 0.0, np.maximum(high - away, low), np.minimum(low + away, high))


def adaptive_rejection_sample(
    log_density: LogDensity,
    start: ArrayLike,
    n: int,
    rng: np.random.Generator,
    lower: float = -np.inf,
    upper: float = np.inf,
    max_tangents: int = 64,
) -> AdaptiveDraws:
    """Makes n independent exact draws.

    Args:
        log_density: maps points [point] to log densities, in nats and up to a constant, and their slopes.
        start: points of the first tangents, inside the domain [point]. Where the domain has no lower end the slope at
            the first must be positive, where it has no upper end that at the last negative.
        n: number of draws.
        rng: generator of the draws.
        lower: lower end of the domain.
        upper: upper end of the domain.
        max_tangents: tangents of the hull at most; later points are evaluated but not kept.

    Raises:
        ValueError: n is not positive, a point of `start` is outside the domain, the hull has no finite area, a value is
            not finite, or the density is not log-concave.

    Must hold: draws have the distribution of the density; as the hull gets sharper the fraction of accepted proposals
    tends to 1.
    Source: Gilks and Wild 1992.
    """
    if n < 1:
        raise ValueError(f"n must be a positive integer, got {n}")
    hull = make_hull(log_density, start, lower, upper)
    n_proposals, n_evaluations, n_found = 0, hull.points.size, 0
    kept: list[FloatArray] = []
    # Batches begin small: with a hull of few tangents each proposal teaches something.
    batch = 1
    while n_found < n:
        size = min(batch, _BATCH, n - n_found)
        x = draw_from_hull(hull, rng.random((size, 2)))
        log_height = tangent_bound(hull, x) + np.log1p(-rng.random(size))
        accepted = log_height <= chord_bound(hull, x)
        unsure = ~accepted
        n_proposals += size
        if np.any(unsure):
            heights, slopes = _evaluated(log_density, x[unsure])
            _require_between(hull, x[unsure], heights)
            n_evaluations += heights.size
            accepted[unsure] = log_height[unsure] <= heights
            room = max(0, max_tangents - hull.points.size)
            hull = _refined(hull, x[unsure][:room], heights[:room], slopes[:room])
        kept.append(x[accepted])
        n_found += int(np.count_nonzero(accepted))
        batch *= 2
    return AdaptiveDraws(np.concatenate(kept), n_proposals, n_evaluations, hull)


def _evaluated(log_density: LogDensity, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    heights, slopes = (np.asarray(values, np.float64) for values in log_density(x))
    if heights.shape != x.shape or slopes.shape != x.shape:
        got = f"{heights.shape} and {slopes.shape}"
        raise ValueError(f"log_density must return values and slopes of shape {x.shape}, got {got}")
    if not (np.all(np.isfinite(heights)) and np.all(np.isfinite(slopes))):
        raise ValueError("log_density and its slope must be finite inside the domain")
    return heights, slopes


def _hull(x: FloatArray, heights: FloatArray, slopes: FloatArray, lower: float, upper: float) -> Hull:
    if np.isneginf(lower) and not slopes[0] > 0.0:
        raise ValueError(f"the slope at the first point must be positive, got {slopes[0]:g} at {x[0]:g}")
    if np.isposinf(upper) and not slopes[-1] < 0.0:
        raise ValueError(f"the slope at the last point must be negative, got {slopes[-1]:g} at {x[-1]:g}")
    falls = slopes[:-1] - slopes[1:]
    if np.any(falls < -_ROUNDING * (1.0 + np.abs(slopes[1:]))):
        raise ValueError("the density is not log-concave: the slope of its log rises")
    widths = np.diff(x)
    excess = np.diff(heights) - slopes[1:] * widths
    # Tangents of nearly the same slope meet anywhere between their points.
    meets = np.where(falls > 1e-12, excess / np.where(falls > 1e-12, falls, 1.0), 0.5 * widths)
    inner = x[:-1] + np.clip(meets, 0.0, widths)
    return Hull(x, heights, slopes, np.concatenate([[lower], inner, [upper]]))


def _refined(hull: Hull, x: FloatArray, heights: FloatArray, slopes: FloatArray) -> Hull:
    points, first = np.unique(np.concatenate([hull.points, x]), return_index=True)
    if points.size == hull.points.size:
        return hull
    return _hull(
        points,
        np.concatenate([hull.heights, heights])[first],
        np.concatenate([hull.slopes, slopes])[first],
        float(hull.ends[0]),
        float(hull.ends[-1]),
    )


def _require_between(hull: Hull, x: FloatArray, heights: FloatArray) -> None:
    slack = _ROUNDING * (1.0 + np.abs(heights))
    wrong = (heights > tangent_bound(hull, x) + slack) | (heights < chord_bound(hull, x) - slack)
    if np.any(wrong):
        raise ValueError(f"the density is not log-concave: at {x[wrong][0]:g} its log leaves its hulls")


def _log_masses(hull: Hull) -> FloatArray:
    """Log area below each piece of exp of the upper hull."""
    low, high = hull.ends[:-1], hull.ends[1:]
    steep = np.abs(hull.slopes)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = hull.heights + hull.slopes * (np.where(hull.slopes > 0.0, high, low) - hull.points)
        drop = steep * (high - low)
        inside = np.where(drop > 0.0, np.log(-np.expm1(-drop)) - np.log(steep), np.log(high - low))
    return np.asarray(top + inside)
