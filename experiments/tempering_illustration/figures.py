"""Figures of the study, drawn from its two tables."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.panels import histogram_panel, missing_panel, preset_note
from auxmc.plots.style import CYCLE, PAGE_WIDTH_IN, QUANTITY_COLOURS
from auxmc_pipeline.lookup import find, scalar

_NOT_RUN = "not run at this preset"
_BLUE, _RED, _GREEN = CYCLE[0], CYCLE[1], CYCLE[2]
_REFERENCE = QUANTITY_COLOURS["reference"]
_CURVE_HEIGHT = 0.75
# Range of the potential energy that is coloured, in nats: barriers of a few nats would drown in all of it.
_DEEPEST = 45.0
_HISTOGRAM_RANGE = (-20.0, 20.0)


def path_curves(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 2.13."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.9), layout="constrained")
    axis = figure.subplots()
    found = find(curves, "exact", "bridge_density", "fifth", "x")
    if found is None:
        missing_panel(axis, _NOT_RUN)
        return figure
    x = found["x"].values
    n = found.sizes["fifth"]
    for i in range(n)[::-1]:
        b = i / (n - 1)
        curve = b + _CURVE_HEIGHT * found.values[i]
        # Curves lie behind those below them.
        axis.fill_between(x, b, curve, color="white", zorder=2 * (n - i))
        axis.fill_between(x, b, curve, color=_BLUE, alpha=0.25, linewidth=0.0, zorder=2 * (n - i))
        axis.plot(x, curve, color=_BLUE, zorder=2 * (n - i) + 1)
    axis.set_xlim(x[0], x[-1])
    axis.set_yticks(np.arange(n) / (n - 1), [f"{i / (n - 1):g}" for i in range(n)])
    axis.set_xlabel("$x$")
    axis.set_ylabel("inverse temperature (curves shifted)")
    return figure


def bimodal(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The four panels on the target with two modes."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 5.2), layout="constrained")
    ((densities, potential), (joint, histograms)) = figure.subplots(2, 2)
    found = [find(curves, "bimodal", name, "x") for name in ("target_energy", "base_energy")]
    if found[0] is None or found[1] is None:
        for axis in (densities, potential, joint, histograms):
            missing_panel(axis, _NOT_RUN)
        return figure
    x, target, base = found[0]["x"].values, found[0].values, found[1].values
    densities.plot(x, np.exp(-target), color=_BLUE, label="target")
    densities.plot(x, np.exp(-base), color=_RED, linestyle="--", label="base")
    densities.set(xlim=_HISTOGRAM_RANGE, xlabel="$x$", ylabel="density")
    densities.set_ylim(bottom=0.0)
    densities.legend(loc="upper right")
    _potential_panel(potential, curves, x, target, base)
    _joint_panel(joint, curves, x, target, base)
    _histograms_panel(histograms, curves, x, np.exp(-target))
    preset_note(figure, _note(summary, "bimodal", "one chain of {n_draws} iterations of each method"))
    return figure


def temperature(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Law of the inverse temperature for several guesses of the normaliser, and what single chains estimate."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    density = find(curves, "bimodal", "temperature_density", "log_zeta", "bin")
    exact = find(curves, "bimodal", "temperature_density_exact", "log_zeta", "bin")
    masses = find(summary, "bimodal", "mass_left_by_chain", "chain")
    truth = find(summary, "bimodal", "mass_left_exact")
    if density is None or exact is None or masses is None or truth is None:
        missing_panel(left, _NOT_RUN)
        missing_panel(right, _NOT_RUN)
        return figure
    bins = density["bin"].values
    edges = np.append(bins - 0.5 * (bins[1] - bins[0]), bins[-1] + 0.5 * (bins[1] - bins[0]))
    for row, log_zeta in enumerate(density["log_zeta"].values):
        colour = CYCLE[row % len(CYCLE)]
        left.stairs(density.values[row], edges, color=colour, label=rf"$\log\zeta - \log Z = {log_zeta:g}$")
        left.plot(bins, exact.values[row], color=colour, linestyle="--", linewidth=1.0)
    left.set_yscale("log")
    left.set_xlim(0.0, 1.0)
    left.set_xlabel("inverse temperature")
    left.set_ylabel("density")
    left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    counts, mass_edges = np.histogram(masses.values, np.linspace(0.0, 1.0, 41))
    histogram_panel(
        right,
        mass_edges,
        counts,
        value_label="weighted mass left of zero, single chains",
        density_label="density of chains",
    )
    right.axvline(float(truth), color=_REFERENCE, linestyle="--", label="exact")
    right.legend(loc="upper left")
    preset_note(figure, _note(summary, "bimodal", "{n_chains} chains of {n_draws} iterations"))
    return figure


def ladder(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Estimators and crossing times of simulated tempering."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    estimates = {
        "visits": find(summary, "ladder", "log_normaliser_counts", "chain"),
        "conditional probabilities": find(summary, "ladder", "log_normaliser_conditional", "chain"),
    }
    crossing = find(summary, "ladder", "crossing_updates", "index_update", "n_intervals")
    error = find(summary, "ladder", "crossing_updates_error", "index_update", "n_intervals")
    if any(values is None for values in estimates.values()) or crossing is None or error is None:
        missing_panel(left, _NOT_RUN)
        missing_panel(right, _NOT_RUN)
        return figure
    known = {name: values.values for name, values in estimates.items() if values is not None}
    finite = np.concatenate([values[np.isfinite(values)] for values in known.values()])
    edges = np.linspace(finite.min() - 0.05, finite.max() + 0.05, 31)
    for (name, values), colour in zip(known.items(), (_RED, _BLUE), strict=True):
        counts, _ = np.histogram(values[np.isfinite(values)], edges)
        left.stairs(counts, edges, fill=True, color=colour, alpha=0.35)
        left.stairs(counts, edges, color=colour, label=name)
    left.axvline(0.0, color=_REFERENCE, linestyle="--", linewidth=0.9)
    left.set_xlabel(r"estimate of $\log Z$ (nats)")
    left.set_ylabel("chains")
    left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    lengths = crossing["n_intervals"].values.astype(float)
    for row, (name, colour, marker) in enumerate(
        (("independent draws", _BLUE, "o"), ("random walk", _RED, "s"))
    ):
        mean = crossing.values[row]
        right.errorbar(
            lengths, mean, yerr=3.0 * error.values[row], color=colour, marker=marker, linestyle="none",
            label=name,
        )  # fmt: skip
        slope = 1.0 if row == 0 else 2.0
        right.plot(lengths, mean[0] * (lengths / lengths[0]) ** slope, color=colour, linestyle="--")
    right.set(xscale="log", yscale="log", xlabel="intervals of the ladder", ylabel="updates of a crossing")
    right.set_xticks(lengths, [f"{length:g}" for length in lengths])
    right.minorticks_off()
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    preset_note(figure, _note(summary, "ladder", "{n_chains} chains of {n_draws} iterations"))
    return figure


def laplace(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure C.1."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    density = find(curves, "exact", "skew_log_density", "skew_x")
    gaussian = find(curves, "exact", "laplace_log_density_curve", "skew_x")
    if density is None or gaussian is None:
        missing_panel(left, _NOT_RUN)
        missing_panel(right, _NOT_RUN)
        return figure
    x = density["skew_x"].values
    left.plot(x, density.values, color=_BLUE, label="density")
    left.plot(x, gaussian.values, color=_RED, linestyle="--", label="Laplace approximation")
    right.plot(x, np.exp(density.values), color=_BLUE)
    right.plot(x, np.exp(gaussian.values), color=_RED, linestyle="--")
    left.set(xlim=(x[0], x[-1]), xlabel="$x$", ylabel="log density (nats)")
    right.set(xlim=(x[0], x[-1]), xlabel="$x$", ylabel="density")
    right.set_ylim(bottom=0.0)
    figure.legend(loc="outside upper center", ncols=2)
    return figure


def divergences(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure C.2."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.5), layout="constrained")
    axes = figure.subplots(1, 3, sharey=True)
    target = find(curves, "exact", "mixture_density", "mixture_x")
    fits = find(curves, "exact", "fit_density", "fit", "mixture_x")
    published = find(curves, "exact", "published_half_density", "mixture_x")
    if target is None or fits is None or published is None:
        for axis in axes:
            missing_panel(axis, _NOT_RUN)
        return figure
    x = target["mixture_x"].values
    for axis, name, letter in zip(axes, fits["fit"].values, "abc", strict=True):
        axis.fill_between(x, target.values, color="#CCCCCC", linewidth=0.0, label="$p$")
        axis.plot(x, fits.sel(fit=name).values, color=_BLUE, label="minimiser $q$")
        if letter == "b":
            axis.plot(x, published.values, color=_RED, linestyle=":", label="published $q$")
        axis.set(xlim=(x[0], x[-1]), xlabel="$x$", title=f"({letter}) {name}")
    axes[0].set_ylabel("density")
    axes[0].set_ylim(bottom=0.0)
    handles, labels = axes[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure


def orders(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Fits and bounds against the order of the divergence."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    sd = find(curves, "exact", "sd_by_order", "order")
    mean = find(curves, "exact", "mean_by_order", "order")
    bound = find(curves, "exact", "bound_by_order", "bound_order")
    if sd is None or mean is None or bound is None:
        missing_panel(left, _NOT_RUN)
        missing_panel(right, _NOT_RUN)
        return figure
    left.plot(sd["order"].values, sd.values, color=_BLUE, marker="o", label="standard deviation")
    left.plot(mean["order"].values, mean.values, color=_RED, marker="s", linestyle="--", label="mean")
    left.set(xlabel=r"order $\alpha$ of $D_\alpha[p, q]$", ylabel="of the fitted Gaussian")
    left.set_ylim(bottom=0.0)
    left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    right.plot(bound["bound_order"].values, bound.values, color=_BLUE)
    right.axhline(0.0, color=_REFERENCE, linewidth=0.8)
    right.axvline(0.0, color=_REFERENCE, linewidth=0.8)
    right.set(xlabel=r"order $\alpha$", ylabel="Renyi bound (nats)")
    return figure


DRAW: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Figure]] = {
    "fig_2_13": path_curves,
    "fig_bimodal": bimodal,
    "fig_temperature": temperature,
    "fig_ladder": ladder,
    "fig_c_1": laplace,
    "fig_c_2": divergences,
    "fig_orders": orders,
}


def _potential_panel(
    axis: Axes,
    curves: pd.DataFrame,
    x: FloatArray,
    target: FloatArray,
    base: FloatArray,
) -> None:
    control = np.linspace(-10.0, 10.0, 201)
    b = 1.0 / (1.0 + np.exp(-control))[:, None]
    energy = b * target + (1.0 - b) * base + np.logaddexp(0.0, control)[:, None]
    energy = energy + np.logaddexp(0.0, -control)[:, None]
    axis.contourf(
        x, control, energy, levels=energy.min() + np.linspace(0.0, _DEEPEST, 31), cmap="viridis", extend="max"
    )
    path = [find(curves, "bimodal", name, "point") for name in ("trajectory_x", "trajectory_control")]
    if path[0] is not None and path[1] is not None:
        axis.plot(path[0].values, path[1].values, color="white", marker=".", markersize=3.0, linewidth=0.7)
    axis.set(xlim=_HISTOGRAM_RANGE, ylim=(-10.0, 10.0), xlabel="$x$", ylabel="temperature control $u$")


def _joint_panel(
    axis: Axes,
    curves: pd.DataFrame,
    x: FloatArray,
    target: FloatArray,
    base: FloatArray,
) -> None:
    b = np.linspace(0.0, 1.0, 101)
    density = np.exp(-b[:, None] * target - (1.0 - b[:, None]) * base)
    axis.contourf(x, b, density, levels=15, cmap="Blues")
    names = ("tempered_x", "tempered_inverse_temperature", "tempered_weight")
    states = [find(curves, "bimodal", name, "draw") for name in names]
    if states[0] is not None and states[1] is not None and states[2] is not None:
        axis.scatter(
            states[0].values,
            states[1].values,
            s=5.0 * states[2].values + 1.0,
            color=_RED,
            alpha=0.35,
            linewidths=0.0,
            rasterized=True,
        )
    axis.set(xlim=_HISTOGRAM_RANGE, ylim=(0.0, 1.0), xlabel="$x$", ylabel="inverse temperature")


def _histograms_panel(axis: Axes, curves: pd.DataFrame, x: FloatArray, density: FloatArray) -> None:
    plain = find(curves, "bimodal", "plain_x", "draw")
    tempered = find(curves, "bimodal", "tempered_x", "draw")
    weights = find(curves, "bimodal", "tempered_weight", "draw")
    if plain is None or tempered is None or weights is None:
        missing_panel(axis, _NOT_RUN)
        return
    for values, weight, n_bins, colour, label in (
        (plain.values, None, 15, _RED, "HMC"),
        (tempered.values, weights.values, 50, _GREEN, "CT-HMC, weighted"),
    ):
        heights, edges = np.histogram(values, n_bins, weights=weight, density=True)
        axis.stairs(heights, edges, fill=True, color=colour, alpha=0.35)
        axis.stairs(heights, edges, color=colour, linewidth=0.8, label=label)
    axis.plot(x, density, color=_BLUE, label="target")
    axis.set(xlim=_HISTOGRAM_RANGE, xlabel="$x$", ylabel="density")
    axis.set_ylim(bottom=0.0)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)


def _note(summary: pd.DataFrame, case: str, text: str) -> str:
    sizes = {name: scalar(summary, case, name) for name in ("n_chains", "n_draws")}
    return f"preset {scalar(summary, case, 'preset')}; {text.format(**sizes)}"
