"""Image models: joint estimates add up; decoders, weights, images and glyphs against what they should be."""

import dataclasses
import hashlib
import itertools
import math
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.ndimage import label
from scipy.special import expit, logsumexp

from auxmc.errors import DataError
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.chains import RunContext
from auxmc_pipeline.measuring import Measurement
from auxmc_pipeline.settings import SettingsError
from auxmc_pipeline.tables import MissingData
from experiments.image_models import measure
from experiments.image_models.claims import passage, ratio_of_passages
from experiments.image_models.figures import unpacked
from experiments.image_models.joint_estimates import total_over_images
from experiments.image_models.model import autoencoder, autoencoder_weights
from experiments.image_models.model.autoencoder_weights import read_autoencoder
from experiments.image_models.model.digits import read_digits
from experiments.image_models.model.generated_images import encoder_bases, generate_images
from experiments.image_models.model.glyphs import BLOCKS, draw_glyphs, make_skeletons, thin
from experiments.image_models.problem import published_facts
from experiments.image_models.run import run
from experiments.image_models.settings import Settings, check, data_files, ladders, method_settings

N_IMAGES, N_CHAINS, N_DRAWS = 3, 4, 7
SHAPES = {
    "decoder_W0": (2, 5), "decoder_b0": (5,), "decoder_W2": (5, 4), "decoder_b2": (4,),
    "decoder_W4": (4, 9), "decoder_b4": (9,), "encoder_h_W0": (9, 6), "encoder_h_b0": (6,),
    "encoder_h_W2": (6, 3), "encoder_h_b2": (3,), "encoder_mean_W0": (3, 2), "encoder_mean_b0": (2,),
    "encoder_std_W0": (3, 2), "encoder_std_b0": (2,),
}  # fmt: skip


RNG = np.random.default_rng(0)
ARRAYS = {name: RNG.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}


def saved(path, **changes):
    content = {name: array for name, array in (ARRAYS | changes).items() if array is not None}
    np.savez(path / "weights.npz", **content)
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
    second = logsumexp(target[:, 2:], axis=(1, 2)) - logsumexp(base[:, 2:], axis=(1, 2))
    assert float(found["joint_log_evidence"][1]) == pytest.approx(second.sum(), abs=1e-9)
    assert float(found["n_gradients"]) == N_IMAGES * 2 * N_DRAWS * 10
    assert float(found["seconds"]) == 1.5
    # One chain of the whole length, and two sharing it.
    one = (logsumexp(target, axis=2) - logsumexp(base, axis=2)).sum(axis=0).mean()
    assert float(found["layout_mean"].sel(n_sharing=1)) == pytest.approx(one, abs=1e-9)
    half = logsumexp(target[0, :2, :3].ravel()) - logsumexp(base[0, :2, :3].ravel())
    twice = {name: np.tile(values[:1, :2], (1, 2, 1)) for name, values in draws.items()}
    shared = measure.chain_statistics(measure.chain_sums(twice), N_DRAWS, 2, 10, 3.0)
    assert float(shared["layout_mean"].sel(n_sharing=2)) == pytest.approx(half, abs=1e-9)


def test_the_last_running_estimate_is_the_final_one():
    draws = chain_draws()
    sums = measure.chain_sums(draws)
    final = measure.chain_statistics(sums, N_DRAWS, 2, 10, 3.0)
    running = measure.chain_curves(sums, N_DRAWS, 2, 10, 3.0)
    assert float(running["running_mean"][-1]) == pytest.approx(float(final["joint_mean"]), abs=1e-9)
    assert float(running["running_error"][-1]) == pytest.approx(float(final["joint_error"]), abs=1e-9)
    np.testing.assert_array_equal(running["running_draws"], np.arange(1, N_DRAWS + 1))
    assert float(running["running_gradients"][0]) == N_IMAGES * 2 * 10
    # Two repetitions of two chains, after one draw of each.
    first = [
        draws[f"log_{end}_weight"][:, :, 0].astype(float).reshape(N_IMAGES, 2, 2)
        for end in ("target", "base")
    ]
    expected = np.subtract(*logsumexp(first, axis=3)).sum(axis=0).mean()
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
            of_segments = logsumexp(sums[name][..., :n_segments], axis=-1)
            np.testing.assert_allclose(of_segments, logsumexp(draws[name][..., :used], axis=-1), rtol=1e-12)
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
    arithmetic = np.sum(logsumexp(-back, axis=1) - np.log(5))
    assert float(found["joint_upper_arithmetic"]) == pytest.approx(arithmetic)
    assert float(found["joint_upper_arithmetic"]) > float(found["joint_upper"])


def test_rows_of_pixels_survive_packing():
    images = (np.random.default_rng(5).uniform(size=(4, 52 * 52)) < 0.5).astype(np.uint8)
    np.testing.assert_array_equal(unpacked(measure.packed_rows(images)), images)


def test_images_must_be_square(tmp_path):
    path = saved(tmp_path)
    assert data_files(Settings(weights=path)) == [path]
    oblong = {"decoder_W4": np.ones((4, 10)), "decoder_b4": np.ones(10), "encoder_h_W0": np.ones((10, 6))}
    with pytest.raises(DataError, match="the decoder has 10 outputs; images must be square"):
        check(Settings(weights=saved(tmp_path, **oblong)))


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
    with pytest.raises(MissingData, match="neither x nor y came near the lower bound within its run"):
        ratio_of_passages((above[0], False), (below[0], False), ("x", "y"), 1.0)


def test_the_error_of_a_total_of_all_images_is_that_of_the_noise():
    assert total_over_images(np.array([5.0, -5.0]), np.array([3.0, 1.0]), 2)[:3] == (0.0, 2.0, "")


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
    message = r"omni-iwae/decoder_params.npz: cannot be read .* or use model=own_digits"
    with pytest.raises(SettingsError, match=message):
        run(Settings(model="omniglot"), context)


@pytest.mark.slow
def test_a_case_of_ones_own_weights_gives_finite_estimates(tmp_path):
    settings = Settings(
        weights=saved(tmp_path), n_images=3, n_generated=5, n_repetitions=2, n_chains=2, n_draws=12, n_runs=4,
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


N_MODEL_PIXELS, N_LATENT = 4, 3


def small_model(dtype=jnp.float64, n_pixels=N_MODEL_PIXELS, n_latent=N_LATENT):
    rng = np.random.default_rng(5)
    model = autoencoder.initial_autoencoder(rng, rng.uniform(0.2, 0.8, n_pixels), 6, n_latent)
    # Biases too, which start at zero in training.
    return jax.tree.map(
        lambda a: jnp.asarray(a, dtype) + jnp.asarray(rng.normal(0.0, 0.3, a.shape), dtype),
        autoencoder.to_precision(model, dtype),
    )


def test_probabilities_of_all_images_add_up_to_one_and_are_those_of_the_layers_written_out():
    model, latent = small_model(), np.array([0.5, 1.5, -0.7])
    images = jnp.array(list(itertools.product([0.0, 1.0], repeat=N_MODEL_PIXELS)))
    logs = jax.vmap(lambda image: autoencoder.log_likelihood(model, image, jnp.asarray(latent)))(images)
    assert float(jnp.sum(jnp.exp(logs))) == pytest.approx(1.0, abs=1e-12)
    hidden = latent
    for layer in model.decoder[:2]:
        hidden = np.tanh(hidden @ np.asarray(layer.weights) + np.asarray(layer.biases))
    on = expit(hidden @ np.asarray(model.decoder[2].weights) + np.asarray(model.decoder[2].biases))
    assert float(logs[5]) == pytest.approx(np.log([1 - on[0], on[1], 1 - on[2], on[3]]).sum(), abs=1e-12)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_extreme_logits_give_finite_values_and_gradients(dtype):
    model = small_model(dtype)
    wide = jax.tree.map(lambda a: a * jnp.asarray(1e4, dtype), model.decoder[2])
    model = model._replace(decoder=(*model.decoder[:2], wide))
    image, latent = jnp.array([0.0, 1.0, 1.0, 0.0], dtype), jnp.ones(N_LATENT, dtype)
    value, slope = jax.jit(jax.value_and_grad(lambda z: autoencoder.log_likelihood(model, image, z)))(latent)
    assert value.dtype == slope.dtype == dtype
    assert np.all(np.isfinite([value, *slope]))


def test_importance_weights_are_ratios_of_densities():
    model, image = small_model(), jnp.array([1.0, 0.0, 0.0, 1.0])
    noise = jnp.asarray(np.random.default_rng(1).normal(size=(5, N_LATENT)))
    code = autoencoder.encode(model, image)
    found = jax.jit(autoencoder.log_importance_weights)(model, image, code, noise)
    for value, standard in zip(found, noise, strict=True):
        latent = np.asarray(code.mean + code.scale * standard)
        log_prior, log_code = stats.norm.logpdf(latent), stats.norm.logpdf(latent, code.mean, code.scale)
        expected = float(autoencoder.log_likelihood(model, image, jnp.asarray(latent)))
        assert float(value) == pytest.approx(expected + np.sum(log_prior - log_code), abs=1e-11)


def test_bridge_has_the_log_densities_of_posterior_and_code():
    model, image = small_model(), jnp.array([1.0, 1.0, 0.0, 1.0])
    code = autoencoder.encode(model, image)
    x = jnp.array([0.2, -0.4, 1.1])
    latent = code.mean + code.scale * x
    whitened = autoencoder.latent_bridge(model, image, code, jnp.asarray(-2.5))
    plain = autoencoder.latent_bridge(model, image, code, jnp.asarray(-2.5), whitened=False)
    log_likelihood = float(autoencoder.log_likelihood(model, image, latent))
    target, base = plain.log_densities(latent)
    assert float(plain.log_zeta) == float(whitened.log_zeta) == -2.5
    assert float(target) == pytest.approx(log_likelihood + stats.norm.logpdf(latent).sum(), abs=1e-12)
    expected = stats.norm.logpdf(np.asarray(latent), code.mean, code.scale).sum()
    assert float(base) == pytest.approx(expected, abs=1e-12)
    # Whitening adds the log of the volume to both, so that their difference stays.
    target, base = whitened.log_densities(x)
    assert float(base) == pytest.approx(stats.norm.logpdf(np.asarray(x)).sum(), abs=1e-12)
    difference = jnp.subtract(*plain.log_densities(latent))
    assert float(target - base) == pytest.approx(float(difference), abs=1e-11)
    np.testing.assert_allclose(plain.draw_base(x), latent, rtol=1e-12)


def test_single_precision_is_kept_and_close():
    double, single = small_model(n_pixels=784, n_latent=50), small_model(jnp.float32, 784, 50)
    image = (np.random.default_rng(2).uniform(size=784) < 0.3).astype(float)
    x = np.random.default_rng(3).normal(size=50)
    values = {}

    @jax.jit
    def evaluate(model, binary, x):
        code = autoencoder.encode(model, binary)
        bridge = autoencoder.latent_bridge(model, binary, code, jnp.zeros((), binary.dtype))
        return bridge.log_densities_and_gradients(x)

    for model, dtype in ((double, jnp.float64), (single, jnp.float32)):
        (target, base), slopes = evaluate(model, jnp.asarray(image, dtype), jnp.asarray(x, dtype))
        assert {target.dtype, base.dtype, slopes[0].dtype, slopes[1].dtype} == {np.dtype(dtype)}
        values[dtype] = (float(target), float(base))
    np.testing.assert_allclose(values[jnp.float32], values[jnp.float64], rtol=1e-5)


def test_many_images_take_one_matrix_product_a_layer():
    model, n = small_model(), 7
    images = jnp.zeros((n, N_MODEL_PIXELS))
    codes = jax.vmap(lambda image: autoencoder.encode(model, image))(images)

    def gradients(x):
        def one(x, image, mean, scale):
            bridge = autoencoder.latent_bridge(model, image, autoencoder.Code(mean, scale), jnp.asarray(0.0))
            return bridge.log_densities_and_gradients(x)[1][0]

        return jax.vmap(one)(x, images, *codes)

    program = jax.jit(gradients).lower(jnp.zeros((n, N_LATENT))).as_text()
    products = [line for line in program.splitlines() if "dot_general" in line]
    assert len(products) == 6  # three layers, there and back
    assert all(f"tensor<{n}x" in line.split("->")[1] for line in products)
    assert not any("batching_dims" in line for line in products)


def test_training_starts_from_the_mean_image():
    mean = np.array([0.0, 0.5, 0.25, 1.0])
    model = autoencoder.initial_autoencoder(np.random.default_rng(0), mean, 6, 2)
    on = expit(np.asarray(model.decoder[2].biases))
    np.testing.assert_allclose(on, [0.001, 0.5, 0.25, 0.999], rtol=1e-5)
    limit = math.sqrt(6.0 / (2 + 6))
    assert float(jnp.max(jnp.abs(model.decoder[0].weights))) <= limit


def test_arrays_arrive_in_their_layers(tmp_path):
    path = saved(tmp_path, decoder_b0=np.arange(5.0)[None], layers=np.array([b"x"]))
    model = read_autoencoder("own_digits", path)
    assert (model.n_latent, model.n_pixels) == (2, 9)
    np.testing.assert_array_equal(model.decoder[1].weights, ARRAYS["decoder_W2"])
    np.testing.assert_array_equal(model.decoder[0].biases, np.arange(5.0))
    np.testing.assert_array_equal(model.encoder[1].weights, ARRAYS["encoder_h_W2"])
    np.testing.assert_array_equal(model.code_log_scale.weights, ARRAYS["encoder_std_W0"])


def test_a_folder_of_four_files_is_the_same(tmp_path):
    for part in ("decoder", "encoder_h", "encoder_mean", "encoder_std"):
        own = {n.removeprefix(f"{part}_"): a for n, a in ARRAYS.items() if n.startswith(f"{part}_")}
        np.savez(tmp_path / f"{part}_params.npz", **own)
    from_folder = read_autoencoder("own_digits", str(tmp_path))
    (tmp_path / "one").mkdir()
    from_file = read_autoencoder("own_digits", saved(tmp_path / "one"))
    jax.tree.map(np.testing.assert_array_equal, from_folder, from_file)


def test_written_weights_come_back_as_half_precision_to_the_byte(tmp_path):
    model = read_autoencoder("own_digits", saved(tmp_path))
    curve = {"objective": [-3.0, -2.5], "held_out": [-3.5, -3.0]}
    for name in ("a.npz", "b.npz"):
        autoencoder_weights.write_autoencoder(tmp_path / name, model, curve)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    again = read_autoencoder("own_digits", str(tmp_path / "a.npz"))
    halved = model.decoder[2].weights.astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(again.decoder[2].weights, halved)
    kept = autoencoder_weights.read_training_curve(tmp_path / "a.npz")
    np.testing.assert_array_equal(kept["held_out"], curve["held_out"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"decoder_W2": None}, "has no array decoder_W2, only decoder_W0"),
        ({"decoder_W2": np.zeros((6, 4))}, "decoder_W0 has 5 columns, but decoder_W2 has 6 rows; they must"),
        ({"decoder_b4": np.zeros(8)}, "decoder_W4 has 9 columns, but decoder_b4 has 8 numbers"),
        ({"encoder_h_W0": np.zeros((8, 6))}, "decoder_W4 has 9 columns, but encoder_h_W0 has 8 rows"),
        (
            {"encoder_mean_W0": np.zeros((3, 3)), "encoder_mean_b0": np.zeros(3)},
            "encoder_mean_W0 has 3 columns, but decoder_W0 has 2 rows",
        ),
        ({"encoder_std_W0": np.zeros((4, 2))}, "encoder_h_W2 has 3 columns, but encoder_std_W0 has 4 rows"),
        ({"decoder_b0": np.zeros((5, 5))}, r"array decoder_b0 must be \[outputs\], has shape \[5, 5\]"),
        ({"decoder_W0": np.zeros(5)}, r"array decoder_W0 must be \[inputs, outputs\], has shape \[5\]"),
        ({"decoder_W0": np.array([["a"]])}, "array decoder_W0 must hold numbers, has type <U1"),
        (
            {"encoder_h_W0": np.where(np.eye(9, 6, -3), [np.nan, np.inf] * 3, ARRAYS["encoder_h_W0"])},
            r"encoder_h_W0 has 6 numbers that are not finite, the first at \[3, 0\]",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_named(tmp_path, changes, message):
    with pytest.raises(DataError, match=message):
        read_autoencoder("own_digits", saved(tmp_path, **changes))


def test_what_holds_no_arrays_and_unknown_models_are_rejected(tmp_path):
    np.save(tmp_path / "single.npy", np.zeros(3))
    with pytest.raises(DataError, match="it holds a single array"):
        read_autoencoder("own_digits", str(tmp_path / "single.npy"))
    message = "model must be one of own_digits, own_glyphs, mnist, omniglot, got 'cifar'"
    with pytest.raises(ValueError, match=message):
        read_autoencoder("cifar")


@pytest.mark.parametrize("name", autoencoder_weights.OWN_MODELS)
def test_our_models_ship_with_the_package(name):
    model = read_autoencoder(name)
    assert [layer.weights.shape for layer in model.decoder] == [(50, 200), (200, 200), (200, 784)]
    curve = autoencoder_weights.read_training_curve(autoencoder_weights.own_weight_file(name))
    # Training continued improving on images that it did not see.
    assert curve["held_out"][-1] > curve["held_out"][0] + 20.0
    assert autoencoder_weights.own_weight_file(name).stat().st_size < 1_000_000


SEED = 201702
# SHA-256 of 1000 published latent vectors of 50 numbers (float64), which do not depend on the model.
LATENTS = "d7093596cba449c993dde1c8c962eb32e27d603314ee0e9b09a77763e6b10168"


def test_latent_vectors_are_the_published_ones():
    generated = generate_images(read_autoencoder("own_digits"), np.random.RandomState(SEED), 1000)
    assert hashlib.sha256(generated.latents.tobytes()).hexdigest() == LATENTS
    assert generated.images.shape == (1000, 784)
    assert set(np.unique(generated.images)) == {0, 1}


@pytest.mark.parametrize("model", autoencoder_weights.PUBLISHED_MODELS)
def test_layers_and_images_of_the_published_models_are_the_published_ones(model):
    if not autoencoder_weights.local_published_files(model):
        pytest.skip(f"AUXMC_DATA_DIR={os.environ.get('AUXMC_DATA_DIR', '')} has no published weights")
    assert published_facts(Settings(model=model)) == {model: (0, 0)}


def test_bases_of_an_image_do_not_depend_on_how_many_are_kept():
    model = read_autoencoder("own_glyphs")
    found = []
    for kept in (2, 5):
        state = np.random.RandomState(SEED)
        images = generate_images(model, state, 20).images[:kept]
        found.append(encoder_bases(model, images, state, 20, n_draws=6))
    for few, many in zip(found[0], found[1], strict=True):
        np.testing.assert_allclose(few, many[:2], rtol=1e-9)
    # Pooling importance samples never lowers the bound.
    assert np.all(found[1].log_zeta > found[1].single_bound)
    assert np.all(found[1].scales > 0.0)
    assert found[1].means.shape == (5, 50)


def test_thinning_keeps_pieces_and_holes():
    ring = np.zeros((1, 24, 40), dtype=bool)
    ring[0, 3:21, 3:21] = True
    ring[0, 9:15, 9:15] = False
    ring[0, 5:19, 28:34] = True
    skeleton = thin(ring)[0]
    assert label(skeleton, np.ones((3, 3)))[1] == 2
    # Paper in four-connected pieces: outside and the hole.
    assert label(~skeleton)[1] == 2
    assert skeleton.sum() < 0.3 * ring.sum()


def test_no_square_of_four_pixels_is_left_of_a_disc():
    y, x = np.mgrid[:25, :25] - 12
    skeleton = thin((x**2 + y**2 < 80)[None])[0]
    blocks = skeleton[1:, 1:] & skeleton[1:, :-1] & skeleton[:-1, 1:] & skeleton[:-1, :-1]
    assert skeleton.any()
    assert not blocks.any()


def test_characters_of_a_script_are_distinct_letters():
    skeletons = make_skeletons({"Greek and Coptic": BLOCKS["Greek and Coptic"]})
    assert {"Ω", "β", "ξ"} <= set(skeletons.characters)
    # A letter with an accent is composed, and the fonts draw some letters alike.
    assert "ά" not in skeletons.characters
    assert len(np.unique(skeletons.distances, axis=0)) == len(skeletons.characters)
    assert all(field.min() == 0.0 for field in skeletons.distances)


def test_drawings_differ_but_repeat_with_the_seed():
    skeletons = make_skeletons({"Hebrew": BLOCKS["Hebrew"]})
    first, again, other = (draw_glyphs(np.random.default_rng(seed), skeletons, 3) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any(axis=1).all()
    assert first.shape == (3 * len(skeletons.characters), 784)
    # Every drawing has ink, in thin strokes.
    fraction = (first > 127).mean(axis=1)
    assert fraction.min() > 0.01
    assert fraction.max() < 0.35
    with pytest.raises(ValueError, match="n_drawings must be at least 1, got 0"):
        draw_glyphs(np.random.default_rng(0), skeletons, 0)
    with pytest.raises(ValueError, match="no character of these scripts: Private"):
        make_skeletons({"Private": (0xF8F0, 0xF8FF)})


def test_there_are_ten_thousand_different_images_of_digits():
    digits = read_digits()
    assert np.unique(digits, axis=0).shape == digits.shape == (10_000, 784)
    assert digits.dtype == np.uint8
    assert digits.max() == 255
