"""Image coordinates of the joints of one body, from a CSV file of the user. NumPy only."""

import csv
import math
import os
from pathlib import Path

import numpy as np

from auxmc.data.skeleton import JOINT_NAMES
from auxmc.data.tables import DataError, fail
from auxmc.numerics.array_types import FloatArray

__all__ = ["COLUMNS", "N_VIEWS", "read_joint_observations"]

COLUMNS = ("joint", "view", "x", "y")
N_VIEWS = {"binocular": 2, "monocular": 1}
"""Number of views by kind of observation."""

_COORDINATES = ("x", "y")


def read_joint_observations(path: str | os.PathLike[str], views: str) -> FloatArray:
    """Reads image coordinates of all joints.

    The file has a header and the columns `joint` (a name of `JOINT_NAMES`), `view` (1, or 1 and 2), `x` and `y`
    (coordinates in the plane at the focal length, in metres: a body of 1.7 m that is 4.5 m away is 2.8 high), in
    any order, one row for each joint in each view.

    Args:
        path: comma-separated text, UTF-8.
        views: `binocular` (views 1 and 2; camera 1 is the one that is 0.5 m to the left of the body's front) or
            `monocular`.

    Returns:
        Coordinates [2 * joint * view]: for each view all x, then all y, joints in the order of `JOINT_NAMES`.

    Raises:
        DataError: the file cannot be used; the message names the file and, where there is one, row, joint and view.
    """
    header, rows = _rows(path)
    places = [header.index(name) for name in COLUMNS]
    n_views = N_VIEWS[views]
    images = np.full((n_views, len(_COORDINATES), len(JOINT_NAMES)), np.nan)
    found: set[int] = set()
    for line, cells in rows:
        if len(cells) != len(header):
            fail(
                path,
                f"row {line}: has {len(cells)} cells, the header has {len(header)}; give every row as many",
            )
        joint, view_text, *coordinates = (cells[place].strip() for place in places)
        if joint not in JOINT_NAMES:
            fail(path, f"row {line}: unknown joint '{joint}'; allowed: {', '.join(JOINT_NAMES)}")
        view = _view(path, line, view_text)
        found.add(view)
        if view > n_views:
            continue
        place = (view - 1, slice(None), JOINT_NAMES.index(joint))
        if not np.isnan(images[place]).all():
            fail(path, f"row {line}: joint '{joint}' in view {view} appears twice; remove one of the rows")
        images[place] = [
            _number(path, line, name, joint, cell)
            for name, cell in zip(_COORDINATES, coordinates, strict=True)
        ]
    _check_views(path, found, views)
    _check_complete(path, images)
    return images.reshape(-1)


def _rows(path: str | os.PathLike[str]) -> tuple[list[str], list[tuple[int, list[str]]]]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text; save the file as CSV with UTF-8 encoding") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; check the path") from error
    lines = [
        (number, cells) for number, cells in enumerate(csv.reader(text.splitlines()), start=1) if any(cells)
    ]
    if not lines:
        fail(path, f"the file is empty; it needs a header with the columns {', '.join(COLUMNS)}")
    header = [name.strip() for name in lines[0][1]]
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        fail(path, f"has no column '{missing[0]}', only {', '.join(header)}; needed: {', '.join(COLUMNS)}")
    return header, lines[1:]


def _view(path: str | os.PathLike[str], line: int, text: str) -> int:
    if text not in ("1", "2"):
        fail(path, f"row {line}: view '{text}' is neither 1 nor 2; number the views from 1")
    return int(text)


def _number(path: str | os.PathLike[str], line: int, name: str, joint: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        what = f"'{cell}' is not a number" if cell else "the cell is empty"
        fail(path, f"row {line}, column '{name}' (joint '{joint}'): {what}; every joint must be observed")
    if not math.isfinite(value):
        fail(
            path,
            f"row {line}, column '{name}' (joint '{joint}'): '{cell}' is not finite; every joint must be observed",
        )
    return value


def _check_views(path: str | os.PathLike[str], found: set[int], views: str) -> None:
    n_views = N_VIEWS[views]
    if found == set(range(1, n_views + 1)):
        return
    other = next((name for name, n in N_VIEWS.items() if found == set(range(1, n + 1))), None)
    advice = f"use views={other}, or " if other else ""
    have = " and ".join(map(str, sorted(found))) or "none"
    need = "views 1 and 2" if n_views == 2 else "view 1 alone"
    fail(path, f"has view {have}, but views={views} needs {need}; {advice}change the column 'view'")


def _check_complete(path: str | os.PathLike[str], images: FloatArray) -> None:
    missing = np.argwhere(np.isnan(images[:, 0]))
    if not missing.size:
        return
    view, joint = missing[0]
    more = f" ({len(missing)} missing in all)" if len(missing) > 1 else ""
    fail(
        path,
        f"joint '{JOINT_NAMES[joint]}' is missing in view {view + 1}{more}; every joint must be observed",
    )
