"""Measures the claims about the machines, their relaxations and variational bases: CT-B01 to CT-B09, CT-B11."""

from functools import partial

import numpy as np

from auxmc.models.boltzmann.data import N_SYSTEMS
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.tables import MissingData, Tables
from experiments.boltzmann.relative_errors import about_published_units


@about_published_units
def largest(tables: Tables, quantity: str, note: str) -> Measurement:
    """Largest value over systems."""
    values = _by_system(tables, quantity)
    return Measurement(float(values.max()), 0.0, f"{note}; {len(values)} systems")


@about_published_units
def n_systems_with(tables: Tables, quantity: str, sign: float, note: str) -> Measurement:
    """CT-B09: number of systems whose values have a sign."""
    values = _by_system(tables, quantity)
    count = int(np.sum(np.sign(values) == sign))
    if len(values) < N_SYSTEMS:
        raise MissingData(f"{count} of {len(values)} systems; the claim is about {N_SYSTEMS}")
    return Measurement(float(count), 0.0, note + ", ".join(f"{value:.2f}" for value in values))


@about_published_units
def of_study(tables: Tables, quantity: str, note: str) -> Measurement:
    """A quantity that the whole study has once."""
    return Measurement(tables.summary.value(quantity), 0.0, note)


@about_published_units
def plain_shift(tables: Tables) -> Measurement:
    """CT-B07, beside the smallest multiple of the identity."""
    optimal, plain = (
        _by_system(tables, quantity) for quantity in ("largest_eigenvalue", "largest_eigenvalue_plain_shift")
    )
    note = "largest ratio of the top eigenvalues, optimal over plain shift"
    return Measurement(float((optimal / plain).max()), 0.0, note)


def _by_system(tables: Tables, quantity: str) -> FloatArray:
    found = tables.summary.rows(quantity, design="systems").sort_values("system")["value"].dropna()
    if found.empty:
        raise MissingData("needs the author's files: set AUXMC_DATA_DIR")
    return found.to_numpy(dtype=np.float64)


def _largest(quantity: str, note: str) -> partial[Measurement]:
    return partial(largest, quantity=quantity, note=note)


def _of_study(quantity: str, note: str) -> partial[Measurement]:
    return partial(of_study, quantity=quantity, note=note)


MEASURE: Measures = {
    "CT-B01": {
        "largest difference": _largest("generation_difference", "two weights and a bias of each file")
    },
    "CT-B02": {
        "share of large eigenvalues": _of_study(
            "large_eigenvalue_z", "deviation from the exact probability 0.549, in s.e."
        )
    },
    "CT-B03": {"log Z": _largest("published_log_z_difference", "author's diagonal, all states enumerated")},
    "CT-B04": {
        "norm of mean": _largest("published_mean_norm_difference", "relative difference"),
        "largest variance": _largest("published_variance_difference", "relative difference"),
    },
    "CT-B05": {
        "mixture of 1024": _of_study(
            "moment_relation_difference", "10 units, every component of the mixture"
        ),
        "exact sample": _of_study("exact_sample_z", "30 units, largest deviation of a mean in s.e."),
    },
    "CT-B07": {
        "rank": _largest("dimension", "largest rank"),
        "top eigenvalue": _largest("largest_eigenvalue", "largest top eigenvalue"),
        "below plain shift": plain_shift,
    },
    "CT-B08": {"log zeta": _largest("published_log_zeta_difference", "author's diagonal and recipe")},
    "CT-B09": {
        "published recipe": partial(
            n_systems_with,
            quantity="log_zeta_excess_published",
            sign=1.0,
            note="systems with log zeta above log Z; excess, nats: ",
        ),
        "converged fits": partial(
            n_systems_with,
            quantity="log_zeta_excess_converged",
            sign=-1.0,
            note="systems with log zeta below log Z; excess, nats: ",
        ),
    },
    "CT-B11": {
        "clusters": _of_study("top_clusters", "separated peaks along the leading principal component")
    },
}
