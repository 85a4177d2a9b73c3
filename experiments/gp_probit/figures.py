"""Figures of the study, drawn from its two tables."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, Polygon, Rectangle

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.panels import (
    band_curve,
    grouped_bars,
    histogram_panel,
    missing_panel,
    preset_note,
    trace_panel,
)
from auxmc.plots.style import METHOD_COLOURS, METHOD_LABELS, PAGE_WIDTH_IN, QUANTITY_COLOURS
from auxmc_pipeline.lookup import find, scalar
from experiments.gp_probit.lookup import APM_METHODS, MAIN_METHODS, main_case

_NOT_RUN = "not run at this preset"
_BAND_ALPHA = 0.2
_REFERENCE = QUANTITY_COLOURS["reference"]


def factor_graph(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 3.10: the factor graph of the model; uses no data."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.6), layout="constrained")
    axis = figure.subplots()
    axis.set_xlim(-0.9, 12.6)
    axis.set_ylim(-0.3, 4.3)
    axis.set_aspect("equal")
    axis.axis("off")
    edges = [
        ((0.6, 3.2), (2.6, 3.2)),
        ((0.6, 0.8), (2.6, 0.8)),
        ((2.6, 3.2), (4.2, 2.0)),
        ((2.6, 0.8), (4.2, 2.0)),
        ((3.0, 2.0), (4.2, 2.0)),
        ((4.2, 2.0), (6.0, 2.0)),
        ((6.0, 2.0), (7.6, 2.0)),
        ((7.6, 2.0), (9.2, 2.0)),
        ((9.2, 2.0), (10.8, 2.0)),
        ((10.8, 2.0), (12.0, 2.0)),
    ]
    for (x0, y0), (x1, y1) in edges:
        axis.plot([x0, x1], [y0, y1], color="black", linewidth=0.9, zorder=1)
    for x, y, text in (
        (0.6, 3.2, r"$\mathrm{Gamma}(1.1,\, 0.1)$"),
        (0.6, 0.8, r"$\mathrm{Gamma}(1,\, 1/3)$"),
        (7.6, 2.0, r"$\mathcal{N}(0, C)$"),
        (10.8, 2.0, r"$\mathrm{Ber}(\Phi(z))$"),
    ):
        axis.add_patch(Rectangle((x - 0.12, y - 0.12), 0.24, 0.24, color="black", zorder=2))
        axis.text(x, y - 0.35, text, ha="center", va="top", fontsize=8.0)
    axis.add_patch(Rectangle((4.08, 1.88), 0.24, 0.24, color="black", zorder=2))
    axis.text(4.1, 2.25, "covariance\nfunction", ha="left", va="bottom", fontsize=8.0)
    _variable(axis, 2.6, 3.2, r"$s$")
    _variable(axis, 2.6, 0.8, r"$\ell$")
    _variable(axis, 9.2, 2.0, r"$z$")
    _variable(axis, 12.0, 2.0, r"$y$", observed=True)
    axis.text(2.75, 2.0, r"$d$", ha="center", va="center", fontsize=11.0)
    corners = [(5.45, 2.0), (6.0, 2.55), (6.55, 2.0), (6.0, 1.45)]
    axis.add_patch(Polygon(corners, closed=True, facecolor="white", edgecolor="black", zorder=2))
    axis.text(6.0, 2.0, r"$C$", ha="center", va="center", fontsize=11.0, zorder=3)
    for x, y, text in (
        (2.6, 3.85, "output variance"),
        (2.6, 0.02, "length scales, one per feature"),
        (2.75, 1.62, "inputs"),
        (9.2, 2.65, "latent values"),
        (12.0, 2.65, "labels"),
    ):
        axis.text(x, y, text, ha="center", va="center", fontsize=7.0, color="#444444")
    return figure


def efficiency_bars(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 3.11a: effective sample size per 1000 cubic operations by coordinate and method."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.9), layout="constrained")
    axis = figure.subplots()
    quantity = "ess_per_1000_cubic_operations"
    found = {m: find(summary, main_case(m), quantity, "chain", "coordinate") for m in MAIN_METHODS}
    present = {method: values for method, values in found.items() if values is not None}
    if not present:
        missing_panel(axis, _NOT_RUN)
        return figure
    names = [str(name) for name in next(iter(present.values()))["coordinate"].values]
    heights = {method: values.mean("chain").values for method, values in present.items()}
    errors = {
        method: values.std("chain", ddof=1).values / np.sqrt(values.sizes["chain"])
        for method, values in present.items()
        if values.sizes["chain"] > 1
    }
    grouped_bars(
        axis,
        [_short(name) for name in names],
        heights,
        errors,
        value_label="ESS per 1000 cubic operations",
        group_label="log output variance $\\log s$, log length scales by feature",
    )
    axis.set_ylim(bottom=0.0)
    figure.legend(loc="outside upper center", ncols=len(present))
    preset_note(figure, _note(summary))
    return figure


def convergence(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 3.11b: log(R-hat - 1), mean over coordinates, against cubic operations and run time."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    aggregate = "mean over coordinates"
    drawn = _r_hat_panel(left, curves, aggregate, "cubic_operations_so_far", "cubic operations in a chain")
    _r_hat_panel(right, curves, aggregate, "run_time_so_far", "run time of a chain (s)")
    right.set_ylabel("")
    _method_legend(figure, left, drawn)
    preset_note(figure, _note(summary))
    return figure


def convergence_supplement(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Supplement of figure 3.11b: the worst coordinate, and the log output scale alone."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    cost = ("cubic_operations_so_far", "cubic operations in a chain")
    drawn = _r_hat_panel(left, curves, "largest", *cost)
    left.set_title("worst coordinate")
    _r_hat_panel(right, curves, "first coordinate", *cost)
    right.set_title("log output scale")
    right.set_ylabel("")
    _method_legend(figure, left, drawn)
    preset_note(figure, _note(summary))
    return figure


def output_scale(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 3.12: trace and histogram of the log output scale by method."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 6.8), layout="constrained")
    grid = figure.subplots(len(MAIN_METHODS), 2, width_ratios=(1.7, 1.0))
    pooled = _pooled_histogram(curves)
    drawn: list[tuple[Axes, Axes]] = []
    for (left, right), method in zip(grid, MAIN_METHODS, strict=True):
        colour, title = METHOD_COLOURS[method], METHOD_LABELS[method]
        trace = find(curves, main_case(method), "trace", "iteration")
        histogram = find(curves, main_case(method), "histogram", "chain", "bin")
        n_draws = find(curves, main_case(method), "histogram_draws", "chain")
        if trace is None or histogram is None or n_draws is None:
            missing_panel(left, f"{title}: {_NOT_RUN}")
            missing_panel(right, _NOT_RUN)
            continue
        trace_panel(
            left, trace.values, first_iteration=1, colour=colour, value_label=r"$\log s$", iteration_label=""
        )
        left.set_title(title, loc="left")
        edges, counts, total = (
            _edges(histogram["bin"].values),
            histogram.sum("chain").values,
            float(n_draws.sum()),
        )
        if counts.sum() == 0:
            missing_panel(right, "no draws in the range of the histogram")
            continue
        histogram_panel(
            right,
            edges,
            counts,
            n_total=total,
            colour=colour,
            value_label="",
            density_label="density",
            title=f"{total:.0f} draws",
        )
        if pooled is not None and len(pooled) == len(counts):
            right.stairs(pooled / np.diff(edges), edges, color=_REFERENCE, linewidth=0.8)
        drawn.append((left, right))
    # Panels are compared with each other: they get the same limits, which a missing panel must not take part in.
    for column in zip(*drawn, strict=True):
        low, high = (pick(axis.get_ylim()[i] for axis in column) for i, pick in enumerate((min, max)))
        for axis in column:
            axis.set_ylim(low, high)
            if axis is not column[-1]:
                axis.tick_params(labelbottom=False)
    if drawn:
        drawn[-1][0].set_xlabel("iteration of the main run")
        drawn[-1][1].set_xlabel(r"$\log s$")
    preset_note(figure, _note(summary))
    return figure


def importance_samples(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Noise of the log estimate and expected accept rates over the number of importance samples."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    dims = ("n_importance", "chain", "reference")
    noise = find(summary, "estimator", "sd_log_estimate", *dims)
    if noise is None:
        missing_panel(left, _NOT_RUN)
        missing_panel(right, _NOT_RUN)
        return figure
    points = noise["n_importance"].values.astype(float)
    over = ("chain", "reference")
    left.plot(points, noise.median(over).values, color="black", marker="o")
    low, high = noise.quantile(0.1, over).values, noise.quantile(0.9, over).values
    left.fill_between(points, low, high, color="black", alpha=_BAND_ALPHA, linewidth=0.0)
    left.set_yscale("log")
    left.set_ylabel("sd of log density estimate (nats)")
    for quantity, label, colour, marker in (
        ("acceptance_mi", "MI update of $u$", METHOD_COLOURS["apm_mi_mh"], "s"),
        ("acceptance_apm_mh", "MH update of $x$, $u$ fixed", "black", "^"),
        ("acceptance_pm_mh", "PM MH, joint", METHOD_COLOURS["pm_mh"], "o"),
    ):
        rates = find(summary, "estimator", quantity, *dims)
        if rates is None:
            continue
        by_chain = rates.mean("reference")
        n_chains = by_chain.sizes["chain"]
        error = by_chain.std("chain", ddof=1).values / np.sqrt(n_chains) if n_chains > 1 else None
        band_curve(right, points, by_chain.mean("chain").values, colour=colour, label=label, marker=marker)
        if error is not None:
            right.errorbar(points, by_chain.mean("chain").values, yerr=error, color=colour, linestyle="none")
    right.set_ylim(bottom=0.0)
    right.set_ylabel("expected accept rate")
    for axis in (left, right):
        axis.set_xscale("log")
        axis.set_xticks(points, [f"{point:g}" for point in points])
        axis.minorticks_off()
        axis.set_xlabel("importance samples")
    figure.legend(loc="outside upper right", ncols=3)
    n_points = noise.sizes["chain"] * noise.sizes["reference"]
    preset_note(
        figure,
        f"preset {scalar(summary, 'estimator', 'preset')}; {n_points} posterior draws of "
        f"{noise.sizes['chain']} reference chains, {scalar(summary, 'estimator', 'n_weights')} weights at each",
    )
    return figure


DRAW: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Figure]] = {
    "fig_3_10": factor_graph,
    "fig_3_11a": efficiency_bars,
    "fig_3_11b": convergence,
    "fig_3_11b_supplement": convergence_supplement,
    "fig_3_12": output_scale,
    "fig_n_importance": importance_samples,
}


def _variable(axis: Axes, x: float, y: float, text: str, observed: bool = False) -> None:
    face = "#CCCCCC" if observed else "white"
    axis.add_patch(Ellipse((x, y), 0.84, 0.84, facecolor=face, edgecolor="black", zorder=2))
    axis.text(x, y, text, ha="center", va="center", fontsize=11.0, zorder=3)


def _short(coordinate: str) -> str:
    """Tick label: the feature's name for its log length scale."""
    name = coordinate.removeprefix("log_length_scale[").removesuffix("]")
    return r"$\log s$" if coordinate == "log_output_scale" else name


def _note(summary: pd.DataFrame) -> str:
    parts = []
    for method in MAIN_METHODS:
        case = main_case(method)
        chains, draws = scalar(summary, case, "n_chains"), scalar(summary, case, "n_draws")
        if chains is not None:
            parts.append((METHOD_LABELS[method], f"{chains} chains of {draws} iterations after warm-up"))
    sizes = {size for _, size in parts}
    preset = summary["preset"].iloc[0] if "preset" in summary and len(summary) else "unknown"
    if len(sizes) == 1:
        return f"preset {preset}; each method {sizes.pop()}"
    return f"preset {preset}; " + "; ".join(f"{name} {size}" for name, size in parts)


def _r_hat_panel(axis: Axes, curves: pd.DataFrame, aggregate: str, cost: str, cost_label: str) -> list[str]:
    """Draws log(R-hat - 1) of every method with its upper limit; returns the methods drawn."""
    drawn = []
    for method in MAIN_METHODS:
        case = main_case(method)
        point = find(curves, case, "r_hat", "aggregate", "end")
        upper = find(curves, case, "r_hat_upper", "aggregate", "end")
        place = find(curves, case, cost, "end")
        if point is None or upper is None or place is None:
            continue
        low, high = _log_excess(point.sel(aggregate=aggregate)), _log_excess(upper.sel(aggregate=aggregate))
        if not np.isfinite(low).any():
            continue
        band_curve(axis, place.values, low, colour=METHOD_COLOURS[method], label=METHOD_LABELS[method])
        usable = np.isfinite(low) & np.isfinite(high)
        if len(low) == 1:
            axis.vlines(place.values, low, high, color=METHOD_COLOURS[method], alpha=0.5)
        axis.fill_between(
            place.values,
            low,
            high,
            where=usable.tolist(),
            color=METHOD_COLOURS[method],
            alpha=_BAND_ALPHA,
            linewidth=0.0,
        )
        drawn.append(method)
    if not drawn:
        missing_panel(axis, _NOT_RUN)
        return drawn
    axis.set_xlim(left=0.0)
    axis.locator_params(axis="x", nbins=5)
    axis.set_xlabel(cost_label)
    axis.set_ylabel(r"$\log(\hat{R} - 1)$")
    return drawn


def _log_excess(r_hat: xr.DataArray) -> FloatArray:
    """log(R-hat - 1), NaN where R-hat is not above 1."""
    excess = r_hat.values.astype(float) - 1.0
    usable = np.isfinite(excess) & (excess > 0.0)
    logs: FloatArray = np.where(usable, np.log(np.where(usable, excess, 1.0)), np.nan)
    return logs


def _method_legend(figure: Figure, axis: Axes, drawn: list[str]) -> None:
    if drawn:
        handles, labels = axis.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(drawn))


def _edges(centres: FloatArray) -> FloatArray:
    width = centres[1] - centres[0]
    edges: FloatArray = np.append(centres - 0.5 * width, centres[-1] + 0.5 * width)
    return edges


def _pooled_histogram(curves: pd.DataFrame) -> FloatArray | None:
    """Frequencies of the APM methods' histograms together, each method with equal weight."""
    frequencies = []
    for method in APM_METHODS:
        counts = find(curves, main_case(method), "histogram", "chain", "bin")
        n_draws = find(curves, main_case(method), "histogram_draws", "chain")
        if counts is not None and n_draws is not None:
            frequencies.append(counts.sum("chain").values / float(n_draws.sum()))
    if not frequencies or len({len(f) for f in frequencies}) > 1:
        return None
    mean: FloatArray = np.mean(frequencies, axis=0)
    return mean
