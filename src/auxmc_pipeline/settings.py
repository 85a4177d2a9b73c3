"""Settings of studies: a typed schema with ranges, which the Snakefile imports. No JAX, no pandas, no Hydra."""

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from auxmc.errors import AuxmcError

PRESETS = ("smoke", "quick", "paper")

# What makes cases, not a setting of one.
OF_STUDY = ("presets", "cases", "variants")
HARDWARE = ("cpu", "gpu", "auto")
# Settings that say where, when or how often something runs, and so never change a result.
_NOT_NUMBERS = ("preset", *OF_STUDY, "resources")
_RESOURCES = ("mem_mb", "runtime", "gpu", "pieces")


class SettingsError(AuxmcError, ValueError):
    """A setting is misspelt, of the wrong type, out of range, or contradicts another."""


def setting(
    default: Any,
    help: str,
    allowed: Sequence[str | float | None] = (),
    *,
    unit: str = "",
    added: bool = False,
) -> Any:
    """Field of a settings dataclass with the metadata help, unit, minimum, maximum and choices.

    Args:
        default: default value; lists and dicts are copied.
        help: one line saying what the setting does.
        allowed: of a text, the choices; of a number, or of each element of a list, the smallest and the largest value,
            None for no bound; empty for anything.
        unit: physical or statistical unit, empty for a pure number.
        added: results made before the setting was added stay valid: its default does not count among the numbers.
    """
    texts = [word for word in allowed if isinstance(word, str)]
    minimum, maximum = allowed if len(allowed) == 2 and not texts else (None, None)
    about: dict[str, Any] = {"help": help, "unit": unit, "added": added}
    about |= {"minimum": minimum, "maximum": maximum, "choices": tuple(texts)}
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
    hardware: str = setting("cpu", "device to run on", HARDWARE)
    batch: dict[str, Any] = setting({}, "values of swept settings that run inside one compiled program")
    presets: dict[str, Any] = setting({}, "settings of each preset, laid over the others")
    cases: dict[str, Any] = setting({}, "cases of the study: settings of each, by name")
    variants: dict[str, Any] = setting({}, "settings of each variant of the study, laid over all cases")
    resources: dict[str, Any] = setting(
        {}, "hints for the scheduler: mem_mb, runtime (minutes), gpu, pieces (jobs that divide a case's work)"
    )


def numbers_of(settings: CaseSettings) -> dict[str, Any]:
    """The part of the settings that can change a result, as plain containers."""
    added = {f.name: f.default for f in dataclasses.fields(settings) if f.metadata.get("added")}
    return {
        name: value
        for name, value in dataclasses.asdict(settings).items()
        if name not in _NOT_NUMBERS and (name not in added or value != added[name])
    }


def nearest(word: str, known: Sequence[str]) -> str:
    """` Did you mean 'x'?` for the closest known spelling, or nothing when none is close."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""


def interval(low: float | None, high: float | None) -> str:
    """Words for the values between two bounds, either of which may be missing."""
    if low is None:
        return "a number" if high is None else f"at most {high}"
    return f"at least {low}" if high is None else f"between {low} and {high}"


def names_of(schema: type[CaseSettings]) -> list[str]:
    """Names of the settings of a case."""
    return [field.name for field in dataclasses.fields(schema) if field.name not in OF_STUDY]


def unknown(word: str, known: Sequence[str], what: str) -> str:
    """Words for a name that is not known, with the nearest that is, or all of them."""
    return f"unknown {what}: {word!r}.{nearest(word, known) or ' Allowed: ' + ', '.join(sorted(known))}"


def check_known(word: str, known: Sequence[str], what: str) -> str:
    """Returns the word; raises SettingsError, with all that are known, if it is not one of them."""
    if word not in known:
        raise SettingsError(f"unknown {what}: {word!r}.{nearest(word, known)} Allowed: {', '.join(known)}")
    return word


def check_ranges(settings: CaseSettings, study: str, where: str) -> None:
    """Raises SettingsError if a setting, those in `batch` and `resources` included, is out of range or not known.

    The error names `where` the value can be corrected.
    """
    fields = {field.name: field.metadata for field in dataclasses.fields(settings)}
    for name, about in fields.items():
        value = getattr(settings, name)
        check_values(name, value if isinstance(value, list) else [value], about, where)
    for name, value in settings.resources.items():
        check_known(name, _RESOURCES, f"resource of study {study}")
        if not isinstance(value, int):
            raise SettingsError(f"resources.{name} of study {study}: expected an integer, got {value!r}")
    for name, values in settings.batch.items():
        check_known(name, list(fields), f"batched setting of study {study}")
        wanted = type(getattr(settings, name))
        kinds = (int, float) if wanted is float else (wanted,)
        if not values or not isinstance(values, list) or any(type(value) not in kinds for value in values):
            raise SettingsError(f"batch.{name}: expected a list of {wanted.__name__} values, got {values!r}")
        check_values(name, values, fields[name], where)


def check_values(name: str, values: list[Any], about: Mapping[str, Any], where: str) -> None:
    """Checks values of one setting against its metadata; raises as `check_ranges`."""
    low, high, choices = (about.get(bound) for bound in ("minimum", "maximum", "choices"))
    for value in values:
        if choices and value not in choices:
            hint = nearest(str(value), choices)
            raise SettingsError(f"{name} must be one of {', '.join(choices)}, got {value!r}.{hint} ({where})")
        if isinstance(value, int | float) and not isinstance(value, bool):
            above = value == value and (low is None or value >= low)
            if not above or (high is not None and value > high):
                raise SettingsError(f"{name} must be {interval(low, high)}, got {value} ({where})")
