"""The tables and the figure of docs/benchmarks.md, from the rows that were kept."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from auxmc.plots.style import PAGE_WIDTH_IN, use_style
from auxmc_pipeline.readme_tables import between_marks, markdown
from benchmarks.harness import ROOT, Benchmark

PAGE = ROOT / "docs" / "benchmarks.md"
FIGURE = ROOT / "docs" / "images" / "benchmarks.svg"


def with_tables(text: str, rows: pd.DataFrame, benchmarks: Mapping[str, Benchmark]) -> str:
    """The page with the tables of these rows."""
    for name, benchmark in benchmarks.items():
        own = rows[rows["benchmark"] == name]
        content = (benchmark.table or table)(own, benchmark) if len(own) else "Not measured yet.\n"
        text = between_marks(text, name, content, str(PAGE))
    return text


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of each problem on the page: of the first form of full, quick, earlier."""
    rank = rows["form"].map({"full": 0, "quick": 1, "earlier": 2})
    return rows[rank == rank.groupby([rows["benchmark"], rows["problem"]]).transform("min")]


def ratios(rows: pd.DataFrame, benchmark: Benchmark) -> "pd.Series[float]":
    """How many times better the first program of a problem is than each, by program and seed."""
    quantity = next(quantity for quantity in benchmark.units if (rows["quantity"] == quantity).any())
    rows = rows[(rows["quantity"] == quantity) & ~rows["program"].isin(benchmark.of_other_quality)]
    values = rows.set_index(["program", "seed"])["value"]
    if not benchmark.ratios or rows["program"].nunique() < 2:
        return values[:0]
    relative = values.div(values[rows["program"].iloc[0]], level="seed").dropna()
    return 1.0 / relative if benchmark.units[quantity] == "1/s" else relative


def table(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    """Markdown with one row per problem: medians over seeds of our program, and ratios or values of the others."""
    kept = shown(rows)
    quantities = [q for q in benchmark.units if (kept["quantity"] == q).any()]
    has_others = bool((kept.groupby("problem")["program"].nunique() > 1).any())
    lines = [["problem", "; ".join(quantities), *["ratios" if benchmark.ratios else "others"] * has_others]]
    for problem, own in kept.groupby("problem", sort=False):
        mark = r"\*" * bool(own["load"].max() > benchmark.cores + 0.5)
        better = ratios(own, benchmark).groupby("program").median()
        cells: list[str] = []
        for program, of in own.groupby("program", sort=False):
            medians = of.groupby("quantity")["value"].median()
            values = [_number(medians[q], benchmark.units[q]) if q in medians else "" for q in quantities]
            # A ratio stands in place of the first quantity.
            ratio = _number(better[program]) if program in better else ""
            compared = [ratio, *values[1:]] if cells and benchmark.ratios else values
            text = "; ".join(filter(None, compared)) or "; ".join(filter(None, values))
            cells.append(f"{str(program).removeprefix('auxmc, ')}: {text}")
        lines.append([f"{problem}{mark}", cells[0], *["; ".join(cells[1:])] * has_others])
    return markdown(lines)


def _number(value: float, unit: str = "") -> str:
    """Three digits and the unit."""
    number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return "failed" if np.isnan(value) else f"{number} {unit}".strip()


def draw(rows: pd.DataFrame, benchmarks: Mapping[str, Benchmark]) -> Figure | None:
    """One point a seed, on a log scale, a row for each program that is compared with one of ours; 1 is as good.

    None where no ratio has been measured.
    """
    parts = []
    for name, of_benchmark in shown(rows[rows["form"] != "earlier"]).groupby("benchmark", sort=False):
        for problem, own in of_benchmark.groupby("problem", sort=False):
            found = ratios(own, benchmarks[str(name)]).reset_index()
            found = found[found["program"] != own["program"].iloc[0]]
            parts.append(found.assign(benchmark=name, row=f"{problem}: " + found["program"]))
    if not any(map(len, parts)):
        return None
    kinds = ["another program", "another form of ours"]
    compared = pd.concat([part for part in parts if len(part)])
    compared["kind"] = np.take(kinds, compared["program"].str.startswith("auxmc"))
    groups = list(compared.groupby("benchmark", sort=False))
    heights = [own["row"].nunique() + 0.5 for _, own in groups]
    size = PAGE_WIDTH_IN, 0.16 * sum(heights) + 0.17 * len(groups) + 0.5
    options: dict[str, Any] = {"jitter": False, "size": 3.5, "alpha": 0.8, "hue_order": kinds}
    with use_style():
        grid: dict[str, Any] = {"sharex": True, "squeeze": False, "height_ratios": heights}
        figure, panels = plt.subplots(len(groups), figsize=size, layout="constrained", **grid)
        for axes, (name, own) in zip(panels[:, 0], groups, strict=True):
            sns.stripplot(own, x="value", y="row", hue="kind", ax=axes, **options)
            handles, labels = axes.get_legend_handles_labels()
            axes.get_legend().remove()
            axes.axvline(1.0, color="0.4", linewidth=0.8)
            axes.grid(axis="y", color="0.92")
            axes.set(xscale="log", xlabel="", ylabel="")
            title = str(name).replace("_", " ")
            axes.set_title(title, loc="left", fontsize="medium", fontweight="bold", pad=2)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("times better than the program named")
        figure.legend(handles, labels, loc="outside upper center", ncols=2)
    return figure
