"""From the options of `auxmc stream` to data, models, estimators and settings, checked."""

import argparse
import hashlib
import importlib.metadata
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp

from auxmc.command_line.stream_checks import (
    available_bytes,
    bias_per_row,
    needed_bytes,
    row_curvature,
    stability_limit,
)
from auxmc.command_line.stream_models import NamedModel, named_model
from auxmc.command_line.stream_reading import first_rows, open_source
from auxmc.command_line.stream_settings import SETTINGS
from auxmc.data.tables import Table
from auxmc.driver.row_chunks import ChunkSizes, growing_chunks
from auxmc.driver.seeds import stream as stream_key
from auxmc.driver.stream_program import KeyedStream
from auxmc.errors import CommandError, ModelError
from auxmc.kernels.streams.contract import Fetch, Stream, StreamSettings
from auxmc.kernels.streams.published_estimators import stream_evidence
from auxmc.kernels.streams.replicates import replicated
from auxmc.kernels.streams.running_laplace import RunningLaplaceSettings, running_laplace
from auxmc.models.user_model import check_model, program_digest
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.programs import coarse_in_float32

__all__ = ["StreamSetup", "make_estimators", "prepare"]

_SEQUENTIAL_START = 20
# Share of the free memory that a run may take.
_SHARE = 0.9


class StreamSetup(NamedTuple):
    """What a run is made of.

    Attributes:
        source: the file and the columns that are read, the response last.
        models: in the order given; names differ.
        settings: of the estimator.
        chunk_sizes: how rows are cut.
        dtype: of rows and particles.
        n_rows: rows to read at most; None for all.
        total_rows: rows that there are to read, where known.
        numbers: all settings that the record depends on, as plain containers.
        bias: nats a row by which each model's estimate falls short; None where that is not known.
        n_replicates: independent estimates of each model.
    """

    source: Table
    models: tuple[NamedModel, ...]
    settings: StreamSettings | RunningLaplaceSettings
    chunk_sizes: ChunkSizes
    dtype: Any
    n_rows: int | None
    total_rows: int | None
    numbers: dict[str, Any]
    bias: tuple[float | None, ...]
    n_replicates: int


def prepare(options: argparse.Namespace, warn: Callable[[str], None]) -> StreamSetup:
    """Checks all options before anything is compiled.

    Args:
        options: parsed options.
        warn: called with what should be known but does not stop the run.

    Raises:
        CommandError: something cannot be used.
    """
    for name in ("chunk_rows", "capacity", "replicates"):
        if getattr(options, name) < 1:
            raise CommandError(f"--{name.replace('_', '-')} must be at least 1, got {getattr(options, name)}")
    if options.seed < 0:
        raise CommandError(f"--seed must not be negative, got {options.seed}")
    if options.rows is not None and options.rows < 1:
        raise CommandError(f"--rows must be at least 1, got {options.rows}")
    settings = _estimator_settings(options)
    source = open_source(options.data, options.columns, options.response)
    models = tuple(named_model(text, len(source.columns)) for text in options.model)
    names = [model.name for model in models]
    for name in names:
        if names.count(name) > 1:
            raise CommandError(f"--model {name!r} is given twice")
    dtype = jnp.dtype(options.precision or "float32")
    sizes = _chunk_sizes(options)
    _check_memory(options, settings, models, source, dtype)
    first = first_rows(source, models, dtype, options.chunk_rows, sizes.of(0))
    coarse = [name for name, lost in zip(source.columns, coarse_in_float32(first), strict=True) if lost]
    if coarse and dtype == jnp.float32:
        dtype = jnp.dtype(options.precision or "float64")
        warn(
            f"float32 cannot tell the values of {', '.join(coarse)} apart to five digits: rows are read in {dtype}"
            + ("; give --precision float64" if options.precision else "")
        )
        _check_memory(options, settings, models, source, dtype)
    bias = []
    for model in models:
        key = stream_key(options.seed, "stream", model.name, "checks")
        if model.file_digest:
            try:
                for text in check_model(model.model, jnp.asarray(first), key, model.name):
                    warn(text)
            except ModelError as error:
                raise CommandError(str(error)) from error
        bias.append(_check_stability(settings, model, first, key, warn))
    total = source.n_rows if options.rows is None else min(options.rows, source.n_rows or options.rows)
    setup = StreamSetup(
        source,
        models,
        settings,
        sizes,
        dtype,
        options.rows,
        total,
        _numbers(options, source, models, settings, sizes, dtype, first[0]),
        tuple(bias),
        options.replicates,
    )
    # Only to have its settings checked.
    make_estimators(setup, options.seed, None)
    return setup


def make_estimators(setup: StreamSetup, seed: int, fetch: Fetch | None) -> dict[str, KeyedStream]:
    """The estimator of each model by name; its key depends on the seed and that name alone.

    Args:
        setup: what `prepare` returned.
        seed: root seed.
        fetch: where past rows are drawn from, if not from memory.

    Raises:
        CommandError: a setting is out of range.
    """

    def estimator(model: NamedModel) -> Stream:
        if isinstance(setup.settings, RunningLaplaceSettings):
            one = running_laplace(model.model, setup.settings)
            return replicated(one, setup.n_replicates, setup.settings.n_particles)
        return replicated(stream_evidence(model.model, setup.settings, fetch=fetch), setup.n_replicates)

    try:
        return {
            model.name: KeyedStream(estimator(model), stream_key(seed, "stream", model.name))
            for model in setup.models
        }
    except ValueError as error:
        raise CommandError(f"settings of the estimator: {error}") from error


def _estimator_settings(options: argparse.Namespace) -> StreamSettings | RunningLaplaceSettings:
    given = {}
    for option, setting in SETTINGS.items():
        value = getattr(options, setting.field)
        if value is None:
            continue
        if options.estimator not in setting.defaults:
            raise CommandError(
                f"{option} is a setting of {', '.join(setting.defaults)}, not of --estimator {options.estimator}"
            )
        given[setting.field] = value
    if options.estimator == "running_laplace":
        if options.past == "store":
            raise CommandError("--past store: running_laplace draws no past rows; leave it out")
        return RunningLaplaceSettings(**given)
    settings = StreamSettings(estimator=options.estimator, **given)
    if settings.control_variates and options.past == "store":
        raise CommandError(
            "--control-variates passes over the rows in memory now and then: use --past reservoir"
        )
    if "target_size" not in given:
        settings = settings._replace(target_size=0.5 * settings.n_particles)
    return settings


def _chunk_sizes(options: argparse.Namespace) -> ChunkSizes:
    step = options.first_chunks
    if step is None:
        step = _SEQUENTIAL_START if options.estimator == "sequential" else 0
    if step < 0:
        raise CommandError(f"--first-chunks must not be negative, got {step}")
    return growing_chunks(step, options.chunk_rows) if step else ChunkSizes((), options.chunk_rows)


def _numbers(
    options: argparse.Namespace,
    source: Table,
    models: tuple[NamedModel, ...],
    settings: StreamSettings | RunningLaplaceSettings,
    sizes: ChunkSizes,
    dtype: Any,
    first_row: FloatArray,
) -> dict[str, Any]:
    # Not the name of the file: rows may be appended in another one. Its first row tells whether it is the same stream.
    return {
        "auxmc": importlib.metadata.version("auxmc"),
        "seed": options.seed,
        "models": [model.name for model in models],
        "model_files": [model.file_digest for model in models],
        # A file may read numbers from others.
        "model_programs": [program_digest(model.model)[:16] if model.file_digest else "" for model in models],
        "estimator": options.estimator,
        "estimator_settings": settings._asdict(),
        "replicates": options.replicates,
        "columns": list(source.columns),
        "first_row": hashlib.sha256(first_row.tobytes()).hexdigest()[:16],
        "first_chunks": list(sizes.first[:1]),
        "chunk_rows": sizes.later,
        "past": options.past,
        "capacity": options.capacity if options.past == "reservoir" else None,
        "precision": str(dtype),
    }


def _check_memory(
    options: argparse.Namespace,
    settings: StreamSettings | RunningLaplaceSettings,
    models: tuple[NamedModel, ...],
    source: Table,
    dtype: Any,
) -> None:
    free = available_bytes()
    if free is None:
        return
    kept = 0 if options.past == "store" else options.capacity * len(source.columns) * dtype.itemsize
    needed = sum(
        needed_bytes(model.model, settings, options.chunk_rows, dtype) + 2 * kept for model in models
    )
    if needed <= _SHARE * free:
        return
    largest = max(model.model.dim for model in models)
    batch = getattr(settings, "batch_size", None)
    drawn = "" if batch is None else f", {settings.n_moves} moves of {batch} past rows each"
    raise CommandError(
        f"the run needs about {_gib(needed)} of memory, {_gib(free)} are free: {settings.n_particles} particles of up "
        f"to {largest} parameters{drawn}, {len(source.columns)} columns, chunks of {options.chunk_rows} rows, "
        f"{len(models)} model(s). Lower --particles"
        + ("" if batch is None else ", --batch-size or --moves")
        + (", or --capacity" if kept > 0.5 * needed else "")
    )


def _check_stability(
    settings: StreamSettings | RunningLaplaceSettings,
    model: NamedModel,
    rows: FloatArray,
    key: Any,
    warn: Callable[[str], None],
) -> float | None:
    if isinstance(settings, RunningLaplaceSettings):
        return None
    curvature = row_curvature(model.model, jnp.asarray(rows), key)
    if curvature is None:
        return None
    limit = stability_limit(settings)
    if curvature.largest > limit:
        stable = 0.5 * limit / curvature.largest * settings.learning_rate
        warn(
            f"model {model.name}: the first {len(rows)} rows have a curvature of about {curvature.largest:.3g} a row, "
            f"above the limit {limit:.3g} of --learning-rate {settings.learning_rate:g}: particles will probably be "
            f"lost. Standardise the columns, or take --learning-rate {stable:.2g}"
        )
    return bias_per_row(settings, curvature)


def _gib(n_bytes: float) -> str:
    return f"{n_bytes / 2**30:.3g} GiB" if n_bytes >= 2**29 else f"{n_bytes / 2**20:.3g} MiB"
