"""The digits are those that the description says, and the script that packs them rejects other files."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from experiments.image_models.model.digits import N_PIXELS, read_digits

SCRIPT = Path(__file__).parents[3] / "scripts" / "make_digits.py"


def load_script():
    spec = importlib.util.spec_from_file_location("make_digits", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_ten_thousand_different_images_of_ten_digits():
    digits = read_digits()
    counts = [1001, 1127, 991, 1032, 980, 863, 1014, 1070, 944, 978]
    np.testing.assert_array_equal(np.bincount(digits.labels), counts)
    assert len(np.unique(digits.images, axis=0)) == 10_000
    assert digits.images.dtype == np.uint8
    assert digits.images.max() == 255


def test_images_are_centred_ink_on_empty_paper():
    ink = read_digits().images.reshape(-1, 28, 28).mean(axis=0)
    assert ink[:2].max() < 1.0
    assert ink[12:16, 12:16].min() > 50.0


def test_three_decimals_give_back_every_level(tmp_path):
    levels = np.arange(2 * N_PIXELS) % 256
    (tmp_path / "0.json").write_text(json.dumps({"data": [round(level / 255, 3) for level in levels]}))
    np.testing.assert_array_equal(load_script().read_digit(tmp_path / "0.json").ravel(), levels)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"data": [0.5, 0.5]}', "not images of 784 pixels"),
        (json.dumps({"data": [0.5] * 784}), "256 grey levels"),
        ('{"pixels": []}', "list of numbers under 'data'"),
        ("no json", "list of numbers under 'data'"),
    ],
)
def test_other_files_are_rejected(tmp_path, content, message):
    (tmp_path / "3.json").write_text(content)
    with pytest.raises(ValueError, match=message):
        load_script().read_digit(tmp_path / "3.json")
