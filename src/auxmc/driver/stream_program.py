"""The compiled program of a stream: a block of chunks absorbed in a loop, with past rows in memory or in a file."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import DTypeLike, NDArray

from auxmc.data.row_store import RowStore
from auxmc.driver.runtime import compiler_options
from auxmc.kernels.streams.contract import Chunk, ChunkRecord, Fetch, PastRows, Stream, StreamState
from auxmc.kernels.streams.published_estimators import remember
from auxmc.numerics.array_types import FloatArray

CHUNKS_IN_BLOCK = 64
"""Chunks for which a block has room."""

# Row numbers that go to a callback in one array, 64 KiB of them. Arrays above 100 KiB are copied by a worker thread,
# and where there is only one it is the one that waits for the callback.
_CALLBACK_ROWS = 16_384


class KeyedStream(NamedTuple):
    """An estimator and the key of its run."""

    stream: Stream
    key: Array


class Carry(NamedTuple):
    """What goes from chunk to chunk: state of the estimator and past rows."""

    state: StreamState
    past: PastRows


class Block(NamedTuple):
    """Consecutive chunks: rows [place, row, column], zeros beyond the n_valid rows of a chunk [place]."""

    rows: NDArray[Any]
    n_valid: NDArray[np.int32]
    n_chunks: int


def pack(chunks: Sequence[FloatArray], size: int, dtype: DTypeLike) -> Block:
    """Returns chunks of at most `size` rows as a block, in new arrays: earlier ones may still be in use."""
    rows = np.zeros((CHUNKS_IN_BLOCK, size, chunks[0].shape[1]), dtype)
    n_valid = np.zeros(CHUNKS_IN_BLOCK, np.int32)
    for place, chunk in enumerate(chunks):
        rows[place, : len(chunk)], n_valid[place] = chunk, len(chunk)
    return Block(rows, n_valid, len(chunks))


def fetch_from(store: RowStore) -> Fetch:
    """Returns, for `stream_evidence`, how an estimator draws past rows from the file that `run_streams` is given, too.

    Compiled programs call back to NumPy to read it.
    """

    def draw(*parts: Array) -> NDArray[Any]:
        return store.draw(np.concatenate([np.asarray(part) for part in parts]))

    def fetch(past: PastRows, numbers: Array) -> Array:
        flat = jnp.ravel(numbers)
        parts = [flat[i : i + _CALLBACK_ROWS] for i in range(0, flat.shape[0], _CALLBACK_ROWS)]
        drawn = jax.ShapeDtypeStruct((flat.shape[0], store.n_columns), past.rows.dtype)
        found = jax.pure_callback(draw, drawn, *parts, vmap_method="sequential")
        return found.reshape((*numbers.shape, store.n_columns))

    return fetch


def compile_block(keyed: KeyedStream, carry: Carry, size: int, stored: bool) -> Any:
    """Compiles the program of an estimator for chunks of `size` rows; `stored` where past rows are in a file.

    It maps the carry, which it takes over, `rows` and `n_valid` of a block, the number of its first chunk and its
    `n_chunks` to the carry after them and their record [place].
    """
    stream, key = keyed
    chunk_key, row_key = jax.random.fold_in(key, 1), jax.random.fold_in(key, 2)

    def one(carry: Carry, rows: Array, n_valid: Array, number: Array) -> tuple[Carry, ChunkRecord]:
        chunk = Chunk(rows, n_valid)
        n_rows = carry.state.n_rows
        state, record = stream.absorb(jax.random.fold_in(chunk_key, number), carry.state, chunk, carry.past)
        if stored:
            past = PastRows(carry.past.rows, carry.past.n_stored + n_valid)
        else:
            past = remember(jax.random.fold_in(row_key, number), carry.past, chunk, n_rows)
        return Carry(state, past), record

    def block(
        carry: Carry, rows: Array, n_valid: Array, first: Array, n_chunks: Array
    ) -> tuple[Carry, ChunkRecord]:
        shapes = jax.eval_shape(one, carry, rows[0], n_valid[0], first)[1]
        empty = jax.tree.map(lambda one: jnp.zeros((CHUNKS_IN_BLOCK, *one.shape), one.dtype), shapes)

        def absorb(place: Array, loop: tuple[Carry, ChunkRecord]) -> tuple[Carry, ChunkRecord]:
            carry, records = loop
            carry, record = one(carry, rows[place], n_valid[place], first + place)
            return carry, jax.tree.map(lambda kept, new: kept.at[place].set(new), records, record)

        return lax.fori_loop(jnp.zeros((), jnp.int32), n_chunks, absorb, (carry, empty))

    past = carry.past.rows
    rows = jax.ShapeDtypeStruct((CHUNKS_IN_BLOCK, size, past.shape[1]), past.dtype)
    counts = jax.ShapeDtypeStruct((CHUNKS_IN_BLOCK,), jnp.int32)
    count = jax.ShapeDtypeStruct((), jnp.int32)
    # The past rows are changed in place: their memory is handed over.
    lowered = jax.jit(block, donate_argnums=0).lower(carry, rows, counts, count, count)
    return lowered.compile(compiler_options())
