"""Examines whether a log prior is normalised, by draws of the prior and of a Gaussian near it."""

import math
from collections.abc import Callable

import jax
import numpy as np
from jax import Array
from scipy.special import expit

from auxmc.diagnostics.tempered_evidence import bridge_evidence
from auxmc.driver.seeds import generator_of
from auxmc.interface.advice import Advice
from auxmc.interface.methods import LogDensity
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.programs import at_points, many_draws

_DRAWS = 4000
# Numbers of a parameter vector for which so many draws give a covariance.
_MOST_DIM = 100
# Relative error above which nothing is said, and fraction that both distributions must share: with less in common, rare
# draws decide, and the error itself is not known.
_MAX_ERROR = 0.3
_LEAST_COMMON = 0.02
# Standard errors, and nats, above which it is said.
_SCORE = 5.0
_SMALL = 0.1


def advise_constant(
    log_prior: LogDensity, draw_prior: Callable[[Array], Array], dim: int, key: Array
) -> list[Advice]:
    """Advice where the integral of exp(log_prior), by bridge sampling, is known to differ from 1."""
    if dim > _MOST_DIM:
        return []
    draws = many_draws(draw_prior, jax.random.fold_in(key, 0), 2 * _DRAWS)
    if n_outside := int(np.sum(~np.all(np.isfinite(draws), axis=1))):
        count = f"{n_outside} of {len(draws)} draws of the prior"
        problem = f"{count} lie outside of the bounds, or are rounded to one"
        counted = "the evidence counts the prior inside alone, which is not normalised there"
        return [Advice(f"{problem}: {counted}", "Give a prior that is truncated to the bounds")]
    # Other draws than those that the Gaussian is fitted to, so that both samples are independent.
    fitted, fresh = draws[:_DRAWS], draws[_DRAWS:]
    try:
        root = np.linalg.cholesky(np.atleast_2d(np.cov(fitted, rowvar=False)))
    except np.linalg.LinAlgError:
        return []
    standard = generator_of(key).standard_normal(fresh.shape)
    centre, log_root = fitted.mean(axis=0), float(np.sum(np.log(np.diag(root))))

    def log_ratios(points: FloatArray, standard: FloatArray) -> FloatArray:
        """Log of prior over Gaussian [point]."""
        log_gaussian = -0.5 * np.sum(standard**2 + math.log(2.0 * math.pi), axis=1) - log_root
        return np.asarray(at_points(log_prior, points), dtype=np.float64) - log_gaussian

    of_gaussian = log_ratios(centre + standard @ root.T, standard)
    of_prior = log_ratios(fresh, np.linalg.solve(root, (fresh - centre).T).T)
    of_gaussian = np.where(np.isnan(of_gaussian), -np.inf, of_gaussian)
    if not (np.all(np.isfinite(of_prior)) and np.all(of_gaussian < np.inf) and np.any(of_gaussian > -np.inf)):
        return []
    log_constant, error = bridge_evidence(of_prior[None], of_gaussian)
    common = min(np.mean(expit(of_gaussian - log_constant)), np.mean(expit(log_constant - of_prior)))
    integral = f"its log integral is {log_constant:.2f} +- {error:.2f} nats"
    problem = f"log_prior seems not to be normalised: {integral}, and the evidence is off by as much"
    known = common >= _LEAST_COMMON and error <= _MAX_ERROR
    is_off = known and abs(log_constant) > max(_SMALL, _SCORE * error)
    return [Advice(problem, "Add the missing constant to log_prior")] if is_off else []
