"""Hamiltonian, Langevin and stochastic-gradient dynamics: figure 2.12, the integrator, momenta, noise, cost."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr
from jax import Array
from scipy import linalg, special

from auxmc.kernels.hamiltonian.hmc import HMCNoise, HMCState, hmc, leapfrog
from auxmc.kernels.hamiltonian.langevin import mala
from auxmc.kernels.hamiltonian.persistent_hmc import PersistentState, persistent_hmc
from auxmc.kernels.metropolis.metropolis import MoveNoise, random_walk_metropolis
from auxmc.kernels.streams.stochastic_gradient import sghmc_step, sgld_step
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import Measurement, largest, mean
from experiments.foundations.chains.inputs import SHAPE, correlated, log_uniforms, mixture_cdf, mixture_draws
from experiments.foundations.measurements import largest_size, normal_points, power, spread
from experiments.foundations.sampling import generalised_logistic
from experiments.foundations.topic import Arrays, Found, Lines, Topic, Work
from experiments.tempering_illustration.model import NARROW_LEFT

TOPIC = Topic()

STEP = 0.5  # Leapfrog step of the trajectories of figure 2.12, of nine steps each.
# Steps that the program makes: 4.5 units of time with the smallest step that is tried.
_N_STEPS = 72
_STARTS = ((-1.8, 1.2), -0.6)
_ROOTS = (1, 2, 3, 4, 5, 6)


class Path(NamedTuple):
    """Points of a trajectory of one coordinate, with its energies in nats, each [point]."""

    position: FloatArray
    momentum: FloatArray
    potential: FloatArray

    @property
    def energy(self) -> FloatArray:
        """Potential and kinetic energy together."""
        return np.asarray(self.potential + 0.5 * np.square(self.momentum))


def log_skewed_density(position: Array) -> Array:
    """Log of the generalised logistic density of figure 2.12 at a position [1], in nats."""
    return generalised_logistic(SHAPE).log_density(position)[0]


def leapfrog_path(start: tuple[float, float], step: float, n_steps: int) -> Path:
    """All points of a leapfrog trajectory from (position, momentum) on the density of figure 2.12."""
    path = _path(jnp.asarray(start), jnp.asarray(step))
    return Path(*(np.asarray(values)[: n_steps + 1] for values in path))


@jax.jit
def _path(start: Array, step: Array) -> tuple[Array, Array, Array]:
    evaluate = jax.value_and_grad(log_skewed_density)

    def advance(carry: tuple[HMCState, Array], _: None) -> Any:
        state, momentum, _n_made = leapfrog(evaluate, *carry, step, jnp.ones((), jnp.int32))
        return (state, momentum), (state.position[0], momentum[0], -state.log_density)

    first = HMCState(start[:1], *evaluate(start[:1])), start[1:]
    _, path = jax.lax.scan(advance, first, length=_N_STEPS)
    origin = (start[0], start[1], -first[0].log_density)
    return jax.tree.map(lambda one, rest: jnp.concatenate([one[None], rest]), origin, path)


def drawn_paths(work: Work) -> tuple[Path, Path]:
    """The two trajectories of figure 2.12; the second starts where the first ends, with a new momentum."""
    first = leapfrog_path(_STARTS[0], STEP, 9)
    return first, leapfrog_path((float(first.position[-1]), _STARTS[1]), STEP, 9)


@TOPIC.figure("fig_2_12")
def energy_plane(work: Work) -> Arrays:
    """Figure 2.12: contours of the energy, two trajectories, and their energies step by step."""
    paths = work.once(drawn_paths)
    x, p = np.linspace(-5.0, 10.0, 121), np.linspace(-3.0, 3.0, 81)
    potential = SHAPE * x + (1.0 + SHAPE) * np.logaddexp(0.0, -x) - math.log(SHAPE)
    energy = potential + 0.5 * np.square(p)[:, None]
    steps = {"trajectory": [1, 2], "step": np.arange(10)}
    return {
        "energy": xr.DataArray(energy, {"momentum": p, "position": x}),
        "x": xr.DataArray([path.position for path in paths], steps),
        "p": xr.DataArray([path.momentum for path in paths], steps),
        "potential": xr.DataArray([path.potential for path in paths], steps, attrs={"units": "nats"}),
    }


@TOPIC.figure("slides_hmc")
def slide_trajectory(work: Work) -> Arrays:
    """Slide: one trajectory of twenty leapfrog steps on a correlated Gaussian, with its momenta."""
    precision = jnp.asarray(np.linalg.inv(correlated(0.8)))
    evaluate = jax.value_and_grad(lambda x: -0.5 * x @ precision @ x)
    position = jnp.array([-1.5, -1.6])
    momentum = jnp.asarray(work.rng("slide trajectory").normal(size=2))
    state = HMCState(position, *evaluate(position))
    phases = [np.concatenate([position, momentum])]
    one = jnp.ones((), jnp.int32)
    advance = jax.jit(lambda state, momentum: leapfrog(evaluate, state, momentum, 0.15, one))
    for _ in range(20):
        state, momentum, _ = advance(state, momentum)
        phases.append(np.concatenate([state.position, momentum]))
    path = np.array(phases)
    along = {"step": np.arange(21), "axis": [1, 2]}
    return {"position": xr.DataArray(path[:, :2], along), "momentum": xr.DataArray(path[:, 2:], along)}


@TOPIC.figure("fig_hmc_cost")
def cost_against_dimension(work: Work) -> Arrays:
    """Operations for a nearly independent draw of a standard normal vector, against its length r^4.

    Hamiltonian Monte Carlo makes 2 r steps of size 0.7 / r, the random walk has standard deviation
    2.38 / r^2. The cost is length x evaluations x autocorrelation time (1 + c) / (1 - c), c being the lag-one
    correlation of a coordinate.
    """
    dims = np.array(_ROOTS) ** 4
    longest, n = int(dims[-1]), work.replicates(400, 50)
    present = jnp.asarray(np.arange(longest) < dims[:, None], jnp.float64)
    roots = jnp.asarray(_ROOTS, jnp.float64)
    rng = work.rng("cost")
    starts, normals = jnp.asarray(rng.normal(size=(2, n, longest)))
    uniforms = jnp.asarray(log_uniforms(rng, (n,)))

    def correlation_of(moved: Array, start: Array, mask: Array) -> Array:
        return 1.0 - 0.5 * jnp.sum(mask * jnp.square(moved - start)) / jnp.sum(mask)

    def hamiltonian(root: Array, mask: Array, start: Array, normal: Array, uniform: Array) -> Any:
        kernel = hmc(lambda x: -0.5 * jnp.sum(mask * x**2), 0.7 / root, (1, 1), longest)
        noise = HMCNoise(normal, (2.0 * root).astype(jnp.int32), uniform)
        new, info = kernel.apply(noise, kernel.init(start))
        return correlation_of(new.position, start, mask), info.acceptance_rate

    def walk(root: Array, mask: Array, start: Array, normal: Array, uniform: Array) -> Any:
        scale = 2.38 / jnp.square(root) * mask
        kernel = random_walk_metropolis(lambda x: -0.5 * jnp.sum(mask * x**2), scale, longest)
        new, info = kernel.apply(MoveNoise(normal, uniform), kernel.init(start))
        return correlation_of(new.position, start, mask), info.acceptance_rate

    found, accepted = [], []
    for transition, evaluations in ((walk, np.ones(len(dims))), (hamiltonian, 2.0 * np.array(_ROOTS))):
        many = jax.jit(jax.vmap(transition, (None, None, 0, 0, 0)))
        results = [many(*pair, starts, normals, uniforms) for pair in zip(roots, present, strict=True)]
        lag_one = np.array([float(jnp.mean(correlations)) for correlations, _ in results])
        accepted.append([float(jnp.mean(probabilities)) for _, probabilities in results])
        found.append(dims * evaluations * (1.0 + lag_one) / (1.0 - lag_one))
    coordinates = {"method": ["random walk", "HMC"], "dimension": dims}
    return {
        "operations": xr.DataArray(np.array(found), coordinates),
        "acceptance": xr.DataArray(np.array(accepted), coordinates),
    }


_PERSISTENCE = 0.7
_N_ANGLES = 400_000


@TOPIC.claim("FN-HM-02")
def energies_of_trajectories(work: Work) -> Lines:
    """Acceptance probability of the first trajectory of figure 2.12."""
    energy = work.once(drawn_paths)[0].energy
    return {"first trajectory, acceptance probability": min(1.0, math.exp(energy[0] - energy[-1]))}


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
        energy = leapfrog_path(_STARTS[0], step, round(4.5 / step)).energy
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
        found[f"mean over D, D = {dim}"] = mean(energies / dim)
    return {**found, "D = 100, as printed": spread(energies)}


@TOPIC.claim("FN-HM-09")
def persistent_momenta(work: Work) -> Lines:
    """Joint distribution of position and momentum after a step, by what a rejection does to the momentum."""
    kernel = persistent_hmc(lambda x: NARROW_LEFT.log_density(x)[0], 0.35, 4, _PERSISTENCE, 1)
    n, rng = work.replicates(100_000, 50_000), work.rng("persistent")
    starts = jnp.asarray(mixture_draws(NARROW_LEFT, rng, n)[:, None])
    momenta, normals = jnp.asarray(rng.normal(size=(2, n, 1)))
    uniforms = jnp.asarray(log_uniforms(rng, (n,)))
    forward, either = np.ones(n), rng.choice([-1.0, 1.0], n)
    evaluate = jax.value_and_grad(lambda x: NARROW_LEFT.log_density(x)[0])

    @jax.jit
    def steps(sign: Array, directions: Array, ends: Array) -> tuple[Array, Array]:
        """Steps along or against the momentum; accepted ones are multiplied by `ends`, rejected ones by a sign."""

        def step(start: Array, momentum: Array, noise: MoveNoise, direction: Array, end: Array) -> Any:
            # Against the momentum: both parts of it change sign before the trajectory.
            state = PersistentState(start, direction * momentum, *evaluate(start))
            new, info = kernel.apply(noise._replace(move=direction * noise.move), state)
            return new.position[0], jnp.where(info.is_accepted, end, sign * direction) * new.momentum[0]

        return jax.vmap(step)(starts, momenta, MoveNoise(normals, uniforms), directions, ends)

    one = jnp.ones(())
    positions, kept = steps(-one, either, forward)
    return {
        "momentum reversed by rejections": _joint_distance(*steps(one, forward, forward)),
        "momentum not reversed, as printed": _joint_distance(*steps(-one, forward, forward)),
        # The next step draws a direction too, after which the sign that this one has left does not count.
        "random direction alone": _joint_distance(positions, rng.choice([-1.0, 1.0], n) * kept),
        "momentum not reversed, random direction": _joint_distance(*steps(-one, either, either)),
    }


def _joint_distance(positions: Array, momenta: Array) -> Measurement:
    """Largest distance from 0 of means of functions that are orthonormal under the joint distribution.

    They are Legendre polynomials of the distribution functions of position and momentum, and products of two
    of each.
    """
    first = _legendre(mixture_cdf(NARROW_LEFT, np.asarray(positions)))
    second = _legendre(special.ndtr(np.asarray(momenta)))
    joint = (first[:, :2, None] * second[:, None, :2]).reshape(len(first), -1)
    means = np.concatenate([first, second, joint], axis=1).mean(axis=0)
    # Each function has variance 1, so that a mean has the error 1 / root of n.
    errors = np.full(means.size, 1.0 / math.sqrt(len(first)))
    return largest(np.abs(means), errors, [f"function {i + 1}" for i in range(means.size)])


def _legendre(uniforms: FloatArray) -> FloatArray:
    basis = np.polynomial.Legendre.basis
    return np.stack([math.sqrt(2.0 * k + 1.0) * basis(k)(2.0 * uniforms - 1.0) for k in range(1, 5)], axis=1)


@TOPIC.claim("FN-HM-07")
def one_leapfrog_step(work: Work) -> Lines:
    """One leapfrog step of HMC, the formulas printed for it and Metropolis-adjusted Langevin, the same numbers."""
    size, n = 0.7, 500

    def log_density(x: Array) -> Array:
        return -jnp.sum(0.25 * x**4) - 0.3 * x[0] * x[1]

    hamiltonian = hmc(log_density, size, (1, 1), 2)
    langevin = mala(log_density, size, 2)
    starts, normals = jnp.split(jnp.asarray(normal_points(n, 4)), 2, axis=1)
    always, one = jnp.array(-jnp.inf), jnp.ones((), jnp.int32)

    @jax.jit
    @jax.vmap
    def errors(v: Array, x: Array) -> dict[str, Array]:
        end, info = hamiltonian.apply(HMCNoise(v, one, always), hamiltonian.init(x))
        other, other_info = langevin.apply(MoveNoise(v, always), langevin.init(x))
        slope = jax.grad(log_density)
        new_x = x + 0.5 * size**2 * slope(x) + size * v
        new_v = v + 0.5 * size * (slope(x) + slope(new_x))
        printed = log_density(new_x) - log_density(x) - 0.5 * (jnp.sum(new_v**2) - jnp.sum(v**2))
        return {
            "log acceptance": printed + info.energy_change,
            "proposed position": end.position - new_x,
            "Hastings ratio": info.energy_change + other_info.log_ratio,
            "position of Langevin": end.position - other.position,
        }

    return {name: jnp.max(jnp.abs(found)) for name, found in errors(normals, starts).items()}


@TOPIC.claim("FN-HM-11")
def vanishing_rejections(work: Work) -> Lines:
    """Stationary acceptance probability of Metropolis-adjusted Langevin on N(0, 1) with steps of 0.1.

    The energy error is r^2 times that on the unit circle of (position, noise), so that only the angle is
    integrated numerically.
    """
    angles = 2.0 * math.pi * (np.arange(_N_ANGLES) + 0.5) / _N_ANGLES
    kernel = mala(lambda x: -0.5 * jnp.sum(x**2), 0.1, 1)

    def energy_error(position: Array, normal: Array) -> Array:
        noise = MoveNoise(normal[None], jnp.zeros(()))
        return -kernel.apply(noise, kernel.init(position[None]))[1].log_ratio

    circle = np.asarray(jax.jit(jax.vmap(energy_error))(np.cos(angles), np.sin(angles)))
    # Where the energy falls, nothing is rejected.
    rejected = float(np.mean(1.0 - 1.0 / (1.0 + 2.0 * np.maximum(circle, 0.0))))
    return {"step 0.1, acceptance probability": 1.0 - rejected}


@TOPIC.claim("FN-SG-01", ["step 0.1, gradient noise 0", "step 0.1, gradient noise 4, estimate 4"])
def langevin_variances(work: Work) -> Lines:
    """Stationary variances of SGLD, from its linear recursion."""
    without, with_noise = _stationary_variance(0.1, 0.0), _stationary_variance(0.1, 4.0)
    return {"step 0.1, gradient noise 0": without, "step 0.1, gradient noise 4, estimate 4": with_noise}


@TOPIC.claim("FN-SG-06", numbers=["noise divided by eta"])
def noise_in_the_loss(work: Work) -> Lines:
    """Noise as a term x . zeta of the loss that plain gradient descent follows."""
    eta = 0.02
    start, normal = jnp.asarray(normal_points(2, 3))
    noise = math.sqrt(2.0 * eta) * normal
    wanted = sgld_step(start, start**3, normal, eta)

    def error(zeta: Array) -> float:
        optimiser = optax.sgd(eta)
        gradient = jax.grad(lambda x: jnp.sum(0.25 * x**4) + x @ zeta)(start)
        updates, _ = optimiser.update(gradient, optimiser.init(start))
        moved = optax.apply_updates(start, updates)
        # The term's sign is that of its slope: gradient descent subtracts it.
        return float(jnp.max(jnp.abs(moved - wanted)))

    return {"noise divided by eta": error(-noise / eta), "noise as printed": error(-noise)}


def _stationary_variance(step: float, variance: float) -> float:
    """Stationary variance on N(0, 1) of SGLD that takes the variance of the gradient for half of it.

    It is the first entry of S = M S M^T + Q; a step of SGHMC with friction 1 on each unit vector of state and
    noise gives M and Q.
    """
    position, velocity, normal, noise = jnp.eye(4)
    gradient = position + math.sqrt(variance) * noise
    columns = np.array(sghmc_step(position, velocity, gradient, normal, step, 1.0, variance))
    move, added = columns[:, :2], columns[:, 2:]
    return float(linalg.solve_discrete_lyapunov(move, added @ added.T)[0, 0])
