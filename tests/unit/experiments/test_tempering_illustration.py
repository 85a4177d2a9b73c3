"""The tempering illustrations: mixtures on the line, tiny real runs, exact parts in full."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from experiments.tempering_illustration import exact
from experiments.tempering_illustration.exact import ExactPath
from experiments.tempering_illustration.kernel_checks import trajectory_errors, truncated_exponential
from experiments.tempering_illustration.ladder import crossing_times, geometric_sums, index_operations
from experiments.tempering_illustration.model import NARROW_AND_BROAD, TWO_MODES


def test_crossings_are_counted_from_end_to_end():
    indices = np.array([1, 0, 1, 2, 3, 3, 2, 3, 1, 0, 0, 1, 2])
    assert crossing_times(indices, 3) == (10, 2)
    assert crossing_times(np.array([1, 2, 1]), 3) == (0, 0)


def test_the_printed_sum_is_right_only_in_the_limit_of_small_ratios():
    assert geometric_sums(0.5, 2) == (1.75, 1.5, 1.75)
    assert geometric_sums(1e-9, 1)[0] == pytest.approx(geometric_sums(1e-9, 1)[1])
    assert geometric_sums(1.5, 7)[0] == pytest.approx(geometric_sums(1.5, 7)[2])


def test_the_closed_form_of_an_index_has_the_same_cost_on_any_ladder():
    closed, listed = index_operations()
    assert closed[0] == closed[1] < listed[0]
    assert listed[1] / listed[0] == pytest.approx(100.0, rel=0.1)


def test_modes_and_barriers():
    x = np.linspace(-10.0, 10.0, 401)
    assert exact.count_modes(np.exp(-0.5 * x**2)) == 1
    assert exact.count_modes(np.exp(-0.5 * (x - 4.0) ** 2) + np.exp(-0.5 * (x + 4.0) ** 2)) == 2
    heights = exact.barrier_heights(exact.known_path())
    assert heights[0] < heights[1] < heights[2]
    assert heights[2] > 10.0


def test_identities_hold_to_rounding():
    identities = exact.weight_identities()
    # Two quadratures of exponentials of up to 600 agree to the rounding of such an exponent.
    assert identities.pop("integral") < 600.0 * 1e-15
    assert max(identities.values()) < 1e-14
    found = exact.path_statistics()
    assert float(found["slope_error"].max()) < 0.01
    assert float(found["end_error"]) < 1e-10


def test_a_wrong_weight_shows_in_the_mean_weights(monkeypatch):
    for name in ("_log_base_weight", "_log_target_weight"):
        right = getattr(exact, name)
        monkeypatch.setattr(exact, name, lambda delta, right=right: right(delta) + 0.1 * np.tanh(delta))
    assert exact._gaussian_evidence_error() > 0.01


def test_the_distribution_of_the_temperature_is_that_of_its_density():
    b = np.linspace(0.0, 1.0, 2001)
    for delta in (-30.0, -0.5, 0.0, 1e-13, 0.5, 30.0):
        total = integrate.cumulative_trapezoid(np.exp(-delta * b - max(0.0, -delta)), initial=0.0)
        np.testing.assert_allclose(truncated_exponential(b, delta), total / total[-1], atol=2e-5)


def test_steps_keep_what_they_must():
    returned, volume, order = trajectory_errors()
    assert returned < 1e-12
    assert volume < 1e-10
    assert order == pytest.approx(2.0, abs=0.05)


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
    assert np.isfinite(TWO_MODES.from_normal(jnp.array([-40.0, -8.6, 8.6, 40.0]))).all()


PATH_POINTS = np.linspace(-40.0, 40.0, 8001)
MEAN, SD, LOG_ZETA = 1.0, 0.7, 0.4


def gaussian_path():
    """Unnormalised N(1, 0.7^2) and the standard normal base."""
    target = -0.5 * ((PATH_POINTS - MEAN) / SD) ** 2 - LOG_ZETA
    return ExactPath(PATH_POINTS, target, -0.5 * PATH_POINTS**2 - 0.5 * np.log(2.0 * np.pi))


def test_normalisers_and_divergences_have_their_closed_forms():
    path, b = gaussian_path(), np.linspace(0.0, 1.0, 11)
    precision = b / SD**2 + 1.0 - b
    constant = -b * (0.5 * MEAN**2 / SD**2 + LOG_ZETA) - (1.0 - b) * 0.5 * np.log(2.0 * np.pi)
    log_integral = 0.5 * (b * MEAN / SD**2) ** 2 / precision + 0.5 * np.log(2.0 * np.pi / precision)
    np.testing.assert_allclose(path.log_normaliser(b), constant + log_integral, atol=1e-12)
    assert path.log_ratio == pytest.approx(np.log(SD * np.sqrt(2.0 * np.pi)) - LOG_ZETA, abs=1e-12)
    forward = np.log(1.0 / SD) + 0.5 * (SD**2 + MEAN**2) - 0.5
    backward = np.log(SD) + 0.5 * (1.0 + MEAN**2) / SD**2 - 0.5
    assert path.divergence_target_base() == pytest.approx(forward, abs=1e-12)
    assert path.divergence_base_target() == pytest.approx(backward, abs=1e-12)


def test_the_marginal_is_normalised_and_weights_give_the_ratio():
    path = gaussian_path()
    assert path.probability_hot(1.0) == pytest.approx(1.0, abs=1e-12)
    assert 0.0 < path.probability_hot(0.5) < 1.0
    base_end, target_end = path.log_mean_weights()
    assert base_end == pytest.approx(-path.log_constant(), abs=1e-12)
    assert target_end - base_end == pytest.approx(path.log_ratio, abs=1e-12)
