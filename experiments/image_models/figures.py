"""Figures of the study, drawn from its tables."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import CYCLE
from auxmc_pipeline.footer import footer
from auxmc_pipeline.plots.looks import METHOD_COLOURS, METHOD_LABELS, QUANTITY_COLOURS
from auxmc_pipeline.plots.panels import band_curve, page
from auxmc_pipeline.plots.published import (
    PublishedValue,
    entries_published_last,
    published_curve,
    published_level,
    published_mark,
)
from auxmc_pipeline.published_values import (
    PublishedMarks,
    published_series,
    published_settings,
    published_value,
)
from auxmc_pipeline.tables import MissingData, Tables
from experiments.image_models.joint_estimates import (
    PUBLISHED_IMAGES,
    models_in,
    rows_of,
    running_estimate,
    value_of,
)
from experiments.image_models.model.autoencoder_weights import OWN_MODELS, PUBLISHED_MODELS

_TITLES = {
    "own_digits": "digits",
    "own_glyphs": "characters",
    "mnist": "MNIST (published model)",
    "omniglot": "Omniglot (published model)",
}
# Recorded cost of annealed runs by the cost of chains next to which it is drawn.
_ANNEALED_COST = {"seconds": "ais_seconds", "gradients": "ais_n_gradients"}
# Claims about the final estimates of chains, whose estimates the thesis has for all of its test images.
_FINAL_CLAIMS = {"gibbs_ct": "CT-C08", "ct_hmc": "CT-C09", "st": "CT-C10"}
_PUBLISHED_NOTE, _DOCUMENT = "at our cost", "PhD thesis"
_REFERENCE = QUANTITY_COLOURS["reference"]
_N_ROWS = 25
_N_PAIRS = 3
# Room below the lowest final estimate, as a part of the range of the final estimates.
_DEPTH = 0.35


def test_images(tables: Tables) -> Figure:
    """Figure 5.3."""
    models = models_in(tables)
    figure, axes = page(0.3 + 4.6 * len(models), len(models), squeeze=False)
    for axis, model in zip(axes.flat, models, strict=True):
        packed = _matrix(tables, "image_rows", model, "image", "row")
        _mosaic(axis, unpacked(packed), _N_ROWS)
        axis.set_title(f"{_TITLES[model]}, {len(packed)} images")
    return figure


def estimates(horizontal: str, label: str, tables: Tables) -> Figure:
    """Figure 5.4 against seconds or gradients."""
    models = models_in(tables)
    n_rows = -(-len(models) // 2)
    figure, grid = page(0.6 + 2.7 * n_rows, n_rows, min(2, len(models)), squeeze=False)
    axes = grid.ravel()
    entries: dict[str, Artist] = {}
    for axis, model in zip(axes, models, strict=False):
        _estimate_panel(axis, tables, model, horizontal)
        axis.set_xlabel(label)
        axis.set_title(f"{_TITLES[model]}, {value_of(tables, model, 'n_images_used'):.0f} images")
        entries |= dict(zip(*entries_published_last(axis)[::-1], strict=True))
    for axis in axes[len(models) :]:
        axis.set_axis_off()
    axes[0].set_ylabel("joint log evidence (nats)")
    figure.legend(list(entries.values()), list(entries), loc="outside upper center", ncols=4)
    return _footer(figure, tables)


def _estimate_panel(axis: Axes, tables: Tables, model: str, horizontal: str) -> None:
    lower, upper, loose = (
        value_of(tables, model, quantity)
        for quantity in ("joint_lower", "joint_upper", "joint_upper_arithmetic")
    )
    ends, right = [], 0.0
    published = _published_estimates(tables, model)
    for method in ("st", "gibbs_ct", "ct_hmc"):
        running = running_estimate(tables, model, method)
        points, mean = running[horizontal], running["mean"]
        half, colour = 3.0 * running["error"], METHOD_COLOURS[method]
        band_curve(axis, points, mean, half, colour=colour, label=METHOD_LABELS[method])
        if (there := _published_curve(tables, model, method)) is not None:
            x, y, *band = there
            place = x / x[-1] * points[-1]
            published_curve(axis, place, y, band, document=_DOCUMENT, colour=colour, note=_PUBLISHED_NOTE)
        # Chains of the thesis took other seconds: its final estimates stand at the ends of ours.
        if final := published.get(_FINAL_CLAIMS[method], {}).get(f"{model}: final"):
            published_mark(axis, points[-1], final, colour=colour, note=_PUBLISHED_NOTE)
            ends.append(final.value)
        ends += [mean[-1] - half[-1], mean[-1] + half[-1]]
        right = max(right, points[-1])
    annealed = rows_of(tables, model, "point", "ais_joint_mean").drop_duplicates("n_temperatures")
    annealed = annealed.sort_values("n_temperatures")
    mean, error, place = (
        annealed[name].to_numpy(np.float64)
        for name in ("ais_joint_mean", "ais_joint_error", _ANNEALED_COST[horizontal])
    )
    half = 3.0 * error
    axis.errorbar(place, mean, yerr=half, color=METHOD_COLOURS["ais"], fmt="s", label="AIS")
    if (there := _published_curve(tables, model, "ais")) is not None:
        x, y, *band = there
        at_k = np.interp(x, annealed["n_temperatures"], place)
        published_curve(
            axis, at_k, y, band, document=_DOCUMENT, colour=METHOD_COLOURS["ais"], note=_PUBLISHED_NOTE
        )
    # Runs of different lengths can take the same time: labels alternate between the ends of the bars.
    ends_of_bars = mean + half * np.where(np.argsort(np.argsort(place)) % 2, 1.0, -1.0)
    for x, end, count in zip(place, ends_of_bars, annealed["n_temperatures"], strict=True):
        if value := published.get("CT-C06", {}).get(f"{model}: K = {count:.0f}"):
            published_mark(axis, x, value, colour=METHOD_COLOURS["ais"], note=_PUBLISHED_NOTE)
        # Next to the end of the bar, where it hides neither bar nor point.
        look: dict[str, Any] = {"textcoords": "offset points", "ha": "left", "va": "center", "fontsize": 6.5}
        box = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.5}
        look |= {"color": METHOD_COLOURS["ais"], "bbox": box}
        axis.annotate(f"{count:.0f}", (x, end), xytext=(4.0, 0.0), **look)
    ends += [*(mean - half), *(mean + half)]
    right = max(right, place[-1])
    axis.axhline(lower, color=_REFERENCE, linewidth=1.0, label="lower bound")
    axis.axhline(upper, color=_REFERENCE, linewidth=1.0, linestyle="--", label="upper bound")
    axis.axhline(loose, color=_REFERENCE, linewidth=1.0, linestyle=":", label="upper bound, published form")
    for claim in ("CT-C03", "CT-C04"):
        if drawn := published.get(claim, {}).get(f"{model}: lower"):
            gap = published[claim][f"{model}: upper - lower"].value
            for value in (drawn, drawn._replace(value=drawn.value + gap)):
                published_level(axis, value, note="bounds")
    # Estimates of the first iterations lie far below and would hide the rest.
    low, high = min([lower, *ends]), max([upper, loose, *ends])
    depth = max(high - low, 1e-3)
    axis.set_ylim(low - _DEPTH * depth, high + 0.1 * depth)
    axis.set_xlim(0.0, 1.08 * right)
    if horizontal == "gradients":
        # A common power of ten at the end of the axis would run into its label.
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))


def _published_curve(tables: Tables, model: str, method: str) -> tuple[FloatArray, ...] | None:
    """Places, heights and ends of the band of a published curve, or None where it does not apply.

    Heights are distances from its lower bound, carried to our images. It does not apply where a run has other
    models, chains of another length, or all images.
    """
    n_images = value_of(tables, model, "n_images_used")
    lengths = tables.rows("settings", model=model)["length"]
    is_other = model not in PUBLISHED_MODELS or not PublishedMarks("image_models", tables).apply
    if is_other or n_images >= PUBLISHED_IMAGES or not (lengths >= 1.0).all():
        return None
    there = published_series("image_models", "5.4", f"{model} {method}")
    bound = published_value(
        "image_models", {"mnist": "CT-C03", "omniglot": "CT-C04"}[model], f"{model}: lower"
    )
    ours, scale = value_of(tables, model, "joint_lower"), n_images / PUBLISHED_IMAGES
    return there.x, *(ours + scale * (side - bound.value) for side in (there.y, there.low, there.high))


def _published_estimates(tables: Tables, model: str) -> dict[str, dict[str, PublishedValue]]:
    """Published joint estimates by claim and setting: of all published images, so none where fewer were used."""
    apply = PublishedMarks("image_models", tables).apply
    if not apply or value_of(tables, model, "n_images_used") != PUBLISHED_IMAGES:
        return {}
    claims = ("CT-C03", "CT-C04", "CT-C06", *_FINAL_CLAIMS.values())
    return {claim: published_settings("image_models", claim) for claim in claims}


def own_models(tables: Tables) -> Figure:
    """Training, and what the models that ship with the package make of images that they were not trained on."""
    models = [model for model in models_in(tables) if model in OWN_MODELS]
    if not models:
        raise MissingData(f"none of the models {', '.join(OWN_MODELS)}: not run at this preset")
    figure, grid = page(0.3 + 2.5 * len(models), len(models), 2, squeeze=False, width_ratios=[1.0, 1.5])
    for (left, right), model in zip(grid, models, strict=True):
        for quantity, label, style in (
            ("training_objective", "trained on", "-"),
            ("training_held_out", "held out", "--"),
        ):
            rows = rows_of(tables, model, "epoch", quantity).drop_duplicates("epoch").sort_values("epoch")
            left.plot(rows["epoch"] + 1, rows[quantity], style, color=CYCLE[0], label=label)
        images = [
            _matrix(tables, quantity, model, "example", "pixel")
            for quantity in ("example_image", "example_reconstruction")
        ]
        left.set(xlabel="epoch", ylabel="bound (nats per image)", title=f"{_TITLES[model]}: training")
        left.set_xscale("log")
        left.legend(loc="lower right")
        left.xaxis.set_major_formatter("{x:.0f}")
        # Down a column: an image, its reconstruction, the next image.
        _mosaic(right, np.stack(images, axis=1).reshape(-1, images[0].shape[1]), 2 * _N_PAIRS)
        right.set_title("images (odd rows) and reconstructions (even rows)")
    return _footer(figure, tables)


def unpacked(rows: FloatArray) -> FloatArray:
    """Images [image, pixel] of 0 and 1 from rows of pixels as integers [image, row]."""
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
    axis.imshow(1.0 - picture, cmap="gray", vmin=0.0, vmax=1.0, interpolation="none")
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(True)


def _matrix(tables: Tables, quantity: str, model: str, row: str, column: str) -> FloatArray:
    """A quantity by two dimensions; several cases of a model have the same."""
    rows = rows_of(tables, model, f"{row}_{column}", quantity).drop_duplicates([row, column])
    return rows.pivot(index=row, columns=column, values=quantity).to_numpy(np.float64)


def _footer(figure: Figure, tables: Tables) -> Figure:
    n_repetitions, n_chains, n_runs = map(tables.setting, ("n_repetitions", "n_chains", "n_runs"))
    each = f"each of {n_chains} chains or {n_runs} annealed runs of an image"
    return footer(figure, tables, f"{n_repetitions} repetitions, {each}")


DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_5_3": test_images,
    "fig_5_4": partial(estimates, "seconds", "run time of a repetition (s)"),
    "fig_gradients": partial(estimates, "gradients", "gradient evaluations of a repetition"),
    "fig_models": own_models,
}
