"""Projection of a point on to the manifold of a conditioned model along the normals of another point.

Solves c(start - J^T l) = 0 for l, J being the Jacobian at the point that the step came from. That fixed direction is
what makes a step reversible.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import select
from auxmc.models.conditioned import ConditionedModel
from auxmc.numerics.jacobians import Jacobian

SOLVERS = ("quasi_newton", "newton", "newton_line_search")
"""Symmetric quasi-Newton (fixed Gram matrix), full Newton, and Newton with backtracking."""

_MAX_HALVINGS = 10


class ProjectionSettings(NamedTuple):
    """How a projection is solved.

    Attributes:
        solver: one of SOLVERS.
        fallback: one of SOLVERS to try from the start where the first does not converge, or None.
        tolerance: largest absolute constraint value that counts as solved, in the units of the data.
        max_iterations: iterations after which a solver gives up.
        polish: whether one more quasi-Newton update follows convergence, kept if the residual falls; it mostly brings
            points far closer to the manifold than the tolerance.
    """

    solver: str = "quasi_newton"
    fallback: str | None = "newton_line_search"
    tolerance: float = 1e-8
    max_iterations: int = 100
    polish: bool = True


class Projection(NamedTuple):
    """Point on the manifold [input], meaningless unless `converged`; that minus the start; constraint evaluations."""

    position: Array
    displacement: Array
    converged: Array
    n_iterations: Array
    n_fallback: Array


class _Solution(NamedTuple):
    displacement: Array
    residual: Array
    n_iterations: Array


def project(model: ConditionedModel, start: Array, jacobian: Any, settings: ProjectionSettings) -> Projection:
    """Moves a point near the manifold on to it, within the span of the rows of the Jacobian where it came from.

    Source: PhD thesis, Algorithm 11, with convergence itself tested in place of the counter.
    """

    def solved(solution: _Solution) -> Array:
        # A comparison with NaN is false: a residual that is not a number counts as not solved.
        return jnp.max(jnp.abs(solution.residual)) < settings.tolerance

    def solve(solver: str, wanted: Array) -> _Solution:
        """Runs one solver from zero displacement; makes no iteration unless `wanted`."""

        def unsolved(solution: _Solution) -> Array:
            going = ~solved(solution) & jnp.all(jnp.isfinite(solution.residual))
            return wanted & going & (solution.n_iterations < settings.max_iterations)

        def update(solution: _Solution) -> _Solution:
            displacement, residual = _UPDATES[solver](model, start, jacobian, solution)
            return _Solution(displacement, residual, solution.n_iterations + 1)

        begin = _Solution(jnp.zeros_like(start), model.constraint(start), jnp.ones((), jnp.int32))
        return lax.while_loop(unsolved, update, begin)

    solution = solve(settings.solver, jnp.ones((), bool))
    n_fallback = jnp.zeros((), jnp.int32)
    if settings.fallback is not None:
        failed = ~solved(solution)
        # A loop of no iterations where nothing failed; the first solver's result is kept there.
        second = solve(settings.fallback, failed)
        total = solution.n_iterations + second.n_iterations
        solution = select(failed, second, solution)._replace(n_iterations=total)
        n_fallback = failed.astype(jnp.int32)
    converged = solved(solution)
    displacement = solution.displacement
    if settings.polish:
        polished, residual = _quasi_newton(model, start, jacobian, solution)
        # With a fixed Jacobian an update may also lead away again.
        better = jnp.max(jnp.abs(residual)) <= jnp.max(jnp.abs(solution.residual))
        displacement = jnp.where(converged & better, polished, displacement)
    return Projection(start + displacement, displacement, converged, solution.n_iterations, n_fallback)


def _quasi_newton(
    model: ConditionedModel, start: Array, jacobian: Jacobian, solution: _Solution
) -> tuple[Array, Array]:
    """One update with the Gram matrix of the previous point: one constraint evaluation, no factorisation."""
    step = jacobian.transposed_times(jacobian.solve_gram(solution.residual))
    displacement = solution.displacement - step
    return displacement, model.constraint(start + displacement)


def _newton_step(model: ConditionedModel, start: Array, jacobian: Any, solution: _Solution) -> Array:
    here = model.jacobian(start + solution.displacement)
    return jacobian.transposed_times(here.solve_cross(jacobian, solution.residual))


def _newton(
    model: ConditionedModel, start: Array, jacobian: Jacobian, solution: _Solution
) -> tuple[Array, Array]:
    displacement = solution.displacement - _newton_step(model, start, jacobian, solution)
    return displacement, model.constraint(start + displacement)


def _newton_line_search(
    model: ConditionedModel, start: Array, jacobian: Jacobian, solution: _Solution
) -> tuple[Array, Array]:
    """Full Newton whose step is halved until the norm of the residual falls, at most ten times."""
    step = _newton_step(model, start, jacobian, solution)
    norm = jnp.linalg.norm(solution.residual)

    def attempt(size: Array) -> tuple[Array, Array]:
        displacement = solution.displacement - size * step
        return displacement, model.constraint(start + displacement)

    def rising(loop: tuple[Array, tuple[Array, Array]]) -> Array:
        size, (_, residual) = loop
        return ~(jnp.linalg.norm(residual) < norm) & (size > 0.5**_MAX_HALVINGS)

    def halve(loop: tuple[Array, tuple[Array, Array]]) -> tuple[Array, tuple[Array, Array]]:
        return 0.5 * loop[0], attempt(0.5 * loop[0])

    one = jnp.ones((), step.dtype)
    return lax.while_loop(rising, halve, (one, attempt(one)))[1]


_UPDATES: dict[str, Callable[..., tuple[Array, Array]]] = {
    "quasi_newton": _quasi_newton,
    "newton": _newton,
    "newton_line_search": _newton_line_search,
}
