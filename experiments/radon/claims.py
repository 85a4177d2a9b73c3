"""Measures the published claims CT-D01 to CT-D12 from the study's tables."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures, exact, recorded
from auxmc_pipeline.error_rules import (
    bootstrap,
    difference,
    largest,
    mean_over_replicates,
    rate_of_events,
    score,
)
from auxmc_pipeline.tables import MissingData, Tables

_PUBLISHED_AIS = -1081.01
_NEAR_NATS = 1.5


def data_difference(tables: Tables) -> Measurement:
    """CT-D01."""
    try:
        return exact(_value(tables, "data_difference"), "log radon, floor, uranium and county")
    except MissingData:
        raise MissingData(
            "cannot be compared: set AUXMC_DATA_DIR to the folder that holds the author's data file"
        ) from None


def annealed(tables: Tables) -> Measurement:
    """CT-D03."""
    note = f"effective sample size of the weights {_value(tables, 'ess_is', 'ais'):.0f}"
    return recorded("log_evidence", "log_evidence_error", note=note, case="ais")(tables)


def quadrature_and_line(tables: Tables) -> Measurement:
    """CT-D04, the value."""
    evidence = _value(tables, "exact_log_evidence")
    return exact(evidence - _PUBLISHED_AIS, f"quadrature gives {evidence:.4f}")


def objective(tables: Tables) -> Measurement:
    """CT-D05, the published rule."""
    note = f"the bound of the final fit, from many draws, is {_value(tables, 'lower_bound'):.2f}"
    return recorded("log_zeta", "log_zeta_error", note=note, case="nuts")(tables)


def bound(tables: Tables) -> Measurement:
    """CT-D05, the sign."""
    gap = _value(tables, "lower_bound") - _value(tables, "exact_log_evidence")
    return Measurement(gap, _value(tables, "lower_bound_error"))


def final_estimate(tables: Tables) -> Measurement:
    """CT-D06, in nats: mean over chains of their estimates, as published."""
    by_chain = _by_chain(tables, "log_evidence_by_chain")
    evidence = _value(tables, "exact_log_evidence")
    pooled = _value(tables, "log_evidence") - evidence
    note = f"{by_chain.size} chains; their pooled estimate differs by {pooled:.3f}"
    return mean_over_replicates(by_chain - evidence, note)


def final_score(tables: Tables) -> Measurement:
    """CT-D06, in standard errors."""
    return score(final_estimate(tables), 0.0)


def running(tables: Tables, n_iterations: int) -> Measurement:
    """CT-D07 after a number of iterations."""
    by_chain = tables.curves.array("running_by_chain", "chain", case="nuts", iteration=n_iterations)
    return mean_over_replicates(by_chain.values - _value(tables, "exact_log_evidence"))


def iterations_until_near(tables: Tables) -> Measurement:
    """CT-D07: iterations after which the mean of the running estimates stays near the exact value."""
    estimates = tables.curves.array("running_by_chain", "chain", "iteration", case="nuts")
    iterations, known = estimates["iteration"].values, _value(tables, "exact_log_evidence")

    def until_near(by_chain: FloatArray) -> float:
        far = np.flatnonzero(np.abs(by_chain.mean(axis=0) - known) > _NEAR_NATS)
        first = int(far[-1]) + 1 if far.size else 0
        return float(iterations[first]) if first < iterations.size else math.inf

    return bootstrap(until_near, estimates.values, f"mean of {len(estimates)} chains")


def seconds_until_near(tables: Tables) -> Measurement:
    """CT-D07: the same as time."""
    found = iterations_until_near(tables).value
    if math.isinf(found):
        raise MissingData("does not stay near within the iterations of this preset")
    first = {"iteration": found}
    seconds_so_far, gradients = (
        float(tables.curves.array(name, "iteration", case="nuts").sel(first))
        for name in ("time_so_far", "gradients_so_far")
    )
    return Measurement(seconds_so_far, math.nan, f"{gradients:.0f} gradients in a chain")


def improvement(tables: Tables) -> Measurement:
    """CT-D08."""
    zeta = recorded("log_zeta", "log_zeta_error", case="nuts")(tables)
    final = _value(tables, "exact_log_evidence") - _value(tables, "lower_bound")
    note = f"quadrature minus the bound of the final fit: {final:.2f}"
    return difference(annealed(tables), zeta, note)


def seconds(tables: Tables, quantity: str) -> Measurement:
    """CT-D09."""
    return Measurement(_value(tables, quantity), math.nan, "depends on the machine")


def acceptance(tables: Tables) -> Measurement:
    """CT-D10, acceptance after adaptation."""
    return mean_over_replicates(_by_chain(tables, "acceptance"), "after the step size has adapted")


def divergences(tables: Tables, case: str = "nuts") -> Measurement:
    """CT-D10, divergences."""
    counts = _by_chain(tables, "n_failures", case)
    thousands = float(tables.summary.setting("n_draws", case=case)) / 1000.0
    note = f"{int(counts.sum())} in all"
    if not counts.any():
        return rate_of_events(0, counts.size * thousands, note)
    return mean_over_replicates(counts / thousands, note)


def base_moments(tables: Tables) -> Measurement:
    """CT-D11."""
    scores = np.abs(tables.summary.array("base_moment_score", "base_moment", case="nuts").values)
    note = f"largest of {scores.size} means and second moments; mean square score {np.mean(scores**2):.2f}"
    return largest(scores, np.ones_like(scores), [note] * scores.size)


def parametrisations(tables: Tables) -> Measurement:
    """CT-D12."""
    non_centred, centred = (
        mean_over_replicates(_by_chain(tables, "log_evidence_by_chain", case)) for case in ("nuts", "centred")
    )
    return score(difference(centred, non_centred, "centred minus non-centred, nats"), 0.0)


def gradients(tables: Tables, case: str) -> Measurement:
    """Gradients of all chains or runs of a case, in millions; of the no-U-turn sampler as they happened."""
    if case == "ais":
        return exact(_value(tables, "n_gradients_per_run", case) * _value(tables, "n_runs", case) / 1e6)
    each = _by_chain(tables, "n_gradients_per_chain", case) / 1e6
    if np.ptp(each) == 0.0:  # trajectories of fixed length
        return exact(float(each.sum()))
    mean = mean_over_replicates(each)
    return Measurement(each.size * mean.value, each.size * mean.error)


def _value(tables: Tables, quantity: str, case: str = "nuts") -> float:
    return tables.summary.value(quantity, case=case)


def _by_chain(tables: Tables, quantity: str, case: str = "nuts") -> FloatArray:
    return np.asarray(tables.summary.array(quantity, "chain", case=case).values, dtype=np.float64)


MEASURE: Measures = {
    "CT-D01": {"largest difference": data_difference},
    "CT-D02": {
        "parameters": recorded("n_parameters", case="nuts", exact=True),
        "counties": recorded("n_groups", case="nuts", exact=True),
        "rows": recorded("n_rows", case="nuts", exact=True),
    },
    "CT-D03": {"log evidence": annealed},
    "CT-D04": {
        "quadrature minus published line": quadrature_and_line,
        "change between grids": recorded("exact_log_evidence_error", case="nuts", exact=True),
    },
    "CT-D05": {"mean of last 100 values": objective, "final bound minus exact value": bound},
    "CT-D06": {"last estimate minus quadrature": final_estimate, "distance in standard errors": final_score},
    "CT-D07": {
        "100 iterations": partial(running, n_iterations=100),
        "250 iterations": partial(running, n_iterations=250),
        "iterations to come within 1.5 nats": iterations_until_near,
        "seconds to come within 1.5 nats": seconds_until_near,
    },
    "CT-D08": {"AIS minus variational objective": improvement},
    "CT-D09": {
        "variational fit": partial(seconds, quantity="fit_seconds"),
        "NUTS chain": partial(seconds, quantity="seconds_per_chain"),
    },
    "CT-D10": {"mean acceptance": acceptance, "diverged per 1000 iterations": divergences},
    "CT-D11": {"largest distance in standard errors": base_moments},
    "CT-D12": {"distance in standard errors": parametrisations},
}

NUMBERS: dict[str, Callable[[Tables], Measurement]] = {
    "log zeta": recorded("log_zeta", "log_zeta_error", case="nuts"),
    "bound of the non-centred fit": recorded("lower_bound", "lower_bound_error", case="nuts"),
    "bound of the centred fit": recorded("lower_bound", "lower_bound_error", case="centred"),
    "exact log evidence": recorded("exact_log_evidence", case="nuts", exact=True),
    "log evidence by AIS": recorded("log_evidence", "log_evidence_error", case="ais"),
    "log evidence by NUTS": recorded("log_evidence", "log_evidence_error", case="nuts"),
    "log evidence by centred NUTS": recorded("log_evidence", "log_evidence_error", case="centred"),
    "log evidence by Gibbs CT": recorded("log_evidence", "log_evidence_error", case="hmc__method-gibbs_ct"),
    "log evidence by CT-HMC": recorded("log_evidence", "log_evidence_error", case="hmc__method-ct_hmc"),
    "million gradients of AIS": partial(gradients, case="ais"),
    "million gradients of NUTS": partial(gradients, case="nuts"),
    "million gradients of centred NUTS": partial(gradients, case="centred"),
    "million gradients of Gibbs CT": partial(gradients, case="hmc__method-gibbs_ct"),
    "divergences of centred NUTS": partial(divergences, case="centred"),
}
