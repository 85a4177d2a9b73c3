"""Units: parts of a case's work that several jobs share, and that join into the same arrays however they are shared."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from auxmc.driver.files import checked_arrays, write_arrays
from auxmc.errors import DamagedFile, PieceError, UnitsMissing
from auxmc.numerics.array_types import NamedArrays

_ABOUT = "about"
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Share(NamedTuple):
    """One job's part of a case's units: every `n_pieces`-th one, from number `piece` (from 0) on."""

    piece: int
    n_pieces: int


class Units:
    """Who makes which units of a case, and what has been made.

    A case is a sequence of stages, a stage a list of units. Each unit is computed by the same program wherever it is
    computed, so that joined units are the same arrays whether one job made them all or many jobs a few each.

    This job makes the part `fraction` of the units, None for all; `given` are those that other jobs have made, by stage
    and number, as `read_pieces` returns them.
    """

    def __init__(
        self, fraction: Share | None = None, given: Mapping[tuple[str, int], NamedArrays] | None = None
    ) -> None:
        self.fraction = fraction
        self.given = given or {}
        self.made: dict[tuple[str, int], NamedArrays] = {}
        self._n_seen = 0

    def stage(self, name: str, n_units: int, make: Callable[[int], NamedArrays]) -> list[NamedArrays]:
        """Results of all units of a stage, in order; `make` makes those of this job's part that are not given.

        UnitsMissing is raised if some are the work of other jobs, after the own ones were made.
        """
        first, self._n_seen = self._n_seen, self._n_seen + n_units
        found = []
        for number in range(n_units):
            # Shared out over all stages in turn, so that many stages of few units are shared out too.
            mine = self.fraction is None or (first + number) % self.fraction.n_pieces == self.fraction.piece
            unit = self.given.get((name, number))
            if unit is None and mine:
                unit = make(number)
                if self.fraction is not None:
                    self.made[name, number] = unit
            if unit is not None:
                found.append(unit)
        if len(found) < n_units:
            raise UnitsMissing(f"{n_units - len(found)} of {n_units} units of {name}")
        return found


def each(function: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """Calls a function with stages inside for every item, where no item needs the result of another.

    UnitsMissing is raised after every item was tried.
    """
    results, missing = [], []
    for item in items:
        try:
            results.append(function(item))
        except UnitsMissing as error:
            missing.append(str(error))
    if missing:
        raise UnitsMissing("; ".join(missing))
    return results


def write_piece(path: Path, units: Units, identity: str, provenance: Mapping[str, Any]) -> None:
    """Writes what a job has made, and its provenance, for `read_pieces`; `identity` is of settings, code and data."""
    assert units.fraction is not None
    keys = [(stage, number, name) for (stage, number), unit in units.made.items() for name in unit]
    about = {"identity": identity, "fraction": units.fraction, "keys": keys, "provenance": dict(provenance)}
    arrays: dict[str, Any] = {str(i): units.made[key[0], key[1]][key[2]] for i, key in enumerate(keys)}
    arrays[_ABOUT] = np.asarray(json.dumps(about))
    write_arrays(path, arrays)


def read_pieces(
    paths: Sequence[Path], identity: str
) -> tuple[dict[tuple[str, int], NamedArrays], list[dict[str, Any]]]:
    """All units of a case by stage and number, and the provenance of each piece.

    PieceError: a piece cannot be read, was made with other settings, code or data, or is missing.
    """
    units: dict[tuple[str, int], NamedArrays] = {}
    provenance, fractions = [], []
    for path in paths:
        try:
            with checked_arrays(path) as file:
                about = json.loads(str(file[_ABOUT]))
                for i, (stage, number, name) in enumerate(about["keys"]):
                    units.setdefault((stage, number), {})[name] = file[str(i)]
                fractions.append(Share(*about["fraction"]))
                provenance.append(about["provenance"])
        except DamagedFile as error:
            raise PieceError(f"{path} is damaged ({error}): remove it and make it again") from error
        if about["identity"] != identity:
            raise PieceError(
                f"{path} was made with other settings, code or data: remove it and make it again"
            )
    n_found = len(set(fractions))
    if set(fractions) != {Share(piece, n_found) for piece in range(n_found)}:
        have = ", ".join(f"{fraction.piece + 1} of {fraction.n_pieces}" for fraction in fractions)
        raise PieceError(f"{paths[0].parent}: the pieces do not make up the case, there are {have}")
    return units, provenance
