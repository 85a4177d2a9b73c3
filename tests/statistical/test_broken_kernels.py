"""The checks of kernels notice kernels that are broken on purpose, and pass one that is unusual but valid."""

from typing import Any

import jax.numpy as jnp
import pytest
from jax import Array

from tests.statistical.broken import metropolis, pseudo_marginal, slices
from tests.statistical.kernel_checks import (
    check_height,
    check_invariance,
    check_structure,
    flat_infos,
    latent_driver,
    line_driver,
    log_target,
    slice_internals,
    square_driver,
)
from tests.statistical.levels import expecting_failure

pytestmark = pytest.mark.slow


def on_line(build: slices.BuildKernel) -> Any:
    return line_driver(lambda index: build(lambda x: log_target(index, x)))


def flat(_: Array) -> Array:
    return jnp.zeros(())


ON_LINE = metropolis.ON_LINE | slices.ON_LINE
INVARIANCE = {
    **{name: lambda build=build: on_line(build) for name, build in ON_LINE.items()},
    **{name: lambda build=build: square_driver(build()) for name, build in slices.ON_SQUARE.items()},
    **{name: lambda build=build: latent_driver(build, 1) for name, build in pseudo_marginal.LATENT.items()},
}


@pytest.mark.parametrize("name", INVARIANCE)
def test_broken_kernel_is_not_invariant(name: str) -> None:
    runs = INVARIANCE[name]()(0, f"mutant/{name}")
    with expecting_failure(), pytest.raises(AssertionError):
        check_invariance(runs, floor=0.0)


@pytest.mark.parametrize("name", slices.STRUCTURE | slices.HEIGHT)
def test_broken_slice_is_noticed_inside_an_update(name: str) -> None:
    build = (slices.STRUCTURE | slices.HEIGHT)[name]
    internals = slice_internals(build(lambda x: log_target(jnp.asarray(0), x)), f"mutant/{name}")
    with expecting_failure(), pytest.raises(AssertionError):
        (check_structure if name in slices.STRUCTURE else check_height)(internals)


@pytest.mark.parametrize("name", slices.BRACKET)
def test_broken_bracket_is_not_uniform(name: str) -> None:
    build, check = slices.BRACKET[name]
    infos = flat_infos(build(flat), f"mutant/{name}")
    with expecting_failure(), pytest.raises(AssertionError):
        check(infos)


def test_rejection_in_the_bracket_without_shrinking_is_valid() -> None:
    check_invariance(on_line(slices.unshrunk_slice)(1, "mutant/positive control"), floor=0.5)
