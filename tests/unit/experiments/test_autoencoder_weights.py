"""Weights are read as written, and what does not fit is named."""

import numpy as np
import pytest

from auxmc.errors import DataError
from experiments.image_models.model import autoencoder_weights

SHAPES = {
    "decoder_W0": (2, 5), "decoder_b0": (5,), "decoder_W2": (5, 4), "decoder_b2": (4,),
    "decoder_W4": (4, 9), "decoder_b4": (9,), "encoder_h_W0": (9, 6), "encoder_h_b0": (6,),
    "encoder_h_W2": (6, 3), "encoder_h_b2": (3,), "encoder_mean_W0": (3, 2), "encoder_mean_b0": (2,),
    "encoder_std_W0": (3, 2), "encoder_std_b0": (2,),
}  # fmt: skip


def arrays():
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}


def saved(path, **changes):
    content = {name: array for name, array in (arrays() | changes).items() if array is not None}
    np.savez(path / "weights.npz", **content)
    return str(path / "weights.npz")


def test_arrays_arrive_in_their_layers(tmp_path):
    model = autoencoder_weights.read_autoencoder(
        "own_digits", saved(tmp_path, decoder_b0=np.arange(5.0)[None], layers=np.array([b"x"]))
    )
    assert (model.n_latent, model.n_pixels) == (2, 9)
    np.testing.assert_array_equal(model.decoder[1].weights, arrays()["decoder_W2"])
    np.testing.assert_array_equal(model.decoder[0].biases, np.arange(5.0))
    np.testing.assert_array_equal(model.encoder[1].weights, arrays()["encoder_h_W2"])
    np.testing.assert_array_equal(model.code_log_scale.weights, arrays()["encoder_std_W0"])


def test_a_folder_of_four_files_is_the_same(tmp_path):
    for part in ("decoder", "encoder_h", "encoder_mean", "encoder_std"):
        own = {n.removeprefix(f"{part}_"): a for n, a in arrays().items() if n.startswith(f"{part}_")}
        np.savez(tmp_path / f"{part}_params.npz", **own)
    from_folder = autoencoder_weights.read_autoencoder("own_digits", str(tmp_path))
    (tmp_path / "one").mkdir()
    from_file = autoencoder_weights.read_autoencoder("own_digits", saved(tmp_path / "one"))
    for one, other in zip(
        from_folder.decoder + from_folder.encoder, from_file.decoder + from_file.encoder, strict=True
    ):
        np.testing.assert_array_equal(one.weights, other.weights)


def test_written_weights_come_back_as_half_precision_to_the_byte(tmp_path):
    model = autoencoder_weights.read_autoencoder("own_digits", saved(tmp_path))
    for name in ("a.npz", "b.npz"):
        autoencoder_weights.write_autoencoder(
            tmp_path / name, model, {"objective": [-3.0, -2.5], "held_out": [-3.5, -3.0]}
        )
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    again = autoencoder_weights.read_autoencoder("own_digits", str(tmp_path / "a.npz"))
    np.testing.assert_array_equal(
        again.decoder[2].weights, model.decoder[2].weights.astype(np.float16).astype(np.float32)
    )
    curve = autoencoder_weights.read_training_curve(tmp_path / "a.npz")
    np.testing.assert_array_equal(curve["held_out"], [-3.5, -3.0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"decoder_W2": None}, "has no array decoder_W2, only decoder_W0"),
        (
            {"decoder_W2": np.zeros((6, 4))},
            "decoder_W0 has 5 columns, but decoder_W2 has 6 rows; they must agree",
        ),
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
    ],
)
def test_arrays_that_do_not_fit_are_named(tmp_path, changes, message):
    with pytest.raises(DataError, match=message):
        autoencoder_weights.read_autoencoder("own_digits", saved(tmp_path, **changes))


def test_numbers_that_are_not_finite_are_located(tmp_path):
    broken = arrays()["encoder_h_W0"]
    broken[4, 1] = np.nan
    broken[7, 2] = np.inf
    with pytest.raises(
        DataError, match=r"encoder_h_W0 has 2 numbers that are not finite, the first at \[4, 1\]"
    ):
        autoencoder_weights.read_autoencoder("own_digits", saved(tmp_path, encoder_h_W0=broken))


def test_files_that_are_no_weights_are_rejected(tmp_path):
    with pytest.raises(DataError, match=r"none.npz: no such file"):
        autoencoder_weights.read_autoencoder("own_digits", str(tmp_path / "none.npz"))
    (tmp_path / "text.npz").write_text("weights")
    with pytest.raises(DataError, match=r"text.npz: not a NumPy file of plain arrays"):
        autoencoder_weights.read_autoencoder("own_digits", str(tmp_path / "text.npz"))
    np.save(tmp_path / "single.npy", np.zeros(3))
    with pytest.raises(DataError, match="it holds a single array"):
        autoencoder_weights.read_autoencoder("own_digits", str(tmp_path / "single.npy"))


def test_unknown_models_are_rejected():
    with pytest.raises(
        ValueError, match="model must be one of own_digits, own_glyphs, mnist, omniglot, got 'cifar'"
    ):
        autoencoder_weights.read_autoencoder("cifar")


@pytest.mark.parametrize("name", autoencoder_weights.OWN_MODELS)
def test_our_models_ship_with_the_package(name):
    model = autoencoder_weights.read_autoencoder(name)
    assert isinstance(model, autoencoder_weights.Autoencoder)
    assert isinstance(model.decoder[0], autoencoder_weights.Dense)
    assert [layer.weights.shape for layer in model.decoder] == [(50, 200), (200, 200), (200, 784)]
    curve = autoencoder_weights.read_training_curve(autoencoder_weights.own_weight_file(name))
    # Training continued improving on images that it did not see.
    assert curve["held_out"][-1] > curve["held_out"][0] + 20.0
    assert autoencoder_weights.own_weight_file(name).stat().st_size < 1_000_000


def test_published_weights_that_are_not_there_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("AUXMC_DATA_DIR", str(tmp_path))
    with pytest.raises(DataError, match=r"mnist-iwae/decoder_params.npz.*or use model=own_digits"):
        autoencoder_weights.read_autoencoder("mnist")
