"""Simulators of stochastic equations, implicit curves, inputs, and densities along fibres."""

import math
from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import optimize, special

from auxmc.models.input_maps import INPUTS
from auxmc.numerics.array_types import FloatArray
from experiments.foundations.topic import Arrays, Lines, Topic, Work

Scheme = Literal["euler_maruyama", "milstein"]

Field = Callable[[Array], Array]


def simulate_sde(
    drift: Field, diffusion: Field, start: Array, noise: Array, time_step: Array | float, scheme: Scheme
) -> Array:
    """States [step, dim] after a first one [dim], driven by standard normal noise [step, dim].

    See PhD thesis, figure 1.5a. Component i of the diffusion may depend on component i of the state only.
    """
    h = jnp.asarray(time_step)

    def step(y: Array, n: Array) -> tuple[Array, Array]:
        if scheme == "milstein":
            # Diagonal noise: along a vector of ones the derivative is that of each component by its own.
            s, slope = jax.jvp(diffusion, (y,), (jnp.ones_like(y),))
            correction = 0.5 * h * s * slope * (jnp.square(n) - 1.0)
        else:
            s, correction = diffusion(y), jnp.zeros_like(y)
        new = y + h * drift(y) + jnp.sqrt(h) * s * n + correction
        return new, new

    return jax.lax.scan(step, start, noise)[1]


def geometric_brownian_motion(
    start: Array, growth: float, volatility: float, noise: Array, time_step: Array | float
) -> Array:
    """Exact states [step, dim] of dy = growth y dt + volatility y dn, driven by the noise of `simulate_sde`."""
    h = jnp.asarray(time_step)
    times = h * jnp.arange(1, noise.shape[0] + 1, dtype=noise.dtype)
    path = jnp.sqrt(h) * jnp.cumsum(noise, axis=0)
    return start[None, :] * jnp.exp((growth - 0.5 * volatility**2) * times[:, None] + volatility * path)


def hyperbola(sign: float, t: FloatArray) -> FloatArray:
    """Points (+-cosh t, sinh t) of a branch of u1^2 - u2^2 = 1 [point, 2]."""
    return np.stack([sign * np.cosh(t), np.sinh(t)], axis=1)


Function = Callable[[FloatArray], FloatArray]  # maps inputs [point, 2] to values [point]


def fibre_integral(function: Function) -> float:
    """Integral of a function over the fibre of u1^2 - u2^2 at 1 (PhD thesis, Propositions 4.1 and 4.2).

    The function is multiplied by the normal density and divided by the gradient's norm. Trapezoidal sums
    converge fast.
    """
    # At the ends exp(-cosh(2t) / 2) is below exp(-60) of its value at 0.
    end = 0.5 * math.acosh(121.0)
    t = np.linspace(-end, end, 401)
    # The derivative of the point by t has the length root(cosh 2t).
    speed, points = np.sqrt(np.cosh(2.0 * t)), (hyperbola(1.0, t), hyperbola(-1.0, t))
    return sum(_integral(function, u, speed, 2.0 * np.linalg.norm(u, axis=1), t[1] - t[0]) for u in points)


def ellipse_integral(function: Function) -> float:
    """Integral over the fibre of sqrt(u1^2 + 4 u2^2) at 1, a Lipschitz map, as in `fibre_integral`."""
    t = np.arange(64) * (2.0 * math.pi / 64)
    u = np.stack([np.cos(t), 0.5 * np.sin(t)], axis=1)
    # The output is 1, so that its gradient is (u1, 4 u2).
    speed, slope = np.hypot(np.sin(t), 0.5 * np.cos(t)), np.hypot(u[:, 0], 4.0 * u[:, 1])
    return _integral(function, u, speed, slope, t[1])


def _integral(function: Function, u: FloatArray, speed: FloatArray, slope: FloatArray, step: float) -> float:
    density = np.exp(-0.5 * np.sum(u**2, axis=1)) / (2.0 * math.pi)
    return float((function(u) * density * speed / slope).sum() * step)


TOPIC = Topic()

_GROWTH, _VOLATILITY = 0.5, 1.0  # Geometric Brownian motion dy = y / 2 dt + y dn over unit time.
_LEVELS = tuple(2**k for k in range(4, 10))
_N_PATHS = 10_000
_N_BATCHES = 20
_N_SHOWN_STEPS = 16
_SCHEMES: tuple[Scheme, ...] = ("milstein", "euler_maruyama")


def _batch_errors(work: Work) -> FloatArray:
    """Mean over the paths of a batch of the error at the end [scheme, level, batch], all levels on the same paths."""
    n_paths = work.replicates(_N_PATHS, least=1000)
    noise = work.rng("paths").normal(size=(n_paths, max(_LEVELS)))
    errors = np.empty((len(_SCHEMES), len(_LEVELS), _N_BATCHES))
    # Ends of the exact solution and of both schemes [method, path].
    find_ends = jax.jit(lambda noise: jax.vmap(_methods)(noise[:, :, None])[:, :, -1, 0].T)
    for level, n_steps in enumerate(_LEVELS):
        fraction = max(_LEVELS) // n_steps
        coarse = noise.reshape(n_paths, n_steps, fraction).sum(axis=2) / math.sqrt(fraction)
        ends = np.asarray(find_ends(jnp.asarray(coarse)))
        for index in range(len(_SCHEMES)):
            size = np.abs(ends[index + 1] - ends[0])
            errors[index, level] = [part.mean() for part in np.array_split(size, _N_BATCHES)]
    return errors


def _methods(noise: Array) -> Array:
    """Paths of the exact solution and of both schemes [method, step, 1] for noise [step, 1]."""
    start, step = jnp.ones(1), 1.0 / noise.shape[0]
    exact = geometric_brownian_motion(start, _GROWTH, _VOLATILITY, noise, step)
    schemes = [
        simulate_sde(lambda y: _GROWTH * y, lambda y: _VOLATILITY * y, start, noise, step, scheme)
        for scheme in _SCHEMES
    ]
    return jnp.stack([exact, *schemes])


@TOPIC.figure("fig_1_5")
def simulator_curves(work: Work) -> Arrays:
    """Figure 1.5: errors over time steps, and one path."""
    errors = work.once(_batch_errors)
    noise = work.rng("shown path").normal(size=(max(_LEVELS), 1))
    coarse = noise.reshape(_N_SHOWN_STEPS, -1, 1).sum(axis=1) * math.sqrt(_N_SHOWN_STEPS / max(_LEVELS))
    path = np.asarray(jax.jit(_methods)(jnp.asarray(coarse)))[:, :, 0]
    start, step = jnp.ones(1), 1.0 / max(_LEVELS)
    fine = geometric_brownian_motion(start, _GROWTH, _VOLATILITY, jnp.asarray(noise), step)
    schemes = {"scheme": list(_SCHEMES)}
    times = {"time": np.arange(_N_SHOWN_STEPS + 1) / _N_SHOWN_STEPS}
    shown = np.concatenate([np.ones((2, 1)), path[1:]], axis=1)
    exact = np.concatenate([[1.0], np.asarray(fine)[:, 0]])
    along = {**schemes, "step": 1.0 / np.array(_LEVELS)}
    return {
        "error": xr.DataArray(errors.mean(axis=2), along),
        "error_error": xr.DataArray(errors.std(axis=2, ddof=1) / math.sqrt(_N_BATCHES), along),
        "path": xr.DataArray(shown, {**schemes, **times}),
        "exact_path": xr.DataArray(exact, {"fine_time": np.linspace(0.0, 1.0, max(_LEVELS) + 1)}),
    }


def _factor(x: float | FloatArray) -> float | FloatArray:
    return x / (1.0 + np.exp(x))


def _partner(x1: float) -> float:
    """The negative x2 for which the output is 1; the factor rises from minus infinity to 0 there."""
    level = 1.0 / float(_factor(x1))
    return float(optimize.brentq(lambda x: float(_factor(x)) - level, -50.0, 0.0, xtol=1e-15, rtol=1e-15))


@TOPIC.figure("fig_1_6")
def implicit_curves(work: Work) -> Arrays:
    """Figure 1.6: points of the curve in [-5, 0]^2, from x1 = -5 to its mirror image."""
    x1 = np.linspace(-5.0, _partner(-5.0), 101)
    return {"x2": xr.DataArray([_partner(float(x)) for x in x1], {"x1": x1})}


@TOPIC.claim("FN-GM-03")
def input_maps(work: Work) -> Lines:
    """Variances of the inputs by sums over equal steps."""
    found = {}
    grid = np.linspace(-60.0, 60.0, 4801)
    for name in ("logistic", "inverse cosh"):
        distribution = INPUTS[name]
        density = np.exp(np.asarray(distribution.log_density(jnp.asarray(grid))))
        found[f"{name} input, variance"] = (np.square(grid) * density).sum() * (grid[1] - grid[0])
    return found


@TOPIC.claim("FN-GM-05", numbers=["mean size of u1", "mean of u1"])
def fibre_densities(work: Work) -> Lines:
    """Densities of u1^2 - u2^2 and of sqrt(u1^2 + 4 u2^2) at 1, and moments given them."""
    density, of_ellipse = (over(lambda u: np.ones(len(u))) for over in (fibre_integral, ellipse_integral))
    square, square_of_ellipse = (over(lambda u: u[:, 0] ** 2) for over in (fibre_integral, ellipse_integral))
    # Their closed forms, by Bessel functions.
    (k0, k1), (i0, i1) = special.kn([0, 1], 0.5), special.iv([0, 1], 3.0 / 16.0)
    return {
        "density at 1 less the known one": density - k0 / (2.0 * math.pi),
        "mean of u1 squared at 1 less the known one": square / density - 0.5 * (1.0 + k1 / k0),
        "mean size of u1": fibre_integral(lambda u: np.abs(u[:, 0])) / density,
        "mean of u1": fibre_integral(lambda u: u[:, 0]) / density,
        "Lipschitz map, density at 1 less the known one": of_ellipse - 0.5 * math.exp(-5.0 / 16.0) * i0,
        "Lipschitz map, mean of u1 squared at 1 less the known one": (
            square_of_ellipse / of_ellipse - 0.5 * (1.0 - i1 / i0)
        ),
    }
