"""A command that is killed at random moments with its children, and comes to its end."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.faults.long.long_runs import LongRunError
from tests.faults.storm import EVERYTHING, ONE, main, processes_of, storm

ENDS_AT_THE_FOURTH_START = """
import pathlib, subprocess, sys
starts = pathlib.Path("starts")
starts.write_text(starts.read_text() + "." if starts.exists() else ".")
if len(starts.read_text()) < 4 and subprocess.call(["sleep", "60"]):
    sys.exit("a job has failed")
"""


def test_a_command_is_killed_with_and_without_its_children_and_started_anew(tmp_path: Path) -> None:
    words = [sys.executable, "-S", "-c", ENDS_AT_THE_FOURTH_START]
    found = storm(tmp_path, words, 100, 0.4, np.random.default_rng(1))
    assert (tmp_path / "starts").read_text() == "...."
    # One that is killed before it has begun writes nothing.
    assert found["started"] >= 4
    # A kill of what an earlier start has left behind ends nothing.
    assert found[EVERYTHING] + found[ONE] >= 3


def test_a_command_is_left_alone_after_so_many_kills(tmp_path: Path) -> None:
    script = """
import pathlib, time
again = pathlib.Path("again")
if not again.exists():
    again.touch()
    time.sleep(20)
time.sleep(1)
"""
    found = storm(tmp_path, [sys.executable, "-S", "-c", script], 1, 0.4, np.random.default_rng(2))
    assert found["started"] == 2
    assert found[EVERYTHING] + found[ONE] == 1


def test_a_start_beside_processes_at_work_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.faults.storm.time.sleep", lambda seconds: None)
    refuses = """
import pathlib, sys
if not pathlib.Path("once").exists():
    pathlib.Path("once").touch()
    sys.exit("error: another run is at work in this folder; wait for it or stop it first")
"""
    found = storm(tmp_path, [sys.executable, "-c", refuses], 0, 1.0, np.random.default_rng(0))
    assert dict(found) == {"started": 2, "refused": 1}


def test_an_error_that_no_kill_explains_is_told(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "raise SystemExit('no results')"]
    with pytest.raises(LongRunError, match="exit status 1 without a kill: no results"):
        storm(tmp_path, words, 0, 1.0, np.random.default_rng(0))


def test_processes_of_a_session_are_found_while_they_live() -> None:
    words = [sys.executable, "-c", "import subprocess; subprocess.call(['sleep', '60'])"]
    process = subprocess.Popen(words, start_new_session=True)
    try:
        deadline = time.monotonic() + 20.0
        while len(processes_of({process.pid})) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        found = processes_of({process.pid})
        assert len(found) == 2
        assert process.pid in found
        assert processes_of(set()) == []
    finally:
        for victim in processes_of({process.pid}):
            subprocess.run(["kill", "-9", str(victim)], check=True)
        process.wait()
    while processes_of({process.pid}) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes_of({process.pid}) == []


@pytest.mark.parametrize("words", [["--kills", "0"], ["--every", "0"]])
def test_numbers_of_nothing_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert "must be above 0" in capsys.readouterr().err
