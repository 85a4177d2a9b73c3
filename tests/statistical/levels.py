"""Stochastic assertions with a stated false-alarm level and a stated power.

A correct program fails an assertion with probability at most `ALPHA`. Every assertion also says which
discrepancy it must find, and checks that its sample is large enough to find it with probability 0.999. The
sum of the levels of a run, which bounds its false-alarm probability (Bonferroni), must not exceed
`TOTAL_LEVEL`: see `tests/conftest.py`. In all of them `detects` is the discrepancy that is found with probability
0.999, and `label` says in the message what is tested.

Seeds belong to names, so that a run gives the same numbers everywhere; the environment variable
AUXMC_STATISTICAL_SEED (any text) enters every name and so makes a run with fresh numbers.
AUXMC_STATISTICAL_DRAWS (an integer) multiplies the draws of the checks of kernels.
"""

import hashlib
import os
from contextlib import contextmanager
from itertools import combinations

import jax
import numpy as np
import pytest
from scipy import stats

from auxmc.diagnostics.sequential_intervals import confidence_sequence

ALPHA = 1e-7
"""False-alarm level of one assertion."""

TOTAL_LEVEL = 1e-4
"""False-alarm level of a whole run."""

MISS = 1e-3
"""Probability of not finding the declared discrepancy."""

DRAWS = int(os.environ.get("AUXMC_STATISTICAL_DRAWS", "1"))
"""Factor of the number of draws: ten times as many find a third of the discrepancy."""

n_assertions = 0
"""Number of assertions that this process has made, without those that are expected to fail."""

_charging = True


def seed_for(name):
    """Seed that belongs to a name, the same in every run and on every machine unless a run asks for fresh ones."""
    fresh = os.environ.get("AUXMC_STATISTICAL_SEED", "")
    return int.from_bytes(hashlib.sha256(f"{fresh}{name}".encode()).digest()[:4], "big")


def key_for(name):
    """JAX key that belongs to a name."""
    return jax.random.key(seed_for(name))


def rng_for(name):
    """NumPy generator that belongs to a name."""
    return np.random.default_rng(seed_for(name))


def draw_many(function, name, n, batch_size=None):
    """Values of a function at n independent keys of a name, as NumPy arrays with a leading axis [draw]."""
    many = jax.vmap(function)
    if batch_size is not None:
        many = lambda keys: jax.lax.map(function, keys, batch_size=batch_size)
    return jax.tree.map(np.asarray, jax.jit(many)(jax.random.split(key_for(name), n)))


def assert_uniform(values, detects=0.02, label=""):
    """Asserts that independent values [draw] are uniform on (0, 1); `detects` is between distribution functions.

    By the band of Dvoretzky, Kiefer, Wolfowitz and Massart, which is exact for every number of draws.
    """
    ordered = np.sort(np.asarray(values, float))
    n = len(ordered)
    threshold, missed = (float(np.sqrt(np.log(2.0 / level) / (2.0 * n))) for level in (ALPHA, MISS))
    _assert_power(threshold + missed, detects, n)
    ranks = np.arange(n + 1) / n
    distance = float(max(np.max(ranks[1:] - ordered), np.max(ordered - ranks[:-1])))
    inside = np.all((ordered >= 0.0) & (ordered <= 1.0))
    _judge("uniform", label, n, distance if inside else 1.0, threshold)


def assert_standard_mean(values, detects=0.03, label=""):
    """Asserts that bounded values of variance 1 [draw] or [draw, function], of independent draws, have mean 0.

    By a z test, whose level is shared equally by the functions.
    """
    table = np.asarray(values, float)
    table = table.reshape(len(table), -1)
    n, n_functions = table.shape
    if n < 10_000:
        raise ValueError(f"a z test at five standard errors needs 10000 draws for its normal tail, got {n}")
    statistics = np.abs(table.mean(axis=0)) * np.sqrt(n)
    largest = float(np.max(np.where(np.isfinite(statistics), statistics, np.inf)))
    threshold = float(stats.norm.isf(ALPHA / (2.0 * n_functions)))
    _assert_power((threshold + float(stats.norm.isf(MISS))) / np.sqrt(n), detects, n)
    _judge("mean", label, n, largest, threshold)


def assert_fractions(hits, probabilities, detects=0.03, label=""):
    """Asserts that events [draw, event] of independent draws have their probabilities, by a z test.

    `detects` is in standard deviations of one event.
    """
    p = np.asarray(probabilities)
    assert_standard_mean((hits - p) / np.sqrt(p * (1.0 - p)), detects, label)


def assert_at_least(values, floor, detects=0.02, label=""):
    """Asserts that independent values in [0, 1] have a mean of at least `floor` (Hoeffding inequality)."""
    sample = np.asarray(values, float)
    n = len(sample)
    threshold, missed = (float(np.sqrt(np.log(1.0 / level) / (2.0 * n))) for level in (ALPHA, MISS))
    _assert_power(threshold + missed, detects, n)
    _judge("floor", label, n, floor - float(sample.mean()), threshold)


def assert_bounded_mean(values, low, high, expected, *, detects, label=""):
    """Asserts that independent values [draw] with proved bounds have an expected mean, by a confidence sequence.

    The interval must not be wider than `detects`, in the unit of the values: a mean this far away is missed only if
    the interval does not cover it.
    """
    sample = np.asarray(values, float)
    n = len(sample)
    if not np.all((sample >= low) & (sample <= high)):
        raise AssertionError(f"{label}: a value is outside of its bounds [{low}, {high}]")
    interval = confidence_sequence(sample, low, high, ALPHA)
    lower, upper = interval.lower.item(), interval.upper.item()
    _assert_power(upper - lower, detects, n)
    half_width = 0.5 * (upper - lower)
    _judge("bounded mean", label, n, abs(expected - 0.5 * (upper + lower)), half_width)


# --- shared --------------------------------------------------------------------------------------------


def legendre(uniforms, n_degrees=4):
    """Legendre polynomials of degree 1, ..., n_degrees, orthonormal under the uniform distribution [draw, degree]."""
    argument = 2.0 * np.asarray(uniforms, float) - 1.0
    columns = [
        np.sqrt(2.0 * k + 1.0) * np.polynomial.Legendre.basis(k)(argument) for k in range(1, n_degrees + 1)
    ]
    return np.stack(columns, axis=1)


def joint_functions(uniforms, n_own=4, n_pair=2):
    """Legendre functions of each column and products of two columns' first ones [draw, function].

    Of uniform numbers [draw, coordinate]; every degree up to n_pair of one column times every one of another.
    """
    columns = [legendre(column, max(n_own, n_pair)) for column in np.asarray(uniforms).T]
    pairs = [
        (columns[i][:, :n_pair, None] * columns[j][:, None, :n_pair]).reshape(len(columns[0]), -1)
        for i, j in combinations(range(len(columns)), 2)
    ]
    return np.concatenate([*(column[:, :n_own] for column in columns), *pairs], axis=1)


def assert_independent(uniforms, label="", *, detects=0.02, detects_mean=0.03, n_pair=2):
    """Asserts that columns of numbers [draw, coordinate] are uniform and independent.

    Means of `joint_functions` must be those of independent columns.
    """
    for place, column in enumerate(np.asarray(uniforms).T):
        assert_uniform(column, detects=detects, label=f"{label}, coordinate {place}")
    functions = joint_functions(uniforms, n_pair=n_pair)
    assert_standard_mean(functions, detects=detects_mean, label=f"{label}, joint")


def fast_and_slow(names, fast):
    """Names for `parametrize`, of which all but the fast ones are marked as slow."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name not in fast)) for name in names]


@contextmanager
def expecting_failure(match=None):
    """Expects an assertion on a program known to be wrong to fail, which costs no false alarm."""
    global _charging
    _charging = False
    try:
        with pytest.raises(AssertionError, match=match):
            yield
    finally:
        _charging = True


def _assert_power(found, detects, n):
    if found > detects:
        raise ValueError(
            f"{n} draws find a discrepancy of {found:.4g}, not the declared {detects}: draw more"
        )


def _judge(rule, label, n, statistic, threshold):
    global n_assertions
    n_assertions += _charging
    assert statistic <= threshold, (
        f"{label}: {rule} statistic {statistic:.5g} exceeds {threshold:.5g} "
        f"(n = {n}, false-alarm probability {ALPHA:g})"
    )
