"""Tests of the random numbers against the distribution functions of SciPy."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from auxmc.numerics import random

N_DRAWS = 100_000
# Dvoretzky-Kiefer-Wolfowitz bound: a correct generator is further away with probability 2e-7 only; a shift of a
# normal law by 0.023 standard deviations or a wrong scale by 4 % is detected.
DKW = math.sqrt(math.log(2.0 / 2e-7) / (2.0 * N_DRAWS))
SIGMAS = 5.2


def _distance(values, law):
    ordered = law.cdf(np.sort(np.asarray(values)))
    grid = np.arange(1, len(ordered) + 1) / len(ordered)
    return max(np.max(grid - ordered), np.max(ordered - grid + 1.0 / len(ordered)))


@pytest.mark.parametrize("shape", [(), (1,), (7,), (10,), (3, 5), (2, 10, 10)])
def test_normal_numbers_have_the_shape_asked_for(shape):
    values = random.standard_normal(jax.random.key(1), shape)
    assert values.shape == shape
    assert values.dtype == jnp.float64


def test_normal_numbers_follow_the_normal_law():
    values = np.asarray(random.standard_normal(jax.random.key(2), (N_DRAWS,)))
    assert _distance(values, stats.norm) < DKW
    for power, moment in ((1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)):
        error = np.std(values**power) / math.sqrt(N_DRAWS)
        assert abs(np.mean(values**power) - moment) < SIGMAS * error


def test_the_distance_detects_a_scale_that_is_wrong_by_four_percent():
    values = 1.04 * random.standard_normal(jax.random.key(2), (N_DRAWS,))
    assert _distance(values, stats.norm) > DKW


def test_every_place_of_a_small_draw_is_normal_and_unrelated_to_the_others():
    keys = jax.random.split(jax.random.key(3), N_DRAWS // 10)
    values = np.asarray(jax.vmap(lambda key: random.standard_normal(key, (10,)))(keys))
    bound = DKW * math.sqrt(10.0)
    assert all(_distance(values[:, place], stats.norm) < bound for place in range(10))
    # The two numbers of a pair share their radius: only the right angle makes their sizes independent.
    for numbers in (values, values**2):
        correlation = np.corrcoef(numbers, rowvar=False) - np.eye(10)
        assert np.max(np.abs(correlation)) < 6.0 / math.sqrt(len(values))


def test_the_tail_beyond_four_standard_deviations_has_the_right_probability():
    keys = jax.random.split(jax.random.key(4), 20)
    beyond = sum(int(jnp.sum(jnp.abs(random.standard_normal(key, (N_DRAWS,))) > 4.0)) for key in keys)
    expected = 20 * N_DRAWS * 2.0 * stats.norm.sf(4.0)  # 127
    assert abs(beyond - expected) < SIGMAS * math.sqrt(expected)


def test_the_extreme_bit_patterns_give_finite_numbers():
    bits = jnp.array([0, 2**64 - 1, 2**62 - 1, 2**62, 2**63, 2**63 - 1], jnp.uint64)
    uniform = np.asarray(random._unit_interval(bits))
    assert uniform.min() == 2.0**-53
    assert uniform.max() == 1.0 - 2.0**-53
    assert math.sqrt(-2.0 * math.log(uniform.min())) < 8.58
    assert np.all(np.isfinite(np.stack(random._circle_point(bits))))


def test_points_of_the_circle_are_cosine_and_sine_of_their_angle():
    bits = jax.random.bits(jax.random.key(5), (10_000,), jnp.uint64)
    # Whole numbers above 2^53 are rounded on the way, so that the angle is only known to 1e-15.
    angle = np.asarray(bits).astype(np.float64) * (2.0 * np.pi / 2.0**64) - np.pi / 4.0
    cosine, sine = random._circle_point(bits)
    np.testing.assert_allclose(cosine, np.cos(angle), rtol=0.0, atol=3e-15)
    np.testing.assert_allclose(sine, np.sin(angle), rtol=0.0, atol=3e-15)
    np.testing.assert_allclose(jnp.square(cosine) + jnp.square(sine), 1.0, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 89])
def test_chi_square_numbers_follow_their_law(degrees):
    values = np.asarray(random.chi_square(jax.random.key(degrees), degrees, (N_DRAWS,)))
    assert _distance(values, stats.chi2(degrees)) < DKW
    assert abs(values.mean() - degrees) < SIGMAS * math.sqrt(2.0 * degrees / N_DRAWS)


def test_one_degree_of_freedom_too_many_is_detected():
    values = random.chi_square(jax.random.key(89), 89, (N_DRAWS,))
    assert _distance(values, stats.chi2(90)) > DKW


@pytest.mark.parametrize(
    "draw", [random.standard_normal, lambda key, shape: random.chi_square(key, 2, shape)]
)
def test_draws_side_by_side_equal_single_draws(draw):
    keys = jax.random.split(jax.random.key(6), 50)
    together = jax.jit(jax.vmap(lambda key: draw(key, (3, 4))))(keys)
    draw_one = jax.jit(lambda key: draw(key, (3, 4)))
    single = jnp.stack([draw_one(key) for key in keys])
    np.testing.assert_allclose(together, single, rtol=1e-12)


@pytest.mark.parametrize("degrees", [0, -1, 2.5, True])
def test_chi_square_refuses_impossible_degrees(degrees):
    with pytest.raises(ValueError, match="degrees must be a positive whole number"):
        random.chi_square(jax.random.key(0), degrees, (1,))


def test_single_precision_is_refused():
    with jax.enable_x64(False):
        for draw in (random.standard_normal, lambda key, shape: random.chi_square(key, 3, shape)):
            with pytest.raises(RuntimeError, match="jax_enable_x64"):
                draw(jax.random.key(0), (2,))


@pytest.mark.parametrize("n_rows", [7, 500, 100_003])
def test_row_numbers_are_uniform_and_neighbours_unrelated(n_rows):
    drawn = np.asarray(random.row_numbers(jax.random.key(5), (400, 500), jnp.int32(n_rows))).ravel()
    assert drawn.min() == 0 or n_rows > 1000
    assert 0 <= drawn.min() <= drawn.max() < n_rows
    cells = np.minimum(n_rows, 50)
    firsts = drawn * cells // n_rows
    # Cells of whole row numbers: their probabilities are exact.
    expected = np.bincount(np.arange(n_rows) * cells // n_rows, minlength=cells) / n_rows
    counts = np.bincount(firsts, minlength=cells)
    assert stats.chisquare(counts, expected * len(drawn)).pvalue > 2e-7
    for lag in (1, 2, 500):
        pairs = firsts[:-lag] * cells + firsts[lag:]
        both = np.bincount(pairs, minlength=cells**2)
        law = np.outer(expected, expected).ravel() * len(pairs)
        assert stats.chisquare(both, law).pvalue > 2e-7, lag


def test_row_numbers_of_other_keys_are_unrelated():
    """Keys that differ in one bit only, as folded ones may, must not give sequences that go together."""
    shape, n_rows = (100_000,), jnp.int32(40)
    base = np.asarray(
        random.row_numbers(jax.random.wrap_key_data(jnp.array([3, 9], jnp.uint32)), shape, n_rows)
    )
    for words in ([2, 9], [3, 8], [3, 9 ^ (1 << 31)], [3 ^ (1 << 31), 9]):
        key = jax.random.wrap_key_data(jnp.array(words, jnp.uint32))
        other = np.asarray(random.row_numbers(key, shape, n_rows))
        both = np.bincount(base * 40 + other, minlength=1600)
        assert stats.chisquare(both).pvalue > 2e-7, words


def test_numbers_that_repeat_are_found_out():
    drawn = np.asarray(random._mix(jnp.arange(100_000, dtype=jnp.uint32) >> 4)) % 40
    pairs = np.bincount(drawn[:-1] * 40 + drawn[1:], minlength=1600)
    assert stats.chisquare(pairs).pvalue < 1e-12
