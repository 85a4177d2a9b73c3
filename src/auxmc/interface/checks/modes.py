"""Modes that chains missed: points that are as probable as the draws but lie apart from them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy.spatial import cKDTree

from auxmc.driver.seeds import stream
from auxmc.interface.advice import MIN_DRAWS, Advice
from auxmc.interface.methods import Method

_MOST_DRAWS = 4000
# Of the draws' range, how far beyond it a point must lie.
_MARGIN = 0.5
# Fresh points on a manifold, and how many of them must lie apart.
_FRESH_POINTS = 24
_FEWEST_APART = 2
# Distances at which short chains begin, in standard deviations of the draws.
_WIDTHS = (6.0, 12.0, 24.0)

Ending = tuple[float, Mapping[str, Any]]
"""Log density of a point, and the variables that are kept of it."""


def advise_missed(
    method: Method, tree: xr.DataTree, short_chain: Callable[[np.ndarray, Array], Ending] | None, seed: int
) -> list[Advice]:
    """Advice about a mode without draws: other points as probable as the draws lie apart from them.

    These are fresh points on the manifold of a simulator, or the ends of short chains that begin far from the draws.
    """
    posterior, stats = tree["posterior"].to_dataset(), tree["sample_stats"]
    if posterior.sizes["draw"] < MIN_DRAWS or "lp" not in stats:
        return []
    names = sorted(map(str, posterior.data_vars))
    draws = flat_draws(posterior, names)
    if method.kind == "simulator":
        points, fewest = _fresh_points(method, seed), _FEWEST_APART
        fix = "Leave `start` out, so that chains begin in different ones, or take more chains"
    elif method.is_plain and short_chain is not None:
        points, fewest = _ends(method, draws, short_chain, seed), 1
        fix = "Give starts that differ (arrays with a leading axis of chains), or use auxmc.evidence"
    else:
        return []
    least = float(np.quantile(stats["lp"], 0.01))
    rows = [np.concatenate([np.ravel(own[name]) for name in names]) for lp, own in points if lp >= least]
    n_apart = int(np.sum(lie_apart(draws, np.stack(rows)))) if rows else 0
    problem = f"the chains miss a mode: {n_apart} of {len(points)} other points are as probable as the draws, but no "
    return [Advice(problem + "draw is near", fix)] if n_apart >= fewest else []


def _fresh_points(method: Method, seed: int) -> list[Ending]:
    """Points at which chains could have begun."""
    assert method.draw_start is not None
    assert method.log_density is not None
    key, evaluate = stream(seed, "fresh points", method.name), jax.jit(method.log_density)
    points = [method.draw_start(jax.random.fold_in(key, i)) for i in range(_FRESH_POINTS)]
    return [(float(evaluate(point)), method.values(jnp.asarray(point))) for point in points]


def _ends(
    method: Method, draws: np.ndarray, short_chain: Callable[[np.ndarray, Array], Ending], seed: int
) -> list[Ending]:
    """Where short chains end that begin far from the draws."""
    random = np.random.default_rng(seed)
    scale, centre = draws.std(axis=0), draws.mean(axis=0)
    ways = np.array(_WIDTHS)[:, None] * scale * random.normal(size=(len(_WIDTHS), scale.size))
    # To both sides: a mode that lies to one is not left out by chance.
    points = np.concatenate([centre + ways, centre - ways])
    usable = [(i, point) for i, point in enumerate(points) if is_usable(method, point)]
    return [short_chain(point, stream(seed, "scouts", method.name, i)) for i, point in usable]


def flat_draws(posterior: xr.Dataset, names: Sequence[str]) -> np.ndarray:
    """Draws of all chains [draw, dim], variables in the order of their names."""
    arrays = [posterior[name].to_numpy() for name in names]
    return np.concatenate([a.reshape(a.shape[0] * a.shape[1], -1).astype(float) for a in arrays], axis=1)


def is_usable(method: Method, point: np.ndarray) -> bool:
    """Whether a chain can begin at a point [dim]."""
    try:
        method.check(point)
    except ValueError:
        return False
    return True


def lie_apart(draws: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Which points [point, dim] are in none of the regions that draws [draw, dim] visited.

    They are far outside the draws' range, or farther from the nearest draw than twice any distance between two halves.
    """
    thinned = draws[:: max(1, len(draws) // _MOST_DRAWS)]
    low, high, sds = thinned.min(axis=0), thinned.max(axis=0), thinned.std(axis=0)
    margin, scales = _MARGIN * (high - low), np.where(sds > 0.0, sds, 1.0)
    beyond = np.any((points < low - margin) | (points > high + margin), axis=1)
    first, second = cKDTree(thinned[::2] / scales), thinned[1::2] / scales
    usual = float(np.max(first.query(second)[0]))
    far = first.query(points / scales)[0] > 2.0 * usual
    return np.asarray(beyond | (far & (usual > 0.0)))
