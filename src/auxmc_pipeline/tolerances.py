"""Efficiency of samplers as the tolerance of approximate Bayesian computation falls."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from auxmc.plots.style import CYCLE
from auxmc_pipeline.measuring import Measurement, mean
from auxmc_pipeline.plots.panels import page
from auxmc_pipeline.tables import Measure, Tables

_EFFICIENCY = "ess_per_1000_evaluations"


def best_by_tolerance(tables: Tables, by: str, **where: Any) -> pd.DataFrame:
    """Least efficiency over `by` of each chain of a method, at the best step size for each tolerance.

    The step is chosen by the same chains, which makes its efficiency a little too large. Methods without a tolerance
    have tolerance 0. Raises MissingData where the method was not run.
    """
    point = ["tolerance", "step_size"]
    rows = tables.rows(f"chain_{by}", _EFFICIENCY, **where).fillna(dict.fromkeys(point, 0.0))
    least = rows.groupby([*point, "chain"])[_EFFICIENCY].min()
    best = least.groupby(point).mean().groupby("tolerance").idxmax()
    return least.reset_index("chain").loc[best].reset_index()


def gain(
    tables: Tables, by: str, tolerance: float, above: dict[str, Any], below: dict[str, Any]
) -> Measurement:
    """Efficiency per evaluation of one method over that of another, at a tolerance if it has one."""
    best = (best_by_tolerance(tables, by, **where) for where in (above, below))
    first, second = (mean(rows.loc[rows["tolerance"].isin((0.0, tolerance)), _EFFICIENCY]) for rows in best)
    return first / second


def riemannian_gains(
    by: str, methods: dict[str, dict[str, Any]], tolerances: tuple[float, ...]
) -> dict[str, Measure]:
    """Measures of the gain of Riemannian HMC over the other methods, columns by label, at each tolerance."""
    above = methods["Riemannian HMC"]
    return {
        f"Riemannian HMC over {rival} at {tolerance:g}": partial(
            gain, by=by, tolerance=tolerance, above=above, below=methods[rival]
        )
        for rival in ("ABC HMC", "constrained HMC")
        for tolerance in tolerances
    }


def efficiency_figure(tables: Tables, by: str, methods: dict[str, dict[str, Any]]) -> Figure:
    """Efficiency per evaluation of methods, columns by label, against the tolerance."""
    figure, axis = page(2.8)
    for (name, where), colour, marker in zip(methods.items(), CYCLE, "os^", strict=False):
        chains = best_by_tolerance(tables, by, **where)
        if not chains["tolerance"].any():
            axis.axhline(chains[_EFFICIENCY].mean(), color=colour, linestyle="--", label=name)
            continue
        look = {"color": colour, "marker": marker, "markeredgecolor": colour, "label": name}
        sns.lineplot(chains, x="tolerance", y=_EFFICIENCY, errorbar="se", legend=False, ax=axis, **look)
        ticks = np.unique(chains["tolerance"])
    axis.set(xscale="log", yscale="log", xlabel=r"tolerance $\epsilon$", ylabel="ESS per 1000 evaluations")
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure
