"""Hydra's grammar of overrides, in which a text is what was typed."""

import re
import typing
from collections.abc import Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import HydraException

from auxmc_pipeline.settings import CaseSettings, SettingsError

# A text in quotation marks, where a value may begin.
_QUOTED = re.compile(r"""(?:^|(?<=[=,\[({:\s]))(['"])(?:\\.|(?!\1).)*\1""", re.S)


def split_overrides(text: str | Sequence[str]) -> list[str]:
    """Overrides in a text, where each begins behind a blank with KEY=; those of a list are split already.

    Quotation marks hold together what is inside, as in Hydra, and a blank behind a comma ends nothing.

    >>> split_overrides("step_size=0.1, 0.2 data='a b=1.csv'  label=last class")
    ['step_size=0.1, 0.2', "data='a b=1.csv'", 'label=last class']
    """
    begins = r"(?<![,\s])\s+(?=[+~]{0,2}[A-Za-z_][\w.]*\s*=)"
    return [word for word in _cut(text, begins) if word] if isinstance(text, str) else [str(w) for w in text]


def parse_overrides(overrides: Sequence[str], schema: type[CaseSettings] = CaseSettings) -> list[Override]:
    """Overrides, parsed by Hydra's rules; values of settings that are texts are text as they are typed.

    Raises SettingsError if one is not KEY=VALUE in Hydra's grammar.
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

    Raises SettingsError if the sweep cannot be expanded; `glob` may not be.
    """
    if not override.is_sweep_override():
        return [override.value()]
    try:
        texts = dict.fromkeys(_normalise(str(value)) for value in override.sweep_string_iterator())
        return [OverridesParser.create().parse_override(f"x={text}").value() for text in texts]
    except (HydraException, ValueError, AssertionError) as error:
        raise SettingsError(
            f"settings: cannot expand the sweep {override.input_line!r}: allowed are a,b,c, range(a,b,step) and "
            f"choice(...) ({str(error).partition(chr(10))[0]})"
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


def _normalise(text: str) -> str:
    """Drops rounding noise: a range of floats gives 0.15000000000000002 where 0.15 is meant."""
    try:
        return f"{float(text):.12g}" if "." in text else text
    except ValueError:
        return text
