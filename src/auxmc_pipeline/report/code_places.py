"""Functions behind a figure, a claim and a study, as `file::function`."""

import functools
import inspect
import re
from pathlib import Path
from typing import Any

from auxmc_pipeline.catalogue import CODE_ROOTS, ROOT, STUDIES, Study
from auxmc_pipeline.code import imported_files

# Modules whose functions are what a study studies.
_ALGORITHMS = re.compile(r"auxmc\.(approximations|kernels|models|sampling)\.|experiments\.\w+\.model")


def drawn_by(study: Study, figure: str) -> str:
    """The function that draws a figure of a study."""
    return _place(study.drawings()[figure])


def measured_by(study: Study, claim: str) -> str:
    """The module of claims with the entry that measures a claim, or the function that its study's run calls for it."""
    measure = next(iter(study.measures()[claim].values()))
    if hasattr(measure, "computed_by"):
        return _place(measure.computed_by)
    part = next(p for p in study.claims if claim in getattr(study.module(p), "MEASURE", {}))
    return f"experiments/{study.folder}/{part.replace('.', '/')}.py::{claim}"


def algorithms(study: Study) -> list[str]:
    """Functions of kernels, models, draws and approximations that the modules of a study's run import, sorted."""
    files = imported_files(f"experiments.{study.folder}.run", CODE_ROOTS)
    folder = STUDIES / study.folder
    own = [path.relative_to(folder) for path in files if folder in path.parents]
    modules = [study.module(".".join(path.with_suffix("").parts)) for path in own]
    values = (value for module in modules for value in vars(module).values())
    found = {inspect.unwrap(value) for value in values if callable(value)}
    functions = [f for f in found if inspect.isfunction(f) and _ALGORITHMS.match(f.__module__)]
    return sorted({_place(function) for function in functions})


def _place(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    code = inspect.unwrap(function).__code__
    return f"{in_project(Path(code.co_filename)).as_posix()}::{code.co_qualname.partition('.')[0]}"


def in_project(path: Path) -> Path:
    """The path relative to the root of the project, where it lies there."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
