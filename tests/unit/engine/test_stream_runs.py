"""Streams can be stopped, continued and appended to, and fail without losing what was absorbed."""

from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.data.simulated_streams import rows
from auxmc.engine.checkpoint import Checkpoint
from auxmc.engine.streaming import ChunkSizes, StreamRun, growing_chunks, run_stream
from auxmc.kernels.streaming import StreamSettings, stream_evidence
from auxmc.models.linear_regression import linear_regression

DATA = rows("linear", 2230)
SETTINGS = StreamSettings(n_moves=2, batch_size=10, n_particles=4, target_size=2.0)
SIZES = ChunkSizes((7,), 10)


def run(data: np.ndarray, checkpoint: Checkpoint | None = None, fault_at: int | None = None) -> StreamRun:
    def read(first: int) -> Iterator[np.ndarray]:
        for begin in range(first, len(data), 93):
            if fault_at is not None and begin + 93 > fault_at:
                yield data[begin:fault_at]
                raise RuntimeError("row cannot be read")
            yield data[begin : begin + 93]

    return run_stream(
        stream_evidence(linear_regression(5), SETTINGS),
        read,
        jax.random.key(4),
        6,
        chunk_sizes=SIZES,
        capacity=500,
        dtype=jnp.float64,
        checkpoint=checkpoint,
    )


@pytest.fixture(scope="module")
def uninterrupted() -> StreamRun:
    return run(DATA)


def same_record(one: StreamRun, other: StreamRun) -> None:
    for name in one.record:
        if name != "seconds":
            np.testing.assert_array_equal(one.record[name], other.record[name], err_msg=name)


def test_rows_come_in_chunks_of_the_sizes_asked_for(uninterrupted: StreamRun) -> None:
    n_rows = uninterrupted.record["n_rows"]
    assert n_rows[:3].tolist() == [7, 17, 27]
    assert n_rows[-2:].tolist() == [2227, 2230]
    assert uninterrupted.provisional
    assert int(uninterrupted.state.n_rows) == 2227
    assert np.isfinite(uninterrupted.record["log_evidence"]).all()
    assert (np.diff(uninterrupted.record["seconds"]) >= 0.0).all()


@pytest.mark.parametrize("first", [30, 647, 1500])
def test_appended_rows_give_the_record_of_an_uninterrupted_run(
    uninterrupted: StreamRun, tmp_path: Path, first: int
) -> None:
    checkpoint = Checkpoint(tmp_path / "stream", "same")
    begun = run(DATA[:first], checkpoint)
    assert begun.provisional == ((first - 7) % 10 != 0)
    finished = run(DATA, checkpoint)
    assert finished.n_resumed == (first - 7) // 10 + 1
    same_record(finished, uninterrupted)


def test_a_fault_keeps_what_was_absorbed_before_it(uninterrupted: StreamRun, tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "stream", "same")
    with pytest.raises(RuntimeError, match="row cannot be read"):
        run(DATA, checkpoint, fault_at=1000)
    finished = run(DATA, checkpoint)
    assert finished.n_resumed == 100
    same_record(finished, uninterrupted)


def test_other_settings_do_not_go_on_from_a_checkpoint(tmp_path: Path) -> None:
    run(DATA[:300], Checkpoint(tmp_path / "stream", "these"))
    assert run(DATA[:300], Checkpoint(tmp_path / "stream", "others")).n_resumed == 0


def test_growing_chunks_are_those_of_the_published_schedule() -> None:
    sizes = growing_chunks(20, 500)
    assert [sizes.of(i) for i in (0, 1, 2, 23, 24, 25)] == [20, 40, 60, 480, 500, 500]
    assert sum(sizes.of(i) for i in range(25)) == 6500


def test_what_cannot_be_run_is_refused() -> None:
    stream = stream_evidence(linear_regression(5), SETTINGS)
    with pytest.raises(ValueError, match="there are no rows"):
        run_stream(stream, lambda first: iter(()), jax.random.key(1), 6, chunk_sizes=SIZES, capacity=10)
    with pytest.raises(ValueError, match=r"rows must be \[row, 6\], got \[3, 5\]"):
        run_stream(
            stream,
            lambda first: iter([np.zeros((3, 5))]),
            jax.random.key(1),
            6,
            chunk_sizes=SIZES,
            capacity=10,
        )
    with pytest.raises(ValueError, match="must not be larger than the later ones"):
        run_stream(stream, lambda first: iter(()), jax.random.key(1), 6, chunk_sizes=ChunkSizes((9,), 5))
