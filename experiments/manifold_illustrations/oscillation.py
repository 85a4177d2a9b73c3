"""Trajectories from the start that figure 4.3 draws: how often they cross the fibre, and how far along it they come."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy.spatial import KDTree

from auxmc.driver.seeds import stream
from auxmc.kernels.hamiltonian.hmc import HMCState, leapfrog
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chains import RunContext
from experiments.manifold_illustrations.model import DRAWN_START, fibre_height, generate, log_prior
from experiments.manifold_illustrations.settings import Settings

# At a tolerance of 1 the fibre has no ridge. With one, 0.4 is stable up to a slope of 4.9 of the fibre.
_WITHOUT_RIDGE = 1.0
_STEPS_OVER_TOLERANCE = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
_N_STEPS = 24
# As many of 0.01 as cross the fibre ten times, as the drawn path does (9.8 from the drawn start).
_N_STEPS_FROM_FIBRE = 90
_MOST_MOMENTA = 1000
_FIRST, _LAST, _FIBRE_POINTS = -0.5, 8.0, 100_001
_FARTHEST = 100.0


def oscillation(settings: Settings, context: RunContext) -> xr.Dataset:
    """Crossings, acceptance probabilities and reach along the fibre of trajectories, with a ridge and without.

    Reach is recorded from the nearest point of the fibre too, where the ridge adds no potential energy to the start.
    """
    fibre = _Fibre()
    n = min(settings.n_momenta, _MOST_MOMENTA)
    momenta = jax.random.normal(stream(context.seed, context.study, "drawn start"), (n, 2))
    tolerances = [settings.tolerance, _WITHOUT_RIDGE]
    sizes = [settings.tolerance * part for part in _STEPS_OVER_TOLERANCE]
    drawn, on_fibre = (
        [
            [_leapfrog_paths(start, tolerance, size, momenta, n_steps) for size in sizes]
            for tolerance in tolerances
        ]
        for start, n_steps in ((DRAWN_START, _N_STEPS), (jnp.asarray(fibre.nearest), _N_STEPS_FROM_FIBRE))
    )
    dims = ("ridge_tolerance", "leapfrog_step", "repeat")
    return xr.Dataset(
        {
            "drawn_crossings": (dims, np.array([[_crossings(path) for path, _ in row] for row in drawn])),
            "leapfrog_acceptance": (dims, np.array([[rate for _, rate in row] for row in drawn])),
            "leapfrog_reach": (dims, np.array([[fibre.reach(path) for path, _ in row] for row in drawn])),
            "reach_from_fibre": (
                dims,
                np.array([[fibre.reach(path) for path, _ in row] for row in on_fibre]),
            ),
        },
        coords={"ridge_tolerance": tolerances, "leapfrog_step": sizes},
    )


class _Fibre:
    """The fibre as points, with their distance along it."""

    def __init__(self) -> None:
        first = np.linspace(_FIRST, _LAST, _FIBRE_POINTS)
        self._points = np.stack([first, np.asarray(fibre_height(jnp.asarray(first)))], axis=1)
        steps = np.linalg.norm(np.diff(self._points, axis=0), axis=1)
        self._along = np.concatenate([[0.0], np.cumsum(steps)])
        self._tree = KDTree(self._points)
        self.nearest = self._points[self._tree.query(np.asarray(DRAWN_START))[1]]

    def reach(self, paths: Array) -> FloatArray:
        """Largest distance of paths [momentum, step, axis] from their start along the fibre, by nearest points."""
        within = np.clip(np.nan_to_num(paths), -_FARTHEST, _FARTHEST)
        along = self._along[self._tree.query(within)[1]]
        reach: FloatArray = np.abs(along - along[:, :1]).max(axis=1)
        return reach


def _crossings(paths: Array) -> FloatArray:
    """How often the paths [momentum, step, axis] change the side of the fibre [momentum]."""
    sides = np.sign(np.asarray(paths[..., 1] - fibre_height(paths[..., 0])))
    return np.asarray((sides[:, 1:] != sides[:, :-1]).sum(axis=1), dtype=np.float64)


@partial(jax.jit, static_argnames="n_steps")
def _leapfrog_paths(
    start: Array, tolerance: float, size: float, momenta: Array, n_steps: int
) -> tuple[Array, Array]:
    """Paths [momentum, step, axis] on the target of a tolerance; acceptance probabilities of their ends [momentum]."""

    def path(momentum: Array) -> tuple[Array, Array]:
        positions, change = leapfrog_path(start, momentum, tolerance, size, n_steps)
        return positions, jnp.where(jnp.isfinite(change), jnp.exp(jnp.minimum(change, 0.0)), 0.0)

    return jax.vmap(path)(momenta)


def leapfrog_path(
    start: Array, momentum: Array, tolerance: float, size: float, n_steps: int
) -> tuple[Array, Array]:
    """Positions [step, axis] on the target of a tolerance, and the change of the log density of the phase."""

    def log_density(inputs: Array) -> Array:
        return log_prior(inputs) - 0.5 * jnp.sum(jnp.square(generate(inputs) / tolerance))

    evaluate = jax.value_and_grad(log_density)

    def one(phase: tuple[HMCState, Array], _: None) -> tuple[tuple[HMCState, Array], Array]:
        state, velocity, _n_made = leapfrog(evaluate, *phase, size, jnp.ones((), jnp.int32))
        return (state, velocity), state.position

    first = HMCState(start, *evaluate(start))
    (last, velocity), positions = jax.lax.scan(one, (first, momentum), None, length=n_steps)
    change = last.log_density - first.log_density
    change -= 0.5 * (jnp.sum(jnp.square(velocity)) - jnp.sum(jnp.square(momentum)))
    return jnp.concatenate([start[None], positions]), change
