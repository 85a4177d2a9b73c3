"""Density estimates of the Gaussian latent variable model and of Gaussian processes: distributions, acceptance rates.

The log estimate of one importance sample is a noncentral chi-squared variable, so that its distribution function is
known for the full and for the lumped auxiliary variables, and by quadrature that of two importance samples.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from auxmc.kernels.pseudo_marginal.updates import pseudo_marginal_method
from experiments.gaussian_latent import exact
from experiments.gaussian_latent import model as glv
from experiments.gp_probit.model import estimator as gp_estimator
from experiments.gp_probit.model import gp_probit_model, load_biopsy, standardise
from tests.statistical import levels
from tests.statistical.kernels.latent import with_auxiliary

N = 60_000
BUILDS = {"full": glv.estimator, "lumped": glv.lumped_estimator}


def log_estimates(estimator, position, name, n=N, batch_size=None):
    cache = jax.jit(estimator.prepare)(jnp.asarray(position))
    draw = lambda key: estimator.log_estimate(cache, estimator.draw_auxiliary(key))
    return levels.draw_many(draw, name, n, batch_size)


# --- distributions of estimates ---------------------------------------------------------------------------------


def uniforms_of(model, position, n_importance, values):
    """Distribution function at log estimates of one or two importance samples."""
    # The log estimate of one is constant - slope q, where q has this distribution.
    residuals = model.observations - position
    constant = float(stats.norm.logpdf(position).sum())
    constant -= 0.5 * residuals.size * math.log(2.0 * math.pi * model.sd_observation**2)
    slope = 0.5 * (model.sd_latent / model.sd_observation) ** 2
    distribution = stats.ncx2(residuals.size, float(np.sum(residuals**2)) / model.sd_latent**2)
    probabilities = np.concatenate([np.geomspace(1e-12, 1e-3, 400), np.linspace(2e-3, 0.998, 2000)])
    probabilities = np.concatenate([probabilities, 1.0 - np.geomspace(1e-3, 1e-12, 400)])
    grid = distribution.ppf(probabilities)

    single = lambda logs: 1.0 - np.interp((constant - logs) / slope, grid, probabilities, 0.0, 1.0)
    if n_importance == 1:
        return single(values)
    # The mean of two is below a value if the second is below what the first leaves of twice the value.
    firsts = constant - slope * distribution.ppf((np.arange(2000) + 0.5) / 2000)
    points = np.linspace(values.min(), values.max(), 1000)
    excess = firsts - (points[:, None] + math.log(2.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = points[:, None] + math.log(2.0) + np.log1p(-np.exp(excess))
    cdf = np.where(excess < 0.0, single(rest), 0.0).mean(axis=1)
    return np.asarray(np.interp(values, points, cdf))


@pytest.mark.parametrize(
    ("dataset", "n_importance", "build"),
    [
        ("calibrated", 1, "full"),
        ("as_stated", 2, "full"),
        ("as_stated", 1, "lumped"),
        ("calibrated", 2, "lumped"),
    ],
)
def test_log_estimates_have_their_exact_distribution(dataset, n_importance, build):
    """The loss of one of the 90 degrees of freedom of the scatter moves this distribution by nearly 0.03."""
    data = glv.simulate_data(2, dataset)
    model = glv.gaussian_latent_model(data.observations)
    name = f"latent/distribution/{dataset}/{n_importance}/{build}"
    values = log_estimates(BUILDS[build](model, n_importance), data.position, name)
    levels.assert_uniform(uniforms_of(model, data.position, n_importance, values), label=build)


@pytest.mark.parametrize("shape", [(1, 3), (2, 1), (1, 1), (2, 2)])
def test_lumping_holds_for_the_smallest_data(shape):
    model = glv.gaussian_latent_model(np.random.default_rng(8).standard_normal(shape))
    position = np.full(shape[1], 0.3)
    values = log_estimates(glv.lumped_estimator(model, 1), position, f"latent/smallest/{shape}")
    levels.assert_uniform(uniforms_of(model, position, 1, values), label="lumped")


def test_plain_data_have_the_stated_variance():
    """Residuals of 100 numbers of variance 5."""
    seeds = levels.rng_for("latent/data").integers(0, 2**63, 20_000)
    sums = []
    for seed in seeds:
        data = glv.simulate_data(int(seed), "as_stated")
        sums.append(np.sum((data.observations - data.position) ** 2))
    levels.assert_uniform(stats.chi2.cdf(np.array(sums) / 5.0, 100), detects=0.04, label="sum of squares")


# --- acceptance rates --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(10, 10), (3, 2), (1, 1)])
def test_acceptance_rates_of_an_auxiliary_method_are_the_exact_ones(shape):
    """One step from exact draws of the position and of its auxiliary variables."""
    step_size = 0.9
    model = glv.gaussian_latent_model(glv.simulate_data(3, "calibrated", *shape).observations)
    posterior = exact.exact_posterior(model)
    total = model.sd_latent**2 + model.sd_observation**2
    estimator = glv.estimator(model, 1)
    kernel = pseudo_marginal_method("apm_mi_mh", estimator, step_size, model.dim)

    def replica(key):
        keys = jax.random.split(key, 4)
        position = jnp.asarray(posterior.mean) + posterior.sd * jax.random.normal(keys[0], (model.dim,))
        residuals = jnp.asarray(model.observations) - position[None, :]
        noise = jax.random.normal(keys[1], (1, *model.observations.shape))
        spread = model.sd_observation / math.sqrt(total)
        auxiliary = model.sd_latent / total * residuals[None] + spread * noise
        state = with_auxiliary(estimator, kernel.init(position, key=keys[2]), auxiliary)
        _, info = kernel.step(keys[3], state)
        return info.accepted_auxiliary, info.accepted_position

    auxiliary, position = levels.draw_many(replica, f"latent/accepted/{shape}", N, 5000)
    precision = exact.conditional_precision(model)
    rates = (
        (auxiliary, exact.mean_independence_acceptance(model), "auxiliary"),
        (position, float(exact.metropolis_acceptance(step_size, precision, model.dim)), "position"),
    )
    for accepted, expected, label in rates:
        levels.assert_bounded_mean(accepted, 0.0, 1.0, expected, detects=0.03, label=label)


# --- Gaussian processes --------------------------------------------------------------------------------


def test_prior_draws_have_the_quantiles_of_the_prior():
    draws = levels.draw_many(gp_probit_model(np.zeros((1, 3)), [1]).sample_prior, "process/prior", 20_000)
    scale = stats.loggamma(1.1, loc=np.log(10.0)).cdf(draws[:, 0])
    lengths = stats.loggamma(1.0, loc=0.5 * np.log(3.0)).cdf(draws[:, 1:])
    uniforms = np.column_stack([scale, lengths])
    levels.assert_independent(uniforms, "variance and length scales", detects=0.04, detects_mean=0.07)


@pytest.mark.slow
def test_collapsing_duplicates_leaves_the_distribution_of_the_estimate_unchanged():
    """Means of two functions of the log estimate, which see a shift and another width of its distribution."""
    biopsy = load_biopsy()
    position = np.array([2.1, 1.0, 1.2, 1.1, 1.4, 1.3, 0.9, 1.2, 1.1, 1.3])
    samples = []
    for collapse in (True, False):
        features = standardise(biopsy.features)[:80]
        density = gp_estimator(gp_probit_model(features, biopsy.labels[:80], collapse), 20)
        samples.append(log_estimates(density, position, f"process/collapse/{collapse}", 4000, 500))
    middle, spread = np.mean(samples[0][:1000]), np.std(samples[0][:1000])
    first, second = (stats.norm.cdf((sample[1000:] - middle) / spread) for sample in samples)
    levels.assert_bounded_mean(first - second, -1.0, 1.0, 0.0, detects=0.12, label="place")
    first, second = (4.0 * values * (1.0 - values) for values in (first, second))
    levels.assert_bounded_mean(first - second, -1.0, 1.0, 0.0, detects=0.12, label="width")
