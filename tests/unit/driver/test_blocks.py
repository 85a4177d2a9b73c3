"""The driver: draws do not depend on blocks, lanes or interruptions."""

import io

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.driver.blocks import Sampler, run_program, trace_sampler
from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.progress import Progress
from auxmc.kernels.metropolis.metropolis import random_walk_metropolis


def _log_density(x):
    return -0.5 * jnp.sum(x**2)


SAMPLER = Sampler(
    build=lambda p: random_walk_metropolis(_log_density, p["scale"], 3),
    initial=lambda key, p: random_walk_metropolis(_log_density, p["scale"], 3).init(
        jax.random.normal(key, (3,))
    ),
    record=lambda state, info: {"position": state.position, "accepted": info.is_accepted},
)


def _run(n_draws=50, n_lanes=3, block_size=1000, vectorise=True, **options):
    keys = jax.random.split(jax.random.key(7), 5)[:n_lanes]
    scales = {"scale": jnp.linspace(0.5, 1.5, 5)[:n_lanes]}
    sizes = {"n_draws": n_draws, "block_size": block_size, "vectorise": vectorise}
    return run_program(trace_sampler(SAMPLER, scales, keys, **sizes).compile(), scales, keys, **options)


class Interrupted(Exception):
    """Stands for a kill between two blocks."""


class StopAt(Progress):
    def __init__(self, done):
        super().__init__("test", file=io.StringIO())
        self.done = done

    def advance(self, done, run_s):
        if done >= self.done:
            raise Interrupted


@pytest.mark.parametrize("block_size", [1, 7, 50, 1000])
def test_draws_do_not_depend_on_the_block_size(block_size):
    reference = _run(block_size=25)
    other = _run(block_size=block_size)
    for name, array in reference.draws.items():
        np.testing.assert_array_equal(array, other.draws[name])
    assert other.draws["position"].shape == (3, 50, 3)


def test_a_lane_does_not_depend_on_the_number_of_lanes():
    np.testing.assert_array_equal(
        _run(n_lanes=5, vectorise=False).draws["position"][:2],
        _run(n_lanes=2, vectorise=False).draws["position"],
    )


def test_lanes_one_after_the_other_equal_lanes_side_by_side():
    np.testing.assert_allclose(
        _run(vectorise=True).draws["position"], _run(vectorise=False).draws["position"], rtol=1e-12
    )


def test_driver_equals_a_plain_loop_over_step():
    kernel = SAMPLER.build({"scale": jnp.float64(0.5)})
    key = jax.random.split(jax.random.key(7), 5)[0]
    state = SAMPLER.initial(jax.random.fold_in(key, 0), {"scale": jnp.float64(0.5)})
    for i in range(1, 11):
        state, _ = jax.jit(kernel.step)(jax.random.fold_in(key, i), state)
    np.testing.assert_allclose(_run(n_draws=10).draws["position"][0, -1], state.position, rtol=1e-12)


@pytest.mark.parametrize("stop", [10, 20, 40])
def test_a_resumed_run_gives_the_bits_of_an_uninterrupted_one(tmp_path, stop):
    reference = _run(block_size=10)
    with pytest.raises(Interrupted):
        _run(block_size=10, checkpoint=Checkpoint(tmp_path / "c", "id"), progress=StopAt(stop))
    resumed = _run(block_size=10, checkpoint=Checkpoint(tmp_path / "c", "id"))
    assert resumed.n_resumed == stop
    for name, array in reference.draws.items():
        np.testing.assert_array_equal(array, resumed.draws[name])


def test_a_checkpoint_with_another_identity_is_discarded(tmp_path):
    with pytest.raises(Interrupted):
        _run(block_size=10, checkpoint=Checkpoint(tmp_path / "c", "id"), progress=StopAt(20))
    assert _run(block_size=10, checkpoint=Checkpoint(tmp_path / "c", "other")).n_resumed == 0


@pytest.mark.parametrize(("damaged", "n_kept"), [(0, 0), (1, 10)])
def test_a_damaged_block_costs_itself_and_those_after_it(tmp_path, capsys, damaged, n_kept):
    with pytest.raises(Interrupted):
        _run(block_size=10, checkpoint=Checkpoint(tmp_path / "c", "id"), progress=StopAt(30))
    path = tmp_path / "c" / f"block{damaged:06d}.npz"
    path.write_bytes(path.read_bytes()[:-30])
    resumed = _run(block_size=10, checkpoint=Checkpoint(tmp_path / "c", "id"))
    assert resumed.n_resumed == n_kept
    np.testing.assert_array_equal(resumed.draws["position"], _run(block_size=10).draws["position"])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"{path} is damaged (BadZipFile: ")
    assert lines[0].endswith("this block and those after it are made again")


def _saved(folder):
    rng = np.random.default_rng(1)
    checkpoint = Checkpoint(folder, "id")
    for index in range(3):
        draws = {"x": rng.normal(size=(2, 5, 3)), "accepted": rng.random((2, 5)) < 0.5}
        checkpoint.save(index, 5, draws, [rng.normal(size=4), np.asarray(index)], 1.0 + index)
    return checkpoint


def test_damage_of_any_kind_is_noticed_or_harmless(tmp_path):
    like = [np.zeros(4), np.asarray(0)]
    rng = np.random.default_rng(20261123)
    checkpoint = _saved(tmp_path / "c")
    files = {path.name: path.read_bytes() for path in checkpoint.folder.iterdir()}
    whole = list(checkpoint.parts(3))
    states = [checkpoint._read(i)[1] for i in range(3)]
    n_noticed = 0
    for trial in range(400):
        checkpoint.folder.mkdir(exist_ok=True)
        for name, good in files.items():
            (checkpoint.folder / name).write_bytes(good)
        path = checkpoint.folder / f"block{rng.integers(3):06d}.npz"
        content = bytearray(path.read_bytes())
        kind = trial % 4
        if kind == 0:
            content[rng.integers(len(content))] ^= 1 << rng.integers(8)
        elif kind == 1:
            del content[rng.integers(len(content)) :]
        elif kind == 2:
            start = rng.integers(len(content))
            content[start : start + 50] = rng.bytes(50)
        else:
            content = bytearray(rng.bytes(rng.integers(100)))
        path.write_bytes(content)
        resumed = checkpoint.load(like)
        n_kept = 0 if resumed is None else resumed.n_blocks
        n_noticed += n_kept < 3
        if resumed is not None:
            for leaf, state in zip(resumed.leaves, states[n_kept - 1], strict=True):
                np.testing.assert_array_equal(leaf, state)
            for part, original in zip(checkpoint.parts(n_kept), whole, strict=False):
                for name, array in original.items():
                    np.testing.assert_array_equal(part[name], array)
    # Flipped bits in what zip says of a file's date change nothing.
    assert n_noticed > 350


def test_no_room_for_a_block_leaves_those_before_it(tmp_path, monkeypatch):
    checkpoint = _saved(tmp_path / "c")
    before = {path.name: path.read_bytes() for path in checkpoint.folder.iterdir()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        checkpoint.save(3, 5, {"x": np.zeros((2, 5, 3))}, [np.zeros(4), np.asarray(3)], 4.0)
    assert {path.name: path.read_bytes() for path in checkpoint.folder.iterdir()} == before


def test_sizes_below_one_are_rejected():
    with pytest.raises(ValueError, match="n_draws and block_size must be at least 1, got 0 and 1000"):
        _run(n_draws=0)


def test_progress_tells_label_total_resume_and_end():
    text = io.StringIO()
    progress = Progress("study/case", interval_s=0.0, file=text)
    progress.start(100, 40, 1.25)
    progress.advance(70, 2.0)
    progress.advance(100, 4.0)
    lines = text.getvalue().splitlines()
    assert lines[0] == "study/case: 100 iterations, compiled in 1.2 s, resumed at 40"
    assert "70 of 100 iterations (70 %), about" in lines[1]
    assert lines[2].endswith("100 of 100 iterations (100 %), done in 4.0 s")
