"""Finds quantities in a study's tidy tables."""

import numpy as np
import pandas as pd
import xarray as xr

from auxmc_pipeline.tables import MissingData

__all__ = ["MissingData", "find", "rows_of", "scalar"]


def rows_of(table: pd.DataFrame, quantity: str, **where: str | float) -> pd.DataFrame:
    """Rows of a quantity for which the given columns have the given values.

    Args:
        table: summary or curves, as `engine.tables.tidy_table` makes them.
        quantity: name of the quantity.
        where: columns with the one value that is wanted; numbers agree to rounding.

    Raises:
        MissingData: there are none.
    """
    found = table[table["quantity"] == quantity] if "quantity" in table else table.iloc[:0]
    for name, value in where.items():
        if name not in found:
            found = found.iloc[:0]
        elif isinstance(value, str):
            found = found[found[name] == value]
        else:
            found = found[np.isclose(found[name].astype(float), value)]
    if found.empty:
        asked = ", ".join(f"{name} {value}" for name, value in where.items())
        raise MissingData(f"{quantity} for {asked}: not run at this preset")
    return found


def find(
    table: pd.DataFrame, case: str, quantity: str, *dims: str, **where: str | float
) -> xr.DataArray | None:
    """A quantity of a case as a labelled array.

    Args:
        table: summary or curves, tidy rows.
        case: name of the case.
        quantity: name of the quantity.
        dims: its dimensions, columns of the table.
        where: columns with the one value that is wanted.

    Returns:
        Array with these dims, coordinates in the order of the rows; None if the tables do not have it.
    """
    if not {"case", "quantity", "value", *dims, *where} <= set(table.columns):
        return None
    rows = table[(table["case"] == case) & (table["quantity"] == quantity)]
    for name, value in where.items():
        rows = rows[rows[name] == value]
    if rows.empty:
        return None
    if not dims:
        return xr.DataArray(float(rows["value"].iloc[0]))
    array: xr.DataArray = rows.set_index(list(dims))["value"].to_xarray()
    return array.reindex({dim: pd.unique(rows[dim]) for dim in dims})


def scalar(table: pd.DataFrame, case: str, column: str) -> object | None:
    """A setting of a case, or None if the table does not have the case."""
    rows = table[table["case"] == case] if {"case", column} <= set(table.columns) else table.iloc[:0]
    return None if rows.empty else rows[column].iloc[0]
