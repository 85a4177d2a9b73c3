"""From settings to kernels, initial states and recorded quantities."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import hamiltonian_monte_carlo
from auxmc.kernels.manifold.constrained_hmc import constrained_hmc
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.models.conditioned import noisy_input
from experiments.human_pose.model.cameras import camera_place
from experiments.human_pose.model.generator import (
    PoseModel,
    conditioned_model,
    generate,
    log_density,
    log_prior,
    n_observed,
    positions,
    split_inputs,
)
from experiments.human_pose.model.hierarchy import (
    hierarchical_log_density,
    hierarchical_log_prior,
    inputs_of_state,
    state_of_inputs,
)
from experiments.human_pose.problem import Problem
from experiments.human_pose.settings import Settings, tuning

Record = dict[str, Array]
# Errors of the constrained integrator: each rejects a proposal.
_ERRORS = ("n_not_converged", "n_not_converged_reverse", "n_irreversible", "n_not_finite", "n_singular")


class Program(NamedTuple):
    """What the lanes of a method do, given the images [constraint] of a scene.

    Attributes:
        build: maps (images, step size) to a kernel.
        start: maps (key, kernel, images, inputs [input]) to its initial state.
        record: maps (state, info) to what is kept of an iteration; every method has `positions` [joint, 3], `camera`
            (its place [3]), `misfit` (root mean square of image errors over the noise scale), `accepted`,
            `acceptance_probability`, `n_work` (projections, or gradients) and `n_failures` (1 where the update
            failed numerically); constrained HMC also `generated` (images with noise [constraint]), which must be
            those observed.
    """

    build: Callable[[Array, Array], Kernel]
    start: Callable[[Array, Kernel, Array, Array], Any]
    record: Callable[[Any, Any], Record]


def build_program(problem: Problem, settings: Settings) -> Program:
    """The program of the case's method."""
    if settings.method == "constrained_hmc":
        return _constrained(problem, settings)
    if settings.method == "hmc":
        return _hamiltonian(problem, settings)
    return _hierarchical(problem, settings)


def _constrained(problem: Problem, settings: Settings) -> Program:
    model, noise_scale, numbers = problem.model, problem.noise_scale, tuning(settings)
    fallback = None if settings.projection_fallback == "none" else settings.projection_fallback
    projection = ProjectionSettings(settings.projection_solver, fallback, settings.projection_tolerance)

    def build(observed: Array, step_size: Array) -> Kernel:
        return constrained_hmc(
            conditioned_model(model, observed, noise_scale),
            step_size,
            numbers.n_steps,
            model.n_inputs + observed.shape[0],
            n_inner_steps=numbers.n_inner_steps,
            projection=projection,
        )

    def start(key: Array, kernel: Kernel, observed: Array, inputs: Array) -> Any:
        # The noise that explains whatever the inputs do not: hundreds of standard deviations at first.
        point = noisy_input(lambda u: generate(model, u), inputs, observed, noise_scale)
        return kernel.init(key, point)

    def record(state: Any, info: Any) -> Record:
        inputs, noise = state.position[: model.n_inputs], state.position[model.n_inputs :]
        errors = info.errors._asdict()
        failed = sum(errors[name] for name in _ERRORS) > 0
        return {
            **_common(model, inputs, jnp.sum(jnp.square(noise)), info, info.errors.n_projections, failed),
            "generated": generate(model, inputs) + noise_scale * noise,
            **{name: errors[name] for name in (*_ERRORS, "n_fallback", "n_projection_iterations")},
        }

    return Program(build, start, record)


def _hamiltonian(problem: Problem, settings: Settings) -> Program:
    model, noise_scale, numbers = problem.model, problem.noise_scale, tuning(settings)

    def build(observed: Array, step_size: Array) -> Kernel:
        return hamiltonian_monte_carlo(
            lambda inputs: log_density(model, inputs, observed, noise_scale),
            step_size,
            numbers.n_steps,
            model.n_inputs,
        )

    def record(state: Any, info: Any) -> Record:
        squares = 2.0 * (log_prior(state.position) - state.log_density)
        return _common(model, state.position, squares, info, info.n_gradients, info.n_not_finite > 0)

    return Program(build, lambda key, kernel, _, inputs: kernel.init(key, inputs), record)


def _hierarchical(problem: Problem, settings: Settings) -> Program:
    model, noise_scale, numbers = problem.model, problem.noise_scale, tuning(settings)

    def build(observed: Array, step_size: Array) -> Kernel:
        return hamiltonian_monte_carlo(
            lambda state: hierarchical_log_density(model, state, observed, noise_scale),
            step_size,
            numbers.n_steps,
            model.n_inputs,
        )

    def record(state: Any, info: Any) -> Record:
        inputs = inputs_of_state(model, state.position)
        squares = 2.0 * (hierarchical_log_prior(model, state.position) - state.log_density)
        return _common(model, inputs, squares, info, info.n_gradients, info.n_not_finite > 0)

    return Program(
        build, lambda key, kernel, _, inputs: kernel.init(key, state_of_inputs(model, inputs)), record
    )


def _common(
    model: PoseModel, inputs: Array, squares: Array, info: Any, n_work: Array, failed: Array
) -> Record:
    """What all methods record; `squares` is the sum of the squared image errors over the variance of the noise."""
    return {
        "positions": positions(model, inputs),
        "camera": camera_place(split_inputs(model, inputs).camera),
        "misfit": jnp.sqrt(jnp.maximum(squares, 0.0) / n_observed(model.views)),
        "accepted": info.accepted,
        "acceptance_probability": info.acceptance_probability,
        "n_work": n_work,
        "n_failures": failed.astype(jnp.int8),
    }
