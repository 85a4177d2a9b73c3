"""Figures of the study, drawn from its tables."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from auxmc.plots.style import PAGE_WIDTH_IN
from auxmc_pipeline.footer import footer
from auxmc_pipeline.plots.factor_graphs import factor_graph
from auxmc_pipeline.plots.looks import (
    METHOD_COLOURS,
    METHOD_LABELS,
    METHOD_MARKERS,
    QUANTITY_COLOURS,
    readable,
)
from auxmc_pipeline.plots.panels import bin_edges, histogram_panel, missing_panel, page, trace_panel
from auxmc_pipeline.plots.published import published_curve, published_entry, published_level, published_mark
from auxmc_pipeline.published_values import PublishedMarks
from auxmc_pipeline.tables import MissingData, Tables
from experiments.gaussian_latent.settings import (
    BEST_STEP,
    RIVAL_CASES,
    SIZES,
    STEPPING_METHODS,
    long_case,
    program_rows,
    scale_name,
)
from experiments.gaussian_latent.sweeps import at_best_steps

_SCALE_LABELS = {"step_size": "step size", "bracket_width": "initial bracket width"}
_STYLES: dict[str, Literal["-", "--"]] = {"calibrated": "-", "as_stated": "--"}
# Quantity, label, unit of the axis.
_EFFICIENCIES = (
    ("ess_per_second", "ESS per second (1/s)", 1.0),
    ("ess_per_evaluation", "ESS / evaluation ($10^{-4}$)", 1e-4),
)
# Quantity of each method in the rows below the first of the figure about data sets.
_DATA_SET_ROWS = (
    {"pm_mh": "acceptance_position", "apm_mi_mh": "acceptance_auxiliary"},
    {"pm_mh": "longest_run_fraction", "apm_mi_mh": "longest_run_fraction"},
    {"pm_mh": "ess_per_evaluation", "apm_mi_mh": "ess_per_evaluation"},
)
# Figure of the thesis for each method, and darker shades of our colours for its curves.
_FIGURES = {"pm_mh": "3.3", "apm_mi_mh": "3.5", "apm_ss_mh": "3.7", "apm_mi_ss": "3.9", "apm_ss_ss": "3.9"}
_DARK = {"ess": "#0B4D38", "accept": "#6E3000"}
_DOCUMENT = "PhD thesis"
_BAND: dict[str, Any] = {"errorbar": "sd", "err_kws": {"alpha": 0.25, "linewidth": 0.0}, "legend": False}
# Efficiencies by what they are computed from.
_MEASURES = ("ess_per_evaluation", "work_normalised_error")
_FRESH = {"cpm_mh": "pm_mh", "apm_cn_mh": "apm_mi_mh"}  # Methods with a step size of 1 of u
_RECORDED = {"position": ("$x_1$", "bin"), "auxiliary": ("$u_1$", "bin_auxiliary")}  # Symbol, bins


def model_graph(tables: Tables) -> Figure:
    """Figure 3.1: factor graph of the published model; uses no data."""
    is_ours = PublishedMarks("gaussian_latent", tables).apply
    return factor_graph(Path(__file__).with_name("model_graph.toml"), is_ours=is_ours)


def reflective_slice(tables: Tables) -> Figure:
    """Figure 3.2: one reflective slice update in the unit square."""
    figure, axis = page(2.8, width=0.8 * PAGE_WIDTH_IN)
    height = tables.array("reflective_log_density_above_slice", "grid_2", "grid_1", table="grid_1_grid_2")
    path, marks = tables.rows("offset"), tables.rows("mark").set_index("mark")
    edge = QUANTITY_COLOURS["ess"]
    across, up = height["grid_1"], height["grid_2"]
    axis.contourf(across, up, height, levels=[0.0, 1e9], colors=["#CFE8DF"])
    axis.contour(across, up, height, levels=[0.0], colors=[edge], linewidths=1.0)
    label = "bracket, reflected at the walls"
    axis.plot(path["reflective_path_1"], path["reflective_path_2"], color="#777777", lw=1.0, label=label)
    looks = {
        "current": ("o", "black", "current point"),
        "rejected": ("X", METHOD_COLOURS["apm_ss_mh"], "rejected proposal"),
        "accepted": ("*", METHOD_COLOURS["pm_mh"], "accepted proposal"),
    }
    for name, (marker, colour, label) in looks.items():
        place = marks.loc[name, ["reflective_mark_1", "reflective_mark_2"]]
        look: dict[str, Any] = {"markersize": 11 if marker == "*" else 8, "markeredgecolor": "white"}
        axis.plot(*place, marker, color=colour, label=label, zorder=3, **look)
    axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="auxiliary variable $u_1$", ylabel="auxiliary variable $u_2$")
    axis.set_aspect("equal")
    axis.spines[["top", "right"]].set_visible(True)
    handles, _ = axis.get_legend_handles_labels()
    region = Patch(facecolor="#CFE8DF", edgecolor=edge, label="slice")
    figure.legend(handles=[region, *handles], loc="outside right center")
    return figure


def efficiency(
    tables: Tables,
    rows: Sequence[tuple[str, int]],
    *,
    accept: bool = True,
    tuned: bool = False,
    size_in_title: bool = True,
) -> Figure:
    """Figures 3.3, 3.5, 3.7, 3.9: ESS per second and per density evaluation, a row for each (method, N).

    With `tuned`, marks the acceptance rate that the thesis tunes the step size for, and the step size.
    """
    figure, grid = page(2.15 * len(rows) + 0.2, len(rows), 2, squeeze=False)
    published = PublishedMarks("gaussian_latent", tables)
    chains: set[int] = set()
    for axes, (method, size) in zip(grid, rows, strict=True):
        title = f"{readable(method)}, N = {size}" if size_in_title else readable(method)
        try:
            sweep = _sweep(tables, method, size)
        except MissingData as missing:
            for axis in axes:
                missing_panel(axis, str(missing))
            continue
        chains.add(sweep["chain"].nunique())
        for axis, (quantity, label, unit) in zip(axes, _EFFICIENCIES, strict=True):
            scaled = sweep.assign(**{quantity: sweep[quantity] / unit})
            twin = _efficiency_panel(axis, scaled, scale_name(method), quantity, label, accept=accept)
            _published_curves(axis, twin, published, method, size, unit, quantity)
            axis.set(title=title, xlim=(0.0, max(1.0, float(sweep[scale_name(method)].max()))))
            if tuned:
                _tuning(axis, twin, tables, published, method, size)
            elif method == "pm_mh" and twin is not None:
                colour = QUANTITY_COLOURS["accept"]
                published_level(twin, published("PM-G07", f"N = {size}, one data set"), colour=colour)
                if quantity == "ess_per_evaluation":
                    _published_peak(axis, published, size, unit, QUANTITY_COLOURS["ess"])
    _efficiency_legend(figure, published, {method for method, _ in rows}, tuned=tuned)
    counted = f"{' or '.join(str(n) for n in sorted(chains)) or 'no'} chains"
    return footer(figure, tables, f"calibrated data; {counted} in a cell; bands +- 1 sd over chains")


def long_chains(tables: Tables, number: str, rows: Sequence[tuple[str, int]]) -> Figure:
    """Figures 3.4, 3.6, 3.8: trace and histogram of x1 or u1 in one long chain, a row for each (method, N)."""
    name = "auxiliary" if number == "3.8" else "position"
    figure, grid = page(0.5 + 1.7 * len(rows), len(rows), 2, width_ratios=(1.35, 1.0))
    lengths = []
    for axes, (method, size) in zip(grid, rows, strict=True):
        try:
            n_draws = _trace_and_histogram(axes, tables, name, method, size, number)
            lengths.append(f"{n_draws:,}".replace(",", " "))
        except MissingData as missing:
            for axis in axes:
                missing_panel(axis, str(missing))
            lengths.append("none")
    samples = Patch(facecolor=QUANTITY_COLOURS["samples"], alpha=0.45, label="histogram of the chain")
    handles: list[Patch | Line2D] = [samples]
    if _has_exact_density(tables, name):
        handles.append(Line2D([], [], color=QUANTITY_COLOURS["exact_density"], label="exact density"))
    if PublishedMarks("gaussian_latent", tables)("PM-G05", "N = 1, one data set") is not None:
        handles.append(published_entry(_DOCUMENT, "histogram, its data", curve=True))
    figure.legend(handles=handles, loc="outside upper right", ncols=3)
    sizes = " for N = 1, 8, 32" if name == "position" else ""
    return footer(
        figure, tables, f"calibrated data; one chain a row; iterations{sizes}: {', '.join(lengths)}"
    )


def rivals(tables: Tables) -> Figure:
    """Efficiency by ESS and by errors, and acceptance rate of u, against the step size of u."""
    drawn = tables.rows("chain", "ess_per_evaluation", case=list(RIVAL_CASES.values()))
    measures = [quantity for quantity in _MEASURES if quantity in drawn]
    sizes = sorted(int(size) for size in drawn["n_importance"].unique())
    figure, grid = page(5.6, 3, len(sizes), sharex=True, sharey="row", squeeze=False)
    for axes, size in zip(grid.T, sizes, strict=True):
        for method in RIVAL_CASES:
            rows = drawn[(drawn["method"] == method) & (drawn["n_importance"] == size)]
            if rows.empty:
                continue
            for axis, quantity in zip(axes, measures, strict=False):
                if method in STEPPING_METHODS:
                    curve = at_best_steps(rows, ["auxiliary_step"], quantity)
                    # Errors have no band, for one is of all chains.
                    look = {"estimator": partial(_efficiency_of, quantity=quantity), **_look(method), **_BAND}
                    look |= {} if quantity == "ess_per_evaluation" else {"errorbar": None}
                    sns.lineplot(curve, x="auxiliary_step", y=quantity, ax=axis, **look)
                else:
                    level = _efficiency_of(at_best_steps(rows, quantity=quantity)[quantity], quantity)
                    axis.axhline(level, color=METHOD_COLOURS[method], linestyle="--", linewidth=1.0)
            if method in STEPPING_METHODS:
                curve, look = at_best_steps(rows, ["auxiliary_step"]), {**_look(method), **_BAND}
                sns.lineplot(curve, x="auxiliary_step", y="acceptance_auxiliary", ax=axes[2], **look)
        axes[0].set(title=f"N = {size}", xscale="log")
        axes[2].set(xlabel="step size of $u$", ylim=(0.0, 1.0))
    grid[0, 0].set(yscale="log", ylabel="ESS / evaluation")
    grid[1, 0].set(yscale="log", ylabel="1 / (squared error\nx evaluations)")
    grid[2, 0].set_ylabel("acceptance rate of $u$")
    if len(measures) < len(_MEASURES):
        for axis in grid[1]:
            missing_panel(axis, "no exact posterior is known")
    handles = []
    for method in RIVAL_CASES:
        has_curve = method in STEPPING_METHODS  # Others have a dashed level
        look = _look(method) if has_curve else {"color": METHOD_COLOURS[method], "linestyle": "--"}
        handles.append(Line2D([], [], label=METHOD_LABELS[method], **look))
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return footer(figure, tables, "calibrated data; bands +- 1 sd over chains")


def _efficiency_of(values: "pd.Series[float]", quantity: str) -> float:
    """Efficiency of chains: their mean, or one over it where it is an error."""
    mean = float(values.mean())
    return mean if quantity == "ess_per_evaluation" else 1.0 / mean


def _look(method: str) -> dict[str, Any]:
    return {"color": METHOD_COLOURS[method], "marker": METHOD_MARKERS[method], "markeredgewidth": 0.0}


def best_methods(tables: Tables) -> Figure:
    """Most efficient method by the noise of the log estimate and the dimension, for one importance sample."""
    about = tables.rows("settings", record_accuracy=True)[["case", "dim", "sd_latent"]]
    noise, chains = (
        tables.rows(name, quantity, case=list(about["case"]), n_importance=1).merge(about, on="case")
        for name, quantity in (("point", "sd_log_estimate"), ("chain", "ess_per_evaluation"))
    )
    # Random walks of u are as good as Crank-Nicolson updates, and are run in one cell alone.
    chains, cell = chains[chains["method"] != "apm_rw_mh"], ["dim", "sd_latent"]
    fresh = chains["auxiliary_step"] == 1.0
    chains["method"] = chains["method"].mask(fresh, chains["method"].replace(_FRESH))
    chains = chains.merge(noise.groupby(cell)["sd_log_estimate"].mean().reset_index(), on=cell)
    figure, axes = page(3.2, 1, 2, sharey=True)
    won = set()
    for axis, quantity, by in zip(axes, _MEASURES, ("ESS", "errors"), strict=True):
        axis.set(title=f"by {by}", xscale="log", yscale="log", ylim=(1.0, 100.0))
        if quantity not in chains:
            missing_panel(axis, "no exact posterior is known")
            continue
        for at, rows in chains.groupby(["sd_log_estimate", "dim"]):
            efficiencies = {
                method: _efficiency_of(at_best_steps(one, quantity=quantity)[quantity], quantity)
                for method, one in rows.groupby("method")
            }
            found = pd.Series(efficiencies).nlargest(2)
            best, (first, second) = str(found.index[0]), found.to_numpy()
            won.add(best)
            axis.plot(*at, marker="s", markersize=25, color=METHOD_COLOURS[best], alpha=0.35)
            axis.annotate(f"{1e3 * first:.3g}\nx {first / second:.2g}", at, ha="center", va="center")
        axis.set(xlabel="sd of the log estimate (nats)", xlim=(0.45, 11.0))
        axis.set_xticks([0.5, 1, 2, 5, 10], ["0.5", "1", "2", "5", "10"])
        axis.set_yticks([2, 10, 50], ["2", "10", "50"])
        axis.minorticks_off()
    axes[0].set_ylabel("dimension")
    look: dict[str, Any] = {"marker": "s", "markersize": 8, "linestyle": "none", "alpha": 0.35}
    names = [method for method in RIVAL_CASES if method in won]
    handles = [Line2D([], [], color=METHOD_COLOURS[m], label=METHOD_LABELS[m], **look) for m in names]
    figure.legend(handles=handles, loc="outside upper center", ncols=6)
    return footer(figure, tables, "calibrated data")


def data_sets(tables: Tables) -> Figure:
    """Noise of the log estimate, acceptance rates and efficiency on the calibrated data and on data as stated."""
    figure, grid = page(7.4, 4, 3, sharey="row")
    published = PublishedMarks("gaussian_latent", tables)
    for column, size in enumerate(SIZES):
        grid[0, column].set_title(f"N = {size}")
        _noise_panel(grid[0, column], tables, published, size)
        for axis, by_method in zip(grid[1:, column], _DATA_SET_ROWS, strict=True):
            _data_set_panel(axis, tables, published, by_method, size)
    # Seaborn averages on the scale of the axis, which the panels of a row share.
    for axis in grid[1:, 0]:
        axis.set_yscale("log")
    labels = ("density (1/nat)", "acceptance rate", "longest run of one x\n(fraction of the chain)")
    limits = ((0.0, None), (1e-4, 1.0), (1e-4, 1.2), (1e-6, 1e-1))
    for axis, label, limit in zip(grid[:, 0], (*labels, "ESS per evaluation"), limits, strict=True):
        axis.set(ylabel=label, ylim=limit)
    colour = {"pm_mh": "joint update in PM MH", "apm_mi_mh": "APM MI+MH (acceptance rate: update of u)"}
    handles = [Line2D([], [], color=METHOD_COLOURS[m], label=text) for m, text in colour.items()]
    names = {"calibrated": "calibrated data", "as_stated": "data as stated"}
    handles += [Line2D([], [], color="#555555", linestyle=s, label=names[d]) for d, s in _STYLES.items()]
    if (rate := published("PM-G11", "N = 1, one data set")) is not None:
        handles.append(published_entry(rate.document))
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return footer(figure, tables, "bands +- 1 sd over chains")


def _sweep(tables: Tables, method: str, size: int, dataset: str = "calibrated") -> pd.DataFrame:
    return tables.rows("chain", "ess_per_evaluation", **program_rows(method, size, dataset))


def _efficiency_panel(
    axis: Axes, sweep: pd.DataFrame, scale: str, quantity: str, label: str, *, accept: bool
) -> Axes | None:
    """Efficiency against a tuning parameter, with the acceptance rate on a second vertical axis, which is returned."""
    twin = axis.twinx() if accept else None
    # Dashes tell the two curves apart without colour.
    for place, name, colour, text, dashes in (
        (axis, quantity, QUANTITY_COLOURS["ess"], label, "-"),
        (twin, "acceptance_position", QUANTITY_COLOURS["accept"], "acceptance rate", "--"),
    ):
        if place is not None:
            sns.lineplot(sweep, x=scale, y=name, color=colour, linestyle=dashes, ax=place, **_BAND)
            place.set_ylim(bottom=0.0)
            place.set_ylabel(text, color=colour)
            place.tick_params(axis="y", colors=colour)
    axis.set_xlabel(_SCALE_LABELS[scale])
    if twin is not None:
        twin.spines["right"].set_visible(True)
    return twin


def _efficiency_legend(figure: Figure, published: PublishedMarks, methods: set[str], *, tuned: bool) -> None:
    peak, target = published("PM-G05", "N = 1, one data set"), published("PM-G14", "N = 1 target")
    if peak is None or target is None:
        return
    entries = [published_entry(peak.document, "curves", curve=True)]
    if "pm_mh" in methods:
        ess, accept = QUANTITY_COLOURS["ess"], QUANTITY_COLOURS["accept"]
        entries += [
            published_entry(peak.document, "peak of ESS", colour=ess),
            published_entry(peak.document, "largest acceptance rate", level=True, colour=accept),
        ]
    elif tuned:
        entries.append(published_entry(target.document, "tuned step size and acceptance rate", level=True))
    figure.legend(handles=entries, loc="outside upper right", ncols=2)


def _published_peak(axis: Axes, published: PublishedMarks, size: int, unit: float, colour: str) -> None:
    step, peak = (published(claim, f"N = {size}, one data set") for claim in ("PM-G04", "PM-G05"))
    published_mark(axis, step, peak, unit=unit, colour=colour)


def _published_curves(
    axis: Axes,
    twin: Axes | None,
    published: PublishedMarks,
    method: str,
    size: int,
    unit: float,
    quantity: str,
) -> None:
    """Curves of the thesis; seconds are those of its machine and are left out."""
    for place, name, scale, colour in (
        (axis if quantity == "ess_per_evaluation" else None, "ess_per_density_eval", unit, "ess"),
        (twin, "target_acceptance_rate", 1.0, "accept"),
    ):
        there = published.curve(_FIGURES[method], f"{method} {size} {name}") if place else None
        if place is not None and there is not None:
            ends = there.low / scale, there.high / scale
            published_curve(place, there.x, there.y / scale, ends, document=_DOCUMENT, colour=_DARK[colour])


def _tuning(
    axis: Axes, twin: Axes | None, tables: Tables, published: PublishedMarks, method: str, size: int
) -> None:
    published_level(axis, published("PM-G14", f"N = {size} target"), vertical=True)
    if twin is None:
        return
    twin.set_ylim(0.0, 1.0)
    published_level(twin, published("PM-T01", "random-walk acceptance rate"))
    look: dict[str, Any] = {"color": QUANTITY_COLOURS["reference"], "linestyle": ":", "linewidth": 1.2}
    with suppress(MissingData):
        exact = tables.rows("point", "exact_acceptance_position", **program_rows(method, size))
        twin.plot(exact[scale_name(method)], exact["exact_acceptance_position"], **look)


def _trace_and_histogram(
    axes: Sequence[Axes], tables: Tables, name: str, method: str, size: int, number: str
) -> int:
    (symbol, bins), title = _RECORDED[name], f"{readable(method)}, N = {size}"
    where: dict[str, Any] = {"case": "auxiliary", "method": method, "n_importance": size}
    if name == "position":
        where, title = long_case(method, size), f"{title}, step size {BEST_STEP[method][size]:g}"
    trace = tables.rows("iteration", f"trace_{name}", **where)
    histogram = tables.rows(f"chain_{bins}", f"histogram_{name}", chain=0, **where)
    n_draws = int(tables.value("n_iterations", **where))
    iterations = trace["iteration"].to_numpy()
    stride = int(iterations[1] - iterations[0]) if iterations.size > 1 else 1
    first = n_draws - min(n_draws, int(iterations[-1]) + stride)
    trace_panel(axes[0], trace[f"trace_{name}"], thin=stride)
    axes[0].set(title=title, ylabel=symbol)
    axes[0].set_xlabel(f"iteration after the first {first:,}".replace(",", " ") if first else "iteration")
    edges = bin_edges(histogram[bins])
    histogram_panel(axes[1], edges, histogram[f"histogram_{name}"] * (edges[1] - edges[0]), n_total=1.0)
    if _has_exact_density(tables, name):
        exact = tables.rows(bins, f"exact_density_{name}", **where)
        axes[1].plot(exact[bins], exact[f"exact_density_{name}"], color=QUANTITY_COLOURS["exact_density"])
    series = f"{method} {size} {symbol.strip('$')}"
    published = PublishedMarks("gaussian_latent", tables)
    if (there := published.curve(number, series)) is not None:
        published_curve(axes[1], there.x, there.y, document=_DOCUMENT, steps=True)
    axes[1].set_xlabel(symbol)
    axes[0].set_ylim(edges[0], edges[-1])
    return n_draws


def _has_exact_density(tables: Tables, name: str) -> bool:
    return f"exact_density_{name}" in tables.get(_RECORDED[name][1], ())


def _noise_panel(axis: Axes, tables: Tables, published: PublishedMarks, size: int) -> None:
    for line, (dataset, style) in enumerate(_STYLES.items()):
        where: dict[str, Any] = {"case": "checks", "dataset": dataset, "n_importance": size}
        density = tables.rows("bin_log_estimate", **where)
        sd = tables.value("sd_log_estimate", **where)
        axis.plot(density["bin_log_estimate"], density["density_log_estimate"], color="#555555", ls=style)
        words = f"{'- - ' if line else '— '}sd {sd:.2f}"
        axis.text(0.03, 0.95 - 0.13 * line, words, transform=axis.transAxes, va="top")
    if (said := published("PM-G01", f"N = {size} data as stated")) is not None:
        axis.text(0.99, 0.95, f"published\nsd {said.value:g}", transform=axis.transAxes, va="top", ha="right")
    axis.set(xlim=(-15.0, 15.0), xlabel="log estimate - mean (nats)")


def _data_set_panel(
    axis: Axes, tables: Tables, published: PublishedMarks, by_method: dict[str, str], size: int
) -> None:
    drawn = False
    for (method, quantity), dataset in ((q, d) for q in by_method.items() for d in _STYLES):
        try:
            sweep = _sweep(tables, method, size, dataset)
        except MissingData:
            continue
        drawn = True
        n_iterations = tables.value("n_iterations", **program_rows(method, size, dataset))
        sweep = sweep.assign(longest_run_fraction=sweep["longest_run_position"] / n_iterations)
        # Chains that never move have efficiency 0, which a logarithmic axis cannot show: gaps where all are stuck.
        moves = sweep.groupby("step_size")[quantity].transform("mean") > 0.0
        look: dict[str, Any] = {"color": METHOD_COLOURS[method], "linestyle": _STYLES[dataset], **_BAND}
        sns.lineplot(sweep.where(moves), x="step_size", y=quantity, ax=axis, **look)
    if not drawn:
        missing_panel(axis, "not run at this preset")
        return
    axis.set(xlim=(0.0, 1.0), xlabel="step size")
    if by_method["pm_mh"] == "ess_per_evaluation":
        _published_peak(axis, published, size, 1.0, METHOD_COLOURS["pm_mh"])
    elif by_method["apm_mi_mh"] == "acceptance_auxiliary":
        # The rate of updates of u does not depend on the step size: its mark stands at the published one.
        step = published("PM-G14", f"N = {size} target")
        rate = published("PM-G11", f"N = {size}, one data set")
        published_mark(axis, step, rate, colour=METHOD_COLOURS["apm_mi_mh"])


_PM_MH, _APM_MI_MH = ([(method, size) for size in SIZES] for method in ("pm_mh", "apm_mi_mh"))

DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_3_1": model_graph,
    "fig_3_2": reflective_slice,
    "fig_3_3": partial(efficiency, rows=_PM_MH),
    "fig_3_4": partial(long_chains, number="3.4", rows=_PM_MH),
    "fig_3_5": partial(efficiency, rows=_APM_MI_MH, tuned=True),
    "fig_3_6": partial(long_chains, number="3.6", rows=_APM_MI_MH),
    "fig_3_7": partial(efficiency, rows=[("apm_ss_mh", 1)], tuned=True),
    "fig_3_8": partial(long_chains, number="3.8", rows=[("apm_mi_mh", 1), ("apm_ss_mh", 1)]),
    "fig_3_9": partial(
        efficiency, rows=[("apm_mi_ss", 1), ("apm_ss_ss", 1)], accept=False, size_in_title=False
    ),
    "fig_data_sets": data_sets,
    "fig_rivals": rivals,
    "fig_map": best_methods,
}
