"""Measures the claims about R-hat against cost, figure 3.11b, and its ranking of methods: PM-P14, PM-P15, PM-P20."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import bootstrap_groups, jackknife
from auxmc_pipeline.tables import MissingData, Tables
from experiments.gp_probit.main_runs import APM_METHODS, MAIN_METHODS, efficiencies, main_case

_ENOUGH_ENDS = 10
# PM-P14: the fraction of ends at which R-hat of PM MH must be the largest.
_MOST_ENDS = 0.7


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

    def of(self, kept: IntegerArray) -> "_Path":
        """The path of the chains with these numbers, all or all but one."""
        if len(kept) == len(self.left_out):
            return self
        (without,) = set(range(len(self.left_out))) - set(kept.tolist())
        return self._replace(r_hat=self.left_out[without])


_OfPaths = Callable[[Mapping[str, _Path]], float]


def _path(tables: Tables, method: str, cost: str) -> _Path:
    wanted = {"case": main_case(method), "aggregate": "mean over coordinates"}
    r_hat = tables.curves.array("psrf", "end", **wanted).values
    left_out = tables.curves.array("psrf_left_out", "left_out", "end", **wanted).values
    place = tables.curves.array(cost, "end", case=main_case(method))
    if place.size < _ENOUGH_ENDS or not np.isfinite(r_hat).any():
        raise MissingData("the chains are too short for a path of R-hat")
    return _Path(place.values, place["end"].values, r_hat, left_out)


def _log_excess(paths: Mapping[str, _Path]) -> FloatArray:
    """Log of R-hat - 1 of PM MH over the largest of the others at equal cost [end of the second half of its run].

    Where R-hat is not above 1 it counts as the least number above.
    """
    pm = paths["pm_mh"]
    late = pm.ends > 0.5 * pm.ends[-1]
    others = [np.interp(pm.cost[late], p.cost, p.r_hat) for m, p in paths.items() if m != "pm_mh"]
    least = np.finfo(np.float64).eps
    own, largest = np.maximum(pm.r_hat[late] - 1.0, least), np.maximum(np.max(others, axis=0) - 1.0, least)
    return np.log(own / largest)


def _at_end(paths: Mapping[str, _Path]) -> float:
    return float(_log_excess(paths)[-1])


def _at_most_ends(paths: Mapping[str, _Path]) -> float:
    """What the log excess is above at most of the ends."""
    return float(np.quantile(_log_excess(paths), 1.0 - _MOST_ENDS))


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
    """Value of a function of paths, with its error from leaving out each chain of each method in turn."""
    paths = {method: _path(tables, method, cost) for method in methods}

    def of_chains(method: str, kept: IntegerArray) -> float:
        return function({**paths, method: paths[method].of(kept)})

    found = [jackknife(partial(of_chains, m), len(path.left_out)) for m, path in paths.items()]
    return Measurement(found[0].value, math.hypot(*(part.error for part in found)))


_end_of_run = partial(_of_paths, _at_end, "cubic_operations_so_far", MAIN_METHODS)


def _smallest_efficiency(tables: Tables) -> Measurement:
    """Average ESS per cubic operation of SS+SS over the smallest of the others."""

    def ratio(*chains: FloatArray) -> float:
        *others, of_slice = (float(values.mean()) for values in chains)
        return of_slice / min(others)

    return bootstrap_groups(ratio, *efficiencies(tables, *MAIN_METHODS).values())


MEASURE: Measures = {
    "PM-P14": {
        "end of run": _end_of_run,
        "most of second half": partial(_of_paths, _at_most_ends, "cubic_operations_so_far", MAIN_METHODS),
        "most of second half against SS+SS": partial(
            _of_paths, _at_most_ends, "cubic_operations_so_far", ("pm_mh", "apm_ss_ss")
        ),
        "most of second half against SS+SS by run time": partial(
            _of_paths, _at_most_ends, "run_time_so_far", ("pm_mh", "apm_ss_ss")
        ),
    },
    "PM-P15": {
        "PM MH / largest of APM": partial(_of_paths, _ratio_of_rises, "cubic_operations_so_far", MAIN_METHODS)
    },
    "PM-P20": {"ESS of SS+SS / smallest of others": _smallest_efficiency, "Rhat at end": _end_of_run},
}
