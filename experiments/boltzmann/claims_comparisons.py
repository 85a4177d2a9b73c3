"""Measures the claims about which method has the smaller error: CT-B10, CT-B12 to CT-B15."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from auxmc.models.boltzmann.data import N_SYSTEMS
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.lookup import MissingData
from experiments.boltzmann.lookup import (
    ERROR_LABELS,
    METHOD_LABELS,
    Averages,
    TablesMeasure,
    annealed_errors,
    at_samples,
    cost_per_repeat,
    jackknife,
    long_enough,
    measure_tables,
    running_errors,
    systems_of,
)
from experiments.boltzmann.settings import PUBLISHED

# Part of a run before which no curve is compared.
_BEGINNING = 0.01


def _stuck(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
    """Error of HMC in the target over that of a tempered chain, both at the end of the run."""
    direct, tempered = _common(
        running_errors(curves, "hmc", "mean"), running_errors(curves, "gibbs_ct", "mean")
    )
    length = direct.points[-1]
    if not long_enough(direct, PUBLISHED["hmc"].length):
        raise MissingData(f"{length:.0f} samples a chain are too few: the claim speaks of thousands")

    def ratio(repeats: NDArray[np.intp]) -> float:
        return float(direct.values[-1][:, repeats].mean() / tempered.values[-1][:, repeats].mean())

    value, error = jackknife(ratio, direct.values.shape[2])
    return Measurement(value, error, f"error of the mean, HMC over Gibbs CT, {length:.0f} samples")


def _below(method: str, other: str, errors: Iterable[str] = ERROR_LABELS) -> TablesMeasure:
    """Share of running estimates, at equal gradients, at which a method's average error is the smaller."""

    def measure(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
        pairs = [
            _common(running_errors(curves, method, error), running_errors(curves, other, error))
            for error in errors
        ]

        def share(repeats: NDArray[np.intp]) -> float:
            below = [_mean_of(first, repeats) < _mean_of(second, repeats) for first, second in pairs]
            return float(np.mean(np.concatenate(below)))

        found = [(first.values, second.values) for first, second in pairs]
        value, error = jackknife(share, pairs[0][0].values.shape[2])
        error = math.hypot(error, _error_of_systems(found))
        n_points = sum(len(first.points) for first, _ in pairs)
        return Measurement(value, error, f"of {n_points} comparisons, {systems_of(curves)} systems")

    return measure


def _below_annealed(annealed: str, pooling: str) -> TablesMeasure:
    """Share of errors, methods and numbers of temperatures at which tempering is below AIS of equal gradients."""

    def measure(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
        pairs: list[tuple[FloatArray, FloatArray]] = []
        labels = []
        for method in ("gibbs_ct", "ct_hmc"):
            unit = cost_per_repeat(summary, "chains", method, "gradients_per_repeat")
            for error in ERROR_LABELS:
                points = annealed_errors(summary, annealed, error)
                running = running_errors(curves, method, error, pooling)
                for i, k in enumerate(points.points):
                    cost = cost_per_repeat(summary, "annealed", annealed, "gradients_per_repeat", k)
                    try:
                        index = at_samples(running, cost / unit)
                    except MissingData:
                        continue
                    pairs.append((running.values[index], points.values[i]))
                    labels.append(
                        f"{METHOD_LABELS[method]} {ERROR_LABELS[error]} K={k:.0f} "
                        f"{running.mean[index] / points.mean[i]:.2f}"
                    )
        if not pairs:
            raise MissingData("no chain has as many gradients as annealed runs: not run at this preset")

        def share(repeats: NDArray[np.intp]) -> float:
            return float(np.mean([a[:, repeats].mean() < b[:, repeats].mean() for a, b in pairs]))

        value, error_of_share = jackknife(share, pairs[0][0].shape[1])
        error_of_share = math.hypot(error_of_share, _error_of_systems([(a[None], b[None]) for a, b in pairs]))
        worst = sorted(labels, key=lambda label: -float(label.rsplit(" ", 1)[1]))[:3]
        return Measurement(
            value, error_of_share, f"of {len(pairs)} comparisons; largest ratios: {'; '.join(worst)}"
        )

    return measure


def _common(first: Averages, second: Averages) -> tuple[Averages, Averages]:
    """Points that both curves have, after the beginning of the longer one."""
    points = np.intersect1d(first.points, second.points)
    points = points[points > _BEGINNING * max(first.points[-1], second.points[-1])]
    if not points.size:
        raise MissingData("curves with points in common: not run at this preset")
    return (
        Averages(points, first.values[np.isin(first.points, points)]),
        Averages(points, second.values[np.isin(second.points, points)]),
    )


def _error_of_systems(pairs: Sequence[tuple[FloatArray, FloatArray]]) -> float:
    """Standard error, from leaving systems out, of the share of values below others [point, system, repeat].

    Zero where all published systems are there: the claims are about these.
    """
    n = pairs[0][0].shape[1]
    if n >= N_SYSTEMS:
        return 0.0
    if n < 2:
        return math.nan

    def share(systems: NDArray[np.intp]) -> float:
        below = [a[:, systems].mean(axis=(1, 2)) < b[:, systems].mean(axis=(1, 2)) for a, b in pairs]
        return float(np.mean(np.concatenate(below)))

    return jackknife(share, n)[1]


def _mean_of(averages: Averages, repeats: NDArray[np.intp]) -> FloatArray:
    return np.asarray(averages.values[:, :, repeats].mean(axis=(1, 2)), dtype=np.float64)


MEASURE = {
    "CT-B10": measure_tables({"error of the mean": _stuck}),
    "CT-B12": measure_tables({"all errors": _below("gibbs_ct", "st")}),
    "CT-B13": measure_tables({"all errors": _below("ct_hmc", "st")}),
    "CT-B14": measure_tables(
        {
            f"{name}, {pooling}": _below_annealed(method, pooling)
            for method, name in (
                ("h_ais", "AIS as drawn"),
                ("ais_10", "AIS, 10 steps"),
                ("ais_20", "AIS, 20 steps"),
            )
            for pooling in ("nested", "disjoint")
        }
    ),
    "CT-B15": measure_tables(
        {
            "log normaliser": _below("ct_hmc", "gibbs_ct", ("log_z",)),
            "mean": _below("ct_hmc", "gibbs_ct", ("mean",)),
        }
    ),
}
