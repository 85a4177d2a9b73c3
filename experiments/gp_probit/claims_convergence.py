"""Measures the claims about R-hat against cost, figure 3.11b, and its ranking of methods: PM-P14, PM-P15, PM-P20."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, few_replicates
from auxmc_pipeline.lookup import find
from experiments.gp_probit.claim_statistics import (
    Measure,
    Measured,
    bootstrapped,
    missing,
    only_of_long_chains,
)
from experiments.gp_probit.lookup import APM_METHODS, MAIN_METHODS, draws_per_chain, efficiencies, main_case

_ENOUGH_FOR_R_HAT = 5000
_ENOUGH_ENDS = 10
_AGGREGATE = "mean over coordinates"
_OPERATIONS = "cubic_operations_so_far"


class _Path(NamedTuple):
    """Path of R-hat of one method against a cost, with the paths that leave out one chain each.

    Attributes:
        cost: of a chain so far [end].
        ends: iterations so far [end].
        r_hat: of all chains [end].
        left_out: R-hat without a chain [chain, end].
    """

    cost: FloatArray
    ends: FloatArray
    r_hat: FloatArray
    left_out: FloatArray

    def without(self, chain: int) -> "_Path":
        """The path of the other chains."""
        return self._replace(r_hat=self.left_out[chain])


def convergence(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P14."""
    by_operations = _paths(curves, _OPERATIONS, *MAIN_METHODS)
    by_time = _paths(curves, "run_time_so_far", "pm_mh", "apm_ss_ss")
    return {
        "end of run": _end_of_run(summary, curves),
        "share of second half": _if_long(summary, _jackknifed(by_operations, _share_of_second_half)),
        "share of second half against SS+SS by run time": _if_long(
            summary, _jackknifed(by_time, _share_of_second_half)
        ),
    }


def rises(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P15."""

    def ratio(paths: Mapping[str, _Path]) -> float:
        total = {m: _summed_rises(path.r_hat) for m, path in paths.items()}
        largest = max(total[m] for m in APM_METHODS)
        return total["pm_mh"] / largest if largest > 0 else math.inf

    found = _jackknifed(_paths(curves, _OPERATIONS, *MAIN_METHODS), ratio)
    return {"PM MH / largest of APM": _if_long(summary, found)}


def both_rankings(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P20."""
    found = efficiencies(summary, *MAIN_METHODS)
    end = _end_of_run(summary, curves)
    if len(found) < len(MAIN_METHODS) or not math.isfinite(end.value):
        return {"both rankings": missing(end.note)}

    def margin(values: Mapping[str, FloatArray]) -> float:
        *others, of_slice = (float(values[m].mean()) for m in MAIN_METHODS)
        return min(others) - of_slice

    ess = bootstrapped(found, margin)
    held = float(ess.value > 0) + float(end.value > 0)
    doubtful = any(not abs(m.value) >= 2 * (m.error if math.isfinite(m.error) else 0.0) for m in (ess, end))
    note = f"ESS: {'holds' if ess.value > 0 else 'fails'}; Rhat: {'holds' if end.value > 0 else 'fails'}"
    return {"both rankings": Measurement(held, 1.0 if doubtful else 0.0, note)}


MEASURE: dict[str, Measure] = only_of_long_chains(
    {"PM-P14": convergence, "PM-P15": rises, "PM-P20": both_rankings}
)


def _end_of_run(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
    """Log of R-hat - 1 of PM MH at the end of its run over the largest of the others at equal cubic operations."""
    return _if_long(summary, _jackknifed(_paths(curves, _OPERATIONS, *MAIN_METHODS), _excess_at_end))


def _paths(curves: pd.DataFrame, cost: str, *methods: str) -> dict[str, _Path | None]:
    return {method: _path(curves, method, cost) for method in methods}


def _path(curves: pd.DataFrame, method: str, cost: str) -> _Path | None:
    case = main_case(method)
    point = find(curves, case, "r_hat", "aggregate", "end")
    left_out = find(curves, case, "r_hat_left_out", "aggregate", "left_out", "end")
    place = find(curves, case, cost, "end")
    if point is None or left_out is None or place is None or place.size < _ENOUGH_ENDS:
        return None
    r_hat = point.sel(aggregate=_AGGREGATE).values
    if not np.isfinite(r_hat).any():
        return None
    return _Path(
        place.values, place["end"].values.astype(float), r_hat, left_out.sel(aggregate=_AGGREGATE).values
    )


def _second_half(paths: Mapping[str, _Path]) -> tuple[FloatArray, FloatArray]:
    """R-hat - 1 of PM MH in the second half of its run, and the largest of the others at equal cost."""
    pm = paths["pm_mh"]
    late = pm.ends > 0.5 * pm.ends[-1]
    others = [np.interp(pm.cost[late], p.cost, p.r_hat) for m, p in paths.items() if m != "pm_mh"]
    return pm.r_hat[late] - 1.0, np.max(others, axis=0) - 1.0


def _excess_at_end(paths: Mapping[str, _Path]) -> float:
    own, others = _second_half(paths)
    if not (own[-1] > 0 and others[-1] > 0):
        return math.nan
    return math.log(own[-1] / others[-1])


def _share_of_second_half(paths: Mapping[str, _Path]) -> float:
    own, others = _second_half(paths)
    return float(np.mean(own > others))


def _summed_rises(r_hat: FloatArray) -> float:
    """Sum of the rises of log(R-hat - 1) from one end to the next, both above 1."""
    excess = r_hat - 1.0
    usable = np.isfinite(excess) & (excess > 0)
    steps = np.diff(np.log(np.where(usable, excess, 1.0)))
    return float(np.sum(np.where(usable[1:] & usable[:-1], np.maximum(steps, 0.0), 0.0)))


def _jackknifed(
    paths: Mapping[str, _Path | None], function: Callable[[Mapping[str, _Path]], float]
) -> Measurement:
    """Value of a function of paths, with its error from leaving out each chain of each method in turn."""
    complete = {m: path for m, path in paths.items() if path is not None}
    if len(complete) < len(paths):
        return missing("not run, or the chains are too short for a path of R-hat")
    variance = 0.0
    for method, path in complete.items():
        n_chains = len(path.left_out)
        values = np.array([function({**complete, method: path.without(c)}) for c in range(n_chains)])
        jackknife = (n_chains - 1) / n_chains * float(np.sum((values - values.mean()) ** 2))
        variance += jackknife * few_replicates(n_chains) ** 2
    return Measurement(function(complete), math.sqrt(variance) if variance >= 0 else math.nan)


def _if_long(summary: pd.DataFrame, measured: Measurement) -> Measurement:
    """The measurement where the main chains are long enough for R-hat to show how they stick."""
    draws = draws_per_chain(summary)
    if not math.isfinite(measured.value) or (draws is not None and draws >= _ENOUGH_FOR_R_HAT):
        return measured
    note = f"R-hat of chains of {draws} iterations shows how they came from their start; here {measured.value:.2g}"
    return missing(note)
