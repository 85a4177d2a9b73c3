"""Figures of the study, drawn from its tables."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.footer import chain_lengths, footer
from auxmc_pipeline.plots.factor_graphs import factor_graph
from auxmc_pipeline.plots.looks import METHOD_COLOURS, METHOD_LABELS, QUANTITY_COLOURS
from auxmc_pipeline.plots.panels import (
    band_curve,
    bar_place,
    bin_edges,
    histogram_panel,
    mean_bars,
    missing_panel,
    page,
    trace_panel,
)
from auxmc_pipeline.plots.published import (
    PUBLISHED_COLOUR,
    entries_published_last,
    published_curve,
    published_entry,
    published_mark,
    published_moments,
)
from auxmc_pipeline.published_values import PublishedMarks, PublishedSeries
from auxmc_pipeline.tables import Tables
from experiments.gp_probit.claims import PER_CALL, PER_OPERATION, compared_chains
from experiments.gp_probit.settings import AVERAGE, MAIN_METHODS, OUTPUT_SCALE, RIVALS, main_case

_BAND_ALPHA = 0.2
_REFERENCE = QUANTITY_COLOURS["reference"]
_CUBIC_OPERATIONS = ("cubic_operations_so_far", "cubic operations in a chain")
_PUBLISHED_SIZE = 50
_marks = partial(PublishedMarks, "gp_probit")
_DOCUMENT = "PhD thesis"
_PUBLISHED_BARS: dict[str, Any] = {
    "color": PUBLISHED_COLOUR, "fmt": "_", "elinewidth": 0.6, "markersize": 3.0, "markeredgewidth": 0.8,
}  # fmt: skip
_RUN_TIME = ("run_time_so_far", "run time of a chain (s)")


def model_graph(tables: Tables) -> Figure:
    """Figure 3.10: the factor graph of the model; uses no data."""
    del tables
    figure = factor_graph(Path(__file__).with_name("model_graph.toml"))
    axis = figure.axes[0]
    axis.text(4.1, 2.25, "covariance\nfunction", ha="left", va="bottom", fontsize=7.5)
    corners = [(5.45, 2.0), (6.0, 2.55), (6.55, 2.0), (6.0, 1.45)]
    axis.add_patch(Polygon(corners, closed=True, facecolor="white", edgecolor="black", zorder=2))
    axis.text(6.0, 2.0, r"$C$", ha="center", va="center", fontsize=10.0, zorder=3)
    return figure


def efficiency_bars(tables: Tables) -> Figure:
    """Figure 3.11a: effective sample size per 1000 cubic operations by coordinate and method."""
    figure, axis = page(2.9)
    methods = {main_case(method): METHOD_LABELS[method] for method in MAIN_METHODS}
    rows = tables.rows("chain_coordinate", case=list(methods)).rename(columns={PER_OPERATION: "value"})
    features = rows["coordinate"].str.removeprefix("log_length_scale[").str.removesuffix("]")
    features = features.replace(OUTPUT_SCALE, r"$\log s$")
    rows = rows.assign(method=rows["case"].map(methods), coordinate=features)
    means = rows.groupby(["method", "chain"])["value"].agg(lambda values: values.mean(skipna=False))
    rows = pd.concat([rows, means.reset_index().assign(coordinate="mean")])
    methods_of = {METHOD_LABELS[method]: method for method in MAIN_METHODS}
    colours = {label: METHOD_COLOURS[method] for label, method in methods_of.items()}
    drawn = mean_bars(axis, rows, "coordinate", "method", colours)
    last = rows["coordinate"].nunique() - 1
    published = _marks(tables)
    for index, name in enumerate(drawn):
        place = bar_place(last, index, len(drawn))
        published_mark(axis, place, published("PM-P06", f"average {name}"))
        if (bars := published.curve("3.11a", methods_of[name])) is None:
            continue
        places = np.array([bar_place(group, index, len(drawn)) for group in range(len(bars.y))])
        axis.errorbar(places, bars.y, bars.high - bars.y, label="_", **_PUBLISHED_BARS)
    axis.set(ylabel="ESS per 1000 cubic operations", ylim=(0.0, None))
    axis.set_xlabel("log output variance $\\log s$, log length scales by feature")
    figure.legend(*entries_published_last(axis), loc="outside upper center", ncols=len(drawn) + 1)
    return footer(figure, tables, _lengths(tables))


def convergence(tables: Tables) -> Figure:
    """Figure 3.11b: log(R-hat - 1), mean over coordinates, against cubic operations and run time."""
    return _r_hat_figure(tables, ("", AVERAGE, *_CUBIC_OPERATIONS), ("", AVERAGE, *_RUN_TIME))


def convergence_supplement(tables: Tables) -> Figure:
    """Supplement of figure 3.11b: the worst coordinate, and the log output scale alone."""
    worst, scale = ("worst coordinate", "largest"), ("log output scale", "first coordinate")
    return _r_hat_figure(tables, (*worst, *_CUBIC_OPERATIONS), (*scale, *_CUBIC_OPERATIONS))


def output_scale(tables: Tables) -> Figure:
    """Figure 3.12: trace and histogram of the log output scale by method."""
    figure, grid = page(6.8, len(MAIN_METHODS), 2, width_ratios=(1.7, 1.0))
    cases = [main_case(method) for method in MAIN_METHODS]
    histograms = [tables.array("histogram", "chain", "bin", case=case).sum("chain") for case in cases]
    sizes = [float(tables.values("histogram_draws", case=case).sum()) for case in cases]
    # Of the other methods together, each with equal weight.
    pooled = np.mean([found.values / size for found, size in zip(histograms, sizes, strict=True)][1:], axis=0)
    published = _marks(tables)
    mean, sd = (published("PM-P12", name) for name in ("mean", "standard deviation"))
    drawn: list[tuple[Axes, Axes]] = []
    for (left, right), method, counts, n_draws in zip(grid, MAIN_METHODS, histograms, sizes, strict=True):
        colour, title = METHOD_COLOURS[method], METHOD_LABELS[method]
        trace = tables.values("trace", "iteration", case=main_case(method))
        trace_panel(left, trace, first_iteration=1, colour=colour)
        left.set(xlabel="", ylabel=r"$\log s$")
        left.set_title(title, loc="left")
        edges = bin_edges(counts["bin"])
        if counts.sum() == 0:
            missing_panel(right, "no draws in the range of the histogram")
            continue
        histogram_panel(right, edges, counts, n_total=n_draws, colour=colour)
        right.set_title(f"{n_draws:.0f} draws")
        if (there := published.curve("3.12", method)) is not None:
            published_curve(right, there.x, there.y, document=_DOCUMENT, steps=True)
        right.stairs(pooled / np.diff(edges), edges, color=_REFERENCE, linewidth=0.8)
        if mean is not None and sd is not None:
            published_moments(right, mean, sd)
        drawn.append((left, right))
    # Panels are compared with each other: they get the same limits, those without draws left out.
    for column in zip(*drawn, strict=True):
        low, high = (pick(axis.get_ylim()[i] for axis in column) for i, pick in enumerate((min, max)))
        for axis in column:
            axis.set_ylim(low, high)
            if axis is not column[-1]:
                axis.tick_params(labelbottom=False)
    if drawn:
        drawn[-1][0].set_xlabel("iteration of the main run")
        drawn[-1][1].set_xlabel(r"$\log s$")
    if drawn and mean is not None:
        moments = published_entry(mean.document, "mean, bar of 1 sd")
        bars = published_entry(_DOCUMENT, "histogram", curve=True)
        figure.legend(handles=[moments, bars], loc="outside upper right", ncols=2)
    return footer(figure, tables, _lengths(tables))


def importance_samples(tables: Tables) -> Figure:
    """Noise of the log estimate and expected acceptance rates over the number of importance samples."""
    figure, (left, right) = page(2.8, 1, 2)
    rates = {
        "acceptance_mi": ("MI update of $u$", METHOD_COLOURS["apm_mi_mh"], "s"),
        "acceptance_apm_mh": ("MH update of $x$, $u$ fixed", "black", "^"),
        "acceptance_pm_mh": ("PM MH, joint", METHOD_COLOURS["pm_mh"], "o"),
    }
    found = tables.rows("chain_reference", case="estimator")
    n_weights = tables.setting("n_weights", case="estimator")
    drawn: dict[str, Any] = {"x": "n_importance", "markeredgewidth": 0.0, "markersize": 5.0}
    deciles: Any = ("pi", 80)  # first to ninth decile of all posterior draws
    look = {"estimator": "median", "errorbar": deciles, "color": "black", "marker": "o"}
    sns.lineplot(found, y="sd_log_estimate", ax=left, **look, **drawn)
    left.set(yscale="log", ylabel="sd of log density estimate (nats)")
    for name, (label, colour, marker) in rates.items():
        chains = found.groupby(["n_importance", "chain"])[name].mean().reset_index()
        look = {"errorbar": "se", "err_style": "bars", "color": colour, "marker": marker}
        sns.lineplot(chains, y=name, label=label, legend=False, ax=right, **look, **drawn)
    points = found["n_importance"].unique()
    if _PUBLISHED_SIZE in points:
        rate = _marks(tables)("PM-P08", f"main runs N={_PUBLISHED_SIZE}")
        published_mark(right, _PUBLISHED_SIZE, rate, colour=rates["acceptance_mi"][1], note="MI update")
    right.set(ylim=(0.0, None), ylabel="expected acceptance rate")
    for axis in (left, right):
        axis.set_xscale("log")
        axis.set_xticks(points, [f"{point:g}" for point in points])
        axis.minorticks_off()
        axis.set_xlabel("importance samples")
    figure.legend(*entries_published_last(right), loc="outside upper right", ncols=2)
    n_points = len(found[["chain", "reference"]].drop_duplicates())
    draws = f"{n_points} posterior draws of {found['chain'].nunique()} reference chains"
    return footer(figure, tables, f"{draws}, {n_weights} weights at each")


def rivals(tables: Tables) -> Figure:
    """Efficiency of the methods of the thesis and of those that its section 3.7 names."""
    chains = compared_chains(tables)
    order = {method: place for place, method in enumerate((*MAIN_METHODS, *RIVALS))}
    chains = chains.sort_values(["method", "auxiliary_step", "step_size"], key=lambda c: c.replace(order))
    steps = dict.fromkeys(RIVALS[:2], ("auxiliary_step", r"$\lambda$"))
    steps["pm_hmc"] = ("step_size", r"$\epsilon$")
    names = []
    for _, row in chains.iterrows():
        name, symbol = steps.get(row["method"], ("", ""))
        names.append(METHOD_LABELS[row["method"]] + (f", {symbol} = {row[name]:g}" if name else ""))
    figure, axes = page(3.2, 1, 2, sharey=True)
    look: dict[str, Any] = {"y": "name", "hue": "method", "palette": dict(METHOD_COLOURS), "legend": False}
    labels = ("ESS per 1000 cubic operations", "ESS per 1000 density estimates")
    for axis, quantity, label in zip(axes, (PER_OPERATION, PER_CALL), labels, strict=True):
        drawn = {"data": chains.assign(name=names), "x": quantity, "ax": axis, **look}
        sns.stripplot(**drawn, size=3.0, alpha=0.5)
        sns.pointplot(**drawn, errorbar="se", linestyle="none", markersize=5.0, err_kws={"linewidth": 1.0})
        axis.set(xlabel=label, ylabel="", xlim=(0.0, None))
    sizes = chains.groupby("case")["main_draws"].agg(["size", "first"]).agg(["min", "max"]).astype(int)
    said = [" to ".join(dict.fromkeys(map(str, sizes[name]))) for name in ("size", "first")]
    return footer(figure, tables, f"{said[0]} chains of {said[1]} iterations after warm-up")


DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_3_10": model_graph,
    "fig_3_11a": efficiency_bars,
    "fig_3_11b": convergence,
    "fig_3_11b_supplement": convergence_supplement,
    "fig_3_12": output_scale,
    "fig_n_importance": importance_samples,
    "fig_rivals": rivals,
}


def _lengths(tables: Tables) -> str:
    sizes = {}
    for method in MAIN_METHODS:
        sizes[METHOD_LABELS[method]] = f"{chain_lengths(tables, case=main_case(method))} after warm-up"
    if len(set(sizes.values())) == 1:
        return f"each method {sizes.popitem()[1]}"
    return "; ".join(f"{name} {size}" for name, size in sizes.items())


def _r_hat_figure(tables: Tables, *panels: tuple[str, str, str, str]) -> Figure:
    """Two panels next to each other, each with title, aggregate of R-hat, cost and label of the cost."""
    figure, axes = page(3.0, 1, 2, sharey=True)
    for axis, (title, *about) in zip(axes, panels, strict=True):
        _r_hat_panel(axis, tables, *about)
        axis.set_title(title)
    axes[1].set_ylabel("")
    handles, labels = entries_published_last(axes[0])
    if handles:
        figure.legend(handles, labels, loc="outside upper center", ncols=len(handles))
    return footer(figure, tables, _lengths(tables))


def _r_hat_panel(axis: Axes, tables: Tables, aggregate: str, cost: str, cost_label: str) -> None:
    drawn_there: list[tuple[PublishedSeries, float, str]] = []
    for method in MAIN_METHODS:
        found = tables.rows("aggregate_end", case=main_case(method), aggregate=aggregate)
        found = found.merge(tables.rows("end", case=main_case(method)), on="end")
        place = found[cost].to_numpy()
        low, high = (_log_excess(found[name]) for name in ("psrf", "psrf_upper"))
        if not np.isfinite(low).any():
            continue
        colour = METHOD_COLOURS[method]
        band_curve(axis, place, low, colour=colour, label=METHOD_LABELS[method])
        if len(low) == 1:
            axis.vlines(place, low, high, color=colour, alpha=0.5)
        there = _marks(tables).curve("3.11b", method)
        if there is not None and cost == _CUBIC_OPERATIONS[0] and aggregate == AVERAGE:
            # An iteration of a method costs as many cubic operations throughout.
            drawn_there.append((there, place[-1] / found["end"].iloc[-1], colour))
        usable = (np.isfinite(low) & np.isfinite(high)).tolist()
        axis.fill_between(place, low, high, where=usable, color=colour, alpha=_BAND_ALPHA, linewidth=0.0)
    if not axis.lines:
        missing_panel(axis, "R-hat is not above 1")
        return
    axis.set_xlim(left=0.0)
    for there, unit, colour in drawn_there:
        published_curve(axis, unit * there.x, there.y, document=_DOCUMENT, colour=colour)
    axis.locator_params(axis="x", nbins=5)
    axis.set_xlabel(cost_label)
    axis.set_ylabel(r"$\log(\hat{R} - 1)$")


def _log_excess(r_hat: "pd.Series[float]") -> FloatArray:
    excess = r_hat.to_numpy() - 1.0
    usable = np.isfinite(excess) & (excess > 0.0)
    return np.where(usable, np.log(np.where(usable, excess, 1.0)), np.nan)
