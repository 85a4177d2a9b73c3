"""Metropolis kernel whose proposal is a deterministic map that is its own inverse."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import Kernel, select
from auxmc.kernels.metropolis.metropolis import MetropolisState, metropolis_accept
from auxmc.numerics.linalg import as_vector


class InvolutionInfo(NamedTuple):
    """What one step did."""

    is_accepted: Array  # whether the image of the point was accepted (bool)
    # min(1, density of the image times |Jacobian| over density), 0 where that is not finite.
    acceptance_rate: Array
    log_ratio: Array  # log of the ratio in it, in nats
    log_uniform: Array  # log of the accept uniform
    n_evaluations: Array  # calls of the log density, always 1 (int32)


class InvolutionNoise(NamedTuple):
    """Random number of a step: the log of the accept uniform. The proposal needs none."""

    log_uniform: Array


def involution_metropolis(
    log_density: Callable[[Array], Array],
    involution: Callable[[Array], Array],
    log_jacobian: Callable[[Array], Array] | None = None,
) -> Kernel:
    """Metropolis kernel that proposes the image of the current point under an involution.

    Such a kernel alone visits two points at most: it is a part of others, such as a leapfrog trajectory that ends
    with its momentum reversed.

    Args:
        log_density: maps position [dim] to an unnormalised log density, in nats.
        involution: maps position [dim] to position [dim]; applied twice it must be the identity.
        log_jacobian: maps position [dim] to the log of |det of the involution's derivative| there; None computes it
            by differentiation.

    Returns:
        Kernel on MetropolisState with InvolutionInfo. A step is rejected where the proposed log density or the ratio is
        not finite.

    Source: PhD thesis, Eq. 2.39.
    Must hold: the target is invariant and the kernel reversible; at most two states are visited.

    >>> kernel = involution_metropolis(lambda x: -x[0] + jnp.log(x[0]), lambda x: 1.0 / x)
    >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.array([2.0])))
    >>> round(float(info.log_ratio), 6)  # log p(1/2) + log(1/4) - log p(2)
    -1.272589
    """

    def log_volume(position: Any) -> Array:
        if log_jacobian is not None:
            return log_jacobian(position)
        vector, unravel = as_vector(position)
        return jnp.linalg.slogdet(jax.jacfwd(lambda v: as_vector(involution(unravel(v)))[0])(vector))[1]

    def draw(key: Array) -> InvolutionNoise:
        return InvolutionNoise(-jax.random.exponential(key))

    def apply(noise: InvolutionNoise, state: MetropolisState) -> tuple[MetropolisState, InvolutionInfo]:
        image = involution(state.position)
        proposed = MetropolisState(image, log_density(image))
        corrected = proposed.log_density + log_volume(state.position)
        accepted = metropolis_accept(noise.log_uniform, corrected, state.log_density)
        log_ratio = corrected - state.log_density
        probability = jnp.where(jnp.isfinite(corrected), jnp.exp(jnp.minimum(log_ratio, 0.0)), 0.0)
        one = jnp.ones((), jnp.int32)
        info = InvolutionInfo(accepted, probability, log_ratio, noise.log_uniform, one)
        return select(accepted, proposed, state), info

    return Kernel(lambda position, key=None: MetropolisState(position, log_density(position)), draw, apply)
