"""Cases of a study: its result files, and the settings of each.

Hydra composes the settings of a study once in a process. Those of a preset are merged over them, and those of a case,
or of the command line, over both.
"""

import copy
import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import ConfigCompositionException, HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigKeyError, OmegaConfBaseException
from yaml import MarkedYAMLError, YAMLError

from auxmc_pipeline.case import Case, StudyFile
from auxmc_pipeline.overrides import parse_overrides, sweep_values, value_text
from auxmc_pipeline.settings import (
    PRESETS,
    CaseSettings,
    SettingsError,
    check_known,
    check_ranges,
    names_of,
    unknown,
)


def compose_settings(file: StudyFile, overrides: Sequence[str] = ()) -> CaseSettings:
    """The settings of one case, checked; raises SettingsError, one line with what is allowed.

    Overrides are Hydra's with one value each, for example `["preset=smoke", "n_importance=8"]`.
    """
    given: dict[str, Any] = {}
    for override in parse_overrides(overrides, file.schema):
        if override.is_delete() or override.package is not None or override.is_sweep_override():
            raise SettingsError(
                f"setting {override.key_or_group}: expected KEY=VALUE with one value, got {override.input_line}"
            )
        given[override.key_or_group] = override.value()
    return _merged(file, str(given.get("preset", "quick")), given)


def study_cases(file: StudyFile, preset: str) -> list[Case]:
    """All cases of a study at a preset, from the `cases` of its settings; raises SettingsError for a malformed one.

    A case is a mapping of settings. `over` maps settings to lists of values, and gives a case for each of their
    combinations. The values in `batch` run inside one case. A preset leaves out a case by `null`.
    """
    cases: list[Case] = []
    for label, given in _at_preset(file, preset)[1].items():  # type: ignore[arg-type]
        if given is None:
            continue
        try:
            fixed = dict(_mapping(given))
            over = _expanded(fixed.pop("over", None) or {})
            if "batch" in fixed:
                fixed["batch"] = _expanded(fixed["batch"])
            cases += _product(file, preset, label, fixed, over)
        except SettingsError as error:
            raise SettingsError(f"{file.place}, cases.{label}: {error}") from error
    return _distinct(cases, file.name)


def sweep_cases(file: StudyFile, preset: str, over: Sequence[str], batchable: Sequence[str]) -> list[Case]:
    """Cases of a user's sweep, on top of the settings of the study; raises SettingsError if an override is wrong.

    Settings with a list, a range or a choice are swept, the others are fixed. Values of `batchable` settings run inside
    one compiled program rather than as cases.
    """
    if not over:
        raise SettingsError('a sweep needs over="KEY=VALUE,VALUE ...", for example over="n_importance=1,2,4"')
    fixed: dict[str, Any] = {}
    spanning: dict[str, list[Any]] = {}
    batch: dict[str, list[Any]] = {}
    for override in parse_overrides(over, file.schema):
        key, values = override.key_or_group, sweep_values(override)
        if not override.is_sweep_override():
            fixed[key] = values[0]
        elif not values:
            raise SettingsError(f"settings: the sweep {override.input_line!r} has no values")
        else:
            # One value needs no program that runs several.
            (batch if key in batchable and len(values) > 1 else spanning)[key] = values
    if batch:
        fixed["batch"] = batch
    return _distinct(list(_product(file, preset, "sweep", fixed, spanning)), file.name)


def variants_of(file: StudyFile) -> list[str]:
    """Names of the variants of a study."""
    return list(_composed_by_hydra(file._replace(variant="")).variants)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=64)
def _at_preset(file: StudyFile, preset: str) -> tuple[DictConfig, dict[str, Any]]:
    """Settings and cases of a study with those of a preset, and of a variant, merged over them."""
    check_known(preset, PRESETS, "preset")
    try:
        config = _composed_by_hydra(file._replace(variant=""))  # type: ignore[arg-type]
        if file.variant and file.variant not in config.variants:
            raise HydraException(unknown(file.variant, list(config.variants), "variant"))
        variant = config.variants[file.variant] if file.variant else {}
        merged = OmegaConf.merge(config, config.presets.get(preset) or {}, variant, {"preset": preset})
        OmegaConf.resolve(merged)
    except (HydraException, OmegaConfBaseException, YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(_slip(error, file.place, file.schema)) from error
    assert isinstance(merged, DictConfig)
    cases = OmegaConf.to_container(merged.cases)
    merged.cases, merged.presets, merged.variants = {}, {}, {}
    return merged, cases  # type: ignore[return-value]


@functools.lru_cache(maxsize=64)
def _composed_by_hydra(file: StudyFile) -> DictConfig:
    # Registered per call: the schema of a study is next to its code, and the store only keeps a reference.
    ConfigStore.instance().store(group="schema", name=file.name, node=file.schema, package="_global_")
    GlobalHydra.instance().clear()
    with initialize_config_dir(str((file.studies / file.name).resolve()), version_base="1.3"):
        config = compose("config")
    if OmegaConf.get_type(config) is not file.schema:
        raise HydraException(f"expected `- /schema/{file.name}` and `- _self_` under `defaults:`")
    if odd := next((name for name in config.presets if name not in PRESETS), None):
        raise HydraException(unknown(odd, PRESETS, "preset"))
    # A preset's settings of a case that is gone would make a case of the study's settings alone.
    changed = itertools.chain(*((one or {}).get("cases") or {} for one in config.presets.values()))
    if odd := next((name for name in changed if name not in config.cases), None):
        raise HydraException(unknown(odd, list(config.cases), "case"))
    for name in ("cases", "batch", "resources"):
        OmegaConf.set_struct(config[name], False)
    return config


def _merged(file: StudyFile, preset: str, given: Mapping[str, Any]) -> CaseSettings:
    """Settings at a preset with others merged over them; `batch.step_size` names a part of a setting."""
    config = copy.deepcopy(_at_preset(file, preset)[0])  # type: ignore[arg-type]
    known = names_of(file.schema)
    if odd := next((name for name in given if name.partition(".")[0] not in known), None):
        raise SettingsError(unknown(odd, known, f"setting of study {file.name}"))
    try:
        for name, value in given.items():
            OmegaConf.update(config, name, value, merge=True, force_add="." in name)
        settings = OmegaConf.to_object(config)
    except (OmegaConfBaseException, HydraException) as error:
        words = " ".join(f"{name}={value_text(value)}" for name, value in given.items())
        raise SettingsError(f"{_slip(error, f'study {file.name}', file.schema)} (given: {words})") from error
    assert isinstance(settings, file.schema)
    for name, value in vars(settings).items():
        if isinstance(value, str) and value.startswith("~/"):
            setattr(settings, name, str(Path(value).expanduser()))
    check_ranges(settings, file.name, f"{file.place} or the command line")
    return settings


def _slip(error: BaseException, place: str, schema: type[CaseSettings]) -> str:
    """What is wrong with the settings of a study, in a line: where, what, and the nearest spelling."""
    if isinstance(error, ConfigCompositionException):
        error = error.__cause__ or error.__context__ or error
    at_key = isinstance(error, MarkedYAMLError) and "simple key" in str(error.context)
    mark = getattr(error, "context_mark" if at_key else "problem_mark", None)
    if isinstance(error, MarkedYAMLError) and mark:
        return f"{place if mark.name.endswith(place) else mark.name}, line {mark.line + 1}: {error.problem}"
    key = getattr(error, "full_key", None) or ""
    if key and isinstance(error, ConfigKeyError) and key not in names_of(schema):
        return f"{place}: {unknown(key, names_of(schema), 'setting')}"
    words = str(error).strip().partition("\n")[0] or type(error).__name__
    return f"{f'setting {key} of {place}' if key else place}: {words}"


def _product(
    file: StudyFile, preset: str, label: str, fixed: Mapping[str, Any], over: Mapping[str, list[Any]]
) -> Iterator[Case]:
    axes = (*over, *fixed.get("batch", {}))
    for values in itertools.product(*over.values()):
        chosen = dict(zip(over, values, strict=True))
        words = (f"{key}-{value}".replace("'", "") for key, value in chosen.items())
        name = "__".join([label, *(re.sub(r"[^A-Za-z0-9._-]+", "-", word).strip("-") for word in words)])
        given = {**fixed, **chosen}
        yield Case(name, (f"preset={preset}", *_words(given)), axes, _merged(file, preset, given))


def _expanded(swept: Any) -> dict[str, list[Any]]:
    """Values of swept settings: lists as they are, texts such as `range(1,4)` as Hydra reads them."""
    values = {}
    for name, value in _mapping(swept).items():
        if not isinstance(value, list | str):
            raise SettingsError(f"{name}: expected a list of values, got {value!r}")
        if isinstance(value, str):
            value = sweep_values(parse_overrides([f"{name}={value}"])[0])
        values[name] = value
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


def _distinct(cases: list[Case], study: str) -> list[Case]:
    names = [case.name for case in cases]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise SettingsError(f"study {study}: two cases would share the file name {double!r}")
    return cases
