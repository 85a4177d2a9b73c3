"""Figures of the study, drawn from its tables."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import CYCLE, PAGE_WIDTH_IN
from auxmc_pipeline.footer import footer
from auxmc_pipeline.plots.looks import readable
from auxmc_pipeline.plots.panels import page
from auxmc_pipeline.plots.published import published_curve, published_entry, published_level
from auxmc_pipeline.published_values import PublishedMarks
from auxmc_pipeline.tables import MissingData, Tables, Wanted
from experiments.human_pose.model.skeleton import DRAWN_BONES, JOINT_NAMES
from experiments.human_pose.skeletons import (
    SIDE_COLOURS,
    Drawing,
    clean_axis,
    common_box,
    draw_points,
    draw_skeleton,
)

_METHODS: dict[str, tuple[str, str, Any]] = {
    "constrained_hmc": ("constrained HMC", "#009E73", "-"),
    "hmc": ("HMC", "#D55E00", "--"),
    "hierarchical_hmc": ("HMC, hierarchical state", "#0072B2", "-."),
}
_COMPARED = ("constrained_hmc", "hmc")
_TRUE_COLOUR = "#000000"
_DOCUMENT = "PhD thesis"
# sign and number of the coordinate across (body's left on the left, as in images), up and away
_VIEWS = {
    "front": ((-1.0, 0), (1.0, 1), (1.0, 2)),
    "left side": ((1.0, 2), (1.0, 1), (1.0, 0)),
    "from above": ((-1.0, 0), (-1.0, 2), (1.0, 1)),
}


def _side(bone: tuple[int, int]) -> str:
    side = JOINT_NAMES[bone[1]].partition("_")[0]  # A bone belongs to the side of its far end.
    return side if side in SIDE_COLOURS else "trunk"


_DRAWING = Drawing(DRAWN_BONES, [_side(bone) for bone in DRAWN_BONES], (1, 2))


def errors(tables: Tables) -> Figure:
    """Figure 4.14: images of the scenes, and error of the mean pose against run time."""
    figure, grid = page(6.4, 3, 3, width_ratios=[1.0, 1.0, 1.9])
    cases, published = {name: name for name in _COMPARED}, PublishedMarks("human_pose", tables)
    for row, panels in enumerate(grid):
        for view, axis in enumerate(panels[:2], start=1):
            _draw_image(axis, _scene_image(tables, row + 1, view))
            if row == 0:
                axis.set_title(f"camera {view}")
            if view == 1:
                axis.set_ylabel(f"scene {row + 1}")
        _error_panel(panels[2], tables, cases, row + 1, last=row == 2, published=published)
    more = []
    if published("IM-PO-03", "HMC scene 1") is not None:
        more.append(published_entry(_DOCUMENT, "its scenes, at the end", level=True))
        more.append(published_entry(_DOCUMENT, "its scenes", curve=True))
    _method_legend(figure, tables, cases, more)
    return footer(figure, tables, *_lengths(tables, _COMPARED))


def monocular(tables: Tables) -> Figure:
    """Figure 4.15: true pose and samples given one image."""
    (observed,) = _images(tables, "observed", "view", case="monocular").values
    true = _poses(tables, "true_position", case="monocular").values
    samples = _poses(tables, "sample_position", "chain", "sample", case="monocular").values
    drawn = _images(tables, "sample_image", "chain", "sample", "view", case="monocular").values
    poses, images = np.stack([true, *samples[0]]), np.stack([observed, *drawn[0, :, 0]])
    figure, grid = page(5.6, 3, len(poses))
    front, side = (_seen(poses, view) for view in ("front", "left side"))
    boxes = (common_box(images[:, 0], images[:, 1], 0.2), common_box(*front[:2]), common_box(*side[:2]))
    for column, (pose, image) in enumerate(zip(poses, images, strict=True)):
        panels, colour = grid[:, column], None if column else _TRUE_COLOUR
        if column:
            draw_skeleton(panels[0], image[0], image[1], pose[:, 2], _DRAWING)
        draw_points(panels[0], observed[0], observed[1])
        _draw_body(panels[1], pose, "front", colour)
        _draw_body(panels[2], pose, "left side", colour)
        for axis, box in zip(panels, boxes, strict=True):
            _finish(axis, box)
        panels[0].set_title(f"sample {column}" if column else "true pose")
    for axis, name in zip(grid[:, 0], ("image", "front", "left side"), strict=True):
        axis.set_ylabel(name)
    figure.legend(handles=_side_handles(circles=True), loc="outside upper center", ncols=4)
    return footer(figure, tables, *_lengths(tables, ["monocular"]))


def scenes(tables: Tables) -> Figure:
    """The scenes: true poses and their images."""
    images = {(s, camera): _scene_image(tables, s, camera) for s in (1, 2, 3) for camera in (1, 2)}
    poses = _true_poses(tables)
    figure, grid = page(6.0, 3, 5)
    for scene, panels in enumerate(grid, start=1):
        for axis, view in zip(panels, _VIEWS, strict=False):
            _draw_body(axis, poses.sel(scene=scene).values, view)
            clean_axis(axis)
            axis.margins(0.1)
        for camera in (1, 2):
            _draw_image(panels[2 + camera], images[scene, camera])
        panels[0].set_ylabel(f"scene {scene}")
    for axis, name in zip(grid[0], (*_VIEWS, "camera 1", "camera 2"), strict=True):
        axis.set_title(name)
    figure.legend(handles=_side_handles(circles=False), loc="outside upper center", ncols=3)
    return footer(figure, tables, *_lengths(tables, ["constrained_hmc"]))


def prior_poses(tables: Tables) -> Figure:
    """Poses drawn from the prior."""
    poses = _poses(tables, "prior_position", "prior_pose", case="constrained_hmc").values
    n_columns = 6
    figure, grid = page(3.4, -(-len(poses) // n_columns), n_columns)
    lows, highs = poses.min(axis=1), poses.max(axis=1)
    widest, tallest, _ = (highs - lows).max(axis=0)
    half = 0.5 * widest + 0.1
    for axis, pose, low, high in zip(np.ravel(grid), poses, lows, highs, strict=False):
        _draw_body(axis, pose, "front")
        middle = 0.5 * (high[0] + low[0])
        _finish(axis, ((-middle - half, -middle + half), (low[1] - 0.12, low[1] + tallest + 0.15)))
    figure.legend(handles=_side_handles(circles=False), loc="outside upper center", ncols=3)
    prior = tables.setting("prior", case="constrained_hmc")
    return footer(figure, tables, f"prior={prior}", f"{len(poses)} draws")


def modes(tables: Tables) -> Figure:
    """Mean pose of each chain by scene and method."""
    true = _true_poses(tables)
    means = {name: _poses(tables, "mean_position", "scene", "chain", case=name) for name in _COMPARED}
    figure, grid = page(5.6, 3, 4)
    for scene, row in enumerate(grid, start=1):
        for name, panels in zip(_COMPARED, (row[:2], row[2:]), strict=True):
            pose, chains = (array.sel(scene=scene).values for array in (true, means[name]))
            for axis, view in zip(panels, ("front", "left side"), strict=True):
                for index, chain in enumerate(chains):
                    _draw_outline(axis, chain, view, _chain_colour(index), 1.4)
                _draw_outline(axis, pose, view, _TRUE_COLOUR, 0.9)
                across, up, _ = _seen(np.stack([pose, *chains]), view)
                _finish(axis, common_box(across, up, 0.1))
                if scene == 1:
                    axis.set_title(f"{_METHODS[name][0]}, {view.removeprefix('left ')}")
        row[0].set_ylabel(f"scene {scene}")
    handles = [Line2D([], [], color=_TRUE_COLOUR, linewidth=2.0, label="true pose")]
    handles += [
        Line2D([], [], color=_chain_colour(i), linewidth=2.0, label=f"chain {i + 1}")
        for i in range(max(mean.sizes["chain"] for mean in means.values()))
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 6))
    return footer(figure, tables, *_lengths(tables, _COMPARED))


def step_sizes(tables: Tables) -> Figure:
    """Acceptance rate of HMC against its step size."""
    figure, axis = page(2.6, width=0.65 * PAGE_WIDTH_IN)
    colours = (_METHODS["hmc"][1], CYCLE[0])
    many = tables.rows("chain", case="steps")
    steps = np.sort(many["step_size"].unique())
    used_step = tables.value("step_size_used", case="one_step")
    one = [
        tables.rows("chain", case="one_step").assign(step_size=used_step),
        tables.rows("chain", case="one_step_larger"),
    ]
    for rows, colour, marker in zip((many, pd.concat(one)), colours, "os", strict=True):
        chains: dict[str, Any] = {"x": "step_size", "y": "acceptance", "color": colour, "ax": axis}
        sns.lineplot(rows, errorbar=None, **chains)
        sns.scatterplot(rows, alpha=0.6, linewidth=0.0, s=20.0, marker=marker, **chains)
    used = PublishedMarks("human_pose", tables)("IM-PO-04", "step size")
    published_level(axis, used, vertical=True)
    axis.set_xscale("log")
    axis.set_xticks(steps, [f"{step * 1e4:g}" for step in steps])
    axis.minorticks_off()
    axis.set(ylim=(-0.03, 1.05), xlabel=r"step size of HMC ($10^{-4}$)", ylabel="acceptance rate of a chain")
    handles = [
        Line2D([], [], color=colours[0], marker="o", label="100 to 200 steps"),
        Line2D([], [], color=colours[1], marker="s", label="1 step"),
    ]
    if used is not None:
        handles.append(published_entry(used.document, "its step size", level=True))
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return footer(figure, tables, *_lengths(tables, ["steps", "one_step", "one_step_larger"]))


def notebook(tables: Tables) -> Figure:
    """Error of the mean pose against run time at the settings of the notebook."""
    figure, axis = page(2.9, width=0.75 * PAGE_WIDTH_IN)
    cases = {name: f"notebook_{name}" for name in _METHODS}
    _error_panel(axis, tables, cases, 1, last=True)
    axis.set_title("scene 1")
    _method_legend(figure, tables, cases)
    return footer(figure, tables, *_lengths(tables, list(cases.values())))


DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_4_14": errors,
    "fig_4_15": monocular,
    "fig_scenes": scenes,
    "fig_prior": prior_poses,
    "fig_modes": modes,
    "fig_steps": step_sizes,
    "fig_notebook": notebook,
}


def _error_panel(
    axis: Axes,
    tables: Tables,
    cases: Mapping[str, str],
    scene: int,
    *,
    last: bool,
    published: PublishedMarks | None = None,
) -> None:
    """Curves of the methods, with bands over chains; `cases` maps methods to cases.

    With `published`, the thesis's levels at the end of its chains, and errors over four rows as there.
    """
    drawn_there = []
    quantity = "rmse" if published is None else "rmse_homogeneous"
    for method, case in cases.items():
        # The other cases run the first scene alone.
        where: dict[str, Any] = {"case": case, "scene": scene} if case in _COMPARED else {"case": case}
        rows = tables.rows("chain_point", quantity, **where)
        label, colour, style = _METHODS[method]
        # Chains have nearly equal times: the mean serves all.
        rows = rows.assign(seconds=rows.groupby("point")["time_s"].transform("mean"))
        look = {"color": colour, "linestyle": style, "err_kws": {"linewidth": 0.0}}
        sns.lineplot(rows, x="seconds", y=quantity, errorbar=("pi", 100), legend=False, ax=axis, **look)
        if published is not None and (there := published.curve("4.14", f"{method} {scene}")) is not None:
            # At the same iteration: seconds of the thesis are those of its machine.
            drawn_there.append((rows["seconds"].max() * there.x / there.x[-1], there, colour))
            published_level(axis, published("IM-PO-03", f"{label} scene {scene}"), colour=colour)
    axis.set_yscale("log")
    axis.set_xlim(left=0.0)
    for x, there, colour in drawn_there:
        ends = there.low, there.high
        published_curve(axis, x, there.y, ends, document=_DOCUMENT, colour=colour, note="its scenes")
    low, high = axis.get_ylim()
    # A range of less than a decade would have hardly a tick that is labelled.
    for digits in ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        ticks = [digit * 10.0**power for power in range(-4, 2) for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) > 1:
            break
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.set_ylim(low, high)
    axis.set(xlabel="run time of a chain (s)" if last else "", ylabel="RMSE of joints (m)")


def _draw_image(axis: Axes, image: FloatArray) -> None:
    """Observed joints in one camera [2, joint], joined by thin lines."""
    _draw_bones(axis, image, color="#BBBBBB", linewidth=1.0, zorder=1.0)
    draw_points(axis, *image)
    axis.set_aspect("equal")
    axis.margins(0.12)
    clean_axis(axis)


def _draw_body(axis: Axes, pose: FloatArray, view: str, colour: str | None = None) -> None:
    ground = None if view == "from above" else float(pose[:, 1].min()) - 0.04
    draw_skeleton(axis, *_seen(pose, view), _DRAWING, ground=ground, colour=colour)


def _draw_outline(axis: Axes, pose: FloatArray, view: str, colour: str, width: float) -> None:
    look = {"color": colour, "linewidth": width, "solid_capstyle": "round", "alpha": 0.9}
    _draw_bones(axis, _seen(pose, view), **look)


def _draw_bones(axis: Axes, points: Sequence[FloatArray] | FloatArray, **look: Any) -> None:
    for a, b in _DRAWING.bones:
        axis.plot([points[0][a], points[0][b]], [points[1][a], points[1][b]], **look)


def _finish(axis: Axes, box: tuple[tuple[float, float], tuple[float, float]]) -> None:
    axis.set_aspect("equal")
    axis.set(xlim=box[0], ylim=box[1])
    clean_axis(axis)


def _seen(poses: FloatArray, view: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Coordinates across, up and away in a view [..., joint], of poses [..., joint, 3]."""
    across, up, away = (sign * poses[..., axis] for sign, axis in _VIEWS[view])
    return across, up, away


def _chain_colour(index: int) -> str:
    return CYCLE[index % (len(CYCLE) - 1)]


def _poses(tables: Tables, quantity: str, *dims: str, **wanted: Wanted) -> xr.DataArray:
    """Joint positions [..., joint, 3] in the order of the skeleton; scenes have no table of their own."""
    name = "_".join([*(dim for dim in dims if dim != "scene"), "joint", "axis"])
    return tables.array(quantity, *dims, "joint", "axis", table=name, **wanted)


def _true_poses(tables: Tables) -> xr.DataArray:
    return _poses(tables, "true_position", "scene", case="constrained_hmc")


def _images(tables: Tables, quantity: str, *dims: str, **wanted: Wanted) -> xr.DataArray:
    """Image coordinates [..., 2, joint] in the order of the skeleton."""
    return tables.array(quantity, *dims, "image_axis", "joint", table="", **wanted)


def _scene_image(tables: Tables, scene: int, view: int) -> FloatArray:
    """Observed joints of a scene in one camera [2, joint]."""
    return _images(tables, "observed", "view", case="constrained_hmc", scene=scene).sel(view=view).values


def _method_legend(
    figure: Figure, tables: Tables, cases: Mapping[str, str], more: Sequence[Line2D] = ()
) -> None:
    """Legend of the methods whose cases the tables have; `cases` maps methods to cases."""
    handles = [
        Line2D([], [], color=colour, linestyle=style, label=label)
        for name, (label, colour, style) in _METHODS.items()
        if cases.get(name) in set(tables["settings"]["case"])
    ]
    if handles:
        handles += more
        figure.legend(handles=handles, loc="outside upper right", ncols=min(len(handles), 2))


def _side_handles(*, circles: bool) -> list[Line2D]:
    handles = [Line2D([], [], color=c, linewidth=2.6, label=side) for side, c in SIDE_COLOURS.items()]
    ring: dict[str, Any] = {"marker": "o", "markerfacecolor": "none", "markeredgecolor": "black"}
    return [*handles, Line2D([], [], linestyle="none", label="observed", **ring)] if circles else handles


def _lengths(tables: Tables, cases: Sequence[str]) -> list[str]:
    parts = []
    for case in cases:
        with suppress(MissingData):
            chains, draws = (tables.setting(name, case=case) for name in ("n_chains", "n_draws"))
            still = tables.rows("point", case=case)["n_chains_still"].sum()
            stuck = f", {still:.0f} of them never moved" if still else ""
            parts.append(f"{readable(case)}: {chains} chains of {draws} iterations{stuck}")
    return parts
