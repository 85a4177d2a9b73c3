"""Rows, model and exact evidence of a stream, and how it is cut into chunks."""

from collections.abc import Iterable

import numpy as np
from jax import Array

from auxmc.driver.row_chunks import growing_chunks
from auxmc.driver.seeds import stream
from auxmc.models.mixtures.gaussian_mixture import gaussian_mixture
from auxmc.models.regression.linear_regression import PrefixEvidence, extend_evidence, linear_regression
from auxmc.models.regression.softmax_regression import softmax_regression
from auxmc.models.row_model import RowModel
from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc_pipeline.chains import RunContext
from experiments.streaming_evidence.model import rows as simulated_rows
from experiments.streaming_evidence.settings import METHODS, MODELS, Settings

# Rows at which a chunk always ends, so that estimates of all methods can be compared there.
CUTS = (500, 1000, 3000, 5000, 10_000, 20_000, 30_000, 100_000, 200_000, 300_000, 1_000_000)
HYBRID_ROWS = 100  # Rows whose terms the hybrid estimate takes from nested sampling
NOISE_SCALE = 1.0  # Standard deviation of the responses of the linear stream, known to its model
_STEP = 20
_N_FEATURES, _N_CLASSES = 10, 4
_N_DENSE, _N_SPARSE = 250, 60


def rows_of_stream(settings: Settings, data_set: int = 0) -> FloatArray:
    """The rows of a case [row, column], drawn again for other data sets than 0."""
    return simulated_rows(settings.stream, settings.n_rows, data_set)


def model_of(settings: Settings) -> RowModel:
    """The model of the rows of a case."""
    kind = MODELS[settings.stream]
    if kind == "linear":
        return linear_regression(5, NOISE_SCALE)
    if kind == "softmax":
        return softmax_regression(_N_FEATURES, _N_CLASSES)
    return gaussian_mixture(settings.n_components)


def keys_of_runs(context: RunContext, n_runs: int, *names: str | int) -> list[Array]:
    """Random streams of runs that differ in nothing else, by the names of what they are for."""
    return [stream(context.seed, context.study, *names, run) for run in range(n_runs)]


def chunk_ends(n_rows: int, size: int, first: Iterable[int] = (), cuts: Iterable[int] = CUTS) -> list[int]:
    """Rows absorbed at the ends of chunks: `first` ones, then of `size`; one ends early at a cut, the next is whole."""
    waiting = sorted({cut for cut in cuts if cut < n_rows} | {n_rows})
    sizes, ends, end = iter(first), [], 0
    while end < n_rows:
        end = min(end + next(sizes, size), next(cut for cut in waiting if cut > end))
        ends.append(end)
    return ends


def ends_of(settings: Settings) -> list[int]:
    """Rows absorbed at the end of each chunk of a case."""
    size = settings.chunk_size or settings.batch_size
    schedule = settings.schedule or METHODS[settings.method].schedule
    first: tuple[int, ...] = ()
    if schedule != "constant":
        first = growing_chunks(_STEP, size).first
    if schedule == "split":
        # The third chunk of 60 rows ends at 100, and one of 60 follows.
        first = (*first[:2], HYBRID_ROWS - sum(first[:2]), *first[2:])
    return chunk_ends(settings.n_rows, size, first)


def shown_ends(ends: list[int]) -> IntegerArray:
    """Chunks whose record is kept, from 0: all of a short stream, else ever fewer, and always those at CUTS."""
    n = len(ends)
    if n <= _N_DENSE:
        return np.arange(n)
    numbers = np.concatenate([np.arange(_N_SPARSE), np.geomspace(_N_SPARSE, n, _N_SPARSE).round() - 1])
    cuts = np.flatnonzero(np.isin(ends, CUTS))
    return np.unique(np.concatenate([numbers, cuts, [n - 1]])).astype(np.int64)


def exact_linear(rows: FloatArray, ends: Iterable[int]) -> FloatArray:
    """Log evidence [end] in nats of prefixes of rows [row, feature + 1] with the given, increasing lengths."""
    evidence, begin, found = PrefixEvidence.empty(rows.shape[1] - 1), 0, []
    for end in ends:
        evidence = extend_evidence(evidence, rows[begin:end], NOISE_SCALE)
        found.append(evidence.log_evidence(NOISE_SCALE))
        begin = end
    return np.asarray(found)
