"""A study's tables and claims, read and checked."""

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from auxmc.driver.results import checked_csv
from auxmc_pipeline.catalogue import STUDIES, Study, load_study, stale_cases
from auxmc_pipeline.claims import COLUMNS, read_claims
from auxmc_pipeline.judging.documents import read_documents
from auxmc_pipeline.judging.verdicts import judge, unmatched
from auxmc_pipeline.measuring import Measurement
from auxmc_pipeline.needs import cases_needed
from auxmc_pipeline.published_values import DISTANCE
from auxmc_pipeline.settings import SettingsError, names_of, nearest
from auxmc_pipeline.tables import MissingData, Tables, load_tables, unmet_about


def read_tables(study: Study, preset: str, folder: Path) -> Tables:
    """Tables of a study; raises SettingsError if they were made with other settings than the present ones.

    Snakemake cannot see that where the result files themselves are gone.
    """
    tables = load_tables(folder)
    numbers = dict(tables["settings"][["case", "numbers"]].to_numpy())
    if stale := stale_cases(study, preset, numbers):
        raise SettingsError(
            f"{folder} was made with other settings for {', '.join(stale)}; bring it up to date with "
            f"`snakemake {folder} --forcerun run_case`"
        )
    return tables


def read_verdicts(path: Path) -> pd.DataFrame:
    """Reads judged claims as `auxmc_pipeline.steps.judge` wrote them; texts that are missing are empty."""
    texts = [*(name for name in COLUMNS if name not in ("low", "high")), "also", "verdict", "note"]
    return _read("claims", path, texts).fillna(dict.fromkeys(texts, ""))


def read_numbers(path: Path) -> pd.DataFrame:
    """Reads the numbers of a study's findings as `auxmc_pipeline.steps.judge` wrote them; raises as `read_verdicts`."""
    return _read("numbers of findings", path, ["name", "note"])


def claims_of(study: Study) -> pd.DataFrame:
    """The claims that a study judges, checked."""
    keys = [document.key for document in read_documents()]
    return read_claims(STUDIES / study.folder / "claims.csv", names_of(study.schema), keys)


def cases_of_claims(study: Study, preset: str) -> dict[str, list[str]]:
    """The cases of a study at a preset that each of its claims needs, by claim id."""
    names = [case.name for case in study.cases(preset)]
    by_claim = claims_of(study).groupby("claim_id", sort=False)["needs"]
    return {str(claim_id): cases_needed(needs, names) for claim_id, needs in by_claim}


def cases_of_claim(claim_id: str, preset: str, names: Sequence[str]) -> dict[str, list[str]]:
    """The cases that one claim needs, by study of those named; raises SettingsError if none judges it."""
    known: dict[str, list[str]] = {}
    for name in names:
        for known_id in dict.fromkeys(claims_of(load_study(name))["claim_id"]):
            known.setdefault(str(known_id), []).append(name)
    if claim_id not in known:
        close = nearest(claim_id, list(known))
        raise SettingsError(f"unknown claim: {claim_id!r}.{close} `auxmc list claims` lists all")
    return {name: cases_of_claims(load_study(name), preset)[claim_id] for name in known[claim_id]}


def check_lines(names: Sequence[str]) -> None:
    """Raises SettingsError with all lines of claims that no function measures, and functions without a line.

    Studies other than those named are looked at where the first of these has something that disagrees.
    """
    wrong: list[str] = []
    for name in names:
        study = load_study(name)
        try:
            found = unmatched(claims_of(study), study.measures())
        except ValueError as error:
            found = [str(error)]
        wrong += [f"{study.folder}/claims.csv: {text}" for text in found]
        if not wrong:
            return
    raise SettingsError("\n".join(wrong))


def judge_study(study: Study, tables: Tables, claim_id: str = "") -> pd.DataFrame:
    """Claims of a study, or one of them, measured in its tables and judged."""
    lines, measures = claims_of(study), study.measures()
    if claim_id:
        lines, measures = lines.query("claim_id == @claim_id"), {claim_id: measures[claim_id]}
    return judge(lines, measures, tables, unmet_about(study, tables))


def measure_numbers(study: Study, tables: Tables) -> pd.DataFrame:
    """The numbers that the study measures for its findings alone: columns name, value, error, exact, note.

    A value that the tables do not give is NaN, and its note says why.
    """
    about = unmet_about(study, tables)
    rows = []
    for name, function in study.numbers().items():
        try:
            if about and name.startswith(DISTANCE):
                raise MissingData(f"does not apply: {about}")
            found = function(tables)
        except MissingData as missing:
            found = Measurement(math.nan, math.nan, str(missing))
        rows.append((name, *found))
    return pd.DataFrame(rows, columns=["name", "value", "error", "note", "exact"])


def _read(what: str, path: Path, texts: Sequence[str]) -> pd.DataFrame:
    if not path.is_file():
        raise FileNotFoundError(f"no {what} {path}: make them with `snakemake {path}`")
    return pd.read_csv(checked_csv(path), dtype=dict.fromkeys(texts, str))
