"""Models of rows from a user's own Python file, checked before they are used."""

import importlib.util
import inspect
import math
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.errors import ModelError
from auxmc.models.row_model import RowModel, row_model
from auxmc.numerics import digests
from auxmc.numerics.array_types import BooleanArray, FloatArray

ValidRows = Callable[[FloatArray], BooleanArray]
"""Maps rows [row, column] to whether the model has a probability for each of them [row]."""

_DEFAULT_NAME = "model"
_REQUIRED = ("log_likelihood", "log_prior", "draw_prior")
_OPTIONAL = ("weighted_gradient", "natural")
_N_CHECKED_DRAWS, _N_PRIOR_DRAWS = 32, 5000
# Standard errors; a missing Jacobian or scale makes dozens.
_MAX_DISAGREEMENT = 6.0
# Distance between the quartiles of a normal distribution, in standard deviations.
_QUARTILES = 1.349


def load_model(
    path: Path, n_columns: int, name: str = "", settings: Mapping[str, Any] | None = None
) -> tuple[RowModel, ValidRows | None]:
    """Reads a model of rows of `n_columns` numbers from a file, which is run.

    The file has either a function that is given the number of columns and settings and returns a RowModel (made by
    `auxmc.models.row_model.row_model`), or at its top level the functions `log_likelihood(parameters, rows)`,
    `log_prior(parameters)` and `draw_prior(key)`, with optional `weighted_gradient(parameters, rows, weights)` and
    `natural(parameters)`, all as in `RowModel`. An optional function `valid_rows(rows)` says which rows the model has a
    probability for.

    `name` is that of the function: by default `model`, or the functions at the top level where there is no `model`.
    `settings` are passed to it by name. Returns the model, whose functions keep the precision of their parameters
    whatever the file does, and `valid_rows`. ModelError if the file cannot be run, lacks a function, or makes a model
    of other columns.
    """
    module = run_file(path)
    settings = dict(settings or {})
    if name and not hasattr(module, name):
        raise ModelError(f"{path}: there is no function {name!r}{_functions_of(module)}")
    if name or hasattr(module, _DEFAULT_NAME):
        name = name or _DEFAULT_NAME
        model = _made(path, name, getattr(module, name), n_columns, settings)
    elif settings:
        raise ModelError(f"{path}: {', '.join(settings)} cannot be set: there is no function 'model'")
    else:
        model = _from_functions(path, module, n_columns)
    if model.n_columns != n_columns:
        raise ModelError(f"{path}: expected a model of rows of {n_columns} numbers, got {model.n_columns}")
    return _in_one_precision(model), getattr(module, "valid_rows", None)


def check_model(model: RowModel, rows: Array, key: Array, source: str) -> list[str]:
    """Tries all functions of a model on draws from its prior and the first rows of the data [row, column].

    Returns:
        Warnings: draws that do not have the density of the prior, draws at which something is not finite. A constant
        that is missing in the prior is none: an evidence over rows is a mean over draws of the prior.

    Raises:
        ModelError: a function fails, returns another shape than it should, or is not finite at most of the draws; the
            message names the source.
    """

    def expect(name: str, function: Callable[..., Any], arguments: Any, shape: Any, what: str) -> Any:
        value = _tried(source, name, lambda: function(*arguments))
        if (got := getattr(value, "shape", None)) != shape:
            shown = type(value).__name__ if got is None else f"shape {list(got)}"
            raise ModelError(f"{source}: {name} must return {what}, shape {list(shape)}; got {shown}")
        return value

    keys, n_rows = jax.random.split(key, _N_CHECKED_DRAWS), rows.shape[0]
    shape = (_N_CHECKED_DRAWS, model.dim)
    draws = expect("draw_prior", jax.vmap(model.draw_prior), (keys,), shape, "parameters [dim]")
    if not bool(jnp.isfinite(draws).all()):
        raise ModelError(f"{source}: draw_prior gives parameters that are not finite")
    one, weights = draws[0], jnp.ones(n_rows, rows.dtype)
    expect("log_prior", model.log_prior, (one,), (), "a number")
    expect("log_likelihood", model.log_likelihood, (one, rows), (n_rows,), "a number for each row [row]")
    each = "a derivative for each parameter [dim]"
    expect("weighted_gradient", model.weighted_gradient, (one, rows, weights), (model.dim,), each)
    named = _tried(source, "natural", lambda: model.natural(one))
    if not isinstance(named, dict):
        raise ModelError(f"{source}: natural must return a dictionary of arrays, got {type(named).__name__}")

    @jax.jit
    def at_draws(draws: Array) -> dict[str, Array]:
        return {
            "log_prior": jax.vmap(model.log_prior)(draws),
            "gradient of log_prior": jax.vmap(jax.grad(model.log_prior))(draws),
            "log_likelihood": jax.vmap(model.log_likelihood, (0, None))(draws, rows),
            "weighted_gradient": jax.vmap(model.weighted_gradient, (0, None, None))(draws, rows, weights),
        }

    found = _tried(source, "the model inside jax.jit and jax.vmap", lambda: at_draws(draws))
    warnings = []
    for name, values in found.items():
        finite = np.isfinite(np.asarray(values).reshape(_N_CHECKED_DRAWS, -1)).all(axis=1)
        number = _N_CHECKED_DRAWS - int(np.sum(finite))
        problem = f"{source}: {name} is not finite at {number} of {_N_CHECKED_DRAWS} draws from the prior"
        if 2 * number > _N_CHECKED_DRAWS:
            raise ModelError(f"{problem} (with the first {n_rows} rows)")
        if number:
            warnings.append(problem)
    if prior_disagreement(model, jax.random.fold_in(key, 1)) > _MAX_DISAGREEMENT:
        warnings.append(
            f"{source}: log_prior is not the density of what draw_prior draws, and every log evidence is wrong: look "
            "for a Jacobian or a scale that is missing in one of them"
        )
    return warnings


def prior_disagreement(model: RowModel, key: Array) -> float:
    """How far draws from the prior are from having its density, in standard errors.

    For draws of a density exp(f), whatever its constant, the mean of h f' + h' is zero for any bounded smooth h that
    is of one parameter. Here h is 1 and tanh of the standardised parameter, for each parameter in turn.

    Returns:
        The largest mean in its standard errors; 0 where derivatives are not finite. Several hundred parameters make 4
        of them by chance.

    Source: Stein's identity.
    """

    @jax.jit
    def drawn(key: Array) -> tuple[Array, Array]:
        draws = jax.vmap(model.draw_prior)(jax.random.split(key, _N_PRIOR_DRAWS))
        return draws, jax.vmap(jax.grad(model.log_prior))(draws)

    draws, slopes = (np.asarray(values, np.float64) for values in drawn(key))
    # Quartiles, since the draws of a prior may have no variance.
    low, centre, high = np.quantile(draws, [0.25, 0.5, 0.75], axis=0)
    scale = np.maximum((high - low) / _QUARTILES, np.finfo(np.float64).tiny)
    bounded = np.tanh((draws - centre) / scale)
    terms = np.concatenate([slopes, slopes * bounded + (1.0 - bounded**2) / scale], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        scores = np.abs(terms.mean(axis=0)) / (terms.std(axis=0) / math.sqrt(_N_PRIOR_DRAWS))
    return float(np.max(scores[np.isfinite(scores)], initial=0.0))


def program_digest(model: RowModel) -> str:
    """SHA-256 of what a model computes: its functions with all numbers that they hold, wherever these came from."""
    point = jnp.zeros(model.dim)
    traced = (
        jax.jit(model.log_likelihood).trace(point, jnp.zeros((1, model.n_columns))),
        jax.jit(model.log_prior).trace(point),
        jax.jit(model.draw_prior).trace(jax.random.key(0)),
    )
    return digests.program_digest(*traced)


def run_file(path: Path) -> ModuleType:
    """Runs a user's file, which may import others of its folder; ModelError if there is none, or it fails."""
    if not path.is_file():
        raise ModelError(f"{path}: there is no such model file")
    specification = importlib.util.spec_from_file_location(f"user_model_{path.stem}", path)
    if specification is None or specification.loader is None:
        raise ModelError(f"{path}: a model file must be a Python file, ending in .py")
    module = importlib.util.module_from_spec(specification)
    loader = specification.loader
    # Classes of a module look it up by its name while they are made.
    sys.modules[specification.name] = module
    with importing_from(path.parent):
        _tried(str(path), "the file", lambda: loader.exec_module(module))
    return module


@contextmanager
def importing_from(folder: Path) -> Iterator[None]:
    """Finds modules in a folder too, and forgets them after that: another model may have others of the same name."""
    folder = folder.resolve()
    if str(folder) in sys.path:
        yield
        return
    there = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in sys.modules.keys() - there:
            file = getattr(sys.modules[name], "__file__", None)
            if file and folder in Path(file).resolve().parents:
                del sys.modules[name]


def _functions_of(module: ModuleType) -> str:
    names = [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]
    return f"; it has {', '.join(names)}" if names else ""


def _made(path: Path, name: str, make: Any, n_columns: int, settings: dict[str, Any]) -> RowModel:
    if not callable(make):
        raise ModelError(f"{path}: {name} must be a function of n_columns, got {type(make).__name__}")
    known = list(inspect.signature(make).parameters)[1:]
    for setting in settings:
        if setting not in known:
            raise ModelError(f"{path}: {name} has no setting {setting!r}, only {', '.join(known) or 'none'}")
    model = _tried(str(path), name, lambda: make(n_columns, **settings))
    if not isinstance(model, RowModel):
        maker, got = "auxmc.models.row_model.row_model", type(model).__name__
        raise ModelError(f"{path}: {name} must return what {maker} makes, got {got}")
    return model


def _from_functions(path: Path, module: ModuleType, n_columns: int) -> RowModel:
    for name in _REQUIRED:
        if not callable(getattr(module, name, None)):
            there = _functions_of(module)
            raise ModelError(f"{path}: there is neither a function 'model' nor a function {name!r}{there}")
    draw = _tried(str(path), "draw_prior", lambda: module.draw_prior(jax.random.key(0)))
    if getattr(draw, "ndim", None) != 1:
        got = getattr(draw, "shape", type(draw).__name__)
        raise ModelError(f"{path}: draw_prior must return parameters [dim], got {got}")
    given = {name: getattr(module, name) for name in (*_REQUIRED, *_OPTIONAL) if hasattr(module, name)}
    return row_model(len(draw), n_columns, **given)


def _in_one_precision(model: RowModel) -> RowModel:
    """Results in the precision of the parameters: float64 constants in a file would otherwise spread."""

    def kept(function: Callable[..., Any]) -> Callable[..., Array]:
        return lambda parameters, *others: jnp.asarray(function(parameters, *others)).astype(parameters.dtype)

    return model._replace(
        log_likelihood=kept(model.log_likelihood),
        weighted_gradient=kept(model.weighted_gradient),
        log_prior=kept(model.log_prior),
    )


def _tried(source: str, name: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except ModelError:
        raise
    except (Exception, SystemExit) as error:
        reason, where = (str(error).strip().splitlines() or [""])[0], ""
        for frame, line in traceback.walk_tb(error.__traceback__):
            if frame.f_globals.get("__name__", "").startswith("user_model_"):
                where = f", line {line}"
        raise ModelError(f"{source}{where}: {name} fails: {type(error).__name__}: {reason}") from error
