"""Model, test images and bases of a case, and examples that show what its model has learnt."""

import hashlib
import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.driver.seeds import generator
from auxmc.models.bridge import Bridge
from experiments.image_models.model import autoencoder_weights, generated_images
from experiments.image_models.model.autoencoder import Code, encode, latent_bridge, logits, to_precision
from experiments.image_models.model.digits import read_digits
from experiments.image_models.model.glyphs import BLOCKS, draw_glyphs, make_skeletons
from experiments.image_models.settings import PUBLISHED_LAYERS, Settings, published_at_hand

_N_EXAMPLES = 30
_PUBLISHED_SEED, _PUBLISHED_NUMBER = 201702, 1000
_PUBLISHED_SHA256 = {
    "mnist": "03b38ca3dfa486a838e07a50c2f99bb2d2f40d505b99e3897e0d1a2d278a2565",
    "omniglot": "f98d52260a60072e07ae09e3b83b9dbe545bec4a28992b2c531ce479825a2ed0",
}
_EXAMPLE_SEED = 1  # Other drawings than those that training saw.


class Problem(NamedTuple):
    """What the methods of a case share."""

    label: str  # name of the model, for random streams
    model: autoencoder_weights.Autoencoder  # parameters in the precision of the chains
    # of all tests; the evidence of the first `len(bases.log_zeta)` is estimated
    generated: generated_images.GeneratedImages
    bases: generated_images.Bases  # their codes and log zeta, float64
    images: Array  # the same images in the precision of the chains [image, pixel]
    codes: Code  # their codes in that precision, arrays [image, latent]
    log_zeta: Array  # that of the bases [image]
    # latent vectors that the images were drawn from, in that precision [image, latent]
    latents: Array

    def bridge(self, image: Array, *, whitened: bool = True) -> Bridge:
        """From the code of an image, given by its number (whole), to the posterior of its latent vector."""
        code = Code(self.codes.mean[image], self.codes.scale[image])
        return latent_bridge(self.model, self.images[image], code, self.log_zeta[image], whitened=whitened)


def build_problem(settings: Settings) -> Problem:
    """Reads the model, draws and encodes test images; raises DataError if weights cannot be read, found or fetched."""
    dtype = jnp.dtype(settings.precision)
    weights = autoencoder_weights.read_autoencoder(settings.model, settings.weights)
    state = np.random.RandomState(settings.image_seed)
    generated = generated_images.generate_images(weights, state, settings.n_generated)
    kept = generated.images[: settings.n_images]
    bases = generated_images.encoder_bases(weights, kept, state, settings.n_generated, settings.n_zeta_draws)
    converted = partial(jnp.asarray, dtype=dtype)
    return Problem(
        "own_file" if settings.weights else settings.model,
        to_precision(weights, dtype),
        generated,
        bases,
        converted(kept),
        Code(converted(bases.means), converted(bases.scales)),
        jnp.asarray(bases.log_zeta),
        converted(generated.latents[: settings.n_images]),
    )


def training_curves(settings: Settings, model: autoencoder_weights.Autoencoder) -> dict[str, Any]:
    """Variables that show what one of our models has learnt; none for other models.

    They are the objective in training and on held-out images after each epoch, and the ink of images that it was not
    trained on and of what the decoder makes of the means of their codes, both [example, pixel].
    """
    if settings.weights or settings.model not in autoencoder_weights.OWN_MODELS:
        return {}
    rng = generator(_EXAMPLE_SEED, settings.model, "examples")
    if settings.model == "own_digits":
        # The tenth of the digits that scripts/train_image_models.py holds out, which names its streams like this.
        images = generator(20170717, "digits", "order").permutation(read_digits())
        images = images[: math.floor(len(images) / 10)]
    else:
        blocks = {name: BLOCKS[name] for name in ("Greek and Coptic", "Armenian", "Georgian")}
        images = draw_glyphs(rng, make_skeletons(blocks), 1)
    chosen = jnp.asarray(rng.permutation(images)[:_N_EXAMPLES] / 255.0, model.decoder[0].weights.dtype)
    on = jax.vmap(lambda image: jax.nn.sigmoid(logits(model, encode(model, image).mean)))(chosen)
    training = autoencoder_weights.read_training_curve(autoencoder_weights.own_weight_file(settings.model))
    return {
        "example_image": (("example", "pixel"), np.asarray(chosen, float)),
        "example_reconstruction": (("example", "pixel"), np.asarray(on, float)),
        **{f"training_{name}": ("epoch", values, {"units": "nats"}) for name, values in training.items()},
    }


def published_facts(settings: Settings) -> dict[str, tuple[int, int]]:
    """Numbers of layers and of images of the published models at hand that are not as published (figure 5.3)."""
    found = {}
    for name in published_at_hand(settings):
        weights = autoencoder_weights.read_autoencoder(name)
        layers = [*weights.decoder, *weights.encoder, weights.code_mean, weights.code_log_scale]
        shapes = zip(layers, PUBLISHED_LAYERS, strict=True)
        differ = sum(layer.weights.shape != shape for layer, shape in shapes)
        state = np.random.RandomState(_PUBLISHED_SEED)
        images = generated_images.generate_images(weights, state, _PUBLISHED_NUMBER).images
        same = hashlib.sha256(images.tobytes()).hexdigest() == _PUBLISHED_SHA256[name]
        found[name] = (differ, 0 if same else _PUBLISHED_NUMBER)
    return found
