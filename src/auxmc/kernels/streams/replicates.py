"""Independent replicates of a streaming estimator as one estimator, whose evidence comes with a spread."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import check_integer
from auxmc.kernels.streams.contract import Chunk, Fetch, PastRows, Stream, StreamSettings
from auxmc.kernels.streams.published_estimators import particle_evidence
from auxmc.kernels.streams.running_laplace import RunningLaplaceSettings, running_laplace
from auxmc.models.row_model import RowModel
from auxmc.sampling.importance import log_mean_weight


class ReplicatedRecord(NamedTuple):
    """What became of a chunk in all replicates: the fields of ChunkRecord, and a spread."""

    n_rows: Array  # rows absorbed, this chunk included (int64)
    log_evidence: Array  # of all rows absorbed, in nats: log of the replicates' mean evidence
    # Standard deviation of the replicates' log evidences, in nats; NaN for a single one. The spread of the evidences
    # themselves would hide how far the low ones fell.
    replicate_sd: Array
    # What it is expected to be by the resampling of the particles, in nats: few replicates may agree by chance. 0 where
    # that is not known.
    expected_sd: Array
    n_annealing_steps: Array  # changes of the target, mean over replicates
    smallest_size: Array  # of ChunkRecord, least of the replicates
    weight_size: Array  # of ChunkRecord, least of the replicates
    first_increment: Array  # of ChunkRecord, mean over replicates
    n_unfinished: Array  # replicates whose path was given up before its end (int32)
    n_not_finite: Array  # particles of all replicates that have been lost (int32)


class _States(NamedTuple):
    """States of all replicates, each field stacked; rows are counted once. Halvings of the particles, their mean."""

    inner: Any
    n_rows: Array
    n_halvings: Array

    @property
    def particles(self) -> Array:
        """Of all replicates [replicate x particle, dim]."""
        return self.inner.particles.reshape(-1, self.inner.particles.shape[-1])

    @property
    def log_weights(self) -> Array:
        """Of all replicates [replicate x particle]."""
        return self.inner.log_weights.ravel()


def replicated(stream: Stream, n_replicates: int, n_halved: int = 0) -> Stream:
    """Runs replicates of an estimator over the same rows, with random numbers of their own.

    They share the past rows that are kept, and one compiled program; they run one after the other, so that none does
    the work of a branch that it does not take.

    Args:
        stream: the estimator.
        n_replicates: at least 1.
        n_halved: particles of an estimator whose annealing steps, but for the last of a chunk, leave half of them in
            effect and draw them again: each has the relative variance 1 / n_halved. 0 for other estimators.

    Returns:
        Estimator whose record is a ReplicatedRecord. Its state has the particles and log weights of all replicates on
        one axis.

    Raises:
        ValueError: n_replicates is not positive.
    """
    check_integer("n_replicates", n_replicates, 1)
    numbers = jnp.arange(n_replicates)

    def init(key: Array, dtype: Any) -> _States:
        states = jax.vmap(lambda i: stream.init(jax.random.fold_in(key, i), dtype))(numbers)
        return _States(states, jnp.zeros((), jnp.int64), jnp.zeros((), jnp.float64))

    def absorb(key: Array, state: _States, chunk: Chunk, past: PastRows) -> tuple[_States, Any]:
        def one(given: tuple[Array, Any]) -> tuple[Any, Any]:
            number, inner = given
            return stream.absorb(jax.random.fold_in(key, number), inner, chunk, past)

        inner, record = lax.map(one, (numbers, state.inner))
        n_rows, weight_size = record.n_rows[0], jnp.min(record.weight_size)
        n_steps = jnp.mean(record.n_annealing_steps.astype(jnp.float64))
        n_halvings = state.n_halvings + n_steps - 1.0
        # Without `n_halved` nothing is expected.
        variance = (
            n_halvings / n_halved + 1.0 / jnp.maximum(weight_size, 1.0) - 1.0 / n_halved if n_halved else 0.0
        )
        spread = jnp.std(record.log_evidence, ddof=1) if n_replicates > 1 else jnp.full((), jnp.nan)
        return _States(inner, n_rows, n_halvings), ReplicatedRecord(
            n_rows,
            log_mean_weight(record.log_evidence),
            spread,
            jnp.sqrt(jnp.maximum(jnp.asarray(variance, jnp.float64), 0.0)),
            n_steps,
            jnp.min(record.smallest_size),
            weight_size,
            jnp.mean(record.first_increment),
            jnp.sum(record.n_unfinished, dtype=jnp.int32),
            jnp.sum(record.n_not_finite, dtype=jnp.int32),
        )

    return Stream(init, absorb)


def replicated_evidence(
    model: RowModel,
    settings: StreamSettings | RunningLaplaceSettings,
    n_replicates: int,
    fetch: Fetch | None = None,
) -> Stream:
    """Returns replicates of the estimator of a model's evidence that the settings belong to.

    Args:
        model: the model of a row.
        settings: of `running_laplace` or `particle_evidence`.
        n_replicates: at least 1.
        fetch: where `particle_evidence` draws past rows from, if not from memory.

    Raises:
        ValueError: If a setting is out of range.
    """
    if isinstance(settings, RunningLaplaceSettings):
        return replicated(running_laplace(model, settings), n_replicates, settings.n_particles)
    return replicated(particle_evidence(model, settings, fetch=fetch), n_replicates)


def replicate_log_evidences(state: Any, n_replicates: int) -> Array:
    """Log evidence of each replicate [replicate] in nats, from a state that `replicated` made after any chunk."""
    return log_mean_weight(state.log_weights.reshape(n_replicates, -1))
