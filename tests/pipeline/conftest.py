"""Copies of the project in temporary folders, in which the workflow runs for real."""

import os
import re
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from auxmc.driver.results import read_result
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.digests import lasting_arrays
from auxmc_pipeline.judging.verdicts import VERDICTS
from auxmc_pipeline.tables import load_tables
from tests.copies import copied, python_path
from tests.unit.experiments.record import recorded_tables

PARTS = ["docs", "experiments", "profiles", "published", "src", "workflow", "Snakefile"]
PARTS += ["pyproject.toml", "requirements.lock"]

SMOKE = ("--config", "preset=smoke")


def assert_identical(one, other):
    """Two result files hold the same arrays to the last bit, times and speeds left aside."""
    first, second = (lasting_arrays(read_result(path)) for path in (one, other))
    assert first.keys() == second.keys()
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name], err_msg=name)


def planned(project, *words):
    """Jobs by rule, from the table that a dry run prints."""
    done = project.snakemake("-n", *words)
    table = (done.stdout + done.stderr).partition("Job stats:")[2]
    return {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", table, re.M)}


def assert_all_is_made(project, name):
    """There is every result, figure and verdict of a study at preset smoke, and all that was recorded of such a run."""
    study = load_study(name)
    results = project.folder / "results" / "smoke" / name
    for case in study.cases("smoke"):
        assert (results / f"{case.name}.nc").is_file()
    for figure in study.figures:
        assert (project.folder / f"paper_figures/smoke/{name}/{figure}.svg").stat().st_size > 3000
    assert set(pd.read_csv(results / "claims.csv")["verdict"]) <= set(VERDICTS)
    made, recorded = load_tables(results / "tables"), recorded_tables(name)
    assert made.keys() == recorded.keys()
    for table in recorded.keys() - {"settings"}:
        # Which quantities there are: values differ between processors. That to data of others needs AUXMC_DATA_DIR.
        known = [of[table].notna().any().drop("data_difference", errors="ignore") for of in (made, recorded)]
        assert known[0].to_dict() == known[1].to_dict(), table
    assert not list((project.folder / "results").rglob(".*partial*"))
    assert not list((project.folder / ".checkpoints").rglob("*.npz"))


class Project:
    """A working copy; `snakemake(...)` and `python(...)` run in it and return the finished process."""

    def __init__(self, folder, factory):
        self.folder = folder
        copied(folder, PARTS)
        # Compiled programs are shared: each worker of a parallel run has a folder of its own inside that of the run.
        base = factory.getbasetemp()
        compiled = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "compiled"
        compiled.mkdir(exist_ok=True)
        (folder / ".cache").symlink_to(compiled)
        ours = ("PYTEST", "SNAKEMAKE", "JAX", "XLA")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self.environment = kept | {"PYTHONPATH": python_path(folder)}

    def run(self, *command, check=True):
        place = {"cwd": self.folder, "env": self.environment}
        done = subprocess.run(command, **place, capture_output=True, text=True, timeout=2400)
        if check:
            assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
        return done

    def python(self, *words, check=True):
        return self.run(sys.executable, *words, check=check)

    def snakemake(self, *words, check=True):
        return self.python("-m", "snakemake", *words, check=check)

    @contextmanager
    def changed(self, file, addition):
        """Appends a text to a file, which afterwards is as before."""
        path = self.folder / file
        original = path.read_text()
        path.write_text(original + addition)
        try:
            yield
        finally:
            path.write_text(original)

    def edit(self, file, old, new):
        path = self.folder / file
        text = path.read_text()
        assert old in text, f"{file} does not hold {old!r}"
        path.write_text(text.replace(old, new))


@pytest.fixture(scope="session")
def smoke(tmp_path_factory):
    """A copy in which all studies have run at preset smoke, from start to end."""
    project = Project(tmp_path_factory.mktemp("project") / "auxmc", tmp_path_factory)
    project.snakemake(*SMOKE)
    return project


@pytest.fixture(scope="session")
def radon(tmp_path_factory):
    """A copy in which the study radon has run at preset smoke: the one that costs least and has every kind of file.

    The name of its folder has what a shell, a locale and a program in quotation marks stumble over.
    """
    folder = tmp_path_factory.mktemp("one_study") / 'Zoë\'s "own" clone (2) & $x'
    project = Project(folder, tmp_path_factory)
    project.snakemake("radon", *SMOKE)
    return project


@pytest.fixture
def fresh(tmp_path, tmp_path_factory):
    """A copy in which nothing has run."""
    return Project(tmp_path / "auxmc", tmp_path_factory)
