"""Rows that are stored of a stream longer than the store: each row of it with the same probability."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.kernels.streams.contract import Chunk, PastRows
from auxmc.kernels.streams.published_estimators import remember
from tests.statistical.levels import assert_standard_mean, key_for, legendre, seed_for

N_ROWS, CAPACITY = 60, 10


def stored(name: str, size: int) -> np.ndarray:
    """Rows that are stored of a stream of sixty in chunks of a size [run, slot]."""

    def kept(key: Array) -> Array:
        past = PastRows(jnp.full((CAPACITY, 1), -1.0), jnp.zeros((), jnp.int32))

        def one(past: PastRows, number: Array) -> tuple[PastRows, None]:
            begin = number * size
            rows = (begin + jnp.arange(size)).astype(jnp.float64)[:, None]
            chunk = Chunk(rows, jnp.minimum(size, N_ROWS - begin).astype(jnp.int32))
            return remember(jax.random.fold_in(key, number), past, chunk, begin.astype(jnp.int64)), None

        past, _ = jax.lax.scan(one, past, jnp.arange(-(-N_ROWS // size)))
        return past.rows[:, 0]

    return np.asarray(jax.jit(jax.vmap(kept))(jax.random.split(key_for(name), 40_000)))


def test_the_first_rows_are_kept_as_often_as_any_others() -> None:
    """Of the rows that fill the store at first, the number that is kept is hypergeometric."""
    rows = stored("reservoir", 6)
    fraction = CAPACITY / N_ROWS
    variance = CAPACITY * fraction * (1.0 - fraction) * (N_ROWS - CAPACITY) / (N_ROWS - 1)
    for first, last in ((0, CAPACITY), (N_ROWS - CAPACITY, N_ROWS)):
        counts = np.sum((rows >= first) & (rows < last), axis=1)
        assert_standard_mean(
            (counts - CAPACITY * fraction) / np.sqrt(variance), detects=0.05, label=f"rows from {first}"
        )


def test_a_last_chunk_that_is_not_full_changes_no_fraction() -> None:
    """Nine chunks of seven places for sixty rows: the row in each slot is uniform, though the last chunk has four."""
    rows = stored("reservoir/last", 7)
    # One stored row a run: those of a run exclude each other.
    chosen = np.random.default_rng(seed_for("reservoir/chosen"))
    uniforms = rows[np.arange(len(rows)), chosen.integers(0, CAPACITY, len(rows))] + chosen.random(len(rows))
    counts = np.stack([np.sum(rows == row, axis=1) for row in range(N_ROWS)], axis=1)
    fraction = CAPACITY / N_ROWS
    assert_standard_mean(legendre(uniforms / N_ROWS, 8), detects=0.05, label="rows of a stream")
    assert_standard_mean(
        (counts - fraction) / np.sqrt(fraction * (1.0 - fraction)), detects=0.05, label="each row of a stream"
    )
