"""Hamiltonian Monte Carlo of target and auxiliary variables together."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import FROM_POSITION, Kernel, pytree_positions, select
from auxmc.kernels.hamiltonian.hmc import HMCNoise, trajectory_noise
from auxmc.kernels.pseudo_marginal.updates import (
    PseudoMarginalInfo,
    PseudoMarginalState,
    info_of,
    initialiser,
)
from auxmc.models.estimator import Estimator


class _Phase(NamedTuple):
    """Target and auxiliary variables with their momenta."""

    position: Array
    auxiliary: Array
    velocity: Array
    spin: Array


class _Noise(NamedTuple):
    """Random numbers of a step: those of the position, with the number of steps, and momenta of u."""

    trajectory: HMCNoise
    spin: Array


@pytree_positions("estimator.prepare")
def pseudo_marginal_hmc(
    estimator: Estimator, step_size: Array | float, n_steps: int | tuple[int, int], dim: int = FROM_POSITION
) -> Kernel:
    """Pseudo-marginal HMC: one trajectory of target variables x and standard normal auxiliary variables u.

    The Hamiltonian -log estimate(x, u) + (|u|^2 + |p|^2 + |q|^2) / 2 is split. Without the estimate, u and its momentum
    q turn by an angle and x moves straight, both exactly; kicks by the gradient of the log estimate are between halves
    of these. The error of an integration step so does not grow with the number of auxiliary variables alone.

    Args:
        estimator: density estimator, differentiable in x and u by reverse mode, with standard normal u.
        step_size: of the integrator, positive scalar; may be traced.
        n_steps: integration steps of an update: a number, or the smallest and the largest of a uniform draw.
        dim: number of target variables; taken from the position unless given.

    Returns:
        Kernel on PseudoMarginalState with `init(position, key=key)`. In the info, `n_estimates_position` counts
        estimates and their gradients: one of both for a step of the integrator, one estimate for the end.

    Raises:
        ValueError: dim or a number of steps is not positive, or these are out of order.

    Source: PhD thesis, section 3.7; Lindsten and Doucet, Pseudo-marginal Hamiltonian Monte Carlo (2016), section 3.
    """
    draw_trajectory = trajectory_noise(n_steps, dim)

    def log_estimate(position: Array, auxiliary: Array) -> tuple[Array, tuple[Array, Any]]:
        cache = estimator.prepare(position)
        value = estimator.log_estimate(cache, auxiliary)
        return value, (value, cache)

    gradient = jax.grad(log_estimate, argnums=(0, 1), has_aux=True)

    def draw(key: Array) -> _Noise:
        return _Noise(draw_trajectory(key), estimator.draw_auxiliary(jax.random.fold_in(key, 3)))

    def drift(phase: _Phase, time: Array | float) -> _Phase:
        cosine, sine = jnp.cos(time), jnp.sin(time)
        return _Phase(
            phase.position + time * phase.velocity,
            cosine * phase.auxiliary + sine * phase.spin,
            phase.velocity,
            cosine * phase.spin - sine * phase.auxiliary,
        )

    def apply(noise: _Noise, state: PseudoMarginalState) -> tuple[PseudoMarginalState, PseudoMarginalInfo]:
        start = _Phase(state.position, state.auxiliary, noise.trajectory.normal, noise.spin)

        def advance(_: Array, loop: tuple[_Phase, Array, Array]) -> tuple[_Phase, Array, Array]:
            phase, n_cubic, n_failures = loop
            phase = drift(phase, 0.5 * step_size)
            (of_position, of_auxiliary), (_, cache) = gradient(phase.position, phase.auxiliary)
            phase = phase._replace(
                velocity=phase.velocity + step_size * of_position, spin=phase.spin + step_size * of_auxiliary
            )
            n_cubic, n_failures = n_cubic + estimator.n_cubic(cache), n_failures + estimator.n_failures(cache)
            return drift(phase, 0.5 * step_size), n_cubic, n_failures

        zero = jnp.zeros((), jnp.int32)
        n_made = noise.trajectory.n_steps
        end, n_cubic, n_failures = lax.fori_loop(0, n_made, advance, (start, zero, zero))
        value, (_, cache) = log_estimate(end.position, end.auxiliary)
        change = value - state.log_estimate + _energy(start) - _energy(end)
        accepted = (noise.trajectory.log_uniform < change) & jnp.isfinite(value)
        info = info_of(
            accepted_position=accepted,
            accepted_auxiliary=accepted,
            n_estimates_position=2 * n_made + 1,
            n_cubic=n_cubic + estimator.n_cubic(cache),
            n_failures=n_failures + estimator.n_failures(cache),
        )
        return select(accepted, PseudoMarginalState(end.position, end.auxiliary, value, cache), state), info

    return Kernel(initialiser(estimator), draw, apply)


def _energy(phase: _Phase) -> Array:
    """All of the Hamiltonian but the log estimate, in nats."""
    squares = (jnp.sum(jnp.square(part)) for part in (phase.auxiliary, phase.velocity, phase.spin))
    return 0.5 * sum(squares, jnp.zeros(()))
