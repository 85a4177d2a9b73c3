"""Measures the claims of the foundations: the run has put most into the table, under their ids and settings."""

import csv
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import xarray as xr
from scipy import integrate, stats

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import Measurement, exact, mean
from auxmc_pipeline.tables import Measure, Tables
from experiments.foundations.numbers.sampling import figure_ratio, mixture_density
from experiments.foundations.run import TOPICS, claims_of
from experiments.foundations.sampling import product_simpson
from experiments.foundations.topic import Lines, Work

_SEMI_AXES = (4.281189, 0.303485)  # of the dotted ellipse of figure 2.11, from the sources of its drawing


def _recorded(line: str, computed_by: Callable[[Work], Lines]) -> Measure:
    """A measure that reads what `computed_by` has put into the table."""

    def measure(tables: Tables) -> Measurement:
        row = tables.rows("line", "measured", line=line).iloc[0]
        return Measurement(row["measured"], row["measured_error"], exact=bool(row["measured_exact"]))

    measure.computed_by = computed_by  # type: ignore[attr-defined]
    return measure


def _drawn_weights(tables: Tables) -> xr.DataArray:
    return tables.array("fig_2_5_weight", "fig_2_5_sd", "fig_2_5_x")


def _at_sd(values: xr.DataArray, sd: float) -> xr.DataArray:
    """The nearest, as coordinates may be in single precision."""
    return values.sel(fig_2_5_sd=sd, method="nearest")


def _narrow_over_broad(values: xr.DataArray) -> Measurement:
    return exact(float(_at_sd(values, 0.52) / _at_sd(values, 0.8)))


def _ratio_to_draws(tables: Tables) -> Measurement:
    """Largest error of Simpson's rule in 4 and 8 dimensions over that of as many draws."""
    names = "quadrature_dim", "quadrature_panels"
    error, n_points = (tables.array(f"quadrature_{name}", *names) for name in ("error", "n_points"))
    ratio = error * n_points**0.5 / tables.array("quadrature_sd", names[0])
    return exact(float(ratio.sel({names[0]: [4, 8]}).max()))


def _ratio_to_draws_if_steep(tables: Tables) -> Measurement:
    """Error of Simpson's rule for the sum of exp(8 x) over six coordinates over that of as many draws; no run."""
    del tables
    rate, n_panels, dim = 8.0, 4, 6
    mean_of_one, square_of_one = (math.expm1(k * rate) / (k * rate) for k in (1, 2))
    # The integrand is a sum: relative errors of the rule are those of one coordinate.
    rule = product_simpson(lambda x: np.exp(rate * x[:, 0]), n_panels, 1) / mean_of_one
    error_of_draws = math.sqrt((square_of_one / mean_of_one**2 - 1.0) / dim / (2 * n_panels + 1) ** dim)
    return exact(abs(rule - 1.0) / error_of_draws)


def _mean_square_of_estimates(tables: Tables) -> Measurement:
    """FN-IS-11: mean square of an importance sample of x of figure 2.3 over that of a draw of the target; no run."""
    del tables
    x = np.linspace(-12.0, 12.0, 24_001)
    square = mixture_density(x) * x**2
    return exact(float(np.sum(square * figure_ratio(x)) / np.sum(square)))


def _mass_of_ellipse(tables: Tables) -> Measurement:
    """Of a normal target with unit variances; no run enters it."""
    del tables
    # Whatever the correlation is, the squared semi-axes then add up to twice the quantile of chi-squared.
    return exact(-math.expm1(-0.25 * sum(axis**2 for axis in _SEMI_AXES)))


def _ratio_of_jumps(tables: Tables) -> Measurement:
    """Mean squared jump along the long axis of figure 2.11, random directions over axes."""
    jumps = partial(tables.values, "fig_2_11_jump", "fig_2_11_direction_fig_2_11_repeat")
    either, axes = (mean(jumps(fig_2_11_direction=name)) for name in ("random direction", "axis-aligned"))
    return either / axes


def _masses_of_shells(tables: Tables) -> FloatArray:
    """Mass within a tenth of the root of D [dimension]."""
    names = "fig_2_8_dimension", "fig_2_8_point"
    radius, density = (tables.array(f"fig_2_8_{name}", *names) for name in ("radius", "density"))
    masses = []
    for dim, r, height in zip(radius["fig_2_8_dimension"].values, radius.values, density.values, strict=True):
        below = integrate.cumulative_trapezoid(height, r, initial=0.0)
        masses.append(np.diff(np.interp(np.sqrt(dim) * np.array([0.9, 1.1]), r, below))[0])
    return np.array(masses)


def _p_value_of_moments(tables: Tables) -> Measurement:
    """Smallest two-sided p-value of the six moments of figure 2.11, times six."""
    rows = tables.rows("line", "measured")
    rows = rows[rows["line"].str.startswith("FN-SL-05 ")]
    fractions, errors = rows["measured"].to_numpy(), rows["measured_error"].to_numpy()
    tails = np.minimum(fractions, 1.0 - fractions)
    return Measurement(12.0 * float(tails.min()), 12.0 * float(errors[tails.argmin()]))


def _acceptance_in_many(tables: Tables) -> Measurement:
    """On N(0, I) in 100 dimensions, from that in one: 2 F(1 / s^2) if the leapfrog map stretches by s and 1 / s."""
    one = tables.rows("line", "measured", line="FN-HM-11 step 0.1, acceptance probability").iloc[0]
    return exact(2.0 * float(stats.f.cdf(math.tan(0.25 * math.pi * one["measured"]) ** 2, 100, 100)))


DERIVED: dict[str, dict[str, Measure]] = {
    "FN-IS-04": {
        "largest weight on the axis, sd 0.52 over sd 0.8": lambda t: _narrow_over_broad(
            _drawn_weights(t).max("fig_2_5_x")
        ),
        "place of the largest weight, sd 0.52": lambda t: exact(
            float(_at_sd(_drawn_weights(t), 0.52).idxmax("fig_2_5_x"))
        ),
        "relative variance of w, narrow over broad": lambda t: _narrow_over_broad(
            # The effective fraction is 1 / (1 + relative variance).
            1.0 / t.array("fig_2_5_effective_share", "fig_2_5_sd") - 1.0
        ),
    },
    "FN-IS-11": {"figure 2.3, mean square of an estimate": _mean_square_of_estimates},
    "FN-MC-02": {
        "steep integrand, 6 dimensions, error over that of draws": _ratio_to_draws_if_steep,
        "4 and 8 dimensions, largest ratio to the error of draws": _ratio_to_draws,
    },
    "FN-SL-01": {"mass by both semi-axes": _mass_of_ellipse},
    "FN-SL-02": {"mean squared jump along the long axis, random over axis-aligned": _ratio_of_jumps},
    "FN-CM-01": {
        "mass within a tenth of the root of D, D = 100": lambda t: exact(float(_masses_of_shells(t)[-1])),
        "least rise of that mass": lambda t: exact(float(np.diff(_masses_of_shells(t)).min())),
    },
    "FN-HM-11": {"step 0.1, acceptance probability, 100 dimensions": _acceptance_in_many},
    "FN-SL-05": {"p-value of six moments": _p_value_of_moments},
}
"""Lines that are measured from arrays of figures or from many lines, or that need no run."""

with Path(__file__).with_name("claims.csv").open(newline="", encoding="utf-8") as _file:
    _LINES = [(row["claim_id"], row["setting"]) for row in csv.DictReader(_file)]

_FUNCTIONS = {claim: function for design in TOPICS for claim, function in claims_of(design).items()}

MEASURE: dict[str, dict[str, Measure]] = {
    claim: {
        name: DERIVED.get(claim, {}).get(name) or _recorded(f"{claim} {name}", _FUNCTIONS[claim])
        for id_, name in _LINES
        if id_ == claim
    }
    for claim in dict(_LINES)
}

NUMBERS = {
    f"{claim} {setting}": _recorded(f"{claim} {setting}", _FUNCTIONS[claim])
    for topics in TOPICS.values()
    for module in topics
    for claim, settings in module.TOPIC.numbers.items()
    for setting in settings
}
