"""Adaptation of step size and mass matrix in windows during warm-up, as a kernel around a kernel."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from auxmc.kernels.base import Kernel
from auxmc.kernels.metropolis.adaptation import AdaptationInfo
from auxmc.numerics.linalg import as_vector


class WindowState(NamedTuple):
    """State of an adapted kernel: what the next step uses, and the averages of this window as BlackJAX keeps them."""

    inner: Any
    step_size: Array
    inverse_mass: Array
    averages: Any
    n_steps: Array


def window_adaptation(
    build: Callable[[Array, Array], Kernel],
    initial_step_size: float,
    n_warm_up: int,
    dim: int,
    *,
    target: float = 0.8,
    dense: bool = False,
    final_step_size: float | None = None,
) -> Kernel:
    """Adapts step size and mass matrix as Stan does, then freezes them.

    Args:
        build: maps (step size, inverse mass: diagonal [dim] or matrix [dim, dim]) to a Kernel whose info has
            `acceptance_rate` or `accepted_position`; the random numbers that it draws must not depend on these.
            The inverse mass nears the covariance of the target.
        initial_step_size: of the first step, positive.
        n_warm_up: steps that adapt; 0 keeps the initial step size and unit masses.
        dim: length of the position.
        target: mean acceptance probability to reach, between 0 and 1.
        dense: adapt the whole covariance instead of variances.
        final_step_size: in standard deviations of the target, from the end of the first window on; None adapts it.

    Returns:
        Kernel on WindowState with AdaptationInfo; `init(position)`.

    Source: Stan Reference Manual, "HMC algorithm parameters"; Hoffman and Gelman 2014, section 3.2. By BlackJAX.
    """
    # Imported late: BlackJAX takes half a second, and only these chains need it. Its modules make arrays.
    with jax.ensure_compile_time_eval(), jax.numpy_dtype_promotion("standard"):
        from blackjax.adaptation.mass_matrix import mass_matrix_adaptation
        from blackjax.adaptation.step_size import dual_averaging_adaptation
        from blackjax.adaptation.window_adaptation import build_schedule

        # For each step whether it counts for the mass matrix, and whether a window ends with it.
        schedule = np.asarray(build_schedule(n_warm_up), int) if n_warm_up else np.zeros((1, 2), int)
    first_end = np.argmax(schedule[:, 1]) if schedule[:, 1].any() else n_warm_up
    init_mass, update_mass, end_window = mass_matrix_adaptation(not dense)
    init_step, update_step, averaged = dual_averaging_adaptation(target)
    unit = jnp.eye(dim) if dense else jnp.ones(dim)

    def init(position: Array, key: Array | None = None) -> WindowState:
        step_size = jnp.asarray(initial_step_size, float)
        inner = build(step_size, unit).init(position, key=key)
        with jax.numpy_dtype_promotion("standard"):
            averages = _numbers((init_step(step_size), init_mass(dim)))
        return WindowState(inner, step_size, unit, averages, jnp.zeros((), jnp.int32))

    # BlackJAX mixes types of numbers.
    @jax.numpy_dtype_promotion("standard")
    def adapted(state: WindowState, probability: Array) -> WindowState:
        step, mass = state.averages
        slow, ends = jnp.asarray(schedule)[state.n_steps]
        step = update_step(step, probability)
        # Stan shrinks to variances of a thousandth: of those of the window before, whatever their scale.
        variances = jnp.diagonal(state.inverse_mass) if dense else state.inverse_mass
        scales = jnp.sqrt(variances)
        mass = lax.cond(
            slow == 1,
            lambda: _numbers(update_mass(mass, as_vector(state.inner.position)[0] / scales)),
            lambda: _numbers(mass),
        )
        step, mass = lax.cond(
            ends == 1,
            lambda: _numbers((init_step(averaged(step)), end_window(mass))),
            lambda: _numbers((step, mass)),
        )
        is_last = state.n_steps + 1 == n_warm_up
        step_size = jnp.where(is_last, averaged(step), jnp.exp(step.log_step_size))
        if final_step_size is not None:
            step_size = jnp.where(state.n_steps >= first_end, final_step_size, step_size)
        new = mass.inverse_mass_matrix * (jnp.outer(scales, scales) if dense else variances)
        inverse_mass = jnp.where(ends == 1, new, state.inverse_mass)
        return state._replace(step_size=step_size, inverse_mass=inverse_mass, averages=(step, mass))

    def apply(noise: Any, state: WindowState) -> tuple[WindowState, AdaptationInfo]:
        inner, info = build(state.step_size, state.inverse_mass).apply(noise, state.inner)
        moved = state._replace(inner=inner)
        has_rate = hasattr(info, "acceptance_rate")
        rate = info.acceptance_rate if has_rate else info.accepted_position.astype(float)
        new = lax.cond(state.n_steps < n_warm_up, adapted, lambda s, _: s, moved, rate)
        return new._replace(n_steps=state.n_steps + 1), AdaptationInfo(info, state.step_size)

    return Kernel(init, lambda key: build(jnp.asarray(initial_step_size, float), unit).draw(key), apply)


def _numbers(averages: Any) -> Any:
    """Leaves as arrays of one precision, which loops keep: BlackJAX counts with Python's integers."""
    return jax.tree.map(
        lambda a: jnp.asarray(a, float if jnp.issubdtype(jnp.result_type(a), jnp.floating) else jnp.int32),
        averages,
    )
