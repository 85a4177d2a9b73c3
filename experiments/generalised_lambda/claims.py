"""Measures the claims IM-GL-01 to IM-GL-21 and IM-ALG-02 to IM-ALG-14, and the numbers of the findings."""

import math
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from scipy.integrate import quad
from scipy.stats import norm

from auxmc.data.tables import read_matrix
from auxmc.numerics.array_types import BooleanArray, FloatArray, IntegerArray
from auxmc_pipeline.measuring import (
    Measurement,
    estimate,
    exact,
    largest,
    largest_of,
    left_out,
    mean,
    mean_proportion,
    proportion,
    proportion_of,
    proportion_of_sets,
    proportion_of_sets_where,
    sets_of,
)
from auxmc_pipeline.published_values import published_series
from auxmc_pipeline.tables import Measure, MissingData, Tables, first_run, recorded
from auxmc_pipeline.tolerances import riemannian_gains
from auxmc_pipeline.usable_steps import step_at_acceptance_rate, usable_step
from experiments.generalised_lambda.measure import EARLY_ITERATIONS
from experiments.generalised_lambda.settings import CASE_NAMES, DATA_SEED, GENERATING, PARAMETERS, ROWS

_TARGETS = {row.case: row.target for row in ROWS}
_RIVALS = {case: name for case, name in CASE_NAMES.items() if case != "constrained_hmc"}
_TOLERANCES = {"abc_hmc_025": 0.25, "abc_hmc_005": 0.05}
# IM-GL-05: printed factors, of which those near 1 with half a unit of the last digit.
_FACTORS = {"modified_abc": 1.005, "constrained_hmc": 1.005, "abc_hmc_005": 1.21, "abc_hmc_025": 1.035}
# IM-GL-10, 11: iterations after the warm-up of chains that took "roughly five minutes" each.
_DRAWS = {"modified_abc": 100_000, "constrained_hmc": 1000, "abc_hmc_005": 15_000, "abc_hmc_025": 30_000}
FALLING = {  # Methods of figure `fig_riemannian`, with the columns of their rows.
    "ABC HMC": {"case": "euclidean"},
    "Riemannian HMC": {"case": "riemannian"},
    "constrained HMC": {"case": "constrained_hmc", "prior": "strong"},
}
# IM-GL-04, 05, 15: chains of a published histogram, factor or rate, and how many sets of as many are drawn.
_PUBLISHED_CHAINS, _N_SETS = 5, 1000

# Acceptance rates that the document aims at, section 4.10.1, and what a very low one is below (IM-GL-16).
_AIMED_AT, _VERY_LOW = (0.6, 0.9), 0.1
_VERY_RARE = 0.01  # Proposals that fail (IM-ALG-02).
_Moment = tuple[FloatArray, FloatArray]


def by_chain(tables: Tables, case: str, quantity: str, prior: str = "strong") -> FloatArray:
    """A quantity of each chain [chain] under a prior; raises MissingData if it is unknown of one."""
    values = tables.rows("chain", case=case, prior=prior)[quantity].to_numpy(np.float64)
    return _all_known(values, quantity)


def by_parameter(tables: Tables, case: str, quantity: str, prior: str = "strong") -> FloatArray:
    """A quantity of each chain and parameter [chain, parameter]; raises as `by_chain`."""
    where = {"table": "chain_parameter", "case": case, "prior": prior}
    return _all_known(tables.array(quantity, "chain", "parameter", **where).values, quantity)


def moved(tables: Tables, case: str, prior: str = "strong") -> BooleanArray:
    """Chains that did not stay at one state for half of their draws [chain]."""
    return by_chain(tables, case, "longest_run", prior) < 0.5 * tables.setting("n_draws", case=case)


def _all_known(values: FloatArray, quantity: str) -> FloatArray:
    if not np.isfinite(values).all():
        raise MissingData(f"{quantity} is not known: chains did not move, or there is one chain only")
    return values


def reference_moment(tables: Tables, moment: str, target: str, prior: str = "strong") -> _Moment:
    """The "mean" or "sd" of a reference posterior, with its Monte Carlo standard error [parameter]."""
    value, error = (
        tables.array(name, "parameter", table="target_parameter", prior=prior, target=target).values
        for name in (f"reference_{moment}", f"reference_mcse_{moment}")
    )
    return value, error


def listed(values: FloatArray, digits: str = ".3f") -> str:
    """Numbers of the parameters for a note."""
    return ", ".join(f"{name} {value:{digits}}" for name, value in zip(PARAMETERS, values, strict=True))


def listed_by_chain(rates: FloatArray) -> str:
    """Numbers of chains for a note."""
    return "by chain: " + ", ".join(f"{rate:.3g}" for rate in rates)


def smallest(values: FloatArray, errors: FloatArray, note: str) -> Measurement:
    """The smallest of several values [part]."""
    return (largest(-values, errors, [note] * values.size) * -1.0).noted(note)


def draws_and_bins(tables: Tables, case: str, parameter: str) -> tuple[FloatArray, FloatArray]:
    """Draws of the chains that moved [chain, draw], and the edges of the bins of figure 4.7."""
    where: dict[str, str] = {"case": case, "prior": "strong", "parameter": parameter}
    draws = tables.array("z", "chain", "draw", table="chain_draw_parameter", **where).sortby("chain").values
    middles = published_series("generalised_lambda", "4.7", f"{case} {parameter}").x
    half = 0.5 * np.diff(middles).mean()
    kept = draws[moved(tables, case)]
    if not len(kept):
        raise MissingData("no chain moved")
    return kept, np.array([*(middles - half), middles[-1] + half])


def posterior_moment(tables: Tables, moment: str, parameter: str) -> Measurement:
    """IM-GL-02: mean or sd of the draws in the range of figure 4.7, of the chains that moved together."""
    draws, edges = draws_and_bins(tables, "constrained_hmc", parameter)
    drawn = np.where((edges[0] <= draws) & (draws <= edges[-1]), draws, np.nan)
    note = f"{np.isfinite(drawn).mean():.4f} of the draws are in the range of the figure"
    return estimate(np.nanmean if moment == "mean" else np.nanstd, drawn, method="jackknife", note=note)


def moment_of_method(tables: Tables, case: str, moment: str) -> _Moment:
    """IM-GL-02: by draws of constrained HMC, or of the reference posterior of another method [parameter]."""
    if case != "constrained_hmc":
        return reference_moment(tables, moment, _TARGETS[case])
    found = [posterior_moment(tables, moment, name) for name in PARAMETERS]
    return np.array([one.value for one in found]), np.array([one.error for one in found])


def distance_from_truth(tables: Tables, case: str = "constrained_hmc") -> Measurement:
    """IM-GL-02: largest distance of a mean from the generating value, in posterior sds, but for the farthest."""
    centre, error = moment_of_method(tables, case, "mean")
    sd, sd_error = moment_of_method(tables, case, "sd")
    distances = np.abs(centre - list(GENERATING.values())) / sd
    errors, (*near, farthest) = np.hypot(error, distances * sd_error) / sd, np.argsort(distances)
    found = largest(distances[near], errors[near], [PARAMETERS[i] for i in near])
    return found.noted(f"{found.note}; {PARAMETERS[farthest]} is at {distances[farthest]:.3g}")


def largest_sd(tables: Tables, case: str = "constrained_hmc") -> Measurement:
    """IM-GL-02: largest posterior sd; the strong prior has an sd of 1 in every parameter."""
    return largest(*moment_of_method(tables, case, "sd"), PARAMETERS)


def distance_from_drawn(tables: Tables, case: str, moment: str) -> Measurement:
    """IM-GL-02: largest distance of a moment of a reference posterior from the histogram drawn, in drawn sds."""
    values, errors = reference_moment(tables, moment, _TARGETS[case])
    bars = [published_series("generalised_lambda", "4.7", f"{case} {name}") for name in PARAMETERS]
    means = np.array([np.average(own.x, weights=own.y) for own in bars])
    sds = np.array([math.sqrt(np.cov(own.x, aweights=own.y, ddof=0)) for own in bars])
    drawn = {"mean": means, "sd": sds}[moment]
    return largest(np.abs(values - drawn) / sds, errors / sds, PARAMETERS)


def sd_over_widest(tables: Tables) -> Measurement:
    """IM-GL-03: smallest over parameters of the sd at 0.25 over the widest of the other reference posteriors."""
    own, own_error = reference_moment(tables, "sd", _TARGETS["abc_hmc_025"])
    others = [target for case, target in _TARGETS.items() if case != "abc_hmc_025"]
    spreads, errors = np.stack([reference_moment(tables, "sd", target) for target in others], axis=1)
    widest = spreads.argmax(axis=0)[None]
    other, other_error = (np.take_along_axis(table, widest, 0)[0] for table in (spreads, errors))
    ratios = own / other
    return smallest(ratios, ratios * np.hypot(own_error / own, other_error / other), listed(ratios))


def reference_sd(tables: Tables) -> Measurement:
    """IM-GL-03: sd of z3 in the ABC posterior at tolerance 0.25."""
    value, error = reference_moment(tables, "sd", _TARGETS["abc_hmc_025"])
    return Measurement(float(value[2]), float(error[2]))


def exact_sd_ratio(tables: Tables, narrower: str) -> Measurement:
    """IM-GL-03: mean over parameters of the sd at 0.05 over that of another target, of reference posteriors."""
    above, above_error = reference_moment(tables, "sd", _TARGETS["abc_hmc_005"])
    below, below_error = reference_moment(tables, "sd", _TARGETS[narrower])
    ratios = above / below
    # Errors of the parameters go together: they come from the same draws.
    error = (np.hypot(above_error / above, below_error / below) * ratios).mean()
    return Measurement(float(ratios.mean()), float(error), listed(ratios))


def sets_that_agree(tables: Tables, case: str, most: float) -> Measurement:
    """IM-GL-05: proportion of sets of as many chains as published, of all, whose largest factor is at most this."""
    case = first_run(tables, f"{case}_more", case)
    means, sds = (by_parameter(tables, case, name) for name in ("chain_mean", "chain_sd"))
    note, n_draws = sets_of(_PUBLISHED_CHAINS, len(means)), round(tables.setting("n_draws", case=case))
    return proportion_of_sets(means, sds, n_draws, _PUBLISHED_CHAINS, most, note)


def irregularity(tables: Tables) -> Measurement:
    """IM-GL-04: distance of marginals at tolerance 0.05 from the reference over the largest of the other methods."""
    found = {case: distance_of_marginals(tables, case) for case in CASE_NAMES}
    each = ", ".join(f"{CASE_NAMES[case]} {distance.value:.3f}" for case, distance in found.items())
    own = found.pop("abc_hmc_005")
    return (own / largest_of(found)).noted(f"distances {each}")


def distance_of_marginals(tables: Tables, case: str) -> Measurement:
    """IM-GL-04: total variation of histograms of five pooled chains from the reference.

    It is a mean over parameters, with the bins of figure 4.7; the error is from the sets without each chain
    that moved.
    """
    n_kept = int(moved(tables, case).sum())
    sets_of(_PUBLISHED_CHAINS, n_kept, "chains that moved")  # or raises
    rng = np.random.default_rng(0)
    sets = np.argsort(rng.random((_N_SETS, n_kept)), axis=1)[:, :_PUBLISHED_CHAINS]
    distances = np.zeros(_N_SETS)
    for name in PARAMETERS:
        chains, edges = draws_and_bins(tables, case, name)
        target = {"prior": "strong", "target": _TARGETS[case], "parameter": name}
        of_reference = tables.values("reference_z", "target_parameter_index", **target)
        known, *found = (np.histogram(one, edges)[0] for one in (of_reference, *chains))
        pooled = np.array(found)[sets].sum(axis=1)
        pooled = pooled / pooled.sum(axis=1, keepdims=True)
        distances += 0.5 * np.abs(pooled - known / known.sum()).sum(axis=1) / len(PARAMETERS)
    without = [distances[(sets != chain).all(axis=1)].mean() for chain in range(n_kept)]
    return left_out(float(distances.mean()), without, f"{n_kept} chains moved")


def prior_shift(tables: Tables) -> Measurement:
    """IM-GL-19."""
    strong, strong_error = reference_moment(tables, "mean", "exact")
    weak, weak_error = reference_moment(tables, "mean", "exact", "weak")
    sd, _ = reference_moment(tables, "sd", "exact")
    shifts = (weak - strong) / sd
    found = largest(np.abs(shifts), np.hypot(strong_error, weak_error) / sd, PARAMETERS)
    return found.noted(f"reference posteriors, weak less strong: {listed(shifts, '.2g')}")


def departure(tables: Tables) -> Measurement:
    """IM-ALG-04: largest distance of a mean, in posterior sds, or of a relative sd from the reference.

    No chain is left out: chains that begin at draws of the posterior have nothing to converge to.
    """
    where: dict[str, Any] = {"table": "chain_parameter", "case": "constrained_steps", "step_size": 0.6}
    means, sds = (tables.array(name, "chain", "parameter", **where) for name in ("chain_mean", "chain_sd"))
    (place, place_error), (sd, sd_error) = (
        reference_moment(tables, moment, "exact") for moment in ("mean", "sd")
    )
    found = {}
    for i, name in enumerate(PARAMETERS):
        chains = [table.sel(parameter=name).values for table in (means, sds)]
        shift = (mean(chains[0]) - Measurement(place[i], place_error[i])) / float(sd[i])
        width = estimate(
            lambda m, s: math.sqrt(np.mean(np.square(s)) + np.var(m)), *chains, method="paired"
        ) / Measurement(sd[i], sd_error[i])
        found[f"mean of {name}"] = shift._replace(value=abs(shift.value))
        found[f"sd of {name}"] = width._replace(value=abs(width.value - 1.0))
    return largest_of(found)


def limit_shifts(tables: Tables) -> list[xr.DataArray]:
    """Shifts of the means and their errors, by ascending tolerance and parameter."""
    names = ("limit_shift", "limit_shift_error")
    return [tables.array(name, "limit_tolerance", "parameter").sortby("limit_tolerance") for name in names]


def smallest_shift(tables: Tables) -> Measurement:
    """IM-ALG-14: largest shift of a mean at the least tolerance."""
    shifts, errors = (table[0] for table in limit_shifts(tables))
    found = largest(np.abs(shifts.values), errors.values, PARAMETERS)
    return found.noted(f"{found.note} at tolerance {float(shifts['limit_tolerance']):g}")


def smallest_rise(tables: Tables) -> Measurement:
    """IM-ALG-14: smallest rise of the largest shift of a mean from one tolerance to the next larger one."""
    shifts, errors = limit_shifts(tables)
    tolerances = shifts["limit_tolerance"].values
    sizes, places = np.abs(shifts.values).max(axis=1), np.abs(shifts.values).argmax(axis=1)
    error = np.take_along_axis(errors.values, places[:, None], axis=1)[:, 0]
    each = ", ".join(f"{size:.2g} at {eps:g}" for eps, size in zip(tolerances, sizes, strict=True))
    note = f"largest shifts in posterior sd: {each}"
    return smallest(np.diff(sizes), np.array([math.hypot(b, a) for a, b in pairwise(error)]), note)


def fraction_far_off(tables: Tables) -> Measurement:
    """Chains of constrained HMC under the weak prior whose mean of z3 is ten posterior sd from the reference."""
    place = PARAMETERS.index("z3")
    means = by_parameter(tables, "constrained_hmc", "chain_mean", "weak")[:, place]
    centre, sd = (reference_moment(tables, moment, "exact", "weak")[0][place] for moment in ("mean", "sd"))
    return proportion_of(np.abs(means - centre) > 10.0 * sd)


def fraction_stuck(tables: Tables, case: str) -> Measurement:
    """IM-GL-21: chains under the strong prior that stay at one state for half of their draws."""
    return proportion_of(~moved(tables, first_run(tables, f"{case}_more", case)))


def efficiency(tables: Tables, case: str, parameter: str) -> Measurement:
    """IM-GL-09: effective samples of a parameter per second."""
    rates = by_parameter(tables, case, "ess_per_second")[:, PARAMETERS.index(parameter)]
    return mean(rates, "the time of a chain is its part of the time of all, by evaluations")


def efficiency_ratio(tables: Tables, rival: str, parameter: str) -> Measurement:
    """IM-GL-09: effective samples per second of constrained HMC over those of another method."""
    return efficiency(tables, "constrained_hmc", parameter) / efficiency(tables, rival, parameter)


def mean_ratio(tables: Tables, rival: str, per: str) -> Measurement:
    """IM-GL-10, 11: mean over parameters of a ratio of effective samples of chains that moved.

    Per second it is constrained HMC over another method; per evaluation, or for a chain of the printed
    length, the inverse.
    """
    quantity = {"second": "ess_per_second", "evaluation": "ess_per_1000_evaluations", "chain": "ess"}[per]
    cases = ("constrained_hmc", rival) if per == "second" else (rival, "constrained_hmc")
    above, below = (
        by_parameter(tables, case, quantity)[moved(tables, case)]
        * (_DRAWS[case] / tables.setting("n_draws", case=case) if per == "chain" else 1.0)
        for case in cases
    )
    note = listed(above.mean(axis=0) / below.mean(axis=0), ".2g")
    return estimate(lambda a, b: np.mean(a.mean(axis=0) / b.mean(axis=0)), above, below, note=note)


def run_minutes(tables: Tables, case: str) -> Measurement:
    """IM-GL-17: minutes of a chain, of unknown error, since all chains share the time of one run."""
    return mean(by_chain(tables, case, "chain_seconds") / 60.0)._replace(error=math.nan)


def mean_acceptance(tables: Tables, case: str, which: str = "moved") -> Measurement:
    """IM-GL-14, 15: of the chains of a method that moved, or of all."""
    case = first_run(tables, f"{case}_more", case)
    rates = by_chain(tables, case, "acceptance")
    return mean(rates[moved(tables, case)] if which == "moved" else rates, listed_by_chain(rates))


def acceptance_from_posterior(tables: Tables, n_bisections: int = 16) -> Measurement:
    """IM-GL-14: of modified ABC chains that begin at draws from the posterior."""
    rates = tables.values("acceptance", case="bisections", n_bisections=n_bisections)
    return mean(rates, listed_by_chain(rates))


def above_aim(tables: Tables, case: str) -> Measurement:
    """IM-GL-16: proportion of all chains whose acceptance rate is nearer to 0.95 than to 0.9, or above."""
    rates = by_chain(tables, first_run(tables, f"{case}_more", case), "acceptance")
    return proportion_of(rates >= 0.925, listed_by_chain(rates))


def step_rates(tables: Tables, case: str = "step_sizes") -> xr.DataArray:
    """Acceptance rates by tolerance and step size relative to it, both ascending, and chain."""
    dims = ("tolerance", "step_size", "chain")
    rates = tables.array("acceptance_probability", *dims, table="chain", case=case)
    return rates.sortby(list(dims[:2]))


def very_low_beside_reasonable(tables: Tables, tolerance: float, case: str) -> Measurement:
    """IM-GL-16: proportion of sets of five chains, one very low at a step where another accepts as aimed at."""
    at_tolerance = step_rates(tables, case).sel({"tolerance": tolerance})
    rates = at_tolerance.transpose("step_size", "chain").values
    note = f"{sets_of(_PUBLISHED_CHAINS, rates.shape[1])}, at {len(rates)} steps"
    reasonable, very_low = (rates >= _AIMED_AT[0]) & (rates <= _AIMED_AT[1]), rates < _VERY_LOW

    def at_some_step(sets: IntegerArray) -> BooleanArray:
        return np.any(reasonable[:, sets].any(axis=-1) & very_low[:, sets].any(axis=-1), axis=0)

    return proportion_of_sets_where(at_some_step, rates.shape[1], _PUBLISHED_CHAINS, note)


def step_ratio(tables: Tables, case: str) -> Measurement:
    """IM-ALG-06: steps of constrained HMC and of HMC at which either accepts nine of ten proposals."""
    where = {"table": "chain", "case": "constrained_steps"}
    ours = usable_step(tables.array("acceptance_probability", "step_size", "chain", **where))
    # Steps of HMC are recorded in multiples of the tolerance.
    tolerance = _TOLERANCES[case]
    theirs = usable_step(step_rates(tables).sel({"tolerance": tolerance})) * tolerance
    return (ours / theirs).noted(f"steps {ours.value:.3g} and {theirs.value:.3g}")


def step_exponent(tables: Tables) -> Measurement:
    """IM-ALG-07: exponent of the tolerance in the largest step of HMC."""
    rates = step_rates(tables)
    tolerances, relative = (rates[name].values for name in ("tolerance", "step_size"))

    def steps(kept: FloatArray) -> FloatArray:
        return tolerances * [step_at_acceptance_rate(relative, curve) for curve in kept.mean(axis=0)]

    def exponent(kept: FloatArray) -> float:
        return float(np.polyfit(np.log(tolerances), np.log(steps(kept)), 1)[0])

    each = zip(tolerances, steps(rates.transpose("chain", ...).values), strict=True)
    note = f"largest steps {', '.join(f'{step:.2g} at {eps:g}' for eps, step in each)}"
    return estimate(exponent, rates, method="jackknife", note=note)


def never_moved(tables: Tables, case: str) -> Measurement:
    """IM-GL-18: chains of modified ABC under the weak prior that never leave their initial state."""
    n_draws = tables.setting("n_draws", case=case)
    return proportion_of(by_chain(tables, case, "moved", "weak") == 0.0, f"of {n_draws:.0f} iterations")


def extreme_prior_data(tables: Tables) -> Measurement:
    """IM-GL-18: data sets of the weak prior with a value above 1e10."""
    of_weak, of_strong = (
        tables.value("prior_over_1e10_share", case="reference", prior=name) for name in ("weak", "strong")
    )
    note = f"strong prior {of_strong:.2g}"
    return proportion(of_weak, tables.setting("n_prior_draws", case="reference"), note)


def prior_data_not_finite(tables: Tables) -> Measurement:
    """IM-GL-18: probability that a power in a data set of the weak prior exceeds double precision.

    The prior has sd 10. p^-|z| is too large where -log p > L / |z|, with L the log of the largest number; the
    scale hardly moves it.
    """
    n_data, most = tables.value("n_observations"), math.log(np.finfo(np.float64).max)

    def density_of_failures(size: float) -> float:
        return float(norm.pdf(size) * -math.expm1(n_data * math.log1p(-math.exp(-most / (10.0 * size)))))

    return exact(2.0 * quad(density_of_failures, 1.0, 20.0)[0], "either shape parameter, by quadrature")


def early_failures(tables: Tables, other: str, n_iterations: int = 1) -> Measurement:
    """IM-GL-20: failures of the first iterations without warm-up less those with it, or of as many later ones."""
    early = mean(by_chain(tables, "no_warm_up", "failed_early"))
    later = mean(n_iterations * by_chain(tables, "constrained_hmc", other))
    return (early - later).noted(f"means {early.value:.2f} and {later.value:.2f}")


def acceptance_beyond_first(tables: Tables, case: str) -> Measurement:
    """IM-GL-20: acceptance rate of a case of ABC HMC less that of main settings without a warm-up, of all chains."""
    above = mean(by_chain(tables, case, "acceptance"))
    first = mean(by_chain(tables, "hmc_no_warm_up", "acceptance"))
    return (above - first).noted(f"means {above.value:.3f} and {first.value:.3f}")


def failed_proposals(tables: Tables) -> Measurement:
    """IM-ALG-02: proportion of all proposals of constrained HMC that fail."""
    case = first_run(tables, "constrained_hmc_more", "constrained_hmc")
    fractions = by_chain(tables, case, "failed_share")
    return mean_proportion(fractions, tables.setting("n_draws", case=case), listed_by_chain(fractions))


def printed_difference(tables: Tables) -> Measurement:
    """IM-GL-01: the same for equation 4.63 as printed, with a plus sign; no run enters it."""
    del tables
    data = read_matrix(Path(__file__).with_name("published_values.csv"))[:, 0]
    p = np.random.RandomState(DATA_SEED).uniform(size=data.size)
    z1, z2, z3, z4 = GENERATING.values()
    printed = z1 + ((p**z3 - 1.0) / z3 + ((1.0 - p) ** z4 - 1.0) / z4) / z2
    return exact(
        np.abs(printed - data).max(), f"at most {printed.max():.3g}, published up to {data.max():.3g}"
    )


def converged(tables: Tables) -> Measurement:
    """IM-ALG-03: proportion of projections, forward and reverse, that converge at the tolerance, of all chains."""
    case = first_run(tables, "constrained_hmc_more", "constrained_hmc")
    names = ("n_projections", "n_not_converged", "n_not_converged_reverse", "largest_residual")
    counts, *failures, residuals = (by_chain(tables, case, name) for name in names)
    note = f"largest residual of a stored state {residuals.max():.2g}"
    return mean_proportion(1.0 - np.sum(failures, axis=0) / counts, counts.mean(), note)


MEASURE: dict[str, dict[str, Measure]] = {
    "IM-GL-01": {
        "largest difference": recorded("data_difference", exact=True, note="all published values"),
        "as printed, largest difference": printed_difference,
        "observations": recorded("n_observations", exact=True),
    },
    "IM-GL-02": {
        **{
            f"posterior {moment} {parameter}": partial(posterior_moment, moment=moment, parameter=parameter)
            for parameter in PARAMETERS
            for moment in ("mean", "sd")
        },
        "largest sd over prior sd": largest_sd,
        "largest distance of three": distance_from_truth,
        **{
            f"{name}, {what}": partial(measure, case=case)
            for case, name in _RIVALS.items()
            for what, measure in (
                ("largest sd over prior sd", largest_sd),
                ("largest distance of three", distance_from_truth),
            )
        },
        **{
            f"{CASE_NAMES[case]}, posterior {moment}s": partial(distance_from_drawn, case=case, moment=moment)
            for case in ("modified_abc", "abc_hmc_025")
            for moment in ("mean", "sd")
        },
    },
    "IM-GL-03": {
        "sd at 0.25 / widest of the others": sd_over_widest,
        "sd z3 at tolerance 0.25": reference_sd,
        **{
            f"sd at 0.05 / {CASE_NAMES[case]}": partial(exact_sd_ratio, narrower=case)
            for case in ("modified_abc", "constrained_hmc")
        },
    },
    "IM-GL-04": {"distance over the others": irregularity},
    "IM-GL-05": {
        CASE_NAMES[case]: partial(sets_that_agree, case=case, most=factor)
        for case, factor in _FACTORS.items()
    },
    "IM-GL-09": {
        **{
            f"{name} {p}": partial(efficiency, case=case, parameter=p)
            for case, name in CASE_NAMES.items()
            for p in PARAMETERS
        },
        **{
            f"constrained HMC / {name} {p}": partial(efficiency_ratio, rival=case, parameter=p)
            for case, name in _RIVALS.items()
            for p in PARAMETERS
        },
    },
    "IM-GL-10": {
        "mean ratio": partial(mean_ratio, rival="modified_abc", per="second"),
        **{
            f"modified ABC / constrained HMC per {per}": partial(mean_ratio, rival="modified_abc", per=per)
            for per in ("chain", "evaluation")
        },
    },
    "IM-GL-11": {
        **{f"over {CASE_NAMES[case]}": partial(mean_ratio, rival=case, per="second") for case in _TOLERANCES},
        **{
            f"{CASE_NAMES[case]} / constrained HMC per {per}": partial(mean_ratio, rival=case, per=per)
            for case in _TOLERANCES
            for per in ("chain", "evaluation")
        },
    },
    "IM-GL-14": {
        "acceptance rate": partial(mean_acceptance, case="modified_abc"),
        "acceptance rate from posterior draws": acceptance_from_posterior,
        "17 halvings": partial(acceptance_from_posterior, n_bisections=17),
    },
    "IM-GL-15": {
        "acceptance rate": partial(mean_acceptance, case="constrained_hmc"),
        "acceptance rate, all chains": partial(mean_acceptance, case="constrained_hmc", which="all"),
    },
    "IM-GL-16": {
        **{f"tolerance {eps:g}": partial(above_aim, case=case) for case, eps in _TOLERANCES.items()},
        **{
            f"very low next to 0.6 to 0.9, tolerance {eps:g}": partial(
                very_low_beside_reasonable, tolerance=eps, case=case
            )
            for eps, case in ((0.25, "step_sizes_prior"), (0.05, "step_sizes_longer"))
        },
    },
    "IM-GL-17": {name: partial(run_minutes, case=case) for case, name in CASE_NAMES.items()},
    "IM-GL-18": {
        "fraction of chains that stick": partial(never_moved, case="weak_starts"),
        "fraction of chains that stick, small steps": partial(never_moved, case="weak_starts_small"),
        "fraction of prior data above 1e10": extreme_prior_data,
        "fraction of prior data not finite": prior_data_not_finite,
    },
    "IM-GL-19": {"largest shift": prior_shift},
    "IM-GL-20": {
        "main settings - warm-up settings": partial(early_failures, other="failed_early"),
        "main settings, first - later": partial(
            early_failures, other="failed_share", n_iterations=EARLY_ITERATIONS
        ),
        "ABC HMC 0.25, later - first": partial(acceptance_beyond_first, case="abc_hmc_025"),
        "ABC HMC 0.25, warm-up settings - main settings": partial(
            acceptance_beyond_first, case="hmc_warm_up_first"
        ),
    },
    "IM-GL-21": {name: partial(fraction_stuck, case=case) for case, name in CASE_NAMES.items()},
    "IM-ALG-02": {"GL": failed_proposals},
    "IM-ALG-03": {"GL": converged},
    "IM-ALG-04": {"GL constrained HMC, from the posterior": departure},
    "IM-ALG-06": {
        f"GL tolerance {tolerance:g}{also}": partial(step_ratio, case=case)
        for case, tolerance in _TOLERANCES.items()
        for also in ("", ", printed steps")
    },
    "IM-ALG-07": {"GL exponent": step_exponent, "GL exponent, printed steps": step_exponent},
    "IM-ALG-14": {"GL monotone": smallest_rise, "GL least tolerance": smallest_shift},
}

NUMBERS: dict[str, Measure] = {
    **riemannian_gains("parameter", FALLING, (0.02, 0.25)),
    **{
        f"acceptance-with-{n}-bisections": partial(acceptance_from_posterior, n_bisections=n)
        for n in (12, 24)
    },
    "evaluations of constrained HMC over modified ABC": lambda tables: (
        mean(by_chain(tables, "constrained_hmc", "evaluations_per_iteration"))
        / mean(by_chain(tables, "modified_abc", "evaluations_per_iteration"))
    ),
    "smallest observation": recorded("data_min", exact=True),
    "largest observation": recorded("data_max", exact=True),
    "weak prior chains at one state": lambda tables: proportion_of(~moved(tables, "constrained_hmc", "weak")),
    "weak prior chains far off": fraction_far_off,
}
