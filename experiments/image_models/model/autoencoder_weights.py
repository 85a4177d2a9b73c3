"""Weights of the image models: our own, which ship with the package, the published ones, and a user's. NumPy only.

A file of weights is an .npz with, for a layer, a matrix W [inputs, outputs] and a vector b [outputs] or [1, outputs]:

* `decoder_W0`, `decoder_b0`; `decoder_W2`, `decoder_b2`; `decoder_W4`, `decoder_b4`: latent to hidden, hidden, pixels;
* `encoder_h_W0`, `encoder_h_b0`; `encoder_h_W2`, `encoder_h_b2`: pixels to hidden, hidden;
* `encoder_mean_W0`, `encoder_mean_b0`: hidden to latent;
* `encoder_std_W0`, `encoder_std_b0`: hidden to latent, the log of the standard deviation.

Numbers count non-linearities too. A folder of four files as published, with arrays W0, b0, ..., is understood as well.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxmc.data.tables import load_arrays
from auxmc.errors import DataError
from auxmc.numerics.array_types import FloatArray, NamedArrays
from auxmc_pipeline.published_files import PublishedFile, local_file, published_file

OWN_MODELS = ("own_digits", "own_glyphs")
PUBLISHED_MODELS = ("mnist", "omniglot")
MODELS = (*OWN_MODELS, *PUBLISHED_MODELS)
_COMMIT = "39e0b1cd03b2aec5997da5d0424a011b116801ca"
_ADDRESS = f"https://raw.githubusercontent.com/matt-graham/continuously-tempered-hmc/{_COMMIT}/data"
_PARTS = {"decoder": (0, 2, 4), "encoder_h": (0, 2), "encoder_mean": (0,), "encoder_std": (0,)}
_FOLDERS = {"mnist": "mnist-iwae", "omniglot": "omni-iwae"}
_SHA256 = {
    "mnist": {
        "decoder": "58bbec0a01369b2c965db1976f742039f0147dd952f67413ce787315194afa8d",
        "encoder_h": "7974226972cc82bc3bc3819e79bf98e9454dbe070dec2ee66c131bc1f1971ec9",
        "encoder_mean": "d73dd8bdeabf6880f5d801039c297eb9f1101ad1d146ad339c4a78e79808a3bb",
        "encoder_std": "266c587e1e28a6efd658d2564b51c0734a6c1caab68506266bb205b4eb532b16",
    },
    "omniglot": {
        "decoder": "276a74ec79b6884f433e5dc6e0a83345e8081979fa1103a5984dcf9ebc99e76d",
        "encoder_h": "05d9cd5e7d0f013b533afe1acb157e947278db8aa4c12839267207a4bec80d93",
        "encoder_mean": "4e1d2df0f3257e054811783cd5349ebab1d47554c3582aa5e29eb9ca7c1140fb",
        "encoder_std": "4bc9d3dba7097d2c88ab421d23f84bae4a9cf4471377a589eea4dd1e77141575",
    },
}


class Dense(NamedTuple):
    """A layer that maps h to h W + b: W [inputs, outputs], b [outputs]."""

    weights: Any
    biases: Any


class Autoencoder(NamedTuple):
    """Parameters of a generative image model and of the Gaussian approximation of its latent posterior."""

    decoder: tuple[Dense, ...]  # latent to hidden, hidden to hidden, hidden to logits of the pixels
    encoder: tuple[Dense, ...]  # pixels to hidden, hidden to hidden
    code_mean: Dense  # hidden to the mean of the latent vector
    code_log_scale: Dense  # hidden to the log of its standard deviations

    @property
    def n_latent(self) -> int:
        """Length of the latent vector."""
        return int(self.decoder[0].weights.shape[0])

    @property
    def n_pixels(self) -> int:
        """Pixels of an image."""
        return int(self.decoder[-1].weights.shape[1])


def read_autoencoder(model: str, path: str = "") -> Autoencoder:
    """Weights of one of `MODELS`, float32, or of the user's `path`; raises DataError for missing or unusable arrays."""
    if path and Path(path).is_dir():
        return _assembled(_joined({part: Path(path) / f"{part}_params.npz" for part in _PARTS}), path)
    if path:
        return _assembled(_arrays(Path(path)), path)
    if model not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, got {model!r}")
    if model in OWN_MODELS:
        file = own_weight_file(model)
        return _assembled(_arrays(file), str(file))
    otherwise = "or use model=own_digits, which needs neither"
    files = {part: published_file(file, otherwise) for part, file in _published_files(model).items()}
    return _assembled(_joined(files), f"published {model} weights")


def own_weight_file(model: str) -> Path:
    """File of a model that ships with the package."""
    return Path(__file__).with_name(f"{model.removeprefix('own_')}_autoencoder.npz")


def local_published_files(model: str) -> list[Path]:
    """Files of a published model in the user's folder of published files; empty if not all are there."""
    files = [local_file(file) for file in _published_files(model).values()]
    return [file for file in files if file is not None] if all(files) else []


def read_training_curve(path: Path) -> dict[str, FloatArray]:
    """What training recorded: objective and held-out objective after each epoch, in nats; empty for other files."""
    arrays = _arrays(path)
    return {name: np.asarray(arrays[name], float) for name in ("objective", "held_out") if name in arrays}


def write_autoencoder(path: Path, model: Autoencoder, curves: Mapping[str, Any]) -> None:
    """Writes weights as float16, the same to the byte for the same numbers, with curves of their training."""
    layers = [*model.decoder, *model.encoder, model.code_mean, model.code_log_scale]
    arrays: dict[str, Any] = {}
    for (part, number), layer in zip(_numbered(), layers, strict=True):
        arrays[f"{part}_W{number}"] = np.asarray(layer.weights, dtype=np.float16)
        arrays[f"{part}_b{number}"] = np.asarray(layer.biases, dtype=np.float16)
    arrays |= {name: np.asarray(values, dtype=np.float32) for name, values in curves.items()}
    np.savez_compressed(path, **arrays)


def _numbered() -> list[tuple[str, int]]:
    return [(part, number) for part, numbers in _PARTS.items() for number in numbers]


def _published_files(model: str) -> dict[str, PublishedFile]:
    folder = _FOLDERS[model]
    return {
        part: PublishedFile(
            f"continuous_tempering/{folder}/{part}_params.npz",
            f"{_ADDRESS}/{folder}/{part}_params.npz",
            sha256,
        )
        for part, sha256 in _SHA256[model].items()
    }


def _joined(files: Mapping[str, Path]) -> NamedArrays:
    """Arrays of files by part, with the part before their names."""
    return {f"{part}_{name}": array for part, file in files.items() for name, array in _arrays(file).items()}


def _arrays(path: Path) -> NamedArrays:
    arrays = load_arrays(path, without="layers")
    if not isinstance(arrays, dict):
        raise DataError(f"{path}: it holds a single array; give an .npz file of weights")
    return arrays


def _assembled(arrays: Mapping[str, NDArray[Any]], where: str) -> Autoencoder:
    layers = [_layer(arrays, part, number, where) for part, number in _numbered()]
    names = [f"{part}_W{number}" for part, number in _numbered()]
    for first, second in ((0, 1), (1, 2), (3, 4), (4, 5), (4, 6), (5, 0), (6, 0), (2, 3)):
        n_columns, n_rows = layers[first].weights.shape[1], layers[second].weights.shape[0]
        if n_columns != n_rows:
            raise DataError(
                f"{where}: {names[first]} has {n_columns} columns, but {names[second]} has {n_rows} rows; "
                "they must agree"
            )
    return Autoencoder(tuple(layers[:3]), tuple(layers[3:5]), code_mean=layers[5], code_log_scale=layers[6])


def _layer(arrays: Mapping[str, NDArray[Any]], part: str, number: int, where: str) -> Dense:
    found = []
    for letter in ("W", "b"):
        name = f"{part}_{letter}{number}"
        if name not in arrays:
            raise DataError(f"{where}: has no array {name}, only {', '.join(sorted(arrays)) or 'none'}")
        array = arrays[name]
        if array.dtype.kind not in "fiu":
            raise DataError(f"{where}: array {name} must hold numbers, has type {array.dtype}")
        if letter == "b" and array.ndim == 2 and array.shape[0] == 1:
            array = array[0]
        wanted = 2 if letter == "W" else 1
        if array.ndim != wanted or not array.size:
            form = "[inputs, outputs]" if letter == "W" else "[outputs]"
            raise DataError(f"{where}: array {name} must be {form}, has shape {list(array.shape)}")
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            place = ", ".join(map(str, bad[0]))
            raise DataError(
                f"{where}: array {name} has {len(bad)} numbers that are not finite, the first at [{place}]; train again"
            )
        found.append(array.astype(np.float32))
    if found[0].shape[1] != found[1].shape[0]:
        raise DataError(
            f"{where}: {part}_W{number} has {found[0].shape[1]} columns, but {part}_b{number} has "
            f"{found[1].shape[0]} numbers; they must agree"
        )
    return Dense(*found)
