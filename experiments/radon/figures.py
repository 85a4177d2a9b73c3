"""Figures of the study, drawn from its two tables."""

import contextlib
import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, FancyBboxPatch, Rectangle
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from auxmc.plots.panels import band_curve, missing_panel, preset_note
from auxmc.plots.style import CYCLE, METHOD_COLOURS, METHOD_LABELS, PAGE_WIDTH_IN, QUANTITY_COLOURS
from auxmc_pipeline.lookup import find, scalar
from experiments.radon.lookup import AIS_CASE, CENTRED_CASE, CT_HMC_CASE, GIBBS_CASE, NUTS_CASE, value_of

_NOT_RUN = "not run at this preset"
_N_ERRORS = 3.0
_BLUE, _RED, _REFERENCE = CYCLE[0], CYCLE[1], QUANTITY_COLOURS["reference"]
_NUTS = METHOD_COLOURS["nuts"]
_METHODS = {
    NUTS_CASE: (METHOD_LABELS["nuts"], METHOD_COLOURS["nuts"], "-"),
    CENTRED_CASE: ("NUTS, centred form", CYCLE[4], "-."),
    GIBBS_CASE: (METHOD_LABELS["gibbs_ct"], METHOD_COLOURS["gibbs_ct"], "--"),
    CT_HMC_CASE: (METHOD_LABELS["ct_hmc"], METHOD_COLOURS["ct_hmc"], ":"),
}
# Axis of the published figure, in nats above the exact value.
_PUBLISHED_RANGE = (-19.0, 11.0)
_METHODS_RANGE = (-8.0, 3.0)


def model_graph(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 5.5: the factor graph of the model; uses no data."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.6), layout="constrained")
    axis = figure.subplots()
    axis.set_xlim(-0.9, 14.3)
    axis.set_ylim(-0.55, 7.1)
    axis.set_aspect("equal")
    axis.axis("off")
    for corner, size, label, place in (
        ((4.55, 4.35), (1.9, 2.05), r"$j = 1 \ldots 85$", (6.35, 4.5)),
        ((4.55, 0.35), (1.9, 2.05), r"$k = 1, 2$", (6.35, 0.5)),
        ((7.75, 1.55), (6.2, 3.75), r"$i = 1 \ldots 919$", (13.85, 1.7)),
    ):
        axis.add_patch(
            FancyBboxPatch(
                corner,
                *size,
                boxstyle="round,pad=0,rounding_size=0.25",
                facecolor="none",
                edgecolor="#777777",
            )
        )
        axis.text(*place, label, ha="right", va="bottom", fontsize=7.0, color="#444444")
    centre_a, centre_b, likelihood, observed = (3.6, 5.6), (3.6, 1.6), (10.9, 3.5), (12.9, 3.5)
    edges = [
        ((0.0, 6.4), (1.9, 6.4)),
        ((0.0, 4.8), (1.9, 4.8)),
        ((1.9, 6.4), centre_a),
        ((1.9, 4.8), centre_a),
        (centre_a, (5.5, 5.6)),
        ((0.0, 2.4), (1.9, 2.4)),
        ((0.0, 0.8), (1.9, 0.8)),
        ((1.9, 2.4), centre_b),
        ((1.9, 0.8), centre_b),
        (centre_b, (5.5, 1.6)),
        ((5.5, 5.6), likelihood),
        ((5.5, 1.6), likelihood),
        ((8.9, 6.4), (10.9, 6.4)),
        ((10.9, 6.4), likelihood),
        ((9.75, 4.6), likelihood),
        ((9.75, 2.4), likelihood),
        (likelihood, observed),
    ]
    for (x0, y0), (x1, y1) in edges:
        axis.plot([x0, x1], [y0, y1], color="black", linewidth=0.8, zorder=1)
    for x, y, text, up in (
        (0.0, 6.4, r"$\mathcal{C}^+(2.5)$", False),
        (0.0, 4.8, r"$\mathcal{N}(0, 1)$", False),
        (*centre_a, r"$\mathcal{N}(\mu_a, \sigma_a^2)$", True),
        (0.0, 2.4, r"$\mathcal{C}^+(2.5)$", False),
        (0.0, 0.8, r"$\mathcal{N}(0, 1)$", False),
        (*centre_b, r"$\mathcal{N}(\mu_b, \sigma_b^2)$", True),
        (8.9, 6.4, r"$\mathcal{C}^+(2.5)$", False),
        (*likelihood, "", False),
    ):
        axis.add_patch(Rectangle((x - 0.13, y - 0.13), 0.26, 0.26, color="black", zorder=2))
        offset, anchor = (0.28, "bottom") if up else (-0.28, "top")
        axis.text(x, y + offset, text, ha="center", va=anchor, fontsize=7.5)
    axis.text(
        12.3,
        2.45,
        r"$\mathcal{N}(a_{c_i} + b_1 x_i + b_2 u_i,\ \epsilon^2)$",
        ha="center",
        va="center",
        fontsize=7.5,
    )
    for x, y, name, seen in (
        (1.9, 6.4, r"$\sigma_a$", False),
        (1.9, 4.8, r"$\mu_a$", False),
        (5.5, 5.6, r"$a_j$", False),
        (1.9, 2.4, r"$\sigma_b$", False),
        (1.9, 0.8, r"$\mu_b$", False),
        (5.5, 1.6, r"$b_k$", False),
        (10.9, 6.4, r"$\epsilon$", False),
        (*observed, r"$y_i$", True),
    ):
        face = "#CCCCCC" if seen else "white"
        axis.add_patch(Ellipse((x, y), 0.94, 0.94, facecolor=face, edgecolor="black", zorder=2))
        axis.text(x, y, name, ha="center", va="center", fontsize=10.0, zorder=3)
    for x, y, name in ((9.6, 4.75, r"$c_i$"), (9.6, 2.2, r"$x_i, u_i$")):
        axis.text(x, y, name, ha="center", va="center", fontsize=10.0)
    for x, y, text in (
        (5.5, 6.62, "intercepts of counties"),
        (5.5, 0.1, "coefficients"),
        (8.8, 4.8, "county"),
        (9.6, 1.8, "floor, uranium"),
        (12.9, 4.25, "log radon"),
        (11.85, 6.4, "noise"),
    ):
        axis.text(x, y, text, ha="center", va="center", fontsize=7.0, color="#444444")
    return figure


def evidence_over_time(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 5.6: running estimate and variational objective against run time."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.3), layout="constrained")
    axis = figure.subplots()
    objective = find(curves, NUTS_CASE, "objective", "fit_step")
    fit_time = find(curves, NUTS_CASE, "fit_time", "fit_step")
    running = find(curves, NUTS_CASE, "running_mean", "iteration")
    error = find(curves, NUTS_CASE, "running_mean_error", "iteration")
    time = find(curves, NUTS_CASE, "time_so_far", "iteration")
    if objective is None or fit_time is None or running is None or error is None or time is None:
        missing_panel(axis, _NOT_RUN)
        return figure
    seconds, zeta, exact = (
        value_of(summary, NUTS_CASE, name) for name in ("fit_seconds", "log_zeta", "exact_log_evidence")
    )
    axis.plot(fit_time.values, objective.values, color=_BLUE, label="variational objective")
    half = _N_ERRORS * error.values if np.isfinite(error.values).all() else None
    band_curve(axis, seconds + time.values, running.values, half, colour=_NUTS, label="NUTS, mean of chains")
    axis.axvline(seconds, color="black", linestyle=":", linewidth=0.9, label="end of the variational fit")
    axis.axhline(zeta, color=_RED, linestyle="-.", linewidth=1.0, label=r"$\log\zeta$")
    # Without the case of annealed importance sampling the figure has one line less.
    with contextlib.suppress(LookupError):
        reference = value_of(summary, AIS_CASE, "log_evidence")
        axis.axhline(reference, color="black", linestyle="--", linewidth=1.0, label="AIS")
    axis.axhline(exact, color=_REFERENCE, linewidth=0.8, label="quadrature")
    axis.set_xlim(0.0, seconds + float(time.values[-1]))
    axis.set_ylim(_range(exact, zeta))
    axis.set_xlabel("run time without compiling (s)")
    axis.set_ylabel("log evidence (nats)")
    figure.legend(loc="outside upper center", ncols=3)
    preset_note(figure, _note(summary, NUTS_CASE))
    return figure


def methods(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Pooled running estimates of all methods, and their errors, against gradients."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True)
    exact = math.nan
    for case, (label, colour, line) in _METHODS.items():
        pooled = find(curves, case, "running_pooled", "iteration")
        error = find(curves, case, "running_pooled_error", "iteration")
        gradients = find(curves, case, "gradients_so_far", "iteration")
        if pooled is None or error is None or gradients is None:
            continue
        exact = value_of(summary, case, "exact_log_evidence")
        total = gradients.values * float(str(scalar(summary, case, "n_chains")))
        half = _N_ERRORS * error.values if np.isfinite(error.values).all() else None
        band_curve(left, total, pooled.values, half, colour=colour, label=label, line_style=line)
        right.plot(total, error.values, color=colour, linestyle=line)
    if math.isnan(exact):
        missing_panel(left, _NOT_RUN)
        missing_panel(right, _NOT_RUN)
        return figure
    left.axhline(exact, color=_REFERENCE, linewidth=0.8, label="quadrature")
    with contextlib.suppress(LookupError):
        names = ("n_gradients_per_run", "n_runs", "log_evidence", "log_evidence_error")
        gradients_per_run, n_runs, value, sd = (value_of(summary, AIS_CASE, name) for name in names)
        total_ais = gradients_per_run * n_runs
        left.errorbar(
            total_ais, value, yerr=_N_ERRORS * sd, color="black", marker="s", linestyle="none", label="AIS"
        )
        right.plot(total_ais, sd, color="black", marker="s", linestyle="none")
    left.set_ylim(exact + _METHODS_RANGE[0], exact + _METHODS_RANGE[1])
    left.set_ylabel("log evidence (nats)")
    right.set_ylabel("standard error (nats)")
    right.set_yscale("log")
    right.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    right.yaxis.set_major_formatter("{x:g}")
    right.yaxis.set_minor_locator(NullLocator())
    for axis in (left, right):
        axis.set_xscale("log")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_xlabel("gradients of all chains or runs")
    figure.legend(loc="outside upper center", ncols=6)
    preset_note(figure, _note(summary, NUTS_CASE))
    return figure


def temperature_and_moments(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Law of the inverse temperature, and posterior moments beside the exact ones."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    _temperature_panel(left, summary, curves)
    _moments_panel(right, summary)
    preset_note(figure, _note(summary, NUTS_CASE))
    return figure


DRAW: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Figure]] = {
    "fig_5_5": model_graph,
    "fig_5_6": evidence_over_time,
    "fig_methods": methods,
    "fig_temperature": temperature_and_moments,
}


def _temperature_panel(axis: Axes, summary: pd.DataFrame, curves: pd.DataFrame) -> None:
    density = find(curves, NUTS_CASE, "log_temperature_density", "inverse_temperature")
    error = find(curves, NUTS_CASE, "log_temperature_density_error", "inverse_temperature")
    if density is None or error is None:
        missing_panel(axis, _NOT_RUN)
        return
    points = density["inverse_temperature"].values
    half = _N_ERRORS * error.values if np.isfinite(error.values).all() else None
    band_curve(axis, points, density.values, half, colour=_NUTS, label="NUTS")
    gain = value_of(summary, NUTS_CASE, "exact_log_evidence") - value_of(summary, NUTS_CASE, "log_zeta")
    axis.plot([0.0, 1.0], [0.0, gain], color=_REFERENCE, linestyle="--", linewidth=1.0, label="exact bound")
    axis.set_xlim(0.0, 1.0)
    axis.set_xlabel("inverse temperature")
    axis.set_ylabel("log density relative to the base (nats)")
    axis.legend(loc="upper left")


def _moments_panel(axis: Axes, summary: pd.DataFrame) -> None:
    exact_mean = find(summary, NUTS_CASE, "exact_mean", "effect")
    exact_sd = find(summary, NUTS_CASE, "exact_sd", "effect")
    found = [
        find(summary, NUTS_CASE, name, "effect")
        for name in ("posterior_mean", "posterior_mean_error", "posterior_sd", "posterior_sd_error")
    ]
    if exact_mean is None or exact_sd is None or any(array is None for array in found):
        missing_panel(axis, _NOT_RUN)
        return
    mean, mean_error, sd, sd_error = (array.values for array in found if array is not None)
    rows = np.arange(mean.size)[::-1]
    for offset, value, error, colour, marker, label in (
        (0.12, (mean - exact_mean.values) / exact_sd.values, mean_error, _BLUE, "o", "mean"),
        (-0.12, (sd - exact_sd.values) / exact_sd.values, sd_error, _RED, "s", "standard deviation"),
    ):
        half = _N_ERRORS * np.nan_to_num(error / exact_sd.values)
        axis.errorbar(
            value, rows + offset, xerr=half, color=colour, marker=marker, linestyle="none", label=label
        )
    axis.axvline(0.0, color=_REFERENCE, linewidth=0.8)
    axis.set_yticks(rows, [_pretty(str(name)) for name in exact_mean["effect"].values])
    axis.set_xlabel("difference to quadrature (posterior sds)")
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def _pretty(name: str) -> str:
    symbols = {
        "log sigma_a": r"$\log\sigma_a$",
        "mu_a": r"$\mu_a$",
        "log sigma_b": r"$\log\sigma_b$",
        "mu_b": r"$\mu_b$",
        "log epsilon": r"$\log\epsilon$",
    }
    return symbols.get(name, name.removeprefix("b[").removesuffix("]").replace("_", " "))


def _range(exact: float, zeta: float) -> tuple[float, float]:
    """The published axis range, moved to the exact value; wider where log zeta would lie outside."""
    low, high = _PUBLISHED_RANGE
    return min(exact + low, zeta - 5.0), max(exact + high, zeta + 5.0)


def _note(summary: pd.DataFrame, case: str) -> str:
    chains, draws = scalar(summary, case, "n_chains"), scalar(summary, case, "n_draws")
    preset = summary["preset"].iloc[0] if "preset" in summary and len(summary) else "unknown"
    return f"preset {preset}; {chains} chains of {draws} iterations, all of them used"
