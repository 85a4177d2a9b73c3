"""Image coordinates of the joints of one body, from a table of the user."""

import os

import numpy as np

from auxmc.data.cells import as_texts, matrix
from auxmc.data.tables import fail, read_cells
from auxmc.numerics.array_types import FloatArray
from experiments.human_pose.model.skeleton import JOINT_NAMES

__all__ = ["COLUMNS", "N_VIEWS", "read_joint_observations"]

COLUMNS = ("joint", "view", "x", "y")
N_VIEWS = {"binocular": 2, "monocular": 1}
"""Number of views by kind of observation."""

_COORDINATES = ("x", "y")


def read_joint_observations(path: str | os.PathLike[str], views: str) -> FloatArray:
    """Returns image coordinates of all joints.

    The table has the columns `joint` (a name of `JOINT_NAMES`), `view` (1, or 1 and 2), `x` and `y`
    (coordinates in the plane at the focal length, in metres: a body of 1.7 m that is 4.5 m away is 2.8 high), in
    any order, one row for each joint in each view.

    Args:
        path: the file; see `tables.open_rows`.
        views: `binocular` (views 1 and 2; camera 1 is the one that is 0.5 m to the left of the body's front) or
            `monocular`.

    Returns:
        Coordinates [2 * joint * view]: for each view all x, then all y, joints in the order of `JOINT_NAMES`.

    Raises:
        DataError: the file cannot be used; the message names the file and, where there is one, row, joint and view.
    """
    cells = read_cells(path, COLUMNS)
    values, fault = matrix(cells.of(COLUMNS[1:]))
    n_views = N_VIEWS[views]
    images = np.full((n_views, len(_COORDINATES), len(JOINT_NAMES)), np.nan)
    found: set[int] = set()
    for index, (joint, (view, *coordinates)) in enumerate(
        zip(as_texts(cells, "joint", may_lack=True), values, strict=False)
    ):
        row = cells.row(index)
        if joint not in JOINT_NAMES:
            fail(path, f"{row}: unknown joint '{joint}'; allowed: {', '.join(JOINT_NAMES)}")
        if view not in (1, 2):
            fail(path, f"{row}: view '{view:g}' is neither 1 nor 2; number the views from 1")
        found.add(int(view))
        if view > n_views:
            continue
        place = (int(view) - 1, slice(None), JOINT_NAMES.index(joint))
        if not np.isnan(images[place]).all():
            fail(path, f"{row}: joint '{joint}' in view {view:g} appears twice; remove one of the rows")
        images[place] = coordinates
    if fault is not None:
        raise fault
    _check_views(path, found, views)
    _check_complete(path, images)
    return images.reshape(-1)


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
