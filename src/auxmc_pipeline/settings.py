"""Settings of studies: composed by Hydra from `conf/`, then checked against a typed schema with ranges.

The Snakefile imports this: no JAX, no pandas.
"""

import copy
import dataclasses
import difflib
import functools
import re
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import ConfigCompositionException, HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigKeyError, OmegaConfBaseException
from yaml import MarkedYAMLError, YAMLError

from auxmc.errors import AuxmcError

PRESETS = ("smoke", "quick", "paper")

# What makes cases, not a setting of one.
_OF_STUDY = ("presets", "cases")
# Settings that say where, when or how often something runs, and so never change a result.
_NOT_NUMBERS = ("preset", *_OF_STUDY, "resources")
_RESOURCES = ("mem_mb", "runtime", "gpu", "pieces")
# A text in quotation marks, where a value may begin.
_QUOTED = re.compile(r"""(?:^|(?<=[=,\[({:\s]))(['"])(?:\\.|(?!\1).)*\1""", re.S)


class SettingsError(AuxmcError, ValueError):
    """A setting is misspelt, of the wrong type, out of range, or contradicts another."""


def setting(default: Any, help: str, allowed: Sequence[str | float | None] = (), *, unit: str = "") -> Any:
    """Field of a settings dataclass with what a user needs to know about it.

    Args:
        default: default value; lists and dicts are copied.
        help: one line saying what the setting does.
        allowed: of a text, the choices; of a number, or of each element of a list, the smallest and the largest value,
            None for no bound; empty for anything.
        unit: physical or statistical unit, empty for a pure number.

    Returns:
        A dataclass field with the metadata help, unit, minimum, maximum and choices.
    """
    texts = [word for word in allowed if isinstance(word, str)]
    minimum, maximum = allowed if len(allowed) == 2 and not texts else (None, None)
    about = {"help": help, "unit": unit, "minimum": minimum, "maximum": maximum, "choices": tuple(texts)}
    if isinstance(default, list | dict):
        return dataclasses.field(default_factory=lambda: default.copy(), metadata=about)
    return dataclasses.field(default=default, metadata=about)


@dataclasses.dataclass
class CaseSettings:
    """Settings that every study has; a study's own settings extend this class."""

    preset: str = setting("quick", "size of the study", PRESETS)
    seed: int = setting(20170717, "root seed of all random streams", (0, None))
    n_draws: int = setting(1000, "recorded iterations of each chain", (10, None))
    n_chains: int = setting(4, "independent chains", (1, None))
    block_size: int = setting(500, "iterations between two checkpoints", (1, None))
    hardware: str = setting("cpu", "device to run on", ("cpu", "gpu", "auto"))
    batch: dict[str, Any] = setting({}, "values of swept settings that run inside one compiled program")
    presets: dict[str, Any] = setting({}, "settings of each preset, laid over the others")
    cases: dict[str, Any] = setting({}, "cases of the study: settings of each, by name")
    resources: dict[str, Any] = setting(
        {}, "hints for the scheduler: mem_mb, runtime (minutes), gpu, pieces (jobs that share a case's work)"
    )


Schema = type[CaseSettings]


def compose_settings(conf: Path, study: str, schema: Schema, overrides: Sequence[str] = ()) -> CaseSettings:
    """Composes and checks the settings of one case.

    Args:
        conf: folder of the Hydra files.
        study: name of the study, a file in `conf/study/`.
        schema: settings dataclass of the study.
        overrides: Hydra overrides, one value each, for example `["preset=smoke", "n_importance=8"]`.

    Raises:
        SettingsError: If something is wrong; one line with what is allowed and the nearest valid spelling.
    """
    given: dict[str, Any] = {}
    for override in parse_overrides(overrides, schema):
        if override.is_delete() or override.package is not None or override.is_sweep_override():
            raise SettingsError(
                f"setting {override.key_or_group}: expected KEY=VALUE with one value, got {override.input_line}"
            )
        given[override.key_or_group] = override.value()
    return checked_settings(conf, study, schema, str(given.get("preset", "quick")), given)


def checked_settings(
    conf: Path, study: str, schema: Schema, preset: str, given: Mapping[str, Any]
) -> CaseSettings:
    """Settings of a study at a preset with others laid over them.

    Args:
        conf: folder of the Hydra files.
        study: name of the study.
        schema: its settings dataclass.
        preset: name of the preset.
        given: values by name; a name with dots, such as `batch.step_size`, sets a part of a setting.

    Raises:
        SettingsError: If a value has the wrong type or is out of range.
    """
    config = copy.deepcopy(_at_preset(conf, study, schema, preset)[0])  # type: ignore[arg-type]
    known = _names(schema)
    if unknown := next((name for name in given if name.partition(".")[0] not in known), None):
        raise SettingsError(_unknown(unknown, known, f"setting of study {study}"))
    try:
        for name, value in given.items():
            OmegaConf.update(config, name, value, merge=True, force_add="." in name)
        settings = OmegaConf.to_object(config)
    except (OmegaConfBaseException, HydraException) as error:
        words = " ".join(f"{name}={value_text(value)}" for name, value in given.items())
        raise SettingsError(f"{_slip(error, f'study {study}', schema)} (given: {words})") from error
    assert isinstance(settings, schema)
    for name, value in vars(settings).items():
        if isinstance(value, str) and value.startswith("~/"):
            setattr(settings, name, str(Path(value).expanduser()))
    _check_ranges(settings, study, f"{conf.name}/study/{study}.yaml or the command line")
    return settings


def cases_at(conf: Path, study: str, schema: Schema, preset: str) -> dict[str, Any]:
    """Cases of a study at a preset, as plain containers.

    Raises:
        SettingsError: If there is no such preset, or the file of the study is wrong.
    """
    return _at_preset(conf, study, schema, preset)[1]  # type: ignore[arg-type]


@functools.lru_cache(maxsize=64)
def _at_preset(conf: Path, study: str, schema: Schema, preset: str) -> tuple[DictConfig, dict[str, Any]]:
    """Settings and cases of a study with those of a preset merged over them."""
    if preset not in PRESETS:
        raise SettingsError(
            f"unknown preset: {preset!r}.{nearest(preset, PRESETS)} Allowed: {', '.join(PRESETS)}"
        )
    place = f"{conf.name}/study/{study}.yaml"
    try:
        config = _composed_by_hydra(conf, study, schema)  # type: ignore[arg-type]
        if unknown := next((name for name in config.presets if name not in PRESETS), None):
            raise HydraException(_unknown(unknown, PRESETS, "preset"))
        merged = OmegaConf.merge(config, config.presets.get(preset) or {}, {"preset": preset})
        OmegaConf.resolve(merged)
    except (HydraException, OmegaConfBaseException, YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(_slip(error, place, schema)) from error
    assert isinstance(merged, DictConfig)
    cases = OmegaConf.to_container(merged.cases)
    merged.cases, merged.presets = {}, {}
    return merged, cases  # type: ignore[return-value]


@functools.lru_cache(maxsize=64)
def _composed_by_hydra(conf: Path, study: str, schema: Schema) -> DictConfig:
    # Registered per call: the schema of a study stands next to its code, and the store only keeps a reference.
    ConfigStore.instance().store(group="schema", name=study, node=schema, package="_global_")
    GlobalHydra.instance().clear()
    # Hydra itself says of a slip neither the key nor, in a line, where it is.
    text = (conf / "study" / f"{study}.yaml").read_text(encoding="utf-8")
    if not text.startswith("# @package _global_\n"):
        raise HydraException(f"line 1: expected '# @package _global_', got {text.partition(chr(10))[0]!r}")
    with initialize_config_dir(str(conf.resolve()), version_base="1.3"):
        config = compose("config", overrides=[f"study={study}"])
    if OmegaConf.get_type(config) is not schema:
        raise HydraException(f"expected `- /schema/{study}` and `- _self_` under `defaults:`")
    for name in ("cases", "batch", "resources"):
        OmegaConf.set_struct(config[name], False)
    return config


def split_overrides(text: str | Sequence[str]) -> list[str]:
    """Overrides in a text, where each begins behind a blank with KEY=; those of a list are split already.

    Quotation marks hold together what is inside, as in Hydra, and a blank behind a comma ends nothing.

    >>> split_overrides("step_size=0.1, 0.2 data='a b=1.csv'  label=last class")
    ['step_size=0.1, 0.2', "data='a b=1.csv'", 'label=last class']
    """
    begins = r"(?<![,\s])\s+(?=[+~]{0,2}[A-Za-z_][\w.]*\s*=)"
    return [word for word in _cut(text, begins) if word] if isinstance(text, str) else [str(w) for w in text]


def parse_overrides(overrides: Sequence[str], schema: Schema = CaseSettings) -> list[Override]:
    """Overrides, parsed by Hydra's rules; values of settings that are texts are text as they are typed.

    Raises:
        SettingsError: If one is not KEY=VALUE in Hydra's grammar.
    """
    kinds = typing.get_type_hints(schema)
    parsed = []
    for word in overrides:
        key, equals, value = (part.strip() for part in word.partition("="))
        text = kinds.get(key.lstrip("+")) in (str, list[str])
        word = f"{key}{equals}{_as_texts(value) if text else value}"
        try:
            override = OverridesParser.create().parse_override(word)
        except HydraException as error:
            raise SettingsError(
                f"settings: expected KEY=VALUE or KEY=VALUE,VALUE,..., got {word!r}; values with signs other than "
                "-+.:/%@?* go into quotation marks"
            ) from error
        parsed.append(override)
    return parsed


def sweep_values(override: Override) -> list[Any]:
    """Values of an override, sweeps expanded, rounding noise of a range and duplicates removed.

    Raises:
        SettingsError: If the sweep cannot be expanded; `glob` may not be.
    """
    if not override.is_sweep_override():
        return [override.value()]
    try:
        texts = dict.fromkeys(_normalise(str(value)) for value in override.sweep_string_iterator())
        return [OverridesParser.create().parse_override(f"x={text}").value() for text in texts]
    except (HydraException, ValueError, AssertionError) as error:
        raise SettingsError(
            f"settings: cannot expand the sweep {override.input_line!r}: allowed are a,b,c, range(a,b,step) and "
            f"choice(...) ({_first_line(error)})"
        ) from error


def value_text(value: Any) -> str:
    """A value as Hydra reads it.

    >>> value_text([0.5, True, "a b", "n_moves=2"])
    "[0.5,true,a b,'n_moves=2']"
    """
    if isinstance(value, str):
        return _as_text(value)
    if isinstance(value, Sequence):
        return f"[{','.join(map(value_text, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def numbers_of(settings: CaseSettings) -> dict[str, Any]:
    """The part of the settings that can change a result, as plain containers."""
    return {k: v for k, v in dataclasses.asdict(settings).items() if k not in _NOT_NUMBERS}


def nearest(word: str, known: Sequence[str]) -> str:
    """` Did you mean 'x'?` for the closest known spelling, or nothing when none is close."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""


def interval(low: float | None, high: float | None) -> str:
    """Words for the values between two bounds, either of which may be missing."""
    if low is None:
        return "a number" if high is None else f"at most {high}"
    return f"at least {low}" if high is None else f"between {low} and {high}"


def _names(schema: Schema) -> list[str]:
    return [field.name for field in dataclasses.fields(schema) if field.name not in _OF_STUDY]


def _as_texts(values: str) -> str:
    """Values of a setting that is a text, or a list of texts, in quotation marks where Hydra would not read text."""
    return ",".join(map(_as_text, _cut(values, r",(?![^][(){}]*[])}])")))


def _cut(text: str, at: str) -> list[str]:
    """Parts of a text, cut at a pattern outside of quotation marks."""
    masked = _QUOTED.sub(lambda found: "x" * len(found[0]), text)
    ends = [0, *(end for found in re.finditer(at, masked) for end in found.span()), len(text)]
    return [text[a:b].strip() for a, b in zip(ends[::2], ends[1::2], strict=True)]


def _as_text(word: str) -> str:
    if found := re.fullmatch(r"\[(.*)\]|choice\((.*,.*)\)", word):
        return f"[{_as_texts(found[1])}]" if found[2] is None else _as_texts(found[2])
    try:
        override = OverridesParser.create().parse_override(f"x={word}")
        if override.is_sweep_override() or isinstance(override.value(), str):
            return word
    except HydraException:
        pass
    return QuotedString(word, Quote.single).with_quotes()


def _slip(error: BaseException, place: str, schema: Schema) -> str:
    """What is wrong with the settings of a study, in a line: where, what, and the nearest spelling."""
    if isinstance(error, ConfigCompositionException):
        error = error.__cause__ or error.__context__ or error
    at_key = isinstance(error, MarkedYAMLError) and "simple key" in str(error.context)
    mark = getattr(error, "context_mark" if at_key else "problem_mark", None)
    if isinstance(error, MarkedYAMLError) and mark:
        return f"{place if mark.name.endswith(place) else mark.name}, line {mark.line + 1}: {error.problem}"
    key = getattr(error, "full_key", None) or ""
    if key and isinstance(error, ConfigKeyError) and key not in _names(schema):
        return f"{place}: {_unknown(key, _names(schema), 'setting')}"
    return f"{f'setting {key} of {place}' if key else place}: {_first_line(error)}"


def _check_ranges(settings: CaseSettings, study: str, where: str) -> None:
    fields = {field.name: field.metadata for field in dataclasses.fields(settings)}
    for name, about in fields.items():
        value = getattr(settings, name)
        _check_values(name, value if isinstance(value, list) else [value], about, where)
    for name, value in settings.resources.items():
        if name not in _RESOURCES:
            raise SettingsError(_unknown(name, _RESOURCES, f"resource of study {study}"))
        if not isinstance(value, int):
            raise SettingsError(f"resources.{name} of study {study}: expected an integer, got {value!r}")
    for name, values in settings.batch.items():
        if name not in fields:
            raise SettingsError(_unknown(name, list(fields), f"batched setting of study {study}"))
        wanted = type(getattr(settings, name))
        kinds = (int, float) if wanted is float else (wanted,)
        if not values or not isinstance(values, list) or any(type(value) not in kinds for value in values):
            raise SettingsError(f"batch.{name}: expected a list of {wanted.__name__} values, got {values!r}")
        _check_values(name, values, fields[name], where)


def _check_values(name: str, values: list[Any], about: Mapping[str, Any], where: str) -> None:
    low, high, choices = (about.get(bound) for bound in ("minimum", "maximum", "choices"))
    for value in values:
        if choices and value not in choices:
            hint = nearest(str(value), choices)
            raise SettingsError(f"{name} must be one of {', '.join(choices)}, got {value!r}.{hint} ({where})")
        if isinstance(value, int | float) and not isinstance(value, bool):
            above = value == value and (low is None or value >= low)
            if not above or (high is not None and value > high):
                raise SettingsError(f"{name} must be {interval(low, high)}, got {value} ({where})")


def _normalise(text: str) -> str:
    """Drops rounding noise: a range of floats gives 0.15000000000000002 where 0.15 is meant."""
    try:
        return f"{float(text):.12g}" if "." in text else text
    except ValueError:
        return text


def _unknown(word: str, known: Sequence[str], what: str) -> str:
    return f"unknown {what}: {word!r}.{nearest(word, known) or ' Allowed: ' + ', '.join(sorted(known))}"


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
