"""Steps along an annealing path that keep a chosen effective sample size."""

import jax
import jax.numpy as jnp
from jax import Array, lax

# Halvings of an interval: more than the digits of float64, since first increments of a million rows are near 1e-7.
_HALVINGS = 60
_LEAST_FRACTION = 1e-12


def log_effective_size(log_weights: Array) -> Array:
    """Log of the effective sample size (sum w)^2 / sum w^2 of weights given by their logs [particle].

    Weights of zero (minus infinity) count as absent; minus infinity where all are.
    """
    shifted = log_weights - jnp.max(jnp.where(jnp.isfinite(log_weights), log_weights, -jnp.inf))
    usable = jnp.where(jnp.isfinite(log_weights), shifted, -jnp.inf)
    size = 2.0 * jax.nn.logsumexp(usable) - jax.nn.logsumexp(2.0 * usable)
    return jnp.where(jnp.any(jnp.isfinite(log_weights)), size, -jnp.inf)


def annealing_increment(
    log_likelihoods: Array, remaining: Array, log_target_size: Array | float, log_weights: Array | float = 0.0
) -> Array:
    """The largest step along a path whose weights keep an effective sample size.

    The weights of a step d are exp(d log_likelihood); their effective size falls with d, from the number of particles.

    Args:
        log_likelihoods: of what is annealed [particle], float64 in nats; minus infinity for particles that have failed.
        remaining: what is left of the path, in (0, 1].
        log_target_size: log of the size to keep; 0 or less takes all that remains at once.
        log_weights: of the particles before the step [particle]; only where particles are drawn again in proportion to
            their weights, since one of large weight makes every step look safe.

    Returns:
        Step in (0, remaining], exactly `remaining` where that keeps the size, and at least 1e-12 of it: paths end.

    Source: MSc thesis, Eq. 3.42 and section 3.5.
    """

    def keeps(step: Array) -> Array:
        return log_effective_size(log_weights + step * log_likelihoods) >= log_target_size

    def halve(_: int, interval: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = interval
        middle = 0.5 * (low + high)
        inside = keeps(middle)
        return jnp.where(inside, middle, low), jnp.where(inside, high, middle)

    def bisected() -> Array:
        low, _ = lax.fori_loop(0, _HALVINGS, halve, (jnp.zeros_like(remaining), remaining))
        return jnp.maximum(low, _LEAST_FRACTION * remaining)

    # Most chunks of a long stream come in whole: they shall not pay for the search.
    return lax.cond(keeps(remaining), lambda: remaining, bisected)
