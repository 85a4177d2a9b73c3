"""Runs the methods of a case on one system, or describes all systems."""

import itertools
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import xarray as xr

from auxmc.driver.blocks import Sampler
from auxmc_pipeline.chain_statistics import without_sweep
from auxmc_pipeline.chains import Chains, RunContext, run_chains
from experiments.boltzmann import measure
from experiments.boltzmann.model.machine import RelaxedMoments
from experiments.boltzmann.problem import Problem, build_problem, fitted_moments, rebased
from experiments.boltzmann.programs import annealed_sampler, chain_sampler
from experiments.boltzmann.settings import (
    ANNEALED_METHODS,
    PILOT_BASES,
    MethodSettings,
    Settings,
    bases,
    method_settings,
    pilot_blocks,
    programs,
)
from experiments.boltzmann.systems import describe_systems

_GRADIENTS_A_BLOCK = 5_000_000  # About what one checkpoint of annealed runs may cost


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs one case; returns `statistics`, and `curves` of chains or systems; raises DataError for a bad file."""
    if settings.design == "systems":
        return describe_systems(settings, context)
    mixture = cache(partial(build_problem, settings))
    fitted = cache(lambda variational, base: fitted_moments(mixture(variational), base))
    pilot = cache(lambda *program: _Program(settings, context, *program).pilot_moments(mixture))
    statistics, curves = [], []
    for (method, n_temperatures), base in itertools.product(programs(settings), bases(settings)):
        program = _Program(settings, context, method, n_temperatures)
        variational = program.numbers.variational
        problem = mixture(variational)
        if base != "mixture":
            is_pilot = base in PILOT_BASES
            moments = pilot(method, n_temperatures) if is_pilot else fitted(variational, base)
            if base == "pilot_zeta":
                moments = problem.base._replace(log_normaliser=moments.log_normaliser)
            problem = rebased(problem, moments)
        estimate = program.annealed if method in ANNEALED_METHODS else program.tempered
        part, curve = estimate(problem, base)
        point: dict[str, Any] = {"method": [method], "n_temperatures": [n_temperatures], "base": [base]}
        about = {name: value for name, value in point.items() if name in ("method", *settings.batch)}
        statistics.append(part.merge(_problem_statistics(problem)).expand_dims(about))
        if curve is not None:
            curves.append(curve.expand_dims(about))
    groups = {"statistics": _combined(statistics)}
    if curves:
        groups["curves"] = _combined(curves)
    return groups


class _Program(NamedTuple):
    """A method of a case with a number of temperatures, 0 where there is no ladder."""

    settings: Settings
    context: RunContext
    method: str
    n_temperatures: int

    @property
    def numbers(self) -> MethodSettings:
        return method_settings(self.settings, self.method)

    def pilot_moments(self, mixture: Callable[[str], Problem]) -> RelaxedMoments:
        """Log normaliser and moments from a pilot run on the published base, of as many chains as a repeat has."""
        n_chains = self.settings.n_chains // self.settings.n_repeats
        n_blocks = pilot_blocks(self.settings, self.numbers)
        chains = self._chains(mixture(self.numbers.variational), "pilot run", n_chains, n_blocks)
        return measure.estimated_moments(without_sweep(chains).draws, self.method)

    def annealed(self, problem: Problem, _: str) -> tuple[xr.Dataset, None]:
        """Statistics of annealed runs."""
        numbers, repeats = self.numbers, self.settings.n_repeats
        n_gradients = numbers.n_runs * (self.n_temperatures - 1) * numbers.n_steps
        sampler = annealed_sampler(self.settings, problem, numbers, self.n_temperatures)
        size = max(1, _GRADIENTS_A_BLOCK // max(1, n_gradients))
        chains = self._run(problem, "", sampler, repeats, numbers.n_runs, size)
        statistics = measure.annealed_statistics(without_sweep(chains).draws, problem)
        return statistics.merge(_cost(chains, n_gradients, repeats)), None

    def tempered(self, problem: Problem, base: str) -> tuple[xr.Dataset, xr.Dataset | None]:
        """Statistics of chains, and curves unless a case has several bases."""
        settings, numbers, method = self.settings, self.numbers, self.method
        repeats, size = settings.n_repeats, settings.summary_size
        # What a pilot run costs, the chains of each repeat do without.
        n_blocks = numbers.length // size - (base in PILOT_BASES) * pilot_blocks(settings, numbers)
        chains = self._chains(problem, "" if base == "mixture" else base, settings.n_chains, n_blocks)
        draws = without_sweep(chains).draws
        n_gradients = numbers.length * numbers.n_steps * settings.n_chains // repeats
        statistics = measure.chain_statistics(draws, problem, method, repeats, size)
        statistics = statistics.merge(_cost(chains, n_gradients, repeats))
        statistics["n_samples_run"] = numbers.length
        if "base" in settings.batch and problem.truth is not None:
            statistics["final_error"] = measure.final_errors(draws, problem, method, repeats)
            return statistics, None
        curves = measure.mean_estimate(draws, method, problem)
        if problem.truth is not None:
            curves = curves.merge(measure.chain_curves(draws, problem, method, repeats, size))
        return statistics, curves

    def _chains(self, problem: Problem, stream: str, n_chains: int, n_blocks: int) -> Chains:
        sampler = chain_sampler(self.settings, problem, self.method, self.numbers, self.n_temperatures)
        size = max(1, self.settings.block_size // self.settings.summary_size)
        return self._run(problem, stream, sampler, n_blocks, n_chains, size)

    def _run(
        self, problem: Problem, stream: str, sampler: Sampler, n_draws: int, n_chains: int, size: int
    ) -> Chains:
        context, settings, sweep = self.context, self.settings, {"step_size": [self.numbers.step_size]}
        # Own data have streams of their own; n_units tells systems of other sizes apart.
        where = "own" if settings.data else f"system-{settings.system}"
        names: list[str | int] = [where, problem.relaxation.loadings.shape[0], self.method]
        names += [f"K-{self.n_temperatures}"] * bool(self.n_temperatures) + [stream] * bool(stream)
        return run_chains(
            context,
            names,
            sampler,
            settings,
            n_draws=n_draws,
            n_chains=n_chains,
            sweep=sweep,
            block_size=size,
        )


def _cost(chains: Chains, n_gradients: int, n_repeats: int) -> xr.Dataset:
    """Work of a repeat; all repeats of a case run side by side."""
    return xr.Dataset(
        {
            "gradients_per_repeat": n_gradients,
            "seconds_per_repeat": ((), chains.run_s / n_repeats, {"units": "s"}),
            "seconds_total": ((), chains.run_s, {"units": "s"}),
            "seconds_compiling": ((), chains.compile_s, {"units": "s"}),
            "seconds_per_gradient": ((), chains.run_s / max(1, n_gradients * n_repeats), {"units": "s"}),
        }
    )


def _problem_statistics(problem: Problem) -> xr.Dataset:
    found: dict[str, Any] = {
        "log_zeta": problem.base.log_normaliser,
        "n_fits_distinct": problem.n_fits,
        "fit_residual": problem.residual,
        "dimension": problem.relaxation.dim,
    }
    if problem.truth is not None:
        found["log_z"] = problem.truth.log_normaliser
        found["base_error"] = measure.labelled(measure.base_errors(problem.reference, problem.truth))
    return xr.Dataset(found)


def _combined(parts: list[xr.Dataset]) -> xr.Dataset:
    return parts[0] if len(parts) == 1 else xr.merge(parts, join="outer", compat="no_conflicts")
