"""Random numbers of our own making against their distributions: normal numbers, chi-squared numbers, row numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from scipy import stats

from auxmc.numerics import random
from tests.statistical.levels import (
    assert_bounded_mean,
    assert_standard_mean,
    assert_uniform,
    expecting_failure,
    key_for,
    legendre,
    seed_for,
)

N = 100_000
N_PLACES = 10


def test_normal_numbers_follow_the_normal_distribution() -> None:
    uniforms = stats.norm.cdf(np.asarray(random.standard_normal(key_for("normal"), (N,))))
    assert_uniform(uniforms, label="distribution")
    assert_standard_mean(legendre(uniforms, 6), label="Legendre")


def test_a_scale_that_is_wrong_by_four_percent_is_found() -> None:
    values = np.asarray(random.standard_normal(key_for("normal/scale"), (N,)))
    with expecting_failure(), pytest.raises(AssertionError, match="too wide"):
        assert_standard_mean(legendre(stats.norm.cdf(1.04 * values)), label="too wide")


def test_every_place_of_a_small_draw_is_normal_and_unrelated_to_the_others() -> None:
    keys = jax.random.split(key_for("normal/places"), N)
    values = np.asarray(jax.jit(jax.vmap(lambda key: random.standard_normal(key, (N_PLACES,))))(keys))
    uniforms = stats.norm.cdf(values)
    functions = [legendre(uniforms[:, place]) for place in range(N_PLACES)]
    assert_uniform(uniforms.ravel(), detects=0.01, label="all places")
    assert_standard_mean(np.concatenate(functions, axis=1), label="each place")
    # The two numbers of a pair share their radius: only the right angle makes their sizes independent.
    pairs = [functions[i][:, :2] * functions[j][:, :2] for i in range(N_PLACES) for j in range(i)]
    assert_standard_mean(np.concatenate(pairs, axis=1), label="pairs of places")


def test_the_tail_beyond_four_standard_deviations_has_the_right_probability() -> None:
    draw = jax.jit(lambda key: random.standard_normal(key, (200_000, 20)))
    beyond = np.any(np.abs(np.asarray(draw(key_for("normal/tail")))) > 4.0, axis=1)
    # Twenty numbers at a time. The interval is narrower than the probability itself: a tail that is missing or
    # twice as heavy is found.
    expected = float(1.0 - (1.0 - 2.0 * stats.norm.sf(4.0)) ** 20)
    assert_bounded_mean(beyond, 0.0, 1.0, expected, detects=0.0012, label="tail")


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 89])
def test_chi_square_numbers_follow_their_distribution(degrees: int) -> None:
    values = np.asarray(random.chi_square(key_for(f"chi square/{degrees}"), degrees, (N,)))
    uniforms = stats.chi2.cdf(values, degrees)
    assert_uniform(uniforms, label=f"{degrees} degrees")
    assert_standard_mean(legendre(uniforms), label=f"{degrees} degrees, Legendre")


def test_one_degree_of_freedom_too_many_is_found() -> None:
    values = np.asarray(random.chi_square(key_for("chi square/too many"), 89, (N,)))
    with expecting_failure(), pytest.raises(AssertionError, match="ninety"):
        assert_uniform(stats.chi2.cdf(values, 90), label="ninety")


# --- row numbers ---------------------------------------------------------------------------------------


def spread(rows: np.ndarray, n_rows: int, name: str) -> np.ndarray:
    """Row numbers with a uniform number added to each, divided by their number: uniform on (0, 1)."""
    fresh = np.random.default_rng(seed_for(f"{name}/fresh")).random(rows.shape)
    return (rows + fresh) / n_rows


def unrelated(first: np.ndarray, second: np.ndarray, n_cells: int) -> np.ndarray:
    """Standardised functions of independent pairs of uniforms [pair, function].

    Products of Legendre polynomials see a relation on the scale of the whole range, meetings in one of many
    cells, and in cells that lie as many places apart as there are cells in a seventh, one on a small scale.
    """
    products = legendre(first, 6)[:, :, None] * legendre(second, 6)[:, None, :]
    cells = [np.floor(u * n_cells).astype(int) for u in (first, second)]
    fraction = 1.0 / n_cells
    columns = [
        ((cells[0] + shift) % n_cells == cells[1]) - fraction for shift in (0, 1, n_cells // 7, n_cells - 1)
    ]
    meetings = np.stack(columns, axis=1) / np.sqrt(fraction * (1.0 - fraction))
    return np.concatenate([products.reshape(len(first), -1), meetings], axis=1)


@pytest.mark.parametrize("n_rows", [7, 500, 100_003])
def test_row_numbers_are_uniform_and_neighbours_unrelated(n_rows: int) -> None:
    name = f"rows/{n_rows}"
    drawn = np.asarray(random.row_numbers(key_for(name), (400, 500), jnp.int32(n_rows)))
    assert 0 <= drawn.min() <= drawn.max() < n_rows
    uniforms = spread(drawn, n_rows, name)
    assert_uniform(uniforms.ravel(), label="distribution")
    assert_standard_mean(legendre(uniforms.ravel(), 6), label="Legendre")
    # Pairs that do not overlap: next to each other, two apart, and of one batch and the next.
    halves = uniforms.reshape(400, 125, 2, 2)
    for first, second, label in (
        (uniforms[:, ::2], uniforms[:, 1::2], "neighbours"),
        (halves[:, :, 0], halves[:, :, 1], "two apart"),
        (uniforms[::2], uniforms[1::2], "batches"),
    ):
        assert_standard_mean(unrelated(first.ravel(), second.ravel(), 49), label=label)


def test_row_numbers_of_other_keys_are_unrelated() -> None:
    """Keys that differ in one bit only, as folded ones may, must not give sequences that go together."""
    words = np.asarray(jax.random.key_data(key_for("rows/keys")))

    def drawn(changed: np.ndarray, name: str) -> np.ndarray:
        key: Array = jax.random.wrap_key_data(jnp.asarray(changed, jnp.uint32))
        rows = np.asarray(random.row_numbers(key, (N,), jnp.int32(40)))
        return spread(rows, 40, f"rows/keys/{name}")

    base = drawn(words, "base")
    for word in (0, 1):
        for bit in (0, 31):
            changed = words.copy()
            changed[word] ^= np.uint32(1 << bit)
            found = unrelated(base, drawn(changed, f"{word}/{bit}"), 40)
            assert_standard_mean(found, label=f"word {word}, bit {bit}")


def test_numbers_that_repeat_are_found_out() -> None:
    hashed = np.asarray(random._mix(jnp.arange(2 * N, dtype=jnp.uint32) >> 4))
    uniforms = (hashed + 0.5) / 2.0**32
    with expecting_failure(), pytest.raises(AssertionError, match="repeated"):
        assert_standard_mean(unrelated(uniforms[::2], uniforms[1::2], 40), label="repeated")
