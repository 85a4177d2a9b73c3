"""Measures the claims about which method has the smaller error: CT-B10, CT-B12 to CT-B15."""

import math
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import jackknife, largest, ratio
from auxmc_pipeline.tables import Tables
from experiments.boltzmann.model.data import N_SYSTEMS
from experiments.boltzmann.relative_errors import (
    ERROR_LABELS,
    METHOD_LABELS,
    annealed_errors,
    cost_per_repeat,
    running_errors,
)

# Part of a run before which no curve is compared.
_BEGINNING = 0.01
# "Thousands of iterations."
_THOUSANDS = 2001
# Samples after which methods are compared: as far as a short run goes, and the length of the shorter published curve.
_BEGINNING_OF_RUN = 2401
_END_OF_TEMPERING, _END_OF_CONTINUOUS = 19_801, 24_801


def over_tempered(tables: Tables) -> Measurement:
    """CT-B10: error of the mean by HMC over that by Gibbs CT, chains together, both after thousands of iterations."""
    pairs, systems = _pairs(tables, "hmc", "gibbs_ct", ["mean"], _THOUSANDS)
    return _of_ratios(pairs, lambda ratios: float(ratios[-1]), f"{_THOUSANDS} samples, {systems} systems")


def largest_ratio(tables: Tables, method: str, until: int) -> Measurement:
    """CT-B12 and CT-B13: average error over that of simulated tempering, where it is largest, at equal gradients."""
    pairs, systems = _pairs(tables, method, "st", ERROR_LABELS, until)
    n = sum(len(first) for first, _ in pairs)
    return _of_ratios(pairs, lambda ratios: float(ratios.max()), f"of {n} comparisons, {systems} systems")


def average_ratio(tables: Tables, error: str, until: int) -> Measurement:
    """CT-B15: geometric mean over time of the average error of CT-HMC over that of Gibbs CT, at equal gradients."""
    pairs, systems = _pairs(tables, "ct_hmc", "gibbs_ct", [error], until)
    note = f"over {len(pairs[0][0])} times, {systems} systems"
    return _of_ratios(pairs, lambda ratios: float(np.exp(np.log(ratios).mean())), note)


def over_annealed(tables: Tables, annealed: str, pooling: str, n_temperatures: int) -> Measurement:
    """CT-B14: largest ratio of the error of a continuous method to that of AIS, at the gradients of AIS."""
    cost = cost_per_repeat(tables, annealed, "gradients_per_repeat", n_temperatures=n_temperatures)
    ratios = {}
    for method in ("gibbs_ct", "ct_hmc"):
        n_samples = cost / cost_per_repeat(tables, method, "gradients_per_repeat")
        for error, label in ERROR_LABELS.items():
            points = annealed_errors(tables, annealed, error)
            running = running_errors(tables, method, error, pooling)
            ratios[f"{METHOD_LABELS[method]}, {label}"] = ratio(
                running.measured(running.at_samples(n_samples)),
                points.measured(points.at_temperatures(n_temperatures)),
            )
    values, errors = ([getattr(found, field) for found in ratios.values()] for field in ("value", "error"))
    return largest(values, errors, [f"largest of 6: {name}" for name in ratios])


def _pairs(
    tables: Tables, first: str, second: str, errors: Iterable[str], until: int
) -> tuple[list[tuple[FloatArray, FloatArray]], int]:
    """Values [point, system, repeat] of two methods for each error, at all their times up to one, and their systems."""
    pairs, n_systems = [], 0
    for error in errors:
        found = [running_errors(tables, method, error) for method in (first, second)]
        one, other = (curve.points[: curve.at_samples(until) + 1] for curve in found)
        times = np.intersect1d(one, other)
        times = times[times > _BEGINNING * until]
        systems = np.intersect1d(found[0].systems, found[1].systems)
        above, below = (
            curve.values[np.isin(curve.points, times)][:, np.isin(curve.systems, systems)] for curve in found
        )
        pairs.append((above, below))
        n_systems = len(systems)
    return pairs, n_systems


def _of_ratios(
    pairs: list[tuple[FloatArray, FloatArray]], statistic: Callable[[FloatArray], float], note: str
) -> Measurement:
    """A statistic of the ratios of averages over systems and repeats.

    Its error is from leaving repeats out and, where there are not all published systems, from leaving systems out:
    the claims are about these.
    """
    _, n, n_repeats = pairs[0][0].shape
    every_system, every_repeat = np.arange(n), np.arange(n_repeats)

    def measure(systems: IntegerArray, repeats: IntegerArray) -> float:
        averages = [
            [values[:, systems][:, :, repeats].mean(axis=(1, 2)) for values in pair] for pair in pairs
        ]
        return statistic(np.concatenate([first / second for first, second in averages]))

    found = jackknife(lambda repeats: measure(every_system, repeats), n_repeats, note)
    if n >= N_SYSTEMS:
        return found
    of_systems = jackknife(lambda systems: measure(systems, every_repeat), n).error
    return found._replace(error=math.hypot(found.error, of_systems))


MEASURE: Measures = {
    "CT-B10": {"error of the mean": over_tempered},
    "CT-B12": {
        "first 2401 samples": partial(largest_ratio, method="gibbs_ct", until=_BEGINNING_OF_RUN),
        "whole run": partial(largest_ratio, method="gibbs_ct", until=_END_OF_TEMPERING),
    },
    "CT-B13": {
        "first 2401 samples": partial(largest_ratio, method="ct_hmc", until=_BEGINNING_OF_RUN),
        "whole run": partial(largest_ratio, method="ct_hmc", until=_END_OF_TEMPERING),
    },
    "CT-B14": {
        f"{name}, {pooling}, K = {k}": partial(
            over_annealed, annealed=method, pooling=pooling, n_temperatures=k
        )
        for method, name in (
            ("h_ais", "AIS as drawn"),
            ("ais_10", "AIS, 10 steps"),
            ("ais_20", "AIS, 20 steps"),
        )
        for pooling in ("nested", "disjoint")
        for k in (1000, 5000, 10_000)
    },
    "CT-B15": {
        f"{ERROR_LABELS[error]}, {run}": partial(average_ratio, error=error, until=until)
        for error in ("log_z", "mean")
        for run, until in (("first 2401 samples", _BEGINNING_OF_RUN), ("whole run", _END_OF_CONTINUOUS))
    },
}
