"""The figure of docs/benchmarks.md: how much better this package is than each other program, problem by problem."""

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from auxmc.plots.style import PAGE_WIDTH_IN, save_figure, use_style
from benchmarks.contract import ROOT
from benchmarks.measurements import RATIO, shown

__all__ = ["FIGURE", "draw", "save"]

FIGURE = ROOT / "docs" / "images" / "benchmarks.svg"
_ROW_IN = 0.17


def draw(rows: pd.DataFrame) -> Figure | None:
    """One point a seed, on a log scale, a row for each program that stands next to one of ours; 1 is as good.

    Args:
        rows: of the tidy table.

    Returns:
        The figure, or None where no ratio has been measured.
    """
    parts = [shown(own) for _, own in rows.groupby("benchmark", sort=False)]
    ratios = pd.concat(parts)[lambda table: (table["quantity"] == RATIO) & (table["value"] != 1)]
    ratios = ratios[ratios["form"].isin(["quick", "full"])]
    if not len(ratios):
        return None
    named = ratios.assign(
        row=ratios["problem"] + ": " + ratios["program"], of=ratios["benchmark"].str.replace("_", " ")
    )
    with use_style():
        height = _ROW_IN * named["row"].nunique() + 0.9
        figure, axes = plt.subplots(figsize=(PAGE_WIDTH_IN, height), layout="constrained")
        sns.stripplot(named, x="value", y="row", hue="of", ax=axes, jitter=False, size=3.5, alpha=0.8)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.axvline(1.0, color="0.4", linewidth=0.8)
        axes.grid(axis="y", color="0.92")
        axes.set(ylabel="", xlabel="ours is so many times better (a point a seed)")
        # Over the whole figure: next to such long labels the axes alone are too narrow for it.
        handles, labels = axes.get_legend_handles_labels()
        if (narrow := axes.get_legend()) is not None:
            narrow.remove()
        figure.legend(handles, labels, loc="outside upper center", ncols=4)
    return figure


def save(rows: pd.DataFrame) -> None:
    """Draws the figure and writes it where the page looks for it."""
    figure = draw(rows)
    if figure is not None:
        save_figure(figure, FIGURE.with_suffix(""), ("svg",))
        plt.close(figure)
