"""How a chain sticks: runs of identical states and the number of distinct states."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auxmc.numerics.array_types import BooleanArray, IntegerArray


def longest_constant_run(chain: ArrayLike) -> int:
    """Length of the longest run of identical consecutive states.

    Args:
        chain: recorded states [draw, dim], or [draw] for a scalar; at least 1 draw.

    Returns:
        Number of draws in the longest run, 1 for a chain that moves at every iteration.

    Raises:
        ValueError: a value is not finite, no draws, or more than two axes.

    >>> longest_constant_run([0.0, 1.0, 1.0, 1.0, 2.0])
    3
    """
    return int(run_lengths(chain).max())


def run_lengths(chain: ArrayLike) -> IntegerArray:
    """Lengths of all runs of identical consecutive states [run], in order; they add up to the number of draws.

    Arguments and errors are those of `longest_constant_run`.

    >>> run_lengths([0.0, 1.0, 1.0, 1.0, 2.0]).tolist()
    [1, 3, 1]
    """
    starts = np.concatenate([[True], _moved(_states(chain)), [True]])
    return np.diff(np.flatnonzero(starts))


def longest_rejection_run(moved: ArrayLike) -> IntegerArray:
    """Longest run of identical states, from flags that say whether a step moved.

    Args:
        moved: flags of each series [..., draw], at least 1 draw.

    Returns:
        Lengths in draws [...]; 1 if every step moved. The state before the first draw does not count.

    >>> int(longest_rejection_run([False, True, False, False, True]))
    3
    """
    flags = np.asarray(moved, bool)
    lanes = flags.reshape(-1, flags.shape[-1])
    lengths = np.empty(len(lanes), dtype=np.int64)
    for lane, lane_flags in enumerate(lanes):
        starts = np.flatnonzero(lane_flags[1:]) + 1
        lengths[lane] = np.max(np.diff(np.concatenate([[0], starts, [lane_flags.size]])))
    return lengths.reshape(flags.shape[:-1])


def n_distinct_states(chain: ArrayLike) -> int:
    """Number of different states that a chain visited.

    Args:
        chain: recorded states [draw, dim], or [draw] for a scalar; at least 1 draw.

    Returns:
        Number of different states, at least 1; a state that the chain comes back to counts once.

    Raises:
        ValueError: a value is not finite, no draws, or more than two axes.

    >>> n_distinct_states([0.0, 1.0, 1.0, 0.0])
    2
    """
    states = _states(chain)
    arrivals = states[np.concatenate([[True], _moved(states)])]
    # Adding zero turns -0.0 into 0.0, which are the same state.
    return len(np.unique(arrivals + 0.0, axis=0))


def _states(chain: ArrayLike) -> NDArray[np.floating]:
    values = np.asarray(chain)
    if values.ndim not in (1, 2) or values.shape[0] < 1:
        raise ValueError(f"chain must be [draw, dim] or [draw], got shape {values.shape}")
    states = values[:, None] if values.ndim == 1 else values
    finite = np.isfinite(states).all(axis=1)
    if not finite.all():
        draw = int(np.argmin(finite))
        raise ValueError(f"chain must be finite, got {states[draw].tolist()} at draw {draw} (counted from 0)")
    return states


def _moved(states: NDArray[np.floating]) -> BooleanArray:
    return np.asarray(np.any(states[1:] != states[:-1], axis=1))
