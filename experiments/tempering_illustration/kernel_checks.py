"""What steps of continuous tempering must keep: the temperature, the joint density, the dynamics; and annealed runs."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import stats
from scipy.special import logsumexp

from auxmc.diagnostics.tempered_evidence import bidirectional_bounds
from auxmc.driver.blocks import Sampler
from auxmc.driver.seeds import stream
from auxmc.kernels.base import Kernel
from auxmc.kernels.tempering.annealed_importance import annealed_importance_sampling
from auxmc.kernels.tempering.continuous_tempering import (
    ControlledNoise,
    continuously_tempered_hmc,
    gibbs_continuous_tempering,
)
from auxmc.models.bridge import Bridge, bridge, gaussian_base
from auxmc.numerics.array_types import FloatArray, NamedArrays
from auxmc.numerics.schedules import sigmoidal_schedule
from auxmc.numerics.truncated_exponential import draw_inverse_temperature, log_base_weight
from auxmc_pipeline.chains import RunContext, run_chains
from experiments.tempering_illustration.exact import known_path
from experiments.tempering_illustration.model import POINTS, TWO_MODES, joined
from experiments.tempering_illustration.settings import INDEX_DRAWS_A_STATE, Settings

_DELTAS = (-500.0, -5.0, -1e-9, 0.0, 1e-9, 5.0, 500.0)
_UPDATES = 3
_DURATION = 2.0
_STEPS_OF_TRAJECTORY = (20, 40, 80)
_BATCHES = 100
# A Gaussian target, not normalised, with a guess of its normaliser that is wrong: log weights must take it back.
# Narrower than the base forward, wider than it in reverse: no weight is then larger than a known one.
_MEAN, _NARROW, _WIDE, _BASE_SD, _LOG_ZETA = 0.3, 0.5, 1.8, 1.2, 0.3
_STEP, _N_STEPS = 0.4, 2


def kernel_statistics(settings: Settings, context: RunContext) -> xr.Dataset:
    """Scores, p-values and errors of the checks."""
    p_values, scores = _temperature_distribution(settings, context)
    kernels = {
        "gibbs_ct": gibbs_continuous_tempering(joined(), settings.step_size, settings.n_steps),
        "ct_hmc": continuously_tempered_hmc(joined(), settings.step_size, settings.n_steps),
    }
    tests = [_joint_distribution(settings, context, name, kernel) for name, kernel in kernels.items()]
    returned, volume, order = trajectory_errors()
    return xr.Dataset(
        {
            "temperature_p_value": ("delta", p_values),
            "temperature_mean_score": ("delta", scores, {"units": "standard errors"}),
            "joint_law_p_value": (("kernel", "distribution"), [found for found, _ in tests]),
            "share_moved": ("kernel", [moved for _, moved in tests]),
            "return_error": ((), returned),
            "volume_error": ((), volume),
            "energy_error_order": ((), order),
        },
        coords={
            "delta": list(_DELTAS),
            "kernel": list(kernels),
            "distribution": ["position", "inverse temperature", "dependence"],
        },
    )


def truncated_exponential(b: FloatArray, delta: FloatArray | float) -> FloatArray:
    """Distribution function at b for a density proportional to exp(-b delta) on [0, 1], elementwise."""
    size = np.abs(delta)
    flat = size < 1e-12
    rate = np.where(flat, 1.0, size)
    inner = np.where(np.asarray(delta) < 0.0, 1.0 - b, b)
    below = np.where(flat, inner, np.expm1(-rate * inner) / np.expm1(-rate))
    return np.asarray(np.where(np.asarray(delta) < 0.0, 1.0 - below, below), dtype=np.float64)


def trajectory_errors() -> tuple[float, float, float]:
    """How leapfrog trajectories of the extended Hamiltonian keep what they must, from starts on a grid.

    Returns the largest distance from the start after going back with reversed momenta, the largest difference of the
    volume ratio from 1, and the order in the step size of the root mean square change of the energy at equal times.
    """
    starts = jnp.stack(
        jnp.meshgrid(*map(jnp.asarray, ([-9.0, -2.0, 1.0, 7.5], [-2.0, 0.3, 2.0], [-1.1, 0.7], [0.6, -0.4])))
    ).reshape(4, -1)
    changes = []
    for n_steps in _STEPS_OF_TRAJECTORY:
        kernel = continuously_tempered_hmc(joined(), _DURATION / n_steps, n_steps)
        changes.append(jax.jit(jax.vmap(lambda z, kernel=kernel: _trajectory(kernel, z)[1]))(starts.T))
    sizes = [float(jnp.sqrt(jnp.mean(jnp.square(change)))) for change in changes]
    order = np.polyfit(np.log(_DURATION / np.array(_STEPS_OF_TRAJECTORY)), np.log(sizes), 1)[0]
    coarse = continuously_tempered_hmc(joined(), _DURATION / _STEPS_OF_TRAJECTORY[0], _STEPS_OF_TRAJECTORY[0])
    turn = jnp.array([1.0, 1.0, -1.0, -1.0])

    def back_and_forth(z: Array) -> Array:
        return turn * _trajectory(coarse, turn * _trajectory(coarse, z)[0])[0] - z

    def volume(z: Array) -> Array:
        return jnp.linalg.det(jax.jacfwd(lambda start: _trajectory(coarse, start)[0])(z))

    returned = jnp.max(jnp.abs(jax.jit(jax.vmap(back_and_forth))(starts.T)))
    return float(returned), float(jnp.max(jnp.abs(jax.jit(jax.vmap(volume))(starts.T) - 1.0))), float(order)


def _trajectory(kernel: Kernel, start: Array) -> tuple[Array, Array]:
    """End of a trajectory from (position, control, momentum, control momentum), and its change of energy."""
    state = kernel.init(start[:1], start[1], key=jax.random.key(0))
    # Whatever comes is accepted.
    noise = ControlledNoise(start[2:3], start[3], jnp.full((), -jnp.inf))
    end, info = kernel.apply(noise, state)
    here = jnp.stack([end.position[0], end.control, end.move.momentum[0], end.control_momentum])
    return here, info.energy_change


def _temperature_distribution(settings: Settings, context: RunContext) -> tuple[FloatArray, FloatArray]:
    """P-values of Kolmogorov-Smirnov tests and scores of the mean, for each energy difference."""
    key, n = stream(context.seed, context.study, "inverse temperatures"), settings.n_index_draws
    p_values, scores = [], []
    for i, delta in enumerate(_DELTAS):
        uniforms = jax.random.uniform(jax.random.fold_in(key, i), (n,))
        b = np.asarray(draw_inverse_temperature(uniforms, jnp.full((n,), delta)), dtype=np.float64)
        p_values.append(stats.kstest(truncated_exponential(b, delta), "uniform").pvalue)
        # The series where both terms of the closed form are nearly equal.
        mean = 1.0 / delta - 1.0 / np.expm1(delta) if abs(delta) > 1e-4 else 0.5 - delta / 12.0
        scores.append((b.mean() - mean) / (b.std(ddof=1) / np.sqrt(n)))
    return np.array(p_values), np.array(scores)


def _joint_distribution(
    settings: Settings, context: RunContext, name: str, kernel: Kernel
) -> tuple[list[float], float]:
    """Tests whether updates keep the distribution of exact draws of position and inverse temperature.

    Returns p-values of the uniformity of the distribution functions of position, and of inverse temperature
    given it, and of their product's mean; and the fraction of the chains that moved.
    """
    path, n = known_path(), settings.n_index_draws // INDEX_DRAWS_A_STATE
    delta = path.log_base - path.log_target
    log_density = path.log_base - np.asarray(log_base_weight(delta))
    density = np.exp(log_density - logsumexp(log_density))
    distribution = np.cumsum(0.5 * (density + np.concatenate([[0.0], density[:-1]])))
    distribution /= distribution[-1]
    key = stream(context.seed, context.study, "joint law", name)  # codespell:ignore
    uniforms = np.asarray(jax.random.uniform(jax.random.fold_in(key, 0), (2, n)))
    starts = np.interp(uniforms[0], distribution, POINTS)

    def chain(key: Array, x: Array, uniform: Array) -> tuple[Array, Array, Array]:
        target, reference = joined().log_densities(x[None])
        b = draw_inverse_temperature(uniform, reference - target)
        # A temperature is started where the kernel keeps it: itself, or as a control.
        start = b if name == "gibbs_ct" else jnp.log(b) - jnp.log1p(-b)
        state = kernel.init(x[None], start, key=jax.random.fold_in(key, 0))
        for i in range(_UPDATES):
            state, _ = kernel.step(jax.random.fold_in(key, i + 1), state)
        return state.position[0], state.inverse_temperature, state.delta

    keys = jax.random.split(jax.random.fold_in(key, 1), n)
    found = jax.jit(jax.vmap(chain))(keys, jnp.asarray(starts), jnp.asarray(uniforms[1]))
    x, b, ends = map(np.asarray, found)
    position = np.interp(x, POINTS, distribution)
    given = truncated_exponential(b, ends)
    product = (position - 0.5) * (given - 0.5)
    dependence = 2.0 * stats.norm.sf(abs(product.mean()) * 12.0 * np.sqrt(n))
    p_values = [stats.kstest(values, "uniform").pvalue for values in (position, given)]
    return [*map(float, p_values), float(dependence)], float(np.mean(x != starts))


def annealing_statistics(settings: Settings, context: RunContext) -> xr.Dataset:
    """Means over batches of runs by length of the ladder: weights over the normaliser, log weights minus its log.

    Variances are of single runs of a batch.
    """
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
    for name, logs in (("annealed", over), ("reverse", back)):
        variables[f"{name}_variance"] = ("n_intervals", "batch"), np.exp(logs).var(axis=1, ddof=1)
    # With one interval there are no moves: weights are those of importance sampling, target over base.
    x: FloatArray = forward[0]["x"].ravel()
    ratio = -0.5 * ((x - _MEAN) / _NARROW) ** 2 - stats.norm.logpdf(x, 0.0, _BASE_SD)
    differences = np.abs(forward[0]["log_weight"].ravel() - ratio)
    variables["importance_sampling_difference"] = ((), float(np.max(differences)))
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
            lambda key, parameters: kernel.init(key=key),
            lambda state, info: {"log_weight": state.log_weight, "x": state.position[0]},
        ),
        settings,
        n_draws=_BATCHES,
        n_chains=settings.n_index_draws // _BATCHES,
        sweep={"target": [0.0]},
        block_size=_BATCHES,
    )
    return {name: array[0] for name, array in chains.draws.items()}
