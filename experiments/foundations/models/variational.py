"""Topic: divergences, a minimiser of one of them, and mean field."""

import math

import jax
import numpy as np
import xarray as xr
from scipy import integrate, stats

from auxmc.approximations.gaussian_mean_field import gaussian_mean_field
from auxmc.approximations.renyi import fit_gaussian, gaussian_log_density, renyi_divergence
from auxmc.numerics.array_types import FloatArray
from experiments.foundations.topic import Arrays, Lines, Topic, Work
from experiments.tempering_illustration.model import NARROW_AND_BROAD

TOPIC = Topic()

_GRID = np.linspace(-40.0, 40.0, 8001)
_STARTS = ((0.0, 3.0), (1.2, 2.0), (-4.8, 0.25))
# Mean and standard deviation of the Gaussians that the author's figures draw, and that the bounds are taken at.
_PUBLISHED_HALF = (0.193701, 2.652223)
_FIXED = (1.0615, 2.1658)
_CORRELATIONS = (0.8, 0.99)
_N_SHOWN_SWEEPS = 12


_RENYI = (
    "Renyi 1/2, mean",
    "Renyi 1/2, standard deviation",
    "Renyi 1/2, divergence",
    "Renyi 1/2, divergence of the published fit",
)


@TOPIC.claim("FN-VI-02", numbers=_RENYI)
def fits(work: Work) -> Lines:
    """The Gaussian that minimises the divergence of order 1/2 from a density with two modes."""
    log_p = work.once(_log_mixture)
    half = fit_gaussian(_GRID, lambda q: renyi_divergence(_GRID, log_p, q, 0.5), _STARTS)
    published = renyi_divergence(_GRID, log_p, gaussian_log_density(_GRID, *_PUBLISHED_HALF), 0.5)
    return dict(zip(_RENYI, (half.mean, half.sd, half.objective, published), strict=True))


@TOPIC.claim("FN-VI-03", numbers=["limit", "corrected"])
def limit_of_order_zero(work: Work) -> Lines:
    """The divergence of U(0, 1) from U(0, 2) at order 1e-9, and the mass of either on the other's support."""
    p, q = stats.uniform(0.0, 1.0), stats.uniform(0.0, 2.0)
    order = 1e-9
    integral, _ = integrate.quad(lambda x: p.pdf(x) ** order * q.pdf(x) ** (1.0 - order), 0.0, 1.0)
    limit = math.log(integral) / (order - 1.0)
    return {
        "limit": limit,
        "as printed": limit + math.log(p.cdf(2.0) - p.cdf(0.0)),
        "corrected": limit + math.log(q.cdf(1.0) - q.cdf(0.0)),
    }


@TOPIC.claim("FN-VI-04")
def orders(work: Work) -> Lines:
    """The divergence of a fixed Gaussian near order 1."""
    log_p, log_q = work.once(_log_mixture), gaussian_log_density(_GRID, *_FIXED)
    near, at = (renyi_divergence(_GRID, log_q, log_p, order) for order in (0.999999, 1.0))
    return {"order 0.999999 less order 1": near - at}


def _log_mixture(work: Work) -> FloatArray:
    return np.asarray(jax.jit(NARROW_AND_BROAD.log_density)(_GRID))


@TOPIC.figure("mean_field")
def mean_field_curves(work: Work) -> Arrays:
    """Path of coordinate ascent, and variances over correlations."""
    covariances = ([[1.0, rho], [rho, 1.0]] for rho in _CORRELATIONS)
    runs = [gaussian_mean_field([0.0, 0.0], both, [1.5, -1.5], _N_SHOWN_SWEEPS) for both in covariances]
    # Means after every update: a sweep changes the first, then the second.
    path = np.stack([np.repeat(run.means, 2, axis=0)[1:] for run in runs])
    path[:, 1::2, 1] = path[:, 0:-1:2, 1]
    distributions = {"correlation": list(_CORRELATIONS)}
    along = {**distributions, "update": np.arange(path.shape[1])}
    return {
        "path": xr.DataArray(path, {**along, "axis": [1, 2]}),
        "variance": xr.DataArray([run.covariance[0, 0] for run in runs], distributions),
    }
