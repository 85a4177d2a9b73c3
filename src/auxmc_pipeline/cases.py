"""Cases: which result files a study has, and the settings that make each of them.

Imported by the Snakefile: no JAX, no pandas.
"""

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from auxmc_pipeline.settings import (
    CaseSettings,
    SettingsError,
    compose_settings,
    nearest,
    parse_overrides,
    sweep_values,
)

_GRID_PARTS = ("fixed", "over", "batch")


class Case(NamedTuple):
    """One composed configuration and one result file.

    Attributes:
        name: file name without suffix, letters, digits, `.`, `-` and `_` only.
        overrides: Hydra overrides that make the case from the study's settings.
        axes: names of the settings that the user or the grid sweeps over cases or inside them.
        settings: the composed settings.
    """

    name: str
    overrides: tuple[str, ...]
    axes: tuple[str, ...]
    settings: CaseSettings


def study_cases(conf: Path, study: str, schema: type[CaseSettings], preset: str) -> list[Case]:
    """All cases of a study at a preset, from the `grids` of its settings.

    A grid is a mapping of `fixed` (overrides), `over` (overrides whose values span the cases) and `batch`
    (overrides whose values run inside one program), each a list of Hydra overrides.

    Raises:
        SettingsError: a grid is malformed, or a case has wrong settings.
    """
    base = [f"preset={preset}"]
    grids = compose_settings(conf, study, schema, base).grids
    cases = []
    for label, grid in grids.items():
        where = f"{conf.name}/study/{study}.yaml, grids.{label}"
        parts = grid if isinstance(grid, dict) else {str(grid): []}
        for part, words in parts.items():
            if part not in _GRID_PARTS:
                raise SettingsError(
                    f"{where}: expected {', '.join(_GRID_PARTS)}, got {part!r}.{nearest(part, _GRID_PARTS)}"
                )
            if not isinstance(words or [], list) or not all(isinstance(word, str) for word in words or []):
                raise SettingsError(f"{where}.{part}: expected a list of KEY=VALUE, got {words!r}")
        fixed, over, batch = (parts.get(part) or [] for part in _GRID_PARTS)
        try:
            cases += _product(conf, study, schema, label, [*base, *fixed], over, batch)
        except SettingsError as error:
            raise SettingsError(f"{where}: {error}") from error
    return _distinct(cases, study)


def sweep_cases(
    conf: Path,
    study: str,
    schema: type[CaseSettings],
    preset: str,
    over: Sequence[str],
    batchable: Sequence[str],
) -> list[Case]:
    """Cases of a sweep that a user asks for, on top of the study's own settings.

    Args:
        conf: folder of the Hydra files.
        study: name of the study.
        schema: its settings dataclass.
        preset: size of the study.
        over: Hydra overrides; settings with a list, a range or a choice are swept, the others are fixed.
        batchable: settings whose values run inside one compiled program rather than as cases.

    Raises:
        SettingsError: no override is given, or one of them is wrong or a range without values.
    """
    if not over:
        raise SettingsError('a sweep needs over="KEY=VALUE,VALUE ...", for example over="n_importance=1,2,4"')
    parsed = {str(o.input_line): o for o in parse_overrides(over, schema)}
    n_values = {line: len(sweep_values(o)) for line, o in parsed.items() if o.is_sweep_override()}
    without = next((line for line in n_values if n_values[line] == 0), None)
    if without is not None:
        raise SettingsError(f"settings: the sweep {without!r} has no values")
    # One value needs no program that runs several.
    batched = [line for line in n_values if parsed[line].key_or_group in batchable and n_values[line] > 1]
    spanning = [line for line in n_values if line not in batched]
    fixed = [f"preset={preset}", *(line for line in parsed if line not in n_values)]
    return _distinct(_product(conf, study, schema, "sweep", fixed, spanning, batched), study)


def _product(
    conf: Path,
    study: str,
    schema: type[CaseSettings],
    label: str,
    fixed: Sequence[str],
    over: Sequence[str],
    batch: Sequence[str],
) -> list[Case]:
    axes = [(o.key_or_group, sweep_values(o)) for o in parse_overrides(over, schema)]
    batched = [(o.key_or_group, sweep_values(o)) for o in parse_overrides(batch, schema)]
    inside = [f"++batch.{key}=[{','.join(values)}]" for key, values in batched]
    names = (*(key for key, _ in axes), *(key for key, _ in batched))
    cases = []
    for values in itertools.product(*(values for _, values in axes)):
        chosen = [f"{key}={value}" for (key, _), value in zip(axes, values, strict=True)]
        overrides = (*fixed, *chosen, *inside)
        name = "__".join([label, *(_clean(f"{k}-{v}") for (k, _), v in zip(axes, values, strict=True))])
        cases.append(Case(name, overrides, names, compose_settings(conf, study, schema, overrides)))
    return cases


def _clean(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text.replace("'", "")).strip("-")


def _distinct(cases: list[Case], study: str) -> list[Case]:
    names = [case.name for case in cases]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise SettingsError(f"study {study}: two cases would share the file name {double!r}")
    return cases
