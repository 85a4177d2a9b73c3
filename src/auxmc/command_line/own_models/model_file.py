"""A model from a user's Python file, with its data."""

import ast
import difflib
import functools
import hashlib
import inspect
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np

from auxmc.command_line.errors import error_line
from auxmc.data.tables import read_arrays
from auxmc.errors import CommandError, DataError
from auxmc.models.user_model import run_file

# The first function of each tells the kind.
_KINDS = {
    "simulator": ("generate", "inputs"),
    "estimate": ("log_estimate", "log_prior", "auxiliary", "start"),
    "density": ("log_density", "start"),
}
_DENSITY = ("prior", "bounds", "periodic", "exchangeable")
_OPTIONAL = {"simulator": ("noise_scale", "derived", "observed"), "estimate": (), "density": _DENSITY}
# These stay functions: their arguments are not data.
_FUNCTIONS = ("generate", "derived", "log_prior", "log_estimate", "log_density")


class OwnModel(NamedTuple):
    """Kind, functions and values of a model file by name, data bound where they are an argument, and a digest."""

    kind: str
    parts: dict[str, Any]
    digest: str


def read_model(path: Path, data: Path | None) -> OwnModel:
    """Returns the content of a model file, which is run, with its data.

    CommandError is raised if a file cannot be used, a function is missing, or data are missing or not used.
    """
    module = run_file(path)
    kind = _kind(path, module)
    given = _Data(path, module, data)
    names = [name for name in (*_KINDS[kind], *_OPTIONAL[kind]) if hasattr(module, name)]
    parts = {name: given.to(name, getattr(module, name)) for name in names}
    if kind == "simulator" and "observed" not in parts:
        parts["observed"] = given.value
    if data is not None and not given.used:
        raise CommandError(f"{path}: no function has an argument called `data`; add one, or leave --data out")
    content = path.read_bytes() + (b"" if data is None else data.read_bytes())
    return OwnModel(kind, parts, hashlib.sha256(content).hexdigest()[:16])


def read_settings(
    texts: list[str], function: Callable[..., Any], taken: Collection[str] = ()
) -> dict[str, Any]:
    """Returns the settings of a method, keyword arguments that no other option sets (`taken`), from NAME=VALUE."""
    known = [
        name
        for name, one in inspect.signature(function).parameters.items()
        if one.kind is inspect.Parameter.KEYWORD_ONLY and name not in taken
    ]
    found: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or name not in known:
            raise CommandError(f"--set: expected NAME=VALUE, NAME one of {', '.join(known)}, got {text!r}")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name] = value
    return found


class _Data:
    """Data, read at first use."""

    def __init__(self, path: Path, module: ModuleType, data: Path | None) -> None:
        self._path, self._module, self._file = path, module, data
        self.used = False

    @functools.cached_property
    def value(self) -> Any:
        if self._file is None:
            raise CommandError(f"{self._path}: expected data; give --data FILE")
        try:
            value = getattr(self._module, "load", read_arrays)(self._file)
        except DataError as error:
            raise CommandError(f"--data {error}; or give the model a function load(path)") from error
        except (Exception, SystemExit) as error:
            raise CommandError(f"--data {self._file}: {error_line(error)}") from error
        if any(map(np.ma.is_masked, jax.tree.leaves(value))):
            raise CommandError(f"--data {self._file}: load: missing values (masked); fill them in")
        self.used = True
        return value

    def to(self, name: str, part: Any) -> Any:
        """Returns a part of the model with the data bound, where they are an argument."""
        if not callable(part):
            return part
        arguments = list(inspect.signature(part).parameters)
        if name in _FUNCTIONS:
            return functools.partial(part, data=self.value) if "data" in arguments else part
        if set(arguments) - {"data"}:
            return part
        try:
            return part(**({"data": self.value} if arguments else {}))
        except CommandError:
            raise
        except (Exception, SystemExit) as error:
            raise CommandError(f"{self._path}: {name} fails: {error_line(error)}") from error


def _kind(path: Path, module: ModuleType) -> str:
    begun = [kind for kind, names in _KINDS.items() if hasattr(module, names[0])]
    if not begun and hasattr(module, "log_likelihood") and hasattr(module, "draw_prior"):
        raise CommandError(f"{path}: is a model of rows: auxmc stream --data FILE --model {path}")
    if len(begun) != 1:
        marks = ", ".join(_KINDS[kind][0] for kind in (begun or _KINDS))
        which = "more than one" if begun else "none"
        hint = "" if begun else _misspelt(module, [names[0] for names in _KINDS.values()])
        raise CommandError(f"{path}: expected one of the functions {marks}, got {which}; see --help{hint}")
    # A prior draws the start.
    given = {"start"} if begun[0] == "density" and hasattr(module, "prior") else set()
    missing = [name for name in _KINDS[begun[0]] if name not in given and not hasattr(module, name)]
    if missing:
        hint = _misspelt(module, missing)
        raise CommandError(f"{path}: has {_KINDS[begun[0]][0]} but no {', '.join(missing)}; see --help{hint}")
    return begun[0]


def _misspelt(module: ModuleType, wanted: Iterable[str]) -> str:
    found = ((name, difflib.get_close_matches(name, [*wanted], 1, 0.7)) for name in vars(module))
    return next((f"; did you mean {close[0]} by {name}?" for name, close in found if close), "")
