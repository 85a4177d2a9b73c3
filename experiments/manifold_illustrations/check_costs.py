"""What the reversibility check costs on the models of the three studies of constrained HMC."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.driver.blocks import Sampler
from auxmc.driver.chains import Chains, RunContext, run_chains
from auxmc.kernels.base import Kernel
from auxmc.kernels.manifold.constrained_hmc import ConstrainedInfo, ConstrainedState, constrained_hmc
from auxmc.models.conditioned import ConditionedModel, noisy_input
from experiments.generalised_lambda.model import generator as generalised_lambda
from experiments.generalised_lambda.model.fibre import initial_inputs
from experiments.human_pose.model import generator as human_pose
from experiments.human_pose.model.pose_priors import read_pose_prior
from experiments.manifold_illustrations.settings import Settings

CHECKS = ("position_and_constraint", "none")
"""With the check, and without."""

N_CHAINS = 4
"""Chains whose times and work are compared."""

_LAMBDA_SEED, _N_OBSERVATIONS = 20170628, 250
_POSE_NOISE = 0.01
# Iterations of the rates for one of these, whose sub-steps cost more.
_THINNING = 10


class _Case(NamedTuple):
    """A conditioned model with the published numbers of its study: integrator step, steps, geodesic sub-steps."""

    model: ConditionedModel
    start: Callable[[Array], Array]
    n_inputs: int
    step_size: float
    n_steps: tuple[int, int]
    n_inner_steps: int


def check_costs(settings: Settings, context: RunContext, rates: Mapping[str, Chains]) -> xr.Dataset:
    """Seconds and constraint evaluations of chains with and without the check.

    Args:
        settings: of the case.
        context: of the case.
        rates: chains of the Lotka-Volterra model for each of CHECKS, which record `work`.
    """
    runs = {"Lotka-Volterra": rates}
    for name, case in (("generalised lambda", _lambda()), ("human pose", _pose())):
        runs[name] = {check: _chains(settings, context, name, case, check) for check in CHECKS}
    seconds = [[part[check].run_s for check in CHECKS] for part in runs.values()]
    work = [[part[check].draws["work"][0].mean(axis=1) for check in CHECKS] for part in runs.values()]
    return xr.Dataset(
        {
            "check_time_ratio": ("checked_model", [one[0] / one[1] for one in seconds]),
            "check_work": (("checked_model", "check", "chain"), np.array(work, dtype=float)),
        },
        coords={"checked_model": list(runs), "check": list(CHECKS), "chain": range(N_CHAINS)},
    )


def _lambda() -> _Case:
    observations = generalised_lambda.simulate_observations(_LAMBDA_SEED, _N_OBSERVATIONS)
    model = generalised_lambda.generalised_lambda_model(observations, 1.0, 1.0)
    return _Case(
        generalised_lambda.conditioned_model(model),
        lambda key: initial_inputs(key, model).inputs,
        generalised_lambda.input_dim(model),
        0.6,
        (5, 10),
        4,
    )


def _pose() -> _Case:
    model = human_pose.PoseModel(read_pose_prior("own"), "binocular")
    scene = human_pose.simulated_scenes(model, _POSE_NOISE)[0]
    observed = jnp.asarray(scene.observed)
    # From the pose that made the images on, so that no warm-up is needed.
    start = noisy_input(
        lambda inputs: human_pose.generate(model, inputs), jnp.asarray(scene.inputs), observed, _POSE_NOISE
    )
    conditioned = human_pose.conditioned_model(model, observed, _POSE_NOISE)
    return _Case(conditioned, lambda key: start, start.shape[0], 0.05, (10, 20), 8)


def _chains(settings: Settings, context: RunContext, name: str, case: _Case, check: str) -> Chains:
    def build(parameters: dict[str, Array]) -> Kernel:
        del parameters
        return constrained_hmc(
            case.model,
            case.step_size,
            case.n_steps,
            case.n_inputs,
            n_inner_steps=case.n_inner_steps,
            reversibility_check=check,
        )

    def initial(key: Array, parameters: dict[str, Array]) -> Any:
        return build(parameters).init(key, case.start(key))

    def record(state: ConstrainedState, info: ConstrainedInfo) -> dict[str, Array]:
        del state
        return {"work": info.errors.n_projection_iterations}

    return run_chains(
        context,
        ("check", name, check),
        Sampler(build, initial, record),
        n_draws=max(settings.n_cost_draws // _THINNING, 2),
        n_chains=N_CHAINS,
        sweep={"unused": [0.0]},
        block_size=settings.block_size,
        vectorise=False,
    )
