"""Runs the chains of a case, or its rejection samplers, and puts the results together."""

import time
from pathlib import Path
from typing import Any, get_args

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.driver.blocks import Sampler
from auxmc.driver.progress import Progress
from auxmc.driver.seeds import generator
from auxmc.kernels.base import Kernel
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chain_statistics import MOST_KEPT, arviz_groups, fraction_of_time, labelled_draws
from auxmc_pipeline.chains import RunContext, run_chains
from auxmc_pipeline.settings import SettingsError
from experiments.lotka_volterra import measure
from experiments.lotka_volterra.model import rejection
from experiments.lotka_volterra.model.data import GENERATING_RATES, POPULATIONS, read_populations
from experiments.lotka_volterra.model.exact import LogRatePosterior, exact_posterior
from experiments.lotka_volterra.model.summaries import SUMMARY_NAMES, prior_summary_scales, summary_statistics
from experiments.lotka_volterra.programs import Problem, build_problem, build_program
from experiments.lotka_volterra.settings import (
    COORDINATES,
    EXACT_METHODS,
    Settings,
    is_relative,
    programs,
    step_sizes,
    tolerances,
)

_PUBLISHED_DATA = Path(__file__).with_name("published_data.csv")  # data files of the thesis
_LARGER_PRIOR_MEAN = -1.0  # not as far towards small rates as the published one
_REJECTION_TOLERANCES = {"all": (1000.0,), "summaries": (1.0, 2.0)}
_READINGS = get_args(rejection.DistanceReading)


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs one case; returns `statistics`, `curves`, `observed_data`, and draws of a single program if they are few."""
    if settings.design == "scales":
        problem = build_problem(settings, settings.scheme, context)
        statistics = _scale_sets(problem, settings, context)
        return {"statistics": statistics, "observed_data": _observed_data(problem)}
    schemes = dict.fromkeys(scheme for _, scheme in programs(settings))
    problems = {scheme: build_problem(settings, scheme, context) for scheme in schemes}
    parts: list[dict[str, xr.Dataset]] = []
    for method, scheme in programs(settings):
        groups = _run_program(problems[scheme], settings, context, method, scheme)
        about: dict[str, Any] = {"method": [method], "scheme": [scheme]}
        parts.append({name: data.expand_dims(about) for name, data in groups.items()})
    if len(parts) > 1:
        # Draws of several programs have no common shape worth keeping.
        parts = [{name: part[name] for name in ("statistics", "curves")} for part in parts]
    merged = {name: _combined([part[name] for part in parts]) for name in parts[0]}
    for scheme, problem in problems.items():
        about = {"scheme": [scheme]}
        extra = _data_statistics(problem)
        if (exact := _known_posterior(problem, settings)) is not None:
            extra = extra.merge(measure.exact_statistics(exact))
            curves = measure.exact_curves(exact).expand_dims(about)
            merged["curves"] = _merged(merged["curves"], curves)
        merged["statistics"] = _merged(merged["statistics"], extra.expand_dims(about))
    first = next(iter(problems.values()))
    series = np.concatenate([np.array([first.model.initial_state]), first.model.observations])
    data = {f"data_{name}": ("step", series[:, i]) for i, name in enumerate(POPULATIONS)}
    merged["curves"] = _merged(merged["curves"], xr.Dataset(data, coords={"step": range(len(series))}))
    if settings.design == "failures":
        rejected = _rejection(first, settings, context)
        merged["statistics"] = _merged(merged["statistics"], rejected)
    merged["observed_data"] = _observed_data(first)
    return merged


def _run_program(
    problem: Problem, settings: Settings, context: RunContext, method: str, scheme: str
) -> dict[str, xr.Dataset]:
    program = build_program(problem, settings, method)
    is_near = method == "pm_summaries_raw" or settings.design in ("step_sizes", "tolerances", "failures")
    if settings.start_rates != "usual":
        is_near = settings.start_rates == "posterior"
    starts = problem.near_starts if is_near else problem.starts

    def build(parameters: dict[str, Array]) -> Kernel:
        unit = parameters["tolerance"] if is_relative(settings, method) else 1.0
        return program.build(parameters["tolerance"], parameters["step_size"] * unit)

    def initial(key: Array, parameters: dict[str, Array]) -> Any:
        return build(parameters).init(starts[parameters["start"].astype(jnp.int32)], key=key)

    sampler = Sampler(build, initial, program.record)
    sweep = {"tolerance": tolerances(settings, method), "step_size": step_sizes(settings, method)}
    # A chain is a sweep point: all methods start chain i from the same inputs.
    sweep["start"] = tuple(range(settings.n_chains))
    is_even = method.startswith("pm_")  # All updates cost the same: no lane waits for another
    streams = (problem.label, scheme, method)
    chains = run_chains(context, streams, sampler, settings, n_chains=1, sweep=sweep, vectorise=is_even)
    names = {"coordinate": list(COORDINATES)}
    draws = labelled_draws(chains, names, {"log_rates": ["coordinate"]}, chain="start")
    if settings.design == "chains":
        _check_moves(draws, method)
    # How far chains that stand still are from a posterior says nothing, and takes longer than their run.
    exact = None if settings.design == "failures" else _known_posterior(problem, settings)
    seconds = fraction_of_time(chains.run_s, draws["n_evaluations"].sum("draw").astype(float))
    parts = [  # one tolerance at a time: temporary arrays are as large as the draws
        measure.chain_statistics(draws.sel(at), method, settings.n_discard, seconds.sel(at), exact)
        for at in ({"tolerance": [tolerance]} for tolerance in draws["tolerance"].values)
    ]
    statistics = xr.concat(parts, "tolerance", data_vars="minimal")
    if problem.label == "published":
        below = draws["log_rates"].isel(draw=slice(settings.n_discard, None)) < np.log(GENERATING_RATES)
        statistics["share_below_generating"] = below.mean("draw")
    return {
        "statistics": statistics,
        "curves": measure.chain_curves(draws, settings.n_discard, method),
        **arviz_groups(draws, ["log_rates"], most=MOST_KEPT),
    }


def _known_posterior(problem: Problem, settings: Settings) -> LogRatePosterior | None:
    return exact_posterior(problem.model) if settings.steps_per_observation == 1 else None


def _check_moves(draws: xr.Dataset, method: str) -> None:
    counted = (name for name in measure.COUNTERS if name in draws)
    counters = [name for name in counted if name not in ("n_projections", "n_fallback")]
    for tolerance in draws["tolerance"].values:
        for step_size in draws["step_size"].values:
            point = draws.sel(tolerance=tolerance, step_size=step_size)
            if point["accepted"].any():
                continue
            counts = {name.removeprefix("n_").replace("_", " "): int(point[name].sum()) for name in counters}
            found = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
            at = "" if method in EXACT_METHODS else f" and tolerance {tolerance:g}"
            if method in EXACT_METHODS:
                change = "take a smaller step_size or more n_inner_steps"
                if method == "chmc_all":
                    change = f"try method=chmc_teacher_forced, which has the same posterior, or {change}"
            elif method in ("hmc_gaussian", "rmhmc_gaussian"):
                change = "take a smaller step_size or a larger tolerance"
            elif method.startswith("ss_"):
                change = "take a larger tolerance"
            else:
                change = "take a larger tolerance or more n_batches of adaptation"
            raise SettingsError(
                f"method={method} at step size {step_size:g}{at}: none of {draws.sizes['draw']} updates of any of "
                f"{draws.sizes['chain']} chains was accepted"
                f"{f' (updates that failed: {found})' if found else ''}; {change}, or start nearer to the posterior "
                "with start_centre"
            )


def _rejection(problem: Problem, settings: Settings, context: RunContext) -> xr.Dataset:
    """Prior draws that rejection on all data accepts, by tolerance and reading of the distance, and finite paths."""
    model = problem.model

    def on_all(paths: FloatArray) -> FloatArray:
        return np.sqrt(np.square(paths - model.observations[None]).sum(axis=(1, 2)))

    rng = generator(context.seed, context.study, "rejection", "all")
    distances = rejection.prior_distances(model, rng, settings.n_rejection_all, on_all)
    rng, n_draws = generator(context.seed, context.study, "prior predictive"), settings.n_rejection_all
    finite = rejection.simulate_prior(model, rng, n_draws, rejection.FINITE)
    larger_model = model._replace(prior_mean=_LARGER_PRIOR_MEAN)
    larger = rejection.simulate_prior(larger_model, rng, n_draws, rejection.FINITE)
    dims, units = ("rejection_tolerance_all", "reading"), {"units": "draws"}
    return xr.Dataset(
        {
            "rejection_accepted_all": (dims, _counts(distances, "all"), units),
            "rejection_draws_all": ((), n_draws, units),
            "rejection_smallest_distance_all": ((), distances.min(initial=np.inf)),
            "finite_prior_fraction": ((), len(finite.paths) / n_draws),
            "finite_prior_paths_by_mean": (("larger_prior_mean",), [len(larger.paths)], units),
        },
        coords={
            "reading": list(_READINGS),
            "larger_prior_mean": [_LARGER_PRIOR_MEAN],
            "rejection_tolerance_all": list(_REJECTION_TOLERANCES["all"]),
        },
    )


def _scale_sets(problem: Problem, settings: Settings, context: RunContext) -> xr.Dataset:
    """Accepted prior draws on normalised summaries for each set of their scales, by tolerance and reading."""
    progress = Progress(f"{context.label} [scales]")
    progress.start(settings.n_scale_sets, 0, 0.0, "sets of scales")
    begin, accepted = time.monotonic(), []
    observed = summary_statistics(problem.model.observations, settings.summaries)
    limited = settings.population_limit
    # Scales of paths without a lower limit are so large that paths beyond the upper one can be accepted.
    limit = rejection.POPULATION_LIMIT if limited == "size" else rejection.FINITE
    for place in range(settings.n_scale_sets):
        rng = generator(context.seed, context.study, "scales", place)
        n_draws = settings.n_normalisation
        drawn = prior_summary_scales(problem.model, rng, n_draws, settings.summaries, limited)

        def distance(paths: FloatArray, scales: FloatArray = drawn.scales) -> FloatArray:
            scaled = (summary_statistics(paths, settings.summaries) - observed[None]) / scales[None]
            return np.sqrt(np.square(scaled).sum(axis=1))

        n_draws = settings.n_rejection_summaries
        distances = rejection.prior_distances(problem.model, rng, n_draws, distance, limit)
        accepted.append(_counts(distances, "summaries"))
        progress.advance(place + 1, time.monotonic() - begin)
    dims = ("repeat", "rejection_tolerance_summaries", "reading")
    return xr.Dataset(
        {
            "scales_accepted": (dims, accepted, {"units": "draws"}),
            "scales_draws": ((), settings.n_rejection_summaries, {"units": "draws"}),
        },
        coords={
            "repeat": range(settings.n_scale_sets),
            "rejection_tolerance_summaries": list(_REJECTION_TOLERANCES["summaries"]),
            "reading": list(_READINGS),
        },
    )


def _counts(distances: FloatArray, target: str) -> list[list[int]]:
    return [
        [rejection.n_accepted(distances, tolerance, reading) for reading in _READINGS]
        for tolerance in _REJECTION_TOLERANCES[target]
    ]


def _data_statistics(problem: Problem) -> xr.Dataset:
    model = problem.model
    variables: dict[str, Any] = {}
    if problem.label == "published":
        difference = np.abs(model.observations - read_populations(_PUBLISHED_DATA))
        variables["data_difference"] = ((), difference.max())
        variables["data_compared"] = ((), difference.size, {"units": "values"})
    if problem.scales.n_draws:
        variables["summary_scale"] = (("summary",), problem.scales.scales)
        variables["summary_scale_draws"] = ((), problem.scales.n_kept, {"units": "draws"})
    return xr.Dataset(variables, coords={"summary": list(SUMMARY_NAMES)})


def _observed_data(problem: Problem) -> xr.Dataset:
    data = {"populations": (("step", "population"), problem.model.observations)}
    return xr.Dataset(data, coords={"population": list(POPULATIONS)})


def _combined(parts: list[xr.Dataset]) -> xr.Dataset:
    # Methods differ in tolerances and in what they count; what one does not have is missing.
    aligned = xr.align(*parts, join="outer", exclude=("method", "scheme"))
    return xr.combine_by_coords(  # type: ignore[return-value]
        aligned, join="outer", compat="no_conflicts", data_vars="all", combine_attrs="override"
    )


def _merged(first: xr.Dataset, second: xr.Dataset) -> xr.Dataset:
    return xr.merge([first, second], join="outer", compat="no_conflicts", combine_attrs="override")
