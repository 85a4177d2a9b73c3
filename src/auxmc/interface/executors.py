"""Work on the workers of an executor: other processes, or other machines.

A model is a tree of functions, which cloudpickle sends to workers by value; they need auxmc and what the model imports.
Results come back in the same way. A worker takes over the settings of JAX that draws depend on.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np

from auxmc.driver.blocks import Samples
from auxmc.interface import arguments
from auxmc.interface.running import IMAGE, Begin, ChainJob, Reporter, one_linear_algebra_thread

Result = TypeVar("Result")

# Settings of JAX on which numbers, or whether a model can be traced, depend.
_SETTINGS = (
    "jax_enable_x64",
    "jax_disable_jit",
    "jax_debug_nans",
    "jax_debug_infs",
    "jax_default_prng_impl",
    "jax_threefry_partitionable",
    "jax_default_matmul_precision",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
)


def replicate(
    function: Callable[[int], Result],
    n: int,
    *,
    seed: int = 0,
    cores: int | None = None,
    executor: Executor | str = "processes",
) -> list[Result]:
    """Results of a function for independent seeds, such as repeated estimates of an evidence, on many workers.

    What comes back does not depend on the number of workers, nor on which of them failed on the way where the executor
    tries again, as Dask's does.

    Args:
        function: maps a seed to any result; cloudpickle must be able to send both.
        n: number of calls.
        seed: of the seeds.
        cores: processes at a time; all cores by default. Other executors have their own number.
        executor: "processes", or any executor of `concurrent.futures`, such as
            `dask.distributed.Client.get_executor()`.

    Returns:
        Results in the order of the seeds.

    Raises:
        TypeError: `function` or the executor is none.
        ValueError: `n` or `cores` is no integer from 1 on, the seed is out of range, or the executor has an
            unknown name.
        RuntimeError: a process ended before its time.

    >>> import auxmc
    >>> auxmc.enable_x64()
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as threads:
    ...     seeds = auxmc.replicate(lambda seed: seed, 3, executor=threads)
    >>> len(set(seeds))
    3
    """
    if not callable(function):
        raise TypeError(f"function must be a function of a seed, got {type(function).__name__}")
    arguments.check_integer("n", n, 1)
    arguments.check_seed(seed)
    arguments.check_cores(cores)
    arguments.check_executor(executor, "give a ThreadPoolExecutor")
    arguments.require_x64()
    seeds = [int(np.random.SeedSequence([seed, i]).generate_state(1)[0]) for i in range(n)]
    return on_workers(executor, [(function, one) for one in seeds], cores, lambda i, result: None)


def on_executor(
    executor: Executor | str, job: ChainJob, begins: Sequence[Begin], cores: int | None, reporter: Reporter
) -> list[Samples]:
    """Samples of chains that run on an executor's workers; these see the folders for checkpoints."""
    calls = [
        (_run_chain, job, point, np.asarray(jax.random.key_data(key)), folder)
        for point, key, folder in begins
    ]

    def done(chain: int, samples: Samples) -> None:
        reporter.begun(chain, job.n_kept, samples.n_resumed, samples.compile_s)
        reporter.advanced(chain, job.n_kept, samples.run_s)

    try:
        return on_workers(executor, calls, cores, done)
    except KeyboardInterrupt:
        reporter.say_interrupted()
        raise


def on_workers(
    executor: Executor | str | None,
    calls: Sequence[tuple[Any, ...]],
    cores: int | None,
    done: Callable[[int, Any], None],
) -> list[Any]:
    """Results of calls (function, *arguments) in their order; `done` is told the number and result of each.

    None is for threads, which share what the functions hold.
    """
    sender, settings = (IMAGE, os.getpid()), {name: getattr(jax.config, name) for name in _SETTINGS}
    futures: dict[Future[Any], int] = {}
    results: dict[int, Any] = {}
    with _workers(executor, len(calls), cores) as workers:
        try:
            for i, call in enumerate(calls):
                if executor is not None:
                    payload = cloudpickle.dumps((sender, settings, cloudpickle.dumps(call)))
                    call = run_pickled, payload
                futures[workers.submit(*call)] = i
            for future in as_completed(futures):
                i, result = futures[future], future.result()
                results[i] = result if executor is None else cloudpickle.loads(result)
                done(i, results[i])
        except BaseException:
            for future in futures:
                future.cancel()
            raise
    return [results[i] for i in range(len(calls))]


def run_pickled(payload: bytes) -> bytes:
    """Calls a function in another process, from and to bytes of cloudpickle; rejects a fork (ValueError)."""
    (image, sender), settings, call = cloudpickle.loads(payload)
    # Before anything of JAX is touched; executors within executors are not seen otherwise.
    if image == IMAGE and sender != os.getpid():
        raise ValueError(arguments.FORKS)
    for name, value in settings.items():
        if getattr(jax.config, name) != value:
            jax.config.update(name, value)
    # Only now, as arrays within the model take the precision of the settings.
    function, *inputs = cloudpickle.loads(call)
    with one_linear_algebra_thread():
        return bytes(cloudpickle.dumps(function(*inputs)))


def _run_chain(job: ChainJob, point: np.ndarray, key: np.ndarray, folder: Path | None) -> Samples:
    samples = job.run(point, jax.random.wrap_key_data(jnp.asarray(key)), folder)
    return samples._replace(draws={name: np.asarray(array) for name, array in samples.draws.items()})


@contextmanager
def _workers(executor: Executor | str | None, n: int, cores: int | None) -> Iterator[Executor]:
    n_workers = min(n, cores or os.cpu_count() or 1)
    if not isinstance(executor, str):
        with ThreadPoolExecutor(n_workers) if executor is None else nullcontext(executor) as workers:
            yield workers
        return
    # Processes that are forked would inherit locks of JAX's threads.
    context = multiprocessing.get_context("spawn")
    # Ctrl-C is for this process to answer; its workers would each show a traceback.
    ignored = (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(n_workers, context, signal.signal, ignored) as pool:
        try:
            yield pool
        except KeyboardInterrupt:
            # Files are complete or absent, and blocks of a few seconds ago are kept.
            for process in list((pool._processes or {}).values()):
                process.terminate()
            raise
        except BrokenProcessPool as error:
            raise RuntimeError(
                "a worker process ended before its time. If it ended at once, put what the script does under "
                '`if __name__ == "__main__":`, because each process imports the script; if later, memory may have run '
                "out: take fewer cores. With checkpoint=FOLDER the same call continues"
            ) from error
