"""Hamiltonian Monte Carlo with a metric that depends on the position."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.scipy.linalg import cho_solve

from auxmc.kernels.base import FROM_POSITION, Kernel, check_integer, pytree_positions, select
from auxmc.kernels.hamiltonian.hmc import HMCNoise, accept_or_reject, trajectory_noise
from auxmc.numerics.linalg import sum_log_diagonal


class DenseMetric(NamedTuple):
    """A metric G as a matrix; metrics with structure have the same method and operations."""

    matrix: Array  # G [dim, dim]
    factor: Array  # its lower Cholesky factor L [dim, dim]
    half_log_determinant: Array  # half the log-determinant of G, not finite where G is not positive definite

    def times(self, vector: Array) -> Array:
        """G v [dim]."""
        return self.matrix @ vector

    def solve(self, vector: Array) -> Array:
        """G^-1 v [dim]."""
        return cho_solve((self.factor, True), vector)

    def momentum(self, normal: Array) -> Array:
        """L n [dim], a draw from N(0, G) if n is standard normal."""
        return self.factor @ normal


class RiemannianState(NamedTuple):
    """State of a chain: current point [dim], its log density and metric, with the operations of `DenseMetric`.

    The gradient [dim] is that of minus the log density plus half the log-determinant of the metric.
    """

    position: Array
    log_density: Array
    gradient: Array
    metric: Any


class RiemannianInfo(NamedTuple):
    """What one update did."""

    is_accepted: Array  # whether the end of the trajectory was accepted (bool)
    acceptance_rate: Array  # 0 after an integration error
    # Hamiltonian at the end minus at the start, in nats; infinite after an integration error.
    energy_change: Array
    energy: Array  # of the point that the chain moves to or stays at, with its momentum, in nats
    num_integration_steps: Array  # steps asked for (int32)
    # Evaluations of the log density, the log-determinant and their gradients, two a step (int32).
    n_gradients: Array
    # Evaluations of the metric or of its derivative along a vector, in the implicit steps (int32).
    n_metrics: Array
    # Implicit steps that did not converge, 0 or 1, for the first one ends the trajectory (int32).
    n_not_converged: Array
    n_irreversible: Array  # steps that lead back to another point, 0 or 1 (int32)
    n_not_finite: Array  # trajectories with an energy that is not finite, 0 or 1 (int32)

    @property
    def is_divergent(self) -> Array:
        """Whether the energy rose by more than 1000 nats, or an integration error ended the trajectory (bool)."""
        return ~(self.energy_change <= 1000.0)


class _Phase(NamedTuple):
    """Point of a trajectory, and what happened on the way."""

    state: RiemannianState
    momentum: Array
    n_made: Array
    n_metrics: Array
    converged: Array
    reversible: Array


@pytree_positions("log_density", "metric")
def riemannian_hmc(
    log_density: Callable[[Any], Array],
    metric: Callable[[Any], Any],
    step_size: Array | float,
    n_steps: int | tuple[int, int],
    dim: int = FROM_POSITION,
    *,
    max_iterations: int = 50,
    tolerance: float = 1e-9,
) -> Kernel:
    """Riemannian manifold Hamiltonian Monte Carlo with the generalised leapfrog integrator.

    The Hamiltonian is -log density + log det G(x) / 2 + p^T G(x)^-1 p / 2. Half a kick and the drift are implicit, and
    solved by fixed-point iterations. Every step is made backward too: one that does not converge or does not lead back
    is a rejection, so that what is left is an involution that keeps volume.

    Args:
        log_density: maps position [dim] to an unnormalised log density, in nats.
        metric: maps position [dim] to a positive definite matrix G [dim, dim], the mass matrix there, or to a pytree
            with the operations of `DenseMetric`. Both functions are differentiated in reverse mode.
        step_size: of the integrator, positive scalar; may be traced.
        n_steps: integrator steps of an update: a number, or the smallest and the largest of a uniform draw.
        dim: length of the position; taken from it unless given.
        max_iterations: most iterations of an implicit step.
        tolerance: largest change of an entry in the last iteration, over one plus the largest entry. A step back must
            meet its start within the square root of it.

    Returns:
        Kernel on RiemannianState with RiemannianInfo.

    Raises:
        ValueError: dim, the step size, max_iterations or a number of steps is not positive, or steps are out of order.

    Source: Girolami and Calderhead 2011, section 6; PhD thesis, section 4.8 and equation 4.52.

    >>> kernel = riemannian_hmc(lambda x: -0.5 * x @ x, lambda x: jnp.diag(1.0 + x**2), 0.3, (2, 4), dim=2)
    >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.ones(2)))
    >>> int(info.n_not_converged + info.n_irreversible)
    0
    """
    draw = trajectory_noise(n_steps, dim)
    check_integer("max_iterations", max_iterations, 1)

    def local(position: Array) -> Any:
        found = metric(position)
        return dense_metric(found) if hasattr(found, "ndim") else found

    def potential(position: Array) -> tuple[Array, tuple[Array, Any]]:
        value, here = log_density(position), local(position)
        return here.half_log_determinant - value, (value, here)

    evaluate: Callable[[Array], Any] = jax.value_and_grad(potential, has_aux=True)

    def init(position: Array, key: Array | None = None) -> RiemannianState:
        (_, (value, here)), gradient = evaluate(position)
        return RiemannianState(position, value, gradient, here)

    def slope(state: RiemannianState, momentum: Array) -> Array:
        """Derivative of the Hamiltonian by the position."""
        velocity = state.metric.solve(momentum)
        # The derivative of the inverse of G along a vector needs only that of G.
        return state.gradient - 0.5 * jax.grad(lambda x: velocity @ local(x).times(velocity))(state.position)

    def solve(update: Callable[[Array], Array], start: Array) -> tuple[Array, Array, Array]:
        """A fixed point, whether it was reached, and iterations."""

        def going(loop: tuple[Array, Array, Array]) -> Array:
            return (loop[0] < max_iterations) & (loop[2] > tolerance)

        def advance(loop: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            new = update(loop[1])
            return loop[0] + 1, new, _distance(new, loop[1])

        infinite = jnp.full((), jnp.inf)
        n_made, found, change = lax.while_loop(going, advance, (jnp.zeros((), jnp.int32), start, infinite))
        return found, change <= tolerance, n_made

    def implicit(state: RiemannianState, momentum: Array, step: Array) -> tuple[Array, Array, Array, Array]:
        """Half a kick and the drift: position, momentum, whether both converged, and iterations."""
        half, kicked, n_kick = solve(lambda p: momentum - 0.5 * step * slope(state, p), momentum)
        velocity = state.metric.solve(half)
        position, drifted, n_drift = solve(
            lambda x: state.position + 0.5 * step * (velocity + local(x).solve(half)),
            state.position + step * velocity,
        )
        return position, half, kicked & drifted, n_kick + n_drift

    def apply(noise: HMCNoise, state: RiemannianState) -> tuple[RiemannianState, RiemannianInfo]:
        step = jnp.asarray(step_size)

        def going(phase: _Phase) -> Array:
            return (phase.n_made < noise.n_steps) & phase.converged & phase.reversible

        def advance(phase: _Phase) -> _Phase:
            # One program for both directions: it compiles in half of the time.
            def one_way(start: Any, step: Array) -> tuple[Any, Any]:
                state, momentum = start
                position, half, converged, n_made = implicit(state, momentum, step)
                end = init(position)
                arrival = end, half - 0.5 * step * slope(end, half)
                return arrival, (arrival, converged, n_made + 1)

            begin = phase.state, phase.momentum
            back, (arrivals, converged, n_metrics) = lax.scan(one_way, begin, jnp.stack([step, -step]))
            end, momentum = jax.tree.map(lambda both: both[0], arrivals)
            error = jnp.maximum(
                _distance(back[0].position, phase.state.position), _distance(back[1], phase.momentum)
            )
            return _Phase(
                end,
                momentum,
                phase.n_made + 1,
                phase.n_metrics + jnp.sum(n_metrics, dtype=jnp.int32),
                jnp.all(converged),
                ~jnp.all(converged) | (error <= jnp.sqrt(tolerance)),
            )

        zero, yes = jnp.zeros((), jnp.int32), jnp.ones((), bool)
        start = _Phase(state, state.metric.momentum(noise.normal), zero, zero, yes, yes)
        end = lax.while_loop(going, advance, start)
        before, after = _energy(start), _energy(end)
        kept = (end.converged, end.reversible, jnp.isfinite(after))
        info = RiemannianInfo(
            *accept_or_reject(noise.log_uniform, before, after, kept[0] & kept[1] & kept[2]),
            noise.n_steps,
            2 * end.n_made,
            end.n_metrics,
            *((~part).astype(jnp.int32) for part in kept),
        )
        return select(info.is_accepted, end.state, state), info

    return Kernel(init, draw, apply)


def dense_metric(matrix: Array) -> DenseMetric:
    """Metric without structure from its matrix [dim, dim]; costs a third of the cube of dim."""
    factor = jnp.linalg.cholesky(matrix)
    return DenseMetric(matrix, factor, sum_log_diagonal(factor))


def _distance(first: Array, second: Array) -> Array:
    """Largest difference of an entry over one plus the largest entry."""
    return jnp.max(jnp.abs(first - second)) / (1.0 + jnp.max(jnp.abs(first)))


def _energy(phase: _Phase) -> Array:
    state = phase.state
    kinetic = 0.5 * phase.momentum @ state.metric.solve(phase.momentum)
    return state.metric.half_log_determinant - state.log_density + kinetic
