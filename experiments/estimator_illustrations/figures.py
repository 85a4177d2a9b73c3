"""Figures of the study, drawn from its two tables."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.panels import missing_figure, preset_note
from auxmc.plots.style import CYCLE, PAGE_WIDTH_IN, QUANTITY_COLOURS
from auxmc_pipeline.lookup import find, scalar

_NOT_RUN = "not run at this preset"
_BLUE, _RED, _GREEN, _ORANGE = CYCLE[0], CYCLE[1], CYCLE[2], CYCLE[5]
_REFERENCE = QUANTITY_COLOURS["reference"]
_PLANE = 4.0
_DECADE = np.log(10.0)


def exploring(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 2.1."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 4.1), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    walk = find(curves, "kernels", "random_walk_path", "step", "axis")
    states = find(curves, "kernels", "hmc_states", "update", "axis")
    paths = find(curves, "kernels", "leapfrog_path", "trajectory", "leapfrog", "axis")
    rho = scalar(summary, "kernels", "correlation")
    if walk is None or states is None or paths is None or rho is None:
        return missing_figure(figure, _NOT_RUN)
    for axis in (left, right):
        _plane(axis, float(str(rho)), max(np.abs(found.values).max() for found in (walk, paths)))
    left.plot(*walk.values.T, color=_BLUE, linewidth=0.8, marker=".", markersize=2.5)
    left.set_title("random-walk Metropolis")
    for path in paths.values:
        right.plot(*path.T, color=_RED, linewidth=0.4)
    right.plot(*states.values.T, color=_RED, linestyle="none", marker="o", markersize=3.5)
    right.set_title("Hamiltonian Monte Carlo")
    _mark_starts((left, walk.values[0]), (right, states.values[0]))
    for axis, method in ((left, "random_walk"), (right, "hmc")):
        lines = [
            f"squared jump per evaluation {_mean(summary, 'squared_jump_per_evaluation', method=method):.3g}",
            f"lag-one autocorrelation {_mean(summary, 'lag_one_autocorrelation', method=method):.3g}",
            f"autocorrelation time {_mean(summary, 'autocorrelation_time', method=method):.3g} evaluations",
        ]
        axis.set_xlabel("$x_1$\n" + "\n".join(lines))
    left.set_ylabel("$x_2$")
    note = (
        "{n_evaluations_shown} evaluations of one chain; numbers are means of {n_chains} chains of {n_draws}"
    )
    preset_note(figure, _note(summary, "kernels", note + " evaluations, autocorrelations along (1, 1)"))
    return figure


def noisy_gradients(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 2.2."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 4.3), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    paths = find(curves, "kernels", "gradient_path", "dynamics", "step_number", "axis")
    rho = scalar(summary, "kernels", "correlation")
    if paths is None or rho is None:
        return missing_figure(figure, _NOT_RUN)
    for axis, path, colour, title in zip(
        (left, right),
        paths.values,
        (_BLUE, _RED),
        ("stochastic-gradient Langevin dynamics", "stochastic-gradient HMC"),
        strict=True,
    ):
        _plane(axis, float(str(rho)), np.abs(paths.values).max())
        axis.plot(*path.T, color=colour, linewidth=0.6)
        axis.set_title(title)
        _mark_starts((axis, path[0]))
    for axis, name in ((left, "sgld"), (right, "sghmc")):
        time = _mean(summary, "gradient_autocorrelation_time", dynamics=name)
        lines = [
            f"length of the path {_mean(summary, 'travelled_length', dynamics=name):.3g}",
            f"distance after 100 steps {_mean(summary, 'displacement', dynamics=name):.3g}",
            f"autocorrelation time {time:.3g} gradients",
        ]
        axis.set_xlabel("$x_1$\n" + "\n".join(lines))
    left.set_ylabel("$x_2$")
    note = "{n_steps_shown} steps of one chain; lengths of as many steps, and times, are means of {n_chains} chains"
    preset_note(figure, _note(summary, "kernels", note + " of {n_draws} steps, times along (1, 1)"))
    return figure


def gaussian_example(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 3.1."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.9), layout="constrained")
    axis = figure.subplots()
    prior = find(curves, "evidence", "prior_density", "mu")
    likelihood = find(curves, "evidence", "scaled_likelihood", "mu")
    evidence = find(summary, "evidence", "log_evidence")
    if prior is None or likelihood is None or evidence is None:
        return missing_figure(figure, _NOT_RUN)
    mu = prior["mu"].values
    axis.plot(mu, prior.values, color=_BLUE, label="prior")
    axis.fill_between(
        mu,
        prior.values * likelihood.values,
        color=_GREEN,
        alpha=0.5,
        linewidth=0.0,
        label="prior × likelihood",
    )
    axis.set(xlim=(mu[0], mu[-1]), xlabel=r"mean $\mu$", ylabel="prior density")
    axis.set_ylim(bottom=0.0, top=0.5)
    twin = axis.twinx()
    twin.spines["right"].set_visible(True)
    twin.plot(mu, likelihood.values, color=_RED, linestyle="--", label="likelihood")
    twin.set_ylabel("likelihood / largest", color=_RED)
    twin.tick_params(axis="y", colors=_RED)
    twin.set_ylim(bottom=0.0, top=1.25)
    handles = axis.get_legend_handles_labels()[0] + twin.get_legend_handles_labels()[0]
    axis.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    value = float(evidence)
    axis.text(
        0.02,
        0.95,
        rf"$\log Z = {value:.2f}$ nats" + "\n" + rf"$Z = 10^{{{value / _DECADE:.2f}}}$",
        transform=axis.transAxes,
        va="top",
    )
    return figure


def prior_averaging(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 3.2."""
    return _histograms(summary, curves, "prior")


def harmonic_means(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 3.3."""
    return _histograms(summary, curves, "harmonic")


def inflation(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Stationary variances."""
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    variance = find(summary, "kernels", "variance", "configuration", "chain")
    steps = find(summary, "kernels", "gradient_step_of", "configuration")
    inflated = find(summary, "kernels", "inflation", "n_rows", "chain")
    formulas = (
        find(curves, "kernels", "variance_curve", "eta"),
        find(curves, "kernels", "inflation_curve", "n"),
    )
    if variance is None or steps is None or inflated is None or formulas[0] is None or formulas[1] is None:
        return missing_figure(figure, _NOT_RUN)
    exact = [str(name).startswith("step") for name in variance["configuration"].values]
    _measured(left, steps.values[exact], variance.values[exact])
    _measured(right, inflated["n_rows"].values.astype(float), inflated.values)
    for axis, formula in zip((left, right), formulas, strict=True):
        assert formula is not None
        x = formula[formula.dims[0]].values
        axis.plot(x, formula.values, color=_RED, linestyle="--", label="closed form")
        axis.axhline(1.0, color=_REFERENCE, linewidth=0.7, linestyle=":")
        axis.set_xscale("log")
    left.set(xlabel=r"$\eta$ × curvature", ylabel="variance × curvature")
    right.set(yscale="log", xlabel="rows $n$", ylabel="variance / posterior variance")
    left.legend(loc="upper left")
    note = "{n_chains} chains of {n_draws} steps (left) and of {n_batch_draws} steps (right)"
    preset_note(figure, _note(summary, "kernels", note))
    return figure


DRAW: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Figure]] = {
    "fig_2_1": exploring,
    "fig_2_2": noisy_gradients,
    "fig_3_1": gaussian_example,
    "fig_3_2": prior_averaging,
    "fig_3_3": harmonic_means,
    "fig_inflation": inflation,
}


def _plane(axis: Axes, rho: float, reach: float) -> None:
    """Contours of the correlated target at one, two and three standard deviations, on a square that holds all paths."""
    limit = max(_PLANE, reach + 0.2)
    points = np.linspace(-limit, limit, 201)
    x, y = np.meshgrid(points, points)
    square = (x**2 - 2.0 * rho * x * y + y**2) / (1.0 - rho**2)
    axis.contour(x, y, square, levels=[1.0, 4.0, 9.0], colors=_REFERENCE, linewidths=0.7)
    axis.set_aspect("equal")
    axis.set(xlim=(-limit, limit), ylim=(-limit, limit))


def _mark_starts(*starts: tuple[Axes, FloatArray]) -> None:
    for axis, point in starts:
        axis.plot(*point, color="black", marker="x", markersize=6.0, linestyle="none", zorder=5)


def _histograms(summary: pd.DataFrame, curves: pd.DataFrame, name: str) -> Figure:
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    evidence = find(summary, "evidence", "log_evidence")
    largest = find(summary, "evidence", "log_largest_likelihood")
    counts = [
        find(curves, "evidence", quantity, "bin", estimate=name)
        for quantity in ("ratio_count", "log_ratio_count")
    ]
    edges = [
        find(curves, "evidence", quantity, "end", estimate=name)
        for quantity in ("ratio_edges", "log_ratio_edges")
    ]
    if evidence is None or largest is None or any(found is None for found in (*counts, *edges)):
        return missing_figure(figure, _NOT_RUN)
    exact = float(evidence)
    # In units of the power of ten below the evidence: of order 1e-62, a number that axes do not label well.
    power = int(np.floor(exact / _DECADE))
    unit = np.exp(exact - power * _DECADE)
    _histogram(left, _values(counts[0]), _values(edges[0]) * unit, log_density=name == "prior")
    left.axvline(unit, color=_ORANGE, linestyle="--")
    left.set(xlabel=rf"estimate [$10^{{{power}}}$]", ylabel=rf"density [$10^{{{-power}}}$]")
    _histogram(right, _values(counts[1]), _values(edges[1]) + exact)
    right.axvline(exact, color=_ORANGE, linestyle="--", label="exact")
    right.set(xlabel="log estimate [nats]", ylabel="density [1/nat]")
    if name == "harmonic":
        left.axvline(np.exp(float(largest) - power * _DECADE), color=_REFERENCE, linestyle=":")
        right.axvline(float(largest), color=_REFERENCE, linestyle=":", label="largest possible")
    else:
        share = _values(counts[0])[0] / _values(counts[0]).sum()
        left.text(
            0.97,
            0.95,
            f"{share:.0%} of the estimates are\nin the first bin",
            transform=left.transAxes,
            ha="right",
            va="top",
        )
    right.legend(loc="upper left")
    note = "{n_replicates} estimates from {n_samples} draws each, {n_bins} bins"
    preset_note(figure, _note(summary, "evidence", note))
    return figure


def _values(found: xr.DataArray | None) -> FloatArray:
    assert found is not None
    return np.asarray(found.values, dtype=np.float64)


def _histogram(axis: Axes, counts: FloatArray, ends: FloatArray, log_density: bool = False) -> None:
    edges = np.linspace(ends[0], ends[1], counts.size + 1)
    density = counts / (counts.sum() * (edges[1] - edges[0]))
    # With an outline a single high bin is wide enough to be seen, and with margins it is not on the frame.
    axis.stairs(density, edges, fill=True, color=_BLUE, linewidth=0.8)
    margin = 0.03 * (edges[-1] - edges[0])
    axis.set_xlim(edges[0] - margin, edges[-1] + margin)
    if log_density:
        # Nearly all values are in the lowest bins: on a linear scale the others cannot be seen.
        axis.set(yscale="log", ylim=(0.5 * density[density > 0.0].min(), 3.0 * density.max()))
    else:
        axis.set_ylim(bottom=0.0)


def _measured(axis: Axes, x: FloatArray, values: FloatArray) -> None:
    """Means over chains [point, chain] with their errors."""
    errors = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1]) if values.shape[1] > 1 else 0.0 * x
    axis.errorbar(
        x, values.mean(axis=1), yerr=2.0 * errors, color=_BLUE, linestyle="none", marker="o", label="measured"
    )


def _mean(summary: pd.DataFrame, quantity: str, **where: str | float) -> float:
    found = find(summary, "kernels", quantity, "chain", **where)
    return float("nan") if found is None else float(found.mean())


def _note(summary: pd.DataFrame, case: str, text: str) -> str:
    names = [part.split("}")[0] for part in text.split("{")[1:]]
    values = {name: scalar(summary, case, name) for name in names}
    return f"preset {scalar(summary, case, 'preset')}; {text.format(**values)}"
