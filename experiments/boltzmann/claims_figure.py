"""Measures the claims about the errors that figure 5.2 shows: CT-B16 to CT-B18, CT-B22."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from auxmc_pipeline.claims import Measurement, Measures, exact
from auxmc_pipeline.error_rules import bootstrap, largest, ratio, smallest
from auxmc_pipeline.tables import Tables
from experiments.boltzmann.published import FIGURE_ANNEALED, FIGURE_CURVES
from experiments.boltzmann.relative_errors import (
    CURVE_METHODS,
    ERROR_LABELS,
    METHOD_LABELS,
    Averages,
    annealed_errors,
    running_errors,
)

# Samples of a chain at which poolings are compared: the first two of the published values.
_POOLED = (1, 2001)


def curve_value(tables: Tables, method: str, error: str, n_samples: int) -> Measurement:
    """CT-B16: a curve after a number of samples."""
    found = running_errors(tables, method, error, "nested")
    index = found.at_samples(n_samples)
    return found.measured(index, f"{found.points[index]:.0f} samples")


def annealed_value(tables: Tables, error: str, n_temperatures: int, method: str = "h_ais") -> Measurement:
    """CT-B17: a point of annealed importance sampling."""
    found = annealed_errors(tables, method, error)
    return found.measured(found.at_temperatures(n_temperatures))


def disjoint_value(tables: Tables, method: str) -> Measurement:
    """The running error of the mean after 2001 samples, disjoint groups."""
    found = running_errors(tables, method, "mean")
    return found.measured(found.at_samples(_POOLED[-1]))


def start(tables: Tables) -> Measurement:
    """CT-B18: the lowest of the nine curves at its start."""
    return _extreme(smallest, {curve: errors.measured(0) for curve, errors in _drawn_curves(tables).items()})


def end(tables: Tables) -> Measurement:
    """CT-B18: the highest of the nine curves at its end."""
    found = {}
    for (method, error), errors in _drawn_curves(tables).items():
        published_end = FIGURE_CURVES[error][method][-1][0]
        found[method, error] = errors.measured(errors.at_samples(published_end))
    return _extreme(largest, found)


def end_annealed(tables: Tables) -> Measurement:
    """CT-B18: the highest of the three errors of annealed importance sampling with the longest ladder."""
    return _extreme(
        largest,
        {
            ("h_ais", error): annealed_value(tables, error, points[-1][0])
            for error, points in FIGURE_ANNEALED.items()
        },
    )


def pooling_distance(tables: Tables, pooling: str) -> Measurement:
    """Mean absolute log ratio of running errors in a pooling to the published values, after 1 and 2001 samples.

    Errors of the three quantities come from the same chains and are added; those of methods and times are independent.
    """
    distances, errors = [], []
    for method in CURVE_METHODS:
        for point, n_samples in enumerate(_POOLED):
            found = {}
            for error in ERROR_LABELS:
                curve = running_errors(tables, method, error, pooling)
                ours = curve.measured(curve.at_samples(n_samples))
                found[error] = ratio(ours, exact(FIGURE_CURVES[error][method][point][1]))
            distances.append(np.mean([abs(math.log(each.value)) for each in found.values()]))
            errors.append(np.mean([each.error / each.value for each in found.values()]))
    return Measurement(float(np.mean(distances)), math.hypot(*errors) / len(errors), pooling)


def band_ratio(tables: Tables) -> Measurement:
    """CT-B22: half width of the published bands in our standard errors."""
    ratios = []
    for error, points in FIGURE_ANNEALED.items():
        found = annealed_errors(tables, "h_ais", error)
        for k, _, low, high in points:
            ratios.append(0.5 * (high - low) / found.drawn_error[found.at_temperatures(k)])
    each = ", ".join(f"{each:.2f}" for each in ratios)
    return bootstrap(np.median, ratios, f"median of AIS bands: {each}")


def _drawn_curves(tables: Tables) -> dict[tuple[str, str], Averages]:
    """The nine curves of the figure, by method and error."""
    return {
        (method, error): running_errors(tables, method, error)
        for method in CURVE_METHODS
        for error in ERROR_LABELS
    }


def _extreme(
    rule: Callable[[list[float], list[float], list[str]], Measurement],
    found: dict[tuple[str, str], Measurement],
) -> Measurement:
    names = [f"of {len(found)}: {METHOD_LABELS[method]}, {ERROR_LABELS[error]}" for method, error in found]
    values, errors = ([measured[i] for measured in found.values()] for i in (0, 1))
    return rule([float(value) for value in values], [float(error) for error in errors], names)


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
    "CT-B22": {"bars as captioned": band_ratio, "bars as drawn": band_ratio},
}

NUMBERS: dict[str, Callable[[Tables], Measurement]] = {
    "distance of nested groups": partial(pooling_distance, pooling="nested"),
    "distance of disjoint groups": partial(pooling_distance, pooling="disjoint"),
    "distance of single chains": partial(pooling_distance, pooling="single"),
    "mean, disjoint groups, simulated tempering": partial(disjoint_value, method="st"),
    "mean, disjoint groups, Gibbs CT": partial(disjoint_value, method="gibbs_ct"),
    "mean, disjoint groups, CT-HMC": partial(disjoint_value, method="ct_hmc"),
}
