"""Leapfrog trajectories of many starts in one program, on Gaussian targets that may be bent."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from auxmc.kernels.hamiltonian.hmc import HMCState, leapfrog
from auxmc.numerics.array_types import FloatArray

# Trajectories are run in blocks of this many, so that one program serves any number of them.
_BLOCK = 256


class Bent(NamedTuple):
    """A Gaussian in the coordinates (x1, x2 - bend x1^2).

    Attributes:
        precision: inverse covariance [2, 2].
        bend: 0 for a Gaussian; otherwise leapfrog steps are no linear map.
    """

    precision: FloatArray
    bend: float

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
    """Ends of trajectories.

    Args:
        target: what they are on.
        phases: position and momentum at the start [trajectory, 4].
        steps: leapfrog step, one for all or one each; negative to go backward.
        n_steps: number of steps, one for all or one each.

    Returns:
        Position and momentum at the end [trajectory, 4].
    """
    n = len(phases)
    shape = (-(-n // _BLOCK)) * _BLOCK
    padded = np.zeros((shape, 4))
    padded[:n] = phases
    sizes, counts = np.zeros(shape), np.zeros(shape, np.int32)
    sizes[:n], counts[:n] = steps, n_steps
    run = _program()
    ends = [
        run(target.precision, target.bend, *(a[i : i + _BLOCK] for a in (padded, sizes, counts)))
        for i in range(0, shape, _BLOCK)
    ]
    return np.concatenate([np.asarray(end) for end in ends])[:n]


@functools.cache
def _program() -> Any:
    """Compiled ahead, so that it outlives JAX's own cache, which the driver empties."""

    def one(precision: Array, bend: Array, phase: Array, step: Array, n_steps: Array) -> Array:
        def log_density(x: Array) -> Array:
            straight = jnp.stack([x[0], x[1] - bend * x[0] ** 2])
            return -0.5 * jnp.sum(straight * jnp.matmul(precision, straight))

        evaluate = jax.value_and_grad(log_density)
        start = HMCState(phase[:2], *evaluate(phase[:2]))
        end, momentum, _ = leapfrog(evaluate, start, phase[2:], step, n_steps)
        return jnp.concatenate([end.position, momentum])

    shapes = [jax.ShapeDtypeStruct(shape, jnp.float64) for shape in ((2, 2), (), (_BLOCK, 4), (_BLOCK,))]
    counts = jax.ShapeDtypeStruct((_BLOCK,), jnp.int32)
    return jax.jit(jax.vmap(one, (None, None, 0, 0, 0))).lower(*shapes, counts).compile()
