"""Drawings of characters of many scripts, made from the fonts that come with matplotlib.

A character is rendered large and thinned. Each drawing bends its skeleton at random and follows it with a pen of random
width. Characters that the fonts lack, that look like another one or that nearly vanish when thinned are passed over.
"""

import itertools
import unicodedata
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from auxmc.numerics.array_types import BooleanArray, IntegerArray

Float32Array = NDArray[np.float32]
N_SIDE = 28  # Rows and columns of a drawing

BLOCKS: dict[str, tuple[int, int]] = {  # First and last code points of the scripts.
    "Latin": (0x41, 0x24F),
    "International Phonetic Alphabet": (0x250, 0x2AF),
    "Greek and Coptic": (0x370, 0x3FF),
    "Cyrillic": (0x400, 0x52F),
    "Armenian": (0x530, 0x58F),
    "Hebrew": (0x5D0, 0x5EA),
    "Arabic": (0x620, 0x6FF),
    "N'Ko": (0x7C0, 0x7EA),
    "Lao": (0xE80, 0xEAF),
    "Georgian": (0x10A0, 0x10FF),
    "Canadian Aboriginal syllabics": (0x1400, 0x167F),
    "Ogham": (0x1680, 0x169F),
    "Tifinagh": (0x2D30, 0x2D7F),
    "Mathematical operators": (0x2200, 0x22FF),
    "Lisu": (0xA4D0, 0xA4FF),
}

_FONTS = ("DejaVuSans.ttf", "STIXGeneral.ttf")
_CATEGORIES = ("Lu", "Ll", "Lo", "Sm")
# Points of the font, side of the square in which a character is thinned, and its margin, in pixels.
_POINTS, _SIDE, _MARGIN = 48.0, 48, 6
_MIN_SKELETON = 9
_AT_A_TIME = 1000  # Drawings made at a time: enough to vectorise, few enough for the cache.


class Skeletons(NamedTuple):
    """Characters as distances from their skeletons."""

    # from points of a square to the skeleton, in units of the side of the square [character, side, side]
    distances: Float32Array
    characters: tuple[str, ...]  # [character]


def make_skeletons(blocks: dict[str, tuple[int, int]] = BLOCKS) -> Skeletons:
    """Renders and thins the letters and mathematical symbols, without accents, of scripts with these code points."""
    distinct: dict[bytes, tuple[str, BooleanArray]] = {}
    for character, bitmap in _rendered(blocks):
        distinct.setdefault(bitmap.tobytes(), (character, bitmap))
    if not distinct:
        raise ValueError(f"the fonts of matplotlib have no character of these scripts: {', '.join(blocks)}")
    characters, bitmaps = zip(*distinct.values(), strict=True)
    skeletons = thin(np.stack(bitmaps))
    kept = [i for i, skeleton in enumerate(skeletons) if skeleton.sum() >= _MIN_SKELETON]
    distances = np.stack([distance_transform_edt(~skeletons[i]) for i in kept]) / _SIDE
    return Skeletons(distances.astype(np.float32), tuple(characters[i] for i in kept))


def draw_glyphs(rng: np.random.Generator, skeletons: Skeletons, n_drawings: int) -> NDArray[np.uint8]:
    """Draws each character `n_drawings` times, one after the other; ValueError if the number is not positive.

    Returns grey levels, 0 for paper to 255 for ink (uint8) [image, 784], row by row.
    """
    if n_drawings < 1:
        raise ValueError(f"n_drawings must be at least 1, got {n_drawings}")
    which = np.repeat(np.arange(len(skeletons.characters)), n_drawings)
    images = np.empty((which.size, N_SIDE * N_SIDE), dtype=np.uint8)
    for first in range(0, which.size, _AT_A_TIME):
        part = which[first : first + _AT_A_TIME]
        distance = _interpolated(skeletons.distances, part, _places(rng, part.size))
        half_width = rng.uniform(0.022, 0.034, size=(part.size, 1)).astype(np.float32)
        # The edge of a line is as soft as a pixel is wide.
        ink = 1.0 / (1.0 + np.exp(np.minimum((distance - half_width) * (4.0 * N_SIDE), 50.0)))
        images[first : first + part.size] = np.round(255.0 * ink)
    return images


def thin(bitmaps: BooleanArray) -> BooleanArray:
    """Thins shapes with an empty margin [shape, row, column] to lines one pixel wide.

    What is connected stays so. See Zhang and Suen, A fast parallel algorithm for thinning digital patterns,
    Communications of the ACM 27(3), 1984.
    """
    skeletons = bitmaps.copy()
    # Thick shapes take many rounds; those that no longer change are left alone.
    active = np.arange(len(skeletons))
    while active.size:
        shapes = skeletons[active]
        for phase in (0, 1):
            shapes &= ~_removable(shapes, phase)
        changed = (shapes != skeletons[active]).any(axis=(1, 2))
        skeletons[active] = shapes
        active = active[changed]
    return skeletons


def _removable(shapes: BooleanArray, phase: int) -> BooleanArray:
    # Neighbours from the one above, clockwise.
    steps = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
    around = np.stack([np.roll(shapes, (-row, -column), axis=(1, 2)) for row, column in steps])
    count = around.sum(axis=0, dtype=np.int8)
    changes = (~around & np.roll(around, -1, axis=0)).sum(axis=0, dtype=np.int8)
    above, right, below, left = around[0], around[2], around[4], around[6]
    if phase == 0:
        open_side = ~(above & right & below) & ~(right & below & left)
    else:
        open_side = ~(above & right & left) & ~(above & below & left)
    return shapes & (count >= 2) & (count <= 6) & (changes == 1) & open_side


def _rendered(blocks: dict[str, tuple[int, int]]) -> list[tuple[str, BooleanArray]]:
    """Characters that the fonts have, each with a bitmap scaled to the square."""
    # Imported late: only the making of images needs it.
    import matplotlib
    from matplotlib.ft2font import FT2Font

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    fonts = [FT2Font(str(folder / name)) for name in _FONTS]
    covered = [font.get_charmap() for font in fonts]
    found = []
    for code in itertools.chain.from_iterable(range(first, last + 1) for first, last in blocks.values()):
        character = chr(code)
        if unicodedata.category(character) not in _CATEGORIES or unicodedata.decomposition(character):
            continue
        font = next((font for font, codes in zip(fonts, covered, strict=True) if code in codes), None)
        if font is None:
            continue
        font.set_size(_POINTS, 72.0)
        font.set_text(character, 0.0)
        font.draw_glyphs_to_bitmap(antialiased=False)
        bitmap = np.asarray(font.get_image()) > 0
        if bitmap.any():
            found.append((character, _centred(bitmap)))
    return found


def _centred(bitmap: BooleanArray) -> BooleanArray:
    """The ink of a bitmap, scaled to fill the square up to its margin in the longer direction."""
    rows, columns = (np.flatnonzero(bitmap.any(axis=axis)) for axis in (1, 0))
    ink = bitmap[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    scale = (_SIDE - 2 * _MARGIN) / max(ink.shape)
    sides = [max(1, round(scale * side)) for side in ink.shape]
    index = [
        np.minimum((np.arange(side) + 0.5) * size / side, size - 1).astype(int)
        for side, size in zip(sides, ink.shape, strict=True)
    ]
    square = np.zeros((_SIDE, _SIDE), dtype=bool)
    top, left = ((_SIDE - side) // 2 for side in sides)
    square[top : top + sides[0], left : left + sides[1]] = ink[np.ix_(*index)]
    return square


def _places(rng: np.random.Generator, n: int) -> Float32Array:
    """Where in the square of its character each pixel of a drawing lies [row and column, drawing, pixel], in [0, 1]."""
    side = (np.arange(N_SIDE) + 0.5) / N_SIDE
    rows, columns = (grid.ravel() for grid in np.meshgrid(side, side, indexing="ij"))
    angle, shear = rng.normal(0.0, 0.12, n), rng.normal(0.0, 0.12, n)
    stretch = np.exp(rng.normal(0.0, 0.1, (2, n))) * rng.uniform(0.95, 1.15, n)
    cos, sin = np.cos(angle), np.sin(angle)
    # Rows of the matrix that turns what a shear of the rows and a stretch have left.
    affine = stretch[:, None] * np.stack([[cos, cos * shear - sin], [sin, sin * shear + cos]])
    shift = rng.normal(0.0, 0.03, (2, n))
    # Bending: sines that vanish at the border, of one and of two half waves in each direction.
    waves = np.stack([np.sin(np.pi * k * rows) * np.sin(np.pi * m * columns) for k in (1, 2) for m in (1, 2)])
    bend = rng.normal(0.0, 0.03, (2, n, len(waves)))
    # One matrix product: coefficients of each drawing times functions of the pixels.
    coefficients = np.concatenate([np.moveaxis(affine, 1, -1), (0.5 + shift)[..., None], bend], axis=-1)
    functions = np.concatenate([[rows - 0.5, columns - 0.5, np.ones(rows.size)], waves])
    return coefficients.astype(np.float32) @ functions.astype(np.float32)


def _interpolated(fields: Float32Array, which: IntegerArray, places: Float32Array) -> Float32Array:
    """Fields [field, side, side] at places [2, drawing, pixel], bilinear, constant beyond the border."""
    side = fields.shape[1]
    at = np.clip(places * side - 0.5, 0.0, side - 1.0001)
    low = at.astype(np.int64)
    below, beyond = at - low
    flat = fields.reshape(-1)
    corner = (which[:, None] * side + low[0]) * side + low[1]
    top = flat[corner] * (1.0 - beyond) + flat[corner + 1] * beyond
    bottom = flat[corner + side] * (1.0 - beyond) + flat[corner + side + 1] * beyond
    return top * (1.0 - below) + bottom * below
