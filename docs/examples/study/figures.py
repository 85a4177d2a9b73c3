"""Figures of the study, drawn from its tables."""

import seaborn as sns
from matplotlib.figure import Figure

from auxmc.plots.style import COLUMN_WIDTH_IN
from auxmc_pipeline.footer import chain_lengths, footer
from auxmc_pipeline.tables import Tables


def density(tables: Tables) -> Figure:
    """Histograms of both kernels and the exact density."""
    figure = Figure(figsize=(COLUMN_WIDTH_IN, 2.6), layout="constrained")
    axis = figure.subplots()
    sns.lineplot(tables["chain_bin"], x="bin", y="histogram", hue="case", errorbar="sd", ax=axis)
    if "exact_density" in tables.get("bin", ()):
        exact = tables.rows("bin", "exact_density", case="hmc")
        axis.plot(exact["bin"], exact["exact_density"], color="black", linestyle="--", label="exact")
    axis.set(xlabel="$x_1$", ylabel="density")
    axis.legend()
    footer(figure, tables, chain_lengths(tables, case="hmc"))
    return figure


DRAW = {"fig_density": density}
