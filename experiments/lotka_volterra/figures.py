"""Figures of the study, drawn from its tables."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import PAGE_WIDTH_IN
from auxmc_pipeline.footer import chain_lengths, footer
from auxmc_pipeline.plots.panels import band_curve, bar_place, mean_bars, page
from auxmc_pipeline.plots.published import (
    entries_published_last,
    published_curve,
    published_entry,
    published_level,
    published_mark,
    published_moments,
)
from auxmc_pipeline.published_values import PublishedMarks
from auxmc_pipeline.tables import MissingData, Tables, available
from auxmc_pipeline.tolerances import efficiency_figure
from experiments.lotka_volterra.claims import FALLING, LOG_GENERATING, sparse_rows
from experiments.lotka_volterra.settings import COORDINATES, FIGURE_ROWS, ROWS

_EXACT, _TEXT, _GENERATING = "black", "#D55E00", "#555555"
_COLOURS = {  # Okabe and Ito's
    "all": "#009E73",
    "summaries": "#56B4E9",
    "ball_10": "#D55E00",
    "ball_100": "#E69F00",
    "gaussian": "#0072B2",
    "hmc": "#CC79A7",
    "pm_normalised": "#0072B2",
    "pm_wider": "#0072B2",
    "pm_raw": "#D55E00",
}
_DRAWN_AS = {"pm_wider": "pm_normalised"}  # published curves that are drawn with rows of ours
_SYMBOLS = tuple(rf"$\log\, z_{i}$" for i in range(1, 5))
_TALLEST = 1.6  # times the exact density, where bars are cut: a chain that hardly moves would hide all others
_WIDEST_SD = 12.0
_DOCUMENT = "PhD thesis"
_SCHEME_COLOURS = {"code": _EXACT, "text": _TEXT}
_Density = tuple[FloatArray, FloatArray]


def data_series(tables: Tables) -> Figure:
    """Figure 4.9: prey and predators."""
    figure, axis = page(2.4, width=0.75 * PAGE_WIDTH_IN)
    series = tables.rows("step", case="constrained")
    for population, colour, marker in (("prey", "#0072B2", "o"), ("predators", "#D55E00", "s")):
        look: dict[str, Any] = {"color": colour, "marker": marker, "label": population, "legend": False}
        look |= {"markeredgewidth": None, "markeredgecolor": None}
        sns.lineplot(series, x="step", y=f"data_{population}", ax=axis, **look)
    axis.set(xlabel="step", ylabel="population", xlim=(-0.5, None), ylim=(0.0, None))
    figure.legend(loc="outside right upper")
    return footer(figure, tables, "published data, step 0 is the initial state")


def summary_posteriors(tables: Tables) -> Figure:
    """Figure 4.10: pseudo-marginal methods on summaries."""
    return _marginals(tables, ("pm_normalised", "pm_wider", "pm_raw"), 4.8, wide=True)


def posteriors(tables: Tables) -> Figure:
    """Figure 4.11: constrained HMC and methods of approximate Bayesian computation."""
    return _marginals(tables, FIGURE_ROWS, 7.6)


def _marginals(tables: Tables, rows: Sequence[str], height: float, *, wide: bool = False) -> Figure:
    figure, grid = page(height, len(rows), 4, squeeze=False)
    published = PublishedMarks("lotka_volterra", tables)
    for rate, axes in enumerate(grid.T):
        exact = _exact_density(tables, rate, "code")
        drawn = {}
        for axis, row in zip(axes, rows, strict=True):
            edges, heights = drawn[axis] = _histogram(tables, row, rate)
            axis.stairs(heights, edges, fill=True, color=_COLOURS[row], alpha=0.5, linewidth=0.0)
            axis.stairs(heights, edges, color=_COLOURS[row], linewidth=0.6)
            if exact is not None:
                axis.plot(*exact, color=_EXACT, linewidth=0.9)
            _without_heights(axis)
            _publish_marginal(axis, row, rate, published)
        _common_axes(drawn, exact, wide)
        for axis, row in zip(axes, rows, strict=True):
            # The samples on raw summaries are those of the earlier paper.
            place = {"pm_normalised": "4.10", "pm_wider": "4.10", "pm_raw": "EJS 9"}.get(row, "4.11")
            there = published.curve(place, f"{_DRAWN_AS.get(row, row)} log_z{rate + 1}")
            if there is None:
                continue
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
        label = ROWS[row].label
        axis.set_ylabel(label.replace(" (", "\n(").replace("ABC, ", "ABC,\n").replace("d, ", "d,\n"))
    handles = [
        Patch(facecolor="#777777", alpha=0.5, label="kept iterations, all chains"),
        Line2D([], [], color=_EXACT, label="exact posterior, all data"),
    ]
    if (mean := published("IM-LV-10", "mean log z1")) is not None:
        handles.append(Line2D([], [], color=_GENERATING, linestyle="--", label="generating value"))
        handles.append(published_entry(_DOCUMENT, "raw: EJS figure 9" if wide else "histogram", curve=True))
        if "all" in rows:
            handles.append(published_entry(mean.document, "mean, bar of 1 sd"))
        if "pm_normalised" in rows:
            colour = _COLOURS["pm_normalised"]
            handles.append(published_entry(_DOCUMENT, "smallest sample", level=True, colour=colour))
    figure.legend(handles=handles, loc="outside upper right", ncols=2)
    return footer(figure, tables, "scheme code", _lengths(tables, rows))


def _publish_marginal(axis: Axes, row: str, rate: int, published: PublishedMarks) -> None:
    mean, sd = (published("IM-LV-10", f"{name} log z{rate + 1}") for name in ("mean", "sd"))
    if mean is None or sd is None:
        return
    axis.axvline(LOG_GENERATING[rate], color=_GENERATING, linestyle="--", linewidth=0.8)
    if row == "all":
        published_moments(axis, mean, sd)
    elif row == "pm_normalised" and rate + 1 == 4:
        smallest = published("IM-LV-09", "smallest log z4")
        published_level(axis, smallest, vertical=True, colour=_COLOURS[row])


def _common_axes(histograms: Mapping[Axes, _Density], exact: _Density | None, wide: bool) -> None:
    low = min(float(edges[0]) for edges, _ in histograms.values())
    high = max(float(edges[-1]) for edges, _ in histograms.values())
    top = 2.0 * max(float(heights.max()) for _, heights in histograms.values())
    if exact is not None:
        places, density = exact
        centre, reach = 0.5 * (places[0] + places[-1]), 0.5 * (places[-1] - places[0])
        limit = reach * (np.inf if wide else _WIDEST_SD / 4.5)
        low, high = max(min(low, places[0]), centre - limit), min(max(high, places[-1]), centre + limit)
        top = top if wide else _TALLEST * float(density.max())
    for axis, (edges, _) in histograms.items():
        axis.set(xlim=(low, high), ylim=(0.0, top))
        axis.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
        if edges[-1] < low:
            axis.text(0.03, 0.9, "← all samples", transform=axis.transAxes, va="top", fontsize=7.0)
        elif edges[0] > high:
            axis.text(0.97, 0.9, "all samples →", transform=axis.transAxes, ha="right", va="top", size=7.0)


def _without_heights(axis: Axes) -> None:
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)


def _histogram(tables: Tables, row: str, rate: int, scheme: str = "code") -> _Density:
    """Bin edges [bin + 1] and density [bin] of a log rate."""
    where = {**ROWS[row].where(scheme), "coordinate": COORDINATES[rate]}
    heights = tables.values("histogram", "coordinate_bin", **where)
    low, high = (tables.values(f"histogram_{end}", "coordinate", **where)[0] for end in ("low", "high"))
    return np.linspace(low, high, heights.size + 1), heights


def _exact_density(tables: Tables, rate: int, scheme: str) -> _Density | None:
    """Places and density at them [point]; None where they are not known."""
    where = {"case": "constrained", "coordinate": COORDINATES[rate], "scheme": scheme}
    with suppress(MissingData):
        exact = tables.rows("coordinate_point", "exact_place", **where)
        return exact["exact_place"].to_numpy(), exact["exact_density"].to_numpy()
    return None


def efficiency(tables: Tables) -> Figure:
    """Figure 4.12: bars of effective sample size per second."""
    figure, axis = page(2.9)
    published = PublishedMarks("lotka_volterra", tables)
    colours = {ROWS[row].label: _COLOURS[row] for row in FIGURE_ROWS}
    read = partial(tables.rows, "chain_coordinate", "ess_per_second")
    chains = available(lambda row: read(**ROWS[row].where()), FIGURE_ROWS)
    bars = pd.concat([rows.assign(label=ROWS[row].label) for row, rows in chains.items()])
    rates = bars["coordinate"].map(dict(zip(COORDINATES, _SYMBOLS, strict=True)))
    bars = bars.rename(columns={"ess_per_second": "value"}).assign(rate=rates)
    drawn = mean_bars(axis, bars, "rate", "label", colours)
    axis.set(yscale="log", xlabel="", ylabel="ESS per second (1/s)")
    for index, label in enumerate(drawn):
        for rate, name in enumerate(COORDINATES):
            value = published("IM-LV-17", f"{label}, {name}")
            published_mark(axis, bar_place(rate, index, len(drawn)), value, note="its machine")
    figure.legend(*entries_published_last(axis), loc="outside right upper")
    absent = ", ".join(label for label in colours if label not in drawn)
    return footer(figure, tables, "scheme code", "logarithmic axis", f"not run: {absent}" if absent else "")


def schemes(tables: Tables) -> Figure:
    """Exact posteriors and constrained HMC under both discretisations."""
    figure, axes = page(2.1, 1, 4)
    for rate, axis in enumerate(axes):
        for (scheme, colour), style in zip(_SCHEME_COLOURS.items(), ("-", "--"), strict=True):
            if (exact := _exact_density(tables, rate, scheme)) is not None:
                axis.plot(*exact, color=colour, linestyle=style)
            with suppress(MissingData):
                edges, heights = _histogram(tables, "all", rate, scheme)
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
    shaded = "shaded: constrained HMC given all data, of the schemes that were run"
    return footer(figure, tables, "lines: exact", shaded)


def riemannian(tables: Tables) -> Figure:
    """Efficiency of HMC with a constant and with a position-dependent metric, as the tolerance falls."""
    lengths = [f"{name}: {chain_lengths(tables, case=where['case'])}" for name, where in FALLING.items()]
    return footer(efficiency_figure(tables, "coordinate", FALLING), tables, *lengths)


def sparse_observations(tables: Tables) -> Figure:
    """Posterior moments and efficiency of constrained HMC over the steps between two observations."""
    figure, grid = page(4.2, 2, 4)
    moments = sparse_rows(tables, "coordinate", "posterior_mean").sort_values("steps")
    for rate, axis in enumerate(grid[0]):
        for scheme, colour in _SCHEME_COLOURS.items():
            rows = moments[(moments["scheme"] == scheme) & (moments["coordinate"] == COORDINATES[rate])]
            columns = rows[["steps", "posterior_mean", "posterior_sd", "mcse_mean"]]
            steps, means, sds, errors = columns.to_numpy(np.float64).T
            band_curve(axis, steps, means, sds, colour=colour, linewidth=0.9)
            axis.errorbar(steps, means, 2.0 * errors, color=colour, fmt="o", markersize=2.5, capsize=2.0)
        axis.set(title=_SYMBOLS[rate], ylabel="posterior mean" if rate == 0 else "")
    measures = (
        ("chain", "acceptance", "acceptance rate"),
        ("chain_coordinate", "ess_per_1000_evaluations", "ESS per 1000 runs"),
    )
    for axis, (table, quantity, label) in zip(grid[1], measures, strict=False):
        rows = sparse_rows(tables, table, quantity)
        chains = rows.groupby(["steps", "scheme", "chain"], as_index=False)[quantity].mean()
        look: dict[str, Any] = {"palette": _SCHEME_COLOURS, "errorbar": "se", "err_style": "bars"}
        sns.lineplot(chains, x="steps", y=quantity, hue="scheme", ax=axis, marker="o", legend=False, **look)
        axis.set(ylabel=label, ylim=(0.0, 1.1 * chains[quantity].max()))
    for axis in grid.flat:
        axis.set(xscale="log", xlabel="" if axis in grid[0] else "steps an observation, $M$")
        ticks = sorted(moments["steps"].unique())
        axis.set_xticks(ticks, [f"{n:g}" for n in ticks])
        axis.xaxis.minorticks_off()
    for axis in grid[1, len(measures) :]:
        axis.set_axis_off()
    drawn = [scheme for scheme in _SCHEME_COLOURS if scheme in set(moments["scheme"])]
    handles = [Line2D([], [], color=_SCHEME_COLOURS[name], label=f"scheme {name}") for name in drawn]
    grid[1, 2].legend(handles=handles, loc="center")
    return footer(figure, tables, "chmc_teacher_forced", "M = 1: case constrained")


def _lengths(tables: Tables, rows: Sequence[str]) -> str:
    parts = []
    for row in rows:
        where = ROWS[row].where()
        n_chains, n_draws = len(tables.rows("chain", **where)), tables.value("n_iterations", **where)
        parts.append(f"{ROWS[row].label}: {n_chains} x {n_draws:.0f}")
    return f"chains x iterations, discarded ones included: {'; '.join(parts)}"


DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_4_9": data_series,
    "fig_4_10": summary_posteriors,
    "fig_4_11": posteriors,
    "fig_4_12": efficiency,
    "fig_schemes": schemes,
    "fig_riemannian": riemannian,
    "fig_sparse": sparse_observations,
}
