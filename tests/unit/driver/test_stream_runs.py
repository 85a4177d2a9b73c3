"""Streams can be stopped, continued and appended to, and fail without losing what was absorbed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.data.row_store import RowStore
from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.row_chunks import ChunkSizes
from auxmc.driver.stream_program import KeyedStream, compile_block, fetch_from
from auxmc.driver.streams import run_stream, run_streams
from auxmc.kernels.streams.contract import ChunkRecord, Stream, StreamSettings, StreamState
from auxmc.kernels.streams.published_estimators import particle_evidence
from auxmc.models.regression.linear_regression import linear_regression
from experiments.streaming_evidence.model import rows

DATA = rows("linear", 2230)
SIZES = ChunkSizes((7,), 10)
OPTIONS = {"chunk_sizes": SIZES, "dtype": jnp.float64}


def toy(scale=1.0, fetch=None):
    """Every number depends on the key, the rows of the chunk, and rows drawn from the past; compiles at once."""

    def init(key, dtype):
        particles = jax.random.normal(key, (4, 6)).astype(dtype)
        return StreamState(particles, jnp.zeros(4), jnp.zeros((), jnp.int64))

    def absorb(key, state, chunk, past):
        numbers = jax.random.randint(key, (4, 5), 0, jnp.maximum(past.n_stored, 1), jnp.int32)
        drawn = past.rows[numbers] if fetch is None else fetch(past, numbers)
        # The first chunk draws from a past that is empty.
        mean = jnp.where(past.n_stored > 0, drawn.mean(axis=1), 0.0)
        valid = jnp.arange(chunk.rows.shape[0], dtype=jnp.int32) < chunk.n_valid
        score = jnp.sum(jnp.where(valid, chunk.rows @ state.particles[0], 0.0))
        weights = state.log_weights + scale * score
        n_rows = state.n_rows + chunk.n_valid.astype(jnp.int64)
        one, none = jnp.ones(()), jnp.zeros((), jnp.int32)
        new = StreamState(0.9 * state.particles + mean, weights, n_rows)
        return new, ChunkRecord(n_rows, weights[0], none, one, one, one, none, none)

    return Stream(init, absorb)


TOY = toy()


@pytest.fixture(autouse=True, scope="module")
def compiled_once():
    """A program is compiled once in this module for each estimator, key and shape."""
    programs = {}

    def compile_once(keyed, carry, size, stored):
        past = carry.past.rows
        what = (keyed.stream, str(keyed.key), past.shape, past.dtype, size, stored)
        if what not in programs:
            programs[what] = compile_block(keyed, carry, size, stored)
        return programs[what]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("auxmc.driver.streams.compile_block", compile_once)
        yield


def run(data, checkpoint=None, fault_at=None, capacity=500):
    def read(first, checksum):
        for begin in range(first, len(data), 93):
            if fault_at is not None and begin + 93 > fault_at:
                yield data[begin:fault_at]
                raise RuntimeError("row cannot be read")
            yield data[begin : begin + 93]

    return run_stream(TOY, read, jax.random.key(4), 6, capacity=capacity, checkpoint=checkpoint, **OPTIONS)


@pytest.fixture(scope="module")
def uninterrupted():
    return run(DATA)


def same_record(one, other):
    for name in one.record:
        if name != "seconds":
            np.testing.assert_array_equal(one.record[name], other.record[name], err_msg=name)


def test_rows_come_in_chunks_of_the_sizes_asked_for(uninterrupted):
    n_rows = uninterrupted.record["n_rows"]
    assert n_rows[:3].tolist() == [7, 17, 27]
    assert n_rows[-2:].tolist() == [2227, 2230]
    assert uninterrupted.provisional
    assert int(uninterrupted.state.n_rows) == 2230
    assert np.isfinite(uninterrupted.record["log_evidence"]).all()
    assert (np.diff(uninterrupted.record["seconds"]) >= 0.0).all()


@pytest.mark.parametrize("first", [30, 647, 1500])
def test_appended_rows_give_the_record_of_an_uninterrupted_run(uninterrupted, tmp_path, first):
    checkpoint = Checkpoint(tmp_path / "stream", "same")
    assert run(DATA[:first], checkpoint).provisional == ((first - 7) % 10 != 0)
    finished = run(DATA, checkpoint)
    assert finished.n_resumed == (first - 7) // 10 + 1
    same_record(finished, uninterrupted)
    np.testing.assert_array_equal(finished.state.particles, uninterrupted.state.particles)


def test_the_state_is_after_all_rows_whether_they_fill_the_last_chunk_or_not():
    """Particles that had not seen the last rows, or any at all, passed for the posterior of all rows."""
    for n_rows in (5, 7, 30, 37):
        done = run(DATA[:n_rows])
        assert done.provisional == (n_rows in (5, 30))
        assert int(done.state.n_rows) == n_rows
        assert float(done.state.log_weights[0]) == done.record["log_evidence"][-1]


def test_a_fault_keeps_what_was_absorbed_before_it(uninterrupted, tmp_path):
    checkpoint = Checkpoint(tmp_path / "stream", "same")
    with pytest.raises(RuntimeError, match="row cannot be read"):
        run(DATA, checkpoint, fault_at=1000)
    finished = run(DATA, checkpoint)
    assert finished.n_resumed == 100
    same_record(finished, uninterrupted)


@pytest.mark.parametrize(("identity", "capacity"), [("others", 500), ("these", 400)])
def test_a_checkpoint_of_other_settings_or_shapes_is_discarded(tmp_path, identity, capacity):
    run(DATA[:300], Checkpoint(tmp_path / "stream", "these"))
    again = run(DATA[:300], Checkpoint(tmp_path / "stream", identity), capacity=capacity)
    assert again.n_resumed == 0


def test_the_past_from_a_file_gives_the_numbers_of_the_past_in_memory(tmp_path, capsys):
    data = DATA[:330]
    in_memory = run(data)

    def from_file(data):
        store = RowStore(tmp_path / "state" / "rows.bin", 6, np.float64)
        done = run_stream(
            toy(fetch=fetch_from(store)),
            lambda first, checksum: iter([data[first:]]),
            jax.random.key(4),
            6,
            checkpoint=Checkpoint(tmp_path / "state" / "stream", "same"),
            store=store,
            **OPTIONS,
        )
        assert store.n_rows == done.record["n_rows"][: -1 if done.provisional else None][-1]
        np.testing.assert_array_equal(store.draw(np.arange(store.n_rows)), data[: store.n_rows])
        return done

    assert from_file(data[:133]).provisional
    # A number in the file of rows that is not the one that was absorbed.
    whole = (tmp_path / "state" / "rows.bin").read_bytes()
    (tmp_path / "state" / "rows.bin").write_bytes(whole[:100] + b"\x01" + whole[101:])
    assert from_file(data[:133]).n_resumed == 0
    assert "rows is damaged: the stream is absorbed again from its beginning" in capsys.readouterr().err
    # Rows that a killed run had written without a state that knows of them.
    lost = RowStore(tmp_path / "state" / "rows.bin", 6, np.float64)
    lost.append(np.full((20, 6), 1e6))
    lost.close()
    finished = from_file(data)
    assert finished.n_resumed == 13
    same_record(finished, in_memory)


def test_the_callback_into_numpy_does_not_wait_for_itself(tmp_path):
    # More row numbers at once than are copied without a worker thread, of which there is one.
    store = RowStore(tmp_path / "rows.bin", 6)
    settings = StreamSettings(n_moves=10, batch_size=2000, n_particles=4, target_size=2.0)

    def absorbed(fetch):
        return run_stream(
            particle_evidence(linear_regression(5), settings, fetch=fetch),
            lambda first, checksum: iter([DATA[:300]]),
            jax.random.key(4),
            6,
            chunk_sizes=SIZES,
            store=None if fetch is None else store,
        ).record["log_evidence"]

    np.testing.assert_array_equal(absorbed(fetch_from(store)), absorbed(None))


def test_streams_side_by_side_give_the_numbers_that_each_gives_alone(uninterrupted, tmp_path):
    reports, two = [], toy(2.0)

    def both(n_rows, n_blocks):
        return run_streams(
            {"one": KeyedStream(TOY, jax.random.key(4)), "other": KeyedStream(two, jax.random.key(5))},
            lambda first, checksum: iter([DATA[first:n_rows]]),
            6,
            capacity=500,
            checkpoint=Checkpoint(tmp_path / "state", "both"),
            report=lambda found, resumed: reports.append((found, resumed)),
            stop=lambda: len(reports) >= n_blocks,
            **OPTIONS,
        )

    n_before = len(both(len(DATA), 2)["one"].record["n_rows"])
    assert 2 <= n_before < 200
    finished = both(len(DATA), 10**9)
    assert [resumed for _, resumed in reports] == [False, False, True] + [False] * (len(reports) - 3)
    assert finished["other"].n_resumed == n_before
    same_record(finished["one"], uninterrupted)
    assert (finished["other"].record["log_evidence"] != uninterrupted.record["log_evidence"]).all()
    told = [found["one"]["log_evidence"] for found, _ in reports[2:]]
    np.testing.assert_array_equal(np.concatenate(told), uninterrupted.record["log_evidence"])


def test_what_cannot_be_run_is_rejected():
    with pytest.raises(ValueError, match="there is no estimator to run"):
        run_streams({}, lambda first, checksum: iter(()), 6)

    def start(read, sizes=SIZES):
        run_stream(TOY, read, jax.random.key(1), 6, chunk_sizes=sizes, capacity=10, dtype=jnp.float64)

    with pytest.raises(ValueError, match="there are no rows"):
        start(lambda first, checksum: iter(()))
    with pytest.raises(ValueError, match=r"rows must be \[row, 6\], got \[3, 5\]"):
        start(lambda first, checksum: iter([np.zeros((3, 5))]))
    with pytest.raises(ValueError, match="must not be larger than the later ones"):
        start(lambda first, checksum: iter(()), ChunkSizes((9,), 5))
    with jax.enable_x64(False), pytest.raises(RuntimeError, match="before making arrays"):
        start(lambda first, checksum: iter(()))


def test_one_file_keeps_state_and_record_however_often_it_is_saved(uninterrupted, tmp_path, monkeypatch):
    monkeypatch.setattr("auxmc.driver.streams._SAVE_EVERY_S", -1.0)
    monkeypatch.setattr("auxmc.driver.streams._SAVE_FRACTION", float("inf"))
    checkpoint = Checkpoint(tmp_path / "stream", "same")
    same_record(run(DATA, checkpoint), uninterrupted)
    assert [path.name for path in (tmp_path / "stream").iterdir()] == ["block000000.npz"]
    same_record(run(DATA, checkpoint), uninterrupted)
