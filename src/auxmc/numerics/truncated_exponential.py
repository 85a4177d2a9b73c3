"""The distribution of an inverse temperature given a state: an exponential truncated to the unit interval.

All functions are elementwise, keep the precision of their arguments (float32 or float64) and are finite for every
finite difference of log densities.
"""

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike


def log_target_weight(delta: ArrayLike) -> Array:
    """Log density at b = 1 of the distribution with density proportional to exp(-b delta) on [0, 1].

    It is log(delta / (exp(delta) - 1)): 0 at delta = 0, about log(delta) - delta for large delta and log(-delta) for
    very negative delta, the log density of the base minus that of the target, in nats.

    Source: PhD thesis, Eq. 5.29; of the small values its Taylor series.
    """
    delta = jnp.asarray(delta)
    size = jnp.abs(delta)
    # Below this size the next term of the series, delta^4 / 2880, is less than the rounding of the result.
    small = size < (1e-4 if delta.dtype == jnp.float64 else 1e-2)
    safe = jnp.where(small, 1.0, size)
    series = delta * (-0.5 - delta / 24.0)
    return jnp.where(small, series, jnp.log(safe / -jnp.expm1(-safe)) - jnp.maximum(delta, 0.0))


def log_base_weight(delta: ArrayLike) -> Array:
    """Log density at b = 0 of the distribution with density proportional to exp(-b delta) on [0, 1].

    It is log(delta / (1 - exp(-delta))), which is `log_target_weight(-delta)`, and exceeds `log_target_weight(delta)`
    by delta. Taking the mirror image rather than adding delta loses no digits where delta is large.

    Source: PhD thesis, Eq. 5.31.
    """
    return log_target_weight(-jnp.asarray(delta))


def draw_inverse_temperature(uniform: ArrayLike, delta: ArrayLike) -> Array:
    """Gibbs update of the inverse temperature b: draws from the density proportional to exp(-b delta) on [0, 1].

    The distribution function is inverted at `uniform`, numbers in [0, 1) of the shape and precision of delta. The
    result is `uniform` itself where delta is zero or not a normal number; it increases with `uniform` where delta is
    positive and decreases where it is negative.

    Source: PhD thesis, Eq. 5.21.
    """
    uniform, delta = jnp.asarray(uniform), jnp.asarray(delta)
    size = jnp.abs(delta)
    flat = size < jnp.finfo(delta.dtype).tiny
    safe = jnp.where(flat, 1.0, size)
    nearer_end = jnp.clip(-jnp.log1p(uniform * jnp.expm1(-safe)) / safe, 0.0, 1.0)
    return jnp.where(flat, uniform, jnp.where(delta > 0.0, nearer_end, 1.0 - nearer_end))
