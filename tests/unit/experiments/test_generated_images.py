"""Test images depend on the seed alone, and those of the published models are the published ones."""

import hashlib
import os

import numpy as np
import pytest

from experiments.image_models.model.autoencoder_weights import (
    PUBLISHED_MODELS,
    local_published_files,
    read_autoencoder,
)
from experiments.image_models.model.generated_images import encoder_bases, generate_images

SEED = 201702
# SHA-256 of 1000 published latent vectors of 50 numbers (float64), which do not depend on the model.
LATENTS = "d7093596cba449c993dde1c8c962eb32e27d603314ee0e9b09a77763e6b10168"
IMAGES = {
    "mnist": ("03b38ca3dfa486a838e07a50c2f99bb2d2f40d505b99e3897e0d1a2d278a2565", 97764),
    "omniglot": ("f98d52260a60072e07ae09e3b83b9dbe545bec4a28992b2c531ce479825a2ed0", 59818),
}


def digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()


def test_latent_vectors_are_the_published_ones():
    generated = generate_images(read_autoencoder("own_digits"), np.random.RandomState(SEED), 1000)
    assert digest(generated.latents) == LATENTS
    assert generated.images.shape == (1000, 784)
    assert set(np.unique(generated.images)) == {0, 1}


@pytest.mark.parametrize("model", PUBLISHED_MODELS)
def test_images_of_the_published_models_are_those_of_figure_5_3(model):
    if not local_published_files(model):
        pytest.skip(f"AUXMC_DATA_DIR={os.environ.get('AUXMC_DATA_DIR', '')} has no published weights")
    images = generate_images(read_autoencoder(model), np.random.RandomState(SEED), 1000).images
    assert (digest(images), int(images.sum())) == IMAGES[model]


def test_bases_of_an_image_do_not_depend_on_how_many_are_kept():
    model = read_autoencoder("own_glyphs")
    found = []
    for kept in (2, 5):
        state = np.random.RandomState(SEED)
        images = generate_images(model, state, 20).images[:kept]
        found.append(encoder_bases(model, images, state, 20, n_draws=6))
    for few, many in zip(found[0], found[1], strict=True):
        np.testing.assert_allclose(few, many[:2], rtol=1e-9)


def test_pooling_importance_samples_never_lowers_the_bound():
    model = read_autoencoder("own_digits")
    state = np.random.RandomState(3)
    images = generate_images(model, state, 6).images
    bases = encoder_bases(model, images, state, 6, n_draws=20)
    assert np.all(bases.log_zeta > bases.single_bound)
    assert np.all(bases.scales > 0.0)
    assert bases.means.shape == (6, 50)
