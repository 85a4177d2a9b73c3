"""Measures the claims of the tempering illustrations from their table."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures, recorded
from auxmc_pipeline.error_rules import difference, paired_ratio, share_of_trials
from auxmc_pipeline.tables import MissingData, Tables, Wanted

Measure = Callable[[Tables], Measurement]

# Crossings of a chain, about, from which on its mean time of a crossing can be trusted.
_CROSSINGS = 3


def excess(first: Measure, second: Measure) -> Measure:
    """One measurement minus another one, independent of it."""

    def measure(tables: Tables) -> Measurement:
        a, b = first(tables), second(tables)
        return difference(a, b, f"{a.value:.6g} and {b.value:.6g}")

    return measure


def largest_score(tables: Tables, quantity: str, **wanted: Wanted) -> Measurement:
    """Largest size of several distances in standard errors."""
    scores = _values(tables, quantity, **wanted)
    return Measurement(float(np.abs(scores).max()), 0.0, f"largest of {scores.size}")


def score(
    tables: Tables, quantity: str, error: str, truth: str = "", note: str = "", **wanted: Wanted
) -> Measurement:
    """Distance of a quantity from its exact value in standard errors; without a recorded one it is zero."""
    value, sd = (tables.summary.value(name, **wanted) for name in (quantity, error))
    known = tables.summary.value(truth, **wanted) if truth else 0.0
    each = f"{value:.4f} +- {sd:.4f}" + (f", exact {known:.4f}" if truth else "")
    return Measurement((value - known) / sd, 0.0, each + note)


def slopes_fall(tables: Tables) -> Measurement:
    """CT-T08: errors of differences of second order are proportional to the square of their step."""
    ratios = [
        tables.summary.value("slope_error", end=end, difference_step=5e-4)
        / tables.summary.value("slope_error", end=end, difference_step=1e-3)
        for end in ("base", "target")
    ]
    return Measurement(max(ratios), 0.0)


def crossing_exponent(tables: Tables, index_update: str) -> Measurement:
    """CT-T20; chains that cross the longest ladder hardly ever show their fast crossings alone."""
    rows = tables.summary.rows("crossing_updates", index_update=index_update)
    longest, n_draws = float(rows["n_intervals"].max()), float(rows["n_passage_draws"].iloc[0])
    least = _CROSSINGS * longest**2
    if n_draws < least:
        raise MissingData(f"needs n_passage_draws of at least {least:.0f}, this preset has {n_draws:.0f}")
    return recorded("crossing_exponent", "crossing_exponent_error", index_update=index_update)(tables)


def unvisited(tables: Tables) -> Measurement:
    """CT-T19: estimates of chains that counts cannot give one."""
    n = tables.summary.value("n_unvisited")
    note = f"{n:.0f} chains after 5 iterations, an end without a visit"
    return Measurement(tables.summary.value("finite_unvisited"), 0.0, note)


def faithful_chains(tables: Tables) -> Measurement:
    """CT-A02."""
    switches, left = _values(tables, "hmc_switches"), _values(tables, "hmc_mass_left")
    note = f"{int(switches.sum())} switches in {switches.size} chains; mass left in the first {left[0]:g}"
    return share_of_trials(float(np.mean(switches == 0)), switches.size, note)


def single_chain(tables: Tables) -> Measurement:
    """CT-A03: the first chain; its spread is that of the others."""
    masses = tables.summary.array("mass_left_by_chain", "chain").sortby("chain").values
    inside = np.mean(np.abs(masses - 0.6) <= 0.08)
    note = (
        f"standard deviation over {masses.size} chains {masses.std(ddof=1):.3f}; {inside:.0%} are within 0.08"
    )
    return Measurement(float(masses[0]), math.nan, note)


def fit_between(tables: Tables) -> Measurement:
    """CT-V05: is the Renyi fit between the other two?"""
    count = 0
    for quantity in ("fit_mean", "fit_sd"):
        inclusive, half, exclusive = _fits(tables, quantity)
        count += min(inclusive, exclusive) < half < max(inclusive, exclusive)
    return Measurement(float(count), 0.0)


def fit_orderings(tables: Tables) -> Measurement:
    """CT-V06."""
    sds = _fits(tables, "fit_sd")
    note = " > ".join(f"{sd:.4f}" for sd in sds)
    return Measurement(float((sds[0] > sds[1]) + (sds[1] > sds[2])), 0.0, note)


def excess_of_published_fit(tables: Tables) -> Measurement:
    """CT-V05: how far the published Gaussian is from the minimum."""
    published = tables.summary.value("published_half_objective")
    smallest = tables.summary.value("fit_objective", fit="Renyi 1/2")
    return Measurement(published - smallest, 0.0, f"{published:.4f} and {smallest:.4f} nats")


def smallest_rise(tables: Tables) -> Measurement:
    """CT-V07."""
    rises = np.diff(tables.curves.array("sd_by_order", "order").sortby("order").values)
    return Measurement(float(rises.min()), 0.0, f"between {rises.size + 1} orders")


def variance_ratio(quantity: str, note: str, tables: Tables) -> Measurement:
    """CT-V11: of estimates from the same draws."""
    variances = tables.summary.array(quantity, "chunk", "estimate")
    draws, score = (variances.sel(estimate=name).values for name in ("reparameterisation", "score function"))
    return paired_ratio(draws, score, note)


def _values(tables: Tables, quantity: str, **wanted: Wanted) -> FloatArray:
    return tables.summary.rows(quantity, **wanted)["value"].to_numpy(dtype=np.float64)


def _fits(tables: Tables, quantity: str) -> list[float]:
    return [tables.summary.value(quantity, fit=name) for name in ("KL(p, q)", "Renyi 1/2", "KL(q, p)")]


_ONE_DIMENSION = partial(variance_ratio, "gradient_variance_one", "near the fit")
_HOT_FRACTION = partial(recorded, "hot_fraction", "hot_fraction_error")
_HOT_FRACTION_SCORE = partial(
    score,
    quantity="hot_fraction",
    error="hot_fraction_error",
    truth="hot_fraction_exact",
    note="; second halves",
)
_BARRIER = partial(recorded, "barrier_height")

MEASURE: Measures = {
    "CT-T03": {
        name: recorded("weight_identity_error", identity=name)
        for name in ("mirror", "difference", "ratio", "at zero")
    },
    "CT-T04": {"Gaussian target": recorded("evidence_identity_error")},
    "CT-T05": {name: recorded("target_moment_score", moment=name) for name in ("mean", "second moment")},
    "CT-T06": {name: recorded("base_moment_score", moment=name) for name in ("mean", "second moment")},
    "CT-T07": {"least second difference": recorded("least_second_difference")},
    "CT-T08": {
        "base end": recorded("slope_error", end="base", difference_step=1e-3),
        "target end": recorded("slope_error", end="target", difference_step=1e-3),
        "falls with the step": slopes_fall,
    },
    "CT-T09": {"end ratio": recorded("end_ratio_error"), "bounds": recorded("bound_slack")},
    "CT-T10": {"end ratio": recorded("elbo_ratio_error"), "slope at the base": recorded("elbo_slope")},
    "CT-T11": {
        "log zeta -5": partial(_HOT_FRACTION_SCORE, log_zeta=-5.0),
        "log zeta 5": partial(_HOT_FRACTION_SCORE, log_zeta=5.0),
        "ordering": excess(_HOT_FRACTION(log_zeta=5.0), _HOT_FRACTION(log_zeta=-5.0)),
    },
    "CT-T14": {"largest difference": recorded("coding_difference")},
    "CT-T18": {
        "arithmetic minus harmonic": excess(recorded("bound_upper_arithmetic"), recorded("bound_upper")),
        "sandwich": excess(
            recorded("single_bound_upper", "single_bound_upper_error"),
            recorded("single_bound_lower", "single_bound_lower_error"),
        ),
    },
    "CT-T19": {
        "variance ratio": recorded("variance_ratio", "variance_ratio_error"),
        "finite without a visit": unvisited,
        "distance in standard errors": partial(
            score, quantity="log_normaliser", error="log_normaliser_error"
        ),
    },
    "CT-T20": {
        "random walk": partial(crossing_exponent, index_update="random_walk"),
        "independent": partial(crossing_exponent, index_update="independent"),
    },
    "CT-T21": {"smallest p-value": recorded("smallest_p_value")},
    "CT-T22": {
        "true minus printed sum": excess(recorded("geometric_sum"), recorded("geometric_sum_printed"))
    },
    "CT-A01": {"mean": recorded("base_mean"), "standard deviation": recorded("base_sd")},
    "CT-A02": {"chains without a switch": faithful_chains},
    "CT-A03": {
        "single chain": single_chain,
        "all chains in standard errors": partial(
            score, quantity="mass_left", error="mass_left_error", truth="mass_left_exact"
        ),
    },
    "CT-A04": {"share of weight": recorded("weight_share_hot", "weight_share_hot_error")},
    "CT-A05": {
        "u = -5": _BARRIER(control=-5.0),
        "fall from u = 5 to u = 0": excess(_BARRIER(control=5.0), _BARRIER(control=0.0)),
        "fall from u = 0 to u = -5": excess(_BARRIER(control=0.0), _BARRIER(control=-5.0)),
    },
    "CT-A06": {f"curve {fifth}": recorded("n_modes", fifth=fifth) for fifth in (0, 5)},
    "CT-V01": {
        "mode": recorded("laplace_mode"),
        "second derivative": recorded("laplace_hessian"),
        "log density": recorded("laplace_log_density"),
        "normaliser": recorded("laplace_normaliser"),
    },
    "CT-V02": {f"x = {x:g}": recorded("laplace_tail_error", tail=x) for x in (8.0, -8.0)},
    "CT-V03": {
        "mean": recorded("fit_mean", fit="KL(p, q)"),
        "standard deviation": recorded("fit_sd", fit="KL(p, q)"),
    },
    "CT-V04": {
        "mean": recorded("fit_mean", fit="KL(q, p)"),
        "standard deviation": recorded("fit_sd", fit="KL(q, p)"),
    },
    "CT-V05": {
        "mean": recorded("fit_mean", fit="Renyi 1/2"),
        "standard deviation": recorded("fit_sd", fit="Renyi 1/2"),
        "between the two": fit_between,
        "excess of the published fit": excess_of_published_fit,
    },
    "CT-V06": {"orderings that hold": fit_orderings},
    "CT-V07": {"smallest rise": smallest_rise},
    "CT-V08": {
        "largest at positive order": recorded("bound_positive_orders"),
        "smallest at negative order": recorded("bound_negative_orders"),
        "largest rise": recorded("bound_largest_rise"),
        "order zero": recorded("bound_zero_order"),
        "limit": recorded("bound_limit_error"),
    },
    "CT-V09": {
        "skew symmetry": recorded("skew_symmetry_error"),
        "order 1/2": recorded("half_symmetry_error"),
    },
    "CT-V10": {
        name: partial(largest_score, quantity="gradient_score", estimate=name)
        for name in ("reparameterisation", "score function")
    },
    "CT-V11": {
        "one dimension": _ONE_DIMENSION,
        "one dimension, a tenth": _ONE_DIMENSION,
        "20 dimensions": partial(variance_ratio, "gradient_variance_many", "far from the fit"),
    },
}
