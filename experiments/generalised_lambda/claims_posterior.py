"""Measures the claims about the data, the posteriors and whether chains agree: IM-GL-01 to IM-GL-05, IM-GL-19."""

import math

import numpy as np
import pandas as pd

from auxmc_pipeline.claims import Measurement, measure_settings
from experiments.generalised_lambda.lookup import (
    CASE_NAMES,
    PARAMETERS,
    TARGETS,
    Measure,
    chain_moment,
    reference_moment,
    require_length,
    values_of,
)

_GENERATING = np.array([5.0, 1.0, 0.4, -0.1])


def _fact(quantity: str, note: str = "") -> Measure:
    """A number of the data, which no prior changes."""

    def measure(summary: pd.DataFrame) -> Measurement:
        return Measurement(float(values_of(summary, "reference", quantity, prior=None)), 0.0, note)

    return measure


def _moment(case: str, moment: str, parameter: str) -> Measure:
    """Posterior mean or sd of a parameter by chains."""

    def measure(summary: pd.DataFrame) -> Measurement:
        require_length(summary, case)
        place = PARAMETERS.index(parameter)
        values, errors = chain_moment(summary, case, moment)
        return Measurement(float(values[place]), float(errors[place]))

    return measure


def _distance_from_truth(summary: pd.DataFrame) -> Measurement:
    require_length(summary, "constrained_hmc")
    mean, error = chain_moment(summary, "constrained_hmc", "mean")
    sd, _ = chain_moment(summary, "constrained_hmc", "sd")
    scores = np.abs(mean - _GENERATING) / sd
    worst = int(np.argmax(scores))
    return Measurement(
        float(scores[worst]), float(error[worst] / sd[worst]), f"{PARAMETERS[worst]} is the farthest"
    )


def _widest(summary: pd.DataFrame) -> Measurement:
    """Parameters with the largest sd at tolerance 0.25; those within two standard errors of a tie count as unsure."""
    wide = TARGETS["abc_hmc_025"]
    others = [target for case, target in TARGETS.items() if case != "abc_hmc_025"]
    spreads, errors = np.stack([reference_moment(summary, "sd", target) for target in others], axis=1)
    largest = spreads.argmax(axis=0)[None]
    other, other_error = (np.take_along_axis(table, largest, 0)[0] for table in (spreads, errors))
    own, own_error = reference_moment(summary, "sd", wide)
    unsure = np.abs(own - other) < 2.0 * np.hypot(own_error, other_error)
    ratios = ", ".join(f"{name} {r:.3f}" for name, r in zip(PARAMETERS, own / other, strict=True))
    note = f"ratio of its sd to the largest of the others: {ratios}; {int(unsure.sum())} within two standard errors"
    return Measurement(float((own > other).sum()), 0.5 * float(unsure.sum()), note)


def _fine_over_cube(summary: pd.DataFrame) -> Measurement:
    fine, fine_error = reference_moment(summary, "sd", TARGETS["abc_hmc_005"])
    cube, cube_error = reference_moment(summary, "sd", TARGETS["modified_abc"])
    ratios = fine / cube
    relative = np.hypot(fine_error / fine, cube_error / cube) * ratios
    # Errors of the parameters go together: they come from the same draws.
    error = float(relative.mean())
    return Measurement(
        float(ratios.mean()), error, "a normal law of sd 0.05 is narrower than a cube of half side 0.1"
    )


def _largest_psrf(case: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        require_length(summary, case)
        points = values_of(summary, case, "psrf", "parameter")
        joint = float(values_of(summary, case, "psrf_multivariate"))
        return Measurement(float(points.max()), math.nan, f"multivariate factor {joint:.3f}")

    return measure


def _prior_shift(summary: pd.DataFrame) -> Measurement:
    strong, strong_error = reference_moment(summary, "mean", "exact")
    weak, weak_error = reference_moment(summary, "mean", "exact", prior="weak")
    sd, _ = reference_moment(summary, "sd", "exact")
    shifts = np.abs(weak - strong) / sd
    worst = int(np.argmax(shifts))
    note = ", ".join(
        f"{name} {shift:.2g}" for name, shift in zip(PARAMETERS, (weak - strong) / sd, strict=True)
    )
    error = math.hypot(strong_error[worst], weak_error[worst]) / sd[worst]
    return Measurement(float(shifts[worst]), float(error), f"reference posteriors, weak less strong: {note}")


MEASURE = {
    "IM-GL-01": measure_settings(
        {
            "largest difference": _fact("data_difference", "five published values"),
            "observations": _fact("n_observations"),
        }
    ),
    "IM-GL-02": measure_settings(
        {
            "posterior mean z1": _moment("constrained_hmc", "mean", "z1"),
            "posterior sd z1": _moment("constrained_hmc", "sd", "z1"),
            "largest distance": _distance_from_truth,
        }
    ),
    "IM-GL-03": measure_settings(
        {
            "widest at tolerance 0.25": _widest,
            "sd z3 at tolerance 0.25": _moment("abc_hmc_025", "sd", "z3"),
            "sd at 0.05 / modified ABC": _fine_over_cube,
        }
    ),
    "IM-GL-04": measure_settings({"largest PSRF": _largest_psrf("abc_hmc_005")}),
    "IM-GL-05": measure_settings({name: _largest_psrf(case) for case, name in CASE_NAMES.items()}),
    "IM-GL-19": measure_settings({"largest shift": _prior_shift}),
}
