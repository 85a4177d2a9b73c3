"""From the options of `auxmc stream` to data, models and estimators, checked before anything is compiled."""

import argparse
import hashlib
import importlib.metadata
import inspect
import re
import shlex
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from auxmc.command_line.errors import warn
from auxmc.command_line.stream import ANNEALED_ONLY, SETTINGS
from auxmc.data.tables import Table, nearest_name, open_rows, read_blocks
from auxmc.driver.row_chunks import ChunkSizes, growing_chunks
from auxmc.driver.seeds import stream as stream_key
from auxmc.driver.stream_program import KeyedStream
from auxmc.errors import CommandError, DataError
from auxmc.kernels.streams.contract import Fetch, StreamSettings
from auxmc.kernels.streams.published_estimators import bias_per_row
from auxmc.kernels.streams.replicates import replicated_evidence
from auxmc.kernels.streams.running_laplace import RunningLaplaceSettings
from auxmc.models.mixtures.gaussian_mixture import gaussian_mixture, single_gaussian
from auxmc.models.regression.linear_regression import linear_regression
from auxmc.models.regression.softmax_regression import softmax_regression
from auxmc.models.row_model import RowModel
from auxmc.models.user_model import ValidRows, check_model, load_model, program_digest
from auxmc.numerics.array_types import BooleanArray, FloatArray
from auxmc.numerics.programs import coarse_in_float32

_BLOCK_ROWS = 32_768
_LEAST = {"chunk_rows": 1, "capacity": 1, "replicates": 1, "seed": 0, "rows": 1, "first_chunks": 0}


class NamedModel(NamedTuple):
    """A model from the command line."""

    name: str  # words as they were given, with single spaces
    model: RowModel  # the model
    # Maps rows [row, column] to whether the model has a probability for each [row].
    valid_rows: ValidRows = lambda rows: np.ones(len(rows), dtype=bool)
    requirement: str = ""  # what `valid_rows` asks of a row, for messages
    column: int | None = None  # column that decides it; None where no single column does
    file_digest: str = ""  # of the user's file; empty for a built-in model


def _linear(n_columns: int, *, noise_scale: float = 1.0) -> RowModel:
    return linear_regression(n_columns - 1, noise_scale)


def _logistic(n_columns: int, *, classes: int) -> RowModel:
    return softmax_regression(n_columns - 1, classes)


def _mixture(
    n_columns: int, *, components: int, weights: str = "log_gamma", means: str = "centred"
) -> RowModel:
    if components == 1:
        return single_gaussian(n_columns)
    return gaussian_mixture(components, n_columns, weight_coordinates=weights, mean_coordinates=means)


_MODELS: dict[str, Callable[..., RowModel]] = {"linear": _linear, "logistic": _logistic, "mixture": _mixture}


def parse_model(text: str, n_columns: int) -> NamedModel:
    """Returns the model that a text names, of rows with so many numbers, the last one the response of a regression.

    The text is the name of a model, or FILE.py or FILE.py:NAME, followed by KEY=VALUE for each setting.
    """
    try:
        words = shlex.split(text) or [""]
        settings = {}
        for word in words[1:]:
            key, _, value = word.partition("=")
            if not key or not value:
                raise ValueError(f"settings: expected KEY=VALUE, got {word!r}")
            settings[key] = value
        if own := re.fullmatch(r"(.+\.py)(?::(\w+))?", words[0]):
            return _load(" ".join(words), Path(own[1]), own[2] or "", n_columns, settings)
        if words[0] not in _MODELS:
            raise ValueError(f"expected one of {', '.join(_MODELS)} or FILE.py[:NAME], got {words[0]!r}")
        return _build(" ".join(words), _MODELS[words[0]], n_columns, settings)
    except ValueError as error:
        raise CommandError(f"--model {text!r}: {error}") from error


def _build(name: str, make: Callable[..., RowModel], n_columns: int, settings: dict[str, str]) -> NamedModel:
    kinds = {key: one.annotation for key, one in inspect.signature(make).parameters.items()}
    try:
        inspect.signature(make).bind(n_columns, **settings)
    except TypeError as error:
        raise ValueError(f"{error}; {name.split()[0]} takes {', '.join(list(kinds)[1:])}") from None
    values: dict[str, Any] = {}
    for key, text in settings.items():
        try:
            values[key] = kinds[key](text)
        except ValueError:
            raise ValueError(f"{key}: expected {kinds[key].__name__}, got {text!r}") from None
    if make is not _mixture and n_columns < 2:
        raise ValueError("a regression: expected two or more columns, the last one its response, got one")
    model = NamedModel(name, make(n_columns, **values))
    if make is not _logistic:
        return model

    def has_class(rows: FloatArray) -> BooleanArray:
        return np.isin(rows[:, -1], np.arange(values["classes"]))

    requirement = f"one of the classes 0 to {values['classes'] - 1}"
    return model._replace(valid_rows=has_class, requirement=requirement, column=n_columns - 1)


def _load(name: str, path: Path, function: str, n_columns: int, settings: dict[str, str]) -> NamedModel:
    values = {key: _number_or_text(text) for key, text in settings.items()}
    model, valid_rows = load_model(path, n_columns, function, values)
    found = NamedModel(name, model, file_digest=hashlib.sha256(path.read_bytes()).hexdigest()[:16])
    if valid_rows is None:
        return found

    def checked(rows: FloatArray) -> BooleanArray:
        try:
            valid = np.asarray(valid_rows(rows))
        except (Exception, SystemExit) as error:
            raise CommandError(f"{path}: valid_rows fails: {type(error).__name__}: {error}") from error
        if valid.shape != (len(rows),) or valid.dtype != np.bool_:
            got = f"{valid.dtype} {list(valid.shape)}"
            raise CommandError(f"{path}: valid_rows: expected booleans [{len(rows)}], one a row, got {got}")
        return valid

    return found._replace(valid_rows=checked, requirement=f"what valid_rows of {path} accepts")


def _number_or_text(text: str) -> int | float | str:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


class StreamSetup(NamedTuple):
    """What a run consists of."""

    options: argparse.Namespace  # of the command line
    source: Table  # the file and its columns, the response last
    models: tuple[NamedModel, ...]  # in the order given; names differ
    settings: StreamSettings | RunningLaplaceSettings  # of the estimator
    chunk_sizes: ChunkSizes  # how rows are cut
    dtype: Any  # of rows and particles
    first_rows: FloatArray  # those of the first chunk, or fewer [row, column]
    # Nats a row by which each model's estimate falls short; None where that is not known.
    bias: tuple[float | None, ...]

    @property
    def numbers(self) -> dict[str, Any]:
        """What the record depends on, as plain containers.

        Not the name of the file: rows may be appended in another one, and the first row tells whether it is the same
        stream.
        """
        options, models = self.options, self.models
        return {
            **{name: getattr(options, name) for name in ("seed", "estimator", "replicates", "past")},
            "auxmc": importlib.metadata.version("auxmc"),
            "models": [one.name for one in models],
            "model_files": [one.file_digest for one in models],
            # A file may read numbers from others.
            "model_programs": [program_digest(one.model)[:16] if one.file_digest else "" for one in models],
            "estimator_settings": self.settings._asdict(),
            "columns": list(self.source.columns),
            "first_row": hashlib.sha256(self.first_rows[0].tobytes()).hexdigest()[:16],
            "first_chunks": list(self.chunk_sizes.first[:1]),
            "chunk_rows": self.chunk_sizes.later,
            "capacity": options.capacity if options.past == "reservoir" else None,
            "precision": str(self.dtype),
        }

    def read(self, first_row: int, checksum: int = 0) -> Iterator[FloatArray]:
        """Yields blocks of rows [row, column] from one on; warns of the first chunk that loses digits in float32.

        Raises DataError if `checksum` is not 0 and differs from that of the rows before (CRC-32).
        """
        if checksum:
            self._check_absorbed(first_row, checksum)
        done, n = first_row, len(self.first_rows)
        is_told = self.dtype != jnp.float32
        for block in read_checked(self.source, self.models, self.dtype, self.options.rows, first_row):
            for begin in range(0, 0 if is_told else len(block) - n + 1, n):
                if coarse := _coarse_columns(self.source, block[begin : begin + n]):
                    place = f"rows {done + begin + 1} to {done + begin + n}"
                    warn(f"{coarse}: float32 does not hold five digits in {place}; give --precision float64")
                    is_told = True
                    break
            done += len(block)
            yield block

    def _check_absorbed(self, n_rows: int, checksum: int) -> None:
        left, found = n_rows, 0
        for block in read_blocks(self.source, _BLOCK_ROWS):
            found = zlib.crc32(block[:left].astype(self.dtype).tobytes(), found)
            left -= min(left, len(block))
            if not left:
                break
        if not left and found != checksum:
            changed = f"one of the first {n_rows} rows has changed since they were absorbed"
            raise DataError(f"{self.source.path}: {changed}; give them as they were, or --restart")

    def estimators(self, fetch: Fetch | None = None) -> dict[str, KeyedStream]:
        """Returns the estimator of each model by name; its key depends on the seed and that name alone.

        `fetch` draws past rows, if they are not in memory. A setting that is out of range is a ValueError.
        """
        found = {}
        for one in self.models:
            estimator = replicated_evidence(one.model, self.settings, self.options.replicates, fetch)
            found[one.name] = KeyedStream(estimator, stream_key(self.options.seed, "stream", one.name))
        return found


def prepare(options: argparse.Namespace) -> StreamSetup:
    """Returns the run that the options ask for, or raises CommandError; prints warnings."""
    for name, least in _LEAST.items():
        if (value := getattr(options, name)) is not None and value < least:
            option = name.replace("_", "-")
            raise CommandError(f"--{option}: expected an integer of at least {least}, got {value}")
    settings = _estimator_settings(options)
    step = options.first_chunks
    if step is None:
        step = 20 if options.estimator == "sequential" else 0
    sizes = growing_chunks(step, options.chunk_rows) if step else ChunkSizes((), options.chunk_rows)
    try:
        source = open_source(options.data, options.columns, options.response)
        models = tuple(parse_model(text, len(source.columns)) for text in options.model)
        names = [model.name for model in models]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise CommandError(f"--model {repeated[0]!r}: expected different models, got it twice")
        dtype = jnp.dtype(options.precision or "float32")
        first = _first_rows(source, models, dtype, options.chunk_rows, sizes.of(0))
        if not options.precision and (coarse := _coarse_columns(source, first)):
            warn(f"{coarse}: float32 does not hold five digits of the first rows; rows are read in float64")
            dtype = jnp.dtype("float64")
        bias: list[float | None] = []
        for model in models:
            key = stream_key(options.seed, "stream", model.name, "checks")
            if model.file_digest:
                for text in check_model(model.model, jnp.asarray(first), key, model.name):
                    warn(text)
            bias.append(
                bias_per_row(model.model, settings, first, key)
                if isinstance(settings, StreamSettings)
                else None
            )
        setup = StreamSetup(options, source, models, settings, sizes, dtype, first, tuple(bias))
        setup.estimators()  # checks the settings
    except ValueError as error:
        raise CommandError(str(error)) from error
    return setup


def open_source(path: Path, columns: str, response: str) -> Table:
    """Returns a table with the columns that are named, separated by commas, or all, the response last."""
    source = open_rows(path, [name.strip() for name in columns.split(",") if name.strip()])
    names = source.columns
    last = response or names[-1]
    if last not in names:
        near = nearest_name(last, names)
        raise DataError(f"{path}: --response: expected one of {', '.join(names)}, got {last!r}{near}")
    return source._replace(columns=(*(name for name in names if name != last), last))


def read_checked(
    source: Table, models: Sequence[NamedModel], dtype: Any, n_rows: int | None, first_row: int
) -> Iterator[FloatArray]:
    """Yields blocks of rows [row, column] from one on that fit into a type and that all models have a probability for.

    DataError is raised after the rows before the fault.
    """
    done = first_row
    for read in read_blocks(source, _BLOCK_ROWS, first_row):
        block, fault = read if n_rows is None else read[: max(0, n_rows - done)], ""
        too_large = np.argwhere(np.abs(block) > np.finfo(dtype).max)
        if len(too_large):
            row, column = map(int, too_large[0])
            block, fault = block[:row], _describe(source, read[row], column, f"a number within {dtype}")
        for model in models:
            valid = model.valid_rows(block)
            if not valid.all():
                row, expected = int(np.argmin(valid)), f"{model.requirement} (model {model.name})"
                block, fault = block[:row], _describe(source, read[row], model.column, expected)
        if len(block):
            yield block
        done += len(block)
        if fault:
            raise DataError(f"{source.path}: row {done + 1}{fault}")
        if n_rows is not None and done >= n_rows:
            return


def _describe(source: Table, values: FloatArray, column: int | None, expected: str) -> str:
    if column is None:
        return f": expected {expected}, got {values.tolist()}"
    return f", column {source.columns[column]!r}: expected {expected}, got {values[column]:g}"


def _coarse_columns(source: Table, rows: FloatArray) -> str:
    coarse = coarse_in_float32(rows)
    return ", ".join(name for name, is_coarse in zip(source.columns, coarse, strict=True) if is_coarse)


def _first_rows(
    source: Table, models: Sequence[NamedModel], dtype: Any, n_rows: int, n_required: int
) -> FloatArray:
    """First rows of the file [row, column]; fewer than asked for where one behind the required ones is bad."""
    found: list[FloatArray] = []
    try:
        found.extend(read_checked(source, models, dtype, n_rows, 0))
    except DataError:
        if sum(map(len, found)) < n_required:
            raise
    return np.concatenate(found)


def _estimator_settings(options: argparse.Namespace) -> StreamSettings | RunningLaplaceSettings:
    name = options.estimator
    kind = RunningLaplaceSettings if name == "running_laplace" else StreamSettings
    given = {field: value for field in SETTINGS if (value := getattr(options, field)) is not None}
    for field in given:
        if field not in kind._fields or (name == "sequential" and field in ANNEALED_ONLY):
            option = field.removeprefix("n_").replace("_", "-")
            raise CommandError(f"--{option}: is not a setting of --estimator {name}; leave it out")
    if kind is RunningLaplaceSettings:
        if options.past == "store":
            raise CommandError("--past store: running_laplace draws no past rows; leave it out")
        return RunningLaplaceSettings(**given)
    settings = StreamSettings(estimator=name, **given)
    if settings.control_variates and options.past == "store":
        raise CommandError("--control-variates: expected --past reservoir, got --past store")
    return settings if "target_size" in given else settings._replace(target_size=0.5 * settings.n_particles)
