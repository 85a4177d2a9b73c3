"""Figures of the study, drawn from its tables."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import CYCLE
from auxmc_pipeline.footer import chain_lengths, footer
from auxmc_pipeline.plots.looks import QUANTITY_COLOURS
from auxmc_pipeline.plots.panels import bin_edges, page
from auxmc_pipeline.plots.published import (
    entries_published_last,
    published_curve,
    published_mark,
    published_moments,
)
from auxmc_pipeline.published_values import published_series, published_value
from auxmc_pipeline.tables import Tables

_BLUE, _RED, _GREEN = CYCLE[0], CYCLE[1], CYCLE[2]
_REFERENCE = QUANTITY_COLOURS["reference"]
_BARS: dict[str, Any] = {"element": "step", "alpha": 0.4, "linewidth": 0.8}
_CURVE_HEIGHT = 0.75
# Range of the potential energy that is coloured, in nats: barriers of a few nats would drown in all of it.
_DEEPEST = 45.0
_HISTOGRAM_RANGE = (-20.0, 20.0)
_published = partial(published_value, "tempering_illustration")
# Claims about the Gaussians of figure C.2, by panel.
_FITS = {"a": "CT-V03", "b": "CT-V05", "c": "CT-V04"}


def path_curves(tables: Tables) -> Figure:
    """Figure 2.13."""
    figure, axis = page(2.9)
    found = tables.array("bridge_density", "fifth", "x")
    x = found["x"].values
    n = found.sizes["fifth"]
    for i in range(n)[::-1]:
        b = i / (n - 1)
        curve = b + _CURVE_HEIGHT * found.values[i]
        axis.fill_between(x, b, curve, color="white", zorder=2 * (n - i))  # Behind those below
        axis.fill_between(x, b, curve, color=_BLUE, alpha=0.25, linewidth=0.0, zorder=2 * (n - i))
        axis.plot(x, curve, color=_BLUE, zorder=2 * (n - i) + 1)
    axis.set(xlim=(x[0], x[-1]), xlabel="$x$", ylabel="inverse temperature (curves shifted)")
    axis.set_yticks(np.arange(n) / (n - 1), [f"{i / (n - 1):g}" for i in range(n)])
    return figure


def bimodal(tables: Tables) -> Figure:
    """The four panels on the target with two modes."""
    figure, ((densities, potential), (joint, histograms)) = page(5.2, 2, 2)
    x, target, base = _columns(tables, "x", "target_energy", "base_energy")
    path = (tables["points"][f"trajectory_{name}"] for name in ("x", "control"))
    _, plain, states, inverse_temperatures, weights = _columns(
        tables, "draw", "plain_x", "tempered_x", "tempered_inverse_temperature", "tempered_weight"
    )
    densities.plot(x, np.exp(-target), color=_BLUE, label="target")
    densities.plot(x, np.exp(-base), color=_RED, linestyle="--", label="base")
    densities.set(ylim=(0.0, None), ylabel="density")
    moments = (_published("CT-A01", name) for name in ("mean", "standard deviation"))
    published_moments(densities, *moments)
    densities.legend(
        *entries_published_last(densities), loc="lower right", bbox_to_anchor=(1.05, 1.0), ncols=2
    )
    _potential_panel(potential, x, target, base)
    potential.plot(*path, color="white", marker=".", markersize=3.0, linewidth=0.7)
    _joint_panel(joint, x, target, base)
    discs = {"color": _RED, "alpha": 0.35, "linewidths": 0.0, "rasterized": True}
    joint.scatter(states, inverse_temperatures, s=5.0 * weights + 1.0, **discs)
    for values, weight, n_bins, colour, label in (
        (plain, None, 15, _RED, "HMC"),
        (states, weights, 50, _GREEN, "CT-HMC, weighted"),
    ):
        look = {"color": colour, "label": label, "ax": histograms, **_BARS}
        sns.histplot(x=values, weights=weight, bins=n_bins, stat="density", **look)
    histograms.plot(x, np.exp(-target), color=_BLUE, label="target")
    histograms.set(ylim=(0.0, None), ylabel="density")
    _legend_above(histograms, 3)
    for axis in (densities, potential, joint, histograms):
        axis.set(xlim=_HISTOGRAM_RANGE, xlabel="$x$")
    n_draws = tables.setting("n_draws", case="bimodal")
    return footer(figure, tables, f"one chain of {n_draws} iterations of each method")


def temperature(tables: Tables) -> Figure:
    """Distribution of the inverse temperature for several guesses of the normaliser, and estimates of chains."""
    figure, (left, right) = page(2.9, 1, 2)
    density = tables.array("temperature_density", "log_zeta", "bin")
    exact = tables.array("temperature_density_exact", "log_zeta", "bin")
    masses = tables.array("mass_left_by_chain", "chain")
    exact_mass = tables.value("mass_left_exact")
    bins = density["bin"].values
    edges = bin_edges(bins)
    for row, log_zeta in enumerate(density["log_zeta"].values):
        colour = CYCLE[row % len(CYCLE)]
        left.stairs(density.values[row], edges, color=colour, label=rf"$\log\zeta - \log Z = {log_zeta:g}$")
        left.plot(bins, exact.values[row], color=colour, linestyle="--", linewidth=1.0)
    left.set(xlim=(0.0, 1.0), yscale="log", xlabel="inverse temperature", ylabel="density")
    _legend_above(left, 2)
    colour = QUANTITY_COLOURS["samples"]
    look = {"color": colour, "bins": 40, "binrange": (0.0, 1.0), **_BARS}
    sns.histplot(x=masses.values, stat="density", ax=right, **look)
    right.set(xlim=(0.0, 1.0), xlabel="weighted mass left of zero, single chains", ylabel="density of chains")
    right.axvline(exact_mass, color=_REFERENCE, linestyle="--", label="exact")
    right.legend(loc="upper left")
    return footer(figure, tables, chain_lengths(tables, case="bimodal"))


def ladder(tables: Tables) -> Figure:
    """Estimators and crossing times of simulated tempering."""
    figure, (left, right) = page(2.9, 1, 2)
    estimates = (tables.values(f"log_normaliser_{name}") for name in ("counts", "conditional"))
    crossing, error = (
        tables.array(name, "index_update", "n_intervals")
        for name in ("crossing_updates", "crossing_updates_error")
    )
    finite = [values[np.isfinite(values)] for values in estimates]
    edges = np.linspace(np.concatenate(finite).min() - 0.05, np.concatenate(finite).max() + 0.05, 31)
    for values, name, colour in zip(
        finite, ("visits", "conditional probabilities"), (_RED, _BLUE), strict=True
    ):
        sns.histplot(x=values, bins=edges.tolist(), color=colour, label=name, ax=left, **_BARS)
    left.axvline(0.0, color=_REFERENCE, linestyle="--", linewidth=0.9)
    left.set(xlabel=r"estimate of $\log Z$ (nats)", ylabel="chains")
    left.yaxis.set_major_locator(MaxNLocator(integer=True))
    _legend_above(left, 2)
    lengths = crossing["n_intervals"].values.astype(float)
    for row, (name, colour, marker, slope) in enumerate(
        (("independent draws", _BLUE, "o", 1.0), ("random walk", _RED, "s", 2.0))
    ):
        mean = crossing.values[row]
        right.errorbar(lengths, mean, yerr=3.0 * error.values[row], color=colour, fmt=marker, label=name)
        right.plot(lengths, mean[0] * (lengths / lengths[0]) ** slope, color=colour, linestyle="--")
    right.set(xscale="log", yscale="log", xlabel="intervals of the ladder", ylabel="updates of a crossing")
    right.set_xticks(lengths, [f"{length:g}" for length in lengths])
    right.minorticks_off()
    _legend_above(right, 2)
    return footer(figure, tables, chain_lengths(tables, case="ladder"))


def laplace(tables: Tables) -> Figure:
    """Figure C.1."""
    figure, (left, right) = page(2.6, 1, 2)
    x, density, gaussian = _columns(tables, "skew_x", "skew_log_density", "laplace_log_density_curve")
    left.plot(x, density, color=_BLUE, label="density")
    left.plot(x, gaussian, color=_RED, linestyle="--", label="Laplace approximation")
    right.plot(x, np.exp(density), color=_BLUE)
    right.plot(x, np.exp(gaussian), color=_RED, linestyle="--")
    left.set(xlim=(x[0], x[-1]), xlabel="$x$", ylabel="log density (nats)")
    right.set(xlim=(x[0], x[-1]), ylim=(0.0, None), xlabel="$x$", ylabel="density")
    figure.legend(loc="outside upper center", ncols=2)
    return figure


def divergences(tables: Tables) -> Figure:
    """Figure C.2."""
    figure, axes = page(2.5, 1, 3, sharey=True)
    x, target = _columns(tables, "mixture_x", "mixture_density")
    fits = tables.array("fit_density", "fit", "mixture_x")
    for axis, name, letter in zip(axes, fits["fit"].values, "abc", strict=True):
        axis.fill_between(x, target, color="#CCCCCC", linewidth=0.0, label="$p$")
        axis.plot(x, fits.sel(fit=name).values, color=_BLUE, label="minimiser $q$")
        there = published_series("tempering_illustration", "C.2", letter)
        published_curve(axis, there.x, there.y, document="PhD thesis")
        moments = (_published(_FITS[letter], name) for name in ("mean", "standard deviation"))
        published_moments(axis, *moments, note="mean and sd")
        axis.set(xlim=(x[0], x[-1]), xlabel="$x$", title=f"({letter}) {name}")
    axes[0].set(ylim=(0.0, None), ylabel="density")
    figure.legend(*entries_published_last(axes[1]), loc="outside upper center", ncols=4)
    return figure


def orders(tables: Tables) -> Figure:
    """Fits and bounds against the order of the divergence."""
    figure, (left, right) = page(2.6, 1, 2)
    order, sd, mean = _columns(tables, "order", "sd_by_order", "mean_by_order")
    left.plot(order, sd, color=_BLUE, marker="o", label="standard deviation")
    left.plot(order, mean, color=_RED, marker="s", linestyle="--", label="mean")
    # The limits of orders 0 and 1 are the two Kullback-Leibler divergences.
    for place, claim in ((0.0, "CT-V04"), (0.5, "CT-V05"), (1.0, "CT-V03")):
        published_mark(left, place, _published(claim, "standard deviation"), colour=_BLUE)
        published_mark(left, place, _published(claim, "mean"), colour=_RED)
    left.set(xlabel=r"order $\alpha$ of $D_\alpha[p, q]$", ylabel="of the fitted Gaussian", ylim=(-0.2, None))
    left.legend(*entries_published_last(left), loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    right.plot(*_columns(tables, "bound_order", "bound_by_order"), color=_BLUE)
    right.axhline(0.0, color=_REFERENCE, linewidth=0.8)
    right.axvline(0.0, color=_REFERENCE, linewidth=0.8)
    right.set(xlabel=r"order $\alpha$", ylabel="Renyi bound (nats)")
    return figure


def _potential_panel(axis: Axes, x: FloatArray, target: FloatArray, base: FloatArray) -> None:
    control = np.linspace(-10.0, 10.0, 201)
    b = 1.0 / (1.0 + np.exp(-control))[:, None]
    energy = b * target + (1.0 - b) * base + np.logaddexp(0.0, control)[:, None]
    energy = energy + np.logaddexp(0.0, -control)[:, None]
    axis.contourf(
        x, control, energy, levels=energy.min() + np.linspace(0.0, _DEEPEST, 31), cmap="viridis", extend="max"
    )
    axis.set(ylim=(-10.0, 10.0), ylabel="temperature control $u$")


def _joint_panel(axis: Axes, x: FloatArray, target: FloatArray, base: FloatArray) -> None:
    b = np.linspace(0.0, 1.0, 101)
    density = np.exp(-b[:, None] * target - (1.0 - b[:, None]) * base)
    axis.contourf(x, b, density, levels=15, cmap="Blues")
    axis.set(ylim=(0.0, 1.0), ylabel="inverse temperature")


def _columns(tables: Tables, dim: str, *quantities: str) -> list[FloatArray]:
    """Values of a dimension, and of quantities along it alone [place]."""
    rows = tables.rows(dim, quantities[0])
    return [rows[name].to_numpy() for name in (dim, *quantities)]


def _legend_above(axis: Axes, n_columns: int) -> None:
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=n_columns)


DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_2_13": path_curves,
    "fig_bimodal": bimodal,
    "fig_temperature": temperature,
    "fig_ladder": ladder,
    "fig_c_1": laplace,
    "fig_c_2": divergences,
    "fig_orders": orders,
}
