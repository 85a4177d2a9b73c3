"""Fills numbers into texts: findings are templates, whose numbers are in the tables of a preset."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from auxmc_pipeline.judging.counts import verdict_of_claim
from auxmc_pipeline.judging.verdicts import VERDICTS
from auxmc_pipeline.report.numbers import with_error

_Frames = Mapping[str, pd.DataFrame]


class LookUp:
    """What a text can name; the public methods are functions of the templates.

    A claim's line is named by the claim's id, the setting where the claim has several lines, and the study where
    several judge the claim. A LookupError names what does not exist. Judged claims, numbers of findings (columns name,
    value, error, exact) and the preset are those of each study.
    """

    def __init__(self, judged: _Frames, numbers: _Frames, presets: Mapping[str, str]) -> None:
        self._numbers, self._presets = numbers, presets
        tables = [table.assign(study=study) for study, table in judged.items()]
        self._lines = pd.concat(tables, ignore_index=True)
        self._by_claim = dict(list(self._lines.groupby("claim_id", sort=False)))

    def claims(self, study: str) -> list[tuple[str, str]]:
        """Study and id of each claim that a study judges."""
        found = self._lines.loc[self._lines["study"] == study, "claim_id"]
        return [(study, claim) for claim in found.unique()]

    def measured(self, claim: str, setting: str = "", study: str = "") -> str:
        """Our value of a claim's line with its error, or that it was not measured."""
        line = self._line(claim, setting, study)
        return self._text(line["study"], line["measured"], line["monte_carlo_error"], line["exact"])

    def published(self, claim: str, setting: str = "", study: str = "") -> str:
        """The published value of a claim's line, as it is printed."""
        return str(self._line(claim, setting, study)["published"])

    def value(self, claim: str, setting: str = "", study: str = "") -> float:
        """Our value of a claim's line for comparisons; NaN if it was not measured."""
        return float(self._line(claim, setting, study)["measured"])

    def verdict(self, claim: str, setting: str = "", study: str = "") -> str:
        """The verdict of a claim's line, or of all lines of the claim together where no setting is named."""
        if setting:
            return str(self._line(claim, setting, study)["verdict"])
        lines = self._of(claim, study)
        published = lines[lines["origin"] == "published"]
        return verdict_of_claim(lines if published.empty else published)

    def count(self, study: str, verdict: str) -> int:
        """Number of the documents' claims of a study with a verdict; the worst line of a claim counts."""
        lines = self._lines[(self._lines["study"] == study) & (self._lines["origin"] == "published")]
        if lines.empty or verdict not in VERDICTS:
            raise LookupError(f"no claims of {study!r} can be counted as {verdict!r}: {', '.join(VERDICTS)}")
        return sum(verdict_of_claim(claim) == verdict for _, claim in lines.groupby("claim_id"))

    def number(self, study: str, name: str) -> str:
        """A number that a study measures for its findings with its error, or that it was not measured."""
        if study not in self._numbers:
            raise LookupError(f"there is no study {study}. There are: {', '.join(self._numbers)}")
        table = self._numbers[study]
        rows = table[table["name"] == name]
        if rows.empty and len(table):
            raise LookupError(f"{study} measures no number {name!r}. There are: {', '.join(table['name'])}")
        row = rows.iloc[0] if len(rows) else {"value": math.nan, "error": math.nan, "exact": False}
        return self._text(study, row["value"], row["error"], bool(row["exact"]))

    def _text(self, study: str, value: float, error: float, is_exact: bool) -> str:
        if math.isnan(value):
            return f"(not measured at preset {self._presets[study]})"
        return with_error(value, error) + " (error unknown)" * (not is_exact and not error > 0.0)

    def _of(self, claim: str, study: str) -> pd.DataFrame:
        lines = self._by_claim.get(claim, self._lines[:0])
        lines = lines[lines["study"] == study] if study else lines
        if lines.empty:
            raise LookupError(f"there is no claim {claim}" + f" in the study {study}" * bool(study))
        return lines

    def _line(self, claim: str, setting: str, study: str) -> "pd.Series[Any]":
        lines = self._of(claim, study)
        found = lines[lines["setting"] == setting] if setting else lines
        if len(found) != 1:
            raise LookupError(
                f"{claim} has {len(found)} lines {setting!r}. Settings: {', '.join(lines['setting'])}; studies: "
                f"{', '.join(lines['study'].unique())}"
            )
        return found.iloc[0]


def fill(text: str, look_up: LookUp, place: Path | str, run: str = "") -> str:
    """A Jinja 2 template that calls the methods of `LookUp` and may name `run`, filled in.

    Raises ValueError with the place of the text if it is no template, or names what does not exist.
    """
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    names = ("measured", "published", "value", "verdict", "count", "number")
    environment.globals |= {name: getattr(look_up, name) for name in names}
    try:
        filled = environment.from_string(text).render(run=run)
    except jinja2.TemplateSyntaxError as error:
        raise ValueError(f"{place}, line {error.lineno}: {error.message}") from error
    except (LookupError, jinja2.UndefinedError) as error:
        raise ValueError(f"{place}: {error}") from error
    # A published ">10" at the beginning of a line is no quotation; the texts have none.
    return re.sub(r"(?m)^>", r"\>", filled)
