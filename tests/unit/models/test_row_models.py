"""Likelihoods, priors and gradients of the models of rows, against independent forms of them."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

from auxmc.models.mixtures.gaussian_mixture import MEAN_COORDINATES, WEIGHT_COORDINATES, gaussian_mixture
from auxmc.models.regression.linear_regression import PrefixEvidence, extend_evidence, linear_regression
from auxmc.models.regression.softmax_regression import softmax_regression
from auxmc.models.row_model import row_model

GENERATOR = np.random.default_rng(11)
CONTINUOUS = GENERATOR.normal(size=(12, 3))
LABELLED = np.column_stack([GENERATOR.normal(size=(12, 2)), GENERATOR.integers(0, 3, 12)])

MODELS = {
    "linear": (linear_regression(2, 0.7), CONTINUOUS),
    "softmax": (softmax_regression(2, 3), LABELLED),
    **{
        f"mixture {weights} {means}": (
            gaussian_mixture(3, 3, weight_coordinates=weights, mean_coordinates=means),
            CONTINUOUS,
        )
        for weights, means in itertools.product(WEIGHT_COORDINATES, MEAN_COORDINATES)
    },
}


@pytest.mark.parametrize("name", MODELS)
def test_weighted_gradients_are_those_of_the_likelihood(name):
    model, rows = MODELS[name]
    parameters = model.draw_prior(jax.random.key(3))
    assert parameters.shape == (model.dim,)
    weights = jnp.asarray(np.random.default_rng(4).uniform(0.0, 3.0, len(rows)))
    automatic = row_model(model.dim, model.n_columns, model.log_likelihood, model.log_prior, model.draw_prior)
    np.testing.assert_allclose(
        model.weighted_gradient(parameters, jnp.asarray(rows), weights),
        automatic.weighted_gradient(parameters, jnp.asarray(rows), weights),
        rtol=1e-9,
        atol=1e-9,
    )


def test_likelihoods_of_regressions_are_normal_and_the_fraction_of_the_class():
    model, rows = MODELS["linear"]
    found = model.log_likelihood(jnp.array([0.3, -0.4, 0.2]), jnp.asarray(rows))
    expected = stats.norm.logpdf(rows[:, 2], rows[:, 0] * 0.3 - rows[:, 1] * 0.4 + 0.2, 0.7)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    model, rows = MODELS["softmax"]
    parameters = np.arange(9.0) / 10.0
    coefficients = parameters.reshape(3, 3)
    fractions = softmax(rows[:, :2] @ coefficients[:, :2].T + coefficients[:, 2], axis=1)
    expected = np.log(fractions[np.arange(12), rows[:, 2].astype(int)])
    found = model.log_likelihood(jnp.asarray(parameters), jnp.asarray(rows))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("mixture")])
def test_mixture_likelihood_is_that_of_its_natural_parameters(name):
    model, rows = MODELS[name]
    parameters = model.draw_prior(jax.random.key(5))
    natural = {key: np.asarray(value) for key, value in model.natural(parameters).items()}
    assert natural["weights"].sum() == pytest.approx(1.0)
    density = sum(
        w * np.prod(stats.norm.pdf(rows, m, np.sqrt(v)), axis=1)
        for w, m, v in zip(natural["weights"], natural["means"], natural["variances"], strict=True)
    )
    found = model.log_likelihood(parameters, jnp.asarray(rows))
    np.testing.assert_allclose(found, np.log(density), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("coordinates", WEIGHT_COORDINATES)
def test_priors_of_the_weights_are_normalised(coordinates):
    """Two components: the prior of the one or two coordinates integrates to 1, all else fixed at its own density."""
    model = gaussian_mixture(2, 1, weight_coordinates=coordinates)
    tail = jnp.array([0.2, -0.4, 0.1, 0.3])
    others = float(
        sum(
            stats.invgamma.logpdf(np.exp(r), 1.0) + r + stats.norm.logpdf(m, 0.0, 2.0 * np.exp(0.5 * r))
            for m, r in ((0.2, 0.1), (-0.4, 0.3))
        )
    )
    grid = np.linspace(-40.0, 40.0, 4001) if coordinates != "log_gamma" else np.linspace(-30.0, 6.0, 721)
    n = 1 if coordinates != "log_gamma" else 2
    points = jnp.asarray(np.stack(np.meshgrid(*[grid] * n, indexing="ij"), axis=-1).reshape(-1, n))
    values = jax.jit(jax.vmap(lambda u: model.log_prior(jnp.concatenate([u, tail]))))(points)
    total = np.exp(np.asarray(values) - others).sum() * (grid[1] - grid[0]) ** n
    assert total == pytest.approx(1.0, abs=1e-6)


def test_exact_evidence_is_the_density_of_all_responses():
    rows = GENERATOR.normal(size=(40, 4))
    evidence = PrefixEvidence.empty(3)
    for block in np.split(rows, [7, 8, 25]):
        evidence = extend_evidence(evidence, block, 0.6)
    design = np.column_stack([rows[:, :3], np.ones(40)])
    covariance = 0.36 * np.eye(40) + design @ design.T
    expected = stats.multivariate_normal.logpdf(rows[:, 3], np.zeros(40), covariance)
    assert evidence.n_rows == 40
    assert evidence.log_evidence(0.6) == pytest.approx(expected, rel=1e-11)
    with pytest.raises(ValueError, match=r"rows must be \[row, 4\], got \[2, 3\]"):
        extend_evidence(evidence, rows[:2, :3], 0.6)


def test_exact_evidence_keeps_its_digits_at_small_noise():
    """The sum of one-step predictive densities needs no factorisation of all rows."""
    noise = 1e-4
    x = GENERATOR.normal(size=(300, 2))
    rows = np.column_stack([x, x @ [0.5, -1.0] + 0.3 + noise * GENERATOR.normal(size=300)])
    found = extend_evidence(PrefixEvidence.empty(2), rows, noise).log_evidence(noise)
    root, mean, total = np.eye(3), np.zeros(3), 0.0
    for row in rows:
        a = np.array([*row[:2], 1.0])
        f = root.T @ a
        v = f @ f + noise**2
        e = row[2] - a @ mean
        total -= 0.5 * (math.log(2.0 * math.pi * v) + e**2 / v)
        mean = mean + root @ f * e / v
        root = root - np.outer(root @ f, f) / (v + noise * math.sqrt(v))
    assert found == pytest.approx(total, rel=1e-9)
