"""Figures of the study, drawn from its two tables alone."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, StepPatch
from matplotlib.ticker import MaxNLocator

from auxmc.models.lotka_volterra.data import GENERATING_RATES
from auxmc.numerics.array_types import FloatArray
from auxmc.plots.panels import grouped_bars, missing_panel, preset_note
from auxmc.plots.style import PAGE_WIDTH_IN
from auxmc_pipeline.lookup import MissingData
from experiments.lotka_volterra.lookup import COORDINATES, ROWS, by_chain, of_row, rows_of

_PREY, _PREDATORS = "#0072B2", "#D55E00"
_EXACT, _TEXT, _GENERATING = "black", "#D55E00", "#555555"
_PUBLISHED_ROWS = ("all", "summaries", "ball_10", "ball_100", "gaussian", "hmc")
_SYMBOLS = tuple(rf"$\log\, z_{i}$" for i in range(1, 5))
_LOG_GENERATING = np.log(GENERATING_RATES)
# Bars above this multiple of the exact density are cut, or a chain that hardly moves would hide all others.
_TALLEST = 1.6
_WIDEST_SD = 12.0

Draw = Callable[[pd.DataFrame, pd.DataFrame], Figure]


def _data(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The two series."""
    figure = Figure(figsize=(0.75 * PAGE_WIDTH_IN, 2.4), layout="constrained")
    axis = figure.subplots()
    try:
        for name, colour, marker in (("prey", _PREY, "o"), ("predators", _PREDATORS, "s")):
            series = rows_of(curves, f"data_{name}").drop_duplicates("step").sort_values("step")
            axis.plot(series["step"], series["value"], color=colour, marker=marker, label=name)
    except MissingData as missing:
        missing_panel(axis, str(missing))
        return figure
    axis.set_xlabel("step")
    axis.set_ylabel("population")
    axis.set_xlim(left=-0.5)
    axis.set_ylim(bottom=0.0)
    figure.legend(loc="outside right upper")
    _note(figure, summary, "published data, step 0 is the initial state")
    return figure


def _marginals(rows: Sequence[str], height: float, *, wide: bool = False) -> Draw:
    """Figure with a row for each method and a column for each log rate."""

    def draw(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
        figure = Figure(figsize=(PAGE_WIDTH_IN, height), layout="constrained")
        grid = figure.subplots(len(rows), 4, squeeze=False)
        exact = [_exact_density(curves, rate, "code") for rate in range(4)]
        spans: list[list[tuple[float, float]]] = [[] for _ in range(4)]
        for axes, row in zip(grid, rows, strict=True):
            for rate, axis in enumerate(axes):
                span = _marginal_panel(axis, curves, row, rate, exact[rate])
                if span is not None:
                    spans[rate].append(span)
            axes[0].set_ylabel(ROWS[row].label.replace(" (", "\n(").replace("ABC, ", "ABC,\n"))
        for rate in range(4):
            _common_axes(list(grid[:, rate]), spans[rate], exact[rate], wide)
            grid[-1, rate].set_xlabel(_SYMBOLS[rate])
        figure.legend(handles=_legend(), loc="outside upper right", ncols=3)
        _note(figure, summary, f"scheme code; {_lengths(summary, rows)}")
        return figure

    return draw


def _marginal_panel(
    axis: Axes, curves: pd.DataFrame, row: str, rate: int, exact: tuple[FloatArray, FloatArray] | None
) -> tuple[float, float] | None:
    """Draws histogram, exact density and generating value; returns the range of the histogram."""
    try:
        edges, heights = _histogram(curves, row, rate)
    except MissingData:
        missing_panel(axis, "not run at this preset" if rate == 0 else "-")
        axis.texts[-1].set_in_layout(False)
        return None
    colour = ROWS[row].colour
    axis.stairs(heights, edges, fill=True, color=colour, alpha=0.5, linewidth=0.0)
    axis.stairs(heights, edges, color=colour, linewidth=0.6)
    if exact is not None:
        axis.plot(*exact, color=_EXACT, linewidth=0.9)
    axis.axvline(_LOG_GENERATING[rate], color=_GENERATING, linestyle="--", linewidth=0.8)
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    return float(edges[0]), float(edges[-1])


def _common_axes(
    axes: Sequence[Axes],
    spans: list[tuple[float, float]],
    exact: tuple[FloatArray, FloatArray] | None,
    wide: bool,
) -> None:
    """Gives the panels of a column, where drawn, the same axes."""
    if not spans:
        return
    low, high = min(span[0] for span in spans), max(span[1] for span in spans)
    top = None
    if exact is not None:
        places, density = exact
        centre, reach = 0.5 * (places[0] + places[-1]), 0.5 * (places[-1] - places[0])
        limit = reach * (np.inf if wide else _WIDEST_SD / 4.5)
        low, high = max(min(low, places[0]), centre - limit), min(max(high, places[-1]), centre + limit)
        tallest = max(_highest_bar(axis) for axis in axes)
        top = 2.0 * tallest if wide else _TALLEST * float(density.max())
    for axis in axes:
        if not _stairs(axis):
            continue
        axis.set_xlim(low, high)
        _point_outside(axis, low, high)
        if top is not None:
            axis.set_ylim(0.0, top)
        else:
            axis.set_ylim(bottom=0.0)
        axis.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
        axis.tick_params(labelbottom=axis is axes[-1])


def _point_outside(axis: Axes, low: float, high: float) -> None:
    """Says where the samples are if all of them are outside the horizontal axis."""
    edges = np.concatenate([patch.get_data()[1] for patch in _stairs(axis)])
    if edges.max() < low:
        axis.text(0.03, 0.9, "← all samples", transform=axis.transAxes, ha="left", va="top", fontsize=7.0)
    elif edges.min() > high:
        axis.text(0.97, 0.9, "all samples →", transform=axis.transAxes, ha="right", va="top", fontsize=7.0)


def _highest_bar(axis: Axes) -> float:
    return max((float(np.max(patch.get_data()[0])) for patch in _stairs(axis)), default=0.0)


def _stairs(axis: Axes) -> list[StepPatch]:
    return [patch for patch in axis.patches if isinstance(patch, StepPatch)]


def _histogram(
    curves: pd.DataFrame, row: str, rate: int, scheme: str = "code"
) -> tuple[FloatArray, FloatArray]:
    """Bin edges [bin + 1] and density [bin] of a log rate."""
    of_rate = curves[curves["coordinate"] == COORDINATES[rate]] if "coordinate" in curves else curves
    bars = of_row(of_rate, "histogram", row, scheme).sort_values("bin")
    low, high = (
        float(of_row(of_rate, f"histogram_{end}", row, scheme)["value"].iloc[0]) for end in ("low", "high")
    )
    heights = bars["value"].to_numpy(dtype=np.float64)
    return np.linspace(low, high, heights.size + 1), heights


def _exact_density(curves: pd.DataFrame, rate: int, scheme: str) -> tuple[FloatArray, FloatArray] | None:
    try:
        places, density = (
            rows_of(curves, f"exact_{part}", coordinate=COORDINATES[rate], scheme=scheme)
            .drop_duplicates("point")
            .sort_values("point")["value"]
            .to_numpy(dtype=np.float64)
            for part in ("place", "density")
        )
    except MissingData:
        return None
    return places, density


def _efficiency(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Bars of effective sample size per second."""
    del curves
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.9), layout="constrained")
    axis = figure.subplots()
    heights, errors, colours, absent = {}, {}, {}, []
    for row in _PUBLISHED_ROWS:
        label = ROWS[row].label
        try:
            values = by_chain(summary, "ess_per_second", row)
        except MissingData:
            absent.append(label)
            continue
        n_chains = values.shape[1]
        heights[label] = values.mean(axis=1)
        errors[label] = values.std(axis=1, ddof=min(1, n_chains - 1)) / np.sqrt(n_chains)
        colours[label] = ROWS[row].colour
    if not heights:
        missing_panel(axis, "efficiency: not run at this preset")
        return figure
    grouped_bars(
        axis,
        _SYMBOLS,
        heights,
        errors,
        colours=colours,
        value_label="ESS per second (1/s)",
    )
    axis.set_yscale("log")
    figure.legend(loc="outside right upper")
    missing = f"; not run: {', '.join(absent)}" if absent else ""
    _note(figure, summary, f"scheme code; logarithmic axis{missing}")
    return figure


def _schemes(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Exact posteriors and constrained HMC under both discretisations."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.1), layout="constrained")
    for rate, axis in enumerate(figure.subplots(1, 4)):
        drawn = False
        for scheme, colour in (("code", _EXACT), ("text", _TEXT)):
            exact = _exact_density(curves, rate, scheme)
            if exact is not None:
                axis.plot(*exact, color=colour, linestyle="-" if scheme == "code" else "--")
                drawn = True
            try:
                edges, heights = _histogram(curves, "all", rate, scheme)
            except MissingData:
                continue
            axis.stairs(heights, edges, fill=True, color=colour, alpha=0.25, linewidth=0.0)
        if not drawn:
            missing_panel(axis, "exact posterior: not run at this preset")
            continue
        axis.axvline(_LOG_GENERATING[rate], color=_GENERATING, linestyle=":", linewidth=0.9)
        axis.set_xlabel(_SYMBOLS[rate])
        axis.set_yticks([])
        axis.set_ylim(bottom=0.0)
        axis.spines["left"].set_visible(False)
        axis.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    handles = [
        Line2D([], [], color=_EXACT, label="code (new prey)"),
        Line2D([], [], color=_TEXT, linestyle="--", label="text (old prey)"),
        Line2D([], [], color=_GENERATING, linestyle=":", label="generating value"),
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=3)
    _note(
        figure, summary, "lines: exact; shaded: constrained HMC given all data, of the schemes that were run"
    )
    return figure


def _legend() -> list[Line2D | Patch]:
    return [
        Patch(facecolor="#777777", alpha=0.5, label="kept iterations, all chains"),
        Line2D([], [], color=_EXACT, label="exact posterior, all data"),
        Line2D([], [], color=_GENERATING, linestyle="--", label="generating value"),
    ]


def _lengths(summary: pd.DataFrame, rows: Sequence[str]) -> str:
    parts = []
    for row in rows:
        try:
            n_chains = by_chain(summary, "acceptance", row).size
            method = of_row(summary, "acceptance", row)["method"].iloc[0]
            n_draws = int(rows_of(summary, "n_iterations", method=method)["value"].iloc[0])
        except MissingData:
            continue
        parts.append(f"{ROWS[row].label}: {n_chains} x {n_draws}")
    return f"chains x iterations, discarded ones included: {'; '.join(parts) or 'none'}"


def _note(figure: Figure, summary: pd.DataFrame, text: str) -> None:
    presets = sorted(set(summary["preset"])) if "preset" in summary else []
    preset_note(figure, f"preset {', '.join(presets) or 'unknown'}; {text}")


DRAW: dict[str, Draw] = {
    "fig_4_9": _data,
    "fig_4_10": _marginals(("pm_normalised", "pm_raw"), 3.4, wide=True),
    "fig_4_11": _marginals(_PUBLISHED_ROWS, 7.6),
    "fig_4_12": _efficiency,
    "fig_schemes": _schemes,
}
