"""Lotka-Volterra model conditioned exactly: on all data by two constraint functions, or on nine summaries."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.kernels.base import check_choice
from auxmc.models.conditioned import ConditionedModel
from auxmc.numerics import jacobians
from auxmc.numerics.jacobians import Jacobian
from experiments.lotka_volterra.model import generator
from experiments.lotka_volterra.model.summaries import summary_statistics

ConstraintForm = Literal["teacher_forced", "generator", "summaries"]


def conditioned_model(
    model: generator.LotkaVolterraModel, constraint: str = "teacher_forced", convention: str = "population"
) -> ConditionedModel:
    """The model conditioned on its observations, with inputs (u1, u2) [4 + 2 step] (thesis, sections 4.7 and 4.10.2).

    The function that is zero on the manifold is one of these; its values are ordered as u2, prey before predators:

    * `generator`: simulated minus observed populations. Markovian Jacobian, taken at the observed states, where it is
      exact if the constraint holds.
    * `teacher_forced`, our own: observed populations minus the step from the observed state before, so that errors do
      not grow. Same manifold and target, because the two differ by a matrix of constant determinant; diagonal Jacobian,
      linear in u2.
    * `summaries`: simulated minus observed summaries, not normalised; a larger manifold. Dense Jacobian.
    """
    check_choice("constraint", constraint, get_args(ConstraintForm))
    if constraint == "teacher_forced":
        return _teacher_forced(model)
    if constraint == "generator":
        return _generator(model)
    return _summaries(model, convention)


def sparsely_conditioned_model(
    model: generator.LotkaVolterraModel, steps_per_observation: int
) -> ConditionedModel:
    """The model conditioned on every M-th of its states alone, with inputs (u1, u2) [4 + 2 step].

    The constraint takes M steps from each observation, and subtracts the next: the Jacobian has blocks, at a cost
    linear in the observations. A path simulated from the initial state alone has the same manifold and target, but not
    this structure, which section 4.10.2 of the thesis states to be lost for M > 1; restarts are our own.
    """
    ends = jnp.asarray(model.observations[steps_per_observation - 1 :: steps_per_observation])
    starts = jnp.concatenate([jnp.asarray([model.initial_state]), ends[:-1]])
    segment = model._replace(observations=model.observations[:steps_per_observation])

    def reach(rate_inputs: Array, noise: Array, start: Array) -> Array:
        return generator.simulate(
            segment._replace(initial_state=(start[0], start[1])),  # type: ignore[arg-type]
            jnp.concatenate([rate_inputs, noise]),
        )[-1]

    def of_segments(function: Callable[..., Any], inputs: Array) -> Any:
        rate_inputs, noise = inputs[: generator.N_RATES], inputs[generator.N_RATES :]
        return jax.vmap(function, (None, 0, 0))(rate_inputs, noise.reshape(len(ends), -1), starts)

    def constraint(inputs: Array) -> Array:
        return (of_segments(reach, inputs) - ends).reshape(-1)

    def jacobian(inputs: Array) -> Jacobian:
        by_rates, by_noise = of_segments(jax.jacrev(reach, (0, 1)), inputs)
        return jacobians.block_jacobian(by_rates.reshape(-1, generator.N_RATES), by_noise)

    return ConditionedModel(generator.log_prior, constraint, jacobian)


def inverse_noise_blocks(model: generator.LotkaVolterraModel, rates: Array) -> tuple[Array, Array]:
    """Blocks of du2/dx at the observed states at rates z [4]: diagonal [step, 2, 2], and left of them [step - 1, 2, 2].

    The noise of a step depends on the states at its ends alone, for predators also on the new prey under scheme `code`.
    """
    prey, predators = jnp.asarray(model.previous_states.T)
    new_prey = jnp.asarray(model.observations[:, 0])
    step, is_code = model.time_step, model.scheme == "code"
    zero, one = jnp.zeros_like(prey), jnp.ones_like(prey)
    eaten_food = step * rates[3] * predators
    own = jnp.array([[one, zero], [-eaten_food if is_code else zero, one]])
    food = new_prey if is_code else prey
    before = jnp.array(
        [
            [-(1.0 + step * (rates[0] - rates[1] * predators)), step * rates[1] * prey],
            [zero if is_code else -eaten_food, -(1.0 + step * (rates[3] * food - rates[2]))],
        ]
    )
    scale = jnp.asarray(model.step_sd)[None, :, None]
    own, before = (jnp.moveaxis(blocks, -1, 0) / scale for blocks in (own, before[..., 1:]))
    return own, before


def _teacher_forced(model: generator.LotkaVolterraModel) -> ConditionedModel:
    sd = jnp.asarray(np.tile(model.step_sd, model.n_steps))
    by_log_rate = _design_by_log_rate(model)

    def constraint(inputs: Array) -> Array:
        return sd * (generator.noise_inputs(model, inputs[: generator.N_RATES]) - inputs[generator.N_RATES :])

    def jacobian(inputs: Array) -> Jacobian:
        rates = jnp.exp(generator.log_rates(model, inputs))
        return jacobians.diagonal_jacobian(-by_log_rate * rates[None, :], -sd)

    return ConditionedModel(generator.log_prior, constraint, jacobian)


def _generator(model: generator.LotkaVolterraModel) -> ConditionedModel:
    sd = jnp.asarray(np.tile(model.step_sd, model.n_steps))
    whitened_by_log_rate = _design_by_log_rate(model) / sd[:, None]

    def constraint(inputs: Array) -> Array:
        return generator.residuals(model, inputs).reshape(-1)

    def jacobian(inputs: Array) -> Jacobian:
        rates = jnp.exp(generator.log_rates(model, inputs))
        whitened = whitened_by_log_rate * rates[None, :]
        return jacobians.markovian_jacobian(whitened, *inverse_noise_blocks(model, rates))

    return ConditionedModel(generator.log_prior, constraint, jacobian)


def _summaries(model: generator.LotkaVolterraModel, convention: str) -> ConditionedModel:
    observed = summary_statistics(model.observations, convention)

    def constraint(inputs: Array) -> Array:
        return summary_statistics(generator.simulate(model, inputs), convention) - observed

    def jacobian(inputs: Array) -> Jacobian:
        return jacobians.dense_jacobian(jax.jacrev(constraint)(inputs))

    return ConditionedModel(generator.log_prior, constraint, jacobian)


def _design_by_log_rate(model: generator.LotkaVolterraModel) -> Array:
    """Derivative of the step means by u1, over the rates [constraint, 4]; rates enter the means linearly."""
    return jnp.asarray(model.prior_sd * generator.step_design(model).reshape(-1, generator.N_RATES))
