"""Continuous tempering: Hamiltonian Monte Carlo at an inverse temperature drawn by Gibbs updates, or moving with it."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import Kernel, require_key, select
from auxmc.kernels.tempering import tempered_move
from auxmc.models.bridge import Bridge
from auxmc.numerics.truncated_exponential import draw_inverse_temperature, log_base_weight, log_target_weight


class ContinuousNoise(NamedTuple):
    """Random numbers of an update of position and inverse temperature: those of the move, one uniform."""

    move: tempered_move.TemperedNoise
    uniform: Array


class ContinuousState(NamedTuple):
    """State of Gibbs continuous tempering: position, momentum and energies; inverse temperature in [0, 1]."""

    move: tempered_move.TemperedState
    inverse_temperature: Array

    @property
    def position(self) -> Array:
        """Current point [dim]."""
        return self.move.position

    @property
    def delta(self) -> Array:
        """Log density of the base minus that of the target over zeta, in nats."""
        return self.move.delta

    @property
    def log_target_weight(self) -> Array:
        """Log density at inverse temperature 1, given the position, plus log zeta."""
        return log_target_weight(self.delta) + self.move.log_zeta

    @property
    def log_base_weight(self) -> Array:
        """Log density at inverse temperature 0, given the position."""
        return log_base_weight(self.delta)


class ControlledNoise(NamedTuple):
    """Random numbers of an update: normal for the momenta of position [dim] and control, log of the accept uniform."""

    normal: Array
    control_normal: Array
    log_uniform: Array


class ControlledState(NamedTuple):
    """State of continuously tempered HMC: position, momentum and energies; control u and its momentum."""

    move: tempered_move.TemperedState
    control: Array
    control_momentum: Array

    @property
    def position(self) -> Array:
        """Current point [dim]."""
        return self.move.position

    @property
    def inverse_temperature(self) -> Array:
        """Logistic function of the control, in [0, 1]."""
        return jax.nn.sigmoid(self.control)

    @property
    def delta(self) -> Array:
        """Log density of the base minus that of the target over zeta, in nats."""
        return self.move.delta

    @property
    def log_target_weight(self) -> Array:
        """Log density at inverse temperature 1, given the position, plus log zeta."""
        return log_target_weight(self.delta) + self.move.log_zeta

    @property
    def log_base_weight(self) -> Array:
        """Log density at inverse temperature 0, given the position."""
        return log_base_weight(self.delta)


class PlateauState(NamedTuple):
    """State of Hamiltonian Monte Carlo whose control has plateaus at the target and at the base."""

    move: tempered_move.TemperedState  # position, momentum and energies
    control: Array  # u
    control_momentum: Array  # momentum of u
    low: Array  # size of u up to which the inverse temperature is 1
    high: Array  # size of u from which on it is 0

    @property
    def position(self) -> Array:
        """Current point [dim]."""
        return self.move.position

    @property
    def delta(self) -> Array:
        """Log density of the base minus that of the target over zeta, in nats."""
        return self.move.delta

    @property
    def log_target_weight(self) -> Array:
        """Log zeta over the width of the plateau, 2 t_1, where the state is at the target; else minus infinity."""
        return jnp.where(
            jnp.abs(self.control) <= self.low, self.move.log_zeta - jnp.log(2.0 * self.low), -jnp.inf
        )

    @property
    def log_base_weight(self) -> Array:
        """Minus the log mass of the potential beyond t_2 where the state is at the base; else minus infinity."""
        return jnp.where(jnp.abs(self.control) >= self.high, -0.5 * math.log(2.0 * math.pi), -jnp.inf)


def gibbs_continuous_tempering(
    bridge: Bridge,
    step_size: Array | float,
    n_steps: int,
    *,
    refreshment: float = 1.0,
    integrator: str = "drift_kick_drift",
    dtype: Any = jnp.float64,
) -> Kernel:
    """Samples in turn the position by Hamiltonian Monte Carlo and the inverse temperature by an exact Gibbs update.

    Args:
        bridge: target and base.
        step_size: of the leapfrog integrator, positive scalar; may be traced.
        n_steps: leapfrog steps of an update.
        refreshment: of the momentum, in (0, 1]; see `tempered_hmc`.
        integrator: one of `INTEGRATORS`.
        dtype: of the position.

    Returns:
        Kernel on ContinuousState with TemperedInfo; `init(position, inverse_temperature=0.0, key=key)`. It leaves the
        joint density proportional to (target / zeta)^b base^(1 - b) on b in [0, 1] invariant.

    Raises:
        ValueError: as `tempered_hmc`.

    Source: PhD thesis, Algorithm 14.

    >>> from auxmc.models.bridge import bridge, gaussian_base
    >>> joined = bridge(lambda x: -jnp.sum(x**2), gaussian_base(jnp.zeros(2), jnp.ones(2)))
    >>> kernel = gibbs_continuous_tempering(joined, 0.5, n_steps=4)
    >>> start = kernel.init(jnp.zeros(2), key=jax.random.key(0))
    >>> state, info = kernel.step(jax.random.key(1), start)
    >>> bool(0.0 <= state.inverse_temperature <= 1.0), int(info.n_gradients)
    (True, 4)
    """
    move = tempered_move.tempered_hmc(
        bridge, step_size, n_steps, refreshment=refreshment, integrator=integrator, dtype=dtype
    )

    def init(
        position: Array, inverse_temperature: Array | float = 0.0, *, key: Array | None = None
    ) -> ContinuousState:
        return ContinuousState(
            move.init(position, key=key), jnp.asarray(inverse_temperature, dtype=position.dtype)
        )

    def draw(key: Array) -> ContinuousNoise:
        return ContinuousNoise(move.draw(key), jax.random.uniform(jax.random.fold_in(key, 2), dtype=dtype))

    def apply(
        noise: ContinuousNoise, state: ContinuousState
    ) -> tuple[ContinuousState, tempered_move.TemperedInfo]:
        moved, info = move.apply(noise.move, state.move, state.inverse_temperature)
        return ContinuousState(moved, draw_inverse_temperature(noise.uniform, moved.delta)), info

    return Kernel(init, draw, apply)


def continuously_tempered_hmc(
    bridge: Bridge,
    step_size: Array | float,
    n_steps: int,
    control_mass: Array | float = 1.0,
    *,
    refreshment: float = 1.0,
    integrator: str = "drift_kick_drift",
    dtype: Any = jnp.float64,
) -> Kernel:
    """Hamiltonian Monte Carlo on position and temperature control together.

    The inverse temperature is the logistic function of a control u with momentum v and mass m. The Hamiltonian is
    -b log(target / zeta) - (1 - b) log base - log b - log(1 - b) + p^T p / 2 + v^2 / (2 m) with b the inverse
    temperature.

    Args:
        bridge: target and base.
        step_size: of the leapfrog integrator, positive scalar; may be traced.
        n_steps: leapfrog steps of an update.
        control_mass: m, positive scalar; may be traced. Dividing the control by a scale s is the same as m = s^2.
        refreshment: of both momenta, in (0, 1]; see `tempered_hmc`.
        integrator: one of `INTEGRATORS`.
        dtype: of the position.

    Returns:
        Kernel on ControlledState with TemperedInfo; `init(position, control=START_CONTROL, key=key)` starts near
        inverse temperature 0: give it a draw of the base.

    Raises:
        ValueError: as `tempered_hmc`.

    Source: PhD thesis, Algorithm 15 and Eq. 5.24.
    """
    return _tempered_with_control(
        bridge, step_size, n_steps, control_mass, _logistic_control, refreshment, integrator, dtype
    )


def plateau_tempered_hmc(
    bridge: Bridge,
    step_size: Array | float,
    n_steps: int,
    thresholds: tuple[float, float],
    control_mass: Array | float = 1.0,
    *,
    refreshment: float = 1.0,
    integrator: str = "drift_kick_drift",
    dtype: Any = jnp.float64,
) -> Kernel:
    """Hamiltonian Monte Carlo on position and a control with plateaus at the target and at the base.

    With thresholds t_1 < t_2 the inverse temperature of a control u is 1 where |u| <= t_1, 0 where |u| >= t_2, and half
    a cosine wave between. The confining potential of u is flat up to t_2 and that of a standard normal distribution
    beyond. States with |u| <= t_1 are draws of the target without weights.

    Args:
        bridge: target and base.
        step_size: of the leapfrog integrator, positive scalar; may be traced.
        n_steps: leapfrog steps of an update.
        thresholds: t_1 and t_2, with 0 < t_1 < t_2.
        control_mass: m, positive scalar; may be traced.
        refreshment: of both momenta, in (0, 1]; see `tempered_hmc`.
        integrator: one of `INTEGRATORS`.
        dtype: of the position.

    Returns:
        Kernel on PlateauState with TemperedInfo; `init(position, control=t_2, key=key)` starts at the base.

    Raises:
        ValueError: thresholds are out of order, or as `tempered_hmc`.

    Source: PhD thesis, Eq. 5.19; Gobbo and Leimkuhler 2015, there with an improper base and so a positive least inverse
    temperature, and without an accept step.
    """
    low, high = thresholds
    if not 0.0 < low < high:
        raise ValueError(f"thresholds must be two numbers with 0 < first < second, got {thresholds}")

    def control_at(control: Array) -> _ControlPoint:
        size, sign = jnp.abs(control), jnp.sign(control)
        turn = math.pi * jnp.clip((size - low) / (high - low), 0.0, 1.0)
        beyond = jnp.maximum(size - high, 0.0)
        cold = 0.5 * (1.0 + jnp.cos(turn))
        slope = -0.5 * math.pi / (high - low) * jnp.sin(turn) * sign
        return _ControlPoint(1.0 - cold, cold, slope, 0.5 * jnp.square(beyond), beyond * sign)

    kernel = _tempered_with_control(
        bridge, step_size, n_steps, control_mass, control_at, refreshment, integrator, dtype
    )

    def outside(state: ControlledState) -> PlateauState:
        return PlateauState(*state, *(jnp.asarray(value, dtype) for value in thresholds))

    def init(position: Array, control: Array | float = high, *, key: Array | None = None) -> PlateauState:
        return outside(kernel.init(position, control, key=key))

    def apply(noise: ControlledNoise, state: PlateauState) -> tuple[PlateauState, tempered_move.TemperedInfo]:
        inner, info = kernel.apply(noise, ControlledState(*state[:3]))
        return outside(inner), info

    return Kernel(init, kernel.draw, apply)


class _ControlPoint(NamedTuple):
    """One minus the inverse temperature, the inverse temperature, its slope, potential of the control, its slope."""

    hot: Array
    cold: Array
    slope: Array
    potential: Array
    potential_slope: Array


def _logistic_control(control: Array) -> _ControlPoint:
    """The potential makes the inverse temperature uniform where the normaliser is the same at all of them."""
    hot, cold = jax.nn.sigmoid(-control), jax.nn.sigmoid(control)
    volume = jax.nn.softplus(control) + jax.nn.softplus(-control)
    return _ControlPoint(hot, cold, hot * cold, volume, -(hot - cold))


def _tempered_with_control(
    bridge: Bridge,
    step_size: Array | float,
    n_steps: int,
    control_mass: Array | float,
    control_at: Callable[[Array], _ControlPoint],
    refreshment: float,
    integrator: str,
    dtype: Any,
) -> Kernel:
    """Kernel on ControlledState of a map from controls to inverse temperatures."""
    tempered_move.check_settings(n_steps, refreshment, integrator, step_size)
    kick_first = integrator == "kick_drift_kick"
    root_mass = jnp.sqrt(jnp.asarray(control_mass, dtype=dtype))

    def init(
        position: Array, control: Array | float = tempered_move.START_CONTROL, *, key: Array | None = None
    ) -> ControlledState:
        noise = draw(require_key(key))
        return ControlledState(
            tempered_move.state_at(bridge, position, noise.normal, kick_first),
            jnp.asarray(control, dtype=position.dtype),
            root_mass * noise.control_normal,
        )

    def draw(key: Array) -> ControlledNoise:
        normal = tempered_move.normal_numbers(jax.random.fold_in(key, 0), (bridge.dim + 1,), dtype)
        return ControlledNoise(
            normal[:-1], normal[-1], -jax.random.exponential(jax.random.fold_in(key, 1), dtype=dtype)
        )

    def force(
        position: tuple[Array, Array], energies: tuple[Array, Array], gradients: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        at = control_at(position[1])
        along_control = at.slope * (energies[0] - energies[1]) + at.potential_slope
        return at.cold * gradients[0] + at.hot * gradients[1], along_control

    def energy(state: ControlledState) -> Array:
        at = control_at(state.control)
        potential = at.cold * state.move.target_energy + at.hot * state.move.base_energy
        kinetic = tempered_move.kinetic_energy(state.move.momentum) + 0.5 * jnp.square(
            state.control_momentum / root_mass
        )
        return potential + at.potential + kinetic

    def apply(
        noise: ControlledNoise, state: ControlledState
    ) -> tuple[ControlledState, tempered_move.TemperedInfo]:
        momentum = tempered_move.refresh_momentum(state.move.momentum, noise.normal, refreshment)
        control_momentum = tempered_move.refresh_momentum(
            state.control_momentum, root_mass * noise.control_normal, refreshment
        )
        start = ControlledState(state.move._replace(momentum=momentum), state.control, control_momentum)
        end, (_, control), (_, end_momentum) = tempered_move.trajectory(
            bridge,
            force,
            start.move,
            (state.position, state.control),
            (momentum, control_momentum),
            step_size,
            n_steps,
            kick_first,
            (1.0, 1.0 / jnp.square(root_mass)),
        )
        proposed = ControlledState(end, control, end_momentum)
        info = tempered_move.metropolis_decision(energy(proposed) - energy(start), noise.log_uniform, n_steps)
        kept = ControlledState(start.move._replace(momentum=-momentum), state.control, -control_momentum)
        return select(info.is_accepted, proposed, kept), info

    return Kernel(init, draw, apply)
