# Question: how good an estimate of the evidence of a hierarchical regression does continuous tempering give, with a
# black-box variational base and an off-the-shelf sampler? Source: PhD thesis, section 5.6.3, figures 5.5 and 5.6.
# One case: python -m auxmc_pipeline.steps.run study=radon method=gibbs_ct out=x.nc          Cost per preset: README.md.
"""Maps the settings of a case to model, base, kernel and recorded quantities, and runs the chains."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import xarray as xr
from jax import Array

from auxmc.driver.blocks import Sampler
from auxmc.driver.chains import RunContext, run_chains
from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.dual_averaging import dual_averaging
from auxmc.kernels.tempering.annealed_importance import (
    AnnealedInfo,
    AnnealedState,
    annealed_importance_sampling,
)
from auxmc.kernels.tempering.continuous_tempering import (
    continuously_tempered_hmc,
    gibbs_continuous_tempering,
)
from auxmc.kernels.tempering.tempered_nuts import tempered_nuts
from auxmc.numerics.random import standard_normal
from auxmc.numerics.schedules import sigmoidal_schedule
from experiments.radon.problem import Problem, build_problem
from experiments.radon.settings import Settings
from experiments.radon.statistics import (
    annealed_statistics,
    chain_curves,
    chain_groups,
    chain_statistics,
    fit_curves,
    problem_statistics,
)

Record = dict[str, Array]


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs one case.

    Args:
        settings: checked settings.
        context: random streams, checkpoints and progress.

    Returns:
        Groups `statistics`, `curves`, `observed_data`, and for chains `posterior` and `sample_stats`.

    Raises:
        SettingsError: the variational fit is not finite.
        DataError: the user's file cannot be used.
    """
    problem = build_problem(settings, context)
    program = _PROGRAMS[settings.method](problem, settings)
    chains = run_chains(
        context,
        (problem.label, problem.parametrisation, settings.optimiser, settings.method),
        program.sampler,
        n_draws=settings.n_draws,
        n_chains=settings.n_chains,
        sweep={"base": [0.0]},
        block_size=settings.block_size,
        vectorise=program.vectorise,
    )
    draws = {name: array[0] for name, array in chains.draws.items()}
    seconds = chains.run_s / chains.n_lanes
    groups: dict[str, xr.Dataset] = {}
    if settings.method == "ais":
        statistics = annealed_statistics(draws, problem, seconds)
        curves = fit_curves(problem)
    else:
        n_warm_up = settings.n_warm_up if settings.method == "nuts" else 0
        statistics = chain_statistics(draws, problem, seconds, n_warm_up)
        curves = fit_curves(problem).merge(chain_curves(draws, problem, seconds))
        groups = chain_groups(draws, problem)
    groups["statistics"] = statistics.merge(problem_statistics(problem, settings))
    groups["curves"] = curves
    groups["observed_data"] = xr.Dataset(
        {"outcome": ("row", problem.data.outcome), "group": ("row", problem.data.group)}
    )
    return groups


class _Program(NamedTuple):
    """What the lanes do, and whether side by side: trajectories of unequal length are faster one after the other."""

    sampler: Sampler
    vectorise: bool


def _no_u_turn(problem: Problem, settings: Settings) -> _Program:
    joined, fit = problem.bridge(), problem.base.approximation
    inverse_mass = jnp.append(jnp.exp(2.0 * fit.log_sd), settings.control_inverse_mass)
    first_step = settings.initial_step / (joined.dim + 1) ** 0.25

    def build(parameters: Any) -> Kernel:
        del parameters
        return dual_averaging(
            lambda step_size: tempered_nuts(joined, step_size, inverse_mass, settings.max_doublings),
            first_step,
            settings.n_warm_up,
            settings.target_acceptance,
        )

    def initial(key: Array, parameters: Any) -> Any:
        standard, control = _start(key, joined.dim)
        return build(parameters).init(key, fit.draw(standard), control=control)

    def record(state: Any, info: Any) -> Record:
        about = info.inner
        common = _common(problem, state.inner, about, state.inner.position)
        return {
            **common,
            "n_failures": about.diverged.astype(jnp.int8),
            "n_not_finite": jnp.zeros((), jnp.int8),
            "step_size": info.scale,
        }

    return _Program(Sampler(build, initial, record), vectorise=False)


def _gibbs(problem: Problem, settings: Settings) -> _Program:
    kernel = gibbs_continuous_tempering(problem.standardised_bridge(), settings.step_size, settings.n_steps)

    def initial(key: Array, parameters: Any) -> Any:
        del parameters
        standard, _ = _start(key, problem.model.dim)
        # The momentum of the start is not used: it is drawn anew in every update.
        return kernel.init(key, standard, 0.0)

    return _hmc_program(problem, settings, kernel, initial)


def _controlled(problem: Problem, settings: Settings) -> _Program:
    kernel = continuously_tempered_hmc(
        problem.standardised_bridge(),
        settings.step_size,
        settings.n_steps,
        1.0 / settings.control_inverse_mass,
    )

    def initial(key: Array, parameters: Any) -> Any:
        del parameters
        standard, control = _start(key, problem.model.dim)
        return kernel.init(key, standard, control)

    return _hmc_program(problem, settings, kernel, initial)


def _hmc_program(
    problem: Problem, settings: Settings, kernel: Kernel, initial: Callable[[Array, Any], Any]
) -> _Program:
    def record(state: Any, info: Any) -> Record:
        position = problem.base.approximation.draw(state.position)
        return {
            **_common(problem, state, info, position),
            "n_failures": jnp.zeros((), jnp.int8),
            "n_not_finite": info.n_not_finite.astype(jnp.int8),
            "step_size": jnp.asarray(settings.step_size, float),
        }

    return _Program(Sampler(lambda parameters: kernel, initial, record), vectorise=True)


def _annealed(problem: Problem, settings: Settings) -> _Program:
    """A draw of a lane is an independent run."""
    kernel = annealed_importance_sampling(
        problem.bridge(),
        sigmoidal_schedule(settings.n_temperatures),
        settings.step_size,
        settings.n_steps,
    )

    def record(state: AnnealedState, info: AnnealedInfo) -> Record:
        return {
            "log_weight": state.log_weight,
            "effects": problem.effects(state.position),
            "acceptance": info.acceptance_probability,
            "n_gradients": info.n_gradients,
            "n_not_finite": info.n_not_finite,
        }

    sampler = Sampler(lambda parameters: kernel, lambda key, parameters: kernel.init(key), record)
    return _Program(sampler, vectorise=True)


_PROGRAMS: dict[str, Callable[[Problem, Settings], _Program]] = {
    "nuts": _no_u_turn,
    "gibbs_ct": _gibbs,
    "ct_hmc": _controlled,
    "ais": _annealed,
}


def _start(key: Array, dim: int) -> tuple[Array, Array]:
    """A draw of the base in its standard deviations [dim], and a control with inverse temperature uniform."""
    standard = standard_normal(jax.random.fold_in(key, 0), (dim,))
    return standard, jax.random.logistic(jax.random.fold_in(key, 1))


def _common(problem: Problem, state: Any, info: Any, position: Array) -> Record:
    fit = problem.base.approximation
    return {
        "delta": state.delta,
        "log_target_weight": state.log_target_weight,
        "log_base_weight": state.log_base_weight,
        "inverse_temperature": state.inverse_temperature,
        "effects": problem.effects(position),
        "standard": (position - fit.mean) * jnp.exp(-fit.log_sd),
        "acceptance": info.acceptance_probability,
        "n_gradients": info.n_gradients,
    }
