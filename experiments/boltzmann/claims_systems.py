"""Measures the claims about the machines, their relaxations and variational bases: CT-B01 to CT-B09, CT-B11."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures, exact
from auxmc_pipeline.error_rules import bootstrap, fraction_of_trials, largest
from auxmc_pipeline.tables import MissingData, Tables
from experiments.boltzmann.model.data import N_SYSTEMS

# Width of a component of the mixture, points of the density estimate, and the part of its highest peak that counts.
_WIDTH, _N_POINTS, _LEAST_PEAK = 1.0, 400, 0.05


def largest_of_systems(tables: Tables, quantity: str, note: str) -> Measurement:
    """Largest value over systems."""
    return exact(float(_by_system(tables, quantity).max()), f"{note}; {N_SYSTEMS} systems")


def n_systems_with(tables: Tables, quantity: str, sign: float, note: str) -> Measurement:
    """CT-B09: number of systems whose values have a sign."""
    values = _by_system(tables, quantity)
    return exact(float(np.sum(np.sign(values) == sign)), note + ", ".join(f"{v:.2f}" for v in values))


def of_study(tables: Tables, quantity: str, note: str) -> Measurement:
    """A quantity that the whole study has once."""
    return exact(tables.summary.value(quantity), note)


def fraction_of_large_eigenvalues(tables: Tables) -> Measurement:
    """CT-B02."""
    n = float(tables.summary.setting("n_spectra", design="systems")) * float(
        tables.summary.setting("n_units", design="systems")
    )
    exact_fraction = tables.summary.value("large_eigenvalue_probability")
    fraction = tables.summary.value("large_eigenvalue_share")
    return fraction_of_trials(
        fraction, round(n), f"modulus above 5 of at most 6; exact probability {exact_fraction:.4f}"
    )


def exact_sample_score(tables: Tables) -> Measurement:
    """CT-B05: largest deviation of a mean of exact samples."""
    scores = np.abs(tables.summary.array("exact_sample_score", "direction").values)
    return largest(scores, np.ones_like(scores), [f"largest of {scores.size}"] * scores.size)


def plain_shift(tables: Tables) -> Measurement:
    """CT-B07, next to the smallest multiple of the identity."""
    optimal, plain = (
        _by_system(tables, quantity) for quantity in ("largest_eigenvalue", "largest_eigenvalue_plain_shift")
    )
    note = "largest ratio of the top eigenvalues, optimal over plain shift"
    return exact(float((optimal / plain).max()), note)


def valley(tables: Tables) -> Measurement:
    """CT-B11: density between the clusters over that of the lower cluster, by resampling the samples."""
    samples = tables.curves.array("projection", "sample", view="principal", axis="x").values
    note = f"{samples.size} exact samples along the leading principal component"
    return bootstrap(deepest_valley, samples, note)


def deepest_valley(samples: Sequence[float] | FloatArray) -> float:
    """Density of samples [sample] in the deepest valley over that of the lower peak next to it; 1 for no valley.

    The kernel is as wide as a component of the mixture. Peaks below a twentieth of the highest do not count.
    """
    values = np.asarray(samples, dtype=np.float64)
    edges = np.linspace(values.min() - 3.0 * _WIDTH, values.max() + 3.0 * _WIDTH, _N_POINTS + 1)
    counts, _ = np.histogram(values, bins=edges)
    centres = 0.5 * (edges[1:] + edges[:-1])
    density = np.exp(-0.5 * ((centres[:, None] - centres) / _WIDTH) ** 2) @ counts
    before, behind = np.maximum.accumulate(density), np.maximum.accumulate(density[::-1])[::-1]
    lower_peak = np.minimum(before, behind)
    counted = lower_peak > _LEAST_PEAK * density.max()
    return float(np.min(density[counted] / lower_peak[counted]))


def n_fits(tables: Tables, quantity: str, extreme: Callable[[FloatArray], float]) -> Measurement:
    """Fewest or most fits of a system."""
    return exact(float(extreme(_by_system(tables, quantity))))


def _by_system(tables: Tables, quantity: str) -> FloatArray:
    found = tables.summary.rows(quantity, design="systems").sort_values("system")["value"].dropna()
    if found.empty:
        raise MissingData("needs the author's files: set AUXMC_DATA_DIR")
    if found.size < N_SYSTEMS:
        raise MissingData(f"{found.size} of the {N_SYSTEMS} published systems: not run at this preset")
    return found.to_numpy(dtype=np.float64)


def _largest(quantity: str, note: str) -> partial[Measurement]:
    return partial(largest_of_systems, quantity=quantity, note=note)


def _of_study(quantity: str, note: str) -> partial[Measurement]:
    return partial(of_study, quantity=quantity, note=note)


def _below_exact(quantity: str) -> partial[Measurement]:
    note = "systems with log zeta below log Z; excess, nats: "
    return partial(n_systems_with, quantity=quantity, sign=-1.0, note=note)


MEASURE: Measures = {
    "CT-B01": {
        "three numbers of each file": _largest(
            "generation_difference", "two weights and a bias of each file"
        ),
        "whole files": _largest("generation_difference_all", "all weights and biases of each file"),
    },
    "CT-B02": {"fraction of large eigenvalues": fraction_of_large_eigenvalues},
    "CT-B03": {"log Z": _largest("published_log_z_difference", "author's diagonal, all states enumerated")},
    "CT-B04": {
        "norm of mean": _largest("published_mean_norm_difference", "relative difference"),
        "largest variance": _largest("published_variance_difference", "relative difference"),
    },
    "CT-B05": {
        "mixture of 1024": _of_study(
            "moment_relation_difference", "10 units, every component of the mixture"
        ),
        "exact sample": exact_sample_score,
    },
    "CT-B06": {
        "density": _of_study("density_difference", "4 units: log density minus that of the explicit mixture"),
        "normaliser": _of_study("normaliser_difference", "4 units: sum on a grid against equation E.9"),
    },
    "CT-B07": {
        "rank": _largest("dimension", "largest rank"),
        "below plain shift": plain_shift,
    },
    "CT-B08": {"log zeta": _largest("published_log_zeta_difference", "author's diagonal and recipe")},
    "CT-B09": {
        "as published": _below_exact("log_zeta_excess_published"),
        "converged fits": _below_exact("log_zeta_excess_converged"),
    },
    "CT-B11": {"valley between clusters": valley},
}

NUMBERS: dict[str, Callable[[Tables], Measurement]] = {
    "fewest fits kept": partial(n_fits, quantity="n_fits_published", extreme=np.min),
    "most fits kept": partial(n_fits, quantity="n_fits_published", extreme=np.max),
    "fewest distinct fits": partial(n_fits, quantity="n_fits_converged", extreme=np.min),
    "most distinct fits": partial(n_fits, quantity="n_fits_converged", extreme=np.max),
}
