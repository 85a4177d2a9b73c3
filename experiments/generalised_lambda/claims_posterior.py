"""Measures the claims about the data, the posteriors and whether chains agree: IM-GL-01 to IM-GL-05, IM-GL-19."""

import math
from functools import partial

import numpy as np

from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import largest
from auxmc_pipeline.tables import Tables
from experiments.generalised_lambda.lookup import (
    CASE_NAMES,
    GENERATING,
    PARAMETERS,
    TARGETS,
    chain_moment,
    reference_moment,
    require_length,
    values_of,
)


def _fact(quantity: str, tables: Tables, note: str = "") -> Measurement:
    """A number of the data, which no prior changes."""
    return Measurement(float(values_of(tables, "reference", quantity, prior=None)), 0.0, note)


def _moment(case: str, moment: str, parameter: str, tables: Tables) -> Measurement:
    """Posterior mean or sd of a parameter by chains."""
    place = PARAMETERS.index(parameter)
    values, errors = chain_moment(tables, case, moment)
    return Measurement(float(values[place]), float(errors[place]))


def _distance_from_truth(tables: Tables) -> Measurement:
    mean, error = chain_moment(tables, "constrained_hmc", "mean")
    sd, _ = chain_moment(tables, "constrained_hmc", "sd")
    found = largest(np.abs(mean - list(GENERATING.values())) / sd, error / sd, PARAMETERS)
    return found._replace(note=f"{found.note} is the farthest")


def _widest(tables: Tables) -> Measurement:
    """Parameters with the largest sd at tolerance 0.25; those within two standard errors of a tie count as unsure."""
    others = [target for case, target in TARGETS.items() if case != "abc_hmc_025"]
    spreads, errors = np.stack([reference_moment(tables, "sd", target) for target in others], axis=1)
    widest = spreads.argmax(axis=0)[None]
    other, other_error = (np.take_along_axis(table, widest, 0)[0] for table in (spreads, errors))
    own, own_error = reference_moment(tables, "sd", TARGETS["abc_hmc_025"])
    unsure = np.abs(own - other) < 2.0 * np.hypot(own_error, other_error)
    ratios = ", ".join(f"{name} {r:.3f}" for name, r in zip(PARAMETERS, own / other, strict=True))
    note = f"ratio of its sd to the largest of the others: {ratios}; {int(unsure.sum())} within two standard errors"
    return Measurement(float((own > other).sum()), 0.5 * float(unsure.sum()), note)


def _fine_over_cube(tables: Tables) -> Measurement:
    fine, fine_error = reference_moment(tables, "sd", TARGETS["abc_hmc_005"])
    cube, cube_error = reference_moment(tables, "sd", TARGETS["modified_abc"])
    ratios = fine / cube
    # Errors of the parameters go together: they come from the same draws.
    error = (np.hypot(fine_error / fine, cube_error / cube) * ratios).mean()
    note = "a normal law of sd 0.05 is narrower than a cube of half side 0.1"
    return Measurement(float(ratios.mean()), float(error), note)


def _largest_psrf(case: str, tables: Tables) -> Measurement:
    require_length(tables, case)
    points = values_of(tables, case, "psrf", "parameter")
    joint = float(values_of(tables, case, "psrf_multivariate"))
    return Measurement(float(points.max()), math.nan, f"multivariate factor {joint:.3f}")


def _prior_shift(tables: Tables) -> Measurement:
    strong, strong_error = reference_moment(tables, "mean", "exact")
    weak, weak_error = reference_moment(tables, "mean", "exact", prior="weak")
    sd, _ = reference_moment(tables, "sd", "exact")
    shifts = (weak - strong) / sd
    note = ", ".join(f"{name} {shift:.2g}" for name, shift in zip(PARAMETERS, shifts, strict=True))
    found = largest(np.abs(shifts), np.hypot(strong_error, weak_error) / sd, PARAMETERS)
    return found._replace(note=f"reference posteriors, weak less strong: {note}")


MEASURE: Measures = {
    "IM-GL-01": {
        "largest difference": partial(_fact, "data_difference", note="five published values"),
        "observations": partial(_fact, "n_observations"),
    },
    "IM-GL-02": {
        "posterior mean z1": partial(_moment, "constrained_hmc", "mean", "z1"),
        "posterior sd z1": partial(_moment, "constrained_hmc", "sd", "z1"),
        "largest distance": _distance_from_truth,
    },
    "IM-GL-03": {
        "widest at tolerance 0.25": _widest,
        "sd z3 at tolerance 0.25": partial(_moment, "abc_hmc_025", "sd", "z3"),
        "sd at 0.05 / modified ABC": _fine_over_cube,
    },
    "IM-GL-04": {"largest PSRF": partial(_largest_psrf, "abc_hmc_005")},
    "IM-GL-05": {name: partial(_largest_psrf, case) for case, name in CASE_NAMES.items()},
    "IM-GL-19": {"largest shift": _prior_shift},
}
