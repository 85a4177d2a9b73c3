"""Results of a run: draws and their summary."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from auxmc.command_line.columns import columns
from auxmc.command_line.run_folder import RunFolder
from auxmc.diagnostics.convergence import summarise_chains
from auxmc.driver.results import write_result
from auxmc.interface.layout import element_names
from auxmc.numerics.array_types import FloatArray

_MIN_DRAWS = 4
# Lines of a summary that are printed.
_MAX_LINES = 40


class OutputFolder(RunFolder):
    """Folder of draws, their summary and plots."""

    results = (
        *("result.nc", "chains.nc", "summary.csv"),
        *(f"{name}.{kind}" for name in ("trace", "pairs", "evidence") for kind in ("pdf", "png", "svg")),
    )

    def write_tree(self, name: str, tree: xr.DataTree) -> None:
        """Writes draws as NetCDF, which `arviz.from_netcdf` reads."""
        groups = {name: group.to_dataset() for name, group in tree.children.items()}
        write_result(self.path / name, groups, {str(key): value for key, value in tree.attrs.items()})


def elements(posterior: xr.Dataset) -> Iterator[tuple[str, FloatArray]]:
    """Yields names of scalars, such as "rates[0]", and their draws [chain, draw], those of small variables first."""
    for name, array in sorted(posterior.data_vars.items(), key=lambda one: one[1].size):
        values = array.to_numpy().astype(np.float64)
        labels = element_names([(str(name), values.shape[2:])])
        yield from zip(labels, np.moveaxis(values.reshape(*values.shape[:2], -1), 2, 0), strict=True)


def summary_table(posterior: xr.Dataset) -> tuple[pd.DataFrame, str]:
    """Mean, standard deviation, quantiles, MCSE, ESS and R-hat of every scalar, as a table and as text."""
    rows = []
    for name, values in elements(posterior):
        row: dict[str, Any] = {"variable": name, "mean": values.mean(), "sd": values.std()}
        for level in (0.05, 0.95):
            row[f"{100 * level:.0f} %"] = np.quantile(values, level)
        if values.shape[1] >= _MIN_DRAWS and np.isfinite(values).all():
            found = summarise_chains(xr.DataArray(values, dims=("chain", "draw")))
            row |= {"error of mean": found.mcse_mean, "ESS": found.bulk_ess, "R-hat": found.r_hat}
        rows.append(row)
    table = pd.DataFrame(rows)
    shown = [list(table.columns)]
    for cells in table.head(_MAX_LINES).to_numpy():
        shown.append([str(cells[0]), *(f"{float(value):.4g}" for value in cells[1:])])
    text = columns(shown, right=range(1, len(table.columns)))
    if len(table) > _MAX_LINES:
        text += f"\n({len(table) - _MAX_LINES} more in summary.csv)"
    return table, text
