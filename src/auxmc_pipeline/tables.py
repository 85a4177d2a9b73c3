"""Tables of a study: one for each set of dimensions, a row for each of their values, a column for each quantity.

`point` has a row for each case and each point that the case sweeps, `chain` a row for each chain there, and so on; the
name says what distinguishes the rows of a point. `settings` has a row for each case, `quantity` one for each quantity.
"""

import dataclasses
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import xarray as xr

from auxmc.driver.results import read_groups, read_table, regenerate_command, write_table
from auxmc_pipeline.catalogue import Study
from auxmc_pipeline.measuring import Measurement
from auxmc_pipeline.needs import MissingData, parse_needs

REPLICATES = ("chain", "momentum", "repeat", "repetition", "replicate", "run", "lane")
"""Dimensions along which values are independent."""

# Columns of `long_rows` that are no coordinates.
ABOUT_VALUES = ("case", "numbers", "quantity", "unit", "value")
_GROUPS = ("statistics", "curves")
_ABOUT = ("settings", "quantity")

Name = TypeVar("Name")
Found = TypeVar("Found")

Wanted = str | float | Collection[str | float]
"""The value that rows must have in a column, or the values among which it must be."""


class Tables(dict[str, pd.DataFrame]):
    """Tables by name, as `tabulate` makes them."""

    def __eq__(self, other: object) -> bool:
        """Whether these are the same tables, so that what is computed from them can be cached."""
        return self is other

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __missing__(self, name: str) -> pd.DataFrame:
        """Raises MissingData: the run recorded nothing of this kind."""
        raise MissingData(f"no table {name!r}: not recorded by this run")

    def rows(self, name: str, quantity: str = "", **wanted: Wanted) -> pd.DataFrame:
        """Rows of a table whose columns have the wanted values, of which a quantity is known; MissingData for none.

        Args:
            name: of the table.
            quantity: a column; rows in which it is NaN are left out. Empty for all rows.
            wanted: values, or several that are allowed, by column; numbers agree to rounding.
        """
        table = self[name]
        for column, value in wanted.items():
            table = table[agrees(table[column], value)] if column in table else table.iloc[:0]
        if table.empty:
            raise not_run(quantity or name, wanted)
        if not quantity:
            return table
        table = table[table[quantity].notna()] if quantity in table else table.iloc[:0]
        if table.empty:
            raise not_run(quantity, wanted, "not recorded by this run")
        return table

    def values(self, quantity: str, by: str = "chain", **wanted: Wanted) -> np.ndarray:  # type: ignore[override]
        """A quantity of one table as an array [row]."""
        return self.rows(by, quantity, **wanted)[quantity].to_numpy(np.float64)

    def array(self, quantity: str, *dims: str, table: str = "", **wanted: Wanted) -> xr.DataArray:
        """A quantity as an array with columns `dims` of its table, by default that of these dims, as dimensions."""
        found = self.rows(table or "_".join(dims), quantity, **wanted)
        array = found.set_index(list(dims))[quantity].to_xarray()
        return array.reindex({dim: pd.unique(found[dim]) for dim in dims})

    def value(self, quantity: str, by: str = "point", **wanted: Wanted) -> float:
        """The value of a quantity that all rows asked for of one table have in common.

        Raises MissingData if there is none, ValueError if there are several.
        """
        found = pd.unique(self.rows(by, quantity, **wanted)[quantity])
        if len(found) > 1:
            raise ValueError(f"{quantity}: expected one value, got {len(found)}; name the case and the point")
        return float(found[0])

    def setting(self, name: str, **wanted: Wanted) -> Any:
        """A setting that all cases asked for have in common; raises as `value`."""
        found = list(self.rows("settings", "", **wanted)[name].dropna().unique())
        if len(found) != 1:
            several = ValueError(f"setting {name} has several values: {', '.join(map(str, found))}")
            raise several if found else not_run(name, wanted)
        return found[0]


Measure = Callable[[Tables], Measurement]  # measures one line of a claim, or one number of a finding


def recorded(
    quantity: str,
    error: str = "",
    *,
    exact: bool = False,
    note: str = "",
    by: str = "point",
    **wanted: Wanted,
) -> Measure:
    """Makes a function that measures a number as the run recorded it; `by` and `wanted` are as in `Tables.value`.

    `error` names its recorded standard error; without one it is unknown, unless the value is exact.
    """

    def measure(tables: Tables) -> Measurement:
        spread = tables.value(error, by, **wanted) if error else 0.0 if exact else np.nan
        return Measurement(tables.value(quantity, by, **wanted), spread, note, exact)

    return measure


def available(read: Callable[[Name], Found], names: Iterable[Name]) -> dict[Name, Found]:
    """What a function reads for each name, without the names that the tables do not hold; raises MissingData for none.

    >>> tables = Tables({"point": pd.DataFrame({"ess": [2.0]})})
    >>> available(tables.value, ["ess", "acceptance"])
    {'ess': 2.0}
    """
    found, missing = {}, MissingData("nothing is asked for")
    for name in names:
        try:
            found[name] = read(name)
        except MissingData as error:
            missing = error
    if not found:
        raise missing
    return found


def first_run(tables: Tables, *cases: str) -> str:
    """Returns the first of some cases that was run, the last where none was: a preset may lack those with more runs."""
    there = set(tables["settings"]["case"]) if "settings" in tables else set()
    return next((case for case in cases if case in there), cases[-1])


def unmet_needs(needs: str, settings: pd.DataFrame) -> str:
    """Settings of a run's table that do not meet needs, as `parse_needs` reads them, in words; empty for none."""
    unmet = (need.unmet(settings) for need in parse_needs(needs, list(map(str, settings))))
    return "; ".join(filter(None, unmet))


def unmet_about(study: Study, tables: Tables) -> str:
    """Why the published claims of a study are not about the model of a run; empty where they are."""
    settings = tables["settings"]
    fields: dict[str, Any] = {field.name: field for field in dataclasses.fields(study.schema)}
    for need in parse_needs(study.about, list(fields)):
        # A setting that was added since is not recorded, or not for older cases: these had its default.
        field = fields[need.name]
        if field.name not in settings:
            settings = settings.assign(**{field.name: field.default})
        elif field.metadata.get("added"):
            settings = settings.fillna({field.name: field.default})
    return unmet_needs(study.about, settings)


def tabulate(paths: Sequence[Path]) -> dict[str, pd.DataFrame]:
    """Tables of some cases by name, from the groups `statistics` and `curves` of their result files.

    Each has a column `case`, one for each swept setting and dimension, and one float64 column for each quantity; rows
    of which no quantity is known are left out. `settings` has the scalar settings of each case, missing where the case
    sweeps them, and `numbers`, the digest of all; `quantity` has `table`, `group`, `unit`.
    """
    parts: dict[str, list[pd.DataFrame]] = {}
    quantities: dict[tuple[str, str], tuple[str, str, str, str]] = {}
    for path in paths:
        about, groups = read_groups(path, _GROUPS)
        settings = json.loads(about["settings"])
        row = {"case": path.stem, "numbers": about["numbers"]}
        row |= {n: value for n, value in settings.items() if isinstance(value, str | int | float)}
        row |= {n: np.nan for n in settings.get("batch", {}) if n in row}
        parts.setdefault("settings", []).append(pd.DataFrame([row]))
        arrays: dict[str, dict[tuple[str, str], xr.DataArray]] = {}
        for group, data in groups.items():
            for quantity, array in data.data_vars.items():
                own = "_".join(str(dim) for dim in array.dims if dim not in settings)
                # A dimension may itself be called `point`.
                name = {"": "point", "point": "points"}.get(own, own)
                arrays.setdefault(name, {})[str(quantity), group] = array
        for name, found in arrays.items():
            for (quantity, group), array in found.items():
                quantities[name, quantity] = (quantity, name, group, array.attrs.get("units", ""))
            data = xr.merge(found.values(), join="outer", compat="no_conflicts", combine_attrs="override")
            numbers = data.reset_coords(drop=True).astype(float).expand_dims(case=[path.stem])
            dims = dict.fromkeys(str(dim) for array in found.values() for dim in array.dims)
            frame = numbers.to_dataframe(dim_order=["case", *dims]).dropna(how="all")
            parts.setdefault(name, []).append(frame.reset_index())
    tables = {name: pd.concat(frames, ignore_index=True) for name, frames in parts.items()}
    for table in tables.values():  # Booleans of restored cases are numbers.
        for column in table.select_dtypes(object):
            if table[column].map(lambda value: isinstance(value, (bool, float))).all():
                table[column] = table[column].astype(float)
    columns = ["quantity", "table", "group", "unit"]
    return tables | {"quantity": pd.DataFrame(quantities.values(), columns=columns)}


def write_tables(folder: Path, tables: Mapping[str, pd.DataFrame]) -> None:
    """Writes each table as `NAME.parquet` in a folder, and removes others that are there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        write_table(folder / f"{name}.parquet", table)
    for path in folder.glob("*.parquet"):
        if path.stem not in tables:
            path.unlink()


def load_tables(folder: Path) -> Tables:
    """Reads what `write_tables` wrote; FileNotFoundError for a missing table says which command makes it."""
    paths = sorted(folder.glob("*.parquet"))
    if not paths:
        raise FileNotFoundError(f"no tables in {folder}: make them with `snakemake {folder}`")
    tables = {path.stem: read_table(path) for path in paths}
    for name in (*_ABOUT, *tables.get("quantity", pd.DataFrame(columns=["table"]))["table"]):
        if name not in tables:
            path = folder / f"{name}.parquet"
            raise FileNotFoundError(f"no table {path}: make it again with {regenerate_command(path)}")
    return Tables(tables)


def long_rows(tables: Tables, group: str = "statistics") -> pd.DataFrame:
    """All numbers of a group, a row for each: `case`, `quantity`, `unit`, `value`, and the columns that say which."""
    parts = [pd.DataFrame(columns=["case", "quantity", "unit", "value"])]
    quantities = set(tables["quantity"]["quantity"])
    for row in tables["quantity"].query("group == @group").to_dict("records"):
        table, quantity = tables[row["table"]], row["quantity"]
        keys = [name for name in table if name == quantity or name not in quantities]
        part = table[keys].dropna(subset=[quantity]).rename(columns={quantity: "value"})
        parts.append(part.assign(quantity=quantity, unit=row["unit"]))
    return pd.concat(parts[1:] or parts, ignore_index=True)


def replicate_columns(rows: pd.DataFrame) -> list[str]:
    """Columns of rows along which values are independent replicates: those of REPLICATES that are numbered.

    Under a name of theirs, text says what differs: the runs "forward" and "reverse" are no replicates.
    """
    return [name for name in REPLICATES if name in rows and pd.api.types.is_numeric_dtype(rows[name])]


def perturbed(tables: Tables, change: Callable[[np.ndarray], np.ndarray], only: str = "") -> Tables:
    """Tables with changed values of one quantity, or of all, for the check that claims can fail."""
    chosen = {only} if only else set(tables["quantity"]["quantity"])
    changed = dict(tables)
    for name in tables.keys() - set(_ABOUT):
        table = tables[name]
        changed[name] = table.assign(**{str(q): change(table[q].to_numpy()) for q in table if q in chosen})
    return Tables(changed)


def not_run(what: str, wanted: Mapping[str, Wanted], reason: str = "not run at this preset") -> MissingData:
    """Returns the error of a quantity that is missing, with the values that were asked for."""
    asked = ", ".join(f"{name} {value}" for name, value in wanted.items())
    return MissingData(f"{what}{' for ' * bool(asked)}{asked}: {reason}")


def agrees(column: "pd.Series[Any]", value: Wanted) -> "pd.Series[bool] | np.ndarray[Any, Any]":
    """Returns which cells of a column [row] have the wanted value, or one of several; numbers up to rounding."""
    if isinstance(value, str):
        return column == value
    if isinstance(value, Collection):
        return column.isin(list(value))
    return np.isclose(column.astype(float), value)
