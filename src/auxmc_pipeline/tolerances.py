"""Efficiency of samplers as the tolerance of approximate Bayesian computation falls."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from auxmc.plots.panels import page
from auxmc.plots.style import CYCLE
from auxmc_pipeline.measuring import Measurement, mean
from auxmc_pipeline.tables import Tables

PER_EVALUATION, PER_SECOND = "ess_per_1000_evaluations", "ess_per_second"
_LABELS = {PER_EVALUATION: "ESS per 1000 evaluations", PER_SECOND: "ESS per second (1/s)"}


def best_by_tolerance(tables: Tables, quantity: str, by: str, **where: Any) -> pd.DataFrame:
    """Least efficiency over parameters of each chain, at the step size where its mean is largest for a tolerance.

    Args:
        tables: of the study.
        quantity: PER_EVALUATION or PER_SECOND.
        by: dimension of the parameters.
        where: columns that say which rows are those of a method.

    Raises:
        MissingData: the method was not run.
    """
    rows = tables.rows(f"chain_{by}", quantity, **where)
    point = [name for name in ("tolerance", "step_size") if name in rows and rows[name].notna().all()]
    least = rows.groupby([*point, "chain"])[quantity].min().reset_index()
    if "step_size" not in point:
        return least
    means = least.groupby(point)[quantity].mean().reset_index()
    of_tolerance = means.groupby("tolerance") if "tolerance" in point else means.groupby(lambda _: 0)
    return least.merge(means.loc[of_tolerance[quantity].idxmax(), point], on=point)


def gain(tables: Tables, quantity: str, by: str, above: dict[str, Any], below: dict[str, Any]) -> Measurement:
    """Efficiency of one method over that of another, both at the best of their step sizes."""
    first, second = (mean(best_by_tolerance(tables, quantity, by, **w)[quantity]) for w in (above, below))
    return first / second


def efficiency_figure(
    tables: Tables, by: str, approximate: Mapping[str, dict[str, Any]], exact: dict[str, Any]
) -> Figure:
    """Efficiency per evaluation and per second against the tolerance; a level for a method without one.

    Args:
        tables: of the study.
        by: dimension of the parameters, of which the one with the least efficiency counts.
        approximate: columns of the rows of each method, by its label.
        exact: those of constrained HMC.
    """
    figure, axes = page(2.8, 1, 2)
    for axis, (quantity, label) in zip(axes, _LABELS.items(), strict=True):
        for (name, where), colour, marker in zip(approximate.items(), CYCLE, "os", strict=False):
            chains = best_by_tolerance(tables, quantity, by, **where)
            look = {"color": colour, "marker": marker, "markeredgecolor": colour, "label": name}
            sns.lineplot(chains, x="tolerance", y=quantity, errorbar="se", legend=False, ax=axis, **look)
        level = best_by_tolerance(tables, quantity, by, **exact)[quantity].mean()
        axis.axhline(level, color=CYCLE[2], linestyle="--", label="constrained HMC")
        axis.set(xscale="log", yscale="log", xlabel=r"tolerance $\epsilon$", ylabel=label)
        ticks = sorted(chains["tolerance"].unique())
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def case_sizes(tables: Tables, methods: Mapping[str, dict[str, Any]]) -> str:
    """Chains and iterations of the case of each method, for a footer."""
    parts = []
    for name, where in methods.items():
        sizes = (tables.setting(size, case=where["case"]) for size in ("n_chains", "n_draws"))
        parts.append("{}: {} x {}".format(name, *sizes))
    return f"chains x iterations: {'; '.join(parts)}"
