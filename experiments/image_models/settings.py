"""Settings of the image model study. No JAX, no pandas: the Snakefile imports this."""

import dataclasses
import math
from pathlib import Path
from typing import NamedTuple

from auxmc.errors import DataError
from auxmc_pipeline.settings import CaseSettings, SettingsError, setting
from experiments.image_models.model import autoencoder_weights


class MethodSettings(NamedTuple):
    """Numbers of one method for one model."""

    step_size: float  # of the leapfrog integrator
    length: int = 0  # iterations of a chain as published; 0 where a method has no chains
    control_mass: float = 0.0  # of the temperature control; 0 where there is none


CHAIN_METHODS = ("st", "gibbs_ct", "ct_hmc")
METHODS = ("ais", "bidirectional", *CHAIN_METHODS)

_MNIST = {
    "ais": MethodSettings(0.3),
    "bidirectional": MethodSettings(0.08),
    "st": MethodSettings(0.25, 3_000),
    "gibbs_ct": MethodSettings(0.25, 10_000),
    "ct_hmc": MethodSettings(0.15, 7_500, 64.0),
}
_OMNIGLOT = {
    "ais": MethodSettings(0.4),
    "bidirectional": MethodSettings(0.08),
    "st": MethodSettings(0.4, 3_000),
    "gibbs_ct": MethodSettings(0.4, 10_000),
    "ct_hmc": MethodSettings(0.4, 7_500, 25.0),
}
# Published settings (thesis section 5.6.2 and the author's notebooks); our models have those of the like data.
_PUBLISHED = {"mnist": _MNIST, "omniglot": _OMNIGLOT, "own_digits": _MNIST, "own_glyphs": _OMNIGLOT}
# Inputs and outputs of the layers of the decoder, then of the encoder.
PUBLISHED_LAYERS = [(50, 200), (200, 200), (200, 784), (784, 200), (200, 200), (200, 50), (200, 50)]
# A row of pixels is kept as one integer, which float64 holds exactly up to this width.
_MAX_SIDE = 52


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: methods that estimate the evidence of the test images of one model."""

    model: str = setting(
        "own_digits",
        "image model: ours, of digits or of drawings of characters, or the author's, which are fetched or read from "
        "$AUXMC_DATA_DIR",
        autoencoder_weights.MODELS,
    )
    weights: str = setting("", "file or folder with your own weights; step sizes stay those of the model")
    method: str = setting(
        "gibbs_ct",
        "annealed importance sampling, the same in both directions, simulated tempering, Gibbs continuous tempering, "
        "continuously tempered HMC",
        METHODS,
    )
    n_images: int = setting(1000, "test images whose evidence is estimated", (2, 1_000_000))
    n_generated: int = setting(1000, "test images drawn; the first n_images are used", (2, 1_000_000))
    image_seed: int = setting(201702, "seed of the test images", (0, 2**32 - 1))
    n_zeta_draws: int = setting(100, "importance samples that give log zeta of an image", (1, 1_000_000))
    lanes_per_unit: int = setting(
        0,
        "chains or annealed runs of all images that one program advances together and that jobs share out; 0 for all",
        (0, 1_000_000),
    )
    n_repetitions: int = setting(10, "independent estimates (st, gibbs_ct, ct_hmc)", (2, 1000))
    annealed_repetitions: int = setting(10, "independent estimates (ais)", (2, 1000))
    length: float = setting(0.0, "chain length as a part of the published one; 0 for n_draws", (0.0, 100.0))
    n_runs: int = setting(16, "annealed runs of an image in an estimate (ais, bidirectional)", (2, 100_000))
    n_temperatures: int = setting(1000, "intervals of the ladder (ais)", (1, 1_000_000))
    st_temperatures: int = setting(1000, "intervals of the ladder (st)", (1, 1_000_000))
    bound_temperatures: int = setting(10_000, "intervals of the ladder (bidirectional)", (1, 1_000_000))
    step_size: float = setting(
        0.0,
        "leapfrog step, in standard deviations of the code (bidirectional: in units of the latent vector); 0 for the "
        "published one of model and method",
        (0.0, 100.0),
    )
    n_steps: int = setting(10, "leapfrog steps of an update", (1, 10_000))
    control_mass: float = setting(0.0, "mass of the temperature control; 0 for the published", (0.0, 1e6))
    precision: str = setting(
        "float32",
        "floating type of energies and chains; sums over images are always float64",
        ("float32", "float64"),
    )


def methods(settings: Settings) -> list[str]:
    """Methods that a case runs."""
    return list(settings.batch.get("method", [settings.method]))


def ladders(settings: Settings) -> list[int]:
    """Numbers of temperatures at which a case runs annealed importance sampling, in increasing order."""
    return sorted(settings.batch.get("n_temperatures", [settings.n_temperatures]))


def method_settings(settings: Settings, method: str) -> MethodSettings:
    """Numbers of a method: those of the settings, or the published ones."""
    published = _PUBLISHED[settings.model][method]
    length = round(settings.length * published.length) if settings.length else settings.n_draws
    return MethodSettings(
        settings.step_size or published.step_size,
        max(length, 1) if published.length else 0,
        settings.control_mass or published.control_mass,
    )


def check(settings: Settings) -> None:
    """Raises SettingsError for contradicting settings, and DataError for weights that cannot be used."""
    if settings.n_images > settings.n_generated:
        raise SettingsError(
            f"n_images must be at most n_generated={settings.n_generated}, got {settings.n_images}"
        )
    if "n_temperatures" in settings.batch and "ais" not in methods(settings):
        raise SettingsError("batch.n_temperatures: only method=ais runs with several ladders")
    if settings.weights:
        pixels = autoencoder_weights.read_autoencoder(settings.model, settings.weights).n_pixels
        side = math.isqrt(pixels)
        if side * side != pixels or side > _MAX_SIDE:
            raise DataError(
                f"{settings.weights}: the decoder has {pixels} outputs; images must be square, with at most "
                f"{_MAX_SIDE} pixels a side"
            )


def data_files(settings: Settings) -> list[str]:
    """Files whose content the result depends on."""
    files: list[Path] = []
    if settings.weights:
        source = Path(settings.weights)
        files += sorted(source.glob("*.npz")) if source.is_dir() else [source]
    elif settings.model in autoencoder_weights.OWN_MODELS:
        files.append(autoencoder_weights.own_weight_file(settings.model))
    for model in published_at_hand(settings):
        files += autoencoder_weights.local_published_files(model)
    return [str(file) for file in files]


def published_at_hand(settings: Settings) -> list[str]:
    """Published models that a case compares with what is published of them, without fetching anything."""
    if settings.model in autoencoder_weights.PUBLISHED_MODELS and not settings.weights:
        return [settings.model]
    if settings.model != "own_digits" or "bidirectional" not in methods(settings):
        return []
    at_hand = autoencoder_weights.local_published_files
    return [model for model in autoencoder_weights.PUBLISHED_MODELS if at_hand(model)]
