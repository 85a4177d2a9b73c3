"""Reference posteriors, their limit at small tolerances, facts of the prior, and the data of figure 4.6."""

from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import stats

from auxmc.data.tables import read_matrix
from auxmc.diagnostics.convergence import mcse_mean, mcse_sd, rank_r_hat
from auxmc.driver.seeds import generator, stream
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chains import RunContext
from experiments.generalised_lambda.model.exact import log_likelihood, reference_draws
from experiments.generalised_lambda.model.fibre import LARGEST_RESIDUAL, fibre_point
from experiments.generalised_lambda.model.generator import (
    GENERATING_PARAMETERS,
    N_PARAMETERS,
    parameters,
    quantile,
    quantile_at_probability,
    sample_parameter_inputs,
)
from experiments.generalised_lambda.problem import Problem
from experiments.generalised_lambda.settings import DATA_SEED, PARAMETERS, Settings

_FRESH_DRAWS = 10_000
_GRID_POINTS = 400
_MOST_CURVE_DRAWS = 4000
_MOST_LIMIT_DRAWS = 2000
_FEASIBILITY_DRAWS = 2000
# The data as the documents' author published them, the ticks below his figure.
_PUBLISHED_VALUES = Path(__file__).parent / "published_values.csv"


def reference_result(problem: Problem, settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs a case of design reference; returns groups `statistics` and `curves`."""
    draws = _posteriors(problem, settings, context)
    statistics = _moments(draws).merge(_prior_facts(problem, settings, context))
    statistics = statistics.merge(_data_facts(problem, settings))
    if settings.limit_tolerances:
        exact = draws["z"].sel(target="exact").isel(prior=0)
        statistics = statistics.merge(limit_statistics(problem, exact, settings.limit_tolerances))
    curves = _thinned(draws["z"]).merge(_data_curves(problem, context))
    return {"statistics": statistics, "curves": curves}


def targets(settings: Settings) -> dict[str, tuple[str, float]]:
    """Names of the reference posteriors, with kind of conditioning and tolerance."""
    gaussian = {f"gaussian_{eps:g}": ("gaussian", eps) for eps in settings.gaussian_tolerances}
    return {"exact": ("exact", 0.0), f"cube_{settings.tolerance:g}": ("cube", settings.tolerance), **gaussian}


def limit_statistics(problem: Problem, exact: xr.DataArray, tolerances: list[float]) -> xr.Dataset:
    """Shift of posterior means under Gaussian kernels, in exact posterior sds.

    It comes from weighted draws of the exact posterior (draw, walker, parameter), with standard errors over
    walkers; the prior cancels.
    """
    stride = -(-exact.sizes["draw"] * exact.sizes["walker"] // _MOST_LIMIT_DRAWS)
    z = exact.transpose("draw", "walker", "parameter").values[::stride]
    n_draws, n_walkers, _ = z.shape
    model = problem.model(next(iter(problem.priors)))
    points = jnp.asarray(z.reshape(-1, N_PARAMETERS))

    def values(target: str, tolerance: float = 0.0) -> FloatArray:
        return np.asarray(jax.jit(lambda p: jax.lax.map(log_likelihood(model, target, tolerance), p))(points))

    base = values("exact")
    centre, spread = z.mean(axis=(0, 1)), z.std(axis=(0, 1))
    scaled = (z - centre) / spread
    shifts, errors, sizes = [], [], []
    for tolerance in tolerances:
        log_weights = values("gaussian", tolerance) - base
        weights = np.exp(log_weights - log_weights.max()).reshape(n_draws, n_walkers, 1)
        # Sums of each walker: the jackknife leaves one walker out.
        tops, bottoms = (weights * scaled).sum(axis=0), weights.sum(axis=0)
        left_out = (tops.sum(axis=0) - tops) / (bottoms.sum(axis=0) - bottoms)
        plain = (scaled.sum(axis=(0, 1)) - scaled.sum(axis=0)) / (n_draws * (n_walkers - 1))
        shifts.append(tops.sum(axis=0) / bottoms.sum(axis=0))
        spread_left_out = (left_out - plain - (left_out - plain).mean(axis=0)) ** 2
        errors.append(np.sqrt((n_walkers - 1) / n_walkers * spread_left_out.sum(axis=0)))
        sizes.append(weights.sum() ** 2 / (weights**2).sum())
    dims = ("limit_tolerance", "parameter")
    return xr.Dataset(
        {
            "limit_shift": (dims, np.array(shifts), {"units": "posterior sd"}),
            "limit_shift_error": (dims, np.array(errors), {"units": "posterior sd"}),
            "limit_weight_ess": (dims[:1], np.array(sizes), {"units": "draws"}),
        },
        coords={"limit_tolerance": tolerances, "parameter": list(PARAMETERS)},
    )


def _posteriors(problem: Problem, settings: Settings, context: RunContext) -> xr.Dataset:
    named = targets(settings)
    shape = (len(problem.priors), len(named))
    z = np.empty((*shape, settings.n_draws, settings.n_walkers, N_PARAMETERS))
    rates = np.empty(shape)
    sizes = {"n_walkers": settings.n_walkers, "n_burn_in": settings.n_burn_in, "n_draws": settings.n_draws}
    model = problem.model(next(iter(problem.priors)))

    def draw(key: Array, prior: Array, target: str, tolerance: float) -> tuple[Array, Array]:
        under_prior = model._replace(prior=problem.traced_prior(prior))
        return reference_draws(key, under_prior, target, tolerance, **sizes)

    compiled = jax.jit(draw, static_argnums=(2, 3))
    for column, (name, target) in enumerate(named.items()):
        for row, prior in enumerate(problem.priors):
            key = stream(context.seed, context.study, "reference", problem.label, prior, name)
            drawn, rate = compiled(key, jnp.asarray(row, jnp.int32), *target)
            z[row, column], rates[row, column] = np.asarray(drawn), float(rate)
    return xr.Dataset(
        {
            "z": (("prior", "target", "draw", "walker", "parameter"), z),
            "acceptance": (("prior", "target"), rates),
        },
        coords={"prior": list(problem.priors), "target": list(named), "parameter": list(PARAMETERS)},
    )


def _moments(draws: xr.Dataset) -> xr.Dataset:
    z = draws["z"].transpose("prior", "target", "parameter", "walker", "draw")
    return xr.Dataset(
        {
            "reference_mean": z.mean(["walker", "draw"]),
            "reference_sd": z.std(["walker", "draw"], ddof=1),
            "reference_mcse_mean": xr.apply_ufunc(mcse_mean, z, input_core_dims=[["walker", "draw"]]),
            "reference_mcse_sd": xr.apply_ufunc(mcse_sd, z, input_core_dims=[["walker", "draw"]]),
            "reference_r_hat": xr.apply_ufunc(rank_r_hat, z, input_core_dims=[["walker", "draw"]]),
            "reference_acceptance": draws["acceptance"],
        }
    )


def _thinned(z: xr.DataArray) -> xr.Dataset:
    stride = -(-z.sizes["draw"] * z.sizes["walker"] // _MOST_CURVE_DRAWS)
    thinned = z.isel(draw=slice(None, None, stride)).stack(index=("draw", "walker"))
    flat = thinned.reset_index("index", drop=True).assign_coords(index=np.arange(thinned.sizes["index"]))
    return flat.to_dataset(name="reference_z")


def _prior_facts(problem: Problem, settings: Settings, context: RunContext) -> xr.Dataset:
    """How often a prior draw can generate the data, and how often data drawn from the prior are not finite."""
    n_data = problem.observations.size
    model = problem.model(next(iter(problem.priors)))

    def can_generate(key: Array, prior: Array) -> Array:
        under_prior = model._replace(prior=problem.traced_prior(prior))
        return fibre_point(sample_parameter_inputs(key), under_prior).residual < LARGEST_RESIDUAL

    def largest(key: Array, prior: Array) -> Array:
        own_key, logit_key = jax.random.split(key)
        z = parameters(sample_parameter_inputs(own_key), problem.traced_prior(prior))
        logits = jax.random.logistic(logit_key, (n_data,), dtype=jnp.float64)
        return jnp.max(jnp.abs(quantile(logits, z)))

    def of_draws(function: Callable[[Array, Array], Array], purpose: str, n_draws: int) -> xr.DataArray:
        mapped = jax.jit(lambda keys, prior: jax.lax.map(lambda key: function(key, prior), keys))
        found = []
        for row, prior in enumerate(problem.priors):
            keys = jax.random.split(stream(context.seed, context.study, "prior", prior, purpose), n_draws)
            found.append(np.asarray(mapped(keys, jnp.asarray(row, jnp.int32))))
        return xr.DataArray(found, dims=("prior", "draw"), coords={"prior": list(problem.priors)})

    data = of_draws(largest, "data", settings.n_prior_draws)
    flags = {
        "prior_feasible_share": of_draws(can_generate, "feasible", _FEASIBILITY_DRAWS),
        "prior_not_finite_share": ~xr.ufuncs.isfinite(data),
        "prior_over_1e10_share": ~(data < 1e10),
    }
    return xr.Dataset({name: each.mean("draw") for name, each in flags.items()})


def _data_facts(problem: Problem, settings: Settings) -> xr.Dataset:
    published = read_matrix(str(_PUBLISHED_VALUES))[:, 0]
    same_seed = not settings.data and settings.data_seed == DATA_SEED
    comparable = same_seed and problem.observations.size == published.size
    difference = np.max(np.abs(problem.observations - published)) if comparable else np.nan
    return xr.Dataset(
        {
            "data_difference": difference,
            "n_observations": float(problem.observations.size),
            "data_min": problem.observations.min(),
            "data_max": problem.observations.max(),
        }
    )


def _data_curves(problem: Problem, context: RunContext) -> xr.Dataset:
    """The data, and a kernel density estimate of fresh draws of the generating distribution over their range."""
    low, high = problem.observations.min(), problem.observations.max()
    margin = 0.05 * (high - low)
    grid = np.linspace(low - margin, high + margin, _GRID_POINTS)
    rng = generator(context.seed, context.study, "fresh draws")
    uniforms = jnp.asarray(rng.uniform(size=_FRESH_DRAWS))
    fresh = np.asarray(quantile_at_probability(uniforms, jnp.asarray(GENERATING_PARAMETERS)))
    return xr.Dataset(
        {
            "observation": (("datum",), problem.observations),
            "fresh_density": (("point",), stats.gaussian_kde(fresh)(grid)),
        },
        coords={"datum": np.arange(problem.observations.size), "point": grid},
    )
