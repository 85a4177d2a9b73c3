"""Figures of the study, drawn from its two tables alone."""

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, StepPatch
from matplotlib.ticker import MaxNLocator

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.panels import grouped_bars, missing_panel
from auxmc.plots.style import PAGE_WIDTH_IN
from auxmc_pipeline.footer import footer
from auxmc_pipeline.tables import MissingData, Table, Tables
from experiments.lotka_volterra.lookup import (
    COORDINATES,
    FIGURE_ROWS,
    LOG_GENERATING,
    ROWS,
    by_chain,
    known,
    known_value,
    of_row,
)

_EXACT, _TEXT, _GENERATING = "black", "#D55E00", "#555555"
_SYMBOLS = tuple(rf"$\log\, z_{i}$" for i in range(1, 5))
# Bars above this multiple of the exact density are cut, or a chain that hardly moves would hide all others.
_TALLEST = 1.6
_WIDEST_SD = 12.0


def data_series(tables: Tables) -> Figure:
    """Figure 4.9: prey and predators."""
    figure = Figure(figsize=(0.75 * PAGE_WIDTH_IN, 2.4), layout="constrained")
    axis = figure.subplots()
    try:
        for quantity, label, colour, marker in (
            ("data_prey", "prey", "#0072B2", "o"),
            ("data_predators", "predators", "#D55E00", "s"),
        ):
            series = known(tables.curves, quantity).drop_duplicates("step").sort_values("step")
            axis.plot(series["step"], series["value"], color=colour, marker=marker, label=label)
    except MissingData as missing:
        missing_panel(axis, str(missing))
        return figure
    axis.set(xlabel="step", ylabel="population", xlim=(-0.5, None), ylim=(0.0, None))
    figure.legend(loc="outside right upper")
    footer(figure, tables, "published data, step 0 is the initial state")
    return figure


def summary_posteriors(tables: Tables) -> Figure:
    """Figure 4.10: pseudo-marginal methods on summaries."""
    return _marginals(tables, ("pm_normalised", "pm_raw"), 3.4, wide=True)


def posteriors(tables: Tables) -> Figure:
    """Figure 4.11: constrained HMC and methods of approximate Bayesian computation."""
    return _marginals(tables, FIGURE_ROWS, 7.6)


def _marginals(tables: Tables, rows: Sequence[str], height: float, *, wide: bool = False) -> Figure:
    """Figure with a row for each method and a column for each log rate."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, height), layout="constrained")
    grid = figure.subplots(len(rows), 4, squeeze=False)
    for rate in range(4):
        exact = _exact_density(tables.curves, rate, "code")
        panels = zip(grid[:, rate], rows, strict=True)
        spans = [_marginal_panel(axis, tables.curves, row, rate, exact) for axis, row in panels]
        _common_axes(list(grid[:, rate]), [span for span in spans if span], exact, wide)
        grid[-1, rate].set_xlabel(_SYMBOLS[rate])
    for axis, row in zip(grid[:, 0], rows, strict=True):
        axis.set_ylabel(ROWS[row].label.replace(" (", "\n(").replace("ABC, ", "ABC,\n"))
    handles = [
        Patch(facecolor="#777777", alpha=0.5, label="kept iterations, all chains"),
        Line2D([], [], color=_EXACT, label="exact posterior, all data"),
        Line2D([], [], color=_GENERATING, linestyle="--", label="generating value"),
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=3)
    footer(figure, tables, "scheme code", _lengths(tables, rows))
    return figure


def _marginal_panel(
    axis: Axes, curves: Table, row: str, rate: int, exact: tuple[FloatArray, FloatArray] | None
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
    axis.axvline(LOG_GENERATING[rate], color=_GENERATING, linestyle="--", linewidth=0.8)
    _without_heights(axis)
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
        axis.set_ylim(0.0, top)
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


def _without_heights(axis: Axes) -> None:
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)


def _histogram(curves: Table, row: str, rate: int, scheme: str = "code") -> tuple[FloatArray, FloatArray]:
    """Bin edges [bin + 1] and density [bin] of a log rate."""
    of_rate = curves.where(coordinate=COORDINATES[rate])
    low, high, bars = (
        of_row(of_rate, quantity, row, scheme)
        for quantity in ("histogram_low", "histogram_high", "histogram")
    )
    heights = bars.sort_values("bin")["value"].to_numpy(dtype=np.float64)
    return np.linspace(low["value"].iloc[0], high["value"].iloc[0], heights.size + 1), heights


def _exact_density(curves: Table, rate: int, scheme: str) -> tuple[FloatArray, FloatArray] | None:
    try:
        places, density = (
            known(curves, quantity, coordinate=COORDINATES[rate], scheme=scheme)
            .drop_duplicates("point")
            .sort_values("point")["value"]
            .to_numpy(dtype=np.float64)
            for quantity in ("exact_place", "exact_density")
        )
    except MissingData:
        return None
    return places, density


def efficiency(tables: Tables) -> Figure:
    """Figure 4.12: bars of effective sample size per second."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.9), layout="constrained")
    axis = figure.subplots()
    heights, errors, colours, absent = {}, {}, {}, []
    for row in FIGURE_ROWS:
        label = ROWS[row].label
        try:
            values = by_chain(tables, "ess_per_second", row)
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
    grouped_bars(axis, _SYMBOLS, heights, errors, colours=colours, value_label="ESS per second (1/s)")
    axis.set_yscale("log")
    figure.legend(loc="outside right upper")
    not_run = f"not run: {', '.join(absent)}" if absent else ""
    footer(figure, tables, "scheme code", "logarithmic axis", not_run)
    return figure


def schemes(tables: Tables) -> Figure:
    """Exact posteriors and constrained HMC under both discretisations."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.1), layout="constrained")
    for rate, axis in enumerate(figure.subplots(1, 4)):
        drawn = False
        for scheme, colour in (("code", _EXACT), ("text", _TEXT)):
            exact = _exact_density(tables.curves, rate, scheme)
            if exact is not None:
                axis.plot(*exact, color=colour, linestyle="-" if scheme == "code" else "--")
                drawn = True
            try:
                edges, heights = _histogram(tables.curves, "all", rate, scheme)
            except MissingData:
                continue
            axis.stairs(heights, edges, fill=True, color=colour, alpha=0.25, linewidth=0.0)
        if not drawn:
            missing_panel(axis, "exact posterior: not run at this preset")
            continue
        axis.axvline(LOG_GENERATING[rate], color=_GENERATING, linestyle=":", linewidth=0.9)
        axis.set(xlabel=_SYMBOLS[rate], ylim=(0.0, None))
        _without_heights(axis)
        axis.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    handles = [
        Line2D([], [], color=_EXACT, label="code (new prey)"),
        Line2D([], [], color=_TEXT, linestyle="--", label="text (old prey)"),
        Line2D([], [], color=_GENERATING, linestyle=":", label="generating value"),
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=3)
    shown = "lines: exact; shaded: constrained HMC given all data, of the schemes that were run"
    footer(figure, tables, shown)
    return figure


def _lengths(tables: Tables, rows: Sequence[str]) -> str:
    parts = []
    for row in rows:
        with suppress(MissingData):
            chains = of_row(tables.summary, "acceptance", row)
            n_draws = known_value(tables.summary, "n_iterations", method=chains["method"].iloc[0])
            parts.append(f"{ROWS[row].label}: {len(chains)} x {n_draws:.0f}")
    return f"chains x iterations, discarded ones included: {'; '.join(parts) or 'none'}"


DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_4_9": data_series,
    "fig_4_10": summary_posteriors,
    "fig_4_11": posteriors,
    "fig_4_12": efficiency,
    "fig_schemes": schemes,
}
