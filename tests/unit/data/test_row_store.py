"""Rows in a growing file: what is drawn is what was written, also after an interruption."""

import numpy as np
import pytest

from auxmc.data.row_store import RowStore

ROWS = np.random.default_rng(2).normal(size=(50, 3))


def test_draws_are_the_rows_in_the_type_of_the_file(tmp_path):
    store = RowStore(tmp_path / "made" / "rows.bin", 3)
    assert store.n_rows == 0
    store.append(ROWS[:20])
    store.append(ROWS[20:])
    numbers = np.array([[0, 49], [7, 7]])
    drawn = store.draw(numbers)
    assert drawn.shape == (2, 2, 3)
    assert drawn.dtype == np.float32
    np.testing.assert_array_equal(drawn, ROWS.astype(np.float32)[numbers])
    with pytest.raises(IndexError):
        store.draw(np.array([50]))
    store.save()
    store.close()
    assert (tmp_path / "made" / "rows.bin").stat().st_size == 50 * 3 * 4


def test_a_file_goes_on_after_a_row_that_was_cut_short(tmp_path):
    path = tmp_path / "rows.bin"
    first = RowStore(path, 3, np.float64)
    first.append(ROWS[:30])
    first.close()
    path.write_bytes(path.read_bytes()[:-5])
    second = RowStore(path, 3, np.float64)
    assert second.n_rows == 29
    second.append(ROWS[29:])
    np.testing.assert_array_equal(second.draw(np.arange(50)), ROWS)


def test_rows_behind_those_of_a_checkpoint_are_forgotten(tmp_path):
    store = RowStore(tmp_path / "rows.bin", 3, np.float64)
    store.append(ROWS)
    store.truncate(10)
    assert store.n_rows == 10
    store.append(ROWS[40:])
    np.testing.assert_array_equal(store.draw(np.arange(20)), np.concatenate([ROWS[:10], ROWS[40:]]))
    with pytest.raises(ValueError, match="holds 20 rows, fewer than the 21 that are needed"):
        store.truncate(21)
    store.truncate(0)
    assert store.draw(np.zeros(0, int)).shape == (0, 3)


def test_rows_of_another_width_are_rejected(tmp_path):
    store = RowStore(tmp_path / "rows.bin", 3)
    with pytest.raises(ValueError, match=r"rows must be \[row, 3\], got \[4, 2\]"):
        store.append(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="n_columns must be at least 1, got 0"):
        RowStore(tmp_path / "none.bin", 0)


def test_the_checksum_is_that_of_the_rows_however_they_came(tmp_path):
    rows = np.arange(60.0).reshape(20, 3)
    store = RowStore(tmp_path / "rows", 3)
    empty = store.checksum()
    store.append(rows[:7])
    seven = store.checksum()
    store.append(rows[7:])
    whole = store.checksum()
    store.truncate(7)
    assert store.checksum() == seven
    store.append(rows[7:])
    store.close()
    again = RowStore(tmp_path / "rows", 3)
    assert again.checksum() == whole
    assert not again.restore(21, whole)
    assert not again.restore(20, seven)
    assert again.restore(7, seven)
    assert again.n_rows == 7
    again.truncate(0)
    assert again.checksum() == empty
    again.append(rows + 1.0)
    assert again.checksum() != whole
    again.close()
