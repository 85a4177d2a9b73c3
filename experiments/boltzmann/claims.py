"""What this study measures for each published claim, read from its two tables."""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from auxmc.engine.claims import Measurement
from auxmc.engine.lookup import MissingData, rows_of
from experiments.boltzmann.lookup import (
    ERROR_LABELS,
    METHOD_LABELS,
    Averages,
    annealed_errors,
    at_samples,
    cost_per_repeat,
    jackknife,
    running_errors,
    systems_of,
)
from experiments.boltzmann.published import FIGURE_ANNEALED, FIGURE_CURVES
from experiments.boltzmann.settings import PUBLISHED

__all__ = ["MEASURE"]

FloatArray = NDArray[np.float64]
Measure = Callable[[pd.DataFrame], Measurement]
MeasureBoth = Callable[[pd.DataFrame, pd.DataFrame], Measurement]

_ERRORS = tuple(ERROR_LABELS)
_CURVES = ("st", "gibbs_ct", "ct_hmc")
_N_PUBLISHED = 10
_PUBLISHED_UNITS = 30
# Part of the published length that the end of a curve must reach.
_LONG_ENOUGH = 0.5
# Part of a run before which no curve is compared.
_BEGINNING = 0.01


# Systems.


def _largest(quantity: str, note: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        values = _by_system(summary, quantity)
        return Measurement(float(values.max()), 0.0, f"{note}; {len(values)} systems")

    return measure


def _count(quantity: str, condition: Callable[[FloatArray], NDArray[np.bool_]], note: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        values = _by_system(summary, quantity)
        count = int(condition(values).sum())
        if len(values) < _N_PUBLISHED:
            raise MissingData(f"{count} of {len(values)} systems; the claim is about {_N_PUBLISHED}")
        return Measurement(float(count), 0.0, note + ", ".join(f"{value:.2f}" for value in values))

    return measure


def _scalar(quantity: str, note: str) -> Measure:
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


# Curves.


def _below(method: str, other: str, errors: Iterable[str] = _ERRORS) -> MeasureBoth:
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
        error = math.hypot(jackknife(share, pairs[0][0].values.shape[2])[1], _error_of_systems(found))
        every = np.arange(pairs[0][0].values.shape[2])
        n_points = sum(len(first.points) for first, _ in pairs)
        return Measurement(share(every), error, f"of {n_points} comparisons, {systems_of(curves)} systems")

    return measure


def _below_annealed(annealed: str, pooling: str) -> MeasureBoth:
    """Share of errors, methods and numbers of temperatures at which tempering is below AIS of equal gradients."""

    def measure(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
        pairs: list[tuple[FloatArray, FloatArray]] = []
        labels = []
        for method in ("gibbs_ct", "ct_hmc"):
            unit = cost_per_repeat(summary, "chains", method, "gradients_per_repeat")
            for error in _ERRORS:
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


def _curve_value(method: str, error: str, n_samples: int) -> MeasureBoth:
    def measure(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
        _need_all_systems(curves)
        found = running_errors(curves, method, error, "nested")
        index = at_samples(found, n_samples)
        return Measurement(
            float(found.mean[index]), float(found.standard_error[index]), f"{found.points[index]:.0f} samples"
        )

    return measure


def _annealed_value(error: str, k: int) -> MeasureBoth:
    def measure(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
        _need_all_systems(curves)
        found = annealed_errors(summary, "h_ais", error)
        index = _index_of(found, k)
        return Measurement(float(found.mean[index]), float(found.standard_error[index]))

    return measure


def _start(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
    found = {
        (method, error): running_errors(curves, method, error) for method in _CURVES for error in _ERRORS
    }
    (method, error), lowest = min(found.items(), key=lambda item: float(item[1].mean[0]))
    return Measurement(
        float(lowest.mean[0]),
        float(lowest.standard_error[0]),
        f"smallest of 9, {METHOD_LABELS[method]}, {ERROR_LABELS[error]}",
    )


def _end(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
    found = {
        (method, error): running_errors(curves, method, error) for method in _CURVES for error in _ERRORS
    }
    (method, error), highest = max(found.items(), key=lambda item: float(item[1].mean[-1]))
    length = highest.points[-1]
    if length < _LONG_ENOUGH * FIGURE_CURVES[error][method][-1][0]:
        raise MissingData(f"{length:.0f} samples a chain are too few for the end of the curves")
    return Measurement(
        float(highest.mean[-1]),
        float(highest.standard_error[-1]),
        f"largest of 9, {METHOD_LABELS[method]}, {ERROR_LABELS[error]}, {highest.points[-1]:.0f} samples",
    )


def _end_annealed(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
    found = {error: annealed_errors(summary, "h_ais", error) for error in _ERRORS}
    error, highest = max(found.items(), key=lambda item: float(item[1].mean[-1]))
    if highest.points[-1] < FIGURE_ANNEALED[error][-1][0]:
        raise MissingData(f"K = {FIGURE_ANNEALED[error][-1][0]}: not run at this preset")
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
        for error in _ERRORS:
            for method in _CURVES:
                found = running_errors(curves, method, error, pooling)
                for n_samples, value in FIGURE_CURVES[error][method][:2]:
                    ours = found.values[at_samples(found, n_samples)][:, repeats].mean()
                    logs.append(abs(math.log(ours / value)))
        return float(np.mean(logs))

    def difference(repeats: NDArray[np.intp]) -> float:
        return distance("nested", repeats) - min(distance(p, repeats) for p in ("disjoint", "single"))

    every = np.arange(running_errors(curves, "st", "mean").values.shape[2])
    value, error = jackknife(difference, len(every))
    each = ", ".join(f"{p} {distance(p, every):.2f}" for p in ("nested", "disjoint", "single"))
    return Measurement(value, error, f"mean absolute log ratio to the published values: {each}")


def _band_ratio(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
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


# What chains and runs do.


def _stuck(summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
    direct, tempered = _common(
        running_errors(curves, "hmc", "mean"), running_errors(curves, "gibbs_ct", "mean")
    )
    length = direct.points[-1]
    if length < _LONG_ENOUGH * PUBLISHED["hmc"].length:
        raise MissingData(f"{length:.0f} samples a chain are too few: the claim speaks of thousands")

    def ratio(repeats: NDArray[np.intp]) -> float:
        return float(direct.values[-1][:, repeats].mean() / tempered.values[-1][:, repeats].mean())

    value, error = jackknife(ratio, direct.values.shape[2])
    return Measurement(value, error, f"error of the mean, HMC over Gibbs CT, {direct.points[-1]:.0f} samples")


def _over_systems(grid: str, quantity: str, note: str, **where: str | float) -> Measure:
    """Mean over systems and its standard error."""

    def measure(summary: pd.DataFrame) -> Measurement:
        table = summary[summary["case"].astype(str).str.startswith(grid)]
        values = rows_of(table, quantity, **where)["value"].dropna().to_numpy(dtype=np.float64)
        error = float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan
        return Measurement(float(values.mean()), error, note)

    return measure


def _seconds_ratio(method: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        seconds = [
            cost_per_repeat(summary, "chains", name, "seconds_per_repeat") for name in (method, "gibbs_ct")
        ]
        return Measurement(seconds[0] / seconds[1], math.nan, "time per sample over that of Gibbs CT")

    return measure


def _ladder(summary: pd.DataFrame) -> Measurement:
    table = summary[summary["case"].astype(str).str.startswith("ladder")]
    found = rows_of(table, "error_by_target_weights").dropna(subset=["value"])
    # The error of the log normaliser is that of all chains together, one number a system: too noisy to compare.
    means = (
        found[found["coordinate"] != "log_z"]
        .groupby(["n_temperatures", "coordinate"])["value"]
        .mean()
        .unstack()
    )
    if 1000 not in means.index:
        raise MissingData("K = 1000: not run at this preset")
    ratios = means[means.index == 1000].iloc[0] / means.min()
    each = "; ".join(f"K = {k:.0f}: {row.mean():.2f}" for k, row in means.iterrows())
    return Measurement(float(ratios.max()), math.nan, f"largest ratio to the best K; mean error by K: {each}")


def _monotone_weights(summary: pd.DataFrame) -> Measurement:
    table = summary[summary["case"].astype(str).str.startswith("annealed")]
    found = rows_of(table, "log_weight_sd").dropna(subset=["value"])
    spread = found.groupby(["method", "n_temperatures"])["value"].mean().unstack()
    if spread.shape[1] < 2:
        raise MissingData("two numbers of temperatures or more: not run at this preset")
    ratios = spread.to_numpy()[:, 1:] / spread.to_numpy()[:, :-1]
    each = "; ".join(
        f"{METHOD_LABELS[str(method)]} {', '.join(f'{value:.2f}' for value in row)}"
        for method, row in zip(spread.index, spread.to_numpy(), strict=True)
    )
    return Measurement(float(ratios.max()), math.nan, f"largest ratio to the next smaller K; {each}")


def _weights_compared(other: str, errors: Sequence[str] = ("mean", "covariance")) -> Measure:
    """Share of systems in which weights integrated over the index have the smaller error than others."""

    def measure(summary: pd.DataFrame) -> Measurement:
        table = summary[summary["case"].astype(str).str.startswith("chains")]
        shares = []
        for error in errors:
            by_weight = {
                weight: rows_of(table, f"error_by_{weight}_weights", method="st", coordinate=error)
                .sort_values("system")["value"]
                .to_numpy(dtype=np.float64)
                for weight in ("target", other)
            }
            # No visit at all in a group is no estimate: the other weights lose.
            worse = ~np.isfinite(by_weight[other]) | (by_weight["target"] < by_weight[other])
            shares.append(float(worse.mean()))
        n = len(by_weight["target"])
        note = ", ".join(f"{e} {round(s * n)} of {n}" for e, s in zip(errors, shares, strict=True))
        spread = math.sqrt(max(min(shares) * (1.0 - min(shares)), 0.0) / n)
        return Measurement(min(shares), spread, f"systems: {note}")

    return measure


def _base_moments(summary: pd.DataFrame) -> Measurement:
    table = summary[summary["case"].astype(str).str.startswith("chains")]
    found = rows_of(table, "base_mean_z").dropna(subset=["value"])
    values = found["value"].to_numpy(dtype=np.float64)
    worst = int(np.argmax(values))
    n = int(values.size * rows_of(table, "dimension")["value"].mean())
    where = f"{METHOD_LABELS[str(found['method'].iloc[worst])]}, system {found['system'].iloc[worst]:.0f}"
    return Measurement(float(values[worst]), 0.0, f"largest of about {n} coordinates: {where}")


# Shared pieces.


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
    if n >= _N_PUBLISHED:
        return 0.0
    if n < 2:
        return math.nan

    def share(systems: NDArray[np.intp]) -> float:
        below = [a[:, systems].mean(axis=(1, 2)) < b[:, systems].mean(axis=(1, 2)) for a, b in pairs]
        return float(np.mean(np.concatenate(below)))

    return jackknife(share, n)[1]


def _mean_of(averages: Averages, repeats: NDArray[np.intp]) -> FloatArray:
    return np.asarray(averages.values[:, :, repeats].mean(axis=(1, 2)), dtype=np.float64)


def _index_of(averages: Averages, k: float) -> int:
    if k not in averages.points:
        raise MissingData(f"K = {k:.0f}: not run at this preset")
    return int(np.flatnonzero(averages.points == k)[0])


def _need_all_systems(curves: pd.DataFrame) -> None:
    n = systems_of(curves)
    if n < _N_PUBLISHED:
        raise MissingData(f"{n} of the {_N_PUBLISHED} published systems: not run at this preset")


def _both(settings: dict[str, MeasureBoth]) -> Callable[[pd.DataFrame, pd.DataFrame], dict[str, Measurement]]:
    def one(function: MeasureBoth, summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
        n_units = float(summary["n_units"].iloc[0])
        if n_units != _PUBLISHED_UNITS:
            return Measurement(
                math.nan, math.nan, f"{n_units:.0f} units; the claims are about {_PUBLISHED_UNITS}"
            )
        try:
            return function(summary, curves)
        except MissingData as missing:
            return Measurement(math.nan, math.nan, str(missing))

    return lambda summary, curves: {
        setting: one(function, summary, curves) for setting, function in settings.items()
    }


def _alone(settings: dict[str, Measure]) -> Callable[[pd.DataFrame, pd.DataFrame], dict[str, Measurement]]:
    """As `_both`, for measures of the summary alone."""

    def of_both(function: Measure) -> MeasureBoth:
        return lambda summary, _: function(summary)

    return _both({setting: of_both(function) for setting, function in settings.items()})


MEASURE: dict[str, Callable[[pd.DataFrame, pd.DataFrame], dict[str, Measurement]]] = {
    "CT-B01": _alone(
        {"largest difference": _largest("generation_difference", "two weights and a bias of each file")}
    ),
    "CT-B02": _alone(
        {
            "share of large eigenvalues": _scalar(
                "large_eigenvalue_z", "deviation from the exact probability 0.549, in s.e."
            )
        }
    ),
    "CT-B03": _alone(
        {"log Z": _largest("published_log_z_difference", "author's diagonal, all states enumerated")}
    ),
    "CT-B04": _alone(
        {
            "norm of mean": _largest("published_mean_norm_difference", "relative difference"),
            "largest variance": _largest("published_variance_difference", "relative difference"),
        }
    ),
    "CT-B05": _alone(
        {
            "mixture of 1024": _scalar(
                "moment_relation_difference", "10 units, every component of the mixture"
            ),
            "exact sample": _scalar("exact_sample_z", "30 units, largest deviation of a mean in s.e."),
        }
    ),
    "CT-B07": _alone(
        {
            "rank": _largest("dimension", "largest rank"),
            "top eigenvalue": _largest("largest_eigenvalue", "largest top eigenvalue"),
            "below plain shift": _plain_shift,
        }
    ),
    "CT-B08": _alone({"log zeta": _largest("published_log_zeta_difference", "author's diagonal and recipe")}),
    "CT-B09": _alone(
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
    "CT-B10": _both({"error of the mean": _stuck}),
    "CT-B11": _alone(
        {"clusters": _scalar("top_clusters", "separated peaks along the leading principal component")}
    ),
    "CT-B12": _both({"all errors": _below("gibbs_ct", "st")}),
    "CT-B13": _both({"all errors": _below("ct_hmc", "st")}),
    "CT-B14": _both(
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
    "CT-B15": _both(
        {
            "log normaliser": _below("ct_hmc", "gibbs_ct", ("log_z",)),
            "mean": _below("ct_hmc", "gibbs_ct", ("mean",)),
        }
    ),
    "CT-B16": _both(
        {
            f"{ERROR_LABELS[error]}, {METHOD_LABELS[method]}, {n} samples": _curve_value(method, error, n)
            for error in _ERRORS
            for method in _CURVES
            for n, _ in FIGURE_CURVES[error][method]
        }
    ),
    "CT-B17": _both(
        {
            f"{ERROR_LABELS[error]}, K = {k}": _annealed_value(error, k)
            for error in _ERRORS
            for k, *_ in FIGURE_ANNEALED[error]
        }
    ),
    "CT-B18": _both({"start": _start, "end, chains": _end, "end, AIS": _end_annealed}),
    "CT-B19": _alone(
        {
            "AIS runs": _over_systems(
                "annealed",
                "settled_share",
                "AIS as drawn, smallest K: share of runs that end with the signs they had halfway",
                method="h_ais",
            ),
            "CT chains": _over_systems(
                "chains",
                "pattern_change_rate",
                "Gibbs CT: share of pairs of samples, both with b > 1/2, whose signs differ",
                method="gibbs_ct",
            ),
        }
    ),
    "CT-B20": _alone({"ST": _seconds_ratio("st"), "CT-HMC": _seconds_ratio("ct_hmc")}),
    "CT-B21": _both({"nested nearest": _nearest_pooling}),
    "CT-B22": _both({"AIS bands": _band_ratio}),
    "CT-B23": _alone({"K = 1000": _ladder}),
    "CT-T06": _alone({"chains": _base_moments}),
    "CT-T17": _alone({"log weights": _monotone_weights}),
    "CT-T23": _alone({"visits": _weights_compared("visits")}),
    "CT-T24": _alone({"naive weights": _weights_compared("naive")}),
}
