"""What holds exactly for leapfrog steps, for the steps of stochastic-gradient dynamics, and for annealing steps."""

import jax
import numpy as np
import xarray as xr
from jax import Array

from auxmc.driver.chains import RunContext
from auxmc.driver.seeds import generator
from auxmc.kernels.streams.stochastic_gradient import sghmc_step, sgld_step
from auxmc.numerics.annealing import log_effective_size
from experiments.estimator_illustrations.settings import Settings
from experiments.estimator_illustrations.trajectories import Bent, trajectories

_TARGET = Bent(np.eye(2), 0.5)
_N_POINTS = 50
_STEP = 0.1
_N_STEPS = 20
# Of the differences that give the derivatives of a trajectory: cube root of the precision of numbers, about.
_NUDGE = 1e-5
_N_PARTICLES = 10
_N_POWERS = 200
# From weights that hardly differ to one that is all there is.
_SPREADS = (1e-3, 1.0, 30.0, 1e3, 1e6)
_CORRECTION = 0.3


def run_identities(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Largest errors over random points; nothing depends on the settings but the seed.

    Returns:
        Group `statistics`.
    """
    del settings
    rng = generator(context.seed, context.study, "identities")
    phases = rng.standard_normal((_N_POINTS, 4))
    found = {
        **_leapfrog_errors(phases),
        **_langevin_errors(rng, phases),
        "size_violation": _size_violation(rng),
    }
    statistics = xr.Dataset({name: ((), value) for name, value in found.items()})
    return {"statistics": statistics}


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
    values = (spreads * rng.standard_normal((len(_SPREADS), _N_POINTS, _N_PARTICLES))).reshape(
        -1, _N_PARTICLES
    )
    powered = np.linspace(0.0, 1.0, _N_POWERS)[:, None] * values[:, None, :]
    sizes = np.exp(np.asarray(jax.jit(jax.vmap(jax.vmap(log_effective_size)))(powered)))
    rise = np.diff(sizes, axis=1).max()
    return float(max(rise, sizes.max() - _N_PARTICLES, 1.0 - sizes.min()))
