"""Measures the claims of the estimator illustrations from their table."""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, few_replicates, mean_over_replicates, measure_settings
from auxmc_pipeline.lookup import MissingData, rows_of

Measure = Callable[[pd.DataFrame], Measurement]

_PUBLISHED_ESTIMATES = 10


def value(quantity: str, note: str = "", **where: str | float) -> Measure:
    """A quantity without error as it stands in the table."""
    return lambda summary: Measurement(_value(summary, quantity, **where), 0.0, note)


def with_error(quantity: str, **where: str | float) -> Measure:
    """A quantity and its error."""
    return lambda summary: Measurement(
        _value(summary, quantity, **where), _value(summary, f"{quantity}_error", **where)
    )


def few_samples(measure: Measure) -> Measure:
    """A measure of estimates from as many draws as the source has."""

    def checked(summary: pd.DataFrame) -> Measurement:
        n = float(rows_of(summary, "log_evidence")["n_samples"].iloc[0])
        if n != _PUBLISHED_ESTIMATES:
            raise MissingData(f"needs n_samples = {_PUBLISHED_ESTIMATES}, these tables have {n:g}")
        return measure(summary)

    return checked


def ratio_of_means(quantity: str, over: dict[str, str], under: dict[str, str]) -> Measure:
    """Ratio of two means over chains."""

    def measure(summary: pd.DataFrame) -> Measurement:
        first, second = _values(summary, quantity, **over), _values(summary, quantity, **under)
        return _ratio(first, second, f"{first.mean():.4g} and {second.mean():.4g}")

    return measure


def difference_of_means(quantity: str, first: dict[str, str], second: dict[str, str]) -> Measure:
    """Difference of two means over chains."""

    def measure(summary: pd.DataFrame) -> Measurement:
        a, b = (mean_over_replicates(_values(summary, quantity, **where)) for where in (first, second))
        return Measurement(
            a.value - b.value, math.hypot(a.error, b.error), f"{a.value:.4g} and {b.value:.4g}"
        )

    return measure


def variance_over_formula(configuration: str) -> Measure:
    """SE-05: measured stationary variance over the closed form, less 1."""

    def measure(summary: pd.DataFrame) -> Measurement:
        expected = _value(summary, "variance_expected", configuration=configuration)
        found = mean_over_replicates(_values(summary, "variance", configuration=configuration))
        return Measurement(
            found.value / expected - 1.0, found.error / expected, f"{found.value:.5g}, formula {expected:.5g}"
        )

    return measure


def variance(configuration: str) -> Measure:
    """SE-05, SE-09: stationary variance times curvature, which is 1."""

    def measure(summary: pd.DataFrame) -> Measurement:
        expected = _value(summary, "variance_expected", configuration=configuration)
        return mean_over_replicates(
            _values(summary, "variance", configuration=configuration), f"formula {expected:.5g}"
        )

    return measure


def inflation(n_rows: int) -> Measure:
    """SE-06: variance with mini-batches over the posterior's."""

    def measure(summary: pd.DataFrame) -> Measurement:
        expected = _value(summary, "inflation_expected", n_rows=n_rows)
        return mean_over_replicates(_values(summary, "inflation", n_rows=n_rows), f"formula {expected:.5g}")

    return measure


def inflation_over_formula(summary: pd.DataFrame) -> Measurement:
    """SE-06: the measured inflation that is farthest from 1 + n I / 2000."""
    sizes = rows_of(summary, "inflation_leading")
    found = []
    for n, expected in zip(sizes["n_rows"], sizes["value"], strict=True):
        mean = mean_over_replicates(_values(summary, "inflation", n_rows=float(n)))
        found.append((mean.value / expected - 1.0, mean.error / expected, n))
    worst = max(found, key=lambda one: abs(one[0]))
    return Measurement(worst[0], worst[1], f"at {worst[2]:.0f} rows")


def growth(used: str) -> Measure:
    """SE-07: mean square in the last tenth of the chains over that in the second."""

    def measure(summary: pd.DataFrame) -> Measurement:
        late = _values(summary, "variance_by_time", friction_used=used, tenth=9)
        early = _values(summary, "variance_by_time", friction_used=used, tenth=1)
        return _ratio(late, early, f"{early.mean():.4g} to {late.mean():.4g}; target 1")

    return measure


def growth_rate(summary: pd.DataFrame) -> Measurement:
    """SE-07: rise of the mean square between the first and the last tenth over eta g / 2 a step."""
    late, early = (
        _values(summary, "variance_by_time", friction_used="frictionless", tenth=t) for t in (9, 0)
    )
    rate = 9.0 * _value(summary, "variance_rate_expected")
    return mean_over_replicates((late - early) / rate)


def prior_excess(quantity: str, excess: float) -> Measure:
    """SE-14: share of estimates above the evidence by so many nats, less its bound."""

    def measure(summary: pd.DataFrame) -> Measurement:
        share = _value(summary, quantity, excess=excess)
        bound = math.exp(-excess)
        return Measurement(
            share - bound,
            _value(summary, f"{quantity}_error", excess=excess),
            f"{share:.4g}, bound {bound:.4g}",
        )

    return measure


def drift(summary: pd.DataFrame) -> Measurement:
    """SE-13: mean of all reciprocals over the median of means of a thousand."""
    every, few = _value(summary, "reciprocal_mean"), _value(summary, "reciprocal_mean_few")
    n = _value(summary, "n_reciprocals")
    return Measurement(
        every / few,
        math.nan,
        f"{every:.3g} of 1/Z from {n:.0f} draws; median of means of 1000 draws {few:.3g}",
    )


def harmonic_slack(summary: pd.DataFrame) -> Measurement:
    """SE-12: decades between the largest estimate and the largest likelihood."""
    largest, bound = (_value(summary, f"harmonic_{name}_decades") for name in ("largest", "bound"))
    share = _value(summary, "harmonic_over_hundred")
    return Measurement(
        bound - largest,
        0.0,
        f"bound {bound:.3f} decades; share of estimates two decades too large: {share:g}",
    )


def shrinkage_term(summary: pd.DataFrame) -> Measurement:
    """SE-15: M times the distance of the ratio from 1, largest over M."""
    found = rows_of(summary, "shrinkage_ratio")
    scaled = np.abs(found["value"] - 1.0) * found["n_ratio_live"]
    return Measurement(float(scaled.max()), 0.0, f"M from {found['n_ratio_live'].min():.0f} up to 10000")


def shrinkage_p_value(summary: pd.DataFrame) -> Measurement:
    """SE-16: smallest p-value, made up for the number of tests."""
    values = rows_of(summary, "shrinkage_p_value")["value"].to_numpy(float)
    return Measurement(
        min(1.0, values.size * float(values.min())), 0.0, f"smallest of {values.size} times {values.size}"
    )


def largest(quantity: str) -> Measure:
    """Largest size of a quantity."""

    def measure(summary: pd.DataFrame) -> Measurement:
        values = rows_of(summary, quantity)["value"].to_numpy(float)
        return Measurement(float(np.abs(values).max()), 0.0, f"largest of {values.size}")

    return measure


def nested_spread(extreme: Callable[[list[float]], float], name: str) -> Measure:
    """SE-18: standard deviation of estimates over sqrt(information / live points)."""

    def measure(summary: pd.DataFrame) -> Measurement:
        found = []
        for n_live in np.unique(rows_of(summary, "nested_error")["n_live_points"]):
            errors = _values(summary, "nested_error", n_live_points=n_live)
            information = _values(summary, "nested_information", n_live_points=n_live).mean()
            found.append((errors.std(ddof=1) / math.sqrt(information / n_live), errors.size, n_live))
        ratio = extreme([one[0] for one in found])
        n_runs, n_live = next((one[1], one[2]) for one in found if one[0] == ratio)
        error = ratio / math.sqrt(2.0 * (n_runs - 1))
        return Measurement(ratio, error, f"{name} of {len(found)} numbers of live points: {n_live:.0f}")

    return measure


def nested_mean(summary: pd.DataFrame) -> Measurement:
    """SE-18: mean error with most live points, in nats."""
    most = float(rows_of(summary, "nested_error")["n_live_points"].max())
    return mean_over_replicates(
        _values(summary, "nested_error", n_live_points=most), f"{most:.0f} live points, adapted steps"
    )


def nested_fall(summary: pd.DataFrame) -> Measurement:
    """SE-18: spread with most live points over that with fewest."""
    sizes = np.unique(rows_of(summary, "nested_error")["n_live_points"])
    if sizes.size < 2:
        raise MissingData("nested sampling with two numbers of live points: not run at this preset")
    ends = [_values(summary, "nested_error", n_live_points=n) for n in (sizes[-1], sizes[0])]
    ratio = float(ends[0].std(ddof=1) / ends[1].std(ddof=1))
    error = ratio / math.sqrt(ends[0].size - 1)
    return Measurement(ratio, error, f"{sizes[-1]:.0f} and {sizes[0]:.0f} live points")


def unbiased_score(name: str) -> Measure:
    """SE-21, SE-23, SE-31: distance of the mean estimate from the evidence in standard errors, farthest prefix."""

    def measure(summary: pd.DataFrame) -> Measurement:
        found, error = _by_prefix(summary, name)
        scores = (found - 1.0) / error
        worst = int(np.argmax(np.abs(scores)))
        note = f"largest of {scores.size}: mean of estimate over evidence {found[worst]:.4f} +- {error[worst]:.4f}"
        return Measurement(float(scores[worst]), 0.0, note)

    return measure


def adaptive_bias(name: str) -> Measure:
    """SE-31: relative bias with adapted annealing steps at the prefix where it is clearest."""

    def measure(summary: pd.DataFrame) -> Measurement:
        found, error = _by_prefix(summary, name)
        worst = int(np.argmax(np.abs(found - 1.0) / error))
        every = ", ".join(f"{mean:.2f}" for mean in found)
        note = f"prefix {worst + 1} of {found.size}; mean of estimate over evidence {every}"
        return Measurement(float(found[worst] - 1.0), float(error[worst]), note)

    return measure


MEASURE = {
    "SE-01": measure_settings(
        {
            "squared jump": ratio_of_means(
                "squared_jump_per_evaluation", {"method": "hmc"}, {"method": "random_walk"}
            ),
            "autocorrelation time": ratio_of_means(
                "autocorrelation_time", {"method": "random_walk"}, {"method": "hmc"}
            ),
        }
    ),
    "SE-02": measure_settings(
        {
            "round trip": value("round_trip_error"),
            "volume": value("jacobian_error"),
            "acceptance": value("acceptance_error"),
            "order of the energy error": value("energy_order"),
        }
    ),
    "SE-03": measure_settings({"largest difference": value("langevin_error")}),
    "SE-04": measure_settings({"largest difference": value("friction_one_error")}),
    "SE-05": measure_settings(
        {
            f"formula at {step:g}": variance_over_formula(f"step {step:g}")
            for step in (0.01, 0.1, 0.5, 1.5, 3.0)
        }
        | {"limit of small steps": variance("step 0.01")}
    ),
    "SE-06": measure_settings(
        {f"{n} rows": inflation(n) for n in (200, 2000, 20_000, 200_000)}
        | {"farthest from 1 + n / 2000": inflation_over_formula}
    ),
    "SE-07": measure_settings(
        {
            "growth without friction": growth("frictionless"),
            "growth with friction": growth("uncorrected"),
            "rate of growth": growth_rate,
        }
    ),
    "SE-08": measure_settings(
        {
            "autocorrelation time": ratio_of_means(
                "gradient_autocorrelation_time", {"dynamics": "sghmc"}, {"dynamics": "sgld"}
            ),
            "distance after 100 steps": ratio_of_means(
                "displacement", {"dynamics": "sghmc"}, {"dynamics": "sgld"}
            ),
            "length of the path": ratio_of_means(
                "travelled_length", {"dynamics": "sghmc"}, {"dynamics": "sgld"}
            ),
            "smoothness": difference_of_means("turning_cosine", {"dynamics": "sghmc"}, {"dynamics": "sgld"}),
        }
    ),
    "SE-09": measure_settings(
        {
            "half the noise variance": variance("corrected"),
            "the noise variance": variance("overcorrected"),
            "formula uncorrected": variance_over_formula("uncorrected"),
            "formula over-corrected": variance_over_formula("overcorrected"),
        }
    ),
    "SE-10": measure_settings(
        {
            "median over data": with_error("log10_evidence_median"),
            "our data": value("log10_evidence"),
            "our data in nats": value("log_evidence"),
        }
    ),
    "SE-11": measure_settings(
        {
            "mean": few_samples(with_error("prior_mean_ratio")),
            "share below": few_samples(with_error("prior_below")),
            "share two decades below": few_samples(with_error("prior_far_below")),
            "median": few_samples(with_error("prior_median_decades")),
        }
    ),
    "SE-12": measure_settings(
        {
            "median": few_samples(with_error("harmonic_median_decades")),
            "predicted median": few_samples(with_error("harmonic_median_decades")),
            "largest possible": value("harmonic_bound_decades"),
            "bound less largest": harmonic_slack,
        }
    ),
    "SE-13": measure_settings({"share of the top": value("reciprocal_top_share"), "drift": drift}),
    "SE-14": measure_settings(
        {f"prior averaging {a:g}": prior_excess("prior_excess", a) for a in (1.0, 2.0, 3.0)}
        | {f"annealed {a:g}": prior_excess("ais_excess", a) for a in (1.0, 2.0, 3.0)}
    ),
    "SE-15": measure_settings({"largest": shrinkage_term}),
    "SE-16": measure_settings({"p-value": shrinkage_p_value, "mean": largest("shrinkage_mean_score")}),
    "SE-17": measure_settings(
        {name: value("sum_error", sum=name) for name in ("level", "lower", "upper", "listing", "difference")}
    ),
    "SE-18": measure_settings(
        {
            "smallest ratio": nested_spread(min, "smallest"),
            "largest ratio": nested_spread(max, "largest"),
            "fall": nested_fall,
            "mean error": nested_mean,
        }
    ),
    "SE-21": measure_settings({"20 rows": unbiased_score("ais")}),
    "SE-22": measure_settings({"largest violation": value("size_violation")}),
    "SE-23": measure_settings({"10 and 20 rows": unbiased_score("sir")}),
    "SE-31": measure_settings(
        {
            "fixed schedule": unbiased_score("stream"),
            "adapted to 5 of 10": adaptive_bias("adaptive"),
            "adapted to 8 of 10": adaptive_bias("finely_adaptive"),
        }
    ),
}


def _value(summary: pd.DataFrame, quantity: str, **where: str | float) -> float:
    return float(rows_of(summary, quantity, **where)["value"].iloc[0])


def _values(summary: pd.DataFrame, quantity: str, **where: str | float) -> FloatArray:
    return rows_of(summary, quantity, **where)["value"].to_numpy(float)


def _ratio(first: FloatArray, second: FloatArray, note: str) -> Measurement:
    """Ratio of means over independent chains, by the delta method."""
    if min(first.size, second.size) < 2:
        return Measurement(float(first.mean() / second.mean()), math.nan, note)
    relative = [values.std(ddof=1) / math.sqrt(values.size) / values.mean() for values in (first, second)]
    ratio = float(first.mean() / second.mean())
    return Measurement(ratio, abs(ratio) * math.hypot(*relative) * few_replicates(first.size), note)


def _by_prefix(summary: pd.DataFrame, name: str) -> tuple[FloatArray, FloatArray]:
    found, error = (_values(summary, f"{name}_mean_ratio{suffix}") for suffix in ("", "_error"))
    present = np.isfinite(found)
    if not present.any():
        raise MissingData(f"{name}_mean_ratio: not run at this preset")
    return found[present], error[present]
