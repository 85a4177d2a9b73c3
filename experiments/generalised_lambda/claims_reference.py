"""Measures the claims about agreement with the reference posteriors, and about the limit of small tolerances.

IM-GL-21, IM-ALG-04, IM-ALG-14.
"""

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, measure_settings
from auxmc_pipeline.lookup import MissingData
from experiments.generalised_lambda.lookup import (
    CASE_NAMES,
    PARAMETERS,
    TARGETS,
    Measure,
    array_of,
    chain_moment,
    reference_moment,
    require_length,
)


def _error_of_means(summary: pd.DataFrame) -> Measurement:
    require_length(summary, "constrained_hmc")
    mean, error = chain_moment(summary, "constrained_hmc", "mean")
    exact, exact_error = reference_moment(summary, "mean", "exact")
    sd, _ = reference_moment(summary, "sd", "exact")
    return _largest(np.abs(mean - exact) / sd, np.hypot(error, exact_error) / sd)


def _error_of_sds(summary: pd.DataFrame) -> Measurement:
    require_length(summary, "constrained_hmc")
    sd, error = chain_moment(summary, "constrained_hmc", "sd")
    exact, exact_error = reference_moment(summary, "sd", "exact")
    return _largest(np.abs(sd / exact - 1.0), np.hypot(error, exact_error) / exact)


def _largest(values: FloatArray, errors: FloatArray) -> Measurement:
    """Value and error of the parameter with the largest value [parameter]."""
    worst = int(np.argmax(values))
    return Measurement(float(values[worst]), float(errors[worst]), PARAMETERS[worst])


def _score(case: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        require_length(summary, case)
        mean, error = chain_moment(summary, case, "mean")
        exact, exact_error = reference_moment(summary, "mean", TARGETS[case])
        scores = np.abs(mean - exact) / np.hypot(error, exact_error)
        return Measurement(float(scores.max()), 0.0, f"largest of {scores.size} parameters")

    return measure


def _monotone(summary: pd.DataFrame) -> Measurement:
    tolerances, shifts, errors = _limit(summary)
    sizes, places = np.abs(shifts).max(axis=1), np.abs(shifts).argmax(axis=1)
    rises = np.diff(sizes)
    error = np.array([errors[i, place] for i, place in enumerate(places)])
    in_order = rises > -2.0 * np.hypot(error[1:], error[:-1])
    note = ", ".join(f"{size:.2g} at {eps:g}" for eps, size in zip(tolerances, sizes, strict=True))
    return Measurement(float(np.mean(in_order)), 0.0, f"largest shifts in posterior sd: {note}")


def _order(summary: pd.DataFrame) -> Measurement:
    tolerances, shifts, errors = _limit(summary)
    # One parameter throughout: that which is shifted most at the largest tolerance.
    place = int(np.abs(shifts[-1]).argmax())
    sizes, relative = np.abs(shifts[:, place]), errors[:, place] / np.abs(shifts[:, place])
    usable = relative < 0.5
    if usable.sum() < 2:
        raise MissingData("too few draws for shifts larger than their errors at this preset")
    design = np.stack([np.ones(int(usable.sum())), np.log(tolerances[usable])], axis=1)
    weights = np.diag(relative[usable] ** -2)
    covariance = np.linalg.inv(design.T @ weights @ design)
    slope = float((covariance @ design.T @ weights @ np.log(sizes[usable]))[1])
    return Measurement(
        slope, float(np.sqrt(covariance[1, 1])), f"{PARAMETERS[place]}, {int(usable.sum())} tolerances"
    )


def _limit(summary: pd.DataFrame) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Tolerances, ascending, with the shift of each mean from the exact posterior and its error, in its sd."""
    shifts, errors = (
        array_of(summary, "reference", name, "limit_tolerance", "parameter").sortby("limit_tolerance")
        for name in ("limit_shift", "limit_shift_error")
    )
    return shifts["limit_tolerance"].values.astype(float), shifts.values, errors.values


MEASURE = {
    "IM-GL-21": measure_settings(
        {"largest error of a mean": _error_of_means, "largest error of an sd": _error_of_sds}
    ),
    "IM-ALG-04": measure_settings(
        {f"GL {CASE_NAMES[case]}": _score(case) for case in ("constrained_hmc", "modified_abc")}
    ),
    "IM-ALG-14": measure_settings({"GL monotone": _monotone, "GL order": _order}),
}
