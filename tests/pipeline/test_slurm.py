"""The same workflow on a real SLURM, started on the loopback for this test alone."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.pipeline.conftest import assert_identical

PROGRAMS = ("slurmctld", "slurmd", "munged", "squeue", "sbatch")
MISSING = [name for name in PROGRAMS if shutil.which(name) is None]
MISSING += ["`make slurm`"] * (find_spec("snakemake_executor_plugin_slurm") is None)
LINKS = Path("/etc/slurm")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"SLURM is not installed: {', '.join(MISSING)} missing"),
    pytest.mark.skipif(os.geteuid() != 0, reason="starting SLURM's daemons needs root"),
    pytest.mark.skipif((LINKS / "slurm.conf").exists(), reason="this machine has its own slurm.conf"),
]

CONFIGURATION = Path(__file__).with_name("slurm.conf").read_text(encoding="utf-8")
NODES = ("one", "two")
OPTIONS = [
    *("--workflow-profile", "profiles/slurm", "--slurm-status-command", "squeue"),
    *("--slurm-init-seconds-before-status-checks", "2", "--seconds-between-status-checks", "2"),
    *("--config", "preset=smoke"),
]


@pytest.fixture
def cluster(tmp_path):
    """Two nodes, and a partition whose jobs push others out; returns the folder of pid and log files."""
    folder, host = tmp_path / "slurm", socket.gethostname().split(".")[0]
    for part in ("ctld", "munge", *(f"slurmd-{node}" for node in NODES)):
        (folder / part).mkdir(parents=True)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    munge = folder / "munge"
    munge.chmod(0o700)
    (munge / "key").write_bytes(os.urandom(1024))
    (munge / "key").chmod(0o400)
    cores = max(1, (os.cpu_count() or 1) // len(NODES))
    text = CONFIGURATION.format(folder=folder, host=host, cores=cores, memory=memory)
    (folder / "slurm.conf").write_text(text)
    LINKS.mkdir(exist_ok=True)
    (LINKS / "slurm.conf").symlink_to(folder / "slurm.conf")
    try:
        files = [f"--{name}-file={munge / name}" for name in ("key", "pid", "log", "seed")]
        options = [f"--socket={munge / 'socket'}", *files]
        subprocess.run(["munged", *options, "--force"], check=True)
        subprocess.run(["slurmctld"], check=True)
        for node in NODES:
            subprocess.run(["slurmd", "-N", node], check=True)
        _wait(lambda: _words_of("sinfo", "-N", "-o", "%T").count("idle") >= len(NODES), 30, folder)
        yield folder
    finally:
        for name in (*(f"slurmd-{node}.pid" for node in NODES), "slurmctld.pid", "munge/pid"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                os.kill(int((folder / name).read_text()), signal.SIGTERM)
        (LINKS / "slurm.conf").unlink()


def test_the_smoke_preset_runs_on_slurm(cluster, fresh):
    done = fresh.snakemake("gp_probit", *OPTIONS)
    assert "SLURM jobid" in done.stderr, done.stderr[-3000:]
    results = fresh.folder / "results/smoke/gp_probit"
    assert (results / "claims.csv").is_file()
    jobs = _words_of("squeue", "-t", "all", "-o", "%T")
    assert len(jobs) == len(list(results.glob("*.nc")))
    assert set(jobs) == {"COMPLETED"}


def test_a_case_in_pieces_outlives_a_node_and_is_pushed_aside(cluster, fresh):
    """Arrays are those of one job, though one piece's job is preempted and another's node goes down."""
    case = "results/smoke/gp_probit/main__method-apm_ss_mh.nc"
    config = "experiments/gp_probit/config.yaml"
    fresh.edit(config, "    n_draws: 24\n", "    n_draws: 1200\n")
    fresh.snakemake("--cores", "1", "--config", "preset=smoke", "--", case)
    whole = (fresh.folder / case).rename(fresh.folder / "whole.nc")
    fresh.edit(config, "    cases: {estimator:", "    cases: {main: {resources: {pieces: 2}}, estimator:")
    command = [sys.executable, "-m", "snakemake", case, *OPTIONS]
    place = {"cwd": fresh.folder, "env": fresh.environment}
    with subprocess.Popen(command, **place, stderr=subprocess.PIPE, text=True) as workflow:
        try:
            log = cluster / "slurmctld.log"
            # Two pieces run, and have kept a block of iterations.
            nodes = lambda: set(_words_of("squeue", "-t", "running", "-o", "%N"))
            begun = lambda: list((fresh.folder / ".checkpoints").rglob("block000000.npz"))
            _wait(lambda: nodes() == set(NODES) and len(begun()) == 2, 120, cluster)
            urgent = ["sbatch", "-p", "urgent", "-w", "one", "-o", "/dev/null", "--wrap", "true"]
            subprocess.run(urgent, check=True)
            os.kill(int((cluster / "slurmd-two.pid").read_text()), signal.SIGKILL)
            _kill_jobs_of("two")
            _wait(lambda: "preempted" in log.read_text().lower(), 60, cluster)
            _wait(lambda: "not responding, setting DOWN" in log.read_text(), 120, cluster)
            messages = workflow.communicate(timeout=600)[1]
        finally:
            workflow.kill()
    assert workflow.returncode == 0, messages[-3000:]
    assert_identical(whole, fresh.folder / case)


def _words_of(*command):
    return subprocess.run([command[0], "-h", *command[1:]], capture_output=True, text=True).stdout.split()


def _kill_jobs_of(node):
    """What a node that loses its power takes with it."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and folder.name != str(os.getpid()):
            with contextlib.suppress(OSError):
                if f"SLURMD_NODENAME={node}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    os.kill(int(folder.name), signal.SIGKILL)


def _wait(happened, seconds, cluster):
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, (cluster / "slurmctld.log").read_text()[-3000:]
        time.sleep(0.2)
