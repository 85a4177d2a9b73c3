"""Every density of the registry against its own integral and formula, its maps to the line, and the printed page."""

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad

from experiments.foundations.models.densities import DENSITIES, density_page

ON_THE_LINE = [name for name, density in DENSITIES.items() if density.real_map]
SCALAR = [name for name in ON_THE_LINE if not name.startswith("multivariate")]
VECTOR = [name for name in ON_THE_LINE if name.startswith("multivariate")]
POINTS = np.array([-2.3, -0.4, 0.0, 0.9, 1.7])


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
    x = density.from_real(POINTS)
    example = {key: float(np.asarray(p.example)) for key, p in DENSITIES[name].parameters.items()}
    np.testing.assert_allclose(
        density.log_density(x), np.log(formula(name, x, **example)), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("name", SCALAR)
def test_densities_on_the_line_integrate_to_the_distribution_function(name):
    density = DENSITIES[name].example()
    below = quad(lambda t: np.exp(density.log_density_real(t)), -40.0, 0.3, limit=300)[0]
    above = quad(lambda t: np.exp(density.log_density_real(t)), 0.3, 40.0, limit=300)[0]
    assert below == pytest.approx(float(density.cdf(density.from_real(0.3))), abs=1e-8)
    assert below + above == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("name", ON_THE_LINE)
def test_maps_to_the_line_and_back_are_inverse(name):
    density = DENSITIES[name].example()
    t = np.stack([POINTS, POINTS[::-1]], axis=-1) if name in VECTOR else POINTS
    np.testing.assert_allclose(density.to_real(density.from_real(t)), t, atol=1e-12)


@pytest.mark.parametrize("name", VECTOR)
def test_vector_densities_integrate_to_one_on_the_plane(name):
    density = DENSITIES[name].example()
    side = np.linspace(-14.0, 14.0, 281)
    grid = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1)
    total = np.exp(density.log_density_real(grid)).sum() * (side[1] - side[0]) ** 2
    assert total == pytest.approx(1.0, abs=1e-10)
    # The distribution function at a point is the sum over the grid below it.
    corner = np.array([0.3, -0.5])
    inside = np.all(grid < corner, axis=-1)
    partial = np.exp(density.log_density_real(grid))[inside].sum() * (side[1] - side[0]) ** 2
    assert float(density.cdf(density.from_real(corner))) == pytest.approx(partial, abs=0.02)


def test_vector_log_normal_is_zero_off_its_support():
    density = DENSITIES["multivariate log-normal"].example()
    assert np.all(density.log_density([[1.0, -1.0], [0.0, 2.0]]) == -np.inf)
    assert float(density.cdf([1.0, -1.0])) == 0.0


@pytest.mark.parametrize(
    ("name", "states", "probabilities"),
    [("Bernoulli", [0.0, 1.0], [0.7, 0.3]), ("categorical", [1.0, 2.0, 3.0], [0.2, 0.5, 0.3])],
)
def test_distributions_of_integers(name, states, probabilities):
    density = DENSITIES[name].example()
    np.testing.assert_allclose(np.exp(density.log_density(states)), probabilities, rtol=1e-12)
    np.testing.assert_allclose(density.cdf(states), np.cumsum(probabilities), rtol=1e-12)
    with pytest.raises(ValueError, match="is a distribution of integers"):
        density.to_real(1.0)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("normal", {"mu": 0.0}, r"has the parameters mu, sigma, got mu"),
        ("normal", {"mu": 0.0, "sigma": 0.0}, "sigma of .* must be positive, got 0.0"),
        ("normal", {"mu": [0.0, 1.0], "sigma": 1.0}, "mu of .* must be a real number"),
        ("exponential", {"rate": np.inf}, "rate of .* must be positive, got inf"),
        ("uniform", {"a": 1.0, "b": 1.0}, "must not be empty"),
        ("Bernoulli", {"pi": 1.1}, r"must be in \[0, 1\], got 1.1"),
        ("categorical", {"pi": [0.5, 0.6]}, "must be probabilities with sum 1"),
        (
            "multivariate normal",
            {"mu": [0.0, 0.0], "Sigma": [[1.0, 2.0], [2.0, 1.0]]},
            "a symmetric positive definite matrix",
        ),
    ],
)
def test_messages(name, values, message):
    with pytest.raises(ValueError, match=message):
        DENSITIES[name].at(**values)


def test_the_page_is_the_registry():
    page = Path(__file__).parents[3] / "docs" / "densities.md"
    assert page.read_text() == density_page(), (
        "print it again: python -m experiments.foundations.models.densities"
    )
