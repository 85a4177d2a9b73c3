"""Estimates of a log normaliser, and of target and base expectations, from weights along a tempering path.

Chains are pooled by adding weighted sums before they are divided or their logs taken. All weights come as logs, as
states of the kernels have them: a guess zeta of the normaliser is part of them already.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from auxmc.diagnostics.convergence import mcse_mean
from auxmc.diagnostics.weighted import in_batches
from auxmc.numerics.array_types import FloatArray

_MIN_BATCHES = 4
_BRIDGE_ITERATIONS = 1000


class Evidence(NamedTuple):
    """Estimate of a log normaliser and its standard error by the delta method, in nats; NaN where that is not known."""

    value: float
    standard_error: float


class Moments(NamedTuple):
    """Weighted mean [dim] and covariance [dim, dim], divisor the sum of the weights."""

    mean: FloatArray
    covariance: FloatArray


class Bounds(NamedTuple):
    """Stochastic bounds on log normalisers [item] from annealed runs in both directions.

    Attributes:
        lower: log of the mean forward weight, below the truth in expectation.
        upper: minus the log of the mean reverse weight, above the truth in expectation.
        upper_arithmetic: log of the mean of the inverse reverse weights: never below `upper`, and much above it where
            the weights have heavy tails.
    """

    lower: FloatArray
    upper: FloatArray
    upper_arithmetic: FloatArray


def log_evidence(log_target_weights: ArrayLike, log_base_weights: ArrayLike) -> float:
    """Log normaliser from states of tempered chains: log sum w_1 - log sum w_0.

    Args:
        log_target_weights: `log_target_weight` of each state: log density (or probability) of the target's end of the
            path given the state, plus log zeta; any shape, all chains together.
        log_base_weights: `log_base_weight`, the same of the base's end.

    Raises:
        ValueError: shapes differ, there is no state, or a log weight is NaN or plus infinity.

    Source: PhD thesis, Eqs. 5.33 to 5.36 and 2.74.

    >>> round(log_evidence([3.0, 3.5], [1.0, 1.5]), 12)
    2.0
    """
    target, base = _pair(log_target_weights, log_base_weights)
    return float(logsumexp(target) - logsumexp(base))


def running_log_evidence(log_target_weights: ArrayLike, log_base_weights: ArrayLike) -> FloatArray:
    """Estimates after every draw, chains pooled.

    Args:
        log_target_weights: [chain, draw].
        log_base_weights: [chain, draw].

    Returns:
        [draw]; element i uses draws 0 to i of all chains.
    """
    target, base = _pair(log_target_weights, log_base_weights)
    _require_chains(target)

    def running(values: FloatArray) -> FloatArray:
        return np.logaddexp.accumulate(np.asarray(logsumexp(values, axis=0)))

    return np.asarray(running(target) - running(base), dtype=np.float64)


def log_evidence_error(
    log_target_weights: ArrayLike, log_base_weights: ArrayLike, n_batches: int | None = None
) -> float:
    """Standard error of `log_evidence`, by the delta method.

    With two chains or more they are the independent units; a single chain is cut into batches.

    Args:
        log_target_weights: [chain, draw].
        log_base_weights: [chain, draw].
        n_batches: batches of a single chain; by default the square root of its length. They must be long next to the
            autocorrelation time.

    Returns:
        Standard error in nats; NaN for a single chain with fewer draws than 4 batches take.

    Raises:
        ValueError: arrays are not [chain, draw].
    """
    target, base = _pair(log_target_weights, log_base_weights)
    _require_chains(target)
    if len(target) == 1:
        n = target.shape[1]
        n_batches = max(_MIN_BATCHES, round(math.sqrt(n))) if n_batches is None else n_batches
        if n < n_batches or n_batches < 2:
            return math.nan
        target, base = in_batches(target, n_batches), in_batches(base, n_batches)
    log_ratios = [_relative(np.asarray(logsumexp(values, axis=1))) for values in (target, base)]
    return _error_of_mean(log_ratios[0] - log_ratios[1])


def weighted_moments(log_weights: ArrayLike, positions: ArrayLike) -> Moments:
    """Expectation and covariance under the target (or base) from weighted states.

    Args:
        log_weights: in nats [...]; all chains together.
        positions: [..., dim].

    Raises:
        ValueError: shapes do not agree, a weight is NaN or plus infinity, or all weights are zero.

    Source: PhD thesis, Eqs. 5.28 and 5.30.
    """
    values = np.asarray(positions, dtype=np.float64)
    logs = _log_weights(log_weights, "log_weights")
    if values.shape[:-1] != logs.shape:
        raise ValueError(f"positions must be log_weights' shape {logs.shape} and [dim], got {values.shape}")
    values, logs = values.reshape(-1, values.shape[-1]), logs.ravel()
    total = logsumexp(logs)
    if not math.isfinite(total):
        raise ValueError("log_weights: all weights are zero")
    weights = np.exp(logs - total)
    mean = weights @ values
    centred = values - mean
    return Moments(mean, (centred * weights[:, None]).T @ centred)


def importance_tempering(log_weights: ArrayLike, levels: ArrayLike, values: ArrayLike) -> FloatArray:
    """Expectation under the target from a simulated tempering chain, its temperatures combined by effective sizes.

    The states at each temperature give an estimate of their own. Its weight in the combination is the effective size of
    its importance weights, (sum w)^2 / sum w^2, which maximises that of the whole.

    Args:
        log_weights: log of the target's density over that of the temperature at which a state is [draw], in nats, up to
            a constant for each temperature.
        levels: number of that temperature [draw].
        values: of the function [draw, quantity].

    Returns:
        Estimate [quantity]; NaN where no state has a weight.

    Raises:
        ValueError: shapes do not agree, or a log weight is NaN or plus infinity.

    Source: PhD thesis, Eqs. 5.54 and 5.55; Gramacy, Samworth and King 2010, "Importance tempering".

    >>> importance_tempering([0.0, 0.0, 5.0], [0, 0, 1], [[1.0], [3.0], [8.0]]).tolist()
    [4.0]
    """
    logs, states = _log_weights(log_weights, "log_weights"), np.asarray(values, dtype=np.float64)
    numbers = np.asarray(levels)
    if logs.ndim != 1 or numbers.shape != logs.shape or states.shape[:1] != logs.shape or states.ndim != 2:
        got = f"{logs.shape}, {numbers.shape} and {states.shape}"
        raise ValueError(f"log_weights and levels must be [draw] and values [draw, quantity], got {got}")
    estimate, total = np.zeros(states.shape[1]), 0.0
    for number in np.unique(numbers):
        own = numbers == number
        log_sum = logsumexp(logs[own])
        if np.isfinite(log_sum):
            fractions = np.exp(logs[own] - log_sum)
            size = 1.0 / float(np.sum(fractions**2))
            estimate, total = estimate + size * (fractions @ states[own]), total + size
    return np.asarray(estimate / total if total > 0.0 else np.full(states.shape[1], np.nan))


def annealed_evidence(log_weights: ArrayLike) -> Evidence:
    """Log normaliser from independent annealed runs: log of the mean weight.

    Args:
        log_weights: of each run, in nats [...]; minus infinity for a weight of zero.

    Returns:
        Estimate; where the largest weights dominate its standard error is too small.

    Source: PhD thesis, section 5.2.
    """
    logs = _log_weights(log_weights, "log_weights").ravel()
    value = float(logsumexp(logs) - math.log(logs.size))
    return Evidence(value, _error_of_mean(_relative(logs)) if math.isfinite(value) else math.nan)


def bridge_evidence(target_log_ratios: ArrayLike, base_log_ratios: ArrayLike) -> Evidence:
    """Log normaliser by bridge sampling between draws of a target and independent draws of a normalised base.

    The bridge is the optimal one for as many draws of the target as count in effect.

    Args:
        target_log_ratios: log of the target's unnormalised density over the base's at draws of the target
            [chain, draw], at least 4 draws.
        base_log_ratios: the same at draws of the base [draw]; minus infinity outside of the target's support.

    Returns:
        Estimate; its error knows the autocorrelation of the chains.

    Raises:
        ValueError: If a ratio is NaN or plus infinity, or no base draw is inside the target's support.

    Source: Meng and Wong 1996; Fruehwirth-Schnatter 2004, "Estimating marginal likelihoods for mixture and Markov
    switching models using bridge sampling techniques", section 3.
    """
    target = _log_weights(target_log_ratios, "target_log_ratios")
    base = _log_weights(base_log_ratios, "base_log_ratios").ravel()
    _require_chains(target)
    if not np.isfinite(base).any():
        raise ValueError("base_log_ratios: no draw of the base is inside the target's support")
    value, n_target, relative = float(np.median(target)), float(target.size), 0.0
    for _ in range(2):
        own = n_target / (n_target + base.size)
        for _ in range(_BRIDGE_ITERATIONS):
            mixed = [np.logaddexp(math.log(own) + x, math.log1p(-own) + value) for x in (target, base)]
            of_base, before = logsumexp(base - mixed[1]) - math.log(base.size), value
            value = float(of_base + math.log(target.size) - logsumexp(-mixed[0]))
            if abs(value - before) < 1e-10:
                break
        terms = np.exp(value - mixed[0])
        error = float(mcse_mean(terms))
        relative = error / float(np.mean(terms))
        # As many independent draws would have this error.
        n_target = min(float(np.var(terms)) / error**2, target.size) if error > 0.0 else float(target.size)
    return Evidence(value, math.hypot(relative, _error_of_mean(_relative(base - mixed[1]))))


def bidirectional_bounds(forward: ArrayLike, reverse: ArrayLike) -> Bounds:
    """Stochastic lower and upper bounds on log normalisers (bidirectional Monte Carlo).

    Args:
        forward: log weights of runs from base to target [..., run].
        reverse: log weights of runs from an exact target draw to the base, along the reversed ladder [..., run].

    Returns:
        Bounds [...]; for independent items the bounds on the joint log normaliser are their sums.

    Source: PhD thesis, section 5.2; Grosse, Ghahramani and Adams 2015.
    """
    logs, back = _log_weights(forward, "forward"), _log_weights(reverse, "reverse")

    def log_mean(values: FloatArray) -> FloatArray:
        return np.asarray(logsumexp(values, axis=-1) - math.log(values.shape[-1]), dtype=np.float64)

    return Bounds(log_mean(logs), -log_mean(back), log_mean(-back))


def _pair(target: ArrayLike, base: ArrayLike) -> tuple[FloatArray, FloatArray]:
    pair = _log_weights(target, "log_target_weights"), _log_weights(base, "log_base_weights")
    if pair[0].shape != pair[1].shape:
        got = f"{pair[0].shape} and {pair[1].shape}"
        raise ValueError(f"log_target_weights and log_base_weights must have one shape, got {got}")
    return pair


def _log_weights(values: ArrayLike, name: str) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        raise ValueError(f"{name} is empty")
    n_bad = int(np.sum(np.isnan(array) | (array == np.inf)))
    if n_bad:
        raise ValueError(f"{name}: {n_bad} of {array.size} values are NaN or plus infinity")
    return array


def _require_chains(array: FloatArray) -> None:
    if array.ndim != 2:
        raise ValueError(f"log weights must be [chain, draw], got shape {array.shape}")


def _relative(log_values: FloatArray) -> FloatArray:
    """Values in units of their mean."""
    return np.asarray(np.exp(log_values - logsumexp(log_values)) * log_values.size, dtype=np.float64)


def _error_of_mean(values: FloatArray) -> float:
    if values.size < 2:
        return math.nan
    return float(np.std(values, ddof=1) / math.sqrt(values.size))
