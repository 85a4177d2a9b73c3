"""Runs chains of a method on all cores, with warm-up, progress and checkpoints, and returns an ArviZ tree."""

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import xarray as xr
from jax import Array

from auxmc.driver.seeds import stream
from auxmc.interface import arguments
from auxmc.interface.advice import Advice, advise, issue
from auxmc.interface.checks.jumps import advise_jumps
from auxmc.interface.checks.modes import advise_missed, flat_draws, is_usable
from auxmc.interface.densities import Density, nuts
from auxmc.interface.methods import Method
from auxmc.interface.running import ChainJob, Reporter, on_threads
from auxmc.interface.trees import library_attributes, tree_of


@dataclass(frozen=True)
class RunOptions:
    """How chains run: the options of `sample` and `evidence`, checked."""

    draws: int
    warm_up: int
    chains: int
    seed: int
    cores: int | None
    executor: Executor | str | None
    folder: Path | None
    progress: bool
    checks: str
    thin: int = 1
    keep: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Checks the options before anything is computed."""
        arguments.require_x64()
        arguments.check_integer("draws", self.draws, 1)
        arguments.check_integer("warm_up", self.warm_up, 0)
        arguments.check_integer("chains", self.chains, 1)
        arguments.check_seed(self.seed)
        arguments.check_cores(self.cores)
        arguments.check_level(self.checks)
        arguments.check_integer("thin", self.thin, 1)
        if self.warm_up % self.thin:
            raise ValueError(f"warm_up: expected a multiple of thin={self.thin}, got {self.warm_up}")
        if self.keep is not None and self.checks == "full":
            raise ValueError('checks: expected "basic" or "off" with keep, got "full", which needs all')
        if self.executor is not None:
            arguments.check_executor(self.executor, "leave it out")


def sample(
    method: Method | Density,
    start: Any = None,
    *,
    draws: int = 1000,
    warm_up: int = 1000,
    chains: int = 4,
    seed: int = 0,
    cores: int | None = None,
    executor: Executor | str | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = True,
    checks: str = "basic",
    thin: int = 1,
    keep: Sequence[str] | None = None,
) -> xr.DataTree:
    """Draws from a model.

    Every chain is a program with its own random numbers: the draws do not depend on the number of cores, the executor,
    or interruptions.

    Args:
        method: kernel and model, such as `auxmc.constrained_hmc(model)`; a density alone is sampled by `auxmc.nuts`.
        start: initial variables: one position for all chains, or every array with a leading axis of chains. By default
            points on the manifold that differ much, or the start of the model for all chains. Chains that begin at one
            point can all miss the same mode.
        draws: kept draws of each chain, after the warm-up.
        warm_up: iterations before them, which adapt the step size; returned in the `warmup_*` groups. A second call
            with the same method, data and warm-up compiles nothing.
        chains: number of chains.
        seed: of all random numbers.
        cores: chains that run at the same time; all cores by default.
        executor: where chains run instead of threads: "processes", or any executor of `concurrent.futures`, such as
            `dask.distributed.Client.get_executor()`; its workers need auxmc. Each compiles the program again.
        checkpoint: folder for finished blocks. The same call with the same folder resumes there, bit for bit, and one
            with more draws continues the chains; any other call is rejected, and nothing in the folder is lost.
        progress: print progress to standard error, at most every five seconds.
        checks: "basic" examines starts and draws (finite gradient, R-hat, ESS, divergences, missed modes); "full" also
            looks for jumps of a density between draws; "off" does nothing of this.
        thin: every so many iterations one is kept as a draw. `warm_up` counts iterations, and is a multiple of it.
        keep: names of the variables that are kept; all by default. The checks look at no others, and "full" needs all.

    Returns:
        ArviZ tree with groups `posterior`, `sample_stats`, `warmup_posterior`, `warmup_sample_stats`; attributes hold
        the settings, versions, times and warnings.

    Raises:
        TypeError: If `method` is not a method, or `start` holds arrays of another precision.
        ValueError: If a number is out of range, a chain cannot begin at its start, the draws do not fit into memory, or
            the checkpoint holds another run.

    Warns:
        SamplingWarning: If the draws are not reliable as they are, or the checkpoint cannot see all that they depend
            on.
    """
    folder = arguments.checkpoint_folder(checkpoint)
    options = RunOptions(draws, warm_up, chains, seed, cores, executor, folder, progress, checks, thin, keep)
    if isinstance(method, Density):
        method = nuts(method)
    tree, job = run_method(method, start, options)
    found: list[Advice] = []
    if checks != "off":
        found += advise(method, tree, cores)
        # Short chains are run where nothing else is wrong, and the program is compiled here.
        short_chain = job.short_chain if executor is None and not found else None
        found += advise_missed(method, tree, short_chain, seed)
    if checks == "full" and method.is_plain and method.log_density:
        flat = flat_draws(tree["posterior"].to_dataset(), method.layout.names)
        found += advise_jumps(method.log_density, flat, method.layout)
    tree.attrs["warnings"] = [*method.warnings, *issue(found)]
    return tree


def run_method(method: Method, start: Any, options: RunOptions) -> tuple[xr.DataTree, ChainJob]:
    """The draws, before they are examined, and the job that made them; errors are those of `sample`."""
    if not isinstance(method, Method):
        like = "a density, or a method such as auxmc.constrained_hmc(simulator)"
        raise TypeError(f"method: expected {like}, got {type(method).__name__}")
    keys = [stream(options.seed, "sample", method.name, chain) for chain in range(options.chains)]
    starts = _starts(method, start, keys, stream(options.seed, "starts", method.name))
    if options.checks != "off":
        for chain, point in enumerate(starts):
            try:
                method.check(point)
            except ValueError as error:
                raise ValueError(f"chain {chain}: {error}") from error
    n_warm_up = options.warm_up // options.thin
    job = ChainJob(method, options.draws + n_warm_up, options.warm_up, options.thin, _kept(method, options))
    folder = options.folder
    reporter = Reporter(method.name, options.chains, shown=options.progress, is_kept=folder is not None)
    issue(job.check(starts[0], keys[0], options.chains, folder))
    folders = [folder and folder / f"chain{chain:04d}" for chain in range(options.chains)]
    begins = [*zip(starts, keys, folders, strict=True)]
    clock = time.perf_counter()
    if options.executor is None:
        samples = on_threads(job, begins, options.cores, reporter)
    else:
        # Imported late: few runs need it.
        from auxmc.interface.executors import on_executor

        samples = on_executor(options.executor, job, begins, options.cores, reporter)
    wall_s = time.perf_counter() - clock
    tree = tree_of(samples, n_warm_up)
    tree.attrs |= {
        **library_attributes(),
        "method": method.name,
        **{name: getattr(options, name) for name in ("draws", "warm_up", "thin", "chains", "seed")},
        "wall_s": wall_s,
        "compile_s": max(s.compile_s for s in samples),
        "sampling_s": sum(s.run_s for s in samples),
        "n_resumed": sum(s.n_resumed for s in samples),
    }
    return tree, job


def _kept(method: Method, options: RunOptions) -> tuple[str, ...] | None:
    """Names of the variables to keep; None for all."""
    if options.keep is None:
        return None
    names = (options.keep,) if isinstance(options.keep, str) else tuple(options.keep)
    there = jax.eval_shape(method.values, jax.ShapeDtypeStruct((method.layout.dim,), np.float64))
    if not names or not set(names) <= set(there):
        raise ValueError(f"keep: expected some of the variables {', '.join(there)}, got {', '.join(names)}")
    return names


def _starts(method: Method, start: Any, keys: Sequence[Array], pool: Array) -> np.ndarray:
    if start is not None:
        return method.layout.starts("start", start, len(keys))
    if method.draw_start is None:
        raise ValueError(f"start is required: the variables {', '.join(method.layout.names)}")
    if method.kind != "simulator":
        return np.stack([method.draw_start(jax.random.fold_in(key, 0)) for key in keys])
    # Starts from one mode alone would hide the others: of four points a chain, those that differ most are taken.
    points = [method.draw_start(jax.random.fold_in(pool, i)) for i in range(4 * len(keys))]
    usable = [point for point in points if is_usable(method, point)]
    if not usable:
        return np.stack(points[: len(keys)])
    return np.stack(usable)[spread_starts(np.stack(usable), len(keys), 0)]


def spread_starts(points: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Indices [n] of the points [point, dim] nearest to the centres of n clusters; of fewer points, all in turn."""
    sds = points.std(axis=0)
    scaled = points / np.where(sds > 0.0, sds, 1.0)
    if len(points) <= n:
        return np.arange(n) % len(points)
    # Imported late: only simulators need it.
    from scipy.cluster.vq import kmeans2

    centres, _ = kmeans2(scaled, n, minit="++", seed=seed, missing="warn")
    chosen: list[int] = []
    for centre in centres:
        order = np.argsort(np.sum((scaled - centre) ** 2, axis=1))
        chosen.append(next(int(i) for i in order if i not in chosen))
    return np.asarray(chosen)
