"""Measures the claims IM-LV-01 to IM-LV-28, IM-ALG-02, IM-ALG-03 and IM-ALG-06, and numbers of the findings."""

import math
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import polygamma
from scipy.stats import chi2, gmean

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
from auxmc_pipeline.tables import Measure, MissingData, Tables, first_run
from auxmc_pipeline.tolerances import riemannian_gains
from auxmc_pipeline.usable_steps import USABLE_ACCEPT_RATE, usable_step
from experiments.lotka_volterra.model.data import GENERATING_RATES, published_data, read_populations
from experiments.lotka_volterra.settings import COORDINATES, FIGURE_ROWS, ROWS, SPARSE_CASES, SPARSE_METHODS

LOG_GENERATING = np.log(GENERATING_RATES)
FALLING = {  # of figure `fig_riemannian`, given fewer data, with the columns of their rows
    "ABC HMC": {"case": "euclidean"},
    "Riemannian HMC": {"case": "riemannian", "method": "rmhmc_gaussian"},
    "constrained HMC": {"case": "riemannian", "method": "chmc_all"},
}
_ABC_ROWS = ("ball_10", "ball_100", "gaussian", "hmc")  # of approximate Bayesian computation on all data
_READINGS = {"distance": "l2", "squared distance": "l2_squared"}
_UNITS = (("second", ""), ("run", ", per run of the generator"))  # of efficiency, and their words
_RUNS_OF_GRADIENT = 4.0  # bound of reverse mode, in evaluations (Griewank and Walther 2008)
_JACOBIAN_VECTORS = {"all": 4.0, "summaries": 9.0}  # one for each of the four rates, or nine summaries
_THOUSANDS = 2000.0  # Iterations, read from words
_STANDS = 1e-3  # Acceptance rate below which a chain stays where it starts (IM-LV-26, 27)
_PUBLISHED_CHAINS = 10
_FROM_ABOVE = [row for row in ROWS if row.startswith("pm_above")]  # sets of scales limited from above
_WITHIN = 0.75  # IM-LV-09: band of places, from the middle
_CONSTRAINED = (("all data", "all"), ("summaries", "summaries"))
# IM-LV-11: printed factors of the rows of approximate Bayesian computation; those of 1.01 round up to it from 1.015.
_PRINTED_AS_ONE = 1.005
_PRINTED_FACTORS = (1.89, 1.015, 1.015, 1.33)


def by_rate(tables: Tables, quantity: str, row: str) -> FloatArray:
    """A statistic of a published row for each log rate [rate]."""
    return tables.array(quantity, "coordinate", **ROWS[row].where()).values


def by_chain(tables: Tables, quantity: str, row: str) -> FloatArray:
    """A statistic of each chain of a published row [chain]."""
    return tables.values(quantity, **ROWS[row].where())


@lru_cache(maxsize=256)
def by_rate_and_chain(tables: Tables, quantity: str, row: str) -> FloatArray:
    """A statistic of each chain of a published row [rate, chain]."""
    where = ROWS[row].where()
    return tables.array(quantity, "coordinate", "chain", table="chain_coordinate", **where).values


def data_difference(tables: Tables) -> Measurement:
    """IM-LV-01."""
    n_values = tables.value("data_compared")
    note = f"largest of {n_values:.0f} differences from the published files"
    return exact(tables.value("data_difference"), note)


def printed_difference(tables: Tables) -> Measurement:
    """IM-LV-01: the same for the printed scheme; no run enters it."""
    del tables
    published = read_populations(Path(__file__).with_name("published_data.csv"))
    difference = np.abs(published_data("text") - published).max()
    return exact(difference, "predators see the prey of the step before")


def rejected(tables: Tables, reading: str) -> Measurement:
    """IM-LV-02: accepted prior draws on all data per 1e6."""
    where: dict[str, Any] = {"case": "failures", "rejection_tolerance_all": 1000.0, "reading": reading}
    (count,) = tables.values("rejection_accepted_all", "rejection_tolerance_all_reading", **where)
    n_draws = tables.value("rejection_draws_all", case="failures")
    return proportion(count / n_draws, n_draws, f"{count:.0f} of {n_draws:.3g} draws") * 1e6


def counts_by_scales(tables: Tables, tolerance: float, reading: str, case: str = "scales") -> FloatArray:
    """Prior draws on summaries that are accepted with each set of scales [repeat]."""
    where: dict[str, Any] = {"case": case, "rejection_tolerance_summaries": tolerance, "reading": reading}
    return tables.values("scales_accepted", "repeat_rejection_tolerance_summaries_reading", **where)


def none_accepted(tables: Tables, case: str) -> Measurement:
    """IM-LV-07: proportion of sets of scales, each with as many prior draws as published, with none accepted."""
    counts = counts_by_scales(tables, 1.0, "l2", case)
    return proportion_of(counts == 0.0, f"mean of {counts.mean():.2g} accepted")


def accepted_by_scales(tables: Tables, reading: str, case: str = "scales") -> Measurement:
    """IM-LV-06: log of the accepted prior draws per 5e7; the error is that of one set of scales, as the author had."""
    counts = counts_by_scales(tables, 2.0, reading, case)
    per_run = counts * 5e7 / tables.value("scales_draws", case=case)
    span = f"{per_run.min():.0f} to {per_run.max():.0f} draws, mean {per_run.mean():.0f}"
    found = mean(np.log(np.maximum(per_run, 0.5)), f"{counts.size} sets of scales: {span}")
    return found._replace(error=found.error * math.sqrt(counts.size + 1.0))


def stuck_chains(
    tables: Tables, quantity: str, method: str, tolerance: float, case: str
) -> tuple[pd.DataFrame, float]:
    """A quantity of pseudo-marginal chains on all data, as a row a chain and a column a scale; their length."""
    where: dict[str, Any] = {"case": case, "method": method, "tolerance": tolerance}
    rows = tables.rows("chain", quantity, **where)
    found = rows.pivot_table(index="chain", columns="step_size", values=quantity)
    return found, tables.value("n_iterations", **where)


def accepted(tables: Tables, case: str) -> Measurement:
    """IM-LV-03: accepted updates per 1e5 at the proposal scale that accepts most, mean over chains."""
    found, n_draws = stuck_chains(tables, "n_accepted", "pm_ball", 100.0, case)
    counts = found.sum()
    each = ", ".join(f"{count:.0f} at scale {scale:g}" for scale, count in counts.items())
    note = f"{n_draws * len(found):.0f} updates at each scale: {each}"
    return mean_proportion(found[counts.idxmax()] / n_draws, n_draws, note) * 1e5


def standing_chains(tables: Tables, method: str, tolerance: float) -> Measurement:
    """IM-LV-04, 05: proportion of chains that keep a state for thousands of iterations, at the scale with fewest."""
    runs, n_draws = stuck_chains(tables, "longest_run", method, tolerance, "failures_small")
    stand = runs >= _THOUSANDS
    each = ", ".join(f"{stand[scale].sum()} at scale {scale:g}" for scale in runs)
    note = f"of {len(runs)} chains of {n_draws:.0f} iterations, {each}; longest {runs.to_numpy().max():.4g}"
    return proportion_of(stand[stand.sum().idxmin()], note)


def finite_paths(tables: Tables) -> Measurement:
    """IM-LV-22, the prior."""
    fraction = tables.value("finite_prior_fraction", case="failures")
    n_draws = tables.value("rejection_draws_all", case="failures")
    return proportion(fraction, n_draws, "prior paths finite after all steps, scheme code")


def plausible_paths_under(tables: Tables, prior_mean: float) -> Measurement:
    """IM-LV-22: finite paths under larger rates over paths within the limit, a bound of the ratio of plausible ones."""
    where: dict[str, Any] = {"case": "failures", "larger_prior_mean": prior_mean}
    (count,) = tables.values("finite_prior_paths_by_mean", "larger_prior_mean", **where)
    n_draws = tables.value("rejection_draws_all", case="failures")
    n_kept = tables.value("summary_scale_draws", case="failures")
    n_prior = tables.setting("n_normalisation", case="failures")
    found = proportion(count / n_draws, n_draws) / proportion(n_kept / n_prior, n_prior)
    return found.noted(f"{count:.0f} of {n_draws:.3g} and {n_kept:.0f} of {n_prior:.3g} draws")


def chance_of_agreement(tables: Tables, row: str, most: float) -> Measurement:
    """IM-LV-08, 11: probability that so many chains have a factor so small: factor - 1 goes as a chi-squared number."""
    factor, degrees = by_rate(tables, "psrf", row).max(), by_chain(tables, "acceptance", row).size - 1
    ratio = degrees * (most - 1.0) / max(factor - 1.0, 1e-6)  # can fall below 1 by chance
    two_errors = math.exp(2.0 * math.sqrt(polygamma(1, 0.5 * degrees)))
    value, low, high = chi2(degrees).cdf([ratio, ratio / two_errors, ratio * two_errors])
    note = f"factor {factor:.4g} of {degrees + 1} chains"
    return Measurement(float(value), float(max(value - low, high - value)) / 2.0, note)


def sets_that_agree(
    tables: Tables, row: str, most: float, n_chains: int = _PUBLISHED_CHAINS, which: str = "all"
) -> Measurement:
    """IM-LV-08, 11, 24: proportion of sets of as many chains as published with a factor so small."""
    row = first_run(tables, f"{row}_more", row)
    moments = chain_moments(tables, row, which)
    note = sets_of(n_chains, len(moments))
    n_draws = round(tables.value("n_iterations", **ROWS[row].where()))
    return proportion_of_sets(moments[:, 0], moments[:, 1], n_draws, n_chains, most, note)


def acceptance(tables: Tables) -> Measurement:
    """IM-LV-20."""
    rates = by_chain(tables, "acceptance", "all")
    return mean(rates, "over proposals, integration errors counted as rejections")


def warm_up(tables: Tables, row: str) -> Measurement:
    """IM-LV-23."""
    reached = by_chain(tables, "iterations_to_band", row)
    note = f"potential within 3 sds of its stationary mean; the slowest of {reached.size} chains {reached.max():.0f}"
    return estimate(lambda each: each.mean() + 3.0 * each.std(ddof=1), reached, method="jackknife", note=note)


def failed(tables: Tables, row: str) -> Measurement:
    """IM-ALG-02: fraction of proposals that an integration error has rejected."""
    counts = by_chain(tables, "n_failed", row)
    n_proposals = tables.value("n_iterations", **ROWS[row].where())
    note = f"{counts.sum():.0f} of {n_proposals * counts.size:.0f}"
    return mean_proportion(counts / n_proposals, n_proposals, note)


def converged(tables: Tables, row: str) -> Measurement:
    """IM-ALG-03: proportion of projections, forward and reverse, that converge at the tolerance."""
    names = ("n_projections", "n_not_converged", "n_not_converged_reverse", "largest_residual")
    counts, *failures, residuals = (by_chain(tables, name, row) for name in names)
    note = f"largest residual of a stored state {residuals.max():.2g}"
    return mean_proportion(1.0 - np.sum(failures, axis=0) / counts, counts.mean(), note)


def step_ratio(tables: Tables) -> Measurement:
    """IM-ALG-06: largest step of constrained HMC over that of HMC at which most proposals are still accepted."""
    rates = partial(tables.array, "acceptance", "step_size", "chain", table="chain", case="step_sizes")
    above, below = (usable_step(rates(method=method)) for method in ("chmc_all", "hmc_gaussian"))
    note = f"steps {above.value:.3g} and {below.value:.3g} at acceptance rate {USABLE_ACCEPT_RATE:g}"
    return (above / below).noted(note)


# Posterior distributions: IM-LV-09, 10, 12, 13, 14. Standard deviations and distances of a method come with the spread
# over its chains; so do means, but for those of exact methods, whose draws are nearly independent.


def exact_moment(tables: Tables, quantity: str, scheme: str = "code") -> FloatArray:
    """A moment of the exact posterior given all data [rate]."""
    rows = tables.rows("coordinate", f"exact_{quantity}", scheme=scheme)
    fewer_data = [where["case"] for where in FALLING.values()]
    known = rows[~rows["case"].isin(fewer_data)].groupby("coordinate")
    return known[f"exact_{quantity}"].first().loc[list(COORDINATES)].to_numpy()


def posterior_mean(tables: Tables, row: str, rate: int) -> Measurement:
    """IM-LV-10: posterior mean of a log rate under constrained HMC."""
    value, error = (by_rate(tables, name, row)[rate] for name in ("posterior_mean", "mcse_mean"))
    note = f"exact value {exact_moment(tables, 'mean')[rate]:.4f}" if row == "all" else ""
    return Measurement(float(value), float(error), note)


def posterior_sd(tables: Tables, rate: int) -> Measurement:
    """IM-LV-10: posterior standard deviation of a log rate under constrained HMC on all data."""
    return sd_of(tables, "all", rate).noted(f"exact value {exact_moment(tables, 'sd')[rate]:.4f}")


def chain_moments(tables: Tables, row: str, which: str = "all") -> FloatArray:
    """Means and standard deviations of the log rates of each chain, or of those that "moved" [chain, 2, rate]."""
    found = [by_rate_and_chain(tables, quantity, row).T for quantity in ("chain_mean", "chain_sd")]
    moments = np.stack(found, axis=1)
    return moments[by_chain(tables, "acceptance", row) > 0.0] if which == "moved" else moments


def sd_of(tables: Tables, row: str, rate: int) -> Measurement:
    """Standard deviation of a log rate over the draws of all chains together."""
    return estimate(partial(pooled_sd, rate=rate), chain_moments(tables, row), method="jackknife")


def pooled_sd(moments: FloatArray, rate: int) -> float:
    """Standard deviation of a log rate over the draws of all chains, from moments [chain, 2, rate]."""
    means, sds = moments[:, 0, rate], moments[:, 1, rate]
    return math.sqrt(np.mean(np.square(sds)) + np.var(means))


def abc_mean(tables: Tables, row: str, rate: int) -> Measurement:
    """IM-LV-25, 27: mean of a log rate over the draws of all chains on summaries."""
    return estimate(lambda moments: moments[:, 0, rate].mean(), chain_moments(tables, row))


def of_raw(tables: Tables, statistic: Callable[..., Measurement], rate: int) -> Measurement:
    """IM-LV-26, 27: a statistic of the chains on raw summaries, of more of them where the preset has them."""
    row = first_run(tables, "pm_raw_more", "pm_raw")
    stands = by_chain(tables, "acceptance", row) < _STANDS
    note = f"chains that accept less than one update in a thousand, and stay where they start: {stands.sum()}"
    return statistic(tables, row, rate).noted(f"{note} of {stands.size}")


def with_scales(tables: Tables, statistic: Callable[..., Measurement], **about: int) -> Measurement:
    """IM-LV-09, 25: a statistic on normalised summaries; its error has that of two scale sets, ours and the author's.

    Another set is taken for another tolerance, by which as many prior draws are accepted.
    """
    found, wider = (statistic(tables, row, **about) for row in ("pm_normalised", "pm_wider"))
    slope = (wider.value - found.value) / math.log(ROWS["pm_wider"].tolerance)
    spread = math.nan
    with suppress(MissingData):
        spread = spread_of_scales(tables)
    moved = slope * spread
    note = f"other scales of the summaries as a tolerance off by {100.0 * spread:.2g} %, which moves it by {moved:.2g}"
    return found._replace(error=math.hypot(found.error, math.sqrt(2.0) * moved), note=note)


def over_scales(tables: Tables, statistic: Callable[..., Measurement], **about: int) -> Measurement:
    """IM-LV-25: mean over sets of scales limited from above of a statistic, by the error of one, the author's."""
    found = [statistic(tables, row, **about) for row in _FROM_ABOVE]
    values, errors = [one.value for one in found], [one.error for one in found]
    over = mean(values, f"{len(values)} sets of scales: {min(values):.4g} to {max(values):.4g}")
    return over._replace(error=max(over.error * math.sqrt(len(values) + 1.0), float(np.mean(errors))))


def sets_of_scales_as_said(tables: Tables) -> Measurement:
    """IM-LV-09: proportion of sets of scales limited from above by which all four generating values lie as is said."""
    places = [[place_in_interval(tables, row, rate).value for rate in range(3)] for row in _FROM_ABOVE]
    smallest = [by_rate_and_chain(tables, "smallest", row)[3].min() for row in _FROM_ABOVE]
    within = np.abs(np.array(places) - 0.5).max(axis=1) < _WITHIN
    outside = np.array(smallest) > LOG_GENERATING[3]
    note = f"z1 to z3 in {within.sum()}, z4 in {outside.sum()}; places {np.min(places):.3f} to {np.max(places):.3f}"
    return proportion_of(within & outside, note)


def spread_of_scales(tables: Tables) -> float:
    """Standard deviation over sets of scales of the log of the tolerance that accepts as many prior draws."""
    counts, narrow = (counts_by_scales(tables, 2.0, reading) for reading in _READINGS.values())
    if counts.min() == 0.0 or narrow.sum() == 0.0:
        return math.nan
    # The squared distance is at most 2 where the distance is at most its root.
    power = math.log(counts.mean() / narrow.mean()) / math.log(math.sqrt(2.0))
    return float(np.std(np.log(counts), ddof=1)) / power


def distance_from_generating(tables: Tables, row: str, rate: int) -> Measurement:
    """IM-LV-26: distance of a mean on raw summaries from the generating value, in standard deviations."""

    def distance(moments: FloatArray) -> float:
        return float(abs(moments[:, 0, rate].mean() - LOG_GENERATING[rate]) / pooled_sd(moments, rate))

    return estimate(distance, chain_moments(tables, row), method="jackknife")


def drawn_moments(row: str, figure: str) -> FloatArray:
    """Means and standard deviations [rate, 2] of the histograms of a row of a figure."""

    def moments(rate: int) -> tuple[float, float]:
        drawn = published_series("lotka_volterra", figure, f"{row} log_z{rate + 1}")
        place = float(np.average(drawn.x, weights=drawn.y))
        return place, math.sqrt(np.average((drawn.x - place) ** 2, weights=drawn.y))

    return np.array([moments(rate) for rate in range(4)])


def distance_from_drawn(tables: Tables, row: str) -> Measurement:
    """Largest distance of the means of a row from those of figure 4.10, in its standard deviations."""
    drawn = drawn_moments("pm_normalised", "4.10")

    def distance(moments: FloatArray) -> float:
        return float(np.max(np.abs(moments[:, 0].mean(axis=0) - drawn[:, 0]) / drawn[:, 1]))

    return estimate(distance, chain_moments(tables, row))


def largest_z_score(tables: Tables, row: str) -> Measurement:
    """IM-LV-10: largest distance of a mean from its generating value, in posterior standard deviations."""
    names = ("posterior_mean", "posterior_sd", "mcse_mean")
    place, sd, error = (by_rate(tables, name, row) for name in names)
    found = largest(np.abs(place - LOG_GENERATING) / sd, error / sd, COORDINATES)
    return found.noted(f"largest at {found.note}")


def log_z4_from_exact(tables: Tables, scheme: str) -> Measurement:
    """Distance of the mean of log z4 under scheme code from the exact one of a scheme, in exact sds."""
    place, error = (by_rate(tables, name, "all")[3] for name in ("posterior_mean", "mcse_mean"))
    exact_mean, sd = (exact_moment(tables, quantity, scheme)[3] for quantity in ("mean", "sd"))
    return Measurement(float(abs(place - exact_mean) / sd), float(error / sd), "in posterior sds")


def sd_ratio(tables: Tables, rate: int) -> Measurement:
    """IM-LV-12: standard deviation given the summaries over that given all data."""
    return sd_of(tables, "summaries", rate) / sd_of(tables, "all", rate)


def smallest_sampled(tables: Tables) -> Measurement:
    """IM-LV-09: a smallest value over draws has no usable error."""
    found = by_rate_and_chain(tables, "smallest", "pm_normalised")[3]
    return Measurement(float(found.min()), math.nan, "of the kept iterations of all chains")


def fraction_below(tables: Tables, row: str) -> Measurement:
    """IM-LV-09: fraction of draws of log z4 below the generating value; its error knows chains and number of draws."""
    fractions, ess = (by_rate_and_chain(tables, name, row)[3] for name in ("share_below_generating", "ess"))
    return mean_proportion(fractions, ess.mean())


def place_in_interval(tables: Tables, row: str, rate: int) -> Measurement:
    """IM-LV-09: place of the generating value in the central 95 % of a chain, 0 at its lower and 1 at its upper end."""
    low, high = (by_rate_and_chain(tables, name, row)[rate] for name in ("lower_quantile", "upper_quantile"))
    return mean((LOG_GENERATING[rate] - low) / (high - low))


def typical_sds(moments: FloatArray) -> FloatArray:
    """Standard deviations [rate], median over chains of moments [chain, 2, rate]: pooled, one far off would decide."""
    return np.asarray(np.median(moments[:, 1], axis=0))


def of_widths(tables: Tables, statistic: Callable[..., float | np.floating], *first: str) -> Measurement:
    """A statistic of the moments of the moving chains of the ABC rows, those named first and the others."""
    rows = (*first, *(row for row in _ABC_ROWS if row not in first))
    moments = {row: chain_moments(tables, row, "moved") for row in rows}
    listed = listed_by_row({row: typical_sds(moments[row]) for row in _ABC_ROWS})
    return estimate(statistic, *moments.values(), note=f"sds of a chain {listed}")


def listed_by_row(found: dict[str, FloatArray]) -> str:
    """Numbers of rows for a note."""
    numbers = {ROWS[row].label: ", ".join(f"{value:.2f}" for value in found[row]) for row in found}
    return "; ".join(f"{label} {listed}" for label, listed in numbers.items())


def wider_than_exact(tables: Tables) -> Measurement:
    """IM-LV-13: of the four methods the smallest mean over rates of the log ratio to the exact sd."""
    sds = exact_moment(tables, "sd")
    return of_widths(tables, lambda *chains: min(np.mean(np.log(typical_sds(one) / sds)) for one in chains))


def ball_100_widest(tables: Tables) -> Measurement:
    """IM-LV-13: smallest ratio of its standard deviations to those of the other ABC methods."""

    def smallest(wide: FloatArray, *chains: FloatArray) -> float:
        return float(min(np.min(typical_sds(wide) / typical_sds(one)) for one in chains))

    return of_widths(tables, smallest, "ball_100")


def narrower_than_drawn(tables: Tables, row: str, figure: str) -> Measurement:
    """IM-LV-13: largest over methods of the geometric mean over rates of sds over those of a row of a figure."""
    drawn = drawn_moments(row, figure)[:, 1]
    return of_widths(tables, lambda *chains: max(gmean(typical_sds(one) / drawn) for one in chains))


def narrower_than_ours(tables: Tables, row: str) -> Measurement:
    """IM-LV-13: the same over the sds of our own chains on summaries."""

    def largest_ratio(whole: FloatArray, *chains: FloatArray) -> float:
        return float(max(gmean(typical_sds(one) / typical_sds(whole)) for one in chains))

    return of_widths(tables, largest_ratio, row)


def sets_as_narrow(tables: Tables, row: str, which: str = "all", than: str = "") -> Measurement:
    """IM-LV-13, 28: proportion of sets of ten chains with sds at most those drawn or of a row, as geometric means."""
    widths = [sd_of(tables, than, i).value for i in range(4)] if than else drawn_moments(row, "4.11")[:, 1]
    most = np.log(widths).mean()
    moments = chain_moments(tables, first_run(tables, f"{row}_more", row), which)
    note = sets_of(_PUBLISHED_CHAINS, len(moments))

    def is_as_narrow(sets: IntegerArray) -> BooleanArray:
        means, sds = np.moveaxis(moments, 1, 0)
        squares = np.square(sds)[sets].mean(axis=1) + means[sets].var(axis=1)
        return 0.5 * np.log(squares).mean(axis=1) <= most

    return proportion_of_sets_where(is_as_narrow, len(moments), _PUBLISHED_CHAINS, note)


def abc_near_generating(tables: Tables) -> Measurement:
    """IM-LV-13: largest distance of a method's mean from a generating value, medians over chains of mean and sd."""

    def distance(moments: FloatArray) -> float:
        centre = np.median(moments[:, 0], axis=0)
        return float(np.max(np.abs(centre - LOG_GENERATING) / typical_sds(moments)))

    return of_widths(tables, lambda *chains: max(map(distance, chains))).noted("")


def distance_from_exact(tables: Tables, row: str, rates: slice = slice(None)) -> Measurement:
    """IM-LV-14: total variation distance of a row from the exact posterior, the mean over some log rates."""
    distances = by_rate(tables, "total_variation", row)
    without = by_rate_and_chain(tables, "total_variation_without_chain", row)[rates].mean(axis=0)
    return left_out(float(distances[rates].mean()), without, listed_by_row({row: distances}))


def nearest(tables: Tables) -> Measurement:
    """IM-LV-14: distance of ball 10 from the exact posterior less that of the nearest other."""
    ball_10, *others = (distance_from_exact(tables, row) for row in _ABC_ROWS)
    smallest = largest([-one.value for one in others], [one.error for one in others], _ABC_ROWS[1:]) * -1.0
    notes = "; ".join(one.note for one in (ball_10, *others))
    return (ball_10 - smallest).noted(f"total variation distances {notes}")


def efficiency(tables: Tables, row: str, rate: int) -> Measurement:
    """IM-LV-17: effective samples of a log rate per second."""
    each = by_rate_and_chain(tables, "ess_per_second", row)[rate]
    return mean(each, "mean over chains; depends on the machine")


def smallest_ratio(
    tables: Tables, row: str, others: tuple[str, ...], unit: str = "second", rate: int | None = None
) -> Measurement:
    """IM-LV-17 to 19: smallest ratio of effective samples per second or run to other rows, of a rate or the mean."""

    def ratio(above: FloatArray, *below: FloatArray) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):  # infinite where the others do not move
            return float(np.divide(above.mean(), max(one.mean() for one in below)))

    above, *below = (efficiencies(tables, unit, name, rate) for name in (row, *others))
    pairs = zip(others, below, strict=True)
    each = ", ".join(f"{ROWS[other].label} {ratio(above, one):.3g}" for other, one in pairs)
    of = "mean over rates" if rate is None else "mean over chains"
    return estimate(ratio, above, *below, note=f"{of}; ratio to {each}")


def efficiencies(tables: Tables, unit: str, row: str, rate: int | None) -> FloatArray:
    """Effective samples of each chain [chain] per second or run, of a log rate or the mean over all."""
    if unit == "second":
        found = by_rate_and_chain(tables, "ess_per_second", row)
    else:
        found = by_rate_and_chain(tables, "ess", row) / generator_runs(tables, row)
    return np.asarray(found.mean(axis=0) if rate is None else found[rate])


def generator_runs(tables: Tables, row: str) -> FloatArray:
    """Runs of the generator of each chain, derivatives counted at the bound of their work [chain].

    Constrained HMC has a Jacobian for each geodesic sub-step, which takes two projections, that of the step and that of
    the reversed one, and the derivative of the Jacobian's determinant for each integrator step.
    """
    where = ROWS[row].where()
    evaluations = tables.value("n_iterations", **where) * by_chain(tables, "evaluations_per_iteration", row)
    if row == "hmc":
        return np.asarray(_RUNS_OF_GRADIENT * evaluations)
    if row not in _JACOBIAN_VECTORS:
        return np.asarray(evaluations)
    n_sub_steps = by_chain(tables, "n_projections", row) / 2.0
    n_steps = n_sub_steps / tables.setting("n_inner_steps", case=ROWS[row].case)
    runs_of_jacobian = _RUNS_OF_GRADIENT * _JACOBIAN_VECTORS[row]
    return np.asarray(evaluations + runs_of_jacobian * (n_sub_steps + _RUNS_OF_GRADIENT * n_steps))


def sparse_rows(tables: Tables, table: str, quantity: str, **where: Any) -> pd.DataFrame:
    """Rows of constrained HMC by M, the Euler-Maruyama steps from an observation to the next, a column `steps`."""
    only = where.pop("steps", None)
    cases = [case for case, steps in SPARSE_CASES.items() if only in (None, steps)]
    rows = tables.rows(table, quantity, case=cases, method=SPARSE_METHODS[0], **where)
    return rows.assign(steps=rows["case"].map(SPARSE_CASES))


def distance_of_means(tables: Tables, one: tuple[int, str], other: tuple[int, str]) -> Measurement:
    """Largest distance over the log rates of two posterior means, of M and a scheme each, in the sds of the other."""
    rows = partial(sparse_rows, tables, "coordinate", "posterior_mean")
    parts = (rows(steps=steps, scheme=scheme) for steps, scheme in (one, other))
    first, second = (part.set_index("coordinate") for part in parts)
    distances = (first["posterior_mean"] - second["posterior_mean"]).abs() / second["posterior_sd"]
    errors = np.hypot(first["mcse_mean"], second["mcse_mean"]) / second["posterior_sd"]
    return largest(distances, errors, [f"{name}, in posterior sds" for name in distances.index])


def remaining_efficiency(tables: Tables, steps: int) -> Measurement:
    """Effective samples per run of the generator at M steps an observation over those at one, scheme code."""
    quantity, found = "ess_per_1000_evaluations", []
    for n in (steps, 1):
        rows = sparse_rows(tables, "chain_coordinate", quantity, steps=n, scheme="code")
        found.append(mean(rows.groupby("chain")[quantity].mean().to_numpy()))
    return found[0] / found[1]


def by_coordinate(setting: str, measure: Callable[..., Measurement], **about: Any) -> dict[str, Measure]:
    """Settings of a claim, one for each log rate."""
    return {setting.format(name): partial(measure, rate=i, **about) for i, name in enumerate(COORDINATES)}


def abc_moments(chains: Callable[..., Measurement], end: str = "") -> dict[str, Measure]:
    """Settings of IM-LV-25 and 27."""
    return {
        **by_coordinate(f"mean {{}}{end}", chains, statistic=abc_mean),
        **by_coordinate(f"sd {{}}{end}", chains, statistic=sd_of),
    }


_over_summaries = partial(smallest_ratio, others=("summaries",))

_HMC_WIDTHS = partial(sets_as_narrow, row="hmc", than="ball_100")

MEASURE: dict[str, dict[str, Measure]] = {
    "IM-LV-01": {"largest difference": data_difference, "as printed, largest difference": printed_difference},
    "IM-LV-02": {name: partial(rejected, reading=reading) for name, reading in _READINGS.items()},
    "IM-LV-03": {
        "ball 100": partial(accepted, case="failures_small"),
        "ball 100, from the posterior": partial(accepted, case="failures"),
    },
    "IM-LV-04": {
        name: partial(standing_chains, method="pm_ball", tolerance=tolerance)
        for name, tolerance in (("ball 1000", 1000.0), ("ball 1000, squared distance", math.sqrt(1000.0)))
    },
    "IM-LV-05": {
        f"Gaussian {tolerance:g}": partial(standing_chains, method="pm_gaussian", tolerance=tolerance)
        for tolerance in (10.0, 100.0)
    },
    "IM-LV-06": {
        **{name: partial(accepted_by_scales, reading=reading) for name, reading in _READINGS.items()},
        "distance, limit from above": partial(accepted_by_scales, reading="l2", case="scales_above"),
    },
    "IM-LV-07": {
        "distance": partial(none_accepted, case="scales"),
        "distance, limit from above": partial(none_accepted, case="scales_above"),
    },
    "IM-LV-08": {
        "normalised": partial(chance_of_agreement, row="pm_normalised", most=_PRINTED_AS_ONE),
        "raw": partial(sets_that_agree, row="pm_raw", most=1.025, n_chains=5),
    },
    "IM-LV-09": {
        "smallest log z4": smallest_sampled,
        "fraction below, log z4": partial(with_scales, statistic=fraction_below),
        **{
            f"place of {name}": partial(with_scales, statistic=place_in_interval, rate=i)
            for i, name in enumerate(COORDINATES[:3])
        },
        "sets of scales, limit from above": sets_of_scales_as_said,
    },
    "IM-LV-25": abc_moments(with_scales) | abc_moments(over_scales, ", limit from above"),
    "IM-LV-27": abc_moments(of_raw),
    "IM-LV-26": by_coordinate("{}", of_raw, statistic=distance_from_generating),
    "IM-LV-10": {
        **by_coordinate("mean {}", posterior_mean, row="all"),
        **by_coordinate("sd {}", posterior_sd),
        **by_coordinate("mean {}, summaries", posterior_mean, row="summaries"),
        "z-score, all": partial(largest_z_score, row="all"),
        "z-score, summaries": partial(largest_z_score, row="summaries"),
    },
    "IM-LV-11": {
        **{
            ROWS[row].label: partial(chance_of_agreement, row=row, most=_PRINTED_AS_ONE)
            for row in ("all", "summaries")
        },
        **{
            ROWS[row].label: partial(sets_that_agree, row=row, most=most)
            for row, most in zip(_ABC_ROWS, _PRINTED_FACTORS, strict=True)
        },
        "moving HMC": partial(sets_that_agree, row="hmc", most=_PRINTED_FACTORS[3], which="moved"),
        "chains of HMC that never move": lambda t: proportion_of(
            by_chain(t, "acceptance", first_run(t, "hmc_more", "hmc")) == 0.0
        ),
    },
    "IM-LV-12": {
        **by_coordinate("{}", sd_ratio),
        "largest": lambda t: largest_of({name: sd_ratio(t, rate) for rate, name in enumerate(COORDINATES)}),
    },
    "IM-LV-13": {
        "wider than exact": wider_than_exact,
        "ball 100 widest": ball_100_widest,
        "narrower than figure 4.10": partial(narrower_than_drawn, row="pm_normalised", figure="4.10"),
        "narrower than figure 9": partial(narrower_than_drawn, row="pm_raw", figure="EJS 9"),
        "narrower than ours": partial(narrower_than_ours, row="pm_normalised"),
        "narrower than ours, raw": partial(narrower_than_ours, row="pm_raw_more"),
        "HMC narrower than ball 100, all draws": _HMC_WIDTHS,
        "moving HMC narrower than ball 100": partial(_HMC_WIDTHS, which="moved"),
        "near generating values": abc_near_generating,
    },
    "IM-LV-14": {
        "nearest to exact": nearest,
        "log z1 and z2": partial(distance_from_exact, row="ball_10", rates=slice(2)),
    },
    "IM-LV-17": {
        **{
            f"{ROWS[row].label}, {name}": partial(efficiency, row=row, rate=i)
            for row in FIGURE_ROWS
            for i, name in enumerate(COORDINATES)
        },
        **{
            f"all over {ROWS[row].label}, {name}": partial(smallest_ratio, row="all", others=(row,), rate=i)
            for row in FIGURE_ROWS[1:]
            for i, name in enumerate(COORDINATES)
        },
    },
    "IM-LV-18": {
        **{f"all over summaries{end}": partial(_over_summaries, row="all", unit=u) for u, end in _UNITS},
        "all over summaries, dense": partial(_over_summaries, row="all_dense"),
    },
    "IM-LV-19": {
        f"{name}{label}": partial(smallest_ratio, unit=unit, row=row, others=others)
        for unit, label in _UNITS
        for name, row, others in (
            ("ball 100", "all", ("ball_100",)),
            ("others", "all", ("ball_10", "gaussian", "hmc")),
            ("on summaries", "summaries", _ABC_ROWS),
        )
    },
    "IM-LV-20": {"all": acceptance},
    "IM-LV-22": {
        "prior mean -1": partial(plausible_paths_under, prior_mean=-1.0),
        "finite paths": finite_paths,
    },
    "IM-LV-23": {
        "mean and three sds": partial(warm_up, row="all"),
        "on summaries, mean and three sds": partial(warm_up, row="summaries"),
    },
    "IM-LV-24": {
        name: partial(sets_that_agree, row=row, most=most)
        for name, row, most in (
            ("ball 10", "ball_10", 1.05),
            ("ball 10, as printed", "ball_10", 1.89),
            ("ball 100", "ball_100", 1.05),
            ("Gaussian 10", "gaussian", 1.05),
        )
    },
    "IM-LV-28": {
        **{f"{ROWS[row].label}, as drawn": partial(sets_as_narrow, row=row) for row in _ABC_ROWS},
        "moving HMC": partial(sets_as_narrow, row="hmc", which="moved"),
    },
    "IM-ALG-02": {f"LV, {name}": partial(failed, row=row) for name, row in _CONSTRAINED},
    "IM-ALG-03": {f"LV, {name}": partial(converged, row=row) for name, row in _CONSTRAINED},
    "IM-ALG-06": {"LV tolerance 10": step_ratio, "LV tolerance 10, printed steps": step_ratio},
}

NUMBERS: dict[str, Measure] = {
    **riemannian_gains("coordinate", FALLING, (0.4, 10.0)),
    **{
        f"distance from figure 4.10 at tolerance {tolerance}": partial(distance_from_drawn, row=row)
        for tolerance, row in (("1", "pm_normalised"), ("2.5", "pm_wider"))
    },
    **{
        f"distance of log z4, scheme {scheme}": partial(log_z4_from_exact, scheme=scheme)
        for scheme in ("code", "text")
    },
    **{
        f"move of means, M={m} to {2 * m}": partial(distance_of_means, one=(m, "code"), other=(2 * m, "code"))
        for m in (1, 2, 4)
    },
    **{
        f"distance of schemes, M={m}": partial(distance_of_means, one=(m, "text"), other=(m, "code"))
        for m in (1, 8)
    },
    **{f"sd-of-z{rate + 1}-at-2.5": partial(sd_of, row="pm_wider", rate=rate) for rate in (0, 3)},
    "remaining efficiency, M=8": partial(remaining_efficiency, steps=8),
}
