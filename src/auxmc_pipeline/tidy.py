"""Tidy tables from result files: one observation a row."""

import json
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from auxmc.driver.results import read_result
from auxmc_pipeline.measuring import standard_error

REPLICATES = ("chain", "momentum", "repeat", "repetition", "replicate", "run", "lane")
"""Dimensions along which values are independent."""

_ABOUT_VALUES = ("case", "numbers", "quantity", "unit", "value")


def tidy_table(paths: Sequence[Path], group: str) -> pd.DataFrame:
    """All variables of one group of many result files, one value a row.

    Args:
        paths: result files.
        group: name of the group; files without it are passed over.

    Returns:
        Columns `case`, `numbers` (digest of the settings), every scalar setting, one column for each dimension
        of the variables (missing where a variable lacks it), `quantity`, `unit` and `value` (float64). A
        dimension that bears the name of a setting replaces it; where that setting is swept inside the case
        and a variable does not depend on it, it is missing.
    """
    return tidy_tables(paths, [group])[0]


def tidy_tables(paths: Sequence[Path], groups: Sequence[str]) -> list[pd.DataFrame]:
    """Tables of several groups, each as `tidy_table`; a file is opened, and held to its checksum, once."""
    frames: list[list[pd.DataFrame]] = [[] for _ in groups]
    for path in paths:
        tree = read_result(path)
        try:
            settings = json.loads(tree.attrs["settings"])
            # A swept setting has no one value: where a variable lacks its dimension, the column stays empty.
            scalars = {
                k: np.nan if k in settings.get("batch", {}) else v
                for k, v in settings.items()
                if isinstance(v, str | int | float)
            }
            about = {"case": path.stem, "numbers": tree.attrs["numbers"], **scalars}
            for group, of_group in zip(groups, frames, strict=True):
                if group in tree.children:
                    data = tree[group].to_dataset().load()
                    of_group += [_melt(data[name], str(name), about) for name in data.data_vars]
        finally:
            tree.close()
    return [_joined(of_group) for of_group in frames]


def sweep_table(summary: pd.DataFrame, axes: Sequence[str]) -> pd.DataFrame:
    """Averages a summary over replicates at every point of a sweep; what else varies inside a case stays apart.

    Args:
        summary: table made by `tidy_table`.
        axes: names of the swept settings; may be empty.

    Returns:
        Columns: the axes, `quantity`, `coordinate` (which one of several values of a case, as "z1" or "noise = 0.5";
        empty where there is one), `value` (mean over replicates, NaN where one of them is), `standard_error` (of that
        mean, by `measuring.standard_error`; NaN for a single replicate), `n_replicates`, `unit`.
    """
    keys = [*axes, "quantity", "coordinate"]
    coordinates = _coordinates(summary, {*axes, *replicate_columns(summary)})
    # As categories they keep their order, in which 10 follows 2.
    table = summary.assign(coordinate=pd.Categorical(coordinates, list(dict.fromkeys(coordinates))))
    groups = table.groupby(keys, sort=True, dropna=False, observed=True)
    means = groups["value"].agg(
        # Of pandas' own means, those of the known replicates would pass for those of all.
        value=lambda values: values.mean(skipna=False),
        standard_error=standard_error,
        n_replicates="size",
    )
    out = means.reset_index().merge(groups["unit"].first().reset_index(), on=keys)
    return out.assign(coordinate=out["coordinate"].astype(str))


def replicate_columns(table: pd.DataFrame) -> list[str]:
    """Columns of a tidy table along which values are independent replicates: those of `REPLICATES` that are numbered.

    Under a name of theirs, text says what differs: the runs "forward" and "reverse" are no replicates.
    """
    return [name for name in REPLICATES if name in table and pd.api.types.is_numeric_dtype(table[name])]


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    last = [name for name in ("quantity", "unit", "value") if name in table]
    return table[[name for name in table if name not in last] + last]


def _coordinates(table: pd.DataFrame, without: Set[str]) -> list[str]:
    """Which one of the values that a case has of a quantity each row is, apart from replicates and swept settings."""
    no_dimensions = {*_ABOUT_VALUES, *without}
    within = table.groupby(["case", "quantity"], sort=False)
    words: list[list[str]] = [[] for _ in range(len(table))]
    for name in (name for name in map(str, table.columns) if name not in no_dimensions):
        # Settings are the same in all rows of a case; a dimension may have one value in a case and more in another.
        varies = (within[name].transform("nunique") > 1).groupby(table["quantity"]).transform("any")
        shown = (varies | (name == "coordinate")) & table[name].notna()
        for place in np.flatnonzero(shown):
            words[place].append(_coordinate(name, table[name].iloc[place]))
    return [", ".join(of_row) for of_row in words]


def _coordinate(name: str, value: Any) -> str:
    """A name by itself, a number with the name of its dimension."""
    return value if isinstance(value, str) else f"{name} = {value:g}"


def _melt(array: xr.DataArray, name: str, about: dict[str, Any]) -> pd.DataFrame:
    values = array.astype(float).rename("value")
    if array.ndim:
        frame = values.to_dataframe().reset_index()
        frame = frame[[*map(str, array.dims), "value"]]
    else:
        frame = pd.DataFrame({"value": [float(values)]})
    for key, value in about.items():
        if key not in frame:
            frame[key] = np.nan if value is None else value
    frame["quantity"] = name
    frame["unit"] = array.attrs.get("units", "")
    return frame
