"""A chunk that comes in by powers of its likelihood, from nothing to the whole."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.streams.contract import Anchors, ChunkRecord
from auxmc.numerics.annealing import log_effective_size
from auxmc.sampling.importance import log_mean_weight


class AnnealingPath(NamedTuple):
    """Particles at a power of the chunk's likelihood, and what its record tells of the steps there."""

    particles: Array
    anchors: Anchors | None
    log_weights: Array
    power: Array
    n_steps: Array
    smallest_size: Array
    first_increment: Array

    def record(self, n_rows: Array) -> ChunkRecord:
        """What became of the chunk, with which `n_rows` are absorbed."""
        return ChunkRecord(
            n_rows,
            log_mean_weight(self.log_weights),
            self.n_steps,
            self.smallest_size,
            jnp.exp(log_effective_size(self.log_weights)),
            self.first_increment,
            (self.power < 1.0).astype(jnp.int32),
            n_lost(self.particles),
        )


def n_lost(particles: Array) -> Array:
    """Particles [particle, dim] that are not finite (int32)."""
    return jnp.sum(~jnp.all(jnp.isfinite(particles), axis=1), dtype=jnp.int32)


def follow_path(
    state: Any, advance: Callable[[AnnealingPath], AnnealingPath], max_steps: int
) -> AnnealingPath:
    """End of the path from a state of the stream: a power of 1, or the last step after which it is given up."""

    def going(path: AnnealingPath) -> Array:
        return (path.power < 1.0) & (path.n_steps < max_steps)

    zero, size = jnp.zeros((), jnp.float64), jnp.full((), len(state.particles), jnp.float64)
    start = (state.particles, getattr(state, "anchors", None), state.log_weights)
    return lax.while_loop(going, advance, AnnealingPath(*start, zero, jnp.zeros((), jnp.int32), size, zero))
