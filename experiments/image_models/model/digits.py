"""Handwritten digits that ship with the package (digits.md). NumPy and the standard library only."""

import io
import lzma
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_FILE = Path(__file__).with_name("digits.npy.xz")


class Digits(NamedTuple):
    """Images and what they show."""

    # grey levels, 0 for paper to 255 for ink (uint8) [image, 784], 28 rows of 28
    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]  # the digits (uint8) [image]


def read_digits() -> Digits:
    """The 10 000 digits, sorted by label."""
    table = np.load(io.BytesIO(lzma.decompress(_FILE.read_bytes())))
    return Digits(table[:, 1:], table[:, 0])
