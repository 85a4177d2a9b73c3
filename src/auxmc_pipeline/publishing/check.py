"""Kept jobs run again: which ones, and whether they gave what is kept of them."""

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from auxmc.driver.results import read_table
from auxmc_pipeline.publishing.agreement import Distance, distances, share_alike, unequal
from auxmc_pipeline.publishing.cases import unpack
from auxmc_pipeline.publishing.digests import DIGEST
from auxmc_pipeline.publishing.gather import CASES
from auxmc_pipeline.publishing.jobs import jobs_of_result
from auxmc_pipeline.publishing.state import Identities, changed
from auxmc_pipeline.publishing.unfinished import about_piece
from auxmc_pipeline.tidy import tidy_table

__all__ = ["Check", "Drawn", "check", "drawn_at_random", "jobs_to_draw"]


class Drawn(NamedTuple):
    """A job to run again.

    Attributes:
        study: its study.
        case: its case.
        piece: "2 of 5", or empty for a whole case.
        cost_s: processor time that is recorded for it.
        sha256: recorded digest of its arrays; empty where none is.
        same_machine: whether processor and versions are those that it was made with.
        same_code: whether its code is.
    """

    study: str
    case: str
    piece: str
    cost_s: float
    sha256: str
    same_machine: bool
    same_code: bool

    @property
    def label(self) -> str:
        """For readers."""
        return f"{self.study} {self.case}" + (f", piece {self.piece}" if self.piece else "")

    def file(self, preset: str) -> Path:
        """What it writes, as the workflow names it."""
        folder = Path("results") / preset / self.study
        if not self.piece:
            return folder / f"{self.case}.nc"
        return folder / "pieces" / self.case / f"{self.piece.replace(' ', '-')}.npz"


class Check(NamedTuple):
    """What came of a job that was run again.

    Attributes:
        job: the job.
        identical: whether its arrays are the same to the last bit.
        faults: what must not be: kept values that the job does not give, no result, other bits on the same machine.
        distances: of quantities with errors, where the arrays are not the same.
        alike: share of the compared values that agree to rounding; NaN where none was compared.
    """

    job: Drawn
    identical: bool
    faults: Sequence[str]
    distances: Sequence[Distance]
    alike: float = math.nan


def jobs_to_draw(
    jobs: pd.DataFrame, now: Identities, kind: str, versions: str
) -> tuple[list[Drawn], list[str]]:
    """Jobs of a study that can be run again.

    Where a case was cut on a machine like this one, its pieces are jobs of their own. Elsewhere a piece cannot be
    compared, since only statistics of whole cases have errors, and the case is one job.

    Args:
        jobs: rows of `pieces.csv`.
        now: what the study's cases depend on at present.
        kind: `processor_kind` of this machine.
        versions: of the packages here, as `pieces.csv` has them.

    Returns:
        The jobs, and cases whose settings or data are not those of the record any more.
    """
    found, other = [], []
    for case, rows in jobs.groupby("case", sort=False):
        last = rows.iloc[-1]
        difference = changed({str(k): v for k, v in last.items()}, str(case), now)
        if set(difference) - {"code"}:
            other.append(f"{last['study']} {case}: other {' and '.join(difference)}")
            continue
        same = bool(((rows["processor_kind"] == kind) & (rows["versions"] == versions)).all())
        pieces = rows[rows["piece"] != ""]
        chosen = pieces if same and len(pieces) and (pieces["sha256"] != "").all() else rows.iloc[-1:]
        for row in chosen.to_dict("records"):
            cost = float(row["cpu_s"]) if row["piece"] else float(rows["cpu_s"].sum())
            piece, digest = str(row["piece"]), str(row["sha256"])
            found.append(Drawn(str(row["study"]), str(case), piece, cost, digest, same, not difference))
    return found, other


def drawn_at_random(jobs: Sequence[Drawn], budget_s: float, rng: np.random.Generator) -> list[Drawn]:
    """Jobs in random order whose recorded costs add up to at most a budget; the cheapest where none fits."""
    chosen: list[Drawn] = []
    left = budget_s
    for place in rng.permutation(len(jobs)):
        if jobs[place].cost_s <= left:
            chosen.append(jobs[place])
            left -= jobs[place].cost_s
    return chosen or ([min(jobs, key=lambda job: job.cost_s)] if jobs else [])


def check(job: Drawn, made: Path, kept_in: Path) -> Check:
    """Compares what a job gave with what is kept of it.

    Args:
        job: the job.
        made: file that it wrote now.
        kept_in: folder of the study in `published/`.
    """
    if not made.is_file():
        return Check(job, False, ["it failed: no result"], [])
    if job.piece:
        same = about_piece(made).get(DIGEST, "") == job.sha256
        return Check(job, same, [] if same else [_other_bits(job)], [])
    same = jobs_of_result(made)[-1]["sha256"] == job.sha256
    again = tidy_table([made], "statistics")
    faults: list[str] = []
    compared: list[tuple[list[Distance], float]] = []
    for name, kept in _kept_statistics(job, kept_in).items():
        lines = unequal(kept, again)
        if same and lines:
            faults.append(
                f"{name} does not hold what the job gives: {len(lines)} values differ, as {lines[0]}"
            )
        if not same:
            compared.append((distances(kept, again), share_alike(kept, again)))
    if not same and job.same_machine and job.same_code:
        faults.append(_other_bits(job))
    # What is kept twice is the same twice, unless one of them is wrong.
    found = max(
        (found for found, _ in compared), key=lambda found: found[0].score if found else -1.0, default=[]
    )
    return Check(job, same, faults, found, min((alike for _, alike in compared), default=math.nan))


def _other_bits(job: Drawn) -> str:
    return f"its arrays are not the recorded ones (SHA-256 {job.sha256[:12]}...) though processor and versions are"


def _kept_statistics(job: Drawn, kept_in: Path) -> dict[str, pd.DataFrame]:
    """Statistics of a case by the name of the file that keeps them."""
    found: dict[str, Any] = {}
    if (kept_in / "summary.parquet").is_file():
        table = read_table(kept_in / "summary.parquet")
        found["summary.parquet"] = table[table["case"] == job.case]
    small = kept_in / CASES / f"{job.case}.nc.gz"
    if small.is_file():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{job.case}.nc"
            try:
                unpack(small, path)
                found[f"{CASES}/{small.name}"] = tidy_table([path], "statistics")
            except (OSError, ValueError):
                found[f"{CASES}/{small.name}"] = pd.DataFrame(columns=["quantity", "unit", "value"])
    return found
