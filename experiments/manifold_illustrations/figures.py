"""Figures 4.3, 4.4 and D.1 of the PhD thesis."""

from collections.abc import Callable
from typing import Any

import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from auxmc.plots.style import CYCLE, PAGE_WIDTH_IN
from auxmc_pipeline.footer import chain_lengths, footer
from auxmc_pipeline.plots.looks import readable
from auxmc_pipeline.plots.panels import page
from auxmc_pipeline.tables import Tables

_HMC, _CONSTRAINED = CYCLE[1], CYCLE[0]
_MARKERS: dict[str, Any] = {"errorbar": None, "markeredgewidth": 0.0}


def oscillating_trajectory(tables: Tables) -> Figure:
    """Figure 4.3."""
    figure, (left, right) = page(3.0, 1, 2)
    fibre = tables["u1"].sort_values("u1")
    first, second = np.linspace(-3.0, 3.0, 121), np.linspace(-3.0, 4.0, 141)
    grid = np.meshgrid(first, second)
    left.contourf(*grid, np.exp(-0.5 * (grid[0] ** 2 + grid[1] ** 2)), levels=12, cmap="Blues")
    for axis in (left, right):
        axis.plot(fibre["u1"], fibre["fibre"], color="black", linestyle="--", label="fibre")
        axis.set(xlabel="$u_1$", ylabel="$u_2$")
    left.set(xlim=(-3.0, 3.0), ylim=(-3.0, 4.0), title="prior density and fibre")
    hmc = tables.array("hmc_path", "step", "axis").values.T
    constrained = tables.array("constrained_path", "constrained_step", "axis").values.T
    for path, label, colour, marker, size in (
        (hmc, "HMC", _HMC, "o", 2.5),
        (constrained, "constrained HMC", _CONSTRAINED, "s", 3.5),
    ):
        label = f"{label}, {path.shape[1] - 1} steps"
        right.plot(*path, color=colour, marker=marker, markersize=size, label=label)
    both = np.concatenate([hmc, constrained], axis=1)
    (low, low2), (high, high2) = both.min(axis=1) - 0.15, both.max(axis=1) + 0.15
    right.set(xlim=(low, high), ylim=(low2, high2), title="two trajectories of equal integration time")
    right.legend()
    tolerance = tables.setting("tolerance", case="trajectory")
    return footer(figure, tables, f"Gaussian kernel of tolerance {tolerance:g}")


def two_branches(tables: Tables) -> Figure:
    """Figure 4.4."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.8), layout="constrained")
    # The panel in perspective needs room for its labels.
    grid = figure.add_gridspec(1, 3, width_ratios=[1.0, 1.6, 1.0])
    left = figure.add_subplot(grid[0])
    t = np.linspace(-2.0, 2.0, 200)
    for sign in (-1.0, 1.0):
        left.plot(sign * np.cosh(t), np.sinh(t), color="black", linewidth=1.0)
    draws = tables.array("draws", "axis", "draw", table="draw_axis").values
    left.plot(*draws, color=_CONSTRAINED, marker=".", markersize=3.0, linestyle="none")
    left.set(xlabel="$u_1$", ylabel="$u_2$", xlim=(-4.0, 4.0), ylim=(-4.0, 4.0), title="without noise")
    left.set_aspect("equal")
    middle = figure.add_subplot(grid[1], projection="3d")
    side = np.linspace(-4.0, 4.0, 40)
    first, second = np.meshgrid(side, side)
    middle.plot_surface(first, second, 1.0 - first**2 + second**2, cmap="viridis", linewidth=0.0)  # type: ignore[attr-defined]
    middle.set(xlabel="$u_1$", ylabel="$u_2$", zlabel=r"$\epsilon n$", title="with noise")
    middle.set(xticks=[-4, 0, 4], yticks=[-4, 0, 4], zticks=[-10, 0, 10])
    middle.set_box_aspect(None, zoom=0.75)  # type: ignore[attr-defined]
    right = figure.add_subplot(grid[2])
    rows = tables.rows("noise_chain", "branch_changes_per_iteration")
    bars: dict[str, Any] = {"errorbar": "se", "err_style": "bars", "marker": "o", "markersize": 4.5}
    bars |= {"x": "noise", "y": "branch_changes_per_iteration", "color": _CONSTRAINED}
    sns.lineplot(rows[rows["noise"] > 0.0], markeredgewidth=0.0, ax=right, **bars)
    right.set(xlabel=r"noise scale $\epsilon$", ylabel="branch changes / iteration", ylim=(0.0, None))
    return footer(figure, tables, chain_lengths(tables, case="branches"))


def unit_densities(tables: Tables) -> Figure:
    """Figure D.1: closed forms, nothing from the tables."""
    del tables
    figure, (left, right) = page(2.4, 1, 2)
    u = np.linspace(-5.0, 5.0, 401)
    rate = np.pi / np.sqrt(3.0)
    densities = {
        "normal": (np.exp(-0.5 * u**2) / np.sqrt(2.0 * np.pi), "-"),
        "logistic": (rate / (4.0 * np.cosh(0.5 * rate * u) ** 2), "--"),
        "hyperbolic secant": (1.0 / (2.0 * np.cosh(0.5 * np.pi * u)), ":"),
    }
    for (name, (density, style)), colour in zip(densities.items(), CYCLE, strict=False):
        left.plot(u, density, style, color=colour, label=name)
        right.plot(u, -np.log(density), style, color=colour)
    left.set(ylim=(0.0, 0.7), ylabel="density", xlabel="$u$", xlim=(-5.0, 5.0))
    right.set(ylim=(0.0, 8.0), ylabel="− log density (nats)", xlabel="$u$", xlim=(-5.0, 5.0))
    figure.legend(loc="outside upper center", ncols=3)
    return figure


def costs(tables: Tables) -> Figure:
    """What constrained HMC costs; a figure of this project."""
    figure, axes = page(2.7, 1, 3)
    for axis, draw in zip(axes, (_by_noise, _by_size, _by_inner_steps), strict=True):
        draw(axis, tables)
    return footer(figure, tables)


def _by_noise(axis: Axes, tables: Tables) -> None:
    rates = tables.rows("sampler_small_noise", "noise_ess_per_second", case="small_noise")
    hue: dict[str, Any] = {"hue": "sampler", "palette": {"constrained_hmc": _CONSTRAINED, "hmc": _HMC}}
    style = {"style": "sampler", "markers": {"constrained_hmc": "s", "hmc": "o"}, "dashes": False}
    sns.lineplot(rates, x="small_noise", y="noise_ess_per_second", ax=axis, **hue, **style, **_MARKERS)
    axis.set(xscale="log", yscale="log", xlabel=r"noise scale $\epsilon$")
    axis.set_ylabel("effective draws per second")
    handles, names = axis.get_legend_handles_labels()
    axis.legend(handles, [readable(name) for name in names])


def _by_size(axis: Axes, tables: Tables) -> None:
    for quantity, size, label, colour, marker, power in (
        ("gram_dense_seconds", "dense_size", "dense", CYCLE[2], "o", 3),
        ("gram_structured_seconds", "structured_size", "structured", CYCLE[0], "s", 1),
    ):
        rows = tables.rows(size, quantity).sort_values(size)
        sns.lineplot(rows, x=size, y=quantity, color=colour, marker=marker, label=label, ax=axis, **_MARKERS)
        largest = rows.iloc[-1]
        growth = largest[quantity] * (rows[size] / largest[size]) ** power
        axis.plot(rows[size], growth, ":", color=colour)
    axis.set(xscale="log", yscale="log", xlabel="observations $N$", ylabel="seconds per Gram solve")
    axis.legend()


def _by_inner_steps(axis: Axes, tables: Tables) -> None:
    rows = tables.rows("chain", "ess_per_gradient")
    look: dict[str, Any] = {"color": _CONSTRAINED, "marker": "s", "markersize": 4.5, "errorbar": None}
    sns.lineplot(rows, x="inner_steps", y="ess_per_gradient", ax=axis, **look)
    axis.set(xlabel="sub-steps a step", ylabel="effective draws per gradient", ylim=(0.0, None))
    axis.set_xticks(rows["inner_steps"].unique().astype(int))


DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_4_3": oscillating_trajectory,
    "fig_4_4": two_branches,
    "fig_costs": costs,
    "fig_d_1": unit_densities,
}
