"""Figures of the study, drawn from its tables."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import CYCLE
from auxmc_pipeline.footer import footer
from auxmc_pipeline.plots.looks import QUANTITY_COLOURS
from auxmc_pipeline.plots.panels import histogram_panel, page
from auxmc_pipeline.plots.published import published_level
from auxmc_pipeline.published_values import PublishedMarks
from auxmc_pipeline.tables import Tables

_BLUE, _RED, _GREEN, _ORANGE = CYCLE[0], CYCLE[1], CYCLE[2], CYCLE[5]
_REFERENCE = QUANTITY_COLOURS["reference"]
_PLANE = 4.0
_DECADE = np.log(10.0)
# Numbers of the chains that stand under the panels of figures 2.1 and 2.2.
_OF_SAMPLERS = {
    "squared_jump_per_evaluation": "squared jump per evaluation {:.3g}",
    "lag_one_autocorrelation": "lag-one autocorrelation {:.3g}",
    "autocorrelation_time": "autocorrelation time {:.3g} evaluations",
}
_OF_GRADIENT_STEPS = {
    "travelled_length": "length of the path {:.3g}",
    "displacement": "distance after 100 steps {:.3g}",
    "gradient_autocorrelation_time": "autocorrelation time {:.3g} gradients",
}


def exploring(tables: Tables) -> Figure:
    """Figure 2.1."""
    figure, (left, right) = page(4.1, 1, 2, sharex=True, sharey=True)
    walk = tables.array("random_walk_path", "step", "axis").values
    states = tables.array("hmc_states", "update", "axis").values
    paths = tables.array("leapfrog_path", "trajectory", "leapfrog", "axis").values
    labels = [_numbers(tables, _OF_SAMPLERS, method=method) for method in ("random_walk", "hmc")]
    reach = max(np.abs(found).max() for found in (walk, paths))
    _plane(left, tables, reach, walk[0], "random-walk Metropolis", labels[0])
    _plane(right, tables, reach, states[0], "Hamiltonian Monte Carlo", labels[1])
    left.plot(*walk.T, color=_BLUE, linewidth=0.8, marker=".", markersize=2.5)
    for path in paths:
        right.plot(*path.T, color=_RED, linewidth=0.4)
    right.plot(*states.T, color=_RED, linestyle="none", marker="o", markersize=3.5)
    left.set_ylabel("$x_2$")
    setting = partial(tables.setting, case="kernels")
    means = f"numbers are means of {setting('n_chains')} chains of {setting('n_draws')} evaluations"
    return footer(figure, tables, f"{setting('n_evaluations_shown')} evaluations of one chain", means)


def noisy_gradients(tables: Tables) -> Figure:
    """Figure 2.2."""
    figure, axes = page(4.3, 1, 2, sharex=True, sharey=True)
    titles = {"sgld": "stochastic-gradient Langevin dynamics", "sghmc": "stochastic-gradient HMC"}
    paths = tables.array("gradient_path", "dynamics", "step_number", "axis")
    for axis, colour, (name, title) in zip(axes, (_BLUE, _RED), titles.items(), strict=True):
        path, label = paths.sel(dynamics=name).values, _numbers(tables, _OF_GRADIENT_STEPS, dynamics=name)
        _plane(axis, tables, np.abs(paths.values).max(), path[0], title, label)
        axis.plot(*path.T, color=colour, linewidth=0.6)
    axes[0].set_ylabel("$x_2$")
    setting = partial(tables.setting, case="kernels")
    chains = f"{setting('n_chains')} chains of {setting('n_draws')} steps, times along (1, 1)"
    means = f"lengths of as many steps, and times, are means of {chains}"
    return footer(figure, tables, f"{setting('n_steps_shown')} steps of one chain", means)


def gaussian_example(tables: Tables) -> Figure:
    """Figure 3.1."""
    figure, axis = page(2.9)
    rows = tables.rows("mu", "prior_density")
    mu, prior, likelihood = (rows[name] for name in ("mu", "prior_density", "scaled_likelihood"))
    log_evidence = tables.value("log_evidence")
    axis.plot(mu, prior, color=_BLUE, label="prior")
    axis.fill_between(mu, prior * likelihood, color=_GREEN, alpha=0.5, lw=0.0, label="prior × likelihood")
    axis.set(xlim=(mu.min(), mu.max()), ylim=(0.0, 0.5), xlabel=r"mean $\mu$", ylabel="prior density")
    twin = axis.twinx()
    twin.spines["right"].set_visible(True)
    twin.plot(mu, likelihood, color=_RED, linestyle="--", label="likelihood")
    twin.set_ylabel("likelihood / largest", color=_RED)
    twin.tick_params(axis="y", colors=_RED)
    twin.set_ylim(bottom=0.0, top=1.25)
    handles = axis.get_legend_handles_labels()[0] + twin.get_legend_handles_labels()[0]
    axis.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    words = rf"$\log Z = {log_evidence:.2f}$ nats" + "\n" + rf"$Z = 10^{{{log_evidence / _DECADE:.2f}}}$"
    axis.text(0.02, 0.95, words, transform=axis.transAxes, va="top")
    return figure


def evidence_estimates(name: str, tables: Tables) -> Figure:
    """Figures 3.2 and 3.3: histograms of estimates by prior averaging and by the harmonic mean."""
    figure, (left, right) = page(2.9, 1, 2)
    exact = tables.value("log_evidence")
    largest = tables.value("log_largest_likelihood")
    of = ("ratio", "log_ratio")
    counts, log_counts = (tables.values(f"{what}_count", "estimate_bin", estimate=name) for what in of)
    ends, log_ends = (tables.values(f"{what}_edges", "estimate_end", estimate=name) for what in of)
    power = int(np.floor(exact / _DECADE))  # Order 1e-62: axes do not label such numbers well
    unit = np.exp(exact - power * _DECADE)
    _histogram(left, counts, ends * unit, log_density=name == "prior")
    left.axvline(unit, color=_ORANGE, linestyle="--")
    left.set(xlabel=rf"estimate [$10^{{{power}}}$]", ylabel=rf"density [$10^{{{-power}}}$]")
    _histogram(right, log_counts, log_ends + exact)
    right.axvline(exact, color=_ORANGE, linestyle="--", label="exact")
    right.set(xlabel="log estimate [nats]", ylabel="density [1/nat]")
    if name == "harmonic":
        left.axvline(np.exp(largest - power * _DECADE), color=_REFERENCE, linestyle=":")
        right.axvline(largest, color=_REFERENCE, linestyle=":", label="largest possible")
    else:
        # The source prints the decimal order of the evidence of its own data, which are not printed.
        order = PublishedMarks("estimator_illustrations", tables)("SE-10", "our data")
        published_level(right, order, unit=1.0 / _DECADE, vertical=True, note="its data")
        words = f"{counts[0] / counts.sum():.0%} of the estimates are\nin the first bin"
        left.text(0.97, 0.95, words, transform=left.transAxes, ha="right", va="top")
    right.legend(loc="upper left")
    setting = partial(tables.setting, case="evidence")
    draws = f"{setting('n_replicates')} estimates from {setting('n_samples')} draws each"
    return footer(figure, tables, f"{draws}, {setting('n_bins')} bins")


def inflation(tables: Tables) -> Figure:
    """Stationary variances."""
    figure, (left, right) = page(2.9, 1, 2)
    variances = tables.rows("configuration_chain", "variance").merge(tables["configuration"])
    exact = variances[variances["configuration"].str.startswith("step")]
    look: dict[str, Any] = {"errorbar": ("se", 2), "err_style": "bars", "legend": False}
    look |= {"color": _BLUE, "marker": "o", "markersize": 5.0, "linestyle": "none"}
    for axis, chains, x, y, formula in (
        (left, exact, "gradient_step_of", "variance", "eta"),
        (right, tables.rows("n_rows_chain", "inflation"), "n_rows", "inflation", "n"),
    ):
        sns.lineplot(chains, x=x, y=y, label="measured", ax=axis, **look)
        curve = tables.array(f"{y}_curve", formula)
        axis.plot(curve[formula], curve, color=_RED, linestyle="--", label="closed form")
        axis.axhline(1.0, color=_REFERENCE, linewidth=0.7, linestyle=":")
        axis.set_xscale("log")
    left.set(xlabel=r"$\eta$ × curvature", ylabel="variance × curvature")
    right.set(yscale="log", xlabel="rows $n$", ylabel="variance / posterior variance")
    left.legend(loc="upper left")
    setting = partial(tables.setting, case="kernels")
    lengths = f"{setting('n_draws')} steps (left) and of {setting('n_batch_draws')} steps (right)"
    return footer(figure, tables, f"{setting('n_chains')} chains of {lengths}")


DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_2_1": exploring,
    "fig_2_2": noisy_gradients,
    "fig_3_1": gaussian_example,
    "fig_3_2": partial(evidence_estimates, "prior"),
    "fig_3_3": partial(evidence_estimates, "harmonic"),
    "fig_inflation": inflation,
}


def _numbers(tables: Tables, texts: dict[str, str], **wanted: str) -> str:
    """Horizontal label of a panel, with means over chains below it."""
    by = f"{next(iter(wanted))}_chain"
    means = [text.format(tables.values(name, by, **wanted).mean()) for name, text in texts.items()]
    return "\n".join(["$x_1$", *means])


def _plane(axis: Axes, tables: Tables, reach: float, start: FloatArray, title: str, xlabel: str) -> None:
    """Contours of the correlated target at one, two and three standard deviations, on a square that holds all paths."""
    rho = tables.setting("correlation", case="kernels")
    limit = max(_PLANE, reach + 0.2)
    points = np.linspace(-limit, limit, 201)
    x, y = np.meshgrid(points, points)
    square = (x**2 - 2.0 * rho * x * y + y**2) / (1.0 - rho**2)
    axis.contour(x, y, square, levels=[1.0, 4.0, 9.0], colors=_REFERENCE, linewidths=0.7)
    axis.set_aspect("equal")
    axis.set(xlim=(-limit, limit), ylim=(-limit, limit), title=title, xlabel=xlabel)
    axis.plot(*start, color="black", marker="x", markersize=6.0, linestyle="none", zorder=5)


def _histogram(axis: Axes, counts: FloatArray, ends: FloatArray, log_density: bool = False) -> None:
    edges = np.linspace(ends[0], ends[1], counts.size + 1)
    # With an outline a single high bin is wide enough to be seen, and with margins it is not on the frame.
    histogram_panel(axis, edges, counts, colour=_BLUE, alpha=1.0, linewidth=0.8)
    margin = 0.03 * (edges[-1] - edges[0])
    axis.set_xlim(edges[0] - margin, edges[-1] + margin)
    if log_density:
        # Nearly all values are in the lowest bins: on a linear scale the others cannot be seen.
        density = counts[counts > 0.0] / (counts.sum() * (edges[1] - edges[0]))
        axis.set(yscale="log", ylim=(0.5 * density.min(), 3.0 * density.max()))
    else:
        axis.set_ylim(bottom=0.0)
