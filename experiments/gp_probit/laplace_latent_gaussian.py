"""Laplace's method for a latent Gaussian vector observed through independent sites."""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from auxmc.numerics.linalg import add_to_diagonal, solve_rows, sum_log_diagonal, upper_cholesky, upper_gram


class SiteTerms(NamedTuple):
    """Log likelihood of each site and its derivatives in the latent value, each [site]."""

    log_likelihood: Array  # in nats
    gradient: Array  # first derivative
    curvature: Array  # negative second derivative, at least 0


class LaplaceMode(NamedTuple):
    """Gaussian approximation N(mode, (C^-1 + diag(curvature))^-1) of a latent posterior."""

    mode: Array  # mu [site], equal to C @ dual
    dual: Array  # a [site] = C^-1 mu, obtained without solving with C
    curvature: Array  # W [site] at the last iterate but one, which the last Newton step was made with
    log_marginal: Array  # Laplace's approximation of the log marginal likelihood, in nats; biased
    n_newton: Array  # Newton steps made, int32; each factorises one matrix
    converged: Array  # false where the steps did not settle, or a factorisation failed


def laplace_mode(
    covariance: Array,
    site_terms: Callable[[Array], SiteTerms],
    tolerance: float = 1e-4,
    max_newton: int = 1000,
) -> LaplaceMode:
    """Newton iteration from zero for the mode of N(z | 0, C) prod_m p(y_m | z_m), C being [site, site].

    Each step factorises B = I + W^1/2 C W^1/2, whose eigenvalues are at least 1 however singular C is. Steps end when
    the mean square change of z is below the tolerance.

    Source: PhD thesis, section 3.6.2; Rasmussen and Williams, Gaussian Processes for Machine Learning,
    Algorithm 3.1.

    >>> def gaussian_site(z):  # one observation y = 2 with unit noise at each site
    ...     return SiteTerms(-0.5 * (2.0 - z) ** 2, 2.0 - z, jnp.ones_like(z))
    >>> laplace_mode(jnp.eye(2), gaussian_site).mode.round(6).tolist()
    [1.0, 1.0]
    """
    n_sites = covariance.shape[0]
    zeros, zero = jnp.zeros(n_sites, covariance.dtype), jnp.zeros((), covariance.dtype)
    start = _NewtonState(zeros, zeros, zeros, zero, zero + jnp.inf, jnp.int32(0))

    def unsettled(state: _NewtonState) -> Array:
        # A failed factorisation makes the change NaN, which ends the loop as well.
        return (state.change >= tolerance) & (state.n_newton < max_newton)

    def newton_step(state: _NewtonState) -> _NewtonState:
        terms = site_terms(state.mode)
        root = jnp.sqrt(terms.curvature)
        factor = upper_cholesky(add_to_diagonal(root[:, None] * covariance * root[None, :], 1.0))
        target = terms.curvature * state.mode + terms.gradient
        half = solve_rows(factor, root * (target @ covariance))
        dual = target - root * solve_rows(factor, half, transpose=True)
        mode = dual @ covariance
        change = jnp.mean((mode - state.mode) ** 2)
        return _NewtonState(mode, dual, terms.curvature, sum_log_diagonal(factor), change, state.n_newton + 1)

    last = lax.while_loop(unsettled, newton_step, start)
    log_likelihood = jnp.sum(site_terms(last.mode).log_likelihood)
    log_marginal = log_likelihood - 0.5 * jnp.sum(last.dual * last.mode) - last.half_log_det
    settled = last.change < tolerance
    return LaplaceMode(last.mode, last.dual, last.curvature, log_marginal, last.n_newton, settled)


def reverse_precision_factor(prior_factor: Array, curvature: Array) -> Array:
    """Factor that turns the prior Cholesky factor into that of the Laplace covariance, all [site, site].

    With Lc the lower Cholesky factor of C, the precision of Lc^-1 z is A = I + Lc^T W Lc. Write A = U U^T
    with U upper triangular. Then (C^-1 + W)^-1 = L L^T with L = Lc U^-T, and since U^-T is lower triangular
    this L is the lower Cholesky factor itself: neither the covariance nor a factorisation of it, in which
    rounding is amplified by the condition of C, is needed.

    From Lc^T and W [site], at least 0, this returns U^T with the order of both its axes reversed: R, upper triangular.
    So log det U is log det R, and the reversal of U^-T b solves R x = reversed b.

    Source: PhD thesis, section 3.6.2, covariance of the importance distribution, reformulated.
    """
    weighted = prior_factor * jnp.sqrt(curvature)[None, :]
    return upper_cholesky(add_to_diagonal(upper_gram(weighted[::-1, ::-1]), 1.0))


class _NewtonState(NamedTuple):
    mode: Array
    dual: Array
    curvature: Array
    half_log_det: Array
    change: Array
    n_newton: Array
