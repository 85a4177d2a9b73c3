"""What the chains and the annealed runs of each method do."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.driver.blocks import Sampler
from auxmc.kernels.base import Kernel
from auxmc.kernels.tempering.annealed_importance import (
    AnnealedInfo,
    AnnealedState,
    annealed_importance_sampling,
)
from auxmc.kernels.tempering.continuous_tempering import continuously_tempered_hmc, gibbs_continuous_tempering
from auxmc.kernels.tempering.simulated_tempering import simulated_tempering
from auxmc.numerics.schedules import sigmoidal_schedule
from experiments.image_models.problem import Problem
from experiments.image_models.settings import Settings, method_settings


def chain_sampler(problem: Problem, settings: Settings, method: str) -> Sampler:
    """Chains of simulated or continuous tempering from draws of the base.

    The swept number `image` chooses the image. As published, the first temperature is uniform on the ladder
    without its last, or a standard normal control.
    """
    numbers, dtype = method_settings(settings, method), problem.images.dtype
    schedule = sigmoidal_schedule(settings.st_temperatures)

    def build(parameters: dict[str, Array]) -> Kernel:
        bridge = problem.bridge(_number(parameters))
        if method == "st":
            return simulated_tempering(bridge, schedule, numbers.step_size, settings.n_steps, dtype=dtype)
        if method == "gibbs_ct":
            return gibbs_continuous_tempering(bridge, numbers.step_size, settings.n_steps, dtype=dtype)
        return continuously_tempered_hmc(
            bridge, numbers.step_size, settings.n_steps, numbers.control_mass, dtype=dtype
        )

    def initial(key: Array, parameters: dict[str, Array]) -> Any:
        bridge = problem.bridge(_number(parameters))
        normal = jax.random.normal(jax.random.fold_in(key, 0), (bridge.dim + 1,), dtype)
        position, control = bridge.draw_base(normal[:-1]), normal[-1]
        start = {
            # The distribution function makes a uniform number of the normal one.
            "st": (settings.st_temperatures * jax.scipy.special.ndtr(control)).astype(jnp.int32),
            "gibbs_ct": jax.nn.sigmoid(control),
            "ct_hmc": control,
        }[method]
        return build(parameters).init(position, start, key=jax.random.fold_in(key, 1))

    def record(state: Any, info: Any) -> dict[str, Array]:
        return {
            "log_target_weight": state.log_target_weight,
            "log_base_weight": state.log_base_weight,
            "accepted": info.is_accepted,
            "n_not_finite": info.n_not_finite.astype(jnp.int8),
        }

    return Sampler(build, initial, record)


def annealed_sampler(
    problem: Problem, settings: Settings, method: str, n_temperatures: int, *, reverse: bool = False
) -> Sampler:
    """Independent annealed runs, of `ais` in standard deviations of the code, as the published bounds are not.

    Reverse runs go from target to base, all from the latent vector that the image was drawn from.
    """
    numbers = method_settings(settings, method)
    schedule = sigmoidal_schedule(n_temperatures)

    def build(parameters: dict[str, Array]) -> Kernel:
        image = _number(parameters)
        return annealed_importance_sampling(
            problem.bridge(image, whitened=method == "ais"),
            schedule[::-1] if reverse else schedule,
            numbers.step_size,
            settings.n_steps,
            draw_start=(lambda normal: problem.latents[image]) if reverse else None,
            dtype=problem.images.dtype,
        )

    def record(state: AnnealedState, info: AnnealedInfo) -> dict[str, Array]:
        return {
            "log_weight": state.log_weight,
            "acceptance": info.acceptance_rate,
            "n_not_finite": info.n_not_finite,
        }

    return Sampler(build, lambda key, parameters: build(parameters).init(key=key), record)


def _number(parameters: dict[str, Array]) -> Array:
    return parameters["image"].astype(jnp.int32)
