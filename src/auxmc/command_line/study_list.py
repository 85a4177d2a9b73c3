"""Studies and cases of a checkout of the project, with their cost."""

import importlib
import math
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import xarray as xr

from auxmc.command_line.columns import columns
from auxmc.command_line.errors import CommandError
from auxmc.engine.config import (
    PRESETS,
    SettingsError,
    compose_settings,
    nearest,
    parse_overrides,
    sweep_values,
)

__all__ = ["catalogue", "costs", "list_cases", "list_studies"]

_MARKS = ("conf/config.yaml", "experiments/catalogue.py")


def catalogue() -> ModuleType:
    """The module that knows the studies, of the checkout that the working directory is in.

    Raises:
        CommandError: the working directory is in no checkout.
    """
    here = Path.cwd()
    root = next((f for f in (here, *here.parents) if all((f / mark).is_file() for mark in _MARKS)), None)
    if root is None:
        raise CommandError(
            f"{here} is not inside a checkout of the project: the studies stand in its folders conf/ and experiments/, "
            "which the installed package does not have. Go to the folder that holds Snakefile, and try again"
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return importlib.import_module("experiments.catalogue")


def list_studies() -> str:
    """A line for each study: number of cases and CPU time at every preset, title.

    Raises:
        CommandError: no checkout, or a setting is wrong.
    """
    known = catalogue()
    cost = costs(known.ROOT / "README.md")
    rows = [("study", *PRESETS, "title")]
    try:
        for name in known.studies():
            study = known.load_study(name)
            counts = [_number_of_cases(known, study, preset) for preset in PRESETS]
            stated = cost.get(name, ("cost not stated",) * len(PRESETS))
            cells = (
                f"{count} case{'s' if count > 1 else ''}, {text}"
                for count, text in zip(counts, stated, strict=True)
            )
            rows.append((name, *cells, study.title))
    except SettingsError as error:
        raise CommandError(str(error)) from error
    return "\n".join(
        [
            columns(rows),
            "",
            "CPU times are those of README.md: all cases of a study, from a cold start, on its machine.",
            "Run a study with `snakemake STUDY --config preset=PRESET`; see its cases with `auxmc list STUDY`.",
        ]
    )


def list_cases(study: str, preset: str) -> str:
    """A line for each case of a study: whether it is done, what it took, its overrides.

    Args:
        study: name of the study.
        preset: its preset.

    Raises:
        CommandError: no checkout, no such study or preset, or a setting is wrong.
    """
    known = catalogue()
    try:
        known.check_preset(preset)
        if study not in known.studies():
            raise CommandError(
                f"unknown study: {study!r}.{nearest(study, known.studies())} Studies: {', '.join(known.studies())}"
            )
        found = known.load_study(study)
        cases = found.cases(preset)
    except SettingsError as error:
        raise CommandError(str(error)) from error
    rows = [("case", "result", "CPU time", "memory", "settings")]
    for case in cases:
        result = known.ROOT / "results" / preset / study / f"{case.name}.nc"
        chosen = " ".join(word for word in case.overrides if not word.startswith("preset="))
        rows.append((case.name, "done" if result.is_file() else "missing", *_taken(result), chosen))
    return "\n".join(
        [
            f"{found.title} ({study}), preset {preset}",
            "",
            columns(rows, right=[2, 3]),
            "",
            f"Make one with `snakemake results/{preset}/{study}/CASE.nc --config preset={preset}`.",
        ]
    )


def costs(readme: Path) -> dict[str, tuple[str, ...]]:
    """CPU time of each study at each preset, from the table of studies in the README.

    Args:
        readme: file with rows `| name | question | cases | smoke | quick | paper |`.
    """
    text = readme.read_text() if readme.is_file() else ""
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", text, re.M)
    cells = {name: [cell.strip() for cell in rest.split("|")] for name, rest in rows}
    return {name: tuple(row[-len(PRESETS) :]) for name, row in cells.items() if len(row) == len(PRESETS) + 2}


def _number_of_cases(known: ModuleType, study: Any, preset: str) -> int:
    # Composing every case to count them takes a tenth of a second each; their number follows from the grids.
    grids = compose_settings(known.CONF, study.name, study.schema, [f"preset={preset}"]).grids
    axes = [[sweep_values(o) for o in parse_overrides(grid.get("over") or [])] for grid in grids.values()]
    return sum(math.prod(len(values) for values in axis) for axis in axes)


def _taken(result: Path) -> tuple[str, str]:
    if not result.is_file():
        return "", ""
    with xr.open_dataset(result, engine="h5netcdf") as top:
        cpu_s, peak_mib = (top.attrs.get(name) for name in ("cpu_s", "peak_memory_mib"))
    return "" if cpu_s is None else f"{cpu_s:.0f} s", "" if peak_mib is None else f"{peak_mib:.0f} MiB"
