"""Claims on Markov kernels: involutions, Metropolis acceptance, shells of mass, Gibbs samplers on ellipses."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy import special as special_jax
from scipy import integrate, special, stats

from auxmc.kernels.metropolis.gibbs import GibbsNoise, GibbsState, gaussian_blocks, gibbs, systematic_scan
from auxmc.kernels.metropolis.involution import InvolutionNoise, involution_metropolis
from auxmc.kernels.metropolis.metropolis import MetropolisState, RandomWalkNoise, random_walk_metropolis
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.error_rules import (
    distance_from_exact,
    fraction_of_replicates,
    fraction_of_trials,
    mean_over_replicates,
    spread_over_replicates,
)
from experiments.foundations.chains.inputs import correlated, log_uniforms, mixture_density
from experiments.foundations.chains.markov_curves import PROPOSAL_SDS, SHELL_DIMENSIONS, START
from experiments.foundations.measurements import lowest_point, points_of_cube
from experiments.foundations.topic import Found, Lines, Topic, Work
from experiments.tempering_illustration.model.scalar_mixture import NARROW_LEFT

TOPIC = Topic()

_N_GRID = 200_001
_GAMMA_SHAPE = 3.0
_WALK_SDS = (1.0, 2.38, 5.0)
_LOG_CONSTANTS = (-1000.0, -1.0, 0.0, 1.0, 1000.0)


@TOPIC.claim("FN-MK-01")
def involution_orbits(work: Work) -> Lines:
    """The involution x -> 1 / x on a gamma law, from exact draws."""
    kernel = involution_metropolis(lambda x: (_GAMMA_SHAPE - 1.0) * jnp.log(x[0]) - x[0], lambda x: 1.0 / x)
    n_chains, n_steps, rng = work.replicates(100_000, 10_000), 20, work.rng("involution")
    noise = InvolutionNoise(jnp.asarray(log_uniforms(rng, (n_chains, n_steps))))

    def chain(noise: InvolutionNoise, start: Array) -> Array:
        def step(state: MetropolisState, noise: InvolutionNoise) -> tuple[MetropolisState, Array]:
            new, _ = kernel.apply(noise, state)
            return new, new.position[0]

        return jax.lax.scan(step, kernel.init(jax.random.key(0), start), noise)[1]

    starts = jnp.asarray(rng.gamma(_GAMMA_SHAPE, size=(n_chains, 1)))
    paths = np.log(np.asarray(jax.jit(jax.vmap(chain))(noise, starts)))
    # The image of the image may differ from the point in its last bit: values 1e-9 apart count as one.
    distinct = 1 + np.sum(np.diff(np.sort(paths, axis=1), axis=1) > 1e-9, axis=1)
    away = distance_from_exact(paths[:, 0], float(special.digamma(_GAMMA_SHAPE)))
    return {
        "share of chains that visit more than two states": fraction_of_replicates(distinct > 2),
        "one step from exact draws, mean of the log, distance in standard errors": away,
    }


@TOPIC.claim("FN-MH-01")
def acceptance_in_the_figure(work: Work) -> Lines:
    """Accepted share of the proposals of figure 2.7, by quadrature."""
    narrow, wide = (_accepted_mass(sd, -math.inf) for sd in PROPOSAL_SDS)
    return {"proposal sd 0.3": narrow, "proposal sd 0.5": wide, "narrow less wide": narrow - wide}


@TOPIC.claim("FN-MH-02")
def crossings_in_the_figure(work: Work) -> Lines:
    """Accepted moves beyond the dip between the modes."""
    dip, _ = lowest_point(lambda x: mixture_density(NARROW_LEFT, x), -0.3, 0.3, 1e-10)
    narrow, wide = (_accepted_mass(sd, dip) for sd in PROPOSAL_SDS)
    return {"proposal sd 0.3": narrow, "proposal sd 0.5": wide, "ratio": wide / narrow}


def _accepted_mass(sd: float, above: float) -> float:
    x = np.linspace(max(START - 12.0 * sd, above), START + 12.0 * sd, _N_GRID)
    accepted = np.minimum(mixture_density(NARROW_LEFT, x) / mixture_density(NARROW_LEFT, START), 1.0)
    return float(integrate.trapezoid(accepted * stats.norm.pdf(x, START, sd), x))


@TOPIC.claim("FN-MH-03")
def acceptance_of_random_walks(work: Work) -> Lines:
    """Stationary acceptance on N(0, 1), by quadrature over the step and from exact draws."""
    n, rng = work.replicates(100_000, 10_000), work.rng("walk")
    starts, normals = jnp.asarray(rng.normal(size=(2, n, 1)))
    log_uniform = jnp.asarray(log_uniforms(rng, (n,)))

    def accepted(scale: Array, start: Array, noise: RandomWalkNoise) -> Array:
        kernel = random_walk_metropolis(lambda x: -0.5 * jnp.sum(x**2), scale, 1)
        return kernel.apply(noise, kernel.init(jax.random.key(0), start))[1].acceptance_probability

    many = jax.jit(jax.vmap(jax.vmap(accepted, (None, 0, 0)), (0, None, None)))
    sampled = np.asarray(many(jnp.asarray(_WALK_SDS), starts, RandomWalkNoise(normals, log_uniform)))
    found: Found = {}
    for sd, values in zip(_WALK_SDS, sampled, strict=True):
        # Two points at a distance d under N(0, 1): the share that both densities cover is 2 Phi(-d / 2).
        exact = integrate.quad(
            lambda z, sd=sd: 4.0 * stats.norm.pdf(z) * special.ndtr(-0.5 * sd * z), 0.0, 40.0, epsabs=1e-12
        )[0]
        found[f"proposal sd {sd:g}"] = exact
        found[f"proposal sd {sd:g}, simulated, distance in standard errors"] = distance_from_exact(
            values, exact
        )
    return found


@TOPIC.claim("FN-MH-04")
def constants_in_the_target(work: Work) -> Lines:
    """The same numbers on targets that differ by a constant."""
    numbers = jnp.asarray(points_of_cube(work.replicates(100_000, 2000), 2))
    noise = RandomWalkNoise(special_jax.ndtri(numbers[:, :1]), jnp.log(numbers[:, 1]))

    def chain(constant: Array) -> tuple[Array, Array]:
        kernel = random_walk_metropolis(lambda x: constant + NARROW_LEFT.log_density(x)[0], 0.5, 1)

        def step(state: MetropolisState, noise: RandomWalkNoise) -> Any:
            new, info = kernel.apply(noise, state)
            return new, (jnp.log(info.acceptance_probability), info.accepted)

        return jax.lax.scan(step, kernel.init(jax.random.key(0), jnp.full(1, START)), noise)[1]

    log_accept, accepted = map(np.asarray, jax.jit(jax.vmap(chain))(jnp.asarray(_LOG_CONSTANTS)))
    return {
        "largest difference of log acceptance": np.ptp(log_accept, axis=0).max(),
        "decisions that differ": np.ptp(accepted.astype(int), axis=0).sum(),
    }


@TOPIC.claim("FN-CM-01")
def shells_of_mass(work: Work) -> Lines:
    """Distance of standard normal vectors from the origin."""
    found: Found = {}
    n = work.replicates(300_000, 4000)
    for dim in SHELL_DIMENSIONS:
        lengths = np.linalg.norm(work.rng("shells", dim).normal(size=(n, dim)), axis=1)
        found |= {
            f"mean, D = {dim}": mean_over_replicates(lengths),
            f"standard deviation, D = {dim}": spread_over_replicates(lengths),
            f"mass within 1 of the root of D, D = {dim}": fraction_of_replicates(
                np.abs(lengths - math.sqrt(dim)) < 1.0
            ),
            f"density at the mode, D = {dim}": _density(lengths, math.sqrt(dim - 1.0), 0.1),
        }
    return found


def _density(draws: FloatArray, place: float, width: float) -> Measurement:
    """Density of positive numbers at a place: share of the draws [draw] within a width, over the room there."""
    near = fraction_of_trials(float(np.mean(np.abs(draws - place) < width)), draws.size)
    room = width + min(width, place)
    return Measurement(near.value / room, near.error / room)


@TOPIC.claim("FN-GB-01")
def gibbs_on_the_ellipse(work: Work) -> Lines:
    """Autocorrelation time of sweeps on the ellipse of figure 2.9."""
    major, minor = 3.0, 1.0
    rho = (major**2 - minor**2) / (major**2 + minor**2)
    exact = _time_of_scan(rho, [(0, 1)], np.array([1.0, 0.0]))
    n_chains, n_sweeps, rng = work.replicates(1200, 20), 2000, work.rng("ellipse")
    kernel = gibbs(gaussian_blocks(np.zeros(2), correlated(rho)), systematic_scan((0, 1)))
    starts = jnp.asarray(rng.multivariate_normal(np.zeros(2), correlated(rho), n_chains))
    normals = jnp.asarray(rng.normal(size=(n_sweeps, n_chains, 2, 2)))
    order = jnp.arange(2, dtype=jnp.int32)

    def sweep(positions: Array, normals: Array) -> tuple[Array, Array]:
        noise = GibbsNoise(jnp.broadcast_to(order, (n_chains, 2)), normals)
        positions = jax.vmap(kernel.apply)(noise, GibbsState(positions))[0].position
        return positions, positions[:, 0]

    paths = np.asarray(jax.jit(lambda x, n: jax.lax.scan(sweep, x, n)[1])(starts, normals)).T
    times = [_sampled_time(group, 25) for group in np.array_split(paths, 20)]
    return {
        "autocorrelation time": exact,
        "autocorrelation time, simulated": mean_over_replicates(times),
        "effective share of draws": 1.0 / exact,
    }


@TOPIC.claim("FN-GB-02")
def gibbs_on_strong_correlation(work: Work) -> Lines:
    """The same with correlation 0.99, and for single updates of a random coordinate."""
    return {
        "sweep, first coordinate": _time_of_scan(0.99, [(0, 1)], np.array([1.0, 0.0])),
        "random update, sum of coordinates": _time_of_scan(0.99, [(0,), (1,)], np.ones(2)),
    }


def _time_of_scan(rho: float, orders: Sequence[Sequence[int]], along: FloatArray) -> float:
    """Autocorrelation time of a Gaussian Gibbs kernel along a vector, from the matrices of its mean moves.

    With equally likely orders whose moves have mean M x, lag k has covariance M^k C.
    """
    update = gaussian_blocks(np.zeros(2), correlated(rho))
    # An update is linear in the point: where it takes the unit vectors, its random numbers left out.
    singles = [
        np.stack([update.redraw(jnp.zeros(2), jnp.int32(i), unit) for unit in jnp.eye(2)], axis=1)
        for i in range(update.n_blocks)
    ]
    means = [functools.reduce(lambda done, i: singles[i] @ done, order, np.eye(2)) for order in orders]
    mean = np.mean(means, axis=0)
    covariance = correlated(rho)
    lags = mean @ np.linalg.solve(np.eye(2) - mean, covariance)
    return float(1.0 + 2.0 * (along @ lags @ along) / (along @ covariance @ along))


def _sampled_time(paths: FloatArray, window: int) -> float:
    """Autocorrelation time of chains [chain, step] of known mean 0, lags beyond the window left out."""
    products = [np.mean(paths[:, : paths.shape[1] - k] * paths[:, k:]) for k in range(window + 1)]
    return float(1.0 + 2.0 * np.sum(products[1:]) / products[0])
