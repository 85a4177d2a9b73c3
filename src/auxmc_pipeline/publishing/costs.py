"""What each job of a preset costs, from records where there are any, and how long all take on a number of cores."""

import heapq
import re
import statistics
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from auxmc.driver.files.writing import write_atomically
from auxmc_pipeline.catalogue import CONF, Study
from auxmc_pipeline.judging.published import PUBLISHED
from auxmc_pipeline.publishing.jobs import COLUMNS, read_jobs
from auxmc_pipeline.settings import SettingsError

__all__ = ["CaseCost", "case_costs", "expected_costs", "minutes", "record_costs", "recorded_jobs", "schedule"]

# Jobs of presets of which no results are kept, and what is on record of them.
RECORD = CONF / "costs.csv"
_COLUMNS = {"preset": str} | {
    name: COLUMNS[name]
    for name in ("study", "case", "piece", "created", "cpu_s", "peak_memory_mib", "processor", "n_cores")
}

# Of a job that joins pieces, where none is recorded: it imports, reads and computes statistics.
_MERGE_S = 15.0
_MINUTES = {"min": 1.0, "h": 60.0, "day": 1440.0}


class CaseCost(NamedTuple):
    """Processor time of a case's jobs in seconds.

    Attributes:
        study: its study.
        case: its name.
        pieces: of the jobs that run side by side: its pieces, or the one job of a case that is not cut.
        merge: of the job that joins the pieces; 0 where there are none.
        source: `recorded`, or `expected`: what `conf/costs.toml` has for the study, shared out among its cases as at
            preset quick.
    """

    study: str
    case: str
    pieces: Sequence[float]
    merge: float
    source: str

    @property
    def total(self) -> float:
        """Of all jobs together."""
        return sum(self.pieces) + self.merge


def recorded_jobs(
    study: str, preset: str, published: Path = PUBLISHED, record: Path = RECORD
) -> pd.DataFrame:
    """Jobs of a study at a preset on record: those of its kept results, or where there are none of `conf/costs.csv`.

    Args:
        study: name of the study.
        preset: the preset.
        published: folder of kept results.
        record: the file of jobs whose results are not kept; may be absent.

    Returns:
        Rows with columns case, piece, cpu_s (seconds of processor time), peak_memory_mib (MiB) and others.
    """
    kept = read_jobs(published / preset / study / "pieces.csv")
    if not kept.empty or not record.is_file():
        return kept
    jobs = _read_record(record)
    return jobs[(jobs["preset"] == preset) & (jobs["study"] == study)]


def record_costs(preset: str, jobs: pd.DataFrame, record: Path = RECORD) -> None:
    """Puts the jobs of a preset into `conf/costs.csv`, in place of those of the same preset and studies.

    Args:
        preset: the preset.
        jobs: rows with the columns of `pieces.csv`.
        record: the file.
    """
    before = _read_record(record) if record.is_file() else pd.DataFrame({"preset": [], "study": []})
    others = before[(before["preset"] != preset) | ~before["study"].isin(jobs["study"])]
    rows = pd.concat([others, jobs.assign(preset=preset)])[list(_COLUMNS)]
    rows = rows.sort_values(["preset", "study", "case", "piece"], ignore_index=True)
    write_atomically(record, lambda path: rows.to_csv(path, index=False))


def _read_record(record: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(record, dtype=_COLUMNS, keep_default_na=False)
    except ValueError as error:
        raise SettingsError(f"{record}: {error}") from error


def expected_costs() -> dict[str, dict[str, str]]:
    """CPU time of studies by preset where it is not on record, as `conf/costs.toml` expects it."""
    try:
        return tomllib.loads((CONF / "costs.toml").read_text(encoding="utf-8"))
    except ValueError as error:
        raise SettingsError(f"conf/costs.toml: {error}") from error


def minutes(text: str) -> float:
    """An expected cost in minutes; NaN where the text has none.

    >>> minutes("0.5 h"), minutes("1.5 min"), minutes("2 days, expected")
    (30.0, 1.5, 2880.0)
    """
    found = re.match(r"([\d.]+) (min|h|day)", text)
    return float(found[1]) * _MINUTES[found[2]] if found else float("nan")


def case_costs(
    study: Study, preset: str, published: Path = PUBLISHED, record: Path = RECORD
) -> list[CaseCost]:
    """Costs of all cases of a study at a preset; NaN where a cost is neither on record nor expected.

    Args:
        study: the study.
        preset: the preset.
        published: folder of kept results.
        record: the file of jobs whose results are not kept.
    """
    recorded = recorded_jobs(study.name, preset, published, record)
    quick = recorded_jobs(study.name, "quick", published, record).groupby("case")["cpu_s"].sum().to_dict()
    cases = study.cases(preset)
    usual = statistics.median(quick.values()) if quick else 1.0
    weights = {case.name: quick.get(case.name, usual) for case in cases}
    expected = expected_costs().get(study.name, {}).get(preset, "")
    second_a_weight = 60.0 * minutes(expected) / sum(weights.values())
    out = []
    for case in cases:
        n_pieces = int(case.settings.resources.get("pieces", 1))
        rows = recorded[recorded["case"] == case.name]
        cut = rows[rows["piece"] != ""]["cpu_s"].tolist()
        alone = float(rows[rows["piece"] == ""]["cpu_s"].sum())
        if rows.empty:
            share = weights[case.name] * second_a_weight / n_pieces
            merge = _MERGE_S if n_pieces > 1 else 0.0
            out.append(CaseCost(study.name, case.name, [share] * n_pieces, merge, "expected"))
        elif n_pieces == 1:
            out.append(CaseCost(study.name, case.name, [sum(cut) + alone], 0.0, "recorded"))
        else:
            # Recorded with another number of pieces: the same work in other shares.
            merge = alone if cut else _MERGE_S
            shares = cut if len(cut) == n_pieces else [(sum(cut) or alone) / n_pieces] * n_pieces
            out.append(CaseCost(study.name, case.name, shares, merge, "recorded"))
    return out


def schedule(cases: Sequence[CaseCost], n_cores: int) -> float:
    """Seconds that all jobs take, the longest first on whichever core is free; pieces are joined when all are there.

    >>> schedule([CaseCost("a", "b", [60.0, 60.0, 30.0], 5.0, "recorded")], 2)
    95.0
    """
    ready = [
        (-(seconds + case.merge), seconds, number)
        for number, case in enumerate(cases)
        for seconds in case.pieces
    ]
    heapq.heapify(ready)
    left = [len(case.pieces) for case in cases]
    running: list[tuple[float, int]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < n_cores:
            _, seconds, number = heapq.heappop(ready)
            heapq.heappush(running, (now + seconds, number))
        now, number = heapq.heappop(running)
        left[number] -= 1
        if left[number] == 0 and cases[number].merge > 0.0:
            heapq.heappush(ready, (-cases[number].merge, cases[number].merge, number))
    return now
