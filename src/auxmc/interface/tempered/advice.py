"""Warnings about an evidence that is not reliable as it is, each with what to do."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import xarray as xr
from scipy.special import logsumexp

from auxmc.diagnostics.convergence import rank_r_hat
from auxmc.diagnostics.tempered_evidence import Evidence, log_evidence, log_evidence_error
from auxmc.interface.advice import MIN_DRAWS, Advice, frozen, too_few
from auxmc.interface.checks.modes import lie_apart
from auxmc.interface.densities import Density
from auxmc.interface.tempered.annealing import Annealed
from auxmc.interface.tempered.bases import Base
from auxmc.interface.tempered.mixture import log_densities
from auxmc.sampling.importance import pareto_index

_MAX_R_HAT = 1.05
_LARGE_ERROR = 0.5
# Fraction of the chains, in effect, that must carry the weight.
_FEWEST_CHAINS = 0.3
_SCORE = 4.0
# Differences below this many nats are never warned of.
_SMALL = 0.05
# Annealed runs, in effect, below which their spread does not tell the error.
_FEWEST_RUNS = 30.0
_LARGEST_PARETO_INDEX = 0.7
# Annealed runs that must end apart from the draws: a single one may have stopped on its way.
_FEWEST_APART = 3
_SMALLEST_SUPPORT = 0.01
_MORE_RUNS = "Run more draws or more n_steps, or declare bounds of auxmc.density"


def advise_evidence(
    model: Density, draws: np.ndarray, base: Base, found: Evidence, support: float
) -> Iterator[Advice]:
    """Advice about an evidence by annealed runs or tempered chains.

    Draws are of the target [draw, dim]; `support` is the fraction of the base inside the target's support.
    """
    if support < _SMALLEST_SUPPORT:
        yield Advice(
            f"{100 * support:.2g} % of the base lies where the density is positive, and the evidence is in doubt",
            'Declare the edges of the support: auxmc.density(..., bounds={"x": (low, high)})',
        )
    yield from missed_modes(model, draws, base.explored, base.estimates(), found, base.remedy)
    n_modes, n_once = len(base.n_found), int(np.sum(base.n_found == 1))
    if n_once and n_modes > 1:
        once = f"of {n_modes} modes, {n_once} were found by one exploring run of {int(base.n_found.sum())}"
        yield Advice(f"{once}: others may be missing", "Compare with other seeds, or give a narrower prior")
    yield from large_error(found)


def large_error(found: Evidence) -> Iterator[Advice]:
    """Advice about a large standard error."""
    if not found.standard_error <= _LARGE_ERROR:
        problem = f"the standard error is {found.standard_error:.2f} nats"
        yield Advice(problem, "Run more draws, or more chains")


def not_reached(found: Evidence, n_runs: int, tolerance: float) -> Advice:
    """Advice about an error that is above the tolerance after all runs."""
    if not tolerance < found.standard_error < math.inf:
        return Advice(f"tolerance: the error is not known after {n_runs} runs", _MORE_RUNS)
    wanted = n_runs * max(1.0, found.standard_error / tolerance) ** 2
    return Advice(
        f"tolerance: the standard error is {found.standard_error:.2g} nats after {n_runs} runs, above {tolerance:g}",
        f"Give max_draws={wanted:.0e} or more, or more n_steps",
    )


def advise_chains(tree: xr.DataTree, base: Base, found: Evidence) -> Iterator[Advice]:
    """Advice about tempered chains, also compared with the annealed runs of their base."""
    stats = tree["sample_stats"]
    target, weight = (stats[name].to_numpy() for name in ("log_target_weight", "log_base_weight"))
    if target.shape[1] < MIN_DRAWS:
        yield too_few(target.shape[1])
    yield from frozen(tree["posterior"].to_dataset(), "Give a longer warm_up, or a base nearer to the target")
    yield from _crossings(stats["inverse_temperature"].to_numpy())
    yield from _weights_of_chains(target)
    yield from _halves(target, weight)
    if far := [pair for pair in base.estimates() if abs(pair[0] - found.value) > _allowed(found, pair[1])]:
        runs = "annealed runs {:.2f} +- {:.2f}".format(*far[0])
        fix = 'Take method="annealed_importance", or run more draws and chains'
        yield Advice(f"the chains give {found.value:.2f} nats, {runs}: the evidence is in doubt", fix)


def _allowed(found: Evidence, error: float) -> float:
    """By how many nats another estimate may differ."""
    return _SCORE * max(math.hypot(found.standard_error, error), _SMALL)


def few_runs(log_weights: np.ndarray) -> Iterator[Advice]:
    """Independent runs whose largest weights dominate."""
    if log_weights.size == 0 or not np.isfinite(log_weights).any():
        return
    logs = log_weights.ravel()
    n_effective = float(np.exp(2.0 * logsumexp(logs) - logsumexp(2.0 * logs)))
    index = float(pareto_index(logs[np.isfinite(logs)])) if n_effective >= _FEWEST_RUNS else 0.0
    doubt = "the evidence is in doubt"
    if n_effective < _FEWEST_RUNS:
        count = f"{n_effective:.1f} of {logs.size} runs count, in effect"
        yield Advice(f"{count}: {doubt}, and the error is not known", _MORE_RUNS, "no error")
    elif index > _LARGEST_PARETO_INDEX:
        largest = f"the largest weights have a Pareto index of {index:.2f}, above {_LARGEST_PARETO_INDEX}"
        yield Advice(f"{largest}: {doubt}", _MORE_RUNS)


def _crossings(temperatures: np.ndarray) -> Iterator[Advice]:
    crossed = (temperatures.min(axis=1) < 0.1) & (temperatures.max(axis=1) > 0.9)
    if not crossed.all():
        yield Advice(
            f"{int(np.sum(~crossed))} of {len(crossed)} chains did not get from the base to the target and back",
            "Run more draws, or give a base nearer to the target, or more n_steps",
        )
    if temperatures.shape[1] >= MIN_DRAWS and np.all(np.ptp(temperatures, axis=1) > 0.0):
        r_hat = float(rank_r_hat(xr.DataArray(temperatures, dims=("chain", "draw"))))
        if r_hat > _MAX_R_HAT:
            problem = f"R-hat of the inverse temperatures is {r_hat:.2f}, above {_MAX_R_HAT}"
            yield Advice(f"{problem}: the chains disagree", "Run more draws, or more n_steps")


def _weights_of_chains(target: np.ndarray) -> Iterator[Advice]:
    per_chain = np.asarray(logsumexp(target, axis=1))
    fractions = np.exp(per_chain - logsumexp(per_chain))
    n_effective = 1.0 / float(np.sum(fractions**2))
    if n_effective < _FEWEST_CHAINS * len(target):
        count = f"in effect {n_effective:.1f} of {len(target)}: the error is not known"
        fix = "Run more draws, or give a base that covers the mode of these chains"
        yield Advice(f"few chains carry the weight, {count}", fix, "no error")


def _halves(target: np.ndarray, weight: np.ndarray) -> Iterator[Advice]:
    half = target.shape[1] // 2
    if half < MIN_DRAWS:
        return
    pairs = [(target[:, part], weight[:, part]) for part in (slice(half), slice(half, None))]
    values = [log_evidence(*pair) for pair in pairs]
    error = math.hypot(*(log_evidence_error(*pair) for pair in pairs))
    if abs(values[0] - values[1]) > _SCORE * max(error, _SMALL):
        problem = "the first and the second half of the draws give {:.2f} and {:.2f} nats".format(*values)
        yield Advice(problem, "Give a longer warm_up, and more draws")


def missed_modes(
    model: Density,
    draws: np.ndarray,
    explored: Sequence[Annealed],
    estimates: Sequence[tuple[float, float]],
    found: Evidence,
    remedy: str,
) -> Iterator[Advice]:
    """Advice where exploring runs, or others with these estimates and errors, found more than an evidence and draws."""
    others = [(run.value, run.error) for run in explored if math.isfinite(run.value)] + [*estimates]
    if more := [value for value, error in others if value - found.value > _allowed(found, error)]:
        yield Advice(f"other annealed runs found {more[0]:.2f} nats: the evidence is too low", remedy)
    scouts = np.concatenate([run.ends for run in explored])
    scouts = scouts[np.all(np.isfinite(scouts), axis=1)]
    if len(draws) < MIN_DRAWS or not len(scouts):
        return
    least = np.quantile(log_densities(model.log_density, draws), 0.01)
    near = scouts[log_densities(model.log_density, scouts) >= least]
    n_apart = int(np.sum(lie_apart(draws, near))) if len(near) else 0
    if n_apart >= _FEWEST_APART:
        problem = f"{n_apart} annealed runs ended where the density is as large as at the draws, but no draw is near"
        yield Advice(problem, remedy)
