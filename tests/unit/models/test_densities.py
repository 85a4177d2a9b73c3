"""Every density of the registry against its formula, and the printed page."""

import numpy as np
import pytest

from experiments.foundations.models.densities import DENSITIES, density_page

SCALAR = [
    name
    for name, density in DENSITIES.items()
    if density.to_real != "-" and not name.startswith("multivariate")
]


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
    example = {key: p.example for key, p in DENSITIES[name].parameters.items()}
    np.testing.assert_allclose(density.logpdf(x), np.log(formula(name, x, **example)), rtol=1e-12, atol=1e-12)


def test_vector_log_normal_integrates_to_its_distribution_function():
    density = DENSITIES["multivariate log-normal"].example()
    side = np.linspace(-14.0, 14.0, 281)
    logs = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1)
    mass = np.exp(density.logpdf(np.exp(logs)) + logs.sum(axis=-1)) * (side[1] - side[0]) ** 2
    assert mass.sum() == pytest.approx(1.0, abs=1e-10)
    # The distribution function at a point is the sum over the grid below it.
    corner = np.array([0.3, -0.5])
    below = mass[np.all(logs < corner, axis=-1)].sum()
    assert float(density.cdf(np.exp(corner))) == pytest.approx(below, abs=0.02)


def test_vector_log_normal_is_zero_off_its_support():
    density = DENSITIES["multivariate log-normal"].example()
    assert np.all(density.logpdf(np.array([[1.0, -1.0], [0.0, 2.0]])) == -np.inf)
    assert float(density.cdf(np.array([1.0, -1.0]))) == 0.0


@pytest.mark.parametrize(
    ("name", "states", "probabilities"),
    [("Bernoulli", [0.0, 1.0], [0.7, 0.3]), ("categorical", [1.0, 2.0, 3.0], [0.2, 0.5, 0.3])],
)
def test_distributions_of_integers(name, states, probabilities):
    np.testing.assert_allclose(DENSITIES[name].example().pmf(states), probabilities, rtol=1e-12)


def test_the_page_has_a_row_for_each_density():
    rows = [line.replace("\\|", "") for line in density_page().splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows[2:]] == list(DENSITIES)
    assert len({row.count("|") for row in rows}) == 1
