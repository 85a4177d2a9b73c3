"""Measures the claims about the machines, their relaxations and variational bases: CT-B01 to CT-B09, CT-B11."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from auxmc.models.boltzmann.data import N_SYSTEMS
from auxmc.numerics.array_types import BooleanArray, FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.lookup import MissingData, rows_of
from experiments.boltzmann.lookup import SummaryMeasure, measure_summary


def _largest(quantity: str, note: str) -> SummaryMeasure:
    """Largest value over systems."""

    def measure(summary: pd.DataFrame) -> Measurement:
        values = _by_system(summary, quantity)
        return Measurement(float(values.max()), 0.0, f"{note}; {len(values)} systems")

    return measure


def _count(quantity: str, condition: Callable[[FloatArray], BooleanArray], note: str) -> SummaryMeasure:
    """Number of systems whose values meet a condition."""

    def measure(summary: pd.DataFrame) -> Measurement:
        values = _by_system(summary, quantity)
        count = int(condition(values).sum())
        if len(values) < N_SYSTEMS:
            raise MissingData(f"{count} of {len(values)} systems; the claim is about {N_SYSTEMS}")
        return Measurement(float(count), 0.0, note + ", ".join(f"{value:.2f}" for value in values))

    return measure


def _scalar(quantity: str, note: str) -> SummaryMeasure:
    """A quantity that the whole study has once."""

    def measure(summary: pd.DataFrame) -> Measurement:
        return Measurement(float(rows_of(summary, quantity)["value"].mean()), 0.0, note)

    return measure


def _plain_shift(summary: pd.DataFrame) -> Measurement:
    ratios = _by_system(summary, "largest_eigenvalue") / _by_system(summary, "largest_eigenvalue_plain_shift")
    return Measurement(
        float(ratios.max()), 0.0, "largest ratio of the top eigenvalues, optimal over plain shift"
    )


def _by_system(summary: pd.DataFrame, quantity: str) -> FloatArray:
    found = rows_of(summary, quantity, design="systems").sort_values("system")["value"].dropna()
    if found.empty:
        raise MissingData("needs the author's files: set AUXMC_DATA_DIR")
    return found.to_numpy(dtype=np.float64)


MEASURE = {
    "CT-B01": measure_summary(
        {"largest difference": _largest("generation_difference", "two weights and a bias of each file")}
    ),
    "CT-B02": measure_summary(
        {
            "share of large eigenvalues": _scalar(
                "large_eigenvalue_z", "deviation from the exact probability 0.549, in s.e."
            )
        }
    ),
    "CT-B03": measure_summary(
        {"log Z": _largest("published_log_z_difference", "author's diagonal, all states enumerated")}
    ),
    "CT-B04": measure_summary(
        {
            "norm of mean": _largest("published_mean_norm_difference", "relative difference"),
            "largest variance": _largest("published_variance_difference", "relative difference"),
        }
    ),
    "CT-B05": measure_summary(
        {
            "mixture of 1024": _scalar(
                "moment_relation_difference", "10 units, every component of the mixture"
            ),
            "exact sample": _scalar("exact_sample_z", "30 units, largest deviation of a mean in s.e."),
        }
    ),
    "CT-B07": measure_summary(
        {
            "rank": _largest("dimension", "largest rank"),
            "top eigenvalue": _largest("largest_eigenvalue", "largest top eigenvalue"),
            "below plain shift": _plain_shift,
        }
    ),
    "CT-B08": measure_summary(
        {"log zeta": _largest("published_log_zeta_difference", "author's diagonal and recipe")}
    ),
    "CT-B09": measure_summary(
        {
            "published recipe": _count(
                "log_zeta_excess_published",
                lambda v: v > 0.0,
                "systems with log zeta above log Z; excess, nats: ",
            ),
            "converged fits": _count(
                "log_zeta_excess_converged",
                lambda v: v < 0.0,
                "systems with log zeta below log Z; excess, nats: ",
            ),
        }
    ),
    "CT-B11": measure_summary(
        {"clusters": _scalar("top_clusters", "separated peaks along the leading principal component")}
    ),
}
