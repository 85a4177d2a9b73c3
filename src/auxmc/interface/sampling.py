"""Runs chains of a method on all cores, with warm-up, progress and checkpoints, and returns an ArviZ tree."""

import hashlib
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.driver.blocks import Program, Sampler, Samples, compile_sampler, run_program
from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.progress import Progress
from auxmc.driver.seeds import stream
from auxmc.interface.advice import Advice, advise
from auxmc.interface.methods import Method, flat_info, innermost
from auxmc.interface.precision import use_float64
from auxmc.interface.trees import tree_of

__all__ = ["run_method", "sample"]

# Blocks of a chain: progress is told, and a checkpoint kept, after each.
_N_BLOCKS = 20


def sample(
    method: Method,
    start: Any = None,
    *,
    draws: int = 1000,
    warm_up: int = 1000,
    chains: int = 4,
    seed: int = 0,
    cores: int | None = None,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = True,
) -> xr.DataTree:
    """Draws from a model.

    Every chain is a program of its own with random numbers of its own: the draws do not depend on how many cores, which
    executor, or how many interruptions there were.

    Args:
        method: kernel and model, such as `auxmc.constrained_hmc(model)`.
        start: variables to begin at: one position for all chains, or every array with a leading axis of chains. By
            default what the method offers: points on the manifold, or the start of the model.
        draws: kept iterations of each chain.
        warm_up: iterations before them, in which the scale of steps is adapted; they stand in groups of their own.
        chains: number of chains.
        seed: of all random numbers.
        cores: chains that run at the same time; all cores by default.
        executor: where chains run instead: any executor of `concurrent.futures` or Dask; its workers need auxmc.
        checkpoint: folder in which finished blocks are kept. The same call with the same folder goes on from there,
            bit for bit.
        progress: print how far the chains are, to standard error, at most every five seconds.

    Returns:
        ArviZ tree with groups `posterior`, `sample_stats`, `warmup_posterior`, `warmup_sample_stats`; attributes say
        what was run, where and for how long, and repeat the warnings.

    Raises:
        TypeError: `method` is none, or `start` holds arrays of another precision.
        ValueError: a number is out of range, or a chain cannot begin at its start; says why and what to do.

    Warns:
        SamplingWarning: the draws must not be trusted as they are; says why and what to do.
    """
    tree = run_method(
        method,
        start,
        draws=draws,
        warm_up=warm_up,
        chains=chains,
        seed=seed,
        cores=cores,
        executor=executor,
        checkpoint=checkpoint,
        progress=progress,
    )
    found: Sequence[Advice] = advise(method, tree)
    tree.attrs["warnings"] = [advice.text for advice in found]
    for advice in found:
        advice.warn()
    return tree


def run_method(
    method: Method,
    start: Any,
    *,
    draws: int,
    warm_up: int,
    chains: int,
    seed: int,
    cores: int | None,
    executor: Executor | None,
    checkpoint: str | Path | None,
    progress: bool,
) -> xr.DataTree:
    """What `sample` does before it looks at the draws; arguments and errors are those of `sample`."""
    if not isinstance(method, Method):
        raise TypeError(
            f"method must be a method on a model, such as auxmc.constrained_hmc(model), got {type(method).__name__}"
        )
    use_float64()
    counts = {"draws": draws, "warm_up": warm_up, "chains": chains, "seed": seed}
    for name, number in counts.items():
        least = 0 if name in ("warm_up", "seed") else 1
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise ValueError(f"{name} must be a whole number, at least {least}, got {number!r}")
    keys = [stream(seed, "sample", method.name, chain) for chain in range(chains)]
    starts = _starts(method, start, keys)
    for chain, point in enumerate(starts):
        try:
            method.check(point)
        except ValueError as error:
            raise ValueError(f"chain {chain}: {error}") from error
    job = ChainJob(method, draws + warm_up, warm_up)
    reporter = _Reporter(method.name, chains, shown=progress)
    folder = Path(checkpoint) if checkpoint is not None else None
    clock = time.perf_counter()
    if executor is None:
        samples = _on_threads(job, starts, keys, cores, folder, reporter)
    else:
        samples = _on_executor(executor, job, starts, keys, folder, reporter)
    wall_s = time.perf_counter() - clock
    tree = tree_of(method, samples, warm_up)
    tree.attrs |= {
        "inference_library": "auxmc",
        "method": method.name,
        **counts,
        "wall_s": wall_s,
        "compile_s": max(s.compile_s for s in samples),
        "sampling_s": sum(s.run_s for s in samples),
        "n_resumed": sum(s.n_resumed for s in samples),
    }
    return tree


class ChainJob:
    """What one chain does, without where it begins: it can be compiled once and run by many.

    Args:
        method: kernel and model.
        n_iterations: of the chain, warm-up included.
        n_warm_up: how many of them adapt.
    """

    def __init__(self, method: Method, n_iterations: int, n_warm_up: int) -> None:
        self.method, self.n_iterations, self.n_warm_up = method, n_iterations, n_warm_up
        self._program: Program | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        # A compiled program stays where it is; another process compiles its own.
        return {"arguments": (self.method, self.n_iterations, self.n_warm_up)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(*state["arguments"])  # type: ignore[misc]

    def program(self, start: np.ndarray, key: Array) -> Program:
        """The compiled program of one chain."""
        with self._lock:
            if self._program is None:
                kernel = self.method.adapted(self.n_warm_up)

                def record(state: Any, info: Any) -> dict[str, Array]:
                    own = innermost(state)
                    values = self.method.values(own.position)
                    stats = flat_info(info) | self.method.of_state(own)
                    kept = {f"posterior.{name}": value for name, value in values.items()}
                    return kept | {f"sample_stats.{name}": value for name, value in stats.items()}

                sampler = Sampler(lambda _: kernel, lambda key, point: kernel.init(key, point), record)
                block = max(1, -(-self.n_iterations // _N_BLOCKS))
                self._program = compile_sampler(
                    sampler,
                    jnp.asarray(start)[None],
                    key[None],
                    n_draws=self.n_iterations,
                    block_size=block,
                    vectorise=False,
                )
            return self._program

    def run(
        self, start: np.ndarray, key: Array, folder: Path | None, progress: Progress | None = None
    ) -> Samples:
        """Runs a chain, or goes on with it.

        Args:
            start: vector to begin at [dim].
            key: of the chain.
            folder: for its checkpoints.
            progress: told of every finished block.
        """
        program = self.program(start, key)
        checkpoint = None
        if folder is not None:
            # The program itself, with the user's data in it, says what the draws depend on.
            parts = (program.text().encode(), start.tobytes(), np.asarray(jax.random.key_data(key)).tobytes())
            checkpoint = Checkpoint(folder, hashlib.sha256(b"".join(parts)).hexdigest())
        return run_program(
            program, jnp.asarray(start)[None], key[None], checkpoint=checkpoint, progress=progress
        )


class Interrupted(Exception):
    """A chain was asked to stop after its present block."""


class _Reporter:
    """Tells how far all chains are together, and stops them when asked."""

    def __init__(self, label: str, n_chains: int, *, shown: bool) -> None:
        self._progress = Progress(f"{label}, {n_chains} {'chain' if n_chains == 1 else 'chains'}")
        self._shown, self._n_chains = shown, n_chains
        self._lock = threading.Lock()
        self._done: dict[int, int] = {}
        self._resumed: dict[int, int] = {}
        self._run_s = 0.0
        self._total = 0
        self.stop = threading.Event()

    def of_chain(self, chain: int) -> "_ChainProgress":
        return _ChainProgress(self, chain)

    def begun(self, chain: int, total: int, done: int, compile_s: float) -> None:
        with self._lock:
            self._resumed[chain], self._done[chain] = done, done
            self._total = total * self._n_chains
            if self._shown and len(self._resumed) == 1:
                self._progress.start(self._total, done, compile_s)

    def advanced(self, chain: int, done: int, run_s: float) -> None:
        with self._lock:
            self._done[chain] = done
            self._run_s = max(self._run_s, run_s)
            if self._shown:
                self._progress.advance(sum(self._done.values()), self._run_s)
        if self.stop.is_set() and sum(self._done.values()) < self._total:
            raise Interrupted

    @property
    def n_done(self) -> int:
        """Iterations of all chains together."""
        return sum(self._done.values())


class _ChainProgress(Progress):
    """Progress of one chain, as the driver reports it."""

    def __init__(self, reporter: _Reporter, chain: int) -> None:
        super().__init__("")
        self._reporter, self._chain = reporter, chain

    def start(self, total: int, done: int, compile_s: float, what: str = "iterations") -> None:
        """See `Progress`."""
        del what
        self._reporter.begun(self._chain, total, done, compile_s)

    def advance(self, done: int, run_s: float) -> None:
        """See `Progress`."""
        self._reporter.advanced(self._chain, done, run_s)


def _on_threads(
    job: ChainJob,
    starts: np.ndarray,
    keys: Sequence[Array],
    cores: int | None,
    folder: Path | None,
    reporter: _Reporter,
) -> list[Samples]:
    # Compiled programs run outside Python's lock: threads keep all cores busy and share one program.
    job.program(starts[0], keys[0])
    with ThreadPoolExecutor(max_workers=cores or os.cpu_count() or 1) as pool:
        futures: list[Future[Samples]] = [
            pool.submit(job.run, point, key, _folder(folder, chain), reporter.of_chain(chain))
            for chain, (point, key) in enumerate(zip(starts, keys, strict=True))
        ]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException as error:
            reporter.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):
                kept = (
                    "the same call goes on from there"
                    if folder
                    else "give checkpoint=FOLDER to be able to go on"
                )
                print(f"\ninterrupted after {reporter.n_done} iterations of all chains; {kept}", flush=True)
            raise
        return [future.result() for future in futures]


def _on_executor(
    executor: Executor,
    job: ChainJob,
    starts: np.ndarray,
    keys: Sequence[Array],
    folder: Path | None,
    reporter: _Reporter,
) -> list[Samples]:
    try:
        import cloudpickle
    except ImportError as error:
        raise ImportError(
            "executor= needs cloudpickle, which sends models to workers: pip install cloudpickle"
        ) from error
    futures = {}
    for chain, (point, key) in enumerate(zip(starts, keys, strict=True)):
        arguments = (job, point, np.asarray(jax.random.key_data(key)), _folder(folder, chain))
        futures[executor.submit(run_pickled, cloudpickle.dumps(arguments))] = chain
    results: dict[int, Samples] = {}
    for future, chain in futures.items():
        samples = future.result()
        n = job.n_iterations
        reporter.begun(chain, n, samples.n_resumed, samples.compile_s)
        reporter.advanced(chain, n, samples.run_s)
        results[chain] = samples
    return [results[chain] for chain in range(len(starts))]


def run_pickled(payload: bytes) -> Samples:
    """Runs one chain in another process, from what `_on_executor` sent."""
    import cloudpickle

    use_float64()
    job, point, key, folder = cloudpickle.loads(payload)
    samples: Samples = job.run(point, jax.random.wrap_key_data(jnp.asarray(key)), folder)
    return samples._replace(draws={name: np.asarray(array) for name, array in samples.draws.items()})


def _folder(folder: Path | None, chain: int) -> Path | None:
    return None if folder is None else folder / f"chain{chain:04d}"


def _starts(method: Method, start: Any, keys: Sequence[Array]) -> np.ndarray:
    if start is not None:
        return method.layout.starts("start", start, len(keys))
    if method.draw_start is None:
        raise ValueError(f"{method.name} needs a start: the variables {', '.join(method.layout.names)}")
    return np.stack([method.draw_start(jax.random.fold_in(key, 0)) for key in keys])
