"""Steps of the workflow say in a line what is wrong, and pass on the status of what they call."""

import contextlib
import subprocess
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from auxmc.driver.results import write_result
from auxmc.errors import DamagedFile
from auxmc_pipeline import tables
from auxmc_pipeline.report import __main__ as report
from auxmc_pipeline.steps import (
    check_claims,
    draw,
    export_tables,
    judge,
    publish,
    reproduce,
    restore,
    summarise,
    sweep,
    verify,
)
from auxmc_pipeline.steps import run as run_case

TABLES = ("--tables", "no")
OUT = ("--out", "out")
SWEEP = ("--summary", "s.parquet", "--curves", "c.parquet", "--figure", "f.png", "--files", "no.nc")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # A server takes seconds to start.
    monkeypatch.setattr(reproduce, "fork_server", lambda: contextlib.nullcontext({}))
    return tmp_path


@pytest.mark.parametrize(
    ("main", "words"),
    [
        (judge.main, ("radom", "quick", *TABLES, *OUT)),
        (judge.main, ("radon", "quick", *TABLES, *OUT)),
        (draw.main, ("radom", "quick", *TABLES, *OUT)),
        (draw.main, ("radon", "quick", *TABLES, *OUT)),
        (sweep.main, ("radom", *SWEEP)),
        (sweep.main, ("radon", *SWEEP)),
        (summarise.main, ("no.nc", "--folder", "t")),
        (export_tables.main, ("quick", *OUT)),
        (check_claims.main, ("quick", "radom")),
        (publish.main, ("quik",)),
        (restore.main, ("quik",)),
        (report.main, ("quick", "--out", "page.html")),
    ],
)
def test_a_wrong_word_or_a_missing_file_is_an_error_of_one_line(main, words, capsys):
    assert main([*words]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["study=gp_probit"], "out=FILE.nc is missing"),
        (["nonsense"], "expected KEY=VALUE, got 'nonsense'"),
        (["--help"], "usage"),
    ],
)
def test_the_command_of_a_case_explains_itself(words, says, capsys):
    with contextlib.suppress(SystemExit):
        assert run_case.main(words) == 2
    said = capsys.readouterr()
    assert says in said.out + said.err


def test_a_damaged_record_of_jobs_cannot_be_verified(monkeypatch, capsys):
    def damaged(path):
        raise DamagedFile(f"{path.name} is damaged")

    monkeypatch.setattr(verify, "read_jobs", damaged)
    assert verify.main(["quick", "--list"]) == 2
    assert capsys.readouterr().err == "error: pieces.csv is damaged\n"


def test_a_sweep_without_quantities_of_the_plot_has_a_plot_that_says_so(folder):
    statistics = xr.Dataset({"own": ("chain", np.arange(2.0))})
    write_result(folder / "a.nc", {"statistics": statistics}, {"settings": {"batch": {}}, "numbers": "n"})
    assert sweep.main(["radon", *SWEEP[:-1], "a.nc"]) == 0
    assert "own" in (folder / "s.csv").read_text()
    assert (folder / "f.png").stat().st_size > 3000
    assert (folder / "f.pdf").is_file()


def test_every_result_file_is_opened_once(folder, monkeypatch):
    groups = {name: xr.Dataset({name: ("chain", np.arange(2.0))}) for name in ("statistics", "curves")}
    write_result(folder / "a.nc", groups, {"settings": {"batch": {}}, "numbers": "n"})
    opened = []
    read = tables.read_groups
    monkeypatch.setattr(tables, "read_groups", lambda path, names: opened.append(path) or read(path, names))
    assert summarise.main(["a.nc", "--folder", "t"]) == 0
    assert opened == [Path("a.nc")]
    assert set(tables.load_tables(folder / "t")["chain"]) == {"case", "chain", "statistics", "curves"}


@pytest.mark.parametrize("status", [0, 3])
def test_a_run_ends_with_the_status_of_snakemake_and_says_where_all_is(status, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(subprocess, "call", lambda words, **_: status)
    assert reproduce.main(["smoke"]) == status
    page = (tmp_path / "results" / "smoke" / "report.html").as_uri()
    assert (f"report   {page}\n" in capsys.readouterr().out) == (status == 0)


def test_the_lock_of_a_run_that_was_killed_is_removed_and_no_other_command_runs(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(subprocess, "run", lambda words, **_: ran.append(words[-1]))
    monkeypatch.setattr(subprocess, "call", lambda words, **_: 0)
    reproduce.main(["smoke"])
    assert ran == []
    (tmp_path / ".snakemake" / "locks").mkdir(parents=True)
    (tmp_path / ".snakemake" / "locks" / "0.input.lock").touch()
    reproduce.main(["smoke"])
    assert ran == ["--unlock"]
