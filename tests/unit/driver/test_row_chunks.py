"""Rows are cut into chunks without loss, in order, whatever blocks they come in."""

import numpy as np
import pytest

from auxmc.driver.row_chunks import ChunkSizes, cut_chunks, growing_chunks
from auxmc.driver.stream_program import CHUNKS_IN_BLOCK, pack

DATA = np.arange(2.0 * 107).reshape(107, 2)
SIZES = ChunkSizes((3, 6), 10)


def cut(data, step, wanted=4, number=0):
    blocks = (data[begin : begin + step] for begin in range(0, len(data), step))
    return list(cut_chunks(blocks, SIZES, number, 2, lambda: wanted))


@pytest.mark.parametrize("step", [1, 7, 10, 200])
@pytest.mark.parametrize("wanted", [1, 3, 4])
def test_nothing_is_lost_or_moved(step, wanted):
    lists = cut(DATA, step, wanted)
    chunks = [chunk for one in lists for chunk in one]
    np.testing.assert_array_equal(np.concatenate(chunks), DATA)
    assert [len(chunk) for chunk in chunks] == [3, 6, *[10] * 9, 8]
    assert max(map(len, lists)) == wanted
    assert len(lists[-1]) == 1


def test_a_resumed_stream_has_the_sizes_of_its_place():
    assert [[len(chunk) for chunk in one] for one in cut(DATA[:26], 5, number=1)] == [[6, 10, 10]]


def test_whole_chunks_before_a_fault_come_first():
    def blocks():
        yield DATA[:50]
        raise RuntimeError("row cannot be read")

    lists = cut_chunks(blocks(), SIZES, 0, 2, lambda: 4)
    assert [len(next(lists)) for _ in range(2)] == [4, 2]
    with pytest.raises(RuntimeError, match="row cannot be read"):
        next(lists)


def test_blocks_of_another_width_are_rejected():
    with pytest.raises(ValueError, match=r"rows must be \[row, 2\], got \[107\]"):
        list(cut_chunks(iter([DATA[:, 0]]), SIZES, 0, 2, lambda: 4))


def test_a_block_is_filled_up_with_zeros():
    block = pack([DATA[:3], DATA[3:9]], 10, np.float32)
    assert (block.rows.shape, block.rows.dtype) == ((CHUNKS_IN_BLOCK, 10, 2), np.float32)
    assert (block.n_chunks, block.n_valid.tolist()) == (2, [3, 6, *[0] * (CHUNKS_IN_BLOCK - 2)])
    np.testing.assert_array_equal(block.rows[1, :6], DATA[3:9])
    assert block.rows.sum() == DATA[:9].sum()


def test_growing_chunks_are_those_of_the_published_schedule():
    sizes = growing_chunks(20, 500)
    assert [sizes.of(i) for i in (0, 1, 2, 23, 24, 25)] == [20, 40, 60, 480, 500, 500]
    assert sum(sizes.of(i) for i in range(25)) == 6500
