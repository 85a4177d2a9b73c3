"""Digests of arrays, without those that measure time: equal digests are equal numbers, bit for bit."""

import hashlib
import re

import numpy as np
import xarray as xr

# Attribute of a published case, whose draws are gone: the digest of all arrays of its result.
DIGEST = "arrays_sha256"

_TIME_UNIT = re.compile(r"(^|[ /])s$")
_TIME_NAME = re.compile(r"seconds|per_second|run_time|time_ratio|compile_s$|run_s$|wall_s$")


def measures_time(name: str, unit: str = "") -> bool:
    """Whether a quantity is a time, a speed or a ratio of times, which differs between two runs.

    >>> measures_time("fit_time", "s"), measures_time("ess_per_second"), measures_time("n_steps", "annealing steps")
    (True, True, False)
    """
    return bool(_TIME_UNIT.search(unit) or _TIME_NAME.search(name))


def lasting_arrays(tree: xr.DataTree) -> dict[str, np.ndarray]:
    """Arrays of a result file by path, coordinates included, without those that measure time."""
    return {
        f"{node.path}/{name}": np.asarray(array.values)
        for node in tree.subtree
        for name, array in node.to_dataset(inherit=False).variables.items()
        if not measures_time(str(name), str(array.attrs.get("units", "")))
    }


def array_digest(tree: xr.DataTree) -> str:
    """SHA-256 of names, types, shapes and bytes of the arrays of `lasting_arrays`, in the order of their names."""
    whole = hashlib.sha256()
    for name, values in sorted(lasting_arrays(tree).items()):
        # Text is stored with different widths; its content counts.
        content = values.astype(str).astype("S") if values.dtype.kind in "OUTS" else values
        whole.update(f"{name} {content.dtype.kind}{content.shape}\n".encode())
        whole.update(np.ascontiguousarray(content).tobytes())
    return whole.hexdigest()
