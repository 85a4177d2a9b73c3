"""Measures the published claims CT-D01 to CT-D12 from the study's tables."""

import math
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures, recorded
from auxmc_pipeline.error_rules import difference, mean_over_replicates, standard_error
from auxmc_pipeline.tables import MissingData, Tables

_PUBLISHED_AIS = -1081.01
_NEAR_NATS = 1.5
# Shorter ladders and chains are biased towards the base, and say nothing about the published ones.
_ENOUGH_TEMPERATURES = 1000
_ENOUGH_DRAWS = 1000


def data_difference(tables: Tables) -> Measurement:
    """CT-D01."""
    try:
        return Measurement(_value(tables, "data_difference"), 0.0, "log radon, floor, uranium and county")
    except MissingData:
        raise MissingData(
            "cannot be compared: set AUXMC_DATA_DIR to the folder that holds the author's data file"
        ) from None


def annealed(tables: Tables) -> Measurement:
    """CT-D03."""
    _require(tables, "ais", "n_temperatures", _ENOUGH_TEMPERATURES)
    note = f"effective sample size of the weights {_value(tables, 'ess_is', 'ais'):.0f}"
    return recorded("log_evidence", "log_evidence_error", note=note, case="ais")(tables)


def quadrature_and_line(tables: Tables) -> Measurement:
    """CT-D04, the value."""
    evidence = _value(tables, "exact_log_evidence")
    return Measurement(evidence - _PUBLISHED_AIS, 0.0, f"quadrature gives {evidence:.4f}")


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
    return Measurement(float(by_chain.mean()) - evidence, standard_error(by_chain), note)


def final_score(tables: Tables) -> Measurement:
    """CT-D06, in standard errors."""
    found = final_estimate(tables)
    return Measurement(abs(found.value) / found.error, 0.0, "mean over chains of their estimates")


def running(tables: Tables, n_iterations: int) -> Measurement:
    """CT-D07 after a number of iterations."""
    mean = tables.curves.array("running_mean", "iteration", case="nuts")
    error = tables.curves.array("running_mean_error", "iteration", case="nuts")
    if n_iterations not in mean["iteration"]:
        raise MissingData(f"fewer than {n_iterations} iterations at this preset")
    after = {"iteration": n_iterations}
    return Measurement(float(mean.sel(after)) - _value(tables, "exact_log_evidence"), float(error.sel(after)))


def until_near(tables: Tables) -> Measurement:
    """CT-D07: time after which the mean of the running estimates stays near the exact value."""
    mean, seconds_so_far, gradients = (
        tables.curves.array(name, "iteration", case="nuts")
        for name in ("running_mean", "time_so_far", "gradients_so_far")
    )
    far = np.flatnonzero(np.abs(mean.values - _value(tables, "exact_log_evidence")) > _NEAR_NATS)
    first = int(far[-1]) + 1 if far.size else 0
    if first == mean.size:
        raise MissingData("does not stay near within the iterations of this preset")
    n_iterations = int(mean["iteration"].values[first])
    note = f"after {n_iterations} iterations, {gradients.values[first]:.0f} gradients in a chain"
    return Measurement(float(seconds_so_far.values[first]), math.nan, note)


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


def divergences(tables: Tables) -> Measurement:
    """CT-D10, divergences."""
    counts = _by_chain(tables, "n_failures")
    note = f"{int(counts.sum())} in all"
    if tables.summary.holds("n_failures", case="centred"):
        note += f"; centred form: {int(_by_chain(tables, 'n_failures', 'centred').sum())}"
    n_draws = float(tables.summary.setting("n_draws", case="nuts"))
    return mean_over_replicates(1000.0 * counts / n_draws, note)


def base_moments(tables: Tables) -> Measurement:
    """CT-D11."""
    _require(tables, "nuts", "n_draws", _ENOUGH_DRAWS)
    note = (
        f"largest of {_value(tables, 'n_base_moments'):.0f} means and second moments; "
        f"mean square score {_value(tables, 'base_moment_mean_square_score'):.2f}"
    )
    return Measurement(_value(tables, "base_moment_largest_score"), 0.0, note)


def parametrisations(tables: Tables) -> Measurement:
    """CT-D12."""
    non_centred, centred = (
        mean_over_replicates(_by_chain(tables, "log_evidence_by_chain", case)) for case in ("nuts", "centred")
    )
    found = difference(centred, non_centred)
    note = f"centred minus non-centred: {found.value:.3f} +- {found.error:.3f} nats"
    return Measurement(found.value / found.error, 0.0, note)


def _value(tables: Tables, quantity: str, case: str = "nuts") -> float:
    return tables.summary.value(quantity, case=case)


def _by_chain(tables: Tables, quantity: str, case: str = "nuts") -> FloatArray:
    return np.asarray(tables.summary.array(quantity, "chain", case=case).values, dtype=np.float64)


def _require(tables: Tables, case: str, setting: str, least: int) -> None:
    """Raises MissingData where a case was not run, or with a smaller setting."""
    found = float(tables.summary.setting(setting, case=case))
    if found < least:
        raise MissingData(f"needs {setting} of at least {least}, this preset has {found:.0f}")


MEASURE: Measures = {
    "CT-D01": {"largest difference": data_difference},
    "CT-D02": {
        "parameters": recorded("n_parameters", case="nuts"),
        "counties": recorded("n_groups", case="nuts"),
        "rows": recorded("n_rows", case="nuts"),
    },
    "CT-D03": {"log evidence": annealed},
    "CT-D04": {
        "quadrature minus published line": quadrature_and_line,
        "change between grids": recorded("exact_log_evidence_error", case="nuts"),
    },
    "CT-D05": {"mean of last 100 values": objective, "final bound minus exact value": bound},
    "CT-D06": {"last estimate minus quadrature": final_estimate, "distance in standard errors": final_score},
    "CT-D07": {
        "100 iterations": partial(running, n_iterations=100),
        "250 iterations": partial(running, n_iterations=250),
        "seconds to come within 1.5 nats": until_near,
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
