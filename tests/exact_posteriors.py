"""Posteriors in closed form, to compare samplers and estimators with."""

import numpy as np

from auxmc.models.regression.linear_regression import PrefixEvidence, extend_evidence
from auxmc.numerics.array_types import FloatArray


def tempered_posterior(
    rows: FloatArray, weights: FloatArray, noise_scale: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the density proportional to prior times the product of p(row_i | parameters)^weight_i.

    The model is linear regression with a standard normal prior.

    Args:
        rows: [row, n_features + 1].
        weights: powers, not negative [row]; 1 for a whole row.
        noise_scale: sigma.
    """
    roots = np.sqrt(weights)[:, None] / noise_scale
    design = np.concatenate([rows[:, :-1], np.ones((len(rows), 1))], axis=1) * roots
    dim = design.shape[1]
    stacked = np.concatenate([np.eye(dim), design])
    target = np.concatenate([np.zeros(dim), rows[:, -1] * roots[:, 0]])
    factor = np.linalg.qr(stacked, mode="r")
    inverse = np.linalg.inv(factor)
    mean, *_ = np.linalg.lstsq(stacked, target, rcond=None)
    return mean, inverse @ inverse.T


def linear_log_evidence(rows: FloatArray, noise_scale: float = 1.0) -> float:
    """Log evidence of linear regression with a standard normal prior on rows [row, n_features + 1]."""
    empty = PrefixEvidence.empty(rows.shape[1] - 1)
    return extend_evidence(empty, rows, noise_scale).log_evidence(noise_scale)


def standardised(points: FloatArray, rows: FloatArray) -> FloatArray:
    """Points [point, parameter] in coordinates in which the posterior of all rows is standard normal."""
    mean, covariance = tempered_posterior(rows, np.ones(len(rows)))
    return np.linalg.solve(np.linalg.cholesky(covariance), (np.asarray(points) - mean).T).T
