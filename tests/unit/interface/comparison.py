"""Comparison of draws by two programs of one posterior, and of an evidence with the exact one."""

import numpy as np
import xarray as xr

from auxmc.diagnostics.convergence import summarise_chains
from auxmc.interface.tempered.evidence import TemperedEvidence


def is_right(found: TemperedEvidence, exact: float) -> bool:
    """Whether an evidence is within four standard errors of the exact one: a false alarm in 1 of 16 000."""
    return abs(found.log_evidence - exact) < 4.0 * found.standard_error


def assert_same_moments(ours: xr.DataArray, theirs: np.ndarray) -> None:
    """Means and standard deviations agree within 4.5 standard errors, and both programs' chains converged.

    Args:
        ours: draws [chain, draw, ...].
        theirs: draws of the other program [chain, draw, ...].
    """
    first, second = (
        summarise_chains(np.moveaxis(array.reshape(*array.shape[:2], -1), -1, 0))
        for array in (ours.to_numpy(), np.asarray(theirs, np.float64))
    )
    assert max(first.r_hat.max(), second.r_hat.max()) < 1.03
    for name in ("mean", "sd"):
        error = np.hypot(getattr(first, f"mcse_{name}"), getattr(second, f"mcse_{name}"))
        z = (getattr(first, name) - getattr(second, name)) / error
        assert np.all(np.abs(z) < 4.5), (ours.name, name, z)
