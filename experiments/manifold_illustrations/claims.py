"""Measures the claims of the illustrations from their tables."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from auxmc.engine.claims import Measurement

__all__ = ["MEASURE"]


def oscillation(summary: pd.DataFrame, curves: pd.DataFrame) -> Mapping[str, Measurement]:
    """IM-IL-01, over trajectories with momenta of their own."""
    del curves
    return {
        "crossings": _mean(_values(summary, "crossings")),
        "net over path": _mean(_values(summary, "net_over_path")),
    }


def branches(summary: pd.DataFrame, curves: pd.DataFrame) -> Mapping[str, Measurement]:
    """IM-IL-02."""
    del curves
    rows = summary[summary["quantity"] == "branch_changes_per_iteration"]
    rates = {noise: rows.loc[rows["noise"] == noise, "value"].to_numpy(float) for noise in set(rows["noise"])}
    scales = sorted(scale for scale in rates if scale > 0.0)
    smallest, largest = (_mean(rates[scale]) for scale in (scales[0], scales[-1]))
    ratio = smallest.value / largest.value if largest.value > 0.0 else np.nan
    relative = np.hypot(
        smallest.error / largest.value if largest.value > 0.0 else np.nan,
        ratio * largest.error / largest.value if largest.value > 0.0 else np.nan,
    )
    note = f"noise scale {scales[0]:g} over {scales[-1]:g}"
    return {
        "exact": Measurement(float(rates[0.0].sum()), 0.0),
        "noisy": largest._replace(note=f"noise scale {scales[-1]:g}"),
        "falls": Measurement(float(ratio), float(relative), note),
    }


MEASURE: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Mapping[str, Measurement]]] = {
    "IM-IL-01": oscillation,
    "IM-IL-02": branches,
}


def _values(summary: pd.DataFrame, quantity: str) -> NDArray[np.float64]:
    return summary.loc[summary["quantity"] == quantity, "value"].to_numpy(float)


def _mean(values: NDArray[np.float64]) -> Measurement:
    return Measurement(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))))
