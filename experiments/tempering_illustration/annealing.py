"""Annealed runs in both directions where the normaliser is known."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import stats

from auxmc.diagnostics.log_evidence import bidirectional_bounds
from auxmc.driver.blocks import Sampler
from auxmc.driver.chains import RunContext, run_chains
from auxmc.kernels.base import Kernel
from auxmc.kernels.tempering.annealed_importance import annealed_importance_sampling
from auxmc.models.bridge import Bridge, bridge, gaussian_base
from auxmc.numerics.array_types import FloatArray, NamedArrays
from auxmc.numerics.schedules import sigmoidal_schedule
from experiments.tempering_illustration.model.scalar_mixture import TWO_MODES
from experiments.tempering_illustration.settings import Settings
from experiments.tempering_illustration.target import joined

_BATCHES = 100
# A Gaussian target, not normalised, with a guess of its normaliser that is wrong: log weights must take it back.
# Narrower than the base forward, wider than it in reverse: no weight is then larger than a known one.
_MEAN, _NARROW, _WIDE, _BASE_SD, _LOG_ZETA = 0.3, 0.5, 1.8, 1.2, 0.3
_STEP, _N_STEPS = 0.4, 2


def annealing_statistics(settings: Settings, context: RunContext) -> xr.Dataset:
    """Means over batches of runs by length of the ladder: weights over the normaliser, log weights minus its log."""
    lengths = (1, 2, settings.n_annealed_temperatures)
    forward, reverse = [], []
    for n_intervals in lengths:
        ladder = sigmoidal_schedule(n_intervals)
        narrow = annealed_importance_sampling(_gaussian(_NARROW), ladder, _STEP, _N_STEPS)
        wide = annealed_importance_sampling(
            _gaussian(_WIDE), ladder[::-1], _STEP, _N_STEPS, draw_start=lambda normal: _MEAN + _WIDE * normal
        )
        forward.append(_runs(settings, context, "narrow", narrow, n_intervals))
        reverse.append(_runs(settings, context, "wide", wide, n_intervals))
    known = 0.5 * np.log(2.0 * np.pi)
    over = np.stack([runs["log_weight"] - np.log(_NARROW) - known for runs in forward])
    back = np.stack([runs["log_weight"] + np.log(_WIDE) + known for runs in reverse])
    variables: dict[str, Any] = {
        name: (("n_intervals", "batch"), values.mean(axis=1))
        for name, values in (
            ("annealed_mean", np.exp(over)),
            ("reverse_mean", np.exp(back)),
            ("lower_bound_excess", over),
            ("upper_bound_excess", -back),
        )
    }
    variables["importance_sampling_difference"] = ((), _from_importance_sampling(forward[0]))
    coords = {"n_intervals": list(lengths), "batch": range(_BATCHES)}
    return xr.Dataset({**variables, **_upper_bounds(settings, context, lengths)}, coords=coords)


def _upper_bounds(settings: Settings, context: RunContext, lengths: Sequence[int]) -> dict[str, Any]:
    """Upper bounds on the log normaliser 0 of the target with two modes, by the mean weight and by its inverse's."""
    kernel = annealed_importance_sampling(
        joined(),
        sigmoidal_schedule(lengths[-1])[::-1],
        settings.step_size,
        settings.n_steps,
        draw_start=TWO_MODES.from_normal,
    )
    logs = _runs(settings, context, "two modes", kernel, lengths[-1])["log_weight"].T
    bounds = bidirectional_bounds(logs, logs)
    nats = {"units": "nats"}
    return {
        "bound_upper": ("batch", bounds.upper, nats),
        "bound_upper_arithmetic": ("batch", bounds.upper_arithmetic, nats),
        "n_runs_of_batch": ((), logs.shape[1], {"units": "runs"}),
    }


def _gaussian(sd: float) -> Bridge:
    def log_density(x: Array) -> Array:
        return -0.5 * jnp.sum(jnp.square((x - _MEAN) / sd))

    return bridge(log_density, gaussian_base(jnp.zeros(1), jnp.array([_BASE_SD])), _LOG_ZETA)


def _runs(
    settings: Settings, context: RunContext, name: str, kernel: Kernel, n_intervals: int
) -> NamedArrays:
    """Log weights and positions of independent runs [run, batch]."""
    chains = run_chains(
        context,
        ("annealed", name, f"K-{n_intervals}"),
        Sampler(
            lambda parameters: kernel,
            lambda key, parameters: kernel.init(key),
            lambda state, info: {"log_weight": state.log_weight, "x": state.position[0]},
        ),
        n_draws=_BATCHES,
        n_chains=settings.n_index_draws // _BATCHES,
        sweep={"target": [0.0]},
        block_size=_BATCHES,
    )
    return {name: array[0] for name, array in chains.draws.items()}


def _from_importance_sampling(draws: NamedArrays) -> float:
    """Largest difference of log weights with one interval from log target minus log base, in nats."""
    x: FloatArray = draws["x"].ravel()
    ratio = -0.5 * ((x - _MEAN) / _NARROW) ** 2 - stats.norm.logpdf(x, 0.0, _BASE_SD)
    return float(np.max(np.abs(draws["log_weight"].ravel() - ratio)))
