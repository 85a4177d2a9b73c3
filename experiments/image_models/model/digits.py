"""Handwritten digits that ship with the package (digits.md). NumPy and the standard library only."""

import io
import lzma
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_FILE = Path(__file__).with_name("digits.npy.xz")


def read_digits() -> NDArray[np.uint8]:
    """The 10 000 digits, sorted: grey levels, 0 for paper to 255 for ink (uint8) [image, 784], 28 rows of 28."""
    # The first column has their labels.
    return np.asarray(np.load(io.BytesIO(lzma.decompress(_FILE.read_bytes())))[:, 1:])
