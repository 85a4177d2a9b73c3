"""Gaussian observations with a Gaussian mean, known in closed form, and annealing with perfect transitions."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import integrate, stats
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from auxmc.numerics.array_types import FloatArray


def limit_ladder(log_normaliser: Callable[[float], float], target_share: float) -> FloatArray:
    """Ladder whose steps each keep a fraction of the effective sample size.

    For infinitely many particles, a step d at b keeps z(b + d)^2 / (z(b) z(b + 2 d)) of it, which falls with
    d from 1. A step is where this is the target share, or all that is left where that keeps more.
    `log_normaliser` is log z(b), for b from 0 to below 2.

    Source: MSc thesis, Algorithm 6, its minimum read as a root.
    """
    log_target = math.log(target_share)

    def log_excess(step: float, at: float) -> float:
        middle, end = log_normaliser(at + step), log_normaliser(at + 2.0 * step)
        return float(2.0 * middle - log_normaliser(at) - end - log_target)

    ladder = [0.0]
    while ladder[-1] < 1.0:
        at, left = ladder[-1], 1.0 - ladder[-1]
        if log_excess(left, at) >= 0.0:
            ladder.append(1.0)
        else:
            ladder.append(at + float(brentq(log_excess, 0.0, left, args=(at,), xtol=1e-15, rtol=1e-14)))
    return np.array(ladder)


_LOG_TWO_PI = math.log(2.0 * math.pi)


class GaussianMean(NamedTuple):
    """mu ~ N(0, prior_variance), y_i ~ N(mu, 1), as far as likelihoods of mu depend on y.

    Methods are elementwise; log densities are in nats. An inverse temperature b stands for the distribution
    proportional to prior times likelihood^b. Source: MSc thesis, section 3.1.

    >>> round(HUNDRED_OBSERVATIONS.log_evidence, 10)
    -145.6816115987
    """

    n_rows: int  # observations, at least 1
    sample_mean: float  # their mean
    sum_of_squares: float  # of their differences from that mean
    prior_variance: float = 1.0  # of mu, positive

    @property
    def log_evidence(self) -> float:
        """Log density of all observations."""
        return float(self.log_normaliser(1.0))

    @property
    def log_largest_likelihood(self) -> float:
        """Log likelihood at the sample mean: no average of likelihoods exceeds it."""
        return -0.5 * (self.n_rows * _LOG_TWO_PI + self.sum_of_squares)

    def log_likelihood(self, mu: ArrayLike) -> FloatArray:
        """Log likelihood of all observations at each mean."""
        centred = np.asarray(mu, np.float64) - self.sample_mean
        return np.asarray(self.log_largest_likelihood - 0.5 * self.n_rows * np.square(centred))

    def log_normaliser(self, inverse_temperature: ArrayLike) -> FloatArray:
        """Log of the integral of prior times likelihood^b; also for b above 1, a power of the likelihood."""
        b = np.asarray(inverse_temperature, np.float64)
        narrowing = 1.0 + self.n_rows * b * self.prior_variance  # How much narrower than the prior
        quadratic = self.n_rows * b * self.sample_mean**2 / narrowing
        return np.asarray(b * self.log_largest_likelihood - 0.5 * (np.log(narrowing) + quadratic))

    def posterior(self, inverse_temperature: ArrayLike = 1.0) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of mu under prior times likelihood^b."""
        b = np.asarray(inverse_temperature, np.float64)
        variance = self.prior_variance / (1.0 + self.n_rows * b * self.prior_variance)
        return np.asarray(self.n_rows * b * self.sample_mean * variance), np.asarray(variance)

    def draw(
        self, rng: np.random.Generator, shape: tuple[int, ...], inverse_temperature: ArrayLike = 1.0
    ) -> FloatArray:
        """Exact independent draws of mu under prior times likelihood^b, which broadcasts against the shape."""
        mean, variance = self.posterior(inverse_temperature)
        return np.asarray(mean + np.sqrt(variance) * rng.standard_normal(shape))

    def log_likelihood_moments(self, inverse_temperature: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the log likelihood under prior times likelihood^b."""
        mean, variance = self.posterior(inverse_temperature)
        squared = np.square(mean - self.sample_mean)
        expected = self.log_largest_likelihood - 0.5 * self.n_rows * (variance + squared)
        return expected, 0.5 * self.n_rows**2 * variance * (variance + 2.0 * squared)

    def annealed_moments(self, ladder: ArrayLike) -> tuple[float, float]:
        """Mean log weights of annealed importance sampling with exact transitions, of forward and of reverse runs.

        The first is a lower bound of the log normaliser, minus the second an upper one.

        The ladder [K + 1] goes from 0 to 1. The log weight of a forward run is the sum of (b_{k+1} - b_k) times the log
        likelihood at a draw at b_k; that of a reverse run has the opposite sign and draws at b_{k+1}.

        Source: PhD thesis, section 5.2, Algorithm 13; MSc thesis, section 3.3.
        """
        b = np.asarray(ladder, np.float64)
        steps, (expected, _) = np.diff(b), self.log_likelihood_moments(b)
        return float(steps @ expected[:-1]), float(-steps @ expected[1:])

    def annealed_log_weights(
        self, rng: np.random.Generator, ladder: ArrayLike, n_runs: int, *, reverse: bool = False
    ) -> FloatArray:
        """Log weights [run] of annealed importance sampling with exact transitions.

        The ladder [K + 1] goes from 0 to 1. Runs in reverse go from the posterior to the prior; their mean
        weight is one over the evidence. Source: PhD thesis, Algorithm 13; MSc thesis, section 3.3.
        """
        b = np.asarray(ladder, np.float64)
        steps = np.diff(b)
        total = np.zeros(n_runs)
        # One temperature at a time: all draws of a long ladder would not fit into a cache.
        for at, step in zip(b[1:] if reverse else b[:-1], -steps if reverse else steps, strict=True):
            total += step * self.log_likelihood(self.draw(rng, (n_runs,), at))
        return total

    def rows(self) -> FloatArray:
        """Observations with exactly these statistics [row]: stretched normal quantiles."""
        quantiles = ndtri((np.arange(self.n_rows) + 0.5) / self.n_rows)
        quantiles -= quantiles.mean()
        scale = math.sqrt(self.sum_of_squares / float(np.sum(np.square(quantiles))))
        return np.asarray(self.sample_mean + scale * quantiles)


HUNDRED_OBSERVATIONS = GaussianMean(100, 2.0, 99.0)
"""A hundred observations whose statistics are those expected under N(2, 1): evidence 5.386e-64."""

FOUR_OBSERVATIONS = GaussianMean(4, 0.5, 3.0)
"""Four observations: no average of their likelihoods exceeds 2.4713 times their evidence."""


def from_observations(observations: FloatArray) -> GaussianMean:
    """Model with prior variance 1 and the statistics of given observations [row]."""
    mean = float(observations.mean())
    return GaussianMean(observations.size, mean, float(np.sum(np.square(observations - mean))))


class LogEvidenceDistribution(NamedTuple):
    """Distribution of the log evidence with prior N(0, 1) over data sets y_i ~ N(true_mean, 1).

    Its middle is the "order of 1e-64" of MSc thesis, section 3.1.

    >>> distribution = LogEvidenceDistribution(100, 2.0)
    >>> round(distribution.mean, 6), round(distribution.sd, 6)
    (-145.686562, 7.038413)
    """

    n_rows: int  # observations of a data set, at least 2
    true_mean: float  # what they scatter around

    @property
    def mean(self) -> float:
        """Mean of the log evidence."""
        quadratic = self.n_rows - 1.0 + (1.0 + self._non_centrality) / (self.n_rows + 1.0)
        return -0.5 * (self._constant + quadratic)

    @property
    def sd(self) -> float:
        """Standard deviation of the log evidence."""
        squared = 2.0 * (1.0 + 2.0 * self._non_centrality) / (self.n_rows + 1.0) ** 2
        return 0.5 * math.sqrt(2.0 * (self.n_rows - 1.0) + squared)

    def cdf(self, log_evidence: float) -> float:
        """Probability of a log evidence of at most this, by quadrature over the sample mean."""
        # log Z = -(constant + S + n ybar^2 / (n + 1)) / 2, S being chi-squared with n - 1 degrees of freedom.
        room = -2.0 * log_evidence - self._constant

        def integrand(standard: float) -> float:
            scaled = (math.sqrt(self.n_rows) * self.true_mean + standard) ** 2 / (self.n_rows + 1.0)
            tail = stats.chi2.sf(room - scaled, self.n_rows - 1)
            return float(tail * math.exp(-0.5 * standard**2) / math.sqrt(2.0 * math.pi))

        value, _ = integrate.quad(integrand, -9.0, 9.0, epsabs=1e-11, epsrel=1e-10, limit=200)
        return float(value)

    def probability_of_range_above(self, log_ratio: float) -> float:
        """Probability that the largest likelihood is at least exp(log_ratio) times the evidence."""
        n = self.n_rows
        # log Lmax - log Z = log(n + 1) / 2 + n ybar^2 / (2 (n + 1)).
        squared = 2.0 * (n + 1.0) / n * (log_ratio - 0.5 * math.log(n + 1.0))
        root, sd = math.sqrt(max(squared, 0.0)), 1.0 / math.sqrt(n)
        return float(ndtr((-root - self.true_mean) / sd) + ndtr((self.true_mean - root) / sd))

    @property
    def _non_centrality(self) -> float:
        return self.n_rows * self.true_mean**2

    @property
    def _constant(self) -> float:
        return self.n_rows * _LOG_TWO_PI + math.log(self.n_rows + 1.0)


class IdealNestedRuns(NamedTuple):
    """Independent runs of nested sampling."""

    dead: FloatArray  # points in the order of their death, farthest from the centre first [run, dead]
    masses: FloatArray  # true prior mass that is nearer to the centre than each [run, dead], decreasing
    live: FloatArray  # points alive at the end [run, live]


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
    """Nested sampling for a likelihood that falls with the distance from a centre.

    A point nearer to the centre is drawn exactly, by the inverse of the prior's distribution function; runs
    are side by side. Source: MSc thesis, Algorithm 5; Skilling 2006.

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
