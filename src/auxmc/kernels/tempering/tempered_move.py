"""Hamiltonian Monte Carlo at a given inverse temperature on the path from a base to a target, and its parts."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import check_choice, check_integer, check_step_size, require_key, select
from auxmc.models.bridge import Bridge
from auxmc.numerics.random import standard_normal

START_CONTROL = -10.0
"""Temperature control at which chains start unless told otherwise: an inverse temperature of 5e-5, in effect the base.

From halfway to the target a draw of the base, perhaps thousands of nats up, may have all its trajectories rejected.
"""

INTEGRATORS = ("drift_kick_drift", "kick_drift_kick")
"""Orders of the parts of a leapfrog step; both evaluate one gradient a step."""


class TemperedState(NamedTuple):
    """Position and momentum of a chain with the energies, which are minus log densities, at the position."""

    position: Array  # current point [dim]
    momentum: Array  # current momentum [dim], used where refreshment is partial
    target_energy: Array  # of the target over zeta, in nats
    base_energy: Array  # of the base, in nats
    # Of both energies ([dim], [dim]) where the integrator starts with a kick, else empty.
    gradients: tuple[Array, ...]
    log_zeta: Array  # that of the bridge, the same in every state

    @property
    def delta(self) -> Array:
        """Log density of the base minus that of the target over zeta, in nats."""
        return self.target_energy - self.base_energy


class TemperedInfo(NamedTuple):
    """What one update did."""

    is_accepted: Array  # whether the end of the trajectory was accepted (bool)
    acceptance_rate: Array  # min(1, exp(-energy_change)), 0 where the energy is not finite
    energy_change: Array  # energy at the end minus at the start, in nats; infinite where it is not finite
    n_gradients: Array  # evaluations of the two gradients (int32)
    n_not_finite: Array  # trajectories with an energy that is not finite, 0 or 1 (int32)


class TemperedNoise(NamedTuple):
    """Random numbers of an update at a fixed temperature: normal [dim], log of the accept uniform."""

    normal: Array
    log_uniform: Array


class TemperedMove(NamedTuple):
    """A family of transition operators; `apply` maps (noise, state, inverse temperature) to (state, info)."""

    init: Callable[..., TemperedState]
    draw: Callable[[Array], TemperedNoise]
    apply: Callable[[TemperedNoise, TemperedState, Array], tuple[TemperedState, TemperedInfo]]


def tempered_hmc(
    bridge: Bridge,
    step_size: Array | float | Callable[[Array], Array],
    n_steps: int,
    *,
    refreshment: float = 1.0,
    integrator: str = "drift_kick_drift",
    dtype: Any = jnp.float64,
) -> TemperedMove:
    """Hamiltonian Monte Carlo with identity mass at a given inverse temperature.

    Args:
        bridge: target and base.
        step_size: of the leapfrog integrator, positive scalar, or a function of the inverse temperature; may be traced.
        n_steps: leapfrog steps of an update, each with one evaluation of the gradients.
        refreshment: c in (0, 1]: the momentum becomes c n + sqrt(1 - c^2) p, n being standard normal. After a
            rejection the momentum is reversed, after an acceptance it is kept.
        integrator: one of `INTEGRATORS`.
        dtype: of the position.

    Returns:
        TemperedMove that leaves the path's density at the inverse temperature invariant, jointly with a standard
        normal momentum. A trajectory whose end has an energy that is not finite is rejected and counted.

    Raises:
        ValueError: n_steps is not positive, refreshment is not in (0, 1], or there is no such integrator.

    Source: PhD thesis, section 5.6.1; partial refreshment by Horowitz 1991.
    """
    check_settings(n_steps, refreshment, integrator, step_size)
    kick_first = integrator == "kick_drift_kick"

    def init(position: Array, key: Array | None = None) -> TemperedState:
        momentum = normal_numbers(require_key(key), position.shape, position.dtype)
        return state_at(bridge, position, momentum, kick_first)

    def draw(key: Array) -> TemperedNoise:
        return TemperedNoise(
            normal_numbers(jax.random.fold_in(key, 0), (bridge.dim,), dtype),
            -jax.random.exponential(jax.random.fold_in(key, 1), dtype=dtype),
        )

    def apply(
        noise: TemperedNoise, state: TemperedState, inverse_temperature: Array
    ) -> tuple[TemperedState, TemperedInfo]:
        momentum = refresh_momentum(state.momentum, noise.normal, refreshment)
        size = step_size(inverse_temperature) if callable(step_size) else step_size
        end, change = proposal(bridge, state, momentum, inverse_temperature, size, n_steps, kick_first)
        info = metropolis_decision(change, noise.log_uniform, n_steps)
        return select(info.is_accepted, end, state._replace(momentum=-momentum)), info

    return TemperedMove(init, draw, apply)


def proposal(
    bridge: Bridge,
    state: TemperedState,
    momentum: Array,
    inverse_temperature: Array,
    step_size: Array | float,
    n_steps: int | Array,
    kick_first: bool,
) -> tuple[TemperedState, Array]:
    """End of a trajectory at an inverse temperature, and its energy minus that of the start.

    Args:
        state: where it starts, with its gradients if `kick_first`; a position [dim].
        momentum: at the start [dim], in place of that of the state.
        n_steps: may be traced.

    Returns:
        The end, and a scalar in nats, not finite where an energy is not.
    """

    def mix(target: Array, base: Array) -> Array:
        return inverse_temperature * target + (1.0 - inverse_temperature) * base

    def force(_: Array, energies: Any, gradients: tuple[Array, Array]) -> Array:
        return mix(*gradients)

    end, _, _ = trajectory(bridge, force, state, state.position, momentum, step_size, n_steps, kick_first)
    change = (
        mix(end.target_energy, end.base_energy)
        + kinetic_energy(end.momentum)
        - mix(state.target_energy, state.base_energy)
        - kinetic_energy(momentum)
    )
    return end, change


def trajectory(
    bridge: Bridge,
    force: Callable[[Any, Any, Any], Any],
    start: TemperedState,
    position: Any,
    momentum: Any,
    step_size: Array | float,
    n_steps: int | Array,
    kick_first: bool,
    inverse_mass: Any = 1.0,
) -> tuple[TemperedState, Any, Any]:
    """Leapfrog steps of x, or of a tuple of x and further coordinates; each evaluates the gradients once.

    Args:
        force: maps (position, energies, their gradients) at a point to the derivative of the potential, of the
            structure of the position; energies are those of the target over zeta and of the base.
        start: x with what was evaluated there.
        position, momentum: at the start, of one structure.
        step_size: negative to go backward.
        kick_first: order of the parts of a step: kick, drift, kick; otherwise drift, kick, drift.
        inverse_mass: of each member of a tuple.

    Returns:
        x at the end with what was evaluated there; position and momentum at the end.
    """

    def add(factor: Any, direction: Any, to: Any) -> Any:
        return jax.tree.map(lambda d, x: x + factor * d, direction, to)

    def velocity(momentum: Any) -> Any:
        if isinstance(momentum, tuple):
            return tuple(m * p for m, p in zip(inverse_mass, momentum, strict=True))
        return momentum

    def drift_kick_drift(_: int, loop: tuple[Any, Any]) -> tuple[Any, Any]:
        position, momentum = loop
        position = add(0.5 * step_size, velocity(momentum), position)
        evaluated = _energies_and_gradients(bridge, _first(position))
        momentum = add(-step_size, force(position, *evaluated), momentum)
        return add(0.5 * step_size, velocity(momentum), position), momentum

    def kick_drift_kick(_: int, loop: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        position, momentum, evaluated = loop
        momentum = add(-0.5 * step_size, force(position, *evaluated), momentum)
        position = add(step_size, velocity(momentum), position)
        evaluated = _energies_and_gradients(bridge, _first(position))
        return position, add(-0.5 * step_size, force(position, *evaluated), momentum), evaluated

    if kick_first:
        begin = (position, momentum, ((start.target_energy, start.base_energy), start.gradients))
        position, momentum, (energies, gradients) = lax.fori_loop(0, n_steps, kick_drift_kick, begin)
    else:
        position, momentum = lax.fori_loop(0, n_steps, drift_kick_drift, (position, momentum))
        energies, gradients = energies_at(bridge, _first(position)), ()
    target, base = energies
    end = TemperedState(_first(position), _first(momentum), target, base, gradients, start.log_zeta)
    return end, position, momentum


def _first(position: Any) -> Any:
    return position[0] if isinstance(position, tuple) else position


def state_at(bridge: Bridge, position: Array, momentum: Array, with_gradients: bool) -> TemperedState:
    """State with what a trajectory needs to know about its start."""
    # A guess in double precision stays one where chains run in single precision: weights are sums with it.
    log_zeta = jnp.asarray(bridge.log_zeta, jnp.result_type(bridge.log_zeta, position))
    gradients: tuple[Array, ...] = ()
    if with_gradients:
        energies, gradients = _energies_and_gradients(bridge, position)
    else:
        energies = energies_at(bridge, position)
    return TemperedState(position, momentum, *energies, gradients, log_zeta)


def energies_at(bridge: Bridge, position: Array) -> tuple[Array, Array]:
    """Energies, minus log densities, of the target over zeta and of the base at a position [dim], in nats."""
    target, base = bridge.log_densities(position)
    return jnp.asarray(bridge.log_zeta, target.dtype) - target, -base


def _energies_and_gradients(
    bridge: Bridge, position: Array
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    (target, base), (target_slope, base_slope) = bridge.log_densities_and_gradients(position)
    return (jnp.asarray(bridge.log_zeta, target.dtype) - target, -base), (-target_slope, -base_slope)


def refresh_momentum(momentum: Array, normal: Array, refreshment: float) -> Array:
    """c n + sqrt(1 - c^2) p; the normal numbers themselves where c is 1."""
    if refreshment == 1.0:
        return normal
    return refreshment * normal + math.sqrt(1.0 - refreshment**2) * momentum


def metropolis_decision(change: Array, log_uniform: Array, n_steps: int) -> TemperedInfo:
    """Accepts with probability min(1, exp(-change)); a change that is not finite is a counted rejection."""
    finite = jnp.isfinite(change)
    change = jnp.where(finite, change, jnp.inf)
    return TemperedInfo(
        is_accepted=log_uniform < -change,
        acceptance_rate=jnp.exp(-jnp.maximum(change, 0.0)),
        energy_change=change,
        n_gradients=jnp.full((), n_steps, jnp.int32),
        n_not_finite=(~finite).astype(jnp.int32),
    )


def kinetic_energy(momentum: Array) -> Array:
    """Half the squared length of a momentum of unit mass."""
    return 0.5 * jnp.sum(jnp.square(momentum))


def normal_numbers(key: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    """Independent standard normal numbers of either precision."""
    if dtype == jnp.float64:
        return standard_normal(key, shape)
    return jax.random.normal(key, shape, dtype)


def check_settings(n_steps: int, refreshment: float, integrator: str, step_size: Any = 1.0) -> None:
    """Rejects settings that make no transition operator (ValueError); see `tempered_hmc`."""
    check_integer("n_steps", n_steps, 1)
    check_step_size(step_size)
    if not 0.0 < refreshment <= 1.0:
        raise ValueError(f"refreshment must be above 0 and at most 1, got {refreshment!r}")
    check_choice("integrator", integrator, INTEGRATORS)
