"""Cuts blocks of rows of any length into chunks of given sizes, several chunks in an array."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from auxmc.numerics.array_types import FloatArray

__all__ = ["ChunkSizes", "PackedChunks", "growing_chunks", "packed_chunks"]


class ChunkSizes(NamedTuple):
    """How rows are cut into chunks.

    Attributes:
        first: sizes of the first chunks.
        later: size of all others, at least as large as the first ones.
    """

    first: tuple[int, ...] = ()
    later: int = 500

    def of(self, number: int) -> int:
        """Size of a chunk, counted from 0."""
        return self.first[number] if number < len(self.first) else self.later


def growing_chunks(step: int, later: int) -> ChunkSizes:
    """Chunks of step, 2 step, 3 step, ... rows up to a size that they keep (MSc thesis, section 4.1)."""
    return ChunkSizes(tuple(range(step, later, step)), later)


class PackedChunks(NamedTuple):
    """Consecutive chunks.

    Attributes:
        rows: [place, row, column]; rows beyond a chunk's length are zeros.
        n_valid: rows of each chunk [place], int32.
        n_chunks: places that are taken.
        partial: whether this is a single chunk shorter than its size, because the rows ended.
    """

    rows: NDArray[Any]
    n_valid: NDArray[np.int32]
    n_chunks: int
    partial: bool

    def joined(self) -> NDArray[Any]:
        """All rows, one after the other [row, column]."""
        parts = [self.rows[i, : self.n_valid[i]] for i in range(self.n_chunks)]
        return np.concatenate(parts)


def packed_chunks(
    blocks: Iterator[FloatArray],
    sizes: ChunkSizes,
    first: int,
    n_columns: int,
    dtype: DTypeLike,
    n_places: int,
    wanted: Callable[[], int],
) -> Iterator[PackedChunks]:
    """Packs rows into arrays of one shape.

    Args:
        blocks: rows [row, column], in blocks of any length.
        sizes: of the chunks.
        first: number of the first chunk.
        n_columns: numbers in a row.
        dtype: of the arrays.
        n_places: chunks for which an array has room.
        wanted: how many chunks to put into the next array, asked when its first row comes; at most n_places.

    Yields:
        Arrays of whole chunks, then, where rows are left over, one with the partial chunk that they make.

    Raises:
        ValueError: a block has another number of columns.
        Exception: whatever `blocks` raises, after the whole chunks before it have been handed over; what is left over
            then is not.
    """
    number = first
    packed = _Packing(n_places, sizes.later, n_columns, dtype)
    n_wanted = wanted()
    filled = 0
    fault: Exception | None = None
    while fault is None:
        try:
            block = next(blocks, None)
            if block is not None and (block.ndim != 2 or block.shape[1] != n_columns):
                raise ValueError(f"rows must be [row, {n_columns}], got {list(block.shape)}")
        except Exception as error:
            fault, block = error, None
        if block is None:
            break
        begin = 0
        while begin < len(block):
            taken = min(len(block) - begin, sizes.of(number) - filled)
            packed.rows[packed.n_chunks, filled : filled + taken] = block[begin : begin + taken]
            begin, filled = begin + taken, filled + taken
            if filled == sizes.of(number):
                packed.close(filled)
                number, filled = number + 1, 0
                if packed.n_chunks >= n_wanted:
                    yield packed.done()
                    packed = _Packing(n_places, sizes.later, n_columns, dtype)
                    n_wanted = wanted()
    left = packed.rows[packed.n_chunks, :filled].copy() if filled else None
    if packed.n_chunks:
        if filled:
            packed.rows[packed.n_chunks] = 0
        yield packed.done()
    if fault is not None:
        raise fault
    if left is not None:
        rest = _Packing(n_places, sizes.later, n_columns, dtype)
        rest.rows[0, :filled] = left
        rest.close(filled)
        yield rest.done(partial=True)


class _Packing:
    """Arrays being filled. New ones each time: those handed over may still be in use."""

    def __init__(self, n_places: int, size: int, n_columns: int, dtype: DTypeLike) -> None:
        self.rows = np.zeros((n_places, size, n_columns), dtype)
        self.n_valid = np.zeros(n_places, np.int32)
        self.n_chunks = 0

    def close(self, n_rows: int) -> None:
        self.n_valid[self.n_chunks] = n_rows
        self.n_chunks += 1

    def done(self, partial: bool = False) -> PackedChunks:
        return PackedChunks(self.rows, self.n_valid, self.n_chunks, partial)
