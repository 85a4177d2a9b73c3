"""What a run must have had for a claim to be judged, checked against the settings that rows of tables carry."""

import fnmatch
import math
import re
from collections.abc import Collection
from typing import NamedTuple

import pandas as pd

__all__ = ["Need", "number", "parse_needs"]

_NEED = re.compile(r"(?:(?P<case>[\w.*-]+):)?(?P<name>\w+)(?P<relation>>=|<=|=)(?P<value>\S*)")


class Need(NamedTuple):
    """Something that a run must have had for a claim to be judged.

    Attributes:
        case: pattern of the names of the cases that must have had it, with `*` for anything.
        name: setting.
        relation: ">=", "<=" or "=".
        value: a number, or for "=" a text.
    """

    case: str
    name: str
    relation: str
    value: str

    def unmet(self, settings: pd.DataFrame) -> str:
        """What is missing, in words; empty where the cases have what is needed.

        Args:
            settings: table of a run's settings; cases of other names do not count.

        Raises:
            LookupError: none of the cases has the setting, so that nothing can be checked.
        """
        values = self._values(settings)
        if not values:
            raise LookupError(f"no case {self.case} with the setting {self.name}")
        failing = [value for value in values if not self._holds(value)]
        if not failing:
            return ""
        had = max(failing) if self.relation == "<=" else min(failing)
        return f"needs {self.name} {self.relation} {self.value or '(empty)'}, this run had {had}"

    def _values(self, rows: pd.DataFrame) -> list[float | str]:
        if self.name not in rows:
            return []
        of_case = rows["case"].map(lambda case: fnmatch.fnmatch(case, self.case)).astype(bool)
        return list(rows.loc[of_case, self.name].dropna().unique())

    def _holds(self, value: float | str) -> bool:
        if self.relation == "=":
            return str(value) == self.value or number(value) == number(self.value)
        had, bound = number(value), number(self.value)
        return had >= bound if self.relation == ">=" else had <= bound


def parse_needs(text: str, settings: Collection[str]) -> tuple[Need, ...]:
    """Reads conditions apart by spaces, each `[CASE:]SETTING>=NUMBER`, `<=NUMBER` or `=VALUE`, which may be empty.

    Args:
        text: for example "n_draws>=10000 n_chains>=4" or "main*:n_draws>=10000".
        settings: names of the settings that there are.

    Raises:
        ValueError: a condition cannot be read, or names no setting.

    >>> parse_needs("main*:n_draws>=500", ["n_draws"])
    (Need(case='main*', name='n_draws', relation='>=', value='500'),)
    """
    needs = []
    for word in text.split():
        match = _NEED.fullmatch(word)
        if match is None:
            raise ValueError(
                f"needs: cannot read {word!r}; allowed is [CASE:]SETTING>=NUMBER, <=NUMBER or =VALUE"
            )
        if match["name"] not in settings:
            raise ValueError(
                f"needs: {match['name']!r} is no setting. Allowed: {', '.join(sorted(settings))}"
            )
        if match["relation"] != "=" and math.isnan(number(match["value"])):
            raise ValueError(f"needs: {word!r} compares with {match['value']!r}, which is no number")
        needs.append(Need(match["case"] or "*", match["name"], match["relation"], match["value"]))
    return tuple(needs)


def number(value: object) -> float:
    """The value as a number; NaN where it is none."""
    try:
        return float(str(value))
    except ValueError:
        return math.nan
