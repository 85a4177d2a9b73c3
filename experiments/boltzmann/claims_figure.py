"""Measures the claims about the errors that figure 5.2 shows: CT-B16 to CT-B18, CT-B21, CT-B22."""

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from auxmc.models.boltzmann.data import N_SYSTEMS
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.lookup import MissingData
from experiments.boltzmann.lookup import (
    CURVE_METHODS,
    ERROR_LABELS,
    METHOD_LABELS,
    Averages,
    TablesMeasure,
    annealed_errors,
    at_samples,
    jackknife,
    long_enough,
    measure_tables,
    running_errors,
    systems_of,
)
from experiments.boltzmann.published import FIGURE_ANNEALED, FIGURE_CURVES


def _curve_value(method: str, error: str, n_samples: int) -> TablesMeasure:
    def measure(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
        _need_all_systems(curves)
        found = running_errors(curves, method, error, "nested")
        index = at_samples(found, n_samples)
        return Measurement(
            float(found.mean[index]), float(found.standard_error[index]), f"{found.points[index]:.0f} samples"
        )

    return measure


def _annealed_value(error: str, k: int) -> TablesMeasure:
    def measure(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
        _need_all_systems(curves)
        found = annealed_errors(summary, "h_ais", error)
        index = _index_of(found, k)
        return Measurement(float(found.mean[index]), float(found.standard_error[index]))

    return measure


def _start(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
    found = _drawn_curves(curves)
    (method, error), lowest = min(found.items(), key=lambda item: float(item[1].mean[0]))
    return Measurement(
        float(lowest.mean[0]),
        float(lowest.standard_error[0]),
        f"smallest of 9, {METHOD_LABELS[method]}, {ERROR_LABELS[error]}",
    )


def _end(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
    found = _drawn_curves(curves)
    (method, error), highest = max(found.items(), key=lambda item: float(item[1].mean[-1]))
    length = highest.points[-1]
    if not long_enough(highest, FIGURE_CURVES[error][method][-1][0]):
        raise MissingData(f"{length:.0f} samples a chain are too few for the end of the curves")
    return Measurement(
        float(highest.mean[-1]),
        float(highest.standard_error[-1]),
        f"largest of 9, {METHOD_LABELS[method]}, {ERROR_LABELS[error]}, {length:.0f} samples",
    )


def _end_annealed(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
    found = {error: annealed_errors(summary, "h_ais", error) for error in ERROR_LABELS}
    error, highest = max(found.items(), key=lambda item: float(item[1].mean[-1]))
    published_end = FIGURE_ANNEALED[error][-1][0]
    if highest.points[-1] < published_end:
        raise MissingData(f"K = {published_end}: not run at this preset")
    return Measurement(
        float(highest.mean[-1]),
        float(highest.standard_error[-1]),
        f"largest of 3, {ERROR_LABELS[error]}, K = {highest.points[-1]:.0f}",
    )


def _nearest_pooling(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
    """Distance of the nested curves from the published ones minus that of the nearest other pooling."""
    _need_all_systems(curves)

    def distance(pooling: str, repeats: NDArray[np.intp]) -> float:
        logs = []
        for error in ERROR_LABELS:
            for method in CURVE_METHODS:
                found = running_errors(curves, method, error, pooling)
                for n_samples, value in FIGURE_CURVES[error][method][:2]:
                    ours = found.values[at_samples(found, n_samples)][:, repeats].mean()
                    logs.append(abs(math.log(ours / value)))
        return float(np.mean(logs))

    def difference(repeats: NDArray[np.intp]) -> float:
        return distance("nested", repeats) - min(distance(p, repeats) for p in ("disjoint", "single"))

    n_repeats = running_errors(curves, "st", "mean").values.shape[2]
    value, error = jackknife(difference, n_repeats)
    every = np.arange(n_repeats)
    each = ", ".join(f"{p} {distance(p, every):.2f}" for p in ("nested", "disjoint", "single"))
    return Measurement(value, error, f"mean absolute log ratio to the published values: {each}")


def _band_ratio(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
    """Half width of the published bands in our standard errors."""
    _need_all_systems(curves)
    ratios = []
    for error, points in FIGURE_ANNEALED.items():
        found = annealed_errors(summary, "h_ais", error)
        for k, _, low, high in points:
            if k in found.points:
                ratios.append(0.5 * (high - low) / found.standard_error[_index_of(found, k)])
    if not ratios:
        raise MissingData("AIS with the published numbers of temperatures: not run at this preset")
    spread = float(np.std(ratios, ddof=1) / math.sqrt(len(ratios))) if len(ratios) > 1 else math.nan
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    return Measurement(float(np.median(ratios)), spread, f"median of AIS bands: {each}")


def _drawn_curves(curves: pd.DataFrame) -> dict[tuple[str, str], Averages]:
    """The nine curves of the figure, by method and error."""
    return {
        (method, error): running_errors(curves, method, error)
        for method in CURVE_METHODS
        for error in ERROR_LABELS
    }


def _index_of(averages: Averages, k: float) -> int:
    if k not in averages.points:
        raise MissingData(f"K = {k:.0f}: not run at this preset")
    return int(np.flatnonzero(averages.points == k)[0])


def _need_all_systems(curves: pd.DataFrame) -> None:
    n = systems_of(curves)
    if n < N_SYSTEMS:
        raise MissingData(f"{n} of the {N_SYSTEMS} published systems: not run at this preset")


MEASURE = {
    "CT-B16": measure_tables(
        {
            f"{ERROR_LABELS[error]}, {METHOD_LABELS[method]}, {n} samples": _curve_value(method, error, n)
            for error in ERROR_LABELS
            for method in CURVE_METHODS
            for n, _ in FIGURE_CURVES[error][method]
        }
    ),
    "CT-B17": measure_tables(
        {
            f"{ERROR_LABELS[error]}, K = {k}": _annealed_value(error, k)
            for error in ERROR_LABELS
            for k, *_ in FIGURE_ANNEALED[error]
        }
    ),
    "CT-B18": measure_tables({"start": _start, "end, chains": _end, "end, AIS": _end_annealed}),
    "CT-B21": measure_tables({"nested nearest": _nearest_pooling}),
    "CT-B22": measure_tables({"AIS bands": _band_ratio}),
}
