"""Measures the claims about which method has the smaller error: CT-B10, CT-B12 to CT-B15."""

import math
from collections.abc import Iterable
from functools import partial

import numpy as np

from auxmc.models.boltzmann.data import N_SYSTEMS
from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import jackknife
from auxmc_pipeline.tables import MissingData, Tables
from experiments.boltzmann.relative_errors import (
    ERROR_LABELS,
    METHOD_LABELS,
    Averages,
    about_published_units,
    annealed_errors,
    cost_per_repeat,
    n_systems,
    running_errors,
)
from experiments.boltzmann.settings import PUBLISHED

# Part of a run before which no curve is compared.
_BEGINNING = 0.01


@about_published_units
def stuck(tables: Tables) -> Measurement:
    """CT-B10: error of HMC in the target over that of a tempered chain, both at the end of the run."""
    direct, tempered = _common(tables, "hmc", "gibbs_ct", "mean")
    length = direct.points[-1]
    if not direct.long_enough(PUBLISHED["hmc"].length):
        raise MissingData(f"{length:.0f} samples a chain are too few: the claim speaks of thousands")

    def ratio(repeats: IntegerArray) -> float:
        return float(direct.values[-1][:, repeats].mean() / tempered.values[-1][:, repeats].mean())

    note = f"error of the mean, HMC over Gibbs CT, {length:.0f} samples"
    return jackknife(ratio, direct.values.shape[2], note)


@about_published_units
def below(tables: Tables, method: str, other: str, errors: Iterable[str] = ERROR_LABELS) -> Measurement:
    """CT-B12, CT-B13 and CT-B15: share of running estimates, at equal gradients, with the smaller average error."""
    curves = [_common(tables, method, other, error) for error in errors]
    pairs = [(first.values, second.values) for first, second in curves]
    n_points = sum(len(first) for first, _ in pairs)
    return _share_below(pairs, f"of {n_points} comparisons, {n_systems(tables)} systems")


@about_published_units
def below_annealed(tables: Tables, annealed: str, pooling: str) -> Measurement:
    """CT-B14: share of errors, methods and numbers of temperatures at which chains are below AIS of equal gradients."""
    pairs, ratios = [], {}
    for method in ("gibbs_ct", "ct_hmc"):
        unit = cost_per_repeat(tables, method, "gradients_per_repeat")
        for error in ERROR_LABELS:
            points = annealed_errors(tables, annealed, error)
            running = running_errors(tables, method, error, pooling)
            for i, k in enumerate(points.points):
                cost = cost_per_repeat(tables, annealed, "gradients_per_repeat", n_temperatures=k)
                try:
                    index = running.at_samples(cost / unit)
                except MissingData:
                    continue
                pairs.append((running.values[index][None], points.values[i][None]))
                where = f"{METHOD_LABELS[method]} {ERROR_LABELS[error]} K={k:.0f}"
                ratios[where] = round(float(running.mean[index] / points.mean[i]), 2)
    if not pairs:
        raise MissingData("no chain has as many gradients as annealed runs: not run at this preset")
    worst = sorted(ratios.items(), key=lambda item: -item[1])[:3]
    each = "; ".join(f"{where} {ratio:.2f}" for where, ratio in worst)
    return _share_below(pairs, f"of {len(pairs)} comparisons; largest ratios: {each}")


def _common(tables: Tables, first: str, second: str, error: str) -> tuple[Averages, Averages]:
    """Running errors of two methods at points that both have, after the beginning of the longer run."""
    found = [running_errors(tables, method, error) for method in (first, second)]
    points = np.intersect1d(found[0].points, found[1].points)
    points = points[points > _BEGINNING * max(curve.points[-1] for curve in found)]
    if not points.size:
        raise MissingData("curves with points in common: not run at this preset")
    one, other = (Averages(points, curve.values[np.isin(curve.points, points)]) for curve in found)
    return one, other


def _share_below(pairs: list[tuple[FloatArray, FloatArray]], note: str) -> Measurement:
    """Share of averages below others, from pairs of values [point, system, repeat].

    Its error is from leaving repeats out and, where there are not all published systems, from leaving systems out:
    the claims are about these.
    """
    _, n, n_repeats = pairs[0][0].shape
    every_system, every_repeat = np.arange(n), np.arange(n_repeats)

    def share(systems: IntegerArray, repeats: IntegerArray) -> float:
        averages = [
            [values[:, systems][:, :, repeats].mean(axis=(1, 2)) for values in pair] for pair in pairs
        ]
        return float(np.mean(np.concatenate([first < second for first, second in averages])))

    found = jackknife(lambda repeats: share(every_system, repeats), n_repeats, note)
    if n >= N_SYSTEMS:
        return found
    of_systems = jackknife(lambda systems: share(systems, every_repeat), n).error if n > 1 else math.nan
    return found._replace(error=math.hypot(found.error, of_systems))


MEASURE: Measures = {
    "CT-B10": {"error of the mean": stuck},
    "CT-B12": {"all errors": partial(below, method="gibbs_ct", other="st")},
    "CT-B13": {"all errors": partial(below, method="ct_hmc", other="st")},
    "CT-B14": {
        f"{name}, {pooling}": partial(below_annealed, annealed=method, pooling=pooling)
        for method, name in (
            ("h_ais", "AIS as drawn"),
            ("ais_10", "AIS, 10 steps"),
            ("ais_20", "AIS, 20 steps"),
        )
        for pooling in ("nested", "disjoint")
    },
    "CT-B15": {
        "log normaliser": partial(below, method="ct_hmc", other="gibbs_ct", errors=("log_z",)),
        "mean": partial(below, method="ct_hmc", other="gibbs_ct", errors=("mean",)),
    },
}
