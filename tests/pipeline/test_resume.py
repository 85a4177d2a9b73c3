"""A run killed at random moments gives, in the end, the arrays of an uninterrupted one."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from auxmc.driver.results import read_result
from tests.pipeline.conftest import Project, assert_identical

WORDS = [
    "study=gaussian_latent",
    "preset=smoke",
    "n_importance=8",
    "n_draws=60000",
    "n_chains=4",
    "block_size=600",
]


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
    tree = read_result(fresh.folder / "killed.nc")
    assert int(tree.attrs["n_iterations_resumed"]) > 0
    assert json.loads(tree.attrs["settings"])["n_draws"] == 60000
    assert_identical(fresh.folder / "whole.nc", fresh.folder / "killed.nc")


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
