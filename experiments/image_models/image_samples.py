"""What the images of a run say about all images that a claim is about; the error of their choice is part of the error.

Claims about the author's models are about the 1000 published images, of which a run has the first ones: they were drawn
independently of each other, so that any of them are a random sample. Claims about our models are about the images run.
"""

import math

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.tables import Tables, Wanted
from experiments.image_models.model.autoencoder_weights import PUBLISHED_MODELS

PUBLISHED_IMAGES = 1000


def n_claimed(model: str, n_images: int) -> int:
    """Images that a claim about a model is about, of which a run has `n_images`."""
    return max(PUBLISHED_IMAGES, n_images) if model in PUBLISHED_MODELS else n_images


def total_over_images(values: FloatArray, variances: FloatArray, n_all: int, note: str = "") -> Measurement:
    """Sum over all images of a quantity that is known, with noise, for some of them.

    With n of N images the square of the error is N (N - n) / n times the variance between images, noise included, for
    the images left out, plus N times the mean variance of the noise. With all images the second alone is left.

    Args:
        values: of the images at hand [image].
        variances: of the noise in them [image].
        n_all: number of all images, N.
        note: is written before the number of images, where these are not all.

    >>> found = total_over_images(np.array([1.0, 3.0]), np.array([0.5, 0.5]), 2)
    >>> found.value, found.error
    (4.0, 1.0)
    >>> found = total_over_images(np.array([1.0, 3.0]), np.array([0.5, 0.5]), 8)
    >>> found.value, round(found.error**2, 6)
    (16.0, 52.0)
    """
    n = len(values)
    if n_all > n:
        note = ", ".join(text for text in (note, f"{n} of {n_all} images") if text)
    left_out = n_all * (n_all - n) / n * float(np.var(values, ddof=1)) if n_all > n else 0.0
    noise = n_all / n * float(variances.sum())
    return Measurement(n_all / n * float(values.sum()), math.sqrt(left_out + noise), note)


def of_images(tables: Tables, model: str, quantity: str, **wanted: Wanted) -> FloatArray:
    """A quantity of each image of a model [image].

    Raises:
        MissingData: the summary does not have it.
    """
    values: FloatArray = tables.summary.array(quantity, "image", model=model, **wanted).values
    return values
