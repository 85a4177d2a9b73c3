"""Plots of a run: traces, pairs, and the estimate of a log evidence against the number of iterations."""

import math
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import xarray as xr

from auxmc.command_line.own_models.output import elements
from auxmc.diagnostics.errors_of_means import few_replicates
from auxmc.diagnostics.tempered_evidence import log_evidence, log_evidence_error
from auxmc.plots.style import save_figure, use_style

_MAX_TRACES, _MAX_PAIRS, _MAX_POINTS = 10, 6, 2000
_POINTS_OF_CURVE = 30
# Labels that are set as formulae take a quarter of the time of a plot.
_PLAIN_NUMBERS: Any = {"axes.formatter.use_mathtext": False}


def draw_posterior(posterior: xr.Dataset, folder: Path) -> None:
    """Writes the figures `trace` and `pairs` of the first scalars among the variables, as PDF and PNG.

    Args:
        posterior: draws, variables [chain, draw, ...].
        folder: for the figures.
    """
    found = {
        name: values.ravel()
        for name, values in elements(posterior)
        if np.isfinite(values).all() and np.ptp(values) > 0.0
    }
    if not found:
        return
    n_chains, n_draws = posterior.sizes["chain"], posterior.sizes["draw"]
    chain = np.repeat(np.arange(n_chains), n_draws).astype(str)
    # Blanks, so that no variable has the same name.
    wide = pd.DataFrame(
        {"chain number": chain, "draw number": np.tile(np.arange(n_draws), n_chains), **found}
    )
    names = list(found)
    traces = wide.melt(["chain number", "draw number"], names[:_MAX_TRACES])
    thinned = wide[:: max(1, len(wide) // _MAX_POINTS)]
    with use_style(), matplotlib.rc_context(_PLAIN_NUMBERS):
        grid = sns.relplot(
            traces,
            x="draw number",
            y="value",
            hue="chain number",
            row="variable",
            kind="line",
            estimator=None,
            linewidth=0.5,
            rasterized=True,
            height=1.2,
            aspect=5.0,
            facet_kws={"sharey": False},
        )
        grid.set_titles(row_template="{row_name}")
        save_figure(grid.figure, folder / "trace")
        pairs = sns.pairplot(
            thinned,
            hue="chain number",
            vars=names[:_MAX_PAIRS],
            corner=True,
            height=1.5,
            diag_kind="hist",
            plot_kws={"s": 3.0, "linewidth": 0.0, "rasterized": True},
            diag_kws={"element": "step", "fill": False},
        )
        save_figure(pairs.figure, folder / "pairs")
        plt.close(grid.figure)
        plt.close(pairs.figure)


def draw_evidence(chains: xr.DataTree, path_without_suffix: Path) -> None:
    """Writes a figure of the estimate of a log evidence, with its error, against the number of iterations.

    Args:
        chains: tempered chains with their weights, as `auxmc.evidence` returns them.
        path_without_suffix: of the figure.
    """
    stats = chains["sample_stats"]
    target, base = (stats[name].to_numpy() for name in ("log_target_weight", "log_base_weight"))
    n_chains, n_draws = target.shape
    counts = np.unique(np.linspace(max(2, n_draws // 50), n_draws, _POINTS_OF_CURVE).astype(int))
    values = np.array([log_evidence(target[:, :n], base[:, :n]) for n in counts])
    widening = few_replicates(n_chains)
    errors = np.array([log_evidence_error(target[:, :n], base[:, :n]) * widening for n in counts])
    with use_style(), matplotlib.rc_context(_PLAIN_NUMBERS):
        figure, axis = plt.subplots(figsize=(5.0, 3.0), layout="constrained")
        axis.fill_between(
            n_chains * counts, values - 2.0 * errors, values + 2.0 * errors, alpha=0.3, linewidth=0.0
        )
        axis.plot(n_chains * counts, values)
        axis.set_xlabel("iterations of all chains after the warm-up")
        axis.set_ylabel("log evidence / nats, with two errors")
        if math.isfinite(values[-1]):
            axis.axhline(values[-1], linewidth=0.5, linestyle="--")
        save_figure(figure, path_without_suffix)
        plt.close(figure)
