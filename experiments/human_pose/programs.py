"""From settings to model, scenes and starting points, and to kernels, initial states and recorded quantities."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.driver import seeds
from auxmc.driver.blocks import Sampler
from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import hmc
from auxmc.kernels.manifold.constrained_hmc import constrained_hmc
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.models.conditioned import noisy_input
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chains import RunContext
from experiments.human_pose.model import generator, hierarchy
from experiments.human_pose.model.cameras import camera_place
from experiments.human_pose.model.joint_observations import read_joint_observations
from experiments.human_pose.model.pose_priors import read_pose_prior
from experiments.human_pose.model.skeleton import N_JOINTS
from experiments.human_pose.settings import Settings, noise_scale, start_of, tuning

Record = dict[str, Array]
# Errors of the constrained integrator: each rejects a proposal.
_ERRORS = ("n_not_converged", "n_not_converged_reverse", "n_irreversible", "n_not_finite", "n_singular")


class Problem(NamedTuple):
    """What the chains of a case are about."""

    model: generator.PoseModel  # the generator
    label: str  # for random streams: which scenes and which prior
    noise_scale: float  # of the images
    scenes: tuple[int, ...]  # numbers of the scenes, from 1 [scene]
    observed: FloatArray  # images [scene, constraint]
    # those of all scenes that there are, in the order of their numbers [number - 1, constraint]
    images: FloatArray
    # true joint positions [scene, joint, 3]; not a number for the user's own images
    truth: FloatArray
    starts: Array  # first inputs of each chain, the same for all scenes and methods [chain, input]


def build_problem(settings: Settings, context: RunContext) -> Problem:
    """Model, scenes and starting points of a case; raises DataError if file or prior cannot be had."""
    model = generator.PoseModel(read_pose_prior(settings.prior), settings.views)
    scale = noise_scale(settings)
    numbers = tuple(map(int, settings.batch.get("scene", [settings.scene])))
    if settings.data:
        source, truth = "data", np.full((1, N_JOINTS, 3), np.nan)
        observed = images = read_joint_observations(settings.data, settings.views)[None]
    else:
        source = f"seed{settings.scene_seed}"
        all_scenes = generator.simulated_scenes(model, scale, settings.scene_seed)
        chosen = [all_scenes[number - 1] for number in numbers]
        observed, images = (np.stack([scene.observed for scene in some]) for some in (chosen, all_scenes))
        truth = np.stack([scene.positions for scene in chosen])
    label, starts = "-".join([source, settings.prior, settings.views]), _starts(model, settings, context)
    return Problem(model, label, scale, numbers, observed, images, truth, starts)


def _starts(model: generator.PoseModel, settings: Settings, context: RunContext) -> Array:
    if start_of(settings) == "prior_mean":
        return jnp.zeros((settings.n_chains, model.n_inputs))
    rngs = [
        seeds.generator(context.seed, context.study, "start", chain) for chain in range(settings.n_chains)
    ]
    return jnp.asarray(np.stack([rng.normal(size=model.n_inputs) for rng in rngs]))


# Maps of a method: (images [constraint], step size) to a kernel; (images, inputs [input]) to the first position;
# (state, info) to what `_common` keeps, for constrained HMC also `generated` (images with noise [constraint]), which
# must be those observed.
Method = tuple[
    Callable[[Array, Array], Kernel], Callable[[Array, Array], Array], Callable[[Any, Any], Record]
]


def build_sampler(problem: Problem, settings: Settings) -> Sampler:
    """Sampler of the case's method, for lanes that have a `scene`, a `step_size` and the number of a `chain`."""
    make = _constrained if settings.method == "constrained_hmc" else _hamiltonian
    kernel, start, record = make(problem, settings)
    # Images of all scenes, so that cases with some of them share their programs.
    images, starts = jnp.asarray(problem.images), problem.starts

    def image(lane: dict[str, Array]) -> Array:
        return images[lane["scene"].astype(jnp.int32) - 1]

    def build(lane: dict[str, Array]) -> Kernel:
        return kernel(image(lane), lane["step_size"])

    def initial(key: Array, lane: dict[str, Array]) -> Any:
        return build(lane).init(start(image(lane), starts[lane["chain"].astype(jnp.int32)]), key=key)

    return Sampler(build, initial, record)


def _constrained(problem: Problem, settings: Settings) -> Method:
    model, noise_scale, numbers = problem.model, problem.noise_scale, tuning(settings)
    fallback = None if settings.projection_fallback == "none" else settings.projection_fallback
    projection = ProjectionSettings(settings.projection_solver, fallback, settings.projection_tolerance)

    def build(observed: Array, step_size: Array) -> Kernel:
        return constrained_hmc(
            generator.conditioned_model(model, observed, noise_scale),
            step_size,
            numbers.n_steps,
            model.n_inputs + observed.shape[0],
            n_inner_steps=numbers.n_inner_steps,
            projection=projection,
        )

    def start(observed: Array, inputs: Array) -> Array:
        # The noise that explains whatever the inputs do not: hundreds of standard deviations at first.
        return noisy_input(lambda u: generator.generate(model, u), inputs, observed, noise_scale)

    def record(state: Any, info: Any) -> Record:
        inputs, noise = state.position[: model.n_inputs], state.position[model.n_inputs :]
        errors = info.errors._asdict()
        failed = sum(errors[name] for name in _ERRORS) > 0
        return {
            **_common(model, inputs, jnp.sum(jnp.square(noise)), info, info.errors.n_projections, failed),
            "generated": generator.generate(model, inputs) + noise_scale * noise,
            **{name: errors[name] for name in (*_ERRORS, "n_fallback", "n_projection_iterations")},
        }

    return build, start, record


def _hamiltonian(problem: Problem, settings: Settings) -> Method:
    model, noise_scale, numbers = problem.model, problem.noise_scale, tuning(settings)
    is_hierarchical = settings.method == "hierarchical_hmc"
    density = hierarchy.hierarchical_log_density if is_hierarchical else generator.log_density

    def build(observed: Array, step_size: Array) -> Kernel:
        target = partial(density, model, observed=observed, noise_scale=noise_scale)
        return hmc(target, step_size, numbers.n_steps, model.n_inputs)

    def start(observed: Array, inputs: Array) -> Array:
        del observed
        return hierarchy.state_of_inputs(model, inputs) if is_hierarchical else inputs

    def record(state: Any, info: Any) -> Record:
        position = state.position
        if is_hierarchical:
            inputs = hierarchy.inputs_of_state(model, position)
            prior = hierarchy.hierarchical_log_prior(model, position)
        else:
            inputs, prior = position, generator.log_prior(position)
        squares = 2.0 * (prior - state.log_density)
        return _common(model, inputs, squares, info, info.n_gradients, info.n_not_finite > 0)

    return build, start, record


def _common(
    model: generator.PoseModel, inputs: Array, squares: Array, info: Any, n_work: Array, failed: Array
) -> Record:
    """What all methods record; `squares` is the sum of the squared image errors over the variance of the noise."""
    return {
        "positions": generator.positions(model, inputs),
        "camera": camera_place(generator.split_inputs(model, inputs).camera),
        "misfit": jnp.sqrt(jnp.maximum(squares, 0.0) / generator.n_observed(model.views)),
        "accepted": info.is_accepted,
        "acceptance_probability": info.acceptance_rate,
        "n_work": n_work,
        "n_failures": failed.astype(jnp.int8),
    }
