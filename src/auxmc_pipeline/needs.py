"""What a run must have had for a claim to be judged, checked against the settings that rows of tables carry."""

import fnmatch
import math
import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

import pandas as pd

from auxmc.errors import AuxmcError

_NEED = re.compile(r"(?:(?P<case>[\w.*-]+):)?(?:(?P<name>\w+)(?P<relation>>=|<=|=)(?P<value>\S*))?")


class MissingData(AuxmcError, LookupError):
    """The tables do not hold what is asked for: the preset does not run it."""


class Need(NamedTuple):
    """Something that a run must have had for a claim to be judged."""

    case: str  # pattern of the names of the cases that must have had it, with `*` for anything
    name: str  # setting; empty where the case is needed and no setting of it
    relation: str  # ">=", "<=" or "="
    value: str  # a number, or for "=" a text

    def unmet(self, settings: pd.DataFrame) -> str:
        """What is missing, in words; empty where the cases that are meant have what is needed.

        Raises MissingData where none of them has the setting, so that nothing can be checked.
        """
        if not self.name:
            return ""
        is_case = [fnmatch.fnmatch(case, self.case) for case in settings["case"]]
        values = settings.loc[is_case, self.name].dropna().unique() if self.name in settings else ()
        if len(values) == 0:
            raise MissingData(f"no case {self.case} with the setting {self.name}")
        failing = [value for value in values if not self._holds(value)]
        if not failing:
            return ""
        had = max(failing) if self.relation == "<=" else min(failing)
        return f"needs {self.name} {self.relation} {self.value or '(empty)'}, this run had {had}"

    def _holds(self, value: float | str) -> bool:
        if self.relation == "=":
            return str(value) == self.value or number(value) == number(self.value)
        had, bound = number(value), number(self.value)
        return had >= bound if self.relation == ">=" else had <= bound


def parse_needs(text: str, settings: Collection[str]) -> tuple[Need, ...]:
    """Reads conditions apart by spaces, each `[CASE:]SETTING>=NUMBER`, `<=NUMBER` or `=VALUE`, or `CASE:` alone.

    A value may be empty. Raises ValueError if a condition cannot be read, or names none of the settings.

    >>> parse_needs("main*:n_draws>=500", ["n_draws"])
    (Need(case='main*', name='n_draws', relation='>=', value='500'),)
    """
    needs = []
    for word in text.split():
        match = _NEED.fullmatch(word)
        if match is None:
            raise ValueError(
                f"needs: cannot read {word!r}; allowed is [CASE:]SETTING>=NUMBER, <=NUMBER, =VALUE, or CASE:"
            )
        if not match["name"]:
            needs.append(Need(match["case"], "", "", ""))
            continue
        if match["name"] not in settings:
            raise ValueError(
                f"needs: {match['name']!r} is no setting. Allowed: {', '.join(sorted(settings))}"
            )
        if match["relation"] != "=" and math.isnan(number(match["value"])):
            raise ValueError(f"needs: {word!r} compares with {match['value']!r}, which is no number")
        needs.append(Need(match["case"] or "*", match["name"], match["relation"], match["value"]))
    return tuple(needs)


def cases_needed(texts: Iterable[str], cases: Collection[str]) -> list[str]:
    """Cases in which lines of a claim are measured: those that their needs name, all for needs that name none.

    >>> cases_needed(["main*:n_draws>=500", "side:"], ["main_1", "main_2", "side", "other"])
    ['main_1', 'main_2', 'side']
    """
    named = [[word.partition(":")[0] for word in text.split() if ":" in word] or ["*"] for text in texts]
    patterns = {pattern for of_line in named for pattern in of_line}
    return [case for case in cases if any(fnmatch.fnmatch(case, pattern) for pattern in patterns)]


def number(value: object) -> float:
    """The value as a number; NaN where it is none."""
    try:
        return float(str(value))
    except ValueError:
        return math.nan
