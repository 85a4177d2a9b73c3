"""Joint estimates of a model in the study's tables, and what the images of a run say about all images of a claim.

Claims about the author's models are about the 1000 published images, drawn independently, of which a run has the first
ones: their choice is part of the error. Claims about our models are about the images run.
"""

import math

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import Measurement
from auxmc_pipeline.tables import Tables, Wanted
from experiments.image_models.model.autoencoder_weights import PUBLISHED_MODELS

PUBLISHED_IMAGES = 1000


def n_claimed(model: str, n_images: int) -> int:
    """Images that a claim about a model is about, of which a run has `n_images`."""
    return max(PUBLISHED_IMAGES, n_images) if model in PUBLISHED_MODELS else n_images


def total_over_images(values: FloatArray, variances: FloatArray, n_all: int, note: str = "") -> Measurement:
    """Sum over all N images of a quantity that is known with noise for n of them [image].

    The error squared is N (N - n) / n times the variance between images, noise included, plus N times the
    mean of the known noise variances.

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


def models_in(tables: Tables) -> list[str]:
    """Models that the tables have, in the order of the cases."""
    return list(dict.fromkeys(tables["settings"]["model"]))


def rows_of(tables: Tables, model: str, table: str, quantity: str, **wanted: Wanted) -> pd.DataFrame:
    """Rows of the cases of a model; raises as `Tables.rows`."""
    cases = tables.rows("settings", model=model)["case"]
    return tables.rows(table, quantity, **wanted, case=list(cases))


def value_of(tables: Tables, model: str, quantity: str, table: str = "point", **wanted: Wanted) -> float:
    """A quantity on which all cases of a model agree; raises MissingData if the tables do not have it."""
    return float(rows_of(tables, model, table, quantity, **wanted)[quantity].iloc[0])


def of_images(
    tables: Tables, model: str, quantity: str, table: str = "image", **wanted: Wanted
) -> FloatArray:
    """A quantity of each image of a model [image]; raises as `value_of`."""
    rows = rows_of(tables, model, table, quantity, **wanted).drop_duplicates("image")
    return rows.sort_values("image")[quantity].to_numpy(np.float64)


def running_estimate(tables: Tables, model: str, method: str) -> dict[str, FloatArray]:
    """Joint estimates along the chains of a method [point]; raises as `value_of`.

    They are `mean` over repetitions and `error`, its standard error, in nats, after `seconds` and `gradients` of a
    repetition.
    """
    rows = rows_of(tables, model, "points", "running_mean", method=method).sort_values("point")
    names = ("mean", "error", "seconds", "gradients")
    return {name: rows[f"running_{name}"].to_numpy(float) for name in names}
