"""Long runs of the campaign of faults: kills and memory of a run of seconds, comparison, and their part of the page."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.faults.long.__main__ import main, run_to_the_end
from tests.faults.long.long_runs import (
    LongRun,
    LongRunError,
    Memory,
    differences,
    flat,
    in_words,
    quarters,
    read_section,
    section,
    with_row,
)
from tests.faults.long.long_works import LongWork, write_rows
from tests.faults.outcomes import Row, page, read_page

ROW = LongRun("rows", "1,000", "3 times", "0 of 2", "1.0", "2.0", "1, then 1; at most 1", "2", "today")


def test_memory_is_that_of_settled_processes_while_there_is_work() -> None:
    found = [Memory(0.1, 1.0, 900.0), Memory(0.9, 2.0, 900.0), Memory(1.0, 60.0, 2000.0)]
    found += [Memory(share / 100.0, 30.0, 100.0 + share) for share in range(100)]
    assert quarters(found) == (112.0, 187.0)
    assert not flat(found)
    assert flat([Memory(share / 100.0, 30.0, 100.0) for share in range(100)])
    assert in_words(found) == "112, then 187; at most 2000"
    assert all(math.isnan(part) for part in quarters([]))
    assert not flat([])


def test_an_array_differs_by_one_bit_by_its_type_or_by_missing() -> None:
    same = np.array([0.0, np.nan])
    other = {"same": same.copy(), "sign": np.array([-0.0, 1.0]), "type": np.ones(2, np.float32), "new": same}
    first = {"same": same, "sign": np.array([0.0, 1.0]), "type": np.ones(2), "old": same}
    assert differences(first, first) == (4, 8, [])
    n_arrays, n_numbers, differ = differences(first, other)
    assert (n_arrays, n_numbers, sorted(differ)) == (5, 6, ["new", "old", "sign", "type"])


def test_texts_are_compared_by_what_they_say() -> None:
    def arrays(word: str) -> dict[str, np.ndarray]:
        return {"objects": np.array(["".join(["mod", word]), None], dtype=object), "texts": np.array(["µ"])}

    assert differences(arrays("el"), arrays("el")) == (2, 3, [])
    assert differences(arrays("el"), arrays("es"))[2] == ["objects"]


def test_the_campaign_and_long_runs_write_one_page() -> None:
    rows = [Row("settings", "a setting", (1, 2, 0, 0), 0, "")]
    text = with_row(page(rows, ["settings"], 20), ROW)
    assert read_section(text) == [ROW]
    assert read_page(text) == rows
    other = ROW._replace(what="iterations")
    text = with_row(with_row(text, other), ROW._replace(size="2,000"))
    assert read_section(text) == [other, ROW._replace(size="2,000")]
    assert page(rows, ["settings"], 20, section(read_section(text))) == text
    assert section([]) == ""


def test_rows_depend_on_the_seed_alone(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_rows(tmp_path / name, 1000, seed)
    one, again, other = (np.load(tmp_path / name) for name in "abc")
    assert one.shape == (1000, 3)
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)
    residuals = one[:, 2] - one[:, :2] @ np.array([0.5, -1.0])
    assert 0.8 < residuals.std() < 1.2


COUNTS = """
import pathlib, time
kept = pathlib.Path("kept")
for number in range(int(kept.read_text()) if kept.exists() else 0, 8):
    time.sleep(0.25)
    kept.write_text(str(number + 1))
    if STOPS: time.sleep(60)
"""


def counting(stops: int) -> LongWork:
    def saved(folder: Path) -> float:
        text = (folder / "kept").read_text() if (folder / "kept").exists() else ""
        return 0.0 if stops else int(text or 0) / 8

    return LongWork(
        "counting", [sys.executable, "-c", COUNTS.replace("STOPS", str(stops))], saved, lambda _: {}
    )


def test_a_run_is_killed_and_started_anew_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.faults.long.__main__._LOOK_EVERY_S", 0.05)
    watched = run_to_the_end(counting(0), tmp_path, 1.0, np.random.default_rng(0))
    assert (tmp_path / "kept").read_text() == "8"
    assert watched.n_kills >= 1
    assert max(one.share for one in watched.memory) >= 0.5
    assert min(one.mib for one in watched.memory) > 0.0


def test_a_run_that_saves_nothing_between_kills_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.faults.long.__main__._LOOK_EVERY_S", 0.05)
    with pytest.raises(LongRunError, match="saved nothing: give a longer --every"):
        run_to_the_end(counting(1), tmp_path, 0.2, np.random.default_rng(0))


def test_an_error_of_the_run_is_told(tmp_path: Path) -> None:
    work = counting(0)._replace(words=[sys.executable, "-c", "raise SystemExit('no rows')"])
    with pytest.raises(LongRunError, match="left alone: exit status 1 after 0 kills: no rows"):
        run_to_the_end(work, tmp_path, None, np.random.default_rng(0))


@pytest.mark.parametrize("words", [["stream", "--size", "0.5"], ["stream", "--every", "0"], ["nothing"]])
def test_wrong_words_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert "error" in capsys.readouterr().err


def test_what_does_not_fit_on_the_disk_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stream", "--size", "1e15", "--folder", str(tmp_path)]) == 1
    assert "give a smaller --size, or another --folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
