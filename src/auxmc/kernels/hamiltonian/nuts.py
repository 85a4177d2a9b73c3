"""The no-U-turn sampler, by BlackJAX."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import Kernel, pytree_positions
from auxmc.kernels.hamiltonian.hmc import HMCState


class NutsInfo(NamedTuple):
    """What one update did."""

    acceptance_rate: Array  # mean over the points of the trajectory
    energy: Array  # of the point that the chain moves to, with its momentum, in nats
    num_integration_steps: Array  # leapfrog steps (int32)
    tree_depth: Array  # doublings of the trajectory (int32)
    is_divergent: Array  # whether the energy rose by more than 1000 nats (bool)
    left_support: Array  # whether an end of the trajectory has no finite log density (bool)


@pytree_positions("log_density")
def nuts(
    log_density: Callable[[Any], Array], step_size: Array | float, inverse_mass: Array, max_depth: int = 10
) -> Kernel:
    """The no-U-turn sampler with multinomial draws from the trajectory.

    Args:
        log_density: maps position [dim] to an unnormalised log density, in nats; minus infinity where the density is
            zero.
        step_size: of the leapfrog integrator, positive scalar; may be traced.
        inverse_mass: diagonal [dim] or matrix [dim, dim]; may be traced.
        max_depth: doublings of the trajectory at most.

    Returns:
        Kernel on HMCState with NutsInfo.

    Source: Hoffman and Gelman 2014; Betancourt 2017, "A conceptual introduction to Hamiltonian Monte Carlo", A.3.
    """
    # Imported late: BlackJAX takes half a second, and only these chains need it. Its modules make arrays.
    with jax.ensure_compile_time_eval(), jax.numpy_dtype_promotion("standard"):
        from blackjax.mcmc import nuts
        from blackjax.mcmc.hmc import HMCState as BlackjaxState

    step = nuts.build_kernel()
    evaluate = jax.value_and_grad(log_density)

    @jax.numpy_dtype_promotion("standard")
    def apply(key: Array, state: HMCState) -> tuple[HMCState, NutsInfo]:
        new, info = step(
            key, BlackjaxState(*state), log_density, step_size, inverse_mass, max_num_doublings=max_depth
        )
        ends = (info.trajectory_leftmost_state.logdensity, info.trajectory_rightmost_state.logdensity)
        return HMCState(new.position, new.logdensity, new.logdensity_grad), NutsInfo(
            acceptance_rate=info.acceptance_rate,
            energy=info.energy,
            num_integration_steps=info.num_integration_steps.astype(jnp.int32),
            tree_depth=jnp.asarray(info.num_trajectory_expansions, jnp.int32),
            is_divergent=info.is_divergent,
            left_support=~(jnp.isfinite(ends[0]) & jnp.isfinite(ends[1])),
        )

    return Kernel(lambda position, key=None: HMCState(position, *evaluate(position)), lambda key: key, apply)
