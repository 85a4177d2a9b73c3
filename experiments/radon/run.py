"""Maps the settings of a case to posterior, base, kernel and recorded quantities, and runs the chains."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.approximations.advi import (
    N_LAST,
    MeanField,
    MeanFieldFit,
    decaying_adam,
    evidence_lower_bound,
    fit_mean_field,
    log_normaliser_guess,
    windowed_adagrad,
)
from auxmc.driver.blocks import Sampler
from auxmc.driver.seeds import stream
from auxmc.kernels.hamiltonian.dual_averaging import dual_averaging
from auxmc.kernels.tempering.annealed_importance import annealed_importance_sampling
from auxmc.kernels.tempering.continuous_tempering import continuously_tempered_hmc, gibbs_continuous_tempering
from auxmc.kernels.tempering.tempered_nuts import tempered_nuts
from auxmc.models.bridge import Bridge, bridge, gaussian_base
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.random import standard_normal
from auxmc.numerics.schedules import sigmoidal_schedule
from auxmc_pipeline.chains import RunContext, run_chains
from auxmc_pipeline.settings import SettingsError
from auxmc_pipeline.stopwatch import stopwatch
from experiments.radon.measure import measure_case
from experiments.radon.model import LOG_SCALES, Problem, intercepts
from experiments.radon.settings import Settings

Record = dict[str, Array]
MODELS = {"intercepts": intercepts}  # another goes here, under a name that `settings.model` allows


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Groups `statistics`, `curves`, `observed_data`, and for chains `posterior` and `sample_stats` of a case."""
    posterior = MODELS[settings.model](settings)
    names = ("own" if settings.data else "radon", settings.parametrisation, settings.optimiser)
    if settings.method == "fits":
        return {"statistics": fit_again(posterior, settings, context, names)}
    base = fit_base(posterior, settings, context, names)
    sampler = {"nuts": _no_u_turn, "ais": _annealed}.get(settings.method, _hmc)
    chains = run_chains(
        context,
        (*names, settings.method, "base=0"),  # the last name keeps the published random numbers
        sampler(posterior, base, settings),
        settings,
        vectorise=settings.method != "nuts",  # unequal trajectories are faster one by one
    )
    return measure_case(chains, posterior, settings, base.objective, base.statistics)


class Base(NamedTuple):
    """A mean-field Gaussian fit of the posterior."""

    approximation: MeanField  # mean and standard deviations
    log_zeta: float  # guess of the log evidence, in nats: mean of the last values of the objective
    objective: FloatArray  # estimate of the bound before each step of the fit, in nats [step]
    statistics: dict[str, float]  # what is recorded of the fit, by name

    def bridge(self, posterior: Problem) -> Bridge:
        """Posterior and base in the units of the parameters."""
        fit = self.approximation
        return bridge(posterior.log_density, gaussian_base(fit.mean, jnp.exp(fit.log_sd)), self.log_zeta)


def fit_base(posterior: Problem, settings: Settings, context: RunContext, names: tuple[str, ...]) -> Base:
    """Fits the base, which all cases with the same data, parametrisation, optimiser and `names` of streams share."""
    keys = [stream(context.seed, context.study, *names, name) for name in ("fit", "bound")]
    with stopwatch() as times:
        fit, log_zeta = jax.block_until_ready(jax.jit(partial(_fit, posterior, settings))(keys[0]))
    evaluate = jax.jit(partial(evidence_lower_bound, posterior.log_density, n_draws=settings.n_bound_draws))
    bound, error = evaluate(fit.approximation, keys[1])
    if not np.isfinite(float(log_zeta)) or not np.isfinite(float(bound)):
        raise SettingsError(
            f"the variational fit ends at an objective of {float(log_zeta):g} and a bound of {float(bound):g} nats "
            f"({int(fit.n_not_finite)} of {settings.n_fit_steps} steps were not finite): take a smaller fit_rate"
        )
    objective = np.asarray(fit.objective)
    last = objective[-N_LAST:]
    statistics = {
        "log_zeta": float(log_zeta),
        "log_zeta_error": float(np.std(last, ddof=1) / np.sqrt(last.size)),
        "lower_bound": float(bound),
        "lower_bound_error": float(error),
        "fit_seconds": times.run_s,
        "fit_not_finite": int(fit.n_not_finite),
    }
    return Base(fit.approximation, float(log_zeta), objective, statistics)


def fit_again(
    posterior: Problem, settings: Settings, context: RunContext, names: tuple[str, ...]
) -> xr.Dataset:
    """Ends of as many other fits of the base as there are chains: log zeta [fit], in nats."""
    run = jax.jit(lambda key: _fit(posterior, settings, key)[-1])
    keys = [stream(context.seed, context.study, *names, "fit", n) for n in range(settings.n_chains)]
    ends = ("fit", [float(run(key)) for key in keys], {"units": "nats"})
    return xr.Dataset({"log_zeta_by_fit": ends}, {"fit": np.arange(len(keys))})


def _fit(posterior: Problem, settings: Settings, key: Array) -> tuple[MeanFieldFit, Array]:
    """A fit, and log zeta."""
    rate, n_steps = settings.fit_rate, settings.n_fit_steps
    is_published = settings.optimiser == "published"
    optimiser = windowed_adagrad(rate) if is_published else decaying_adam(rate, n_steps)
    start = MeanField(posterior.start, jnp.zeros(posterior.dim))
    fit = fit_mean_field(posterior.log_density, start, optimiser, key, n_steps, settings.n_fit_draws)
    return fit, log_normaliser_guess(fit.objective)


def _no_u_turn(posterior: Problem, base: Base, settings: Settings) -> Sampler:
    joined, fit = base.bridge(posterior), base.approximation
    inverse_mass = jnp.append(jnp.exp(2.0 * fit.log_sd), settings.control_inverse_mass)
    kernel = dual_averaging(
        lambda step_size: tempered_nuts(joined, step_size, inverse_mass, settings.max_doublings),
        settings.initial_step / (joined.dim + 1) ** 0.25,
        settings.n_warm_up,
        settings.target_acceptance,
    )

    def initial(key: Array, parameters: Any) -> Any:
        standard, control = _start(key, joined.dim)
        position = fit.draw(standard)
        if settings.start == "notebook":
            # Its PyMC3 fills in the log scales, of which it keeps no draws, and the control, whose draw goes to a copy.
            position, control = position.at[LOG_SCALES].set(posterior.start[LOG_SCALES]), jnp.zeros(())
        return kernel.init(position, control=control, key=key)

    def record(state: Any, info: Any) -> Record:
        return _recorded(posterior, base, state.inner, info.inner, state.inner.position, info.scale)

    return Sampler(lambda parameters: kernel, initial, record)


def _hmc(posterior: Problem, base: Base, settings: Settings) -> Sampler:
    """Moves in standard deviations of the base, which becomes a standard normal distribution."""
    fit, step_size, n_steps = base.approximation, settings.step_size, settings.n_steps

    def target(standard: Array) -> Array:
        # The density of the standardised parameters has the product of the standard deviations as its factor.
        return posterior.log_density(fit.draw(standard)) + jnp.sum(fit.log_sd)

    standard = gaussian_base(jnp.zeros_like(fit.mean), jnp.ones_like(fit.mean))
    joined = bridge(target, standard, base.log_zeta)
    if settings.method == "gibbs_ct":
        gibbs = gibbs_continuous_tempering(joined, step_size, n_steps)
        # The momentum of the start is not used: every update draws another.
        kernel, init = gibbs, lambda start, control, key: gibbs.init(start, 0.0, key=key)
    else:
        inverse_mass = 1.0 / settings.control_inverse_mass
        kernel = continuously_tempered_hmc(joined, step_size, n_steps, inverse_mass)
        init = kernel.init

    def record(state: Any, info: Any) -> Record:
        position = fit.draw(state.position)
        return _recorded(posterior, base, state, info, position, jnp.asarray(step_size, float))

    return Sampler(
        lambda parameters: kernel, lambda key, parameters: init(*_start(key, posterior.dim), key=key), record
    )


def _annealed(posterior: Problem, base: Base, settings: Settings) -> Sampler:
    """A draw of a chain is an independent run."""
    ladder = sigmoidal_schedule(settings.n_temperatures)
    joined = base.bridge(posterior)
    kernel = annealed_importance_sampling(joined, ladder, settings.step_size, settings.n_steps)

    def record(state: Any, info: Any) -> Record:
        return {
            "log_weight": state.log_weight,
            "effects": posterior.effects(state.position),
            "acceptance": info.acceptance_rate,
            "n_gradients": info.n_gradients,
            "n_not_finite": info.n_not_finite,
        }

    return Sampler(lambda parameters: kernel, lambda key, parameters: kernel.init(key=key), record)


def _start(key: Array, dim: int) -> tuple[Array, Array]:
    """A draw of the base in its standard deviations [dim], and a control with inverse temperature uniform."""
    standard = standard_normal(jax.random.fold_in(key, 0), (dim,))
    return standard, jax.random.logistic(jax.random.fold_in(key, 1))


def _recorded(
    posterior: Problem, base: Base, state: Any, info: Any, position: Array, step_size: Array
) -> Record:
    fit, none = base.approximation, jnp.zeros((), jnp.int8)
    return {
        "delta": state.delta,
        "log_target_weight": state.log_target_weight,
        "log_base_weight": state.log_base_weight,
        "inverse_temperature": state.inverse_temperature,
        "effects": posterior.effects(position),
        "standard": (position - fit.mean) * jnp.exp(-fit.log_sd),
        "acceptance": info.acceptance_rate,
        "n_gradients": info.n_gradients,
        # Trees diverge, trajectories of a fixed length lose their energy.
        "n_failures": getattr(info, "is_divergent", none).astype(jnp.int8),
        "n_not_finite": getattr(info, "n_not_finite", none).astype(jnp.int8),
        "step_size": step_size,
    }
