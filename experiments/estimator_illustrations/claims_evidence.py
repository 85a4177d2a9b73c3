"""Measures the claims about estimators of the evidence: SE-10 to SE-18, SE-21, SE-23 and SE-31."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures, exact, recorded
from auxmc_pipeline.error_rules import (
    fraction_of_trials,
    jackknife,
    largest,
    mean_over_replicates,
    ratio,
    smallest,
)
from auxmc_pipeline.tables import MissingData, Tables


def _two_decades_above(tables: Tables) -> Measurement:
    """Fraction of harmonic means of a hundred times the evidence or more."""
    most = tables.summary.value("harmonic_largest_decades")
    bound = tables.summary.value("harmonic_bound_decades")
    note = f"the largest is {most:.3f} decades too large, the largest likelihood {bound:.3f}"
    n_replicates = tables.summary.setting("n_replicates", quantity="harmonic_over_hundred")
    return fraction_of_trials(tables.summary.value("harmonic_over_hundred"), n_replicates, note)


def _top_fraction(tables: Tables) -> Measurement:
    fractions = tables.summary.rows("reciprocal_top_share")["value"]
    n = tables.summary.value("n_reciprocals") / fractions.size
    return mean_over_replicates(
        fractions, f"largest thousandth of {n:.0f} draws; mean over {fractions.size} batches"
    )


def _drift(tables: Tables) -> Measurement:
    """Mean of all reciprocals over the median of means of a thousand."""
    every, few = (
        tables.summary.rows(name)["value"].to_numpy() for name in ("reciprocal_mean", "reciprocal_mean_few")
    )
    n = tables.summary.value("n_reciprocals")
    note = f"{every.mean():.3g} of 1/Z from {n:.0f} draws; median of means of 1000 draws {np.median(few):.3g}"
    return jackknife(lambda kept: float(every[kept].mean() / np.median(few[kept])), every.size, note)


def _over_bound(quantity: str, n_trials: str, excess: float, tables: Tables) -> Measurement:
    """Fraction of estimates above the evidence by so many nats, less its bound."""
    n = tables.summary.setting(n_trials, quantity=quantity)
    fraction = fraction_of_trials(tables.summary.value(quantity, excess=excess), n)
    bound = math.exp(-excess)
    return fraction._replace(value=fraction.value - bound, note=f"{fraction.value:.4g}, bound {bound:.4g}")


def _shrinkage_term(tables: Tables) -> Measurement:
    """M times the distance of the ratio from 1, largest over M."""
    ratios = tables.summary.array("shrinkage_ratio", "n_ratio_live")
    n_live = ratios["n_ratio_live"].values
    return exact(
        float((np.abs(ratios.values - 1.0) * n_live).max()), f"M from {n_live.min():.0f} up to 10000"
    )


def _distance_from_distribution(tables: Tables) -> Measurement:
    """Largest distance of the distribution functions of the ratios, over numbers of live points."""
    found, errors = (
        tables.summary.array(name, "n_exact_live")
        for name in ("shrinkage_distance", "shrinkage_distance_error")
    )
    p_values = tables.summary.rows("shrinkage_p_value")["value"]
    note = f"p-values {', '.join(f'{value:.2g}' for value in p_values)}"
    names = [f"{n:.0f} live points; {note}" for n in found["n_exact_live"].values]
    return largest(found.values, errors.values, names)


def _mean_mass(tables: Tables) -> Measurement:
    """Relative error of the mean mass, largest over numbers of live points."""
    found, errors = (
        tables.summary.array(name, "n_exact_live")
        for name in ("shrinkage_mean_ratio", "shrinkage_mean_ratio_error")
    )
    names = [f"{n:.0f} live points, after five steps" for n in found["n_exact_live"].values]
    return largest(np.abs(found.values - 1.0), errors.values, names)


def _nested_errors(tables: Tables) -> xr.DataArray:
    """Errors of the log evidence of nested sampling [n_live_points, run], fewest live points first, in nats."""
    return tables.summary.array("nested_error", "n_live_points", "run").sortby("n_live_points")


def _spread(errors: FloatArray) -> Measurement:
    """Standard deviation over runs [run]."""
    return jackknife(lambda kept: float(errors[kept].std(ddof=1)), errors.size)


def _nested_spreads(tables: Tables) -> list[Measurement]:
    """Standard deviation of estimates over sqrt(information / live points), for each number of live points."""
    errors = _nested_errors(tables)
    information = tables.summary.array("nested_information", "n_live_points", "run").sortby("n_live_points")

    def spread(place: int) -> Measurement:
        n_live = float(errors["n_live_points"][place])
        values, nats = errors[place].values, information[place].values
        return jackknife(
            lambda kept: float(values[kept].std(ddof=1) / np.sqrt(nats[kept].mean() / n_live)),
            values.size,
            f"{n_live:.0f} live points, farthest of {errors.sizes['n_live_points']}",
        )

    return [spread(place) for place in range(errors.sizes["n_live_points"])]


def _largest_spread(tables: Tables) -> Measurement:
    values, errors, notes, _ = zip(*_nested_spreads(tables), strict=True)
    return largest(values, errors, notes)


def _smallest_spread(tables: Tables) -> Measurement:
    values, errors, notes, _ = zip(*_nested_spreads(tables), strict=True)
    return smallest(values, errors, notes)


def _nested_mean(tables: Tables) -> Measurement:
    """Mean error with most live points, in nats."""
    errors = _nested_errors(tables)[-1]
    note = f"{errors['n_live_points'].item():.0f} live points, adapted steps"
    return mean_over_replicates(errors.values, note)


def _nested_fall(tables: Tables) -> Measurement:
    """Spread with most live points over that with fewest."""
    errors = _nested_errors(tables)
    n_live = errors["n_live_points"].values
    if n_live.size < 2:
        raise MissingData("nested sampling with two numbers of live points: not run at this preset")
    few, many = (_spread(errors[place].values) for place in (0, -1))
    return ratio(many, few, f"{n_live[-1]:.0f} and {n_live[0]:.0f} live points")


def _by_prefix(tables: Tables, quantity: str, error: str) -> tuple[FloatArray, FloatArray]:
    """Mean of estimates over the evidence [prefix], where it is known, and its error."""
    means, errors = (tables.summary.array(name, "prefix").values for name in (quantity, error))
    present = np.isfinite(means)
    if not present.any():
        raise MissingData(f"{quantity}: not run at this preset")
    return means[present], errors[present]


def _bias(quantity: str, error: str, tables: Tables) -> Measurement:
    """Largest distance of the mean of estimate over evidence from 1, over prefixes."""
    means, errors = _by_prefix(tables, quantity, error)
    every = ", ".join(f"{mean:.3f} +- {its:.3f}" for mean, its in zip(means, errors, strict=True))
    names = [
        f"prefix {n} of {means.size}; mean of estimate over evidence {every}"
        for n in range(1, means.size + 1)
    ]
    return largest(np.abs(means - 1.0), errors, names)


def _bias_at(quantity: str, error: str, place: int, tables: Tables) -> Measurement:
    """Mean of estimate over evidence at one prefix, less 1."""
    means, errors = _by_prefix(tables, quantity, error)
    return Measurement(float(means[place] - 1.0), float(errors[place]))


MEASURE: Measures = {
    "SE-10": {
        "our data": recorded("log10_evidence", exact=True),
    },
    "SE-11": {
        "mean": recorded("prior_mean_ratio", "prior_mean_ratio_error"),
        "fraction below": recorded("prior_below", "prior_below_error"),
        "fraction two decades below": recorded("prior_far_below", "prior_far_below_error"),
        "median": recorded("prior_median_decades", "prior_median_decades_error"),
    },
    "SE-12": {
        "median": recorded("harmonic_median_decades", "harmonic_median_decades_error"),
        "fraction two decades above": _two_decades_above,
    },
    "SE-13": {"fraction of the top": _top_fraction, "drift": _drift},
    "SE-14": {
        f"{setting} {excess}": partial(_over_bound, *names, float(excess))
        for setting, names in {
            "prior averaging": ("prior_excess", "n_replicates"),
            "annealed": ("ais_excess", "n_runs"),
        }.items()
        for excess in (1, 2, 3)
    },
    "SE-15": {"largest": _shrinkage_term},
    "SE-16": {"distribution of the ratios": _distance_from_distribution, "mean": _mean_mass},
    "SE-17": {
        name: recorded("sum_error", exact=True, sum=name)
        for name in ("level", "lower", "upper", "listing", "difference")
    },
    "SE-18": {"fall": _nested_fall},
    "SE-21": {"20 rows": partial(_bias, "ais_mean_ratio", "ais_mean_ratio_error")},
    "SE-23": {"10 and 20 rows": partial(_bias, "sir_mean_ratio", "sir_mean_ratio_error")},
    "SE-31": {
        "fixed schedule": partial(_bias, "stream_mean_ratio", "stream_mean_ratio_error"),
        **{
            f"adapted to 5 of 10, {10 * place + 10} rows": partial(
                _bias_at, "adaptive_mean_ratio", "adaptive_mean_ratio_error", place
            )
            for place in range(6)
        },
    },
}

NUMBERS: dict[str, Callable[[Tables], Measurement]] = {
    "largest possible harmonic mean in decades": recorded("harmonic_bound_decades", exact=True),
    "smallest spread of nested sampling": _smallest_spread,
    "largest spread of nested sampling": _largest_spread,
    "mean error of nested sampling": _nested_mean,
    "bias of steps adapted to 8 of 10": partial(
        _bias, "finely_adaptive_mean_ratio", "finely_adaptive_mean_ratio_error"
    ),
}
