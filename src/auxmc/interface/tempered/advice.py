"""Warnings about an evidence that must not be trusted as it is, each with what to do."""

import math
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from scipy.special import logsumexp

from auxmc.diagnostics.convergence import bulk_ess, rank_r_hat
from auxmc.diagnostics.log_evidence import Evidence, log_evidence, log_evidence_error
from auxmc.interface.advice import Advice, frozen, too_few
from auxmc.interface.densities import Density
from auxmc.interface.modes import lie_apart
from auxmc.interface.tempered.bases import Base

__all__ = ["advise_evidence"]

_MAX_R_HAT = 1.05
_LARGE_ERROR = 0.5
# Share of the chains, in effect, that must carry the weight.
_FEWEST_CHAINS = 0.3
_SCORE = 4.0
# Differences below this many nats are never warned of.
_SMALL = 0.05
_MIN_DRAWS = 8
# Effective draws, and their share, below which draws are warned of: 200 know the share of one of two modes to 0.035.
_FEWEST_EFFECTIVE = 200.0
_LEAST_EFFECTIVE_SHARE = 0.5
# Annealed runs that must end apart from the draws: a single one may have stopped on its way.
_FEWEST_APART = 3


def advise_evidence(
    model: Density, tree: xr.DataTree, posterior: xr.DataTree, base: Base, found: Evidence
) -> list[Advice]:
    """What is to be said about an evidence.

    Args:
        model: the target.
        tree: tempered chains.
        posterior: draws of the target.
        base: with the annealed runs.
        found: the estimate.
    """
    stats = tree["sample_stats"]
    target, weight = (stats[name].to_numpy() for name in ("log_target_weight", "log_base_weight"))
    advice = [
        *([too_few(target.shape[1])] if target.shape[1] < _MIN_DRAWS else []),
        *frozen(tree["posterior"].to_dataset(), "Give a longer warm_up, or a base nearer to the target"),
        *_crossings(stats["inverse_temperature"].to_numpy()),
        *_shares(target),
        *_halves(target, weight),
        *_missed(model, posterior, base, found),
        *_dependent(posterior["posterior"].to_dataset()),
    ]
    if not found.standard_error <= _LARGE_ERROR:
        advice.append(
            Advice(f"the standard error is {found.standard_error:.2f} nats", "Run more draws, or more chains")
        )
    return advice


def _crossings(temperatures: np.ndarray) -> Iterator[Advice]:
    crossed = (temperatures.min(axis=1) < 0.1) & (temperatures.max(axis=1) > 0.9)
    if not crossed.all():
        yield Advice(
            f"{int(np.sum(~crossed))} of {len(crossed)} chains did not get from the base to the target and back",
            "Run more draws; if it stays, give a base nearer to the target, or more n_steps",
        )
    if temperatures.shape[1] >= _MIN_DRAWS and np.all(np.ptp(temperatures, axis=1) > 0.0):
        r_hat = float(rank_r_hat(temperatures))
        if r_hat > _MAX_R_HAT:
            yield Advice(
                f"R-hat of the inverse temperatures is {r_hat:.2f}, above {_MAX_R_HAT}: the chains disagree",
                "Run more draws, or more n_steps",
            )


def _shares(target: np.ndarray) -> Iterator[Advice]:
    per_chain = np.asarray(logsumexp(target, axis=1))
    shares = np.exp(per_chain - logsumexp(per_chain))
    n_effective = 1.0 / float(np.sum(shares**2))
    if n_effective < _FEWEST_CHAINS * len(target):
        yield Advice(
            f"few chains carry the weight, in effect {n_effective:.1f} of {len(target)}: the error is not known",
            "Run more draws; if it stays, the base misses the mode that these chains found",
        )


def _halves(target: np.ndarray, weight: np.ndarray) -> Iterator[Advice]:
    half = target.shape[1] // 2
    if half < _MIN_DRAWS:
        return
    pairs = [(target[:, part], weight[:, part]) for part in (slice(half), slice(half, None))]
    values = [log_evidence(*pair) for pair in pairs]
    error = math.hypot(*(log_evidence_error(*pair) for pair in pairs))
    if abs(values[0] - values[1]) > _SCORE * max(error, _SMALL):
        yield Advice(
            f"the first and the second half of the draws give {values[0]:.2f} and {values[1]:.2f} nats",
            "The chains are not yet where they should be: give a longer warm_up, and more draws",
        )


def _missed(model: Density, posterior: xr.DataTree, base: Base, found: Evidence) -> Iterator[Advice]:
    together = math.hypot(found.standard_error, base.runs.error)
    if base.runs.log_normaliser - found.value > _SCORE * max(together, _SMALL):
        yield Advice(
            f"annealed importance sampling, which underestimates, found more: {base.runs.log_normaliser:.2f} nats",
            "The chains miss a part of the target: run more draws or chains",
        )
    arrays = [posterior["posterior"][name] for name in model.layout.names]
    draws = np.concatenate([array.to_numpy()[0].reshape(array.shape[1], -1) for array in arrays], axis=1)
    if len(draws) < _MIN_DRAWS or not len(base.scouts):
        return
    evaluate = jax.jit(jax.vmap(model.log_density))
    least = np.quantile(evaluate(jnp.asarray(draws)), 0.01)
    near = base.scouts[np.asarray(evaluate(jnp.asarray(base.scouts))) >= least]
    n_apart = int(np.sum(lie_apart(draws, near))) if len(near) else 0
    if n_apart >= _FEWEST_APART:
        yield Advice(
            f"{n_apart} annealed runs ended where the density is as large as at the draws, but no draw is near",
            'A mode or a tail may be missing: run more draws, and take base="automatic"',
        )


def _dependent(posterior: xr.Dataset) -> Iterator[Advice]:
    """Draws stand in the order of the chains: chains that lie in different modes make them depend on one another."""
    n_draws = posterior.sizes["draw"]
    if n_draws < _MIN_DRAWS:
        return
    worst = (np.inf, "")
    for name, array in posterior.data_vars.items():
        values = np.moveaxis(array.to_numpy().reshape(1, n_draws, -1).astype(float), -1, 0)
        values = values[np.ptp(values, axis=(1, 2)) > 0.0]
        if values.size and np.all(np.isfinite(values)):
            worst = min(worst, (float(np.min(bulk_ess(values))), str(name)))
    if worst[0] < min(_FEWEST_EFFECTIVE, _LEAST_EFFECTIVE_SHARE * n_draws):
        yield Advice(
            f"the {n_draws} draws of the posterior are worth {worst[0]:.0f} independent ones for {worst[1]}: the "
            "shares of modes are rough",
            "Run more draws or chains, so that chains go to and fro between modes more often",
        )
