"""Which function draws a figure, measures a claim, or runs in a study, as `file::function`."""

import functools
import inspect
from pathlib import Path
from types import CodeType
from typing import Any

from auxmc_pipeline.catalogue import CODE_ROOTS, ROOT, STUDIES, Study
from auxmc_pipeline.code import imported_files

# Packages of the library whose functions are what a study studies.
_ALGORITHMS = ("auxmc.approximations.", "auxmc.kernels.", "auxmc.models.", "auxmc.sampling.")


def drawn_by(study: Study, figure: str) -> str:
    """The function that draws a figure of a study."""
    return _place(study.drawings()[figure])


def measured_by(study: Study, claim: str, setting: str) -> str:
    """The function that measures one line of a claim: the innermost in a file of claims, or the run's `computed_by`."""
    measure, place = study.measures()[claim][setting], ""
    found = getattr(measure, "computed_by", measure)
    while found is not None:
        here = _place(found)
        if here.startswith(f"experiments/{study.name}/claims") or hasattr(measure, "computed_by"):
            place = here
        is_partial = isinstance(found, functools.partial)
        inner = found.args if is_partial else inspect.getclosurevars(found).nonlocals.values()
        found = next((f for f in inner if inspect.isfunction(f) or isinstance(f, functools.partial)), None)
    if not place:
        part = next(p for p in study.claims if claim in getattr(study.module(p), "MEASURE", {}))
        place = f"experiments/{study.name}/{part.replace('.', '/')}.py::<lambda>"
    return place.replace("::<lambda>", f'::MEASURE["{claim}"]')


def claims_drawn(study: Study, figure: str) -> set[str]:
    """Claims that the function which draws a figure names, itself or in what it uses of its study."""
    seen: dict[int, Any] = {}
    queue = [study.drawings()[figure]]
    while queue:
        value = queue.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, functools.partial):
            queue += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, dict):
            queue += [*value, *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            queue += value
        elif inspect.isfunction(value) and value.__module__.startswith(f"experiments.{study.name}."):
            codes = [value.__code__]
            for code in codes:
                queue += code.co_consts
                queue += [value.__globals__[name] for name in code.co_names if name in value.__globals__]
                # Functions and comprehensions inside it.
                codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
            queue += inspect.getclosurevars(value).nonlocals.values()
    return set(study.measures()) & {value for value in seen.values() if isinstance(value, str)}


def algorithms(study: Study) -> list[str]:
    """Functions of kernels, models, draws and approximations that the modules of a study's run import, sorted."""
    files = imported_files(f"experiments.{study.name}.run", CODE_ROOTS)
    own = [path.relative_to(STUDIES / study.name) for path in files if STUDIES / study.name in path.parents]
    modules = [study.module(".".join(path.with_suffix("").parts)) for path in own]
    found = [inspect.unwrap(value) for module in modules for value in vars(module).values()]
    found = [f for f in found if inspect.isfunction(f) and f.__module__.startswith(_ALGORITHMS)]
    return sorted({_place(function) for function in found})


def _place(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    code = inspect.unwrap(function).__code__
    path = Path(code.co_filename)
    file = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return f"{file.as_posix()}::{code.co_qualname.partition('.')[0]}"
