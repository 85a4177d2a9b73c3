"""Figures of the study, drawn from its tables."""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from auxmc.plots.style import CYCLE
from auxmc_pipeline.footer import chain_lengths, footer
from auxmc_pipeline.plots.factor_graphs import factor_graph
from auxmc_pipeline.plots.looks import METHOD_COLOURS, METHOD_LABELS, QUANTITY_COLOURS
from auxmc_pipeline.plots.panels import band_curve, missing_panel, page
from auxmc_pipeline.plots.published import (
    entries_published_last,
    published_curve,
    published_level,
    published_mark,
)
from auxmc_pipeline.published_values import PublishedMarks
from auxmc_pipeline.tables import MissingData, Tables

_N_ERRORS = 3.0
_BLUE, _RED, _REFERENCE = CYCLE[0], CYCLE[1], QUANTITY_COLOURS["reference"]
_NUTS = METHOD_COLOURS["nuts"]
_CHAINS = {  # label, colour and line of the cases with chains
    "nuts": (METHOD_LABELS["nuts"], METHOD_COLOURS["nuts"], "-"),
    "centred": ("NUTS, centred form", CYCLE[4], "-."),
    "hmc__method-gibbs_ct": (METHOD_LABELS["gibbs_ct"], METHOD_COLOURS["gibbs_ct"], "--"),
    "hmc__method-ct_hmc": (METHOD_LABELS["ct_hmc"], METHOD_COLOURS["ct_hmc"], ":"),
}
_PUBLISHED_RANGE, _METHODS_RANGE = (-19.0, 11.0), (-8.0, 3.0)  # in nats above the exact value
_DOCUMENT = "PhD thesis"


def model_graph(tables: Tables) -> Figure:
    """Figure 5.5: the factor graph of the published model; uses no data."""
    is_ours = PublishedMarks("radon", tables).apply
    return factor_graph(Path(__file__).with_name("model_graph.toml"), is_ours=is_ours)


def evidence_over_time(tables: Tables) -> Figure:
    """Figure 5.6: running estimate and variational objective against run time."""
    figure, axis = page(3.3)
    published = PublishedMarks("radon", tables)
    seconds, zeta = (tables.value(name, case="nuts") for name in ("fit_seconds", "log_zeta"))
    times = tables.rows("iteration", "time_so_far", case="nuts")
    running = tables.rows("chain_iteration", case="nuts").merge(times[["iteration", "time_so_far"]])
    running = running.assign(time=seconds + running["time_so_far"])
    fit = tables.rows("fit_step", case="nuts")
    sns.lineplot(fit, x="fit_time", y="objective", color=_BLUE, label="variational objective", ax=axis)
    look: dict[str, Any] = {"errorbar": ("se", _N_ERRORS), "err_kws": {"alpha": 0.25, "linewidth": 0.0}}
    label = "NUTS, mean of chains"
    sns.lineplot(running, x="time", y="running_by_chain", color=_NUTS, label=label, ax=axis, **look)
    axis.axvline(seconds, color="black", linestyle=":", linewidth=0.9, label="end of the variational fit")
    axis.axhline(zeta, color=_RED, linestyle="-.", linewidth=1.0, label=r"$\log\zeta$")
    reference = tables.value("log_evidence", case="ais")
    axis.axhline(reference, color="black", linestyle="--", linewidth=1.0, label="AIS")
    exact = _exact_line(axis, tables)
    published_mark(axis, seconds, published("CT-D05", "end of the fit"), colour=_BLUE)
    line = published("CT-D03", "log evidence")
    published_mark(axis, 0.5 * seconds, line)
    # The published range, moved to the exact value; wider where log zeta would lie outside.
    low, high = _PUBLISHED_RANGE
    ends = min(exact + low, zeta - 5.0), max(exact + high, zeta + 5.0)
    axis.set(xlim=(0.0, 1.02 * running["time"].max()), ylim=ends)
    axis.set(xlabel="run time without compiling (s)", ylabel="log evidence (nats)")
    # Their seconds are those of another machine: they stand at ours after as many steps or iterations.
    after = seconds + times["time_so_far"]
    for series, counts, places, colour in (
        ("objective", fit["fit_step"], fit["fit_time"], _BLUE),
        ("nuts", times["iteration"], after, _NUTS),
    ):
        if (there := published.curve("5.6", series)) is not None:
            seen = there.x <= counts.max()
            x, band = np.interp(there.x[seen], counts, places), (there.low[seen], there.high[seen])
            look = {"document": _DOCUMENT, "colour": colour, "note": "at our time"}
            published_curve(axis, x, there.y[seen], band, **look)
    said = "AIS (black), end of the fit; curves after as many steps or iterations, without their seconds"
    return _finished(figure, tables, f"published: {said}" if line else "", entries_of=axis)


def methods(tables: Tables) -> Figure:
    """Pooled running estimates of all methods, and their errors, against gradients."""
    figure, (left, right) = page(3.2, 1, 2, sharex=True)
    for case, (label, colour, line) in _CHAINS.items():
        with suppress(MissingData):
            rows = tables.rows("iteration", "running_pooled", case=case)
            total = rows["gradients_so_far"] * float(tables.setting("n_chains", case=case))
            pooled, error = rows["running_pooled"], rows["running_pooled_error"]
            band_curve(left, total, pooled, _N_ERRORS * error, colour=colour, label=label, linestyle=line)
            right.plot(total, error, color=colour, linestyle=line)
    exact = _exact_line(left, tables)
    runs = tables.rows("point", case="ais").iloc[0]
    total, error = runs["n_gradients_per_run"] * runs["n_runs"], runs["log_evidence_error"]
    left.errorbar(total, runs["log_evidence"], yerr=_N_ERRORS * error, color="black", fmt="s", label="AIS")
    right.plot(total, error, "s", color="black")
    published_level(left, PublishedMarks("radon", tables)("CT-D03", "log evidence"), note="AIS")
    left.set(ylim=(exact + _METHODS_RANGE[0], exact + _METHODS_RANGE[1]), ylabel="log evidence (nats)")
    right.set(ylabel="standard error (nats)", yscale="log")
    right.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    right.yaxis.set_major_formatter("{x:g}")
    right.yaxis.set_minor_locator(NullLocator())
    for axis in (left, right):
        axis.set(xscale="log", xlabel="gradients of all chains or runs")
        axis.xaxis.set_minor_formatter(NullFormatter())
    return _finished(figure, tables, entries_of=left)


def temperature_and_moments(tables: Tables) -> Figure:
    """Distribution of the inverse temperature, and posterior moments compared with the exact ones."""
    figure, (left, right) = page(3.2, 1, 2)
    rows = tables.rows("inverse_temperature", case="nuts")
    half = _N_ERRORS * rows["log_temperature_density_error"]
    points, density = rows["inverse_temperature"], rows["log_temperature_density"]
    band_curve(left, points, density, half, colour=_NUTS, label="NUTS")
    with suppress(MissingData):
        bound = [0.0, tables.value("exact_log_evidence", case="nuts") - tables.value("log_zeta", case="nuts")]
        left.plot([0.0, 1.0], bound, color=_REFERENCE, linestyle="--", linewidth=1.0, label="exact bound")
    left.set(xlim=(0.0, 1.0), xlabel="inverse temperature", ylabel="log density relative to the base (nats)")
    left.legend(loc="upper left")
    _moments_panel(right, tables.rows("effect", case="nuts"))
    return _finished(figure, tables)


def _moments_panel(axis: Axes, moments: pd.DataFrame) -> None:
    if "exact_sd" not in moments:
        missing_panel(axis, "no exact moments are known")
        return
    rows, sd = np.arange(len(moments))[::-1], moments["exact_sd"]
    for offset, moment, colour, marker, label in (
        (0.12, "mean", _BLUE, "o", "mean"),
        (-0.12, "sd", _RED, "s", "standard deviation"),
    ):
        difference = (moments[f"posterior_{moment}"] - moments[f"exact_{moment}"]) / sd
        # Where an error is not known there is no bar.
        half = _N_ERRORS * moments[f"posterior_{moment}_error"] / sd
        axis.errorbar(difference, rows + offset, xerr=half, fmt=marker, color=colour, label=label)
    axis.axvline(0.0, color=_REFERENCE, linewidth=0.8)
    axis.set_yticks(rows, map(_pretty, moments["effect"]))
    axis.set_xlabel("difference to quadrature (posterior sds)")
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def _exact_line(axis: Axes, tables: Tables) -> float:
    """Draws the exact log evidence and returns it; without one, that of annealed importance sampling."""
    try:
        exact = tables.value("exact_log_evidence", case="nuts")
    except MissingData:
        return tables.value("log_evidence", case="ais")
    axis.axhline(exact, color=_REFERENCE, linewidth=0.8, label="quadrature")
    return exact


def _pretty(name: str) -> str:
    if name.startswith("b["):
        return name[2:-1].replace("_", " ")
    return "$" + re.sub("(log|sigma|mu|epsilon) ?", r"\\\1", name) + "$"


def _finished(figure: Figure, tables: Tables, *details: str, entries_of: Axes | None = None) -> Figure:
    if entries_of is not None:
        if (legend := entries_of.get_legend()) is not None:
            legend.remove()
        figure.legend(*entries_published_last(entries_of), loc="outside upper center", ncols=4)
    chains = chain_lengths(tables, case="nuts")
    return footer(figure, tables, chains and f"{chains}, all of them used", *details)


DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_5_5": model_graph,
    "fig_5_6": evidence_over_time,
    "fig_methods": methods,
    "fig_temperature": temperature_and_moments,
}
