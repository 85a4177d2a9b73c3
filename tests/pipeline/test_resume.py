"""A run killed at random moments gives, in the end, the arrays of an uninterrupted one."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tests.pipeline.conftest import Project

WORDS = [
    "study=gaussian_latent",
    "preset=smoke",
    "n_importance=8",
    "n_draws=60000",
    "n_chains=4",
    "block_size=600",
]


def _arrays(path: Path) -> dict[str, np.ndarray]:
    tree = xr.open_datatree(path, engine="h5netcdf")
    # Statistics per second are measured times, the only values that may differ.
    return {
        f"{node.path}/{name}": variable.values
        for node in tree.subtree
        for name, variable in node.data_vars.items()
        if not variable.attrs.get("units", "").endswith("/s") and variable.attrs.get("units") != "s"
    }


def test_kill_and_resume_gives_identical_arrays(fresh: Project) -> None:
    command = [sys.executable, "-m", "auxmc_pipeline.steps.run", *WORDS]
    fresh.run(*command, "out=whole.nc")
    rng = random.Random(20260)
    kills = 0
    deadline = time.monotonic() + 240
    while not (fresh.folder / "killed.nc").exists():
        assert time.monotonic() < deadline, "no progress between kills"
        before = len(list((fresh.folder / ".checkpoints").rglob("block*")))
        process = subprocess.Popen(
            [*command, "out=killed.nc"],
            cwd=fresh.folder,
            env=fresh.environment,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # Wait until this attempt has finished blocks of its own, then kill at a random moment of the next ones.
        while process.poll() is None and kills < 3:
            if len(list((fresh.folder / ".checkpoints").rglob("block*"))) > before + 2:
                time.sleep(rng.uniform(0.0, 0.2))
                break
            time.sleep(0.01)
        if kills < 3 and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills == 3, "the run was too short to be killed"
    tree = xr.open_datatree(fresh.folder / "killed.nc", engine="h5netcdf")
    assert int(tree.attrs["n_iterations_resumed"]) > 0
    assert json.loads(tree.attrs["settings"])["n_draws"] == 60000
    whole, killed = _arrays(fresh.folder / "whole.nc"), _arrays(fresh.folder / "killed.nc")
    assert set(whole) == set(killed)
    assert len(whole) > 3
    for name, array in whole.items():
        np.testing.assert_array_equal(array, killed[name], err_msg=name)


@pytest.mark.parametrize("word", ["out=", "nonsense", "--help"])
def test_the_command_explains_itself(fresh: Project, word: str) -> None:
    done = fresh.python(
        "-m", "auxmc_pipeline.steps.run", *([word] if word != "out=" else ["study=gp_probit"]), check=False
    )
    text = done.stdout + done.stderr
    expected = {
        "out=": "out=FILE.nc is missing",
        "nonsense": "expected KEY=VALUE, got 'nonsense'",
        "--help": "usage",
    }
    assert expected[word] in text
    assert "Traceback" not in text
