"""Sums over rows that are worked on block by block."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.numerics.row_blocks import row_total, sum_over_rows

ROWS = jnp.asarray(np.random.default_rng(2).normal(size=(23, 2)))


def sums(rows, counts):
    return jnp.sum(counts.astype(jnp.int32)), jnp.where(counts[:, None], rows, 0.0).sum(axis=0)


@pytest.mark.parametrize(
    ("block_rows", "n_valid"),
    [(1, None), (1, 22), (5, None), (5, 0), (5, 5), (5, 22), (22, 23), (23, 1), (100, None), (100, 5)],
)
def test_every_row_that_counts_enters_once(block_rows, n_valid):
    n = 23 if n_valid is None else n_valid
    last = None if n_valid is None else jnp.asarray(n_valid)
    number, total = jax.jit(lambda last: sum_over_rows(sums, ROWS, last, block_rows))(last)
    assert int(number) == n
    np.testing.assert_allclose(total, np.asarray(ROWS)[:n].sum(axis=0), rtol=1e-12, atol=1e-14)


def value(point, rows):
    return -0.5 * jnp.square(rows[:, 0] - point[0]) + jnp.sin(point[1]) * rows[:, 1]


def weighted_gradient(point, rows, weights):
    slopes = jnp.stack([rows[:, 0] - point[0], jnp.cos(point[1]) * rows[:, 1]])
    return slopes @ weights


def test_totals_have_the_derivatives_of_the_sum():
    total = row_total(value, weighted_gradient, 4)
    point = jnp.array([0.3, -0.7])

    def whole(point):
        return jnp.sum(value(point, ROWS[:17]))

    def of_blocks(point):
        return total(point, ROWS, jnp.asarray(17))

    def everything(function):
        return jax.jit(lambda p: (function(p), jax.grad(function)(p), jax.jacfwd(jax.grad(function))(p)))(
            point
        )

    for found, expected in zip(everything(of_blocks), everything(whole), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_sums_of_single_precision_rows_keep_the_digits_of_double_precision():
    rows = jnp.full((200_000, 1), 0.1, jnp.float32)
    total = row_total(lambda p, r: r[:, 0] + p[0], lambda p, r, w: jnp.sum(w)[None], 1024)
    point = jnp.zeros(1, jnp.float64)
    found, slope = jax.jit(jax.value_and_grad(lambda p: total(p, rows, None)))(point)
    # A float32 sum would be off by more than 1.
    assert float(found) == pytest.approx(200_000 * float(np.float32(0.1)), rel=1e-13)
    assert slope.dtype == jnp.float64
    assert float(slope[0]) == 200_000.0


@pytest.mark.parametrize(("rows", "block_rows"), [(jnp.zeros((0, 2)), 4), (ROWS, 0)])
def test_nothing_to_sum_is_rejected(rows, block_rows):
    with pytest.raises(ValueError, match="rows and block_rows must be at least 1, got"):
        sum_over_rows(sums, rows, None, block_rows)
