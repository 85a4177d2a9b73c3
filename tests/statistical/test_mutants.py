"""Broken kernels fail the layer that is there to notice them; a valid but unusual one passes."""

from collections.abc import Callable

import pytest

from tests.mutants.wrapped import WRAPPED
from tests.mutants.wrapped_slices import unshrunk_slice
from tests.statistical.kernel_checks import check_invariance, line_driver, log_target
from tests.statistical.levels import expecting_failure


def test_there_are_enough_mutants_for_every_layer() -> None:
    layers = [mutant.layer for mutant in WRAPPED.values()]
    assert len(layers) >= 20
    assert set(layers) == {"L1", "L4", "L5"}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRAPPED)
def test_mutant_is_noticed(name: str, record_property: Callable[[str, object], None]) -> None:
    with expecting_failure(), pytest.raises(AssertionError) as noticed:
        WRAPPED[name].check(f"mutant/{name}")
    # An assertion outside of test modules that has no message of its own says which it is.
    said = str(noticed.value) or str(noticed.traceback[-1].statement).strip()
    record_property("noticed", said.splitlines()[0])


@pytest.mark.slow
def test_rejection_in_the_bracket_without_shrinking_is_valid() -> None:
    driver = line_driver(lambda index: unshrunk_slice(lambda x: log_target(index, x)))
    check_invariance(driver(1, "mutant/positive control"), floor=0.5)
