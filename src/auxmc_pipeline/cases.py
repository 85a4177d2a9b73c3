"""Cases of a study: its result files, and the settings of each. No JAX, no pandas: the Snakefile imports this."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from auxmc_pipeline.settings import (
    CaseSettings,
    SettingsError,
    cases_at,
    checked_settings,
    parse_overrides,
    sweep_values,
    value_text,
)


class Case(NamedTuple):
    """One composed configuration and one result file.

    Attributes:
        name: file name without suffix, letters, digits, `.`, `-` and `_` only.
        overrides: Hydra overrides that make the case from the settings of the study.
        axes: names of the settings that are swept over cases or inside them.
        settings: the composed settings.
    """

    name: str
    overrides: tuple[str, ...]
    axes: tuple[str, ...]
    settings: CaseSettings


def study_cases(conf: Path, study: str, schema: type[CaseSettings], preset: str) -> list[Case]:
    """All cases of a study at a preset, from the `cases` of its settings.

    A case is a mapping of settings. `over` maps settings to lists of values, and gives a case for each of their
    combinations. The values in `batch` run inside one case. A preset leaves out a case by `null`.

    Raises:
        SettingsError: If a case is malformed or has wrong settings.
    """
    cases: list[Case] = []
    for label, given in cases_at(conf, study, schema, preset).items():
        if given is None:
            continue
        try:
            fixed = dict(_mapping(given))
            over = _expanded(fixed.pop("over", None) or {})
            if "batch" in fixed:
                fixed["batch"] = _expanded(fixed["batch"])
            cases += _product(conf, study, schema, preset, label, fixed, over)
        except SettingsError as error:
            raise SettingsError(f"{conf.name}/study/{study}.yaml, cases.{label}: {error}") from error
    return _distinct(cases, study)


def sweep_cases(
    conf: Path,
    study: str,
    schema: type[CaseSettings],
    preset: str,
    over: Sequence[str],
    batchable: Sequence[str],
) -> list[Case]:
    """Cases of a user's sweep, on top of the settings of the study.

    Args:
        conf: folder of the Hydra files.
        study: name of the study.
        schema: its settings dataclass.
        preset: size of the study.
        over: Hydra overrides; settings with a list, a range or a choice are swept, the others are fixed.
        batchable: settings whose values run inside one compiled program rather than as cases.

    Raises:
        SettingsError: If no override is given, or one of them is wrong or a range without values.
    """
    if not over:
        raise SettingsError('a sweep needs over="KEY=VALUE,VALUE ...", for example over="n_importance=1,2,4"')
    fixed: dict[str, Any] = {}
    spanning: dict[str, list[Any]] = {}
    batch: dict[str, list[Any]] = {}
    for override in parse_overrides(over, schema):
        key = override.key_or_group
        if not override.is_sweep_override():
            fixed |= {key: override.value()}
            continue
        values = sweep_values(override)
        if not values:
            raise SettingsError(f"settings: the sweep {override.input_line!r} has no values")
        # One value needs no program that runs several.
        (batch if key in batchable and len(values) > 1 else spanning)[key] = values
    if batch:
        fixed["batch"] = batch
    return _distinct(list(_product(conf, study, schema, preset, "sweep", fixed, spanning)), study)


def _product(
    conf: Path,
    study: str,
    schema: type[CaseSettings],
    preset: str,
    label: str,
    fixed: Mapping[str, Any],
    over: Mapping[str, list[Any]],
) -> Iterator[Case]:
    axes = (*over, *fixed.get("batch", {}))
    for values in itertools.product(*over.values()):
        chosen = dict(zip(over, values, strict=True))
        name = "__".join([label, *(_clean(f"{key}-{value}") for key, value in chosen.items())])
        settings = checked_settings(conf, study, schema, preset, {**fixed, **chosen})
        words = _words({**fixed, **chosen})
        yield Case(name, (f"preset={preset}", *words), axes, settings)


def _expanded(swept: Any) -> dict[str, list[Any]]:
    """Values of swept settings: lists as they are, texts such as `range(1,4)` as Hydra reads them."""
    values = {}
    for name, value in _mapping(swept).items():
        if not isinstance(value, list | str):
            raise SettingsError(f"{name}: expected a list of values, got {value!r}")
        values[name] = (
            value if isinstance(value, list) else sweep_values(parse_overrides([f"{name}={value}"])[0])
        )
    return values


def _mapping(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise SettingsError(f"expected a mapping of settings, got {given!r}")
    return given


def _words(settings: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Settings as Hydra overrides, those inside `batch` and `resources` by their full names."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _words(value, f"{prefix or '++'}{key}.")
        else:
            yield f"{prefix}{key}={value_text(value)}"


def _clean(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text.replace("'", "")).strip("-")


def _distinct(cases: list[Case], study: str) -> list[Case]:
    names = [case.name for case in cases]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise SettingsError(f"study {study}: two cases would share the file name {double!r}")
    return cases
