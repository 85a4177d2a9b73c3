"""Constrained Hamiltonian Monte Carlo with trajectories that end by themselves when they turn back."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import FROM_POSITION, Kernel, check_integer, pytree_positions, select
from auxmc.kernels.manifold.constrained_hmc import (
    ConstrainedInfo,
    ConstrainedState,
    IntegrationErrors,
    Phase,
    constrained_step,
    evaluate_state,
    hamiltonian,
    no_errors,
    project_momentum,
)
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.models.conditioned import ConditionedModel
from auxmc.numerics.random import standard_normal

_MAX_ENERGY_CHANGE = 1000.0


class TrajectoryNoise(NamedTuple):
    """Random numbers of an update: momentum, direction and accept uniform of each doubling, key of those inside."""

    normal: Array
    forward: Array
    log_uniforms: Array
    key: Array


class _Tree(NamedTuple):
    """Points of one trajectory, or of its newest doubling: the one chosen, its energy change, sums over all.

    `log_weight` is the log of the sum of exp(-energy change), in proportion to which points are chosen.
    """

    proposal: ConstrainedState
    energy: Array
    log_weight: Array
    momentum_sum: Array
    acceptance_sum: Array
    n_points: Array


class _Doubling(NamedTuple):
    tree: _Tree
    end: Phase
    # Momenta and their running sums at the points where subtrees begin, one for each size.
    momenta: Array
    sums: Array
    valid: Array


class _Trajectory(NamedTuple):
    tree: _Tree
    left: Phase
    right: Phase
    errors: IntegrationErrors
    depth: Array
    going: Array


@pytree_positions("model.log_prior", "model.constraint", "model.jacobian")
def constrained_nuts(
    model: ConditionedModel,
    step_size: Array | float,
    dim: int = FROM_POSITION,
    *,
    max_depth: int = 10,
    n_inner_steps: int = 1,
    projection: ProjectionSettings = ProjectionSettings(),  # noqa: B008
    reversibility_check: str = "position_and_constraint",
) -> Kernel:
    """No-U-turn sampling on a manifold: multinomial choice along a trajectory that doubles until it turns back.

    A doubling that meets an integration error, an energy change above 1000 or a turn inside itself is thrown away as
    a whole and ends the trajectory, which keeps the update reversible. Momenta are compared as vectors of the
    space of inputs, in which the manifold lies.

    Args:
        model: the conditioned model.
        step_size: integrator step, positive scalar, may be traced.
        dim: number of inputs.
        max_depth: doublings after which a trajectory ends in any case.
        n_inner_steps: geodesic sub-steps in an integrator step.
        projection: how points are brought back to the manifold.
        reversibility_check: see `constrained_hmc`.

    Returns:
        Kernel on ConstrainedState with `init(position)`; its info counts the integrator steps made in
        `num_integration_steps`, and its acceptance rate is the mean over the points of the trajectory.

    Raises:
        ValueError: max_depth or n_inner_steps is not positive.

    Source: Hoffman and Gelman 2014 (doubling), Betancourt 2017 (multinomial choice and the turning test with summed
    momenta).
    """
    check_integer("max_depth", max_depth, 1)
    check_integer("n_inner_steps", n_inner_steps, 1)

    def draw(key: Array) -> TrajectoryNoise:
        return TrajectoryNoise(
            normal=standard_normal(jax.random.fold_in(key, 0), (dim,)),
            forward=jax.random.bernoulli(jax.random.fold_in(key, 1), shape=(max_depth,)),
            log_uniforms=-jax.random.exponential(jax.random.fold_in(key, 2), (max_depth,)),
            key=jax.random.fold_in(key, 3),
        )

    def apply(noise: TrajectoryNoise, state: ConstrainedState) -> tuple[ConstrainedState, ConstrainedInfo]:
        momentum = project_momentum(state.jacobian, noise.normal)
        begin = Phase(state, momentum, jnp.ones((), bool), no_errors())
        start_energy = hamiltonian(begin)

        def one_step(phase: Phase, size: Array) -> Phase:
            return constrained_step(model, phase, size, n_inner_steps, projection, reversibility_check)

        def double(trajectory: _Trajectory) -> _Trajectory:
            depth = trajectory.depth
            forward = noise.forward[depth]
            edge = select(forward, trajectory.right, trajectory.left)
            edge = edge._replace(errors=trajectory.errors, ok=jnp.ones((), bool))
            size = jnp.where(forward, step_size, -jnp.asarray(step_size, float))
            key = jax.random.fold_in(noise.key, depth)
            new = _subtree(edge, size, depth, key, start_energy, one_step, max_depth)
            tree, added = trajectory.tree, new.tree
            taken = new.valid & (noise.log_uniforms[depth] < added.log_weight - tree.log_weight)
            momentum_sum = tree.momentum_sum + added.momentum_sum
            left = select(forward | ~new.valid, trajectory.left, new.end)
            right = select(forward & new.valid, new.end, trajectory.right)
            merged = _Tree(
                proposal=select(taken, added.proposal, tree.proposal),
                energy=jnp.where(taken, added.energy, tree.energy),
                log_weight=jnp.where(
                    new.valid, jnp.logaddexp(tree.log_weight, added.log_weight), tree.log_weight
                ),
                momentum_sum=jnp.where(new.valid, momentum_sum, tree.momentum_sum),
                acceptance_sum=tree.acceptance_sum + added.acceptance_sum,
                n_points=tree.n_points + added.n_points,
            )
            turned = _turns(left.momentum, right.momentum, merged.momentum_sum)
            return _Trajectory(merged, left, right, new.end.errors, depth + 1, new.valid & ~turned)

        zero = jnp.zeros((), start_energy.dtype)
        none_yet = jnp.zeros((), jnp.int32)
        alone = _Tree(state, zero, zero, momentum, zero, none_yet)
        first = _Trajectory(alone, begin, begin, no_errors(), none_yet, jnp.ones((), bool))
        end = lax.while_loop(lambda t: t.going & (t.depth < max_depth), double, first)
        moved = jnp.any(end.tree.proposal.position != state.position)
        n_points = jnp.maximum(end.tree.n_points, 1).astype(start_energy.dtype)
        change, mean = end.tree.energy, end.tree.acceptance_sum / n_points
        info = ConstrainedInfo(moved, mean, change, start_energy + change, end.tree.n_points, end.errors)
        return end.tree.proposal, info

    return Kernel(lambda position, key=None: evaluate_state(model, position), draw, apply)


def _subtree(
    edge: Phase, size: Array, depth: Array, key: Array, start_energy: Array, one_step: Any, max_depth: int
) -> _Doubling:
    """Adds 2^depth points beyond an edge, unless an error or a turn inside them comes first."""
    n_wanted = jnp.left_shift(jnp.ones((), jnp.int32), depth)
    zero = jnp.zeros((), start_energy.dtype)
    nothing = jnp.zeros_like(edge.momentum)
    empty = _Tree(edge.state, zero, -jnp.inf + zero, nothing, zero, jnp.zeros((), jnp.int32))
    slots = jnp.zeros((max_depth, len(nothing)), nothing.dtype)

    def going(doubling: _Doubling) -> Array:
        return doubling.valid & (doubling.tree.n_points < n_wanted)

    def add(doubling: _Doubling) -> _Doubling:
        tree, number = doubling.tree, doubling.tree.n_points
        end = one_step(doubling.end, size)
        energy = hamiltonian(end) - start_energy
        usable = end.ok & (energy < _MAX_ENERGY_CHANGE)
        energy = jnp.where(usable, energy, jnp.inf)
        log_weight = jnp.logaddexp(tree.log_weight, -energy)
        log_uniform = -jax.random.exponential(jax.random.fold_in(key, number))
        taken = usable & (log_uniform < -energy - log_weight)
        momentum_sum = tree.momentum_sum + jnp.where(usable, end.momentum, 0.0)
        slot, n_complete = _slots_of_point(number)
        even = number % 2 == 0
        momenta = jnp.where(even, doubling.momenta.at[slot].set(end.momentum), doubling.momenta)
        sums = jnp.where(even, doubling.sums.at[slot].set(momentum_sum), doubling.sums)
        # An odd point completes subtrees that began at the points in the last `n_complete` slots.
        inside = momentum_sum[None] - sums + momenta
        turned = jax.vmap(lambda first, total: _turns(first, end.momentum, total))(momenta, inside)
        index = jnp.arange(max_depth, dtype=jnp.int32)
        complete = (index <= slot) & (index > slot - n_complete)
        turns = jnp.any(turned & complete) & ~even
        new = _Tree(
            proposal=select(taken, end.state, tree.proposal),
            energy=jnp.where(taken, energy, tree.energy),
            log_weight=log_weight,
            momentum_sum=momentum_sum,
            acceptance_sum=tree.acceptance_sum + jnp.exp(-jnp.maximum(energy, 0.0)),
            n_points=number + 1,
        )
        return _Doubling(new, end, momenta, sums, usable & ~turns)

    return lax.while_loop(going, add, _Doubling(empty, edge, slots, slots, jnp.ones((), bool)))


def _slots_of_point(number: Array) -> tuple[Array, Array]:
    """Slot of the subtree beginnings up to a point, and how many subtrees the point completes.

    Point n has as many open beginnings before it as n // 2 has ones; an odd point completes as many subtrees as
    it has trailing ones.
    """
    slot = lax.population_count(jnp.right_shift(number, 1))
    trailing_ones = jnp.bitwise_and(jnp.bitwise_not(number), number + 1) - 1
    return slot, lax.population_count(trailing_ones)


def _turns(first: Array, last: Array, total: Array) -> Array:
    """Whether a stretch of the trajectory has turned back, seen from either end.

    The ends count half in the sum, which makes the test the same for a step that is one long and its parts.
    """
    middle = total - 0.5 * (first + last)
    return (jnp.dot(first, middle) <= 0.0) | (jnp.dot(last, middle) <= 0.0)
