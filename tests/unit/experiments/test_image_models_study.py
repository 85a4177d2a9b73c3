"""Joint estimates add up, settings that contradict each other are rejected, and tables become claims and figures."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.special import logsumexp

from auxmc.driver.chains import RunContext
from auxmc.driver.units import Share, Units, read_pieces, write_piece
from auxmc.errors import DataError, UnitsMissing
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.measuring import Measurement
from auxmc_pipeline.settings import SettingsError
from auxmc_pipeline.tables import MissingData
from experiments.image_models import measure
from experiments.image_models.claims import passage, ratio_of_passages
from experiments.image_models.figures import unpacked
from experiments.image_models.joint_estimates import n_claimed, total_over_images
from experiments.image_models.run import run
from experiments.image_models.settings import Settings, check, data_files, ladders, method_settings

N_IMAGES, N_CHAINS, N_DRAWS = 3, 4, 7


def weights_file(path, side=3):
    rng = np.random.default_rng(0)
    shapes = {
        "decoder_W0": (2, 5), "decoder_W2": (5, 4), "decoder_W4": (4, side * side), "encoder_h_W0": (side * side, 6),
        "encoder_h_W2": (6, 3), "encoder_mean_W0": (3, 2), "encoder_std_W0": (3, 2),
    }  # fmt: skip
    arrays = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    arrays |= {name.replace("W", "b"): rng.normal(size=shape[1]) for name, shape in shapes.items()}
    np.savez(path / "weights.npz", **arrays)
    return str(path / "weights.npz")


# Of each image; part of the log weights.
LOG_ZETA = np.array([-10.0, -20.0, -30.0])


def chain_draws():
    rng = np.random.default_rng(1)
    shape = (N_IMAGES, N_CHAINS, N_DRAWS)
    return {
        "log_target_weight": rng.normal(size=shape).astype(np.float32) + LOG_ZETA[:, None, None],
        "log_base_weight": rng.normal(size=shape).astype(np.float32),
        "accepted": rng.uniform(size=shape) < 0.8,
        "n_not_finite": np.zeros(shape, np.int8),
    }


def annealed_draws(n_repetitions, seed=2, sign=1.0):
    rng = np.random.default_rng(seed)
    shape = (N_IMAGES, n_repetitions, 5)
    return {
        "log_weight": rng.normal(size=shape) + sign * LOG_ZETA[:, None, None],
        "acceptance": np.full(shape, 0.9),
        "n_not_finite": np.zeros(shape, int),
    }


def test_variances_of_images_add_up():
    estimates = np.array([[1.0, 3.0], [10.0, 10.0], [5.0, 8.0]])
    joint = measure.joint_of(estimates)
    assert joint.mean == pytest.approx(2.0 + 10.0 + 6.5)
    assert joint.sd == pytest.approx(math.sqrt(2.0 + 0.0 + 4.5))
    assert joint.error == pytest.approx(joint.sd / math.sqrt(2.0))
    assert math.isnan(measure.joint_of(estimates[:, :1]).error)


def test_estimates_pool_the_chains_of_a_repetition():
    draws = chain_draws()
    found = measure.chain_statistics(measure.chain_sums(draws), N_DRAWS, 2, 10, 3.0)
    target, base = draws["log_target_weight"].astype(float), draws["log_base_weight"].astype(float)
    second = sum(logsumexp(target[i, 2:].ravel()) - logsumexp(base[i, 2:].ravel()) for i in range(N_IMAGES))
    assert float(found["joint_log_evidence"][1]) == pytest.approx(second, abs=1e-9)
    assert float(found["n_gradients"]) == N_IMAGES * 2 * N_DRAWS * 10
    assert float(found["seconds"]) == 1.5
    # One chain of the whole length, and two sharing it.
    one = np.mean(
        [
            sum(logsumexp(target[i, c]) - logsumexp(base[i, c]) for i in range(N_IMAGES))
            for c in range(N_CHAINS)
        ]
    )
    assert float(found["layout_mean"].sel(n_sharing=1)) == pytest.approx(one, abs=1e-9)
    half = logsumexp(target[0, :2, :3].ravel()) - logsumexp(base[0, :2, :3].ravel())
    alone = {name: values[:1, :2] for name, values in draws.items()}
    twice = measure.chain_sums(
        {name: np.concatenate([values, values], axis=1) for name, values in alone.items()}
    )
    shared = measure.chain_statistics(twice, N_DRAWS, 2, 10, 3.0)
    assert float(shared["layout_mean"].sel(n_sharing=2)) == pytest.approx(half, abs=1e-9)


def test_the_last_running_estimate_is_the_final_one():
    draws = chain_draws()
    sums = measure.chain_sums(draws)
    final, running = (
        function(sums, N_DRAWS, 2, 10, 3.0) for function in (measure.chain_statistics, measure.chain_curves)
    )
    assert float(running["running_mean"][-1]) == pytest.approx(float(final["joint_mean"]), abs=1e-9)
    assert float(running["running_error"][-1]) == pytest.approx(float(final["joint_error"]), abs=1e-9)
    np.testing.assert_array_equal(running["running_draws"], np.arange(1, N_DRAWS + 1))
    assert float(running["running_gradients"][0]) == N_IMAGES * 2 * 10
    first = draws["log_target_weight"][:, :, 0].astype(float), draws["log_base_weight"][:, :, 0].astype(float)
    expected = np.mean(
        [
            sum(logsumexp(first[0][i, m]) - logsumexp(first[1][i, m]) for i in range(N_IMAGES))
            for m in (slice(0, 2), slice(2, 4))
        ]
    )
    assert float(running["running_mean"][0]) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n_draws", [6, 7500, 1003])
def test_sums_over_segments_keep_every_fraction_of_a_chain_and_every_running_estimate(n_draws):
    rng = np.random.default_rng(n_draws)
    weights = rng.normal(scale=3.0, size=(2, 3, n_draws))
    draws = {
        "log_target_weight": weights,
        "log_base_weight": -weights,
        "accepted": weights > 0.0,
        "n_not_finite": (weights > 9.0).astype(np.int8),
    }
    sums, ends = measure.chain_sums(draws), measure.segment_ends(n_draws)
    assert sums["log_target_weight"].shape == (2, 3, len(ends))
    assert len(ends) <= 100 + len(measure.LAYOUTS)
    assert {n_draws // count for count in measure.LAYOUTS if n_draws >= count} <= set(ends)
    assert set(measure.running_draws(n_draws)) <= set(ends)
    for used in {*measure.running_draws(n_draws)[::17], n_draws // 2, n_draws}:
        n_segments = int(np.searchsorted(ends, used)) + 1
        for name in ("log_target_weight", "log_base_weight"):
            np.testing.assert_allclose(
                logsumexp(sums[name][..., :n_segments], axis=-1),
                logsumexp(draws[name][..., :used], axis=-1),
                rtol=1e-12,
            )
    np.testing.assert_array_equal(sums["n_accepted"], (weights > 0.0).sum(axis=2))
    np.testing.assert_array_equal(sums["n_not_finite"], (weights > 9.0).sum(axis=2))


def test_annealed_runs_are_averaged_before_the_log():
    draws = annealed_draws(2)
    found = measure.annealed_statistics(draws, 50, 10, 4.0)
    expected = (logsumexp(draws["log_weight"], axis=2) - np.log(5)).sum(axis=0)
    np.testing.assert_allclose(found["ais_joint_log_evidence"], expected, rtol=1e-12)
    assert float(found["ais_n_gradients"]) == N_IMAGES * 5 * 49 * 10


def test_bounds_are_sums_over_images():
    forward, reverse = annealed_draws(1, 3), annealed_draws(1, 4, -1.0)
    found = measure.bound_statistics(forward, reverse, 1.0)
    back = reverse["log_weight"][:, 0]
    assert float(found["joint_upper"]) == pytest.approx(np.sum(np.log(5) - logsumexp(back, axis=1)))
    assert float(found["joint_upper_arithmetic"]) == pytest.approx(
        np.sum(logsumexp(-back, axis=1) - np.log(5))
    )
    assert float(found["joint_upper_arithmetic"]) > float(found["joint_upper"])


def test_rows_of_pixels_survive_packing():
    images = (np.random.default_rng(5).uniform(size=(4, 52 * 52)) < 0.5).astype(np.uint8)
    np.testing.assert_array_equal(unpacked(measure.packed_rows(images)), images)


def test_images_must_be_square(tmp_path):
    path = weights_file(tmp_path)
    assert data_files(Settings(weights=path)) == [path]
    arrays = dict(np.load(path))
    arrays |= {"decoder_W4": np.ones((4, 10)), "decoder_b4": np.ones(10), "encoder_h_W0": np.ones((10, 6))}
    np.savez(tmp_path / "oblong.npz", **arrays)
    with pytest.raises(DataError, match="the decoder has 10 outputs; images must be square"):
        check(Settings(weights=str(tmp_path / "oblong.npz")))


def test_published_numbers_belong_to_model_and_method():
    paper = load_study("image_models").settings(["preset=paper", "model=mnist"])
    assert method_settings(paper, "ct_hmc") == (0.15, 7500, 64.0)
    assert method_settings(paper, "bidirectional") == (0.08, 0, 0.0)
    own = dataclasses.replace(paper, step_size=0.5, control_mass=2.0, length=0.0, n_draws=70)
    assert method_settings(own, "ct_hmc") == (0.5, 70, 2.0)
    assert ladders(dataclasses.replace(paper, batch={"n_temperatures": [200, 50]})) == [50, 200]


@pytest.mark.parametrize(
    ("cost", "unit", "known", "words"),
    [
        ((6.0, True), (2.0, True), True, ""),
        ((6.0, False), (1.0, True), True, "x did not come near within its run: the ratio is at least this"),
        ((6.0, False), (3.0, True), False, "x did not come near within its run: the ratio is at least this"),
        ((1.0, True), (6.0, False), True, "y did not come near within its run: the ratio is at most this"),
        ((6.0, True), (3.0, False), False, "y did not come near within its run: the ratio is at most this"),
    ],
)
def test_a_bound_of_a_ratio_decides_only_what_lies_beyond_it(cost, unit, known, words):
    above, below = ((Measurement(value, 0.1), reached) for value, reached in (cost, unit))
    found = ratio_of_passages(above, below, ("x", "y"), 0.33, 3.0)
    assert (found.value, math.isfinite(found.error), found.note) == (cost[0] / unit[0], known, words)
    # With a band that has no upper end, a ratio that is at least its lower end is within it.
    open_ended = ratio_of_passages(above, (below[0], True), ("x", "y"), 1.0)
    assert math.isfinite(open_ended.error) is (cost[1] or cost[0] > unit[0])


def test_a_ratio_of_two_runs_that_were_too_short_is_not_measured():
    short = (Measurement(1.0, 0.1), False)
    with pytest.raises(MissingData, match="neither x nor y came near the lower bound within its run"):
        ratio_of_passages(short, short, ("x", "y"), 1.0)


@pytest.mark.parametrize("n_images", [20, 150])
def test_the_error_of_a_total_covers_the_choice_of_images_and_the_noise(n_images):
    rng, n_all = np.random.default_rng(11), 200
    errors, reported = [], []
    for _ in range(2000):
        truth, noise = rng.exponential(2.0, n_all), rng.uniform(0.5, 1.5, n_all)
        seen = truth + noise * rng.normal(size=n_all)
        found = total_over_images(seen[:n_images], noise[:n_images] ** 2, n_all)
        errors.append(found.value - truth.sum())
        reported.append(found.error**2)
    # The standard deviation of 2000 squares is 3 per cent of their mean: six of them.
    assert np.mean(np.square(errors)) == pytest.approx(np.mean(reported), rel=0.2)
    assert found.note == f"{n_images} of 200 images"


def test_all_images_leave_the_noise_alone():
    found = total_over_images(np.array([5.0, -5.0]), np.array([3.0, 1.0]), 2)
    assert (found.value, found.error, found.note) == (0.0, 2.0, "")


def test_claims_about_our_models_are_about_the_images_of_the_run():
    assert [n_claimed(model, 130) for model in ("mnist", "own_digits")] == [1000, 130]


def test_a_passage_is_known_to_a_point_and_to_the_errors_of_the_curve():
    costs, means = np.arange(1.0, 7.0), np.array([-9.0, -5.0, -3.0, -1.0, 0.0, 0.0])
    found, reached = passage(costs, means, np.full(6, 1e-6), -2.0)
    assert (found.value, found.error, reached) == (4.0, 1.0, True)
    # Shifted by three, the curve passes at its second point or never.
    unsure, _ = passage(costs, means, np.full(6, 3.0), -2.0)
    assert unsure.error == pytest.approx(0.5 * (6.0 - 2.0))
    assert passage(costs, means - 9.0, np.full(6, 1e-6), -2.0)[1] is False


def test_published_weights_that_cannot_be_had_stop_the_case(tmp_path, monkeypatch):
    monkeypatch.setenv("AUXMC_DATA_DIR", str(tmp_path))
    context = RunContext("image_models", 1, tmp_path / "checkpoints", "x", "test")
    with pytest.raises(
        SettingsError, match=r"omni-iwae/decoder_params.npz: cannot be read .* or use model=own_digits"
    ):
        run(Settings(model="omniglot"), context)


@pytest.mark.slow
def test_a_case_of_ones_own_weights_gives_finite_estimates(tmp_path):
    settings = Settings(
        weights=weights_file(tmp_path), n_images=3, n_generated=5, n_repetitions=2, n_chains=2, n_draws=12, n_runs=4,
        st_temperatures=10, bound_temperatures=40, n_steps=3, precision="float64",
        batch={"method": ["bidirectional", "st", "ct_hmc"]},
    )  # fmt: skip
    context = RunContext("image_models", settings.seed, tmp_path / "checkpoints", "x", "test")
    result = run(settings, context)
    statistics = result["statistics"]
    assert all(np.isfinite(statistics[name]).all() for name in statistics.data_vars)
    assert list(statistics["method"].values) == ["st", "ct_hmc"]
    assert list(statistics["run"].values) == ["forward", "reverse", "st", "ct_hmc"]
    assert int(statistics["n_not_finite"].sum()) == 0
    np.testing.assert_allclose(statistics["image_mean"].sum("image"), statistics["joint_mean"], rtol=1e-12)
    np.testing.assert_allclose(statistics["image_lower"].sum("image"), statistics["joint_lower"], rtol=1e-12)
    # Probabilities of three images of nine pixels, none of them next to impossible.
    assert -100.0 < float(statistics["joint_lower"]) < 0.0
    assert result["curves"]["image_rows"].shape == (5, 3)


@pytest.mark.slow
@pytest.mark.parametrize("n_pieces", [3, 5])
def test_pieces_of_a_case_make_the_same_arrays(tmp_path, n_pieces):
    settings = Settings(
        weights=weights_file(tmp_path), n_images=5, n_generated=6, n_repetitions=2, n_chains=2, n_draws=10, n_runs=2,
        annealed_repetitions=2, st_temperatures=10, bound_temperatures=8, n_steps=2, lanes_per_unit=4,
        precision="float64",
        batch={"method": ["ais", "bidirectional", "gibbs_ct"], "n_temperatures": [5, 7]},
    )  # fmt: skip

    def context(name, units):
        return RunContext("image_models", settings.seed, tmp_path / name, "x", "test", units)

    whole = run(settings, context("whole", Units()))
    files = []
    for piece in range(n_pieces):
        about = context(f"piece-{piece}", Units(Share(piece, n_pieces)))
        with pytest.raises(UnitsMissing):
            run(settings, about)
        assert about.units.made
        files.append(tmp_path / f"{piece}.npz")
        write_piece(files[-1], about.units, "x", {})
    merged = run(settings, context("merged", Units(given=read_pieces(files, "x")[0])))
    for group in ("statistics", "curves"):
        for name, values in whole[group].items():
            # Seconds of the pieces are those of other runs.
            if "second" not in str(name):
                np.testing.assert_array_equal(merged[group][name], values, err_msg=str(name))
