"""Generalised lambda model: posteriors with the random inputs of the observations integrated out.

Given the parameters the observations are independent: likelihoods are the density 1/q'(p) at p = F(x), F(x + eps) -
F(x - eps) for the cube kernel, and a normal convolution for the Gaussian one (PhD thesis, section 4.10.1).
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import ndtr

from experiments.generalised_lambda.model import generator
from experiments.generalised_lambda.model.reference_posterior import (
    differential_evolution,
    independence_metropolis,
)

# Conditioning on the data itself, or through a kernel of approximate Bayesian computation.
TARGETS = ("exact", "cube", "gaussian")
# Logits beyond this are one part in 1e16 of probability: a likelihood there is taken as zero.
_LARGEST_LOGIT = 37.0
_N_GRID = 297
_START_SHAPE = -0.1


def log_likelihood(
    model: generator.GeneralisedLambdaModel, target: str, tolerance: float = 0.0
) -> Callable[[Array], Array]:
    """Log likelihood in nats of z [4] under one of TARGETS.

    The inputs of the observations are integrated out. The tolerance is half the side of the cube, or the sd
    of the normal kernel, whose convolution takes the density as constant in cells of half the tolerance, at
    most 0.04. Logits beyond 37 in size count as outside the support.
    """
    if target not in TARGETS:
        raise ValueError(f"unknown target {target!r}: expected one of {', '.join(TARGETS)}")
    if target != "exact" and not tolerance > 0.0:
        raise ValueError(f"tolerance must be positive for target {target}, got {tolerance}")
    data = model.observations
    if target == "exact":
        return lambda z: _finite_or_impossible(_log_density(data, z))
    if target == "cube":
        ends = jnp.concatenate([data - tolerance, data + tolerance])

        def cube(z: Array) -> Array:
            low, high = jnp.split(_logits_or_infinity(ends, z), 2)
            return _finite_or_impossible(_log_difference(low, high))

        return cube
    nodes, weights = _convolution(np.asarray(data), tolerance)

    def gaussian(z: Array) -> Array:
        logits = _logits_or_infinity(nodes, z)
        return _finite_or_impossible(jnp.log(weights @ jnp.exp(_log_difference(logits[:-1], logits[1:]))))

    return gaussian


def log_posterior(
    model: generator.GeneralisedLambdaModel, target: str, tolerance: float = 0.0
) -> Callable[[Array], Array]:
    """Log posterior density of (z1, log z2, z3, z4) [4], up to a constant; see `log_likelihood`."""
    likelihood = log_likelihood(model, target, tolerance)

    def density(point: Array) -> Array:
        z = point.at[1].set(jnp.exp(point[1]))
        return likelihood(z) + generator.log_prior_parameters(z, model.prior) + point[1]

    return density


def reference_draws(
    key: Array,
    model: generator.GeneralisedLambdaModel,
    target: str,
    tolerance: float = 0.0,
    *,
    n_walkers: int = 64,
    n_burn_in: int = 300,
    n_draws: int = 300,
) -> tuple[Array, Array]:
    """Draws z [draw, walker, 4] and the acceptance rate of the kept iterations.

    The second half of the burn-in, by differential evolution, fits the proposals of independence Metropolis.
    """
    data = np.asarray(model.observations)
    spread = float(np.subtract(*np.quantile(data, [0.75, 0.25]))) or float(np.std(data)) or 1.0
    # The quartiles of the logistic distribution, to which the distribution is near at small z3, z4, are 2.2 apart.
    centre = np.array([[np.median(data), np.log(2.2 / spread), _START_SHAPE, _START_SHAPE]])
    scales = np.array([[0.1 * spread, 0.1, 0.03, 0.03]])
    start_key, search_key, run_key = jax.random.split(key, 3)
    starts = centre + scales * jax.random.normal(
        start_key, (n_walkers, generator.N_PARAMETERS), dtype=jnp.float64
    )
    density = log_posterior(model, target, tolerance)
    pilot, _ = differential_evolution(search_key, density, starts, n_burn_in)
    draws, rate = independence_metropolis(run_key, density, pilot[n_burn_in // 2 :], n_draws)
    return draws.at[..., 1].set(jnp.exp(draws[..., 1])), rate


def _logits_or_infinity(values: Array, z: Array) -> Array:
    """Logits with q = value [...], infinite beyond logits of 37: cubics through a grid, then a Newton step."""
    grid = jnp.linspace(-_LARGEST_LOGIT, _LARGEST_LOGIT, _N_GRID)
    spacing = 2.0 * _LARGEST_LOGIT / (_N_GRID - 1)
    quantiles, slopes = generator.quantile(grid, z), generator.quantile_slope(grid, z)
    cell = jnp.clip(jnp.searchsorted(quantiles, values) - 1, 0, _N_GRID - 2)
    low, below, above = grid[cell], quantiles[cell], quantiles[cell + 1]
    width = jnp.where(above > below, above - below, 1.0)
    fraction = jnp.clip((values - below) / width, 0.0, 1.0)
    # Slopes of the inverse in units of the cell, limited so that the cubic increases.
    first, last = (jnp.minimum(width / (slopes[i] * spacing), 3.0) for i in (cell, cell + 1))
    rest = 1.0 - fraction
    cubic = fraction * fraction * (3.0 - 2.0 * fraction) + fraction * rest * (first * rest - last * fraction)
    logits = low + spacing * cubic
    found, slope = generator.quantile(logits, z), generator.quantile_slope(logits, z)
    logits = jnp.clip(logits - (found - values) / slope, low, low + spacing)
    logits = jnp.where(values < quantiles[0], -jnp.inf, logits)
    return jnp.where(values > quantiles[-1], jnp.inf, logits)


def _log_density(values: Array, z: Array) -> Array:
    logits = _logits_or_infinity(values, z)
    inside = jnp.isfinite(logits)
    usable = jnp.where(inside, logits, 0.0)
    log_mass = jax.nn.log_sigmoid(usable) + jax.nn.log_sigmoid(-usable)
    return jnp.where(inside, log_mass - jnp.log(generator.quantile_slope(usable, z)), -jnp.inf)


def _log_difference(low: Array, high: Array) -> Array:
    """Log of 1/(1 + e^-high) - 1/(1 + e^-low), minus infinity unless high > low; either may be infinite."""
    apart = high > low
    low, high = jnp.where(apart, low, 0.0), jnp.where(apart, high, 1.0)
    difference = jax.nn.log_sigmoid(high) + jax.nn.log_sigmoid(-low) + jnp.log(-jnp.expm1(low - high))
    return jnp.where(apart, difference, -jnp.inf)


def _finite_or_impossible(log_terms: Array) -> Array:
    total = jnp.sum(log_terms)
    return jnp.where(jnp.isfinite(total), total, -jnp.inf)


def _convolution(data: np.ndarray, tolerance: float) -> tuple[Array, Array]:
    """Cell edges [cell + 1], and the mean over each cell of the normal density about each datum [data, cell]."""
    width = min(0.5 * tolerance, 0.04)
    low, high = data.min() - 7.0 * tolerance, data.max() + 7.0 * tolerance
    edges = jnp.linspace(low, high, int(np.ceil((high - low) / width)) + 1)
    scaled = (edges[None, :] - jnp.asarray(data)[:, None]) / tolerance
    return edges, jnp.diff(ndtr(scaled), axis=1) / (edges[1] - edges[0])
