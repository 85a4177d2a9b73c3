"""Records of jobs: which code and settings made a case, where, at what cost, and whether they are the present ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from auxmc.driver.files import write_atomically
from auxmc.driver.results import attributes_of, read_result
from auxmc_pipeline.catalogue import ROOT, STUDIES, Study, identity_of
from auxmc_pipeline.checksums import check_kept
from auxmc_pipeline.digests import DIGEST, array_digest
from auxmc_pipeline.settings import SettingsError

PUBLISHED = ROOT / "published"

COSTS = STUDIES / "costs.csv"  # jobs of presets whose results are not published

# The packages whose versions decide the last bits.
_PACKAGES = ("jax", "jaxlib", "numpy", "scipy")

COLUMNS = {
    "study": str,
    "case": str,
    "piece": str,  # "2 of 5"; empty for the job that wrote the case
    "commit": str,
    "created": str,
    "numbers": str,  # digest of the settings
    "code": str,
    "data": str,
    "cpu_s": float,
    "peak_memory_mib": float,
    "processor": str,
    "processor_kind": str,
    "n_cores": int,
    "versions": str,
    "sha256": str,  # of all arrays that the job wrote, without those that measure time
    "verified": str,  # commit of later code that made the same arrays; empty for none
}
"""Columns of `pieces.csv`, a row for each job."""

_COST_COLUMNS = ("study", "case", "piece", "created", "cpu_s", "peak_memory_mib", "processor", "n_cores")

Identities = Mapping[str, Mapping[str, str]]  # digests `numbers`, `code` and `data` of each case


def jobs_of_result(path: Path) -> list[dict[str, Any]]:
    """Rows of the jobs that made a result file: its pieces, if it was split, then the job that wrote the file."""
    with read_result(path) as tree:
        about = attributes_of(tree)
        digest = str(about.get(DIGEST) or array_digest(tree))
    return jobs_of_attributes(about, path.stem, digest)


def jobs_of_attributes(about: Mapping[str, Any], case: str, digest: str = "") -> list[dict[str, Any]]:
    """Rows of the jobs that made a result, from its attributes and the digest of its arrays."""
    pieces = about.get("pieces") or []
    rest = float(about["cpu_s"]) - sum(float(piece["cpu_s"]) for piece in pieces)
    shared = {name: str(about[name]) for name in ("study", "numbers", "code", "data")} | {"case": case}
    rows = [_row({**piece, **shared}, str(piece.get(DIGEST, ""))) for piece in pieces]
    return [*rows, _row({**about, **shared, "cpu_s": rest, "piece": ""}, digest)]


def job_table(rows: Sequence[Mapping[Any, Any]]) -> pd.DataFrame:
    """Rows of jobs as a table with the columns of `pieces.csv`."""
    return pd.DataFrame(list(rows), columns=list(COLUMNS)).astype(COLUMNS)


def read_jobs(path: Path) -> pd.DataFrame:
    """Rows of `pieces.csv`; an empty table if there is no such file."""
    if not path.is_file():
        return job_table([])
    jobs = pd.read_csv(check_kept(path), dtype=COLUMNS, keep_default_na=False)
    return jobs.reindex(columns=list(COLUMNS), fill_value="")


def by_case(jobs: pd.DataFrame) -> pd.DataFrame:
    """One row a case: of the job that wrote it, with summed CPU time and the largest memory.

    The machines and versions of its pieces, where they differ, are joined by semicolons.
    """
    groups = jobs.groupby("case", sort=False)
    last = groups.tail(1).set_index("case")
    joined = groups[["processor", "processor_kind", "versions"]].agg(lambda found: "; ".join(found.unique()))  # type: ignore[misc]
    cost = groups.agg(cpu_s=("cpu_s", "sum"), peak_memory_mib=("peak_memory_mib", "max"))
    return last.assign(**joined, **cost).reset_index()[list(COLUMNS)]


def identities(study: Study, preset: str) -> dict[str, dict[str, str]]:
    """Digests of what the result of each case of a study depends on at present."""
    keys = {"numbers": "numbers_digest", "code": "code", "data": "data"}
    now = {case.name: identity_of(study, case.settings) for case in study.cases(preset)}
    return {case: {name: str(of[key]) for name, key in keys.items()} for case, of in now.items()}


def differences(about: Mapping[Any, Any], case: str, now: Identities) -> str:
    """What a job, or its result, was made with that differs from the present, as "settings and code"; else empty."""
    if case not in now:
        return "case, which is gone"
    words = {"numbers": "settings", "code": "code", "data": "data"}
    return " and ".join(word for name, word in words.items() if str(about.get(name)) != now[case][name])


def recorded_jobs(study: str, preset: str, published: Path = PUBLISHED, costs: Path = COSTS) -> pd.DataFrame:
    """Jobs of a study on record, as `job_table`: of its published results, or else of `experiments/costs.csv`."""
    kept = read_jobs(published / preset / study / "pieces.csv")
    if not kept.empty or not costs.is_file():
        return kept
    jobs = _read_costs(costs)
    return jobs[(jobs["preset"] == preset) & (jobs["study"] == study)]


def record_costs(preset: str, jobs: pd.DataFrame, costs: Path = COSTS) -> None:
    """Writes the costs of the jobs of a preset to `experiments/costs.csv`, in place of those of the same studies."""
    before = _read_costs(costs) if costs.is_file() else pd.DataFrame({"preset": [], "study": []})
    others = before[(before["preset"] != preset) | ~before["study"].isin(jobs["study"])]
    rows = pd.concat([others, jobs.assign(preset=preset)])[["preset", *_COST_COLUMNS]]
    rows = rows.sort_values(["preset", "study", "case", "piece"], ignore_index=True)
    write_atomically(costs, lambda path: rows.to_csv(path, index=False))


def version_text(about: Mapping[str, Any]) -> str:
    """Versions that decide the last bits, from attributes of a result or from this environment."""
    packages = about.get("packages", {})
    names = [f"{name} {packages.get(name, '?')}" for name in _PACKAGES]
    return ", ".join([f"python {about['python']}", *names])


def _read_costs(path: Path) -> pd.DataFrame:
    kinds = {"preset": str} | {name: COLUMNS[name] for name in _COST_COLUMNS}
    try:
        return pd.read_csv(path, dtype=kinds, keep_default_na=False)
    except ValueError as error:
        raise SettingsError(f"{path}: {error}") from error


def _row(about: Mapping[str, Any], digest: str) -> dict[str, Any]:
    uncommitted = " with uncommitted changes" if about.get("git_dirty") == "True" else ""
    own = {
        "commit": f"{about['git_commit'][:12]}{uncommitted}",
        "cpu_s": round(float(about["cpu_s"]), 1),
        "peak_memory_mib": round(float(about["peak_memory_mib"])),
        "processor_kind": about.get("processor_kind", ""),
        "versions": version_text(about),
        "sha256": digest,
    }
    return {name: own.get(name, about.get(name, "")) for name in COLUMNS}
