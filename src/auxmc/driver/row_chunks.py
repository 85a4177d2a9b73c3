"""Chunks of given sizes from blocks of rows of any length."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from auxmc.numerics.array_types import FloatArray


class ChunkSizes(NamedTuple):
    """Sizes of the first chunks, and of all later ones, which is at least as large."""

    first: tuple[int, ...] = ()
    later: int = 500

    def of(self, number: int) -> int:
        """Returns the size of a chunk, counted from 0."""
        return self.first[number] if number < len(self.first) else self.later


def growing_chunks(step: int, later: int) -> ChunkSizes:
    """Returns chunks of step, 2 step, 3 step, ... rows up to a size that they keep (MSc thesis, section 4.1)."""
    return ChunkSizes(tuple(range(step, later, step)), later)


def cut_chunks(
    blocks: Iterator[FloatArray], sizes: ChunkSizes, number: int, n_columns: int, wanted: Callable[[], int]
) -> Iterator[list[FloatArray]]:
    """Yields lists of whole chunks, then, where rows are left over, a list of the one short chunk that they make.

    Blocks of rows [row, n_columns] have any length. `number` is the number of the first chunk; `wanted` returns how
    many chunks to put into the next list. What `blocks` raises comes after the whole chunks before it; rows left over
    are lost then.
    """
    fault: Exception | None = None
    chunks, n_wanted = list[FloatArray](), wanted()
    parts, n_rows = list[FloatArray](), 0
    try:
        for block in blocks:
            if block.ndim != 2 or block.shape[1] != n_columns:
                raise ValueError(f"rows must be [row, {n_columns}], got {list(block.shape)}")
            left = block
            while len(left):
                part, left = np.split(left, [sizes.of(number) - n_rows])
                parts.append(part)
                n_rows += len(part)
                if n_rows == sizes.of(number):
                    chunks.append(np.concatenate(parts))
                    parts, n_rows, number = [], 0, number + 1
                if len(chunks) >= n_wanted:
                    yield chunks
                    chunks, n_wanted = [], wanted()
    except Exception as error:
        fault = error
    if chunks:
        yield chunks
    if fault is not None:
        raise fault
    if parts:
        yield [np.concatenate(parts)]
