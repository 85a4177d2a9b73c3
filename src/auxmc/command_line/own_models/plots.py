"""Plots of a run: traces, pairs, and the estimate of a log evidence against the number of iterations."""

import math
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from auxmc.command_line.own_models.output import elements
from auxmc.diagnostics.errors_of_means import few_replicates
from auxmc.diagnostics.log_evidence import log_evidence, log_evidence_error
from auxmc.plots.style import save_figure, use_style

__all__ = ["draw_evidence", "draw_posterior"]

_MAX_TRACES, _MAX_PAIRS, _MAX_POINTS = 10, 6, 2000
_POINTS_OF_CURVE = 30


def draw_posterior(posterior: xr.Dataset, folder: Path) -> None:
    """Writes the figures `trace` and `pairs` of the first scalars among the variables, as PDF and PNG.

    Args:
        posterior: draws, variables [chain, draw, ...].
        folder: for the figures.
    """
    found = [
        (name, values)
        for name, values in elements(posterior)
        if np.isfinite(values).all() and np.ptp(values) > 0.0
    ]
    if not found:
        return
    with use_style():
        shown = found[:_MAX_TRACES]
        figure, axes = plt.subplots(
            len(shown), 2, figsize=(7.0, 1.2 * len(shown) + 0.5), squeeze=False, layout="constrained"
        )
        for (name, values), (left, right) in zip(shown, axes, strict=True):
            for chain in values:
                left.plot(chain, linewidth=0.5, rasterized=True)
                right.hist(chain, bins=40, density=True, histtype="step", linewidth=0.8)
            left.set_ylabel(name)
            right.set_yticks([])
        axes[-1, 0].set_xlabel("draw")
        axes[-1, 1].set_xlabel("value")
        save_figure(figure, folder / "trace")
        plt.close(figure)
        shown = found[:_MAX_PAIRS]
        n = len(shown)
        figure, axes = plt.subplots(
            n, n, figsize=(1.5 * n + 1.0, 1.5 * n + 1.0), squeeze=False, layout="constrained"
        )
        thin = max(1, shown[0][1].size // _MAX_POINTS)
        for i, (row_name, row) in enumerate(shown):
            for j, (column_name, column) in enumerate(shown):
                axis = axes[i, j]
                if j > i:
                    axis.set_axis_off()
                    continue
                if i == j:
                    axis.hist(row.ravel(), bins=40, density=True)
                    axis.set_yticks([])
                else:
                    axis.plot(
                        column.ravel()[::thin], row.ravel()[::thin], ".", markersize=1.5, rasterized=True
                    )
                axis.set_xlabel(column_name if i == n - 1 else "")
                axis.set_ylabel(row_name if j == 0 and i > 0 else "")
        save_figure(figure, folder / "pairs")
        plt.close(figure)


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
    with use_style():
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
