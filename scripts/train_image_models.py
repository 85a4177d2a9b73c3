"""Trains an image model and writes its weights: `python scripts/train_image_models.py --help`.

    PYTHONPATH=src python scripts/train_image_models.py digits
    PYTHONPATH=src python scripts/train_image_models.py glyphs
    PYTHONPATH=src python scripts/train_image_models.py my_images.npy --output my_weights.npz

The first two write `experiments/image_models/model/{digits,glyphs}_autoencoder.npz`, each in some
minutes on one core. The third trains on images of your own, for `weights=my_weights.npz` in the study image_models.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from auxmc.driver.runtime import configure

ROOT = Path(__file__).parents[1]
# Fewer stages where there are more images, so that both take about as many steps.
N_STAGES = {"digits": 5, "glyphs": 4}
N_DRAWINGS = 20
HELD_OUT = 10


def read_images(source: str, seed: int) -> np.ndarray:
    """Grey levels [image, pixel] (uint8), shuffled.

    Raises:
        ValueError: a file holds no such images.
    """
    from auxmc.driver.seeds import generator
    from experiments.image_models.model.digits import read_digits
    from experiments.image_models.model.glyphs import draw_glyphs, make_skeletons

    if source == "digits":
        images = read_digits()
    elif source == "glyphs":
        images = draw_glyphs(generator(seed, "glyphs"), make_skeletons(), N_DRAWINGS)
    else:
        images = np.load(source, allow_pickle=False)
        if (
            images.ndim != 2
            or images.dtype != np.uint8
            or round(images.shape[1] ** 0.5) ** 2 != images.shape[1]
        ):
            raise ValueError(
                f"{source}: must be a .npy file of square grey images [image, pixel], type uint8, 0 for paper to 255 "
                f"for ink, has shape {list(images.shape)} and type {images.dtype}"
            )
    return generator(seed, source, "order").permutation(images)


def main() -> int:
    """Trains and writes; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("source", help="digits, glyphs, or a .npy file of grey images [image, pixel] (uint8)")
    parser.add_argument("--output", type=Path, help=".npz file to write")
    parser.add_argument("--stages", type=int, help="stages of the training rule: 1, 3, 9, ... epochs")
    parser.add_argument("--importance", type=int, default=5, help="importance samples in a step (default 5)")
    parser.add_argument("--hidden", type=int, default=200, help="units of each hidden layer (default 200)")
    parser.add_argument("--latent", type=int, default=50, help="length of the latent vector (default 50)")
    parser.add_argument("--seed", type=int, default=20170717, help="root seed (default 20170717)")
    options = parser.parse_args()
    if options.source not in N_STAGES and options.output is None:
        parser.error("--output FILE.npz is needed with images of your own")
    configure("cpu")
    # Imported late: JAX must be configured before its first array.
    from importance_weighted_training import published_stages, train

    from auxmc.driver.progress import Progress
    from auxmc.driver.seeds import generator, stream
    from experiments.image_models.model.autoencoder import encode, initial_autoencoder, log_importance_weights
    from experiments.image_models.model.autoencoder_weights import own_weight_file, write_autoencoder

    try:
        images = read_images(options.source, options.seed)
        stages = published_stages(options.stages or N_STAGES.get(options.source, 5))
        n_held_out = max(1, len(images) // HELD_OUT)
        progress = Progress(f"training [{options.source}], in epochs")
        progress.start(sum(stage.n_epochs for stage in stages), 0, 0.0)
        start = initial_autoencoder(
            generator(options.seed, options.source, "start"),
            images[n_held_out:].mean(axis=0) / 255.0,
            options.hidden,
            options.latent,
        )
        model, curve = train(
            start,
            lambda model, image, noise: log_importance_weights(model, image, encode(model, image), noise),
            images[n_held_out:],
            images[:n_held_out],
            key=stream(options.seed, options.source, "training"),
            n_latent=options.latent,
            stages=stages,
            n_importance=options.importance,
            report=progress.advance,
        )
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    output = options.output or own_weight_file(f"own_{options.source}")
    write_autoencoder(output, model, {"objective": curve.objective, "held_out": curve.held_out})
    print(
        f"{output}: {output.stat().st_size} bytes; bound {curve.objective[-1]:.2f} nats an image in training, "
        f"{curve.held_out[-1]:.2f} held out; {curve.n_not_finite} steps without finite numbers"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
