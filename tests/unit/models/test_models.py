"""Bridges, densities and maps of inputs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from auxmc.models.bridge import bridge, gaussian_base
from auxmc.models.input_maps import INPUT_MAPS, INPUTS
from experiments.foundations.models.densities import DENSITIES, density_page

MEAN = jnp.array([0.3, -1.0])
FACTOR = jnp.array([[1.5, 0.0], [0.4, 0.7]])


def target(x):
    return jnp.sum(x**2 - 0.25 * x**4) - 0.3 * x[0] * x[1]


@pytest.mark.parametrize("scale", [FACTOR, jnp.array([1.5, 0.7])])
def test_density_and_draws_of_a_base_are_those_of_the_normal_distribution(scale):
    base = gaussian_base(MEAN, scale)
    covariance = scale @ scale.T if scale.ndim == 2 else jnp.diag(scale**2)
    x = jnp.array([0.9, 2.0])
    expected = stats.multivariate_normal(MEAN, covariance).logpdf(x)
    assert float(base.log_density(x)) == pytest.approx(float(expected), rel=1e-13)
    # A draw is linear in its noise.
    np.testing.assert_allclose(base.draw(jnp.zeros(2)), MEAN)
    jacobian = jax.jacobian(base.draw)(jnp.zeros(2))
    np.testing.assert_allclose(jacobian @ jacobian.T, covariance, rtol=1e-14)


def test_log_zeta_is_beside_the_log_densities_not_in_them():
    base = gaussian_base(MEAN, FACTOR)
    x = jnp.array([0.9, 2.0])
    plain, scaled = bridge(target, base), bridge(target, base, 2.5)
    assert (plain.log_zeta, scaled.log_zeta) == (0.0, 2.5)
    assert float(scaled.log_densities(x)[0]) == float(plain.log_densities(x)[0]) == float(target(x))
    assert float(scaled.log_densities(x)[1]) == float(plain.log_densities(x)[1]) == float(base.log_density(x))
    assert plain.dim == 2


def test_automatic_gradients_agree_with_finite_differences():
    joined = bridge(target, gaussian_base(MEAN, FACTOR), 1.0)
    x, h = jnp.array([0.9, -0.4]), 1e-6
    values, gradients = joined.log_densities_and_gradients(x)
    np.testing.assert_allclose(values, joined.log_densities(x), rtol=1e-15)
    for i in range(2):
        step = h * jnp.eye(2)[i]
        above, below = joined.log_densities(x + step), joined.log_densities(x - step)
        for k in range(2):
            assert float(gradients[k][i]) == pytest.approx(float(above[k] - below[k]) / (2 * h), abs=1e-8)


def _normal(x, mu, sigma):
    return np.exp(-((x - mu) ** 2) / (2 * sigma**2)) / (np.sqrt(2 * np.pi) * sigma)


# The densities as the documents print them.
FORMULAS = {
    "normal": _normal,
    "logistic": lambda x, mu, sigma: np.cosh((x - mu) / (2 * sigma)) ** -2.0 / (4 * sigma),
    "inverse cosh": lambda x, mu, sigma: 1.0 / np.cosh(np.pi * (x - mu) / (2 * sigma)) / (2 * sigma),
    "log-normal": lambda x, mu, sigma: _normal(np.log(x), mu, sigma) / x,
    "exponential": lambda x, rate: rate * np.exp(-rate * x),
    "uniform": lambda x, a, b: np.full(x.shape, 1.0 / (b - a)),
    "half-Cauchy": lambda x, gamma: 2.0 / (np.pi * gamma * (1.0 + x**2 / gamma**2)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_log_densities_are_the_printed_formulas(name):
    density = DENSITIES[name].example()
    x = density.ppf([0.01, 0.3, 0.5, 0.8, 0.99])
    example = {key: p.example for key, p in DENSITIES[name].parameters.items()}
    printed = np.log(FORMULAS[name](x, **example))
    np.testing.assert_allclose(density.logpdf(x), printed, rtol=1e-12, atol=1e-12)


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
    # Off its support it is zero.
    assert np.all(density.logpdf(np.array([[1.0, -1.0], [0.0, 2.0]])) == -np.inf)
    assert float(density.cdf(np.array([1.0, -1.0]))) == 0.0


def test_distributions_of_integers():
    np.testing.assert_allclose(DENSITIES["Bernoulli"].example().pmf([0.0, 1.0]), [0.7, 0.3], rtol=1e-12)
    found = DENSITIES["categorical"].example().pmf([1.0, 2.0, 3.0])
    np.testing.assert_allclose(found, [0.2, 0.5, 0.3], rtol=1e-12)


def test_every_density_on_the_line_has_a_formula_here_and_every_one_a_row_of_the_page():
    on_line = [name for name, density in DENSITIES.items() if density.to_real != "-"]
    assert [name for name in on_line if not name.startswith("multivariate")] == list(FORMULAS)
    rows = [line.replace("\\|", "") for line in density_page().splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows[2:]] == list(DENSITIES)
    assert len({row.count("|") for row in rows}) == 1


# Equal steps converge faster than any power for densities that vanish at the ends.
GRID = np.linspace(-60.0, 60.0, 4801)
STEP = GRID[1] - GRID[0]
POINTS = np.linspace(-7.0, 7.0, 57)


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_inputs_have_total_one_and_unit_variance_and_log_densities_that_stay_finite_far_out(name):
    density = np.exp(np.asarray(INPUTS[name].log_density(GRID)))
    assert density.sum() * STEP == pytest.approx(1.0, abs=1e-13)
    assert (GRID * density).sum() * STEP == pytest.approx(0.0, abs=1e-13)
    assert (GRID**2 * density).sum() * STEP == pytest.approx(1.0, abs=1e-12)
    assert np.all(np.isfinite(INPUTS[name].log_density(np.array([-1e4, 1e4]))))


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_distribution_functions_have_the_densities_as_slopes(name):
    slopes = jax.vmap(jax.grad(INPUTS[name].cdf))(POINTS)
    np.testing.assert_allclose(slopes, np.exp(INPUTS[name].log_density(POINTS)), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("name", sorted(INPUT_MAPS))
def test_values_have_the_distribution_of_the_registry(name):
    mapped, family = INPUT_MAPS[name], DENSITIES[name]
    values = [float(np.asarray(p.example)) for p in family.parameters.values()]
    found = family.example().cdf(np.asarray(mapped.forward(POINTS, *values)))
    of_input = np.asarray(INPUTS[mapped.source].cdf(POINTS))
    np.testing.assert_allclose(found, 1.0 - of_input if name == "uniform" else of_input, atol=2e-15)
