"""The regression's density, its sufficient statistics and its exact evidence, against the dense textbook forms."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from experiments.radon.exact import evidence_on_grid, exact_evidence, log_marginal, quadrature_grid
from experiments.radon.grouped import RADON_COLUMNS, RADON_FILE, GroupedData, read_grouped
from experiments.radon.model import PARAMETRISATIONS, grouped_regression

SCALE = 1.7


@functools.cache
def data():
    rng = np.random.default_rng(4)
    group = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3])
    regressors = np.column_stack([rng.normal(size=10), np.array([0.3, -1.0, 0.8, 0.1])[group]])
    outcome = 50.0 + regressors @ [0.5, -0.2] + rng.normal(size=4)[group] + 0.4 * rng.normal(size=10)
    return GroupedData(outcome - 50.0, group, ("a", "b", "c", "d"), regressors, ("x", "u"))


@functools.cache
def model(parametrisation="non_centred"):
    return grouped_regression(data(), SCALE, parametrisation)


def dense_log_density(position, parametrisation):
    """Every term as a product of textbook densities, row by row."""
    log_sigma_a, mean_a, log_sigma_b, mean_b, log_noise = position[:5]
    own_b, own_a = position[5:7], position[7:]
    sigma_a, sigma_b, noise = np.exp([log_sigma_a, log_sigma_b, log_noise])
    if parametrisation == "centred":
        b, a = own_b, own_a
        local = stats.norm(mean_b, sigma_b).logpdf(b).sum() + stats.norm(mean_a, sigma_a).logpdf(a).sum()
    else:
        b, a = mean_b + sigma_b * own_b, mean_a + sigma_a * own_a
        local = stats.norm.logpdf(position[5:]).sum()
    scales = np.array([sigma_a, sigma_b, noise])
    prior = (stats.halfcauchy(scale=SCALE).logpdf(scales) + np.log(scales)).sum()
    prior += stats.norm.logpdf([mean_a, mean_b]).sum()
    mean = a[data().group] + data().regressors @ b
    return float(local + prior + stats.norm(mean, noise).logpdf(data().outcome).sum())


@pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
def test_the_log_density_is_that_of_the_textbook_densities(parametrisation):
    rng = np.random.default_rng(1)
    for _ in range(5):
        position = 0.7 * rng.normal(size=model().dim)
        found = float(model(parametrisation).log_density(jnp.asarray(position)))
        assert found == pytest.approx(dense_log_density(position, parametrisation), rel=1e-12)


def test_a_large_common_offset_costs_no_digits():
    shifted = grouped_regression(data()._replace(outcome=data().outcome + 1e6), SCALE, "centred")
    position = jnp.zeros(model().dim)
    centred = position.at[7:].set(1.0)
    moved = centred.at[7:].add(1e6).at[1].set(1e6)
    prior_shift = 0.5e12
    difference = shifted.log_density(moved) - model("centred").log_density(centred.at[1].set(0.0))
    assert float(-difference) == pytest.approx(prior_shift, rel=1e-9)


def test_both_parametrisations_have_one_density_up_to_their_jacobian():
    rng = np.random.default_rng(2)
    standard = jnp.asarray(0.5 * rng.normal(size=model().dim))
    sigma_a, sigma_b = jnp.exp(standard[0]), jnp.exp(standard[2])
    centred = jnp.concatenate(
        [standard[:5], standard[3] + sigma_b * standard[5:7], standard[1] + sigma_a * standard[7:]]
    )
    log_jacobian = 4 * standard[0] + 2 * standard[2]
    first, second = model().log_density(standard), model("centred").log_density(centred)
    assert float(first) == pytest.approx(float(second + log_jacobian), rel=1e-12)
    np.testing.assert_allclose(model().effects(standard), model("centred").effects(centred), rtol=1e-12)


def test_effects_are_named():
    assert len(model().regressor_names) + 5 == len(model().effect_names)
    assert model().effect_names[-1] == "b[u]"


def test_the_start_is_at_the_medians_of_the_scales():
    start = np.asarray(model().start)
    np.testing.assert_allclose(start[[0, 2, 4]], np.log(SCALE))
    assert np.count_nonzero(start) == 3


def test_an_extreme_noise_gives_zero_density_not_a_number():
    position = model().start.at[4].set(-800.0)
    assert float(model().log_density(position)) == -np.inf


def test_the_log_marginal_is_a_dense_gaussian():
    for log_scales in ([-0.5, 0.2, -0.9], [-9.0, -11.0, 0.3], [1.5, 5.0, -1.5]):
        sigma_a, sigma_b, noise = np.exp(log_scales)
        intercept = np.ones((10, 10)) + sigma_a**2 * (data().group[:, None] == data().group)
        x = data().regressors
        slopes = x @ (np.ones((2, 2)) + sigma_b**2 * np.eye(2)) @ x.T
        covariance = intercept + slopes + noise**2 * np.eye(10)
        scales = np.exp(log_scales)
        prior = (stats.halfcauchy(scale=SCALE).logpdf(scales) + log_scales).sum()
        dense = stats.multivariate_normal(np.zeros(10), covariance).logpdf(data().outcome) + prior
        assert log_marginal(model(), np.array([log_scales]))[0] == pytest.approx(dense, rel=1e-9)


@pytest.mark.slow
def test_the_evidence_settles_and_does_not_depend_on_the_box():
    found = exact_evidence(model(), 1e-6)
    assert found.error < 3e-6
    wider = quadrature_grid(model(), (20, 20, 61))
    wider[:2] = [np.linspace(points[0] - 3, points[-1] + 3, 101) for points in wider[:2]]
    again = evidence_on_grid(model(), wider)
    assert found.log_evidence == pytest.approx(again.log_evidence, abs=1e-5)
    np.testing.assert_allclose(found.mean, again.mean, atol=1e-4)
    np.testing.assert_allclose(found.sd, again.sd, rtol=1e-3)


def test_the_evidence_and_the_moments_agree_with_weighted_prior_draws():
    """Importance sampling from the prior: 2e5 draws know the evidence of ten rows within a few per cent."""

    @jax.jit
    def weigh(key):
        def one(key):
            keys = jax.random.split(key, 3)
            position = jax.random.normal(keys[0], (model().dim,))
            log_scales = jnp.log(SCALE * jnp.abs(jax.random.cauchy(keys[1], (3,))))
            position = position.at[jnp.array([0, 2, 4])].set(log_scales)
            ratio = log_scales - jnp.log(SCALE)
            log_prior = -0.5 * jnp.sum(position[jnp.array([1, 3])] ** 2) - 0.5 * jnp.sum(position[5:] ** 2)
            log_prior -= 0.5 * (model().dim - 3) * jnp.log(2 * jnp.pi)
            log_prior += jnp.sum(ratio + jnp.log(2 / jnp.pi) - jax.nn.softplus(2 * ratio))
            log_weight = model().log_density(position) - log_prior
            return log_weight, model().effects(position)

        return jax.vmap(one)(jax.random.split(key, 200_000))

    log_weights, values = (np.asarray(array) for array in weigh(jax.random.key(0)))
    top = log_weights.max()
    weights = np.exp(log_weights - top)
    estimate = float(np.log(weights.mean()) + top)
    ess = weights.sum() ** 2 / np.sum(weights**2)
    exact = exact_evidence(model())
    # Six standard errors of the log of the mean weight.
    assert estimate == pytest.approx(exact.log_evidence, abs=6.0 / np.sqrt(ess))
    means = weights @ values / weights.sum()
    errors = np.sqrt((weights**2) @ (values - means) ** 2) / weights.sum()
    assert np.all(np.abs(means - exact.mean) < 6.0 * errors)


def test_the_radon_evidence_is_the_published_line():
    found = exact_evidence(grouped_regression(read_grouped(RADON_FILE, RADON_COLUMNS)))
    assert found.log_evidence == pytest.approx(-1081.02, abs=0.005)
    assert found.error < 1e-4
    assert found.mean[5:] == pytest.approx([-0.663, 0.715], abs=0.002)


def test_a_grid_that_cannot_settle_is_rejected(monkeypatch):
    monkeypatch.setattr("experiments.radon.exact._MOST_POINTS", 100_000)
    with pytest.raises(ValueError, match="take a larger tolerance"):
        exact_evidence(model(), 1e-300)
