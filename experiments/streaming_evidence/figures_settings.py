"""Figures 5.1 and 5.8, the stream that changes, and 5.9 to 5.14, what the settings do."""

import contextlib
from collections.abc import Callable
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from auxmc.plots.style import CYCLE, PAGE_WIDTH_IN
from auxmc_pipeline.tables import MissingData, Tables
from experiments.streaming_evidence.drawing import (
    REFERENCE_COLOUR,
    Look,
    band,
    log_rows,
    stream_footer,
)
from experiments.streaming_evidence.model import NON_STATIONARY_PHASES
from experiments.streaming_evidence.model import rows as simulated_rows
from experiments.streaming_evidence.stream_runs import (
    StreamRuns,
    between,
    final_rows,
    per_row,
    reference_at,
    steps_of_chunks,
)
from experiments.streaming_evidence.sweeps import CHANGES, COMPONENTS, following, sweep

_SIDE = 5.0
_N_BINS = 60
# Nats for each row, which hold all curves but their first chunks.
_SHOWN_SCORES = (-4.0, -3.15)
_LAST_SHOWN_STEPS = 50_000.0


def histograms_figure(tables: Tables) -> Figure:
    """Figure 5.1: the rows themselves, which are the same at every preset."""
    del tables
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


def changes_figure(tables: Tables) -> Figure:
    """Figure 5.8."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.3), layout="constrained")
    left, right = figure.subplots(1, 2)
    for number, k in enumerate(COMPONENTS):
        ordered = _look(number, f"{k} components")
        for stream, look in (
            ("non_stationary", ordered),
            ("shuffled", ordered._replace(line="--", label=None)),
        ):
            band(left, per_row(following(tables, k, stream).curve("log_evidence")), look)
        band(right, steps_of_chunks(following(tables, k, "non_stationary")), ordered)
    left.plot([], [], color="black", linestyle="--", label="shuffled")
    left.set_ylabel("log evidence / rows (nats)")
    left.set_ylim(*_SHOWN_SCORES)
    _log_steps(right)
    for axis, title in ((left, "(a)"), (right, "(b)")):
        for change in CHANGES:
            axis.axvline(change, color=REFERENCE_COLOUR, linestyle=":", linewidth=0.9)
        axis.set_title(title)
        log_rows(axis)
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    stream_footer(figure, tables)
    return figure


def sweep_figure(tables: Tables, name: str, label: str) -> Figure:
    """One of figures 5.9 to 5.14.

    Args:
        tables: of the study.
        name: of the sweep.
        label: what the legend's numbers are.
    """
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.9), layout="constrained")
    axes = figure.subplots(1, 3)
    _sweep_panels(axes, tables, name, sweep(tables, name))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=7, title=label, title_fontsize=8.0)
    stream_footer(figure, tables)
    return figure


def _sweep_panels(axes: np.ndarray, tables: Tables, name: str, found: dict[float, StreamRuns]) -> None:
    left, middle, right = axes
    lows = []
    for number, (value, runs) in enumerate(found.items()):
        look = _look(number, f"{value:g}")
        evidence = between(per_row(runs.curve("log_evidence")), 500)
        band(left, evidence, look)
        lows.append(float(between(evidence, 1000).median().min()))
        band(middle, runs.curve("seconds"), look)
        steps = steps_of_chunks(runs)
        band(right, between(steps, 0.0, _LAST_SHOWN_STEPS) if name == "rate" else steps, look)
    with contextlib.suppress(MissingData):
        n_rows = final_rows(tables, "sensitivity")
        truth = reference_at(tables, "mixture", n_rows) / n_rows
        left.axhline(truth, color=REFERENCE_COLOUR, linewidth=0.8)
        lowest = max(min(low for low in lows if np.isfinite(low)), truth - 0.5)
        left.set_ylim(lowest - 0.02, max(truth + 0.02, truth + 0.1 * (truth - lowest)))
    left.set_ylabel("log evidence / rows (nats)")
    middle.set_ylabel("processor time (s)")
    _log_axis(middle)
    _log_steps(right)
    for axis, title in ((left, "(a)"), (middle, "(b)"), (right, "(c)")):
        axis.set_title(title)
        log_rows(axis)


def _look(number: int, label: str) -> Look:
    return Look(label, CYCLE[number % len(CYCLE)], width=1.1)


def _log_steps(axis: Axes) -> None:
    axis.set_ylabel("annealing steps / chunk")
    _log_axis(axis)


def _log_axis(axis: Axes) -> None:
    """A logarithmic vertical axis of a decade or two."""
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_locator(NullLocator())


DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_5_1": histograms_figure,
    "fig_5_8": changes_figure,
    "fig_5_9": partial(sweep_figure, name="particles", label="particles"),
    "fig_5_10": partial(sweep_figure, name="moves", label="moves"),
    "fig_5_11": partial(sweep_figure, name="batch", label="rows in a mini-batch and in a chunk"),
    "fig_5_12": partial(sweep_figure, name="target", label="target size (particles)"),
    "fig_5_13": partial(sweep_figure, name="rate", label="learning rate per row, 20 moves"),
    "fig_5_14": partial(
        sweep_figure, name="exchange", label="learning rate per row, learning rate times moves = 2"
    ),
}
