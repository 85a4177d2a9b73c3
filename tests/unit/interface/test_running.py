"""Chains on threads share cores: one thread of LAPACK while they run, as many as before after them."""

import re
import signal
import threading
from contextlib import ExitStack

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import auxmc
from auxmc.driver import progress
from auxmc.interface import running
from tests.unit.interface import models


def _threads():
    """Numbers of threads of all linear algebra libraries of this process."""
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        yield


def test_while_chains_run_there_is_one_thread(monkeypatch):
    seen = []
    advanced = running.Reporter.advanced

    def record(self, chain, done, run_s):
        seen.append(_threads())
        advanced(self, chain, done, run_s)

    monkeypatch.setattr(running.Reporter, "advanced", record)
    auxmc.sample(auxmc.hmc(models.normal_density()), draws=20, warm_up=20, chains=2, cores=2, progress=False)
    assert len(seen) >= 2
    assert all(threads == {1} for threads in seen)
    assert _threads() == {2}


def test_the_last_to_end_gives_the_threads_back_even_by_an_error():
    first = ExitStack()
    first.enter_context(running.one_linear_algebra_thread())

    def fail_alone():
        with running.one_linear_algebra_thread():
            first.close()
            assert _threads() == {1}
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail_alone()
    assert _threads() == {2}


@pytest.mark.parametrize("shown", [False, True])
def test_an_interruption_is_told_where_progress_is(monkeypatch, capsys, shown):
    def stop(self, chain, done, run_s):
        raise KeyboardInterrupt

    monkeypatch.setattr(running.Reporter, "advanced", stop)
    with pytest.raises(KeyboardInterrupt):
        auxmc.sample(auxmc.hmc(models.normal_density()), draws=20, warm_up=20, chains=1, progress=shown)
    said = capsys.readouterr()
    assert not said.out
    assert ("interrupted after 0 iterations of all chains; give checkpoint=FOLDER" in said.err) == shown


def test_ctrl_c_is_answered_at_once_and_heeded_after_a_block(monkeypatch, capsys, tmp_path):
    """Blocks are bounded in seconds: a chain of an hour ends within seconds, and continues from there."""

    def interrupt(self, chain, done, run_s):
        if done >= 4 and not self.stop.is_set():
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            assert self.stop.wait(30.0)
        advanced(self, chain, done, run_s)

    advanced = running.Reporter.advanced
    method = auxmc.hmc(models.normal_density())
    settings = {"draws": 2_000_000, "warm_up": 20, "chains": 1, "checkpoint": tmp_path}
    with monkeypatch.context() as patched:
        patched.setattr(running.Reporter, "advanced", interrupt)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                auxmc.sample(method, **settings)
        finally:
            signal.signal(signal.SIGINT, before)
    said = capsys.readouterr().err.splitlines()
    assert said[-2].endswith("stops after the present block; Ctrl-C again stops at once")
    told = r"interrupted after \d+ iterations of all chains; the same call continues from there"
    assert re.search(told, said[-1])
    with np.load(tmp_path / "chain0000" / "block000000.npz") as kept:
        assert kept["draws.posterior.a"].shape[1] == int(said[-1].split("after ")[1].split()[0]) >= 4


def test_draws_do_not_depend_on_the_time_that_blocks_take(monkeypatch):
    method = auxmc.hmc(models.normal_density())
    settings = {"draws": 100, "warm_up": 100, "chains": 1, "progress": False}
    whole = auxmc.sample(method, **settings)
    monkeypatch.setattr(progress, "_BLOCK_S", 1e-9)
    assert auxmc.sample(method, **settings)["posterior"].equals(whole["posterior"])


def test_draws_that_do_not_fit_into_memory_are_rejected_before_they_are_drawn():
    method = auxmc.hmc(models.normal_density())
    with pytest.raises(ValueError, match=r"draws: 4 chains of 1000000100 iterations are .* GiB, .* take"):
        auxmc.sample(method, draws=10**9, warm_up=100, progress=False)


def test_host_code_is_warned_of_where_a_checkpoint_is_kept(tmp_path):
    def on_host(x):
        value = lambda x: jax.pure_callback(
            lambda y: -0.5 * np.sum(y**2), jax.ShapeDtypeStruct((), float), x, vmap_method="sequential"
        )
        own = jax.custom_jvp(value)
        own.defjvp(lambda primal, tangent: (own(*primal), -jnp.sum(primal[0] * tangent[0])))
        return own(x["x"])

    method = auxmc.hmc(auxmc.density(on_host, {"x": np.zeros(2)}))
    with pytest.warns(auxmc.SamplingWarning, match=r"host code \(pure_callback\), whose changes are not"):
        auxmc.sample(method, draws=4, warm_up=4, chains=1, checkpoint=tmp_path, progress=False)
