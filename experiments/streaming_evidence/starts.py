"""Do particles that meet the rows chunk by chunk end in better modes than particles that meet all rows at once?"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from auxmc.driver.chains import RunContext
from auxmc.driver.units import each
from auxmc.models.row_model import RowModel
from auxmc.numerics.array_types import FloatArray
from experiments.streaming_evidence.drive import Runs, run_repeats
from experiments.streaming_evidence.estimators import build_stream
from experiments.streaming_evidence.problem import chunk_ends, ends_of, keys_of_runs, model_of, rows_of_stream
from experiments.streaming_evidence.settings import Settings

STARTS = ("growing", "chunks", "at_once")
"""Chunks that grow from 20 rows, chunks of 500 rows from the beginning, all rows in one chunk."""

# Nats for each row within which a particle counts as in the best mode.
_NEAR = 0.05


def run_starts(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Follows a mixture's posterior in three ways and scores where the particles end.

    Particles that see all rows at once make `n_start_moves` moves with the whole gradient from the prior.

    Returns:
        Group `statistics`: log likelihoods for each row [start, repeat, particle], and fractions of particles near the
        best of all [start, repeat].
    """
    rows = rows_of_stream(settings)
    model = model_of(settings)
    made = each(lambda start: _run(settings, context, model, rows, start), STARTS)
    found = np.stack([_scores(model, runs, rows) / len(rows) for runs in made])
    lost = np.stack([runs.record["n_not_finite"][:, -1] for runs in made])
    near = np.mean(found > np.nanmax(found) - _NEAR, axis=2)
    variables: dict[str, Any] = {
        "log_likelihood_per_row": (("start", "repeat", "particle"), found, {"units": "nats"}),
        "near_best": (("start", "repeat"), near, {"units": "share of particles"}),  # codespell:ignore
        "n_not_finite": (("start", "repeat"), lost, {"units": "particles"}),
    }
    coords = {
        "start": list(STARTS),
        "repeat": np.arange(settings.n_repeats),
        "particle": np.arange(settings.n_particles),
    }
    return {"statistics": xr.Dataset(variables, coords)}


def _run(settings: Settings, context: RunContext, model: RowModel, rows: FloatArray, start: str) -> Runs:
    schedule = "growing" if start == "growing" else "constant"
    own = dataclasses.replace(settings, method="sequential", schedule=schedule)
    ends = ends_of(own)
    if start == "at_once":
        own = dataclasses.replace(own, n_moves=settings.n_start_moves, batch_size=1)
        ends = chunk_ends(len(rows), len(rows), cuts=())
    keys = keys_of_runs(context, settings.n_repeats, settings.stream, "starts", start)
    return run_repeats(build_stream(model, own), [rows] * len(keys), ends, keys, context, start)


def _scores(model: RowModel, runs: Runs, rows: FloatArray) -> FloatArray:
    """Log likelihoods of all rows at the last particles [repeat, particle]."""

    def total(particle: jax.Array) -> jax.Array:
        return jnp.sum(model.log_likelihood(particle, jnp.asarray(rows)))

    scores = jax.jit(jax.vmap(jax.vmap(total)))(runs.last.particles.astype(np.float64))
    return np.asarray(scores)
