"""Approximate Bayesian computation as a density estimate, for pseudo-marginal kernels."""

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

from auxmc.models.estimator import Estimator
from auxmc.numerics.random import standard_normal


def abc_estimator(
    log_kernel: Callable[[Array, Array], Array],
    log_prior: Callable[[Array], Array],
    n_auxiliary: int,
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

    Source: PhD thesis, section 4.4; Graham and Storkey 2017, section 3.
    """
    if n_auxiliary < 1:
        raise ValueError(f"n_auxiliary must be a positive integer, got {n_auxiliary}")

    def prepare(position: Array) -> tuple[Array, Array]:
        return position, log_prior(position)

    def log_estimate(cache: tuple[Array, Array], auxiliary: Array) -> Array:
        position, log_density = cache
        value = log_kernel(position, auxiliary)
        return jnp.where(jnp.isnan(value), -jnp.inf, value) + log_density

    def draw_auxiliary(key: Array) -> Array:
        return standard_normal(key, (n_auxiliary,))

    return Estimator(prepare, log_estimate, draw_auxiliary)
