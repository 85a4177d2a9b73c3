"""Figures of the study, drawn from its tables."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, LogLocator, MaxNLocator

from auxmc.plots.style import CYCLE
from auxmc_pipeline.footer import footer
from auxmc_pipeline.plots.looks import METHOD_COLOURS
from auxmc_pipeline.plots.panels import band_curve, page
from auxmc_pipeline.plots.published import (
    PublishedValue,
    entries_published_last,
    published_curve,
    published_label,
    published_mark,
)
from auxmc_pipeline.published_values import PublishedMarks, published_series, published_settings
from auxmc_pipeline.tables import Tables, available
from experiments.boltzmann.relative_errors import (
    CURVE_METHODS,
    ERROR_LABELS,
    METHOD_LABELS,
    annealed_errors,
    cost_per_repeat,
    errors_by_base,
    n_systems,
    rows_of,
    running_errors,
)

_COLOURS = {**METHOD_COLOURS, "tuned": CYCLE[3], "h_ais": CYCLE[1], "ais_10": CYCLE[5], "ais_20": CYCLE[6]}
_LINES = {"st": "-.", "gibbs_ct": "-", "ct_hmc": "--", "tuned": ":"}
_MARKERS = {"h_ais": "o", "ais_10": "s", "ais_20": "^"}
_POOLINGS = {
    "disjoint": ("disjoint groups", CYCLE[0], "-"),
    "nested": ("nested groups (published)", CYCLE[1], "--"),
    "single": ("single chains", CYCLE[2], ":"),
}
_BASES = {
    "mixture": "mixture (published)",
    "renyi": r"Rényi, $\alpha = 1/2$",
    "ep": "EP",
    "pilot_zeta": r"pilot, $\log\zeta$ only",
    "pilot": "pilot",
    "exact": "exact moments",
}
_COSTS = {
    "gradients_per_repeat": "gradient evaluations a repeat",
    "seconds_per_repeat": "run time a repeat (s)",
}
_BAND = 3.0
_DOCUMENT = "PhD thesis"
_PUBLISHED_POINTS = "#E69F00"
_REACH = 1.2  # Published values are drawn up to this multiple of the samples that our chains have


def projections(tables: Tables) -> Figure:
    """Figure 5.1."""
    figure, axes = page(3.3, 1, 2)
    views = {
        "principal": ("principal component 1", "principal component 2"),
        "published": ("eigenvector of the largest value", "eigenvector of the second largest"),
    }
    for axis, (view, names) in zip(axes, views.items(), strict=True):
        if view == "published" and PublishedMarks("boltzmann", tables).apply:
            there = published_series("boltzmann", "5.1", "samples")
            look = {"markersize": 2.5, "color": _PUBLISHED_POINTS, "rasterized": True, "zorder": 3.0}
            # The sign of an eigenvector is arbitrary.
            axis.plot(
                -there.x, there.y, ".", label=published_label(_DOCUMENT, "its system, mirrored"), **look
            )
            axis.legend(loc="upper right", markerscale=3.0)
        points = tables.array("projection", "axis", "sample", table="view_sample_axis", view=view)
        axis.plot(*points.values, ".", markersize=1.5, color=CYCLE[0], alpha=0.5, rasterized=True)
        axis.set(xlabel=names[0], ylabel=names[1])
        axis.set_aspect("equal", adjustable="datalim")
    n_samples, n_units = (float(tables.setting(name)) for name in ("n_exact_samples", "n_units"))
    return footer(figure, tables, f"{n_samples:.0f} exact samples, {min(28.0, n_units):.0f} units")


def errors(error: str, tables: Tables) -> Figure:
    """Figure 5.2 for one of the three errors."""
    figure, axes = page(3.5, 1, 2, sharey=True)
    for axis, (cost, label) in zip(axes, _COSTS.items(), strict=True):
        _error_panel(axis, tables, error, cost)
        axis.set_xlabel(label)
    axes[0].set_ylabel(f"relative error, {ERROR_LABELS[error]}")
    _legend(figure, axes[0], 2)
    return footer(figure, tables, f"{n_systems(tables)} systems, errors of the base = 1")


def _error_panel(axis: Axes, tables: Tables, error: str, cost: str) -> None:
    drawn_there = []
    is_published = cost == "gradients_per_repeat" and PublishedMarks("boltzmann", tables).apply
    curves = available(lambda method: running_errors(tables, method, error), _LINES)
    for method, found in curves.items():
        unit = cost_per_repeat(tables, method, cost)
        half = _BAND * found.drawn_error
        look = {"colour": _COLOURS[method], "label": METHOD_LABELS[method], "linestyle": _LINES[method]}
        band_curve(axis, found.points * unit, found.mean, half, **look)
        # Seconds of another machine have no place on this axis.
        if method in CURVE_METHODS and is_published:
            there = published_series("boltzmann", "5.2", f"{error} {method}")
            as_far = there.x <= _REACH * found.points[-1]
            ends = there.low[as_far], there.high[as_far]
            drawn_there.append((there.x[as_far] * unit, there.y[as_far], ends, _COLOURS[method]))
            for n_samples, value in _published_curve(error, method, found.points[-1]):
                published_mark(axis, n_samples * unit, value, colour=_COLOURS[method], note="nested groups")
    annealed = available(lambda method: annealed_errors(tables, method, error), _MARKERS)
    for method, found in annealed.items():
        places = [cost_per_repeat(tables, method, cost, n_temperatures=k) for k in found.points]
        half, colour = _BAND * found.drawn_error, _COLOURS[method]
        # Numbers at points of three methods would collide: lines join points, and the legend has the numbers.
        label = f"{METHOD_LABELS[method]}: K = {', '.join(f'{k:.0f}' for k in found.points)}"
        bars = axis.errorbar(
            places, found.mean, half, color=colour, marker=_MARKERS[method], label=label, elinewidth=1.0
        )
        bars.lines[0].set_linewidth(0.5)
        if method == "h_ais" and is_published:
            said = published_settings("boltzmann", "CT-B17")
            for place, k in zip(places, found.points, strict=True):
                if at_k := said.get(f"{ERROR_LABELS[error]}, K = {k:.0f}"):
                    published_mark(axis, place, at_k, colour=colour, note="nested groups")
    axis.axhline(1.0, color="#555555", linewidth=0.6)
    axis.set(xscale="log", yscale="log", xmargin=0.16)
    for x, y, ends, colour in drawn_there:
        published_curve(axis, x, y, ends, document=_DOCUMENT, colour=colour, note="nested groups")
    _plain_numbers(axis)


def poolings(tables: Tables) -> Figure:
    """The same chains in three poolings, with the published values."""
    figure, grid = page(6.0, len(ERROR_LABELS), len(CURVE_METHODS), sharex="col", sharey="row")
    for row, error in zip(grid, ERROR_LABELS, strict=True):
        for axis, method in zip(row, CURVE_METHODS, strict=True):
            _pooling_panel(axis, tables, method, error)
        row[0].set_ylabel(f"relative error, {ERROR_LABELS[error]}")
    for axis, method in zip(grid[0], CURVE_METHODS, strict=True):
        axis.set_title(METHOD_LABELS[method])
    for axis in grid[-1]:
        axis.set_xlabel("samples of each chain")
    _legend(figure, grid[0, 0], 4)
    return footer(figure, tables, f"{n_systems(tables)} systems, published values of ten")


def _pooling_panel(axis: Axes, tables: Tables, method: str, error: str) -> None:
    for pooling, (label, colour, style) in _POOLINGS.items():
        found = running_errors(tables, method, error, pooling)
        half = _BAND * found.drawn_error
        band_curve(axis, found.points, found.mean, half, colour=colour, label=label, linestyle=style)
    if PublishedMarks("boltzmann", tables).apply:
        for n_samples, value in _published_curve(error, method, found.points[-1]):
            published_mark(axis, n_samples, value)
    axis.set(xscale="log", yscale="log")
    _plain_numbers(axis)


def bases(tables: Tables) -> Figure:
    """Errors after whole runs, and where the chains are, with the bases that section 5.5 proposes."""
    found = available(lambda method: errors_by_base(tables, method), ("gibbs_ct", "ct_hmc"))
    rows = pd.concat(found, names=["method"]).melt(ignore_index=False).reset_index()
    near = "share_near_target"
    states = rows_of(tables, "bases", "point", near).rename(columns={near: "value"}).assign(coordinate=near)
    drawn = pd.concat([rows, states]).replace({"method": METHOD_LABELS, "base": _BASES})
    look: dict[str, Any] = {"x": "value", "y": "base", "hue": "method"}
    look["dodge"] = 0.4 if len(found) > 1 else False
    look["order"] = [label for label in _BASES.values() if label in set(drawn["base"])]
    look["palette"] = {METHOD_LABELS[method]: _COLOURS[method] for method in found}
    look["hue_order"] = list(look["palette"])
    figure, axes = page(3.0, 1, 4, sharey=True)
    quantities = {name: f"relative error,\n{label}" for name, label in ERROR_LABELS.items()}
    quantities[near] = "fraction of states\nwith b > 1/2"
    for axis, (quantity, label) in zip(axes, quantities.items(), strict=True):
        look |= {"data": drawn[drawn["coordinate"] == quantity], "ax": axis}
        if quantity != near:
            axis.set(xscale="log")
            decades = np.ptp(np.log10(look["data"]["value"]))
            ticks = LogLocator(subs=(1.0, 3.0) if decades < 2.5 else (1.0,), numticks=5)
            axis.xaxis.set_major_locator(MaxNLocator(3) if decades < 1.0 else ticks)
            axis.xaxis.set_major_formatter("{x:g}")
            axis.xaxis.set_minor_formatter("")
        sns.stripplot(**look, size=2.5, alpha=0.5, legend=False)
        sns.pointplot(**look, errorbar="se", linestyle="none", markersize=5.0, err_kws={"linewidth": 1.0})
        axis.set(xlabel=label, ylabel="")
        axis.get_legend().remove()
    axes[-1].axvline(0.5, color="#555555", linewidth=0.6)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(found))
    return footer(
        figure, tables, f"{drawn['system'].nunique()} systems, errors of the published base alone = 1"
    )


def _published_curve(error: str, method: str, n_samples: float) -> list[tuple[float, PublishedValue]]:
    """Published errors of a method, with the samples of each chain, as far as chains of so many samples reach."""
    name = f"{ERROR_LABELS[error]}, {METHOD_LABELS[method]}, "
    found = [
        (float(setting.removeprefix(name).removesuffix(" samples")), value)
        for setting, value in published_settings("boltzmann", "CT-B16").items()
        if setting.startswith(name) and setting.endswith(" samples")
    ]
    return [(n, value) for n, value in found if n <= _REACH * n_samples]


class _PlainNumbers(LogFormatter):
    """Labels such as 0.5 and 2 in place of powers of ten."""

    def _num_to_string(self, x: float, vmin: float, vmax: float) -> str:
        del vmin, vmax
        return f"{x:g}"


def _plain_numbers(axis: Axes) -> None:
    axis.yaxis.set_major_formatter(_PlainNumbers())
    axis.yaxis.set_minor_formatter(_PlainNumbers(minor_thresholds=(1.5, 0.5)))


def _legend(figure: Figure, axis: Axes, n_columns: int) -> None:
    figure.legend(*entries_published_last(axis), loc="outside upper center", ncols=n_columns)


DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_5_1": projections,
    "fig_5_2_a": partial(errors, "log_z"),
    "fig_5_2_b": partial(errors, "mean"),
    "fig_5_2_c": partial(errors, "covariance"),
    "fig_pooling": poolings,
    "fig_bases": bases,
}
