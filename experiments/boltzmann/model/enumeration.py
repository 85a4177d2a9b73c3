"""Exact normaliser, moments and samples of a Boltzmann machine, by sums over all its states.

The units are split into halves a and c. Given a, the weight of c is a product over its units times a factor
without c; that product is an outer product of two tables, one for each half of c. The sum over all 2^n states
becomes three products of matrices.
"""

import math
from typing import NamedTuple

import numpy as np

from auxmc.numerics.array_types import FloatArray
from experiments.boltzmann.model.data import BoltzmannParameters

MAX_UNITS = 30  # Most units whose states are summed over
_BLOCK = 1024  # States of the first half that are handled together: their tables fit into a cache
# Log of the ratio of weights beyond which products in double precision could underflow.
_LOG_RANGE = 600.0


class SpinMoments(NamedTuple):
    """Exact properties of a distribution of spins."""

    log_normaliser: float  # log of the sum over states of exp(s^T W s / 2 + s^T b), in nats
    mean: FloatArray  # E[s] [unit]
    second: FloatArray  # E[s s^T] [unit, unit], ones on its diagonal


class _Block(NamedTuple):
    """Weights of states whose first half is one of a block of states."""

    row_logs: FloatArray  # log sum over c [state of a]
    row_means: FloatArray  # E[c | a] [state of a, unit of c]
    first: FloatArray  # table over the first part of c [state of a, state]
    second: FloatArray  # over its second part
    row_scale: FloatArray  # log factor of a [state of a]


def exact_moments(parameters: BoltzmannParameters) -> SpinMoments:
    """Sums over all 2^n states of n units, at most `MAX_UNITS`: moments to about 12 digits.

    With 30 units this takes a second or two. Raises ValueError for more than `MAX_UNITS`, or for weights so
    large that double precision would lose states.

    >>> moments = exact_moments(BoltzmannParameters(np.zeros((4, 4)), np.full(4, 0.5)))
    >>> round(moments.log_normaliser, 9) == round(4 * math.log(2 * math.cosh(0.5)), 9)
    True
    """
    halves = _Halves(parameters)
    parts = [halves.block(rows)[:2] for rows in halves.rows]
    row_logs, row_means = map(np.concatenate, zip(*parts, strict=True))
    top = float(row_logs.max())
    fractions = np.exp(row_logs - top)
    total = float(fractions.sum())
    fractions /= total
    log_normaliser = top + math.log(total)
    table = np.zeros(halves.last_weights.shape)
    for rows in halves.rows:
        block = halves.block(rows, with_means=False)
        table += (np.exp(block.row_scale - log_normaliser)[:, None] * block.first).T @ block.second
    columns = (table * halves.last_weights).ravel()
    last_second = (halves.last_signs * columns[:, None]).T @ halves.last_signs
    first_second = (halves.signs * fractions[:, None]).T @ halves.signs
    cross = halves.signs.T @ (fractions[:, None] * row_means)
    mean = np.concatenate([fractions @ halves.signs, fractions @ row_means])
    second = np.block([[first_second, cross], [cross.T, last_second]])
    np.fill_diagonal(second, 1.0)  # Exact for spins; what differs is rounding
    return SpinMoments(log_normaliser, mean, second)


def sample_exactly(parameters: BoltzmannParameters, n_samples: int, rng: np.random.Generator) -> FloatArray:
    """Draws independent spins -1.0 and +1.0 [draw, unit], in no order: the first half, then the second given it."""
    halves = _Halves(parameters)
    row_logs = np.concatenate([halves.block(rows, with_means=False).row_logs for rows in halves.rows])
    fractions = np.exp(row_logs - row_logs.max())
    counts = rng.multinomial(n_samples, fractions / fractions.sum())
    samples = np.empty((n_samples, parameters.n_units))
    position = 0
    for state in np.flatnonzero(counts):
        block = halves.block(slice(state, state + 1), with_means=False)
        joint = (block.first[0][:, None] * block.second[0] * halves.last_weights).ravel()
        cumulative = np.cumsum(joint)
        last = np.searchsorted(cumulative, rng.random(counts[state]) * cumulative[-1], side="right")
        stop = position + counts[state]
        samples[position:stop, : halves.n_first] = halves.signs[state]
        samples[position:stop, halves.n_first :] = halves.last_signs[np.minimum(last, len(cumulative) - 1)]
        position = stop
    return rng.permutation(samples)


def sign_table(n_units: int) -> FloatArray:
    """All states of n units [2^n, unit] in the order of binary numbers, first unit most significant; -1.0 first.

    >>> sign_table(2).tolist()
    [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]
    """
    bits = np.arange(2**n_units)[:, None] >> np.arange(n_units - 1, -1, -1) & 1
    return np.asarray(2.0 * bits - 1.0, dtype=np.float64)


class _Halves:
    """Tables of a machine split into units a, and units c whose states are split once more."""

    def __init__(self, parameters: BoltzmannParameters) -> None:
        n = parameters.n_units
        if n > MAX_UNITS:
            raise ValueError(f"exact sums go over all 2^n states: at most {MAX_UNITS} units, got {n}")
        self.n_first = n // 2
        self.n_last = n - self.n_first
        w, b = parameters
        first, last = slice(0, self.n_first), slice(self.n_first, n)
        self.signs = sign_table(self.n_first)
        self.rows = [slice(start, start + _BLOCK) for start in range(0, len(self.signs), _BLOCK)]
        self.last_signs = sign_table(self.n_last)
        self.energies = _log_weights(self.signs, w[first, first], b[first])
        log_last = _log_weights(self.last_signs, w[last, last], b[last])
        self.fields = self.signs @ w[first, last]
        log_range = float(np.ptp(log_last) + 2.0 * np.abs(self.fields).sum(axis=1).max())
        if log_range > _LOG_RANGE:
            raise ValueError(
                f"weights are too large for exact sums in double precision: log weights of states span {log_range:.0f} "
                f"nats, more than {_LOG_RANGE:.0f}; scale weights and biases down"
            )
        self.log_last_scale = float(log_last.max())
        self.n_inner = self.n_last // 2
        shape = (2**self.n_inner, 2 ** (self.n_last - self.n_inner))
        self.last_weights = np.exp(log_last - self.log_last_scale).reshape(shape)
        self.inner_signs = sign_table(self.n_inner), sign_table(self.n_last - self.n_inner)

    def block(self, rows: slice, with_means: bool = True) -> _Block:
        fields = self.fields[rows]
        parts = fields[:, : self.n_inner], fields[:, self.n_inner :]
        scales = [np.abs(part).sum(axis=1) for part in parts]
        first, second = (
            np.exp(part @ signs.T - scale[:, None])
            for part, signs, scale in zip(parts, self.inner_signs, scales, strict=True)
        )
        row_scale = self.energies[rows] + scales[0] + scales[1] + self.log_last_scale
        by_second = (first @ self.last_weights) * second
        totals = by_second.sum(axis=1)
        means = np.empty((0, self.n_last))
        if with_means:
            by_first = (second @ self.last_weights.T) * first
            sums = by_first @ self.inner_signs[0], by_second @ self.inner_signs[1]
            means = np.concatenate(sums, axis=1) / totals[:, None]
        return _Block(row_scale + np.log(totals), means, first, second, row_scale)


def _log_weights(signs: FloatArray, weights: FloatArray, biases: FloatArray) -> FloatArray:
    return np.asarray(0.5 * np.einsum("su,su->s", signs @ weights, signs) + signs @ biases, dtype=np.float64)
