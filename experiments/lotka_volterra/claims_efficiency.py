"""Measures the claims about effective samples per second and per run of the generator: IM-LV-17 to IM-LV-19."""

from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import bootstrap_groups, mean_over_replicates
from auxmc_pipeline.tables import Tables
from experiments.lotka_volterra.lookup import ABC_ROWS, COORDINATES, FIGURE_ROWS, ROWS, by_chain, known_value

_UNITS = (("second", ""), ("run", ", per run of the generator"))
"""What effective samples are counted by, and how it is said in the setting of a claim."""

# Reverse mode gives the derivative of a number for at most the work of four evaluations (Griewank and Walther 2008).
_RUNS_OF_GRADIENT = 4.0
# Vectors that give the Jacobian of each constraint: derivatives by the four rates, or of the nine summaries.
_JACOBIAN_VECTORS = {"all": 4.0, "summaries": 9.0}


def _efficiency(row: str, rate: int, tables: Tables) -> Measurement:
    """Effective samples of a log rate per second."""
    rates = by_chain(tables, "ess_per_second", row)[rate]
    return mean_over_replicates(rates, "mean over chains; depends on the machine")


def _smallest_ratio(
    unit: str, row: str, others: tuple[str, ...], tables: Tables, rate: int | None = None
) -> Measurement:
    """Smallest ratio of the efficiency of a row to that of others.

    Args:
        unit: what effective samples are counted by, "second" or "run".
        row: whose efficiency is divided.
        others: by whose.
        tables: of the study.
        rate: of which log rate; None for the mean over all.
    """
    above, *below = (_efficiencies(unit, name, rate, tables) for name in (row, *others))
    each = ", ".join(
        f"{ROWS[other].label} {_ratio(above, one):.3g}" for other, one in zip(others, below, strict=True)
    )
    of = "mean over rates" if rate is None else "mean over chains"
    return bootstrap_groups(_ratio, above, *below, note=f"{of}; ratio to {each}")


def _ratio(above: FloatArray, *below: FloatArray) -> float:
    """Mean over chains over the largest mean of others; infinite where these do not move."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.divide(above.mean(), max(one.mean() for one in below)))


def _efficiencies(unit: str, row: str, rate: int | None, tables: Tables) -> FloatArray:
    """Of each chain [chain]."""
    if unit == "second":
        by_rate = by_chain(tables, "ess_per_second", row)
    else:
        by_rate = by_chain(tables, "ess", row) / _runs(row, tables)
    return np.asarray(by_rate.mean(axis=0) if rate is None else by_rate[rate])


def _runs(row: str, tables: Tables) -> FloatArray:
    """Runs of the generator of each chain, derivatives counted at the bound of their work [chain].

    Constrained HMC has a Jacobian for each geodesic sub-step, which takes two projections, that of the step and that of
    the reversed one, and the derivative of the Jacobian's determinant for each integrator step.
    """
    method = ROWS[row].method
    n_draws = known_value(tables.summary, "n_iterations", design="chains", method=method)
    evaluations = n_draws * by_chain(tables, "evaluations_per_iteration", row)
    if row == "hmc":
        return np.asarray(_RUNS_OF_GRADIENT * evaluations)
    if row not in _JACOBIAN_VECTORS:
        return evaluations
    n_sub_steps = by_chain(tables, "n_projections", row) / 2.0
    n_steps = n_sub_steps / tables.summary.setting("n_inner_steps", design="chains", method=method)
    runs_of_jacobian = _RUNS_OF_GRADIENT * _JACOBIAN_VECTORS[row]
    return np.asarray(evaluations + runs_of_jacobian * (n_sub_steps + _RUNS_OF_GRADIENT * n_steps))


def _rivals(row: str) -> tuple[str, ...]:
    return tuple(other for other in FIGURE_ROWS if other != row)


MEASURE: Measures = {
    "IM-LV-17": {
        **{
            f"{ROWS[row].label}, {name}": partial(_efficiency, row, i)
            for row in FIGURE_ROWS
            for i, name in enumerate(COORDINATES)
        },
        **{
            f"all over {ROWS[row].label}, {name}": partial(_smallest_ratio, "second", "all", (row,), rate=i)
            for row in _rivals("all")
            for i, name in enumerate(COORDINATES)
        },
    },
    "IM-LV-18": {
        **{
            f"all over summaries{label}": partial(_smallest_ratio, unit, "all", ("summaries",))
            for unit, label in _UNITS
        },
        "all over summaries, dense": partial(_smallest_ratio, "second", "all_dense", ("summaries",)),
    },
    "IM-LV-19": {
        f"{name}{label}": partial(_smallest_ratio, unit, row, others)
        for unit, label in _UNITS
        for name, row, others in (
            ("ball 100", "all", ("ball_100",)),
            ("others", "all", ("ball_10", "gaussian", "hmc")),
            ("on summaries", "summaries", ABC_ROWS),
        )
    },
}
