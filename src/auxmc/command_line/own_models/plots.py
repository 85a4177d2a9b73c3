"""Plots of a run: traces, pairs, and the estimate of a log evidence on its way. Importing this imports Matplotlib."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from auxmc.command_line.own_models.output import elements
from auxmc.diagnostics.errors_of_means import few_replicates
from auxmc.diagnostics.tempered_evidence import log_evidence, log_evidence_error
from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import save_figure, use_style

_MAX_TRACES, _MAX_PAIRS, _MAX_POINTS = 10, 6, 2000
# Labels that are set as formulae take a quarter of the time of a plot.
_PLAIN_NUMBERS: Any = {"axes.formatter.use_mathtext": False}


def draw_posterior(posterior: xr.Dataset, folder: Path, formats: Sequence[str]) -> None:
    """Writes the figures `trace` and `pairs` of the first scalars among variables [chain, draw, ...].

    They are drawn without seaborn, whose import takes longer than they do.
    """
    found = [(name, x) for name, x in elements(posterior) if np.isfinite(x).all() and np.ptp(x) > 0.0]
    if not found:
        return
    with use_style(), matplotlib.rc_context(_PLAIN_NUMBERS):
        save_figure(_traces(found[:_MAX_TRACES]), folder / "trace", formats, passes=1)
        thin = max(1, posterior.sizes["chain"] * posterior.sizes["draw"] // _MAX_POINTS)
        pairs = [(name, values[:, ::thin]) for name, values in found[:_MAX_PAIRS]]
        save_figure(_pairs(pairs), folder / "pairs", formats, passes=1)


def _traces(found: list[tuple[str, FloatArray]]) -> Figure:
    figure = Figure(figsize=(7.0, 0.4 + 1.2 * len(found)), layout="constrained")
    axes = figure.subplots(len(found), sharex=True, squeeze=False)[:, 0]
    for axis, (name, values) in zip(axes, found, strict=True):
        lines = axis.plot(values.T, linewidth=0.5, rasterized=True)
        axis.set(title=name, ylabel="value")
    axes[-1].set_xlabel("draw number")
    return _with_chains(figure, lines)


def _pairs(found: list[tuple[str, FloatArray]]) -> Figure:
    n = len(found)
    figure = Figure(figsize=(0.8 + 1.5 * n, 1.5 * n), layout="constrained")
    axes = figure.subplots(n, n, sharex="col", squeeze=False)
    for i, (name, values) in enumerate(found):
        for j, (other, across) in enumerate(found):
            axis = axes[i, j]
            if j > i:
                axis.remove()
            elif j < i:
                axis.plot(across.T, values.T, ".", markersize=1.5, rasterized=True)
            else:
                edges = np.histogram_bin_edges(values, "auto")
                steps = [axis.stairs(np.histogram(chain, edges)[0], edges) for chain in values]
                axis.set_yticks([])
            if j == 0 < i:
                axis.set_ylabel(name)
            if i == n - 1:
                axis.set_xlabel(other)
    return _with_chains(figure, steps)


def _with_chains(figure: Figure, artists: list[Any]) -> Figure:
    numbers = [str(i) for i in range(len(artists))]
    figure.legend(artists, numbers, title="chain number", loc="outside right upper")
    return figure


def draw_evidence(chains: xr.DataTree, path_without_suffix: Path, formats: Sequence[str]) -> None:
    """Writes a figure of the estimate of a log evidence, with its error, against the number of iterations.

    The chains have their weights, as `auxmc.evidence` returns them.
    """
    stats = chains["sample_stats"]
    target, base = (stats[name].to_numpy() for name in ("log_target_weight", "log_base_weight"))
    n_chains, n_draws = target.shape
    counts = np.unique(np.linspace(max(2, n_draws // 50), n_draws, 30).astype(int))
    values = np.array([log_evidence(target[:, :n], base[:, :n]) for n in counts])
    widening = few_replicates(n_chains)
    errors = np.array([log_evidence_error(target[:, :n], base[:, :n]) * widening for n in counts])
    with use_style(), matplotlib.rc_context(_PLAIN_NUMBERS):
        figure = Figure(figsize=(5.0, 3.0), layout="constrained")
        axis, across, half = figure.subplots(), n_chains * counts, 2.0 * errors
        axis.fill_between(across, values - half, values + half, alpha=0.3, linewidth=0.0)
        axis.plot(across, values)
        axis.set_xlabel("iterations of all chains after the warm-up")
        axis.set_ylabel("log evidence / nats, with two errors")
        if math.isfinite(values[-1]):
            axis.axhline(values[-1], linewidth=0.5, linestyle="--")
        save_figure(figure, path_without_suffix, formats, passes=1)
