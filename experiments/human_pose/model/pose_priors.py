"""Parameters of the priors of the human pose study: our own, which ship with the package, and the published ones.

NumPy only. Published files are in `$AUXMC_DATA_DIR/implicit_models/pose`, or else
fetched once into the user's cache, and held to their sha256.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from auxmc.data.tables import load_arrays
from auxmc.errors import DataError
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.published_files import PublishedFile, local_file, published_file
from experiments.human_pose.model.body_proportions import log_length_distribution
from experiments.human_pose.model.skeleton import N_ANGLES, N_BONES

PRIORS = ("own", "published")
N_LAYERS = 7  # Layers of the decoder: first, five with skip connections, and the linear one
_OWN_DECODER = Path(__file__).with_name("pose_prior.npz")
_COMMIT = "6b450e7a846a416138cb5383a0c574f5cb945843"
_ADDRESS = f"https://raw.githubusercontent.com/matt-graham/differentiable-generative-models/{_COMMIT}/models"
_FOLDER = "implicit_models/pose"
_PUBLISHED = (
    PublishedFile(
        f"{_FOLDER}/joint_angle_vae_params.npz",
        f"{_ADDRESS}/joint-angles-sin-cos-vae-decoder/params.npz",
        "9a8bc54e1c66441bdfea547dc9ff2ef7537319de201f0364494a012490e7eb50",
    ),
    PublishedFile(
        f"{_FOLDER}/bone_length_params.npz",
        f"{_ADDRESS}/bone-length-log-normal/params.npz",
        "6eb12112ada58ecdb55c7934db24597ffdb8cc39e8f3911e468d1a22f6d81880",
    ),
)


class PosePrior(NamedTuple):
    """Prior of joint angles and bone lengths."""

    # of the decoder's layers: [30, 50], five times [50, 50], [50, 188]
    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]  # of the layers: six times [50], [188]
    log_length_mean: FloatArray  # mean of log lengths, in log metres [13]
    log_length_factor: FloatArray  # upper Cholesky factor R of their covariance R^T R [13, 13]

    @property
    def n_code(self) -> int:
        """Length of the decoder's input."""
        return int(self.weights[0].shape[0])


def read_pose_prior(name: str) -> PosePrior:
    """Parameters of the prior `own` or `published`; raises DataError if its files cannot be had or are wrong."""
    files = pose_prior_files(name)
    decoder = _arrays(files[0])
    weights = tuple(decoder[f"W_{layer}"] for layer in range(N_LAYERS))
    biases = tuple(decoder[f"b_{layer}"] for layer in range(N_LAYERS))
    if weights[-1].shape[1] != 4 * N_ANGLES:
        raise DataError(f"{files[0]}: the decoder has {weights[-1].shape[1]} outputs, needs {4 * N_ANGLES}")
    if name == "own":
        return PosePrior(weights, biases, *log_length_distribution())
    bones = _arrays(files[1])
    if bones["mean"].shape != (N_BONES,):
        raise DataError(f"{files[1]}: has {bones['mean'].shape} mean log lengths, needs ({N_BONES},)")
    return PosePrior(weights, biases, bones["mean"], bones["covar_chol"])


def pose_prior_files(name: str) -> list[Path]:
    """Files that a prior is read from, fetched if they are not there; raises as `read_pose_prior` does."""
    if name not in PRIORS:
        raise ValueError(f"prior must be one of {', '.join(PRIORS)}, got {name!r}")
    if name == "own":
        return [_OWN_DECODER]
    return [published_file(file, "or use prior=own") for file in _PUBLISHED]


def local_pose_prior_files(name: str) -> list[Path]:
    """Files of a prior that are at hand, without fetching anything."""
    return [_OWN_DECODER] if name == "own" else [path for file in _PUBLISHED if (path := local_file(file))]


def _arrays(path: Path) -> Mapping[str, FloatArray]:
    return {name: np.asarray(array, dtype=np.float64) for name, array in load_arrays(path).items()}
