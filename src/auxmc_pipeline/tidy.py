"""Tidy tables from result files: one observation a row."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from auxmc.driver.results import read_result


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
    frames = []
    for path in paths:
        tree = read_result(path)
        try:
            if group not in tree.children:
                continue
            settings = json.loads(tree.attrs["settings"])
            # A swept setting has no one value: where a variable lacks its dimension, the column stays empty.
            scalars = {
                k: np.nan if k in settings.get("batch", {}) else v
                for k, v in settings.items()
                if isinstance(v, str | int | float)
            }
            about = {"case": path.stem, "numbers": tree.attrs["numbers"], **scalars}
            data = tree[group].to_dataset().load()
            frames += [_melt(data[name], str(name), about) for name in data.data_vars]
        finally:
            tree.close()
    table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    last = [name for name in ("quantity", "unit", "value") if name in table]
    return table[[name for name in table if name not in last] + last]


def sweep_table(summary: pd.DataFrame, axes: Sequence[str]) -> pd.DataFrame:
    """Averages a summary over chains at every point of a sweep.

    Args:
        summary: table made by `tidy_table`.
        axes: names of the swept settings; may be empty.

    Returns:
        Columns: the axes, `quantity`, `coordinate`, `value` (mean over chains), `standard_error` (of that mean;
        missing for a single chain), `n_chains`, `unit`.
    """
    keys = [*axes, "quantity", "coordinate"]
    table = summary.copy()
    if "coordinate" not in table:
        table["coordinate"] = ""
    table["coordinate"] = table["coordinate"].fillna("").astype(str)
    groups = table.groupby(keys, sort=True, dropna=False, observed=True)
    out = groups["value"].agg(value="mean", standard_error="sem", n_chains="size").reset_index()
    return out.merge(groups["unit"].first().reset_index(), on=keys)


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
