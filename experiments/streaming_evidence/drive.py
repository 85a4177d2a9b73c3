"""Runs a streaming estimator several times over rows in memory, with one compiled program."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from auxmc.driver.chains import RunContext
from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.progress import Progress
from auxmc.kernels.streams.contract import Chunk, PastRows, Stream
from auxmc.numerics.array_types import FloatArray, NamedArrays

_CHUNKS_IN_BLOCK = 16

Extras = Callable[[Any], dict[str, Array]]


class Runs(NamedTuple):
    """Records of independent runs.

    Attributes:
        record: the fields of ChunkRecord, the extras, and `seconds`: processor time up to the end of a chunk
            without compiling; each [repeat, chunk].
        last: last state of each run, each leaf [repeat, ...].
        compile_s: seconds of tracing and compiling.
    """

    record: NamedArrays
    last: Any
    compile_s: float


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
    """Absorbs rows once for each key.

    Random numbers and past rows are those of `auxmc.driver.streams.run_stream` with room for all rows; there every run
    compiles its own program, and nothing of the particles is recorded.

    Args:
        stream: the estimator.
        rows: of each run, all of one shape [row, column]; may be the same array.
        ends: rows absorbed at the end of each chunk, increasing; the last one at most the number of rows.
        keys: of the runs.
        context: checkpoints and progress; a run that has ended is not made again.
        names: what is run, for both of these.
        extras: maps a state to further quantities to record at the end of a chunk.
        dtype: of particles and rows.
    """
    n_chunks = len(ends)
    sizes = np.diff(ends, prepend=0)
    # The last chunk may be read beyond the rows, and the last block has chunks without rows: neither counts.
    tail = np.zeros((max(sizes), rows[0].shape[1]))
    distinct = {id(own): own for own in rows}
    on_device = {
        i: jnp.asarray(np.concatenate([own[: ends[-1]], tail]), dtype) for i, own in distinct.items()
    }
    data = [on_device[id(own)] for own in rows]
    padded = [np.pad(part, (0, -n_chunks % _CHUNKS_IN_BLOCK)) for part in (np.subtract(ends, sizes), sizes)]
    of_chunks = [jnp.asarray(part, jnp.int32) for part in (*padded, np.arange(padded[0].size))]
    blocks = [
        [part[first : first + _CHUNKS_IN_BLOCK] for part in of_chunks]
        for first in range(0, n_chunks, _CHUNKS_IN_BLOCK)
    ]

    start = time.perf_counter()
    program = _compile(stream, extras, data[0], len(tail), dtype)
    init = jax.jit(lambda key: stream.init(jax.random.fold_in(key, 0), dtype))
    like = jax.block_until_ready(init(keys[0]))
    compile_s = time.perf_counter() - start
    progress = Progress(f"{context.label} [{names}]")
    progress.start(len(keys) * n_chunks, 0, compile_s)
    records, lasts, run_s = [], [], 0.0
    for repeat, (key, own) in enumerate(zip(keys, data, strict=True)):
        checkpoint = Checkpoint(context.checkpoints / names / f"repeat-{repeat}", context.identity)
        leaves, structure = jax.tree.flatten(like)
        saved = checkpoint.load(n_chunks, [np.asarray(leaf) for leaf in leaves])
        if saved is not None:
            record = {name: np.array(values) for name, values in checkpoint.parts(1)[0].items()}
            state = jax.tree.unflatten(structure, saved.leaves)
            context.n_resumed += n_chunks
        else:
            state, parts, seconds = init(key), [], 0.0
            for block in blocks:
                begin = time.process_time()
                state, found = program(key, state, own, *block)
                part = {name: np.asarray(values) for name, values in found.items()}
                elapsed = time.process_time() - begin
                # Within a block time goes as the annealing steps, nearly all of the work.
                steps = np.cumsum(part["n_annealing_steps"], dtype=float)
                part["seconds"] = seconds + elapsed * steps / max(steps[-1], 1.0)
                seconds += elapsed
                parts.append(part)
                done = min(len(parts) * _CHUNKS_IN_BLOCK, n_chunks)
                progress.advance(repeat * n_chunks + done, run_s + seconds)
            record = {name: np.concatenate([part[name] for part in parts])[:n_chunks] for name in parts[0]}
            leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(state)]
            checkpoint.save(0, n_chunks, record, leaves, seconds)
        run_s += float(record["seconds"][-1])
        records.append(record)
        lasts.append(state)
    joined = {name: np.stack([record[name] for record in records]) for name in records[0]}
    last = jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *lasts)
    jax.clear_caches()
    return Runs(joined, last, compile_s)


def _compile(stream: Stream, extras: Extras, data: Array, size: int, dtype: Any) -> Any:
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
                after, record = stream.absorb(
                    jax.random.fold_in(chunk_key, number), state, Chunk(taken, n_valid), past
                )
                return after, {**record._asdict(), **extras(after)}

            shapes = jax.eval_shape(absorb)[1]
            nothing = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
            return lax.cond(n_valid > 0, absorb, lambda: (state, nothing))

        return lax.scan(one, state, (starts, counts, numbers))

    key = jax.random.key(0)
    state = jax.eval_shape(lambda k: stream.init(k, dtype), key)
    counts = jax.ShapeDtypeStruct((_CHUNKS_IN_BLOCK,), jnp.int32)
    shape = jax.ShapeDtypeStruct(data.shape, data.dtype)
    return jax.jit(block).lower(key, state, shape, counts, counts, counts).compile()
