"""The driver: runs any kernel in blocks of iterations, with progress, checkpoints and bit-for-bit resume."""

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding

from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.progress import Progress, timed_blocks
from auxmc.driver.runtime import compiler_options
from auxmc.kernels.base import Kernel
from auxmc.numerics.digests import program_digest

# Random numbers of this many bytes are drawn at a time: enough to vectorise, small enough for the cache.
_NOISE_BYTES = 2**21
_MAX_CHUNK = 512
# Timed blocks are written together, once they took this long: a long chain would be thousands of files otherwise.
_SAVE_EVERY_S = 5.0


class Sampler(NamedTuple):
    """What a study asks the driver to run in each lane; a lane is one chain at one sweep point."""

    build: Callable[[Any], Kernel]  # maps the swept numbers of a lane (a pytree of scalars) to its kernel
    initial: Callable[[Array, Any], Any]  # maps (key, swept numbers) to the initial state of the lane
    # Maps (state, info) to the quantities to keep of an iteration, a dict of arrays.
    record: Callable[[Any, Any], dict[str, Array]]


class Samples(NamedTuple):
    """Recorded quantities [lane, draw, ...], seconds of compiling and running, and iterations taken from a checkpoint.

    Running is that of all lanes together, device synchronised.
    """

    draws: dict[str, np.ndarray]
    compile_s: float
    run_s: float
    n_resumed: int


class At(NamedTuple):
    """Where a run is: states of the lanes, iterations made, and seconds that they took."""

    states: Any
    n_done: int
    run_s: float


@dataclasses.dataclass
class Program:
    """Traced program of a sampler for a number of lanes: initial states, and blocks of iterations."""

    start: Any  # maps (lane keys, lane parameters) to states
    # Maps (lane keys, lane parameters, states, number of the first iteration, number of iterations) to (states,
    # record); the first iterations of the record are filled.
    run: Any
    n_draws: int  # iterations of each lane
    block: int  # iterations of a block at most
    # Whether blocks end where they take more than about half a second; each is a whole one otherwise.
    timed: bool
    record: dict[str, jax.ShapeDtypeStruct]  # shapes of what is kept of an iteration [lane, ...]
    compile_s: float  # seconds spent on tracing and compiling so far

    def compile(self) -> "Program":
        """Itself, with compiled programs: threads may run them at the same time."""
        clock = time.perf_counter()
        start, run = self.start.lower(), self.run.lower()
        self.initial_states: Callable[[Array, Any], Any] = start.compile(compiler_options(once=True))
        self.run_block: Callable[..., tuple[Any, dict[str, Array]]] = run.compile(compiler_options())
        self.compile_s += time.perf_counter() - clock
        return self

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the programs of the initial states and of a block, with all constants in them."""
        return program_digest(self.start, self.run)

    def n_bytes(self) -> int:
        """Memory of all draws, in bytes."""
        return self.n_draws * sum(math.prod(one.shape) * one.dtype.itemsize for one in self.record.values())


def trace_sampler(
    sampler: Sampler,
    lane_parameters: Any,
    lane_keys: Array,
    *,
    n_draws: int,
    block_size: int,
    vectorise: bool = True,
    timed: bool = False,
    thin: int = 1,
) -> Program:
    """Traces a sampler for lanes like the ones given.

    Iteration i of a lane uses the key `fold_in(lane key, i + 1)`, the initial state `fold_in(lane key, 0)`: the draws
    do not depend on the size of the blocks or on where a run was interrupted.

    Args:
        sampler: kernel, initial state and recorded quantities of a lane.
        lane_parameters: pytree of arrays [lane], the swept numbers.
        lane_keys: typed keys [lane].
        n_draws: draws to keep.
        block_size: draws between two checkpoints, about; blocks have one length, so that one program serves all.
        vectorise: run the lanes side by side with `vmap`; otherwise one after the other with `lax.map`, which is faster
            where a step holds matrix factorisations or loops of very unequal length.
        timed: end blocks where they take more than about half a second.
        thin: a draw is the last of so many iterations.
    """
    if n_draws < 1 or block_size < 1:
        raise ValueError(f"n_draws and block_size must be at least 1, got {n_draws} and {block_size}")
    n_lanes = lane_keys.shape[0]
    one_lane = jax.tree.map(lambda a: a[0], (lane_keys, lane_parameters))
    noise = jax.eval_shape(lambda key, p: sampler.build(p).draw(key), *one_lane)
    n_bytes = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(noise))
    n_bytes *= thin * (n_lanes if vectorise else 1)
    # Chunks are iterations whose random numbers are drawn together.
    wanted = math.ceil(n_draws / max(1, round(n_draws / block_size)))
    n_chunks = math.ceil(wanted / max(1, min(_MAX_CHUNK, wanted, _NOISE_BYTES // max(n_bytes, 1))))
    chunk = math.ceil(wanted / n_chunks)
    block = chunk * n_chunks

    def lane_block(key: Array, parameters: Any, state: Any, start: Array, count: Array) -> tuple[Any, Any]:
        kernel = sampler.build(parameters)

        def draw(i: Array) -> Any:
            return kernel.draw(jax.random.fold_in(key, i))

        def draw_thinned(i: Array) -> Any:
            first = (i - jnp.uint32(1)) * jnp.uint32(thin) + jnp.uint32(1)
            return jax.vmap(draw)(first + jnp.arange(thin, dtype=jnp.uint32))

        def noise_of(first: Array) -> Any:
            iterations = first + jnp.arange(chunk, dtype=jnp.uint32)
            return jax.vmap(draw if thin == 1 else draw_thinned)(iterations)

        def iterate(state: Any, noise: Any) -> tuple[Any, dict[str, Array]]:
            if thin > 1:
                skipped, noise = jax.tree.map(lambda a: a[:-1], noise), jax.tree.map(lambda a: a[-1], noise)
                state = jax.lax.scan(lambda s, one: (kernel.apply(one, s)[0], None), state, skipped)[0]
            state, info = kernel.apply(noise, state)
            return state, sampler.record(state, info)

        if not timed:
            # Scans, whose last bits differ from those of the loops below where lanes run side by side.
            firsts = start + chunk * jnp.arange(n_chunks, dtype=jnp.uint32)
            state, record = jax.lax.scan(lambda s, i: jax.lax.scan(iterate, s, noise_of(i)), state, firsts)
            return state, jax.tree.map(lambda a: a.reshape(block, *a.shape[2:]), record)

        shapes = jax.eval_shape(lambda s: sampler.record(*kernel.apply(kernel.draw(key), s)), state)
        empty = jax.tree.map(lambda one: jnp.zeros((block, *one.shape), one.dtype), shapes)

        def run_chunk(number: Array, loop: tuple[Any, Any]) -> tuple[Any, Any]:
            before = number * jnp.uint32(chunk)
            noise = noise_of(start + before)

            def put(i: Array, loop: tuple[Any, Any]) -> tuple[Any, Any]:
                own = jax.tree.map(lambda a: jax.lax.dynamic_index_in_dim(a, i, keepdims=False), noise)
                state, new = iterate(loop[0], own)
                place = lambda a, one: jax.lax.dynamic_update_index_in_dim(a, one, before + i, 0)  # noqa: E731
                return state, jax.tree.map(place, loop[1], new)

            if chunk == 1:
                return put(jnp.uint32(0), loop)
            return jax.lax.fori_loop(jnp.uint32(0), jnp.minimum(jnp.uint32(chunk), count - before), put, loop)

        n_now = (count + jnp.uint32(chunk - 1)) // jnp.uint32(chunk)
        return jax.lax.fori_loop(jnp.uint32(0), n_now, run_chunk, (state, empty))

    def over_lanes(function: Callable[..., Any]) -> Callable[..., Any]:
        if vectorise:
            return jax.vmap(function)
        return lambda *args: jax.lax.map(lambda lane: function(*lane), args)

    def initial_states(keys: Array, parameters: Any) -> Any:
        return over_lanes(lambda key, p: sampler.initial(jax.random.fold_in(key, 0), p))(keys, parameters)

    def run_block(keys: Array, parameters: Any, states: Any, start: Array, count: Array) -> tuple[Any, Any]:
        return over_lanes(lambda k, p, state: lane_block(k, p, state, start, count))(keys, parameters, states)

    clock = time.perf_counter()
    sharding = lane_sharding(lane_keys)
    begin = jax.jit(initial_states, out_shardings=sharding).trace(lane_keys, lane_parameters)
    states = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding), begin.out_info)
    number = jnp.uint32(1)
    run = jax.jit(run_block, out_shardings=sharding).trace(lane_keys, lane_parameters, states, number, number)
    record = {
        name: jax.ShapeDtypeStruct((n_lanes, *one.shape[2:]), one.dtype)
        for name, one in run.out_info[1].items()
    }
    return Program(begin, run, n_draws, block, timed, record, time.perf_counter() - clock)


def run_blocks(
    program: Program, lane_parameters: Any, lane_keys: Array, at: At, n_draws: int
) -> Iterator[tuple[At, dict[str, np.ndarray]]]:
    """Yields where each block of a compiled program ends, and its draws, from `at` to `n_draws` iterations."""
    block = program.block
    fixed = ((first, min(block, n_draws - first)) for first in range(at.n_done, n_draws, block))
    for first, n in timed_blocks(at.n_done, n_draws, block) if program.timed else fixed:
        clock = time.perf_counter()
        states, record = jax.block_until_ready(
            program.run_block(lane_keys, lane_parameters, at.states, jnp.uint32(1 + first), jnp.uint32(n))
        )
        at = At(states, first + n, at.run_s + time.perf_counter() - clock)
        yield at, {name: np.asarray(value)[:, :n] for name, value in record.items()}
        del record  # before the next block makes another


def run_program(
    program: Program,
    lane_parameters: Any,
    lane_keys: Array,
    *,
    checkpoint: Checkpoint | None = None,
    progress: Progress | None = None,
) -> Samples:
    """Runs a compiled sampler; threads may run one program at the same time, each with lanes of its own.

    Finished blocks are kept in the checkpoint, or in memory without one; progress is told of each.
    """
    n_draws, block = program.n_draws, program.block
    # Whole blocks, of which the last may go beyond the end: its state belongs to all of its draws.
    n_room = n_draws if program.timed else block * math.ceil(n_draws / block)
    clock = time.perf_counter()
    states = jax.block_until_ready(program.initial_states(lane_keys, lane_parameters))
    compile_s = program.compile_s + time.perf_counter() - clock
    draws = {
        name: np.empty((one.shape[0], n_room, *one.shape[1:]), one.dtype)
        for name, one in program.record.items()
    }
    at, n_files = At(states, 0, 0.0), 0
    leaves, structure = jax.tree.flatten(states)
    if checkpoint is not None:
        saved = checkpoint.load([np.asarray(leaf) for leaf in leaves], None if program.timed else block)
        if saved is not None:
            # Where the lanes are divided among devices, so are these.
            placed = jax.tree.map(lambda old, new: jax.device_put(old, new.sharding), saved.leaves, leaves)
            for part in checkpoint.parts(saved.n_blocks):
                room = max(0, n_room - at.n_done)
                for name, array in part.items():
                    draws[name][:, at.n_done : at.n_done + array.shape[1]] = array[:, :room]
                at = at._replace(n_done=at.n_done + array.shape[1])
            at, n_files = At(jax.tree.unflatten(structure, placed), at.n_done, saved.run_s), saved.n_blocks
    n_resumed = min(at.n_done, n_draws)
    if progress is not None:
        progress.start(n_draws, n_resumed, compile_s)
    kept = at

    def keep() -> None:
        nonlocal kept, n_files
        if checkpoint is not None and at.n_done > kept.n_done:
            new = {name: array[:, kept.n_done : at.n_done] for name, array in draws.items()}
            leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(at.states)]
            checkpoint.save(n_files, at.n_done - kept.n_done, new, leaves, at.run_s)
            kept, n_files = at, n_files + 1

    try:
        for after, record in run_blocks(program, lane_parameters, lane_keys, at, n_room):
            for name, array in record.items():
                draws[name][:, at.n_done : after.n_done] = array
            # One name for all: an interrupt between two would leave a state that does not belong to the draws.
            at = after
            if not program.timed or at.run_s - kept.run_s > _SAVE_EVERY_S:
                keep()
            if progress is not None:
                progress.advance(min(at.n_done, n_draws), at.run_s)
            del record, array
    finally:
        keep()
    draws = {name: array[:, :n_draws] for name, array in draws.items()}
    return Samples(draws, compile_s, at.run_s, n_resumed)


def over_devices(lanes: Any) -> Any:
    """Divides lanes [lane, ...] among all devices that JAX sees; the very arrays where they cannot be divided evenly.

    Programs compiled for such lanes run on all devices; lanes need nothing of each other.
    """
    devices = jax.devices()
    n_lanes = jax.tree.leaves(lanes)[0].shape[0]
    if len(devices) == 1 or n_lanes % len(devices):
        return lanes
    mesh = Mesh(np.array(devices), ("lane",))
    return jax.device_put(lanes, NamedSharding(mesh, PartitionSpec("lane")))


def lane_sharding(lanes: Any) -> Sharding | None:
    """How `over_devices` has divided lanes; None where it has not."""
    sharding = getattr(jax.tree.leaves(lanes)[0], "sharding", None)
    return sharding if isinstance(sharding, NamedSharding) else None
