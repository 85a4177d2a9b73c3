"""Exact expectations of nested sampling on Gaussian observations with a Gaussian mean, by quadrature."""

import math

from scipy import integrate
from scipy.special import ndtr

from experiments.estimator_illustrations.model import GaussianMean

__all__ = ["expected_nested_ratio", "expected_upper_bound_ratio"]


# Beyond this many standard deviations of the likelihood nothing contributes.
_WIDTHS = 40.0


def expected_nested_ratio(model: GaussianMean, n_live: int, factor: float) -> float:
    """Expected upper sum of nested sampling over the evidence, with exact draws under the constraint and to the end.

    The estimate is the sum over dead points of factor^(k-1) (1 - factor) L_k. Dead points with a mass above x are a
    Poisson number with mean -M log x, so that the expectation is the integral of P(L > l)^(M (1 - factor)) over l. The
    lower sum is the factor times this.

    Args:
        model: with a prior variance of any size.
        n_live: live points M, at least 1.
        factor: assumed ratio of successive masses, in (0, 1).

    Must hold: 1 for factor = 1 - 1/M and any M; above 1 for exp(-1/M) and M/(M+1), falling to 1 as M grows.

    Source: ours, of MSc thesis, section 3.2, where the sums with M/(M+1) are called unbiased.

    """
    return _integral_of_mass(model, n_live * (1.0 - factor))


def expected_upper_bound_ratio(model: GaussianMean, n_live: int) -> float:
    """Expected upper sum with the true masses over the evidence, with exact draws under the constraint and to the end.

    The sum over dead points of L_k (X_(k-1) - X_k) bounds the evidence from above. The steps of -log X are
    exponential with mean 1/M, so that it has the expectation M/(M-1) times the integral of L (1 - X^(M-1)) over X.

    Args:
        model: as in `expected_nested_ratio`.
        n_live: live points M, at least 2.

    Must hold: above 1; nearly M/(M-1) where the likelihood is narrow.

    Source: ours, of MSc thesis, section 3.2, which calls the sum with the expected masses unbiased for this bound.

    """
    # By parts, the integral of L X^(M-1) over X is that of P(L > l)^M / M over l.
    return n_live / (n_live - 1.0) * (1.0 - _integral_of_mass(model, float(n_live)) / n_live)


def _integral_of_mass(model: GaussianMean, power: float) -> float:
    """Integral of P(L > l)^power over l, over the evidence."""
    sd, n = math.sqrt(model.prior_variance), model.n_rows
    log_scale = model.log_largest_likelihood - model.log_evidence

    # Over the distance of contours from the sample mean: -dL/dd = n d L.
    def integrand(width: float) -> float:
        distance = width / math.sqrt(n)
        below, above = (model.sample_mean - distance) / sd, (model.sample_mean + distance) / sd
        mass = float(ndtr(above) - ndtr(below))
        return mass**power * width * math.exp(log_scale - 0.5 * width**2)

    value, _ = integrate.quad(integrand, 0.0, _WIDTHS, epsabs=0.0, epsrel=1e-12, limit=500)
    return float(value)
