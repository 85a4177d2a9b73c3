"""Curves of the figures on Hamiltonian dynamics: 2.12, the slides' trajectory, and cost against dimension."""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.kernels.hamiltonian.hmc import HMCNoise, HMCState, hamiltonian_monte_carlo, leapfrog
from auxmc.kernels.metropolis.metropolis import RandomWalkNoise, random_walk_metropolis
from auxmc.numerics.array_types import FloatArray
from experiments.foundations.chains.inputs import SHAPE, correlated, log_uniforms
from experiments.foundations.topic import Arrays, Topic, Work

TOPIC = Topic()

STEP = 0.5
"""Leapfrog step of its trajectories, of nine steps each."""

N_STEPS = 72
"""Steps of the programs that run its trajectories: 4.5 units of time with the smallest step that is tried."""

_STARTS = ((-1.8, 1.2), -0.6)
_ROOTS = (1, 2, 3, 4, 5, 6)


class Path(NamedTuple):
    """Points of a trajectory of one coordinate, with its energies in nats, each [point]."""

    position: FloatArray
    momentum: FloatArray
    potential: FloatArray

    def begin(self, n_points: int) -> "Path":
        """The first points of the trajectory."""
        return Path(*(values[:n_points] for values in self))

    @property
    def energy(self) -> FloatArray:
        """Potential and kinetic energy together."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.potential + 0.5 * np.square(self.momentum))


def log_skewed_density(position: Array) -> Array:
    """Log of the generalised logistic density of figure 2.12 at a position [1], in nats."""
    x = position[0]
    return math.log(SHAPE) - SHAPE * x - (1.0 + SHAPE) * jnp.logaddexp(0.0, -x)


def leapfrog_path(
    log_density: Callable[[Array], Array], start: tuple[float, float], step: float, n_steps: int
) -> Path:
    """All points of a leapfrog trajectory of one coordinate from (position, momentum)."""
    run = _path_program(log_density, n_steps)
    return Path(*(np.asarray(values) for values in run(jnp.asarray(start), jnp.asarray(step))))


@functools.lru_cache(maxsize=8)
def _path_program(log_density: Callable[[Array], Array], n_steps: int) -> Any:
    evaluate = jax.value_and_grad(log_density)

    def run(start: Array, step: Array) -> tuple[Array, Array, Array]:
        def advance(carry: tuple[HMCState, Array], _: None) -> Any:
            state, momentum, _n_made = leapfrog(evaluate, *carry, step, jnp.ones((), jnp.int32))
            return (state, momentum), (state.position[0], momentum[0], -state.log_density)

        first = HMCState(start[:1], *evaluate(start[:1])), start[1:]
        _, path = jax.lax.scan(advance, first, length=n_steps)
        origin = (start[0], start[1], -first[0].log_density)
        return jax.tree.map(lambda one, rest: jnp.concatenate([one[None], rest]), origin, path)

    return jax.jit(run)


def drawn_paths(work: Work) -> tuple[Path, Path]:
    """The two trajectories of figure 2.12; the second starts where the first ends, with a new momentum."""
    first = leapfrog_path(log_skewed_density, _STARTS[0], STEP, N_STEPS).begin(10)
    second = leapfrog_path(log_skewed_density, (float(first.position[-1]), _STARTS[1]), STEP, N_STEPS)
    return first, second.begin(10)


@TOPIC.figure("fig_2_12")
def energy_plane(work: Work) -> Arrays:
    """Figure 2.12: contours of the energy, two trajectories, and their energies step by step."""
    paths = work.once(drawn_paths)
    x, p = np.linspace(-5.0, 10.0, 121), np.linspace(-3.0, 3.0, 81)
    potential = SHAPE * x + (1.0 + SHAPE) * np.logaddexp(0.0, -x) - math.log(SHAPE)
    energy = potential + 0.5 * np.square(p)[:, None]
    steps = {"fig_2_12_trajectory": [1, 2], "fig_2_12_step": np.arange(10)}
    return {
        "fig_2_12_energy": xr.DataArray(energy, {"fig_2_12_momentum": p, "fig_2_12_position": x}),
        "fig_2_12_x": xr.DataArray([path.position for path in paths], steps),
        "fig_2_12_p": xr.DataArray([path.momentum for path in paths], steps),
        "fig_2_12_potential": xr.DataArray(
            [path.potential for path in paths], steps, attrs={"units": "nats"}
        ),
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
    coordinates = {"slides_hmc_step": np.arange(21), "slides_hmc_axis": [1, 2]}
    return {
        "slides_hmc_position": xr.DataArray(path[:, :2], coordinates),
        "slides_hmc_momentum": xr.DataArray(path[:, 2:], coordinates),
    }


@TOPIC.figure("fig_hmc_cost")
def cost_against_dimension(work: Work) -> Arrays:
    """Operations for a nearly independent draw of a standard normal vector, against its length.

    The length is the fourth power of an integer r. Hamiltonian Monte Carlo makes 2 r steps of size 0.7 / r, which
    keeps trajectory and acceptance; the random walk has standard deviation 2.38 / r^2. The cost is length x evaluations
    of a transition x autocorrelation time (1 + c) / (1 - c), c being the lag-one correlation of a coordinate, from
    exact draws.
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
        kernel = hamiltonian_monte_carlo(lambda x: -0.5 * jnp.sum(mask * x**2), 0.7 / root, (1, 1), longest)
        noise = HMCNoise(normal, (2.0 * root).astype(jnp.int32), uniform)
        new, info = kernel.apply(noise, kernel.init(jax.random.key(0), start))
        return correlation_of(new.position, start, mask), info.acceptance_probability

    def walk(root: Array, mask: Array, start: Array, normal: Array, uniform: Array) -> Any:
        scale = 2.38 / jnp.square(root) * mask
        kernel = random_walk_metropolis(lambda x: -0.5 * jnp.sum(mask * x**2), scale, longest)
        new, info = kernel.apply(RandomWalkNoise(normal, uniform), kernel.init(jax.random.key(0), start))
        return correlation_of(new.position, start, mask), info.acceptance_probability

    found, accepted = [], []
    for transition, evaluations in ((walk, np.ones(len(dims))), (hamiltonian, 2.0 * np.array(_ROOTS))):
        many = jax.jit(jax.vmap(transition, (None, None, 0, 0, 0)))
        results = [
            many(*of_length, starts, normals, uniforms) for of_length in zip(roots, present, strict=True)
        ]
        lag_one = np.array([float(jnp.mean(correlations)) for correlations, _ in results])
        accepted.append([float(jnp.mean(probabilities)) for _, probabilities in results])
        found.append(dims * evaluations * (1.0 + lag_one) / (1.0 - lag_one))
    coordinates = {"fig_hmc_cost_method": ["random walk", "HMC"], "fig_hmc_cost_dimension": dims}
    return {
        "fig_hmc_cost_operations": xr.DataArray(np.array(found), coordinates),
        "fig_hmc_cost_acceptance": xr.DataArray(np.array(accepted), coordinates),
    }
