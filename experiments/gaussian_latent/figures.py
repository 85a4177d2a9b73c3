"""Figures of the study, drawn from its two tables alone."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch, Patch, Rectangle

from auxmc.plots.panels import (
    band_curve,
    efficiency_panel,
    histogram_panel,
    missing_panel,
    preset_note,
    trace_panel,
)
from auxmc.plots.style import METHOD_COLOURS, PAGE_WIDTH_IN, QUANTITY_COLOURS, readable
from auxmc_pipeline.lookup import MissingData, rows_of
from experiments.gaussian_latent.selection import (
    BEST_STEP,
    SIZES,
    TARGET_ACCEPT,
    Grid,
    Where,
    grid_of,
    scalar_of,
)
from experiments.gaussian_latent.settings import scale_name

_DATA_SET_ROWS = ("acceptance", "longest_run_position", "ess_per_evaluation")
_PUBLISHED_STEP = 0.425
_EVALUATION_UNIT = 1e-4
_SCALE_LABELS = {"step_size": "step size", "bracket_width": "initial bracket width"}

Draw = Callable[[pd.DataFrame, pd.DataFrame], Figure]
_STYLES: dict[str, Literal["-", "--"]] = {"calibrated": "-", "as_stated": "--"}


def _factor_graph(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Factor graph of the hierarchical model."""
    del summary, curves
    figure = Figure(figsize=(0.75 * PAGE_WIDTH_IN, 1.35), layout="constrained")
    axis = figure.subplots()
    variables = {
        1.0: (r"$\mathbf{x}$", False),
        3.0: (r"$\mathbf{z}^{(m)}$", False),
        5.0: (r"$\mathbf{y}^{(m)}$", True),
    }
    factors = {
        0.0: r"$\mathrm{N}(\mathbf{0}, \mathbf{I})$",
        2.0: r"$\mathrm{N}(\mathbf{x}, \sigma^2\mathbf{I})$",
        4.0: r"$\mathrm{N}(\mathbf{z}^{(m)}, \epsilon^2\mathbf{I})$",
    }
    half = 0.09
    for place, (name, observed) in variables.items():
        face = "#D9D9D9" if observed else "white"
        axis.add_patch(Circle((place, 0.0), 0.27, facecolor=face, edgecolor="black", zorder=2))
        axis.text(place, 0.0, name, ha="center", va="center", zorder=3)
    for place, name in factors.items():
        axis.add_patch(Rectangle((place - half, -half), 2 * half, 2 * half, facecolor="black", zorder=2))
        axis.text(place, 0.24, name, ha="center", va="bottom")
        if place > 0.0:
            axis.plot([place - 0.73, place - half], [0.0, 0.0], color="black", linewidth=0.8, zorder=1)
        ends = (place + half, 0.0), (place + 0.73, 0.0)
        look: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 9, "shrinkA": 0, "shrinkB": 0}
        axis.add_patch(FancyArrowPatch(*ends, color="black", linewidth=0.8, **look))
    axis.add_patch(Rectangle((1.45, -0.62), 4.05, 1.3, fill=False, edgecolor="black", linewidth=0.8))
    axis.text(5.43, -0.55, r"$m = 1, \ldots, M$", ha="right", va="bottom")
    axis.set_xlim(-0.65, 5.65)
    axis.set_ylim(-0.72, 0.78)
    axis.set_aspect("equal")
    axis.set_axis_off()
    return figure


def _reflective_slice(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """One reflective slice update in the unit square."""
    figure = Figure(figsize=(0.8 * PAGE_WIDTH_IN, 2.8), layout="constrained")
    axis = figure.subplots()
    try:
        height = rows_of(curves, "reflective_log_density_above_slice").pivot_table(
            index="grid_2", columns="grid_1", values="value"
        )
        path = [rows_of(curves, f"reflective_path_{i}").sort_values("offset")["value"] for i in (1, 2)]
        marks = [rows_of(curves, f"reflective_mark_{i}").set_index("mark")["value"] for i in (1, 2)]
    except MissingData as missing:
        missing_panel(axis, str(missing))
        return figure
    axis.contourf(height.columns, height.index, height, levels=[0.0, 1e9], colors=["#CFE8DF"])
    axis.contour(
        height.columns, height.index, height, levels=[0.0], colors=[QUANTITY_COLOURS["ess"]], linewidths=1.0
    )
    axis.plot(path[0], path[1], color="#777777", linewidth=1.0, label="bracket, reflected at the walls")
    looks = {
        "current": ("o", "black", "current point"),
        "rejected": ("X", METHOD_COLOURS["apm_ss_mh"], "rejected proposal"),
        "accepted": ("*", METHOD_COLOURS["pm_mh"], "accepted proposal"),
    }
    for name, (marker, colour, label) in looks.items():
        axis.plot(
            marks[0][name], marks[1][name], marker, color=colour, markersize=11 if marker == "*" else 8,
            markeredgecolor="white", label=label, zorder=3,
        )  # fmt: skip
    axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="auxiliary variable $u_1$", ylabel="auxiliary variable $u_2$")
    axis.set_aspect("equal")
    axis.spines[["top", "right"]].set_visible(True)
    handles, _ = axis.get_legend_handles_labels()
    figure.legend(
        handles=[Patch(facecolor="#CFE8DF", edgecolor=QUANTITY_COLOURS["ess"], label="slice"), *handles],
        loc="outside right center",
    )
    return figure


def _efficiency(
    rows: Sequence[tuple[str, int]], *, accept: bool = True, published: bool = False, own_titles: str = ""
) -> Draw:
    """Figure with a row for each (method, n_importance): ESS per second and per density evaluation."""

    def draw(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
        del curves
        figure = Figure(figsize=(PAGE_WIDTH_IN, 2.15 * len(rows) + 0.2), layout="constrained")
        grid = figure.subplots(len(rows), 2, squeeze=False)
        chains: set[int] = set()
        for axes, (method, size) in zip(grid, rows, strict=True):
            for axis, quantity in zip(axes, ("ess_per_second", "ess_per_evaluation"), strict=True):
                try:
                    efficiency = grid_of(summary, quantity, method, size)
                    rates = grid_of(summary, "acceptance_position", method, size) if accept else None
                except MissingData as missing:
                    missing_panel(axis, str(missing))
                    continue
                chains.add(efficiency.values.shape[1])
                twin = _efficiency_panel(axis, efficiency, rates, method, size, quantity, own_titles)
                if published:
                    _published_lines(axis, twin, summary, method, size)
        _note(figure, summary, f"calibrated data; {_counted(chains)} in a cell; bands +- 1 sd over chains")
        return figure

    return draw


def _efficiency_panel(
    axis: Axes, efficiency: Grid, rates: Grid | None, method: str, size: int, quantity: str, own_titles: str
) -> Axes | None:
    per_second = quantity == "ess_per_second"
    unit = 1.0 if per_second else _EVALUATION_UNIT
    label = "ESS per second (1/s)" if per_second else "ESS / evaluation ($10^{-4}$)"
    twin = efficiency_panel(
        axis,
        efficiency.points,
        efficiency.mean / unit,
        efficiency.sd / unit,
        None if rates is None else rates.mean,
        None if rates is None else rates.sd,
        scale_label=_SCALE_LABELS[scale_name(method)],
        efficiency_label=label,
        title=readable(method) if own_titles == "method" else f"{readable(method)}, N = {size}",
    )
    axis.set_xlim(0.0, max(1.0, float(efficiency.points[-1])))
    return twin


def _published_lines(axis: Axes, twin: Axes | None, summary: pd.DataFrame, method: str, size: int) -> None:
    grey = QUANTITY_COLOURS["reference"]
    axis.axvline(_PUBLISHED_STEP, color=grey, linestyle="--", linewidth=0.7)
    if twin is None:
        return
    twin.set_ylim(0.0, 1.0)
    twin.axhline(TARGET_ACCEPT, color=grey, linestyle="--", linewidth=0.7)
    try:
        exact = grid_of(summary, "exact_acceptance_position", method, size)
    except MissingData:
        return
    twin.plot(exact.points, exact.mean, color=grey, linestyle=":", linewidth=1.2)


def _long_chains(method: str) -> Draw:
    """Figure with a row for each number of importance samples: trace and histogram of x1 in one long chain."""

    def draw(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
        figure = Figure(figsize=(PAGE_WIDTH_IN, 5.6), layout="constrained")
        grid = figure.subplots(3, 2, width_ratios=(1.35, 1.0))
        lengths = []
        for axes, size in zip(grid, SIZES, strict=True):
            step = BEST_STEP[method][size]
            where: Where = {"design": "long", "dataset": "calibrated", "method": method, "n_importance": size}
            title = f"{readable(method)}, N = {size}, step size {step:g}"
            n_draws = _trace_and_histogram(axes, summary, curves, where, step, "position", "$x_1$", title)
            lengths.append(f"{n_draws:,.0f}".replace(",", " ") if n_draws else "none")
        _legend(figure)
        _note(
            figure,
            summary,
            f"calibrated data; one chain a row; iterations for N = 1, 8, 32: {', '.join(lengths)}",
        )
        return figure

    return draw


def _auxiliary(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Trace and histogram of one auxiliary variable for independence and elliptical slice updates."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.9), layout="constrained")
    grid = figure.subplots(2, 2, width_ratios=(1.35, 1.0))
    lengths = []
    for axes, method in zip(grid, ("apm_mi_mh", "apm_ss_mh"), strict=True):
        # APM MI+MH runs in two cases; this figure is about the shorter chains.
        where: Where = {
            "design": "long",
            "dataset": "calibrated",
            "method": method,
            "n_importance": 1,
            "case": "auxiliary",
        }
        title = f"{readable(method)}, N = 1"
        n_draws = _trace_and_histogram(
            axes, summary, curves, where, _PUBLISHED_STEP, "auxiliary", "$u_1$", title
        )
        lengths.append(f"{n_draws:,.0f}".replace(",", " ") if n_draws else "none")
    _legend(figure)
    _note(figure, summary, f"calibrated data; one chain a row; iterations: {', '.join(lengths)}")
    return figure


def _trace_and_histogram(
    axes: Sequence[Axes],
    summary: pd.DataFrame,
    curves: pd.DataFrame,
    where: Where,
    step: float,
    part: str,
    symbol: str,
    title: str,
) -> float | None:
    """Draws one row and returns the number of iterations, or says what is missing and returns None."""
    bins = "bin" if part == "position" else "bin_auxiliary"
    try:
        at_step = {**where, "step_size": step}
        trace = (
            rows_of(curves, f"trace_{part}", **at_step).drop_duplicates("iteration").sort_values("iteration")
        )
        histogram = rows_of(curves, f"histogram_{part}", **at_step, chain=0)
        exact = rows_of(curves, f"exact_density_{part}", **where)
        histogram, exact = (rows.drop_duplicates(bins).sort_values(bins) for rows in (histogram, exact))
        n_draws = scalar_of(summary, "n_iterations", **where)
    except MissingData as missing:
        for axis in axes:
            missing_panel(axis, str(missing))
        return None
    iterations = trace["iteration"].to_numpy()
    stride = int(iterations[1] - iterations[0]) if iterations.size > 1 else 1
    first = int(n_draws) - min(int(n_draws), int(iterations[-1]) + stride)
    trace_panel(axes[0], trace["value"], thin=stride, value_label=symbol, title=title)
    axes[0].set_xlabel(f"iteration after the first {first:,}".replace(",", " ") if first else "iteration")
    centres = histogram[bins].to_numpy()
    width = centres[1] - centres[0]
    edges = np.append(centres - 0.5 * width, centres[-1] + 0.5 * width)
    histogram_panel(
        axes[1],
        edges,
        histogram["value"].to_numpy() * width,
        n_total=1.0,
        exact=(exact[bins].to_numpy(), exact["value"].to_numpy()),
        label="chain",
        exact_label="exact density",
        value_label=symbol,
        density_label="density",
    )
    axes[0].set_ylim(edges[0], edges[-1])
    return n_draws


def _data_sets(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Noise of the log estimate, accept rates and efficiency on the calibrated data and on data as stated."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 7.4), layout="constrained")
    grid = figure.subplots(4, 3, sharey="row")
    for column, size in enumerate(SIZES):
        axis = grid[0, column]
        axis.set_title(f"N = {size}")
        _noise_panel(axis, summary, curves, size)
        for axis, quantity in zip(grid[1:, column], _DATA_SET_ROWS, strict=True):
            drawn = [
                _data_set_curve(axis, summary, quantity, method, size, dataset, style)
                for method in ("pm_mh", "apm_mi_mh")
                for dataset, style in _STYLES.items()
            ]
            if not any(drawn):
                missing_panel(axis, "not run at this preset")
                continue
            axis.set_yscale("log")
            axis.set_xlim(0.0, 1.0)
            axis.set_xlabel("step size")
    grid[0, 0].set_ylabel("density (1/nat)")
    grid[0, 0].set_ylim(bottom=0.0)
    grid[1, 0].set_ylabel("accept rate")
    grid[1, 0].set_ylim(1e-4, 1.0)
    grid[2, 0].set_ylabel("longest run of one x\n(share of the chain)")
    grid[2, 0].set_ylim(1e-4, 1.2)
    grid[3, 0].set_ylabel("ESS per evaluation")
    grid[3, 0].set_ylim(1e-6, 1e-1)
    colour = {"pm_mh": "joint update in PM MH", "apm_mi_mh": "APM MI+MH (accept rate: update of u)"}
    handles = [Line2D([], [], color=METHOD_COLOURS[m], label=text) for m, text in colour.items()]
    names = {"calibrated": "calibrated data", "as_stated": "data as stated"}
    handles += [Line2D([], [], color="#555555", linestyle=s, label=names[d]) for d, s in _STYLES.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    _note(figure, summary, "bands +- 1 sd over chains")
    return figure


def _noise_panel(axis: Axes, summary: pd.DataFrame, curves: pd.DataFrame, size: int) -> None:
    try:
        for line, (dataset, style) in enumerate(_STYLES.items()):
            where: Where = {"dataset": dataset, "n_importance": size}
            density = rows_of(curves, "density_log_estimate", **where).sort_values("bin_log_estimate")
            sd = scalar_of(summary, "sd_log_estimate", **where)
            axis.plot(density["bin_log_estimate"], density["value"], color="#555555", linestyle=style)
            axis.text(
                0.03,
                0.95 - 0.13 * line,
                f"{'- - ' if line else '— '}sd {sd:.2f}",
                transform=axis.transAxes,
                va="top",
            )
    except MissingData as missing:
        missing_panel(axis, str(missing))
        return
    axis.set_xlim(-15.0, 15.0)
    axis.set_xlabel("log estimate - mean (nats)")


def _data_set_curve(
    axis: Axes, summary: pd.DataFrame, quantity: str, method: str, size: int, dataset: str, style: str
) -> bool:
    part = "acceptance_position" if method == "pm_mh" else "acceptance_auxiliary"
    name = part if quantity == "acceptance" else quantity
    try:
        found = grid_of(summary, name, method, size, dataset=dataset)
        if name == "longest_run_position":
            where: Where = {"design": "sweep", "dataset": dataset, "method": method, "n_importance": size}
            found = Grid(found.points, found.values / scalar_of(summary, "n_iterations", **where))
    except MissingData:
        return False
    # A chain that never moved has efficiency 0, which a logarithmic axis cannot show: gaps stand for all stuck.
    mean = np.where(found.mean > 0.0, found.mean, np.nan)
    low = np.maximum(found.mean - found.sd, 1e-12)
    colour = METHOD_COLOURS[method]
    band_curve(axis, found.points, mean, colour=colour, line_style=style)
    axis.fill_between(found.points, low, found.mean + found.sd, color=colour, alpha=0.2, linewidth=0.0)
    return True


def _legend(figure: Figure) -> None:
    handles: list[Patch | Line2D] = [
        Patch(facecolor=QUANTITY_COLOURS["samples"], alpha=0.45, label="histogram of the chain"),
        Line2D([], [], color=QUANTITY_COLOURS["exact_density"], label="exact density"),
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=2)


def _counted(chains: set[int]) -> str:
    if not chains:
        return "no chains"
    return f"{' or '.join(str(n) for n in sorted(chains))} chains"


def _note(figure: Figure, summary: pd.DataFrame, text: str) -> None:
    presets = sorted(set(summary["preset"])) if "preset" in summary else []
    preset_note(figure, f"preset {', '.join(presets) or 'unknown'}; {text}")


DRAW: dict[str, Draw] = {
    "fig_3_1": _factor_graph,
    "fig_3_2": _reflective_slice,
    "fig_3_3": _efficiency([("pm_mh", size) for size in SIZES]),
    "fig_3_4": _long_chains("pm_mh"),
    "fig_3_5": _efficiency([("apm_mi_mh", size) for size in SIZES], published=True),
    "fig_3_6": _long_chains("apm_mi_mh"),
    "fig_3_7": _efficiency([("apm_ss_mh", 1)], published=True),
    "fig_3_8": _auxiliary,
    "fig_3_9": _efficiency([("apm_mi_ss", 1), ("apm_ss_ss", 1)], accept=False, own_titles="method"),
    "fig_data_sets": _data_sets,
}
