# Question: how good an estimate of the evidence of images under a generative model does continuous tempering give,
# beside annealed importance sampling and simulated tempering? Source: PhD thesis, section 5.6.2, figures 5.3 and 5.4.
# One case: python -m auxmc_pipeline.steps.run study=image_models method=ct_hmc n_images=100 out=x.nc   Cost: notes.md.
"""Runs the methods of a case on all its images together."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import xarray as xr

from auxmc.data.tables import DataError
from auxmc.driver.blocks import Sampler
from auxmc.driver.chains import Chains, RunContext, run_chains
from auxmc.driver.units import each
from auxmc_pipeline.settings import SettingsError
from experiments.image_models.problem import (
    Problem,
    build_problem,
    model_examples,
    published_facts,
    training_curve,
)
from experiments.image_models.programs import annealed_sampler, chain_sampler, reverse_sampler
from experiments.image_models.settings import CHAIN_METHODS, Settings, ladders, method_settings, methods
from experiments.image_models.statistics import (
    annealed_statistics,
    bound_statistics,
    chain_curves,
    chain_statistics,
    model_curves,
    problem_statistics,
)

# Annealed runs between two checkpoints.
_RUNS_A_BLOCK = 4


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs one case.

    Args:
        settings: checked settings.
        context: random streams, checkpoints and progress.

    Returns:
        Groups `statistics` and `curves`.

    Raises:
        SettingsError: weights cannot be read, found or fetched.
    """
    try:
        problem = build_problem(settings)
        facts = published_facts(settings)
    except DataError as error:
        raise SettingsError(str(error)) from error
    statistics = [problem_statistics(problem, facts)]
    curves = [model_curves(problem, model_examples(settings, problem.model), training_curve(settings))]
    case = _Case(problem, settings, context)
    chosen = methods(settings)
    counts = ladders(settings) if "ais" in chosen else []
    chain_methods = [method for method in CHAIN_METHODS if method in chosen]
    # No part needs the result of another one, so that jobs may share all of them.
    stages: list[Callable[[], list[Any]]] = [
        partial(each, case.annealed, counts),
        partial(each, case.bounds, ["bidirectional"] if "bidirectional" in chosen else []),
        partial(each, case.chains, chain_methods),
    ]
    parts, bounds, pairs = each(lambda stage: stage(), stages)
    if parts:
        statistics.append(xr.concat(parts, "n_temperatures", join="exact", combine_attrs="override"))
    statistics += bounds
    if pairs:
        for group, tables in (
            (statistics, [pair[0] for pair in pairs]),
            (curves, [pair[1] for pair in pairs]),
        ):
            group.append(xr.concat(tables, "method", join="outer", combine_attrs="override"))
    statistics.append(case.failures())
    groups = {
        name: xr.merge(parts, join="outer", compat="no_conflicts", combine_attrs="override")
        for name, parts in (("statistics", statistics), ("curves", curves))
    }
    return groups


class _Case:
    """Runs methods and counts their failures."""

    def __init__(self, problem: Problem, settings: Settings, context: RunContext) -> None:
        self.problem, self.settings, self.context = problem, settings, context
        self.n_not_finite: dict[str, int] = {}

    def annealed(self, n_temperatures: int) -> xr.Dataset:
        sampler = annealed_sampler(self.problem, self.settings, n_temperatures)
        chains = self._runs(f"ais-{n_temperatures}", sampler, self.settings.annealed_repetitions)
        found = annealed_statistics(chains.draws, n_temperatures, self.settings.n_steps, chains.run_s)
        return found.expand_dims({"n_temperatures": [n_temperatures]})

    def bounds(self, _: str) -> xr.Dataset:
        n_temperatures = self.settings.bound_temperatures
        forward = annealed_sampler(self.problem, self.settings, n_temperatures, whitened=False)
        backward = reverse_sampler(self.problem, self.settings, n_temperatures)
        samplers = {"forward": forward, "reverse": backward}
        up, down = each(lambda name: self._runs(name, samplers[name], 1), samplers)
        return bound_statistics(up.draws, down.draws, up.run_s + down.run_s)

    def chains(self, method: str) -> tuple[xr.Dataset, xr.Dataset]:
        settings = self.settings
        chains = self._run(
            method,
            chain_sampler(self.problem, settings, method),
            method_settings(settings, method).length,
            settings.n_repetitions * settings.n_chains,
            settings.block_size,
        )
        n_repetitions = settings.n_repetitions
        statistics, curves = (
            measure(chains.draws, n_repetitions, settings.n_steps, chains.run_s)
            for measure in (chain_statistics, chain_curves)
        )
        return statistics.expand_dims({"method": [method]}), curves.expand_dims({"method": [method]})

    def failures(self) -> xr.Dataset:
        """Trajectories without a finite energy in all that ran."""
        counts = list(self.n_not_finite.values())
        return xr.Dataset(
            {"n_not_finite": ("run", counts, {"units": "trajectories"})},
            coords={"run": list(self.n_not_finite)},
        )

    def _runs(self, name: str, sampler: Sampler, n_lanes: int) -> Chains:
        return self._run(name, sampler, self.settings.n_runs, n_lanes, _RUNS_A_BLOCK)

    def _run(self, name: str, sampler: Sampler, n_draws: int, n_chains: int, block_size: int) -> Chains:
        n_lanes = n_chains * self.settings.n_images
        # Units of a stage are as equal as can be: a program for each size of unit would have to be compiled.
        n_units = math.ceil(n_lanes / (self.settings.lanes_per_unit or n_lanes))
        chains = run_chains(
            self.context,
            (self.problem.label, name),
            sampler,
            n_draws=n_draws,
            n_chains=n_chains,
            sweep={"image": list(range(self.settings.n_images))},
            block_size=block_size,
            lanes_per_unit=math.ceil(n_lanes / n_units),
        )
        self.n_not_finite[name] = int(chains.draws["n_not_finite"].sum(dtype=int))
        return chains
