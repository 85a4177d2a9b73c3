"""The variational base of a case, which tempered chains go to and from."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.approximations.advi import (
    N_LAST,
    MeanField,
    decaying_adam,
    evidence_lower_bound,
    fit_mean_field,
    log_normaliser_guess,
    windowed_adagrad,
)
from auxmc.driver.chains import RunContext
from auxmc.driver.seeds import stream
from auxmc.driver.stopwatch import stopwatch
from auxmc.models.bridge import Bridge, bridge, gaussian_base
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.settings import SettingsError
from experiments.radon.model import Problem
from experiments.radon.settings import Settings


class Base(NamedTuple):
    """A mean-field Gaussian fit of the posterior.

    Attributes:
        approximation: mean and standard deviations.
        log_zeta: guess of the log evidence, in nats: mean of the last values of the objective.
        objective: estimate of the bound before each step of the fit, in nats [step].
        statistics: what is recorded of the fit, by name.
    """

    approximation: MeanField
    log_zeta: float
    objective: FloatArray
    statistics: dict[str, float]

    def bridge(self, posterior: Problem) -> Bridge:
        """Posterior and base in the units of the parameters."""
        fit = self.approximation
        return bridge(posterior.log_density, gaussian_base(fit.mean, jnp.exp(fit.log_sd)), self.log_zeta)

    def standardised_bridge(self, posterior: Problem) -> Bridge:
        """Posterior and base in standard deviations of the base, which becomes a standard normal distribution."""
        fit = self.approximation
        zero = jnp.zeros_like(fit.mean)

        def target(standard: Array) -> Array:
            # The density of the standardised parameters has the product of the standard deviations as its factor.
            return posterior.log_density(fit.draw(standard)) + jnp.sum(fit.log_sd)

        return bridge(target, gaussian_base(zero, jnp.ones_like(zero)), self.log_zeta)


def fit_base(posterior: Problem, settings: Settings, context: RunContext, names: tuple[str, ...]) -> Base:
    """Fits the base, which all cases with the same data, parametrisation, optimiser and `names` of streams share.

    Raises:
        SettingsError: If the fit is not finite.
    """
    rate, n_steps = settings.fit_rate, settings.n_fit_steps
    is_published = settings.optimiser == "published"
    optimiser = windowed_adagrad(rate) if is_published else decaying_adam(rate, n_steps)
    density, start = posterior.log_density, MeanField(posterior.start, jnp.zeros(posterior.dim))

    def run(key: Array) -> tuple[MeanField, Array, Array, Array]:
        fit = fit_mean_field(density, start, optimiser, key, n_steps, settings.n_fit_draws)
        return fit.approximation, fit.objective, fit.n_not_finite, log_normaliser_guess(fit.objective)

    with stopwatch() as times:
        key = stream(context.seed, context.study, *names, "fit")
        approximation, objective, n_not_finite, log_zeta = jax.block_until_ready(jax.jit(run)(key))
    bound, error = jax.jit(lambda fit, key: evidence_lower_bound(density, fit, key, settings.n_bound_draws))(
        approximation, stream(context.seed, context.study, *names, "bound")
    )
    if not np.isfinite(float(log_zeta)) or not np.isfinite(float(bound)):
        raise SettingsError(
            f"the variational fit ends at an objective of {float(log_zeta):g} and a bound of {float(bound):g} nats "
            f"({int(n_not_finite)} of {n_steps} steps were not finite): take a smaller fit_rate"
        )
    last = np.asarray(objective)[-N_LAST:]
    statistics = {
        "log_zeta": float(log_zeta),
        "log_zeta_error": float(np.std(last, ddof=1) / np.sqrt(last.size)),
        "lower_bound": float(bound),
        "lower_bound_error": float(error),
        "fit_seconds": times.run_s,
        "fit_not_finite": int(n_not_finite),
    }
    return Base(approximation, float(log_zeta), np.asarray(objective), statistics)
