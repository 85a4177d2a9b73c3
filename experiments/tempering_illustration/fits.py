"""Appendix C: Laplace approximation, Renyi divergences and bounds, and two estimates of a gradient."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.approximations.advi import MeanField, reparameterisation_gradient, score_function_gradient
from auxmc.approximations.laplace_density import LaplaceDensity, laplace_density
from auxmc.approximations.renyi import (
    GaussianFit,
    fit_gaussian,
    gaussian_log_density,
    renyi_bound,
    renyi_divergence,
)
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.random import standard_normal
from experiments.tempering_illustration.model import NARROW_AND_BROAD

PUBLISHED_HALF, PUBLISHED_EXCLUSIVE = (0.193701, 2.652223), (1.0615, 2.16578)
"""Means and standard deviations of the Gaussians that are drawn in figures C.2b and C.2c."""

_SKEW = 0.4
_GRID = np.linspace(-40.0, 40.0, 16_001)
_STARTS = ((0.0, 3.0), (1.2, 2.0), (-4.8, 0.25))
_ORDERS = np.round(np.arange(0.1, 0.95, 0.1), 10)
_BOUND_ORDERS = np.round(np.arange(-1.0, 1.21, 0.1), 10)
# Mean and standard deviation of the Gaussian whose bounds are drawn; above the order 4/3 they are infinite.
_BOUND_FIT = (0.5, 4.0)
_CHUNK = 1000


def log_skew_density(x: Array) -> Array:
    """Log of the generalised logistic density a exp(-a x) / (1 + exp(-x))^(a + 1), a = 0.4 (thesis, figure C.1)."""
    return jnp.log(_SKEW) - _SKEW * x - (_SKEW + 1.0) * jax.nn.softplus(-x)


def fit_groups(n_gradient_draws: int, gradient_dim: int, key: Array) -> tuple[xr.Dataset, xr.Dataset]:
    """Statistics and curves of the appendix; variances of gradients are compared in `gradient_dim`."""
    laplace = laplace_density(lambda x: log_skew_density(x)[0], [0.0])
    log_p = np.asarray(jax.jit(NARROW_AND_BROAD.log_density)(_GRID))
    objectives = {
        "KL(p, q)": lambda log_q: renyi_divergence(_GRID, log_p, log_q, 1.0),
        "Renyi 1/2": lambda log_q: renyi_divergence(_GRID, log_p, log_q, 0.5),
        "KL(q, p)": lambda log_q: renyi_divergence(_GRID, log_q, log_p, 1.0),
    }
    fits = {name: fit_gaussian(_GRID, objective, _STARTS) for name, objective in objectives.items()}
    half, exclusive = (gaussian_log_density(_GRID, *fit) for fit in (PUBLISHED_HALF, PUBLISHED_EXCLUSIVE))
    log_q = gaussian_log_density(_GRID, *_BOUND_FIT)
    bounds = np.array([renyi_bound(_GRID, log_p, log_q, order) for order in _BOUND_ORDERS])
    # Log density of the Gaussian minus that of the target, far from the mode.
    tails, mode, sd = (-8.0, 8.0), float(laplace.mode[0]), float(np.sqrt(laplace.covariance[0, 0]))
    tail_errors = [
        float(gaussian_log_density(x, mode, sd)) - float(log_skew_density(jnp.asarray(x))) for x in tails
    ]
    nats = {"units": "nats"}
    variables: dict[str, Any] = {
        "laplace_tail_error": ("tail", tail_errors, nats),
        "fit_mean": ("fit", [fit.mean for fit in fits.values()]),
        "fit_sd": ("fit", [fit.sd for fit in fits.values()]),
        "fit_objective": ("fit", [fit.objective for fit in fits.values()], nats),
        "fit_n_minima": ("fit", [1 + len(fit.local) for fit in fits.values()]),
        "published_half_objective": ((), renyi_divergence(_GRID, log_p, half, 0.5), nats),
        "published_exclusive_objective": ((), renyi_divergence(_GRID, exclusive, log_p, 1.0), nats),
        **_identity_errors(log_p, log_q, bounds),
    }
    statistics = xr.Dataset(variables, coords={"tail": list(tails), "fit": list(fits)})
    statistics = statistics.merge(_gradients(n_gradient_draws, gradient_dim, key))
    return statistics, _curves(laplace, log_p, fits, bounds)


def _identity_errors(log_p: FloatArray, log_q: FloatArray, bounds: FloatArray) -> dict[str, Any]:
    """Skew symmetry for orders of both signs, and the bounds of a fixed Gaussian over orders."""
    skew = [
        abs(
            renyi_divergence(_GRID, log_p, log_q, order)
            - order / (1.0 - order) * renyi_divergence(_GRID, log_q, log_p, 1.0 - order)
        )
        for order in _ORDERS
    ]
    # The bound is minus the divergence of q from p, which equation C.14 also has for negative orders.
    negative = [
        abs(-bound - order / (1.0 - order) * renyi_divergence(_GRID, log_p, log_q, 1.0 - order))
        for order, bound in zip(_BOUND_ORDERS.tolist(), bounds, strict=True)
        if order < 0.0
    ]
    # log Z is 0; the bound at order 0 is log Z itself.
    below, above = bounds[_BOUND_ORDERS > 0.0].max(), bounds[_BOUND_ORDERS < 0.0].min()
    near = renyi_bound(_GRID, log_p, log_q, 1.0 + 1e-6)
    limit = abs(near - renyi_bound(_GRID, log_p, log_q, 1.0))
    return {
        "skew_symmetry_error": ((), max(skew), {"units": "nats"}),
        "negative_symmetry_error": ((), max(negative), {"units": "nats"}),
        "bound_positive_orders": ((), below, {"units": "nats"}),
        "bound_negative_orders": ((), above, {"units": "nats"}),
        "bound_limit_error": ((), limit, {"units": "nats"}),
        "bound_zero_order": ((), abs(renyi_bound(_GRID, log_p, log_q, 0.0)), {"units": "nats"}),
    }


def _gradients(n_draws: int, dim: int, key: Array) -> xr.Dataset:
    """Both estimates of the gradient of the lower bound against differences, and the ratio of their variances."""

    def log_density(position: Array) -> Array:
        return jnp.sum(log_skew_density(position))

    n_chunks = max(1, n_draws // _CHUNK)

    def of_chunks(measure: Callable[[Array], Array], fit: MeanField, key: Array) -> Array:
        """A measure of the noise [draw, coordinate] of each chunk [chunk, ...]."""

        def of_chunk(index: Array) -> Array:
            return measure(standard_normal(jax.random.fold_in(key, index), (_CHUNK, fit.mean.size)))

        return jax.lax.map(of_chunk, jnp.arange(n_chunks, dtype=jnp.uint32))

    def moments(fit: MeanField, key: Array) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Means and variances [estimate, coordinate of the gradient], and sums of variances [chunk, estimate]."""

        def both(one: Array) -> Array:
            makers = (reparameterisation_gradient, score_function_gradient)
            return jnp.stack([jnp.concatenate(make(log_density, fit, one)) for make in makers])

        drawn = of_chunks(jax.vmap(both), fit, key)
        by_chunk = jnp.var(drawn, axis=1, ddof=1).sum(axis=-1)
        drawn = drawn.reshape(n_chunks * _CHUNK, 2, -1)
        return jnp.mean(drawn, axis=0), jnp.var(drawn, axis=0, ddof=1), by_chunk  # type: ignore[return-value]

    def reduced(fit: MeanField, key: Array) -> Array:
        """Sums of variances [chunk] by the score with Rao-Blackwellisation and control variates.

        The draws are those of the other estimators. Both densities are products over coordinates: each has
        its own signal, and its score as control variate.
        """

        def of_noise(noise: Array) -> Array:
            log_q = -0.5 * noise**2 - 0.5 * jnp.log(2.0 * jnp.pi) - fit.log_sd
            signal = log_skew_density(fit.mean + jnp.exp(fit.log_sd) * noise) - log_q
            scores = jnp.stack([noise * jnp.exp(-fit.log_sd), noise**2 - 1.0])
            estimates = scores * signal
            centred = [each - each.mean(axis=1, keepdims=True) for each in (estimates, scores)]
            best = jnp.sum(centred[0] * centred[1], axis=1) / jnp.sum(centred[1] ** 2, axis=1)
            return jnp.var(estimates - best[:, None] * scores, axis=1, ddof=1).sum()

        return of_chunks(of_noise, fit, key)

    program = jax.jit(moments)
    one = MeanField(jnp.array([0.5]), jnp.log(jnp.array([1.5])))
    mean, variance, of_one = (np.asarray(values) for values in program(one, jax.random.fold_in(key, 0)))
    n_made = n_chunks * _CHUNK
    many = MeanField(jnp.zeros(dim), jnp.zeros(dim))
    of_many = np.asarray(program(many, jax.random.fold_in(key, 1))[2])
    variables: dict[str, Any] = {
        "gradient_error": (("estimate", "parameter"), mean - _differences(one)),
        "gradient_standard_error": (("estimate", "parameter"), np.sqrt(variance / n_made)),
        "gradient_variance_one": (("chunk", "estimate"), of_one),
        "gradient_variance_many": (("chunk", "estimate"), of_many),
        "reduced_variance_one": ("chunk", np.asarray(jax.jit(reduced)(one, jax.random.fold_in(key, 0)))),
        "reduced_variance_many": ("chunk", np.asarray(jax.jit(reduced)(many, jax.random.fold_in(key, 1)))),
        "n_gradient_draws_made": ((), n_made, {"units": "draws"}),
    }
    coords = {"estimate": ["reparameterisation", "score function"], "parameter": ["mean", "log sd"]}
    return xr.Dataset(variables, coords=coords)


def _differences(fit: MeanField) -> FloatArray:
    """Gradient of the lower bound by quadrature and central differences [mean, log sd]."""
    log_p = np.asarray(log_skew_density(jnp.asarray(_GRID)))
    mean, log_sd, step = float(fit.mean[0]), float(fit.log_sd[0]), 1e-4

    def bound(m: float, s: float) -> float:
        return renyi_bound(_GRID, log_p, gaussian_log_density(_GRID, m, float(np.exp(s))), 1.0)

    return np.array(
        [
            (bound(mean + step, log_sd) - bound(mean - step, log_sd)) / (2.0 * step),
            (bound(mean, log_sd + step) - bound(mean, log_sd - step)) / (2.0 * step),
        ]
    )


def _curves(
    laplace: LaplaceDensity, log_p: FloatArray, fits: dict[str, GaussianFit], bounds: FloatArray
) -> xr.Dataset:
    skew_x = np.linspace(-10.0, 10.0, 401)
    mixture_x = np.linspace(-8.0, 8.0, 400)
    sd = float(np.sqrt(laplace.covariance[0, 0]))
    mixture = np.asarray(jax.jit(NARROW_AND_BROAD.log_density)(mixture_x))
    objectives = (
        lambda log_q, order=order: renyi_divergence(_GRID, log_p, log_q, order) for order in _ORDERS.tolist()
    )
    # From the broad minimum on, which is the lower one.
    by_order = [fit_gaussian(_GRID, objective, _STARTS[:1]) for objective in objectives]
    densities = [np.exp(gaussian_log_density(mixture_x, fit.mean, fit.sd)) for fit in fits.values()]
    variables: dict[str, Any] = {
        "skew_log_density": ("skew_x", np.asarray(log_skew_density(jnp.asarray(skew_x)))),
        "laplace_log_density_curve": ("skew_x", gaussian_log_density(skew_x, float(laplace.mode[0]), sd)),
        "mixture_density": ("mixture_x", np.exp(mixture)),
        "fit_density": (("fit", "mixture_x"), densities),
        "published_half_density": ("mixture_x", np.exp(gaussian_log_density(mixture_x, *PUBLISHED_HALF))),
        "sd_by_order": ("order", [fit.sd for fit in by_order]),
        "mean_by_order": ("order", [fit.mean for fit in by_order]),
        "bound_by_order": ("bound_order", bounds),
    }
    coords = {
        "skew_x": skew_x,
        "mixture_x": mixture_x,
        "fit": list(fits),
        "order": _ORDERS,
        "bound_order": _BOUND_ORDERS,
    }
    return xr.Dataset(variables, coords=coords)
