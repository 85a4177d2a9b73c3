"""Results of a run: draws and their summary, traces, pairs, and the estimate of a log evidence on its way."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from auxmc.command_line.columns import columns
from auxmc.command_line.run_folder import RunFolder
from auxmc.diagnostics.convergence import summarise_chains
from auxmc.diagnostics.errors_of_means import few_replicates
from auxmc.diagnostics.tempered_evidence import log_evidence, log_evidence_error
from auxmc.driver.results import write_result
from auxmc.interface.layout import element_names
from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import save_figure, use_style

_MIN_DRAWS = 4
# Lines of a summary that are printed.
_MAX_LINES = 40
_MAX_TRACES, _MAX_PAIRS, _MAX_POINTS = 10, 6, 2000
# Labels that are set as formulae take a quarter of the time of a plot.
_PLAIN_NUMBERS: Any = {"axes.formatter.use_mathtext": False}


class OutputFolder(RunFolder):
    """Folder of draws, their summary and plots."""

    results = (
        *("result.nc", "chains.nc", "summary.csv"),
        *(f"{name}.{kind}" for name in ("trace", "pairs", "evidence") for kind in ("pdf", "png")),
    )

    def write_tree(self, name: str, tree: xr.DataTree) -> None:
        """Writes draws as NetCDF, which `arviz.from_netcdf` reads."""
        groups = {name: group.to_dataset() for name, group in tree.children.items()}
        write_result(self.path / name, groups, {str(key): value for key, value in tree.attrs.items()})


def elements(posterior: xr.Dataset) -> Iterator[tuple[str, FloatArray]]:
    """Yields names of scalars, such as "rates[0]", and their draws [chain, draw], those of small variables first."""
    for name, array in sorted(posterior.data_vars.items(), key=lambda one: one[1].size):
        values = array.to_numpy().astype(np.float64)
        labels = element_names([(str(name), values.shape[2:])])
        yield from zip(labels, np.moveaxis(values.reshape(*values.shape[:2], -1), 2, 0), strict=True)


def summary_table(posterior: xr.Dataset) -> tuple[pd.DataFrame, str]:
    """Mean, standard deviation, quantiles, MCSE, ESS and R-hat of every scalar, as a table and as text."""
    rows = []
    for name, values in elements(posterior):
        row: dict[str, Any] = {"variable": name, "mean": values.mean(), "sd": values.std()}
        for level in (0.05, 0.95):
            row[f"{100 * level:.0f} %"] = np.quantile(values, level)
        if values.shape[1] >= _MIN_DRAWS and np.isfinite(values).all():
            found = summarise_chains(xr.DataArray(values, dims=("chain", "draw")))
            row |= {"error of mean": found.mcse_mean, "ESS": found.bulk_ess, "R-hat": found.r_hat}
        rows.append(row)
    table = pd.DataFrame(rows)
    shown = [list(table.columns)]
    for cells in table.head(_MAX_LINES).to_numpy():
        shown.append([str(cells[0]), *(f"{float(value):.4g}" for value in cells[1:])])
    text = columns(shown, right=range(1, len(table.columns)))
    if len(table) > _MAX_LINES:
        text += f"\n({len(table) - _MAX_LINES} more in summary.csv)"
    return table, text


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
