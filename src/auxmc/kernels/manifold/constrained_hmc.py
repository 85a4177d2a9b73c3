"""Hamiltonian Monte Carlo on the manifold of inputs that generate the observed data.

Every integration error (a projection that does not converge, a sub-step that cannot be reversed, a value that is not
finite, a singular Gram matrix) ends the trajectory and rejects the proposal; each is counted by its kind.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import FROM_POSITION, Kernel, check_integer, pytree_positions, select
from auxmc.kernels.hamiltonian.hmc import HMCNoise, accept_or_reject, trajectory_noise
from auxmc.kernels.manifold.projection import SOLVERS, ProjectionSettings, project
from auxmc.models.conditioned import ConditionedModel

REVERSIBILITY_CHECKS = ("position_and_constraint", "position", "none")
"""What a reversed sub-step must return to; without a check chains may miss the target."""


class ConstrainedState(NamedTuple):
    """Inputs u on the manifold [input], potential -log rho(u) + 1/2 log det J J^T, its gradient, and J at u."""

    position: Array
    potential: Array
    gradient: Array
    jacobian: Any


class IntegrationErrors(NamedTuple):
    """Errors and work of integrator steps, int32 counts."""

    n_not_converged: Array  # forward projections that did not converge
    n_not_converged_reverse: Array  # projections of the reversibility check that did not converge
    n_irreversible: Array  # sub-steps that lead back to another point
    n_not_finite: Array  # sub-steps whose potential or gradient is not finite
    n_singular: Array  # sub-steps with a Gram matrix that has no Cholesky factor
    n_fallback: Array  # projections that needed the fallback solver
    n_projections: Array  # projections made
    n_projection_iterations: Array  # constraint evaluations in them


class ConstrainedInfo(NamedTuple):
    """What one update did."""

    is_accepted: Array  # whether the end of the trajectory was accepted (bool)
    acceptance_rate: Array  # 0 after an integration error
    # Hamiltonian at the end minus at the start, in nats; infinite after an integration error.
    energy_change: Array
    energy: Array  # Hamiltonian of the point that the chain moves to or stays at, with its momentum, in nats
    num_integration_steps: Array  # integrator steps asked for (int32)
    errors: IntegrationErrors  # errors and work of the trajectory

    @property
    def is_divergent(self) -> Array:
        """Whether the energy rose by more than 1000 nats, or an integration error ended the trajectory (bool)."""
        return ~(self.energy_change <= 1000.0)


class Phase(NamedTuple):
    """Point of a trajectory, with its tangent momentum [input], and whether no error has happened on the way."""

    state: ConstrainedState
    momentum: Array
    ok: Array
    errors: IntegrationErrors


def project_momentum(jacobian: Any, momentum: Array) -> Array:
    """Removes from a momentum [input] its part normal to the manifold (PhD thesis, section 4.8)."""
    return momentum - jacobian.transposed_times(jacobian.solve_gram(jacobian.times(momentum)))


@pytree_positions("model.log_prior", "model.constraint", "model.jacobian")
def constrained_hmc(
    model: ConditionedModel,
    step_size: Array | float,
    n_steps: int | tuple[int, int],
    dim: int = FROM_POSITION,
    *,
    n_inner_steps: int | Array = 1,
    projection: ProjectionSettings = ProjectionSettings(),  # noqa: B008
    reversibility_check: str = "position_and_constraint",
) -> Kernel:
    """Constrained Hamiltonian Monte Carlo with geodesic steps, identity mass and full momentum refreshment.

    Args:
        model: the conditioned model.
        step_size: integrator step dt, positive scalar, may be traced.
        n_steps: integrator steps of an update: a number, or the smallest and the largest of a uniform draw.
        dim: number of inputs.
        n_inner_steps: geodesic sub-steps in an integrator step, may be traced; 1 gives RATTLE.
        projection: how points are brought back to the manifold.
        reversibility_check: one of REVERSIBILITY_CHECKS, made after every sub-step. "none" is for measuring its cost.

    Returns:
        Kernel on ConstrainedState with `init(position)`, which takes a point on the manifold.

    Raises:
        ValueError: dim or a number of steps is not positive, these are out of order, or a solver or check is unknown.

    Source: PhD thesis, Algorithm 11 and section 4.8; Graham and Storkey 2017, Algorithm 1.
    """
    draw = trajectory_noise(n_steps, dim)
    if not isinstance(n_inner_steps, Array):
        check_integer("n_inner_steps", n_inner_steps, 1)
    for solver in (projection.solver, projection.fallback):
        if solver is not None and solver not in SOLVERS:
            raise ValueError(f"unknown solver {solver!r}: expected one of {', '.join(SOLVERS)}")
    if reversibility_check not in REVERSIBILITY_CHECKS:
        expected = ", ".join(REVERSIBILITY_CHECKS)
        raise ValueError(f"unknown reversibility_check {reversibility_check!r}: expected one of {expected}")

    def apply(noise: HMCNoise, state: ConstrainedState) -> tuple[ConstrainedState, ConstrainedInfo]:
        momentum = project_momentum(state.jacobian, noise.normal)
        begin = Phase(state, momentum, jnp.ones((), bool), no_errors())

        def going(loop: tuple[Array, Phase]) -> Array:
            return (loop[0] < noise.n_steps) & loop[1].ok

        def advance(loop: tuple[Array, Phase]) -> tuple[Array, Phase]:
            phase = constrained_step(
                model, loop[1], step_size, n_inner_steps, projection, reversibility_check
            )
            return loop[0] + 1, phase

        _, end = lax.while_loop(going, advance, (jnp.zeros((), jnp.int32), begin))
        before, after = hamiltonian(begin), hamiltonian(end)
        decided = accept_or_reject(noise.log_uniform, before, after, end.ok & jnp.isfinite(after - before))
        info = ConstrainedInfo(*decided, noise.n_steps, end.errors)
        return select(info.is_accepted, end.state, state), info

    return Kernel(lambda position, key=None: evaluate_state(model, position), draw, apply)


def hamiltonian(phase: Phase) -> Array:
    """Potential plus kinetic energy, in nats."""
    return phase.state.potential + 0.5 * jnp.sum(jnp.square(phase.momentum))


def constrained_step(
    model: ConditionedModel,
    phase: Phase,
    step_size: Array | float,
    n_inner_steps: int | Array,
    projection: ProjectionSettings,
    reversibility_check: str,
) -> Phase:
    """One step of the geodesic integrator: half a kick, geodesic sub-steps, half a kick (PhD thesis, section 4.8).

    The result is symmetric: with momentum and sign of the step size reversed it leads back. Two half kicks in a row,
    with the projection after each, are the same as the merged kick of the published algorithm.
    """
    kick = 0.5 * step_size
    inner_step = jnp.asarray(step_size / n_inner_steps)
    momentum = project_momentum(phase.state.jacobian, phase.momentum - kick * phase.state.gradient)
    point = _Point(phase.state.position, phase.state.jacobian, momentum, phase.ok, phase.errors)

    def going(loop: tuple[Array, _Point]) -> Array:
        return (loop[0] < n_inner_steps) & loop[1].ok

    def advance(loop: tuple[Array, _Point]) -> tuple[Array, _Point]:
        return loop[0] + 1, _geodesic_step(model, loop[1], inner_step, projection, reversibility_check)

    _, (position, _, momentum, ok, errors) = lax.while_loop(going, advance, (jnp.zeros((), jnp.int32), point))
    state = evaluate_state(model, position)
    finite = jnp.isfinite(state.potential) & jnp.all(jnp.isfinite(state.gradient))
    errors = errors._replace(n_not_finite=errors.n_not_finite + (ok & ~finite).astype(jnp.int32))
    momentum = project_momentum(state.jacobian, momentum - kick * state.gradient)
    return Phase(state, momentum, ok & finite, errors)


class _Point(NamedTuple):
    """Between sub-steps: a Phase without the potential and its gradient."""

    position: Array
    jacobian: Any
    momentum: Array
    ok: Array
    errors: IntegrationErrors


def _geodesic_step(
    model: ConditionedModel, point: _Point, step: Array, projection: ProjectionSettings, check: str
) -> _Point:
    """Free motion for one sub-step, back on to the manifold, and the check that it can be reversed."""
    position, jacobian, momentum, ok, errors = point
    forward = project(model, position + step * momentum, jacobian, projection)
    new_jacobian = model.jacobian(forward.position)
    singular = forward.converged & ~jnp.isfinite(new_jacobian.half_log_determinant)
    # The displacement over the step is the impulse of the constraint, without dividing a difference of positions.
    new_momentum = project_momentum(new_jacobian, momentum + forward.displacement / step)
    usable = forward.converged & ~singular
    counts = no_errors()._replace(
        n_not_converged=~forward.converged,
        n_singular=singular,
        n_fallback=forward.n_fallback,
        n_projections=jnp.ones((), jnp.int32),
        n_projection_iterations=forward.n_iterations,
    )
    if check == "none":
        return _Point(forward.position, new_jacobian, new_momentum, ok & usable, _added(errors, counts))
    back = project(model, forward.position - step * new_momentum, new_jacobian, projection)
    difference = position - back.position
    far = ~(jnp.max(jnp.abs(difference)) <= jnp.sqrt(projection.tolerance))
    if check == "position_and_constraint":
        # Either point may be off the manifold by the tolerance.
        far |= ~(jnp.max(jnp.abs(jacobian.times(difference))) <= 2.0 * projection.tolerance)
    counts = counts._replace(
        n_not_converged_reverse=usable & ~back.converged,
        n_irreversible=usable & back.converged & far,
        n_fallback=forward.n_fallback + back.n_fallback,
        n_projections=jnp.full((), 2, jnp.int32),
        n_projection_iterations=forward.n_iterations + back.n_iterations,
    )
    still_ok = ok & usable & back.converged & ~far
    return _Point(forward.position, new_jacobian, new_momentum, still_ok, _added(errors, counts))


def _added(total: IntegrationErrors, new: IntegrationErrors) -> IntegrationErrors:
    return jax.tree.map(lambda one, other: one + jnp.asarray(other, jnp.int32), total, new)


def evaluate_state(model: ConditionedModel, position: Array) -> ConstrainedState:
    """State at a point on the manifold [input]."""

    def potential(inputs: Array) -> tuple[Array, Any]:
        jacobian = model.jacobian(inputs)
        return jacobian.half_log_determinant - model.log_prior(inputs), jacobian

    derive: Callable[[Array], Any] = jax.value_and_grad(potential, has_aux=True)
    (value, jacobian), gradient = derive(position)
    return ConstrainedState(position, value, gradient, jacobian)


def no_errors() -> IntegrationErrors:
    """Counts before the first step."""
    return IntegrationErrors(*(jnp.zeros((), jnp.int32) for _ in IntegrationErrors._fields))
