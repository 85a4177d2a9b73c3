"""Figures of the study, drawn from its two tables."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from auxmc.data.skeleton import DRAWN_BONES, JOINT_NAMES
from auxmc.numerics.array_types import FloatArray
from auxmc.plots.panels import missing_panel, preset_note
from auxmc.plots.skeletons import SIDE_COLOURS, Drawing, clean_axis, common_box, draw_points, draw_skeleton
from auxmc.plots.style import CYCLE, PAGE_WIDTH_IN, readable
from auxmc_pipeline.lookup import find, scalar

_NOT_RUN = "not run at this preset"
_AXES = ["x", "y", "z"]
_JOINTS = list(JOINT_NAMES)
_METHODS: dict[str, tuple[str, str, Any]] = {
    "constrained_hmc": ("constrained HMC", "#009E73", "-"),
    "hmc": ("HMC", "#D55E00", "--"),
    "hierarchical_hmc": ("HMC, hierarchical state", "#0072B2", "-."),
}
_TRUE_COLOUR = "#000000"
_LINE_WIDTH = 2.6


def _side(bone: tuple[int, int]) -> str:
    # A bone belongs to the side of its far end.
    side = JOINT_NAMES[bone[1]].partition("_")[0]
    return side if side in SIDE_COLOURS else "trunk"


_DRAWING = Drawing(DRAWN_BONES, [_side(bone) for bone in DRAWN_BONES], (1, 2))


def errors(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 4.14: images of the scenes, and error of the mean pose against run time."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 6.4), layout="constrained")
    grid = figure.subplots(3, 3, width_ratios=[1.0, 1.0, 1.9])
    images = find(curves, "constrained_hmc", "observed", "scene", "view", "image_axis", "joint")
    for row in range(3):
        scene = row + 1
        for column in range(2):
            axis = grid[row, column]
            if images is None:
                missing_panel(axis, _NOT_RUN)
                continue
            _draw_image(axis, images.sel(scene=scene, view=column + 1))
            if row == 0:
                axis.set_title(f"camera {column + 1}")
            if column == 0:
                axis.set_ylabel(f"scene {scene}")
        cases = {name: name for name in ("constrained_hmc", "hmc")}
        _error_panel(grid[row, 2], curves, cases, scene, last=row == 2)
    _method_legend(figure, summary, {name: name for name in ("constrained_hmc", "hmc")})
    preset_note(figure, _note(summary, ["constrained_hmc", "hmc"]))
    return figure


def monocular(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 4.15: true pose and samples given one image."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 5.6), layout="constrained")
    found = (
        find(curves, "monocular", "observed", "view", "image_axis", "joint"),
        find(curves, "monocular", "true_position", "joint", "axis"),
        find(curves, "monocular", "sample_position", "chain", "sample", "joint", "axis"),
        find(curves, "monocular", "sample_image", "chain", "sample", "view", "image_axis", "joint"),
    )
    images, true, samples, sample_images = found
    if images is None or true is None or samples is None or sample_images is None:
        missing_panel(figure.subplots(), _NOT_RUN)
        return figure
    first = samples.isel(chain=0)
    poses = [_pose(true), *(_pose(first.isel(sample=i)) for i in range(first.sizes["sample"]))]
    observed = _image(images.isel(view=0))
    drawn = [
        observed,
        *(_image(sample_images.isel(chain=0, sample=i, view=0)) for i in range(first.sizes["sample"])),
    ]
    grid = figure.subplots(3, len(poses))
    all_poses, all_images = np.stack(poses), np.stack(drawn)
    image_box = common_box(all_images[:, 0], all_images[:, 1], 0.2)
    front_box = common_box(-all_poses[:, :, 0], all_poses[:, :, 1])
    side_box = common_box(all_poses[:, :, 2], all_poses[:, :, 1])
    for column, (pose, image) in enumerate(zip(poses, drawn, strict=True)):
        colour = _TRUE_COLOUR if column == 0 else None
        if column:
            draw_skeleton(grid[0, column], image[0], image[1], pose[:, 2], _DRAWING)
        draw_points(grid[0, column], observed[0], observed[1])
        _draw_front(grid[1, column], pose, colour)
        _draw_side(grid[2, column], pose, colour)
        for row, box in enumerate((image_box, front_box, side_box)):
            _finish(grid[row, column], box)
        grid[0, column].set_title("true pose" if column == 0 else f"sample {column}")
    for row, name in enumerate(("image", "front", "left side")):
        grid[row, 0].set_ylabel(name)
    figure.legend(handles=_side_handles(circles=True), loc="outside upper center", ncols=4)
    preset_note(figure, _note(summary, ["monocular"]))
    return figure


def scenes(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The scenes: true poses and their images."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 6.0), layout="constrained")
    images = find(curves, "constrained_hmc", "observed", "scene", "view", "image_axis", "joint")
    true = find(curves, "constrained_hmc", "true_position", "scene", "joint", "axis")
    if images is None or true is None:
        missing_panel(figure.subplots(), _NOT_RUN)
        return figure
    grid = figure.subplots(3, 5)
    for row in range(3):
        pose = _pose(true.sel(scene=row + 1))
        _draw_front(grid[row, 0], pose, None)
        _draw_side(grid[row, 1], pose, None)
        draw_skeleton(grid[row, 2], -pose[:, 0], -pose[:, 2], pose[:, 1], _DRAWING, width=_LINE_WIDTH)
        for column in (0, 1, 2):
            clean_axis(grid[row, column])
            grid[row, column].margins(0.1)
        for view in (1, 2):
            _draw_image(grid[row, 2 + view], images.sel(scene=row + 1, view=view))
        grid[row, 0].set_ylabel(f"scene {row + 1}")
    for column, name in enumerate(("front", "left side", "from above", "camera 1", "camera 2")):
        grid[0, column].set_title(name)
    figure.legend(handles=_side_handles(circles=False), loc="outside upper center", ncols=3)
    preset_note(figure, _note(summary, ["constrained_hmc"]))
    return figure


def prior_poses(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Poses drawn from the prior."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.4), layout="constrained")
    poses = find(curves, "constrained_hmc", "prior_position", "prior_pose", "joint", "axis")
    if poses is None:
        missing_panel(figure.subplots(), _NOT_RUN)
        return figure
    n_columns = 6
    grid = figure.subplots(-(-poses.sizes["prior_pose"] // n_columns), n_columns)
    every = [_pose(poses.isel(prior_pose=i)) for i in range(poses.sizes["prior_pose"])]
    heights = [pose[:, 1].max() - pose[:, 1].min() for pose in every]
    widths = [pose[:, 0].max() - pose[:, 0].min() for pose in every]
    for axis, pose in zip(np.ravel(grid), every, strict=False):
        _draw_front(axis, pose, None)
        middle, low = 0.5 * (pose[:, 0].max() + pose[:, 0].min()), pose[:, 1].min()
        half = 0.5 * max(widths) + 0.1
        _finish(axis, ((-middle - half, -middle + half), (low - 0.12, low + max(heights) + 0.15)))
    figure.legend(handles=_side_handles(circles=False), loc="outside upper center", ncols=3)
    prior = scalar(summary, "constrained_hmc", "prior")
    preset_note(figure, f"prior={prior}; {len(every)} draws")
    return figure


def modes(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Mean pose of each chain by scene and method."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 5.6), layout="constrained")
    true = find(curves, "constrained_hmc", "true_position", "scene", "joint", "axis")
    means = {
        name: find(curves, name, "mean_position", "scene", "chain", "joint", "axis")
        for name in ("constrained_hmc", "hmc")
    }
    if true is None or all(mean is None for mean in means.values()):
        missing_panel(figure.subplots(), _NOT_RUN)
        return figure
    grid = figure.subplots(3, 4)
    for row in range(3):
        pose = _pose(true.sel(scene=row + 1))
        for half, (name, mean) in enumerate(means.items()):
            panels = grid[row, 2 * half : 2 * half + 2]
            if mean is None:
                for axis in panels:
                    missing_panel(axis, _NOT_RUN)
                continue
            chains = [_pose(mean.sel(scene=row + 1).isel(chain=i)) for i in range(mean.sizes["chain"])]
            _draw_means(panels[0], panels[1], pose, chains)
            if row == 0:
                label = _METHODS[name][0]
                panels[0].set_title(f"{label}, front")
                panels[1].set_title(f"{label}, side")
        grid[row, 0].set_ylabel(f"scene {row + 1}")
    handles = [Line2D([], [], color=_TRUE_COLOUR, linewidth=2.0, label="true pose")]
    n_chains = max(mean.sizes["chain"] for mean in means.values() if mean is not None)
    handles += [
        Line2D([], [], color=CYCLE[i % (len(CYCLE) - 1)], linewidth=2.0, label=f"chain {i + 1}")
        for i in range(n_chains)
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 6))
    preset_note(figure, _note(summary, list(means)))
    return figure


def step_sizes(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Accept rate of HMC against its step size."""
    figure = Figure(figsize=(0.65 * PAGE_WIDTH_IN, 2.6), layout="constrained")
    axis = figure.subplots()
    many = find(summary, "steps", "acceptance", "step_size", "chain")
    one = find(summary, "one_step", "acceptance", "chain")
    if many is None:
        missing_panel(axis, _NOT_RUN)
        return figure
    steps = many["step_size"].values.astype(float)
    axis.plot(steps, many.mean("chain").values, color=_METHODS["hmc"][1])
    axis.plot(steps, many.transpose("step_size", "chain").values, "o", color=_METHODS["hmc"][1], alpha=0.6)
    if one is not None:
        place = float(str(find(summary, "one_step", "step_size_used").values))  # type: ignore[union-attr]
        axis.plot(np.full(one.size, place), one.values, "s", color=CYCLE[0], alpha=0.6, markersize=5.0)
    axis.set_xscale("log")
    axis.set_xticks(steps, [f"{step * 1e4:g}" for step in steps])
    axis.minorticks_off()
    axis.set_ylim(-0.03, 1.05)
    axis.set_xlabel(r"step size of HMC ($10^{-4}$)")
    axis.set_ylabel("accept rate of a chain")
    handles = [
        Line2D([], [], color=_METHODS["hmc"][1], marker="o", label="100 to 200 steps"),
        Line2D([], [], color=CYCLE[0], marker="s", linestyle="none", label="1 step"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    preset_note(figure, _note(summary, ["steps", "one_step"]))
    return figure


def notebook(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Error of the mean pose against run time at the settings of the notebook."""
    figure = Figure(figsize=(0.75 * PAGE_WIDTH_IN, 2.9), layout="constrained")
    axis = figure.subplots()
    cases = {name: f"notebook_{name}" for name in _METHODS}
    _error_panel(axis, curves, cases, 1, last=True)
    axis.set_title("scene 1")
    _method_legend(figure, summary, cases)
    preset_note(figure, _note(summary, list(cases.values())))
    return figure


DRAW: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Figure]] = {
    "fig_4_14": errors,
    "fig_4_15": monocular,
    "fig_scenes": scenes,
    "fig_prior": prior_poses,
    "fig_modes": modes,
    "fig_steps": step_sizes,
    "fig_notebook": notebook,
}


# --- panels --------------------------------------------------------------------------------------------


def _error_panel(
    axis: Axes, curves: pd.DataFrame, cases: Mapping[str, str], scene: int, *, last: bool
) -> None:
    """Curves of the methods, with bands from the smallest to the largest chain; `cases` maps methods to cases."""
    drawn = False
    for method, case in cases.items():
        rmse, time_s = (_by_scene(curves, case, name, scene) for name in ("rmse", "time_s"))
        if rmse is None or time_s is None:
            continue
        drawn = True
        _, colour, style = _METHODS[method]
        # Chains have nearly equal times: the mean serves all.
        seconds = time_s.mean("chain").values
        values = rmse.transpose("chain", "point").values
        axis.plot(seconds, values.mean(axis=0), color=colour, linestyle=style)
        low, high = values.min(axis=0), values.max(axis=0)
        axis.fill_between(seconds, low, high, color=colour, alpha=0.2, linewidth=0.0)
    if not drawn:
        missing_panel(axis, _NOT_RUN)
        return
    axis.set_yscale("log")
    axis.set_xlim(left=0.0)
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
    axis.set_ylabel("RMSE of joints (m)")
    if last:
        axis.set_xlabel("run time of a chain (s)")


def _draw_image(axis: Axes, image: xr.DataArray) -> None:
    """Observed joints in one camera, joined by thin lines."""
    across, up = _image(image)
    for a, b in _DRAWING.bones:
        axis.plot([across[a], across[b]], [up[a], up[b]], color="#BBBBBB", linewidth=1.0, zorder=1.0)
    draw_points(axis, across, up)
    axis.set_aspect("equal")
    axis.margins(0.12)
    clean_axis(axis)


def _draw_front(axis: Axes, pose: FloatArray, colour: str | None) -> None:
    ground = float(pose[:, 1].min()) - 0.04
    # As in the images, the left side of the body is on the left.
    draw_skeleton(
        axis, -pose[:, 0], pose[:, 1], pose[:, 2], _DRAWING, ground=ground, colour=colour, width=_LINE_WIDTH
    )


def _draw_side(axis: Axes, pose: FloatArray, colour: str | None) -> None:
    ground = float(pose[:, 1].min()) - 0.04
    draw_skeleton(
        axis, pose[:, 2], pose[:, 1], pose[:, 0], _DRAWING, ground=ground, colour=colour, width=_LINE_WIDTH
    )


def _draw_means(front: Axes, side: Axes, pose: FloatArray, chains: list[FloatArray]) -> None:
    everything = np.stack([pose, *chains])
    for axis, column, sign in ((front, 0, -1.0), (side, 2, 1.0)):
        for index, chain in enumerate(chains):
            colour = CYCLE[index % (len(CYCLE) - 1)]
            _plain_skeleton(axis, sign * chain[:, column], chain[:, 1], colour, 1.4)
        _plain_skeleton(axis, sign * pose[:, column], pose[:, 1], _TRUE_COLOUR, 0.9)
        _finish(axis, common_box(sign * everything[:, :, column], everything[:, :, 1], 0.1))


def _plain_skeleton(axis: Axes, across: FloatArray, up: FloatArray, colour: str, width: float) -> None:
    for a, b in _DRAWING.bones:
        axis.plot(
            [across[a], across[b]],
            [up[a], up[b]],
            color=colour,
            linewidth=width,
            solid_capstyle="round",
            alpha=0.9,
        )


def _finish(axis: Axes, box: tuple[tuple[float, float], tuple[float, float]]) -> None:
    axis.set_aspect("equal")
    axis.set_xlim(*box[0])
    axis.set_ylim(*box[1])
    clean_axis(axis)


# --- from the tables -----------------------------------------------------------------------------------


def _pose(positions: xr.DataArray) -> FloatArray:
    """Joint positions [joint, 3] in the order of the skeleton."""
    values: FloatArray = positions.sel(joint=_JOINTS, axis=_AXES).transpose("joint", "axis").values
    return values


def _image(image: xr.DataArray) -> FloatArray:
    """Image coordinates [2, joint] in the order of the skeleton."""
    values: FloatArray = (
        image.sel(joint=_JOINTS, image_axis=_AXES[:2]).transpose("image_axis", "joint").values
    )
    return values


def _by_scene(curves: pd.DataFrame, case: str, quantity: str, scene: int) -> xr.DataArray | None:
    """A curve of a case at a scene, whether the case runs one scene or several."""
    dims = ("chain", "point") if quantity == "time_s" or quantity.startswith("rmse") else ("chain",)
    rows = curves[curves["case"] == case] if "case" in curves else curves.iloc[:0]
    if rows.empty or "scene" not in rows:
        return None
    return find(rows[rows["scene"] == scene], case, quantity, *dims)


def _method_legend(figure: Figure, summary: pd.DataFrame, cases: Mapping[str, str]) -> None:
    """Legend of the methods whose cases the tables have; `cases` maps methods to cases."""
    handles = [
        Line2D([], [], color=_METHODS[name][1], linestyle=_METHODS[name][2], label=_METHODS[name][0])
        for name, case in cases.items()
        if scalar(summary, case, "preset") is not None
    ]
    if handles:
        figure.legend(handles=handles, loc="outside upper right", ncols=len(handles))


def _side_handles(*, circles: bool) -> list[Line2D]:
    handles = [Line2D([], [], color=SIDE_COLOURS[side], linewidth=2.6, label=side) for side in SIDE_COLOURS]
    if circles:
        handles.append(
            Line2D(
                [],
                [],
                linestyle="none",
                marker="o",
                markerfacecolor="none",
                markeredgecolor="black",
                label="observed",
            )
        )
    return handles


def _note(summary: pd.DataFrame, cases: list[str]) -> str:
    parts = []
    for case in cases:
        chains, draws = scalar(summary, case, "n_chains"), scalar(summary, case, "n_draws")
        if chains is None:
            continue
        still = summary[(summary["case"] == case) & (summary["quantity"] == "n_chains_still")]["value"].sum()
        stuck = f", {still:.0f} of them never moved" if still else ""
        parts.append(f"{readable(case)}: {chains} chains of {draws} iterations{stuck}")
    preset = summary["preset"].iloc[0] if "preset" in summary and len(summary) else "unknown"
    return "; ".join([f"preset {preset}", *parts])
