"""Distributions in closed form against SciPy, and their quantiles against their distribution functions."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from experiments.foundations.sampling import inverse_cdf
from experiments.foundations.sampling.inverse_cdf import Distribution, draw_by_inversion

DISTRIBUTIONS = {
    "normal": (inverse_cdf.normal(1.5, 0.3), stats.norm(1.5, 0.3)),
    "exponential": (inverse_cdf.exponential(2.5), stats.expon(scale=0.4)),
    "logistic": (inverse_cdf.logistic(-1.0, 0.7), stats.logistic(-1.0, 0.7)),
    "generalised logistic": (inverse_cdf.generalised_logistic(0.4), None),
}
NAMES = list(DISTRIBUTIONS)


@partial(jax.jit, static_argnames="name")
def there_and_back(name: str, u: jax.Array) -> jax.Array:
    distribution, _ = DISTRIBUTIONS[name]
    return distribution.distribution_function(distribution.quantile(u))


@pytest.mark.parametrize("name", NAMES)
def test_the_distribution_function_undoes_the_quantile(name: str) -> None:
    small = np.geomspace(1e-12, 0.5, 200)
    u = np.concatenate([small, 1.0 - small])
    np.testing.assert_allclose(there_and_back(name, u), u, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_small_probabilities_keep_their_digits(name: str) -> None:
    u = np.geomspace(1e-300, 1e-3, 400)
    assert np.max(np.abs(np.log(np.asarray(there_and_back(name, u)) / u))) < 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_the_slope_of_the_distribution_function_is_the_density(name: str) -> None:
    distribution, _ = DISTRIBUTIONS[name]

    @jax.jit
    def both(u: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = distribution.quantile(u)
        return jax.vmap(jax.grad(distribution.distribution_function))(x), jnp.exp(distribution.log_density(x))

    slope, density = both(jnp.linspace(0.02, 0.98, 25))
    np.testing.assert_allclose(slope, density, rtol=1e-10)


@pytest.mark.parametrize("name", [name for name, (_, known) in DISTRIBUTIONS.items() if known is not None])
def test_distributions_are_those_of_scipy(name: str) -> None:
    distribution, known = DISTRIBUTIONS[name]
    x = np.concatenate([[-2.0, 0.0], known.ppf(np.linspace(0.01, 0.99, 30))])
    np.testing.assert_allclose(jax.jit(distribution.log_density)(x), known.logpdf(x), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(jax.jit(distribution.distribution_function)(x), known.cdf(x), atol=1e-13)


def test_the_generalised_logistic_distribution_of_exponent_one_is_logistic() -> None:
    x = jnp.linspace(-30.0, 30.0, 61)
    one, known = inverse_cdf.generalised_logistic(1.0), inverse_cdf.logistic(0.0, 1.0)
    both = jax.jit(
        lambda x: [
            (distribution.log_density(x), distribution.distribution_function(x))
            for distribution in (one, known)
        ]
    )(x)
    np.testing.assert_allclose(both[0][0], both[1][0], rtol=1e-12)
    np.testing.assert_allclose(both[0][1], both[1][1], rtol=1e-12)


def test_draws_are_quantiles_and_repeatable() -> None:
    distribution = inverse_cdf.exponential(2.0)
    draw = jax.jit(lambda key: draw_by_inversion(key, distribution, (1000,)))
    first = draw(jax.random.key(5))
    assert first.dtype == jnp.float64
    assert bool(jnp.all(first > 0.0))
    np.testing.assert_array_equal(first, draw(jax.random.key(5)))


def test_no_uniform_number_of_the_draws_is_zero_or_one() -> None:
    seen = []
    identity = Distribution(lambda x: x, lambda x: x, lambda u: seen.append(u) or u)  # type: ignore[func-returns-value]
    draw_by_inversion(jax.random.key(6), identity, (100_000,))
    (u,) = (np.asarray(values) for values in seen)
    assert 0.0 < u.min() < 1e-3
    assert 1.0 - 1e-3 < u.max() < 1.0
    np.testing.assert_array_equal(u * 2.0**53 % 2.0, 1.0)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda bad: inverse_cdf.normal(0.0, bad), "sd"),
        (inverse_cdf.exponential, "rate"),
        (lambda bad: inverse_cdf.logistic(0.0, bad), "scale"),
        (inverse_cdf.generalised_logistic, "exponent"),
    ],
)
@pytest.mark.parametrize("bad", [0.0, -1.0, np.inf, np.nan])
def test_parameters_out_of_range_are_rejected(make, name: str, bad: float) -> None:
    with pytest.raises(ValueError, match=f"{name} must be positive and finite, got {bad}"):
        make(bad)
