"""Efficiency of samplers as the tolerance of approximate Bayesian computation falls."""

from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from auxmc.plots.panels import page
from auxmc.plots.style import CYCLE
from auxmc_pipeline.measuring import Measurement, mean
from auxmc_pipeline.tables import Tables

_LABELS = {
    "ess_per_1000_evaluations": "ESS per 1000 evaluations",
    "ess_per_second": "ESS per second (1/s)",
}


def best_by_tolerance(tables: Tables, quantity: str, by: str, **where: Any) -> pd.DataFrame:
    """Least efficiency over `by` of each chain of a method, at the best step size for each tolerance.

    Methods without a tolerance have tolerance 0. Raises MissingData where the method was not run.
    """
    point = ["tolerance", "step_size"]
    rows = tables.rows(f"chain_{by}", quantity, **where).fillna(dict.fromkeys(point, 0.0))
    least = rows.groupby([*point, "chain"])[quantity].min()
    best = least.groupby(point).mean().groupby("tolerance").idxmax()
    return least.reset_index("chain").loc[best].reset_index()


def gain(
    tables: Tables, by: str, tolerance: float, above: dict[str, Any], below: dict[str, Any]
) -> Measurement:
    """Efficiency per evaluation of one method over that of another, at a tolerance if it has one."""
    quantity = next(iter(_LABELS))
    best = (best_by_tolerance(tables, quantity, by, **where) for where in (above, below))
    first, second = (mean(rows.loc[rows["tolerance"].isin((0.0, tolerance)), quantity]) for rows in best)
    return first / second


def efficiency_figure(tables: Tables, by: str, methods: dict[str, dict[str, Any]]) -> Figure:
    """Efficiency per evaluation and per second of methods, columns by label, against the tolerance."""
    figure, axes = page(2.8, 1, 2)
    for axis, (quantity, label) in zip(axes, _LABELS.items(), strict=True):
        for (name, where), colour, marker in zip(methods.items(), CYCLE, "os^", strict=False):
            chains = best_by_tolerance(tables, quantity, by, **where)
            if not chains["tolerance"].any():
                axis.axhline(chains[quantity].mean(), color=colour, linestyle="--", label=name)
                continue
            look = {"color": colour, "marker": marker, "markeredgecolor": colour, "label": name}
            sns.lineplot(chains, x="tolerance", y=quantity, errorbar="se", legend=False, ax=axis, **look)
            ticks = np.unique(chains["tolerance"])
        axis.set(xscale="log", yscale="log", xlabel=r"tolerance $\epsilon$", ylabel=label)
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure
