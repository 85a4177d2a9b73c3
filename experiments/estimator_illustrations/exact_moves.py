"""Estimators of the evidence whose moves draw from their target exactly.

Their expectations are the evidence. Each row has a power: annealing is a stream in which the same rows come
in again and again, a part of their likelihood at a time.
"""

import functools
import itertools
import math
import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import linalg

from auxmc.driver.progress import Progress
from auxmc.driver.seeds import stream
from auxmc.kernels.streams.contract import Chunk, Mover, PastRows, StreamSettings, StreamState, Target
from auxmc.kernels.streams.published_estimators import particle_evidence
from auxmc.models.regression.linear_regression import PrefixEvidence, extend_evidence, linear_regression
from auxmc.models.row_model import RowModel, row_model
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.random import standard_normal
from auxmc_pipeline.chains import RunContext
from experiments.estimator_illustrations.settings import Settings
from experiments.estimator_illustrations.simple import excess_probabilities
from experiments.streaming_evidence.model import rows

_N_FEATURES = 5
_N_COLUMNS = _N_FEATURES + 2
_N_PARTICLES = 10
_N_ROWS, _N_STREAM_ROWS, _CHUNK = 20, 60, 10
_PREFIXES = tuple(range(_CHUNK, _N_STREAM_ROWS + 1, _CHUNK))
_N_POWERS, _N_CHUNK_POWERS = 20, 8
_POWER_EXPONENT = 3.0  # Early powers are small, where the likelihood of prior draws differs most
_TARGET_SIZE, _LARGE_TARGET_SIZE = 5.0, 8.0
# Moves of AIS and SIR keep a memory: with particles that forget where they were, factors of the weights would be
# independent, and resampling hidden. With ten particles a few runs of SIR would make up the mean.
_AIS_MEMORY, _SIR_MEMORY, _N_SIR_PARTICLES, _N_SIR_AT_ONCE = 0.5, 0.9, 300, 2000


class ConjugateDistribution(NamedTuple):
    """Gaussian targets of all powers of a chunk, in the basis V in which their precisions are diagonal."""

    basis: FloatArray  # V [dim, dim]; V^T (I + precision of the past) V = I
    curvatures: FloatArray  # diagonal of V^T (precision of the chunk) V [dim]
    past_linear: FloatArray  # V^T times the linear coefficients of the past's log likelihood [dim]
    linear: FloatArray  # the same for the chunk [dim]


class Plan(NamedTuple):
    """What an estimator does."""

    settings: StreamSettings  # of the kernel
    stages: list["Stage"]  # rows in the order in which they come in
    memory: float = 0.0  # of the moves, see `conjugate_mover`
    n_at_once: int = 20_000  # most runs of one program, to save memory
    n_runs: int = 0  # 0: as many as the settings have


class Stage(NamedTuple):
    """Rows that come in together, on top of those that have."""

    chunk: FloatArray  # rows, powers in the last column [_N_ROWS, column]; the first n_valid count
    n_valid: int  # of the chunk
    distribution: ConjugateDistribution  # targets of the stage
    prefix: int  # number of rows that are in wholly after the stage; 0 where a chunk is still on its way


def run_exact_moves(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs every estimator many times; returns group `statistics`."""
    data = rows("linear", _N_STREAM_ROWS)
    plans = _plans(data, settings.n_sir_runs)
    found: dict[str, dict[int, FloatArray]] = {}
    lost = unfinished = 0
    for name in settings.exact_estimators:
        found[name], n_lost, n_unfinished = _run(settings, context, name, plans[name])
        lost, unfinished = lost + n_lost, unfinished + n_unfinished
    variables: dict[str, Any] = {
        "n_not_finite": ("part", [lost], {"units": "particles"}),
        "n_failures": ("part", [unfinished], {"units": "chunks"}),
    }
    for name, by_prefix in found.items():
        mean, error = _mean_ratios(data, by_prefix)
        variables |= {f"{name}_mean_ratio": ("prefix", mean), f"{name}_mean_ratio_error": ("prefix", error)}
    if "ais" in found:
        variables["ais_excess"] = excess_probabilities(found["ais"][_N_ROWS] - _log_evidence(data[:_N_ROWS]))
    coords = {"prefix": list(_PREFIXES), "excess": [1.0, 2.0, 3.0], "part": ["exact moves"]}
    return {"statistics": xr.Dataset(variables, coords=coords)}


def _plans(data: FloatArray, n_sir_runs: int) -> dict[str, Plan]:
    fixed = StreamSettings(n_particles=_N_PARTICLES, target_size=1.0)
    chunks = [_CHUNK] * len(_PREFIXES)
    whole = whole_stages(data, chunks)
    return {
        "ais": Plan(fixed, annealed_stages(data[:_N_ROWS], [_N_ROWS], _N_POWERS), _AIS_MEMORY),
        "stream": Plan(fixed, annealed_stages(data, chunks, _N_CHUNK_POWERS)),
        "sir": Plan(
            fixed._replace(resampling="always", n_particles=_N_SIR_PARTICLES),
            whole_stages(data[:_N_ROWS], [1] * _N_ROWS),
            _SIR_MEMORY,
            _N_SIR_AT_ONCE,
            n_sir_runs,
        ),
        "adaptive": Plan(fixed._replace(target_size=_TARGET_SIZE), whole),
        "finely_adaptive": Plan(fixed._replace(target_size=_LARGE_TARGET_SIZE), whole),
    }


def _log_evidence(data: FloatArray) -> float:
    return extend_evidence(PrefixEvidence.empty(_N_FEATURES), data, 1.0).log_evidence(1.0)


def _mean_ratios(data: FloatArray, by_prefix: dict[int, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Mean of estimate over evidence and its standard error [prefix]; NaN at prefixes that were not recorded."""
    mean, error = np.full((2, len(_PREFIXES)), np.nan)
    for place, n in enumerate(_PREFIXES):
        if n in by_prefix:
            ratios = np.exp(by_prefix[n] - _log_evidence(data[:n]))
            mean[place], error[place] = ratios.mean(), ratios.std(ddof=1) / math.sqrt(ratios.size)
    return mean, error


def powered_regression() -> RowModel:
    """Linear regression whose rows carry the power of their likelihood in a last column."""
    model = linear_regression(_N_FEATURES)
    return row_model(
        model.dim,
        _N_COLUMNS,
        lambda parameters, block: block[:, -1] * model.log_likelihood(parameters, block[:, :-1]),
        model.log_prior,
        model.draw_prior,
    )


def conjugate_distribution(past: FloatArray, chunk: FloatArray) -> ConjugateDistribution:
    """Posterior given rows of the past and those of a chunk at any power, powers of rows in the last column."""
    (past_precision, past_linear), (precision, linear) = _moments(past), _moments(chunk)
    prior = np.eye(past_precision.shape[0])
    # One basis in which the precisions of past and chunk are both diagonal serves all powers.
    curvatures, basis = linalg.eigh(precision, prior + past_precision)
    return ConjugateDistribution(basis, curvatures, basis.T @ past_linear, basis.T @ linear)


def conjugate_mover(distribution: ConjugateDistribution, memory: float = 0.0) -> Mover:
    """Moves particles by an autoregression of correlation `memory` that leaves the Gaussian target invariant."""

    def move(key: Array, particles: Array, target: Target) -> Array:
        variances = 1.0 / (1.0 + target.power * distribution.curvatures)
        mean = variances * (distribution.past_linear + target.power * distribution.linear)
        normals = standard_normal(key, particles.shape)
        if not memory:
            return jnp.matmul(mean[None, :] + jnp.sqrt(variances)[None, :] * normals, distribution.basis.T)
        before = jnp.matmul(particles, jnp.linalg.inv(distribution.basis).T)
        spread = jnp.sqrt((1.0 - memory**2) * variances)
        after = mean[None, :] + memory * (before - mean[None, :]) + spread[None, :] * normals
        return jnp.matmul(after, distribution.basis.T)

    return move


def _moments(block: FloatArray) -> tuple[FloatArray, FloatArray]:
    design = np.column_stack([block[:, :_N_FEATURES], np.ones(len(block))])
    weighted = design * block[:, -1:]
    return weighted.T @ design, weighted.T @ block[:, _N_FEATURES]


def annealed_stages(data: FloatArray, sizes: list[int], n_powers: int) -> list[Stage]:
    """Chunks of the given sizes, each along the same powers (j / n_powers)^3."""
    powers = (np.arange(n_powers + 1) / n_powers) ** _POWER_EXPONENT
    ends = itertools.accumulate(sizes)
    return [
        _stage(data, end - size, end, float(low), float(high), end if high == 1.0 else 0)
        for size, end in zip(sizes, ends, strict=True)
        for low, high in itertools.pairwise(powers)
    ]


def whole_stages(data: FloatArray, sizes: list[int]) -> list[Stage]:
    """Chunks of the given sizes, each at once."""
    return annealed_stages(data, sizes, 1)


def _stage(data: FloatArray, begin: int, end: int, low: float, high: float, prefix: int) -> Stage:
    chunk = np.zeros((_N_ROWS, _N_COLUMNS))
    chunk[: end - begin, :-1], chunk[: end - begin, -1] = data[begin:end], high - low
    past = np.column_stack([data[:end], np.where(np.arange(end) < begin, 1.0, low)])
    return Stage(chunk, end - begin, conjugate_distribution(past, chunk), prefix)


@functools.partial(jax.jit, static_argnums=1)
def _starts(keys: Array, n_particles: int) -> StreamState:
    """Prior draws of all runs, the same function for all estimators."""
    kernel = particle_evidence(powered_regression(), StreamSettings(n_particles=n_particles))
    return jax.vmap(lambda key: kernel.init(key, jnp.float64))(keys)


@functools.cache
def _program(settings: StreamSettings, memory: float) -> Any:
    def absorb(keys: Array, states: StreamState, chunk: Chunk, distribution: ConjugateDistribution) -> Any:
        kernel = particle_evidence(powered_regression(), settings, conjugate_mover(distribution, memory))
        # The targets know the past: no row of it is drawn.
        past = PastRows(jnp.zeros((1, _N_COLUMNS)), jnp.zeros((), jnp.int32))
        return jax.vmap(kernel.absorb, (0, 0, None, None))(keys, states, chunk, past)

    return jax.jit(absorb)


def _run(
    settings: Settings, context: RunContext, name: str, plan: Plan
) -> tuple[dict[int, FloatArray], int, int]:
    """Log evidences of all runs [run] at each prefix, particles that were lost, and chunks given up."""
    absorb = _program(plan.settings, plan.memory)
    progress = Progress(f"{context.label} [{name}]")
    total = plan.n_runs or settings.n_runs
    begin = time.monotonic()
    progress.start(total, 0, 0.0, f"runs of {len(plan.stages)} stages")
    found: dict[int, list[FloatArray]] = {stage.prefix: [] for stage in plan.stages if stage.prefix}
    lost = unfinished = 0
    for first in range(0, total, plan.n_at_once):
        n_runs = min(plan.n_at_once, total - first)
        key = stream(context.seed, context.study, "exact moves", name, *([first] if first else []))
        states = _starts(jax.random.split(jax.random.fold_in(key, 0), n_runs), plan.settings.n_particles)
        n_lost = 0
        for number, stage in enumerate(plan.stages):
            keys = jax.random.split(jax.random.fold_in(key, number + 1), n_runs)
            chunk = Chunk(jnp.asarray(stage.chunk), jnp.asarray(stage.n_valid, jnp.int32))
            states, record = absorb(keys, states, chunk, stage.distribution)
            # Lost particles are counted from the beginning, chunks that were given up one by one.
            n_lost = int(np.asarray(record.n_not_finite).sum())
            unfinished += int(np.asarray(record.n_unfinished).sum())
            if stage.prefix:
                found[stage.prefix].append(np.asarray(record.log_evidence))
        lost += n_lost
        progress.advance(first + n_runs, time.monotonic() - begin)
    return {prefix: np.concatenate(parts) for prefix, parts in found.items()}, lost, unfinished
