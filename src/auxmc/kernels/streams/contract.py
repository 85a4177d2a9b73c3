"""What estimators of a stream's evidence take and give: settings, rows, state, record."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

ESTIMATORS = ("annealed", "sequential")
"""Importance weights along an annealing path for each chunk, or the mean likelihood of each chunk as it comes."""

RESAMPLING = ("none", "always", "effective_size", "chunk")
"""When particles are drawn again in proportion to their weights; the published estimator never does."""

DYNAMICS = ("sghmc", "nose_hoover")
"""Stochastic-gradient Hamiltonian Monte Carlo (published), or with a thermostat that adapts its friction."""


class StreamSettings(NamedTuple):
    """How a stream is absorbed.

    Attributes:
        estimator: one of ESTIMATORS.
        n_particles: at least 2.
        n_moves: stochastic-gradient steps after each change of the target.
        batch_size: past rows drawn for each step and particle, independently and with replacement.
        learning_rate: eta times the rows in the target.
        friction: alpha, in (0, 1].
        gradient_noise: see `stochastic_gradient.injected_noise`.
        target_size: effective sample size that an annealing step keeps; 1 or less brings in a chunk at once.
        resampling: one of RESAMPLING (annealed estimator).
        max_annealing_steps: after which a chunk is given up as it is, and counted.
        control_variates: whether gradients of past rows are taken relative to those at an anchor of each particle,
            where the sum over all of them is known. Anchors are renewed, by a pass over the stored rows, when the rows
            have doubled.
        cooling_rows: rows from which on the learning rate falls in inverse proportion to the rows; None for never.
        dynamics: one of DYNAMICS; with a thermostat it begins with the friction, and `gradient_noise` is not used.
    """

    estimator: str = "annealed"
    n_particles: int = 10
    n_moves: int = 20
    batch_size: int = 500
    learning_rate: float = 0.1
    friction: float = 0.2
    gradient_noise: float = 0.0
    target_size: float = 5.0
    resampling: str = "none"
    max_annealing_steps: int = 1000
    control_variates: bool = False
    cooling_rows: int | None = None
    dynamics: str = "sghmc"


class PastRows(NamedTuple):
    """Rows to draw absorbed ones from [capacity, column], of which only the first `n_stored` (int32) are meaningful."""

    rows: Array
    n_stored: Array


class Chunk(NamedTuple):
    """Rows that come in together [row, column]; those from `n_valid` (int32, at least 1) on only fill up the array."""

    rows: Array
    n_valid: Array


class Anchors(NamedTuple):
    """Points at which the gradient of all rows absorbed is known: one for each particle."""

    points: Array  # [particle, dim], in the precision of the rows
    # Sum over rows absorbed of the log likelihood's gradients there [particle, dim], float64.
    gradients: Array
    next_refresh: Array  # rows at which the particles themselves become the anchors (int64)


class StreamState(NamedTuple):
    """State between chunks.

    Attributes:
        particles: parameters [particle, dim], in the precision of the rows.
        log_weights: annealed estimator: log importance weights [particle]; sequential estimator: all equal to the
            log evidence. Float64 in nats.
        n_rows: rows absorbed (int64).
        anchors: where gradients of the past are known exactly, with `control_variates`; else None.
    """

    particles: Array
    log_weights: Array
    n_rows: Array
    anchors: Anchors | None = None


class ChunkRecord(NamedTuple):
    """What became of a chunk."""

    n_rows: Array  # rows absorbed, this chunk included (int64)
    log_evidence: Array  # of all rows absorbed, float64 in nats
    n_annealing_steps: Array  # changes of the target (int32)
    smallest_size: Array  # least effective size of the incremental weights of a step, in particles
    weight_size: Array  # effective size of the accumulated weights at the end of the chunk, in particles
    first_increment: Array  # of the annealing path
    n_unfinished: Array  # 1 if the path was given up before its end, else 0 (int32)
    n_not_finite: Array  # particles that have been lost, from the beginning (int32)


class Stream(NamedTuple):
    """An estimator as pure functions.

    Attributes:
        init: maps (key, dtype) to the state before the first row, with prior draws as particles. A state has at least
            the fields `particles`, `log_weights` and `n_rows` of StreamState.
        absorb: maps (key, state, Chunk, PastRows) to (state, ChunkRecord). Numbers depend on the key alone, so
            that a stream that is stopped and continues gives the same record as one that was not.
    """

    init: Callable[[Array, Any], Any]
    absorb: Callable[[Array, Any, Chunk, PastRows], tuple[Any, ChunkRecord]]


class Target(NamedTuple):
    """What particles are moved towards: prior, rows of the past, and a power of the chunk's likelihood."""

    chunk: Chunk  # rows that come in
    power: Array  # of the chunk's likelihood, in (0, 1] (float64)
    past: PastRows  # where past rows are drawn from
    n_past: Array  # rows before the chunk (int64)
    anchors: Anchors | None = None  # with `control_variates`; else None


Mover = Callable[[Array, Array, Target], Array]

Fetch = Callable[[PastRows, Array], Array]
"""Maps past rows and row numbers below `n_stored` [...] to those rows [..., column]."""


def counted_rows(chunk: Chunk) -> Array:
    """Which rows of a chunk count [row] (bool)."""
    return jnp.arange(chunk.rows.shape[0], dtype=jnp.int32) < chunk.n_valid
