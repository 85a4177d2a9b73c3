"""Streaming estimators over rows that need not fit in memory, with a running record that can be resumed."""

import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.data.row_store import RowStore
from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.row_chunks import ChunkSizes, cut_chunks
from auxmc.driver.stream_program import CHUNKS_IN_BLOCK, Block, Carry, KeyedStream, compile_block, pack
from auxmc.kernels.streams.contract import ChunkRecord, PastRows, Stream, StreamState
from auxmc.numerics.array_types import FloatArray, NamedArrays

# A block is as many chunks as take about this long, so that a report comes and a stop is heeded soon.
_BLOCK_S = 0.5
# State, past rows and record are written no more often than this, and for no more than this fraction of the time.
_SAVE_EVERY_S, _SAVE_FRACTION = 5.0, 0.05
# Numbers of past rows are int32.
_MAX_STORED = 2**31 - 1

ReadRows = Callable[[int, int], Iterator[FloatArray]]
Report = Callable[[dict[str, NamedArrays], bool], None]


class StreamRun(NamedTuple):
    """Running record of a stream."""

    # An array [chunk] for each field of ChunkRecord, and `seconds`: time up to the end of the chunk's block, reading of
    # rows included, compilation and reports not.
    record: NamedArrays
    # Whether the last chunk was shorter than its size because the rows ended there. It is part of the record and of
    # `state`, but not of what a resumed stream continues from.
    provisional: bool
    state: StreamState  # after all rows of the record
    compile_s: float  # seconds of tracing and compiling, of all streams of the run
    n_resumed: int  # chunks taken over from a checkpoint


def run_stream(stream: Stream, read: ReadRows, key: Array, n_columns: int, **options: Any) -> StreamRun:
    """Absorbs all rows by one estimator with its key; other arguments as for `run_streams`."""
    return run_streams({"": KeyedStream(stream, key)}, read, n_columns, **options)[""]


def run_streams(
    streams: Mapping[str, KeyedStream],
    read: ReadRows,
    n_columns: int,
    *,
    chunk_sizes: ChunkSizes = ChunkSizes(),  # noqa: B008
    capacity: int = 100_000,
    dtype: Any = jnp.float32,
    checkpoint: Checkpoint | None = None,
    store: RowStore | None = None,
    report: Report | None = None,
    stop: Callable[[], bool] | None = None,
) -> dict[str, StreamRun]:
    """Absorbs all rows by several estimators, on one reading of the rows.

    Memory does not grow with the number of rows, but for the record: about a hundred bytes a chunk and estimator.
    Rows are read while the estimators absorb those before. State and record are saved every few seconds and at the
    end; the same call resumes there, also when rows have been appended meanwhile, and gives the record of an
    uninterrupted run. If reading fails, what has been absorbed before is kept. The numbers of an estimator do not
    depend on which others run next to it.

    Args:
        streams: estimators by name.
        read: maps a number of rows to leave out, and their checksum (CRC-32; 0 where it is not known), to an iterator
            over blocks of rows [row, column].
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
        ValueError: If there is no estimator or no row, or a size is not positive.
        RuntimeError: If JAX has 32-bit floats, in which a log evidence of many rows has no nats left.
    """
    if not jax.config.read("jax_enable_x64"):
        raise RuntimeError("evidences are summed in float64: call auxmc.enable_x64() before making arrays")
    if not streams:
        raise ValueError("there is no estimator to run")
    if capacity < 1 or min((*chunk_sizes.first, chunk_sizes.later)) < 1:
        raise ValueError(f"capacity and chunk sizes must be positive, got {capacity} and {chunk_sizes}")
    if max((*chunk_sizes.first, 1)) > chunk_sizes.later:
        raise ValueError(f"the first chunks must not be larger than the later ones, got {chunk_sizes}")
    size, n_past = chunk_sizes.later, 1 if store is not None else capacity
    run = _Run(streams, np.zeros((n_past, n_columns), dtype), checkpoint, store, report)
    run.resume()
    run.compile(size)
    rows = read(run.n_rows, run.checksum)
    chunks = cut_chunks(rows, chunk_sizes, run.n_chunks, n_columns, lambda: run.n_wanted)
    blocks = (pack(found, size, dtype) for found in chunks)
    return run.absorb_all(blocks, chunk_sizes, stop or (lambda: False))


class _Run:
    """A run between its blocks: states, records, and the block that is being absorbed."""

    def __init__(
        self,
        streams: Mapping[str, KeyedStream],
        past: np.ndarray,
        checkpoint: Checkpoint | None,
        store: RowStore | None,
        report: Report | None,
    ) -> None:
        self.streams, self.checkpoint, self.store = streams, checkpoint, store
        self.report = report or (lambda found, is_resumed: None)
        self.carries = {
            name: Carry(
                stream.init(jax.random.fold_in(key, 0), past.dtype),
                PastRows(jnp.array(past), jnp.zeros((), jnp.int32)),
            )
            for name, (stream, key) in streams.items()
        }
        self.programs: dict[str, Any] = {}
        self.records: dict[str, list[NamedArrays]] = {name: [] for name in streams}
        self.pending: tuple[Block, dict[str, ChunkRecord], float] | None = None
        self.n_chunks = self.n_rows = self.n_resumed = self.n_saved = self.checksum = 0
        self.begin_s = self.run_s = self.saved_s = self.saving_s = self.compile_s = 0.0
        self.n_wanted = 1

    def resume(self) -> None:
        """Takes over what was saved, and brings the file of rows to the same state."""
        if self.checkpoint is not None and (saved := self.checkpoint.load(self._leaves(0))) is not None:
            found = _by_stream(next(self.checkpoint.parts(1)), self.streams)
            n_rows = next(iter(found.values()))["n_rows"]
            if self.store is None or self.store.restore(int(n_rows[-1]), int(saved.leaves[-1])):
                states = [jnp.asarray(leaf) for leaf in saved.leaves[:-1]]
                self.carries = jax.tree.unflatten(jax.tree.structure(self.carries), states)
                self.records = {name: [record] for name, record in found.items()}
                self.n_chunks = self.n_resumed = self.n_saved = len(n_rows)
                self.n_rows, self.run_s, self.saved_s = int(n_rows[-1]), saved.run_s, saved.run_s
                self.checksum = int(saved.leaves[-1])
                self.report(found, True)
            else:
                self.checkpoint.discard()
                text = "the file of past rows is damaged: the stream is absorbed again from its beginning"
                print(text, file=sys.stderr, flush=True)
        if self.store is not None:
            self.store.truncate(self.n_rows)

    def compile(self, size: int) -> None:
        """Compiles the program of each estimator, for chunks of that size."""
        start = time.perf_counter()
        for name, keyed in self.streams.items():
            self.programs[name] = compile_block(keyed, self.carries[name], size, self.store is not None)
        self.compile_s = time.perf_counter() - start

    def absorb_all(
        self, blocks: Iterator[Block], sizes: ChunkSizes, stop: Callable[[], bool]
    ) -> dict[str, StreamRun]:
        """Absorbs blocks of chunks until they end or the run is to stop."""
        self.begin_s = time.perf_counter() - self.run_s
        last: dict[str, StreamState] = {}
        try:
            # While a block is being absorbed, the next one is read.
            for block in blocks:
                self._finish()
                if self.n_chunks > 0 and stop():
                    break
                if block.n_valid[0] < sizes.of(self.n_chunks):
                    last = self._absorb_short(block)
                    break
                if self.run_s - self.saved_s > max(_SAVE_EVERY_S, self.saving_s / _SAVE_FRACTION):
                    self._save()
                self._start(block)
        finally:
            # Also when a row cannot be read: whole chunks before it count.
            self._finish()
            self._save()
        if not any(self.records.values()):
            raise ValueError("there are no rows")
        states = {name: carry.state for name, carry in self.carries.items()} | last
        return {
            name: StreamRun(join_records(parts), bool(last), states[name], self.compile_s, self.n_resumed)
            for name, parts in self.records.items()
        }

    def _start(self, block: Block) -> None:
        """Begins to absorb a block."""
        if self.store is not None:
            rows = np.concatenate([block.rows[i, : block.n_valid[i]] for i in range(block.n_chunks)])
            if self.n_rows + len(rows) > _MAX_STORED:
                raise ValueError(
                    f"a file of rows can serve {_MAX_STORED} rows at most; keep a sample of the past in memory instead"
                )
            self.store.append(rows)
        start = time.perf_counter()
        found = {}
        for name in self.streams:
            self.carries[name], found[name] = self._call(name, self.carries[name], block)
        self.pending = block, found, start

    def _finish(self) -> None:
        """Waits for the block that is being absorbed, and takes its record."""
        if self.pending is None:
            return
        block, found, start = self.pending
        records = _as_numpy(found, block.n_chunks)
        now = time.perf_counter()
        self.pending = None
        self.n_chunks += block.n_chunks
        self.n_rows += int(block.n_valid.sum())
        for rows, n in zip(block.rows, block.n_valid[: block.n_chunks], strict=False):
            self.checksum = zlib.crc32(rows[:n], self.checksum)
        self._take(records, now)
        allowed = int(block.n_chunks * _BLOCK_S / max(now - start, 1e-9))
        self.n_wanted = max(1, min(allowed, 4 * self.n_wanted, CHUNKS_IN_BLOCK))

    def _absorb_short(self, block: Block) -> dict[str, StreamState]:
        """Absorbs a chunk for the record, but not for what is carried on; returns the states after it."""
        self._save()
        found, states = {}, {}
        for name in self.streams:
            # A copy: the program takes its argument over.
            after, found[name] = self._call(name, jax.tree.map(jnp.array, self.carries[name]), block)
            states[name] = after.state
        self._take(_as_numpy(found, 1), time.perf_counter())
        return states

    def _call(self, name: str, carry: Carry, block: Block) -> Any:
        counts = (jnp.asarray(number, jnp.int32) for number in (self.n_chunks, block.n_chunks))
        return self.programs[name](carry, jnp.asarray(block.rows), jnp.asarray(block.n_valid), *counts)

    def _take(self, records: dict[str, NamedArrays], now: float) -> None:
        self.run_s = now - self.begin_s
        for name, record in records.items():
            record["seconds"] = np.full(len(record["n_rows"]), self.run_s)
            self.records[name].append(record)
        self.report(records, False)
        self.begin_s += time.perf_counter() - now

    def _save(self) -> None:
        if self.checkpoint is None or self.n_saved == self.n_chunks:
            return
        start = time.perf_counter()
        past = self.checksum
        if self.store is not None:
            self.store.save()
            past = self.store.checksum()
        self.records = {name: [join_records(parts)] for name, parts in self.records.items()}
        record = {
            f"{number}.{field}": values
            for number, (one,) in enumerate(self.records.values())
            for field, values in one.items()
        }
        self.checkpoint.save(0, 0, record, self._leaves(past), self.run_s)
        self.n_saved, self.saved_s, self.saving_s = self.n_chunks, self.run_s, time.perf_counter() - start

    def _leaves(self, past: int) -> list[np.ndarray]:
        """State of all estimators, and the checksum of the file of past rows, or of all rows where there is none."""
        return [*map(np.asarray, jax.tree.leaves(self.carries)), np.asarray(past, np.uint32)]


def _by_stream(record: NamedArrays, names: Mapping[str, Any]) -> dict[str, NamedArrays]:
    found: dict[str, NamedArrays] = {name: {} for name in names}
    for label, values in record.items():
        number, _, field = label.partition(".")
        found[list(names)[int(number)]][field] = values
    return found


def _as_numpy(found: Mapping[str, ChunkRecord], n_chunks: int) -> dict[str, NamedArrays]:
    """Returns the records of a block's chunks, when they are there."""
    # Copies: an array of JAX would be kept whole for the sake of its first chunks.
    return {
        name: {field: np.array(values)[:n_chunks].copy() for field, values in record._asdict().items()}
        for name, record in found.items()
    }


def join_records(parts: Sequence[NamedArrays]) -> NamedArrays:
    """Returns parts of a record, one after the other, as one."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
