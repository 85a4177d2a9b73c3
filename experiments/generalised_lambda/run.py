"""Maps the settings of a case to model, kernel and recorded quantities, and runs the chains."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.driver.blocks import Sampler
from auxmc.driver.seeds import stream
from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import HMCInfo, hmc
from auxmc.kernels.hamiltonian.phased import PhasedState, phased
from auxmc.kernels.hamiltonian.riemannian_hmc import RiemannianInfo, riemannian_hmc
from auxmc.kernels.manifold.constrained_hmc import ConstrainedInfo, constrained_hmc
from auxmc.kernels.manifold.modified_abc import ModifiedABCInfo, modified_abc
from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc_pipeline.chain_statistics import arviz_groups, counted_failures, labelled_draws, thinned
from auxmc_pipeline.chains import Chains, RunContext, run_chains
from auxmc_pipeline.settings import SettingsError
from experiments.generalised_lambda.measure import chain_statistics
from experiments.generalised_lambda.model import fibre, generator
from experiments.generalised_lambda.model.exact import reference_draws
from experiments.generalised_lambda.model.generator import N_PARAMETERS
from experiments.generalised_lambda.problem import Problem, build_problem
from experiments.generalised_lambda.reference import reference_result
from experiments.generalised_lambda.settings import PARAMETERS, Settings, batch_values

_AXES = ("prior", "step_size", "tolerance", "n_bisections")
_MOST_REDRAWS = 100_000
_MOST_CURVE_DRAWS = 800  # Draws of each chain that go into the figures' histograms, evenly spaced
_POSTERIOR_WALKERS, _POSTERIOR_BURN_IN = 32, 250
Parameters = dict[str, Array]


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs one case; raises SettingsError if no prior draw gives the data, or no trajectory at a step was accepted."""
    problem = build_problem(settings)
    result = reference_result if settings.design == "reference" else _chains
    groups = result(problem, settings, context)
    observed = xr.Dataset({"x": (("datum",), problem.observations)})
    return {**groups, "observed_data": observed}


def _chains(problem: Problem, settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    find = _posterior_points if settings.start == "posterior" else _prior_points
    points = [find(problem, settings, context, name) for name in problem.priors]
    # Inputs that generate the data [prior, chain, input], the same for all methods, and redraws [prior, chain].
    starts, n_redraws = map(np.stack, zip(*points, strict=True))
    sweep: dict[str, Any] = {name: batch_values(settings, name) for name in _AXES}
    sweep["prior"] = list(range(len(problem.priors)))
    # Chains are swept by number, so that each finds its own starting point.
    sweep["chain"] = list(range(settings.n_chains))
    names, sampler = (problem.label, settings.method, settings.start), _sampler(problem, settings, starts)
    n_draws = settings.n_warm_up + settings.n_draws
    chains = run_chains(
        context, names, sampler, settings, n_draws=n_draws, n_chains=1, sweep=sweep, vectorise=False
    )
    draws = _labelled(chains, problem, settings)
    _check_moves(draws, settings)
    coords = {"prior": list(problem.priors), "chain": np.arange(settings.n_chains)}
    statistics = chain_statistics(draws, settings, chains.run_s, xr.DataArray(n_redraws, coords))
    kept = draws.isel(draw=slice(settings.n_warm_up, None))
    # For histograms, which are of chains with a warm-up.
    curves = {"curves": thinned(kept["z"], _MOST_CURVE_DRAWS).to_dataset(name="z")}
    return {"statistics": statistics, **(curves if settings.n_warm_up else {}), **arviz_groups(kept, ["z"])}


def _prior_points(
    problem: Problem, settings: Settings, context: RunContext, prior: str
) -> tuple[FloatArray, IntegerArray]:
    model, names = problem.model(prior), (context.study, "start", problem.label, prior)
    keys = jnp.stack([stream(context.seed, *names, chain) for chain in range(settings.n_chains)])
    find = partial(fibre.initial_inputs, model=model, max_redraws=_MOST_REDRAWS)
    points = jax.jit(lambda keys: jax.lax.map(find, keys))(keys)
    if not np.all(np.asarray(points.residual) < fibre.LARGEST_RESIDUAL):
        (sd, rate), data = problem.priors[prior], problem.observations
        raise SettingsError(
            f"none of {_MOST_REDRAWS} draws from the prior ({prior}: prior_sd={sd:g}, prior_rate={rate:g}) can "
            f"generate every observation: the data run from {data.min():g} to {data.max():g}; "
            "shift and scale the data to be near 0 and of spread 1, or set prior=own with a larger prior_sd and "
            "a prior_rate near the spread of the data"
        )
    return np.asarray(points.inputs), np.asarray(points.n_redraws)


def _posterior_points(
    problem: Problem, settings: Settings, context: RunContext, prior: str
) -> tuple[FloatArray, IntegerArray]:
    model = problem.model(prior)
    key = stream(context.seed, context.study, "posterior start", problem.label, prior)
    n_draws = -(-settings.n_chains // _POSTERIOR_WALKERS)

    sizes = {"n_walkers": _POSTERIOR_WALKERS, "n_burn_in": _POSTERIOR_BURN_IN, "n_draws": n_draws}

    @jax.jit
    def find(key: Array) -> fibre.FibrePoint:
        draws = reference_draws(key, model, "exact", **sizes)[0].reshape(-1, N_PARAMETERS)

        def point(z: Array) -> fibre.FibrePoint:
            return fibre.fibre_point(fibre.inputs_of_parameters(z, model), model)

        return jax.lax.map(point, draws[: settings.n_chains])

    points = find(key)
    return np.asarray(points.inputs), np.zeros(settings.n_chains, dtype=np.int64)


def _sampler(problem: Problem, settings: Settings, starts: FloatArray) -> Sampler:
    all_starts = jnp.asarray(starts)
    any_prior = problem.model(next(iter(problem.priors)))

    def model_of(swept: Parameters) -> generator.GeneralisedLambdaModel:
        return any_prior._replace(prior=problem.traced_prior(swept["prior"]))

    def build(swept: Parameters) -> Kernel:
        return _kernel(model_of(swept), settings, swept)

    def initial(key: Array, swept: Parameters) -> PhasedState:
        model = model_of(swept)
        inputs = all_starts[swept["prior"].astype(jnp.int32), swept["chain"].astype(jnp.int32)]
        if settings.method == "modified_abc":
            inputs = generator.parameters(inputs[:N_PARAMETERS], model.prior)
        return _kernel(model, settings, swept).init(inputs, key=key)

    def record(state: PhasedState, info: Any) -> dict[str, Array]:
        common = {"accepted": info.is_accepted, "acceptance_probability": info.acceptance_rate}
        # A kernel does not know the prior: positions are turned into parameters after the run.
        return common | _RECORD[settings.method](state.inner, info)

    return Sampler(build, initial, record)


def _kernel(model: generator.GeneralisedLambdaModel, settings: Settings, swept: Parameters) -> Kernel:
    unit = swept["tolerance"] if settings.step_unit == "tolerance" else 1.0
    if settings.method == "modified_abc":
        kernel = modified_abc(
            generator.quantile_at_probability,
            lambda z: generator.log_prior_parameters(z, model.prior),
            model.observations,
            swept["tolerance"],
            swept["step_size"] * unit,
            N_PARAMETERS,
            swept["n_bisections"].astype(jnp.int32),
        )
        return phased(lambda _: kernel, 0, swept["step_size"], 0.0, 0)
    n_steps, dim = (settings.min_steps, settings.max_steps), generator.input_dim(model)

    def build(step_size: Array) -> Kernel:
        if settings.method == "constrained_hmc":
            target = generator.conditioned_model(model)
            return constrained_hmc(target, step_size, n_steps, dim, n_inner_steps=settings.n_inner_steps)

        def log_density(inputs: Array) -> Array:
            return generator.abc_log_density(model, inputs, swept["tolerance"])

        if settings.method == "rmhmc":
            metric = generator.abc_metric(model, swept["tolerance"])
            return riemannian_hmc(log_density, metric, step_size, n_steps, dim)
        return hmc(log_density, step_size, n_steps, dim)

    warm_up = (settings.warm_up_step_size, settings.warm_up_steps)
    return phased(build, settings.n_warm_up, swept["step_size"] * unit, *warm_up)


def _record_modified_abc(state: Any, info: ModifiedABCInfo) -> dict[str, Array]:
    return {
        "z": state.position,
        "log_density": state.log_density,
        "n_evaluations": info.n_quantiles,
        "n_outside_prior": info.n_outside_prior,
        "n_outside_tolerance": info.n_outside_tolerance,
    }


def _record_constrained(state: Any, info: ConstrainedInfo) -> dict[str, Array]:
    return {
        "inputs": state.position[:N_PARAMETERS],
        "own_inputs": state.position[N_PARAMETERS:],
        "log_density": -state.potential,
        "n_evaluations": info.errors.n_projection_iterations + info.errors.n_projections,
        "n_steps": info.num_integration_steps,
        **info.errors._asdict(),
    }


def _record_hmc(state: Any, info: HMCInfo | RiemannianInfo) -> dict[str, Array]:
    errors = [name for name in ("n_not_converged", "n_irreversible", "n_not_finite") if name in info._fields]
    return {
        "inputs": state.position[:N_PARAMETERS],
        "log_density": state.log_density,
        "n_evaluations": info.n_gradients + (info.n_metrics if isinstance(info, RiemannianInfo) else 0),
        "n_steps": info.num_integration_steps,
        **{name: getattr(info, name) for name in errors},
    }


_RECORD: dict[str, Callable[[Any, Any], dict[str, Array]]] = {
    "modified_abc": _record_modified_abc,
    "constrained_hmc": _record_constrained,
    "abc_hmc": _record_hmc,
    "rmhmc": _record_hmc,
}


def _labelled(chains: Chains, problem: Problem, settings: Settings) -> xr.Dataset:
    """Recorded quantities with dims (prior, swept settings, chain, draw, ...), parameters z in place of inputs."""
    arrays = dict(chains.draws)
    models = [problem.model(prior) for prior in problem.priors]
    if "inputs" in arrays:
        inputs = arrays.pop("inputs")
        z = [_parameters_of(jnp.asarray(own), model) for own, model in zip(inputs, models, strict=True)]
        arrays["z"] = np.stack([np.asarray(own) for own in z])
    if "own_inputs" in arrays:
        parts = zip(inputs, arrays.pop("own_inputs"), models, strict=True)
        arrays["residual"] = np.stack([_residuals(*part) for part in parts])
    coords: dict[str, Any] = {
        "prior": list(problem.priors),
        "n_bisections": chains.axes["n_bisections"].astype(int),
        "parameter": list(PARAMETERS),
    }
    data = labelled_draws(chains._replace(draws=arrays), coords, {"z": ["parameter"]}, chain="chain")
    fixed = [name for name in _AXES if name != "prior" and name not in settings.batch]
    return data.squeeze(fixed, drop=True)


@jax.jit
def _parameters_of(inputs: Array, model: generator.GeneralisedLambdaModel) -> Array:
    flat = jax.vmap(lambda own: generator.parameters(own, model.prior))(inputs.reshape(-1, N_PARAMETERS))
    return flat.reshape(inputs.shape)


def _residuals(inputs: FloatArray, own: FloatArray, model: generator.GeneralisedLambdaModel) -> FloatArray:
    """Largest |x(u) - observation| of every stored state."""
    joined = np.concatenate([inputs, own], axis=-1)

    def largest(one: Array) -> Array:
        return jnp.max(jnp.abs(generator.generate(one, model.prior) - model.observations))

    flat = jax.jit(lambda every: jax.lax.map(largest, every))(joined.reshape(-1, joined.shape[-1]))
    return np.asarray(flat).reshape(joined.shape[:-1])


def _check_moves(draws: xr.Dataset, settings: Settings) -> None:
    """Rejects chains that say nothing: no accepted proposal in any chain at a step size, or anywhere."""
    moved = draws["accepted"].isel(draw=slice(settings.n_warm_up, None)).any(["chain", "draw"])
    # Chains of modified ABC may stick for long, which is a finding; so may some of several step sizes.
    many = settings.method == "modified_abc" or "step_size" in settings.batch
    if bool(moved.any() if many else moved.all()):
        return
    where = ""
    if not many:
        # The first point at which all chains stood still.
        index = moved.stack(point=moved.dims).where(lambda flag: ~flag, drop=True)["point"].values[0]
        where = f" with {', '.join(f'{name}={value}' for name, value in zip(moved.dims, index, strict=True))}"
    reasons = counted_failures(draws, [n for n in draws if str(n).startswith(("n_not", "n_irreversible"))])
    steps = ", ".join(f"{step:g}" for step in batch_values(settings, "step_size"))
    raise SettingsError(
        f"no proposal of {settings.n_chains} chains in {settings.n_draws} iterations{where} was accepted at "
        f"step_size={steps} ({reasons or 'no integration errors'}): there is no posterior to report. Use a "
        "smaller step_size, or more and smaller warm-up steps (n_warm_up, warm_up_step_size), or start=posterior"
        + ("; more n_inner_steps also help" if settings.method == "constrained_hmc" else "")
    )
