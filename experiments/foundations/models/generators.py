"""Topic: simulators of stochastic equations, implicit curves, maps of inputs, and densities along fibres."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import optimize, special

from auxmc.models.input_maps import INPUT_MAPS, INPUTS
from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc_pipeline.error_rules import jackknife
from experiments.foundations.measurements import largest_size, lowest_point, power
from experiments.foundations.models.density_registry import DENSITIES
from experiments.foundations.models.fibre_integrals import (
    fibre_integral,
    hyperbola_branches,
    noisy_output_density,
)
from experiments.foundations.models.sde_simulators import Scheme, geometric_brownian_motion, simulate_sde
from experiments.foundations.topic import Arrays, Lines, Topic, Work

TOPIC = Topic()

# Geometric Brownian motion dy = y / 2 dt + y dn over unit time.
_GROWTH, _VOLATILITY = 0.5, 1.0
_LEVELS = tuple(2**k for k in range(4, 10))
_N_PATHS = 10_000
_N_BATCHES = 20
_N_SHOWN_STEPS = 16
_SCHEMES: tuple[Scheme, ...] = ("milstein", "euler_maruyama")
_N_CURVE = 101


@TOPIC.claim("FN-GM-01", numbers=["Milstein", "Euler-Maruyama"])
def strong_orders(work: Work) -> Lines:
    """Slopes of the log of the mean error at the end over the log of the time step."""
    errors = work.once(_batch_errors)
    found = {}
    for index, name in enumerate(("Milstein", "Euler-Maruyama")):
        steps, batches = 1.0 / np.array(_LEVELS), errors[index]

        def slope(kept: IntegerArray, steps: FloatArray = steps, batches: FloatArray = batches) -> float:
            return power(steps, batches[:, kept].mean(axis=1))

        found[name] = jackknife(slope, _N_BATCHES)
    return found


def _batch_errors(work: Work) -> FloatArray:
    """Mean over the paths of a batch of the error at the end [scheme, level, batch], all levels on the same paths."""
    n_paths = work.replicates(_N_PATHS, least=1000)
    noise = work.rng("paths").normal(size=(n_paths, max(_LEVELS)))
    errors = np.empty((len(_SCHEMES), len(_LEVELS), _N_BATCHES))
    for level, n_steps in enumerate(_LEVELS):
        fraction = max(_LEVELS) // n_steps
        coarse = noise.reshape(n_paths, n_steps, fraction).sum(axis=2) / math.sqrt(fraction)
        ends = np.asarray(_ends(jnp.asarray(coarse)))
        for index in range(len(_SCHEMES)):
            size = np.abs(ends[index + 1] - ends[0])
            errors[index, level] = [part.mean() for part in np.array_split(size, _N_BATCHES)]
    return errors


@jax.jit
def _ends(noise: Array) -> Array:
    """Exact ends and those of both schemes [method, path] for noise [path, step]."""
    paths = jax.vmap(_methods)(noise[:, :, None])
    return paths[:, :, -1, 0].T


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
    schemes = {"fig_1_5_scheme": list(_SCHEMES)}
    times = {"fig_1_5_time": np.arange(_N_SHOWN_STEPS + 1) / _N_SHOWN_STEPS}
    shown = np.concatenate([np.ones((2, 1)), path[1:]], axis=1)
    exact = np.concatenate([[1.0], np.asarray(fine)[:, 0]])
    along = {**schemes, "fig_1_5_step": 1.0 / np.array(_LEVELS)}
    return {
        "fig_1_5_error": xr.DataArray(errors.mean(axis=2), along),
        "fig_1_5_error_error": xr.DataArray(errors.std(axis=2, ddof=1) / math.sqrt(_N_BATCHES), along),
        "fig_1_5_path": xr.DataArray(shown, {**schemes, **times}),
        "fig_1_5_exact_path": xr.DataArray(
            exact, {"fig_1_5_fine_time": np.linspace(0.0, 1.0, max(_LEVELS) + 1)}
        ),
    }


@TOPIC.claim("FN-GM-02")
def implicit_curve(work: Work) -> Lines:
    """Where x1 x2 / ((1 + e^x1)(1 + e^x2)) is 1."""
    top = -lowest_point(lambda x: -_factor(x), 0.0, 5.0, 1e-12)[1]
    return {"largest product of two positive factors": top**2}


def _factor(x: float | FloatArray) -> float | FloatArray:
    """x / (1 + e^x)."""
    return x / (1.0 + np.exp(x))


def _root(level: float) -> float:
    """The negative x with factor `level`; the factor rises from minus infinity to 0 there."""
    return float(optimize.brentq(lambda x: float(_factor(x)) - level, -50.0, 0.0, xtol=1e-15, rtol=1e-15))


def _partner(x1: float) -> float:
    return _root(1.0 / float(_factor(x1)))


def _curve_of_figure() -> tuple[FloatArray, FloatArray]:
    """Points of the curve in [-5, 0]^2, as in figure 1.6 from x1 = -5 to its mirror image."""
    x1 = np.linspace(-5.0, _partner(-5.0), _N_CURVE)
    return x1, np.array([_partner(float(x)) for x in x1])


@TOPIC.figure("fig_1_6")
def implicit_curves(work: Work) -> Arrays:
    """Figure 1.6."""
    x1, x2 = _curve_of_figure()
    return {"fig_1_6_x2": xr.DataArray(x2, {"fig_1_6_x1": x1})}


@TOPIC.claim("FN-GM-03")
def input_maps(work: Work) -> Lines:
    """Distributions of mapped inputs, and variances of the inputs by sums over equal steps."""
    u = jnp.linspace(-7.0, 7.0, 281)
    found = {}
    for name, mapped in INPUT_MAPS.items():
        family = DENSITIES[name]
        values = [float(np.asarray(family.parameters[p].example)) for p in mapped.parameters]
        reached = family.example().cdf(np.asarray(mapped.forward(u, *values)))
        wanted = np.asarray(INPUTS[mapped.source].cdf(u))
        difference = reached - wanted if mapped.increasing else reached + wanted - 1.0
        found[f"{name}, error of the distribution function"] = largest_size(difference)
    grid = np.linspace(-60.0, 60.0, 4801)
    for name, distribution in INPUTS.items():
        density = np.exp(np.asarray(distribution.log_density(jnp.asarray(grid))))
        found[f"{name} input, variance"] = (np.square(grid) * density).sum() * (grid[1] - grid[0])
    return found


@TOPIC.claim(
    "FN-GM-05",
    numbers=[
        "density at 1",
        "mean of u1 squared",
        "mean size of u1",
        "mean of u1",
        "density with noise 0.5",
        "density with noise 0.01",
    ],
)
def fibre_densities(work: Work) -> Lines:
    """Density of u1^2 - u2^2 at 1, moments given it, and the density with noise added."""

    def density_at(x: float) -> float:
        return _on_fibre(x, lambda u: np.ones(len(u)))

    def noisy(scale: float) -> float:
        return noisy_output_density(density_at, 1.0, scale, singularities=[0.0])

    density = density_at(1.0)
    return {
        "density at 1 less the known one": density - float(special.k0(0.5)) / (2.0 * math.pi),
        "density at 1": density,
        "mean of u1 squared": _on_fibre(1.0, lambda u: u[:, 0] ** 2) / density,
        "mean size of u1": _on_fibre(1.0, lambda u: np.abs(u[:, 0])) / density,
        "mean of u1": _on_fibre(1.0, lambda u: u[:, 0]) / density,
        "density with noise 0.5": noisy(0.5),
        "density with noise 0.01": noisy(0.01),
    }


def _on_fibre(output: float, function: Callable[[FloatArray], FloatArray]) -> float:
    return fibre_integral(function, lambda u: 2.0 * np.linalg.norm(u, axis=1), hyperbola_branches(output))


@TOPIC.claim("FN-GM-06")
def metric(work: Work) -> Lines:
    """J^T J / eps^2 + I against the second derivatives of the potential, at points of the fibre."""
    points = np.concatenate([branch.points(np.linspace(-2.0, 2.0, 41)) for branch in hyperbola_branches(1.0)])

    def generator(u: Array) -> Array:
        return u[0] ** 2 - u[1] ** 2

    def error(scale: float) -> float:
        def potential(u: Array) -> Array:
            return 0.5 * jnp.sum(jnp.square(u)) + jnp.square(generator(u) - 1.0) / (2.0 * scale**2)

        hessians = np.asarray(jax.jit(jax.vmap(jax.hessian(potential)))(jnp.asarray(points)))
        slopes = np.asarray(jax.jit(jax.vmap(jax.grad(generator)))(jnp.asarray(points)))
        return largest_size(hessians - (slopes[:, :, None] * slopes[:, None, :] / scale**2 + np.eye(2)))

    return {"noise 1": error(1.0), "noise 0.5": error(0.5)}
