"""The same workflow on a real SLURM, started on the loopback for this test alone."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.conftest import Project

PROGRAMS = ("slurmctld", "slurmd", "munged", "squeue", "sbatch")
MISSING = [name for name in PROGRAMS if shutil.which(name) is None]
LINKS = Path("/etc/slurm")

pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"SLURM is not installed: {', '.join(MISSING)} missing"),
    pytest.mark.skipif(os.geteuid() != 0, reason="starting SLURM's daemons needs root"),
    pytest.mark.skipif(
        (LINKS / "slurm.conf").exists(), reason="this machine has a SLURM configuration already"
    ),
]

CONFIGURATION = """\
ClusterName=loop
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPort=16817
SlurmdPort=16818
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdSpoolDir={folder}/slurmd
StateSaveLocation={folder}/ctld
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageType=accounting_storage/none
MinJobAge=3600
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory={memory} State=UNKNOWN
PartitionName=cpu Nodes={host} Default=YES MaxTime=INFINITE DefMemPerCPU=500 State=UP
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[None]:
    folder, host = tmp_path / "slurm", socket.gethostname().split(".")[0]
    for part in ("ctld", "slurmd", "munge"):
        (folder / part).mkdir(parents=True)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    munge = folder / "munge"
    munge.chmod(0o700)
    (munge / "key").write_bytes(os.urandom(1024))
    (munge / "key").chmod(0o400)
    (folder / "slurm.conf").write_text(
        CONFIGURATION.format(folder=folder, host=host, cores=os.cpu_count(), memory=memory)
    )
    LINKS.mkdir(exist_ok=True)
    (LINKS / "slurm.conf").symlink_to(folder / "slurm.conf")
    try:
        files = {
            "socket": "socket",
            "key-file": "key",
            "pid-file": "pid",
            "log-file": "log",
            "seed-file": "seed",
        }
        options = [f"--{option}={munge / name}" for option, name in files.items()]
        subprocess.run(["munged", *options, "--force"], check=True)
        subprocess.run(["slurmctld"], check=True)
        subprocess.run(["slurmd", "-N", host], check=True)
        deadline = time.monotonic() + 30
        while (
            "idle" not in subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True).stdout
        ):
            assert time.monotonic() < deadline, (folder / "slurmctld.log").read_text()[-2000:]
            time.sleep(0.2)
        yield
    finally:
        for name in ("slurmd.pid", "slurmctld.pid", "munge/pid"):
            if (folder / name).exists():
                os.kill(int((folder / name).read_text()), 15)
        (LINKS / "slurm.conf").unlink()


def test_the_smoke_preset_runs_on_slurm(cluster: None, fresh: Project) -> None:
    done = fresh.snakemake(
        "gp_probit",
        "--workflow-profile",
        "profiles/slurm",
        "--slurm-status-command",
        "squeue",
        "--slurm-init-seconds-before-status-checks",
        "2",
        "--seconds-between-status-checks",
        "2",
        "--config",
        "preset=smoke",
    )
    assert "SLURM jobid" in done.stderr, done.stderr[-3000:]
    results = fresh.folder / "results/smoke/gp_probit"
    assert (results / "claims.csv").is_file()
    jobs = subprocess.run(
        ["squeue", "-h", "-t", "all", "-o", "%T"], capture_output=True, text=True
    ).stdout.split()
    assert len(jobs) == len(list(results.glob("*.nc")))
    assert set(jobs) == {"COMPLETED"}
