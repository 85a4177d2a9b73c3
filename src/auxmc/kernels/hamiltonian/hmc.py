"""Hamiltonian Monte Carlo with the leapfrog integrator, a mass matrix and fresh momenta."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import FROM_POSITION, Kernel, check_steps, pytree_positions, select
from auxmc.numerics.linalg import scaled
from auxmc.numerics.random import standard_normal


class HMCState(NamedTuple):
    """State of a chain: current point [dim], log density there in nats, and its gradient [dim]."""

    position: Array
    log_density: Array
    gradient: Array


class HMCInfo(NamedTuple):
    """What one update did."""

    is_accepted: Array  # whether the end of the trajectory was accepted (bool)
    acceptance_rate: Array  # min(1, exp(-energy_change)), 0 where the energy is not finite
    # Energy at the end minus at the start, in nats; infinite where the end is not finite.
    energy_change: Array
    energy: Array  # of the point that the chain moves to or stays at, with its momentum, in nats
    num_integration_steps: Array  # leapfrog steps asked for (int32)
    # Evaluations of the log density and its gradient (int32); fewer than the steps where a trajectory ended early
    # because it left the finite numbers.
    n_gradients: Array
    n_not_finite: Array  # trajectories with an energy that is not finite, 0 or 1 (int32)

    @property
    def is_divergent(self) -> Array:
        """Whether the energy rose by more than 1000 nats (bool)."""
        return ~(self.energy_change <= 1000.0)


class HMCNoise(NamedTuple):
    """Random numbers of an update: normal [dim], number of steps, log of the accept uniform."""

    normal: Array
    n_steps: Array
    log_uniform: Array


@pytree_positions("log_density")
def hmc(
    log_density: Callable[[Any], Array],
    step_size: Array | float,
    n_steps: int | tuple[int, int],
    dim: int = FROM_POSITION,
    inverse_mass: Array | None = None,
) -> Kernel:
    """Hamiltonian Monte Carlo.

    Args:
        log_density: maps position [dim] to an unnormalised log density, in nats; minus infinity where the
            density is zero.
        step_size: of the leapfrog integrator, positive scalar; may be traced.
        n_steps: leapfrog steps of an update: a number, or the smallest and the largest of a uniform draw.
        dim: length of the position; taken from it unless given.
        inverse_mass: diagonal [dim] or matrix [dim, dim] of the inverse of the mass matrix, near the covariance of the
            target; may be traced. None for unit masses.

    Returns:
        Kernel on HMCState with HMCInfo. An update whose end has an energy that is not finite is rejected; its
        trajectory stops as soon as position or momentum is not finite, from where no end could be.

    Raises:
        ValueError: dim, the step size or a number of steps is not positive, or these are out of order.

    Source: PhD thesis, Algorithm 6, and section 4.6 for the potential energy of inputs; MSc thesis, Algorithm 2.

    >>> kernel = hmc(lambda x: -0.5 * jnp.sum(x**2), 0.1, (5, 10), dim=2)
    >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2)))
    >>> bool(info.n_gradients == info.num_integration_steps)
    True
    """
    draw = trajectory_noise(n_steps, dim)
    evaluate = jax.value_and_grad(log_density)
    root = inverse_mass
    if inverse_mass is not None:
        root = jnp.sqrt(inverse_mass) if inverse_mass.ndim == 1 else jnp.linalg.cholesky(inverse_mass)

    def apply(noise: HMCNoise, state: HMCState) -> tuple[HMCState, HMCInfo]:
        end, momentum, n_made = leapfrog(evaluate, state, noise.normal, step_size, noise.n_steps, root)
        info = metropolis_end(
            (state, noise.normal), (end, momentum), n_made, noise.n_steps, noise.log_uniform
        )
        return select(info.is_accepted, end, state), info

    return Kernel(lambda position, key=None: HMCState(position, *evaluate(position)), draw, apply)


def trajectory_noise(n_steps: int | tuple[int, int], dim: int) -> Callable[[Array], HMCNoise]:
    """Makes the function that draws the random numbers of an update; arguments are checked as those of `hmc`."""
    low, high = check_steps(n_steps)
    return lambda key: HMCNoise(
        normal=standard_normal(jax.random.fold_in(key, 0), (dim,)),
        n_steps=jax.random.randint(jax.random.fold_in(key, 1), (), low, high + 1, jnp.int32),
        log_uniform=-jax.random.exponential(jax.random.fold_in(key, 2)),
    )


def metropolis_end(
    start: tuple[HMCState, Array],
    end: tuple[HMCState, Array],
    n_made: Array,
    n_steps: Array,
    log_uniform: Array,
) -> HMCInfo:
    """Whether the end of a trajectory is accepted; with fewer steps made than asked for it counts as not finite."""
    before, after = _energy(*start), _energy(*end)
    finite = jnp.isfinite(after) & (n_made == n_steps)
    decided = accept_or_reject(log_uniform, before, after, finite)
    return HMCInfo(*decided, n_steps, n_made, (~finite).astype(jnp.int32))


def accept_or_reject(
    log_uniform: Array, before: Array, after: Array, usable: Array
) -> tuple[Array, Array, Array, Array]:
    """Decides on the end of a trajectory by its change of energy; all are scalars, energies in nats (float64).

    `log_uniform` is the log of a uniform number in (0, 1), `before` and `after` are the energies at the start and the
    end. Where the end is not `usable` its energy counts as infinite. Returns whether the end is accepted, its
    acceptance rate, the change of energy, and the energy of the next point.
    """
    change = jnp.where(usable, after - before, jnp.inf)
    accepted = log_uniform < -change
    return accepted, jnp.exp(-jnp.maximum(change, 0.0)), change, before + jnp.where(accepted, change, 0.0)


def leapfrog(
    evaluate: Callable[[Array], tuple[Array, Array]],
    state: HMCState,
    momentum: Array,
    step_size: Array | float,
    n_steps: Array,
    root: Array | None = None,
) -> tuple[HMCState, Array, Array]:
    """Leapfrog steps: the end, its momentum, and the steps made, fewer where a number became not finite.

    `root` has square roots [dim], or is the lower Cholesky factor [dim, dim], of the inverse mass. Momenta [dim] are
    standard normal: its transpose times the momentum.
    """
    if root is None:
        force = drift = lambda vector: vector
    else:
        force, drift = partial(scaled, root.T), partial(scaled, root)

    def advance(loop: tuple[Array, HMCState, Array, Array]) -> tuple[Array, HMCState, Array, Array]:
        index, point, velocity, _ = loop
        velocity = velocity + 0.5 * step_size * force(point.gradient)
        position = point.position + step_size * drift(velocity)
        point = HMCState(position, *evaluate(position))
        velocity = velocity + 0.5 * step_size * force(point.gradient)
        finite = jnp.all(jnp.isfinite(velocity)) & jnp.all(jnp.isfinite(position))
        return index + 1, point, velocity, finite

    start = (jnp.zeros((), jnp.int32), state, momentum, jnp.ones((), bool))
    n_made, end, momentum, _ = lax.while_loop(lambda loop: (loop[0] < n_steps) & loop[3], advance, start)
    return end, momentum, n_made


def _energy(state: HMCState, momentum: Array) -> Array:
    return 0.5 * jnp.sum(jnp.square(momentum)) - state.log_density
