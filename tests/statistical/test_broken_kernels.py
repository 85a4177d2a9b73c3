"""The checks of kernels notice kernels that are broken on purpose, and pass one that is unusual but valid."""

import jax.numpy as jnp
import pytest

from tests.statistical import broken
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


def on_line(build):
    return line_driver(lambda index: build(lambda x: log_target(index, x)))


INVARIANCE = {
    **{name: lambda build=build: on_line(build) for name, build in broken.ON_LINE.items()},
    "clipping": lambda: square_driver(broken.clipping_instead_of_reflecting()),
    **{name: lambda build=build: latent_driver(build, 1) for name, build in broken.LATENT.items()},
}


@pytest.mark.parametrize("name", INVARIANCE)
def test_broken_kernel_is_not_invariant(name):
    runs = INVARIANCE[name]()(0, f"mutant/{name}")
    with expecting_failure(), pytest.raises(AssertionError):
        check_invariance(runs, floor=0.0)


@pytest.mark.parametrize("name", broken.STRUCTURE | broken.HEIGHT)
def test_broken_slice_is_noticed_inside_an_update(name):
    build = (broken.STRUCTURE | broken.HEIGHT)[name]
    internals = slice_internals(build(lambda x: log_target(jnp.asarray(0), x)), f"mutant/{name}")
    with expecting_failure(), pytest.raises(AssertionError):
        (check_structure if name in broken.STRUCTURE else check_height)(internals)


@pytest.mark.parametrize("name", broken.BRACKET)
def test_broken_bracket_is_not_uniform(name):
    build, check = broken.BRACKET[name]
    infos = flat_infos(build(lambda _: jnp.zeros(())), f"mutant/{name}")
    with expecting_failure(), pytest.raises(AssertionError):
        check(infos)


def test_rejection_in_the_bracket_without_shrinking_is_valid():
    check_invariance(on_line(broken.unshrunk_slice)(1, "mutant/positive control"), floor=0.5)
