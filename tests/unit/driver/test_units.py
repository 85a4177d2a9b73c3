"""A case's work in one job and in pieces gives identical arrays, and pieces that do not fit are rejected."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.driver.blocks import Sampler
from auxmc.driver.chains import RunContext, run_chains
from auxmc.driver.units import Share, Units, each, read_pieces, write_piece
from auxmc.errors import PieceError, UnitsMissing
from auxmc.kernels.base import Kernel

IDENTITY = "0123456789abcdef"


def _walk(step):
    """An autoregression in ten dimensions with a matrix product, whose rounding depends on the shape of a program."""
    mix = jnp.asarray(np.random.default_rng(1).normal(size=(10, 10)) / 10.0)

    def build(parameters):
        def apply(noise, state):
            state = jnp.tanh(mix @ state) * parameters["scale"] + step * noise
            return state, state.sum()

        return Kernel(
            lambda position, key=None: position, lambda key: jax.random.normal(key, (10,), jnp.float64), apply
        )

    return Sampler(
        build,
        lambda key, parameters: jax.random.normal(key, (10,), jnp.float64),
        lambda state, info: {"x": state, "total": info},
    )


def _case(context):
    """Two stages that do not depend on each other, and one that needs the first."""

    def chains(name):
        sweep = {"scale": [0.5, 0.9]}
        found = run_chains(
            context, (name,), _walk(0.1), n_draws=40, n_chains=4, sweep=sweep, block_size=15, lanes_per_unit=3
        )
        return found.draws

    first, second = each(chains, ["first", "second"])
    means = context.units.stage("means", 2, lambda i: {"mean": first["x"][i].mean(axis=(0, 1))})
    return {
        **first,
        **{f"second_{k}": v for k, v in second.items()},
        "mean": np.stack([m["mean"] for m in means]),
    }


def _context(folder, units=None):
    return RunContext("study", 3, folder, IDENTITY, "test", units or Units())


def _piece(folder, piece, n_pieces):
    context = _context(folder / f"checkpoints-{piece}", Units(Share(piece, n_pieces)))
    with pytest.raises(UnitsMissing):
        _case(context)
    path = folder / f"{piece + 1}-of-{n_pieces}.npz"
    write_piece(path, context.units, IDENTITY, {"cpu_s": 1.0})
    return path


@pytest.mark.parametrize("n_pieces", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_a_case_is_the_same_in_one_job_and_in_pieces(tmp_path, n_pieces):
    whole = _case(_context(tmp_path / "whole"))
    given, provenance = read_pieces([_piece(tmp_path, i, n_pieces) for i in range(n_pieces)], IDENTITY)
    # Both stages of three units were shared out; the one that needs all of the first is left to the merging job.
    assert sorted(given) == [(name, number) for name in ("first", "second") for number in range(3)]
    merged = _case(_context(tmp_path / "merged", Units(given=given)))
    assert len(provenance) == n_pieces
    for name, array in whole.items():
        np.testing.assert_array_equal(merged[name], array, strict=True, err_msg=name)
    assert np.ptp(whole["x"]) > 0.1


def test_pieces_that_do_not_make_up_a_case_are_rejected(tmp_path):
    paths = [_piece(tmp_path, i, 3) for i in range(3)]
    with pytest.raises(PieceError, match=r"do not make up the case, there are 1 of 3, 3 of 3"):
        read_pieces([paths[0], paths[2]], IDENTITY)
    with pytest.raises(PieceError, match=r"1-of-3.npz was made with other settings, code or data: remove it"):
        read_pieces(paths, "another")
    paths[1].write_bytes(paths[1].read_bytes()[:500])
    with pytest.raises(PieceError, match=r"2-of-3.npz is damaged"):
        read_pieces(paths, IDENTITY)


def test_a_case_without_pieces_reads_none():
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
    sizes = {"n_draws": 5, "n_chains": 3, "block_size": 5}
    by_number = run_chains(_context(tmp_path / "a"), ("walk",), sampler, starts=starts, **sizes)
    assert by_number.draws["x"].shape == (3, 5)
    assert by_number.axes == {}
    np.testing.assert_allclose(by_number.draws["x"][:, 0], starts["x"], atol=0.01)
