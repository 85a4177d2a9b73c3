"""Changes of variables and the Box-Muller map, against closed forms and each other."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from experiments.foundations.sampling.transforms import (
    box_muller,
    inverse_box_muller,
    transformed_log_density,
)
from experiments.foundations.sampling.uniforms import avoiding_zero


def log_normal_distribution(u: jax.Array) -> jax.Array:
    return jnp.sum(-0.5 * u**2 - 0.5 * math.log(2.0 * math.pi))


def test_a_transformed_normal_is_lognormal() -> None:
    log_density = transformed_log_density(log_normal_distribution, jnp.log)
    x = jnp.geomspace(0.01, 30.0, 50)[:, None]
    np.testing.assert_allclose(
        jax.jit(jax.vmap(log_density))(x), stats.lognorm.logpdf(x[:, 0], 1.0), rtol=1e-12
    )


def test_a_transformed_density_integrates_to_one() -> None:
    # x = sinh(u), decreasing side included.
    log_density = transformed_log_density(log_normal_distribution, lambda x: -jnp.arcsinh(x))
    x = np.sinh(np.linspace(-9.0, 9.0, 4001))
    density = np.exp(np.asarray(jax.jit(jax.vmap(log_density))(jnp.asarray(x)[:, None])))
    assert integrate.trapezoid(density, x) == pytest.approx(1.0, abs=1e-4)


def test_the_inverse_transform_gives_the_density_back() -> None:
    there = transformed_log_density(
        log_normal_distribution, lambda x: jnp.stack([jnp.arcsinh(x[0]), x[1] - x[0] ** 2])
    )
    back = transformed_log_density(there, lambda u: jnp.stack([jnp.sinh(u[0]), u[1] + jnp.sinh(u[0]) ** 2]))
    points = jnp.asarray(np.random.default_rng(3).normal(size=(20, 2)))
    np.testing.assert_allclose(
        jax.jit(jax.vmap(back))(points), jax.vmap(log_normal_distribution)(points), rtol=1e-12
    )


def test_box_muller_at_quarter_turns() -> None:
    u = jnp.array([[math.exp(-2.0), turn] for turn in (0.0, 0.25, 0.5, 0.75)])
    np.testing.assert_allclose(box_muller(u), [[2, 0], [0, 2], [-2, 0], [0, -2]], atol=1e-15)


def test_box_muller_makes_the_normal_density_out_of_the_uniform_one() -> None:
    log_density = transformed_log_density(lambda u: jnp.zeros(()), inverse_box_muller)
    points = jnp.asarray(np.random.default_rng(4).normal(size=(50, 2)))
    np.testing.assert_allclose(
        jax.jit(jax.vmap(log_density))(points), jax.vmap(log_normal_distribution)(points), rtol=1e-11
    )


def test_the_inverse_holds_in_all_quadrants_and_stays_below_a_turn() -> None:
    line = jnp.linspace(0.02, 0.98, 25)
    u = jnp.stack(jnp.meshgrid(line, line), axis=-1)
    np.testing.assert_allclose(jax.jit(lambda v: inverse_box_muller(box_muller(v)))(u), u, atol=1e-14)
    assert float(inverse_box_muller(jnp.array([1.0, -1e-300]))[1]) == 0.0


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_precision_is_kept_and_the_largest_uniform_number_gives_a_finite_normal_one(dtype: type) -> None:
    largest = 1.0 - 0.5 * jnp.finfo(dtype).eps
    u = avoiding_zero(jnp.asarray([0.0, largest], dtype))
    numbers = jax.jit(box_muller)(jnp.stack([u, jnp.zeros(2, dtype)], axis=-1))
    assert numbers.dtype == dtype
    assert bool(jnp.all(jnp.isfinite(numbers)))
    digits = 24 if dtype == jnp.float32 else 53
    assert float(numbers[1, 0]) == pytest.approx(math.sqrt(2.0 * digits * math.log(2.0)), rel=1e-6)
