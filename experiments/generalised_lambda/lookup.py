"""Finds quantities of the study's cases in its tables."""

import pandas as pd
import xarray as xr

__all__ = ["find", "scalar"]


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
