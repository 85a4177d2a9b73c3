"""Measures the published claims SE-01 to SE-23 and SE-31, and the numbers of the findings, from the tables."""

import math
from functools import partial

import numpy as np
from scipy.special import ndtr

from auxmc.diagnostics.distributions import total_variation
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import Measurement, estimate, exact, largest, mean, proportion, proportion_of
from auxmc_pipeline.tables import Measure, MissingData, Tables, first_run, recorded

_HMC, _RANDOM_WALK = {"method": "hmc"}, {"method": "random_walk"}
_SGHMC, _SGLD = {"dynamics": "sghmc"}, {"dynamics": "sgld"}
_MOST_EVALUATIONS = 3.0  # that a gradient may cost; the least is one
_LOG_LEAST = -1075.0 * math.log(2.0)  # Half of the least positive number of double precision
_BATCH_ROWS = (200, 2000, 20_000, 200_000)


def ratio(
    quantity: str, above: dict[str, str], below: dict[str, str], tables: Tables, over: str = "chain"
) -> Measurement:
    """SE-01 and SE-08: ratio of two means over chains or groups of chains."""
    by = f"{next(iter(above))}_{over}"
    first, second = (mean(tables.values(quantity, by, **wanted)) for wanted in (above, below))
    return (first / second).noted(f"{first.value:.4g} and {second.value:.4g}")


def per_evaluation(most: Measure, tables: Tables) -> Measurement:
    """SE-01: middle of the ratios with a gradient as one evaluation and as three, with an error that holds both."""
    high, error, *_ = most(tables)
    low = high / _MOST_EVALUATIONS
    note = f"{high:.3g} with a gradient as one, {low:.3g} as three"
    return Measurement((high + low) / 2.0, (high - low) / 4.0 + error, note)


def variance(tables: Tables, quantity: str = "variance", **of: str | int) -> Measurement:
    """SE-05, SE-06 and SE-09: stationary variance over that of the exact target, next to its formula."""
    (by,) = of
    expected = tables.values(f"{quantity}_expected", by, **of).item()
    return mean(tables.values(quantity, f"{by}_chain", **of), f"formula {expected:.5g}")


def falling_error(tables: Tables) -> Measurement:
    """SE-05: relative error of the variance at eta times curvature 0.01, over that at 0.1."""
    small, large = (variance(tables, configuration=f"step {step}") - 1.0 for step in (0.01, 0.1))
    return (small / large).noted(f"{small.value:.2g} against {large.value:.2g}")


def first_order(n_rows: int, tables: Tables) -> Measurement:
    """SE-06: variance of SGLD by closed form, with an error for the noise of other data sets of as many rows."""
    value = tables.values("first_order_inflation", "n_rows", n_rows=n_rows).item()
    return Measurement(value, (value - 1.0) * math.sqrt(2.0 / n_rows))


def cited_distance(tables: Tables) -> Measurement:
    """SE-07: total variation distance of naive HMC from the cited target, over bins, of all chains together."""
    frequencies = tables.array("cited_frequency", "chain", "well_bin").values
    exact_ones = tables.array("cited_probability", "well_bin").values
    return estimate(
        lambda chains: total_variation(chains.mean(axis=0), exact_ones),
        frequencies,
        method="jackknife",
        note=f"{exact_ones.size} bins",
    )


def smoothness(tables: Tables) -> Measurement:
    """SE-08: difference of the mean cosines between successive steps."""
    a, b = (mean(tables.values("turning_cosine", "dynamics_chain", **one)) for one in (_SGHMC, _SGLD))
    return (a - b).noted(f"{a.value:.4g} and {b.value:.4g}")


def rows_and_mean(tables: Tables) -> tuple[float, float]:
    """Number of our observations and their mean, from what is recorded of their likelihood."""
    n_rows = 1.0 / (tables.value("reciprocal_tail_exponent") - 1.0)
    nats = tables.value("log_largest_likelihood") - tables.value("log_evidence")
    return n_rows, math.sqrt(2.0 * (n_rows + 1.0) / n_rows * (nats - 0.5 * math.log(n_rows + 1.0)))


def exact_zeros(tables: Tables) -> Measurement:
    """SE-11: probability that an average of likelihoods of prior draws is 0 in double precision, by closed form."""
    n_rows, centre = rows_and_mean(tables)
    # Numbers below half of the least positive one are 0; an average is where all of its likelihoods are.
    nats = tables.value("log_largest_likelihood") - _LOG_LEAST
    far = math.sqrt(2.0 * nats / n_rows)
    n_samples = tables.setting("n_samples", case="evidence")
    chance = float(ndtr(centre - far) + ndtr(-centre - far))
    return exact(chance**n_samples, f"prior draws {far:.3g} from {centre:.3g}")


def harmonic_median(tables: Tables) -> Measurement:
    """SE-12: its error is that of other data sets too, by which the largest likelihood over the evidence differs."""
    value, error = (tables.value(f"harmonic_median_decades{part}") for part in ("", "_error"))
    n_rows, centre = rows_and_mean(tables)
    of_data = centre * n_rows / (n_rows + 1.0) / math.sqrt(n_rows) / math.log(10.0)
    with_data = math.hypot(error, math.sqrt(2.0) * of_data)
    return Measurement(value, with_data, f"data sets add {of_data:.2g} each")


def two_decades_above(tables: Tables) -> Measurement:
    """SE-12: fraction of harmonic means of a hundred times the evidence or more."""
    most = tables.value("harmonic_largest_decades")
    bound = tables.value("harmonic_bound_decades")
    note = f"the largest is {most:.3f} decades too large, the largest likelihood {bound:.3f}"
    n_replicates = tables.setting("n_replicates", case="evidence")
    return proportion(tables.value("harmonic_over_hundred"), n_replicates, note)


def inaccuracy(tables: Tables) -> Measurement:
    """SE-13: proportion of batches of posterior draws whose mean reciprocal is wrong by a factor of ten or more."""
    ratios = tables.values("reciprocal_mean", "point")
    note = f"each of {tables.value('n_reciprocals') / ratios.size:.0f} draws"
    return proportion_of(np.abs(np.log10(ratios)) >= 1.0, note)


def largest_variance(tables: Tables) -> Measurement:
    """SE-13: inverse of the largest variance, in squared evidences: 0 or the largest likelihood, equally likely."""
    most = 0.25 * 10.0 ** (2.0 * tables.value("harmonic_bound_decades"))
    return exact(1.0 / most, f"variance at most {most:.4g} squared evidences")


def over_bound(quantity: str, n_trials: str, excess: float, tables: Tables) -> Measurement:
    """SE-14: fraction of estimates above the evidence by so many nats, less its bound."""
    n = tables.setting(n_trials, case="evidence")
    fraction = proportion(tables.values(quantity, "excess", excess=excess, case="evidence").item(), n)
    bound = math.exp(-excess)
    return (fraction - bound).noted(f"{fraction.value:.4g}, bound {bound:.4g}")


def shrinkage_term(n_live: int, tables: Tables) -> Measurement:
    """SE-15: M times the distance of the ratio from 1."""
    found = tables.values("shrinkage_ratio", "n_ratio_live", n_ratio_live=n_live).item()
    return exact(n_live * abs(found - 1.0))


def suppression(relative: bool, tables: Tables) -> Measurement:
    """SE-15: rate, per M steps, at which the difference of both mean masses falls from step 10 M to 20 M."""
    rows = tables.rows("n_ratio_live", "shrinkage_ratio")
    n_live = rows["n_ratio_live"]
    # Log of M/(M+1) over exp(-1/M), after M steps.
    gain = n_live * np.log1p(rows["shrinkage_ratio"] / (2.0 * np.square(n_live)) * np.exp(1.0 / n_live))
    rate = np.log(np.expm1(10.0 * gain) / np.expm1(20.0 * gain)) / 10.0 + (0.0 if relative else 1.0)
    return exact(rate.min(), f"M from {n_live.min():.0f} up to {n_live.max():.0f}")


def distance_from_distribution(tables: Tables) -> Measurement:
    """SE-16: largest distance of the distribution functions of the ratios, over numbers of live points."""
    rows = tables.rows("n_exact_live", "shrinkage_distance")
    note = f"p-values {', '.join(f'{value:.2g}' for value in rows['shrinkage_p_value'])}"
    names = [f"{n:.0f} live points; {note}" for n in rows["n_exact_live"]]
    return largest(rows["shrinkage_distance"], rows["shrinkage_distance_error"], names)


def mean_mass(tables: Tables) -> Measurement:
    """SE-16: relative error of the mean mass, largest over numbers of live points."""
    rows = tables.rows("n_exact_live", "shrinkage_mean_ratio")
    names = [f"{n:.0f} live points, after five steps" for n in rows["n_exact_live"]]
    return largest(np.abs(rows["shrinkage_mean_ratio"] - 1.0), rows["shrinkage_mean_ratio_error"], names)


def nested_fall(tables: Tables) -> Measurement:
    """SE-18: power of the live points with which the spread of the errors of nested sampling falls."""
    errors = _nested(tables, "nested_error")
    n_live = list(errors)
    if len(n_live) < 2:
        raise MissingData("nested sampling with two numbers of live points: not run at this preset")
    ends = (errors[n_live[0]], errors[n_live[-1]])
    span = math.log(n_live[-1] / n_live[0])
    return estimate(
        lambda few, many: math.log(many.std(ddof=1) / few.std(ddof=1)) / span,
        *ends,
        method="jackknife",
        note=f"{n_live[-1]:.0f} and {n_live[0]:.0f} live points",
    )


def nested_spread(sign: float, tables: Tables) -> Measurement:
    """Standard deviation over sqrt(information / live points), largest (sign 1) or smallest (-1) over live points."""
    errors, information = _nested(tables, "nested_error"), _nested(tables, "nested_information")
    spreads = [
        estimate(
            lambda e, nats, n=n_live: e.std(ddof=1) / np.sqrt(nats.mean() / n),
            errors[n_live],
            information[n_live],
            method="paired",
        )
        for n_live in errors
    ]
    names = [f"{n_live:.0f} live points, farthest of {len(errors)}" for n_live in errors]
    return largest([sign * s.value for s in spreads], [s.error for s in spreads], names) * sign


def nested_mean(tables: Tables) -> Measurement:
    """Mean error of nested sampling with most live points, in nats."""
    n_live, errors = _nested(tables, "nested_error").popitem()
    return mean(errors, f"{n_live:.0f} live points, adapted steps")


def _nested(tables: Tables, quantity: str) -> dict[float, FloatArray]:
    """A quantity of nested sampling [run] by the number of live points, fewest first."""
    rows = tables.rows("n_live_points_run", quantity)
    return {float(n): run[quantity].to_numpy() for n, run in rows.groupby("n_live_points")}  # type: ignore[arg-type]


def bias(estimator: str, tables: Tables) -> Measurement:
    """SE-21: largest distance of the mean of estimate over evidence from 1, over prefixes."""
    case = first_run(tables, "annealed_more", "evidence") if estimator == "ais" else "evidence"
    rows = tables.rows("prefix", f"{estimator}_mean_ratio", case=case)
    means, errors = (rows[f"{estimator}_mean_ratio{part}"] for part in ("", "_error"))
    every = ", ".join(f"{mean:.3f} +- {its:.3f}" for mean, its in zip(means, errors, strict=True))
    n = len(rows)
    names = [f"prefix {i} of {n}; mean of estimate over evidence {every}" for i in range(1, n + 1)]
    return largest(np.abs(means - 1.0), errors, names)


def bias_at(estimator: str, prefix: int, tables: Tables) -> Measurement:
    """SE-23 and SE-31: mean of estimate over evidence after some rows, less 1."""
    name = f"{estimator}_mean_ratio"
    row = tables.rows("prefix", name, prefix=prefix, case="evidence").iloc[0]
    return Measurement(row[name] - 1.0, row[f"{name}_error"])


_PER_EVALUATION: dict[str, Measure] = {  # a gradient as one
    "squared jump": partial(ratio, "squared_jump_per_evaluation", _HMC, _RANDOM_WALK),
    "autocorrelation time": partial(ratio, "autocorrelation_time", _RANDOM_WALK, _HMC),
    "convergence": partial(ratio, "convergence_time", _RANDOM_WALK, _HMC, over="group"),
}
_autocorrelation = _PER_EVALUATION["autocorrelation time"]

MEASURE: dict[str, dict[str, Measure]] = {
    "SE-01": {
        **{name: partial(per_evaluation, most) for name, most in _PER_EVALUATION.items()},
        "squared jump, per update": partial(ratio, "squared_jump", _HMC, _RANDOM_WALK),
        "autocorrelation time, per update": partial(ratio, "autocorrelation_updates", _RANDOM_WALK, _HMC),
        "convergence, per update": partial(ratio, "convergence_updates", _RANDOM_WALK, _HMC, over="group"),
        "autocorrelation time, gradients twice": lambda tables: _autocorrelation(tables) / 2.0,
    },
    "SE-02": {
        "round trip": recorded("round_trip_error", exact=True),
        "volume": recorded("jacobian_error", exact=True),
        "acceptance": recorded("acceptance_error", exact=True),
    },
    "SE-03": {"largest difference": recorded("langevin_error", exact=True)},
    "SE-04": {"largest difference": recorded("friction_one_error", exact=True)},
    "SE-05": {
        "limit of small steps": partial(variance, configuration="step 0.01"),
        "error of smaller steps": falling_error,
    },
    "SE-06": {
        **{f"{n_rows} rows, SGLD": partial(first_order, n_rows) for n_rows in _BATCH_ROWS},
        **{
            f"{n_rows} rows": partial(variance, quantity="inflation", n_rows=n_rows) for n_rows in _BATCH_ROWS
        },
    },
    "SE-07": {
        "cited example, distance": cited_distance,
        "cited example": lambda tables: mean(tables.values("cited_variance")),
        "mini-batches of 200000 rows": lambda t: mean(t.values("naive_variance", naive_noise=400.0)),
    },
    "SE-08": {
        "autocorrelation time": partial(ratio, "gradient_autocorrelation_time", _SGHMC, _SGLD),
        "distance after 100 steps": partial(ratio, "displacement", _SGHMC, _SGLD),
        "smoothness": smoothness,
    },
    "SE-09": {
        "as printed: the noise variance": partial(variance, configuration="overcorrected"),
        "variance subtracted": partial(variance, configuration="corrected, friction 1"),
        "variance subtracted, SGHMC": partial(variance, configuration="corrected"),
    },
    "SE-10": {
        "p-value": recorded("printed_order_p_value", exact=True),
        "our data": recorded("log10_evidence", exact=True),
    },
    "SE-11": {
        "mean": recorded("prior_mean_ratio", "prior_mean_ratio_error"),
        "fraction below": recorded("prior_below", "prior_below_error"),
        "fraction two decades below": recorded("prior_far_below", "prior_far_below_error"),
        "median": recorded("prior_median_decades", "prior_median_decades_error"),
        "exact zeros": exact_zeros,
    },
    "SE-12": {"median": harmonic_median, "fraction two decades above": two_decades_above},
    "SE-13": {
        "inaccuracy": inaccuracy,
        "tail exponent": recorded("reciprocal_tail_exponent", exact=True),
        "largest variance": largest_variance,
    },
    "SE-14": {
        f"{setting} {excess}": partial(over_bound, quantity, n_trials, float(excess))
        for setting, quantity, n_trials in (
            ("prior averaging", "prior_excess", "n_replicates"),
            ("annealed", "ais_excess", "n_runs"),
        )
        for excess in (1, 2, 3)
    },
    "SE-15": {
        "10000 live points": partial(shrinkage_term, 10_000),
        "suppression": partial(suppression, False),
        "relative suppression": partial(suppression, True),
    },
    "SE-16": {"distribution of the ratios": distance_from_distribution, "mean": mean_mass},
    "SE-17": {
        name: recorded("sum_error", by="sum", exact=True, sum=name)
        for name in ("level", "lower", "upper", "listing", "difference")
    },
    "SE-18": {"fall": nested_fall},
    "SE-21": {"20 rows": partial(bias, "ais")},
    "SE-22": {"largest violation": recorded("size_violation", exact=True)},
    "SE-23": {f"{prefix} rows": partial(bias_at, "sir", prefix) for prefix in (10, 20)},
    "SE-31": {
        f"{schedule}, {prefix} rows": partial(bias_at, estimator, prefix)
        for schedule, estimator in (("fixed schedule", "stream"), ("adapted to 5 of 10", "adaptive"))
        for prefix in (10, 20, 30, 40, 50, 60)
    },
}

NUMBERS: dict[str, Measure] = {
    "largest possible harmonic mean in decades": recorded("harmonic_bound_decades", exact=True),
    "smallest spread of nested sampling": partial(nested_spread, -1.0),
    "largest spread of nested sampling": partial(nested_spread, 1.0),
    "mean error of nested sampling": nested_mean,
    "bias of steps adapted to 8 of 10": partial(bias, "finely_adaptive"),
    "gradient=1": _autocorrelation,
    "gradient=3": lambda tables: _autocorrelation(tables) / _MOST_EVALUATIONS,
}
