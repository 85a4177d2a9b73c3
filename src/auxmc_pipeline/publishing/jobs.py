"""The record of every job: what it made, from which code and settings, where, and what it cost."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from auxmc.driver.results import attributes_of, read_attributes, read_result
from auxmc_pipeline.judging.sums import check_kept
from auxmc_pipeline.publishing.digests import DIGEST, arrays_of, digest_of_arrays

__all__ = ["COLUMNS", "as_table", "attributes_at", "jobs_of_result", "read_jobs", "versions_in_words"]

# The packages whose versions decide the last bits.
_PACKAGES = ("jax", "jaxlib", "numpy", "scipy")

COLUMNS = {
    "study": str,
    "case": str,
    "piece": str,  # "2 of 5", or empty for the job that wrote the case
    "commit": str,
    "created": str,
    "numbers": str,
    "code": str,
    "data": str,
    "cpu_s": float,
    "peak_memory_mib": float,
    "processor": str,
    "processor_kind": str,
    "n_cores": int,
    "versions": str,
    "sha256": str,
}


def jobs_of_result(path: Path) -> list[dict[str, Any]]:
    """Rows of the jobs that made a result file: its pieces, if it was cut, and the job that wrote it.

    Args:
        path: the result file.

    Returns:
        Dicts with the keys of `COLUMNS`. What the last job of a case in pieces cost is what the case cost beside its
        pieces.
    """
    tree = read_result(path)
    try:
        about = attributes_of(tree)
        digest = about.get(DIGEST) or digest_of_arrays(arrays_of(tree))
    finally:
        tree.close()
    pieces = about.get("pieces") or []
    beside = float(about["cpu_s"]) - sum(float(piece["cpu_s"]) for piece in pieces)
    shared = {name: str(about[name]) for name in ("study", "numbers", "code", "data")} | {"case": path.stem}
    rows = [_row({**piece, **shared}, str(piece.get(DIGEST, ""))) for piece in pieces]
    return [*rows, _row({**about, **shared, "cpu_s": beside, "piece": ""}, digest)]


def attributes_at(path: Path) -> dict[str, Any]:
    """Attributes of a result file, containers unpacked; empty where there is none.

    Raises:
        DamagedFile: it is not what was written.
    """
    return read_attributes(path) if path.is_file() else {}


def read_jobs(path: Path) -> pd.DataFrame:
    """Rows of `pieces.csv`; an empty table where there is no file."""
    if not path.is_file():
        return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in COLUMNS.items()})
    return pd.read_csv(check_kept(path), dtype=COLUMNS, keep_default_na=False)


def as_table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a table with the columns of `pieces.csv`."""
    return pd.DataFrame(list(rows), columns=list(COLUMNS)).astype(COLUMNS)


def versions_in_words(about: Mapping[str, Any]) -> str:
    """Versions that decide the last bits, from attributes of a result or from this environment."""
    packages = about.get("packages", {})
    return ", ".join(
        [f"python {about['python']}", *(f"{name} {packages.get(name, '?')}" for name in _PACKAGES)]
    )


def _row(about: Mapping[str, Any], digest: str) -> dict[str, Any]:
    changed = " with uncommitted changes" if about.get("git_dirty") == "True" else ""
    own = {
        "commit": f"{about['git_commit'][:12]}{changed}",
        "cpu_s": round(float(about["cpu_s"]), 1),
        "peak_memory_mib": round(float(about["peak_memory_mib"])),
        "processor_kind": about.get("processor_kind", ""),
        "versions": versions_in_words(about),
        "sha256": digest,
    }
    return {name: own.get(name, about.get(name, "")) for name in COLUMNS}
