"""Drives a streaming estimator over rows that need not fit in memory, with a running record that can be continued."""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import NDArray

from auxmc.engine.checkpoint import Checkpoint
from auxmc.kernels.streaming import Chunk, ChunkRecord, PastRows, Stream, StreamState, remember

__all__ = ["ChunkSizes", "StreamRun", "growing_chunks", "run_stream"]

_CHUNKS_IN_BLOCK = 64

Float64Array = NDArray[np.float64]
ReadRows = Callable[[int], Iterator[Float64Array]]


class ChunkSizes(NamedTuple):
    """How rows are cut into chunks.

    Attributes:
        first: sizes of the first chunks.
        later: size of all others, at least as large as the first ones.
    """

    first: tuple[int, ...] = ()
    later: int = 500

    def of(self, number: int) -> int:
        """Size of a chunk, counted from 0."""
        return self.first[number] if number < len(self.first) else self.later


def growing_chunks(step: int, later: int) -> ChunkSizes:
    """Chunks of step, 2 step, 3 step, ... rows up to a size that they keep (MSc thesis, section 4.1)."""
    return ChunkSizes(tuple(range(step, later, step)), later)


class StreamRun(NamedTuple):
    """Running record of a stream.

    Attributes:
        record: an array [chunk] for each field of ChunkRecord, and `seconds`: run time up to the end of the chunk's
            block, compilation apart.
        provisional: whether the last chunk was shorter than its size because the rows ended there. It is part of
            the record, but not of what a continued stream goes on from.
        state: after the last whole chunk.
        compile_s: seconds of tracing and compiling.
        n_resumed: chunks taken over from a checkpoint.
    """

    record: dict[str, np.ndarray]
    provisional: bool
    state: StreamState
    compile_s: float
    n_resumed: int


class _Carry(NamedTuple):
    state: StreamState
    past: PastRows


def run_stream(
    stream: Stream,
    read: ReadRows,
    key: Array,
    n_columns: int,
    *,
    chunk_sizes: ChunkSizes = ChunkSizes(),  # noqa: B008
    capacity: int = 100_000,
    dtype: Any = jnp.float32,
    checkpoint: Checkpoint | None = None,
    report: Callable[[dict[str, np.ndarray]], None] | None = None,
) -> StreamRun:
    """Absorbs all rows that there are, chunk by chunk.

    Memory does not grow with the number of rows. After every block of chunks the state and the record are saved; the
    same call goes on from there, also when rows have been appended meanwhile, and gives the record of an
    uninterrupted run. If reading fails, what has been absorbed before is kept.

    Args:
        stream: the estimator.
        read: maps a number of rows to leave out to an iterator over blocks of rows [row, column].
        key: of the run.
        n_columns: numbers in a row.
        chunk_sizes: how rows are cut into chunks.
        capacity: past rows that are kept for drawing; a stream with more keeps a uniform sample of them.
        dtype: of particles and rows.
        checkpoint: where to keep state and record; None to keep nothing.
        report: called with the new part of the record after every block.

    Returns:
        The run.

    Raises:
        ValueError: there is no row at all, or a size is not positive.
    """
    if capacity < 1 or min((*chunk_sizes.first, chunk_sizes.later)) < 1:
        raise ValueError(f"capacity and chunk sizes must be positive, got {capacity} and {chunk_sizes}")
    if max((*chunk_sizes.first, 1)) > chunk_sizes.later:
        raise ValueError(f"the first chunks must not be larger than the later ones, got {chunk_sizes}")
    state = stream.init(jax.random.fold_in(key, 0), dtype)
    past = PastRows(jnp.zeros((capacity, n_columns), dtype), jnp.zeros((), jnp.int32))
    carry = _Carry(state, past)
    resumed = _resume(checkpoint, carry)
    records, run_s = ([], 0.0) if resumed is None else (resumed.records, resumed.run_s)
    carry = carry if resumed is None else resumed.carry
    n_chunks = n_resumed = sum(len(part["n_rows"]) for part in records)

    start = time.perf_counter()
    program = _compile(stream, key, carry, chunk_sizes.later, n_columns)
    compile_s = time.perf_counter() - start

    def absorb(carry: _Carry, chunks: list[Float64Array], first: int) -> tuple[_Carry, dict[str, np.ndarray]]:
        nonlocal run_s
        rows = np.zeros((_CHUNKS_IN_BLOCK, chunk_sizes.later, n_columns), dtype)
        n_valid = np.zeros(_CHUNKS_IN_BLOCK, np.int32)
        for place, chunk in enumerate(chunks):
            rows[place, : len(chunk)], n_valid[place] = chunk, len(chunk)
        begin = time.perf_counter()
        numbers = jnp.arange(first, first + _CHUNKS_IN_BLOCK, dtype=jnp.int32)
        carry, record = program(carry, jnp.asarray(rows), jnp.asarray(n_valid), numbers)
        found = {name: np.asarray(values)[: len(chunks)] for name, values in record._asdict().items()}
        run_s += time.perf_counter() - begin
        found["seconds"] = np.full(len(chunks), run_s)
        if report is not None:
            report(found)
        return carry, found

    def finish_block(chunks: list[Float64Array]) -> None:
        nonlocal carry, n_chunks
        carry, found = absorb(carry, chunks, n_chunks)
        n_chunks += len(chunks)
        records.append(found)
        if checkpoint is not None:
            leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(carry)]
            checkpoint.save(len(records) - 1, _CHUNKS_IN_BLOCK, found, leaves, run_s)

    waiting: list[Float64Array] = []
    rest = np.zeros((0, n_columns))
    try:
        for chunk in _chunks(read(int(carry.state.n_rows)), chunk_sizes, n_chunks, n_columns):
            if len(chunk) < chunk_sizes.of(n_chunks + len(waiting)):
                rest = chunk
                break
            waiting.append(chunk)
            if len(waiting) == _CHUNKS_IN_BLOCK:
                finish_block(waiting)
                waiting = []
    finally:
        # Also when a row cannot be read: whole chunks before it count.
        if waiting:
            finish_block(waiting)
    provisional = len(rest) > 0
    if provisional:
        # A copy: the program takes its argument over.
        copied = jax.tree.map(jnp.array, carry)
        _, found = absorb(copied, [rest], n_chunks)
        records.append(found)
    if not records:
        raise ValueError("there are no rows")
    record = {name: np.concatenate([part[name] for part in records]) for name in records[0]}
    return StreamRun(record, provisional, carry.state, compile_s, n_resumed)


class _Resumed(NamedTuple):
    carry: _Carry
    records: list[dict[str, np.ndarray]]
    run_s: float


def _resume(checkpoint: Checkpoint | None, like: _Carry) -> _Resumed | None:
    if checkpoint is None:
        return None
    leaves, structure = jax.tree.flatten(like)
    saved = checkpoint.load(_CHUNKS_IN_BLOCK, [np.asarray(leaf) for leaf in leaves])
    if saved is None:
        return None
    carry = jax.tree.unflatten(structure, [jnp.asarray(leaf) for leaf in saved.leaves])
    records = [{name: np.array(a) for name, a in part.items()} for part in checkpoint.parts(saved.n_blocks)]
    return _Resumed(carry, records, saved.run_s)


def _compile(stream: Stream, key: Array, carry: _Carry, size: int, n_columns: int) -> Any:
    chunk_key, row_key = jax.random.fold_in(key, 1), jax.random.fold_in(key, 2)

    def one(carry: _Carry, given: tuple[Array, Array, Array]) -> tuple[_Carry, ChunkRecord]:
        rows, n_valid, number = given

        def absorb() -> tuple[_Carry, ChunkRecord]:
            chunk = Chunk(rows, n_valid)
            n_rows = carry.state.n_rows
            state, record = stream.absorb(
                jax.random.fold_in(chunk_key, number), carry.state, chunk, carry.past
            )
            past = remember(jax.random.fold_in(row_key, number), carry.past, chunk, n_rows)
            return _Carry(state, past), record

        shapes = jax.eval_shape(absorb)[1]
        nothing = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
        return lax.cond(n_valid > 0, absorb, lambda: (carry, nothing))

    def block(carry: _Carry, rows: Array, n_valid: Array, numbers: Array) -> tuple[_Carry, ChunkRecord]:
        return lax.scan(one, carry, (rows, n_valid, numbers))

    rows = jax.ShapeDtypeStruct((_CHUNKS_IN_BLOCK, size, n_columns), carry.past.rows.dtype)
    counts = jax.ShapeDtypeStruct((_CHUNKS_IN_BLOCK,), jnp.int32)
    # The past rows are changed in place: their memory is handed over.
    return jax.jit(block, donate_argnums=0).lower(carry, rows, counts, counts).compile()


def _chunks(
    blocks: Iterator[Float64Array], sizes: ChunkSizes, first: int, n_columns: int
) -> Iterator[Float64Array]:
    """Cuts blocks of any length into chunks; the last one may be shorter than its size."""
    waiting = np.zeros((0, n_columns))
    number = first
    for block in blocks:
        if block.ndim != 2 or block.shape[1] != n_columns:
            raise ValueError(f"rows must be [row, {n_columns}], got {list(block.shape)}")
        waiting = np.concatenate([waiting, block])
        begin = 0
        while len(waiting) - begin >= sizes.of(number):
            yield waiting[begin : begin + sizes.of(number)]
            begin += sizes.of(number)
            number += 1
        waiting = waiting[begin:]
    if len(waiting):
        yield waiting
