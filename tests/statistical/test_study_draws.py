"""Draws, starts, simulators of priors and reference samplers of the studies against their distributions."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from auxmc.approximations.advi import MeanField, evidence_lower_bound
from auxmc.diagnostics.tempered_evidence import log_evidence, log_evidence_error
from auxmc.kernels.manifold.constrained_hmc import constrained_hmc
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.kernels.streams.contract import Chunk, PastRows, Target
from experiments.estimator_illustrations.exact_moves import conjugate_distribution, conjugate_mover
from experiments.foundations.models import machines
from experiments.generalised_lambda.model.generator import LOGISTIC_RATE, sample_parameter_inputs
from experiments.generalised_lambda.model.reference_posterior import (
    differential_evolution,
    independence_metropolis,
)
from experiments.lotka_volterra.model import generator
from experiments.lotka_volterra.model.conditioning import sparsely_conditioned_model
from experiments.lotka_volterra.model.rejection import simulate_prior
from experiments.manifold_illustrations.identities import _rejection
from tests.exact_posteriors import tempered_posterior
from tests.statistical import levels
from tests.statistical.kernel_checks import check_standard_normal
from tests.statistical.test_rows import DATA, check_normal, standardised
from tests.unit.experiments.test_lotka_volterra import own_model

# --- populations ---------------------------------------------------------------------------------------


def test_first_rates_have_the_stated_normal_distribution():
    model = generator.published_model()
    rates = levels.draw_many(
        lambda key: generator.initial_inputs(model, key)[:4], "populations/start", 20_000
    )
    check_standard_normal((rates + 4.0) / 0.1, "rates")


def test_dropped_draws_are_those_whose_plain_path_leaves_the_limit():
    """Both simulators draw from the prior: the fractions of their paths within a limit are the same."""
    model, limit, n = own_model(), 500.0, 20_000
    rng = levels.rng_for("populations/dropped")
    n_kept = len(simulate_prior(model, rng, n, limit).paths)
    inputs = jax.random.normal(levels.key_for("populations/plain"), (n, model.n_inputs))
    paths = np.asarray(jax.jit(jax.vmap(lambda u: generator.simulate(model, u)))(inputs))
    inside = np.all(np.abs(paths) <= limit, axis=(1, 2))
    # The batched simulator says how many it kept: in random order these are independent draws again.
    kept = rng.permutation(np.arange(n) < n_kept)
    levels.assert_bounded_mean(
        kept.astype(float) - inside, -1.0, 1.0, 0.0, detects=0.06, label="paths within"
    )


def test_noise_of_the_batched_simulator_has_the_standard_deviation_of_a_step():
    # Rates of next to nothing: the first step is the initial state plus noise.
    model = own_model()._replace(prior_mean=-60.0)
    first = simulate_prior(model, levels.rng_for("populations/noise"), 20_000).paths[:, 0]
    assert len(first) == 20_000
    check_standard_normal((first - model.initial_state) / model.step_sd, "noise")


TINY = generator.lotka_volterra_model(
    [[3.5, 2.0], [2.5, 3.0], [2.0, 3.0], [2.0, 2.0]], initial_state=(3.0, 2.0), prior_mean=-1.0
)._replace(observations=np.array([[3.5, 2.0], [2.5, 3.0]]))


def weighted_prior_draws(n):
    """Log rates and latent states [draw, 8] of TINY in half steps, and their importance weights given its data.

    States below zero have none: half a percent of the posterior, too far from the rest for chains.
    """
    rng = levels.rng_for("populations/weights")
    log_rates = rng.normal(-1.0, 1.0, size=(n, 4))
    z1, z2, z3, z4 = np.exp(log_rates).T
    before, latent, log_weights = TINY.initial_state, [], np.zeros(n)
    for after in TINY.observations:
        prey, predators = before
        prey = prey + 0.5 * (z1 * prey - z2 * prey * predators) + math.sqrt(0.5) * rng.normal(size=n)
        predators = predators + 0.5 * (z4 * prey - z3) * predators + math.sqrt(0.5) * rng.normal(size=n)
        latent += [prey, predators]
        means = (
            prey + 0.5 * (z1 * prey - z2 * prey * predators),
            predators + 0.5 * (z4 * after[0] - z3) * predators,
        )
        log_weights -= sum((x - mean) ** 2 for x, mean in zip(after, means, strict=True))
        before = after
    log_weights[np.min(latent, axis=0) < 0.0] = -np.inf
    return np.column_stack([log_rates, *latent]), np.exp(log_weights - log_weights.max())


@pytest.mark.slow
@pytest.mark.parametrize("has_determinant", [True, False])
def test_sparse_conditioning_agrees_with_importance_sampling(has_determinant):
    """Two observations, two steps each: means and squares of log rates and latent states; sixteen scores.

    One of sixteen normal scores is beyond 4 once in a thousand. Without the determinant of the Jacobian they are far.
    """
    finer = generator.with_finer_steps(TINY, 2)
    model = sparsely_conditioned_model(finer, 2)
    if not has_determinant:
        whole = model.jacobian
        model = model._replace(jacobian=lambda u: whole(u)._replace(half_log_determinant=jnp.zeros(())))
    kernel = constrained_hmc(model, 0.4, 3, finer.n_inputs, projection=ProjectionSettings(fallback=None))

    def chain(key):
        def advance(state, i):
            state, _ = kernel.step(jax.random.fold_in(key, i), state)
            return state, jnp.append(state.position[:4] - 1.0, generator.simulate(finer, state.position)[::2])

        start = kernel.init(generator.initial_inputs(finer, key, 0.0, 0.5))
        return jax.lax.scan(advance, start, jnp.arange(300))[1][50:]

    draws = levels.draw_many(chain, "populations/sparse", 100)
    exact, weights = weighted_prior_draws(1_000_000)
    scores = []
    for power in (1, 2):
        means = (draws**power).mean(axis=1)
        weighted = weights[:, None] / weights.sum()
        expected = (weighted * exact**power).sum(axis=0)
        variance = (np.square(weighted) * np.square(exact**power - expected)).sum(axis=0)
        errors = np.sqrt(means.var(axis=0, ddof=1) / len(means) + variance)
        scores.append((means.mean(axis=0) - expected) / errors)
    largest = np.abs(scores).max()
    assert largest < 4.0 if has_determinant else largest > 6.0


# --- quantile distributions ----------------------------------------------------------------------------


def test_inputs_of_the_parameters_have_the_distribution_of_their_prior():
    """Three standard normal numbers and one logistic: with 1 / (1 + exp(-rate d)) uniform."""
    inputs = levels.draw_many(sample_parameter_inputs, "quantiles/inputs", 20_000)
    logistic = stats.logistic.cdf(LOGISTIC_RATE * inputs[:, 3])
    uniforms = np.column_stack([stats.norm.cdf(inputs[:, :3]), logistic])
    levels.assert_independent(uniforms, "inputs", detects=0.04, detects_mean=0.07)


# --- estimates and their errors ------------------------------------------------------------------------


@pytest.mark.slow
def test_standard_errors_of_log_evidence_are_those_of_repeated_experiments():
    """Thirty chains: estimates over their errors have nearly Student's distribution with 29 degrees of freedom.

    It leaves 0.018 beyond 2.5 and 0.38 within a half.
    """
    n = 10_000
    target, base = (
        part.reshape(n, 30, 40) for part in levels.rng_for("errors/log").normal(size=(2, n * 1200))
    )
    values = np.array([log_evidence(0.5 * t, 0.5 * b) for t, b in zip(target, base, strict=True)])
    errors = np.array([log_evidence_error(0.5 * t, 0.5 * b) for t, b in zip(target, base, strict=True)])
    scores = np.abs(values) / errors
    levels.assert_at_least(scores < 2.5, 0.96, detects=0.05, label="errors not too small")
    levels.assert_at_least(scores > 0.5, 0.58, detects=0.05, label="errors not too large")


def test_the_bound_of_a_wrong_approximation_is_low_by_its_divergence():
    """A standard normal distribution in the place of three others: a term is a quadratic form of normal numbers."""
    mean, sd, log_z = np.array([1.0, -2.0, 0.5]), np.array([0.5, 2.0, 1.0]), 3.0

    def log_density(x):
        log_sd = float(np.sum(np.log(sd)) + 1.5 * math.log(2.0 * math.pi))
        return log_z - 0.5 * jnp.sum(((x - jnp.asarray(mean)) / jnp.asarray(sd)) ** 2) - log_sd

    fit = MeanField(jnp.zeros(3), jnp.zeros(3))
    bound = lambda key: evidence_lower_bound(log_density, fit, key, 100)[0]
    bounds = levels.draw_many(bound, "errors/bound", 20_000, batch_size=100)
    divergence = np.sum(np.log(sd) + (1.0 + mean**2) / (2.0 * sd**2) - 0.5)
    variance = np.sum(0.5 * (1.0 - sd**-2.0) ** 2 + mean**2 / sd**4)
    standard = (bounds - (log_z - divergence)) / math.sqrt(variance / 100.0)
    levels.assert_standard_mean(standard, detects=0.06, label="bound")


# --- illustrations -------------------------------------------------------------------------------------


def test_moves_of_the_illustrations_are_draws_of_the_tempered_posterior():
    past = np.column_stack([DATA[:12], np.ones(12)])
    past[10:, -1] = 0.25
    chunk = np.zeros((20, 7))
    chunk[:2] = np.column_stack([DATA[10:12], np.full(2, 0.5)])
    power = 0.6
    mean, covariance = tempered_posterior(DATA[:12], np.append(np.ones(10), np.full(2, 0.25 + power * 0.5)))
    nothing = PastRows(jnp.zeros((1, 7)), jnp.zeros((), jnp.int32))
    target = Target(Chunk(jnp.asarray(chunk), jnp.int32(2)), jnp.asarray(power), nothing, jnp.int64(10))
    move = jax.jit(conjugate_mover(conjugate_distribution(past, chunk)))
    draws = np.asarray(move(levels.key_for("rows/conjugate"), jnp.zeros((20_000, 6)), target))
    check_normal(standardised(draws, mean, covariance), "draws")
    move = jax.jit(conjugate_mover(conjugate_distribution(past, chunk), 0.9))
    moved = np.asarray(move(levels.key_for("rows/conjugate/memory"), jnp.asarray(draws), target))
    check_normal(standardised(moved, mean, covariance), "moved")
    kept = standardised(draws, mean, covariance), standardised(moved, mean, covariance)
    np.testing.assert_allclose(np.mean(kept[0] * kept[1], axis=0), 0.9, atol=0.05)


def test_simulated_rejection_meets_the_probability_of_a_cube():
    """Numbers of accepted simulations at several tolerances, in one, two and more dimensions."""
    n = 100_000
    found = _rejection(levels.key_for("rejection/cube"), n)
    exact = found["rejection_exact_rate"].values.ravel()
    rates = found["rejection_accept_rate"].values.ravel()
    assert exact.min() * n > 20.0
    accepted = np.arange(n)[:, None] < np.round(rates * n)
    often = exact > 0.01
    levels.assert_fractions(accepted[:, often], exact[often], label="rates above one in a hundred")
    rng = levels.rng_for("rejection/order")
    for place in np.flatnonzero(~often):
        hits = rng.permutation(accepted[:, place])
        levels.assert_bounded_mean(
            hits, 0.0, 1.0, float(exact[place]), detects=0.004, label=f"rate {exact[place]:.2g}"
        )


# --- samplers of reference draws ----------------------------------------------------------------------

N_POPULATIONS, N_WALKERS = 3000, 8
PRECISION = jnp.array([[2.0, 1.2], [1.2, 1.0]])
# With this factor F of the precision, F^T x is standard normal.
FACTOR = jnp.linalg.cholesky(PRECISION)


def log_density(x):
    return -0.5 * x @ PRECISION @ x


def exact_draws(key):
    normals = jax.random.normal(key, (N_WALKERS, 2))
    return jax.scipy.linalg.solve_triangular(FACTOR.T, normals.T, lower=False).T


def populations(evolve, name):
    """First and last walkers [population, walker, dim]; `evolve` maps keys and starts to draws [draw, walker, dim]."""

    def replica(key):
        key_start, key_run = jax.random.split(key)
        starts = exact_draws(key_start)
        return starts, evolve(key_run, starts)[-1]

    return levels.draw_many(replica, f"reference/{name}", N_POPULATIONS, batch_size=100)


def check_population(starts, ends, floor):
    """Walkers are independent draws of the distribution after the moves as before; most have moved."""
    uniforms = stats.norm.cdf(ends @ np.asarray(FACTOR)).reshape(-1, 2)
    # Walkers of one half of a population against those of the other.
    halves = [levels.legendre(uniforms[:, i], 2).reshape(N_POPULATIONS, 2, -1, 2) for i in (0, 1)]
    across = np.concatenate([(part[:, 0] * part[:, 1]).reshape(-1, 2) for part in halves], axis=1)
    levels.assert_independent(uniforms, "coordinates", detects=0.04, detects_mean=0.07, n_pair=3)
    levels.assert_standard_mean(across, detects=0.08, label="two halves")
    levels.assert_at_least(np.any(starts != ends, axis=2).ravel(), floor, detects=0.04, label="movement")


def test_differential_evolution_keeps_a_correlated_normal_distribution():
    """Twelve iterations, of which the tenth takes the whole difference of two walkers."""
    evolve = lambda key, starts: differential_evolution(key, log_density, starts, 12)[0]
    check_population(*populations(evolve, "evolution"), floor=0.9)


def test_independence_metropolis_corrects_a_pilot_that_is_off():
    """The pilot has no correlation, another scale and another centre; chains start at its last draws.

    These are one in sixty, and near each other next to the rest: what they add to the fit is too little to see.
    """

    def evolve(key, starts):
        key_pilot, key_run = jax.random.split(key)
        pilot = 0.7 + 2.5 * jax.random.normal(key_pilot, (60, N_WALKERS, 2))
        return independence_metropolis(key_run, log_density, jnp.concatenate([pilot, starts[None]]), 6)[0]

    check_population(*populations(evolve, "independence"), floor=0.7)


def test_independence_metropolis_keeps_a_distribution_on_the_half_line():
    def replica(key):
        keys = jax.random.split(key, 3)
        starts = jax.random.exponential(keys[0], (1, N_WALKERS, 1))
        pilot = jnp.abs(jax.random.normal(keys[1], (60, N_WALKERS, 1))) + 0.01
        log_exponential = lambda x: jnp.where(x[0] > 0.0, -x[0], jnp.nan)
        return independence_metropolis(keys[2], log_exponential, jnp.concatenate([pilot, starts]), 6)[0][-1]

    ends = levels.draw_many(replica, "reference/half line", N_POPULATIONS, batch_size=100)
    uniforms = -np.expm1(-ends.ravel())
    levels.assert_uniform(uniforms, detects=0.04, label="half line")
    levels.assert_standard_mean(levels.legendre(uniforms), detects=0.06, label="half line, Legendre")


# --- densities and restricted Boltzmann machines ------------------------------------------------------


@pytest.mark.parametrize("n_sweeps", [1, 2])
def test_contrastive_divergence_has_its_expectation(n_sweeps):
    # From this state one and two sweeps differ most, by a fifth of a standard deviation. Standardised by the exact
    # variance: given its end, an estimate is a function of the visible state there. It is state 4 of the eight.
    rng, data = levels.rng_for(f"divergence/{n_sweeps}"), np.array([[1.0, 0.0, 0.0]])
    machine = machines.three_by_two()
    draw = lambda: machines.contrastive_divergence(machine, data, n_sweeps, rng).ravel()
    found = np.array([draw() for _ in range(10_000)])
    states = machines.layer_states(3)
    distribution = np.linalg.matrix_power(machines.visible_transition(machine), n_sweeps)[4]
    ends = (states[:, :, None] * machines.hidden_probabilities(machine, states)[:, None, :]).reshape(8, -1)
    spreads = np.sqrt(distribution @ np.square(ends) - np.square(distribution @ ends))
    expected = machines.expected_contrastive_divergence(machine, data, n_sweeps).weights.ravel()
    levels.assert_standard_mean((found - expected) / spreads, detects=0.09, label=f"{n_sweeps} sweeps")
