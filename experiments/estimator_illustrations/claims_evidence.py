"""Measures the claims about estimators of the evidence: SE-10 to SE-18, SE-21, SE-23 and SE-31."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures, recorded
from auxmc_pipeline.error_rules import mean_over_replicates
from auxmc_pipeline.tables import MissingData, Tables

_PUBLISHED_ESTIMATES = 10


def _few_samples(measure: Callable[[Tables], Measurement], tables: Tables) -> Measurement:
    """A measure of estimates from as many draws as the source has."""
    n_samples = tables.summary.setting("n_samples", case="evidence")
    if n_samples != _PUBLISHED_ESTIMATES:
        raise MissingData(f"needs n_samples = {_PUBLISHED_ESTIMATES}, these tables have {n_samples:g}")
    return measure(tables)


def _harmonic_slack(tables: Tables) -> Measurement:
    """Decades between the largest estimate and the largest likelihood."""
    bound = tables.summary.value("harmonic_bound_decades")
    share = tables.summary.value("harmonic_over_hundred")
    note = f"bound {bound:.3f} decades; share of estimates two decades too large: {share:g}"
    return Measurement(bound - tables.summary.value("harmonic_largest_decades"), 0.0, note)


def _drift(tables: Tables) -> Measurement:
    """Mean of all reciprocals over the median of means of a thousand."""
    every = tables.summary.value("reciprocal_mean")
    few = tables.summary.value("reciprocal_mean_few")
    n = tables.summary.value("n_reciprocals")
    note = f"{every:.3g} of 1/Z from {n:.0f} draws; median of means of 1000 draws {few:.3g}"
    return Measurement(every / few, math.nan, note)


def _over_bound(quantity: str, error: str, excess: float, tables: Tables) -> Measurement:
    """Share of estimates above the evidence by so many nats, less its bound."""
    share = recorded(quantity, error, excess=excess)(tables)
    bound = math.exp(-excess)
    return share._replace(value=share.value - bound, note=f"{share.value:.4g}, bound {bound:.4g}")


def _shrinkage_term(tables: Tables) -> Measurement:
    """M times the distance of the ratio from 1, largest over M."""
    ratios = tables.summary.array("shrinkage_ratio", "n_ratio_live")
    n_live = ratios["n_ratio_live"].values
    largest = float((np.abs(ratios.values - 1.0) * n_live).max())
    return Measurement(largest, 0.0, f"M from {n_live.min():.0f} up to 10000")


def _smallest_p_value(tables: Tables) -> Measurement:
    """Made up for the number of tests."""
    values = tables.summary.rows("shrinkage_p_value")["value"]
    note = f"smallest of {values.size} times {values.size}"
    return Measurement(min(1.0, values.size * float(values.min())), 0.0, note)


def _largest_score(tables: Tables) -> Measurement:
    values = tables.summary.rows("shrinkage_mean_score")["value"]
    return Measurement(float(values.abs().max()), 0.0, f"largest of {values.size}")


def _nested_errors(tables: Tables) -> xr.DataArray:
    """Errors of the log evidence of nested sampling [n_live_points, run], fewest live points first, in nats."""
    return tables.summary.array("nested_error", "n_live_points", "run").sortby("n_live_points")


def _nested_spread(place: Callable[[FloatArray], np.intp], name: str, tables: Tables) -> Measurement:
    """Standard deviation of estimates over sqrt(information / live points), at one number of live points."""
    errors = _nested_errors(tables)
    information = tables.summary.array("nested_information", "n_live_points", "run").mean("run")
    ratios = errors.std("run", ddof=1) / np.sqrt(information / information["n_live_points"])
    found = ratios[int(place(ratios.values))]
    note = f"{name} of {ratios.size} numbers of live points: {found['n_live_points'].item():.0f}"
    return Measurement(found.item(), found.item() / math.sqrt(2.0 * (errors.sizes["run"] - 1)), note)


def _nested_mean(tables: Tables) -> Measurement:
    """Mean error with most live points, in nats."""
    errors = _nested_errors(tables)[-1]
    note = f"{errors['n_live_points'].item():.0f} live points, adapted steps"
    return mean_over_replicates(errors.values, note)


def _nested_fall(tables: Tables) -> Measurement:
    """Spread with most live points over that with fewest."""
    errors = _nested_errors(tables)
    n_live, spread = errors["n_live_points"].values, errors.std("run", ddof=1).values
    if n_live.size < 2:
        raise MissingData("nested sampling with two numbers of live points: not run at this preset")
    ratio = float(spread[-1] / spread[0])
    note = f"{n_live[-1]:.0f} and {n_live[0]:.0f} live points"
    return Measurement(ratio, ratio / math.sqrt(errors.sizes["run"] - 1), note)


def _by_prefix(tables: Tables, quantity: str, error: str) -> tuple[FloatArray, FloatArray]:
    """Mean of estimates over the evidence [prefix], where it is known, and its error."""
    means, errors = (tables.summary.array(name, "prefix").values for name in (quantity, error))
    present = np.isfinite(means)
    if not present.any():
        raise MissingData(f"{quantity}: not run at this preset")
    return means[present], errors[present]


def _unbiased_score(quantity: str, error: str, tables: Tables) -> Measurement:
    """Distance of the mean estimate from the evidence in standard errors, farthest prefix."""
    means, errors = _by_prefix(tables, quantity, error)
    scores = (means - 1.0) / errors
    worst = int(np.argmax(np.abs(scores)))
    note = (
        f"largest of {scores.size}: mean of estimate over evidence {means[worst]:.4f} +- {errors[worst]:.4f}"
    )
    return Measurement(float(scores[worst]), 0.0, note)


def _adaptive_bias(quantity: str, error: str, tables: Tables) -> Measurement:
    """Relative bias with adapted annealing steps at the prefix where it is clearest."""
    means, errors = _by_prefix(tables, quantity, error)
    worst = int(np.argmax(np.abs(means - 1.0) / errors))
    every = ", ".join(f"{mean:.2f}" for mean in means)
    note = f"prefix {worst + 1} of {means.size}; mean of estimate over evidence {every}"
    return Measurement(float(means[worst] - 1.0), float(errors[worst]), note)


_harmonic_median = partial(_few_samples, recorded("harmonic_median_decades", "harmonic_median_decades_error"))

MEASURE: Measures = {
    "SE-10": {
        "median over data": recorded("log10_evidence_median", "log10_evidence_median_error"),
        "our data": recorded("log10_evidence"),
        "our data in nats": recorded("log_evidence"),
    },
    "SE-11": {
        setting: partial(_few_samples, recorded(*names))
        for setting, names in {
            "mean": ("prior_mean_ratio", "prior_mean_ratio_error"),
            "share below": ("prior_below", "prior_below_error"),
            "share two decades below": ("prior_far_below", "prior_far_below_error"),
            "median": ("prior_median_decades", "prior_median_decades_error"),
        }.items()
    },
    "SE-12": {
        "median": _harmonic_median,
        "predicted median": _harmonic_median,
        "largest possible": recorded("harmonic_bound_decades"),
        "bound less largest": _harmonic_slack,
    },
    "SE-13": {"share of the top": recorded("reciprocal_top_share"), "drift": _drift},
    "SE-14": {
        f"{setting} {excess}": partial(_over_bound, *names, float(excess))
        for setting, names in {
            "prior averaging": ("prior_excess", "prior_excess_error"),
            "annealed": ("ais_excess", "ais_excess_error"),
        }.items()
        for excess in (1, 2, 3)
    },
    "SE-15": {"largest": _shrinkage_term},
    "SE-16": {"p-value": _smallest_p_value, "mean": _largest_score},
    "SE-17": {
        name: recorded("sum_error", sum=name) for name in ("level", "lower", "upper", "listing", "difference")
    },
    "SE-18": {
        "smallest ratio": partial(_nested_spread, np.argmin, "smallest"),
        "largest ratio": partial(_nested_spread, np.argmax, "largest"),
        "fall": _nested_fall,
        "mean error": _nested_mean,
    },
    "SE-21": {"20 rows": partial(_unbiased_score, "ais_mean_ratio", "ais_mean_ratio_error")},
    "SE-23": {"10 and 20 rows": partial(_unbiased_score, "sir_mean_ratio", "sir_mean_ratio_error")},
    "SE-31": {
        "fixed schedule": partial(_unbiased_score, "stream_mean_ratio", "stream_mean_ratio_error"),
        "adapted to 5 of 10": partial(_adaptive_bias, "adaptive_mean_ratio", "adaptive_mean_ratio_error"),
        "adapted to 8 of 10": partial(
            _adaptive_bias, "finely_adaptive_mean_ratio", "finely_adaptive_mean_ratio_error"
        ),
    },
}
