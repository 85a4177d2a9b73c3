"""Measures the published claims CT-D01 to CT-D12 from the study's tables."""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from auxmc_pipeline.claims import Measurement, measure_settings, standard_error
from auxmc_pipeline.lookup import MissingData, find, scalar
from experiments.radon.lookup import AIS_CASE, CENTRED_CASE, NUTS_CASE, value_of

_PUBLISHED_AIS = -1081.01
_NEAR_NATS = 1.5
# Shorter ladders and chains are biased towards the base, and say nothing about the published ones.
_ENOUGH_TEMPERATURES = 1000
_ENOUGH_DRAWS = 1000


def data_difference(summary: pd.DataFrame) -> Measurement:
    """CT-D01."""
    try:
        return Measurement(
            value_of(summary, NUTS_CASE, "data_difference"), 0.0, "log radon, floor, uranium and county"
        )
    except MissingData:
        note = "cannot be compared: set AUXMC_DATA_DIR to the folder that holds the author's data file"
        return Measurement(math.nan, math.nan, note)


def annealed(summary: pd.DataFrame) -> Measurement:
    """CT-D03."""
    _require(summary, AIS_CASE, "n_temperatures", _ENOUGH_TEMPERATURES)
    value, error = (value_of(summary, AIS_CASE, name) for name in ("log_evidence", "log_evidence_error"))
    ess = value_of(summary, AIS_CASE, "ess_is")
    return Measurement(value, error, f"effective sample size of the weights {ess:.0f}")


def quadrature_and_line(summary: pd.DataFrame) -> Measurement:
    """CT-D04, the value."""
    exact = value_of(summary, NUTS_CASE, "exact_log_evidence")
    return Measurement(exact - _PUBLISHED_AIS, 0.0, f"quadrature gives {exact:.4f}")


def grids(summary: pd.DataFrame) -> Measurement:
    """CT-D04, its error."""
    return Measurement(value_of(summary, NUTS_CASE, "exact_log_evidence_error"), 0.0)


def objective(summary: pd.DataFrame) -> Measurement:
    """CT-D05, the published rule."""
    zeta, error = (value_of(summary, NUTS_CASE, name) for name in ("log_zeta", "log_zeta_error"))
    bound = value_of(summary, NUTS_CASE, "lower_bound")
    return Measurement(zeta, error, f"the bound of the final fit, from many draws, is {bound:.2f}")


def bound(summary: pd.DataFrame) -> Measurement:
    """CT-D05, the sign."""
    names = ("lower_bound", "lower_bound_error", "exact_log_evidence")
    value, error, exact = (value_of(summary, NUTS_CASE, name) for name in names)
    return Measurement(value - exact, error)


def final_estimate(summary: pd.DataFrame) -> Measurement:
    """CT-D06, in nats: mean over chains of their estimates, as published."""
    by_chain = _by_chain(summary, NUTS_CASE)
    exact = value_of(summary, NUTS_CASE, "exact_log_evidence")
    pooled = value_of(summary, NUTS_CASE, "log_evidence") - exact
    note = f"{by_chain.size} chains; their pooled estimate differs by {pooled:.3f}"
    return Measurement(float(by_chain.mean()) - exact, standard_error(by_chain), note)


def final_score(summary: pd.DataFrame) -> Measurement:
    """CT-D06, in standard errors."""
    found = final_estimate(summary)
    return Measurement(abs(found.value) / found.error, 0.0, "mean over chains of their estimates")


def running(n_iterations: int) -> Callable[[pd.DataFrame, pd.DataFrame], Measurement]:
    """CT-D07 after a number of iterations."""

    def measure(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
        mean = find(curves, NUTS_CASE, "running_mean", "iteration")
        error = find(curves, NUTS_CASE, "running_mean_error", "iteration")
        if mean is None or error is None or n_iterations not in mean["iteration"]:
            raise MissingData(f"fewer than {n_iterations} iterations at this preset")
        exact = value_of(summary, NUTS_CASE, "exact_log_evidence")
        return Measurement(
            float(mean.sel(iteration=n_iterations)) - exact, float(error.sel(iteration=n_iterations))
        )

    return measure


def until_near(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
    """CT-D07: time after which the mean of the running estimates stays near the exact value."""
    names = ("running_mean", "time_so_far", "gradients_so_far")
    mean, seconds_so_far, gradients = (find(curves, NUTS_CASE, name, "iteration") for name in names)
    if mean is None or seconds_so_far is None or gradients is None:
        raise MissingData("not run at this preset")
    exact = value_of(summary, NUTS_CASE, "exact_log_evidence")
    far = np.flatnonzero(np.abs(mean.values - exact) > _NEAR_NATS)
    first = int(far[-1]) + 1 if far.size else 0
    if first == mean.size:
        raise MissingData("does not stay near within the iterations of this preset")
    n_iterations = int(mean["iteration"].values[first])
    note = f"after {n_iterations} iterations, {gradients.values[first]:.0f} gradients in a chain"
    return Measurement(float(seconds_so_far.values[first]), math.nan, note)


def improvement(summary: pd.DataFrame) -> Measurement:
    """CT-D08."""
    reference = annealed(summary)
    zeta, error = (value_of(summary, NUTS_CASE, name) for name in ("log_zeta", "log_zeta_error"))
    exact = value_of(summary, NUTS_CASE, "exact_log_evidence")
    final = exact - value_of(summary, NUTS_CASE, "lower_bound")
    note = f"quadrature minus the bound of the final fit: {final:.2f}"
    return Measurement(reference.value - zeta, math.hypot(reference.error, error), note)


def seconds(quantity: str) -> Callable[[pd.DataFrame], Measurement]:
    """CT-D09."""
    return lambda summary: Measurement(
        value_of(summary, NUTS_CASE, quantity), math.nan, "depends on the machine"
    )


def acceptance(summary: pd.DataFrame) -> Measurement:
    """CT-D10, acceptance after adaptation."""
    rates = find(summary, NUTS_CASE, "acceptance", "chain")
    if rates is None:
        raise MissingData("not run at this preset")
    return Measurement(float(rates.mean()), standard_error(rates.values), "after the step size has adapted")


def divergences(summary: pd.DataFrame) -> Measurement:
    """CT-D10, divergences."""
    counts = find(summary, NUTS_CASE, "n_failures", "chain")
    if counts is None:
        raise MissingData("not run at this preset")
    rows = summary[summary["case"] == NUTS_CASE]
    per_chain = 1000.0 * counts.values / float(rows["n_draws"].iloc[0])
    centred = find(summary, CENTRED_CASE, "n_failures", "chain")
    note = "" if centred is None else f"; centred form: {int(centred.sum())}"
    return Measurement(
        float(per_chain.mean()), standard_error(per_chain), f"{int(counts.sum())} in all{note}"
    )


def base_moments(summary: pd.DataFrame) -> Measurement:
    """CT-D11."""
    _require(summary, NUTS_CASE, "n_draws", _ENOUGH_DRAWS)
    largest = value_of(summary, NUTS_CASE, "base_moment_largest_score")
    mean_square = value_of(summary, NUTS_CASE, "base_moment_mean_square_score")
    n = value_of(summary, NUTS_CASE, "n_base_moments")
    return Measurement(
        largest, 0.0, f"largest of {n:.0f} means and second moments; mean square score {mean_square:.2f}"
    )


def parametrisations(summary: pd.DataFrame) -> Measurement:
    """CT-D12."""
    first, second = _by_chain(summary, NUTS_CASE), _by_chain(summary, CENTRED_CASE)
    difference = float(second.mean() - first.mean())
    error = math.hypot(standard_error(first), standard_error(second))
    return Measurement(
        difference / error, 0.0, f"centred minus non-centred: {difference:.3f} +- {error:.3f} nats"
    )


def quick_convergence(summary: pd.DataFrame, curves: pd.DataFrame) -> dict[str, Measurement]:
    """CT-D07."""
    settings = {
        "100 iterations": running(100),
        "250 iterations": running(250),
        "seconds to come within 1.5 nats": until_near,
    }
    found = {}
    for setting, measure in settings.items():
        try:
            found[setting] = measure(summary, curves)
        except MissingData as missing:
            found[setting] = Measurement(math.nan, math.nan, str(missing))
    return found


def _size(quantity: str) -> Callable[[pd.DataFrame], Measurement]:
    return lambda summary: Measurement(value_of(summary, NUTS_CASE, quantity), 0.0)


MEASURE = {
    "CT-D01": measure_settings({"largest difference": data_difference}),
    "CT-D02": measure_settings(
        {"parameters": _size("n_parameters"), "counties": _size("n_groups"), "rows": _size("n_rows")}
    ),
    "CT-D03": measure_settings({"log evidence": annealed}),
    "CT-D04": measure_settings(
        {"quadrature minus published line": quadrature_and_line, "change between grids": grids}
    ),
    "CT-D05": measure_settings(
        {"mean of last 100 values": objective, "final bound minus exact value": bound}
    ),
    "CT-D06": measure_settings(
        {"last estimate minus quadrature": final_estimate, "distance in standard errors": final_score}
    ),
    "CT-D07": quick_convergence,
    "CT-D08": measure_settings({"AIS minus variational objective": improvement}),
    "CT-D09": measure_settings(
        {"variational fit": seconds("fit_seconds"), "NUTS chain": seconds("seconds_per_chain")}
    ),
    "CT-D10": measure_settings({"mean acceptance": acceptance, "diverged per 1000 iterations": divergences}),
    "CT-D11": measure_settings({"largest distance in standard errors": base_moments}),
    "CT-D12": measure_settings({"distance in standard errors": parametrisations}),
}


def _require(summary: pd.DataFrame, case: str, setting: str, least: int) -> None:
    """Raises MissingData where a case was not run, or with a smaller setting."""
    found = scalar(summary, case, setting)
    if found is None:
        raise MissingData(f"case {case}: not run at this preset")
    if float(str(found)) < least:
        raise MissingData(f"needs {setting} of at least {least}, this preset has {float(str(found)):.0f}")


def _by_chain(summary: pd.DataFrame, case: str) -> np.ndarray:
    found = find(summary, case, "log_evidence_by_chain", "chain")
    if found is None:
        raise MissingData(f"log_evidence_by_chain of the case {case}: not run at this preset")
    return np.asarray(found.values, float)
