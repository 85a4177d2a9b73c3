"""Simulated rows of any number, the same for every prefix: the data of the streaming studies.

Each block of 65 536 rows has a random stream of its own, so that a prefix does not depend on how many rows follow. The
documents give neither parameters nor seeds; the recipe is this project's.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from auxmc.numerics.array_types import FloatArray

BLOCK_ROWS = 65_536
NON_STATIONARY_PHASES = ((1000, 3), (9000, 5), (90_000, 7))  # rows and clusters of its phases
_SEED = 20200301
_PARAMETERS, _ROWS, _PERMUTATION = range(3)
_N_LINEAR, _N_FEATURES, _N_CLASSES = 5, 10, 4
_SHARPNESS = 14.0  # coefficients of `softmax_sharp` over those of `softmax`
_WEIGHTS = np.array([0.30, 0.25, 0.20, 0.15, 0.10])
_MIXTURES = {
    "mixture": (
        [(0.0, 0.0), (1.2, 0.8), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.2)],
        [(0.88, 1.1), (0.77, 0.99), (1.1, 0.77), (0.88, 0.88), (1.21, 0.99)],
    ),
    "mixture_separated": (
        [(0.0, 0.0), (2.5, 1.5), (-2.0, 2.0), (-2.0, -2.0), (2.0, -2.5)],
        [(0.6, 0.8), (0.5, 0.7), (0.8, 0.5), (0.6, 0.6), (0.9, 0.7)],
    ),
    "mixture_intermediate": (
        [(0.0, 0.0), (1.8, 1.0), (-1.5, 1.5), (-1.0, -1.5), (1.5, -1.8)],
        [(0.8, 1.0), (0.7, 0.9), (1.0, 0.7), (0.8, 0.8), (1.1, 0.9)],
    ),
}
_MEANS = np.array([(-1.5, -0.8), (1.1, -1.1), (0.0, 1.5), (2.2, 1.0), (-2.2, 1.4), (1.4, -0.6), (-0.2, -2.4)])
_SDS = np.array([(0.7, 0.7), (0.8, 0.6), (0.9, 0.7), (0.6, 0.8), (0.7, 0.6), (0.7, 0.9), (0.8, 0.8)])


class _Stream(NamedTuple):
    """Number of the data set in its random streams, and a block's rows from its generator."""

    number: int
    draw: Callable[[np.random.Generator], FloatArray]


def rows(name: str, n_rows: int, data_set: int = 0) -> FloatArray:
    """The first rows [row, column] of one of STREAMS, response or class last; `data_set` redraws the changing ones."""
    if n_rows < 1:
        raise ValueError(f"n_rows must be at least 1, got {n_rows}")
    if data_set:
        if name not in _CHANGING:
            raise ValueError(f"expected one of {', '.join(_CHANGING)} to draw again, got {name!r}")
        return _CHANGING[name](data_set)[:n_rows]
    return np.concatenate(list(blocks(name, n_rows)))


def blocks(name: str, n_rows: int) -> Iterator[FloatArray]:
    """The rows of `rows` block by block, so that they need not fit in memory."""
    if name in _FINITE:
        everything = _FINITE[name]()
        if n_rows > len(everything):
            raise ValueError(f"stream {name} has {len(everything)} rows, {n_rows} were asked for")
        yield everything[:n_rows]
        return
    if name not in _ENDLESS:
        raise ValueError(f"unknown stream {name!r}: expected one of {', '.join(STREAMS)}")
    stream = _ENDLESS[name]()
    for block in range(-(-n_rows // BLOCK_ROWS)):
        # Always a whole block, then cut: otherwise a prefix would depend on its length.
        drawn = stream.draw(_generator(stream.number, _ROWS, block))
        yield drawn[: n_rows - block * BLOCK_ROWS]


def _generator(number: int, *purpose: int) -> np.random.Generator:
    key = (number, *purpose)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(_SEED, spawn_key=key)))


def linear_truth() -> FloatArray:
    """Weights and intercept [feature + 1] of the rows of `linear`: a draw from its model's prior."""
    return _generator(1, _PARAMETERS).standard_normal(_N_LINEAR + 1)


def _linear() -> _Stream:
    weights, intercept = np.split(linear_truth(), [_N_LINEAR])

    def draw(generator: np.random.Generator) -> FloatArray:
        x = generator.standard_normal((BLOCK_ROWS, _N_LINEAR))
        noise = generator.standard_normal(BLOCK_ROWS)
        return np.column_stack([x, x @ weights + intercept + noise])

    return _Stream(1, draw)


def _softmax(number: int, scale: float) -> _Stream:
    generator = _generator(2, _PARAMETERS)
    weights = scale * generator.standard_normal((_N_CLASSES, _N_FEATURES))
    intercepts = scale * generator.standard_normal(_N_CLASSES)

    def draw(generator: np.random.Generator) -> FloatArray:
        x = generator.standard_normal((BLOCK_ROWS, _N_FEATURES))
        scores = x @ weights.T + intercepts + generator.gumbel(size=(BLOCK_ROWS, _N_CLASSES))
        return np.column_stack([x, np.argmax(scores, axis=1).astype(float)])

    return _Stream(number, draw)


def _mixture(number: int, name: str) -> _Stream:
    means, sds = (np.array(values) for values in _MIXTURES[name])
    return _mixture_rows(number, _WEIGHTS, means, sds)


def _mixture_from_prior() -> _Stream:
    generator = _generator(8, _PARAMETERS)
    weights = generator.dirichlet(np.ones(5))
    sds = np.sqrt(1.0 / generator.gamma(1.0, 1.0, (5, 2)))
    means = 2.0 * sds * generator.standard_normal((5, 2))
    return _mixture_rows(8, weights, means, sds)


def _mixture_rows(number: int, weights: FloatArray, means: FloatArray, sds: FloatArray) -> _Stream:
    edges = np.cumsum(weights)
    edges[-1] = 1.0

    def draw(generator: np.random.Generator) -> FloatArray:
        component = np.searchsorted(edges, generator.random(BLOCK_ROWS), side="right")
        noise = generator.standard_normal((BLOCK_ROWS, means.shape[1]))
        return np.asarray(means[component] + sds[component] * noise)

    return _Stream(number, draw)


def _non_stationary(data_set: int = 0) -> FloatArray:
    phases, other = [], (data_set,) * bool(data_set)
    for phase, (n_rows, n_clusters) in enumerate(NON_STATIONARY_PHASES):
        generator = _generator(6, _ROWS, phase, *other)
        cluster = generator.integers(0, n_clusters, n_rows)
        noise = generator.standard_normal((n_rows, 2))
        phases.append(_MEANS[cluster] + _SDS[cluster] * noise)
    return np.concatenate(phases)


def _shuffled(data_set: int = 0) -> FloatArray:
    everything, other = _non_stationary(data_set), (data_set,) * bool(data_set)
    return everything[_generator(6, _PERMUTATION, *other).permutation(len(everything))]


def _normal() -> FloatArray:
    return _generator(7, _PARAMETERS).normal(2.0, 1.0, (100, 1))


_ENDLESS: dict[str, Callable[[], _Stream]] = {
    "linear": _linear,
    "softmax": partial(_softmax, 2, 1.0),
    "softmax_sharp": partial(_softmax, 3, _SHARPNESS),
    "mixture": partial(_mixture, 4, "mixture"),
    "mixture_separated": partial(_mixture, 5, "mixture_separated"),
    "mixture_intermediate": partial(_mixture, 9, "mixture_intermediate"),
    "mixture_from_prior": _mixture_from_prior,
}
_CHANGING: dict[str, Callable[..., FloatArray]] = {"non_stationary": _non_stationary, "shuffled": _shuffled}
_FINITE: dict[str, Callable[[], FloatArray]] = {**_CHANGING, "normal": _normal}
STREAMS = (*_ENDLESS, *_FINITE)  # Names of the simulated streams
