"""Geodesic sub-steps of the constrained integrator divide a step: they do not lengthen it."""

from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from auxmc.kernels.manifold.constrained_hmc import (
    Phase,
    constrained_step,
    evaluate_state,
    hamiltonian,
    no_errors,
    project_momentum,
)
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.models.conditioned import ConditionedModel, condition_generator


def sphere(weight: float) -> ConditionedModel:
    """The unit sphere with a quartic log density of a weight."""
    return condition_generator(
        lambda u: jnp.sum(jnp.square(u), keepdims=True), lambda u: -weight * jnp.sum(u**4), jnp.ones(1)
    )


@cache
def _journey(weight: float, n_inner: int) -> Callable[[Phase, Array, Array], Phase]:
    model, settings = sphere(weight), ProjectionSettings(tolerance=1e-12)

    def go(begin: Phase, step_size: Array, n_steps: Array) -> Phase:
        def one(_: Array, phase: Phase) -> Phase:
            return constrained_step(model, phase, step_size, n_inner, settings, "position_and_constraint")

        end: Phase = jax.lax.fori_loop(0, n_steps, one, begin)
        return end

    return jax.jit(go)


def travel(weight: float, begin: Phase, step_size: float, n_steps: int, n_inner: int) -> Phase:
    end = _journey(weight, n_inner)(begin, jnp.asarray(step_size), jnp.asarray(n_steps))
    assert end.ok
    return end


def begin_at(weight: float) -> Phase:
    state = evaluate_state(sphere(weight), jnp.array([0.6, 0.0, 0.8]))
    momentum = project_momentum(state.jacobian, jnp.array([0.3, 0.9, -0.5]))
    return Phase(state, momentum, jnp.ones((), bool), no_errors())


@pytest.mark.parametrize("n_inner", [1, 2, 5])
def test_free_motion_takes_the_same_time_in_any_number_of_sub_steps(n_inner: int) -> None:
    """A great circle: a sub-step of size h turns by the angle whose sine is h times the speed."""
    begin = begin_at(0.0)
    speed = float(jnp.linalg.norm(begin.momentum))
    end = travel(0.0, begin, 0.1, 8, n_inner)
    angle = 8 * n_inner * np.arcsin(0.1 / n_inner * speed)
    start, direction = np.asarray(begin.state.position), np.asarray(begin.momentum) / speed
    np.testing.assert_allclose(
        end.state.position, np.cos(angle) * start + np.sin(angle) * direction, atol=1e-9
    )


def test_energy_error_is_of_second_order_with_sub_steps() -> None:
    begin = begin_at(0.7)
    sizes = np.array([0.1, 0.05, 0.025])
    errors = [
        abs(float(hamiltonian(travel(0.7, begin, h, round(1.1 / h), 2)) - hamiltonian(begin))) for h in sizes
    ]
    assert 1.8 < np.polyfit(np.log(sizes), np.log(errors), 1)[0] < 2.2
