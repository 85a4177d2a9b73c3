"""Simulated tempering: Hamiltonian Monte Carlo at an inverse temperature that moves along a ladder."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from auxmc.kernels.base import Kernel, check_choice
from auxmc.kernels.tempering.tempered_move import TemperedNoise, TemperedState, tempered_hmc
from auxmc.models.bridge import Bridge
from auxmc.numerics.truncated_exponential import draw_inverse_temperature

INDEX_UPDATES = ("independent", "random_walk")
"""Updates of the index: an exact draw given the position, or a Metropolis step to a neighbour."""


class TemperingState(NamedTuple):
    """State of simulated tempering."""

    move: TemperedState  # position, momentum and energies
    index: Array  # type: ignore[assignment]  # k, in 0 to K (int32)
    log_base_weight: Array  # log probability of index 0 given the position
    log_target_weight: Array  # log probability of index K given the position, plus log zeta and w_0 - w_K

    @property
    def position(self) -> Array:
        """Current point [dim]."""
        return self.move.position

    @property
    def delta(self) -> Array:
        """Log density of the base minus that of the target over zeta, in nats."""
        return self.move.delta


class TemperingInfo(NamedTuple):
    """What one update did."""

    is_accepted: Array  # whether the end of the trajectory was accepted (bool)
    acceptance_rate: Array  # of the trajectory
    energy_change: Array  # of the trajectory, in nats
    n_gradients: Array  # evaluations of the two gradients (int32)
    n_not_finite: Array  # trajectories with an energy that is not finite, 0 or 1 (int32)
    index_changed: Array  # whether the index is another one than before (bool)


class TemperingNoise(NamedTuple):
    """Random numbers of an update: those of the move, two uniforms for the index [2]."""

    move: TemperedNoise
    uniforms: Array


def simulated_tempering(
    bridge: Bridge,
    inverse_temperatures: ArrayLike,
    step_size: Array | float,
    n_steps: int,
    *,
    index_update: str = "independent",
    log_weights: ArrayLike | None = None,
    refreshment: float = 1.0,
    integrator: str = "drift_kick_drift",
    dtype: Any = jnp.float64,
) -> Kernel:
    """Simulated tempering on the joint density of position and index (target / zeta)^b_k base^(1 - b_k) exp(w_k).

    Args:
        bridge: target and base.
        inverse_temperatures: b_0 = 0 < ... < b_K = 1 [K + 1].
        step_size: of the leapfrog integrator, positive scalar; may be traced.
        n_steps: leapfrog steps of an update.
        index_update: "independent" draws the index given the position, at a cost linear in K; "random_walk" proposes
            a neighbour and needs of the order of K^2 updates to cross the ladder.
        log_weights: w [K + 1], in nats; zero by default, zeta being part of the path.
        refreshment: of the momentum, in (0, 1]; see `tempered_hmc`.
        integrator: one of `tempered_move.INTEGRATORS`.
        dtype: of the position.

    Returns:
        Kernel on TemperingState with TemperingInfo; `init(position, index=0, key=key)`. Its state has weights of both
        ends: Z = zeta exp(w_0 - w_K) sum p(K | x) / sum p(0 | x), over all states.

    Raises:
        ValueError: shapes do not agree, there is no such index update, or as `tempered_hmc`.

    Source: PhD thesis, Algorithm 7 and Eqs. 2.71 to 2.74.
    """
    ladder = jnp.asarray(inverse_temperatures, dtype=dtype)
    weights = jnp.zeros_like(ladder) if log_weights is None else jnp.asarray(log_weights, dtype=dtype)
    if ladder.ndim != 1 or ladder.shape[0] < 2 or weights.shape != ladder.shape:
        raise ValueError(
            "inverse_temperatures and log_weights must be vectors of one length, at least 2, got shapes "
            f"{list(ladder.shape)} and {list(weights.shape)}"
        )
    check_choice("index_update", index_update, INDEX_UPDATES)
    move = tempered_hmc(
        bridge, step_size, n_steps, refreshment=refreshment, integrator=integrator, dtype=dtype
    )

    offset = bridge.log_zeta + (weights[0] - weights[-1])

    def state_of(moved: TemperedState, draw_index: Callable[[Array, Array], Array]) -> TemperingState:
        logits = weights - ladder * moved.delta
        top = jnp.max(logits)
        # The one exponential of each temperature: it is most of the cost of the index.
        probabilities = jnp.exp(logits - top)
        log_total = top + jnp.log(jnp.sum(probabilities))
        index = draw_index(logits, probabilities)
        return TemperingState(moved, index, logits[0] - log_total, logits[-1] - log_total + offset)

    def init(position: Array, index: Array | int = 0, *, key: Array | None = None) -> TemperingState:
        return state_of(move.init(position, key=key), lambda *_: jnp.asarray(index, dtype=jnp.int32))

    def draw(key: Array) -> TemperingNoise:
        uniforms = jax.random.uniform(jax.random.fold_in(key, 2), (2,), dtype=dtype)
        return TemperingNoise(move.draw(key), uniforms)

    def apply(noise: TemperingNoise, state: TemperingState) -> tuple[TemperingState, TemperingInfo]:
        moved, info = move.apply(noise.move, state.move, ladder[state.index])

        def draw_index(logits: Array, probabilities: Array) -> Array:
            if index_update == "independent":
                return draw_index_of(noise.uniforms[0], probabilities)
            return propose_neighbour(noise.uniforms, logits, state.index)

        new = state_of(moved, draw_index)
        return new, TemperingInfo(*info, index_changed=new.index != state.index)

    return Kernel(init, draw, apply)


def draw_categorical_index(uniform: Array, logits: Array) -> Array:
    """Draws an index (int32) with probabilities proportional to exp(logits) [option], from a uniform number."""
    return draw_index_of(uniform, jnp.exp(logits - jnp.max(logits)))


def draw_index_of(uniform: Array, probabilities: Array) -> Array:
    """Draws an index (int32) with given probabilities [option], up to a factor, from a uniform number in [0, 1).

    The sums of blocks of consecutive probabilities choose a block, the probabilities inside it the index: two short
    cumulative sums in place of a long one.
    """
    n = probabilities.shape[0]
    width = max(1, round(n**0.5))
    n_blocks = -(-n // width)
    padded = jnp.pad(probabilities, (0, n_blocks * width - n)).reshape(n_blocks, width)
    totals = jnp.sum(padded, axis=1)
    up_to = jnp.cumsum(totals)
    height = uniform * up_to[-1]
    block = jnp.minimum(jnp.sum(up_to <= height), n_blocks - 1)
    below = jnp.where(block > 0, up_to[jnp.maximum(block - 1, 0)], 0.0)
    inside = jnp.sum(jnp.cumsum(padded[block]) <= height - below)
    # Rounding can put the height past the last probability of a block.
    return jnp.minimum(block * width + jnp.minimum(inside, width - 1), n - 1).astype(jnp.int32)


def draw_geometric_index(uniform: Array, delta: Array, n_intervals: int, slope: Array | float = 0.0) -> Array:
    """Draws the index where b_k = k / K and w_k = slope b_k, at a cost that does not grow with K.

    The distribution is a geometric one truncated to 0 to K. Its distribution function at k is that of an exponential
    truncated to [0, 1] at (k + 1) / (K + 1), which is inverted.

    Source: PhD thesis, Eq. 2.68, with its sum of a geometric series corrected to (1 - r^(K+1)) / (1 - r).
    """
    n = n_intervals + 1
    continuous = draw_inverse_temperature(uniform, (delta - slope) * (n / n_intervals))
    # Where the difference is negative the draw falls with the uniform number and may be the upper end itself.
    return jnp.minimum(jnp.floor(n * continuous), n_intervals).astype(jnp.int32)


def propose_neighbour(uniforms: Array, logits: Array, index: Array) -> Array:
    """Metropolis update of an index to a neighbour, the only one at both ends; uniforms for side and acceptance [2]."""
    last = logits.shape[0] - 1

    def log_choice(k: Array) -> Array:
        # Log probability of choosing a given neighbour of k.
        return jnp.where((k == 0) | (k == last), 0.0, jnp.log(0.5)).astype(logits.dtype)

    side = jnp.where(uniforms[0] < 0.5, -1, 1)
    side = jnp.where(index == 0, 1, jnp.where(index == last, -1, side))
    proposed = (index + side).astype(jnp.int32)
    log_ratio = logits[proposed] - logits[index] + log_choice(proposed) - log_choice(index)
    return jnp.where(jnp.log(uniforms[1]) < log_ratio, proposed, index)
