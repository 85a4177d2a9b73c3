"""Figures of the study, drawn from its two tables alone."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch, Patch, Rectangle

from auxmc.plots.panels import (
    band_curve,
    bin_edges,
    efficiency_panel,
    histogram_panel,
    missing_figure,
    missing_panel,
    trace_panel,
)
from auxmc.plots.published import published_entry, published_level, published_mark
from auxmc.plots.style import METHOD_COLOURS, PAGE_WIDTH_IN, QUANTITY_COLOURS, readable
from auxmc_pipeline.footer import footer
from auxmc_pipeline.published_values import published_value
from auxmc_pipeline.tables import MissingData, Tables, Wanted
from experiments.gaussian_latent.settings import scale_name
from experiments.gaussian_latent.sweeps import (
    BEST_STEP,
    SIZES,
    Grid,
    grid_of,
    long_chains,
    shared_value,
)

_SCALE_LABELS = {"step_size": "step size", "bracket_width": "initial bracket width"}
_STYLES: dict[str, Literal["-", "--"]] = {"calibrated": "-", "as_stated": "--"}
_published = partial(published_value, "gaussian_latent")
# Quantity, its label and its unit on the axis of efficiencies.
_EFFICIENCIES = (
    ("ess_per_second", "ESS per second (1/s)", 1.0),
    ("ess_per_evaluation", "ESS / evaluation ($10^{-4}$)", 1e-4),
)
# Quantity of each method in the rows below the first of the figure about data sets.
_DATA_SET_ROWS = (
    {"pm_mh": "acceptance_position", "apm_mi_mh": "acceptance_auxiliary"},
    {"pm_mh": "longest_run_position", "apm_mi_mh": "longest_run_position"},
    {"pm_mh": "ess_per_evaluation", "apm_mi_mh": "ess_per_evaluation"},
)


class _Recorded(NamedTuple):
    """Names under which the tables have one number along a long chain."""

    symbol: str
    trace: str
    histogram: str
    exact_density: str
    bins: str


_POSITION = _Recorded("$x_1$", "trace_position", "histogram_position", "exact_density_position", "bin")
_AUXILIARY = _Recorded(
    "$u_1$", "trace_auxiliary", "histogram_auxiliary", "exact_density_auxiliary", "bin_auxiliary"
)


def _factor_graph(tables: Tables) -> Figure:
    """Factor graph of the hierarchical model."""
    del tables
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


def _reflective_slice(tables: Tables) -> Figure:
    """One reflective slice update in the unit square."""
    figure = Figure(figsize=(0.8 * PAGE_WIDTH_IN, 2.8), layout="constrained")
    axis = figure.subplots()
    try:
        height = tables.curves.array("reflective_log_density_above_slice", "grid_2", "grid_1")
        path = [
            tables.curves.array(name, "offset").values for name in ("reflective_path_1", "reflective_path_2")
        ]
        marks = [tables.curves.array(name, "mark") for name in ("reflective_mark_1", "reflective_mark_2")]
    except MissingData as missing:
        return missing_figure(figure, str(missing))
    edge = QUANTITY_COLOURS["ess"]
    across, up = height["grid_1"], height["grid_2"]
    axis.contourf(across, up, height, levels=[0.0, 1e9], colors=["#CFE8DF"])
    axis.contour(across, up, height, levels=[0.0], colors=[edge], linewidths=1.0)
    axis.plot(path[0], path[1], color="#777777", linewidth=1.0, label="bracket, reflected at the walls")
    looks = {
        "current": ("o", "black", "current point"),
        "rejected": ("X", METHOD_COLOURS["apm_ss_mh"], "rejected proposal"),
        "accepted": ("*", METHOD_COLOURS["pm_mh"], "accepted proposal"),
    }
    for name, (marker, colour, label) in looks.items():
        place = [along.sel(mark=name).item() for along in marks]
        look: dict[str, Any] = {"markersize": 11 if marker == "*" else 8, "markeredgecolor": "white"}
        axis.plot(*place, marker, color=colour, label=label, zorder=3, **look)
    axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="auxiliary variable $u_1$", ylabel="auxiliary variable $u_2$")
    axis.set_aspect("equal")
    axis.spines[["top", "right"]].set_visible(True)
    handles, _ = axis.get_legend_handles_labels()
    figure.legend(
        handles=[Patch(facecolor="#CFE8DF", edgecolor=edge, label="slice"), *handles],
        loc="outside right center",
    )
    return figure


def _efficiency(
    rows: Sequence[tuple[str, int]],
    tables: Tables,
    *,
    accept: bool = True,
    tuned: bool = False,
    size_in_title: bool = True,
) -> Figure:
    """A row for each (method, n_importance): ESS per second and per density evaluation.

    With `tuned`, marks the accept rate that the thesis tunes the step size for, and the step size.
    """
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.15 * len(rows) + 0.2), layout="constrained")
    grid = figure.subplots(len(rows), 2, squeeze=False)
    chains: set[int] = set()
    for axes, (method, size) in zip(grid, rows, strict=True):
        title = f"{readable(method)}, N = {size}" if size_in_title else readable(method)
        for axis, (quantity, label, unit) in zip(axes, _EFFICIENCIES, strict=True):
            try:
                efficiency = grid_of(tables, quantity, method, size)
                rates = grid_of(tables, "acceptance_position", method, size) if accept else None
            except MissingData as missing:
                missing_panel(axis, str(missing))
                continue
            chains.add(efficiency.values.shape[1])
            twin = efficiency_panel(
                axis,
                efficiency.points,
                (efficiency.mean / unit, efficiency.sd / unit),
                rates and (rates.mean, rates.sd),
                scale_label=_SCALE_LABELS[scale_name(method)],
                efficiency_label=label,
            )
            axis.set(title=title, xlim=(0.0, max(1.0, float(efficiency.points[-1]))))
            if tuned:
                _tuning(axis, twin, tables, method, size)
            elif method == "pm_mh" and twin is not None:
                published_level(twin, _published("PM-G07", f"N = {size}"), colour=QUANTITY_COLOURS["accept"])
                if quantity == "ess_per_evaluation":
                    _published_peak(axis, size, unit, QUANTITY_COLOURS["ess"])
    if any(method == "pm_mh" for method, _ in rows):
        document = _published("PM-G05", "N = 1").document
        entries = [
            published_entry(document, "peak of ESS", colour=QUANTITY_COLOURS["ess"]),
            published_entry(document, "largest accept rate", level=True, colour=QUANTITY_COLOURS["accept"]),
        ]
        figure.legend(handles=entries, loc="outside upper right", ncols=2)
    elif tuned:
        document = _published("PM-G14", "N = 1 target").document
        note = "step size, and the accept rate that it is tuned for"
        figure.legend(handles=[published_entry(document, note, level=True)], loc="outside upper right")
    counted = f"{' or '.join(str(n) for n in sorted(chains)) or 'no'} chains"
    footer(figure, tables, f"calibrated data; {counted} in a cell; bands +- 1 sd over chains")
    return figure


def _published_peak(axis: Axes, size: int, unit: float, colour: str) -> None:
    step, peak = (_published(claim, f"N = {size}") for claim in ("PM-G04", "PM-G05"))
    published_mark(axis, step, peak, unit=unit, colour=colour)


def _tuning(axis: Axes, twin: Axes | None, tables: Tables, method: str, size: int) -> None:
    published_level(axis, _published("PM-G14", f"N = {size} target"), vertical=True)
    if twin is None:
        return
    twin.set_ylim(0.0, 1.0)
    published_level(twin, _published("PM-T01", "random-walk accept rate"))
    try:
        exact = grid_of(tables, "exact_acceptance_position", method, size)
    except MissingData:
        return
    twin.plot(exact.points, exact.mean, color=QUANTITY_COLOURS["reference"], linestyle=":", linewidth=1.2)


def _long_chains(method: str, tables: Tables) -> Figure:
    """A row for each number of importance samples: trace and histogram of x1 in one long chain."""
    rows = {
        f"{readable(method)}, N = {size}, step size {BEST_STEP[method][size]:g}": long_chains(method, size)
        for size in SIZES
    }
    return _traces_and_histograms(rows, _POSITION, 5.6, "iterations for N = 1, 8, 32", tables)


def _auxiliary(tables: Tables) -> Figure:
    """Trace and histogram of one auxiliary variable for independence and elliptical slice updates."""
    # APM MI+MH runs in two cases; this figure is about the shorter chains.
    rows: dict[str, dict[str, Wanted]] = {
        f"{readable(method)}, N = 1": {"case": "auxiliary", "method": method, "n_importance": 1}
        for method in ("apm_mi_mh", "apm_ss_mh")
    }
    return _traces_and_histograms(rows, _AUXILIARY, 3.9, "iterations", tables)


def _traces_and_histograms(
    rows: Mapping[str, Mapping[str, Wanted]],
    recorded: _Recorded,
    height: float,
    lengths_of: str,
    tables: Tables,
) -> Figure:
    figure = Figure(figsize=(PAGE_WIDTH_IN, height), layout="constrained")
    grid = figure.subplots(len(rows), 2, width_ratios=(1.35, 1.0))
    lengths = []
    for axes, (title, where) in zip(grid, rows.items(), strict=True):
        try:
            n_draws = _trace_and_histogram(axes, tables, recorded, where, title)
            lengths.append(f"{n_draws:,}".replace(",", " "))
        except MissingData as missing:
            for axis in axes:
                missing_panel(axis, str(missing))
            lengths.append("none")
    handles: list[Patch | Line2D] = [
        Patch(facecolor=QUANTITY_COLOURS["samples"], alpha=0.45, label="histogram of the chain"),
        Line2D([], [], color=QUANTITY_COLOURS["exact_density"], label="exact density"),
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=2)
    footer(figure, tables, f"calibrated data; one chain a row; {lengths_of}: {', '.join(lengths)}")
    return figure


def _trace_and_histogram(
    axes: Sequence[Axes], tables: Tables, recorded: _Recorded, where: Mapping[str, Wanted], title: str
) -> int:
    """Draws one row and returns the number of iterations."""
    symbol, bins = recorded.symbol, recorded.bins
    # What does not depend on the step size may have none.
    of_all_steps = {name: value for name, value in where.items() if name != "step_size"}
    # A case whose chains differ in length repeats its rows for every iteration of the longest trace.
    trace, histogram, exact = (
        tables.curves.rows(name, **chosen).drop_duplicates(dim).sort_values(dim)
        for name, dim, chosen in (
            (recorded.trace, "iteration", where),
            (recorded.histogram, bins, {**where, "chain": 0}),
            (recorded.exact_density, bins, of_all_steps),
        )
    )
    n_draws = int(shared_value(tables, "n_iterations", **of_all_steps))
    iterations = trace["iteration"].to_numpy()
    stride = int(iterations[1] - iterations[0]) if iterations.size > 1 else 1
    first = n_draws - min(n_draws, int(iterations[-1]) + stride)
    trace_panel(axes[0], trace["value"], thin=stride)
    axes[0].set(title=title, ylabel=symbol)
    axes[0].set_xlabel(f"iteration after the first {first:,}".replace(",", " ") if first else "iteration")
    edges = bin_edges(histogram[bins])
    histogram_panel(axes[1], edges, histogram["value"] * (edges[1] - edges[0]), n_total=1.0)
    axes[1].plot(exact[bins], exact["value"], color=QUANTITY_COLOURS["exact_density"])
    axes[1].set_xlabel(symbol)
    axes[0].set_ylim(edges[0], edges[-1])
    return n_draws


def _data_sets(tables: Tables) -> Figure:
    """Noise of the log estimate, accept rates and efficiency on the calibrated data and on data as stated."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 7.4), layout="constrained")
    grid = figure.subplots(4, 3, sharey="row")
    for column, size in enumerate(SIZES):
        axis = grid[0, column]
        axis.set_title(f"N = {size}")
        _noise_panel(axis, tables, size)
        for axis, by_method in zip(grid[1:, column], _DATA_SET_ROWS, strict=True):
            drawn = [
                _data_set_curve(axis, tables, quantity, method, size, dataset)
                for method, quantity in by_method.items()
                for dataset in _STYLES
            ]
            if not any(drawn):
                missing_panel(axis, "not run at this preset")
                continue
            axis.set_yscale("log")
            axis.set_xlim(0.0, 1.0)
            axis.set_xlabel("step size")
            if by_method["pm_mh"] == "ess_per_evaluation":
                _published_peak(axis, size, 1.0, METHOD_COLOURS["pm_mh"])
            elif by_method["apm_mi_mh"] == "acceptance_auxiliary":
                # The rate of updates of u does not depend on the step size: its mark stands at the published one.
                step, rate = _published("PM-G14", f"N = {size} target"), _published("PM-G11", f"N = {size}")
                published_mark(axis, step, rate, colour=METHOD_COLOURS["apm_mi_mh"])
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
    handles.append(published_entry(_published("PM-G11", "N = 1").document))
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    footer(figure, tables, "bands +- 1 sd over chains")
    return figure


def _noise_panel(axis: Axes, tables: Tables, size: int) -> None:
    try:
        for line, (dataset, style) in enumerate(_STYLES.items()):
            density = tables.curves.where(dataset=dataset, n_importance=size).array(
                "density_log_estimate", "bin_log_estimate"
            )
            sd = tables.summary.value("sd_log_estimate", dataset=dataset, n_importance=size)
            axis.plot(density["bin_log_estimate"], density, color="#555555", linestyle=style)
            words = f"{'- - ' if line else '— '}sd {sd:.2f}"
            axis.text(0.03, 0.95 - 0.13 * line, words, transform=axis.transAxes, va="top")
        said = _published("PM-G01", f"N = {size}")
        axis.text(0.99, 0.95, f"published\nsd {said.value:g}", transform=axis.transAxes, va="top", ha="right")
    except MissingData as missing:
        missing_panel(axis, str(missing))
        return
    axis.set_xlim(-15.0, 15.0)
    axis.set_xlabel("log estimate - mean (nats)")


def _data_set_curve(axis: Axes, tables: Tables, quantity: str, method: str, size: int, dataset: str) -> bool:
    try:
        found = grid_of(tables, quantity, method, size, dataset=dataset)
        if quantity == "longest_run_position":
            n_iterations = shared_value(
                tables, "n_iterations", design="sweep", dataset=dataset, method=method, n_importance=size
            )
            found = Grid(found.points, found.values / n_iterations)
    except MissingData:
        return False
    # A chain that never moved has efficiency 0, which a logarithmic axis cannot show: gaps stand for all stuck.
    mean = np.where(found.mean > 0.0, found.mean, np.nan)
    colour = METHOD_COLOURS[method]
    band_curve(axis, found.points, mean, found.sd, colour=colour, linestyle=_STYLES[dataset])
    return True


DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_3_1": _factor_graph,
    "fig_3_2": _reflective_slice,
    "fig_3_3": partial(_efficiency, [("pm_mh", size) for size in SIZES]),
    "fig_3_4": partial(_long_chains, "pm_mh"),
    "fig_3_5": partial(_efficiency, [("apm_mi_mh", size) for size in SIZES], tuned=True),
    "fig_3_6": partial(_long_chains, "apm_mi_mh"),
    "fig_3_7": partial(_efficiency, [("apm_ss_mh", 1)], tuned=True),
    "fig_3_8": _auxiliary,
    "fig_3_9": partial(_efficiency, [("apm_mi_ss", 1), ("apm_ss_ss", 1)], accept=False, size_in_title=False),
    "fig_data_sets": _data_sets,
}
