"""The streaming evidence study: its streams, runs of a few hundred rows, claims on known curves."""

import dataclasses
import math
from types import SimpleNamespace

import jax
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from auxmc.driver.row_chunks import ChunkSizes
from auxmc.driver.streams import run_stream
from auxmc.kernels.streams import contract
from auxmc.kernels.streams.published_estimators import particle_evidence
from auxmc.models.regression.linear_regression import linear_regression
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.chains import RunContext
from auxmc_pipeline.tables import Tables
from experiments.streaming_evidence import claims_settings, designs, stream_runs
from experiments.streaming_evidence.bounds import run_bounds
from experiments.streaming_evidence.drive import run_repeats
from experiments.streaming_evidence.estimators import particle_extras, stream_settings
from experiments.streaming_evidence.model import BLOCK_ROWS, NON_STATIONARY_PHASES, blocks, rows
from experiments.streaming_evidence.problem import CUTS, chunk_ends, ends_of, exact_linear, shown_ends
from experiments.streaming_evidence.run import run
from experiments.streaming_evidence.settings import METHODS, MOVES, points

STUDY = load_study("streaming_evidence")
TINY = ["preset=smoke", "n_repeats=2", "n_moves=3", "batch_size=60", "n_particles=4"]


def _context(folder):
    return RunContext("streaming_evidence", 1, folder, "identity", "tiny")


def _settings(*overrides, **changes):
    return dataclasses.replace(STUDY.settings([*TINY, *overrides]), **changes)


def test_the_paper_preset_has_the_sweeps_of_the_claims():
    cases = {case.name: case.settings for case in STUDY.cases("paper")}
    assert min(settings.n_repeats for settings in cases.values()) == 5
    swept = {variation for sweep in stream_runs.SWEEPS.values() for variation in sweep.values()} - {"default"}
    assert swept <= {*cases["sensitivity"].variations, *cases["fixed_target"].variations}
    assert METHODS["annealed"].resampling == "none"


def test_variations_and_batches_become_points():
    variations = ["learning_rate=1 rate_times_moves=2", "n_moves=7 moves=nose_hoover"]
    found = points(_settings(variations=variations, batch={"n_particles": [5, 6]}))
    assert [(p.settings.n_particles, p.settings.n_moves) for p in found] == [(5, 2), (5, 7), (6, 2), (6, 7)]
    assert stream_settings(found[1].settings).dynamics == "nose_hoover"
    assert found[0].settings.learning_rate == 1.0
    assert MOVES == contract.DYNAMICS
    assert found[0].axes == {"n_particles": 5, "variation": "learning_rate=1 rate_times_moves=2"}


def test_sequential_chunks_grow_with_an_end_at_a_hundred_rows():
    ends = ends_of(STUDY.settings(["preset=smoke", "method=sequential", "n_rows=20000"]))
    sizes = np.diff([0, *ends])
    assert sizes[:6].tolist() == [20, 40, 40, 60, 80, 100]
    assert ends[2] == 100
    assert set(CUTS) & set(range(20_000)) <= set(ends)
    assert ends[-1] == 20_000
    assert max(sizes) == 500
    growing = ends_of(STUDY.settings(["preset=smoke", "method=sequential", "schedule=growing"]))
    assert growing[:4] == [20, 60, 120, 200]


def test_chunk_ends_cover_every_row_once():
    ends = chunk_ends(1234, 100, (30, 60), (500, 1000))
    assert ends[:3] == [30, 90, 190]
    assert {500, 1000, 1234} <= set(ends)
    assert np.all(np.diff([0, *ends]) > 0)
    assert max(np.diff([0, *ends])) == 100


def test_shown_chunks_hold_the_cuts_and_both_ends():
    ends = chunk_ends(1_000_000, 500)
    shown = np.asarray(ends)[shown_ends(ends)]
    assert set(CUTS) <= set(shown.tolist())
    assert shown[0] == 500
    assert len(shown) < 200


def test_exact_evidence_is_that_of_a_joint_normal_distribution():
    data = rows("linear", 9)
    design = np.column_stack([data[:, :-1], np.ones(9)])
    covariance = np.eye(9) + design @ design.T
    expected = [stats.multivariate_normal(cov=covariance[:n, :n]).logpdf(data[:n, -1]) for n in (4, 9)]
    np.testing.assert_allclose(exact_linear(data, [4, 9]), expected, rtol=1e-11)


def test_additional_inputs_are_worth_what_they_should_be():
    plain = rows("linear", 50_000)
    extra = np.random.default_rng(3).standard_normal(len(plain))
    factors = []
    for name in designs.INPUTS:
        data = designs.with_input(plain, extra, name)
        np.testing.assert_array_equal(data[:, 1:-1], plain[:, :-1])
        factors.append(exact_linear(data, [len(data)])[0] - exact_linear(data[:, 1:], [len(data)])[0])
    # The weak input is worth 5 nats give or take the noise of a coefficient, 4.6 nats; the other at most its chance.
    assert factors[0] < 10.0
    assert factors[1] - factors[0] > 0.0


@pytest.mark.slow
def test_repeats_give_the_record_of_a_stream_that_is_read_once(tmp_path):
    data = rows("linear", 230)
    small = contract.StreamSettings(n_particles=4, n_moves=2, batch_size=20, target_size=2.0)
    estimator = particle_evidence(linear_regression(5), small)
    key, sizes = jax.random.key(7), {"chunk_sizes": ChunkSizes((), 50), "capacity": 230}
    once = run_stream(estimator, lambda skip, checksum: iter([data[skip:]]), key, 6, **sizes)
    ends, context = chunk_ends(230, 50, cuts=()), _context(tmp_path)
    arguments = (estimator, [data, data], ends, [key, jax.random.key(8)], context, "test")
    found = run_repeats(*arguments, extras=particle_extras)
    np.testing.assert_allclose(found.record["log_evidence"][0], once.record["log_evidence"], rtol=1e-12)
    assert found.record["n_rows"][0].tolist() == ends
    assert not np.allclose(found.record["log_evidence"][1], found.record["log_evidence"][0])
    assert np.all(np.diff(found.record["seconds"], axis=1) >= 0.0)
    again = run_repeats(*arguments, extras=particle_extras)
    assert context.n_resumed == 2 * len(ends)
    np.testing.assert_array_equal(again.record["log_evidence"], found.record["log_evidence"])
    np.testing.assert_array_equal(again.last.particles, found.last.particles)
    spread = found.last.particles.astype(float).var(axis=1, ddof=1).mean(axis=1) * 230
    np.testing.assert_allclose(found.record["variance_ratio"][:, -1], spread, rtol=1e-5)


@pytest.mark.slow
def test_cases_report_what_they_did(tmp_path):
    settings = _settings("n_rows=300", "n_hybrid_runs=1", batch={"method": ["annealed", "sequential"]})
    result = run(settings, _context(tmp_path))
    statistics, curves = result["statistics"], result["curves"]
    for name in ("n_not_finite", "n_failures", "final_error", "operations_total", "seconds_total"):
        assert statistics[name].sel({"method": "sequential"}).notnull().all()
    sequential = curves.sel({"method": "sequential"})
    difference = sequential["log_evidence"] - sequential["exact"] - sequential["error"]
    assert float(np.abs(difference).max()) < 1e-9
    # A chunk of n rows costs 4 particles their likelihoods and, 3 times, gradients of as many rows and a batch.
    first = 4 * 20 * (1 + 3)
    assert float(sequential["operations"].sel(absorbed=20)[0]) == first
    assert float(sequential["operations"].sel(absorbed=60)[0]) == first + 4 * (40 + 3 * (40 + 60))
    # The hybrid estimate differs by a constant and begins at a hundred rows.
    hybrid = sequential.sel(repeat=0)
    shift = (hybrid["log_evidence_hybrid"] - hybrid["log_evidence"]).dropna("absorbed")
    assert int(shift["absorbed"][0]) == 100
    assert float(np.ptp(shift.values)) < 1e-9
    assert abs(float(hybrid["error_hybrid"].sel(absorbed=100))) < 10.0


def test_there_are_fewer_runs_with_many_rows(tmp_path):
    words = "design=full_data", "sizes=[100,200]", "annealed_rows=200", "few_runs_above=100", "n_repeats=3"
    few = run(_settings(*words, "n_few_runs=2"), _context(tmp_path / "few"))["statistics"]
    found = run(_settings(*words, "n_few_runs=9"), _context(tmp_path / "all"))["statistics"]
    for name in ("nested_log_evidence", "annealed_log_evidence"):
        assert found[name].notnull().all()
        assert few[name].notnull().values.tolist() == [[True] * 3, [True, True, False]]
        assert np.array_equal(few[name].values[:, :2], found[name].values[:, :2])


@pytest.mark.slow
def test_estimators_with_all_rows_are_off_by_what_they_say(tmp_path):
    settings = _settings("design=full_data", "sizes=[100,200]", "annealed_rows=100", n_repeats=20)
    found = run(settings, _context(tmp_path))["statistics"]
    errors = found["nested_log_evidence"] - found["exact"]
    stated = found["nested_standard_error"].mean("repeat")
    # The points still alive are left out, which leaves the published estimate low.
    assert np.all((errors.mean("repeat") > -2.0 * stated) & (errors.mean("repeat") < stated))
    assert np.all(np.abs(np.log(errors.std("repeat", ddof=1) / stated)) < np.log(1.6))
    low = (found["annealed_log_evidence"] - found["exact"]).sel(size=100)
    # Weights average to the evidence, so that one of exp(5) times as much is rare; few moves leave them low.
    assert -15.0 < float(low.mean()) < 0.0
    assert float(low.max()) < 5.0


def test_rules_that_end_nested_sampling():
    values = -0.5 * np.arange(30.0)[::-1] ** 2
    assert designs.additive_stop(values, 1) == 30
    flat = np.concatenate([values, np.zeros(40)])
    place = designs.additive_stop(flat, 1)
    terms = flat - np.arange(1, 71)
    assert terms[place - 1] < np.logaddexp.reduce(terms[:place]) + math.log(0.01)
    assert not np.any(terms[1 : place - 1] < np.logaddexp.accumulate(terms)[1 : place - 1] + math.log(0.01))


@pytest.mark.slow
def test_small_designs_run(tmp_path, monkeypatch):
    monkeypatch.setattr(designs, "PAIR_METHODS", ("annealed",))
    pair = designs.run_nested_pair(_settings("design=nested_pair", "n_rows=200"), _context(tmp_path / "a"))
    assert np.all(np.isfinite(pair["statistics"]["factor"]))
    monkeypatch.setattr(designs, "STARTS", ("at_once",))
    where = ["design=starts", "stream=mixture_separated", "n_rows=200", "n_start_moves=5"]
    began = designs.run_starts(_settings(*where), _context(tmp_path / "b"))["statistics"]
    assert began["near_best"].max() > 0.0
    assert began["log_likelihood_per_row"].shape == (1, 2, 4)


@pytest.mark.slow
def test_bounds_hold_the_exact_evidence_between_them(tmp_path):
    few = _settings("design=bounds", "sizes=[100,1000]", "n_temperatures=20", "n_particles=8", n_repeats=20)
    found = run_bounds(few, _context(tmp_path))["statistics"]
    low, high = (found[f"{end}_bound"].mean("repeat") - found["exact"] for end in ("lower", "upper"))
    assert np.all((low < 0.0) & (low > -5.0))
    assert np.all((high > 0.0) & (high < 5.0))
    assert int(found["n_not_finite"].sum()) == 0


def test_the_additive_rule_ends_early(tmp_path, monkeypatch):
    monkeypatch.setattr(designs, "LIVE_POINTS", (50,))
    found = designs.run_stopping(_settings("design=stopping", n_repeats=1), _context(tmp_path))["statistics"]
    # Both sums are of the same points, one of fewer of them.
    assert float(found["additive_error"].item()) < float(found["remaining_error"].item()) < 30.0
    assert int(found["n_failures"]) == 0


def test_steps_of_chunks_are_means_over_the_chunks_since_the_number_of_rows_before():
    curves = {"n_steps_so_far": [[8.0, 10.0, 14.0], [9.0, 11.0, 19.0]], "n_chunks_so_far": [[1.0, 2.0, 4.0]]}
    runs = SimpleNamespace(curve=lambda name: pd.DataFrame(curves[name], columns=[500, 1000, 2000]))
    np.testing.assert_allclose(stream_runs.steps_of_chunks(runs), [[8.0, 2.0, 2.0], [9.0, 2.0, 4.0]])


@pytest.mark.parametrize(("first", "expected"), [(1500, 1.0), (2000, 0.0)])
def test_a_change_is_found_in_the_chunk_after_it_alone(monkeypatch, first, expected):
    """Scores in order are the same but in the chunk after 1000 rows, or one too late, and in that after 10 000."""
    ends = np.arange(500, 60_001, 500)
    scores = {"non_stationary": -3.0 - 1.0 * (ends == first) - 0.9 * (ends == 10_500), "shuffled": 0.0 * ends}
    table = lambda stream: pd.DataFrame([scores[stream]] * 2, columns=ends)
    monkeypatch.setattr(claims_settings, "following_redrawn", lambda tables, n_components, stream: stream)
    monkeypatch.setattr(claims_settings, "row_scores", table)
    found = [claims_settings.cusps_at_changes(Tables({}), threshold).value for threshold in (None, 0.2)]
    assert found == [expected] * 2


# Sums computed once by an independent program from the same recipe: first column of 100 000 rows, last of 1000.
@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("linear", 405.1720149, 1440.591157),
        ("softmax", -166.8680284, 1650.0),
        ("softmax_sharp", 46.02623577, 1692.0),
        ("mixture", 4574.87882, 127.4284238),
        ("mixture_separated", 11884.72386, 202.5404963),
        ("mixture_intermediate", 14981.8101, 84.90356344),
        ("non_stationary", 9731.217036, -108.6371786),
    ],
)
def test_rows_have_the_known_sums(name, first, last):
    drawn = rows(name, 100_000)
    assert drawn.dtype == np.float64
    assert drawn[:, 0].sum() == pytest.approx(first, rel=1e-9)
    assert drawn[:1000, -1].sum() == pytest.approx(last, rel=1e-9)


def test_a_prefix_does_not_depend_on_how_many_rows_follow():
    short, long = rows("mixture", 1000), rows("mixture", BLOCK_ROWS + 10)
    np.testing.assert_array_equal(short, long[:1000])
    sizes = [len(block) for block in blocks("mixture", BLOCK_ROWS + 10)]
    assert sizes == [BLOCK_ROWS, 10]


def test_shuffled_rows_are_the_same_rows_in_another_order():
    total = sum(n for n, _ in NON_STATIONARY_PHASES)
    plain, shuffled = rows("non_stationary", total), rows("shuffled", total)
    assert not np.array_equal(plain, shuffled)
    np.testing.assert_array_equal(np.sort(plain[:, 0]), np.sort(shuffled[:, 0]))


def test_rows_that_are_not_there_are_rejected():
    with pytest.raises(ValueError, match="stream normal has 100 rows, 101 were asked for"):
        rows("normal", 101)
    with pytest.raises(ValueError, match="unknown stream 'linea': expected one of linear, softmax"):
        rows("linea", 5)
    with pytest.raises(ValueError, match="n_rows must be at least 1, got 0"):
        rows("linear", 0)


def test_streams_that_change_are_drawn_again_for_other_data_sets():
    first, second = (rows("non_stationary", 3000, data_set=n) for n in (1, 2))
    assert not np.isin(first, rows("non_stationary", 3000)).any()
    assert not np.isin(first, second).any()
    shuffled = rows("shuffled", 100_000, data_set=1)
    whole = rows("non_stationary", 100_000, data_set=1)
    np.testing.assert_array_equal(whole[:3000], first)
    np.testing.assert_array_equal(np.sort(shuffled, axis=0), np.sort(whole, axis=0))
    with pytest.raises(ValueError, match="to draw again"):
        rows("linear", 10, data_set=1)
