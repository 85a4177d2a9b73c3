"""The compiled program of a stream: a block of chunks absorbed in a loop, with past rows in memory or in a file."""

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import NDArray

from auxmc.driver.row_chunks import PackedChunks
from auxmc.kernels.streams.contract import Chunk, ChunkRecord, Fetch, PastRows, Stream, StreamState
from auxmc.kernels.streams.published_estimators import remember
from auxmc.numerics.array_types import NamedArrays

__all__ = [
    "CHUNKS_IN_BLOCK",
    "Carry",
    "KeyedStream",
    "RowFile",
    "as_numpy",
    "block_arguments",
    "compile_block",
    "fetch_from",
]

CHUNKS_IN_BLOCK = 64
"""Chunks for which a block has room."""

# Row numbers that go to a callback in one array, 64 KiB of them. Arrays above 100 KiB are copied by a worker thread,
# and where there is only one it is the one that waits for the callback.
_PIECE = 16_384


class RowFile(Protocol):
    """A file of all rows absorbed (`data.row_store`)."""

    @property
    def n_rows(self) -> int:
        """Rows in it."""

    def append(self, rows: NDArray[Any]) -> None:
        """Writes rows [row, column] behind the last one."""

    def truncate(self, n_rows: int) -> None:
        """Forgets all rows but the first; ValueError if there are fewer."""

    def draw(self, indices: NDArray[Any]) -> NDArray[Any]:
        """Copies rows [..., column] by their numbers [...]."""

    def checksum(self) -> int:
        """Checksum of all rows."""

    def save(self) -> None:
        """Waits until all rows are on disk."""


class KeyedStream(NamedTuple):
    """An estimator and the key of its run."""

    stream: Stream
    key: Array


class Carry(NamedTuple):
    """What goes from chunk to chunk: state of the estimator and past rows."""

    state: StreamState
    past: PastRows


def fetch_from(rows: RowFile, n_columns: int) -> Fetch:
    """Makes an estimator draw past rows from a file instead of memory.

    Args:
        rows: the file; `run_streams` is to be given the same.
        n_columns: numbers in a row.

    Returns:
        For `stream_evidence`. Inside a compiled program it calls back to NumPy.
    """

    def draw(*pieces: Array) -> NDArray[Any]:
        return rows.draw(np.concatenate([np.asarray(piece) for piece in pieces]))

    def fetch(past: PastRows, numbers: Array) -> Array:
        flat = jnp.ravel(numbers)
        pieces = [flat[i : i + _PIECE] for i in range(0, flat.shape[0], _PIECE)]
        drawn = jax.ShapeDtypeStruct((flat.shape[0], n_columns), past.rows.dtype)
        found = jax.pure_callback(draw, drawn, *pieces, vmap_method="sequential")
        return found.reshape((*numbers.shape, n_columns))

    return fetch


def compile_block(keyed: KeyedStream, carry: Carry, size: int, n_columns: int, stored: bool) -> Any:
    """Compiles the program of an estimator.

    Args:
        keyed: the estimator.
        carry: state and past rows, for their shapes.
        size: rows of a chunk.
        n_columns: numbers in a row.
        stored: whether past rows are in a file, so that only their number is carried.

    Returns:
        Maps the carry, which it takes over, and `block_arguments` to the carry after them and their record.
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

    rows = jax.ShapeDtypeStruct((CHUNKS_IN_BLOCK, size, n_columns), carry.past.rows.dtype)
    counts = jax.ShapeDtypeStruct((CHUNKS_IN_BLOCK,), jnp.int32)
    count = jax.ShapeDtypeStruct((), jnp.int32)
    # The past rows are changed in place: their memory is handed over.
    return jax.jit(block, donate_argnums=0).lower(carry, rows, counts, count, count).compile()


def block_arguments(block: PackedChunks, first: int) -> tuple[Array, Array, Array, Array]:
    """What the program is given besides the carry.

    Args:
        block: the chunks.
        first: number of the first of them.
    """
    return (
        jnp.asarray(block.rows),
        jnp.asarray(block.n_valid),
        jnp.asarray(first, jnp.int32),
        jnp.asarray(block.n_chunks, jnp.int32),
    )


def as_numpy(record: ChunkRecord, n_chunks: int) -> NamedArrays:
    """The record of a block's chunks; waits until it is there.

    Args:
        record: fields [place].
        n_chunks: places that are taken.
    """
    # Copies: an array of JAX would be kept whole for the sake of its first chunks.
    return {name: np.array(values)[:n_chunks].copy() for name, values in record._asdict().items()}
