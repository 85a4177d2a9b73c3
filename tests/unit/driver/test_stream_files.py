"""Record and state of a stream on disk: as many files however long it is, and nothing behind the last state counts."""

from pathlib import Path

import numpy as np
import pytest

from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.stream_files import StreamFiles
from auxmc.numerics.array_types import NamedArrays

LEAVES = [np.arange(3.0), np.array(7, np.int32)]


def part(begin: int, n: int = 4) -> NamedArrays:
    return {"n_rows": np.arange(begin, begin + n), "log_evidence": -0.5 * np.arange(begin, begin + n)}


def test_what_was_saved_in_parts_is_read_as_one(tmp_path: Path) -> None:
    files = StreamFiles(Checkpoint(tmp_path / "state", "these"))
    assert files.load(LEAVES) is None
    for i in range(5):
        files.save([part(4 * i), part(100 + 4 * i)], [leaf + i for leaf in LEAVES], float(i))
        n_files = len(list((tmp_path / "state").iterdir()))
        assert n_files == 3
    saved = StreamFiles(Checkpoint(tmp_path / "state", "these")).load(LEAVES)
    assert saved is not None
    for record, begin in zip(saved.records, (0, 100), strict=True):
        for name, values in part(begin, 20).items():
            np.testing.assert_array_equal(record[name], values)
    np.testing.assert_array_equal(saved.leaves[0], LEAVES[0] + 4)
    assert saved.run_s == 4.0


def test_chunks_that_the_state_does_not_know_of_are_cut_off(tmp_path: Path) -> None:
    files = StreamFiles(Checkpoint(tmp_path, "these"))
    files.save([part(0)], LEAVES, 1.0)
    # As if the process had been killed between the record and the state.
    record = tmp_path / "record0.bin"
    record.write_bytes(record.read_bytes() + b"\x01" * 37)
    again = StreamFiles(Checkpoint(tmp_path, "these"))
    saved = again.load(LEAVES)
    assert saved is not None
    assert saved.records[0]["n_rows"].tolist() == [0, 1, 2, 3]
    again.save([part(4)], LEAVES, 2.0)
    saved = StreamFiles(Checkpoint(tmp_path, "these")).load(LEAVES)
    assert saved is not None
    assert saved.records[0]["n_rows"].tolist() == list(range(8))


def test_a_changed_bit_is_named_and_the_stream_begins_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "state"
    for name in ("state.npz", "record0.bin"):
        size = 0
        for place in range(0, 10_000, 97):
            StreamFiles(Checkpoint(folder, "these")).save([part(0)], LEAVES, 1.0, past=7)
            content = bytearray((folder / name).read_bytes())
            size = len(content)
            if place >= size:
                break
            content[place] ^= 16
            (folder / name).write_bytes(bytes(content))
            saved = StreamFiles(Checkpoint(folder, "these")).load(LEAVES)
            said = capsys.readouterr().err
            if saved is None:
                assert "state is damaged (" in said
                assert said.count("\n") == 1
                assert not list(folder.iterdir())
            else:  # a bit that nothing depends on, such as a date
                np.testing.assert_array_equal(saved.leaves[0], LEAVES[0])
                np.testing.assert_array_equal(saved.records[0]["log_evidence"], part(0)["log_evidence"])
                assert (saved.run_s, saved.past) == (1.0, 7)
        assert 0 < size <= place


def test_what_does_not_fit_is_discarded(tmp_path: Path) -> None:
    for identity, like in (("others", LEAVES), ("these", LEAVES[:1]), ("these", [np.arange(4.0), LEAVES[1]])):
        StreamFiles(Checkpoint(tmp_path / "state", "these")).save([part(0)], LEAVES, 1.0)
        assert StreamFiles(Checkpoint(tmp_path / "state", identity)).load(like) is None
        assert not list((tmp_path / "state").iterdir())
    StreamFiles(Checkpoint(tmp_path / "state", "these")).save([part(0)], LEAVES, 1.0)
    (tmp_path / "state" / "record0.bin").write_bytes(b"")
    assert StreamFiles(Checkpoint(tmp_path / "state", "these")).load(LEAVES) is None
