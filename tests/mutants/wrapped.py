"""All wrapped mutations by name."""

from tests.mutants.wrapped_metropolis import METROPOLIS
from tests.mutants.wrapped_pseudo_marginal import PSEUDO_MARGINAL
from tests.mutants.wrapped_slices import SLICES

__all__ = ["WRAPPED"]

WRAPPED = {**METROPOLIS, **SLICES, **PSEUDO_MARGINAL}
