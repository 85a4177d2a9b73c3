"""Chains on threads share cores: one thread of LAPACK while they run, as many as before after them."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import auxmc
from auxmc.interface import running
from tests.unit.interface import models


def _threads() -> set[int]:
    """Numbers of threads of all linear algebra libraries of this process."""
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    with threadpool_limits(2, user_api="blas"):
        yield


def test_while_chains_run_there_is_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[int]] = []
    advanced = running.Reporter.advanced

    def record(self: running.Reporter, chain: int, done: int, run_s: float) -> None:
        seen.append(_threads())
        advanced(self, chain, done, run_s)

    monkeypatch.setattr(running.Reporter, "advanced", record)
    auxmc.sample(auxmc.hmc(models.normal_density()), draws=20, warm_up=20, chains=2, cores=2, progress=False)
    assert len(seen) >= 2
    assert all(threads == {1} for threads in seen)
    assert _threads() == {2}


def test_the_last_to_end_gives_the_threads_back() -> None:
    first, second = ExitStack(), ExitStack()
    first.enter_context(running.one_linear_algebra_thread())
    second.enter_context(running.one_linear_algebra_thread())
    first.close()
    assert _threads() == {1}
    second.close()
    assert _threads() == {2}


def test_an_error_gives_the_threads_back() -> None:
    with pytest.raises(ValueError, match="stop"), running.one_linear_algebra_thread():
        raise ValueError("stop")
    assert _threads() == {2}


@pytest.mark.parametrize("progress", [False, True])
def test_an_interruption_is_told_where_progress_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], progress: bool
) -> None:
    def stop(self: running.Reporter, chain: int, done: int, run_s: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running.Reporter, "advanced", stop)
    with pytest.raises(KeyboardInterrupt):
        auxmc.sample(auxmc.hmc(models.normal_density()), draws=20, warm_up=20, chains=1, progress=progress)
    said = capsys.readouterr()
    assert not said.out
    assert ("interrupted after 0 iterations of all chains; give checkpoint=FOLDER" in said.err) == progress
