"""Uniform floats, transforms, inverse distribution functions, roots and quadrature of the foundations."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from experiments.foundations import sampling
from experiments.foundations.numbers.sampling import bit_rows, congruential_states, smallest_period
from experiments.foundations.sampling import (
    Distribution,
    avoiding_zero,
    box_muller,
    draw_by_inversion,
    inverse_box_muller,
    product_simpson,
    simpson_rule,
    symmetric_root,
    transformed_log_density,
    uniform_from_bits,
)


def test_states_of_the_published_example():
    states = congruential_states(37, 61, 128, 37, 129)
    assert states[:8].tolist() == [37, 22, 107, 52, 65, 34, 39, 96]
    assert sorted(states[:128].tolist()) == list(range(128))
    assert states[128] == states[0]


def test_generators_side_by_side_are_those_run_alone():
    together = congruential_states([[5], [9]], [1, 3, 7], 64, 2, 20)
    assert together.shape == (20, 2, 3)
    np.testing.assert_array_equal(together[:, 1, 2], congruential_states(9, 7, 64, 2, 20))


def test_products_near_the_largest_modulus_do_not_overflow():
    m = 2**31 - 1
    assert congruential_states(m - 1, m - 1, m, m - 1, 2)[1] == ((m - 1) * (m - 1) + m - 1) % m


def test_bits_make_up_their_state():
    states = np.arange(128)
    rows = bit_rows(states, 7)
    assert set(np.unique(rows)) == {0, 1}
    np.testing.assert_array_equal(2 ** np.arange(7) @ rows, states)


@pytest.mark.parametrize(
    ("sequence", "period"),
    [([7], 1), ([1, 1, 1], 1), ([1, 2, 3], 3), ([1, 2, 1, 2, 1], 2), ([0, 0, 1, 0, 0], 3)],
)
def test_periods_of_short_sequences(sequence, period):
    assert smallest_period(sequence) == period


WIDTHS = [(jnp.float32, 32, 24), (jnp.float64, 64, 53)]


def patterns(width):
    numbers = sorted({p for k in range(width) for p in (0, 2**k - 1, 2**k, 2**width - 2**k, 2**width - 1)})
    return jnp.asarray(np.array(numbers, f"uint{width}"))


@pytest.mark.parametrize(("dtype", "width", "digits"), WIDTHS)
def test_floats_are_multiples_of_their_resolution_below_one(dtype, width, digits):
    uniforms = uniform_from_bits(patterns(width), dtype)
    assert uniforms.dtype == dtype
    values = np.asarray(uniforms, np.float64)
    assert values.min() == 0.0
    assert values.max() == 1.0 - 2.0**-digits
    assert np.all(np.diff(values) >= 0.0)
    np.testing.assert_array_equal(values * 2.0**digits % 1.0, 0.0)


@pytest.mark.parametrize(("dtype", "width", "digits"), WIDTHS)
def test_the_guard_moves_the_open_end_from_one_to_zero_without_rounding(dtype, width, digits):
    uniforms = uniform_from_bits(patterns(width), dtype)
    guarded = np.asarray(avoiding_zero(uniforms), np.float64)
    assert guarded.min() == 2.0**-digits
    assert guarded.max() == 1.0
    np.testing.assert_array_equal(guarded + np.asarray(uniforms, np.float64), 1.0)


def test_bits_of_another_width_and_other_types_are_rejected():
    with pytest.raises(ValueError, match="bits must be uint64 to make float64, got uint32"):
        uniform_from_bits(jnp.uint32(1), jnp.float64)
    with pytest.raises(ValueError, match="dtype must be float32 or float64, got int32"):
        uniform_from_bits(jnp.uint32(1), jnp.int32)


def log_normal_distribution(u):
    return jnp.sum(-0.5 * u**2 - 0.5 * math.log(2.0 * math.pi))


def test_a_transformed_normal_is_lognormal():
    log_density = transformed_log_density(log_normal_distribution, jnp.log)
    x = jnp.geomspace(0.01, 30.0, 50)[:, None]
    np.testing.assert_allclose(
        jax.jit(jax.vmap(log_density))(x), stats.lognorm.logpdf(x[:, 0], 1.0), rtol=1e-12
    )


def test_a_transformed_density_integrates_to_one():
    # x = sinh(u), decreasing side included.
    log_density = transformed_log_density(log_normal_distribution, lambda x: -jnp.arcsinh(x))
    x = np.sinh(np.linspace(-9.0, 9.0, 4001))
    density = np.exp(np.asarray(jax.jit(jax.vmap(log_density))(jnp.asarray(x)[:, None])))
    assert integrate.trapezoid(density, x) == pytest.approx(1.0, abs=1e-4)


def test_the_inverse_transform_gives_the_density_back():
    there = transformed_log_density(
        log_normal_distribution, lambda x: jnp.stack([jnp.arcsinh(x[0]), x[1] - x[0] ** 2])
    )
    back = transformed_log_density(there, lambda u: jnp.stack([jnp.sinh(u[0]), u[1] + jnp.sinh(u[0]) ** 2]))
    points = jnp.asarray(np.random.default_rng(3).normal(size=(20, 2)))
    np.testing.assert_allclose(
        jax.jit(jax.vmap(back))(points), jax.vmap(log_normal_distribution)(points), rtol=1e-12
    )


def test_box_muller_at_quarter_turns():
    u = jnp.array([[math.exp(-2.0), turn] for turn in (0.0, 0.25, 0.5, 0.75)])
    np.testing.assert_allclose(box_muller(u), [[2, 0], [0, 2], [-2, 0], [0, -2]], atol=1e-15)


def test_box_muller_makes_the_normal_density_out_of_the_uniform_one():
    log_density = transformed_log_density(lambda u: jnp.zeros(()), inverse_box_muller)
    points = jnp.asarray(np.random.default_rng(4).normal(size=(50, 2)))
    np.testing.assert_allclose(
        jax.jit(jax.vmap(log_density))(points), jax.vmap(log_normal_distribution)(points), rtol=1e-11
    )


def test_the_inverse_holds_in_all_quadrants_and_stays_below_a_turn():
    line = jnp.linspace(0.02, 0.98, 25)
    u = jnp.stack(jnp.meshgrid(line, line), axis=-1)
    np.testing.assert_allclose(jax.jit(lambda v: inverse_box_muller(box_muller(v)))(u), u, atol=1e-14)
    assert float(inverse_box_muller(jnp.array([1.0, -1e-300]))[1]) == 0.0


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_precision_is_kept_and_the_largest_uniform_number_gives_a_finite_normal_one(dtype):
    largest = 1.0 - 0.5 * jnp.finfo(dtype).eps
    u = avoiding_zero(jnp.asarray([0.0, largest], dtype))
    numbers = jax.jit(box_muller)(jnp.stack([u, jnp.zeros(2, dtype)], axis=-1))
    assert numbers.dtype == dtype
    assert bool(jnp.all(jnp.isfinite(numbers)))
    digits = 24 if dtype == jnp.float32 else 53
    assert float(numbers[1, 0]) == pytest.approx(math.sqrt(2.0 * digits * math.log(2.0)), rel=1e-6)


DISTRIBUTIONS = {
    "normal": (sampling.normal(1.5, 0.3), stats.norm(1.5, 0.3)),
    "exponential": (sampling.exponential(2.5), stats.expon(scale=0.4)),
    "generalised logistic": (sampling.generalised_logistic(0.4), None),
}
NAMES = list(DISTRIBUTIONS)


@partial(jax.jit, static_argnames="name")
def there_and_back(name, u):
    distribution, _ = DISTRIBUTIONS[name]
    return distribution.distribution_function(distribution.quantile(u))


@pytest.mark.parametrize("name", NAMES)
def test_the_distribution_function_undoes_the_quantile(name):
    small = np.geomspace(1e-12, 0.5, 200)
    u = np.concatenate([small, 1.0 - small])
    np.testing.assert_allclose(there_and_back(name, u), u, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_small_probabilities_keep_their_digits(name):
    u = np.geomspace(1e-300, 1e-3, 400)
    assert np.max(np.abs(np.log(np.asarray(there_and_back(name, u)) / u))) < 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_the_slope_of_the_distribution_function_is_the_density(name):
    distribution, _ = DISTRIBUTIONS[name]

    @jax.jit
    def both(u):
        x = distribution.quantile(u)
        return jax.vmap(jax.grad(distribution.distribution_function))(x), jnp.exp(distribution.log_density(x))

    slope, density = both(jnp.linspace(0.02, 0.98, 25))
    np.testing.assert_allclose(slope, density, rtol=1e-10)


@pytest.mark.parametrize("name", [name for name, (_, known) in DISTRIBUTIONS.items() if known is not None])
def test_distributions_are_those_of_scipy(name):
    distribution, known = DISTRIBUTIONS[name]
    x = np.concatenate([[-2.0, 0.0], known.ppf(np.linspace(0.01, 0.99, 30))])
    np.testing.assert_allclose(jax.jit(distribution.log_density)(x), known.logpdf(x), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(jax.jit(distribution.distribution_function)(x), known.cdf(x), atol=1e-13)


def test_the_generalised_logistic_distribution_of_exponent_one_is_logistic():
    x = np.linspace(-30.0, 30.0, 61)
    one = sampling.generalised_logistic(1.0)
    np.testing.assert_allclose(one.log_density(x), stats.logistic.logpdf(x), rtol=1e-12)
    np.testing.assert_allclose(one.distribution_function(x), stats.logistic.cdf(x), rtol=1e-12)


def test_draws_are_quantiles_and_repeatable():
    distribution = sampling.exponential(2.0)
    draw = jax.jit(lambda key: draw_by_inversion(key, distribution, (1000,)))
    first = draw(jax.random.key(5))
    assert first.dtype == jnp.float64
    assert bool(jnp.all(first > 0.0))
    np.testing.assert_array_equal(first, draw(jax.random.key(5)))


def test_no_uniform_number_of_the_draws_is_zero_or_one():
    seen = []
    identity = Distribution(lambda x: x, lambda x: x, lambda u: seen.append(u) or u)
    draw_by_inversion(jax.random.key(6), identity, (100_000,))
    (u,) = (np.asarray(values) for values in seen)
    assert 0.0 < u.min() < 1e-3
    assert 1.0 - 1e-3 < u.max() < 1.0
    np.testing.assert_array_equal(u * 2.0**53 % 2.0, 1.0)


def test_the_root_is_symmetric_and_its_square_the_covariance():
    half = np.random.default_rng(8).normal(size=(4, 4))
    covariance = half @ half.T + 0.1 * np.eye(4)
    root = symmetric_root(covariance)
    np.testing.assert_allclose(root @ root, covariance, atol=1e-13)
    np.testing.assert_allclose(root, root.T, atol=1e-14)


@pytest.mark.parametrize("n_panels", [1, 2, 5])
def test_polynomials_up_to_degree_three_are_integrated_exactly(n_panels):
    points, weights = simpson_rule(n_panels)
    for degree in range(4):
        assert weights @ points**degree == pytest.approx(1.0 / (degree + 1), rel=1e-13)
    assert abs(weights @ points**4 - 0.2) > 1e-6


def test_the_rule_is_that_of_scipy():
    points, weights = simpson_rule(7)
    assert weights @ np.exp(points) == pytest.approx(integrate.simpson(np.exp(points), x=points), rel=1e-13)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_a_product_of_functions_is_the_product_of_their_integrals(dim, monkeypatch):
    points, weights = simpson_rule(4)
    expected = (weights @ np.exp(points)) ** dim
    whole = product_simpson(lambda x: np.exp(x.sum(axis=1)), 4, dim)
    assert whole == pytest.approx(expected, rel=1e-12)
    assert whole == pytest.approx((math.e - 1.0) ** dim, rel=1e-4)
    monkeypatch.setattr(sampling, "_CHUNK", 5)
    assert product_simpson(lambda x: np.exp(x.sum(axis=1)), 4, dim) == pytest.approx(whole, rel=1e-12)


def test_each_axis_of_the_grid_is_a_dimension():
    assert product_simpson(lambda x: x[:, 0] + 10.0 * x[:, 2] ** 2, 2, 3) == pytest.approx(0.5 + 10.0 / 3.0)
