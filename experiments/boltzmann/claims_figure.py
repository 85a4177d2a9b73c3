"""Measures the claims about the errors that figure 5.2 shows: CT-B16 to CT-B18, CT-B21, CT-B22."""

import math
from functools import partial

import numpy as np

from auxmc.models.boltzmann.data import N_SYSTEMS
from auxmc.numerics.array_types import IntegerArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import jackknife
from auxmc_pipeline.tables import MissingData, Tables
from experiments.boltzmann.published import FIGURE_ANNEALED, FIGURE_CURVES
from experiments.boltzmann.relative_errors import (
    CURVE_METHODS,
    ERROR_LABELS,
    METHOD_LABELS,
    Averages,
    about_published_units,
    annealed_errors,
    n_systems,
    running_errors,
)


@about_published_units
def curve_value(tables: Tables, method: str, error: str, n_samples: int) -> Measurement:
    """CT-B16: a curve after a number of samples."""
    _need_all_systems(tables)
    found = running_errors(tables, method, error, "nested")
    index = found.at_samples(n_samples)
    return _measured(found, index, f"{found.points[index]:.0f} samples")


@about_published_units
def annealed_value(tables: Tables, error: str, n_temperatures: int) -> Measurement:
    """CT-B17: a point of annealed importance sampling."""
    _need_all_systems(tables)
    found = annealed_errors(tables, "h_ais", error)
    if n_temperatures not in found.points:
        raise MissingData(f"K = {n_temperatures:.0f}: not run at this preset")
    return _measured(found, int(np.flatnonzero(found.points == n_temperatures)[0]))


@about_published_units
def start(tables: Tables) -> Measurement:
    """CT-B18: the lowest of the nine curves at its start."""
    found = _drawn_curves(tables)
    method, error = min(found, key=lambda curve: float(found[curve].mean[0]))
    note = f"smallest of 9, {METHOD_LABELS[method]}, {ERROR_LABELS[error]}"
    return _measured(found[method, error], 0, note)


@about_published_units
def end(tables: Tables) -> Measurement:
    """CT-B18: the highest of the nine curves at its end."""
    found = _drawn_curves(tables)
    method, error = max(found, key=lambda curve: float(found[curve].mean[-1]))
    highest = found[method, error]
    length = highest.points[-1]
    if not highest.long_enough(FIGURE_CURVES[error][method][-1][0]):
        raise MissingData(f"{length:.0f} samples a chain are too few for the end of the curves")
    note = f"largest of 9, {METHOD_LABELS[method]}, {ERROR_LABELS[error]}, {length:.0f} samples"
    return _measured(highest, -1, note)


@about_published_units
def end_annealed(tables: Tables) -> Measurement:
    """CT-B18: the highest of the three errors of annealed importance sampling with the longest ladder."""
    found = {error: annealed_errors(tables, "h_ais", error) for error in ERROR_LABELS}
    error = max(found, key=lambda error: float(found[error].mean[-1]))
    highest, published_end = found[error], FIGURE_ANNEALED[error][-1][0]
    if highest.points[-1] < published_end:
        raise MissingData(f"K = {published_end}: not run at this preset")
    return _measured(highest, -1, f"largest of 3, {ERROR_LABELS[error]}, K = {highest.points[-1]:.0f}")


@about_published_units
def nearest_pooling(tables: Tables) -> Measurement:
    """CT-B21: distance of the nested curves from the published ones minus that of the nearest other pooling."""
    _need_all_systems(tables)
    curves = {
        pooling: [
            (running_errors(tables, method, error, pooling), FIGURE_CURVES[error][method][:2])
            for error in ERROR_LABELS
            for method in CURVE_METHODS
        ]
        for pooling in ("nested", "disjoint", "single")
    }

    def distance(pooling: str, repeats: IntegerArray) -> float:
        logs = [
            abs(math.log(found.values[found.at_samples(n)][:, repeats].mean() / value))
            for found, points in curves[pooling]
            for n, value in points
        ]
        return float(np.mean(logs))

    def difference(repeats: IntegerArray) -> float:
        return distance("nested", repeats) - min(distance(p, repeats) for p in ("disjoint", "single"))

    n_repeats = curves["nested"][0][0].values.shape[2]
    each = ", ".join(f"{pooling} {distance(pooling, np.arange(n_repeats)):.2f}" for pooling in curves)
    return jackknife(difference, n_repeats, f"mean absolute log ratio to the published values: {each}")


@about_published_units
def band_ratio(tables: Tables) -> Measurement:
    """CT-B22: half width of the published bands in our standard errors."""
    _need_all_systems(tables)
    ratios = []
    for error, points in FIGURE_ANNEALED.items():
        found = annealed_errors(tables, "h_ais", error)
        errors = dict(zip(found.points, found.standard_error, strict=True))
        ratios += [0.5 * (high - low) / errors[k] for k, _, low, high in points if k in errors]
    if not ratios:
        raise MissingData("AIS with the published numbers of temperatures: not run at this preset")
    spread = float(np.std(ratios, ddof=1) / math.sqrt(len(ratios))) if len(ratios) > 1 else math.nan
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    return Measurement(float(np.median(ratios)), spread, f"median of AIS bands: {each}")


def _drawn_curves(tables: Tables) -> dict[tuple[str, str], Averages]:
    """The nine curves of the figure, by method and error."""
    return {
        (method, error): running_errors(tables, method, error)
        for method in CURVE_METHODS
        for error in ERROR_LABELS
    }


def _measured(averages: Averages, index: int, note: str = "") -> Measurement:
    return Measurement(float(averages.mean[index]), float(averages.standard_error[index]), note)


def _need_all_systems(tables: Tables) -> None:
    n = n_systems(tables)
    if n < N_SYSTEMS:
        raise MissingData(f"{n} of the {N_SYSTEMS} published systems: not run at this preset")


MEASURE: Measures = {
    "CT-B16": {
        f"{ERROR_LABELS[error]}, {METHOD_LABELS[method]}, {n} samples": partial(
            curve_value, method=method, error=error, n_samples=n
        )
        for error in ERROR_LABELS
        for method in CURVE_METHODS
        for n, _ in FIGURE_CURVES[error][method]
    },
    "CT-B17": {
        f"{ERROR_LABELS[error]}, K = {k}": partial(annealed_value, error=error, n_temperatures=k)
        for error in ERROR_LABELS
        for k, *_ in FIGURE_ANNEALED[error]
    },
    "CT-B18": {"start": start, "end, chains": end, "end, AIS": end_annealed},
    "CT-B21": {"nested nearest": nearest_pooling},
    "CT-B22": {"AIS bands": band_ratio},
}
