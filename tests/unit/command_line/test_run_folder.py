"""Folders of runs: what is the user's stays, and what is not known to be a run's is rejected."""

import json
import shutil

import pandas as pd
import pytest

from auxmc.command_line import main
from auxmc.command_line.own_models.output import OutputFolder
from auxmc.command_line.stream_session import StreamFolder
from auxmc.errors import CommandError

FOLDERS = pytest.mark.parametrize("kind", [OutputFolder, StreamFolder])
MODEL = "def log_density(v):\n    return -0.5 * v['x'] ** 2\n\nstart = {'x': 0.0}\n"


def _begun(kind, path, seed=1):
    """A run of which a file of its state and one of its results are there."""
    folder = kind(path, {"seed": seed})
    folder.begin()
    for name in ("state/chain0000/block000000.npz", "state/stream/block000000.npz", folder.results[0]):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text("")
    return folder


def _files(path):
    return sorted(str(one.relative_to(path)) for one in path.rglob("*") if one.is_file())


@pytest.mark.parametrize("words", [["--set", "bogus=1"], ["--restart", "--set", "bogus=1"]])
def test_a_rejected_call_leaves_the_users_own_state_alone(tmp_path, words):
    (tmp_path / "m.py").write_text(MODEL)
    (tmp_path / "out" / "state").mkdir(parents=True)
    (tmp_path / "out" / "state" / "thesis.txt").write_text("mine")
    assert main(["sample", str(tmp_path / "m.py"), "--output", str(tmp_path / "out"), *words]) == 2
    assert _files(tmp_path / "out") == ["state/thesis.txt"]


@FOLDERS
def test_restart_throws_away_what_is_a_runs_and_nothing_else(tmp_path, kind):
    (tmp_path / "state").mkdir()
    for name in ("thesis.txt", "state/thesis.txt"):
        (tmp_path / name).write_text("mine")
    _begun(kind, tmp_path)
    # Only when the run that takes its place begins.
    again = kind(tmp_path, {"seed": 2}, restart=True)
    assert "state/stream/block000000.npz" in _files(tmp_path)
    again.begin()
    assert _files(tmp_path) == ["settings.json", "state/thesis.txt", "thesis.txt"]


@FOLDERS
def test_a_run_without_draws_is_forgotten_and_one_with_draws_kept(tmp_path, kind):
    folder = kind(tmp_path / "new", {"seed": 1})
    folder.begin()
    (folder.state / "chain0000").mkdir(parents=True)
    folder.forget()
    assert list(folder.path.iterdir()) == []
    _begun(kind, tmp_path / "old").forget()
    assert "settings.json" in _files(tmp_path / "old")


@FOLDERS
def test_another_run_is_rejected_by_what_differs(tmp_path, kind):
    _begun(kind, tmp_path)
    kind(tmp_path, {"seed": 1})
    with pytest.raises(CommandError, match=r"a run with other settings \(seed: 1 there, 2 now\).* --restart"):
        kind(tmp_path, {"seed": 2})
    # Results alone say whose they are, too.
    (tmp_path / "state" / "stream" / "block000000.npz").unlink()
    (tmp_path / "state" / "chain0000" / "block000000.npz").unlink()
    with pytest.raises(CommandError, match="seed: 1 there, 2 now"):
        kind(tmp_path, {"seed": 2})


@FOLDERS
@pytest.mark.parametrize("text", ["[1, 2]", '{"numbers": [1]}', "{}", "{"])
@pytest.mark.parametrize("restart", [False, True])
def test_settings_of_something_else_are_rejected(tmp_path, kind, text, restart):
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(CommandError, match=r"settings.json: expected settings of a run \(") as caught:
        kind(tmp_path, {"seed": 1}, restart=restart)
    assert "choose another folder" in str(caught.value)
    assert (tmp_path / "settings.json").read_text() == text


@FOLDERS
def test_results_without_settings_are_rejected(tmp_path, kind):
    (tmp_path / kind.results[0]).write_text("mine")
    for restart in (False, True):
        with pytest.raises(CommandError, match=f"has {kind.results[0]} but no settings.json"):
            kind(tmp_path, {"seed": 1}, restart=restart)


def test_settings_say_what_the_results_depend_on(tmp_path):
    OutputFolder(tmp_path, {"shape": (2, 3)}).begin({"data": "rows.csv"})
    about = json.loads((tmp_path / "settings.json").read_text())
    assert about["numbers"] == {"shape": [2, 3]}
    assert about["data"] == "rows.csv"
    assert about["environment"]["packages"]["jax"]


def test_tables_of_a_run_that_was_deleted_are_not_written(tmp_path):
    folder = StreamFolder(tmp_path / "run", {"chunk_rows": 10})
    folder.begin()
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(CommandError, match="was deleted or emptied during the run"):
        folder.write_table("record", pd.DataFrame({"n_rows": [10]}))
    assert not (tmp_path / "run").exists()
