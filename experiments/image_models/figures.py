"""Figures of the study, drawn from its two tables alone."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.panels import band_curve, missing_panel, preset_note
from auxmc.plots.style import CYCLE, METHOD_COLOURS, METHOD_LABELS, PAGE_WIDTH_IN, QUANTITY_COLOURS
from auxmc_pipeline.lookup import MissingData, rows_of
from experiments.image_models.lookup import models_in, running_estimate, value_of

_TITLES = {
    "own_digits": "digits",
    "own_glyphs": "characters",
    "mnist": "MNIST (published model)",
    "omniglot": "Omniglot (published model)",
}
_REFERENCE = QUANTITY_COLOURS["reference"]
_N_ROWS = 25
_N_PAIRS = 3
# Room below the lowest final estimate, as a part of the range of the final estimates.
_DEPTH = 0.35


def test_images(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 5.3."""
    models = models_in(summary)
    figure = Figure(figsize=(PAGE_WIDTH_IN, 0.3 + 4.6 * max(1, len(models))), layout="constrained")
    for axis, model in zip(np.atleast_1d(figure.subplots(max(1, len(models)))), models or [""], strict=True):
        try:
            rows = rows_of(curves, "image_rows", model=model).drop_duplicates(["image", "row"])
        except MissingData as missing:
            missing_panel(axis, str(missing))
            continue
        packed = rows.pivot(index="image", columns="row", values="value").sort_index().to_numpy(float)
        _mosaic(axis, unpacked(packed), _N_ROWS)
        axis.set_title(f"{_TITLES[model]}, {len(packed)} images")
    return figure


def _estimates(horizontal: str, label: str) -> Callable[[pd.DataFrame, pd.DataFrame], Figure]:
    """Figure 5.4 against seconds or gradients."""

    def draw(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
        models = models_in(summary)
        n_rows = max(1, -(-len(models) // 2))
        figure = Figure(figsize=(PAGE_WIDTH_IN, 0.6 + 2.7 * n_rows), layout="constrained")
        axes = figure.subplots(n_rows, min(2, max(1, len(models))), squeeze=False).ravel()
        entries: dict[str, Artist] = {}
        for axis, model in zip(axes, models or [""], strict=False):
            try:
                _estimate_panel(axis, summary, curves, model, horizontal)
            except MissingData as missing:
                missing_panel(axis, str(missing))
                continue
            axis.set_xlabel(label)
            axis.set_title(f"{_TITLES[model]}, {value_of(summary, model, 'n_images_used'):.0f} images")
            entries |= dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
        for axis in axes[max(1, len(models)) :]:
            axis.set_axis_off()
        axes[0].set_ylabel("joint log evidence (nats)")
        if entries:
            figure.legend(list(entries.values()), list(entries), loc="outside upper center", ncols=4)
        _note(figure, summary)
        return figure

    return draw


def _estimate_panel(
    axis: Axes, summary: pd.DataFrame, curves: pd.DataFrame, model: str, horizontal: str
) -> None:
    lower, upper, loose = (
        value_of(summary, model, f"joint_{name}") for name in ("lower", "upper", "upper_arithmetic")
    )
    ends, right = [], 0.0
    for method in ("st", "gibbs_ct", "ct_hmc"):
        try:
            running = running_estimate(curves, model, method)
        except MissingData:
            continue
        points = getattr(running, horizontal)
        band_curve(
            axis,
            points,
            running.mean,
            3.0 * running.error,
            colour=METHOD_COLOURS[method],
            label=METHOD_LABELS[method],
        )
        ends += [running.mean[-1] - 3.0 * running.error[-1], running.mean[-1] + 3.0 * running.error[-1]]
        right = max(right, points[-1])
    try:
        rows = {
            name: rows_of(summary, f"ais_{name}", model=model).sort_values("n_temperatures")
            for name in (
                "joint_mean",
                "joint_error",
                horizontal if horizontal == "seconds" else "n_gradients",
            )
        }
    except MissingData:
        rows = {}
    if rows:
        mean, error, place = (table["value"].to_numpy(float) for table in rows.values())
        axis.errorbar(
            place,
            mean,
            yerr=3.0 * error,
            color=METHOD_COLOURS["ais"],
            marker="s",
            linestyle="none",
            label="AIS",
        )
        for x, y, count in zip(place, mean, rows["joint_mean"]["n_temperatures"], strict=True):
            axis.annotate(f"{count:.0f}", (x, y), xytext=(4, -9), textcoords="offset points", fontsize=6.5)
        ends += [*(mean - 3.0 * error), *(mean + 3.0 * error)]
        right = max(right, place[-1])
    axis.axhline(lower, color=_REFERENCE, linewidth=1.0, label="lower bound")
    axis.axhline(upper, color=_REFERENCE, linewidth=1.0, linestyle="--", label="upper bound")
    axis.axhline(loose, color=_REFERENCE, linewidth=1.0, linestyle=":", label="upper bound, published form")
    if not ends:
        raise MissingData(f"estimates for model {model}: not run at this preset")
    # Estimates of the first iterations lie far below and would hide the rest.
    low, high = min([lower, *ends]), max([upper, loose, *ends])
    depth = max(high - low, 1e-3)
    axis.set_ylim(low - _DEPTH * depth, high + 0.1 * depth)
    axis.set_xlim(0.0, 1.06 * right)


def own_models(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Training, and what the models that ship with the package make of images that they were not trained on."""
    models = [model for model in models_in(summary) if model.startswith("own_")]
    figure = Figure(figsize=(PAGE_WIDTH_IN, 0.3 + 2.5 * max(1, len(models))), layout="constrained")
    grid = figure.subplots(max(1, len(models)), 2, squeeze=False, width_ratios=[1.0, 1.5])
    for (left, right), model in zip(grid, models or [""], strict=True):
        try:
            for name, label, style in (
                ("objective", "trained on", "-"),
                ("held_out", "held out", "--"),
            ):
                rows = rows_of(curves, f"training_{name}", model=model).drop_duplicates("epoch")
                rows = rows.dropna(subset="value").sort_values("epoch")
                left.plot(rows["epoch"] + 1, rows["value"], style, color=CYCLE[0], label=label)
            images = [
                rows_of(curves, name, model=model)
                .drop_duplicates(["example", "pixel"])
                .pivot(index="example", columns="pixel", values="value")
                .to_numpy(float)
                for name in ("example_image", "example_reconstruction")
            ]
        except MissingData as missing:
            missing_panel(left, str(missing))
            missing_panel(right, str(missing))
            continue
        left.set(xlabel="epoch", ylabel="bound (nats per image)", title=f"{_TITLES[model]}: training")
        left.set_xscale("log")
        left.legend(loc="lower right")
        left.xaxis.set_major_formatter("{x:.0f}")
        # Down a column: an image, its reconstruction, the next image.
        _mosaic(right, np.stack(images, axis=1).reshape(-1, images[0].shape[1]), 2 * _N_PAIRS)
        right.set_title("images (odd rows) and reconstructions (even rows)")
    _note(figure, summary)
    return figure


DRAW: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Figure]] = {
    "fig_5_3": test_images,
    "fig_5_4": _estimates("seconds", "run time of a repetition (s)"),
    "fig_gradients": _estimates("gradients", "gradient evaluations of a repetition"),
    "fig_models": own_models,
}


def unpacked(rows: FloatArray) -> FloatArray:
    """Images [image, pixel] of 0 and 1 from rows of pixels as whole numbers [image, row]."""
    side = rows.shape[1]
    digits = np.floor(rows[..., None] / 2.0 ** np.arange(side)[::-1]) % 2.0
    return digits.reshape(len(rows), side * side)


def _mosaic(axis: Axes, images: FloatArray, n_rows: int) -> None:
    """Images without gaps, image i in row i mod n_rows and column i div n_rows."""
    side = round(images.shape[1] ** 0.5)
    n_columns = -(-len(images) // n_rows)
    blank = np.zeros((n_rows * n_columns - len(images), images.shape[1]))
    cells = np.concatenate([images, blank]).reshape(n_columns, n_rows, side, side)
    picture = cells.transpose(1, 2, 0, 3).reshape(n_rows * side, n_columns * side)
    axis.imshow(1.0 - picture, cmap="gray", vmin=0.0, vmax=1.0, interpolation="antialiased")
    axis.set_xticks([])
    axis.set_yticks([])
    for spine in axis.spines.values():
        spine.set_visible(True)


def _note(figure: Figure, summary: pd.DataFrame) -> None:
    if summary.empty:
        return
    first = summary.iloc[0]
    preset_note(
        figure,
        f"preset {first['preset']}; {first['n_repetitions']} repetitions, each of {first['n_chains']} chains or "
        f"{first['n_runs']} annealed runs of an image",
    )
