"""Leapfrog trajectories, what holds exactly for kernels, and chains of equal numbers of evaluations: figure 2.1."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from numpy.typing import ArrayLike

from auxmc.diagnostics.errors_of_means import autocorrelation_time
from auxmc.driver.blocks import Sampler
from auxmc.driver.seeds import generator, stream
from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import HMCNoise, HMCState, hmc, leapfrog
from auxmc.kernels.metropolis.metropolis import random_walk_metropolis
from auxmc.kernels.streams.stochastic_gradient import sghmc_step, sgld_step
from auxmc.numerics.annealing import log_effective_size
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chains import Chains, RunContext, run_chains
from experiments.estimator_illustrations.settings import Settings


class Bent(NamedTuple):
    """A Gaussian in the coordinates (x1, x2 - bend x1^2)."""

    precision: FloatArray  # inverse covariance [2, 2]
    bend: float  # 0 for a Gaussian; otherwise leapfrog steps are no linear map

    def energy(self, phases: FloatArray) -> FloatArray:
        """Potential and kinetic energy of positions and momenta [..., 4] to [...], in nats."""
        straight = self._straight(phases)
        potential = 0.5 * np.einsum("...i,ij,...j->...", straight, self.precision, straight)
        return np.asarray(potential + 0.5 * np.square(phases[..., 2:]).sum(axis=-1))

    def slope(self, positions: FloatArray) -> FloatArray:
        """Gradient of the potential energy at positions [..., 2]."""
        inner = self._straight(positions) @ self.precision
        first = inner[..., 0] - 2.0 * self.bend * positions[..., 0] * inner[..., 1]
        return np.stack([first, inner[..., 1]], axis=-1)

    def _straight(self, points: FloatArray) -> FloatArray:
        second = points[..., 1] - self.bend * np.square(points[..., 0])
        return np.stack([points[..., 0], second], axis=-1)


def correlated(rho: float) -> Bent:
    """Unit variances and a correlation."""
    return Bent(np.linalg.inv(np.array([[1.0, rho], [rho, 1.0]])), 0.0)


def trajectories(target: Bent, phases: FloatArray, steps: ArrayLike, n_steps: ArrayLike) -> FloatArray:
    """Ends of trajectories from phases [trajectory, 4]; steps (negative: backward) and numbers, one for all or each."""
    given = (np.broadcast_to(steps, len(phases)), np.broadcast_to(n_steps, len(phases)).astype(np.int32))
    return np.asarray(_trajectories(target.precision, target.bend, phases, *given))


@jax.jit
@functools.partial(jax.vmap, in_axes=(None, None, 0, 0, 0))
def _trajectories(precision: Array, bend: Array, phase: Array, step: Array, n_steps: Array) -> Array:
    def log_density(x: Array) -> Array:
        straight = jnp.stack([x[0], x[1] - bend * x[0] ** 2])
        return -0.5 * jnp.sum(straight * jnp.matmul(precision, straight))

    evaluate = jax.value_and_grad(log_density)
    start = HMCState(phase[:2], *evaluate(phase[:2]))
    end, momentum, _ = leapfrog(evaluate, start, phase[2:], step, n_steps)
    return jnp.concatenate([end.position, momentum])


_TARGET = Bent(np.eye(2), 0.5)
_N_POINTS = 50
_STEP = 0.1
_N_STEPS = 20
_NUDGE = 1e-5  # Of differences along a trajectory: about the cube root of the precision of numbers
_N_PARTICLES = 10
_N_POWERS = 200
# From weights that hardly differ to one weight that is all there is.
_SPREADS = (1e-3, 1.0, 30.0, 1e3, 1e6)
_CORRECTION = 0.3


def run_identities(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Largest errors over random points; nothing depends on the settings but the seed; returns group `statistics`."""
    del settings
    rng = generator(context.seed, context.study, "identities")
    phases = rng.standard_normal((_N_POINTS, 4))
    errors = _leapfrog_errors(phases) | _langevin_errors(rng, phases)
    return {"statistics": xr.Dataset(errors | {"size_violation": _size_violation(rng)})}


def _leapfrog_errors(phases: np.ndarray) -> dict[str, float]:
    ends = trajectories(_TARGET, phases, _STEP, _N_STEPS)
    back = trajectories(_TARGET, ends, -_STEP, _N_STEPS)
    nudges = _NUDGE * np.concatenate([np.eye(4), -np.eye(4)])
    nudged = (phases[:, None] + nudges).reshape(-1, 4)
    around = trajectories(_TARGET, nudged, _STEP, _N_STEPS).reshape(-1, 2, 4, 4)
    jacobians = (around[:, 0] - around[:, 1]) / (2.0 * _NUDGE)
    return {
        "round_trip_error": float(np.abs(back - phases).max()),
        "jacobian_error": float(np.abs(np.linalg.det(jacobians) - 1.0).max()),
    }


def _langevin_errors(rng: np.random.Generator, phases: np.ndarray) -> dict[str, float]:
    positions, momenta = phases[:, :2], phases[:, 2:]
    velocities, normals = rng.standard_normal((2, _N_POINTS, 2))
    slopes = _TARGET.slope(positions)

    @jax.jit
    def steps(x: Array, momentum: Array, velocity: Array, normal: Array, slope: Array) -> tuple[Array, ...]:
        langevin = sgld_step(x, slope, momentum, 0.5 * _STEP**2)
        full, _ = sghmc_step(x, velocity, slope, normal, _STEP, 1.0, _CORRECTION)
        return langevin, full, sgld_step(x, slope, normal, _STEP, _CORRECTION)

    given = (positions, momenta, velocities, normals, slopes)
    langevin, full, first_order = (np.asarray(found) for found in steps(*given))
    # One leapfrog step without a correction is a step of first-order Langevin dynamics with eta = step^2 / 2.
    one = trajectories(_TARGET, phases, _STEP, 1)[:, :2]
    return {
        "langevin_error": float(np.abs(one - langevin).max()),
        # With friction 1 nothing is left of the old velocity.
        "friction_one_error": float(np.abs(full - first_order).max()),
    }


def _size_violation(rng: np.random.Generator) -> float:
    """By how much the effective size of exp(power log likelihood) rises with the power or leaves [1, particles]."""
    spreads = np.array(_SPREADS)[:, None, None]
    values = spreads * rng.standard_normal((len(_SPREADS), _N_POINTS, _N_PARTICLES))
    values = values.reshape(-1, _N_PARTICLES)
    powered = np.linspace(0.0, 1.0, _N_POWERS)[:, None] * values[:, None, :]
    sizes = np.exp(np.asarray(jax.jit(jax.vmap(jax.vmap(log_effective_size)))(powered)))
    rise = np.diff(sizes, axis=1).max()
    return float(max(rise, sizes.max() - _N_PARTICLES, 1.0 - sizes.min()))


_START = (-2.0, -2.0)
_FORGOTTEN = 0.1  # Draws of a chain that are left out of averages: its start is a choice
# Start of chains far away, tolerance of moments, in standard deviations.
_FAR, _TOLERANCE = 5.0, 0.25
_N_GROUPS, _N_PER_GROUP, _N_EVALUATIONS = 16, 1000, 300


def run_moves(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs chains of both kernels; returns groups `statistics` and `curves`."""
    rho = settings.correlation

    def log_density(x: Array) -> Array:
        return -0.5 * (x[0] ** 2 - 2.0 * rho * x[0] * x[1] + x[1] ** 2) / (1.0 - rho**2)

    def record(state: Any, info: Any) -> dict[str, Array]:
        return {"x": state.position, "accepted": info.is_accepted}

    walk = random_walk_metropolis(log_density, settings.random_walk_scale, 2)
    hamiltonian = hmc(log_density, settings.leapfrog_step, settings.n_leapfrog, 2)
    runs = {
        "random_walk": _chains(settings, context, "random_walk", walk, record, settings.n_draws),
        "hmc": _hamiltonian(settings, context, hamiltonian),
    }
    evaluations = {"random_walk": 1, "hmc": settings.n_leapfrog}
    measured = [_measures(runs[method], n, rho) for method, n in evaluations.items()]
    statistics = xr.Dataset(
        {name: (("method", "chain"), np.stack([m[name] for m in measured])) for name in measured[0]},
        coords={"method": list(evaluations), "chain": np.arange(settings.n_chains)},
    )
    times = []
    for method, kernel in (("random_walk", walk), ("hmc", hamiltonian)):
        key = stream(context.seed, context.study, "convergence", method)
        times.append(_convergence(rho, kernel, evaluations[method], key))
    statistics["convergence_updates"] = ("method", "group"), np.stack(times)
    per_update = xr.DataArray(list(evaluations.values()), dims="method")
    statistics["convergence_time"] = statistics["convergence_updates"] * per_update
    lost = runs["hmc"].draws["n_not_finite"].sum(dtype=int)
    statistics = statistics.assign_coords(part=["hmc"]).assign(n_not_finite=("part", [lost]))
    for name in ("autocorrelation_time", "convergence_time"):
        statistics[name].attrs["units"] = "evaluations"
    curves, error = _shown(settings, runs)
    statistics["acceptance_error"] = ((), error)
    return {"statistics": statistics, "curves": curves}


def principal_coordinates(positions: ArrayLike, rho: float) -> Array:
    """Coordinates along (1, 1) and (1, -1) in standard deviations [..., 2] to [..., 2]."""
    x = jnp.asarray(positions)
    slow = (x[..., 0] + x[..., 1]) / np.sqrt(2.0 + 2.0 * rho)
    return jnp.stack([slow, (x[..., 0] - x[..., 1]) / np.sqrt(2.0 - 2.0 * rho)], axis=-1)


def _convergence(rho: float, kernel: Kernel, evaluations: int, key: Array) -> FloatArray:
    """Updates until first and second moments of both principal coordinates stay near the target's [group]."""
    slow, fast = _FAR * np.sqrt(0.5 * np.array([1.0 + rho, 1.0 - rho]))
    start = jnp.array([slow + fast, slow - fast])

    def chain(key: Array) -> Array:
        def step(state: Any, number: Array) -> tuple[Any, Array]:
            noise = kernel.draw(jax.random.fold_in(key, number))
            state = kernel.apply(noise, state)[0]
            return state, principal_coordinates(state.position, rho)

        return jax.lax.scan(step, kernel.init(start), jnp.arange(_N_EVALUATIONS // evaluations))[1]

    @jax.jit
    def distances(keys: Array) -> Array:
        found = jax.vmap(chain)(keys)
        moments = jnp.stack([found.mean(axis=0), jnp.square(found).mean(axis=0) - 1.0])
        return jnp.max(jnp.abs(moments), axis=(0, 2))

    groups = jax.random.split(key, (_N_GROUPS, _N_PER_GROUP))
    outside = np.stack([np.asarray(distances(keys)) for keys in groups]) > _TOLERANCE
    return np.asarray(1.0 + np.max(outside * np.arange(1, outside.shape[1] + 1), axis=1))


def slow_direction(positions: FloatArray) -> FloatArray:
    """Coordinate along (1, 1), in which the target is widest for a positive correlation [..., 2] to [...]."""
    return np.asarray((positions[..., 0] + positions[..., 1]) / np.sqrt(2.0), dtype=np.float64)


def lag_one_autocorrelation(series: FloatArray) -> FloatArray:
    """Autocorrelation at lag one of each chain [chain, draw] to [chain]."""
    centred = series - series.mean(axis=1, keepdims=True)
    products = np.mean(centred[:, 1:] * centred[:, :-1], axis=1)
    return np.asarray(products / np.mean(np.square(centred), axis=1), dtype=np.float64)


def _hamiltonian(settings: Settings, context: RunContext, kernel: Kernel) -> Chains:
    """Chains of as many leapfrog steps as the random walks have steps."""

    def apply(noise: HMCNoise, state: HMCState) -> tuple[HMCState, Any]:
        new, info = kernel.apply(noise, state)
        return new, (info, noise.normal)  # The momentum gives the trajectory between two states

    def record(state: HMCState, info: Any) -> dict[str, Array]:
        moved, momentum = info
        kept = {"accepted": moved.is_accepted, "acceptance_probability": moved.acceptance_rate}
        return {"x": state.position, **kept, "n_not_finite": moved.n_not_finite, "momentum": momentum}

    n_draws = settings.n_draws // settings.n_leapfrog
    return _chains(settings, context, "hmc", Kernel(kernel.init, kernel.draw, apply), record, n_draws)


def _chains(
    settings: Settings,
    context: RunContext,
    name: str,
    kernel: Kernel,
    record: Callable[[Any, Any], dict[str, Array]],
    n_draws: int,
) -> Chains:
    def initial(key: Array, parameters: Any) -> Any:
        return kernel.init(jnp.array(_START), key=key)

    sampler = Sampler(lambda parameters: kernel, initial, record)
    return run_chains(context, (name,), sampler, settings, n_draws=n_draws, sweep={"target": [0.0]})


def _measures(chains: Chains, evaluations: int, rho: float) -> dict[str, FloatArray]:
    """Averages of each chain; a leapfrog step counts as one evaluation.

    The autocorrelation time is that of the principal coordinate, or its square, where it is longest on
    average: one coordinate may be antithetic while another returns to its start.
    """
    positions = chains.draws["x"][0]
    kept = positions[:, int(_FORGOTTEN * positions.shape[1]) :]
    slow = slow_direction(kept)
    principal = np.asarray(principal_coordinates(kept, rho))
    times = np.stack([autocorrelation_time((principal**power)[..., i]) for power in (1, 2) for i in (0, 1)])
    jumps = np.sum(np.square(np.diff(kept, axis=1)), axis=-1)
    longest = times[times.mean(axis=1).argmax()]
    return {
        "squared_jump": jumps.mean(axis=1),
        "squared_jump_per_evaluation": jumps.mean(axis=1) / evaluations,
        "autocorrelation_updates": longest,
        "autocorrelation_time": longest * evaluations,
        "lag_one_autocorrelation": lag_one_autocorrelation(slow),
        "acceptance": chains.draws["accepted"][0].mean(axis=1),
    }


def _shown(settings: Settings, runs: dict[str, Chains]) -> tuple[xr.Dataset, float]:
    """First chain of each method at equal evaluations, leapfrog steps too, and the largest acceptance error."""
    n_walk = settings.n_evaluations_shown
    n_updates = n_walk // settings.n_leapfrog
    walk = np.concatenate([[_START], runs["random_walk"].draws["x"][0, 0, :n_walk]])
    states = np.concatenate([[_START], runs["hmc"].draws["x"][0, 0, :n_updates]])
    n_steps = settings.n_leapfrog
    momenta = runs["hmc"].draws["momentum"][0, 0, :n_updates]
    starts = np.repeat(np.concatenate([states[:-1], momenta], axis=1), n_steps + 1, axis=0)
    counts = np.tile(np.arange(n_steps + 1), n_updates)
    target = correlated(settings.correlation)
    phases = trajectories(target, starts, settings.leapfrog_step, counts).reshape(n_updates, n_steps + 1, 4)
    # The kernel's acceptance, from the energies at both ends of each trajectory alone.
    change = target.energy(phases[:, -1]) - target.energy(phases[:, 0])
    accepted = runs["hmc"].draws["acceptance_probability"][0, 0, :n_updates]
    error = float(np.abs(accepted - np.exp(-np.maximum(change, 0.0))).max())
    curves = xr.Dataset(
        {
            "random_walk_path": (("step", "axis"), walk),
            "hmc_states": (("update", "axis"), states),
            "leapfrog_path": (("trajectory", "leapfrog", "axis"), phases[..., :2]),
        },
        coords={
            "axis": ["x1", "x2"],
            "step": np.arange(len(walk)),
            "update": np.arange(len(states)),
            "trajectory": np.arange(n_updates),
            "leapfrog": np.arange(settings.n_leapfrog + 1),
        },
    )
    return curves, error
