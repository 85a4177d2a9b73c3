"""The folder of a run: settings that it depends on, state to go on from, draws and a summary."""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import auxmc
from auxmc.command_line.columns import columns
from auxmc.command_line.errors import CommandError
from auxmc.diagnostics.convergence import summarise_chains
from auxmc.driver.files.writing import write_atomically
from auxmc.driver.provenance import describe_environment
from auxmc.driver.results import write_result
from auxmc.numerics.array_types import FloatArray

__all__ = ["OutputFolder", "elements", "summary_table"]

_SETTINGS, _STATE = "settings.json", "state"
_LEAST_DRAWS = 4
# Lines of a summary that are printed; all are in the file.
_MOST_LINES = 40


class OutputFolder:
    """Where a run is kept. Other files in it are not touched.

    Args:
        path: the folder.
        numbers: what the draws depend on, as plain containers.
        restart: whether a run that is there is thrown away.

    Raises:
        CommandError: the folder is a file, or holds another run.
    """

    def __init__(self, path: Path, numbers: Mapping[str, Any], *, restart: bool) -> None:
        self.path, self._numbers = path, dict(numbers)
        if path.exists() and not path.is_dir():
            raise CommandError(f"--output {path}: is not a folder")
        if restart:
            shutil.rmtree(self.state, ignore_errors=True)
            (path / _SETTINGS).unlink(missing_ok=True)
            return
        if not (path / _SETTINGS).exists():
            return
        try:
            there = json.loads((path / _SETTINGS).read_text())["numbers"]
        except (ValueError, KeyError, OSError) as error:
            raise CommandError(f"{path / _SETTINGS}: cannot be read; choose another folder") from error
        differing = [name for name in self._numbers if there.get(name) != self._numbers[name]]
        if differing:
            shown = "; ".join(
                f"{name}: {there.get(name)} there, {self._numbers[name]} now" for name in differing
            )
            raise CommandError(
                f"--output {path}: holds a run of something else ({shown}). Choose another folder, or throw that run "
                "away with --restart"
            )

    @property
    def state(self) -> Path:
        """Folder for the checkpoints."""
        return self.path / _STATE

    def begin(self) -> None:
        """Writes settings, versions and machine."""
        about = {
            "numbers": self._numbers,
            "environment": describe_environment(Path(auxmc.__file__).parents[2]),
        }
        text = json.dumps(about, indent=2) + "\n"
        write_atomically(self.path / _SETTINGS, lambda temporary: temporary.write_text(text))

    def forget(self) -> None:
        """Takes the settings away again where nothing has been drawn by them: a mended call is another run."""
        if any(self.state.rglob("block*")):
            return
        shutil.rmtree(self.state, ignore_errors=True)
        (self.path / _SETTINGS).unlink(missing_ok=True)

    def write_tree(self, name: str, tree: xr.DataTree) -> None:
        """Writes draws as NetCDF, which `arviz.from_netcdf` reads."""
        groups = {name: group.to_dataset() for name, group in tree.children.items()}
        write_result(self.path / name, groups, {str(key): value for key, value in tree.attrs.items()})

    def write_table(self, name: str, table: pd.DataFrame) -> None:
        """Writes a table as CSV."""
        write_atomically(self.path / name, lambda temporary: table.to_csv(temporary, index=False))


def elements(posterior: xr.Dataset) -> Iterator[tuple[str, FloatArray]]:
    """Every number among the variables by name, such as "rates[0]", with its draws [chain, draw], small ones first."""
    for name, array in sorted(posterior.data_vars.items(), key=lambda one: one[1].size):
        values = array.to_numpy().astype(np.float64)
        for place in np.ndindex(*values.shape[2:]):
            label = f"{name}[{', '.join(map(str, place))}]" if place else str(name)
            yield label, values[(slice(None), slice(None), *place)]


def summary_table(posterior: xr.Dataset) -> tuple[pd.DataFrame, str]:
    """Mean, standard deviation and their diagnostics for every number, as a table and as text.

    Args:
        posterior: draws, variables [chain, draw, ...].
    """
    rows = []
    for name, values in elements(posterior):
        row: dict[str, Any] = {"variable": name, "mean": values.mean(), "sd": values.std()}
        for share in (0.05, 0.95):
            row[f"{100 * share:.0f} %"] = np.quantile(values, share)
        if values.shape[1] >= _LEAST_DRAWS and np.isfinite(values).all():
            found = summarise_chains(values)
            row |= {"error of mean": found.mcse_mean, "ESS": found.bulk_ess, "R-hat": found.r_hat}
        rows.append(row)
    table = pd.DataFrame(rows)
    shown = [list(table.columns)]
    for cells in table.head(_MOST_LINES).to_numpy():
        shown.append([str(cells[0]), *(f"{float(value):.4g}" for value in cells[1:])])
    text = columns(shown, right=range(1, len(table.columns)))
    if len(table) > _MOST_LINES:
        text += f"\n({len(table) - _MOST_LINES} more in summary.csv)"
    return table, text
