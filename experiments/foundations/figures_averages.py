"""Figures of importance weights and of averages, drawn from the tables."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from auxmc.plots.panels import missing_figure
from auxmc.plots.style import CYCLE, PAGE_WIDTH_IN, QUANTITY_COLOURS
from auxmc_pipeline.lookup import find

_CASE = "numbers"
_NOT_RUN = "not run at this preset"
_TARGET, _PROPOSAL, _DERIVED = CYCLE[2], CYCLE[1], CYCLE[0]
_REFERENCE = QUANTITY_COLOURS["reference"]


def importance_weights(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 2.5."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    target = find(curves, _CASE, "fig_2_5_target", "fig_2_5_x")
    proposals = find(curves, _CASE, "fig_2_5_proposal", "fig_2_5_sd", "fig_2_5_x")
    weights = find(curves, _CASE, "fig_2_5_weight", "fig_2_5_sd", "fig_2_5_x")
    shares = find(curves, _CASE, "fig_2_5_effective_share", "fig_2_5_sd")
    if target is None or proposals is None or weights is None or shares is None:
        return missing_figure(figure, _NOT_RUN)
    x = target["fig_2_5_x"].values
    for i, (axis, sd) in enumerate(zip(axes, proposals["fig_2_5_sd"].values, strict=True)):
        axis.fill_between(x, target.values, color=_TARGET, alpha=0.3, linewidth=0.0)
        axis.plot(x, target.values, color=_TARGET, label=r"target $\tilde p(x)$")
        axis.plot(x, proposals.values[i], color=_PROPOSAL, linestyle="--", label="proposal $q(x)$")
        axis.plot(x, weights.values[i], color=_DERIVED, linestyle=":", linewidth=1.6, label="weight $w(x)$")
        axis.set(xlim=(x[0], x[-1]), ylim=(0.0, 2.0), xlabel="$x$")
        axis.set_xticks([-2, -1, 0, 1, 2])
        axis.set_title(f"sd of $q$ {sd:g}: effective share {shares.values[i]:.1%}")
    axes[0].set_ylabel("density, weight")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def integration(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The slides' two integrands."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.6), layout="constrained")
    axes = figure.subplots(2, 2, sharex="col")
    dims = ("slides_integration_case", "slides_integration_x")
    functions = find(curves, _CASE, "slides_integration_function", *dims)
    densities = find(curves, _CASE, "slides_integration_density", *dims)
    means = find(curves, _CASE, "slides_integration_mean", dims[0])
    if functions is None or densities is None or means is None:
        return missing_figure(figure, _NOT_RUN)
    x = functions[dims[1]].values
    names = ("$f(x) = \\sin(8x)\\,e^{-x^2/8}$, $p$ normal", "$f(x) = x^2$, $p$ a mixture")
    for column, name in enumerate(names):
        top, bottom = axes[:, column]
        f, p = functions.values[column], densities.values[column]
        top.plot(x, f, color=_PROPOSAL)
        top.axhline(0.0, color=_REFERENCE, linewidth=0.5)
        top.set_title(name)
        bottom.plot(x, p, color=_TARGET, label="$p(x)$")
        bottom.fill_between(x, f * p, color=_DERIVED, alpha=0.35, linewidth=0.0)
        bottom.plot(x, f * p, color=_DERIVED, linewidth=0.8, label="$f(x)\\,p(x)$")
        bottom.axhline(0.0, color=_REFERENCE, linewidth=0.5)
        # Rounding leaves a zero with a sign.
        mean = round(float(means.values[column]), 3) + 0.0
        bottom.set(xlim=(x[0], x[-1]), xlabel=f"$x$\narea $\\int f p\\,dx = {mean:g}$")
    axes[1, 1].set_ylim(0.0, 0.8)
    axes[0, 0].set_ylabel("function $f$")
    axes[1, 0].set_ylabel("density")
    figure.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def diverging_weights(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The slides' example of importance weights without a variance."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    parts = {
        name: find(curves, _CASE, f"slides_importance_log_{name}", "slides_importance_x")
        for name in ("target", "proposal", "integrand")
    }
    running = find(
        curves, _CASE, "slides_importance_running_mean", "slides_importance_run", "slides_importance_n_draws"
    )
    if any(values is None for values in parts.values()) or running is None:
        return missing_figure(figure, _NOT_RUN)
    lines = (
        ("target", _TARGET, "-", "target $p$"),
        ("proposal", _PROPOSAL, "--", "proposal $q$"),
        ("integrand", _DERIVED, ":", "$p^2 / q$"),
    )
    for name, colour, style, label in lines:
        values = parts[name]
        if values is not None:
            decades = values.values / np.log(10.0)
            left.plot(
                values["slides_importance_x"].values, decades, color=colour, linestyle=style, label=label,
                linewidth=1.6 if style == ":" else 1.2,
            )  # fmt: skip
    left.set(xlim=(-2.0, 2.0), ylim=(-25.0, 50.0), xlabel="$x$", ylabel="density")
    left.set_yticks([-20, 0, 20, 40], [f"$10^{{{power}}}$" for power in (-20, 0, 20, 40)])
    left.legend(loc="upper right")
    n_draws = running["slides_importance_n_draws"].values
    for path in running.values:
        right.plot(n_draws, path, color=_DERIVED, linewidth=0.7, alpha=0.7)
    right.axhline(1.0, color=_REFERENCE, linestyle="--", linewidth=1.0)
    right.set(xscale="log", yscale="log", xlim=(1, n_draws[-1]), xlabel="draws", ylabel="mean weight")
    return figure


def grid_against_draws(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Simpson's rule and Monte Carlo averages in several dimensions."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.5), layout="constrained")
    grid = ("quadrature_dim", "quadrature_panels")
    n_points = find(curves, _CASE, "quadrature_n_points", *grid)
    errors = find(curves, _CASE, "quadrature_error", *grid)
    sampled = find(curves, _CASE, "quadrature_sampled_error", "quadrature_dim", "quadrature_n_draws")
    sds = find(curves, _CASE, "quadrature_sd", "quadrature_dim")
    if n_points is None or errors is None or sampled is None or sds is None:
        return missing_figure(figure, _NOT_RUN)
    dims = errors["quadrature_dim"].values
    axes = figure.subplots(1, len(dims), sharey=True)
    line = np.geomspace(3.0, 1e6, 2)
    for i, (axis, dim) in enumerate(zip(axes, dims, strict=True)):
        axis.plot(line, sds.values[i] / np.sqrt(line), color=_DERIVED, linewidth=0.9)
        axis.plot(
            sampled["quadrature_n_draws"].values, sampled.values[i], color=_DERIVED, linestyle="none",
            marker="x", label="independent draws",
        )  # fmt: skip
        axis.plot(
            n_points.values[i], errors.values[i], color=_PROPOSAL, marker="o", markersize=3.5, linewidth=0.7,
            label="Simpson's rule",
        )  # fmt: skip
        axis.set(xscale="log", yscale="log", xlim=(2.0, 2e6), ylim=(1e-15, 3.0), title=f"$D = {dim:g}$")
        axis.set_xticks([1e1, 1e3, 1e5])
        axis.minorticks_off()
    axes[0].set_ylabel("relative error")
    figure.supxlabel("evaluations of the integrand", fontsize=8.5)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
