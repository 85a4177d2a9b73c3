"""Runs the methods of a case on all its images."""

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from auxmc.driver.blocks import Sampler
from auxmc.errors import DataError
from auxmc.numerics.array_types import NamedArrays
from auxmc_pipeline.chains import Chains, RunContext, run_chains
from auxmc_pipeline.settings import SettingsError
from auxmc_pipeline.units import Units, each
from experiments.image_models import measure
from experiments.image_models.problem import Problem, build_problem, published_facts, training_curves
from experiments.image_models.programs import annealed_sampler, chain_sampler
from experiments.image_models.settings import CHAIN_METHODS, Settings, ladders, method_settings, methods

_RUNS_A_BLOCK = 4  # Annealed runs between two checkpoints.


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs one case; returns groups `statistics` and `curves`; raises SettingsError if weights cannot be had."""
    try:
        problem = build_problem(settings)
        facts = published_facts(settings)
    except DataError as error:
        raise SettingsError(str(error)) from error
    statistics = [measure.problem_statistics(problem, facts)]
    images = {"image_rows": (("image", "row"), measure.packed_rows(problem.generated.images))}
    curves = [xr.Dataset(images | training_curves(settings, problem.model))]
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
    for group, tables in zip((statistics, curves), zip(*pairs, strict=True), strict=False):
        group.append(xr.concat(tables, "method", join="outer", combine_attrs="override"))
    not_finite = ("run", list(case.n_not_finite.values()), {"units": "trajectories"})
    statistics.append(xr.Dataset({"n_not_finite": not_finite}, {"run": list(case.n_not_finite)}))
    return {
        name: xr.merge(parts, join="outer", compat="no_conflicts", combine_attrs="override")
        for name, parts in (("statistics", statistics), ("curves", curves))
    }


class _Case:
    def __init__(self, problem: Problem, settings: Settings, context: RunContext) -> None:
        self.problem, self.settings, self.context = problem, settings, context
        self.n_not_finite: dict[str, int] = {}

    def annealed(self, n_temperatures: int) -> xr.Dataset:
        sampler = annealed_sampler(self.problem, self.settings, "ais", n_temperatures)
        chains = self._runs(f"ais-{n_temperatures}", sampler, self.settings.annealed_repetitions)
        found = measure.annealed_statistics(chains.draws, n_temperatures, self.settings.n_steps, chains.run_s)
        return found.expand_dims({"n_temperatures": [n_temperatures]})

    def bounds(self, _: str) -> xr.Dataset:
        about = (self.problem, self.settings, "bidirectional", self.settings.bound_temperatures)
        samplers = {"forward": annealed_sampler(*about), "reverse": annealed_sampler(*about, reverse=True)}
        up, down = each(lambda name: self._runs(name, samplers[name], 1), samplers)
        return measure.bound_statistics(up.draws, down.draws, up.run_s + down.run_s)

    def chains(self, method: str) -> tuple[xr.Dataset, xr.Dataset]:
        """Statistics and curves of a method, from groups of images: a job keeps sums of weights, not draws."""
        settings = self.settings
        n_repetitions, n_draws = settings.n_repetitions, method_settings(settings, method).length
        sampler = chain_sampler(self.problem, settings, method)
        n_chains = n_repetitions * settings.n_chains
        groups = self._groups_of_images(n_chains)

        def make(number: int) -> NamedArrays:
            # A chain's stream depends on its image and its number alone, not on what runs next to it.
            name = f"{method}, images {groups[number][0]} to {groups[number][-1]}"
            own = dataclasses.replace(
                self.context, units=Units(), label=f"{self.context.label}, {name}", n_resumed=0
            )
            own.checkpoints = self.context.checkpoints / f"images-{number}"
            names, sweep = (self.problem.label, method), {"image": groups[number]}
            chains = run_chains(
                own, names, sampler, settings, n_draws=n_draws, n_chains=n_chains, sweep=sweep
            )
            self.context.n_resumed += own.n_resumed
            return {**measure.chain_sums(chains.draws), "run_s": np.asarray([chains.run_s])}

        made = self.context.units.stage(method, len(groups), make)
        sums = {name: np.concatenate([unit[name] for unit in made]) for name in made[0]}
        self.n_not_finite[method] = int(sums["n_not_finite"].sum())
        statistics, curves = (
            summarise(sums, n_draws, n_repetitions, settings.n_steps, float(sums["run_s"].sum()))
            for summarise in (measure.chain_statistics, measure.chain_curves)
        )
        return statistics.expand_dims({"method": [method]}), curves.expand_dims({"method": [method]})

    def _groups_of_images(self, n_chains: int) -> list[list[int]]:
        """Numbers of the images whose chains run side by side, as equal groups as can be."""
        n_images = self.settings.n_images
        n_groups = math.ceil(n_images * n_chains / (self.settings.lanes_per_unit or n_images * n_chains))
        size = math.ceil(n_images / n_groups)
        return [list(range(first, min(first + size, n_images))) for first in range(0, n_images, size)]

    def _runs(self, name: str, sampler: Sampler, n_lanes: int) -> Chains:
        n_runs = n_lanes * self.settings.n_images
        # Units of a stage are as equal as can be: a program for each size of unit would have to be compiled.
        n_units = math.ceil(n_runs / (self.settings.lanes_per_unit or n_runs))
        chains = run_chains(
            self.context,
            (self.problem.label, name),
            sampler,
            self.settings,
            n_draws=self.settings.n_runs,
            n_chains=n_lanes,
            sweep={"image": list(range(self.settings.n_images))},
            block_size=_RUNS_A_BLOCK,
            lanes_per_unit=math.ceil(n_runs / n_units),
        )
        self.n_not_finite[name] = int(chains.draws["n_not_finite"].sum(dtype=int))
        return chains
