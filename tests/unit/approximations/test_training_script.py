"""The script that trains image models writes weights that the study reads, and says what is wrong with images."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments.image_models.model.autoencoder_weights import read_autoencoder, read_training_curve

SCRIPT = Path(__file__).parents[3] / "scripts" / "train_image_models.py"


def run(monkeypatch, *arguments):
    spec = importlib.util.spec_from_file_location("train_image_models", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sys, "argv", ["train_image_models.py", *arguments])
    return module.main()


def test_images_of_ones_own_become_weights(tmp_path, monkeypatch):
    bars = np.zeros((60, 4, 4), np.uint8)
    bars[::2, 1] = 255
    bars[1::2, :, 2] = 255
    np.save(tmp_path / "bars.npy", bars.reshape(60, 16))
    output = tmp_path / "weights.npz"
    sizes = ("--stages", "2", "--hidden", "5", "--latent", "2", "--importance", "2")
    assert run(monkeypatch, str(tmp_path / "bars.npy"), "--output", str(output), *sizes) == 0
    model = read_autoencoder("own_digits", str(output))
    assert (model.n_latent, model.n_pixels) == (2, 16)
    assert read_training_curve(output)["objective"].shape == (4,)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((30, 10), np.uint8), "must be a .npy file of square grey images"),
        (np.zeros((30, 9)), r"has shape [30, 9] and type float64"),
        (np.zeros((12, 9), np.uint8), "needs batch_size=20 images or more and a held-out one, got 11 and 1"),
    ],
)
def test_other_images_are_rejected(tmp_path, monkeypatch, capsys, images, message):
    np.save(tmp_path / "images.npy", images)
    assert run(monkeypatch, str(tmp_path / "images.npy"), "--output", str(tmp_path / "w.npz")) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "w.npz").exists()


def test_an_output_is_needed_for_images_of_ones_own(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, "images.npy")
    assert "--output FILE.npz is needed" in capsys.readouterr().err
