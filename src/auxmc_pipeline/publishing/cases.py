"""Published cases: result files without draws, made from the published tables of their study."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from auxmc.driver.results import write_result
from auxmc_pipeline.digests import DIGEST
from auxmc_pipeline.tables import Tables

__all__ = ["restore_case"]

_PLAIN = ("created", "cpu_s", "peak_memory_mib", "processor", "processor_kind", "n_cores", "piece")


def restore_case(tables: Tables, jobs: pd.DataFrame, names: Iterable[str], path: Path) -> None:
    """Writes the result file of a case: `tables.tabulate` makes the rows of it that are published.

    Args:
        tables: published tables of the study.
        jobs: rows of `pieces.csv` of this case.
        names: of all settings of the study. Those that are lists are not in the tables.
        path: file to write, named as the case.
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
        DIGEST: str(last["sha256"]),
    }
    write_result(path, _groups(tables, path.stem), attributes)


def _attributes(job: Mapping[Any, Any]) -> dict[str, Any]:
    """What a result says of a job, from its row."""
    commit, _, changes = str(job["commit"]).partition(" ")
    versions = dict(text.split(" ", 1) for text in str(job["versions"]).split(", "))
    about = {name: job[name] for name in _PLAIN}
    about |= {"git_commit": commit, "git_dirty": str(bool(changes))}
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
                by_point = rows.groupby(dims, sort=False) if dims else rows
                values = (
                    by_point[quantity].first().to_xarray() if dims else xr.DataArray(rows[quantity].iloc[0])
                )
                arrays.setdefault(group, []).append(values.rename(quantity).assign_attrs(units=unit))
    # Points in the order of the tables: pandas sorts them.
    order = {dim: pd.unique(np.concatenate(found)) for dim, found in points.items()}
    return {
        group: xr.Dataset({a.name: a.reindex({dim: order[str(dim)] for dim in a.dims}) for a in found})
        for group, found in arrays.items()
    }
