"""Figures 5.2 to 5.7, errors in nats, and what limits the accuracy."""

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.panels import missing_panel, preset_note
from auxmc.plots.style import CYCLE, PAGE_WIDTH_IN, QUANTITY_COLOURS
from auxmc_pipeline.lookup import MissingData, rows_of
from experiments.streaming_evidence.claims_annealed import FLOORS, predicted_loss, predicted_ratio
from experiments.streaming_evidence.lookup import (
    MODEL_CASES,
    Series,
    Tables,
    between,
    curve,
    default,
    errors,
    final_rows,
    main,
    per_row,
    reference,
    row_counts,
    slope,
    varied,
)

_NOT_RUN = "not run at this preset"
_REFERENCE = QUANTITY_COLOURS["reference"]
_FIRST_ROWS = 100
# Part of the height above the highest and below the lowest median of the late half of the rows.
_MARGIN = 0.35


class _Look(NamedTuple):
    label: str
    colour: str
    line: str = "-"
    marker: str = ""


_LOOKS = {
    "annealed": _Look("SGAIS", CYCLE[0]),
    "sequential": _Look("sequential", CYCLE[1]),
    "hybrid": _Look("sequential from NS of 100 rows", CYCLE[2], "--"),
    "corrected": _Look("SGAIS, control variates, resampling", CYCLE[4], "-."),
    "running_laplace": _Look("running Laplace", CYCLE[5], "--"),
    "nested": _Look("nested sampling", CYCLE[3], "-", "o"),
    "ais": _Look("AIS", "#000000", "-", "s"),
    "resampled": _Look("resampling", CYCLE[1]),
    "cooled": _Look("cooled rate", CYCLE[3]),
    "control_variates": _Look("control variates", CYCLE[2]),
}


def sequential_figure(model: str) -> Callable[[pd.DataFrame, pd.DataFrame], Figure]:
    """Figures 5.2 to 5.4."""
    return _evidence_figure(model, ("sequential", "hybrid"), ("nested",))


def annealed_figure(model: str) -> Callable[[pd.DataFrame, pd.DataFrame], Figure]:
    """Figures 5.5 to 5.7."""
    return _evidence_figure(model, ("annealed", "corrected", "running_laplace"), ("nested", "annealed"))


def errors_figure(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Absolute errors in nats of all methods."""
    tables = Tables(summary, curves)
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.2), layout="constrained")
    for axis, model in zip(figure.subplots(1, len(MODEL_CASES), sharey=True), MODEL_CASES, strict=True):
        axis.set_title(_TITLES[model])
        try:
            truth = reference(tables, model)
        except MissingData:
            missing_panel(axis, _NOT_RUN)
            continue
        for name in ("annealed", "sequential", "corrected", "running_laplace"):
            with contextlib.suppress(MissingData):
                found = errors(tables, main(model, name)).abs()
                band(axis, between(found, _FIRST_ROWS), _LOOKS[name], marker="" if model == "linear" else "o")
        for name, quantity in (("nested", "nested"), ("ais", "annealed")):
            with contextlib.suppress(MissingData):
                found = _by_size(tables, model, f"{quantity}_log_evidence")
                common = [n for n in found.columns if n in truth.index]
                if model == "linear":
                    exact = _by_size(tables, model, "exact").iloc[0]
                    band(axis, (found - exact).abs(), _LOOKS[name], marker=_LOOKS[name].marker)
                elif common:
                    band(
                        axis, (found[common] - truth[common]).abs(), _LOOKS[name], marker=_LOOKS[name].marker
                    )
        at = truth[[n for n in truth.index if n >= _FIRST_ROWS]]
        axis.plot(
            at.index, 1e-3 * at.abs(), color=_REFERENCE, linestyle=":", label="0.1 % of the log evidence"
        )
        axis.axhline(1.0, color=_REFERENCE, linewidth=0.8)
        axis.set_yscale("log")
        axis.set_ylim(0.03, 5e3)
        log_rows(axis)
    figure.supylabel("absolute error (nats)", fontsize=8.5)
    _legend(figure, 4)
    preset_note(figure, note_of(summary))
    return figure


def floor_figure(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """What gradient noise does to the linear model."""
    tables = Tables(summary, curves)
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.3), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for axis, draw in ((left, _floor_panel), (middle, _variance_panel), (right, _fixes_panel)):
        try:
            draw(axis, tables)
        except MissingData:
            missing_panel(axis, _NOT_RUN)
    handles, labels = right.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside upper center", ncols=3, title="right panel")
    preset_note(figure, note_of(summary))
    return figure


def band(axis: Axes, found: pd.DataFrame, look: _Look, *, marker: str = "") -> None:
    """Median over runs as a line, and their range as a band."""
    x = row_counts(found)
    values = found.to_numpy(dtype=np.float64)
    axis.plot(
        x,
        np.median(values, axis=0),
        color=look.colour,
        linestyle=look.line,
        label=look.label,
        marker=marker or None,
        markersize=3.0,
    )
    if len(values) > 1:
        low, high = values.min(axis=0), values.max(axis=0)
        axis.fill_between(x, low, high, color=look.colour, alpha=0.2, linewidth=0.0)


def log_rows(axis: Axes) -> None:
    """A logarithmic axis of rows absorbed."""
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(numticks=8))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel("rows")


def note_of(summary: pd.DataFrame) -> str:
    """Preset and number of runs."""
    preset = summary["preset"].iloc[0] if "preset" in summary and len(summary) else "unknown"
    repeats = int(summary["n_repeats"].iloc[0]) if "n_repeats" in summary and len(summary) else 0
    return f"preset {preset}; {repeats} runs of each streaming method, without their compiling"


_TITLES = {"linear": "linear regression", "softmax": "softmax regression", "mixture": "mixture"}


def _evidence_figure(
    model: str, streaming: tuple[str, ...], rivals: tuple[str, ...]
) -> Callable[[pd.DataFrame, pd.DataFrame], Figure]:
    def draw(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
        tables = Tables(summary, curves)
        figure = Figure(figsize=(PAGE_WIDTH_IN, 3.3), layout="constrained")
        left, right = figure.subplots(1, 2)
        shown = _evidence_panel(left, tables, model, streaming, rivals)
        timed = _time_panel(right, tables, model, streaming, rivals)
        for axis, drawn in ((left, shown), (right, timed)):
            if not drawn:
                missing_panel(axis, _NOT_RUN)
        left.set_title("(a)")
        right.set_title("(b)")
        if shown:
            _legend(figure, 3)
        preset_note(figure, note_of(summary))
        return figure

    return draw


def _evidence_panel(
    axis: Axes, tables: Tables, model: str, streaming: tuple[str, ...], rivals: tuple[str, ...]
) -> bool:
    ends, drawn = [], False
    for name in streaming:
        with contextlib.suppress(MissingData):
            found = per_row(between(_evidence_of(tables, model, name), _FIRST_ROWS))
            band(axis, found, _LOOKS[name])
            ends.append(found)
            drawn = True
    for name in rivals:
        look = _LOOKS["ais" if name == "annealed" else name]
        with contextlib.suppress(MissingData):
            found = per_row(_by_size(tables, model, f"{name}_log_evidence"))
            band(axis, found, look, marker=look.marker)
            ends.append(found)
            drawn = True
    with contextlib.suppress(MissingData):
        truth = reference(tables, model)
        truth = truth[[n for n in truth.index if n >= _FIRST_ROWS]]
        rows = truth.index.to_numpy(dtype=np.float64)
        label = "exact" if model == "linear" else "near-exact"
        axis.plot(
            rows,
            truth.to_numpy() / rows,
            color=_REFERENCE,
            linestyle="-" if model == "linear" else "none",
            linewidth=0.9,
            marker="" if model == "linear" else "x",
            label=label,
        )
    if drawn:
        log_rows(axis)
        axis.set_ylabel("log evidence / rows (nats)")
        axis.set_ylim(_late_range(ends))
    return drawn


def _time_panel(
    axis: Axes, tables: Tables, model: str, streaming: tuple[str, ...], rivals: tuple[str, ...]
) -> bool:
    drawn = False
    for name in streaming:
        if name == "hybrid":
            continue
        with contextlib.suppress(MissingData):
            found = curve(tables, main(model, name), "seconds")
            band(axis, between(found, _FIRST_ROWS), _LOOKS[name])
            drawn = True
    for name in rivals:
        look = _LOOKS["ais" if name == "annealed" else name]
        with contextlib.suppress(MissingData):
            found = _by_size(tables, model, f"{name}_seconds")
            band(axis, found, look, marker=look.marker)
            axis.plot(found.columns, found.median().cumsum(), color=look.colour, linestyle=":")
            drawn = True
    if drawn:
        axis.set_yscale("log")
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.set_ylabel("processor time (s)")
        log_rows(axis)
    return drawn


def _evidence_of(tables: Tables, model: str, name: str) -> pd.DataFrame:
    if name == "hybrid":
        return curve(tables, main(model, "sequential"), "log_evidence_hybrid")
    return curve(tables, main(model, name), "log_evidence")


def _by_size(tables: Tables, model: str, quantity: str) -> pd.DataFrame:
    """Runs of an estimator that needs all rows, one column for each number of rows; fewer runs are used again."""
    summary = tables.summary
    case = f"{model}_full"
    found = rows_of(summary[summary["case"] == case] if "case" in summary else summary, quantity)
    found = found.dropna(subset=["value"])
    if found.empty:
        raise MissingData(f"{quantity} of {model}: not run at this preset")
    if found["repeat"].isna().all():
        found = found.assign(repeat=0)
    table = found.pivot_table(index="repeat", columns="size", values="value")
    return table.ffill().astype(np.float64)


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
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(list(entries.values()), list(entries), loc="outside upper center", ncols=n_columns)


def _floor_panel(axis: Axes, tables: Tables) -> None:
    n_rows = final_rows(tables, "floor")
    found: dict[float, FloatArray] = {}
    for variation, (rate, batch, friction) in FLOORS.items():
        if (batch, friction) != (500, 0.2):
            continue
        series = default(tables, "floor") if variation == "default" else varied("floor", variation)
        with contextlib.suppress(MissingData):
            weights = curve(tables, series, "mean_log_weight") - curve(tables, series, "exact").iloc[0]
            found[rate] = -slope(weights, n_rows / 10, n_rows)
    if not found:
        raise MissingData(_NOT_RUN)
    rates = np.array(sorted(found))
    values = pd.DataFrame({rate: found[rate] for rate in rates})
    band(axis, values, _LOOKS["annealed"]._replace(label="runs"), marker="o")
    fine = np.geomspace(rates[0], rates[-1], 50)
    predicted = [-predicted_loss(rate) for rate in fine]
    axis.plot(fine, predicted, color=_REFERENCE, linestyle="--", label="predicted")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("learning rate per row")
    axis.set_ylabel("loss per row (nats)")
    axis.legend(loc="upper left")


def _variance_panel(axis: Axes, tables: Tables) -> None:
    found = curve(tables, main("linear"), "variance_ratio")
    found = between(found, 1000)
    band(axis, found, _LOOKS["annealed"]._replace(label="runs"))
    rows = row_counts(found)
    axis.plot(rows, [predicted_ratio(n) for n in rows], color=_REFERENCE, linestyle="--", label="predicted")
    axis.set_yscale("log")
    axis.set_ylabel("variance ratio")
    log_rows(axis)
    axis.legend(loc="upper left")


def _fixes_panel(axis: Axes, tables: Tables) -> None:
    n_rows = final_rows(tables, "floor")
    series = {
        "annealed": main("linear"),
        "corrected": main("linear", "corrected"),
        "running_laplace": main("linear", "running_laplace"),
        **{name: varied("floor", f"method={name}") for name in ("resampled", "cooled", "control_variates")},
    }
    drawn = False
    for name, own in series.items():
        with contextlib.suppress(MissingData):
            found = between(errors(tables, Series(own.case, own.where, n_rows)).abs(), 1000)
            axis.plot(
                found.columns,
                found.median(),
                color=_LOOKS[name].colour,
                linestyle=_LOOKS[name].line,
                label=_LOOKS[name].label,
            )
            drawn = True
    if not drawn:
        raise MissingData(_NOT_RUN)
    axis.set_yscale("log")
    axis.set_ylabel("absolute error (nats)")
    log_rows(axis)
