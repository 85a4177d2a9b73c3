"""Runs a streaming estimator several times over rows in memory, with one compiled program."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.progress import Progress
from auxmc.kernels.streams.contract import Chunk, PastRows, Stream
from auxmc.numerics.array_types import FloatArray, IntegerArray, NamedArrays
from auxmc_pipeline.chains import RunContext

_CHUNKS_IN_BLOCK = 16
_LEAF, _COMPILE_S = "last.", "seconds.compile"  # in a unit: leaves of the last state, seconds of compiling
Extras = Callable[[Any], dict[str, Array]]


class Runs(NamedTuple):
    """Records of independent runs."""

    record: NamedArrays  # of ChunkRecord, extras, `seconds` up to its end without compiling [repeat, chunk]
    last: Any  # last state of each run, each leaf [repeat, ...]
    compile_s: float  # seconds of tracing and compiling


def run_repeats(
    stream: Stream,
    rows: Sequence[FloatArray],
    ends: list[int],
    keys: Sequence[Array],
    context: RunContext,
    names: str,
    *,
    extras: Extras = lambda _: {},
    dtype: Any = jnp.float32,
) -> Runs:
    """Absorbs rows once for each key; every run is a unit of the case's work.

    Random numbers and past rows are those of `auxmc.driver.streams.run_stream` with room for all rows; there every run
    compiles its own program, and nothing of the particles is recorded. Rows [row, column] have one shape; `extras` maps
    a state to more to record at the `ends` of chunks. Raises UnitsMissing if some runs are the work of other jobs.
    """
    like, structure = jax.tree.flatten(jax.eval_shape(lambda key: stream.init(key, dtype), keys[0]))
    sizes = np.diff(ends, prepend=0)
    # The last chunk may be read beyond the rows, and the last block has chunks without rows: neither counts.
    tail = np.zeros((max(sizes), rows[0].shape[1]))
    blocks = _blocks(ends, sizes)
    programs: list[_Programs] = []
    on_device: dict[int, Array] = {}

    def make(repeat: int) -> NamedArrays:
        checkpoint = Checkpoint(context.checkpoints / names / f"repeat-{repeat}", context.identity)
        saved = checkpoint.load([np.empty(leaf.shape, leaf.dtype) for leaf in like])
        if saved is not None:
            context.n_resumed += len(ends)
            return _unit(next(checkpoint.parts(1)), saved.leaves, 0.0)
        own, compile_s = rows[repeat], 0.0
        if id(own) not in on_device:
            on_device[id(own)] = jnp.asarray(np.concatenate([own[: ends[-1]], tail]), dtype)
        data = on_device[id(own)]
        if not programs:
            programs.append(_compile(stream, extras, data, len(tail), dtype))
            compile_s = programs[0].compile_s
        progress = Progress(f"{context.label} [{names}, {repeat + 1} of {len(keys)}]")
        progress.start(len(ends), 0, compile_s)
        state, record = _run(programs[0], keys[repeat], data, blocks, len(ends), progress)
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(state)]
        checkpoint.save(0, len(ends), record, leaves, float(record["seconds"][-1]))
        return _unit(record, leaves, compile_s)

    try:
        units = context.units.stage(names, len(keys), make)
    finally:
        jax.clear_caches()
    joined = {name: np.stack([unit[name] for unit in units]) for name in units[0]}
    last = jax.tree.unflatten(structure, [joined.pop(f"{_LEAF}{i}") for i in range(len(like))])
    compile_s = float(joined.pop(_COMPILE_S).sum())
    return Runs(joined, last, compile_s)


class _Programs(NamedTuple):
    """Compiled: maps a key to the first state; absorbs a block of chunks."""

    init: Callable[[Array], Any]
    block: Any
    compile_s: float


def _blocks(ends: list[int], sizes: IntegerArray) -> list[list[Array]]:
    n_chunks = len(ends)
    padded = [np.pad(part, (0, -n_chunks % _CHUNKS_IN_BLOCK)) for part in (np.subtract(ends, sizes), sizes)]
    of_chunks = [jnp.asarray(part, jnp.int32) for part in (*padded, np.arange(padded[0].size))]
    return [
        [part[first : first + _CHUNKS_IN_BLOCK] for part in of_chunks]
        for first in range(0, n_chunks, _CHUNKS_IN_BLOCK)
    ]


def _run(
    programs: _Programs, key: Array, data: Array, blocks: list[list[Array]], n_chunks: int, progress: Progress
) -> tuple[Any, NamedArrays]:
    state, parts, seconds = programs.init(key), [], 0.0
    for block in blocks:
        begin = time.process_time()
        state, found = programs.block(key, state, data, *block)
        part = {name: np.asarray(values) for name, values in found.items()}
        elapsed = time.process_time() - begin
        # Within a block time goes as the annealing steps, nearly all of the work.
        steps = np.cumsum(part["n_annealing_steps"], dtype=float)
        part["seconds"] = seconds + elapsed * steps / max(steps[-1], 1.0)
        seconds += elapsed
        parts.append(part)
        progress.advance(min(len(parts) * _CHUNKS_IN_BLOCK, n_chunks), seconds)
    return state, {name: np.concatenate([part[name] for part in parts])[:n_chunks] for name in parts[0]}


def _unit(record: NamedArrays, leaves: list[np.ndarray], compile_s: float) -> NamedArrays:
    """What a run leaves behind; names with a dot are none of the record."""
    state = {f"{_LEAF}{i}": leaf for i, leaf in enumerate(leaves)}
    return {**record, **state, _COMPILE_S: np.asarray(compile_s)}


def _compile(stream: Stream, extras: Extras, data: Array, size: int, dtype: Any) -> _Programs:
    start = time.perf_counter()
    n_columns = data.shape[1]

    def block(
        key: Array, state: Any, data: Array, starts: Array, counts: Array, numbers: Array
    ) -> tuple[Any, dict[str, Array]]:
        chunk_key = jax.random.fold_in(key, 1)

        def one(state: Any, given: tuple[Array, Array, Array]) -> tuple[Any, dict[str, Array]]:
            begin, n_valid, number = given

            def absorb() -> tuple[Any, dict[str, Array]]:
                taken = lax.dynamic_slice(data, (begin, jnp.zeros_like(begin)), (size, n_columns))
                past = PastRows(data, begin)
                own_key = jax.random.fold_in(chunk_key, number)
                after, record = stream.absorb(own_key, state, Chunk(taken, n_valid), past)
                return after, {**record._asdict(), **extras(after)}

            shapes = jax.eval_shape(absorb)[1]
            nothing = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
            return lax.cond(n_valid > 0, absorb, lambda: (state, nothing))

        return lax.scan(one, state, (starts, counts, numbers))

    key = jax.random.key(0)
    state = jax.eval_shape(lambda k: stream.init(k, dtype), key)
    counts = jax.ShapeDtypeStruct((_CHUNKS_IN_BLOCK,), jnp.int32)
    shape = jax.ShapeDtypeStruct(data.shape, data.dtype)
    program = jax.jit(block).lower(key, state, shape, counts, counts, counts).compile()
    init = jax.jit(lambda key: stream.init(jax.random.fold_in(key, 0), dtype))
    jax.block_until_ready(init(key))
    return _Programs(init, program, time.perf_counter() - start)
