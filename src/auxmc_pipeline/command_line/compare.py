"""Two result files compared: what made them, and whether they agree within their Monte Carlo errors."""

import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from auxmc.command_line.columns import columns, value_with_error
from auxmc.diagnostics.convergence import mcse_mean
from auxmc.errors import CommandError
from auxmc_pipeline.command_line.show import open_result
from auxmc_pipeline.measuring import standard_error

_FAR = 3.0
_MOST_ROWS = 12
_ERROR = "_error"
_NOT_SETTINGS = ("presets", "cases", "variants", "grids", "resources")
_ORIGIN = [
    "study", "seed", "code", "data", "git_commit", "git_dirty", "python", "packages", "platform", "processor",
    "n_cores", "memory_gib", "device", "inference_library_version", "jax_version", "jaxlib_version", "numpy_version",
    "python_version",
]  # fmt: skip

Estimates = dict[str, tuple[float, float]]


def compare(first: Path, second: Path) -> str:
    """What two result files have in common and what not; raises CommandError if no quantity is in both."""
    about, groups = zip(open_result(first), open_result(second), strict=True)
    settings = [{k: v for k, v in a["settings"].items() if k not in _NOT_SETTINGS} for a in about]
    origins = [{name: a.get(name, "") for name in _ORIGIN} for a in about]
    statistics = _in_both(*(_statistics(a, g) for a, g in zip(about, groups, strict=True)))
    draws = _in_both(*(dict(posterior_means(g.get("posterior", xr.Dataset()))) for g in groups))
    if statistics.empty and draws.empty:
        raise CommandError(f"{first} and {second} have no quantity in common: nothing can be compared")
    means = _differences("posterior means", draws)
    if any("inverse_temperature" in g.get("sample_stats", ()) for g in groups):
        means = "posterior means: tempered chains, whose draws need weights: see the statistics"
    parts = [
        f"A  {first}\nB  {second}",
        _table("settings that differ", differing(*settings), "all settings are equal"),
        _table("origin that differs", differing(*origins), "same seed, code, data, versions and machine"),
        means,
        _differences("statistics", statistics),
    ]
    return "\n\n".join(parts)


def differing(first: dict[str, Any], second: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Entries that are not the same in two mappings, nested ones entry by entry.

    >>> differing({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}, "d": 4})
    [('b.c', '2', '3'), ('d', '(none)', '4')]
    """
    rows = []
    for name in {**first, **second}:
        one, two = first.get(name, {}), second.get(name, {})
        if isinstance(one, dict) and isinstance(two, dict):
            rows += [(f"{name}.{inner}", a, b) for inner, a, b in differing(one, two)]
        elif one != two:
            rows.append((name, str(first.get(name, "(none)")), str(second.get(name, "(none)"))))
    return rows


def posterior_means(data: xr.Dataset) -> Iterator[tuple[str, tuple[float, float]]]:
    """Mean of every component of a posterior [chain, draw, ...], with its error from the autocorrelation of chains."""
    for name, array in data.data_vars.items():
        if {"chain", "draw"} <= set(array.dims) and array.dtype.kind in "fiub":
            for label, element in _elements(str(name), array, ("chain", "draw")):
                chains, error = element.transpose("chain", "draw").astype(float), math.nan
                with suppress(ValueError):  # too few draws, or some that are not finite
                    error = float(mcse_mean(chains))
                yield label, (float(chains.mean()), error)


def statistic_means(data: xr.Dataset) -> Iterator[tuple[str, tuple[float, float]]]:
    """Every statistic with its error: that of the mean over chains, or the statistic `NAME_error` of the result.

    Times and numbers per second are left out: they describe a machine.
    """
    for name, array in data.data_vars.items():
        unit = str(array.attrs.get("units") or "")
        is_error = str(name).endswith(_ERROR) and str(name).removesuffix(_ERROR) in data
        if unit == "s" or unit.endswith("/s") or is_error or array.dtype.kind not in "fiub":
            continue
        stated = data.get(f"{name}{_ERROR}", xr.full_like(array, np.nan, dtype=float))
        errors = dict(_elements(str(name), stated, ()))
        for label, element in _elements(str(name), array, ("chain",)):
            values = np.atleast_1d(element.to_numpy().astype(float))
            error = standard_error(values) if "chain" in array.dims else float(errors.get(label, math.nan))
            yield label, (float(values.mean()), error)


def _statistics(about: dict[str, Any], groups: dict[str, xr.Dataset]) -> Estimates:
    found = dict(statistic_means(groups.get("statistics", xr.Dataset())))
    if "model" in groups.get("table", ()):
        # The record of a stream: where each model is at the end.
        last = groups["table"].to_dataframe().groupby("model", sort=False).tail(1).set_index("model")
        names = [name for name in ("log_evidence", "log_evidence_error", "n_rows") if name in last]
        found |= dict(statistic_means(last[names].to_xarray()))
    if "log_evidence" in about:
        found["log_evidence"] = (about["log_evidence"], about["log_evidence_standard_error"])
    return found


def _elements(name: str, array: xr.DataArray, free: tuple[str, ...]) -> Iterator[tuple[str, xr.DataArray]]:
    fixed = [dim for dim in array.dims if dim not in free]
    for place in np.ndindex(*(array.sizes[dim] for dim in fixed)):
        index = dict(zip(fixed, place, strict=True))
        words = [f"{dim} {array[dim].values[i]}" for dim, i in index.items()]
        yield f"{name}[{', '.join(words)}]" if words else name, array.isel(index)


def _in_both(first: Estimates, second: Estimates) -> pd.DataFrame:
    """Estimates of both and their difference, farthest first; `score` is its size in standard errors or NaN."""
    rows = {name: (*first[name], *second[name]) for name in first if name in second}
    names = ["a", "a_error", "b", "b_error"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=names, dtype=float)
    table["gap"], table["error"] = table["b"] - table["a"], np.hypot(table["a_error"], table["b_error"])
    table["score"] = table["gap"].abs() / table["error"].where(table["error"] > 0.0)
    same = (table["gap"] == 0.0) | (table["a"].isna() & table["b"].isna())
    table.loc[same, "score"] = 0.0
    # Those without an error after the others, by their relative size.
    relative = table["gap"].abs() / table[["a", "b"]].abs().max(axis=1)
    return table.iloc[np.lexsort((-relative.fillna(0.0), -table["score"].fillna(0.0)))]


def _differences(title: str, table: pd.DataFrame) -> str:
    if table.empty:
        return f"{title}: none in both"
    if (table["score"] == 0.0).all():
        return f"{title}: all {len(table)} are equal"
    unknown = int(table["score"].isna().sum())
    rows: list[tuple[str, ...]] = [("", "A", "B", "B - A", "|z|")]
    for name, row in table.head(_MOST_ROWS).iterrows():
        pairs = ((row["a"], row["a_error"]), (row["b"], row["b_error"]), (row["gap"], row["error"]))
        score = f"{row['score']:.1f}" if math.isfinite(row["score"]) else "-"
        rows.append((f"  {name}", *(value_with_error(*pair) for pair in pairs), score))
    more = f"\n  and {len(table) - _MOST_ROWS} more, which differ less" if len(table) > _MOST_ROWS else ""
    return (
        f"{title}: {(table['score'] > _FAR).sum()} of {len(table)} differ by more than {_FAR:g} standard errors"
        f"{f', {unknown} are unequal without a known error' if unknown else ''}\n{columns(rows, right=[4])}{more}"
    )


def _table(title: str, rows: list[tuple[str, str, str]], none: str) -> str:
    table = columns([("", "A", "B"), *((f"  {name}", a, b) for name, a, b in rows)])
    return f"{title}\n{table}" if rows else f"{title}: {none}"
