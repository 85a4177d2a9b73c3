"""Rows are packed into chunks without loss, in order, whatever blocks they come in."""

import numpy as np
import pytest

from auxmc.driver.row_chunks import ChunkSizes, growing_chunks, packed_chunks

DATA = np.arange(2.0 * 107).reshape(107, 2)
SIZES = ChunkSizes((3, 6), 10)


def pack(data, step, wanted=4, first=0):
    blocks = (data[begin : begin + step] for begin in range(0, len(data), step))
    return list(packed_chunks(blocks, SIZES, first, 2, np.float64, 4, lambda: wanted))


@pytest.mark.parametrize("step", [1, 7, 10, 200])
@pytest.mark.parametrize("wanted", [1, 3, 4])
def test_nothing_is_lost_or_moved(step, wanted):
    packed = pack(DATA, step, wanted)
    np.testing.assert_array_equal(np.concatenate([block.joined() for block in packed]), DATA)
    lengths = np.concatenate([block.n_valid[: block.n_chunks] for block in packed])
    assert lengths.tolist() == [3, 6, *[10] * 9, 8]
    assert [block.partial for block in packed] == [False] * (len(packed) - 1) + [True]
    assert max(block.n_chunks for block in packed) == wanted
    for block in packed:
        for place in range(block.n_chunks):
            assert not block.rows[place, block.n_valid[place] :].any()
        assert not block.rows[block.n_chunks :].any()


def test_a_continued_stream_has_the_sizes_of_its_place():
    packed = pack(DATA[:26], 5, first=1)
    assert packed[0].n_valid.tolist() == [6, 10, 10, 0]
    assert not packed[-1].partial


def test_whole_chunks_before_a_fault_come_first():
    def blocks():
        yield DATA[:50]
        raise RuntimeError("row cannot be read")

    packed = packed_chunks(blocks(), SIZES, 0, 2, np.float64, 4, lambda: 4)
    assert [next(packed).n_chunks for _ in range(2)] == [4, 2]
    with pytest.raises(RuntimeError, match="row cannot be read"):
        next(packed)


def test_blocks_of_another_width_are_rejected():
    with pytest.raises(ValueError, match=r"rows must be \[row, 2\], got \[107\]"):
        list(packed_chunks(iter([DATA[:, 0]]), SIZES, 0, 2, np.float64, 4, lambda: 4))


def test_growing_chunks_are_those_of_the_published_schedule():
    sizes = growing_chunks(20, 500)
    assert [sizes.of(i) for i in (0, 1, 2, 23, 24, 25)] == [20, 40, 60, 480, 500, 500]
    assert sum(sizes.of(i) for i in range(25)) == 6500
