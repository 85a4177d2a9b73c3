"""Figures of importance weights and of averages, drawn from the tables."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from auxmc.plots.style import PAGE_WIDTH_IN
from auxmc_pipeline.tables import Table
from experiments.foundations.drawing import BLUE, GREEN, RED, REFERENCE, Drawings, drawing, marks

DRAW: Drawings = {}

_TARGET, _PROPOSAL, _DERIVED = GREEN, RED, BLUE


@drawing(DRAW, "fig_2_5", PAGE_WIDTH_IN, 2.6)
def importance_weights(figure: Figure, curves: Table) -> None:
    """Figure 2.5."""
    axes = figure.subplots(1, 2, sharey=True)
    target = curves.array("fig_2_5_target", "fig_2_5_x")
    proposals = curves.array("fig_2_5_proposal", "fig_2_5_sd", "fig_2_5_x")
    weights = curves.array("fig_2_5_weight", "fig_2_5_sd", "fig_2_5_x")
    fractions = curves.array("fig_2_5_effective_share", "fig_2_5_sd")
    x = target["fig_2_5_x"].values
    for i, (axis, sd) in enumerate(zip(axes, proposals["fig_2_5_sd"].values, strict=True)):
        axis.fill_between(x, target.values, color=_TARGET, alpha=0.3, linewidth=0.0)
        axis.plot(x, target.values, color=_TARGET, label=r"target $\tilde p(x)$")
        axis.plot(x, proposals.values[i], color=_PROPOSAL, linestyle="--", label="proposal $q(x)$")
        axis.plot(x, weights.values[i], color=_DERIVED, linestyle=":", linewidth=1.6, label="weight $w(x)$")
        axis.set(xlim=(x[0], x[-1]), ylim=(0.0, 2.0), xlabel="$x$")
        axis.set_xticks([-2, -1, 0, 1, 2])
        axis.set_title(f"sd of $q$ {sd:g}: effective share {fractions.values[i]:.1%}")
    axes[0].set_ylabel("density, weight")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)


@drawing(DRAW, "slides_integration", PAGE_WIDTH_IN, 3.6)
def integration(figure: Figure, curves: Table) -> None:
    """The slides' two integrands."""
    axes = figure.subplots(2, 2, sharex="col")
    dims = ("slides_integration_case", "slides_integration_x")
    functions = curves.array("slides_integration_function", *dims)
    densities = curves.array("slides_integration_density", *dims)
    means = curves.array("slides_integration_mean", dims[0])
    x = functions[dims[1]].values
    names = ("$f(x) = \\sin(8x)\\,e^{-x^2/8}$, $p$ normal", "$f(x) = x^2$, $p$ a mixture")
    for column, name in enumerate(names):
        top, bottom = axes[:, column]
        f, p = functions.values[column], densities.values[column]
        top.plot(x, f, color=_PROPOSAL)
        top.axhline(0.0, color=REFERENCE, linewidth=0.5)
        top.set_title(name)
        bottom.plot(x, p, color=_TARGET, label="$p(x)$")
        bottom.fill_between(x, f * p, color=_DERIVED, alpha=0.35, linewidth=0.0)
        bottom.plot(x, f * p, color=_DERIVED, linewidth=0.8, label="$f(x)\\,p(x)$")
        bottom.axhline(0.0, color=REFERENCE, linewidth=0.5)
        # Rounding leaves a zero with a sign.
        mean = round(float(means.values[column]), 3) + 0.0
        bottom.set(xlim=(x[0], x[-1]), xlabel=f"$x$\narea $\\int f p\\,dx = {mean:g}$")
    axes[1, 1].set_ylim(0.0, 0.8)
    axes[0, 0].set_ylabel("function $f$")
    axes[1, 0].set_ylabel("density")
    figure.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)


@drawing(DRAW, "slides_importance", PAGE_WIDTH_IN, 2.9)
def diverging_weights(figure: Figure, curves: Table) -> None:
    """The slides' example of importance weights without a variance."""
    left, right = figure.subplots(1, 2)
    running = curves.array(
        "slides_importance_running_mean", "slides_importance_run", "slides_importance_n_draws"
    )
    for name, colour, style, width, label in (
        ("slides_importance_log_target", _TARGET, "-", 1.2, "target $p$"),
        ("slides_importance_log_proposal", _PROPOSAL, "--", 1.2, "proposal $q$"),
        ("slides_importance_log_integrand", _DERIVED, ":", 1.6, "$p^2 / q$"),
    ):
        found = curves.array(name, "slides_importance_x")
        x, decades = found["slides_importance_x"].values, found.values / np.log(10.0)
        left.plot(x, decades, color=colour, linestyle=style, linewidth=width, label=label)
    left.set(xlim=(-2.0, 2.0), ylim=(-25.0, 50.0), xlabel="$x$", ylabel="density")
    left.set_yticks([-20, 0, 20, 40], [f"$10^{{{power}}}$" for power in (-20, 0, 20, 40)])
    left.legend(loc="upper right")
    n_draws = running["slides_importance_n_draws"].values
    for path in running.values:
        right.plot(n_draws, path, color=_DERIVED, linewidth=0.7, alpha=0.7)
    right.axhline(1.0, color=REFERENCE, linestyle="--", linewidth=1.0)
    right.set(xscale="log", yscale="log", xlim=(1, n_draws[-1]), xlabel="draws", ylabel="mean weight")


@drawing(DRAW, "quadrature", PAGE_WIDTH_IN, 2.5)
def grid_against_draws(figure: Figure, curves: Table) -> None:
    """Simpson's rule and Monte Carlo averages in several dimensions."""
    n_points = curves.array("quadrature_n_points", "quadrature_dim", "quadrature_panels")
    errors = curves.array("quadrature_error", "quadrature_dim", "quadrature_panels")
    sampled = curves.array("quadrature_sampled_error", "quadrature_dim", "quadrature_n_draws")
    sds = curves.array("quadrature_sd", "quadrature_dim")
    dims, n_draws = errors["quadrature_dim"].values, sampled["quadrature_n_draws"].values
    axes = figure.subplots(1, len(dims), sharey=True)
    line = np.geomspace(3.0, 1e6, 2)
    for i, (axis, dim) in enumerate(zip(axes, dims, strict=True)):
        axis.plot(line, sds.values[i] / np.sqrt(line), color=_DERIVED, linewidth=0.9)
        marks(axis, (n_draws, sampled.values[i]), "x", _DERIVED, label="independent draws")
        dots: dict[str, Any] = {"color": _PROPOSAL, "marker": "o", "markersize": 3.5, "linewidth": 0.7}
        axis.plot(n_points.values[i], errors.values[i], label="Simpson's rule", **dots)
        axis.set(xscale="log", yscale="log", xlim=(2.0, 2e6), ylim=(1e-15, 3.0), title=f"$D = {dim:g}$")
        axis.set_xticks([1e1, 1e3, 1e5])
        axis.minorticks_off()
    axes[0].set_ylabel("relative error")
    figure.supxlabel("evaluations of the integrand", fontsize=8.5)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
