"""Result files and tables: complete or absent, never half-written."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

__all__ = ["attributes_of", "read_result", "read_table", "write_atomically", "write_result", "write_table"]


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Calls `write` with a temporary name in the folder of `path`, then renames.

    Args:
        path: final name; its folder is created.
        write: writes the whole file to the name that it is given. If it fails, nothing is left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.partial{path.suffix}")
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_result(path: Path, groups: Mapping[str, xr.Dataset], provenance: Mapping[str, Any]) -> None:
    """Writes one NetCDF file with named groups (`posterior`, `sample_stats`, ...) and provenance attributes.

    Args:
        path: file to write, suffix `.nc`.
        groups: datasets with dims `chain`, `draw` first where they have them, units in attributes. Of a study's case,
            `statistics` and `curves` become rows of its tables; `posterior`, `sample_stats`, `observed_data` and
            others follow ArviZ.
        provenance: root attributes; containers are stored as JSON text.
    """
    tree = xr.DataTree.from_dict(dict(groups))
    # A flag is stored as JSON: NetCDF has none.
    tree.attrs = {
        k: v if isinstance(v, str | int | float) and not isinstance(v, bool) else json.dumps(v)
        for k, v in provenance.items()
    }
    options: dict[str, Any] = {}
    for name, data in groups.items():
        # Draws are hardly compressible, but flags and counters are: level 1 costs little time.
        options[f"/{name}"] = {
            str(v): {"zlib": True, "complevel": 1} for v in data.variables if data[v].dtype.kind in "fib"
        }
    write_atomically(path, lambda temporary: tree.to_netcdf(temporary, engine="h5netcdf", encoding=options))


def read_result(path: Path) -> xr.DataTree:
    """Opens a result file; arrays are read when used.

    Raises:
        FileNotFoundError: there is no such file; says which command makes it.
    """
    if not path.is_file():
        raise FileNotFoundError(f"no result file {path}: make it with `snakemake {path}`")
    return xr.open_datatree(path, engine="h5netcdf")


def attributes_of(tree: xr.DataTree | xr.Dataset) -> dict[str, Any]:
    """Attributes of a result file, containers unpacked."""
    return {
        str(k): json.loads(v) if isinstance(v, str) and v.startswith(("{", "[")) else v
        for k, v in tree.attrs.items()
    }


def write_table(path: Path, table: pd.DataFrame, *, csv: bool = False) -> None:
    """Writes a tidy table as parquet, and beside it as CSV for people where it is small."""
    write_atomically(path, lambda temporary: table.to_parquet(temporary, index=False))
    if csv:
        write_atomically(
            path.with_suffix(".csv"),
            lambda temporary: table.to_csv(temporary, index=False, float_format="%.6g"),
        )


def read_table(path: Path) -> pd.DataFrame:
    """Reads a table written by `write_table`.

    Raises:
        FileNotFoundError: there is no such file; says which command makes it.
    """
    if not path.is_file():
        raise FileNotFoundError(f"no table {path}: make it with `snakemake {path}`")
    return pd.read_parquet(path)
