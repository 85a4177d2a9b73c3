"""Chains of a method on threads, which share one compiled program."""

import dataclasses
import hashlib
import json
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager
from functools import partial
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg  # noqa: F401  (loads the library whose threads are limited)
from jax import Array
from threadpoolctl import threadpool_limits

from auxmc.driver.blocks import At, Program, Sampler, Samples, run_blocks, run_program, trace_sampler
from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.files import checked_arrays
from auxmc.driver.progress import Progress
from auxmc.driver.provenance import available_memory
from auxmc.errors import DamagedFile, Interrupted
from auxmc.interface.advice import Advice
from auxmc.interface.methods import Method, flat_info, innermost
from auxmc.kernels.base import Kernel
from auxmc.numerics.digests import host_calls

Begin = tuple[np.ndarray, Array, Path | None]
"""Start [dim] and key of a chain, and the folder for its checkpoints."""
IMAGE = os.urandom(8)
"""Processes that have the same are one, or forks of one."""

# Draws of a block at most, however many a chain has: a longer chain is the same program, and continues a shorter one.
_BLOCK = 256

_kept: dict[str, Program] = {}
"""Compiled programs of the last four runs by what they compute: another seed or start shares them."""


class ChainJob:
    """What one chain does, without where it begins: it can be compiled once and run by many.

    `n_kept` iterations, warm-up included, one of every `thin`, and the variables `keep`, or all, are kept.
    """

    def __init__(
        self, method: Method, n_kept: int, n_warm_up: int, thin: int = 1, keep: Sequence[str] | None = None
    ) -> None:
        self.method, self.n_kept, self.n_warm_up = method, n_kept, n_warm_up
        self.thin, self.keep = thin, keep
        self._program: Program | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """A compiled program stays where it is; another process compiles its own."""
        return ChainJob, (self.method, self.n_kept, self.n_warm_up, self.thin, self.keep)

    def _kernel(self, given: Any) -> Kernel:
        """The adapted kernel, whose info is what is kept of an iteration."""
        method = self.method if self.method.with_given is None else self.method.with_given(given)
        kernel = method.adapted(self.n_warm_up)

        def apply(noise: Any, state: Any) -> tuple[Any, dict[str, Array]]:
            state, info = kernel.apply(noise, state)
            own = innermost(state)
            stats = flat_info(info) | method.of_state(own)
            values = method.values(own.position)
            kept = {f"posterior.{name}": values[name] for name in self.keep or values}
            return state, kept | {f"sample_stats.{name}": value for name, value in stats.items()}

        return Kernel(kernel.init, kernel.draw, apply)

    def _lane(self, start: np.ndarray) -> Any:
        """What a compiled program takes of one chain, with a leading axis."""
        return jax.tree.map(lambda array: jnp.asarray(array)[None], (start, self.method.given))

    def program(self, start: np.ndarray, key: Array) -> Program:
        """The program of one chain, traced."""
        with self._lock:
            if self._program is None:
                sampler = Sampler(
                    lambda lane: self._kernel(lane[1]),
                    lambda key, lane: self._kernel(lane[1]).init(lane[0], key=key),
                    lambda state, info: info,
                )
                sizes: Any = {"n_draws": _BLOCK, "block_size": _BLOCK, "thin": self.thin}
                lane = self._lane(start)
                program = trace_sampler(sampler, lane, key[None], vectorise=False, timed=True, **sizes)
                self._program = dataclasses.replace(program, n_draws=self.n_kept)
            return self._program

    def compiled(self, start: np.ndarray, key: Array) -> Program:
        """The program of one chain, compiled."""
        program = self.program(start, key)
        with self._lock:
            if not hasattr(program, "run_block"):
                # Not by the method: data that its functions hold may have changed since.
                same = _kept.pop(program.digest, None)
                if same is None:
                    program.compile()
                else:
                    # A block is the same program however many of them a chain has.
                    program = dataclasses.replace(same, n_draws=program.n_draws, compile_s=program.compile_s)
                    program.initial_states, program.run_block = same.initial_states, same.run_block
                _kept[program.digest] = self._program = program
                for oldest in list(_kept)[:-4]:
                    del _kept[oldest]
            return program

    def check(self, start: np.ndarray, key: Array, n_chains: int, folder: Path | None) -> list[Advice]:
        """What is to be said of a run before it begins; rejects draws that do not fit into memory (ValueError)."""
        program = self.program(start, key)
        size, free = n_chains * program.n_bytes() / 2**30, available_memory() / 2**30
        # Those of the chains, and those of the tree that is made of them.
        if 2.0 * size > free:
            needed = f"{size:.3g} GiB, needed twice, and {free:.3g} GiB of memory are free"
            raise ValueError(f"draws: {n_chains} chains of {self.n_kept} iterations are {needed}: take fewer")
        hosts = host_calls(program.run) if folder is not None else []
        problem = f"checkpoint {folder}: the model calls host code ({', '.join(hosts)}), whose changes are not noticed"
        return [Advice(problem, "After a change of that code, give another folder")] if hosts else []

    def run(
        self, start: np.ndarray, key: Array, folder: Path | None, progress: Progress | None = None
    ) -> Samples:
        """Runs a chain from a vector [dim], or resumes it; `progress` is told of every finished block."""
        program = self.compiled(start, key)
        checkpoint = None
        if folder is not None:
            # The program itself, with the user's data in it, says what the draws depend on.
            arrays = [start, jax.random.key_data(key), *jax.tree.leaves(self.method.given)]
            parts = [program.digest.encode(), *(np.asarray(array).tobytes() for array in arrays)]
            checkpoint = Checkpoint(folder, hashlib.sha256(b"".join(parts)).hexdigest())
            same_run(folder.parent, folder / "block000000.npz", checkpoint.identity)
        return run_program(program, self._lane(start), key[None], checkpoint=checkpoint, progress=progress)

    def short_chain(self, start: np.ndarray, key: Array) -> tuple[float, dict[str, np.ndarray]]:
        """Log density and variables at the end of a chain of a twentieth of the length, without a checkpoint."""
        program = self.compiled(start, key)
        point = self._lane(start)
        at = At(program.initial_states(key[None], point), 0, 0.0)
        n = min(program.block, -(-self.n_kept // 20))
        for _, record in run_blocks(program, point, key[None], at, n):
            last = {name: np.array(values[0, -1]) for name, values in record.items()}
        values = {name.removeprefix("posterior."): value for name, value in last.items()}
        return float(last["sample_stats.lp"]), values


class Reporter:
    """Tells how far all chains are together, and stops them when asked; `is_kept` where they have checkpoints."""

    def __init__(self, label: str, n_chains: int, *, shown: bool, is_kept: bool = False) -> None:
        chains = "chain" if n_chains == 1 else "chains"
        self.progress = Progress(f"{label}, {n_chains} {chains}", file=None if shown else StringIO())
        self._n_chains, self._is_kept = n_chains, is_kept
        self._lock = threading.Lock()
        self._done: dict[int, int] = {}
        self._run_s = 0.0
        self._total = 0
        self.stop = threading.Event()

    def begun(self, chain: int, total: int, done: int, compile_s: float) -> None:
        """Is told that a chain begins, with so many of its iterations done already."""
        with self._lock:
            is_first = not self._done
            self._done[chain], self._total = done, total * self._n_chains
            if is_first:
                self.progress.start(self._total, done, compile_s)

    def advanced(self, chain: int, done: int, run_s: float) -> None:
        """Is told that a block of a chain is done; raises Interrupted where chains are to stop."""
        with self._lock:
            self._done[chain] = done
            self._run_s = max(self._run_s, run_s)
            self.progress.advance(sum(self._done.values()), self._run_s)
        if self.stop.is_set() and sum(self._done.values()) < self._total:
            raise Interrupted

    def of_chain(self, chain: int) -> Any:
        """Progress of one chain, as the driver reports it."""
        return SimpleNamespace(start=partial(self.begun, chain), advance=partial(self.advanced, chain))

    def say_interrupted(self) -> None:
        """Tells, where progress is told, where the chains were stopped and how to continue."""
        kept = "the same call continues from there" if self._is_kept else "give checkpoint=FOLDER to continue"
        self.progress.say(f"interrupted after {sum(self._done.values())} iterations of all chains; {kept}")


class _Limit:
    """The limit of threads that holds now, and by how many callers at a time it is wanted."""

    lock = threading.Lock()
    n_callers = 0
    limits: threadpool_limits | None = None


@contextmanager
def one_linear_algebra_thread() -> Iterator[None]:
    """LAPACK and BLAS use one thread while this context lasts, in the whole process; contexts may overlap.

    Chains keep the cores busy already. More threads within the small factorisations of a step cost several times what
    they bring, and change the last bits of results.
    """
    with _Limit.lock:
        _Limit.n_callers += 1
        if _Limit.n_callers == 1:
            _Limit.limits = threadpool_limits(1, user_api="blas")
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.n_callers -= 1
            if _Limit.n_callers == 0 and _Limit.limits is not None:
                _Limit.limits.restore_original_limits()
                _Limit.limits = None


def on_threads(
    job: ChainJob, begins: Sequence[Begin], cores: int | None, reporter: Reporter
) -> list[Samples]:
    """Samples of chains that run on threads, as many at a time as there are cores."""
    # Compiled programs run outside Python's lock: threads keep all cores busy and share one program.
    job.compiled(*begins[0][:2])
    # No context: where a second Ctrl-C ends the wait for the present blocks, nothing else may wait for them.
    pool = ThreadPoolExecutor(max_workers=cores or os.cpu_count() or 1)
    with one_linear_algebra_thread():
        futures: list[Future[Samples]] = [
            pool.submit(job.run, *begin, reporter.of_chain(chain)) for chain, begin in enumerate(begins)
        ]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException as error:
            reporter.stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):
                reporter.progress.say("stops after the present block; Ctrl-C again stops at once")
            # A cancelled one that never began does not count as done.
            wait([future for future in futures if not future.cancelled()])
            if isinstance(error, KeyboardInterrupt):
                reporter.say_interrupted()
            raise
        pool.shutdown()
        return [future.result() for future in futures]


def same_run(folder: Path, saved: Path, identity: str) -> None:
    """Rejects a checkpoint whose first file is another run's (ValueError); damaged ones are left to the driver."""
    try:
        with checked_arrays(saved) as file:
            there = json.loads(str(file["about"]))["identity"]
    except DamagedFile:
        return
    if there != identity:
        what = "a run of something else (another model, data, start, seed, setting or version)"
        raise ValueError(f"checkpoint {folder} holds {what}: give another folder, or delete that one")
