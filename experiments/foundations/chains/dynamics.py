"""Claims on Hamiltonian and Langevin dynamics: figure 2.12, the integrator, rejections, momenta that persist."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy import special

from auxmc.kernels.hamiltonian.hmc import HMCNoise, HMCState, hamiltonian_monte_carlo, leapfrog
from auxmc.kernels.hamiltonian.langevin import LangevinNoise, metropolis_langevin
from auxmc.kernels.hamiltonian.persistent_hmc import PersistentNoise, PersistentState, persistent_hmc
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.error_rules import largest, mean_over_replicates, spread_over_replicates
from experiments.foundations.chains.dynamics_curves import (
    N_STEPS,
    STEP,
    drawn_paths,
    leapfrog_path,
    log_skewed_density,
)
from experiments.foundations.chains.inputs import log_uniforms, mixture_draws, mixture_mass_below
from experiments.foundations.measurements import largest_size, normal_points, power
from experiments.foundations.topic import Found, Lines, Topic, Work
from experiments.tempering_illustration.model.scalar_mixture import NARROW_LEFT

TOPIC = Topic()

_PERSISTENCE = 0.7
_N_ANGLES = 400_000


@TOPIC.claim("FN-HM-02")
def energies_of_trajectories(work: Work) -> Lines:
    """Acceptance probabilities of the two trajectories of figure 2.12."""
    first, second = (path.energy for path in work.once(drawn_paths))
    return {
        "first trajectory, acceptance probability": min(1.0, math.exp(first[0] - first[-1])),
        "second trajectory, acceptance probability": min(1.0, math.exp(second[0] - second[-1])),
    }


@TOPIC.claim("FN-HM-03")
def drawn_contours(work: Work) -> Lines:
    """The middle one of the drawn contours is that of the first energy, and both trajectories keep to theirs."""
    first, second = (path.energy for path in work.once(drawn_paths))
    return {
        "middle contour": first[0],
        "first trajectory, largest distance from its contour": largest_size(first - first[0]),
        "second trajectory, largest distance from its contour": largest_size(second - second[0]),
    }


@TOPIC.claim("FN-HM-05")
def integrator_geometry(work: Work) -> Lines:
    """Leapfrog leads back, keeps volume, and has an energy error of second order."""
    evaluate = jax.value_and_grad(log_skewed_density)
    phases = jnp.asarray(normal_points(200, 2) * np.array([3.0, 1.0]))

    def move(phase: Array, sign: float = 1.0) -> Array:
        start = HMCState(phase[:1], *evaluate(phase[:1]))
        end, momentum, _ = leapfrog(evaluate, start, sign * phase[1:], STEP, jnp.asarray(9, jnp.int32))
        return jnp.concatenate([end.position, sign * momentum])

    @jax.jit
    def checks(phases: Array) -> tuple[Array, Array]:
        back = jax.vmap(lambda phase: move(move(phase), -1.0))(phases)
        volume = jax.vmap(lambda phase: jnp.linalg.det(jax.jacfwd(move)(phase)))(phases)
        return jnp.max(jnp.abs(back - phases)), jnp.max(jnp.abs(jnp.abs(volume) - 1.0))

    away, volume = checks(phases)
    steps, errors = (0.5, 0.25, 0.125, 0.0625), []
    for step in steps:
        energy = leapfrog_path(log_skewed_density, (-1.8, 1.2), step, N_STEPS).energy[: round(4.5 / step) + 1]
        errors.append(largest_size(energy - energy[0]))
    return {
        "distance after the way back": away,
        "change of volume": volume,
        "order of the energy error": power(steps, errors),
    }


@TOPIC.claim("FN-HM-06")
def kinetic_spread(work: Work) -> Lines:
    """Mean and standard deviation of the kinetic energy of standard normal momenta."""
    found: Found = {}
    for dim in (1, 10, 100):
        momenta = work.rng("momenta", dim).normal(size=(work.replicates(100_000, 2000), dim))
        energies = 0.5 * np.sum(np.square(momenta), axis=1)
        found[f"mean over D, D = {dim}"] = mean_over_replicates(energies / dim)
    return {**found, "D = 100, as printed": spread_over_replicates(energies)}


@TOPIC.claim("FN-HM-09", numbers=["momentum not reversed"])
def persistent_momenta(work: Work) -> Lines:
    """Joint distribution of position and momentum after a step, with the momentum turned by rejections and without."""
    kernel = persistent_hmc(lambda x: NARROW_LEFT.log_density(x)[0], 0.35, 4, _PERSISTENCE, 1)
    n, rng = work.replicates(100_000, 50_000), work.rng("persistent")
    starts = jnp.asarray(mixture_draws(NARROW_LEFT, rng, n)[:, None])
    momenta, normals = jnp.asarray(rng.normal(size=(2, n, 1)))
    uniforms = jnp.asarray(log_uniforms(rng, (n,)))
    evaluate = jax.value_and_grad(lambda x: NARROW_LEFT.log_density(x)[0])

    @jax.jit
    def steps(sign: Array) -> tuple[Array, Array]:
        """Steps after which a rejected momentum is multiplied by a sign."""

        def step(start: Array, momentum: Array, normal: Array, uniform: Array) -> tuple[Array, Array]:
            state = PersistentState(start, momentum, *evaluate(start))
            new, info = kernel.apply(PersistentNoise(normal, uniform), state)
            return new.position[0], jnp.where(info.accepted, 1.0, sign) * new.momentum[0]

        return jax.vmap(step)(starts, momenta, normals, uniforms)

    one = jnp.ones(())
    return {
        "momentum reversed by rejections": _joint_distance(*steps(one)),
        "momentum not reversed": _joint_distance(*steps(-one)),
    }


def _joint_distance(positions: Array, momenta: Array) -> Measurement:
    """Largest distance from 0, in standard errors, of means of functions orthonormal under the joint distribution.

    Four Legendre polynomials each of the distribution functions of position and momentum, and products of two of each.
    """
    first = _legendre(mixture_mass_below(NARROW_LEFT, np.asarray(positions)))
    second = _legendre(special.ndtr(np.asarray(momenta)))
    joint = (first[:, :2, None] * second[:, None, :2]).reshape(len(first), -1)
    means = np.concatenate([first, second, joint], axis=1).mean(axis=0)
    # Each function has variance 1, so that a mean has the error 1 / root of n.
    scores = np.abs(means) * math.sqrt(len(first))
    return largest(scores, np.ones(scores.size), [f"function {i + 1}" for i in range(scores.size)])


def _legendre(uniforms: FloatArray) -> FloatArray:
    basis = np.polynomial.Legendre.basis
    return np.stack([math.sqrt(2.0 * k + 1.0) * basis(k)(2.0 * uniforms - 1.0) for k in range(1, 5)], axis=1)


@TOPIC.claim("FN-HM-07")
def one_leapfrog_step(work: Work) -> Lines:
    """Hamiltonian Monte Carlo with one step and Metropolis-adjusted Langevin, the same numbers."""
    size, n = 0.7, 500

    def log_density(x: Array) -> Array:
        return -jnp.sum(0.25 * x**4) - 0.3 * x[0] * x[1]

    hamiltonian = hamiltonian_monte_carlo(log_density, size, (1, 1), 2)
    langevin = metropolis_langevin(log_density, size, 2)
    starts, normals = jnp.split(jnp.asarray(normal_points(n, 4)), 2, axis=1)
    always, one = jnp.array(-jnp.inf), jnp.ones((), jnp.int32)

    @jax.jit
    @jax.vmap
    def both(normal: Array, start: Array) -> tuple[Array, Array]:
        end, info = hamiltonian.apply(
            HMCNoise(normal, one, always), hamiltonian.init(jax.random.key(0), start)
        )
        other, other_info = langevin.apply(
            LangevinNoise(normal, always), langevin.init(jax.random.key(0), start)
        )
        return info.energy_change + other_info.log_ratio, jnp.max(jnp.abs(end.position - other.position))

    acceptance, position = both(normals, starts)
    return {"log acceptance": jnp.max(jnp.abs(acceptance)), "proposed position": jnp.max(jnp.abs(position))}


@TOPIC.claim("FN-HM-11")
def vanishing_rejections(work: Work) -> Lines:
    """Stationary acceptance probability of Metropolis-adjusted Langevin on N(0, 1) with steps of 0.1.

    The energy error is a quadratic form of (position, noise). On a circle of radius r it is r^2 times that on the unit
    circle, so that the integral over r is 1 - 1 / (1 + 2 error) and one over the angle is left.
    """
    angles = 2.0 * math.pi * (np.arange(_N_ANGLES) + 0.5) / _N_ANGLES
    kernel = metropolis_langevin(lambda x: -0.5 * jnp.sum(x**2), 0.1, 1)

    def energy_error(position: Array, normal: Array) -> Array:
        noise = LangevinNoise(normal[None], jnp.zeros(()))
        return -kernel.apply(noise, kernel.init(jax.random.key(0), position[None]))[1].log_ratio

    circle = np.asarray(jax.jit(jax.vmap(energy_error))(np.cos(angles), np.sin(angles)))
    # Where the energy falls, nothing is rejected.
    rejected = float(np.mean(1.0 - 1.0 / (1.0 + 2.0 * np.maximum(circle, 0.0))))
    return {"step 0.1, acceptance probability": 1.0 - rejected}
