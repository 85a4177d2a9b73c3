"""The check of the checks: whether a claim's verdict would have been another if the tables had held other values."""

import functools
import math
import warnings
import zlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import BooleanArray, FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.judging.verdicts import verdict
from auxmc_pipeline.named_tables import NamedTables, perturbed
from auxmc_pipeline.tables import MissingData, ReadRows, Tables

__all__ = ["GROUP_PERTURBATIONS", "PERTURBATIONS", "Response", "responses"]

_Perturb = Callable[[FloatArray, np.random.Generator], FloatArray]

PERTURBATIONS: Mapping[str, _Perturb] = {
    "ten times as large": lambda values, rng: 10.0 * values,
    "a tenth": lambda values, rng: 0.1 * values,
    "other sign": lambda values, rng: -values,
    "shifted by a thousand": lambda values, rng: values + 1000.0,
    "zero": lambda values, rng: np.zeros_like(values),
    "second half ten times as large": lambda values, rng: np.where(
        _second_half(values), 10.0 * values, values
    ),
    "first half ten times as large": lambda values, rng: np.where(
        _second_half(values), values, 10.0 * values
    ),
    "second half shifted": lambda values, rng: np.where(_second_half(values), values + 1000.0, values),
    "first half shifted": lambda values, rng: np.where(_second_half(values), values, values + 1000.0),
    "in ascending order": lambda values, rng: np.sort(values),
    "in descending order": lambda values, rng: np.sort(values)[::-1],
    "permuted": lambda values, rng: rng.permutation(values),
    # A line whose verdict hangs on few of its values is turned by one draw in twenty.
    **{
        f"each times a random factor, {draw}": lambda values, rng: (
            values * np.exp(rng.normal(0.0, 2.0, values.size))
        )
        for draw in range(24)
    },
}
"""Changes of the values that a claim's function reads, by what they do."""


def _powers(power: float) -> _Perturb:
    def change(values: FloatArray, rng: np.random.Generator) -> FloatArray:
        del rng
        shares = (values > 0.0) & (values < 1.0)
        return np.where(shares, np.abs(values) ** power, values)

    return change


def _largest_kept(share: float) -> _Perturb:
    def change(values: FloatArray, rng: np.random.Generator) -> FloatArray:
        del rng
        return np.where(values >= np.nanquantile(values, 1.0 - share), values, 0.1 * values)

    return change


GROUP_PERTURBATIONS: Mapping[str, _Perturb] = {
    **{
        name: PERTURBATIONS[name]
        for name in ("ten times as large", "a tenth", "other sign", "shifted by a thousand", "zero")
    },
    # Shares stay shares.
    **{f"shares to the power {power:g}": _powers(power) for power in (0.02, 0.2, 5.0, 50.0)},
    # Where a rate falls along a sweep is decided by few of its values.
    **{f"all but the largest {share:.2g} a tenth": _largest_kept(share) for share in (1 / 4, 1 / 6)},
    "evenly spread": lambda values, rng: rng.permutation(
        np.linspace(np.nanmin(values), np.nanmax(values), values.size)
    ),
    # With little spread left, errors are small too.
    "calm": lambda values, rng: _calm(values),
    "calm, ten times as large": lambda values, rng: 10.0 * _calm(values),
    "calm, a tenth": lambda values, rng: 0.1 * _calm(values),
    "calm, shifted by a thousand": lambda values, rng: _calm(values) + 1000.0,
    "calm, shifted by minus a thousand": lambda values, rng: _calm(values) - 1000.0,
}
"""Changes of one group of values, as of one method, by what they do."""

_MOST_GROUPS = 12


class Response(NamedTuple):
    """How a line of a claim responds to other values in the tables.

    Attributes:
        claim_id: claim.
        setting: of the line.
        verdict: from the tables as they are, whatever the claim needs.
        error_known: whether its error is known; where it is not, nothing is decided.
        moves: whether some perturbation changes the measured value.
        changed_by: the first perturbation that changes a decided verdict into the other, or an inconclusive one into a
            failure; empty for none.
    """

    claim_id: str
    setting: str
    verdict: str
    error_known: bool
    moves: bool
    changed_by: str

    @property
    def is_constant(self) -> bool:
        """Whether the line cannot fail, or cannot hold: nothing that the tables might hold changes it."""
        return not (self.moves and (self.changed_by or not self.error_known))


class _Rows(NamedTuple):
    """The rows of both tables, and which of them a function reads."""

    summary: pd.DataFrame
    curves: pd.DataFrame
    of_summary: "pd.Index[Any]"
    of_curves: "pd.Index[Any]"

    def perturbed(self, name: str, perturb: _Perturb, group: Mapping[str, object] | None = None) -> Tables:
        """Tables with other values in the rows that the function reads, or in those of one group of them.

        Args:
            name: of the perturbation, which has random numbers of its own.
            perturb: the perturbation.
            group: values that the columns of changed rows have.
        """
        seed = zlib.crc32(name.encode())
        changed = []
        for frame, rows in ((self.summary, self.of_summary), (self.curves, self.of_curves)):
            for column, wanted in (group or {}).items():
                present = frame.loc[rows, column] if column in frame else pd.Series(dtype=object)
                rows = present.index[present == wanted]
            values = frame["value"].copy() if len(rows) else None
            if values is not None:
                rng = np.random.default_rng([len(rows), seed])
                values.loc[rows] = perturb(values.loc[rows].to_numpy(), rng)
                frame = frame.assign(value=values)
            changed.append(frame)
        return Tables.of(*changed)

    def groups(self) -> Iterator[dict[str, object]]:
        """Groups of the rows that are read: one value of a column, then of a quantity and a column."""
        single = []
        for frame, rows in ((self.summary, self.of_summary), (self.curves, self.of_curves)):
            read = frame.loc[rows]
            for column in read.columns.difference(["value", "unit", "numbers"]):
                values = read[column].dropna().unique()
                if 1 < len(values) <= _MOST_GROUPS:
                    single += [{str(column): value} for value in values]
        yield from single
        quantities = [group for group in single if "quantity" in group]
        yield from (q | group for q in quantities for group in single if "quantity" not in group)


def responses(claims: pd.DataFrame, measures: Measures, tables: Tables | NamedTables) -> Iterator[Response]:
    """How each line responds that the tables measure, except those about time and those declared exact.

    Args:
        claims: of `auxmc_pipeline.claims.read_claims`.
        measures: what measures them.
        tables: of the study; what a claim needs does not count here, so that tables of short runs serve.
    """
    for line in claims.to_dict("records"):
        measure = measures[str(line["claim_id"])][str(line["setting"])]
        recorded, read = (tables, []) if isinstance(tables, NamedTables) else tables.recording()
        try:
            found = measure(recorded)  # type: ignore[arg-type]
        except MissingData:
            continue
        if math.isnan(found.value) or found.exact or line["kind"] == "W":
            continue
        if isinstance(tables, NamedTables):
            changes = _named_changes(tables)
        else:
            changes = _changes(_rows_read(measure, found, tables, read))
        yield _response(line, measure, found, changes)


def _response(
    line: Mapping[Hashable, Any],
    measure: Callable[[Any], Measurement],
    found: Measurement,
    changes: Iterator[tuple[str, Callable[[], Any]]],
) -> Response:
    def judged(measurement: Measurement) -> str:
        return verdict(measurement, float(line["low"]), float(line["high"]), str(line["kind"]))

    now = judged(found)
    moves, changed_by = False, ""
    for name, change in changes:
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                other = measure(change())
        except (LookupError, ArithmeticError, ValueError):
            continue  # it refuses such values
        moves = moves or not (other.value == found.value or math.isnan(other.value))
        if judged(other) in _DECISIVE[now]:
            changed_by = name
            break
    known = found.error > 0.0
    return Response(
        str(line["claim_id"]), str(line["setting"]), now, known, moves or bool(changed_by), changed_by
    )


def _changes(rows: _Rows) -> Iterator[tuple[str, Callable[[], Tables]]]:
    """Changed tables, by what was done: to all rows first, then to one group of them, as the rows of one method."""
    for name, perturb in PERTURBATIONS.items():
        yield name, functools.partial(rows.perturbed, name, perturb)
    for name, perturb in GROUP_PERTURBATIONS.items():
        yield f"all: {name}", functools.partial(rows.perturbed, name, perturb)
    for group in rows.groups():
        for name, perturb in GROUP_PERTURBATIONS.items():
            yield f"{group}: {name}", functools.partial(rows.perturbed, name, perturb, group)


def _named_changes(tables: NamedTables) -> Iterator[tuple[str, Callable[[], NamedTables]]]:
    """Changed tables: all quantities together first, then one after the other."""
    rng = np.random.default_rng(0)
    for only in ("", *tables["quantity"]["quantity"].unique()):
        for name, perturb in {**PERTURBATIONS, **GROUP_PERTURBATIONS}.items():
            change = functools.partial(_of_known, functools.partial(perturb, rng=rng))
            yield f"{only or 'all'}: {name}", functools.partial(perturbed, tables, change, only)


def _of_known(perturb: Callable[[FloatArray], FloatArray], values: FloatArray) -> FloatArray:
    """Perturbed values where they are known."""
    known = ~np.isnan(values)
    changed = values.copy()
    changed[known] = perturb(values[known])
    return changed


# What a verdict must be able to become.
_DECISIVE = {
    "reproduced": ("not reproduced",),
    "not reproduced": ("reproduced", "inconclusive"),
    "inconclusive": ("not reproduced",),
}


def _rows_read(
    measure: Callable[[Tables], Measurement], found: Measurement, tables: Tables, read: Sequence[ReadRows]
) -> _Rows:
    of_summary, of_curves = (
        functools.reduce(
            pd.Index.union, (rows.frame.index for rows in read if rows.table is table), pd.Index([])
        )
        for table in tables
    )
    frames = [table.everything for table in tables]
    # Rows that were not read are left out, which is far quicker, unless the function asked whether they are there.
    only_read = [frame.loc[index] for frame, index in zip(frames, (of_summary, of_curves), strict=True)]
    try:
        same = measure(Tables.of(*only_read))[:2] == found[:2]
    except (MissingData, ValueError):
        same = False
    summary, curves = only_read if same else frames
    return _Rows(summary, curves, of_summary, of_curves)


def _calm(values: FloatArray) -> FloatArray:
    mean = values.mean() if values.size else 0.0
    return np.asarray(mean + 0.01 * (values - mean))


def _second_half(values: FloatArray) -> BooleanArray:
    return np.arange(values.size) >= values.size / 2
