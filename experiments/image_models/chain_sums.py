"""Tempered chains as sums of their weights over segments: all that their estimates need, in a fiftieth of the bytes."""

import numpy as np
from numpy.typing import NDArray

from auxmc.numerics.array_types import NamedArrays

LAYOUTS = (1, 2, 4, 8)
"""Numbers of chains among which one chain's length is shared."""

_N_POINTS = 100


def running_draws(n_draws: int) -> NDArray[np.int64]:
    """Draws of a chain after which running estimates are taken [point]."""
    return np.unique(np.linspace(1, n_draws, min(n_draws, _N_POINTS)).round().astype(np.int64))


def segment_ends(n_draws: int) -> NDArray[np.int64]:
    """Draws up to the end of each segment [segment]: every running estimate and fraction of a chain ends with one."""
    fractions = [n_draws // count for count in LAYOUTS if n_draws >= count]
    return np.union1d(running_draws(n_draws), np.array(fractions, np.int64))


def chain_sums(draws: NamedArrays) -> dict[str, NDArray[np.generic]]:
    """What estimates need of chains.

    Args:
        draws: recorded quantities [image, chain, draw].

    Returns:
        `log_target_weight` and `log_base_weight`: logs of the sums of weights over each segment, float64
        [image, chain, segment]; `n_accepted` and `n_not_finite`: counts of updates, int64 [image, chain].
    """
    starts = np.append(0, segment_ends(draws["accepted"].shape[2])[:-1])
    weights = {
        name: np.logaddexp.reduceat(draws[name].astype(np.float64), starts, axis=2)
        for name in ("log_target_weight", "log_base_weight")
    }
    counts = {
        name: draws[of].sum(axis=2, dtype=np.int64)
        for name, of in (("n_accepted", "accepted"), ("n_not_finite", "n_not_finite"))
    }
    return {**weights, **counts}
