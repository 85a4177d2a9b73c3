"""Figures of the study, drawn from its two tables."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy import stats

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.panels import band_curve, grouped_bars, histogram_panel, missing_panel, preset_note
from auxmc.plots.style import CYCLE, PAGE_WIDTH_IN, QUANTITY_COLOURS
from auxmc_pipeline.lookup import find, scalar
from experiments.generalised_lambda.lookup import PARAMETERS
from experiments.generalised_lambda.settings import ROWS

_NOT_RUN = "not run at this preset"
_LABELS = {
    "z1": "$z_1$ (location)",
    "z2": "$z_2$ (inverse scale)",
    "z3": "$z_3$ (left shape)",
    "z4": "$z_4$ (right shape)",
}
_GENERATING = {"z1": 5.0, "z2": 1.0, "z3": 0.4, "z4": -0.1}
_PRIOR_COLOURS = {"strong": "#0072B2", "weak": "#D55E00"}
_REFERENCE = QUANTITY_COLOURS["reference"]
_N_BINS = 40
_CURVE_POINTS = 200
_PUBLISHED_ACCEPT = 0.9


def data_figure(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 4.6: the data."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.3), layout="constrained")
    axis = figure.subplots()
    observed = find(curves, "reference", "observation", "datum")
    fresh = find(curves, "reference", "fresh_density", "point")
    if observed is None or fresh is None:
        missing_panel(axis, _NOT_RUN)
        return figure
    values = observed.values
    edges = np.linspace(values.min(), values.max(), 21)
    histogram_panel(
        axis,
        edges,
        np.histogram(values, edges)[0],
        colour="#E69F00",
        exact=(fresh["point"].values, fresh.values),
        exact_colour="#009E73",
        label=f"{values.size} observations",
        exact_label="10 000 fresh draws",
        value_label="$x$ (units of the data)",
    )
    # The rug stands above the axis in units of density, as in the published figure.
    axis.vlines(values, 0.0, 0.05, color="#B36200", linewidth=0.5)
    axis.set_xlim(float(fresh["point"].min()), float(fresh["point"].max()))
    axis.legend(loc="upper right")
    preset_note(figure, f"preset {scalar(summary, 'reference', 'preset')}")
    return figure


def marginals(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 4.7: marginal posteriors by method, with the reference posterior of the same target."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 6.2), layout="constrained")
    grid = figure.subplots(len(ROWS), len(PARAMETERS))
    where = {"prior": "strong"}
    draws = [find(curves, row.case, "z", "chain", "draw", "parameter", **where) for row in ROWS]
    references = [
        find(curves, "reference", "reference_z", "index", "parameter", target=row.target, **where)
        for row in ROWS
    ]
    last = max((index for index, values in enumerate(draws) if values is not None), default=0)
    for column, parameter in enumerate(PARAMETERS):
        own = [_finite(d.sel(parameter=parameter).values) for d in draws if d is not None]
        known = [r.sel(parameter=parameter).values for r in references if r is not None]
        # Chains that have not converged would make the bins too wide for all others.
        edges = _common_edges(known or own)
        for index, row in enumerate(ROWS):
            axis, values, reference = grid[index, column], draws[index], references[index]
            if values is None or edges is None:
                missing_panel(axis, _NOT_RUN)
                continue
            one = _finite(values.sel(parameter=parameter).values)
            histogram_panel(
                axis,
                edges,
                np.histogram(one, edges)[0],
                n_total=float(max(one.size, 1)),
                colour=row.colour,
                value_label=_LABELS[parameter] if index == last else "",
                density_label="density" if column == 0 else "",
            )
            if reference is not None:
                points = np.linspace(edges[0], edges[-1], _CURVE_POINTS)
                density = stats.gaussian_kde(reference.sel(parameter=parameter).values)(points)
                axis.plot(points, density, color="black", linewidth=0.9)
                axis.set_ylim(0.0, max(axis.get_ylim()[1], 1.05 * float(density.max())))
            axis.axvline(_GENERATING[parameter], color=CYCLE[5], linestyle="--", linewidth=1.1)
            axis.locator_params(axis="x", nbins=4)
            if index != last:
                axis.tick_params(labelbottom=False)
            if column == 0:
                axis.annotate(
                    row.label,
                    (0.0, 1.0),
                    (0, 4),
                    xycoords="axes fraction",
                    textcoords="offset points",
                    fontsize=8.5,
                )
    handles = [
        Line2D([], [], color="black", linewidth=0.9, label="reference posterior"),
        Line2D([], [], color=CYCLE[5], linestyle="--", label="generating value"),
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=2)
    preset_note(figure, _note(summary))
    return figure


def efficiency(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 4.8: effective sample size per second by parameter and method."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.9), layout="constrained")
    axis = figure.subplots()
    heights, errors = {}, {}
    for row in ROWS:
        rates = find(summary, row.case, "ess_per_second", "chain", "parameter", prior="strong")
        if rates is None:
            continue
        ordered = rates.sel(parameter=list(PARAMETERS))
        heights[row.label] = np.nan_to_num(ordered.mean("chain").values)
        if rates.sizes["chain"] > 1:
            errors[row.label] = np.nan_to_num(
                ordered.std("chain", ddof=1).values / np.sqrt(rates.sizes["chain"])
            )
    if not heights:
        missing_panel(axis, _NOT_RUN)
        return figure
    colours = {row.label: row.colour for row in ROWS}
    grouped_bars(
        axis,
        [_LABELS[parameter] for parameter in PARAMETERS],
        heights,
        errors,
        colours=colours,
        value_label="effective samples per second (1/s)",
    )
    _print_heights(axis, heights, errors)
    axis.set_ylim(bottom=0.0)
    figure.legend(loc="outside upper center", ncols=len(heights))
    preset_note(figure, f"{_note(summary)}; strong prior")
    return figure


def prior_effect(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Marginal posteriors given the data exactly under the two priors."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.2), layout="constrained")
    axes = figure.subplots(1, len(PARAMETERS))
    drawn = False
    for axis, parameter in zip(axes, PARAMETERS, strict=True):
        samples = {
            prior: find(curves, "reference", "reference_z", "index", "parameter", prior=prior, target="exact")
            for prior in _PRIOR_COLOURS
        }
        chains = {
            prior: find(curves, "constrained_hmc", "z", "chain", "draw", "parameter", prior=prior)
            for prior in _PRIOR_COLOURS
        }
        known = {prior: s.sel(parameter=parameter).values for prior, s in samples.items() if s is not None}
        if not known:
            missing_panel(axis, _NOT_RUN)
            continue
        drawn = True
        together = np.concatenate(list(known.values()))
        low, high = np.quantile(together, [0.0005, 0.9995])
        edges = np.linspace(float(low), float(high), 26)
        points = np.linspace(edges[0], edges[-1], _CURVE_POINTS)
        for prior, values in known.items():
            colour, own = _PRIOR_COLOURS[prior], chains[prior]
            style = "-" if prior == "strong" else "-."
            axis.plot(points, stats.gaussian_kde(values)(points), color=colour, linestyle=style)
            if own is not None:
                one = own.sel(parameter=parameter).values.ravel()
                counts = np.histogram(one, edges)[0]
                density = counts / (max(one.size, 1) * np.diff(edges))
                marker = "o" if prior == "strong" else "^"
                axis.plot(
                    0.5 * (edges[1:] + edges[:-1]),
                    density,
                    color=colour,
                    marker=marker,
                    markersize=2.2,
                    linestyle="none",
                )
        axis.axvline(_GENERATING[parameter], color=CYCLE[5], linestyle="--", linewidth=1.1)
        axis.set_xlabel(_LABELS[parameter])
        axis.set_ylim(bottom=0.0)
        axis.locator_params(axis="x", nbins=4)
    axes[0].set_ylabel("probability density" if drawn else "")
    handles = [
        Line2D(
            [],
            [],
            color=_PRIOR_COLOURS["strong"],
            marker="o",
            markersize=2.2,
            label="strong prior, sd 1, rate 1",
        ),
        Line2D(
            [],
            [],
            color=_PRIOR_COLOURS["weak"],
            linestyle="-.",
            marker="^",
            markersize=2.2,
            label="weak prior, sd 10, rate 0.1",
        ),
        Line2D([], [], color=CYCLE[5], linestyle="--", label="generating value"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    preset_note(figure, _note(summary))
    return figure


def step_sizes(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Accept rate of HMC against its step size at three tolerances."""
    figure = Figure(figsize=(0.7 * PAGE_WIDTH_IN, 2.7), layout="constrained")
    axis = figure.subplots()
    rates = find(summary, "step_sizes", "acceptance_probability", "tolerance", "step_size", "chain")
    if rates is None:
        missing_panel(axis, _NOT_RUN)
        return figure
    markers = ("o", "s", "^", "D", "v")
    for index, tolerance in enumerate(rates["tolerance"].values):
        one = rates.sel({"tolerance": tolerance}).sortby("step_size")
        steps = one["step_size"].values * tolerance
        colour = CYCLE[index % len(CYCLE)]
        band_curve(
            axis,
            steps,
            one.mean("chain").values,
            colour=colour,
            label=rf"$\epsilon$ = {tolerance:g}",
            marker=markers[index % len(markers)],
        )
        axis.plot(
            steps, one.transpose("step_size", "chain").values, ".", color=colour, markersize=2.0, alpha=0.6
        )
    axis.axhline(_PUBLISHED_ACCEPT, color=_REFERENCE, linestyle=":", linewidth=1.0)
    axis.set_xscale("log")
    ticks = _doubling(float(rates["tolerance"].min() * rates["step_size"].min()), 6)
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.set_ylim(0.0, 1.02)
    axis.set_xlabel("step size of HMC")
    axis.set_ylabel("accept rate")
    axis.legend(loc="lower left")
    chains, draws = scalar(summary, "step_sizes", "n_chains"), scalar(summary, "step_sizes", "n_draws")
    preset_note(
        figure,
        f"preset {scalar(summary, 'step_sizes', 'preset')}; {chains} chains of {draws} iterations at each point",
    )
    return figure


DRAW: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Figure]] = {
    "fig_4_6": data_figure,
    "fig_4_7": marginals,
    "fig_4_8": efficiency,
    "fig_prior": prior_effect,
    "fig_step_size": step_sizes,
}


def _doubling(first: float, n: int) -> list[float]:
    return [first * 2.0**power for power in range(n)]


def _finite(values: FloatArray) -> FloatArray:
    flat: FloatArray = values.ravel()
    return flat[np.isfinite(flat)]


def _common_edges(samples: list[FloatArray]) -> FloatArray | None:
    """Edges of 40 equal bins over nearly all of every sample and a quarter more."""
    usable = [values for values in samples if values.size]
    if not usable:
        return None
    low = min(float(np.quantile(values, 0.002)) for values in usable)
    high = max(float(np.quantile(values, 0.998)) for values in usable)
    margin = 0.125 * (high - low) or 0.5
    edges: FloatArray = np.linspace(low - margin, high + margin, _N_BINS + 1)
    return edges


def _print_heights(axis: Axes, heights: dict[str, FloatArray], errors: dict[str, FloatArray]) -> None:
    width = 0.8 / len(heights)
    for index, (name, values) in enumerate(heights.items()):
        half = errors.get(name, np.zeros_like(values))
        for group, (value, error) in enumerate(zip(values, half, strict=True)):
            place = group + (index - 0.5 * (len(heights) - 1)) * width
            text = f"{value:.2g}" if value < 100 else f"{value:.0f}"
            axis.annotate(
                text, (place, value + error), (0, 2), textcoords="offset points", ha="center", fontsize=6.5
            )


def _note(summary: pd.DataFrame) -> str:
    parts = []
    for row in ROWS:
        chains, draws = scalar(summary, row.case, "n_chains"), scalar(summary, row.case, "n_draws")
        if chains is not None:
            warm_up = scalar(summary, row.case, "n_warm_up")
            parts.append(f"{row.label}: {chains} chains of {draws} iterations after {warm_up} of warm-up")
    preset = summary["preset"].iloc[0] if "preset" in summary and len(summary) else "unknown"
    return f"preset {preset}; " + "; ".join(parts)
