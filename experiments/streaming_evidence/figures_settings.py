"""Figures 5.1 and 5.8, the stream that changes, and 5.9 to 5.14, what the settings do."""

import contextlib
from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from auxmc.data.simulated_streams import NON_STATIONARY_PHASES
from auxmc.data.simulated_streams import rows as simulated_rows
from auxmc.plots.panels import missing_panel, preset_note
from auxmc.plots.style import CYCLE, PAGE_WIDTH_IN, QUANTITY_COLOURS
from auxmc_pipeline.lookup import MissingData
from experiments.streaming_evidence.claims_non_stationary import CHANGES, COMPONENTS, change_series
from experiments.streaming_evidence.claims_sensitivity import sweep
from experiments.streaming_evidence.figures_evidence import log_rows, note_of
from experiments.streaming_evidence.lookup import (
    Series,
    Tables,
    annealing_steps,
    between,
    curve,
    final_rows,
    per_row,
    reference_at,
    row_counts,
)

_NOT_RUN = "not run at this preset"
_REFERENCE = QUANTITY_COLOURS["reference"]
_SIDE = 5.0
_N_BINS = 60
# Nats for each row, which hold all curves but their first chunks.
_SHOWN_SCORES = (-4.0, -3.15)
_LAST_SHOWN_STEPS = 50_000.0


def histograms_figure(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 5.1: the rows themselves, which are the same at every preset."""
    del summary, curves
    ends = np.cumsum([n for n, _ in NON_STATIONARY_PHASES])
    everything = simulated_rows("non_stationary", int(ends[-1]))
    parts = [*zip([0, *ends[:-1]], ends, strict=True), (0, ends[-1])]
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.3), layout="constrained")
    edges = np.linspace(-_SIDE, _SIDE, _N_BINS + 1)
    axes = figure.subplots(1, len(parts), sharex=True, sharey=True)
    for axis, (begin, end) in zip(axes, parts, strict=True):
        first, second = everything[begin:end].T
        counts, _, _ = np.histogram2d(first, second, bins=[edges, edges])
        image = axis.pcolormesh(edges, edges, counts.T / counts.max(), cmap="viridis", vmin=0.0, vmax=1.0)
        image.set_rasterized(True)
        axis.set_aspect("equal")
        axis.set_title(f"rows {begin + 1} to {end}", fontsize=7.5)
        axis.set_xlabel("first column")
    axes[0].set_ylabel("second column")
    figure.colorbar(image, ax=axes, label="rows / most in a cell", shrink=0.8)
    return figure


def changes_figure(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 5.8."""
    tables = Tables(summary, curves)
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.3), layout="constrained")
    left, right = figure.subplots(1, 2)
    drawn = False
    for number, k in enumerate(COMPONENTS):
        for stream, line in (("non_stationary", "-"), ("shuffled", "--")):
            with contextlib.suppress(MissingData):
                found = per_row(curve(tables, change_series(k, stream), "log_evidence"))
                _band(left, found, CYCLE[number], line, f"{k} components" if line == "-" else None)
                drawn = True
        with contextlib.suppress(MissingData):
            _band(
                right, annealing_steps(tables, change_series(k, "non_stationary")), CYCLE[number], "-", None
            )
    if not drawn:
        missing_panel(left, _NOT_RUN)
        missing_panel(right, _NOT_RUN)
        return figure
    left.plot([], [], color="black", linestyle="--", label="shuffled")
    left.set_ylabel("log evidence / rows (nats)")
    left.set_ylim(*_SHOWN_SCORES)
    _log_steps(right)
    for axis, title in ((left, "(a)"), (right, "(b)")):
        for change in CHANGES:
            axis.axvline(change, color=_REFERENCE, linestyle=":", linewidth=0.9)
        axis.set_title(title)
        log_rows(axis)
    figure.legend(loc="outside upper center", ncols=4)
    preset_note(figure, note_of(summary))
    return figure


def sweep_figure(name: str, label: str) -> Callable[[pd.DataFrame, pd.DataFrame], Figure]:
    """One of figures 5.9 to 5.14.

    Args:
        name: of the sweep.
        label: what the legend's numbers are.
    """

    def draw(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
        tables = Tables(summary, curves)
        figure = Figure(figsize=(PAGE_WIDTH_IN, 2.9), layout="constrained")
        axes = figure.subplots(1, 3)
        try:
            found = sweep(tables, name)
            _sweep_panels(axes, tables, name, found)
        except MissingData as missing:
            for axis in axes:
                missing_panel(axis, str(missing))
            return figure
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=7, title=label, title_fontsize=8.0)
        preset_note(figure, note_of(summary))
        return figure

    return draw


def _sweep_panels(axes: np.ndarray, tables: Tables, name: str, found: dict[float, Series]) -> None:
    n_rows = final_rows(tables, "sensitivity")
    left, middle, right = axes
    truth = None
    with contextlib.suppress(MissingData):
        truth = reference_at(tables, "mixture", n_rows) / n_rows
    lows = []
    for number, (value, series) in enumerate(found.items()):
        colour = CYCLE[number % len(CYCLE)]
        evidence = between(per_row(curve(tables, series, "log_evidence")), 500)
        _band(left, evidence, colour, "-", f"{value:g}")
        lows.append(float(between(evidence, 1000).median().min()))
        _band(middle, curve(tables, series, "seconds"), colour, "-", None)
        steps = annealing_steps(tables, series)
        if name == "rate":
            steps = between(steps, 0.0, _LAST_SHOWN_STEPS)
        _band(right, steps, colour, "-", None)
    if truth is not None:
        left.axhline(truth, color=_REFERENCE, linewidth=0.8)
        finite = [low for low in lows if np.isfinite(low)]
        lowest = max(min(finite), truth - 0.5)
        left.set_ylim(lowest - 0.02, max(truth + 0.02, truth + 0.1 * (truth - lowest)))
    left.set_ylabel("log evidence / rows (nats)")
    middle.set_ylabel("processor time (s)")
    _log_axis(middle)
    _log_steps(right)
    for axis, title in ((left, "(a)"), (middle, "(b)"), (right, "(c)")):
        axis.set_title(title)
        log_rows(axis)


def _log_steps(axis: Axes) -> None:
    axis.set_ylabel("annealing steps / chunk")
    _log_axis(axis)


def _log_axis(axis: Axes) -> None:
    """A logarithmic vertical axis of a decade or two."""
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_locator(NullLocator())


def _band(axis: Axes, found: pd.DataFrame, colour: str, line: str, label: str | None) -> None:
    x = row_counts(found)
    values = found.to_numpy(dtype=np.float64)
    axis.plot(x, np.median(values, axis=0), color=colour, linestyle=line, label=label, linewidth=1.1)
    if len(values) > 1:
        axis.fill_between(x, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.2, linewidth=0.0)
