"""Data, model, variational base and exact value of a case."""

from functools import partial
from typing import NamedTuple, cast

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
from experiments.radon.exact import Evidence, exact_evidence
from experiments.radon.grouped import RADON_FILE, GroupedData, read_grouped
from experiments.radon.model import (
    GroupedRegression,
    Parametrisation,
    effects,
    grouped_regression,
    log_density,
    prior_start,
)
from experiments.radon.settings import Settings, columns


class Base(NamedTuple):
    """Variational base of a case.

    Attributes:
        approximation: mean and standard deviations.
        log_zeta: guess of the log evidence, in nats.
        log_zeta_error: standard error of the mean of the last values of the objective that it is.
        lower_bound: evidence lower bound of the approximation, in nats.
        lower_bound_error: its standard error.
        objective: estimate of the bound before each step of the fit [step].
        n_not_finite: steps of the fit that changed nothing because a number was not finite.
        run_s: seconds of the fit, without compiling.
    """

    approximation: MeanField
    log_zeta: float
    log_zeta_error: float
    lower_bound: float
    lower_bound_error: float
    objective: np.ndarray
    n_not_finite: int
    run_s: float


class Problem(NamedTuple):
    """What the methods of a case share.

    Attributes:
        data: rows and groups.
        model: its regression.
        label: names the data in random streams.
        parametrisation: of the unconstrained vector.
        base: variational base.
        exact: evidence and posterior moments by quadrature.
    """

    data: GroupedData
    model: GroupedRegression
    label: str
    parametrisation: Parametrisation
    base: Base
    exact: Evidence

    def bridge(self) -> Bridge:
        """Posterior and base in the units of the parameters."""
        fit = self.base.approximation
        target = partial(log_density, self.model, self.parametrisation)
        return bridge(target, gaussian_base(fit.mean, jnp.exp(fit.log_sd)), self.base.log_zeta)

    def standardised_bridge(self) -> Bridge:
        """The same in standard deviations of the base, which becomes a standard normal distribution."""
        fit = self.base.approximation
        zero = jnp.zeros_like(fit.mean)

        def target(standard: Array) -> Array:
            # The density of the standardised parameters has the product of the standard deviations as its factor.
            return log_density(self.model, self.parametrisation, fit.draw(standard)) + jnp.sum(fit.log_sd)

        return bridge(target, gaussian_base(zero, jnp.ones_like(zero)), self.base.log_zeta)

    def effects(self, position: Array) -> Array:
        """Scales and coefficients [effect] of a position [dim] in the units of the parameters."""
        return effects(self.model, self.parametrisation, position)


def build_problem(settings: Settings, context: RunContext) -> Problem:
    """Reads the data, integrates by quadrature and fits the base.

    The base of all cases with the same data, parametrisation and optimiser is the same.

    Raises:
        SettingsError: the variational fit is not finite.
        DataError: the user's file cannot be used.
        ValueError: the quadrature does not settle.
    """
    data = read_grouped(settings.data or RADON_FILE, columns(settings))
    model = grouped_regression(data, settings.prior_scale)
    parametrisation = cast(Parametrisation, settings.parametrisation)
    label = "own" if settings.data else "radon"
    exact = exact_evidence(model)
    base = _fit(model, parametrisation, settings, context, label)
    return Problem(data, model, label, parametrisation, base, exact)


def _fit(
    model: GroupedRegression,
    parametrisation: Parametrisation,
    settings: Settings,
    context: RunContext,
    label: str,
) -> Base:
    target = partial(log_density, model, parametrisation)
    optimiser = (
        windowed_adagrad(settings.fit_rate)
        if settings.optimiser == "published"
        else decaying_adam(settings.fit_rate, settings.n_fit_steps)
    )
    start = MeanField(prior_start(model), jnp.zeros(model.dim))
    names = (context.study, label, parametrisation, settings.optimiser)

    def run(key: Array) -> tuple[MeanField, Array, Array, Array]:
        fit = fit_mean_field(target, start, optimiser, key, settings.n_fit_steps, settings.n_fit_draws)
        return fit.approximation, fit.objective, fit.n_not_finite, log_normaliser_guess(fit.objective)

    with stopwatch() as times:
        key = stream(context.seed, *names, "fit")
        approximation, objective, n_not_finite, log_zeta = jax.block_until_ready(jax.jit(run)(key))
    bound_key = stream(context.seed, *names, "bound")
    bound, error = jax.jit(lambda fit, key: evidence_lower_bound(target, fit, key, settings.n_bound_draws))(
        approximation, bound_key
    )
    if not np.isfinite(float(log_zeta)) or not np.isfinite(float(bound)):
        raise SettingsError(
            f"the variational fit ends at an objective of {float(log_zeta):g} and a bound of {float(bound):g} nats "
            f"({int(n_not_finite)} of {settings.n_fit_steps} steps were not finite): take a smaller fit_rate, more "
            "n_fit_steps, or bring the columns to scales of about one"
        )
    last = np.asarray(objective)[-N_LAST:]
    return Base(
        approximation,
        float(log_zeta),
        float(np.std(last, ddof=1) / np.sqrt(last.size)),
        float(bound),
        float(error),
        np.asarray(objective),
        int(n_not_finite),
        times.run_s,
    )
