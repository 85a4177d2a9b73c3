"""What each job of a preset costs, from records where there are any, and how long all take on a number of cores."""

import heapq
import re
import statistics
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from auxmc_pipeline.catalogue import CONF, Study
from auxmc_pipeline.judging.published import PUBLISHED
from auxmc_pipeline.publishing.jobs import read_jobs
from auxmc_pipeline.settings import PRESETS

__all__ = ["CaseCost", "case_costs", "minutes", "schedule", "stated_costs"]

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
        source: `recorded`, or `expected`: what `conf/costs.toml` states for the study, shared out among its cases as at
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


def stated_costs(conf: Path = CONF) -> dict[str, tuple[str, ...]]:
    """CPU time of each study at each preset, as `conf/costs.toml` has it."""
    stated = tomllib.loads((conf / "costs.toml").read_text())
    return {study: tuple(row[preset] for preset in PRESETS) for study, row in stated.items()}


def minutes(text: str) -> float:
    """A stated cost in minutes; NaN where the text states none.

    >>> minutes("0.5 h"), minutes("1.5 min"), minutes("2 days, expected")
    (30.0, 1.5, 2880.0)
    """
    found = re.match(r"([\d.]+) (min|h|day)", text)
    return float(found[1]) * _MINUTES[found[2]] if found else float("nan")


def case_costs(study: Study, preset: str, published: Path = PUBLISHED) -> list[CaseCost]:
    """Costs of all cases of a study at a preset.

    Args:
        study: the study.
        preset: the preset.
        published: folder of kept results, whose `pieces.csv` record costs.
    """
    recorded = read_jobs(published / preset / study.name / "pieces.csv")
    quick = (
        read_jobs(published / "quick" / study.name / "pieces.csv").groupby("case")["cpu_s"].sum().to_dict()
    )
    cases = study.cases(preset)
    usual = statistics.median(quick.values()) if quick else 1.0
    weights = {case.name: quick.get(case.name, usual) for case in cases}
    stated = stated_costs().get(study.name, ("",) * len(PRESETS))[PRESETS.index(preset)]
    second_a_weight = 60.0 * minutes(stated) / sum(weights.values())
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
