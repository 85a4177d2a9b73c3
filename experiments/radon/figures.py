"""Figures of the study, drawn from its two tables."""

import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import pairwise

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.factor_graphs import add_factor, add_variable, add_words, graph_plane
from auxmc.plots.panels import band_curve, missing_figure
from auxmc.plots.published import entries_published_last, published_level, published_mark
from auxmc.plots.style import CYCLE, METHOD_COLOURS, METHOD_LABELS, PAGE_WIDTH_IN, QUANTITY_COLOURS
from auxmc_pipeline.empty_panels import empty_where_missing
from auxmc_pipeline.footer import chain_lengths, footer
from auxmc_pipeline.published_values import published_value
from auxmc_pipeline.tables import MissingData, Tables

_N_ERRORS = 3.0
_BLUE, _RED, _REFERENCE = CYCLE[0], CYCLE[1], QUANTITY_COLOURS["reference"]
_NUTS = METHOD_COLOURS["nuts"]
# Label, colour and line of the cases with chains.
_CHAINS = {
    "nuts": (METHOD_LABELS["nuts"], METHOD_COLOURS["nuts"], "-"),
    "centred": ("NUTS, centred form", CYCLE[4], "-."),
    "hmc__method-gibbs_ct": (METHOD_LABELS["gibbs_ct"], METHOD_COLOURS["gibbs_ct"], "--"),
    "hmc__method-ct_hmc": (METHOD_LABELS["ct_hmc"], METHOD_COLOURS["ct_hmc"], ":"),
}
_SYMBOLS = {
    "log sigma_a": r"$\log\sigma_a$",
    "mu_a": r"$\mu_a$",
    "log sigma_b": r"$\log\sigma_b$",
    "mu_b": r"$\mu_b$",
    "log epsilon": r"$\log\epsilon$",
}
# Axis of the published figure, in nats above the exact value.
_PUBLISHED_RANGE = (-19.0, 11.0)
_METHODS_RANGE = (-8.0, 3.0)
_published = partial(published_value, "radon")
# Iterations at which values were read off the published curve.
_PUBLISHED_ITERATIONS = (100, 250, 500, 1000, 2500)


def model_graph(tables: Tables) -> Figure:
    """Figure 5.5: the factor graph of the model; uses no data."""
    del tables
    figure, axis = graph_plane(3.6, (-0.9, 14.3), (-0.55, 7.1))
    for corner, size, label, place in (
        ((4.55, 4.35), (1.9, 2.05), r"$j = 1 \ldots 85$", (6.35, 4.5)),
        ((4.55, 0.35), (1.9, 2.05), r"$k = 1, 2$", (6.35, 0.5)),
        ((7.75, 1.55), (6.2, 3.75), r"$i = 1 \ldots 919$", (13.85, 1.7)),
    ):
        box = "round,pad=0,rounding_size=0.25"
        axis.add_patch(FancyBboxPatch(corner, *size, boxstyle=box, facecolor="none", edgecolor="#777777"))
        axis.text(*place, label, ha="right", va="bottom", fontsize=7.0, color="#444444")
    centre_a, centre_b, likelihood, observed = (3.6, 5.6), (3.6, 1.6), (10.9, 3.5), (12.9, 3.5)
    for path in (
        [(0.0, 6.4), (1.9, 6.4), centre_a, (5.5, 5.6), likelihood, observed],
        [(0.0, 4.8), (1.9, 4.8), centre_a],
        [(0.0, 2.4), (1.9, 2.4), centre_b, (5.5, 1.6), likelihood],
        [(0.0, 0.8), (1.9, 0.8), centre_b],
        [(8.9, 6.4), (10.9, 6.4), likelihood],
        [(9.75, 4.6), likelihood],
        [(9.75, 2.4), likelihood],
    ):
        for (x0, y0), (x1, y1) in pairwise(path):
            axis.plot([x0, x1], [y0, y1], color="black", linewidth=0.8, zorder=1)
    for x, y, text, above in (
        (0.0, 6.4, r"$\mathcal{C}^+(2.5)$", False),
        (0.0, 4.8, r"$\mathcal{N}(0, 1)$", False),
        (*centre_a, r"$\mathcal{N}(\mu_a, \sigma_a^2)$", True),
        (0.0, 2.4, r"$\mathcal{C}^+(2.5)$", False),
        (0.0, 0.8, r"$\mathcal{N}(0, 1)$", False),
        (*centre_b, r"$\mathcal{N}(\mu_b, \sigma_b^2)$", True),
        (8.9, 6.4, r"$\mathcal{C}^+(2.5)$", False),
        (*likelihood, "", False),
    ):
        add_factor(axis, x, y, text, above=above)
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
        add_variable(axis, x, y, name, observed=seen)
    for x, y, name in ((9.6, 4.75, r"$c_i$"), (9.6, 2.2, r"$x_i, u_i$")):
        axis.text(x, y, name, ha="center", va="center", fontsize=10.0)
    words = (
        (5.5, 6.62, "intercepts of counties"),
        (5.5, 0.1, "coefficients"),
        (8.8, 4.8, "county"),
        (9.6, 1.8, "floor, uranium"),
        (12.9, 4.25, "log radon"),
        (11.85, 6.4, "noise"),
    )
    add_words(axis, words)
    return figure


def evidence_over_time(tables: Tables) -> Figure:
    """Figure 5.6: running estimate and variational objective against run time."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.3), layout="constrained")
    axis = figure.subplots()
    numbers, curves = (table.where(case="nuts") for table in tables)
    with empty_where_missing(figure):
        objective, fit_time = (curves.array(name, "fit_step").values for name in ("objective", "fit_time"))
        estimates, errors, times = (
            curves.array(name, "iteration") for name in ("running_mean", "running_mean_error", "time_so_far")
        )
        running, error, time = estimates.values, errors.values, times.values
        iterations = times["iteration"].values.astype(float)
        seconds, zeta, exact = (
            numbers.value(name) for name in ("fit_seconds", "log_zeta", "exact_log_evidence")
        )
        axis.plot(fit_time, objective, color=_BLUE, label="variational objective")
        band_curve(
            axis, seconds + time, running, _half_width(error), colour=_NUTS, label="NUTS, mean of chains"
        )
        axis.axvline(seconds, color="black", linestyle=":", linewidth=0.9, label="end of the variational fit")
        axis.axhline(zeta, color=_RED, linestyle="-.", linewidth=1.0, label=r"$\log\zeta$")
        # Without the case of annealed importance sampling the figure has one line less.
        with suppress(MissingData):
            reference = tables.summary.value("log_evidence", case="ais")
            axis.axhline(reference, color="black", linestyle="--", linewidth=1.0, label="AIS")
        axis.axhline(exact, color=_REFERENCE, linewidth=0.8, label="quadrature")
        published_mark(axis, seconds, _published("CT-D05", "mean of last 100 values"), colour=_BLUE)
        # Their seconds are those of another machine: they stand at ours after as many iterations.
        for n_iterations in _PUBLISHED_ITERATIONS:
            if n_iterations <= iterations[-1]:
                value = _published("CT-D07", f"estimate, {n_iterations} iterations")
                place = seconds + float(np.interp(n_iterations, iterations, time))
                published_mark(axis, place, value, colour=_NUTS)
        published_mark(axis, 0.5 * seconds, _published("CT-D03", "log evidence"))
        axis.set_xlim(0.0, 1.02 * (seconds + float(time[-1])))
        # The published range, moved to the exact value; wider where log zeta would lie outside.
        low, high = _PUBLISHED_RANGE
        axis.set_ylim(min(exact + low, zeta - 5.0), max(exact + high, zeta + 5.0))
        axis.set_xlabel("run time without compiling (s)")
        axis.set_ylabel("log evidence (nats)")
        figure.legend(*entries_published_last(axis), loc="outside upper center", ncols=4)
        said = "published: AIS (black), end of the fit and estimates after as many iterations, without their seconds"
        _footer(figure, tables, said)
    return figure


def methods(tables: Tables) -> Figure:
    """Pooled running estimates of all methods, and their errors, against gradients."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True)
    exact = math.nan
    for case, (label, colour, line) in _CHAINS.items():
        try:
            pooled, error, gradients = (
                tables.curves.array(name, "iteration", case=case).values
                for name in ("running_pooled", "running_pooled_error", "gradients_so_far")
            )
        except MissingData:
            continue
        exact = tables.summary.value("exact_log_evidence", case=case)
        total = gradients * float(tables.summary.setting("n_chains", case=case))
        band_curve(left, total, pooled, _half_width(error), colour=colour, label=label, linestyle=line)
        right.plot(total, error, color=colour, linestyle=line)
    if math.isnan(exact):
        return missing_figure(figure, "not run at this preset")
    left.axhline(exact, color=_REFERENCE, linewidth=0.8, label="quadrature")
    with suppress(MissingData):
        gradients_per_run, n_runs, value, sd = (
            tables.summary.value(name, case="ais")
            for name in ("n_gradients_per_run", "n_runs", "log_evidence", "log_evidence_error")
        )
        total_ais = gradients_per_run * n_runs
        left.errorbar(total_ais, value, yerr=_N_ERRORS * sd, color="black", fmt="s", label="AIS")
        right.plot(total_ais, sd, "s", color="black")
    published_level(left, _published("CT-D03", "log evidence"), note="AIS")
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
    figure.legend(*entries_published_last(left), loc="outside upper center", ncols=4)
    _footer(figure, tables)
    return figure


def temperature_and_moments(tables: Tables) -> Figure:
    """Law of the inverse temperature, and posterior moments beside the exact ones."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 3.2), layout="constrained")
    for axis, draw in zip(figure.subplots(1, 2), (_temperature_panel, _moments_panel), strict=True):
        with empty_where_missing(axis):
            draw(axis, tables)
    _footer(figure, tables)
    return figure


def _temperature_panel(axis: Axes, tables: Tables) -> None:
    density, error = (
        tables.curves.array(name, "inverse_temperature", case="nuts")
        for name in ("log_temperature_density", "log_temperature_density_error")
    )
    points = density["inverse_temperature"].values
    band_curve(axis, points, density.values, _half_width(error.values), colour=_NUTS, label="NUTS")
    exact, zeta = (tables.summary.value(name, case="nuts") for name in ("exact_log_evidence", "log_zeta"))
    bound = [0.0, exact - zeta]
    axis.plot([0.0, 1.0], bound, color=_REFERENCE, linestyle="--", linewidth=1.0, label="exact bound")
    axis.set_xlim(0.0, 1.0)
    axis.set_xlabel("inverse temperature")
    axis.set_ylabel("log density relative to the base (nats)")
    axis.legend(loc="upper left")


def _moments_panel(axis: Axes, tables: Tables) -> None:
    def by_effect(quantity: str) -> xr.DataArray:
        return tables.summary.array(quantity, "effect", case="nuts")

    exact_mean, exact_sd = by_effect("exact_mean"), by_effect("exact_sd").values
    rows = np.arange(exact_sd.size)[::-1]
    for offset, value, error, exact, colour, marker, label in (
        (0.12, "posterior_mean", "posterior_mean_error", exact_mean.values, _BLUE, "o", "mean"),
        (-0.12, "posterior_sd", "posterior_sd_error", exact_sd, _RED, "s", "standard deviation"),
    ):
        axis.errorbar(
            (by_effect(value).values - exact) / exact_sd,
            rows + offset,
            # Where an error is not known there is no bar.
            xerr=_N_ERRORS * by_effect(error).values / exact_sd,
            color=colour,
            marker=marker,
            linestyle="none",
            label=label,
        )
    axis.axvline(0.0, color=_REFERENCE, linewidth=0.8)
    axis.set_yticks(rows, [_pretty(str(name)) for name in exact_mean["effect"].values])
    axis.set_xlabel("difference to quadrature (posterior sds)")
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def _half_width(error: FloatArray) -> FloatArray | None:
    """Of a band; none where errors are not known."""
    return _N_ERRORS * error if np.isfinite(error).all() else None


def _pretty(name: str) -> str:
    return _SYMBOLS.get(name, name.removeprefix("b[").removesuffix("]").replace("_", " "))


def _footer(figure: Figure, tables: Tables, *details: str) -> None:
    chains = chain_lengths(tables, case="nuts")
    footer(figure, tables, chains and f"{chains}, all of them used", *details)


DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_5_5": model_graph,
    "fig_5_6": evidence_over_time,
    "fig_methods": methods,
    "fig_temperature": temperature_and_moments,
}
