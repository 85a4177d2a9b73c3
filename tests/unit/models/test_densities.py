"""Every density of the registry against its formula."""

import numpy as np
import pytest

from experiments.foundations.models.densities import DENSITIES

SCALAR = [name for name in DENSITIES if name not in ("Bernoulli", "categorical") and "multi" not in name]


def formula(name, x, **p):
    """The densities as the documents print them."""
    match name:
        case "normal":
            return np.exp(-((x - p["mu"]) ** 2) / (2 * p["sigma"] ** 2)) / (np.sqrt(2 * np.pi) * p["sigma"])
        case "logistic":
            return np.cosh((x - p["mu"]) / (2 * p["sigma"])) ** -2.0 / (4 * p["sigma"])
        case "inverse cosh":
            return 1.0 / np.cosh(np.pi * (x - p["mu"]) / (2 * p["sigma"])) / (2 * p["sigma"])
        case "log-normal":
            return formula("normal", np.log(x), **p) / x
        case "exponential":
            return p["rate"] * np.exp(-p["rate"] * x)
        case "uniform":
            return np.full(x.shape, 1.0 / (p["b"] - p["a"]))
        case _:
            return 2.0 / (np.pi * p["gamma"] * (1.0 + x**2 / p["gamma"] ** 2))


@pytest.mark.parametrize("name", SCALAR)
def test_log_densities_are_the_printed_formulas(name):
    density = DENSITIES[name].example()
    x = density.ppf([0.01, 0.3, 0.5, 0.8, 0.99])
    expected = np.log(formula(name, x, **DENSITIES[name].parameters))
    np.testing.assert_allclose(density.logpdf(x), expected, rtol=1e-12, atol=1e-12)


def test_vector_log_normal_integrates_to_one_on_its_support():
    density = DENSITIES["multivariate log-normal"].example()
    side = np.linspace(-14.0, 14.0, 281)
    logs = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1)
    mass = np.exp(density.logpdf(np.exp(logs)) + logs.sum(axis=-1)) * (side[1] - side[0]) ** 2
    assert mass.sum() == pytest.approx(1.0, abs=1e-10)
    assert np.all(density.logpdf(np.array([[1.0, -1.0], [0.0, 2.0]])) == -np.inf)


@pytest.mark.parametrize(
    ("name", "states", "probabilities"),
    [("Bernoulli", [0.0, 1.0], [0.7, 0.3]), ("categorical", [1.0, 2.0, 3.0], [0.2, 0.5, 0.3])],
)
def test_distributions_of_integers(name, states, probabilities):
    np.testing.assert_allclose(DENSITIES[name].example().pmf(states), probabilities, rtol=1e-12)
