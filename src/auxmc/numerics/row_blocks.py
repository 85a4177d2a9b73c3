"""Sums over many rows, block by block: memory does not grow with their number, and sums are kept in float64."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

BLOCK_ROWS = 1024
"""Rows of a block: what some tens of particles make of them stays in a processor's cache."""


def sum_over_rows(
    function: Callable[[Array, Array], Any],
    rows: Array,
    n_valid: Array | None = None,
    block_rows: int = BLOCK_ROWS,
) -> Any:
    """Adds up, in float64, what a function makes of blocks of rows.

    Args:
        function: maps rows [block row, column] and whether each of them counts [block row] (bool) to a pytree of sums
            over those that count.
        rows: [row, column], at least one.
        n_valid: only rows before this one count (int32); time grows with it. All rows by default.
        block_rows: rows of a block.
    """
    n_rows = rows.shape[0]
    if n_rows < 1 or block_rows < 1:
        raise ValueError(f"rows and block_rows must be at least 1, got {n_rows} and {block_rows}")
    size = min(block_rows, n_rows)
    last = n_rows if n_valid is None else jnp.asarray(n_valid, jnp.int32)

    def of_block(index: Array) -> Any:
        # The last block begins earlier where it would reach over the end; rows that it shares with the one
        # before do not count again.
        begin = jnp.minimum(index * size, n_rows - size)
        numbers = begin + jnp.arange(size, dtype=jnp.int32)
        counts = (numbers >= index * size) & (numbers < last)
        sums = function(lax.dynamic_slice_in_dim(rows, begin, size), counts)
        return jax.tree.map(lambda leaf: jnp.asarray(leaf).astype(jnp.float64), sums)

    zero = jnp.zeros((), jnp.int32)
    if size == n_rows:
        return of_block(zero)
    shapes = jax.eval_shape(of_block, zero)
    nothing = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
    n_blocks = -(-last // size)
    return lax.fori_loop(
        0, n_blocks, lambda i, total: jax.tree.map(jnp.add, total, of_block(i.astype(jnp.int32))), nothing
    )


def row_total(
    value: Callable[[Array, Array], Array],
    weighted_gradient: Callable[[Array, Array, Array], Array],
    block_rows: int = BLOCK_ROWS,
) -> Callable[[Array, Array, Array | None], Array]:
    """Sum over rows of a function of a point, with its gradient from the same pass over the rows.

    Args:
        value: maps a point [dim] and rows [row, column] to a number for each row [row].
        weighted_gradient: maps a point [dim], rows [row, column] and weights [row] to the derivative of the weighted
            sum of values [dim].
        block_rows: rows of a block.

    Returns:
        Function of a point, rows and the number of rows that count (None for all), float64. Rows are worked on in
        their own precision and summed in float64, whatever that of the point. Derivatives are with respect to the
        point alone.
    """

    @jax.custom_vjp
    def total(point: Array, rows: Array, n_valid: Array | None) -> Array:
        def of_block(block: Array, counts: Array) -> Array:
            by_row = value(point.astype(rows.dtype), block)
            return jnp.sum(jnp.where(counts, by_row, 0.0), dtype=jnp.float64)

        return sum_over_rows(of_block, rows, n_valid, block_rows)

    def forward(point: Array, rows: Array, n_valid: Array | None) -> tuple[Array, Array]:
        def of_block(block: Array, counts: Array) -> tuple[Array, Array]:
            here = point.astype(rows.dtype)
            by_row = value(here, block)
            summed = jnp.sum(jnp.where(counts, by_row, 0.0), dtype=jnp.float64)
            return summed, weighted_gradient(here, block, counts.astype(rows.dtype))

        summed, gradient = sum_over_rows(of_block, rows, n_valid, block_rows)
        return summed, gradient.astype(point.dtype)

    def backward(gradient: Array, cotangent: Array) -> tuple[Array, None, None]:
        return cotangent.astype(gradient.dtype) * gradient, None, None

    total.defvjp(forward, backward)
    return total
