"""Errors of means, medians, ratios, shares and extremes have the size of their spread over repeated experiments."""

import math

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from auxmc.diagnostics.errors_of_means import few_replicates
from auxmc_pipeline.claims import Measurement, exact
from auxmc_pipeline.error_rules import (
    bootstrap,
    bootstrap_groups,
    difference,
    distance_from_distribution,
    distance_from_exact,
    distance_in_errors,
    fraction_of_replicates,
    fraction_of_trials,
    jackknife,
    largest,
    left_out,
    mean_over_replicates,
    median_over_replicates,
    paired_ratio,
    quantile_over_replicates,
    rank_correlation,
    rate_of_events,
    ratio,
    ratio_of_means,
    score,
    slope,
    smallest,
    spread_over_replicates,
)
from auxmc_pipeline.measuring import (
    mean_proportion,
    root_mean_square,
    score_of_p_values,
    smallest_proportion,
)
from auxmc_pipeline.tables import MissingData
from auxmc_pipeline.usable_steps import step_at_acceptance_rate, usable_step

N_EXPERIMENTS, N_REPLICATES = 300, 50


@pytest.mark.slow
def test_errors_are_the_spread_over_repeated_experiments():
    rng = np.random.default_rng(1)
    above = rng.normal(3.0, 0.5, (N_EXPERIMENTS, N_REPLICATES))
    below = rng.normal(-2.0, 0.2, (N_EXPERIMENTS, N_REPLICATES))
    shared = below + rng.normal(0.0, 0.05, (N_EXPERIMENTS, N_REPLICATES))
    x = np.arange(5.0)
    for measured in (
        [mean_over_replicates(a) for a in above],
        [median_over_replicates(a) for a in above],
        [ratio_of_means(a, b) for a, b in zip(above, below, strict=True)],
        [paired_ratio(a, b) for a, b in zip(shared, below, strict=True)],
        [fraction_of_replicates(a > 2.8) for a in above],
        [bootstrap(lambda v: float(np.quantile(v, 0.7)), a) for a in above],
        [jackknife(lambda kept, a=a: float(np.std(a[kept], ddof=1)), N_REPLICATES) for a in above],
        [slope(x, a[:5], [0.5] * 5) for a in above],
        [quantile_over_replicates(a, 0.6) for a in above],
        [spread_over_replicates(a) for a in above],
    ):
        values, errors = (
            np.array(part) for part in zip(*((m.value, m.error) for m in measured), strict=True)
        )
        assert np.mean(errors) == pytest.approx(np.std(values), rel=0.2)


def test_distances_from_a_distribution_have_the_spread_that_they_say():
    levels = np.random.default_rng(2).random((2000, 200))
    found = [distance_from_distribution(row) for row in levels]
    assert found[0].error == pytest.approx(np.std([m.value for m in found]), rel=0.1)
    # Draws of another distribution are far away: their levels are squares of uniform numbers.
    assert distance_from_distribution(levels[0] ** 2).value > np.max([m.value for m in found])


def test_distances_in_errors_need_an_error():
    assert distance_in_errors(Measurement(1.0, 0.5), 2.5)[:2] == (3.0, 1.0)
    for unknown in (0.0, math.nan):
        assert all(math.isnan(part) for part in distance_in_errors(Measurement(1.0, unknown), 2.5)[:2])


def test_two_errors_hold_as_often_as_two_of_a_normal_distribution_also_with_few_replicates():
    rng = np.random.default_rng(2)
    for n_replicates in (2, 4, 8):
        values = rng.normal(1.0, 1.0, (4000, n_replicates))
        misses = [abs(m.value - 1.0) > 2.0 * m.error for m in map(mean_over_replicates, values)]
        # 0.0455, with three of its own standard errors.
        assert np.mean(misses) == pytest.approx(0.0455, abs=0.01)


def test_one_replicate_has_no_error_and_makes_none_known():
    one, several = np.array([2.0]), np.array([1.0, 2.0, 3.0])
    for found in (
        mean_over_replicates(one),
        median_over_replicates(one),
        bootstrap(np.max, one),
        ratio_of_means(one, several),
        ratio_of_means(several, one),
        jackknife(lambda kept: float(several[kept].mean()), 2),
        rank_correlation({1.0: one, 2.0: several}),
        distance_from_exact(one, 0.0),
    ):
        assert math.isnan(found.error)
    assert median_over_replicates(one).note == "one run"


def test_what_is_unknown_or_exact_stays_so_in_ratios_and_differences():
    known, unknown = Measurement(3.0, 0.3), Measurement(2.0, math.nan)
    for combine in (ratio, difference):
        assert math.isnan(combine(known, unknown).error)
        assert not combine(known, exact(2.0)).exact
        assert combine(exact(3.0), exact(2.0)).exact


def test_a_fraction_of_all_or_few_is_no_certainty():
    every = fraction_of_replicates([True] * 3)
    assert (every.value, every.note) == (1.0, "3 of 3 runs")
    assert every.error > 0.25
    # Four of six are not shown to be better than chance, nor are six of six to be above nine tenths.
    four = fraction_of_replicates([True] * 4 + [False] * 2)
    assert four.value - 2.0 * four.error < 0.5
    assert fraction_of_trials(1.0, 6).error * 2.0 > 0.1
    assert fraction_of_trials(0.3, 1e6).error == pytest.approx(math.sqrt(0.3 * 0.7 / 1e6), rel=0.01)


def test_a_rate_has_the_spread_of_its_counts_and_none_seen_is_no_certainty():
    counts = np.random.default_rng(2).poisson(30.0, N_EXPERIMENTS)
    found = [rate_of_events(int(count), 10.0) for count in counts]
    assert np.mean([m.value for m in found]) == pytest.approx(3.0, rel=0.01)
    assert np.mean([m.error for m in found]) == pytest.approx(np.std([m.value for m in found]), rel=0.1)
    none = rate_of_events(0, 10.0)
    # Of a rate of two errors more none would be seen in one of twelve such lengths or fewer.
    assert math.exp(-10.0 * 2.0 * none.error) < 1.0 / 12.0


def test_resamples_that_all_agree_say_nothing_about_the_error():
    assert math.isnan(bootstrap(np.max, np.full(5, 2.0)).error)


def test_groups_are_resampled_each_by_itself():
    rng = np.random.default_rng(2)
    first, second = rng.normal(1.0, 0.3, (400, 2)), rng.normal(0.5, 0.4, 400)
    found = bootstrap_groups(lambda a, b: a[:, 0].mean() / b.mean(), first, second)
    assert found.error == pytest.approx(ratio_of_means(first[:, 0], second).error, rel=0.15)
    # A group of one replicate, and a resample without a finite value, leave the error unknown.
    assert math.isnan(bootstrap_groups(lambda a, b: a.mean() - b.mean(), first, second[:1]).error)
    assert math.isnan(bootstrap_groups(lambda a: math.inf if a.max() < 3.0 else 1.0, np.arange(4.0)).error)


def test_the_error_of_the_largest_knows_its_rivals():
    alone = largest([5.0, 1.0], [0.1, 0.1], ["a", "b"])
    tied = largest([5.0, 5.0], [0.1, 2.0], ["a", "b"])
    assert alone.error == pytest.approx(0.1, rel=0.1)
    assert tied.error > 0.5


def test_an_order_that_no_resample_changes_still_has_an_error():
    clear = rank_correlation({1: [1.0, 1.1, 1.2], 2: [5.0, 5.1, 5.2], 3: [9.0, 9.1, 9.2]})
    assert clear.value == 1.0
    assert 0.0 < clear.error < 0.1
    assert rank_correlation({1: [1.0, 1.0], 2: [1.0, 1.0]}).value == 0.0
    with pytest.raises(ValueError, match="needs at least one replicate"):
        rank_correlation({})


@pytest.mark.parametrize("n_values", [3, 4, 7])
def test_an_order_that_no_resample_changes_might_have_had_one_exchange_among_them(n_values):
    order = list(range(n_values))
    exchanged = stats.spearmanr(order, [1, 0, *order[2:]]).statistic
    spread = float(np.std([1.0] * 399 + [exchanged]))
    found = rank_correlation({i: [10.0 * i, 10.0 * i + 0.1, 10.0 * i + 0.2] for i in order})
    assert found.value == 1.0
    assert found.error == pytest.approx(spread * few_replicates(3), rel=0.01)


def test_a_distance_in_standard_errors_is_itself_uncertain_by_one():
    rng = np.random.default_rng(3)
    found = [distance_from_exact(rng.normal(0.0, 1.0, 5), 0.0) for _ in range(500)]
    assert {m.error for m in found} == {1.0}
    assert np.mean([m.value > 2.0 for m in found]) == pytest.approx(0.0455, abs=0.03)


def test_a_ratio_over_zero_is_not_measured():
    assert math.isnan(ratio(Measurement(1.0, 0.1), exact(0.0)).value)


def test_a_statistic_recorded_without_each_chain_has_the_error_of_the_jackknife():
    values = np.array([1.0, 4.0, 2.0, 7.0, 3.0])
    without = [float(np.std(np.delete(values, one))) for one in range(5)]
    expected = jackknife(lambda kept: float(np.std(values[kept])), 5, "why")
    assert left_out(float(np.std(values)), without, "why") == expected
    assert math.isnan(left_out(1.0, [1.0, 2.0]).error)


def test_the_smallest_value_is_that_of_the_largest_of_its_negatives():
    found = smallest([3.0, 1.0, 1.2], [0.1, 0.2, 0.3], ["left", "middle", "right"])
    expected = largest([-3.0, -1.0, -1.2], [0.1, 0.2, 0.3], ["left", "middle", "right"])
    assert found == expected._replace(value=1.0)


def test_the_smallest_proportion_is_unsure_by_its_trials_and_by_the_spread_of_chains():
    # All chains agree: what more trials would show is left.
    agreeing = smallest_proportion([1.0, 1.0, 1.0, 1.0], 50)
    assert agreeing.error == fraction_of_trials(1.0, 50).error
    # One chain of five that never moved might have been missed.
    assert smallest_proportion([0.0, 0.9, 0.9, 0.9, 0.9], 10_000).error > 0.3
    assert math.isnan(smallest_proportion([0.5], 100).error)


def test_a_root_mean_square_error_is_as_unsure_as_in_repeated_experiments():
    rng = np.random.default_rng(5)
    bias, spread, n = 1.0, 2.0, 20
    draws = rng.normal(bias, spread, (4000, n))
    means, sds = draws.mean(axis=1), draws.std(axis=1, ddof=1)
    found = [
        root_mean_square(Measurement(mean, sd / math.sqrt(n)), sd, n - 1)
        for mean, sd in zip(means, sds, strict=True)
    ]
    assert np.mean([one.error for one in found]) == pytest.approx(
        np.std([one.value for one in found]), rel=0.1
    )


def test_a_score_has_the_sign_of_its_distance_and_an_error_of_one():
    assert score(Measurement(0.5, 0.25, "why"), 1.0) == Measurement(-2.0, 1.0, "0.5 +- 0.25, exact 1; why")
    assert math.isnan(score(Measurement(0.5, 0.0), 1.0).value)
    assert math.isnan(score(Measurement(0.5, math.nan), 1.0).value)


def test_the_smallest_p_value_is_a_standard_normal_score_where_all_hypotheses_hold():
    rng = np.random.default_rng(4)
    scores = np.array([score_of_p_values(values).value for values in rng.uniform(size=(4000, 7))])
    assert scores.mean() == pytest.approx(0.0, abs=0.06)
    assert scores.std() == pytest.approx(1.0, abs=0.05)
    assert score_of_p_values([1e-3]).value == pytest.approx(3.09, abs=0.01)
    assert score_of_p_values([1.0, 1.0]).value < -4.0
    assert score_of_p_values([1e-300, 0.5]).value > 30.0


def test_a_mean_proportion_is_unsure_by_the_spread_of_chains_and_by_all_their_trials():
    assert mean_proportion([0.0, 0.0, 0.0, 0.0], 50).error == fraction_of_trials(0.0, 200).error
    # Failures of one chain alone: the others say less than their trials.
    apart = [0.2, 0.0, 0.0, 0.0]
    assert mean_proportion(apart, 1000) == mean_over_replicates(apart)
    assert math.isnan(mean_proportion([0.1], 100).error)


def test_the_error_of_a_spread_of_normal_numbers_is_the_known_one():
    found = spread_over_replicates(np.random.default_rng(4).normal(size=10_000))
    assert found.error == pytest.approx(1.0 / np.sqrt(2 * 10_000), rel=0.05)


# --- steps at which acceptance rates fall to a target -------------------------------------------------


def _rates(values):
    return xr.DataArray(values, dims=("step_size", "chain"), coords={"step_size": [0.4, 0.1, 0.2]})


def test_steps_need_no_order_and_agreeing_chains_leave_no_error():
    found = usable_step(_rates(np.array([[0.8] * 3, [1.0] * 3, [0.95] * 3])))
    # 0.9 lies a third of the way from 0.95 at 0.2 to 0.8 at 0.4.
    assert found.value == pytest.approx(0.2 + 0.2 / 3.0)
    assert found.error == pytest.approx(0.0, abs=1e-12)


def test_the_error_is_the_spread_of_the_step_over_repeated_experiments():
    rng = np.random.default_rng(1)
    found = [
        usable_step(_rates(np.array([[0.7], [0.99], [0.95]]) + rng.normal(0.0, [[0.03]], (3, 20))))
        for _ in range(300)
    ]
    spread = np.std([measured.value for measured in found])
    assert np.mean([measured.error for measured in found]) == pytest.approx(spread, rel=0.2)


@pytest.mark.parametrize("rates", [[0.8, 0.7, 0.6], [0.99, 0.98, 0.97]])
def test_where_no_step_tried_has_the_rate_nothing_is_said(rates):
    with pytest.raises(MissingData, match=r"does not cross 0\.9"):
        step_at_acceptance_rate(np.array([0.1, 0.2, 0.4]), np.array(rates))
