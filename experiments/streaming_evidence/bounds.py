"""Bounds of the evidence of linear regression from both sides, by annealing from the prior and back."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.diagnostics.tempered_evidence import bidirectional_bounds
from auxmc.kernels.tempering.annealed_importance import annealed_importance_sampling
from auxmc.models.bridge import bridge, gaussian_base
from auxmc.models.regression.linear_regression import PrefixEvidence, extend_evidence
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chains import RunContext
from experiments.streaming_evidence.model import linear_truth
from experiments.streaming_evidence.problem import NOISE_SCALE, exact_linear, keys_of_runs, rows_of_stream
from experiments.streaming_evidence.settings import Settings

_STEP, _N_LEAPFROG = 0.3, 5  # In widths of the posterior, as annealing of all rows


def run_bounds(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Bounds of the log evidence of the first rows [size, repeat], from `n_particles` annealed runs in each direction.

    Runs back start at the stream's parameters, an exact posterior draw (MSc thesis, 3.1.4; Grosse et al. 2015).
    """
    largest = settings.sizes[-1]
    rows = rows_of_stream(dataclasses.replace(settings, n_rows=largest))
    empty = PrefixEvidence.empty(rows.shape[1] - 1)
    factors = [extend_evidence(empty, rows[:n], NOISE_SCALE).factor for n in settings.sizes]
    # Equal steps of the width of the posterior of most rows.
    powers = ((1.0 + largest) ** np.linspace(0.0, 1.0, settings.n_temperatures + 1) - 1.0) / largest
    keys = keys_of_runs(context, settings.n_repeats, settings.stream, "bounds")
    given = (jnp.asarray(np.stack(factors)), jnp.asarray(settings.sizes, jnp.float64), jnp.stack(keys))
    forward, reverse = (_weights(ladder, settings.n_particles, *given) for ladder in (powers, powers[::-1]))
    found = bidirectional_bounds(forward[0], reverse[0])
    nats = {"units": "nats"}
    variables: dict[str, Any] = {
        "lower_bound": (("size", "repeat"), found.lower, nats),
        "upper_bound": (("size", "repeat"), found.upper, nats),
        "exact": ("size", exact_linear(rows, settings.sizes), nats),
        "n_not_finite": ((), (forward[1] + reverse[1]).sum(), {"units": "trajectories"}),
    }
    coords = {"size": settings.sizes, "repeat": np.arange(settings.n_repeats)}
    return {"statistics": xr.Dataset(variables, coords)}


def _weights(
    ladder: FloatArray, n_runs: int, factors: Array, sizes: Array, keys: Array
) -> tuple[FloatArray, FloatArray]:
    """Log weights, and trajectories that were not finite [size, repeat, run]."""
    dim = factors.shape[-1] - 1
    base, truth = gaussian_base(jnp.zeros(dim), jnp.ones(dim)), jnp.asarray(linear_truth())
    forward = float(ladder[0]) == 0.0

    def run(factor: Array, n_rows: Array, key: Array) -> tuple[Array, Array]:
        constant = -0.5 * (n_rows * math.log(2.0 * math.pi * NOISE_SCALE**2) + dim * math.log(2.0 * math.pi))

        def log_target(x: Array) -> Array:
            # The factor holds the prior and all rows: no pass over them.
            return constant - 0.5 * jnp.sum(jnp.square(jnp.matmul(factor[:, :-1], x) - factor[:, -1]))

        kernel = annealed_importance_sampling(
            bridge(log_target, base),
            ladder,
            lambda power: _STEP / jnp.sqrt(1.0 + power * n_rows / NOISE_SCALE**2),
            _N_LEAPFROG,
            draw_start=None if forward else lambda _: truth,
        )
        state, info = kernel.step(jax.random.fold_in(key, int(forward)), kernel.init())
        return state.log_weight, info.n_not_finite

    run_keys = jax.vmap(lambda key: jax.random.split(key, n_runs))(keys)
    every: Callable[..., Any] = run
    # Runs within repeats within sizes, which share random numbers.
    for axes in ((None, None, 0), (None, None, 0), (0, 0, None)):
        every = jax.vmap(every, axes)
    log_weights, lost = jax.jit(every)(factors, sizes, run_keys)
    return np.asarray(log_weights), np.asarray(lost)
