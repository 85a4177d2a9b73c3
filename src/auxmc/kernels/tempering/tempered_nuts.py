"""No-U-turn sampling of position and temperature control together."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import Kernel, check_integer, check_step_size
from auxmc.kernels.hamiltonian.hmc import HMCState
from auxmc.kernels.hamiltonian.nuts import nuts
from auxmc.kernels.tempering.tempered_move import START_CONTROL, energies_at
from auxmc.models.bridge import Bridge
from auxmc.numerics.truncated_exponential import log_base_weight, log_target_weight


class TemperedTreeState(NamedTuple):
    """State of a chain."""

    extended: Array  # position and, last, the temperature control u [dim + 1]
    log_density: Array  # of the extended density at that point, in nats
    gradient: Array  # of the log density [dim + 1]
    delta: Array  # log density of the base minus that of the target over zeta, in nats
    log_zeta: Array  # that of the bridge, the same in every state

    @property
    def position(self) -> Array:
        """Current point [dim]."""
        return self.extended[:-1]

    @property
    def control(self) -> Array:
        """u, of which the inverse temperature is the logistic function."""
        return self.extended[-1]

    @property
    def inverse_temperature(self) -> Array:
        """Logistic function of the control, in [0, 1]."""
        return jax.nn.sigmoid(self.control)

    @property
    def log_target_weight(self) -> Array:
        """Log density at inverse temperature 1, given the position, plus log zeta."""
        return log_target_weight(self.delta) + self.log_zeta

    @property
    def log_base_weight(self) -> Array:
        """Log density at inverse temperature 0, given the position."""
        return log_base_weight(self.delta)


class TemperedTreeInfo(NamedTuple):
    """What one transition did."""

    acceptance_rate: Array  # mean over the points of the trajectory
    is_divergent: Array  # whether the energy error of a point exceeded 1000 nats or was not a number (bool)
    n_doublings: Array  # times that the trajectory was doubled (int32)
    n_gradients: Array  # leapfrog steps, each with one evaluation of both gradients (int32)


def tempered_nuts(
    bridge: Bridge, step_size: Array | float, inverse_mass: Array, max_doublings: int = 10
) -> Kernel:
    """No-U-turn sampler on the density of position and control.

    The inverse temperature b is the logistic function of the control, and the density is proportional to
    b (1 - b) (target / zeta)^b base^(1 - b). Trajectories are those of the package blackjax, which also draws their
    random numbers; a step of this kernel therefore takes a key for its noise.

    Args:
        bridge: target and base.
        step_size: of the leapfrog integrator, positive scalar; may be traced.
        inverse_mass: diagonal of the inverse mass matrix, the control's last [dim + 1].
        max_doublings: largest number of times that a trajectory is doubled.

    Returns:
        Kernel on TemperedTreeState with TemperedTreeInfo; `init(position, control=START_CONTROL)`
        starts near inverse temperature 0: give it a draw of the base.

    Raises:
        ValueError: the inverse mass has another length, or max_doublings or the step size is not positive.

    Source: PhD thesis, sections 5.4 and 5.6.3; Hoffman and Gelman 2014; Betancourt 2017.

    >>> from auxmc.models.bridge import bridge, gaussian_base
    >>> joined = bridge(lambda x: -jnp.sum(x**2), gaussian_base(jnp.zeros(2), jnp.ones(2)))
    >>> kernel = tempered_nuts(joined, 0.5, jnp.ones(3))
    >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2)))
    >>> bool(info.n_gradients >= 1), bool(info.is_divergent)
    (True, False)
    """
    if jnp.shape(inverse_mass) != (bridge.dim + 1,):
        raise ValueError(
            f"inverse_mass must be [{bridge.dim + 1}], one number for each coordinate and one for the control, "
            f"got {list(jnp.shape(inverse_mass))}"
        )
    check_integer("max_doublings", max_doublings, 1)
    check_step_size(step_size)

    def log_density(extended: Array) -> Array:
        target, base = energies_at(bridge, extended[:-1])
        control = extended[-1]
        mixed = jax.nn.sigmoid(control) * target + jax.nn.sigmoid(-control) * base
        return -mixed - jax.nn.softplus(control) - jax.nn.softplus(-control)

    inner = nuts(log_density, step_size, inverse_mass, max_doublings)

    def delta(extended: Array) -> Array:
        target, base = energies_at(bridge, extended[:-1])
        return target - base

    def init(
        position: Array, control: Array | float = START_CONTROL, *, key: Array | None = None
    ) -> TemperedTreeState:
        extended = jnp.append(position, jnp.asarray(control, position.dtype))
        log_zeta = jnp.asarray(bridge.log_zeta, jnp.result_type(bridge.log_zeta, position))
        start: HMCState = inner.init(extended)
        return TemperedTreeState(*start, delta(extended), log_zeta)

    def apply(noise: Array, state: TemperedTreeState) -> tuple[TemperedTreeState, TemperedTreeInfo]:
        end: HMCState
        end, info = inner.apply(noise, HMCState(state.extended, state.log_density, state.gradient))
        return TemperedTreeState(*end, delta(end.position), state.log_zeta), TemperedTreeInfo(
            info.acceptance_rate, info.is_divergent, info.tree_depth, info.num_integration_steps
        )

    return Kernel(init, inner.draw, apply)
