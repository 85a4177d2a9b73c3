"""Weighted samples of fixed size from a stream of unknown length."""

import jax
import jax.numpy as jnp
from jax import Array, lax


def weighted_reservoirs(key: Array, log_weights: Array, n_slots: int) -> Array:
    """Items that independent reservoirs of one item hold after a stream.

    Each reservoir replaces its item by the new one with the new one's fraction of all weight so far. Slots are then
    independent draws in proportion to the weights, with replacement, and no weight is needed before its item comes.

    Args:
        key: of the draws.
        log_weights: of the items in the order in which they come [item]; minus infinity for items that do not count.
        n_slots: reservoirs.

    Returns:
        Number of the item in each slot [n_slots] (int32); 0 where no item has a weight.

    Source: MSc thesis, section 4.3; Chao 1982 for a single slot.
    """
    numbers = jnp.arange(log_weights.shape[0], dtype=jnp.int32)
    log_sums = lax.cumlogsumexp(log_weights.astype(jnp.float64))
    fractions = jnp.where(log_weights > -jnp.inf, jnp.exp(log_weights - log_sums), 0.0)

    def replaced(number: Array, fraction: Array) -> Array:
        uniforms = jax.random.uniform(jax.random.fold_in(key, number), (n_slots,), dtype=jnp.float64)
        return jnp.where(uniforms < fraction, number, 0)

    # What a slot holds at the end is the last item that was put there.
    return jnp.max(jax.vmap(replaced)(numbers, fractions), axis=0)
