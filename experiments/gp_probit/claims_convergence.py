"""Measures the claims about R-hat against cost, figure 3.11b, and its ranking of methods: PM-P14, PM-P15, PM-P20."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from auxmc.diagnostics.errors_of_means import few_replicates
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.tables import MissingData, Tables
from experiments.gp_probit.claim_statistics import bootstrapped, only_of_long_chains
from experiments.gp_probit.main_runs import (
    APM_METHODS,
    MAIN_METHODS,
    draws_per_chain,
    efficiencies,
    main_case,
)

_ENOUGH_FOR_R_HAT = 5000
_ENOUGH_ENDS = 10


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


_OfPaths = Callable[[Mapping[str, _Path]], float]


def _path(tables: Tables, method: str, cost: str) -> _Path:
    wanted = {"case": main_case(method), "aggregate": "mean over coordinates"}
    r_hat = tables.curves.array("psrf", "end", **wanted).values
    left_out = tables.curves.array("psrf_left_out", "left_out", "end", **wanted).values
    place = tables.curves.array(cost, "end", case=main_case(method))
    if place.size < _ENOUGH_ENDS or not np.isfinite(r_hat).any():
        raise MissingData("the chains are too short for a path of R-hat")
    return _Path(place.values, place["end"].values, r_hat, left_out)


def _second_half(paths: Mapping[str, _Path]) -> tuple[FloatArray, FloatArray]:
    """R-hat - 1 of PM MH in the second half of its run, and the largest of the others at equal cost."""
    pm = paths["pm_mh"]
    late = pm.ends > 0.5 * pm.ends[-1]
    others = [np.interp(pm.cost[late], p.cost, p.r_hat) for m, p in paths.items() if m != "pm_mh"]
    return pm.r_hat[late] - 1.0, np.max(others, axis=0) - 1.0


def _excess_at_end(paths: Mapping[str, _Path]) -> float:
    """Log of R-hat - 1 of PM MH at the end of its run over the largest of the others at equal cost."""
    own, others = _second_half(paths)
    if not (own[-1] > 0 and others[-1] > 0):
        return math.nan
    return math.log(own[-1] / others[-1])


def _share_of_second_half(paths: Mapping[str, _Path]) -> float:
    own, others = _second_half(paths)
    return float(np.mean(own > others))


def _ratio_of_rises(paths: Mapping[str, _Path]) -> float:
    summed = {m: _summed_rises(path.r_hat) for m, path in paths.items()}
    largest = max(summed[m] for m in APM_METHODS)
    return summed["pm_mh"] / largest if largest > 0 else math.inf


def _summed_rises(r_hat: FloatArray) -> float:
    """Sum of the rises of log(R-hat - 1) from one end to the next, both above 1."""
    excess = r_hat - 1.0
    usable = np.isfinite(excess) & (excess > 0)
    steps = np.diff(np.log(np.where(usable, excess, 1.0)))
    return float(np.sum(np.where(usable[1:] & usable[:-1], np.maximum(steps, 0.0), 0.0)))


def _of_paths(function: _OfPaths, cost: str, methods: tuple[str, ...], tables: Tables) -> Measurement:
    """Value of a function of paths, with its error from leaving out each chain of each method in turn.

    Raises:
        MissingData: the main chains are too short for R-hat to show how they stick.
    """
    paths = {method: _path(tables, method, cost) for method in methods}
    value, draws = function(paths), draws_per_chain(tables)
    if math.isfinite(value) and draws < _ENOUGH_FOR_R_HAT:
        raise MissingData(
            f"R-hat of chains of {draws} iterations shows how they came from their start; here {value:.2g}"
        )
    variance = 0.0
    for method, path in paths.items():
        n_chains = len(path.left_out)
        values = np.array([function({**paths, method: path.without(c)}) for c in range(n_chains)])
        jackknife = (n_chains - 1) / n_chains * float(np.sum((values - values.mean()) ** 2))
        variance += jackknife * few_replicates(n_chains) ** 2
    return Measurement(value, math.sqrt(variance) if variance >= 0 else math.nan)


_end_of_run = partial(_of_paths, _excess_at_end, "cubic_operations_so_far", MAIN_METHODS)


def _both_rankings(tables: Tables) -> Measurement:
    def margin(values: Mapping[str, FloatArray]) -> float:
        *others, of_slice = (float(values[m].mean()) for m in MAIN_METHODS)
        return min(others) - of_slice

    ess, end = bootstrapped(efficiencies(tables, *MAIN_METHODS), margin), _end_of_run(tables)
    if not math.isfinite(end.value):
        raise MissingData("R-hat at the end of the run is not above 1")
    held = float(ess.value > 0) + float(end.value > 0)
    doubtful = any(not abs(m.value) >= 2 * (m.error if math.isfinite(m.error) else 0.0) for m in (ess, end))
    note = f"ESS: {'holds' if ess.value > 0 else 'fails'}; Rhat: {'holds' if end.value > 0 else 'fails'}"
    return Measurement(held, 1.0 if doubtful else 0.0, note)


MEASURE: Measures = only_of_long_chains(
    {
        "PM-P14": {
            "end of run": _end_of_run,
            "share of second half": partial(
                _of_paths, _share_of_second_half, "cubic_operations_so_far", MAIN_METHODS
            ),
            "share of second half against SS+SS by run time": partial(
                _of_paths, _share_of_second_half, "run_time_so_far", ("pm_mh", "apm_ss_ss")
            ),
        },
        "PM-P15": {
            "PM MH / largest of APM": partial(
                _of_paths, _ratio_of_rises, "cubic_operations_so_far", MAIN_METHODS
            )
        },
        "PM-P20": {"both rankings": _both_rankings},
    }
)
