"""The streaming evidence study: its streams, runs of a few hundred rows, claims on known curves."""

import dataclasses
import math

import jax
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from auxmc.driver.chains import RunContext
from auxmc.driver.row_chunks import ChunkSizes
from auxmc.driver.streams import run_stream
from auxmc.kernels.streams import contract
from auxmc.kernels.streams.published_estimators import particle_evidence
from auxmc.models.regression.linear_regression import linear_regression
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.measuring import standard_error
from auxmc_pipeline.tables import Tables
from experiments.streaming_evidence import designs, stream_runs
from experiments.streaming_evidence.bounds import run_bounds
from experiments.streaming_evidence.claims_evidence import Work, full_work, ratio_of_work
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
    assert swept <= set(cases["sensitivity"].variations)
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


def test_other_moves_are_compared_with_sghmc_of_the_same_rate_run_by_run():
    """Errors are a half and an eighth of those of the same runs of SGHMC: a quarter in the geometric mean."""
    runs = [
        ([-8.0, -4.0], "thermostat__stream-linear", "moves=nose_hoover learning_rate=1"),
        ([-16.0, -32.0], "floor", "learning_rate=1"),
    ]
    parts = [_curves({1000: errors}, case, "error", variation=name) for errors, case, name in runs]
    tables = _tables(pd.concat(parts))
    tables = Tables({**tables, "settings": tables["settings"].assign(stream="linear")})
    found = STUDY.numbers()["SGNHT, linear, 1"](tables)
    assert found.value == pytest.approx(0.25)
    assert found.note == "6 against 24 nats"


def test_the_additive_rule_ends_early(tmp_path, monkeypatch):
    monkeypatch.setattr(designs, "LIVE_POINTS", (50,))
    found = designs.run_stopping(_settings("design=stopping", n_repeats=1), _context(tmp_path))["statistics"]
    # Both sums are of the same points, one of fewer of them.
    assert float(found["additive_error"].item()) < float(found["remaining_error"].item()) < 30.0
    assert int(found["n_failures"]) == 0


def _tables(curves, **others):
    """Curves of runs [repeat, absorbed], with the table that says where each quantity stands."""
    tables = {"repeat_absorbed": curves, **others}
    keys = {"case", "method", "stream", "repeat", "absorbed", "size"}
    about = [(quantity, name) for name, table in tables.items() for quantity in table if quantity not in keys]
    tables["settings"] = curves.assign(stream=curves["case"], n_rows=curves["absorbed"].max())
    return Tables({**tables, "quantity": pd.DataFrame(about, columns=["quantity", "table"])})


def _curves(by_rows, case, quantity="log_evidence", **about):
    """A quantity by rows, one value a run."""
    rows = [(case, n, run, value) for n, values in by_rows.items() for run, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["case", "absorbed", "repeat", quantity]).assign(**about)


def test_curves_become_slopes_steps_and_errors():
    by_rows = {500: [-1.0, -2.0], 1000: [-2.0, -2.5], 2000: [-4.0, -4.5]}
    errors = _curves(by_rows, "linear", "error", method="annealed")
    steps = _curves({500: [8.0, 9.0], 1000: [10.0, 11.0], 2000: [14.0, 19.0]}, "linear", "n_steps_so_far")
    chunks = _curves({500: [1.0], 1000: [2.0], 2000: [4.0]}, "linear", "n_chunks_so_far", method="annealed")
    tables = _tables(errors.merge(steps), absorbed=chunks.drop(columns="repeat"))
    found = stream_runs.errors_of(stream_runs.published(tables, "linear"))
    np.testing.assert_allclose(stream_runs.slope_per_row(found, 1000, 2000), [-0.002, -0.002])
    np.testing.assert_allclose(stream_runs.values_at(found, 500), [-1.0, -2.0])
    of_chunks = stream_runs.steps_of_chunks(stream_runs.published(tables, "linear")).to_numpy()
    np.testing.assert_allclose(of_chunks, [[8.0, 2.0, 2.0], [9.0, 2.0, 4.0]])


def test_runs_with_all_rows_have_their_known_measures():
    # Three runs with 100 and 1000 rows, two of them with 10 000 too; annealed sampling has none with 10 000.
    seconds = {100: [1.0, 2.0, 3.0], 1000: [2.0, 3.0, 4.0], 10_000: [5.0, 6.0, math.nan]}
    all_rows = _curves(seconds, "linear_full", "nested_seconds").rename(columns={"absorbed": "size"})
    all_rows["annealed_seconds"] = all_rows["nested_seconds"].where(all_rows["size"] < 10_000)
    one_run = _curves({1000: [0.5, 1.5], 10_000: [2.0, 3.0]}, "linear", "seconds", method="annealed")
    tables = _tables(one_run, size_repeat=all_rows)
    measures = STUDY.measures()["SE-60"]
    assert measures["nested sampling, time"](tables).value == pytest.approx((2.0 + 3.0 + 5.5) / 2.5)
    assert measures["AIS, time"](tables).value == pytest.approx(2.0 + 3.0)
    # Runs are compared with nested sampling by their median distance.
    own = _curves({1_000_000: [-5e5] * 5}, "softmax", method="sequential")
    rivals = _curves({1_000_000: -5e5 + 100.0 * np.arange(1, 12)}, "softmax_full", "nested_log_evidence")
    tables = _tables(own, size_repeat=rivals.rename(columns={"absorbed": "size"}))
    found = STUDY.measures()["SE-36"]["from nested sampling, per row"](tables)
    assert found.value == pytest.approx(6e-4)
    assert 0.5e-4 < found.error < 3e-4


def test_a_ratio_of_operations_holds_what_a_gradient_may_cost():
    ones = np.array([0.99, 1.0, 1.01])
    above, below = Work(8.0 * ones, ones), Work(1.0 + 0.0 * ones, 3.0 + 0.0 * ones)
    found = ratio_of_work(above, below)
    # 9 / 4 with a gradient as one likelihood, 11 / 10 with it as three.
    assert found.value == pytest.approx((2.25 + 1.1) / 2.0)
    own = standard_error(above.at(1.0) / 4.0)
    assert 2.0 * found.error == pytest.approx((2.25 - 1.1) / 2.0 + 2.0 * own)


def test_operations_of_nested_sampling_come_apart_into_likelihoods_and_gradients():
    """Two live points and three dead ones by 20 moves each, of which 7 meet the contour."""
    evaluated = 2 + 60 + 2 * 7
    runs = [("linear_full", 1000, run, 1000.0 * evaluated, 3.0) for run in (0, 1)]
    names = ["case", "size", "repeat", "nested_likelihood_rows", "nested_iterations"]
    tables = _tables(_curves({1000: [1.0]}, "linear"), size_repeat=pd.DataFrame(runs, columns=names))
    work = full_work(tables, "linear", "nested", 1000)
    assert work.gradients.tolist() == [7000.0, 7000.0]
    assert work.at(1.0).tolist() == [1000.0 * evaluated] * 2


def _changing(scores):
    """Two runs of each of three models with given scores of a row in chunks of 500 rows, and of -3 where shuffled."""
    parts = []
    for stream, of_rows in {"non_stationary": scores, "shuffled": np.full_like(scores, -3.0)}.items():
        totals = np.cumsum(500 * of_rows)
        by_rows = {500.0 * (i + 1): [total, total + 1.0] for i, total in enumerate(totals)}
        parts += [_curves(by_rows, f"change__n_components-{k}", stream=stream) for k in (3, 5, 7)]
    return _tables(pd.concat(parts))


def test_a_change_is_found_in_the_chunk_after_it_alone():
    """Scores of -3 for each row but for two chunks, after 1000 and 10 000 rows; then a chunk too late."""
    ends = np.arange(500, 60_001, 500)
    tables = _changing(np.where(ends == 1500, -4.0, -3.0) + np.where(ends == 10_500, -0.9, 0.0))
    drops, (seen, blind) = STUDY.measures()["SE-70"], STUDY.measures()["SE-72"].values()
    alarms = STUDY.numbers()["false alarms in 100000 rows"]
    assert drops["K = 5, at 1000"](tables).value == pytest.approx(1.0)
    assert drops["K = 7, at 10000"](tables).value == pytest.approx(0.9)
    assert (seen(tables).value, blind(tables).value) == (1.0, 1.0)
    assert alarms(tables).value == 0.0
    assert alarms(tables).error > 0.0
    late = _changing(np.where(ends == 2000, -4.0, -3.0))
    assert (seen(late).value, blind(late).value) == (0.0, 0.0)
    assert alarms(late).value == pytest.approx(6 / 3.6)


@pytest.mark.parametrize(("own", "expected"), [(-20.0, 10.0), (-8.0, -2.0), (-35.0, -5.0)])
def test_an_estimator_is_inside_the_band_of_its_rivals_by_its_distance_from_the_nearer_edge(own, expected):
    sizes = (500, 1000, 5000)
    curves = _curves({n: [own - 0.1, own + 0.1] for n in sizes}, "linear", method="annealed")
    values = [
        ("linear_full", n, run, -10.0 + d, -30.0 + d) for n in sizes for run, d in enumerate((-0.1, 0.1))
    ]
    names = ["case", "size", "repeat", "nested_log_evidence", "annealed_log_evidence"]
    rivals = pd.DataFrame(values, columns=names)
    found = STUDY.measures()["SE-58"]["linear, inside"](_tables(curves, size_repeat=rivals))
    assert found.value == pytest.approx(expected)
    assert found.error > 0.0


def test_single_runs_tell_models_apart_where_the_gap_exceeds_both_differences_of_order():
    """Shuffled, runs of 3 components are at 0 nats a row and of 5 at 2; in order at 0 and 2.5, and at 0.5 or 5."""
    runs = {3: ([0.0, 2.5], [0.0, 0.0]), 5: ([0.5, 5.0], [2.0, 2.0])}
    parts = [
        _curves({100_000: 1e5 * np.array(values)}, f"change__n_components-{k}", stream=stream)
        for k, both in runs.items()
        for stream, values in zip(("non_stationary", "shuffled"), both, strict=True)
    ]
    found = STUDY.measures()["SE-75"]["3 and 5"](_tables(pd.concat(parts)))
    assert found.value == pytest.approx(0.25)
    assert found.error > 0.0


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
