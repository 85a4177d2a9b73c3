"""Comparison of draws by two programs of one posterior, and of an evidence with the exact one."""

import numpy as np

import auxmc
from auxmc.diagnostics.convergence import summarise_chains
from auxmc.interface.densities import Density
from auxmc.interface.tempered.evidence import TemperedEvidence

# Rows of a linear regression whose noise is positive, with fractions that are positive and sum to one.
X = np.random.default_rng(1).normal(size=(30, 2))
Y = X @ [1.0, -0.5] + np.random.default_rng(2).normal(size=30) * 0.7


def is_right(found: TemperedEvidence, exact: float) -> bool:
    """Whether an evidence is within four standard errors of the exact one: a false alarm in 1 of 16 000."""
    return abs(found.log_evidence - exact) < 4.0 * found.standard_error


def assert_same_draws(model: Density, theirs: dict[str, np.ndarray]) -> None:
    """Draws of the regression are on the scales of its variables, and have the moments of another program's draws.

    Means and standard deviations agree within 4.5 standard errors, and both programs' chains converged.

    Args:
        model: as the other program has it.
        theirs: draws of the other program, by variable [chain, draw, ...].
    """
    posterior = auxmc.sample(auxmc.hmc(model), draws=1000, warm_up=400, chains=4, progress=False)["posterior"]
    shapes = {name: array.shape[2:] for name, array in posterior.data_vars.items()}
    assert shapes == {"slope": (2,), "noise": (), "fractions": (3,), "ratio": ()}
    assert float(posterior["noise"].min()) > 0.0
    np.testing.assert_allclose(posterior["fractions"].sum("fractions_dim_0"), 1.0, atol=1e-12)
    for name in shapes:
        # The last fraction is what the others leave.
        first, second = (
            summarise_chains(np.moveaxis(array.reshape(*array.shape[:2], -1)[..., :2], -1, 0))
            for array in (posterior[name].to_numpy(), np.asarray(theirs[str(name)], np.float64))
        )
        assert max(first.r_hat.max(), second.r_hat.max()) < 1.03
        for moment in ("mean", "sd"):
            error = np.hypot(getattr(first, f"mcse_{moment}"), getattr(second, f"mcse_{moment}"))
            z = (getattr(first, moment) - getattr(second, moment)) / error
            assert np.all(np.abs(z) < 4.5), (name, moment, z)
