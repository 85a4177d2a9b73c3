"""Whether a case that was run again agrees with its published result: to the last bit, or within errors."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from auxmc_pipeline.digests import measures_time
from auxmc_pipeline.jobs import jobs_of_result
from auxmc_pipeline.tables import Tables, load_tables, long_rows, replicate_columns, tabulate

__all__ = ["Comparison", "allowed_distance", "compare_case", "compare_values"]

# Most standard errors that a value may be off, and the probability that a run of correct values is rejected.
_ALLOWED = 4.0
_FALSE_ALARM = 1e-3
_ABOUT_VALUES = ("value", "unit", "numbers", "case", "quantity")


class Comparison(NamedTuple):
    """A case run again next to its published result.

    Attributes:
        same_arrays: whether the digests of all arrays agree.
        values: of `compare_values`; None where there is no new result or no published table.
    """

    same_arrays: bool
    values: pd.DataFrame | None


def compare_case(again: Path, sha256: str, published: Path) -> Comparison:
    """Compares the result of a case with what is published of it.

    Args:
        again: result file of the new run; may be absent.
        sha256: published digest of all arrays.
        published: folder of the study in `published/`.
    """
    if not again.is_file():
        return Comparison(False, None)
    same = jobs_of_result(again)[-1]["sha256"] == sha256
    if not (published / "tables").is_dir():
        return Comparison(same, None)
    kept, new = long_rows(load_tables(published / "tables")), long_rows(Tables(tabulate([again])))
    return Comparison(same, compare_values(kept[kept["case"] == again.stem], new))


def compare_values(kept: pd.DataFrame, again: pd.DataFrame) -> pd.DataFrame:
    """Statistics of two runs of a case next to each other, without those that measure time.

    Args:
        kept: tidy rows of the published run.
        again: tidy rows of the new run.

    Returns:
        Columns quantity, kept, again, identical (to the last bit), close (to six digits), and score: the distance in
        standard errors of the difference. Independent chains or repeats are averaged, and their means compared by
        Welch's test; single values need an error next to them (`NAME_error`). Where no error is known the score is NaN.
    """
    dims = [
        name
        for name in again.columns
        if name not in _ABOUT_VALUES and name in kept and max(kept[name].nunique(), again[name].nunique()) > 1
    ]
    keys = ["quantity", *dims]
    frames = [_with_text_keys(frame, dims)[[*keys, "value"]] for frame in (kept, again)]
    both = frames[0].merge(frames[1], on=keys, how="outer", suffixes=("_kept", "_again"), indicator=True)
    points = [name for name in keys if name not in replicate_columns(again)]
    rows = []
    errors = {tuple(row[name] for name in points): row for row in both.to_dict("records")}
    for point, group in both.groupby(points, sort=False):
        one, two = group["value_kept"].to_numpy(), group["value_again"].to_numpy()
        in_both = bool((group["_merge"] == "both").all())
        error = errors.get((f"{point[0]}_error", *point[1:])) if len(group) == 1 else None
        rows.append(
            {
                "quantity": " ".join(str(word) for word in point if word != "nan"),
                "kept": one.mean(),
                "again": two.mean(),
                "identical": in_both and np.array_equal(one, two, equal_nan=True),
                "close": in_both and np.allclose(one, two, rtol=1e-6, atol=1e-9, equal_nan=True),
                "score": _score(str(point[0]), one, two, error),
            }
        )
    return pd.DataFrame(rows, columns=["quantity", "kept", "again", "identical", "close", "score"])


def allowed_distance(n_compared: int) -> float:
    """Standard errors that no value may exceed: 4, or more where that many values exceed 4 by chance (Bonferroni).

    >>> allowed_distance(10), round(allowed_distance(5000), 1)
    (4.0, 5.2)
    """
    return max(_ALLOWED, float(stats.norm.isf(_FALSE_ALARM / (2 * max(n_compared, 1)))))


def _score(quantity: str, one: np.ndarray, two: np.ndarray, error: Mapping[Any, Any] | None) -> float:
    if "without" in quantity:  # values without one chain each, which are dependent
        return math.nan
    if error is not None:
        spread = math.hypot(error["value_kept"], error["value_again"])
        return abs(float(one[0] - two[0])) / spread if spread > 0.0 else math.nan
    one, two = one[np.isfinite(one)], two[np.isfinite(two)]
    if min(len(one), len(two)) < 2 or not (one.var() + two.var()) > 0.0:
        return math.nan
    found = stats.ttest_ind(one, two, equal_var=False)
    return float(stats.norm.isf(found.pvalue / 2.0))


def _with_text_keys(frame: pd.DataFrame, dims: list[str]) -> pd.DataFrame:
    """Rows of quantities other than times, their coordinates as text: a table of several cases has other types."""
    lasting = [not measures_time(q, u) for q, u in zip(frame["quantity"], frame["unit"], strict=True)]
    rows = frame[np.array(lasting, dtype=bool)].copy()
    rows[dims] = rows[dims].map(_text)
    return rows


def _text(value: object) -> str:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return f"{value:.12g}" if is_number else str(value)
