"""Warnings about draws that are not reliable as they are, each with what to do."""

import itertools
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.special import ndtri

from auxmc.diagnostics.convergence import bulk_ess, r_hat_limit, rank_r_hat
from auxmc.diagnostics.runs import longest_rejection_run
from auxmc.errors import SamplingWarning
from auxmc.interface.methods import Method

DIVERGED_NATS = 1000.0
"""Energy that a trajectory gains at most before it counts as diverged."""
MIN_DRAWS = 8
"""Draws of a chain below which no diagnostic says anything."""

_MAX_R_HAT = 1.01
# Of the quantities with the largest R-hat, how many are compared with what stationary chains can have.
_MOST_COMPARED = 20
# Effective draws of each chain, and the relative standard error of an estimate of so many.
_MIN_ESS = 100.0
_ERROR_OF_ESS = 0.2
_MAX_ERROR_FRACTION = 0.1
_MAX_DIVERGED_FRACTION = 1e-3
_STATE = {
    "n_not_converged": "projections that did not converge",
    "n_not_converged_reverse": "reversed projections that did not converge",
    "n_irreversible": "irreversible steps",
    "n_singular": "singular Gram matrices",
    "n_not_finite": "energies that are not finite",
}
_BETTER_ESTIMATE = "use an estimate with a smaller variance (more samples)"


class Advice(NamedTuple):
    """What is wrong, and how to fix it, a sentence each without its full stop.

    `cause` is "frozen", "trajectories" or "no error" where other advice depends on it, else empty.
    """

    problem: str
    fix: str
    cause: str = ""

    @property
    def text(self) -> str:
        """Problem and fix, a sentence each."""
        return f"{self.problem}. {self.fix}."


def issue(advice: Sequence[Advice]) -> tuple[str, ...]:
    """Issues a SamplingWarning for each advice where the user called, and returns their texts."""
    frames = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_stack(sys._getframe()))
    level = 1 + sum(1 for _ in itertools.takewhile(lambda name: name.startswith("auxmc."), frames))
    for one in advice:
        warnings.warn(one.text, SamplingWarning, stacklevel=level)
    return tuple(one.text for one in advice)


def advise(method: Method, tree: xr.DataTree, cores: int | None = None) -> list[Advice]:
    """Advice about draws of a method, in a tree of `auxmc.sample`; `cores` variables are looked at in parallel."""
    posterior, stats = tree["posterior"].to_dataset(), tree["sample_stats"].to_dataset()
    n_draws = posterior.sizes["draw"]
    fix = "Give other starts, a smaller step_size, or a longer warm_up"
    found = [*frozen(posterior, fix), *_errors(stats), *advise_diverging(stats)]
    if n_draws < MIN_DRAWS:
        found.append(too_few(n_draws))
    else:
        found += _sticking(method, stats, n_draws)
        if not any(advice.cause == "frozen" for advice in found):
            found += advise_convergence(method.kind, posterior, cores)
    return _with_bound(found, stats)


def too_few(n_draws: int) -> Advice:
    """Advice about chains of so many draws each, too few for any diagnostic."""
    draws = "1 draw" if n_draws == 1 else f"{n_draws} draws"
    return Advice(f"each chain has {draws}, too few for any diagnostic", "Run at least a thousand")


def frozen(posterior: xr.Dataset, fix: str) -> Iterator[Advice]:
    """Advice, with what to do about it, on chains of a posterior, variables [chain, draw, ...], that never moved."""
    moved = np.zeros(posterior.sizes["chain"], dtype=bool)
    for array in posterior.data_vars.values():
        values = array.to_numpy().reshape(array.shape[0], array.shape[1], -1)
        moved |= np.any(np.ptp(values, axis=1) > 0.0, axis=1)
    if not moved.all() and posterior.sizes["draw"] > 1:
        chains = ", ".join(map(str, np.flatnonzero(~moved)))
        yield Advice(f"chain {chains} never moved after the warm-up", fix, "frozen")


def _errors(stats: xr.Dataset) -> Iterator[Advice]:
    """Advice about updates that ended with a numerical error."""
    counts = {text: stats[name].to_numpy() for name, text in _STATE.items() if name in stats}
    if not counts:
        return
    fraction = float(np.mean(np.sum(list(counts.values()), axis=0) > 0))
    if fraction > _MAX_ERROR_FRACTION:
        named = ", ".join(f"{int(n.sum())} {text}" for text, n in counts.items() if n.any())
        problem = f"{100 * fraction:.0f} % of the updates ended with a numerical error ({named})"
        fix = "Give a higher target_acceptance (0.9 to 0.95) or a longer warm_up"
        yield Advice(problem, fix, "trajectories")


def advise_diverging(stats: xr.Dataset | xr.DataTree) -> Iterator[Advice]:
    """Advice about trajectories that left the level of energy that they began at."""
    if "diverging" not in stats:
        return
    diverging, how = stats["diverging"].to_numpy(), ""
    if "energy_change" in stats:
        # Energies that are not finite are the edge of the support, or are counted among the errors.
        diverging = diverging & np.isfinite(stats["energy_change"].to_numpy())
        how = f": their energy rose by more than {DIVERGED_NATS:.0f} nats"
    n = int(np.sum(diverging))
    # On a manifold some steps end far off, where it is nearly flat: these are rejected like failed projections.
    most = _MAX_ERROR_FRACTION if "n_projections" in stats else _MAX_DIVERGED_FRACTION
    if n > most * diverging.size:
        fix = "Give a higher target_acceptance (0.95 to 0.99), or standardised variables"
        yield Advice(f"{n} of {diverging.size} trajectories diverged{how}", fix, "trajectories")


def _with_bound(found: list[Advice], stats: xr.Dataset) -> list[Advice]:
    """Advice that names a hard bound where trajectories cross one, in place of that on its consequences."""
    if "n_projections" in stats:
        return found
    if "left_support" in stats:
        outside = stats["left_support"].to_numpy()
    elif "energy_change" in stats:
        outside = ~np.isfinite(stats["energy_change"].to_numpy())
    else:
        return found
    # A few trajectories that leave the support matter only where there are other warnings; many do by themselves.
    if outside.mean() <= (0.01 if found else 0.1):
        return found
    ended = f"{int(outside.sum())} of {outside.size} trajectories ended where the log density is not finite"
    fix = 'Declare bounds: auxmc.density(..., bounds={"x": (0, None)})'
    bound = Advice(f"{ended}: a hard bound cuts it off, or it overflows", fix)
    return [bound, *(advice for advice in found if advice.cause != "trajectories")]


def _sticking(method: Method, stats: xr.Dataset, n_draws: int) -> Iterator[Advice]:
    """Advice about chains that stayed where they were for a tenth of the draws."""
    for name in ("accepted", "accepted_auxiliary", "accepted_position"):
        if name not in stats:
            continue
        longest = int(np.max(longest_rejection_run(stats[name].to_numpy().astype(bool))))
        if longest > max(20, 0.1 * n_draws):
            what = "the auxiliary variables" if name == "accepted_auxiliary" else "a chain"
            step = "give a smaller step_size or a higher target_acceptance"
            fix = f"Run longer, and {_BETTER_ESTIMATE if method.kind == 'estimate' else step}"
            problem = f"{what} stayed the same for {longest} of {n_draws} draws: errors are too small"
            yield Advice(problem, fix)


def _moving(posterior: xr.Dataset) -> Iterator[tuple[str, xr.DataArray]]:
    """Name and draws of every number that varies, of variables without a NaN or an infinity."""
    for name, array in posterior.data_vars.items():
        values = np.moveaxis(array.to_numpy().reshape(*array.shape[:2], -1).astype(float), -1, 0)
        if np.all(np.isfinite(values)):
            for own in values:
                if np.ptp(own) > 0.0:
                    yield str(name), xr.DataArray(own, dims=("chain", "draw"))


def advise_convergence(kind: str, posterior: xr.Dataset, cores: int | None = None) -> Iterator[Advice]:
    """Advice about R-hat and the effective sample size, judged by what the worst of so many numbers may be."""
    n_chains, moving = posterior.sizes["chain"], list(_moving(posterior))
    names, draws = [name for name, _ in moving], [own for _, own in moving]
    # Sorting takes most of the time, outside of Python's lock. ArviZ silences warnings by a filter of the whole process
    # while it works; where threads overlap it would stay: what was there before is restored.
    with warnings.catch_warnings(), ThreadPoolExecutor(cores or os.cpu_count() or 1) as pool:
        ess = np.array([*pool.map(lambda own: float(bulk_ess(own)), draws)])
        r_hat = np.array([*pool.map(lambda own: float(rank_r_hat(own)), draws if n_chains > 1 else [])])
        largest = [int(i) for i in np.argsort(r_hat)[::-1][:_MOST_COMPARED] if r_hat[i] > _MAX_R_HAT]
        limits = [*pool.map(lambda i: float(r_hat_limit(draws[i], len(draws))), largest)]
    above = [(i, limit) for i, limit in zip(largest, limits, strict=True) if r_hat[i] > limit]
    if above:
        worst, limit = above[0]
        tempered = ", or use auxmc.evidence, which tempers between modes" if kind == "density" else ""
        problem = f"R-hat is {r_hat[worst]:.3f} for {names[worst]}, above {max(limit, _MAX_R_HAT):.3f}"
        yield Advice(f"{problem}: the chains disagree", f"Run longer{tempered}")
    if n_chains == 1:
        yield Advice("one chain alone cannot show that it missed a mode", "Run at least four")
    if not draws:
        return
    worst = int(np.argmin(ess))
    size, name = ess[worst], names[worst]
    if size < _MIN_ESS * n_chains * np.exp(-_ERROR_OF_ESS * -ndtri(0.5 / len(draws))):
        scales = "give variables with scales of about 1 that depend less on each other"
        problem = f"the effective sample size is {size:.0f} for {name}, below {_MIN_ESS:.0f} a chain"
        yield Advice(problem, f"Run longer, or {_BETTER_ESTIMATE if kind == 'estimate' else scales}")
