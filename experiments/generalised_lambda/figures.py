"""Figures of the study, drawn from its tables."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import CYCLE, PAGE_WIDTH_IN
from auxmc_pipeline.footer import chain_lengths, footer
from auxmc_pipeline.plots.looks import QUANTITY_COLOURS
from auxmc_pipeline.plots.panels import bar_place, histogram_panel, mean_bars, page
from auxmc_pipeline.plots.published import (
    PublishedValue,
    entries_published_last,
    published_curve,
    published_entry,
    published_mark,
    published_moments,
)
from auxmc_pipeline.published_values import PublishedMarks
from auxmc_pipeline.tables import Tables
from auxmc_pipeline.tolerances import efficiency_figure
from experiments.generalised_lambda.claims import FALLING
from experiments.generalised_lambda.settings import CASE_NAMES, GENERATING, PARAMETERS, ROWS

_LABELS = {
    "z1": "$z_1$ (location)",
    "z2": "$z_2$ (inverse scale)",
    "z3": "$z_3$ (left shape)",
    "z4": "$z_4$ (right shape)",
}
_PRIORS: dict[str, tuple[str, Any, str, str]] = {  # Colour, dashes, marker and name of the priors.
    "strong": ("#0072B2", "-", "o", "strong prior, sd 1, rate 1"),
    "weak": ("#D55E00", "-.", "^", "weak prior, sd 10, rate 0.1"),
}
_N_BINS = 40
_AIMED_ACCEPT = 0.9
_DOCUMENT = "PhD thesis"


def data_figure(tables: Tables) -> Figure:
    """Figure 4.6: the data."""
    figure, axis = page(2.3)
    values = tables.values("observation", "datum")
    fresh = tables.rows("points", "fresh_density")
    look = {"color": "#E69F00", "alpha": 0.45, "linewidth": 0.5, "element": "step"}
    name = f"{values.size} observations"
    sns.histplot(x=values, bins=20, stat="density", label=name, ax=axis, **look)
    axis.plot(fresh["point"], fresh["fresh_density"], color="#009E73", label="10 000 fresh draws")
    # The rug stands above the axis in units of density, as in the published figure.
    axis.vlines(values, 0.0, 0.05, color="#B36200", linewidth=0.5)
    ends = (fresh["point"].min(), fresh["point"].max())
    axis.set(xlim=ends, xlabel="$x$ (units of the data)", ylabel="probability density")
    published = PublishedMarks("generalised_lambda", tables)
    for series, steps in (("histogram", True), ("kde_10000", False)):
        if (there := published.curve("4.6", series)) is not None:
            published_curve(axis, there.x, there.y, document=_DOCUMENT, steps=steps)
    axis.legend(*entries_published_last(axis), loc="upper right")
    return footer(figure, tables)


def marginals(tables: Tables) -> Figure:
    """Figure 4.7: marginal posteriors by method, with the reference posterior of the same target."""
    figure, grid = page(6.2, len(ROWS), len(PARAMETERS))
    published = PublishedMarks("generalised_lambda", tables)
    draws = [_chain_draws(tables, row.case) for row in ROWS]
    references = [_reference_draws(tables, row.target) for row in ROWS]
    last = len(ROWS) - 1
    for column, parameter in enumerate(PARAMETERS):
        own, known = ([of[parameter] for of in found] for found in (draws, references))
        # Chains that have not converged would make the bins too wide for all others.
        edges = _common_edges(known)
        for index, (row, values, reference) in enumerate(zip(ROWS, own, known, strict=True)):
            axis, counts = grid[index, column], np.histogram(values, edges)[0]
            histogram_panel(axis, edges, counts, n_total=float(max(values.size, 1)), colour=row.colour)
            sns.kdeplot(x=reference, clip=(edges[0], edges[-1]), color="black", linewidth=0.9, ax=axis)
            axis.set_xlabel(_LABELS[parameter] if index == last else "")
            axis.set_ylabel("density" if column == 0 else "")
            _mark_generating(axis, parameter)
            if (there := published.curve("4.7", f"{row.case} {parameter}")) is not None:
                axis.set_ylim(top=max(axis.get_ylim()[1], 1.05 * there.y.max()))
                published_curve(axis, there.x, there.y, document=_DOCUMENT, steps=True)
            if (row.case, parameter) == ("constrained_hmc", "z1"):
                mean, sd = (published("IM-GL-02", f"posterior {name} z1") for name in ("mean", "sd"))
                if mean is not None and sd is not None:
                    published_moments(axis, mean, sd)
            if index != last:
                axis.tick_params(labelbottom=False)
            if column == 0:
                place = {"xycoords": "axes fraction", "textcoords": "offset points"}
                axis.annotate(row.label, (0.0, 1.0), (0, 4), fontsize=8.5, **place)
    handles = [Line2D([], [], color="black", linewidth=0.9, label="reference posterior"), _generating_line()]
    if published("IM-GL-02", "posterior mean z1") is not None:
        handles.append(published_entry(_DOCUMENT, "histogram", curve=True))
        handles.append(published_entry(_DOCUMENT, "mean, bar of 1 sd"))
    figure.legend(handles=handles, loc="outside upper right", ncols=3)
    return footer(figure, tables, *_lengths(tables))


def efficiency(tables: Tables) -> Figure:
    """Figure 4.8: effective sample size per second by parameter and method."""
    figure, axis = page(2.9)
    labels = {row.case: row.label for row in ROWS}
    rows = tables.rows("chain_parameter", case=list(labels), prior="strong")
    rows = rows.rename(columns={"ess_per_second": "value"}).assign(
        method=rows["case"].map(labels), parameter=pd.Categorical(rows["parameter"], PARAMETERS)
    )
    rows = rows.sort_values("parameter")
    drawn = mean_bars(axis, rows, "parameter", "method", {row.label: row.colour for row in ROWS})
    axis.set(yscale="log", xlabel="", ylabel="ESS per second (1/s)")
    axis.set_xticks(range(len(PARAMETERS)), [_LABELS[parameter] for parameter in PARAMETERS])
    published = PublishedMarks("generalised_lambda", tables)
    marks = {
        labels[case]: [published("IM-GL-09", f"{name} {parameter}") for parameter in PARAMETERS]
        for case, name in CASE_NAMES.items()
    }
    for index, name in enumerate(drawn):
        for group, value in enumerate(marks[name]):
            published_mark(axis, bar_place(group, index, len(drawn)), value, note="its machine")
    seen = [mark.value for name in drawn for mark in marks[name] if mark is not None]
    bars = rows.groupby(["method", "parameter"], observed=True)["value"].agg(
        mean=lambda values: values.mean(skipna=False), error="sem"
    )
    axis.set_ylim(bottom=0.4 * min([*seen, bars["mean"].where(bars["mean"] > 0.0).min()]))
    for index, name in enumerate(drawn):
        for group, (value, error) in enumerate(bars.loc[name].to_numpy()):
            place = bar_place(group, index, len(drawn))
            _print_height(axis, place, value, error, marks[name][group])
    figure.legend(*entries_published_last(axis), loc="outside upper center", ncols=3)
    return footer(figure, tables, *_lengths(tables), "strong prior")


def prior_effect(tables: Tables) -> Figure:
    """Marginal posteriors given the data exactly under the two priors."""
    figure, axes = page(2.2, 1, len(PARAMETERS))
    references = [_reference_draws(tables, "exact", prior) for prior in _PRIORS]
    chains = [_chain_draws(tables, "constrained_hmc", prior) for prior in _PRIORS]
    for axis, parameter in zip(axes, PARAMETERS, strict=True):
        own, known = ([of[parameter] for of in found] for found in (chains, references))
        low, high = np.quantile(np.concatenate(known), [0.0005, 0.9995])
        edges = np.linspace(low, high, 26)
        for (colour, style, marker, _), reference, values in zip(_PRIORS.values(), known, own, strict=True):
            sns.kdeplot(x=reference, clip=(low, high), color=colour, linestyle=style, ax=axis)
            density = np.histogram(values, edges)[0] / (max(values.size, 1) * np.diff(edges))
            middles = 0.5 * (edges[1:] + edges[:-1])
            axis.plot(middles, density, color=colour, marker=marker, markersize=2.2, linestyle="none")
        _mark_generating(axis, parameter)
        axis.set(xlabel=_LABELS[parameter], ylabel="", ylim=(0.0, None))
    axes[0].set_ylabel("probability density")
    handles = [
        Line2D([], [], color=colour, linestyle=style, marker=marker, markersize=2.2, label=label)
        for colour, style, marker, label in _PRIORS.values()
    ]
    figure.legend(handles=[*handles, _generating_line()], loc="outside upper center", ncols=3)
    return footer(figure, tables, *_lengths(tables))


def step_sizes(tables: Tables) -> Figure:
    """Acceptance rate of HMC against its step size at three tolerances."""
    figure, axis = page(2.7, width=0.7 * PAGE_WIDTH_IN)
    published = PublishedMarks("generalised_lambda", tables)
    rates = tables.rows("chain", "acceptance_probability", case="step_sizes")
    # Step sizes of the settings are in units of the tolerance.
    rates = rates.assign(step=rates["step_size"] * rates["tolerance"], rate=rates["acceptance_probability"])
    for (tolerance, chains), colour, marker in zip(rates.groupby("tolerance"), CYCLE, "os^Dv", strict=False):
        look: dict[str, Any] = {"x": "step", "y": "rate", "color": colour, "legend": False, "ax": axis}
        label = rf"$\epsilon$ = {tolerance:g}"
        sns.lineplot(chains, errorbar=None, marker=marker, markeredgecolor=colour, label=label, **look)
        sns.scatterplot(chains, s=4.0, alpha=0.6, **look)
        with suppress(LookupError):
            step, rate = (
                published("IM-GL-16", f"{name}, tolerance {tolerance:g}")
                for name in ("step size", "acceptance rate")
            )
            published_mark(axis, step, rate, colour=colour, note="most chains")
    axis.axhline(_AIMED_ACCEPT, color=QUANTITY_COLOURS["reference"], linestyle=":", linewidth=1.0)
    axis.set_xscale("log")
    ticks = float(rates["step"].min()) * 2.0 ** np.arange(6)
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.set(ylim=(0.0, 1.02), xlabel="step size of HMC", ylabel="acceptance rate")
    figure.legend(*entries_published_last(axis), loc="outside upper center", ncols=2)
    return footer(figure, tables, f"{chain_lengths(tables, case='step_sizes')} at each point")


def riemannian(tables: Tables) -> Figure:
    """Efficiency of HMC with a constant and with a position-dependent metric, as the tolerance falls."""
    lengths = [f"{name}: {chain_lengths(tables, case=where['case'])}" for name, where in FALLING.items()]
    return footer(efficiency_figure(tables, "parameter", FALLING), tables, *lengths)


DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_4_6": data_figure,
    "fig_4_7": marginals,
    "fig_4_8": efficiency,
    "fig_prior": prior_effect,
    "fig_step_size": step_sizes,
    "fig_riemannian": riemannian,
}


def _chain_draws(tables: Tables, case: str, prior: str = "strong") -> dict[str, FloatArray]:
    return _by_parameter(tables.rows("chain_draw_parameter", "z", case=case, prior=prior), "z")


def _reference_draws(tables: Tables, target: str, prior: str = "strong") -> dict[str, FloatArray]:
    where = {"prior": prior, "target": target}
    return _by_parameter(tables.rows("target_parameter_index", "reference_z", **where), "reference_z")


def _by_parameter(rows: pd.DataFrame, quantity: str) -> dict[str, FloatArray]:
    return {str(name): of[quantity].to_numpy() for name, of in rows.groupby("parameter")}


def _generating_line() -> Line2D:
    return Line2D([], [], color=CYCLE[5], linestyle="--", label="generating value")


def _mark_generating(axis: Axes, parameter: str) -> None:
    axis.axvline(GENERATING[parameter], color=CYCLE[5], linestyle="--", linewidth=1.1)
    axis.locator_params(axis="x", nbins=4)


def _common_edges(samples: Sequence[FloatArray]) -> FloatArray:
    """Edges of 40 equal bins over nearly all of every sample and a quarter more."""
    low = min(float(np.quantile(values, 0.002)) for values in samples)
    high = max(float(np.quantile(values, 0.998)) for values in samples)
    margin = 0.125 * (high - low) or 0.5
    return np.linspace(low - margin, high + margin, _N_BINS + 1)


def _print_height(axis: Axes, place: float, height: float, error: float, mark: PublishedValue | None) -> None:
    """Writes a height above its bar, or above the published mark that stands there."""
    text = "unknown" if np.isnan(height) else f"{height:.2g}" if height < 100 else f"{height:.0f}"
    top = max(float(np.nansum([height, error])), axis.get_ylim()[0])
    near = mark is not None and 0.7 * top < mark.value < 2.5 * top
    if mark is not None and near:
        top = max(top, mark.value)
    axis.annotate(
        text, (place, top), (0, 6 if near else 2), textcoords="offset points", ha="center", size=6.5
    )


def _lengths(tables: Tables) -> list[str]:
    return [
        f"{row.label}: {chain_lengths(tables, case=row.case)} "
        f"after {tables.setting('n_warm_up', case=row.case)} of warm-up"
        for row in ROWS
    ]
