"""Whether a case that was run again agrees with what is kept of it: to the last bit, or within its errors."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from auxmc_pipeline.publishing.digests import measures_time
from auxmc_pipeline.tidy import replicate_columns

__all__ = ["ALLOWED", "BUDGET", "Distance", "allowed_distance", "distances", "share_alike", "unequal"]

# Standard errors that a value may be off, and the chance that a run whose values are all right is refused.
ALLOWED = 4.0
BUDGET = 1e-3

_NO_KEYS = ("value", "unit", "numbers", "case")


class Distance(NamedTuple):
    """Of a quantity: its name, the kept and the new value, and their distance in standard errors of the difference."""

    name: str
    kept: float
    again: float
    score: float


def unequal(kept: pd.DataFrame, again: pd.DataFrame) -> list[str]:
    """Values of two tables of one case that are not the same to the last bit, times left out.

    Args:
        kept: rows of a tidy table, those of the case alone.
        again: rows of the same case, run again.

    Returns:
        A line for each value that differs, or that one of the tables lacks.
    """
    both = _aligned(kept, again)
    same = (both["kept"] == both["again"]) | (both["kept"].isna() & both["again"].isna() & both["in_both"])
    return [
        f"{str(key).replace(chr(9), ' ')}: {row['kept']:.17g} kept, {row['again']:.17g} now"
        for key, row in both[~same].iterrows()
    ]


def distances(kept: pd.DataFrame, again: pd.DataFrame) -> list[Distance]:
    """Distances of all quantities whose errors are known, times left out.

    A quantity has an error where the case records one beside it (`NAME_error`), or where it has values of independent
    chains or repeats: of those the means are compared, and Student's law gives the distance in errors that a normal
    number would have.
    """
    out: list[Distance] = []
    first, second = _groups(kept), _groups(again)
    for key in first.keys() & second.keys():
        ours, theirs = first[key], second[key]
        error = f"{key[0]}_error", *key[1:]
        if "without" in key[0]:  # values without one chain each, which are not independent
            continue
        if len(ours) > 1 and len(theirs) > 1:
            score = _student(ours, theirs)
        elif error in first and error in second and len(ours) == len(theirs) == 1:
            spread = math.hypot(float(first[error][0]), float(second[error][0]))
            score = abs(float(ours[0] - theirs[0])) / spread if spread > 0.0 else math.nan
        else:
            continue
        if math.isfinite(score):
            out.append(Distance(" ".join(key), float(ours.mean()), float(theirs.mean()), score))
    return sorted(out, key=lambda found: -found.score)


def share_alike(kept: pd.DataFrame, again: pd.DataFrame) -> float:
    """Share of the values, with or without errors, that agree to rounding: six digits; NaN where there are none."""
    both = _aligned(kept, again)
    if both.empty:
        return math.nan
    return float(np.isclose(both["kept"], both["again"], rtol=1e-6, atol=1e-9, equal_nan=True).mean())


def allowed_distance(n_compared: int) -> float:
    """Standard errors that no value may exceed: 4, or more where so many values are compared that 4 would be too few.

    Where all are right, the chance that any exceeds it is at most `BUDGET`, however the values depend on each other.

    >>> allowed_distance(10), round(allowed_distance(5000), 1)
    (4.0, 5.2)
    """
    return max(ALLOWED, float(stats.norm.isf(BUDGET / (2 * max(n_compared, 1)))))


def _student(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Distance of two means in standard errors, as a normal number with the same chance."""
    variances = [float(np.var(values, ddof=1)) / len(values) for values in (ours, theirs)]
    difference = abs(float(ours.mean() - theirs.mean()))
    if difference == 0.0:
        return 0.0
    if sum(variances) == 0.0:
        return math.nan
    # Welch's degrees of freedom.
    parts = [
        variance**2 / (len(values) - 1) for variance, values in zip(variances, (ours, theirs), strict=True)
    ]
    found = stats.t(sum(variances) ** 2 / sum(parts)).logsf(difference / math.sqrt(sum(variances)))
    return float(stats.norm.isf(math.exp(found))) if found > -700.0 else math.inf


def _groups(table: pd.DataFrame) -> dict[tuple[str, ...], np.ndarray]:
    """Finite values of each quantity at each point of its dimensions other than replicates, by `_keyed`."""
    rows = _keyed(table, without=replicate_columns(table))
    found = {}
    for key, group in rows.groupby("key"):
        values = group["value"].to_numpy(float)
        if np.isfinite(values).any():
            found[tuple(str(key).split("\t"))] = values[np.isfinite(values)]
    return found


def _aligned(kept: pd.DataFrame, again: pd.DataFrame) -> pd.DataFrame:
    ours, theirs = (rows.set_index("key")["value"] for rows in (_keyed(kept), _keyed(again)))
    both = pd.DataFrame({"kept": ours, "again": theirs})
    both["in_both"] = both.index.isin(ours.index) & both.index.isin(theirs.index)
    return both


def _keyed(table: pd.DataFrame, without: Sequence[str] = ()) -> pd.DataFrame:
    """Rows of quantities that are no times, with a key of the quantity and its coordinates."""
    lasting = [
        not measures_time(str(quantity), str(unit))
        for quantity, unit in zip(table["quantity"], table["unit"], strict=True)
    ]
    # Of no rows, an empty list would choose no columns.
    rows = table[np.array(lasting, dtype=bool)]
    # Settings are the same in all rows: dimensions differ. A swept setting is a dimension.
    varying = [
        name
        for name in sorted(map(str, rows.columns))
        if name not in (*_NO_KEYS, *without, "quantity") and rows[name].nunique(dropna=False) > 1
    ]
    texts = [[f"{name}={_text(value)}" for value in rows[name]] for name in varying]
    keys = [
        "\t".join([str(quantity), *(word for word in words if not word.endswith("="))])
        for quantity, *words in zip(rows["quantity"], *texts, strict=True)
    ]
    return rows.assign(key=keys)


def _text(value: object) -> str:
    if isinstance(value, bool | np.bool_) or value is None:
        return "" if value is None else str(value)
    if isinstance(value, int | float | np.number):
        return "" if math.isnan(float(value)) else f"{float(value):.12g}"
    return str(value)
