"""Approximate Bayesian computation: how near simulated data must be to the observed, and the density estimate.

Conditioning on data seen through a kernel k_eps(y | x), rather than on x = y itself, replaces the likelihood of z by
the expectation of k_eps(y | x) over simulations x given z. As the tolerance eps goes to zero all kernels tend
to a point mass. Each function leaves out its normalising constant, which depends on the tolerance and on the number
N of outputs alone and so cancels in every accept test: it is

- log Gamma(N/2 + 1) - (N/2) log pi - N log(tolerance) for the ball,
- log Gamma(N/2 + 2) - (N/2) log pi - N log(tolerance) for the parabola,
- -(N/2) log(2 pi) - N log(tolerance) for the Gaussian,
- -N log(2 tolerance) for the cube; the sources print -N log(tolerance).

Residuals are simulated minus observed data, of any shape; tolerances are positive, in the units of the data, and may be
traced. Log kernels are scalars in nats, minus infinity where an element is not finite or its square overflows.

Source: PhD thesis, section 4.4; Graham and Storkey 2017, section 3.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

from auxmc.models.estimator import Estimator
from auxmc.numerics.random import standard_normal


def euclidean_distance(residual: Array) -> Array:
    """Length of a residual of any shape, a scalar; infinite where an element is not finite or its square overflows.

    >>> float(euclidean_distance(jnp.array([3.0, 4.0]))), float(euclidean_distance(jnp.array([jnp.nan, 0.0])))
    (5.0, inf)
    """
    return jnp.sqrt(_sum_of_squares(residual))


def log_ball_kernel(distance: Array, tolerance: Array | float) -> Array:
    """Log of the uniform kernel on a ball, from Euclidean distances of any shape: 0 inside, else minus infinity."""
    return jnp.where(distance <= tolerance, 0.0, -jnp.inf)


def log_gaussian_kernel(residual: Array, tolerance: Array | float) -> Array:
    """Log of the isotropic Gaussian kernel, whose standard deviation is the tolerance."""
    return -0.5 * _sum_of_squares(residual) / jnp.square(tolerance)


def log_cube_kernel(residual: Array, tolerance: Array | float) -> Array:
    """Log of the uniform kernel on a cube: 0 where every element is at most the tolerance in size, else -infinity."""
    return jnp.where(jnp.all(jnp.abs(residual) <= tolerance), 0.0, -jnp.inf)


def log_epanechnikov_kernel(residual: Array, tolerance: Array | float) -> Array:
    """Log of the parabolic kernel on a ball: log(1 - |residual|^2 / tolerance^2) inside, else minus infinity.

    Source: Epanechnikov 1969.
    """
    excess = _sum_of_squares(residual) / jnp.square(tolerance)
    inside = excess < 1.0
    return jnp.where(inside, jnp.log1p(-jnp.where(inside, excess, 0.0)), -jnp.inf)


_KERNELS: dict[str, Callable[[Array, Array | float], Array]] = {
    "ball": lambda residual, tolerance: log_ball_kernel(euclidean_distance(residual), tolerance),
    "gaussian": log_gaussian_kernel,
    "cube": log_cube_kernel,
    "epanechnikov": log_epanechnikov_kernel,
}
ABC_KERNELS = tuple(_KERNELS)
"""Names for `log_abc_kernel`."""


def log_abc_kernel(name: str) -> Callable[[Array, Array | float], Array]:
    """The log kernel of a name in ABC_KERNELS (ValueError for others), as a function of (residual, tolerance).

    >>> float(log_abc_kernel("ball")(jnp.array([3.0, 4.0]), 5.0))
    0.0
    """
    if name not in _KERNELS:
        raise ValueError(f"unknown kernel {name!r}: expected one of {', '.join(ABC_KERNELS)}")
    return _KERNELS[name]


def abc_estimator(
    log_kernel: Callable[[Array, Array], Array], log_prior: Callable[[Array], Array], n_auxiliary: int
) -> Estimator:
    """Estimates the density of parameter inputs by one simulation: exp(log_kernel + log_prior).

    With it, `pseudo_marginal_method("pm_mh", ...)` is pseudo-marginal ABC MCMC, and "apm_mi_mh" the split update of
    simulation noise and parameters. A target in all inputs (u1, u2) at once is the same exponent.

    Args:
        log_kernel: maps (u1 [dim], u2 [auxiliary]) to the log of the ABC kernel at a simulation, a scalar in nats;
            minus infinity or NaN where the simulation fails or is too far from the data.
        log_prior: maps u1 [dim] to its log prior density in nats, up to a constant.
        n_auxiliary: number of standard normal inputs of a simulation.

    Returns:
        Estimator whose auxiliary variables are u2 [auxiliary]; NaN counts as minus infinity. It spends no
        cubic-cost operation and has no failure of its own.

    Raises:
        ValueError: n_auxiliary is not positive.
    """
    if n_auxiliary < 1:
        raise ValueError(f"n_auxiliary must be a positive integer, got {n_auxiliary}")

    def log_estimate(cache: tuple[Array, Array], auxiliary: Array) -> Array:
        position, log_density = cache
        value = log_kernel(position, auxiliary)
        return jnp.where(jnp.isnan(value), -jnp.inf, value) + log_density

    return Estimator(
        lambda position: (position, log_prior(position)),
        log_estimate,
        lambda key: standard_normal(key, (n_auxiliary,)),
    )


def _sum_of_squares(residual: Array) -> Array:
    """Sum of squares, infinite rather than NaN; the inner `where` keeps gradients finite where the value is."""
    finite = jnp.all(jnp.isfinite(residual))
    return jnp.where(finite, jnp.sum(jnp.square(jnp.where(finite, residual, 0.0))), jnp.inf)
