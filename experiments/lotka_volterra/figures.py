"""Figures of the study, drawn from its two tables alone."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.panels import bar_place, mean_bars
from auxmc.plots.published import (
    entries_published_last,
    published_curve,
    published_entry,
    published_level,
    published_mark,
    published_moments,
)
from auxmc.plots.style import PAGE_WIDTH_IN
from auxmc_pipeline.available import available
from auxmc_pipeline.footer import footer
from auxmc_pipeline.published_values import published_series, published_value
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

_published = partial(published_value, "lotka_volterra")
_DOCUMENT = "PhD thesis"

_Density = tuple[FloatArray, FloatArray]


def data_series(tables: Tables) -> Figure:
    """Figure 4.9: prey and predators."""
    figure = Figure(figsize=(0.75 * PAGE_WIDTH_IN, 2.4), layout="constrained")
    axis = figure.subplots()
    for quantity, label, colour, marker in (
        ("data_prey", "prey", "#0072B2", "o"),
        ("data_predators", "predators", "#D55E00", "s"),
    ):
        series = known(tables.curves, quantity).drop_duplicates("step").sort_values("step")
        axis.plot(series["step"], series["value"], color=colour, marker=marker, label=label)
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
    for rate, axes in enumerate(grid.T):
        exact = _exact_density(tables.curves, rate, "code")
        drawn = {
            axis: _marginal_panel(axis, tables.curves, row, rate, exact)
            for axis, row in zip(axes, rows, strict=True)
        }
        for axis, row in zip(axes, rows, strict=True):
            _publish_marginal(axis, row, rate)
        _common_axes(drawn, exact, wide)
        for axis, row in zip(axes, rows, strict=True):
            # The samples on raw summaries are those of the earlier paper.
            place = {"pm_normalised": "4.10", "pm_raw": "EJS 9"}.get(row, "4.11")
            there = published_series("lotka_volterra", place, f"{row} log_z{rate + 1}")
            published_curve(axis, there.x, there.y, document=_DOCUMENT, steps=True)
            if wide:
                seen = there.x[there.y > 0.01 * there.y.max()]
                low, high = axis.get_xlim()
                for panel in axes:
                    panel.set_xlim(min(low, seen[0]), max(high, seen[-1]))
        for axis in drawn:
            axis.tick_params(labelbottom=axis is axes[-1])
        axes[-1].set_xlabel(_SYMBOLS[rate])
    for axis, row in zip(grid[:, 0], rows, strict=True):
        axis.set_ylabel(ROWS[row].label.replace(" (", "\n(").replace("ABC, ", "ABC,\n"))
    handles = [
        Patch(facecolor="#777777", alpha=0.5, label="kept iterations, all chains"),
        Line2D([], [], color=_EXACT, label="exact posterior, all data"),
        Line2D([], [], color=_GENERATING, linestyle="--", label="generating value"),
    ]
    handles.append(published_entry(_DOCUMENT, "raw: EJS figure 9" if wide else "histogram", curve=True))
    if "all" in rows:
        document = _published("IM-LV-10", "mean log z1").document
        handles.append(published_entry(document, "mean, bar of 1 sd"))
    if "pm_normalised" in rows:
        document = _published("IM-LV-09", "smallest log z4").document
        colour = ROWS["pm_normalised"].colour
        handles.append(published_entry(document, "smallest sample", level=True, colour=colour))
    figure.legend(handles=handles, loc="outside upper right", ncols=2)
    footer(figure, tables, "scheme code", _lengths(tables, rows))
    return figure


def _marginal_panel(axis: Axes, curves: Table, row: str, rate: int, exact: _Density) -> _Density:
    """Draws histogram, exact density and generating value; returns the histogram."""
    edges, heights = _histogram(curves, row, rate)
    colour = ROWS[row].colour
    axis.stairs(heights, edges, fill=True, color=colour, alpha=0.5, linewidth=0.0)
    axis.stairs(heights, edges, color=colour, linewidth=0.6)
    axis.plot(*exact, color=_EXACT, linewidth=0.9)
    axis.axvline(LOG_GENERATING[rate], color=_GENERATING, linestyle="--", linewidth=0.8)
    _without_heights(axis)
    return edges, heights


def _publish_marginal(axis: Axes, row: str, rate: int) -> None:
    """What the thesis has of the samples of a panel."""
    if row == "all":
        mean, sd = (_published("IM-LV-10", f"{name} log z{rate + 1}") for name in ("mean", "sd"))
        published_moments(axis, mean, sd)
    elif row == "pm_normalised" and rate + 1 == 4:
        smallest = _published("IM-LV-09", "smallest log z4")
        published_level(axis, smallest, vertical=True, colour=ROWS[row].colour)


def _common_axes(histograms: Mapping[Axes, _Density], exact: _Density, wide: bool) -> None:
    """Gives the panels of a column the same axes, and says which samples are all outside them."""
    low = min(float(edges[0]) for edges, _ in histograms.values())
    high = max(float(edges[-1]) for edges, _ in histograms.values())
    places, density = exact
    centre, reach = 0.5 * (places[0] + places[-1]), 0.5 * (places[-1] - places[0])
    limit = reach * (np.inf if wide else _WIDEST_SD / 4.5)
    low, high = max(min(low, places[0]), centre - limit), min(max(high, places[-1]), centre + limit)
    tallest = max(float(heights.max()) for _, heights in histograms.values())
    top = 2.0 * tallest if wide else _TALLEST * float(density.max())
    for axis, (edges, _) in histograms.items():
        axis.set(xlim=(low, high), ylim=(0.0, top))
        axis.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
        if edges[-1] < low:
            axis.text(0.03, 0.9, "← all samples", transform=axis.transAxes, va="top", fontsize=7.0)
        elif edges[0] > high:
            axis.text(
                0.97, 0.9, "all samples →", transform=axis.transAxes, ha="right", va="top", fontsize=7.0
            )


def _without_heights(axis: Axes) -> None:
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)


def _histogram(curves: Table, row: str, rate: int, scheme: str = "code") -> _Density:
    """Bin edges [bin + 1] and density [bin] of a log rate."""
    of_rate = curves.where(coordinate=COORDINATES[rate])
    low, high, bars = (
        of_row(of_rate, quantity, row, scheme)
        for quantity in ("histogram_low", "histogram_high", "histogram")
    )
    heights = bars.sort_values("bin")["value"].to_numpy(dtype=np.float64)
    return np.linspace(low["value"].iloc[0], high["value"].iloc[0], heights.size + 1), heights


def _exact_density(curves: Table, rate: int, scheme: str) -> _Density:
    """Places and density at them [point]."""
    places, density = (
        known(curves, quantity, coordinate=COORDINATES[rate], scheme=scheme)
        .drop_duplicates("point")
        .sort_values("point")["value"]
        .to_numpy(dtype=np.float64)
        for quantity in ("exact_place", "exact_density")
    )
    return places, density


def efficiency(tables: Tables) -> Figure:
    """Figure 4.12: bars of effective sample size per second."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.9), layout="constrained")
    axis = figure.subplots()
    colours = {ROWS[row].label: ROWS[row].colour for row in FIGURE_ROWS}
    chains = []
    for row, rates in available(partial(by_chain, tables, "ess_per_second"), FIGURE_ROWS).items():
        values = pd.DataFrame(rates.T, columns=list(_SYMBOLS))
        chains.append(values.melt(var_name="rate").assign(method=ROWS[row].label))
    drawn = mean_bars(axis, pd.concat(chains), "rate", "method", colours)
    axis.set(yscale="log", xlabel="", ylabel="ESS per second (1/s)")
    for index, label in enumerate(drawn):
        for rate in range(len(_SYMBOLS)):
            value = _published("IM-LV-17", f"{label}, log z{rate + 1}")
            published_mark(axis, bar_place(rate, index, len(drawn)), value, note="its machine")
    figure.legend(*entries_published_last(axis), loc="outside right upper")
    absent = ", ".join(label for label in colours if label not in drawn)
    footer(figure, tables, "scheme code", "logarithmic axis", f"not run: {absent}" if absent else "")
    return figure


def schemes(tables: Tables) -> Figure:
    """Exact posteriors and constrained HMC under both discretisations."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.1), layout="constrained")
    for rate, axis in enumerate(figure.subplots(1, 4)):
        for scheme, colour, style in (("code", _EXACT, "-"), ("text", _TEXT, "--")):
            axis.plot(*_exact_density(tables.curves, rate, scheme), color=colour, linestyle=style)
            with suppress(MissingData):
                edges, heights = _histogram(tables.curves, "all", rate, scheme)
                axis.stairs(heights, edges, fill=True, color=colour, alpha=0.25, linewidth=0.0)
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
    footer(
        figure, tables, "lines: exact", "shaded: constrained HMC given all data, of the schemes that were run"
    )
    return figure


def _lengths(tables: Tables, rows: Sequence[str]) -> str:
    parts = []
    for row in rows:
        chains = of_row(tables.summary, "acceptance", row)
        n_draws = known_value(
            tables.summary, "n_iterations", design="chains", method=chains["method"].iloc[0]
        )
        parts.append(f"{ROWS[row].label}: {len(chains)} x {n_draws:.0f}")
    return f"chains x iterations, discarded ones included: {'; '.join(parts)}"


DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_4_9": data_series,
    "fig_4_10": summary_posteriors,
    "fig_4_11": posteriors,
    "fig_4_12": efficiency,
    "fig_schemes": schemes,
}
