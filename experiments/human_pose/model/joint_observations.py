"""Image coordinates of the joints of one body, from a table of the user."""

import os

import numpy as np

from auxmc.data.cells import read_floats_before_fault, read_texts
from auxmc.data.tables import fail, read_cells
from auxmc.numerics.array_types import FloatArray
from experiments.human_pose.model.skeleton import JOINT_NAMES

COLUMNS = ("joint", "view", "x", "y")
N_VIEWS = {"binocular": 2, "monocular": 1}  # Number of views by kind of observation


def read_joint_observations(path: str | os.PathLike[str], views: str) -> FloatArray:
    """Image coordinates of all joints: for each view all x, then all y [2 * joint * view].

    The table has the columns `joint` (of `JOINT_NAMES`), `view` (1, or 1 and 2), `x` and `y` (in metres in
    the plane at the focal length), one row for each joint and view in any order. Camera 1 of two is 0.5 m to
    the left of the body's front.
    """
    cells = read_cells(path, COLUMNS)
    values, fault = read_floats_before_fault(cells.select(COLUMNS[1:]))
    n_views = N_VIEWS[views]
    images = np.full((n_views, 2, len(JOINT_NAMES)), np.nan)
    found: set[int] = set()
    joints = read_texts(cells, "joint", may_lack=True)
    for index, (joint, (view, *coordinates)) in enumerate(zip(joints, values, strict=False)):
        row = cells.describe_row(index)
        if joint not in JOINT_NAMES:
            fail(path, f"{row}: unknown joint '{joint}'; allowed: {', '.join(JOINT_NAMES)}")
        if view not in (1, 2):
            fail(path, f"{row}: view: expected 1 or 2, got {view:g}")
        found.add(int(view))
        if view > n_views:
            continue
        place = (int(view) - 1, slice(None), JOINT_NAMES.index(joint))
        if not np.isnan(images[place]).all():
            fail(path, f"{row}: joint '{joint}' in view {view:g} appears twice; remove one of the rows")
        images[place] = coordinates
    if fault is not None:
        raise fault
    if found != set(range(1, n_views + 1)):
        have, need = (" and ".join(map(str, sorted(one))) for one in (found, range(1, n_views + 1)))
        fail(
            path,
            f"views={views}: expected view {need}, got {have or 'none'}; change views or the column 'view'",
        )
    missing = np.argwhere(np.isnan(images[:, 0]))
    if missing.size:
        first = f"joint '{JOINT_NAMES[missing[0][1]]}' is missing in view {missing[0][0] + 1}"
        fail(path, f"{first} ({len(missing)} missing in all); every joint must be observed")
    return images.reshape(-1)
