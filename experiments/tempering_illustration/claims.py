"""Measures the claims of the tempering illustrations from their table."""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from auxmc_pipeline.claims import Measurement, measure_settings
from auxmc_pipeline.lookup import MissingData, rows_of

Measure = Callable[[pd.DataFrame], Measurement]

# Crossings of a chain, about, from which on its mean time of a crossing can be trusted.
_CROSSINGS = 3


def value(quantity: str, note: str = "", **where: str | float) -> Measure:
    """A deterministic quantity as it stands in the table."""
    return lambda summary: Measurement(_value(summary, quantity, **where), 0.0, note)


def with_error(quantity: str, **where: str | float) -> Measure:
    """A quantity and its error."""
    return lambda summary: Measurement(
        _value(summary, quantity, **where), _value(summary, f"{quantity}_error", **where)
    )


def difference(first: Measure, second: Measure) -> Measure:
    """Difference of two measurements, independent of each other."""

    def measure(summary: pd.DataFrame) -> Measurement:
        a, b = first(summary), second(summary)
        note = f"{a.value:.6g} and {b.value:.6g}"
        return Measurement(a.value - b.value, math.hypot(a.error, b.error), note)

    return measure


def largest_score(quantity: str, **where: str | float) -> Measure:
    """Largest size of several distances in standard errors."""

    def measure(summary: pd.DataFrame) -> Measurement:
        scores = rows_of(summary, quantity, **where)["value"].to_numpy(float)
        return Measurement(float(np.abs(scores).max()), 0.0, f"largest of {scores.size}")

    return measure


def hot_fraction_score(log_zeta: float) -> Measure:
    """CT-T11: fraction of the second halves of the chains, in standard errors over chains."""

    def measure(summary: pd.DataFrame) -> Measurement:
        found, error, exact = (
            _value(summary, f"hot_fraction{suffix}", log_zeta=log_zeta) for suffix in ("", "_error", "_exact")
        )
        return Measurement(
            (found - exact) / error, 0.0, f"{found:.4f} +- {error:.4f}, exact {exact:.4f}; second halves"
        )

    return measure


def slopes_fall(summary: pd.DataFrame) -> Measurement:
    """CT-T08: errors of differences of second order are proportional to the square of their step."""
    ratios = [
        _value(summary, "slope_error", end=end, difference_step=5e-4)
        / _value(summary, "slope_error", end=end, difference_step=1e-3)
        for end in ("base", "target")
    ]
    return Measurement(max(ratios), 0.0)


def crossing_exponent(update: str) -> Measure:
    """CT-T20; chains that cross the longest ladder hardly ever show their fast crossings alone."""

    def measure(summary: pd.DataFrame) -> Measurement:
        rows = rows_of(summary, "crossing_updates", index_update=update)
        longest, n_draws = float(rows["n_intervals"].max()), float(rows["n_passage_draws"].iloc[0])
        least = _CROSSINGS * longest**2
        if n_draws < least:
            raise MissingData(f"needs n_passage_draws of at least {least:.0f}, this preset has {n_draws:.0f}")
        return with_error("crossing_exponent", index_update=update)(summary)

    return measure


def estimate_score(summary: pd.DataFrame) -> Measurement:
    """CT-T19: pooled estimate of log Z = 0 in standard errors."""
    found, error = (_value(summary, f"log_normaliser{suffix}") for suffix in ("", "_error"))
    return Measurement(found / error, 0.0, f"{found:.4f} +- {error:.4f}")


def unvisited(summary: pd.DataFrame) -> Measurement:
    """CT-T19: estimates of chains that counts cannot give one."""
    n = _value(summary, "n_unvisited")
    return Measurement(
        _value(summary, "finite_unvisited"), 0.0, f"{n:.0f} chains after 5 iterations, an end without a visit"
    )


def faithful_chains(summary: pd.DataFrame) -> Measurement:
    """CT-A02."""
    switches = rows_of(summary, "hmc_switches")["value"].to_numpy(float)
    left = rows_of(summary, "hmc_mass_left")["value"].to_numpy(float)
    note = f"{int(switches.sum())} switches in {switches.size} chains; mass left in the first {left[0]:g}"
    rate = float(np.mean(switches == 0))
    return Measurement(rate, math.sqrt(rate * (1.0 - rate) / switches.size), note)


def single_chain(summary: pd.DataFrame) -> Measurement:
    """CT-A03: the first chain; its spread is that of the others."""
    masses = rows_of(summary, "mass_left_by_chain").sort_values("chain")["value"].to_numpy(float)
    inside = np.mean(np.abs(masses - 0.6) <= 0.08)
    note = (
        f"standard deviation over {masses.size} chains {masses.std(ddof=1):.3f}; {inside:.0%} are within 0.08"
    )
    return Measurement(float(masses[0]), math.nan, note)


def pooled_mass_score(summary: pd.DataFrame) -> Measurement:
    """CT-A03: all chains."""
    found, error, exact = (_value(summary, f"mass_left{suffix}") for suffix in ("", "_error", "_exact"))
    return Measurement((found - exact) / error, 0.0, f"{found:.4f} +- {error:.4f}, exact {exact:.4f}")


def fit_between(summary: pd.DataFrame) -> Measurement:
    """CT-V05: is the Renyi fit between the other two?"""
    count = 0
    for quantity in ("fit_mean", "fit_sd"):
        inclusive, half, exclusive = _fits(summary, quantity)
        count += min(inclusive, exclusive) < half < max(inclusive, exclusive)
    return Measurement(float(count), 0.0)


def fit_orderings(summary: pd.DataFrame) -> Measurement:
    """CT-V06."""
    sds = _fits(summary, "fit_sd")
    note = " > ".join(f"{sd:.4f}" for sd in sds)
    return Measurement(float((sds[0] > sds[1]) + (sds[1] > sds[2])), 0.0, note)


def excess(summary: pd.DataFrame) -> Measurement:
    """CT-V05: how far the published Gaussian is from the minimum."""
    published = _value(summary, "published_half_objective")
    smallest = _value(summary, "fit_objective", fit="Renyi 1/2")
    return Measurement(published - smallest, 0.0, f"{published:.4f} and {smallest:.4f} nats")


def smallest_rise(summary: pd.DataFrame, curves: pd.DataFrame) -> dict[str, Measurement]:
    """CT-V07."""
    try:
        rows = rows_of(curves, "sd_by_order").sort_values("order")
    except MissingData as missing:
        return {"smallest rise": Measurement(math.nan, math.nan, str(missing))}
    rises = np.diff(rows["value"].to_numpy(float))
    return {"smallest rise": Measurement(float(rises.min()), 0.0, f"between {rises.size + 1} orders")}


def variance_ratio(summary: pd.DataFrame) -> Measurement:
    """CT-V11."""
    one = _value(summary, "gradient_variance_ratio_one")
    dim = rows_of(summary, "gradient_variance_ratio")["gradient_dim"].iloc[0]
    return Measurement(
        _value(summary, "gradient_variance_ratio"),
        math.nan,
        f"in {dim} dimensions far from the fit; {one:.2f} in one dimension near it",
    )


def barrier(control: float) -> Measure:
    """CT-A05."""
    return value("barrier_height", control=control)


MEASURE = {
    "CT-T03": measure_settings(
        {
            name: value("weight_identity_error", identity=name)
            for name in ("mirror", "difference", "ratio", "at zero")
        }
    ),
    "CT-T04": measure_settings({"Gaussian target": value("evidence_identity_error")}),
    "CT-T05": measure_settings(
        {name: value("target_moment_score", moment=name) for name in ("mean", "second moment")}
    ),
    "CT-T06": measure_settings(
        {name: value("base_moment_score", moment=name) for name in ("mean", "second moment")}
    ),
    "CT-T07": measure_settings({"least second difference": value("least_second_difference")}),
    "CT-T08": measure_settings(
        {
            "base end": value("slope_error", end="base", difference_step=1e-3),
            "target end": value("slope_error", end="target", difference_step=1e-3),
            "falls with the step": slopes_fall,
        }
    ),
    "CT-T09": measure_settings({"end ratio": value("end_ratio_error"), "bounds": value("bound_slack")}),
    "CT-T10": measure_settings(
        {"end ratio": value("elbo_ratio_error"), "slope at the base": value("elbo_slope")}
    ),
    "CT-T11": measure_settings(
        {
            "log zeta -5": hot_fraction_score(-5.0),
            "log zeta 5": hot_fraction_score(5.0),
            "ordering": difference(
                with_error("hot_fraction", log_zeta=5.0), with_error("hot_fraction", log_zeta=-5.0)
            ),
        }
    ),
    "CT-T14": measure_settings({"largest difference": value("coding_difference")}),
    "CT-T18": measure_settings(
        {
            "arithmetic minus harmonic": difference(value("bound_upper_arithmetic"), value("bound_upper")),
            "sandwich": difference(with_error("single_bound_upper"), with_error("single_bound_lower")),
        }
    ),
    "CT-T19": measure_settings(
        {
            "variance ratio": with_error("variance_ratio"),
            "finite without a visit": unvisited,
            "distance in standard errors": estimate_score,
        }
    ),
    "CT-T20": measure_settings(
        {
            "random walk": crossing_exponent("random_walk"),
            "independent": crossing_exponent("independent"),
        }
    ),
    "CT-T21": measure_settings({"smallest p-value": value("smallest_p_value")}),
    "CT-T22": measure_settings(
        {"true minus printed sum": difference(value("geometric_sum"), value("geometric_sum_printed"))}
    ),
    "CT-A01": measure_settings({"mean": value("base_mean"), "standard deviation": value("base_sd")}),
    "CT-A02": measure_settings({"chains without a switch": faithful_chains}),
    "CT-A03": measure_settings(
        {"single chain": single_chain, "all chains in standard errors": pooled_mass_score}
    ),
    "CT-A04": measure_settings({"share of weight": with_error("weight_share_hot")}),
    "CT-A05": measure_settings(
        {
            "u = -5": barrier(-5.0),
            "fall from u = 5 to u = 0": difference(barrier(5.0), barrier(0.0)),
            "fall from u = 0 to u = -5": difference(barrier(0.0), barrier(-5.0)),
        }
    ),
    "CT-A06": measure_settings({"curve 0": value("n_modes", fifth=0), "curve 5": value("n_modes", fifth=5)}),
    "CT-V01": measure_settings(
        {
            "mode": value("laplace_mode"),
            "second derivative": value("laplace_hessian"),
            "log density": value("laplace_log_density"),
            "normaliser": value("laplace_normaliser"),
        }
    ),
    "CT-V02": measure_settings(
        {
            "x = 8": value("laplace_tail_error", tail=8.0),
            "x = -8": value("laplace_tail_error", tail=-8.0),
        }
    ),
    "CT-V03": measure_settings(
        {
            "mean": value("fit_mean", fit="KL(p, q)"),
            "standard deviation": value("fit_sd", fit="KL(p, q)"),
        }
    ),
    "CT-V04": measure_settings(
        {
            "mean": value("fit_mean", fit="KL(q, p)"),
            "standard deviation": value("fit_sd", fit="KL(q, p)"),
        }
    ),
    "CT-V05": measure_settings(
        {
            "mean": value("fit_mean", fit="Renyi 1/2"),
            "standard deviation": value("fit_sd", fit="Renyi 1/2"),
            "between the two": fit_between,
            "excess of the published fit": excess,
        }
    ),
    "CT-V06": measure_settings({"orderings that hold": fit_orderings}),
    "CT-V07": smallest_rise,
    "CT-V08": measure_settings(
        {
            "largest at positive order": value("bound_positive_orders"),
            "smallest at negative order": value("bound_negative_orders"),
            "largest rise": value("bound_largest_rise"),
            "order zero": value("bound_zero_order"),
            "limit": value("bound_limit_error"),
        }
    ),
    "CT-V09": measure_settings(
        {"skew symmetry": value("skew_symmetry_error"), "order 1/2": value("half_symmetry_error")}
    ),
    "CT-V10": measure_settings(
        {
            "reparameterisation": largest_score("gradient_score", estimate="reparameterisation"),
            "score function": largest_score("gradient_score", estimate="score function"),
        }
    ),
    "CT-V11": measure_settings({"ratio of variances": variance_ratio}),
}


def _value(summary: pd.DataFrame, quantity: str, **where: str | float) -> float:
    return float(rows_of(summary, quantity, **where)["value"].iloc[0])


def _fits(summary: pd.DataFrame, quantity: str) -> tuple[float, float, float]:
    """KL(p, q), Renyi 1/2, KL(q, p)."""
    first, second, third = (
        _value(summary, quantity, fit=name) for name in ("KL(p, q)", "Renyi 1/2", "KL(q, p)")
    )
    return first, second, third
