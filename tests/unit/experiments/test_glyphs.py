"""Characters are thinned to lines, and drawn differently each time but the same for the same seed."""

import numpy as np
import pytest
from scipy.ndimage import label

from experiments.image_models.model.glyphs import BLOCKS, draw_glyphs, make_skeletons, thin

EIGHT = np.ones((3, 3))
GREEK = {"Greek and Coptic": BLOCKS["Greek and Coptic"]}


def test_a_thick_bar_becomes_a_line_along_its_middle():
    bar = np.zeros((1, 15, 30), dtype=bool)
    bar[0, 5:10, 3:27] = True
    skeleton = thin(bar)[0]
    rows, columns = np.nonzero(skeleton)
    assert set(rows) == {7}
    assert columns.max() - columns.min() >= 17
    assert not (skeleton & ~bar[0]).any()


def test_thinning_keeps_pieces_and_holes():
    ring = np.zeros((1, 24, 40), dtype=bool)
    ring[0, 3:21, 3:21] = True
    ring[0, 9:15, 9:15] = False
    ring[0, 5:19, 28:34] = True
    skeleton = thin(ring)[0]
    assert label(skeleton, EIGHT)[1] == 2
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
    skeletons = make_skeletons(GREEK)
    assert {"Ω", "β", "ξ"} <= set(skeletons.characters)
    # A letter with an accent is composed, and the fonts draw some letters alike.
    assert "ά" not in skeletons.characters
    assert len(np.unique(skeletons.distances, axis=0)) == len(skeletons.characters)
    assert all(field.min() == 0.0 for field in skeletons.distances)


def test_drawings_differ_but_repeat_with_the_seed():
    skeletons = make_skeletons({"Hebrew": BLOCKS["Hebrew"]})
    first, again, other = (draw_glyphs(np.random.default_rng(seed), skeletons, 3) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.images, again.images)
    assert (first.images != other.images).any(axis=1).all()
    assert first.images.shape == (3 * len(skeletons.characters), 784)
    np.testing.assert_array_equal(np.bincount(first.characters), 3)
    # Every drawing has ink, in thin strokes.
    fraction = (first.images > 127).mean(axis=1)
    assert fraction.min() > 0.01
    assert fraction.max() < 0.35


def test_drawings_of_a_character_look_more_alike_than_others():
    skeletons = make_skeletons(GREEK)
    images = draw_glyphs(np.random.default_rng(3), skeletons, 2).images.reshape(-1, 2, 28, 28)
    # Coarse pictures, which bending moves little.
    coarse = images.reshape(-1, 2, 7, 4, 7, 4).mean(axis=(3, 5)).reshape(-1, 2, 49)
    coarse = coarse - coarse.mean(axis=-1, keepdims=True)
    coarse /= np.linalg.norm(coarse, axis=-1, keepdims=True)
    likeness = coarse[:, 0] @ coarse[:, 1].T
    assert np.mean(np.argmax(likeness, axis=1) == np.arange(len(likeness))) > 0.25


def test_scripts_without_characters_are_rejected():
    with pytest.raises(ValueError, match="no character of these scripts: Private"):
        make_skeletons({"Private": (0xF8F0, 0xF8FF)})


def test_no_drawings_are_rejected():
    with pytest.raises(ValueError, match="n_drawings must be at least 1, got 0"):
        draw_glyphs(np.random.default_rng(0), make_skeletons({"Ogham": BLOCKS["Ogham"]}), 0)
