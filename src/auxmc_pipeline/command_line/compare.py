"""Two result files beside each other: what made them, and whether they agree within their Monte Carlo errors."""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from auxmc.command_line.columns import columns, value_with_error
from auxmc.diagnostics.convergence import mcse_mean
from auxmc.driver.results import attributes_of
from auxmc.errors import CommandError
from auxmc_pipeline.command_line.show import not_readable, open_result, settings_of
from auxmc_pipeline.error_rules import standard_error

_FAR = 3.0
_TEMPERATURE = "inverse_temperature"
_ERROR = "_error"
_MOST_ROWS = 12
_NOT_SETTINGS = ("presets", "cases", "grids", "resources")
_ORIGIN = (
    "inference_library_version",
    "jax_version",
    "jaxlib_version",
    "numpy_version",
    "python_version",
    "study",
    "seed",
    "code",
    "data",
    "git_commit",
    "git_dirty",
    "python",
    "packages",
    "platform",
    "processor",
    "n_cores",
    "memory_gib",
    "device",
)


class Difference(NamedTuple):
    """A number in two results.

    Attributes:
        name: quantity, with its coordinates in brackets.
        first: value in the first result.
        first_error: its standard error; NaN where unknown, 0 where exact.
        second: value in the second result.
        second_error: its standard error.
    """

    name: str
    first: float
    first_error: float
    second: float
    second_error: float

    @property
    def error(self) -> float:
        """Standard error of the difference, the results taken as independent; NaN where one is unknown."""
        return math.hypot(self.first_error, self.second_error)

    @property
    def score(self) -> float:
        """Size of the difference in standard errors, 0 where both are NaN; NaN where the error is unknown or zero."""
        gap = abs(self.second - self.first)
        if gap == 0.0 or (math.isnan(self.first) and math.isnan(self.second)):
            return 0.0
        return gap / self.error if self.error > 0.0 else math.nan


def compare(first: Path, second: Path) -> str:
    """Text about what two result files have in common and what not.

    Raises:
        CommandError: a file is missing or no result file, or the two have no quantity in common.
    """
    one, two = open_result(first), open_result(second)
    for path, tree in ((first, one), (second, two)):
        try:
            _plain_settings(attributes_of(tree))
            tree.load()
        except Exception as error:
            raise not_readable(path, error) from error
    try:
        about = attributes_of(one), attributes_of(two)
        parts = [
            f"A  {first}\nB  {second}",
            _table(
                "settings that differ",
                differing(*(_plain_settings(a) for a in about)),
                "all settings are equal",
            ),
            _table(
                "origin that differs",
                differing(*({name: a.get(name, "") for name in _ORIGIN} for a in about)),
                "same seed, code, data, versions and machine",
            ),
        ]
        tempered = any(_TEMPERATURE in _data(tree, "sample_stats") for tree in (one, two))
        draws = (
            (xr.Dataset(), xr.Dataset()) if tempered else (_data(one, "posterior"), _data(two, "posterior"))
        )
        posterior = list(posterior_differences(*draws))
        statistics = list(statistic_differences(_data(one, "statistics"), _data(two, "statistics")))
        if all("log_evidence" in a for a in about):
            numbers = [a[name] for a in about for name in ("log_evidence", "log_evidence_standard_error")]
            statistics.append(Difference("log_evidence", *numbers))
    finally:
        one.close()
        two.close()
    if not posterior and not statistics:
        raise CommandError(
            f"{first} and {second} have no quantity of equal shape in common: nothing can be compared"
        )
    none = (
        "tempered chains, whose draws need weights: see the statistics"
        if tempered
        else "no draws of equal shape in both"
    )
    parts.append(_differences("posterior means", posterior, none))
    parts.append(_differences("statistics", statistics, "no statistics of equal shape in both"))
    return "\n\n".join(parts)


def differing(first: dict[str, Any], second: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Entries that are not the same in two mappings, nested ones entry by entry.

    >>> differing({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}, "d": 4})
    [('b.c', '2', '3'), ('d', '(none)', '4')]
    """
    one, two = dict(_flat(first)), dict(_flat(second))
    names = list(dict.fromkeys([*one, *two]))
    return [
        (name, str(one.get(name, "(none)")), str(two.get(name, "(none)")))
        for name in names
        if one.get(name, "(none)") != two.get(name, "(none)")
    ]


def posterior_differences(first: xr.Dataset, second: xr.Dataset) -> Iterator[Difference]:
    """Posterior means of every component, with Monte Carlo standard errors from the chains' autocorrelation.

    Args:
        first: group `posterior` [chain, draw, ...]; numbers of chains and draws may differ.
        second: the other one.
    """
    for name, one, two in _shared(first, second, ("chain", "draw")):
        for label, index in _elements(one, ("chain", "draw")):
            a, b = (array.isel(index).transpose("chain", "draw").values.astype(float) for array in (one, two))
            yield Difference(
                f"{name}{label}", float(a.mean()), _chain_error(a), float(b.mean()), _chain_error(b)
            )


def statistic_differences(first: xr.Dataset, second: xr.Dataset) -> Iterator[Difference]:
    """Statistics with their standard errors.

    The error is that of the mean over chains where there are chains, and the statistic `NAME_error` where the result
    has one beside `NAME`.

    Args:
        first: group `statistics`; numbers of chains may differ.
        second: the other one.

    Times and numbers per second are left out: they describe a machine.
    """
    for name, one, two in _shared(first, second, ("chain",)):
        unit = str(one.attrs.get("units") or "")
        is_error = name.endswith(_ERROR) and name.removesuffix(_ERROR) in first
        if unit == "s" or unit.endswith("/s") or is_error:
            continue
        stated = [data.get(f"{name}{_ERROR}") for data in (first, second)]
        for label, index in _elements(one, ("chain",)):
            a, b = (np.atleast_1d(array.isel(index).values.astype(float)) for array in (one, two))
            errors = [
                standard_error(values) if "chain" in one.dims else _stated_error(error, one, index)
                for values, error in zip((a, b), stated, strict=True)
            ]
            yield Difference(f"{name}{label}", float(a.mean()), errors[0], float(b.mean()), errors[1])


def _stated_error(error: xr.DataArray | None, of: xr.DataArray, index: dict[str, int]) -> float:
    return float(error.isel(index)) if error is not None and error.dims == of.dims else math.nan


def _shared(
    first: xr.Dataset, second: xr.Dataset, free: tuple[str, ...]
) -> Iterator[tuple[str, xr.DataArray, xr.DataArray]]:
    """Variables whose dimensions, but for the free ones, have equal sizes and coordinates in both."""
    for name in first.data_vars:
        if name not in second.data_vars:
            continue
        one, two = first[name], second[name]
        fixed = [dim for dim in one.dims if dim not in free]
        if set(one.dims) != set(two.dims) or one.dtype.kind not in "fiub":
            continue
        if "draw" in free and not {"chain", "draw"} <= set(one.dims):
            continue
        if all(one.sizes[dim] == two.sizes[dim] and _same_coordinate(one, two, str(dim)) for dim in fixed):
            yield str(name), one, two


def _same_coordinate(one: xr.DataArray, two: xr.DataArray, dim: str) -> bool:
    return (dim in one.coords) == (dim in two.coords) and bool(
        np.array_equal(one[dim].values, two[dim].values)
    )


def _elements(array: xr.DataArray, free: tuple[str, ...]) -> Iterator[tuple[str, dict[str, int]]]:
    fixed = [str(dim) for dim in array.dims if dim not in free]
    for place in itertools.product(*(range(array.sizes[dim]) for dim in fixed)):
        index = dict(zip(fixed, place, strict=True))
        words = [f"{dim} {array[dim].values[i]}" for dim, i in index.items()]
        yield (f"[{', '.join(words)}]" if words else ""), index


def _chain_error(chains: np.ndarray) -> float:
    try:
        return float(mcse_mean(xr.DataArray(chains, dims=("chain", "draw"))))
    except ValueError:
        # Too few draws, or some that are not finite: there is no error to give.
        return math.nan


def _differences(title: str, found: list[Difference], none: str) -> str:
    if not found:
        return f"{title}: {none}"
    if all(d.score == 0.0 for d in found):
        return f"{title}: all {len(found)} are equal"
    far = [d for d in found if d.score > _FAR]
    unknown = sum(math.isnan(d.score) for d in found)
    summary = f"{title}: {len(far)} of {len(found)} differ by more than {_FAR:g} standard errors"
    if unknown:
        summary += f", {unknown} are unequal without a known error"
    # The farthest first; those without an error after them, by their relative size.
    order = sorted(found, key=lambda d: (-d.score if math.isfinite(d.score) else 0.0, -_relative(d)))
    rows = [("", "A", "B", "B - A", "|z|")]
    for d in order[:_MOST_ROWS]:
        rows.append(
            (
                f"  {d.name}",
                value_with_error(d.first, d.first_error),
                value_with_error(d.second, d.second_error),
                value_with_error(d.second - d.first, d.error),
                f"{d.score:.1f}" if math.isfinite(d.score) else "-",
            )
        )
    more = f"\n  and {len(found) - _MOST_ROWS} more, which differ less" if len(found) > _MOST_ROWS else ""
    return f"{summary}\n{columns(rows, right=[4])}{more}"


def _relative(d: Difference) -> float:
    gap = abs(d.second - d.first)
    return gap / max(abs(d.first), abs(d.second)) if gap > 0.0 else 0.0


def _table(title: str, rows: list[tuple[str, str, str]], none: str) -> str:
    if not rows:
        return f"{title}: {none}"
    return f"{title}\n{columns([('', 'A', 'B'), *((f'  {name}', a, b) for name, a, b in rows)])}"


def _data(tree: xr.DataTree, group: str) -> xr.Dataset:
    return tree[group].to_dataset().load() if group in tree.children else xr.Dataset()


def _plain_settings(about: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in settings_of(about).items() if k not in _NOT_SETTINGS}


def _flat(content: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{name}.")
        elif value != {}:
            yield f"{prefix}{name}", value
