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
from auxmc_pipeline.settings import SettingsError
from experiments.radon.model import Model
from experiments.radon.settings import Settings


class Base(NamedTuple):
    """A mean-field Gaussian fit of the posterior.

    Attributes:
        approximation: mean and standard deviations.
        log_zeta: guess of the log evidence, in nats: mean of the last values of the objective.
        bound: evidence lower bound of the approximation and its standard error, in nats.
        objective: estimate of the bound before each step of the fit [step].
        n_not_finite: steps of the fit that changed nothing because a number was not finite.
        run_s: seconds of the fit, without compiling.
    """

    approximation: MeanField
    log_zeta: float
    bound: tuple[float, float]
    objective: np.ndarray
    n_not_finite: int
    run_s: float

    def bridge(self, model: Model) -> Bridge:
        """Posterior and base in the units of the parameters."""
        fit = self.approximation
        return bridge(model.log_density, gaussian_base(fit.mean, jnp.exp(fit.log_sd)), self.log_zeta)

    def standardised_bridge(self, model: Model) -> Bridge:
        """Posterior and base in standard deviations of the base, which becomes a standard normal distribution."""
        fit = self.approximation
        zero = jnp.zeros_like(fit.mean)

        def target(standard: Array) -> Array:
            # The density of the standardised parameters has the product of the standard deviations as its factor.
            return model.log_density(fit.draw(standard)) + jnp.sum(fit.log_sd)

        return bridge(target, gaussian_base(zero, jnp.ones_like(zero)), self.log_zeta)

    def statistics(self) -> dict[str, float]:
        """What is recorded of the fit."""
        last = self.objective[-N_LAST:]
        return {
            "log_zeta": self.log_zeta,
            "log_zeta_error": float(np.std(last, ddof=1) / np.sqrt(last.size)),
            "lower_bound": self.bound[0],
            "lower_bound_error": self.bound[1],
            "fit_seconds": self.run_s,
            "fit_not_finite": self.n_not_finite,
        }


def fit_base(model: Model, settings: Settings, context: RunContext, names: tuple[str, ...]) -> Base:
    """Fits the base; that of all cases with the same data, parametrisation and optimiser is the same.

    Args:
        model: its density and where to start.
        settings: of the case.
        context: root seed.
        names: of random streams.

    Raises:
        SettingsError: If the fit is not finite.
    """
    if settings.optimiser == "published":
        optimiser = windowed_adagrad(settings.fit_rate)
    else:
        optimiser = decaying_adam(settings.fit_rate, settings.n_fit_steps)
    start = MeanField(model.start, jnp.zeros(model.dim))

    def run(key: Array) -> tuple[MeanField, Array, Array, Array]:
        fit = fit_mean_field(
            model.log_density, start, optimiser, key, settings.n_fit_steps, settings.n_fit_draws
        )
        return fit.approximation, fit.objective, fit.n_not_finite, log_normaliser_guess(fit.objective)

    with stopwatch() as times:
        key = stream(context.seed, context.study, *names, "fit")
        approximation, objective, n_not_finite, log_zeta = jax.block_until_ready(jax.jit(run)(key))
    bound, error = jax.jit(
        lambda fit, key: evidence_lower_bound(model.log_density, fit, key, settings.n_bound_draws)
    )(approximation, stream(context.seed, context.study, *names, "bound"))
    if not np.isfinite(float(log_zeta)) or not np.isfinite(float(bound)):
        raise SettingsError(
            f"the variational fit ends at an objective of {float(log_zeta):g} and a bound of {float(bound):g} nats "
            f"({int(n_not_finite)} of {settings.n_fit_steps} steps were not finite): take a smaller fit_rate"
        )
    found = (float(bound), float(error))
    return Base(approximation, float(log_zeta), found, np.asarray(objective), int(n_not_finite), times.run_s)
