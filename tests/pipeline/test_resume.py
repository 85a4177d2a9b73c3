"""A run killed at random moments gives, in the end, the arrays of an uninterrupted one."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from auxmc.driver.results import read_result
from tests.pipeline.conftest import assert_identical

SETTINGS = "study=gaussian_latent preset=smoke n_importance=8 n_draws=60000 n_chains=4 block_size=600"
COMMAND = [sys.executable, "-m", "auxmc_pipeline.steps.run", *SETTINGS.split()]

pytestmark = pytest.mark.slow


def start(project, command, **options):
    options |= {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    options |= {"cwd": project.folder, "env": project.environment, "start_new_session": True}
    return subprocess.Popen(command, **options)


def killed(project, command, has_gone_on, delay_s=0.0):
    """Status of a command that is killed once it has gone on, if it has not ended."""
    process = start(project, command)
    while process.poll() is None and not has_gone_on():
        time.sleep(0.01)
    time.sleep(delay_s)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return process.returncode


def blocks(project, name="block*"):
    return list((project.folder / ".checkpoints").rglob(name))


def test_kill_and_resume_gives_identical_arrays(fresh):
    fresh.run(*COMMAND, "out=whole.nc")
    rng = random.Random(20260)
    command = [*COMMAND, "out=killed.nc"]
    for _ in range(3):
        # Each attempt finishes blocks of its own, and is killed at a random moment of the next ones.
        enough = len(blocks(fresh)) + 2
        status = killed(fresh, command, lambda: len(blocks(fresh)) > enough, rng.uniform(0.0, 0.2))  # noqa: B023
        assert status == -signal.SIGKILL, "the run was too short to be killed"
    fresh.run(*command)
    tree = read_result(fresh.folder / "killed.nc")
    assert int(tree.attrs["n_iterations_resumed"]) > 0
    assert json.loads(tree.attrs["settings"])["n_draws"] == 60000
    assert_identical(fresh.folder / "whole.nc", fresh.folder / "killed.nc")


def small_files():
    """A quota that is reached in the middle of a block."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


@pytest.mark.parametrize("fault", ["SIGTERM", "SIGINT", "quota", "second run"])
def test_disturbed_run_says_so_in_one_line_and_is_resumed(fresh, fault):
    fresh.run(*COMMAND, "out=whole.nc")
    command = [*COMMAND, "out=results/disturbed.nc"]
    process = start(fresh, command, preexec_fn=small_files if fault == "quota" else None)
    while process.poll() is None and not blocks(fresh, "block*0001*"):
        time.sleep(0.01)
    if fault == "second run":
        second = start(fresh, command)
        said = second.communicate()[1] + process.communicate()[1]
        assert process.returncode == 0 or second.returncode == 0
    else:
        if fault != "quota":
            process.send_signal(getattr(signal, fault))
        said = process.communicate()[1]
        assert process.returncode != 0, "the run was too short to be disturbed"
    assert "Traceback" not in said
    fresh.run(*command)
    assert list((fresh.folder / "results").rglob("*partial*")) == []
    assert_identical(fresh.folder / "whole.nc", fresh.folder / "results" / "disturbed.nc")


@pytest.mark.parametrize("past", ["reservoir", "store"])
def test_killed_stream_resumes_to_an_identical_record(fresh, past):
    rows = np.random.default_rng(3).normal(size=(60_000, 3))
    pd.DataFrame(rows, columns=list("abc")).to_parquet(fresh.folder / "rows.parquet", index=False)
    words = "stream --data rows.parquet --model linear --estimator annealed --particles 8 --moves 20 --batch-size 20"
    words += f" --replicates 2 --chunk-rows 20 --every 0 --past {past} --output"
    command = [sys.executable, "-m", "auxmc", *words.split()]
    fresh.run(*command, "whole")
    state = fresh.folder / "killed" / "state" / "stream"
    statuses = []
    for _ in range(3):
        before = state.stat().st_mtime_ns if state.exists() else 0
        has_gone_on = lambda: state.exists() and state.stat().st_mtime_ns > before  # noqa: B023
        statuses.append(killed(fresh, [*command, "killed"], has_gone_on))
    assert -signal.SIGKILL in statuses, "the run was too short to be killed"
    fresh.run(*command, "killed")
    whole, resumed = (pd.read_parquet(fresh.folder / name / "record.parquet") for name in ("whole", "killed"))
    pd.testing.assert_frame_equal(whole.drop(columns="seconds"), resumed.drop(columns="seconds"))
