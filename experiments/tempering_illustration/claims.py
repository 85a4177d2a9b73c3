"""Measures the claims of the tempering illustrations from their tables."""

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root
from scipy.special import expit, softmax
from scipy.stats import chi2, kstwo, norm

from auxmc.approximations.renyi import renyi_bound
from auxmc_pipeline.measuring import (
    Measurement,
    estimate,
    exact,
    largest,
    largest_of,
    largest_score,
    mean,
    proportion_of,
)
from auxmc_pipeline.tables import Measure, MissingData, Tables, first_run, recorded
from experiments.tempering_illustration.model import NARROW_AND_BROAD
from experiments.tempering_illustration.settings import INDEX_DRAWS_A_STATE, INDEX_SLOPE, LEAST_EXPECTED

_DRAWN_MASS = 0.5936  # Mass left of zero of the author's chain, from the bars of its histogram
_FEWEST = 110  # With fewer chains, none in a tail of 2.5 % is within two standard errors of it
_REASONABLE_NATS = 1.0  # A reasonable error
_PILOTS = (5.0, -5.0)  # log Z of pilot chains

# Functions whose expectations are compared by kinds of weights.
_FUNCTIONS = ("position", "negative position")
# Fits of figure C.2, and a region of ours between the modes of its target.
_FITS, _BETWEEN = ("KL(p, q)", "Renyi 1/2", "KL(q, p)"), (-4.0, -2.0)

_exact = partial(recorded, exact=True)


def moment_difference(tables: Tables, end: str, moment: str) -> Measurement:
    """CT-T05 and CT-T06: a moment by weights less the exact one."""
    names = (f"{end}_moment_difference", f"{end}_moment_error")
    case = first_run(tables, "moments_more", "bimodal")
    return recorded(*names, by="moment", moment=moment, case=case)(tables)


def moments(end: str) -> dict[str, Measure]:
    """CT-T05 and CT-T06."""
    return {name: partial(moment_difference, end=end, moment=name) for name in ("mean", "second moment")}


def excess(first: Measure, second: Measure) -> Measure:
    """One measurement minus another one, independent of it."""

    def measure(tables: Tables) -> Measurement:
        a, b = first(tables), second(tables)
        return (a - b).noted(f"{a.value:.6g} and {b.value:.6g}")

    return measure


def temperature_mean(tables: Tables) -> Measurement:
    """CT-T01: largest distance of a mean from the closed form, in standard deviations of the distribution."""
    scores = largest_score(tables.values("temperature_mean_score", "delta"))
    return scores * (1.0 / math.sqrt(float(tables.setting("n_index_draws", case="kernels"))))


def less_exact(tables: Tables, quantity: str, note: str = "", **wanted: Any) -> Measurement:
    """A quantity minus its exact value."""
    found = recorded(quantity, f"{quantity}_error", **wanted)(tables)
    return (found - tables.value(f"{quantity}_exact", **wanted)).noted(note)


def temperature_distance(tables: Tables) -> Measurement:
    """CT-T01: largest distance of a distribution function from the closed form, from p-values."""
    n = int(tables.setting("n_index_draws", case="kernels"))
    rows = tables.rows("delta", "temperature_p_value")
    names = [f"largest of {len(rows)}: energy difference {delta:g}" for delta in rows["delta"]]
    # A distribution function from draws has at most this error.
    return largest(kstwo.isf(rows["temperature_p_value"], n), [0.5 / math.sqrt(n)] * len(rows), names)


def swapped_weight(_: Tables) -> Measurement:
    """CT-T03: log of w0 of algorithm 14 over the density of equation 5.21 at the target's end, difference 1."""
    w0, density = -1.0 / math.expm1(-1.0), math.exp(-1.0) / -math.expm1(-1.0)
    return exact(math.log(w0 / density), f"{w0:.6g} and {density:.6g}")


def index_distance(tables: Tables, way: str) -> Measurement:
    """CT-T21: largest over energy differences of a mean square relative error, from p-values of chi-squared."""
    n, n_ladder = (int(tables.setting(name, case="ladder")) for name in ("n_index_draws", "n_ladder"))
    rows = tables.rows("delta_index_draw", "index_p_value", index_draw=way)
    logits = -np.outer(rows["delta"] - INDEX_SLOPE, np.arange(n_ladder + 1)) / n_ladder
    expected = n * softmax(logits, axis=1)
    rare = expected < LEAST_EXPECTED  # Rare categories were put together to one
    degrees = np.sum(~rare, axis=1) + rare.any(axis=1) - 1
    # Right probabilities make chi-squared as large as its degrees of freedom on average.
    excess = chi2.isf(rows["index_p_value"], degrees) - degrees
    errors = np.sqrt(2.0 * degrees + 4.0 * np.maximum(excess, 0.0))
    names = [f"largest of {len(rows)}: energy difference {delta:g}" for delta in rows["delta"]]
    return largest(excess / n, errors / n, names)


def joint_distance(tables: Tables, kernel: str) -> Measurement:
    """CT-T12: largest of two distances of distribution functions and a correlation, from their p-values."""
    n = int(tables.setting("n_index_draws", case="kernels")) // INDEX_DRAWS_A_STATE
    rows = tables.rows("kernel_distribution", "joint_law_p_value", kernel=kernel)
    p_values = rows.set_index("distribution")["joint_law_p_value"]
    distances = {
        name: norm.isf(0.5 * p) / math.sqrt(n) if name == "dependence" else kstwo.isf(p, n)
        for name, p in p_values.items()
    }
    # An empirical distribution function has at most half the error of a correlation.
    errors = [(1.0 if name == "dependence" else 0.5) / math.sqrt(n) for name in distances]
    moved = tables.value("share_moved", "kernel", kernel=kernel)
    names = [f"largest of 3: {name}; {moved:.1%} of chains moved" for name in distances]
    return largest(list(distances.values()), errors, names)


def gradient_error(tables: Tables) -> Measurement:
    """CT-V10: largest error of a component of the mean of either estimate."""
    rows = tables.rows("estimate_parameter", "gradient_error")
    names = [f"largest of 4: {one}, {other}" for one, other in rows[["estimate", "parameter"]].to_numpy()]
    return largest(np.abs(rows["gradient_error"]), rows["gradient_standard_error"], names)


def batches(tables: Tables, quantity: str, n_intervals: float) -> Measurement:
    """CT-T15 and CT-T16: mean over batches of annealed runs."""
    return mean(tables.values(quantity, "n_intervals", n_intervals=n_intervals))


def gap_ratio(tables: Tables, quantity: str) -> Measurement:
    """CT-T16: gap of a bound, or variance of a weight, over that with fewer intervals, larger of two ratios."""
    one, two, ten = (batches(tables, quantity, n_intervals) for n_intervals in (1.0, 2.0, 10.0))
    return largest_of({"2 intervals over 1": two / one, "10 intervals over 2": ten / two})


def variance_of_counts(tables: Tables) -> Measurement:
    """CT-T19: variance over chains of estimates from conditional probabilities over that of estimates from counts."""
    rows = tables.rows("chain", "log_normaliser_conditional")
    # A chain without a visit has no estimate from counts: leaving it out favours them.
    both = rows[np.isfinite(rows["log_normaliser_counts"])]
    return estimate(
        lambda first, second: float(first.var(ddof=1) / second.var(ddof=1)),
        both["log_normaliser_conditional"],
        both["log_normaliser_counts"],
        method="paired",
        note=f"{len(both)} of {len(rows)} chains have been at both ends",
    )


def pilots(tables: Tables, log_z: float, within: float) -> Measurement:
    """CT-T19: proportion of chains confined to an end whose log Z is off by less than so many nats."""
    sizes = np.abs(tables.values("pilot_error", "log_z_chain", log_z=log_z))
    note = f"pilot chains, an end without a visit; root mean square error {pilot_error(tables, log_z).value:.2f} nats"
    return proportion_of(sizes < within, note)


def confined(tables: Tables, log_z: float) -> Measurement:
    """CT-T19: proportion of pilot chains that did not visit both ends."""
    n_chains = int(tables.setting("n_chains", case="ladder"))
    return proportion_of(np.arange(n_chains) < tables.values("pilot_error", "log_z_chain", log_z=log_z).size)


def pilot_error(tables: Tables, log_z: float) -> Measurement:
    """Size of the errors of log Z by these chains."""
    errors = tables.values("pilot_error", "log_z_chain", log_z=log_z)
    return estimate(lambda kept: float(np.sqrt(np.mean(kept**2))), errors, method="jackknife")


def operations(tables: Tables, way: str) -> Measurement:
    """CT-T21: operations of a draw of an index with K = 100 000 over those with K = 1000."""
    few, many = (
        tables.value("index_operations", "index_draw_n_counted", index_draw=way, n_counted=n)
        for n in (1000, 100_000)
    )
    return exact(many / few, f"{many:g} and {few:g}")


def share_of_chains(holds: NDArray[np.bool_], note: str) -> Measurement:
    """Proportion of chains, of so many that a drawn chain can be no ordinary outcome."""
    if holds.size < _FEWEST:
        raise MissingData(f"{_FEWEST} chains: not run at this preset")
    return proportion_of(holds, note)


def faithful_chains(tables: Tables) -> Measurement:
    """CT-A02."""
    switches, left = (tables.values(f"hmc_{name}", "hmc_chain") for name in ("switches", "mass_left"))
    note = f"{int(switches.sum())} switches; mass left in the first {left[0]:g}"
    return share_of_chains(switches == 0, note)


def variance_confined(tables: Tables, log_zeta: float) -> Measurement:
    """CT-T11: mean squared error of the mass left of zero by a chain with log zeta off over that at 0."""
    read = partial(tables.values, "mass_left_difference", "log_zeta_chain")
    confined, level = (read(log_zeta=each) ** 2 for each in (log_zeta, 0.0))
    return estimate(lambda a, b: float(a.mean() / b.mean()), confined, level, method="jackknife")


def single_chains(tables: Tables) -> Measurement:
    """CT-A03: proportion of chains with no more mass left of zero than the author's."""
    masses = tables.values("mass_left_by_chain")
    return share_of_chains(masses <= _DRAWN_MASS, f"standard deviation over chains {masses.std(ddof=1):.3f}")


def integrals(tables: Tables) -> Measurement:
    """CT-A06: largest integral over smallest, which no scale of the display changes."""
    found = tables.rows("fifth", "bridge_integral").sort_values("fifth")["bridge_integral"].to_numpy()
    note = "integrals " + ", ".join(f"{each:.2f}" for each in found)
    return exact(float(found.max() / found.min()), note)


def moments_of_fit(fit: str) -> dict[str, Measure]:
    """CT-V03 to CT-V05: mean and standard deviation of a Gaussian."""
    quantities = {"mean": "fit_mean", "standard deviation": "fit_sd"}
    return {name: _exact(quantity, by="fit", fit=fit) for name, quantity in quantities.items()}


def fit_between(tables: Tables) -> Measurement:
    """CT-V05: is the Renyi fit between the other two?"""
    fits = np.array([_fits(tables, quantity) for quantity in ("fit_mean", "fit_sd")])
    return exact(float(np.sum((fits[:, 1] > fits.min(axis=1)) & (fits[:, 1] < fits.max(axis=1)))))


def fit_orderings(tables: Tables) -> Measurement:
    """CT-V06."""
    sds = _fits(tables, "fit_sd")
    note = " > ".join(f"{sd:.4f}" for sd in sds)
    return exact(float((sds[0] > sds[1]) + (sds[1] > sds[2])), note)


def minor_mass(tables: Tables, fit: str) -> Measurement:
    """CT-V06: mass of a fit on the minor mode, left of the target's valley."""
    x, density = tables.rows("mixture_x")[["mixture_x", "mixture_density"]].to_numpy().T
    valley = x[1:-1][(density[1:-1] < density[:-2]) & (density[1:-1] <= density[2:])][0]
    mean, sd = (tables.value(quantity, "fit", fit=fit) for quantity in ("fit_mean", "fit_sd"))
    return exact(norm.cdf(valley, mean, sd))


def more_minor_mass(tables: Tables) -> Measurement:
    """CT-V06: mass of the Renyi fit on the minor mode minus that of KL(q, p)."""
    half, exclusive = (minor_mass(tables, fit) for fit in ("Renyi 1/2", "KL(q, p)"))
    return (half - exclusive).noted(f"{half.value:.4f} and {exclusive.value:.4f}")


def mass_between(tables: Tables) -> Measurement:
    """CT-V06: mass of KL(p, q) between the modes over that of the target."""
    x, density = tables.rows("mixture_x")[["mixture_x", "mixture_density"]].to_numpy().T
    low, high = _BETWEEN
    there = (x > low) & (x < high)
    of_target = float(np.sum(density[there]) * (x[1] - x[0]))
    left, right = norm.cdf([low, high], _fits(tables, "fit_mean")[0], _fits(tables, "fit_sd")[0])
    return exact((right - left) / of_target, f"{right - left:.3f} and {of_target:.3f}")


def smallest_rise(tables: Tables) -> Measurement:
    """CT-V07."""
    rises = np.diff(tables.rows("order").sort_values("order")["sd_by_order"])
    return exact(float(rises.min()), f"between {rises.size + 1} orders")


_NOISE = np.linspace(-12.0, 12.0, 4801)
_WEIGHTS = norm.pdf(_NOISE) * (_NOISE[1] - _NOISE[0])
_RATE, _NEAR_FIT = 0.1, 0.1  # Of gradient ascent, and the distance from the fit where it ends


def _by_draws(fit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gradients of the objective on the density of figure C.1 [mean or log sd, draw] through draws of a Gaussian."""
    sd = math.exp(fit[1])
    slope = 1.4 * expit(-fit[0] - sd * _NOISE) - 0.4
    return np.stack([slope, slope * sd * _NOISE + 1.0])


def _ratio_at(fit: NDArray[np.float64]) -> float:
    """Their variance over that by the reduced score, by quadrature over the draws."""
    x, scores = fit[0] + math.exp(fit[1]) * _NOISE, np.stack([_NOISE / math.exp(fit[1]), _NOISE**2 - 1.0])
    # Both log densities but for constants, which the scores as control variates cancel.
    by_score = scores * (0.5 * _NOISE**2 - 0.4 * x - 1.4 * np.logaddexp(0.0, -x))
    by_score -= ((by_score * scores) @ _WEIGHTS / (scores**2 @ _WEIGHTS))[:, None] * scores
    draws, score = (np.sum(e**2 @ _WEIGHTS - (e @ _WEIGHTS) ** 2) for e in (_by_draws(fit), by_score))
    return float(draws / score)


def variance_ratios_on_ascent(_: Tables, *, fraction: bool) -> Measurement:
    """CT-V11: the ratio at the fit, or the fraction of steps of gradient ascent to it at which it is at most a half."""
    fit = root(lambda at: _by_draws(at) @ _WEIGHTS, [1.0, 1.0]).x
    note = f"N({fit[0]:.2f}, {math.exp(fit[1]):.2f}^2), by quadrature"
    if not fraction:
        return exact(_ratio_at(fit), note)
    at, ratios = np.zeros(2), []
    while np.linalg.norm(at - fit) > _NEAR_FIT:
        ratios.append(_ratio_at(at))
        at = at + _RATE * (_by_draws(at) @ _WEIGHTS)
    return exact(float(np.mean(np.array(ratios) <= 0.5)), f"{len(ratios)} steps to {note}")


def near_order_zero(_: Tables) -> Measurement:
    """CT-V08: error of the bound at order 1e-6."""
    x = np.linspace(-40.0, 40.0, 16_001)
    target = sum(w * norm.pdf(x, mean, sd) for w, mean, sd in zip(*NARROW_AND_BROAD, strict=True))
    return exact(abs(renyi_bound(x, np.log(target), norm.logpdf(x, 0.5, 4.0), 1e-6)), "at order 1e-6")


def error_ratio(tables: Tables, weights: str, function: str) -> Measurement:
    """Root mean squared error of one kind of weights over that of integrated ones, from the same chains."""
    where = {"case": "weights", "function": function}
    first, second = (
        tables.values("squared_error", "estimator_function_chain", estimator=name, **where)
        for name in (weights, "integrated")
    )
    return estimate(lambda a, b: math.sqrt(a.mean() / b.mean()), first, second, method="paired")


def _fits(tables: Tables, quantity: str) -> list[float]:
    return [tables.value(quantity, "fit", fit=name) for name in _FITS]


_NEAR_END = partial(
    recorded, "share_near_end", "share_near_end_error", by="path_end_log_zeta", note="second halves"
)
_BARRIER = partial(_exact, "barrier_height", by="control")

MEASURE: dict[str, dict[str, Measure]] = {
    "CT-T01": {"distribution": temperature_distance, "mean": temperature_mean},
    "CT-T03": {
        **{
            name: _exact("weight_identity_error", by="identity", identity=name)
            for name in ("integral", "difference", "ratio", "at zero")
        },
        "as printed": swapped_weight,
    },
    "CT-T04": {"Gaussian target": _exact("evidence_identity_error")},
    "CT-T05": moments("target") | {"mass left of zero": partial(less_exact, quantity="mass_left")},
    "CT-T06": moments("base")
    | {"mass left of zero": partial(moment_difference, end="base", moment="mass left")},
    "CT-T07": {"least second difference": _exact("least_second_difference")},
    "CT-T08": {
        "base end": _exact("slope_error", by="end_difference_step", end="base", difference_step=1e-3),
        "target end": _exact("slope_error", by="end_difference_step", end="target", difference_step=1e-3),
    },
    "CT-T09": {"ends": _exact("end_error"), "bounds": _exact("bound_slack")},
    "CT-T10": {"end ratio": _exact("elbo_ratio_error"), "slope at the base": _exact("elbo_slope")},
    "CT-T11": {
        "near the target at log zeta -5": _NEAR_END(log_zeta=-5.0, path_end="target"),
        "near the base at log zeta 5": _NEAR_END(log_zeta=5.0, path_end="base"),
        "limiting the gain": partial(variance_confined, log_zeta=-5.0),
        "variance at log zeta 5": partial(variance_confined, log_zeta=5.0),
    },
    "CT-T12": {
        name: partial(joint_distance, kernel=kernel)
        for name, kernel in (("Gibbs CT", "gibbs_ct"), ("CT-HMC", "ct_hmc"))
    },
    "CT-T13": {
        "return error": _exact("return_error"),
        "volume": _exact("volume_error"),
        "order of the energy error": _exact("energy_error_order"),
    },
    "CT-T14": {"largest difference": _exact("coding_difference")},
    "CT-T15": {
        **{f"K = {n}": partial(batches, quantity="annealed_mean", n_intervals=n) for n in (1, 2, 10)},
        "importance sampling": _exact("importance_sampling_difference"),
    },
    "CT-T16": {
        **{f"K = {n}": partial(batches, quantity="reverse_mean", n_intervals=n) for n in (1, 2, 10)},
        "lower bound": partial(batches, quantity="lower_bound_excess", n_intervals=10),
        "upper bound": partial(batches, quantity="upper_bound_excess", n_intervals=10),
        "lower bound nears": partial(gap_ratio, quantity="lower_bound_excess"),
        "upper bound nears": partial(gap_ratio, quantity="upper_bound_excess"),
        "variance falls, forward": partial(gap_ratio, quantity="annealed_variance"),
        "variance falls, reverse": partial(gap_ratio, quantity="reverse_variance"),
    },
    "CT-T19": {
        "variance ratio": variance_of_counts,
        **{f"pilot chains, log Z = {z:g}": partial(pilots, log_z=z, within=0.5 * abs(z)) for z in _PILOTS},
        **{
            f"within a nat, log Z = {z:g}": partial(pilots, log_z=z, within=_REASONABLE_NATS) for z in _PILOTS
        },
        **{f"confined, log Z = {z:g}": partial(confined, log_z=z) for z in _PILOTS},
        "bias": recorded(
            "log_normaliser", "log_normaliser_error", note="chains begin at the base, and nothing is left out"
        ),
    },
    "CT-T20": {
        update.replace("_", " "): recorded(
            "crossing_exponent", "crossing_exponent_error", by="index_update", index_update=update
        )
        for update in ("random_walk", "independent")
    },
    "CT-T21": {
        line: partial(measure, way=way)
        for way in ("closed form", "list")
        for line, measure in ((way, index_distance), (f"cost of the {way}", operations))
    },
    "CT-T22": {
        "as printed": excess(_exact("geometric_sum"), _exact("geometric_sum_printed")),
        "corrected": excess(_exact("geometric_sum"), _exact("geometric_sum_corrected")),
    },
    "CT-T24": {function: partial(error_ratio, weights="naive", function=function) for function in _FUNCTIONS},
    "CT-A01": {"mean": _exact("base_mean"), "standard deviation": _exact("base_sd")},
    "CT-A02": {"chains without a switch": faithful_chains},
    "CT-A03": {"single chains": single_chains, "all chains": partial(less_exact, quantity="mass_left")},
    "CT-A04": {"fraction of weight": recorded("weight_share_hot", "weight_share_hot_error")},
    "CT-A05": {
        "u = -5": _BARRIER(control=-5.0),
        "fall from u = 5 to u = 0": excess(_BARRIER(control=5.0), _BARRIER(control=0.0)),
        "fall from u = 0 to u = -5": excess(_BARRIER(control=0.0), _BARRIER(control=-5.0)),
    },
    "CT-A06": {"integrals": integrals},
    "CT-V02": {f"x = {x:g}": _exact("laplace_tail_error", by="tail", tail=x) for x in (8.0, -8.0)},
    "CT-V03": moments_of_fit("KL(p, q)"),
    "CT-V04": {
        **moments_of_fit("KL(q, p)"),
        "excess of the published fit": excess(
            _exact("published_exclusive_objective"), _exact("fit_objective", by="fit", fit="KL(q, p)")
        ),
    },
    "CT-V05": {
        **moments_of_fit("Renyi 1/2"),
        "between the two": fit_between,
        "excess of the published fit": excess(
            _exact("published_half_objective"), _exact("fit_objective", by="fit", fit="Renyi 1/2")
        ),
    },
    "CT-V06": {
        "orderings that hold": fit_orderings,
        "mass on the minor mode": more_minor_mass,
        **{f"{fit}, beyond the valley": partial(minor_mass, fit=fit) for fit in ("KL(q, p)", "KL(p, q)")},
        "KL(p, q), between the modes": mass_between,
    },
    "CT-V07": {"smallest rise": smallest_rise},
    "CT-V08": {
        "largest at positive order": _exact("bound_positive_orders"),
        "smallest at negative order": _exact("bound_negative_orders"),
        "order zero": near_order_zero,
        "limit": _exact("bound_limit_error"),
    },
    "CT-V09": {
        "skew symmetry": _exact("skew_symmetry_error"),
        "negative orders": _exact("negative_symmetry_error"),
    },
    "CT-V10": {"both estimates": gradient_error},
    "CT-V11": {
        "at the fit, BBVI": partial(variance_ratios_on_ascent, fraction=False),
        "fraction of the steps, BBVI": partial(variance_ratios_on_ascent, fraction=True),
    },
}


NUMBERS: dict[str, Measure] = {
    **{
        f"error of optimal over integrated weights, {function}": partial(
            error_ratio, weights="optimal", function=function
        )
        for function in _FUNCTIONS
    },
    **{f"error at {log_z:g}": partial(pilot_error, log_z=log_z) for log_z in _PILOTS},
}
