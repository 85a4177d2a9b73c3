"""The driver: runs any kernel in blocks of iterations, with progress, checkpoints and bit-for-bit resume."""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.devices import lane_sharding
from auxmc.driver.progress import Progress
from auxmc.kernels.base import Kernel

__all__ = ["Program", "Sampler", "Samples", "compile_sampler", "run_program", "sample"]

# Random numbers of this many bytes are drawn at a time: enough to vectorise, small enough for the cache.
_NOISE_BYTES = 2**21
_MAX_CHUNK = 512


class Sampler(NamedTuple):
    """What a study asks the driver to run in each lane; a lane is one chain at one sweep point.

    Attributes:
        build: maps the swept numbers of a lane (a pytree of scalars) to its kernel.
        initial: maps (key, swept numbers) to the initial state of the lane.
        record: maps (state, info) to the quantities to keep of an iteration, a dict of arrays.
    """

    build: Callable[[Any], Kernel]
    initial: Callable[[Array, Any], Any]
    record: Callable[[Any, Any], dict[str, Array]]


class Samples(NamedTuple):
    """What the driver returns.

    Attributes:
        draws: recorded quantities, each [lane, draw, ...].
        compile_s: seconds spent on tracing and compiling.
        run_s: seconds spent on running compiled blocks, device synchronised, all lanes together.
        n_resumed: iterations that were taken over from a checkpoint.
    """

    draws: dict[str, np.ndarray]
    compile_s: float
    run_s: float
    n_resumed: int


class Program(NamedTuple):
    """Compiled program of a sampler for a number of lanes: initial states, and blocks of iterations.

    Attributes:
        initial_states: maps (lane keys, lane parameters) to states.
        run_block: maps (lane keys, lane parameters, states, number of the first iteration) to (states, record).
        n_lanes: lanes that it runs.
        n_draws: iterations of each.
        block: iterations of a block.
        compile_s: seconds spent on tracing and compiling.
        text: the program of a block before compilation, with all constants in it, as text.
    """

    initial_states: Callable[[Array, Any], Any]
    run_block: Callable[[Array, Any, Any, Array], tuple[Any, dict[str, Array]]]
    n_lanes: int
    n_draws: int
    block: int
    compile_s: float
    text: Callable[[], str]


def compile_sampler(
    sampler: Sampler,
    lane_parameters: Any,
    lane_keys: Array,
    *,
    n_draws: int,
    block_size: int = 1000,
    vectorise: bool = True,
) -> Program:
    """Compiles a sampler for lanes like the ones given; arguments and errors as for `sample`."""
    if n_draws < 1 or block_size < 1:
        raise ValueError(f"n_draws and block_size must be at least 1, got {n_draws} and {block_size}")
    n_lanes = lane_keys.shape[0]
    chunk, n_chunks = _block_shape(sampler, lane_parameters, lane_keys, n_draws, block_size, vectorise)
    block = chunk * n_chunks

    def lane_block(key: Array, parameters: Any, state: Any, start: Array) -> tuple[Any, dict[str, Array]]:
        kernel = sampler.build(parameters)

        def iterate(state: Any, noise: Any) -> tuple[Any, dict[str, Array]]:
            state, info = kernel.apply(noise, state)
            return state, sampler.record(state, info)

        def run_chunk(state: Any, first: Array) -> tuple[Any, dict[str, Array]]:
            iterations = first + jnp.arange(chunk, dtype=jnp.uint32)
            noise = jax.vmap(lambda i: kernel.draw(jax.random.fold_in(key, i)))(iterations)
            return jax.lax.scan(iterate, state, noise)

        firsts = start + chunk * jnp.arange(n_chunks, dtype=jnp.uint32)
        state, record = jax.lax.scan(run_chunk, state, firsts)
        return state, jax.tree.map(lambda a: a.reshape(block, *a.shape[2:]), record)

    def over_lanes(function: Callable[..., Any]) -> Callable[..., Any]:
        if vectorise:
            return jax.vmap(function)
        return lambda *args: jax.lax.map(lambda lane: function(*lane), args)

    def initial_states(keys: Array, parameters: Any) -> Any:
        return over_lanes(lambda key, p: sampler.initial(jax.random.fold_in(key, 0), p))(keys, parameters)

    def run_block(keys: Array, parameters: Any, states: Any, start: Array) -> tuple[Any, Any]:
        starts = jnp.broadcast_to(start, (n_lanes,))
        return over_lanes(lane_block)(keys, parameters, states, starts)

    clock = time.perf_counter()
    sharding = lane_sharding(lane_keys)
    start_program = (
        jax.jit(initial_states, out_shardings=sharding).lower(lane_keys, lane_parameters).compile()
    )
    states = jax.eval_shape(initial_states, lane_keys, lane_parameters)
    states = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding), states)
    lowered = jax.jit(run_block, out_shardings=sharding).lower(
        lane_keys, lane_parameters, states, jnp.uint32(1)
    )
    program = lowered.compile()
    compile_s = time.perf_counter() - clock
    return Program(start_program, program, n_lanes, n_draws, block, compile_s, lowered.as_text)


def run_program(
    program: Program,
    lane_parameters: Any,
    lane_keys: Array,
    *,
    checkpoint: Checkpoint | None = None,
    progress: Progress | None = None,
) -> Samples:
    """Runs a compiled sampler; threads may run one program at the same time, each with lanes of its own.

    Args:
        program: of `compile_sampler`.
        lane_parameters: pytree of arrays [lane], as many as it was compiled for.
        lane_keys: typed keys [lane].
        checkpoint: as for `sample`.
        progress: as for `sample`.
    """
    block, n_draws = program.block, program.n_draws
    n_blocks = math.ceil(n_draws / block)
    clock = time.perf_counter()
    states = jax.block_until_ready(program.initial_states(lane_keys, lane_parameters))
    compile_s = program.compile_s + time.perf_counter() - clock
    parts: list[dict[str, np.ndarray]] = []
    done, run_s = 0, 0.0
    leaves, structure = jax.tree.flatten(states)
    if checkpoint is not None:
        saved = checkpoint.load(block, [np.asarray(leaf) for leaf in leaves])
        if saved is not None:
            done, run_s = saved.n_blocks, saved.run_s
            # Where the lanes are divided among devices, so are these.
            placed = [
                jax.device_put(leaf, at.sharding) for leaf, at in zip(saved.leaves, leaves, strict=True)
            ]
            states = jax.tree.unflatten(structure, placed)
    n_resumed = min(done * block, n_draws)
    if progress is not None:
        progress.start(n_draws, n_resumed, compile_s)
    for index in range(done, n_blocks):
        clock = time.perf_counter()
        states, record = jax.block_until_ready(
            program.run_block(lane_keys, lane_parameters, states, jnp.uint32(1 + index * block))
        )
        run_s += time.perf_counter() - clock
        arrays = {name: np.asarray(value) for name, value in record.items()}
        if checkpoint is None:
            parts.append(arrays)
        else:
            leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(states)]
            checkpoint.save(index, block, arrays, leaves, run_s)
        if progress is not None:
            progress.advance(min((index + 1) * block, n_draws), run_s)
    if checkpoint is not None:
        parts = checkpoint.parts(n_blocks)
    draws = {name: np.concatenate([part[name] for part in parts], axis=1)[:, :n_draws] for name in parts[0]}
    return Samples(draws, compile_s, run_s, n_resumed)


def sample(
    sampler: Sampler,
    lane_parameters: Any,
    lane_keys: Array,
    *,
    n_draws: int,
    block_size: int = 1000,
    vectorise: bool = True,
    checkpoint: Checkpoint | None = None,
    progress: Progress | None = None,
) -> Samples:
    """Runs all lanes for `n_draws` iterations, block after block.

    Iteration i of a lane uses the key `fold_in(lane key, i + 1)`, the initial state `fold_in(lane key, 0)`:
    the draws do not depend on the size of the blocks or on where a run was interrupted.

    Args:
        sampler: kernel, initial state and recorded quantities of a lane.
        lane_parameters: pytree of arrays [lane], the swept numbers.
        lane_keys: typed keys [lane].
        n_draws: iterations to run, at least 1.
        block_size: iterations between two checkpoints, about; blocks are made equally long so that one
            compiled program serves all.
        vectorise: run the lanes side by side with `vmap`; otherwise one after the other with `lax.map`,
            which is faster where a step holds matrix factorisations or loops of very unequal length.
        checkpoint: where finished blocks are kept; None keeps them in memory.
        progress: told of every finished block.

    Returns:
        Samples with all recorded quantities as NumPy arrays.

    Raises:
        ValueError: n_draws or block_size is not positive.
    """
    program = compile_sampler(
        sampler, lane_parameters, lane_keys, n_draws=n_draws, block_size=block_size, vectorise=vectorise
    )
    return run_program(program, lane_parameters, lane_keys, checkpoint=checkpoint, progress=progress)


def _block_shape(
    sampler: Sampler,
    lane_parameters: Any,
    lane_keys: Array,
    n_draws: int,
    block_size: int,
    vectorise: bool,
) -> tuple[int, int]:
    """Iterations whose random numbers are drawn together, and the number of such chunks in a block."""
    n_blocks = max(1, round(n_draws / block_size))
    block = math.ceil(n_draws / n_blocks)
    one_lane = jax.tree.map(lambda a: a[0], (lane_keys, lane_parameters))
    noise = jax.eval_shape(lambda key, p: sampler.build(p).draw(key), *one_lane)
    n_bytes = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(noise))
    n_bytes *= lane_keys.shape[0] if vectorise else 1
    chunk = max(1, min(_MAX_CHUNK, block, _NOISE_BYTES // max(n_bytes, 1)))
    n_chunks = math.ceil(block / chunk)
    return math.ceil(block / n_chunks), n_chunks
