"""Chains and replicates on other processes and on Dask's workers, of which one is killed: the arrays of one core."""

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import cloudpickle
import jax
import pytest

import auxmc
from auxmc.interface import running
from auxmc.interface.executors import run_pickled
from tests.copies import python_path
from tests.unit.interface import models


def run(folder, text):
    """Runs a script in a process of its own, as a user does, and returns what it printed."""
    (folder / "run.py").write_text(text)
    settings = {"env": os.environ | {"PYTHONPATH": python_path()}, "cwd": folder}
    done = subprocess.run([sys.executable, "run.py"], **settings, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else done.stdout + done.stderr


def test_settings_of_jax_and_functions_of_ones_own_travel():
    """What is sent is bytes; a worker with other settings takes over those of the sender."""

    def of_seed(seed):
        return seed, jax.config.jax_numpy_dtype_promotion

    with ThreadPoolExecutor(2) as threads:
        found = auxmc.replicate(of_seed, 5, seed=3, executor=threads)
        again = auxmc.replicate(of_seed, 6, seed=3, executor=threads)
    assert len({seed for seed, _ in found}) == 5
    assert found == again[:5]
    assert {setting for _, setting in found} == {"strict"}


def test_an_error_in_a_call_is_raised_here_and_the_others_are_dropped():
    def fails(seed):
        raise ValueError(f"no result for {seed > 0}")

    with ThreadPoolExecutor(1) as threads, pytest.raises(ValueError, match="no result for True"):
        auxmc.replicate(fails, 3, executor=threads)


_PROCESSES = """
import warnings
warnings.simplefilter("ignore")
import auxmc
from tests.unit.interface import models

if __name__ == "__main__":
    auxmc.enable_x64()
    method = auxmc.constrained_hmc(models.sum_of_normals())
    settings = dict(draws=20, warm_up=10, chains=2, progress=False)
    here = auxmc.sample(method, cores=1, **settings)
    there = auxmc.sample(method, executor="processes", **settings)
    for group in ("posterior", "warmup_posterior"):
        assert here[group].to_dataset().identical(there[group].to_dataset())
    print("same")
"""


@pytest.mark.slow
def test_processes_give_the_same_draws(tmp_path):
    assert run(tmp_path, _PROCESSES).strip().endswith("same")


@pytest.mark.slow
def test_a_script_without_guard_says_what_to_do(tmp_path):
    text = run(tmp_path, "import auxmc\nauxmc.enable_x64()\nauxmc.replicate(lambda seed: seed, 2)\n")
    assert "RuntimeError: a worker process ended before its time" in text
    assert '`if __name__ == "__main__":`' in text


_DASK = """
import os, pathlib, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")
from dask.distributed import Client, LocalCluster
import numpy as np
import auxmc
from tests.unit.interface import models

START = pathlib.Path("started")

def noted(seed):
    # A replicate that says which process runs it, and is in the middle of its work when that is killed.
    (START / f"{os.getpid()}.{seed}").touch()
    time.sleep(1.0)
    draws = auxmc.sample(auxmc.hmc(models.normal_density()), draws=20, warm_up=10, chains=1, seed=seed, progress=False)
    return draws["posterior"]["a"].to_numpy()

def kill_one(killed):
    while not list(START.iterdir()):
        time.sleep(0.05)
    killed.append(int(next(START.iterdir()).name.split(".")[0]))
    os.kill(killed[0], signal.SIGKILL)

if __name__ == "__main__":
    START.mkdir()
    auxmc.enable_x64()
    method = auxmc.hmc(models.normal_density())
    settings = dict(draws=40, warm_up=20, chains=6, progress=False)
    here = auxmc.sample(method, cores=1, **settings)
    with LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        with Client(cluster) as client, client.get_executor() as workers:
            there = auxmc.sample(method, executor=workers, **settings)
            for group in ("posterior", "sample_stats", "warmup_posterior"):
                assert here[group].to_dataset().identical(there[group].to_dataset())
            killed = []
            thread = threading.Thread(target=kill_one, args=(killed,))
            thread.start()
            remote = auxmc.replicate(noted, 8, executor=workers)
            thread.join()
    tried = [path.name.split(".") for path in START.iterdir()]
    assert str(killed[0]) in {process for process, _ in tried}
    assert len(tried) > 8, tried  # what the killed worker had begun was begun again by another
    START = pathlib.Path("again")
    START.mkdir()
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
    with ThreadPoolExecutor(1) as one:
        local = auxmc.replicate(noted, 8, executor=one)
    assert all(np.array_equal(a, b) for a, b in zip(remote, local, strict=True))
    print("same, killed", len(killed))
"""


@pytest.mark.slow
def test_dask_gives_the_same_arrays_although_a_worker_is_killed(tmp_path):
    """Four workers, one of them killed in the middle of a replicate: chains and replicates of one core, bit for bit."""
    pytest.importorskip("dask.distributed")
    assert run(tmp_path, _DASK).strip().endswith("same, killed 1")


def test_executors_that_fork_are_rejected_before_anything_is_sent():
    method = auxmc.hmc(models.normal_density())
    with pytest.raises(ValueError, match=r'executor must be "processes" or an executor .* for threads leave'):
        auxmc.sample(method, executor="threads")
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as forking:
        for call in (
            lambda: auxmc.sample(method, draws=4, chains=1, executor=forking, progress=False),
            lambda: auxmc.replicate(lambda seed: seed, 1, executor=forking),
        ):
            with pytest.raises(ValueError, match=r'mp_context=multiprocessing.get_context\("spawn"\)'):
                call()


def test_a_fork_of_the_sender_does_nothing_with_a_payload():
    """As within an executor of one's own, whose kind cannot be seen from outside."""
    payload = cloudpickle.dumps(((running.IMAGE, os.getpid() + 1), {}, b"not looked at"))
    with pytest.raises(ValueError, match="expected processes that are spawned"):
        run_pickled(payload)
