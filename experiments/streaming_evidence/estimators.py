"""The streaming estimator that the settings of a case ask for, and what is recorded of its state."""

from typing import Any

import jax.numpy as jnp
from jax import Array

from auxmc.kernels.streams.contract import PastRows, Stream, StreamSettings
from auxmc.kernels.streams.nested_updating import UpdatingSettings, nested_updating
from auxmc.kernels.streams.published_estimators import particle_evidence
from auxmc.kernels.streams.running_laplace import running_laplace
from auxmc.models.row_model import RowModel
from auxmc_pipeline.settings import SettingsError
from experiments.streaming_evidence.settings import METHODS, Settings


def stream_settings(settings: Settings) -> StreamSettings:
    """Numbers of an estimator with particles."""
    method = METHODS[settings.method]
    return StreamSettings(
        estimator=method.estimator,
        n_particles=settings.n_particles,
        n_moves=settings.n_moves,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        friction=settings.friction,
        target_size=settings.target_share * settings.n_particles,
        resampling=settings.resampling or method.resampling,
        cooling_rows=settings.cooling_rows or method.cooling_rows or None,
        control_variates=method.control_variates,
        dynamics=settings.moves,
    )


def build_stream(model: RowModel, settings: Settings) -> Stream:
    """The estimator of a case; raises SettingsError for a setting outside its range."""
    method = METHODS[settings.method]
    if method.estimator == "running_laplace":
        return running_laplace(model)
    if method.estimator == "nested_updating":
        numbers = UpdatingSettings(
            n_live=settings.n_particles,
            n_moves=settings.n_moves,
            n_free_moves=settings.n_moves,
            batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
        )
        return nested_updating(model, numbers)
    fetch = _fetch_shared if method.shared_rows else None
    try:
        return particle_evidence(model, stream_settings(settings), fetch=fetch)
    except ValueError as error:
        raise SettingsError(str(error)) from error


def particle_extras(state: Any) -> dict[str, Array]:
    """Mean log weight, and mean variance of particles times rows: over the posterior's on the linear stream."""
    n = state.particles.shape[0]
    variance = jnp.mean(jnp.var(state.particles.astype(jnp.float64), axis=0))
    return {
        "mean_log_weight": jnp.mean(state.log_weights),
        "variance_ratio": variance * n / (n - 1) * state.n_rows.astype(float),
    }


def _fetch_shared(past: PastRows, numbers: Array) -> Array:
    """Gives all particles the rows of the first; numbers are [move, particle, row]."""
    return past.rows[jnp.broadcast_to(numbers[:, :1], numbers.shape)]
