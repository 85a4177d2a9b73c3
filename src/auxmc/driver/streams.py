"""Drives streaming estimators over rows that need not fit in memory, with a running record that can be continued."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.row_chunks import ChunkSizes, PackedChunks, packed_chunks
from auxmc.driver.stream_files import SavedStream, StreamFiles
from auxmc.driver.stream_program import (
    CHUNKS_IN_BLOCK,
    Carry,
    KeyedStream,
    RowFile,
    as_numpy,
    block_arguments,
    compile_block,
)
from auxmc.kernels.streams.contract import ChunkRecord, PastRows, Stream, StreamState
from auxmc.numerics.array_types import FloatArray, NamedArrays

__all__ = ["StreamRun", "run_stream", "run_streams"]

# A block is as many chunks as take about this long, so that a report comes and a stop is heeded soon.
_BLOCK_S = 0.5
# The state is written no more often than this: it holds the past rows.
_SAVE_EVERY_S = 5.0
# Numbers of past rows are int32.
_MOST_STORED = 2**31 - 1

ReadRows = Callable[[int], Iterator[FloatArray]]
Report = Callable[[dict[str, NamedArrays], bool], None]


class StreamRun(NamedTuple):
    """Running record of a stream.

    Attributes:
        record: an array [chunk] for each field of ChunkRecord, and `seconds`: time up to the end of the chunk's block,
            reading of rows included, compilation and reports not.
        provisional: whether the last chunk was shorter than its size because the rows ended there. It is part of
            the record and of `state`, but not of what a continued stream continues from.
        state: after all rows of the record.
        compile_s: seconds of tracing and compiling, of all streams of the run.
        n_resumed: chunks taken over from a checkpoint.
        stopped: whether the run was told to stop before the rows ended.
    """

    record: NamedArrays
    provisional: bool
    state: StreamState
    compile_s: float
    n_resumed: int
    stopped: bool = False


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
    store: RowFile | None = None,
    report: Callable[[NamedArrays], None] | None = None,
) -> StreamRun:
    """Absorbs all rows that there are, chunk by chunk: `run_streams` with one estimator.

    Args:
        stream: the estimator.
        read: see `run_streams`.
        key: of the run.
        n_columns: see `run_streams`.
        chunk_sizes: see `run_streams`.
        capacity: see `run_streams`.
        dtype: see `run_streams`.
        checkpoint: see `run_streams`.
        store: see `run_streams`.
        report: called with the new part of the record after every block.
    """

    def report_one(found: dict[str, NamedArrays], resumed: bool) -> None:
        if report is not None and not resumed:
            report(found[""])

    return run_streams(
        {"": KeyedStream(stream, key)},
        read,
        n_columns,
        chunk_sizes=chunk_sizes,
        capacity=capacity,
        dtype=dtype,
        checkpoint=checkpoint,
        store=store,
        report=report_one,
    )[""]


def run_streams(
    streams: Mapping[str, KeyedStream],
    read: ReadRows,
    n_columns: int,
    *,
    chunk_sizes: ChunkSizes = ChunkSizes(),  # noqa: B008
    capacity: int = 100_000,
    dtype: Any = jnp.float32,
    checkpoint: Checkpoint | None = None,
    store: RowFile | None = None,
    report: Report | None = None,
    stop: Callable[[], bool] | None = None,
) -> dict[str, StreamRun]:
    """Absorbs all rows that there are by several estimators, on one reading of the rows.

    Memory does not grow with the number of rows, but for the record: about a hundred bytes a chunk and estimator.
    Rows are read while the estimators are at work on those before. State and record are saved every few seconds and
    at the end; the same call continues from there, also when rows have been appended meanwhile, and gives the record
    of an uninterrupted run. If reading fails, what has been absorbed before is kept. The numbers of an estimator do
    not depend on which others run next to it.

    Args:
        streams: estimators by name.
        read: maps a number of rows to leave out to an iterator over blocks of rows [row, column].
        n_columns: numbers in a row.
        chunk_sizes: how rows are cut into chunks.
        capacity: past rows that are kept in memory for drawing; a stream with more keeps a uniform sample of them.
        dtype: of particles and rows.
        checkpoint: where to keep state and record; None to keep nothing.
        store: a file that keeps all rows; the estimators must draw from it (`fetch_from`), and capacity is not used.
        report: called with the new part of each record after every block, and whether that part is what was taken
            over from the checkpoint, which comes first.
        stop: asked after every block whether to stop there.

    Returns:
        The run of each estimator.

    Raises:
        ValueError: there is no estimator or no row at all, a size is not positive, or the store has fewer rows than
            the checkpoint.
        RuntimeError: JAX has 32-bit floats, in which a log evidence of many rows has no nats left.
    """
    if not jax.config.read("jax_enable_x64"):
        raise RuntimeError(
            "evidences are summed in float64: call auxmc.driver.runtime.configure('cpu'), or "
            "jax.config.update('jax_enable_x64', True), before the first array is made"
        )
    if not streams:
        raise ValueError("there is no estimator to run")
    if capacity < 1 or min((*chunk_sizes.first, chunk_sizes.later)) < 1:
        raise ValueError(f"capacity and chunk sizes must be positive, got {capacity} and {chunk_sizes}")
    if max((*chunk_sizes.first, 1)) > chunk_sizes.later:
        raise ValueError(f"the first chunks must not be larger than the later ones, got {chunk_sizes}")
    run = _Run(streams, n_columns, 1 if store is not None else capacity, dtype, checkpoint, store, report)
    run.resume()
    run.compile(chunk_sizes.later)
    return run.absorb_all(read, chunk_sizes, stop or (lambda: False))


class _Run:
    """A run between its blocks: states, records, and the block that is being absorbed."""

    def __init__(
        self,
        streams: Mapping[str, KeyedStream],
        n_columns: int,
        capacity: int,
        dtype: Any,
        checkpoint: Checkpoint | None,
        store: RowFile | None,
        report: Report | None,
    ) -> None:
        self.streams, self.n_columns, self.dtype = dict(streams), n_columns, dtype
        self.files = None if checkpoint is None else StreamFiles(checkpoint)
        self.store, self.report = store, report
        self.carries = {}
        for name, (stream, key) in self.streams.items():
            state = stream.init(jax.random.fold_in(key, 0), dtype)
            past = PastRows(jnp.zeros((capacity, n_columns), dtype), jnp.zeros((), jnp.int32))
            self.carries[name] = Carry(state, past)
        self.programs: dict[str, Any] = {}
        self.records: dict[str, list[NamedArrays]] = {name: [] for name in self.streams}
        self.pending: _Pending | None = None
        self.n_chunks = self.n_rows = self.n_resumed = self.n_saved_parts = 0
        self.run_s = self.saved_s = self.compile_s = self.begin = 0.0
        self.wanted = 1

    def resume(self) -> None:
        """Takes over what was saved, and brings the file of rows to the same state."""
        leaves, structure = jax.tree.flatten(self.carries)
        saved = None if self.files is None else self.files.load([np.asarray(leaf) for leaf in leaves])
        if saved is not None and not self._past_is_right(saved):
            saved = None
        if saved is not None:
            self.carries = jax.tree.unflatten(structure, [jnp.asarray(leaf) for leaf in saved.leaves])
            found = dict(zip(self.streams, saved.records, strict=True))
            for name, record in found.items():
                self.records[name].append(record)
            n_rows = saved.records[0]["n_rows"]
            self.n_chunks = self.n_resumed = len(n_rows)
            self.n_rows = int(n_rows[-1])
            self.run_s = self.saved_s = saved.run_s
            self.n_saved_parts = 1
            if self.report is not None:
                self.report(found, True)
        if self.store is not None:
            self.store.truncate(self.n_rows)

    def _past_is_right(self, saved: SavedStream) -> bool:
        """Whether the file of rows holds those that the state was saved with; what is behind them is cut off."""
        if self.store is None or self.files is None:
            return True
        n_rows = int(saved.records[0]["n_rows"][-1])
        if n_rows <= self.store.n_rows:
            self.store.truncate(n_rows)
            if self.store.checksum() == saved.past:
                return True
        self.files.discard("the file of past rows is damaged")
        return False

    def compile(self, size: int) -> None:
        """Compiles the program of each estimator."""
        start = time.perf_counter()
        for name, keyed in self.streams.items():
            self.programs[name] = compile_block(
                keyed, self.carries[name], size, self.n_columns, self.store is not None
            )
        self.compile_s = time.perf_counter() - start

    def absorb_all(self, read: ReadRows, sizes: ChunkSizes, stop: Callable[[], bool]) -> dict[str, StreamRun]:
        """Absorbs blocks of chunks until the rows end or the run is to stop."""
        self.begin = time.perf_counter() - self.run_s
        stopped = False
        provisional: dict[str, StreamState] = {}
        # While a block is being absorbed, the next one is read.
        blocks = packed_chunks(
            read(self.n_rows),
            sizes,
            self.n_chunks,
            self.n_columns,
            self.dtype,
            CHUNKS_IN_BLOCK,
            lambda: self.wanted,
        )
        try:
            for block in blocks:
                self._finish()
                stopped = self.n_chunks > 0 and stop()
                if stopped:
                    break
                if block.partial:
                    provisional = self._absorb_apart(block)
                    break
                if self.run_s - self.saved_s > _SAVE_EVERY_S:
                    self._save()
                self._start(block)
        finally:
            # Also when a row cannot be read: whole chunks before it count.
            self._finish()
            self._save()
        if not any(self.records.values()):
            raise ValueError("there are no rows")
        return {
            name: StreamRun(
                _joined(parts),
                bool(provisional),
                provisional.get(name, self.carries[name].state),
                self.compile_s,
                self.n_resumed,
                stopped,
            )
            for name, parts in self.records.items()
        }

    def _start(self, block: PackedChunks) -> None:
        """Begins to absorb a block."""
        if self.store is not None:
            rows = block.joined()
            if self.n_rows + len(rows) > _MOST_STORED:
                raise ValueError(
                    f"a file of rows can serve {_MOST_STORED} rows at most; keep a sample of the past in memory instead"
                )
            self.store.append(rows)
        started = time.perf_counter()
        found = {}
        for name, program in self.programs.items():
            self.carries[name], found[name] = program(
                self.carries[name], *block_arguments(block, self.n_chunks)
            )
        self.pending = _Pending(found, block, started)

    def _finish(self) -> None:
        """Waits for the block that is being absorbed, and takes its record."""
        if self.pending is None:
            return
        found, block, started = self.pending
        records = {name: as_numpy(record, block.n_chunks) for name, record in found.items()}
        now = time.perf_counter()
        self.pending = None
        self.n_chunks += block.n_chunks
        self.n_rows += int(block.n_valid.sum())
        self._take(records, now)
        allowed = int(block.n_chunks * _BLOCK_S / max(now - started, 1e-9))
        self.wanted = max(1, min(allowed, 4 * self.wanted, CHUNKS_IN_BLOCK))

    def _absorb_apart(self, block: PackedChunks) -> dict[str, StreamState]:
        """Absorbs a chunk for the record, but not for what is carried on; the states after it."""
        records, states = {}, {}
        for name, program in self.programs.items():
            # A copy: the program takes its argument over.
            copied = jax.tree.map(jnp.array, self.carries[name])
            after, found = program(copied, *block_arguments(block, self.n_chunks))
            records[name], states[name] = as_numpy(found, block.n_chunks), after.state
        self._save()
        self._take(records, time.perf_counter())
        self.n_saved_parts = len(next(iter(self.records.values())))
        return states

    def _take(self, records: dict[str, NamedArrays], now: float) -> None:
        self.run_s = now - self.begin
        for name, record in records.items():
            record["seconds"] = np.full(len(record["n_rows"]), self.run_s)
            self.records[name].append(record)
        if self.report is not None:
            self.report(records, False)
            self.begin += time.perf_counter() - now

    def _save(self) -> None:
        parts = {name: found[self.n_saved_parts :] for name, found in self.records.items()}
        if self.files is None or not any(parts.values()):
            return
        if self.store is not None:
            self.store.save()
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(self.carries)]
        past = None if self.store is None else self.store.checksum()
        self.files.save([_joined(found) for found in parts.values()], leaves, self.run_s, past)
        self.n_saved_parts = len(next(iter(self.records.values())))
        self.saved_s = self.run_s


class _Pending(NamedTuple):
    records: dict[str, ChunkRecord]
    block: PackedChunks
    started: float


def _joined(parts: list[NamedArrays]) -> NamedArrays:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
