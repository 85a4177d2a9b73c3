"""Figures 4.3, 4.4 and D.1 of the PhD thesis."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.panels import missing_panel, preset_note
from auxmc.plots.style import CYCLE, PAGE_WIDTH_IN
from auxmc_pipeline.lookup import MissingData, rows_of

_HMC, _CONSTRAINED = CYCLE[1], CYCLE[0]


def oscillating_trajectory(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 4.3."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    fibre = curves[curves["quantity"] == "fibre"].sort_values("u1")
    first, second = np.linspace(-3.0, 3.0, 121), np.linspace(-3.0, 4.0, 141)
    grid = np.meshgrid(first, second)
    left.contourf(*grid, np.exp(-0.5 * (grid[0] ** 2 + grid[1] ** 2)), levels=12, cmap="Blues")
    left.plot(fibre["u1"], fibre["value"], color="black", linestyle="--")
    left.set(xlim=(-3.0, 3.0), ylim=(-3.0, 4.0), title="prior density and fibre")
    right.plot(fibre["u1"], fibre["value"], color="black", linestyle="--", label="fibre")
    hmc, constrained = (
        _path(curves, "hmc_path", "step"),
        _path(curves, "constrained_path", "constrained_step"),
    )
    right.plot(*hmc.T, color=_HMC, marker="o", markersize=2.5, label=f"HMC, {len(hmc) - 1} steps")
    right.plot(
        *constrained.T,
        color=_CONSTRAINED,
        marker="s",
        markersize=3.5,
        label=f"constrained HMC, {len(constrained) - 1} steps",
    )
    both = np.concatenate([hmc, constrained])
    (low, low2), (high, high2) = both.min(axis=0) - 0.15, both.max(axis=0) + 0.15
    right.set(xlim=(low, high), ylim=(low2, high2), title="two trajectories of equal integration time")
    right.legend()
    for axis in (left, right):
        axis.set(xlabel="$u_1$", ylabel="$u_2$")
    tolerance = summary["tolerance"].iloc[0]
    preset_note(figure, f"preset {summary['preset'].iloc[0]}; Gaussian kernel of tolerance {tolerance:g}")
    return figure


def two_branches(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 4.4."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.8), layout="constrained")
    # The panel in perspective needs room for its labels.
    grid = figure.add_gridspec(1, 3, width_ratios=[1.0, 1.6, 1.0])
    left = figure.add_subplot(grid[0])
    t = np.linspace(-2.0, 2.0, 200)
    for sign in (-1.0, 1.0):
        left.plot(sign * np.cosh(t), np.sinh(t), color="black", linewidth=1.0)
    draws = _path(curves, "draws", "draw")
    left.plot(*draws.T, color=_CONSTRAINED, marker=".", markersize=3.0, linestyle="none")
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
    rows = summary[(summary["quantity"] == "branch_changes_per_iteration") & (summary["noise"] > 0.0)]
    rates = rows.groupby("noise")["value"].agg(["mean", "sem"])
    right.errorbar(rates.index, rates["mean"], yerr=rates["sem"], color=_CONSTRAINED, marker="o")
    right.set(xlabel=r"noise scale $\epsilon$", ylabel="changes of branch per iteration", ylim=(0.0, None))
    preset_note(
        figure,
        f"preset {summary['preset'].iloc[0]}; {summary['n_chains'].iloc[0]} chains of "
        f"{summary['n_draws'].iloc[0]} iterations",
    )
    return figure


def unit_densities(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure D.1: closed forms, nothing from the tables."""
    del summary, curves
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.4), layout="constrained")
    left, right = figure.subplots(1, 2)
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
    right.set(ylim=(0.0, 8.0), ylabel="negative log density (nats)", xlabel="$u$", xlim=(-5.0, 5.0))
    figure.legend(loc="outside upper center", ncols=3)
    return figure


def costs(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """What constrained HMC costs; a figure of this project."""
    del curves
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.7), layout="constrained")
    for axis, draw in zip(figure.subplots(1, 3), (_by_noise, _by_size, _by_inner_steps), strict=True):
        try:
            draw(axis, summary)
        except MissingData:
            missing_panel(axis, "not run at this preset")
    preset_note(figure, f"preset {summary['preset'].iloc[0]}")
    return figure


def _by_noise(axis: Axes, summary: pd.DataFrame) -> None:
    rows = rows_of(summary, "noise_ess_per_second")
    for name, label, colour, marker in (
        ("constrained_hmc", "constrained HMC", _CONSTRAINED, "s"),
        ("hmc", "HMC", _HMC, "o"),
    ):
        part = rows[rows["sampler"] == name].sort_values("small_noise")
        axis.plot(part["small_noise"], part["value"], color=colour, marker=marker, label=label)
    axis.set(
        xscale="log", yscale="log", xlabel=r"noise scale $\epsilon$", ylabel="effective draws per second"
    )
    axis.legend()


def _by_size(axis: Axes, summary: pd.DataFrame) -> None:
    for quantity, size, label, colour, marker, power in (
        ("gram_dense_seconds", "dense_size", "dense", CYCLE[2], "o", 3),
        ("gram_structured_seconds", "structured_size", "structured", CYCLE[0], "s", 1),
    ):
        rows = rows_of(summary, quantity).sort_values(size)
        sizes, seconds = rows[size].to_numpy(float), rows["value"].to_numpy(float)
        axis.plot(sizes, seconds, color=colour, marker=marker, label=label)
        axis.plot(sizes, seconds[-1] * (sizes / sizes[-1]) ** power, ":", color=colour)
    axis.set(xscale="log", yscale="log", xlabel="observations $N$", ylabel="seconds per Gram solve")
    axis.legend()


def _by_inner_steps(axis: Axes, summary: pd.DataFrame) -> None:
    rows = rows_of(summary, "ess_per_gradient").sort_values("inner_steps")
    axis.plot(rows["inner_steps"], rows["value"], color=_CONSTRAINED, marker="s")
    axis.set(xlabel="sub-steps a step", ylabel="effective draws per gradient", ylim=(0.0, None))
    axis.set_xticks(sorted({int(value) for value in rows["inner_steps"]}))


DRAW: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Figure]] = {
    "fig_4_3": oscillating_trajectory,
    "fig_4_4": two_branches,
    "fig_costs": costs,
    "fig_d_1": unit_densities,
}


def _path(curves: pd.DataFrame, quantity: str, index: str) -> FloatArray:
    rows = curves[curves["quantity"] == quantity]
    table = rows.pivot(index=index, columns="axis", values="value").sort_index()
    path: FloatArray = table[["u1", "u2"]].to_numpy(float)
    return path
