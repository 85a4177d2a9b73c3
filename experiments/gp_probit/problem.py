"""The data of a case, its model, and what its coordinates are called."""

from typing import NamedTuple

from auxmc.numerics.array_types import FloatArray
from experiments.gp_probit.labelled import read_labelled
from experiments.gp_probit.model import GPProbitModel, gp_probit_model, load_biopsy, standardise
from experiments.gp_probit.settings import Settings

OUTPUT_SCALE = "log_output_scale"
"""Name of the first coordinate, the log prior variance of the latent function."""


class Problem(NamedTuple):
    """Data and model.

    Attributes:
        model: the model, duplicate inputs collapsed.
        features: standardised features [row, feature].
        labels: +1 or -1 [row].
        feature_names: [feature].
        coordinates: names of the target variables [feature + 1].
        n_rows_read: rows in the file.
        n_incomplete: rows left out because a feature is missing.
    """

    model: GPProbitModel
    features: FloatArray
    labels: FloatArray
    feature_names: tuple[str, ...]
    coordinates: tuple[str, ...]
    n_rows_read: int
    n_incomplete: int


def build_problem(settings: Settings) -> Problem:
    """Reads the breast cancer data or the user's own, standardises the features and builds the model.

    Raises:
        DataError: the user's file cannot be used.
    """
    if settings.data:
        own = read_labelled(settings.data, settings.label)
        features, labels, names = own.features, own.labels, own.feature_names
        n_rows_read, n_incomplete = len(labels), 0
    else:
        biopsy = load_biopsy(settings.drop_first_complete_row)
        features, labels, names = biopsy.features, biopsy.labels, biopsy.feature_names
        n_rows_read, n_incomplete = biopsy.n_rows_read, biopsy.n_incomplete
    scaled = standardise(features)
    coordinates = (OUTPUT_SCALE, *(f"log_length_scale[{name}]" for name in names))
    model = gp_probit_model(scaled, labels)
    return Problem(model, scaled, labels, names, coordinates, n_rows_read, n_incomplete)
