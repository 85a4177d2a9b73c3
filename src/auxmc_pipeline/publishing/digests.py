"""Digests of what a job made, without what measures time: equal digests are equal numbers, bit for bit."""

import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import xarray as xr

__all__ = ["DIGEST", "NamedArray", "arrays_of", "digest_of_arrays", "lasting_arrays", "measures_time"]

# Attribute of a kept case, and of pieces: the digest of all arrays that there were.
DIGEST = "arrays_sha256"

_TIME_UNIT = re.compile(r"(^|[ /])s$")
_TIME_NAME = re.compile(r"seconds|per_second|run_time|time_ratio|compile_s$|run_s$|wall_s$")


class NamedArray(NamedTuple):
    """An array, the path of its name, and its unit."""

    name: str
    unit: str
    values: np.ndarray


def measures_time(name: str, unit: str = "") -> bool:
    """Whether a quantity is a time, a speed or a ratio of times, which no two runs have in common.

    >>> measures_time("fit_time", "s"), measures_time("ess_per_second"), measures_time("n_steps", "annealing steps")
    (True, True, False)
    """
    return bool(_TIME_UNIT.search(unit) or _TIME_NAME.search(name))


def arrays_of(tree: xr.DataTree) -> list[NamedArray]:
    """All arrays of a result file, coordinates included."""
    return [
        NamedArray(f"{node.path}/{name}", str(array.attrs.get("units", "")), np.asarray(array.values))
        for node in tree.subtree
        for name, array in node.to_dataset(inherit=False).variables.items()
    ]


def lasting_arrays(tree: xr.DataTree) -> dict[str, np.ndarray]:
    """Arrays of a result file that do not measure time, by their names."""
    return {array.name: array.values for array in arrays_of(tree) if _lasts(array)}


def _lasts(array: NamedArray) -> bool:
    return not measures_time(array.name.rpartition("/")[2], array.unit)


def digest_of_arrays(arrays: Iterable[NamedArray]) -> str:
    """SHA-256 of names, types, shapes and bytes of the arrays that do not measure time, whatever their order."""
    whole = hashlib.sha256()
    for name, _, values in sorted(filter(_lasts, arrays), key=lambda array: array.name):
        # Text is stored with different widths; its content counts.
        content = values.astype(str).astype("S") if values.dtype.kind in "OUTS" else values
        whole.update(f"{name} {content.dtype.kind}{content.shape}\n".encode())
        whole.update(np.ascontiguousarray(content).tobytes())
    return whole.hexdigest()
