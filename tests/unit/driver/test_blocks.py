"""The driver: draws do not depend on blocks, lanes, pieces or interruptions, nor rows on how they are cut."""

import io
import shutil
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.driver.blocks import Sampler, run_program, trace_sampler
from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.progress import Progress
from auxmc.driver.row_chunks import ChunkSizes, cut_chunks, growing_chunks
from auxmc.driver.stream_program import CHUNKS_IN_BLOCK, pack
from auxmc.errors import PieceError, UnitsMissing
from auxmc.kernels.base import Kernel
from auxmc.kernels.metropolis.metropolis import random_walk_metropolis
from auxmc_pipeline.chains import RunContext, run_chains
from auxmc_pipeline.settings import CaseSettings
from auxmc_pipeline.units import Share, Units, each, read_pieces, write_piece


def _kernel(parameters):
    return random_walk_metropolis(lambda x: -0.5 * jnp.sum(x**2), parameters["scale"], 3)


SAMPLER = Sampler(
    build=_kernel,
    initial=lambda key, parameters: _kernel(parameters).init(jax.random.normal(key, (3,))),
    record=lambda state, info: {"position": state.position, "accepted": info.is_accepted},
)


def _lanes(n_lanes):
    return {"scale": jnp.linspace(0.5, 1.5, 5)[:n_lanes]}, jax.random.split(jax.random.key(7), 5)[:n_lanes]


@cache
def _program(n_lanes, **sizes):
    return trace_sampler(SAMPLER, *_lanes(n_lanes), **sizes).compile()


def _run(n_draws=50, n_lanes=3, block_size=1000, vectorise=True, **options):
    program = _program(n_lanes, n_draws=n_draws, block_size=block_size, vectorise=vectorise)
    return run_program(program, *_lanes(n_lanes), **options)


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
    jax.tree.map(np.testing.assert_array_equal, reference.draws, other.draws)
    assert other.draws["position"].shape == (3, 50, 3)


def test_a_lane_does_not_depend_on_the_number_of_lanes():
    five, two = (_run(n_lanes=n, vectorise=False).draws["position"] for n in (5, 2))
    np.testing.assert_array_equal(five[:2], two)


def test_lanes_one_after_the_other_equal_lanes_side_by_side():
    vmapped, mapped = (_run(vectorise=vectorise).draws["position"] for vectorise in (True, False))
    np.testing.assert_allclose(vmapped, mapped, rtol=1e-12)


def test_driver_equals_a_plain_loop_over_step():
    parameters, (key,) = {"scale": jnp.float64(0.5)}, _lanes(1)[1]
    step = jax.jit(SAMPLER.build(parameters).step)
    state = SAMPLER.initial(jax.random.fold_in(key, 0), parameters)
    for i in range(1, 11):
        state, _ = step(jax.random.fold_in(key, i), state)
    np.testing.assert_allclose(_run(n_draws=10).draws["position"][0, -1], state.position, rtol=1e-12)


@pytest.mark.parametrize(("damaged", "n_kept"), [(0, 0), (1, 10), (2, 20)])
def test_a_damaged_block_costs_itself_and_those_after_it(tmp_path, capsys, damaged, n_kept):
    with pytest.raises(Interrupted):
        _run(block_size=10, checkpoint=Checkpoint(tmp_path / "c", "id"), progress=StopAt(30))
    path = tmp_path / "c" / f"block{damaged:06d}.npz"
    path.write_bytes(path.read_bytes()[:-30])
    resumed = _run(block_size=10, checkpoint=Checkpoint(tmp_path / "c", "id"))
    assert resumed.n_resumed == n_kept
    jax.tree.map(np.testing.assert_array_equal, resumed.draws, _run(block_size=10).draws)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"{path} is damaged (BadZipFile: ")
    assert lines[0].endswith("this block and those after it are made again")


def test_no_room_for_a_block_leaves_those_before_it(tmp_path, monkeypatch):
    checkpoint = Checkpoint(tmp_path / "c", "id")
    block = 5, {"x": np.zeros((2, 5, 3))}, [np.zeros(4), np.asarray(3)], 4.0
    checkpoint.save(0, *block)
    before = {path.name: path.read_bytes() for path in checkpoint.folder.iterdir()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        checkpoint.save(1, *block)
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


IDENTITY = "0123456789abcdef"


def _walk(step):
    """An autoregression in ten dimensions with a matrix product, whose rounding depends on the shape of a program."""
    mix = jnp.asarray(np.random.default_rng(1).normal(size=(10, 10)) / 10.0)
    draw = lambda key: jax.random.normal(key, (10,), jnp.float64)

    def build(parameters):
        def apply(noise, state):
            state = jnp.tanh(mix @ state) * parameters["scale"] + step * noise
            return state, state.sum()

        return Kernel(lambda position, key=None: position, draw, apply)

    return Sampler(build, lambda key, parameters: draw(key), lambda state, info: {"x": state, "total": info})


def _case(context):
    """Two stages that do not depend on each other, and one that needs the first."""

    def chains(name):
        settings, sweep = CaseSettings(n_draws=40, n_chains=4, block_size=15), {"scale": [0.5, 0.9]}
        return run_chains(context, (name,), _walk(0.1), settings, sweep=sweep, lanes_per_unit=3).draws

    first, second = each(chains, ["first", "second"])
    means = context.units.stage("means", 2, lambda i: {"mean": first["x"][i].mean(axis=(0, 1))})
    found = {f"second_{name}": array for name, array in second.items()} | first
    return found | {"mean": np.stack([one["mean"] for one in means])}


def _context(folder, units=None):
    return RunContext("study", 3, folder, IDENTITY, "test", units or Units())


def _piece(folder, piece, n_pieces):
    context = _context(folder / f"checkpoints-{piece}", Units(Share(piece, n_pieces)))
    with pytest.raises(UnitsMissing):
        _case(context)
    path = folder / f"{piece + 1}-of-{n_pieces}.npz"
    write_piece(path, context.units, IDENTITY, {"cpu_s": 1.0})
    return path


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    """Files of the pieces of the case, by their number."""
    folder = tmp_path_factory.mktemp("pieces")
    return cache(lambda n_pieces: [_piece(folder, i, n_pieces) for i in range(n_pieces)])


@pytest.mark.parametrize("n_pieces", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_a_case_is_the_same_in_one_job_and_in_pieces(tmp_path, pieces, n_pieces):
    whole = _case(_context(tmp_path / "whole"))
    given, provenance = read_pieces(pieces(n_pieces), IDENTITY)
    # Both stages of three units were shared out; the one that needs all of the first is left to the merging job.
    assert sorted(given) == [(name, number) for name in ("first", "second") for number in range(3)]
    merged = _case(_context(tmp_path / "merged", Units(given=given)))
    assert len(provenance) == n_pieces
    for name, array in whole.items():
        np.testing.assert_array_equal(merged[name], array, strict=True, err_msg=name)
    assert np.ptp(whole["x"]) > 0.1


def test_pieces_that_do_not_make_up_a_case_are_rejected(tmp_path, pieces):
    paths = [shutil.copy(path, tmp_path / path.name) for path in pieces(3)]
    with pytest.raises(PieceError, match=r"do not make up the case, there are 1 of 3, 3 of 3"):
        read_pieces([paths[0], paths[2]], IDENTITY)
    with pytest.raises(PieceError, match=r"1-of-3.npz was made with other settings, code or data: remove it"):
        read_pieces(paths, "another")
    paths[1].write_bytes(paths[1].read_bytes()[:500])
    with pytest.raises(PieceError, match=r"2-of-3.npz is damaged"):
        read_pieces(paths, IDENTITY)
    assert read_pieces([], IDENTITY) == ({}, [])


def test_chains_without_a_sweep_begin_at_their_own_starts(tmp_path):
    walk = Kernel(
        lambda position, key=None: position,
        lambda key: jax.random.normal(key, (), jnp.float64),
        lambda noise, state: (state + 1e-3 * noise, noise),
    )
    sampler = Sampler(
        lambda parameters: walk,
        lambda key, parameters: parameters["start"]["x"],
        lambda state, noise: {"x": state},
    )
    starts = {"x": np.array([1.0, 2.0, 3.0])}
    settings = CaseSettings(n_draws=1000, n_chains=3, block_size=5)
    by_number = run_chains(_context(tmp_path / "a"), ("walk",), sampler, settings, n_draws=5, starts=starts)
    assert by_number.draws["x"].shape == (3, 5)
    assert by_number.axes == {}
    np.testing.assert_allclose(by_number.draws["x"][:, 0], starts["x"], atol=0.01)


DATA = np.arange(2.0 * 107).reshape(107, 2)
SIZES = ChunkSizes((3, 6), 10)


def cut(data, step, wanted=4, number=0):
    blocks = (data[begin : begin + step] for begin in range(0, len(data), step))
    return list(cut_chunks(blocks, SIZES, number, 2, lambda: wanted))


@pytest.mark.parametrize("step", [1, 7, 10, 200])
@pytest.mark.parametrize("wanted", [1, 3, 4])
def test_nothing_is_lost_or_moved(step, wanted):
    lists = cut(DATA, step, wanted)
    chunks = [chunk for one in lists for chunk in one]
    np.testing.assert_array_equal(np.concatenate(chunks), DATA)
    assert [len(chunk) for chunk in chunks] == [3, 6, *[10] * 9, 8]
    assert max(map(len, lists)) == wanted
    assert len(lists[-1]) == 1


def test_a_resumed_stream_has_the_sizes_of_its_place():
    assert [[len(chunk) for chunk in one] for one in cut(DATA[:26], 5, number=1)] == [[6, 10, 10]]


def test_whole_chunks_before_a_fault_come_first():
    def blocks():
        yield DATA[:50]
        raise RuntimeError("row cannot be read")

    lists = cut_chunks(blocks(), SIZES, 0, 2, lambda: 4)
    assert [len(next(lists)) for _ in range(2)] == [4, 2]
    with pytest.raises(RuntimeError, match="row cannot be read"):
        next(lists)


def test_blocks_of_another_width_are_rejected():
    with pytest.raises(ValueError, match=r"rows must be \[row, 2\], got \[107\]"):
        list(cut_chunks(iter([DATA[:, 0]]), SIZES, 0, 2, lambda: 4))


def test_a_block_is_filled_up_with_zeros():
    block = pack([DATA[:3], DATA[3:9]], 10, np.float32)
    assert (block.rows.shape, block.rows.dtype) == ((CHUNKS_IN_BLOCK, 10, 2), np.float32)
    assert (block.n_chunks, block.n_valid.tolist()) == (2, [3, 6, *[0] * (CHUNKS_IN_BLOCK - 2)])
    np.testing.assert_array_equal(block.rows[1, :6], DATA[3:9])
    assert block.rows.sum() == DATA[:9].sum()


def test_growing_chunks_are_those_of_the_published_schedule():
    sizes = growing_chunks(20, 500)
    assert [sizes.of(i) for i in (0, 1, 2, 23, 24, 25)] == [20, 40, 60, 480, 500, 500]
    assert sum(sizes.of(i) for i in range(25)) == 6500
