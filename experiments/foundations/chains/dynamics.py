"""Claims on Hamiltonian dynamics: figure 2.12, the integrator, its stability, and momenta that persist."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy import integrate, optimize, special

from auxmc.kernels.hamiltonian.hmc import HMCState, leapfrog
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
from experiments.foundations.shapes import log_skewed
from experiments.foundations.topic import Found, Lines, Topic, Work
from experiments.tempering_illustration.model.scalar_mixture import NARROW_LEFT

TOPIC = Topic()

_PERSISTENCE = 0.7


@TOPIC.claim("FN-HM-01")
def ends_of_trajectories(work: Work) -> Lines:
    """Where the two trajectories of figure 2.12 end."""
    found = {}
    for name, path in zip(("first", "second"), work.once(drawn_paths), strict=True):
        found[f"{name} trajectory, position"] = path.position[-1]
        found[f"{name} trajectory, momentum"] = path.momentum[-1]
    return found


@TOPIC.claim("FN-HM-02")
def energies_of_trajectories(work: Work) -> Lines:
    """Their energies and acceptance probabilities."""
    found = {}
    for name, path in zip(("first", "second"), work.once(drawn_paths), strict=True):
        energy = path.energy
        found[f"{name} trajectory, energy at the start"] = energy[0]
        found[f"{name} trajectory, energy at the end"] = energy[-1]
        found[f"{name} trajectory, acceptance probability"] = min(1.0, math.exp(energy[0] - energy[-1]))
    return found


@TOPIC.claim("FN-HM-03")
def drawn_contours(work: Work) -> Lines:
    """The middle one of the drawn contours is that of the first energy, and both trajectories keep to theirs."""
    first, second = (path.energy for path in work.once(drawn_paths))
    return {
        "middle contour": first[0],
        "first trajectory, largest distance from its contour": largest_size(first - first[0]),
        "second trajectory, largest distance from its contour": largest_size(second - second[0]),
    }


@TOPIC.claim("FN-HM-04")
def skewed_target(work: Work) -> Lines:
    """Facts of the density of figure 2.12, by quadrature."""

    def moment(power: int) -> float:
        def weighted(x: float) -> float:
            return x**power * math.exp(log_skewed(x))

        return sum(integrate.quad(weighted, *ends, epsabs=1e-12)[0] for ends in ((-50.0, 1.0), (1.0, 120.0)))

    mass, mean = moment(0), moment(1)
    mode = optimize.minimize_scalar(lambda x: -log_skewed(x), bracket=(0.0, 1.0), options={"xtol": 1e-9}).x
    return {"mass": mass, "mean": mean, "variance": moment(2) - mean**2, "mode": mode}


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
        found[f"D = {dim}"] = spread_over_replicates(energies)
        found[f"mean over D, D = {dim}"] = mean_over_replicates(energies / dim)
    return {**found, "D = 100, as printed": found["D = 100"]}


@TOPIC.claim("FN-HM-09")
def persistent_momenta(work: Work) -> Lines:
    """Joint law of position and momentum after a step, with the momentum turned by rejections and without."""
    kernel = persistent_hmc(lambda x: NARROW_LEFT.log_density(x)[0], 0.35, 4, _PERSISTENCE, 1)
    n, rng = work.replicates(100_000, 50_000), work.rng("persistent")
    starts = jnp.asarray(mixture_draws(NARROW_LEFT, rng, n)[:, None])
    momenta, normals = jnp.asarray(rng.normal(size=(2, n, 1)))
    uniforms = jnp.asarray(log_uniforms(rng, (n,)))
    evaluate = jax.value_and_grad(lambda x: NARROW_LEFT.log_density(x)[0])

    @jax.jit
    def steps(fraction: Array, sign: Array) -> tuple[Array, Array]:
        """Steps whose fresh momentum is multiplied by a share, and the kept one, after a rejection, by a sign."""

        def step(start: Array, momentum: Array, normal: Array, uniform: Array) -> tuple[Array, Array]:
            state = PersistentState(start, momentum, *evaluate(start))
            new, info = kernel.apply(PersistentNoise(fraction * normal, uniform), state)
            return new.position[0], jnp.where(info.accepted, 1.0, sign) * new.momentum[0]

        return jax.vmap(step)(starts, momenta, normals, uniforms)

    one = jnp.ones(())
    # sqrt(1 - a) in the place of sqrt(1 - a^2).
    weaker = one / math.sqrt(1.0 + _PERSISTENCE)
    return {
        "momentum reversed by rejections": _joint_distance(*steps(one, one)),
        "momentum not reversed": _joint_distance(*steps(one, -one)),
        "noise with the root of 1 - a": _joint_distance(*steps(weaker, one)),
    }


def _joint_distance(positions: Array, momenta: Array) -> Measurement:
    """Largest distance from 0, in standard errors, of means of functions that are orthonormal under the joint law.

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


@TOPIC.claim("FN-HM-10")
def stability(work: Work) -> Lines:
    """Leapfrog on a harmonic oscillator below and above its largest stable step."""

    def error(step: float) -> float:
        energy = leapfrog_path(lambda x: -0.5 * jnp.sum(x**2), (0.0, 1.0), step, 10_000).energy
        return largest_size(energy[np.isfinite(energy)] - energy[0])

    return {"step times frequency 1.99": error(1.99), "step times frequency 2.01": error(2.01)}
