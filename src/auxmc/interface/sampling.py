"""Runs chains of a method on all cores, with warm-up, progress and checkpoints, and returns an ArviZ tree."""

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.driver.seeds import stream
from auxmc.interface.advice import Advice, advise
from auxmc.interface.methods import Method
from auxmc.interface.modes import lie_apart, spread_starts
from auxmc.interface.precision import (
    check_cores,
    check_executor,
    folder_path,
    seed_number,
    use_float64,
    whole_number,
)
from auxmc.interface.running import ChainJob, Reporter, on_threads
from auxmc.interface.trees import library_attributes, tree_of

__all__ = ["check_run", "run_method", "sample"]

# Points on the manifold for each chain, of which its start is chosen; points that draws are compared with; how many of
# them must lie apart from all draws.
_POINTS_OF_START = 4
_FRESH_POINTS = 24
_FEWEST_APART = 2
_MIN_DRAWS = 8
# Of the points at which short chains begin that look for further modes, in standard deviations of the draws.
_WIDTHS = (6.0, 12.0, 24.0)


def sample(
    method: Method,
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
) -> xr.DataTree:
    """Draws from a model.

    Every chain is a program of its own with random numbers of its own: the draws do not depend on how many cores, which
    executor, or how many interruptions there were.

    Args:
        method: kernel and model, such as `auxmc.constrained_hmc(model)`.
        start: variables to begin at: one position for all chains, or every array with a leading axis of chains. By
            default what the method offers: points on the manifold that differ much, or the start of the model for all
            chains. Chains that begin at one point can all miss the same mode.
        draws: kept iterations of each chain.
        warm_up: iterations before them, in which the scale of steps is adapted; they stand in groups of their own.
        chains: number of chains.
        seed: of all random numbers.
        cores: chains that run at the same time; all cores by default.
        executor: where chains run instead of threads: "processes", or any executor of `concurrent.futures`, such as
            `dask.distributed.Client.get_executor()`; its workers need auxmc. Each compiles the program for itself.
        checkpoint: folder in which finished blocks are kept. The same call with the same folder goes on from there,
            bit for bit; another one is refused, and nothing in the folder is lost.
        progress: print how far the chains are, to standard error, at most every five seconds.

    Returns:
        ArviZ tree with groups `posterior`, `sample_stats`, `warmup_posterior`, `warmup_sample_stats`; attributes say
        what was run, where and for how long, and repeat the warnings.

    Raises:
        TypeError: `method` is none, or `start` holds arrays of another precision.
        ValueError: a number is out of range, a chain cannot begin at its start, the draws do not fit into memory, or
            the checkpoint holds a run of something else; says why and what to do.

    Warns:
        SamplingWarning: the draws must not be trusted as they are, or the checkpoint does not see all that they depend
            on; says why and what to do.
    """
    tree, job = run_method(
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
    found: Sequence[Advice] = [*advise(method, tree, cores), *_missed(method, tree, seed)]
    if executor is None and not found:
        found = _scouted(method, tree, job, seed)
    tree.attrs["warnings"] = [*method.warnings, *(advice.text for advice in found)]
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
    executor: Executor | str | None,
    checkpoint: str | Path | None,
    progress: bool,
) -> tuple[xr.DataTree, ChainJob]:
    """The draws, before they are looked at, and what drew them; arguments and errors are those of `sample`."""
    if not isinstance(method, Method):
        raise TypeError(
            f"method must be a method on a model, such as auxmc.constrained_hmc(model), got {type(method).__name__}"
        )
    check_run(
        draws=draws,
        warm_up=warm_up,
        chains=chains,
        seed=seed,
        cores=cores,
        executor=executor,
        checkpoint=checkpoint,
    )
    keys = [stream(seed, "sample", method.name, chain) for chain in range(chains)]
    starts = _starts(method, start, keys, stream(seed, "starts", method.name))
    for chain, point in enumerate(starts):
        try:
            method.check(point)
        except ValueError as error:
            raise ValueError(f"chain {chain}: {error}") from error
    job = ChainJob(method, draws + warm_up, warm_up)
    reporter = Reporter(method.name, chains, shown=progress)
    folder = folder_path("checkpoint", checkpoint)
    for advice in job.check(starts[0], keys[0], chains, folder):
        advice.warn()
    clock = time.perf_counter()
    if executor is None:
        samples = on_threads(job, starts, keys, cores, folder, reporter)
    else:
        # Imported late: few runs need it.
        from auxmc.interface.executors import on_executor

        samples = on_executor(executor, job, starts, keys, cores, folder, reporter)
    wall_s = time.perf_counter() - clock
    tree = tree_of(samples, warm_up)
    tree.attrs |= {
        **library_attributes(),
        "method": method.name,
        "draws": draws,
        "warm_up": warm_up,
        "chains": chains,
        "seed": seed,
        "wall_s": wall_s,
        "compile_s": max(s.compile_s for s in samples),
        "sampling_s": sum(s.run_s for s in samples),
        "n_resumed": sum(s.n_resumed for s in samples),
    }
    return tree, job


def check_run(
    *,
    draws: int,
    warm_up: int,
    chains: int,
    seed: int,
    cores: int | None,
    executor: Executor | str | None,
    checkpoint: str | Path | None,
) -> None:
    """Refuses arguments of `sample` that are wrong whatever the method is, before anything is computed.

    Raises:
        TypeError: the checkpoint is no path, or the executor none.
        ValueError: a number is out of range, the checkpoint is a file, or the executor has an unknown name.
    """
    use_float64()
    whole_number("draws", draws, 1)
    whole_number("warm_up", warm_up, 0)
    whole_number("chains", chains, 1)
    seed_number(seed)
    check_cores(cores)
    if executor is not None:
        check_executor(executor, "leave it out")
    folder_path("checkpoint", checkpoint)


def _starts(method: Method, start: Any, keys: Sequence[Array], pool: Array) -> np.ndarray:
    if start is not None:
        return method.layout.starts("start", start, len(keys))
    if method.draw_start is None:
        raise ValueError(f"{method.name} needs a start: the variables {', '.join(method.layout.names)}")
    if method.log_density is None:
        return np.stack([method.draw_start(jax.random.fold_in(key, 0)) for key in keys])
    # Starts from one mode alone would hide the others: of many points, those that differ most are taken.
    points = [method.draw_start(jax.random.fold_in(pool, i)) for i in range(_POINTS_OF_START * len(keys))]
    usable = [point for point in points if _is_usable(method, point)]
    if not usable:
        return np.stack(points[: len(keys)])
    return np.stack(usable)[spread_starts(np.stack(usable), len(keys), 0)]


def _is_usable(method: Method, point: np.ndarray) -> bool:
    try:
        method.check(point)
    except ValueError:
        return False
    return True


def _missed(method: Method, tree: xr.DataTree, seed: int) -> list[Advice]:
    """Compares draws with fresh points at which chains could have begun."""
    n_draws = tree["posterior"].sizes["draw"]
    if method.draw_start is None or method.log_density is None or n_draws < _MIN_DRAWS:
        return []
    key = stream(seed, "fresh points", method.name)
    least = float(np.quantile(tree["sample_stats"]["lp"], 0.01))
    points = [method.draw_start(jax.random.fold_in(key, i)) for i in range(_FRESH_POINTS)]
    points = [point for point in points if method.log_density(point) >= least]
    if not points:
        return []
    values = [method.values(jnp.asarray(point)) for point in points]
    names = sorted(values[0])
    rows = np.stack([np.concatenate([np.ravel(value[name]) for name in names]) for value in values])
    n_apart = int(np.sum(lie_apart(_flat(tree, names), rows)))
    if n_apart < _FEWEST_APART:
        return []
    return [
        Advice(
            f"{n_apart} of {_FRESH_POINTS} fresh points that generate the data are as probable as the draws, but no "
            "draw is near",
            "The chains miss a mode: leave `start` out, so that chains begin in different ones, take more chains, and "
            "run longer",
        )
    ]


def _scouted(method: Method, tree: xr.DataTree, job: ChainJob, seed: int) -> list[Advice]:
    """Compares draws of a density with where short chains end that begin far out: chains begin at one point alone."""
    n_draws, stats = tree["posterior"].sizes["draw"], tree["sample_stats"]
    if not method.plain or "lp" not in stats or n_draws < _MIN_DRAWS:
        return []
    names = list(method.layout.names)
    flat = _flat(tree, names)
    random = np.random.default_rng(seed)
    scale, centre = flat.std(axis=0), flat.mean(axis=0)
    ways = np.array(_WIDTHS)[:, None] * scale * random.normal(size=(len(_WIDTHS), scale.size))
    # To both sides: a mode that lies to one is not left out by chance.
    points = [*(centre + ways), *(centre - ways)]
    keys = [stream(seed, "scouts", method.name, i) for i in range(len(points))]
    ends = [
        job.scout(point, key) for point, key in zip(points, keys, strict=True) if _is_usable(method, point)
    ]
    least = float(np.quantile(stats["lp"], 0.01))
    rows = [
        np.concatenate([np.ravel(end[f"posterior.{name}"]) for name in names])
        for end in ends
        if end["sample_stats.lp"] >= least
    ]
    if not rows or not lie_apart(flat, np.stack(rows)).any():
        return []
    return [
        Advice(
            "a short chain that began far from the draws ended where the density is as large as at the draws, but no "
            "draw is near",
            "The chains miss a mode: give starts that differ (every array with a leading axis of chains), or use "
            "auxmc.evidence, which tempers between modes",
        )
    ]


def _flat(tree: xr.DataTree, names: Sequence[str]) -> np.ndarray:
    """Draws of all chains [draw, dim]."""
    arrays = [tree["posterior"][name].to_numpy() for name in names]
    return np.concatenate([a.reshape(a.shape[0] * a.shape[1], -1).astype(float) for a in arrays], axis=1)
