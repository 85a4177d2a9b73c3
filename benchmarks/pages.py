"""The tables and the figure of docs/benchmarks.md, from the rows that were kept."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from auxmc.plots.style import PAGE_WIDTH_IN, use_style
from benchmarks.harness import RATIO, ROOT, Benchmark

PAGE = ROOT / "docs" / "benchmarks.md"
FIGURE = ROOT / "docs" / "images" / "benchmarks.svg"


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of each problem on the page: the first form of full, quick, earlier; the newest machine."""
    parts = [rows[:0]]
    for _, problem in rows.groupby(["benchmark", "problem"], sort=False):
        form = next(form for form in ("full", "quick", "earlier") if (problem["form"] == form).any())
        own = problem[problem["form"] == form]
        parts.append(own[own["machine"] == own.sort_values("date", kind="stable")["machine"].iloc[-1]])
    return pd.concat(parts)


def table(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    """Markdown with one row per problem: medians over seeds of our program, and ratios or values of the others."""
    if not len(rows):
        return "Not measured yet.\n"
    kept = shown(rows)
    quantities = [q for q in benchmark.units if (kept["quantity"] == q).any()]
    has_others = bool((kept.groupby("problem")["program"].nunique() > 1).any())
    lines = [["problem", "; ".join(quantities), *["ratios" if benchmark.ratios else "others"] * has_others]]
    for problem, own in kept.groupby("problem", sort=False):
        mark = r"\*" * bool(own["load"].max() > benchmark.cores + 0.5)
        others, ours = [], ""
        for program, of in own.groupby("program", sort=False):
            values, ratio = [_median(of, quantity) for quantity in quantities], _median(of, RATIO)
            name = str(program).removeprefix("auxmc, ")
            ours = ours or f"{name}: {'; '.join(filter(None, values))}"
            # A ratio stands in place of the first quantity.
            cells = [*filter(None, [ratio, *values[1:]] if benchmark.ratios else values)] or [
                *filter(None, values)
            ]
            others.append(f"{name}: {'; '.join(cells)}")
        lines.append([f"{problem}{mark}", ours, *["; ".join(others[1:])] * has_others])
    text = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([text[0], "|---" * len(lines[0]) + "|", *text[1:], ""])


def _median(rows: pd.DataFrame, quantity: str) -> str:
    """Median over seeds of medians over repeats, in three digits; empty if it was not measured."""
    own = rows[rows["quantity"] == quantity]
    if own.empty:
        return ""
    middle = own.groupby("seed")["value"].median().median()
    number = f"{middle:,.0f}" if abs(middle) >= 1000 else f"{middle:.3g}"
    return "failed" if np.isnan(middle) else f"{number} {own['unit'].iloc[0]}".strip()


def draw(rows: pd.DataFrame) -> Figure | None:
    """One point a seed, on a log scale, a row for each program that is compared with one of ours; 1 is as good.

    Args:
        rows: of the whole table.

    Returns:
        The figure, or None where no ratio has been measured.
    """
    ratios = shown(rows[rows["form"].isin(["quick", "full"])])
    ratios = ratios[(ratios["quantity"] == RATIO) & (ratios["value"] != 1)]
    if not len(ratios):
        return None
    kinds, ours = ["another program", "another form of ours"], ratios["program"].str.startswith("auxmc")
    ratios = ratios.assign(row=ratios["problem"] + ": " + ratios["program"], kind=np.take(kinds, ours))
    groups = list(ratios.groupby("benchmark", sort=False))
    heights = [own["row"].nunique() + 0.5 for _, own in groups]
    size = PAGE_WIDTH_IN, 0.16 * sum(heights) + 0.17 * len(groups) + 0.5
    options: dict[str, Any] = {"jitter": False, "size": 3.5, "alpha": 0.8, "hue_order": kinds}
    with use_style():
        figure, panels = plt.subplots(
            len(groups), figsize=size, sharex=True, squeeze=False, height_ratios=heights, layout="constrained"
        )
        for axes, (name, own) in zip(panels[:, 0], groups, strict=True):
            sns.stripplot(own, x="value", y="row", hue="kind", ax=axes, **options)
            handles, labels = axes.get_legend_handles_labels()
            axes.get_legend().remove()
            axes.axvline(1.0, color="0.4", linewidth=0.8)
            axes.grid(axis="y", color="0.92")
            axes.set(xscale="log", xlabel="", ylabel="")
            axes.set_title(
                str(name).replace("_", " "), loc="left", fontsize="medium", fontweight="bold", pad=2
            )
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("times better than the program named")
        figure.legend(handles, labels, loc="outside upper center", ncols=2)
    return figure
