"""The tables and the figure of docs/benchmarks.md, from the rows that were kept."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from auxmc.plots.style import PAGE_WIDTH_IN, use_style
from benchmarks.harness import RATIO, ROOT, Benchmark

PAGE = ROOT / "docs" / "benchmarks.md"
FIGURE = ROOT / "docs" / "images" / "benchmarks.svg"


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of each problem on the page: the first form of full, quick, earlier; the newest machine."""
    parts = [rows[:0]]
    for _, problem in rows.groupby("problem", sort=False):
        form = next(form for form in ("full", "quick", "earlier") if (problem["form"] == form).any())
        own = problem[problem["form"] == form]
        parts.append(own[own["machine"] == own.sort_values("date", kind="stable")["machine"].iloc[-1]])
    return pd.concat(parts)


def table(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    """Markdown with one row per problem: medians over seeds of our program, and ratios or values of the others.

    Args:
        rows: of this benchmark.
        benchmark: names the problems and quantities of the page.
    """
    if not len(rows):
        return "Not measured yet.\n"
    kept = shown(rows)
    quantities = [q for q in benchmark.units if (kept["quantity"] == q).any()]
    has_others = bool((kept.groupby("problem")["program"].nunique() > 1).any())
    lines = [["problem", "; ".join(quantities), *["ratios" if benchmark.ratios else "others"] * has_others]]
    for problem, own in kept.groupby("problem", sort=False):
        programs = [
            _summary(of, quantities, benchmark.ratios) for _, of in own.groupby("program", sort=False)
        ]
        mark = r"\*" * bool(own["load"].max() > benchmark.cores + 0.5)
        ours, *rest = programs
        lines.append([f"{problem}{mark}", ours[0], *["; ".join(text for _, text in rest)] * has_others])
    text = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([text[0], "|---" * len(lines[0]) + "|", *text[1:], ""])


def _summary(rows: pd.DataFrame, quantities: Sequence[str], ratios: bool) -> tuple[str, str]:
    """A program's medians, and the same with the ratio in place of the first quantity."""
    name = rows["program"].iloc[0].removeprefix("auxmc, ")
    cells = [_median(rows, quantity) for quantity in quantities]
    values = "; ".join(cell for cell in cells if cell)
    ratio = "; ".join(cell for cell in [_median(rows, RATIO), *cells[1:]] if cell) if ratios else values
    return f"{name}: {values}", f"{name}: {ratio or values}"


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
    parts = [shown(own) for _, own in rows.groupby("benchmark", sort=False)]
    ratios = pd.concat(parts)[lambda table: (table["quantity"] == RATIO) & (table["value"] != 1)]
    ratios = ratios[ratios["form"].isin(["quick", "full"])]
    if not len(ratios):
        return None
    ratios = ratios.assign(
        row=ratios["problem"] + ": " + ratios["program"],
        kind=np.where(ratios["program"].str.startswith("auxmc"), "another form of ours", "another program"),
    )
    groups = list(ratios.groupby("benchmark", sort=False))
    heights = [own["row"].nunique() for _, own in groups]
    with use_style():
        figure, panels = plt.subplots(
            len(groups),
            figsize=(PAGE_WIDTH_IN, 0.16 * sum(heights) + 0.25 * len(groups) + 0.5),
            sharex=True,
            squeeze=False,
            height_ratios=[height + 0.5 for height in heights],
            layout="constrained",
        )
        colours = dict(zip(["another program", "another form of ours"], sns.color_palette(), strict=False))
        for axes, (name, own) in zip(panels[:, 0], groups, strict=True):
            sns.stripplot(
                own,
                x="value",
                y="row",
                hue="kind",
                palette=colours,
                ax=axes,
                jitter=False,
                size=3.5,
                alpha=0.8,
            )
            axes.axvline(1.0, color="0.4", linewidth=0.8)
            axes.grid(axis="y", color="0.92")
            axes.set(xscale="log", xlabel="", ylabel="")
            axes.set_title(name.replace("_", " "), loc="left", fontsize="medium", fontweight="bold", pad=2)
            axes.get_legend().remove()
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("times better than the program named")
        dots = [
            Line2D([], [], marker="o", linestyle="", color=colour, label=kind)
            for kind, colour in colours.items()
        ]
        figure.legend(handles=dots, loc="outside upper center", ncols=2)
    return figure
