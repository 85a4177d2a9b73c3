"""Which function measured a claim, and where it stands."""

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from auxmc_pipeline.claims import Measures


class CodePlace(NamedTuple):
    """Where a function stands: file in the study's folder, its name, the line on which it begins."""

    file: str
    name: str
    line: int


def measured_by(folder: Path, measures: Measures, claim: str, setting: str) -> CodePlace:
    """The function of a study that measures one line of a claim.

    Where a claim is computed by the study's run, its measure only reads a table and names, as its attribute
    `computed_by`, the function that computed it. Wrappers are followed inwards; the innermost function counts that
    stands in a file `claims*.py` of the study, and where there is none, the line of `MEASURE` that names the claim.

    Args:
        folder: of the study.
        measures: of the study, by claim id.
        claim: id of the claim.
        setting: setting of the line.
    """
    entry, place = f'MEASURE["{claim}"]', None
    measure = measures[claim][setting]
    if hasattr(measure, "computed_by"):
        code = measure.computed_by.__code__
        return CodePlace(
            str(Path(code.co_filename).relative_to(folder)), f"{code.co_name}()", code.co_firstlineno
        )
    function: Callable[..., Any] | None = measure
    seen: set[int] = set()
    while function is not None and id(function) not in seen:
        seen.add(id(function))
        wrapper = function.func if isinstance(function, partial) else function
        code, name = wrapper.__code__, wrapper.__qualname__.partition(".")[0]
        path = Path(code.co_filename)
        if path.parent == folder and path.name.startswith("claims"):
            place = CodePlace(path.name, entry if name == "<lambda>" else f"{name}()", code.co_firstlineno)
        function = _inside(function)
    return place or _named(folder, claim, entry)


def _named(folder: Path, claim: str, entry: str) -> CodePlace:
    """Where the study's `MEASURE` names a claim that a function of the pipeline measures."""
    for path in sorted(folder.glob("claims*.py")):
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if text.strip().startswith(f'"{claim}":'):
                return CodePlace(path.name, entry, line)
    return CodePlace("claims.py", entry, 1)


def _inside(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The function that another one wraps: an argument of a partial one, or a variable that it closes over."""
    if isinstance(function, partial):
        return next(filter(_has_code, function.args), None)
    variables = inspect.getclosurevars(function).nonlocals.values()
    return next(filter(_has_code, variables), None)


def _has_code(value: object) -> bool:
    return inspect.isfunction(value.func if isinstance(value, partial) else value)
