"""Broken kernels fail the layer that is there to notice them; a valid but unusual one passes."""

import pytest

from tests.mutants.catalogue import MUTANTS, unshrunk_slice
from tests.statistical.kernel_checks import check_invariance, line_driver, log_target
from tests.statistical.levels import expecting_failure


def test_there_are_enough_mutants_for_every_layer() -> None:
    layers = [mutant.layer for mutant in MUTANTS.values()]
    assert len(layers) >= 20
    assert set(layers) == {"L1", "L4", "L5"}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_noticed(name: str) -> None:
    with expecting_failure(), pytest.raises(AssertionError):
        MUTANTS[name].check()


def test_rejection_in_the_bracket_without_shrinking_is_valid() -> None:
    driver = line_driver(lambda index: unshrunk_slice(lambda x: log_target(index, x)))
    check_invariance(driver(1, "mutant/positive control"), floor=0.5)
