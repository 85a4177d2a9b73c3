"""Figures 5.2 to 5.7, errors in nats, and what limits the accuracy."""

import contextlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.published import entries_published_last, published_mark
from auxmc.plots.style import CYCLE, PAGE_WIDTH_IN
from auxmc_pipeline.available import available
from auxmc_pipeline.published_values import published_value
from auxmc_pipeline.tables import MissingData, Tables
from experiments.streaming_evidence.drawing import (
    REFERENCE_COLOUR,
    Look,
    band,
    log_rows,
    stream_footer,
)
from experiments.streaming_evidence.predicted_noise import RATES, predicted_loss, predicted_ratio
from experiments.streaming_evidence.stream_runs import (
    MODEL_CASES,
    RIVALS,
    between,
    by_size,
    errors_of,
    final_rows,
    full_data_errors,
    per_row,
    published,
    reference,
    row_counts,
    slope_per_row,
    varied,
)

_FIRST_ROWS = 100
_PUBLISHED_ROWS = 1_000_000
# Part of the height above the highest and below the lowest median of the late half of the rows.
_MARGIN = 0.35

_LOOKS = {
    "annealed": Look("SGAIS", CYCLE[0]),
    "sequential": Look("sequential", CYCLE[1]),
    "hybrid": Look("sequential from NS of 100 rows", CYCLE[2], "--"),
    "corrected": Look("SGAIS, control variates, resampling", CYCLE[4], "-."),
    "running_laplace": Look("running Laplace", CYCLE[5], "--"),
    "nested": Look("nested sampling", CYCLE[3], marker="o"),
    "ais": Look("AIS", "#000000", marker="s"),
    "resampled": Look("resampling", CYCLE[1]),
    "cooled": Look("cooled rate", CYCLE[3]),
    "control_variates": Look("control variates", CYCLE[2]),
}
_RUNS = _LOOKS["annealed"]._replace(label="runs")

_TITLES = {"linear": "linear regression", "softmax": "softmax regression", "mixture": "mixture"}

_Read = Callable[[Tables, str, str], pd.DataFrame]


def evidence_figure(tables: Tables, model: str, methods: tuple[str, ...]) -> Figure:
    """Figures 5.2 to 5.7."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.3), layout="constrained")
    left, right = figure.subplots(1, 2)
    estimates = _curves_of(tables, model, methods, log_evidence)
    times = _curves_of(tables, model, [name for name in methods if name != "hybrid"], seconds)
    _evidence_panel(left, tables, model, estimates)
    _time_panel(right, times)
    for axis, title in ((left, "(a)"), (right, "(b)")):
        axis.set_title(title)
        log_rows(axis)
    _legend(figure, 3)
    stream_footer(figure, tables)
    return figure


def errors_figure(tables: Tables) -> Figure:
    """Absolute errors in nats of all methods."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.2), layout="constrained")
    for axis, model in zip(figure.subplots(1, len(MODEL_CASES), sharey=True), MODEL_CASES, strict=True):
        axis.set_title(_TITLES[model])
        truth = _from_first_rows(reference(tables, model)).abs()
        methods = ("annealed", "sequential", "corrected", "running_laplace", "nested", "ais")
        for name, found in _curves_of(tables, model, methods, absolute_errors).items():
            look = _LOOKS[name]
            # Near-exact values are far apart: each of them shows where it is.
            band(axis, found, look if model == "linear" else look._replace(marker=look.marker or "o"))
        axis.plot(
            truth.index,
            1e-3 * truth,
            color=REFERENCE_COLOUR,
            linestyle=":",
            label="0.1 % of the log evidence",
        )
        axis.axhline(1.0, color=REFERENCE_COLOUR, linewidth=0.8)
        if model == "linear":
            _published_errors(axis, truth)
        axis.set_yscale("log")
        axis.set_ylim(0.03, 5e3)
        log_rows(axis)
    figure.supylabel("absolute error (nats)", fontsize=8.5)
    _legend(figure, 4)
    stream_footer(figure, tables)
    return figure


def _published_errors(axis: Axes, truth: pd.Series) -> None:
    """The thesis has errors after a million rows alone: shorter streams have no place for them."""
    for name, claim, setting, unit in (
        ("sequential", "SE-34", "per row", 1.0 / _PUBLISHED_ROWS),
        ("annealed", "SE-50", "relative", 1.0 / float(truth.iloc[-1])),
    ):
        if truth.index[-1] == _PUBLISHED_ROWS:
            value = published_value("streaming_evidence", claim, setting)
            published_mark(axis, _PUBLISHED_ROWS, value, unit=unit, colour=_LOOKS[name].colour)


def floor_figure(tables: Tables) -> Figure:
    """What gradient noise does to the linear model."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.3), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for axis, draw in ((left, _loss_panel), (middle, _variance_panel), (right, _remedies_panel)):
        draw(axis, tables)
    handles, labels = right.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, title="right panel")
    stream_footer(figure, tables)
    return figure


def log_evidence(tables: Tables, model: str, name: str) -> pd.DataFrame:
    """Log evidence of each row by a method, by rows."""
    if name in RIVALS:
        return per_row(by_size(tables, model, RIVALS[name].log_evidence).ffill())
    if name == "hybrid":
        found = published(tables, model, "sequential").curve("log_evidence_hybrid")
    else:
        found = published(tables, model, name).curve("log_evidence")
    return per_row(between(found, _FIRST_ROWS))


def seconds(tables: Tables, model: str, name: str) -> pd.DataFrame:
    """Time of a method, by rows."""
    if name in RIVALS:
        return by_size(tables, model, RIVALS[name].seconds).ffill()
    return between(published(tables, model, name).curve("seconds"), _FIRST_ROWS)


def absolute_errors(tables: Tables, model: str, name: str) -> pd.DataFrame:
    """Absolute errors of a method's log evidence, by rows."""
    if name in RIVALS:
        return full_data_errors(tables, model, name).ffill().abs()
    return between(errors_of(published(tables, model, name)).abs(), _FIRST_ROWS)


def _curves_of(tables: Tables, model: str, names: Iterable[str], read: _Read) -> dict[str, pd.DataFrame]:
    """What the tables hold for each of some methods; rivals with fewer runs have them again."""
    return available(lambda name: read(tables, model, name), names)


def _evidence_panel(axis: Axes, tables: Tables, model: str, found: dict[str, pd.DataFrame]) -> None:
    for name, estimates in found.items():
        band(axis, estimates, _LOOKS[name])
    with contextlib.suppress(MissingData):
        truth = _from_first_rows(reference(tables, model))
        line, marker, label = ("-", "", "exact") if model == "linear" else ("none", "x", "near-exact")
        axis.plot(
            truth.index,
            truth / truth.index,
            color=REFERENCE_COLOUR,
            linewidth=0.9,
            linestyle=line,
            marker=marker,
            label=label,
        )
    axis.set_ylabel("log evidence / rows (nats)")
    axis.set_ylim(_late_range(list(found.values())))


def _time_panel(axis: Axes, found: dict[str, pd.DataFrame]) -> None:
    for name, times in found.items():
        band(axis, times, _LOOKS[name])
        if name in RIVALS:
            axis.plot(times.columns, times.median().cumsum(), color=_LOOKS[name].colour, linestyle=":")
    axis.set_yscale("log")
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set_ylabel("processor time (s)")


def _from_first_rows(truth: pd.Series) -> pd.Series:
    return truth[truth.index >= _FIRST_ROWS]


def _late_range(ends: list[pd.DataFrame]) -> tuple[float, float]:
    """Range of the medians beyond the geometric middle of the rows, widened."""
    last = max(float(row_counts(found)[-1]) for found in ends)
    middle = np.sqrt(_FIRST_ROWS * last)
    late = np.concatenate([between(found, middle / 3.0).median().to_numpy() for found in ends])
    low, high = float(late.min()), float(late.max())
    space = _MARGIN * max(high - low, 1e-3 * abs(low))
    return low - space, high + space


def _legend(figure: Figure, n_columns: int) -> None:
    """One legend for all panels, each entry once."""
    entries: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, label in zip(*entries_published_last(axis), strict=True):
            entries.setdefault(label, handle)
    figure.legend(list(entries.values()), list(entries), loc="outside upper center", ncols=n_columns)


def _loss_panel(axis: Axes, tables: Tables) -> None:
    n_rows = final_rows(tables, "floor")

    def loss(variation: str) -> FloatArray:
        runs = varied(tables, "floor", variation)
        lost = runs.curve("mean_log_weight") - runs.curve("exact").iloc[0]
        return -slope_per_row(lost, n_rows / 10, n_rows)

    found = {RATES[variation]: values for variation, values in available(loss, RATES).items()}
    band(axis, pd.DataFrame(found).sort_index(axis=1), _RUNS._replace(marker="o"))
    fine = np.geomspace(min(found), max(found), 50)
    axis.plot(
        fine,
        [-predicted_loss(rate) for rate in fine],
        color=REFERENCE_COLOUR,
        linestyle="--",
        label="predicted",
    )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("learning rate per row")
    axis.set_ylabel("loss per row (nats)")
    axis.legend(loc="upper left")


def _variance_panel(axis: Axes, tables: Tables) -> None:
    found = between(published(tables, "linear").curve("variance_ratio"), 1000)
    band(axis, found, _RUNS)
    rows = row_counts(found)
    axis.plot(
        rows, [predicted_ratio(n) for n in rows], color=REFERENCE_COLOUR, linestyle="--", label="predicted"
    )
    axis.set_yscale("log")
    axis.set_ylabel("variance ratio")
    log_rows(axis)
    axis.legend(loc="upper left")


def _remedies_panel(axis: Axes, tables: Tables) -> None:
    n_rows = final_rows(tables, "floor")
    runs = {
        "annealed": published(tables, "linear"),
        "corrected": published(tables, "linear", "corrected"),
        "running_laplace": published(tables, "linear", "running_laplace"),
        "resampled": varied(tables, "floor", "method=resampled"),
        "cooled": varied(tables, "floor", "method=cooled"),
        "control_variates": varied(tables, "floor", "method=control_variates"),
    }
    curves = available(lambda name: between(errors_of(runs[name]).abs(), 1000, n_rows).median(), runs)
    for name, found in curves.items():
        look = _LOOKS[name]
        axis.plot(found.index, found, color=look.colour, linestyle=look.line, label=look.label)
    axis.set_yscale("log")
    axis.set_ylabel("absolute error (nats)")
    log_rows(axis)


_SEQUENTIAL = ("sequential", "hybrid", "nested")
_ANNEALED = ("annealed", "corrected", "running_laplace", "nested", "ais")

DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_5_2": partial(evidence_figure, model="linear", methods=_SEQUENTIAL),
    "fig_5_3": partial(evidence_figure, model="softmax", methods=_SEQUENTIAL),
    "fig_5_4": partial(evidence_figure, model="mixture", methods=_SEQUENTIAL),
    "fig_5_5": partial(evidence_figure, model="linear", methods=_ANNEALED),
    "fig_5_6": partial(evidence_figure, model="softmax", methods=_ANNEALED),
    "fig_5_7": partial(evidence_figure, model="mixture", methods=_ANNEALED),
    "fig_errors": errors_figure,
    "fig_floor": floor_figure,
}
