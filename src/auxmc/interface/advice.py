"""Warnings about draws that must not be trusted as they are, each with what to do."""

import os
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import xarray as xr

from auxmc.diagnostics.convergence import bulk_ess, r_hat_limit, rank_r_hat
from auxmc.diagnostics.runs import longest_rejection_run
from auxmc.errors import SamplingWarning
from auxmc.interface.methods import Method

__all__ = ["DIVERGED_NATS", "Advice", "advise", "frozen", "too_few"]

_MAX_R_HAT = 1.01
# Of the quantities with the largest R-hat, how many are compared with what stationary chains can have.
_MOST_COMPARED = 20
_MIN_ESS = 100.0
_MAX_ERROR_SHARE = 0.1
_MIN_DRAWS = 8
_MAX_DIVERGED_SHARE = 1e-3
# Trajectories that leave the support explain what else is wrong from the first share on, and are named from the other.
_OUTSIDE_SHARES = (0.01, 0.1)
_MEND_FROZEN = (
    "Its start may lie where the density has a corner or no derivative: give other starts, a smaller step_size, or a "
    "longer warm_up"
)


_MEND_STICKING = {
    True: "longer, and use an estimate with a smaller variance (more samples)",
    False: "longer, with a smaller step_size or a higher target_acceptance, or give the density of other variables",
}
_MEND_SLOW = {
    True: "Run longer, or use an estimate with a smaller variance (more samples)",
    False: "Run longer, or give variables with scales of about 1 that depend less on each other",
}
_TEMPERED = "; where modes stay apart, use auxmc.evidence, which tempers between them"
DIVERGED_NATS = 1000.0
"""Energy that a trajectory gains at most before it counts as diverged."""


class Advice(NamedTuple):
    """What is wrong, and what to do about it."""

    problem: str
    mend: str

    @property
    def text(self) -> str:
        """Both, as a sentence each."""
        return f"{self.problem}. {self.mend}."

    def warn(self) -> None:
        """Issues a SamplingWarning where the user called."""
        warnings.warn(self.text, SamplingWarning, stacklevel=3)


def advise(method: Method, tree: xr.DataTree, cores: int | None = None) -> list[Advice]:
    """What is to be said about draws.

    Args:
        method: that drew them.
        tree: as `auxmc.sample` returns it.
        cores: how many variables to look at in parallel; None for as many as the machine has.
    """
    posterior, stats = tree["posterior"].to_dataset(), tree["sample_stats"].to_dataset()
    n_draws = posterior.sizes["draw"]
    found = [
        *frozen(posterior, _MEND_FROZEN),
        *_errors(stats),
        *_diverging(stats),
        *_sticking(stats, n_draws, estimated=method.estimated),
    ]
    if n_draws < _MIN_DRAWS:
        found.append(too_few(n_draws))
    elif not any("never moved" in advice.problem for advice in found):
        found += list(_convergence(method, posterior, cores))
    return _with_bound(found, stats)


def too_few(n_draws: int) -> Advice:
    """What is to be said about chains so short that no diagnostic says anything.

    Args:
        n_draws: of each chain.
    """
    return Advice(
        f"each chain has {n_draws} {'draw' if n_draws == 1 else 'draws'}, too few to tell whether they can be trusted",
        "Run longer: a thousand draws of each of four chains is where to begin",
    )


def frozen(posterior: xr.Dataset, mend: str) -> Iterator[Advice]:
    """What is to be said about chains that never moved.

    Args:
        posterior: draws, variables [chain, draw, ...].
        mend: what to do about it.
    """
    moved = np.zeros(posterior.sizes["chain"], dtype=bool)
    for array in posterior.data_vars.values():
        values = array.to_numpy().reshape(array.shape[0], array.shape[1], -1)
        moved |= np.any(np.ptp(values, axis=1) > 0.0, axis=1)
    if not moved.all() and posterior.sizes["draw"] > 1:
        chains = ", ".join(map(str, np.flatnonzero(~moved)))
        yield Advice(f"chain {chains} never moved after the warm-up", mend)


_ERRORS = {
    "n_not_converged": "projections that did not converge",
    "n_not_converged_reverse": "reversed projections that did not converge",
    "n_irreversible": "steps that could not be reversed",
    "n_singular": "singular Gram matrices",
    "n_not_finite": "energies that are not finite",
}


def _errors(stats: xr.Dataset) -> Iterator[Advice]:
    kinds = [name for name in _ERRORS if name in stats]
    if not kinds:
        return
    share = float(np.mean(sum((stats[name].to_numpy() for name in kinds), np.zeros(())) > 0))
    if share > _MAX_ERROR_SHARE:
        counts = ", ".join(
            f"{int(stats[name].sum())} {_ERRORS[name]}" for name in kinds if int(stats[name].sum())
        )
        yield Advice(
            f"{100 * share:.0f} % of the updates ended with a numerical error ({counts})",
            "Give a higher target_acceptance (0.9 to 0.95) or a longer warm_up; if they stay, look at the draws "
            "beside which they happen",
        )


def _diverging(stats: xr.Dataset) -> Iterator[Advice]:
    """What is to be said about trajectories that left the level of energy that they began at."""
    if "diverging" not in stats:
        return
    diverging, how = stats["diverging"].to_numpy(), ""
    if "energy_change" in stats:
        # Energies that are not finite are the edge of the support, or are counted among the errors.
        diverging = diverging & np.isfinite(stats["energy_change"].to_numpy())
        how = f": their energy rose by more than {DIVERGED_NATS:.0f} nats"
    n = int(np.sum(diverging))
    # On a manifold some steps end far off, where it is nearly flat: these are rejected like failed projections.
    most = _MAX_ERROR_SHARE if "n_projections" in stats else _MAX_DIVERGED_SHARE
    if n > most * diverging.size:
        yield Advice(
            f"{n} of {diverging.size} trajectories diverged{how}",
            "Some part of the density is too narrow for the step size, or a bound cuts it off, and draws may miss it: "
            "give a higher target_acceptance (0.95 to 0.99), or other variables (standardised effects of groups)",
        )


def _with_bound(found: list[Advice], stats: xr.Dataset) -> list[Advice]:
    """Advice that names a hard bound where trajectories cross one, in place of that on what follows from it."""
    if "energy_change" not in stats or "n_projections" in stats:
        return found
    outside = ~np.isfinite(stats["energy_change"].to_numpy())
    few, many = _OUTSIDE_SHARES
    if not (outside.mean() > many or (found and outside.mean() > few)):
        return found
    bound = Advice(
        f"{int(outside.sum())} of {outside.size} trajectories ended where the log density is not finite: a hard bound "
        "cuts it off, or it overflows",
        'Declare bounds: auxmc.density(..., bounds={"x": (0, None)})',
    )
    return [
        bound,
        *(one for one in found if "trajectories" not in one.problem and "updates" not in one.problem),
    ]


def _sticking(stats: xr.Dataset, n_draws: int, *, estimated: bool) -> Iterator[Advice]:
    for name in ("accepted", "accepted_auxiliary", "accepted_position"):
        if name not in stats or n_draws < _MIN_DRAWS:
            continue
        longest = int(np.max(longest_rejection_run(stats[name].to_numpy().astype(bool))))
        if longest > max(20, 0.1 * n_draws):
            what = "the auxiliary variables" if name == "accepted_auxiliary" else "a chain"
            yield Advice(
                f"{what} stayed the same for {longest} of {n_draws} draws on end",
                "The chains are too short beside such times, and errors from within a chain do not see them: run "
                + _MEND_STICKING[estimated],
            )


def _moving(posterior: xr.Dataset) -> Iterator[tuple[str, np.ndarray]]:
    """Name and draws [chain, draw] of every number that varies, of variables without a NaN or an infinity."""
    for name, array in posterior.data_vars.items():
        values = np.moveaxis(array.to_numpy().reshape(*array.shape[:2], -1).astype(float), -1, 0)
        if np.all(np.isfinite(values)):
            yield from ((str(name), own) for own in values if np.ptp(own) > 0.0)


def _convergence(method: Method, posterior: xr.Dataset, cores: int | None) -> Iterator[Advice]:
    n_chains = posterior.sizes["chain"]
    moving = [(name, xr.DataArray(own, dims=("chain", "draw"))) for name, own in _moving(posterior)]
    # Sorting takes most of the time, outside of Python's lock. ArviZ silences warnings by a filter of the whole process
    # while it works; where threads overlap it would stay, and with it silence: what was there before is put back.
    with warnings.catch_warnings(), ThreadPoolExecutor(cores or os.cpu_count() or 1) as pool:
        ess = pool.map(lambda own: float(bulk_ess(own[1])), moving)
        r_hat = list(pool.map(lambda own: float(rank_r_hat(own[1])), moving if n_chains > 1 else []))
        worst_ess = min(zip(ess, (name for name, _ in moving), strict=True), default=(np.inf, ""))
        largest = [i for i in np.argsort(r_hat)[::-1][:_MOST_COMPARED] if r_hat[i] > _MAX_R_HAT]
        limits = list(pool.map(lambda i: float(r_hat_limit(moving[i][1], len(moving))), largest))
    above = [
        (r_hat[i], limit, moving[i][0]) for i, limit in zip(largest, limits, strict=True) if r_hat[i] > limit
    ]
    if above:
        value, limit, name = above[0]
        tempered = "" if method.estimated or method.log_density is not None else _TEMPERED
        yield Advice(
            f"R-hat is {value:.3f} for {name}, above {max(limit, _MAX_R_HAT):.3f}: the chains disagree",
            f"They may sit in different modes, or be too short: run longer{tempered}",
        )
    if n_chains == 1:
        yield Advice("there is one chain alone, which cannot show that it missed a part", "Run at least four")
    if worst_ess[0] < _MIN_ESS * n_chains:
        yield Advice(
            f"the effective sample size is {worst_ess[0]:.0f} for {worst_ess[1]}, below {_MIN_ESS:.0f} a chain",
            _MEND_SLOW[method.estimated],
        )
