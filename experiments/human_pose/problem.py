"""From settings to model, scenes and starting points."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.driver.chains import RunContext
from auxmc.driver.seeds import generator
from auxmc.numerics.array_types import FloatArray
from experiments.human_pose.model.generator import PoseModel, simulated_scenes
from experiments.human_pose.model.joint_observations import read_joint_observations
from experiments.human_pose.model.pose_priors import read_pose_prior
from experiments.human_pose.model.skeleton import N_JOINTS
from experiments.human_pose.settings import Settings, batch_values, noise_scale, start_of


class Problem(NamedTuple):
    """What the chains of a case are about.

    Attributes:
        model: the generator.
        label: for random streams: which scenes and which prior.
        noise_scale: of the images.
        scenes: numbers of the scenes, from 1 [scene].
        observed: images [scene, constraint].
        truth: true joint positions [scene, joint, 3]; not a number for the user's own images.
        starts: first inputs of each chain, the same for all scenes and methods [chain, input].
    """

    model: PoseModel
    label: str
    noise_scale: float
    scenes: tuple[int, ...]
    observed: FloatArray
    truth: FloatArray
    starts: Array

    @property
    def is_simulated(self) -> bool:
        """Whether the true poses are known."""
        return bool(np.isfinite(self.truth).all())


def build_problem(settings: Settings, context: RunContext) -> Problem:
    """Model, scenes and starting points of a case.

    Raises:
        DataError: the user's file cannot be used, or the published prior cannot be had.
    """
    model = PoseModel(read_pose_prior(settings.prior), settings.views)
    scale = noise_scale(settings)
    numbers = tuple(int(number) for number in batch_values(settings, "scene"))
    source = "data" if settings.data else f"seed{settings.scene_seed}"
    if settings.data:
        observed = read_joint_observations(settings.data, settings.views)[None]
        truth = np.full((1, N_JOINTS, 3), np.nan)
    else:
        all_scenes = simulated_scenes(model, scale, settings.scene_seed)
        chosen = [all_scenes[number - 1] for number in numbers]
        observed = np.stack([scene.observed for scene in chosen])
        truth = np.stack([scene.positions for scene in chosen])
    return Problem(
        model,
        "-".join([source, settings.prior, settings.views]),
        scale,
        numbers,
        observed,
        truth,
        _starts(model, settings, context),
    )


def _starts(model: PoseModel, settings: Settings, context: RunContext) -> Array:
    if start_of(settings) == "prior_mean":
        return jnp.zeros((settings.n_chains, model.n_inputs))
    rngs = [generator(context.seed, context.study, "start", chain) for chain in range(settings.n_chains)]
    return jnp.asarray(np.stack([rng.normal(size=model.n_inputs) for rng in rngs]))
