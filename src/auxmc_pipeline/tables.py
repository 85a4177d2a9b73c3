"""What claims and figures read: a study's tidy tables, asked by quantity."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from auxmc.errors import AuxmcError

Wanted = str | float | Collection[str | float]
"""The value that rows must have in a column, or the values among which it must be."""


class MissingData(AuxmcError, LookupError):
    """The tables do not hold what is asked for: the preset does not run it."""


class Table:
    """Tidy rows: `case`, a column for each setting and dimension, `quantity`, `unit`, `value`.

    Args:
        frame: rows as `auxmc_pipeline.tidy.tidy_table` makes them; may be empty.
        put_down: is called with the rows of each reading.
    """

    def __init__(self, frame: pd.DataFrame, put_down: Callable[[pd.DataFrame], None] | None = None) -> None:
        self.everything, self._put_down = frame, put_down

    @property
    def frame(self) -> pd.DataFrame:
        """All rows; to ask for them is to read them."""
        if self._put_down is not None:
            self._put_down(self.everything)
        return self.everything

    def where(self, **wanted: Wanted) -> "Table":
        """The rows whose columns have the wanted values, which may be none; numbers agree to rounding."""
        found = self.everything
        for name, value in wanted.items():
            found = found[agrees(found[name], value)] if name in found else found.iloc[:0]
        return Table(found, self._put_down)

    def holds(self, quantity: str, **wanted: Wanted) -> bool:
        """Whether there are rows of a quantity."""
        return not self.where(quantity=quantity, **wanted).everything.empty

    def rows(self, quantity: str, **wanted: Wanted) -> pd.DataFrame:
        """Rows of a quantity.

        Raises:
            MissingData: there are none.
        """
        found = self.where(quantity=quantity, **wanted).frame
        if found.empty:
            raise not_run(quantity, wanted)
        return found

    def array(self, quantity: str, *dims: str, **wanted: Wanted) -> xr.DataArray:
        """A quantity as an array with the given columns as dimensions, coordinates in the order of the rows.

        Raises:
            MissingData: there are no such rows.
            ValueError: the dimensions and the wanted values leave several rows for one place.
        """
        rows = self.rows(quantity, **wanted)
        missing = [dim for dim in dims if dim not in rows]
        if missing:
            raise MissingData(f"{quantity} by {missing[0]}: not run at this preset")
        if not dims:
            if len(rows) > 1:
                raise ValueError(f"{quantity} has {len(rows)} values where one is asked for: {wanted}")
            return xr.DataArray(float(rows["value"].iloc[0]))
        array: xr.DataArray = rows.set_index(list(dims))["value"].to_xarray()
        return array.reindex({dim: pd.unique(rows[dim]) for dim in dims})

    def value(self, quantity: str, **wanted: Wanted) -> float:
        """The one value of a quantity.

        Raises:
            MissingData: there is none.
            ValueError: there are several.
        """
        return float(self.array(quantity, **wanted))

    def setting(self, name: str, **wanted: Wanted) -> Any:
        """The value of a setting, which is the same in all rows asked for.

        Raises:
            MissingData: there are no such rows.
            ValueError: they differ.
        """
        rows = self.where(**wanted).frame
        values: list[Any] = list(rows[name].dropna().unique()) if name in rows else []
        if not values:
            raise not_run(f"setting {name}", wanted)
        if len(values) > 1:
            raise ValueError(f"setting {name} has several values: {', '.join(map(str, values))}")
        return values[0]


class Tables(NamedTuple):
    """Both tables of a study.

    Attributes:
        summary: single numbers: statistics of chains, estimates, costs.
        curves: traces, histograms, paths.
    """

    summary: Table
    curves: Table

    @classmethod
    def of(cls, summary: pd.DataFrame, curves: pd.DataFrame) -> "Tables":
        """Both from tidy rows."""
        return cls(Table(summary), Table(curves))

    def recording(self) -> tuple["Tables", list["ReadRows"]]:
        """The same tables, and a list to which each reading of them adds the rows that it reads."""
        read: list[ReadRows] = []

        def copy(table: Table) -> Table:
            return Table(table.everything, lambda rows: read.append(ReadRows(table, rows)))

        return Tables(copy(self.summary), copy(self.curves)), read


class ReadRows(NamedTuple):
    """Rows that were read.

    Attributes:
        table: that they stand in.
        frame: the rows.
    """

    table: Table
    frame: pd.DataFrame


def not_run(what: str, wanted: Mapping[str, Wanted]) -> MissingData:
    """Returns the error of a quantity that a preset does not run, with the values that were asked for."""
    asked = ", ".join(f"{name} {value}" for name, value in wanted.items())
    return MissingData(f"{what}{' for ' * bool(asked)}{asked}: not run at this preset")


def agrees(column: "pd.Series[Any]", value: Wanted) -> "pd.Series[bool] | np.ndarray[Any, Any]":
    """Returns which cells of a column [row] have the wanted value, or one of several; numbers up to rounding."""
    if isinstance(value, str):
        return column == value
    if isinstance(value, Collection):
        return column.isin(list(value))
    return np.isclose(column.astype(float), value)
