"""Measures the claims about agreement with the reference posteriors, and about the limit of small tolerances.

IM-ALG-04, IM-ALG-14.
"""

from functools import partial
from itertools import pairwise

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import largest, smallest
from auxmc_pipeline.tables import Tables
from experiments.generalised_lambda.lookup import (
    PARAMETERS,
    TARGETS,
    array_of,
    chain_moment,
    reference_moment,
)


def _score(case: str, tables: Tables) -> Measurement:
    mean, error = chain_moment(tables, case, "mean")
    exact, exact_error = reference_moment(tables, "mean", TARGETS[case])
    scores = np.abs(mean - exact) / np.hypot(error, exact_error)
    # A distance in standard errors is itself uncertain by one of them.
    return largest(scores, np.ones(scores.size), PARAMETERS)


def _smallest_rise(tables: Tables) -> Measurement:
    """Smallest rise of the largest shift from one tolerance to the next larger one."""
    tolerances, shifts, errors = _limit(tables)
    sizes, places = np.abs(shifts).max(axis=1), np.abs(shifts).argmax(axis=1)
    error = np.take_along_axis(errors, places[:, None], axis=1)[:, 0]
    pairs = [f"from {low:g} to {high:g}" for low, high in pairwise(tolerances)]
    note = ", ".join(f"{size:.2g} at {eps:g}" for eps, size in zip(tolerances, sizes, strict=True))
    found = smallest(np.diff(sizes), np.hypot(error[1:], error[:-1]), pairs)
    return found._replace(note=f"largest shifts in posterior sd: {note}")


def _limit(tables: Tables) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Tolerances, ascending, with the shift of each mean from the exact posterior and its error, in its sd."""
    shifts, errors = (
        array_of(tables, name, "limit_tolerance", "parameter", case="reference").sortby("limit_tolerance")
        for name in ("limit_shift", "limit_shift_error")
    )
    return shifts["limit_tolerance"].values.astype(float), shifts.values, errors.values


MEASURE: Measures = {
    "IM-ALG-04": {
        "GL constrained HMC": partial(_score, "constrained_hmc"),
        "GL modified ABC": partial(_score, "modified_abc"),
    },
    "IM-ALG-14": {"GL monotone": _smallest_rise},
}
