"""Sequential importance resampling: particle filters next to Kalman's, resampling, data tempering."""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from auxmc.diagnostics.sequential_intervals import confidence_sequence
from auxmc.kernels.streams.particle_filter import (
    SequentialRun,
    bootstrap_particle_filter,
    sequential_importance_resampling,
)
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.random import standard_normal
from auxmc.sampling.resampling import multinomial_indices
from auxmc_pipeline.measuring import Measurement, estimate, mean, proportion_of, quantile
from experiments.estimator_illustrations.model import FOUR_OBSERVATIONS
from experiments.foundations.topic import Arrays, Lines, Topic, Work


class LinearGaussianStates(NamedTuple):
    """States x_1 ~ N(0, initial_variance) and x_t = coefficient x_{t-1} + N(0, state_variance), observed with noise."""

    coefficient: float  # of the previous state
    state_variance: float  # of the noise of the states, positive
    noise_variance: float  # of the noise of the observations y_t = x_t + N(0, noise_variance), positive
    initial_variance: float  # of the first state, positive

    def draw_initial(self, key: Array, n_particles: int) -> Array:
        """Draws first states [particle]."""
        return math.sqrt(self.initial_variance) * standard_normal(key, (n_particles,))

    def draw_next(self, key: Array, states: Array) -> Array:
        """Draws a successor of each state [particle]."""
        noise = standard_normal(key, states.shape)
        return self.coefficient * states + math.sqrt(self.state_variance) * noise

    def log_emission(self, observation: Array, states: Array) -> Array:
        """Log density of an observation, scalar, given each state [particle], in nats."""
        constant = -0.5 * math.log(2.0 * math.pi * self.noise_variance)
        return constant - 0.5 * jnp.square(states - observation) / self.noise_variance

    def log_largest_likelihood(self, n_steps: int) -> float:
        """Log of the largest density of observations given any states: no likelihood estimate exceeds it."""
        return -0.5 * n_steps * math.log(2.0 * math.pi * self.noise_variance)


TWENTY_STEPS = LinearGaussianStates(0.9, 0.25, 1.0, 1.0)
"""States of the fixture whose observations are `SINE_OBSERVATIONS`: log likelihood -26.685529062."""

SINE_OBSERVATIONS: FloatArray = np.sin(np.arange(1.0, 21.0))  # y_t = sin(t) for t = 1 to 20, in radians


class KalmanRun(NamedTuple):
    """What a Kalman filter finds, one entry for each observation [step]."""

    log_predictive: FloatArray  # log density of the observation given those before it, in nats
    mean: FloatArray  # of the state given the observations so far
    variance: FloatArray  # of the same

    @property
    def log_likelihood(self) -> float:
        """Log density of all observations, in nats."""
        return float(self.log_predictive.sum())


def kalman_filter(model: LinearGaussianStates, observations: ArrayLike) -> KalmanRun:
    """Densities of observations [step] of a linear Gaussian chain given those before, and its moments (Kalman 1960)."""
    values = np.asarray(observations, np.float64)
    found = np.empty((3, values.size))
    mean, variance = 0.0, model.initial_variance
    for step, value in enumerate(values):
        total = variance + model.noise_variance
        surprise = value - mean
        log_predictive = -0.5 * (math.log(2.0 * math.pi * total) + surprise**2 / total)
        mean += variance / total * surprise
        variance *= model.noise_variance / total
        found[:, step] = log_predictive, mean, variance
        mean, variance = model.coefficient * mean, model.coefficient**2 * variance + model.state_variance
    return KalmanRun(*found)


TOPIC = Topic()

_MODEL, _OBSERVATIONS = TWENTY_STEPS, SINE_OBSERVATIONS
_LEVEL = 2e-7
_N_FILTER, _N_MANY, _N_TEMPERED = 100, 1000, 16
_SHORT = 3
_LANES = 50  # Runs side by side in one program: more would not fit into a cache.


@TOPIC.claim("FN-SM-01")
def filter_likelihood(work: Work) -> Lines:
    """The likelihood of a particle filter is unbiased for Kalman's, with resampling and without."""
    exact = kalman_filter(_MODEL, _OBSERVATIONS).log_likelihood
    short = kalman_filter(_MODEL, _OBSERVATIONS[:_SHORT]).log_likelihood
    logs, weighted = (
        _filtered(work, name, _N_FILTER, threshold, 8000).log_evidence
        for name, threshold in (("filter", 1.0), ("importance sampling", 0.0))
    )
    bound = math.exp(_MODEL.log_largest_likelihood(_SHORT) - short)
    inside = _bounded_mean(np.exp(logs[:, _SHORT - 1] - short), bound)
    return {
        "mean ratio of 20 steps": mean(np.exp(logs[:, -1] - exact)),
        "mean ratio of 3 steps by a confidence sequence": inside,
        "mean ratio of 3 steps, not resampled": mean(np.exp(weighted[:, _SHORT - 1] - short)),
        "mean ratio of 20 steps, not resampled": mean(np.exp(weighted[:, -1] - exact)),
    }


@TOPIC.claim("FN-SM-02")
def resampled_means(work: Work) -> Lines:
    """Means of as many points as were drawn, resampled for N(0, 1) from draws of N(1, 1)."""

    def means(n: int, full: int) -> FloatArray:
        def once(key: Array) -> Array:
            first, second = jax.random.split(key)
            drawn = 1.0 + standard_normal(first, (n,))
            return jnp.mean(drawn[multinomial_indices(second, 0.5 - drawn, n)])

        keys = jax.random.split(work.key("sequential", "importance resampling", n), work.replicates(full))
        return np.asarray(jax.jit(jax.vmap(once))(keys))

    few, many = means(10, 20_000), means(1000, 1000)
    return {
        "ten points, bias": mean(few),
        "thousand points, bias over that of ten": mean(many) / mean(few),
        "thousand points, share far off": proportion_of(np.abs(many) > 0.25),
    }


@TOPIC.claim("FN-SM-03", numbers=["largest ratio of a run"])
def data_tempering(work: Work) -> Lines:
    """The evidence of resampled particles that absorb row by row."""
    model, n = FOUR_OBSERVATIONS, work.replicates(20_000)
    keys = jax.random.split(work.key("sequential", "data tempering"), n)
    program = _tempered_by_rows()
    logs = np.asarray(jax.jit(jax.vmap(lambda key: program(key).log_evidence[-1]))(keys))
    ratios = np.exp(logs - model.log_evidence)
    return {"largest ratio of a run": estimate(np.max, ratios)}


@TOPIC.claim("FN-SM-04")
def degeneracy(work: Work) -> Lines:
    """Effective fractions of the particles and variances of the likelihood, with resampling and without."""
    exact = kalman_filter(_MODEL, _OBSERVATIONS).log_likelihood
    without, resampled = (
        _filtered(work, name, _N_MANY, threshold, 300)
        for name, threshold in (("without resampling", 0.0), ("resampled at each step", 1.0))
    )
    first = quantile(without.effective_fraction[:, 0], 0.5)
    last, last_resampled = (quantile(run.effective_fraction[:, -1], 0.5) for run in (without, resampled))
    errors = (np.exp(run.log_evidence[:, -1] - exact) - 1.0 for run in (without, resampled))
    spread, spread_resampled = (mean(error**2) for error in errors)
    return {
        "resampled over not resampled": last_resampled / last,
        "without resampling, effective proportion at step 20 over step 1": last / first,
        "variance of the likelihood, not resampled over resampled": spread / spread_resampled,
    }


@TOPIC.figure("slides_particle_filter")
def figure_curves(work: Work) -> Arrays:
    """Filtered moments next to exact ones, and two genealogies."""
    exact = kalman_filter(_MODEL, _OBSERVATIONS)
    runs = [_filtered(work, "shown", _N_FILTER, threshold, 1) for threshold in (0.0, 1.0)]
    weights, states = _fractions(runs[1].log_weights[0]), runs[1].particles[0]
    mean = np.sum(weights * states, axis=1)
    spread = np.sqrt(np.sum(weights * np.square(states - mean[:, None]), axis=1))
    moments = np.array([[exact.mean, np.sqrt(exact.variance)], [mean, spread]])
    particles = np.stack([run.particles[0] for run in runs])
    ancestors = np.stack([run.ancestors[0] for run in runs])
    last = np.stack([_fractions(run.log_weights[0, -1]) for run in runs])
    distributions = {"filter": ["exact", "particles"], "moment": ["mean", "sd"]}
    tree, step = {"tree": ["none", "each step"]}, {"step": np.arange(1, _OBSERVATIONS.size + 1)}
    particle = {"particle": np.arange(_N_FILTER)}
    return {
        "moments": xr.DataArray(moments, {**distributions, **step}),
        "observation": xr.DataArray(_OBSERVATIONS, step),
        "state": xr.DataArray(particles, {**tree, **step, **particle}),
        "ancestor": xr.DataArray(ancestors.astype(float), {**tree, **step, **particle}),
        "last_weight": xr.DataArray(last, {**tree, **particle}),
    }


@functools.partial(jax.jit, static_argnums=0)
def _lanes(n_particles: int, keys: Array, threshold: Array) -> SequentialRun:
    program = bootstrap_particle_filter(
        _MODEL.draw_initial,
        _MODEL.draw_next,
        _MODEL.log_emission,
        jnp.asarray(_OBSERVATIONS),
        n_particles,
        resampling=multinomial_indices,
        threshold=threshold,
    )
    return jax.vmap(program)(keys)


def _filtered(work: Work, name: str, n_particles: int, threshold: float, full: int) -> SequentialRun:
    """Runs of the filter [run, ...], NumPy arrays."""
    n_blocks = -(-work.replicates(full) // _LANES)
    keys = jax.random.split(work.key("sequential", name), (n_blocks, _LANES))
    blocks = [_lanes(n_particles, block, jnp.asarray(threshold)) for block in keys]
    together: SequentialRun = jax.tree.map(lambda *parts: np.concatenate(parts), *blocks)
    return together


def _fractions(log_weights: ArrayLike) -> FloatArray:
    logs = np.asarray(log_weights)
    return np.asarray(np.exp(logs - logsumexp(logs, axis=-1, keepdims=True)))


def _tempered_by_rows() -> Callable[[Array], SequentialRun]:
    """Particles of the mean absorb the four observations one by one and are then drawn again from their posterior."""
    rows = jnp.asarray(FOUR_OBSERVATIONS.rows())
    totals = jnp.cumsum(rows)

    def log_weight(step: Array, particles: Array) -> Array:
        return -0.5 * (jnp.square(particles - rows[step]) + math.log(2.0 * math.pi))

    def move(key: Array, step: Array, particles: Array) -> Array:
        variance = 1.0 / (2.0 + step.astype(jnp.float64))
        return variance * totals[step] + jnp.sqrt(variance) * standard_normal(key, particles.shape)

    return sequential_importance_resampling(
        lambda key, n: standard_normal(key, (n,)),
        log_weight,
        move,
        n_steps=FOUR_OBSERVATIONS.n_rows,
        n_particles=_N_TEMPERED,
        resampling=multinomial_indices,
    )


def _bounded_mean(ratios: FloatArray, bound: float) -> Measurement:
    """Mean of ratios [run] of at most `bound`, whose two errors reach over an interval that is exactly valid."""
    found = confidence_sequence(ratios, 0.0, bound, _LEVEL)
    mean = float(ratios.mean())
    return Measurement(mean, max(float(found.upper[0]) - mean, mean - float(found.lower[0])) / 2.0)
