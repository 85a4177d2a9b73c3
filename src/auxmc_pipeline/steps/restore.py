"""Restores published cases to results/, to resume a preset: `python -m auxmc_pipeline.steps.restore --help`.

Snakemake then runs only the others. Cases of other settings, code or data are left out; results that are there stay.
"""

import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from auxmc.driver.results import read_attributes, write_result
from auxmc_pipeline.catalogue import check_preset, load_study, studies
from auxmc_pipeline.command_errors import errors_in_one_line, step_parser
from auxmc_pipeline.digests import DIGEST
from auxmc_pipeline.jobs import PUBLISHED, by_case, differences, identities, read_jobs
from auxmc_pipeline.settings import names_of
from auxmc_pipeline.tables import Tables, load_tables

_PLAIN = ["created", "cpu_s", "peak_memory_mib", "processor", "processor_kind"]
_PLAIN += ["n_cores", "piece", "verified"]


@errors_in_one_line()
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = step_parser(__doc__, "preset")
    older = "also cases that older code made with the present settings and data"
    parser.add_argument("--older", action="store_true", help=older)
    options = parser.parse_args(arguments)
    check_preset(options.preset)
    restored, left_out = restore(options.preset, PUBLISHED / options.preset, Path("results"), options.older)
    for line in left_out:
        print(f"left out: {line}")
    print(f"{len(restored)} cases restored to results/{options.preset}, {len(left_out)} left out")
    return touch(options.preset, restored) if restored else 0


def restore(preset: str, published: Path, results: Path, older: bool = False) -> tuple[list[Path], list[str]]:
    """Writes the result files of published cases; those that differ in their code alone if `older`.

    Returns:
        Files written, and lines that say which cases were left out and why.
    """
    restored, left_out = [], []
    for name in studies():
        jobs = read_jobs(published / name / "pieces.csv")
        study = load_study(name)
        now = identities(study, preset) if len(jobs) else {}
        tables = load_tables(published / name / "tables") if len(jobs) else Tables({})
        for job in by_case(jobs).to_dict("records"):
            case = str(job["case"])
            path = results / preset / name / f"{case}.nc"
            if (differs := differences(job, case, now)) and not (older and differs == "code"):
                left_out.append(f"{name} {case}: made with other {differs}")
            elif path.is_file() and not differences(read_attributes(path), case, now):
                left_out.append(f"{name} {case}: there already")
            else:
                restore_case(tables, jobs[jobs["case"] == case], names_of(study.schema), path)
                restored.append(path)
    return restored, left_out


def touch(preset: str, paths: Sequence[Path]) -> int:
    """Records in Snakemake what the restored files were made with, so that later changes are noticed."""
    words = ["--touch", "--force", "--cores", "1", "--quiet", "all", "--config", f"preset={preset}"]
    return subprocess.call([sys.executable, "-m", "snakemake", *words, "--", *map(str, paths)])


def restore_case(tables: Tables, jobs: pd.DataFrame, names: Iterable[str], path: Path) -> None:
    """Writes the result file of a case: `tables.tabulate` makes the rows of it that are published.

    Of all `names` of settings of the study, those that are lists are not in the tables.
    """
    settings = tables["settings"].query("case == @path.stem").iloc[0].drop(["case", "numbers"])
    *pieces, last = jobs.to_dict("records")
    swept = {str(name): 0.0 for name in settings.index[settings.isna()]}
    known: dict[Any, Any] = settings.dropna().to_dict()
    attributes = {
        "case": path.stem,
        "settings": dict.fromkeys(names) | known | swept | {"batch": swept},
        **{name: str(last[name]) for name in ("study", "numbers", "code", "data")},
        **_attributes(last),
        "cpu_s": float(jobs["cpu_s"].sum()),
        "pieces": [_attributes(piece) for piece in pieces],
    }
    write_result(path, _groups(tables, path.stem), attributes)


def _attributes(job: Mapping[Any, Any]) -> dict[str, Any]:
    """What a result says of a job, from its row."""
    commit, _, changes = str(job["commit"]).partition(" ")
    versions = dict(text.split(" ", 1) for text in str(job["versions"]).split(", "))
    about = {name: job[name] for name in _PLAIN}
    about |= {DIGEST: str(job["sha256"]), "git_commit": commit, "git_dirty": str(bool(changes))}
    return about | {"python": versions.pop("python"), "packages": versions}


def _groups(tables: Tables, case: str) -> dict[str, xr.Dataset]:
    arrays: dict[str, list[xr.DataArray]] = {}
    points: dict[str, list[np.ndarray[Any, Any]]] = {}
    for name, columns in tables["quantity"].groupby("table", sort=False):
        rows = tables[str(name)].query("case == @case").drop(columns="case").dropna(axis=1, how="all")
        # Swept settings first, as they are recorded; columns that other cases lack come last in a table.
        dims = [str(dim) for dim in rows if dim not in set(columns["quantity"])]
        dims.sort(key=lambda dim: dim not in tables["settings"])
        for dim in dims:
            points.setdefault(dim, []).append(rows[dim].unique())
        for quantity, _, group, unit in columns.to_numpy():
            if quantity in rows:
                if dims:
                    values = rows.groupby(dims, sort=False)[quantity].first().to_xarray()
                else:
                    values = xr.DataArray(rows[quantity].iloc[0])
                arrays.setdefault(group, []).append(values.rename(quantity).assign_attrs(units=unit))
    # Points in the order of the tables: pandas sorts them.
    order = {dim: pd.unique(np.concatenate(found)) for dim, found in points.items()}
    return {
        group: xr.Dataset({a.name: a.reindex({dim: order[str(dim)] for dim in a.dims}) for a in found})
        for group, found in arrays.items()
    }


if __name__ == "__main__":
    sys.exit(main())
