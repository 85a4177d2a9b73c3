"""Mixtures on the line: density, moments, exact draws."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from experiments.tempering_illustration.model import NARROW_AND_BROAD, TWO_MODES

MIXTURES = [TWO_MODES, NARROW_AND_BROAD]
POINTS = np.linspace(-40.0, 40.0, 20_001)


@pytest.mark.parametrize("mixture", MIXTURES)
def test_density_moments_and_masses_agree_with_quadrature(mixture):
    density = np.exp(np.asarray(mixture.log_density(jnp.asarray(POINTS))))
    step = POINTS[1] - POINTS[0]
    assert step * density.sum() == pytest.approx(1.0, rel=1e-12)
    assert step * density @ POINTS == pytest.approx(mixture.mean, abs=1e-11)
    assert step * density @ (POINTS - mixture.mean) ** 2 == pytest.approx(mixture.sd**2, rel=1e-12)
    below = sum(w * stats.norm(m, s).cdf(-2.0) for w, m, s in zip(*mixture, strict=True))
    assert mixture.mass_below(-2.0) == pytest.approx(below, rel=1e-12)


def test_the_base_of_the_two_modes_is_the_published_one():
    assert TWO_MODES.mean == pytest.approx(-1.6, abs=1e-12)
    assert TWO_MODES.sd == pytest.approx(7.977468, abs=1e-6)


@pytest.mark.parametrize("mixture", MIXTURES)
def test_quantiles_of_the_noise_become_draws_with_the_mixtures_distribution(mixture):
    """Equally spaced uniforms give an empirical distribution within one part of the exact one."""
    n = 20_000
    noise = stats.norm.ppf((np.arange(n) + 0.5) / n)
    draws = np.sort(np.asarray(mixture.from_normal(jnp.asarray(noise))))
    exact = np.array([mixture.mass_below(float(x)) for x in draws[::200]])
    np.testing.assert_allclose(exact, (np.arange(n)[::200] + 0.5) / n, atol=2.0 / n)


def test_extreme_noise_gives_finite_draws():
    draws = TWO_MODES.from_normal(jnp.array([-40.0, -8.6, 8.6, 40.0]))
    assert bool(jnp.all(jnp.isfinite(draws)))
