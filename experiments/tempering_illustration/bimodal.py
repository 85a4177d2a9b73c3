"""Chains on the target with two modes: plain and continuously tempered HMC."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import special

from auxmc.diagnostics.weighted import weighted_estimates
from auxmc.driver.blocks import Sampler
from auxmc.driver.seeds import stream
from auxmc.kernels.hamiltonian.hmc import HMCNoise, hmc
from auxmc.kernels.tempering.continuous_tempering import (
    ControlledNoise,
    ControlledState,
    continuously_tempered_hmc,
)
from auxmc.numerics.array_types import FloatArray, NamedArrays
from auxmc.numerics.random import standard_normal
from auxmc_pipeline.chains import Chains, RunContext, run_chains
from experiments.tempering_illustration.exact import known_path
from experiments.tempering_illustration.model import TWO_MODES, base, joined
from experiments.tempering_illustration.settings import Settings

_MOMENTS = ["mean", "second moment", "mass left"]
_N_BINS = 50
_SHOWN = 20.0
_TRAJECTORY_STEP = 0.1
_TRAJECTORY_UPDATES = 100
_BACK = 100
_CODING_UPDATES = 5  # Few: chains of the two codings part exponentially once rounding differs
_CODING_SCALE = 3.0
# Controls beyond which inverse temperatures are in the last fifth at either end.
_FIFTH = math.log(4.0)


def run_bimodal(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs the chains and measures them; returns groups `statistics` and `curves`."""
    tempered = _tempered_chains(settings, context)
    plain = _plain_chains(settings, context)
    at_zero = settings.log_zetas.index(0.0)
    draws = {name: array[at_zero] for name, array in tempered.draws.items()}
    trajectory = _trajectory(settings, context, draws)
    difference = coding_difference(settings.step_size, settings.n_steps)
    statistics = _statistics(settings, draws, tempered, plain).assign(coding_difference=difference)
    return {"statistics": statistics, "curves": _curves(draws, tempered, plain, trajectory)}


def run_moments(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Moments by chains with log zeta 0 alone, of which there may be more; returns group `statistics`."""
    chains = _tempered_chains(dataclasses.replace(settings, log_zetas=[0.0]), context)
    draws = {name: array[0] for name, array in chains.draws.items()}
    found = _moments(settings, draws) | {"n_not_finite": int(draws["n_not_finite"].sum())}
    return {"statistics": xr.Dataset(found, coords={"moment": _MOMENTS})}


def coding_difference(step_size: float, n_steps: int) -> float:
    """Largest difference between a control with mass s^2 and one divided by s with unit mass.

    Both use the same random numbers. The second coding is plain HMC on (x, s u) with the extended density.
    """
    bridge = joined()
    first = continuously_tempered_hmc(
        bridge, step_size, n_steps, _CODING_SCALE**2, integrator="kick_drift_kick"
    )

    def log_density(extended: Array) -> Array:
        control = extended[1] / _CODING_SCALE
        target, reference = bridge.log_densities(extended[:1])
        mixed = jax.nn.sigmoid(control) * target + jax.nn.sigmoid(-control) * reference
        return mixed - jax.nn.softplus(control) - jax.nn.softplus(-control)

    second = hmc(log_density, step_size, n_steps, 2)

    def both(key: Array) -> Array:
        start = (
            first.init(jnp.array([1.0]), 0.5, key=key),
            second.init(jnp.array([1.0, 0.5 * _CODING_SCALE]), key=key),
        )

        def update(states: Any, index: Array) -> tuple[Any, Array]:
            state, other = states
            noise = first.draw(jax.random.fold_in(key, index))
            state, _ = first.apply(noise, state)
            normal = jnp.append(noise.normal, noise.control_normal)
            other, _ = second.apply(HMCNoise(normal, jnp.int32(n_steps), noise.log_uniform), other)
            here = jnp.append(state.position, state.control * _CODING_SCALE)
            return (state, other), jnp.max(jnp.abs(here - other.position))

        return jnp.max(jax.lax.scan(update, start, jnp.arange(_CODING_UPDATES))[1])

    keys = jax.random.split(jax.random.key(0), 10)
    return float(jnp.max(jax.jit(jax.vmap(both))(keys)))


def _tempered_chains(settings: Settings, context: RunContext) -> Chains:
    def build(parameters: Any) -> Any:
        return continuously_tempered_hmc(joined(parameters["log_zeta"]), settings.step_size, settings.n_steps)

    def initial(key: Array, parameters: Any) -> ControlledState:
        start = standard_normal(jax.random.fold_in(key, 0), (2,))
        return build(parameters).init(start[:1], start[1], key=jax.random.fold_in(key, 1))

    def record(state: ControlledState, info: Any) -> dict[str, Array]:
        return {
            "x": state.position[0],
            "control": state.control,
            "log_target_weight": state.log_target_weight,
            "log_base_weight": state.log_base_weight,
            "accepted": info.is_accepted,
            "n_not_finite": info.n_not_finite,
        }

    sweep = {"log_zeta": settings.log_zetas}
    return run_chains(context, ("ct_hmc",), Sampler(build, initial, record), settings, sweep=sweep)


def _plain_chains(settings: Settings, context: RunContext) -> Chains:
    kernel = hmc(TWO_MODES.log_density_at, settings.step_size, settings.n_steps, 1)
    sampler = Sampler(
        lambda parameters: kernel,
        lambda key, parameters: kernel.init(standard_normal(key, (1,)), key=key),
        lambda state, info: {"x": state.position[0], "accepted": info.is_accepted},
    )
    n_chains = settings.n_hmc_chains
    return run_chains(context, ("hmc",), sampler, settings, n_chains=n_chains, sweep={"target": [0.0]})


def _trajectory(settings: Settings, context: RunContext, draws: NamedArrays) -> FloatArray:
    """One long trajectory through a late state of the first chain, whatever comes accepted [point, (x, control)]."""
    kernel = continuously_tempered_hmc(joined(), _TRAJECTORY_STEP, 2)
    place = max(0, settings.n_draws - _BACK - 1)

    def advance(state: ControlledState, _: None) -> tuple[ControlledState, Array]:
        noise = ControlledNoise(state.move.momentum, state.control_momentum, jnp.full((), -jnp.inf))
        new, _ = kernel.apply(noise, state)
        return new, jnp.append(state.position, state.control)

    def path(key: Array, position: Array, control: Array) -> Array:
        start = kernel.init(position, control, key=key)
        return jax.lax.scan(advance, start, length=_TRAJECTORY_UPDATES + 1)[1]

    key = stream(context.seed, context.study, "trajectory")
    points = jax.jit(path)(key, draws["x"][0, place : place + 1], draws["control"][0, place])
    return np.asarray(points)


def _settled(settings: Settings) -> tuple[slice, slice]:
    # Chains start away from the target; over a thousand of them their first iterations shift a mean by an error or two.
    return np.s_[:, settings.n_draws // 5 :]


def _moments(settings: Settings, draws: NamedArrays) -> dict[str, Any]:
    """Moments of target and base by their weights, less the exact ones, and errors; both have the first two."""
    settled = _settled(settings)
    second = TWO_MODES.sd**2 + TWO_MODES.mean**2
    # In units of the standard deviation and of the second moment.
    x, mean = draws["x"][settled], TWO_MODES.mean / TWO_MODES.sd
    moments = np.stack([x / TWO_MODES.sd, x**2 / second, x < 0.0], axis=-1)
    found: dict[str, Any] = {}
    for end, left in (("target", TWO_MODES.mass_below(0.0)), ("base", special.ndtr(-mean))):
        by_weights = weighted_estimates(draws[f"log_{end}_weight"][settled], moments)
        difference = by_weights.mean - np.array([mean, 1.0, left])
        found[f"{end}_moment_difference"] = ("moment", difference)
        found[f"{end}_moment_error"] = ("moment", by_weights.mean_error)
    return found


def _statistics(settings: Settings, draws: NamedArrays, tempered: Chains, plain: Chains) -> xr.Dataset:
    x, target = draws["x"], draws["log_target_weight"]
    settled = _settled(settings)
    on_target = weighted_estimates(target[settled], (x < 0.0)[settled][..., None])

    def mass_left(log_weights: FloatArray, x: FloatArray) -> float:
        return float(weighted_estimates(log_weights[None], x[None, :, None] < 0.0).mean[0])

    of_chains = np.vectorize(mass_left, signature="(draw),(draw)->()")
    left = of_chains(tempered.draws["log_target_weight"], tempered.draws["x"])
    inverse_temperature = 1.0 / (1.0 + np.exp(-draws["control"]))
    fractions = weighted_estimates(target, (inverse_temperature < 0.5)[..., None])
    # Their first halves are left out: chains that hardly leave one end of the path forget their start slowly.
    later = tempered.draws["control"][..., settings.n_draws // 2 :]
    hot = (later < 0.0).mean(axis=-1)
    near_end = np.stack([(later < -_FIFTH).mean(axis=-1), (later > _FIFTH).mean(axis=-1)])
    near_end_error = near_end.std(axis=2, ddof=1) / np.sqrt(near_end.shape[2])
    hot_exact = [known_path(log_zeta).probability_hot(0.5) for log_zeta in settings.log_zetas]
    lost = tempered.draws["n_not_finite"].sum(axis=-1, dtype=int)
    sides = plain.draws["x"][0] < 0.0
    switches = (sides[:, 1:] != sides[:, :-1]).sum(axis=1)
    chain, zeta = "chain", "log_zeta"
    variables: dict[str, Any] = {
        "mass_left_by_chain": (chain, left[settings.log_zetas.index(0.0)]),
        "mass_left_difference": ((zeta, chain), left - TWO_MODES.mass_below(0.0)),
        "mass_left": ((), on_target.mean[0]),
        "mass_left_error": ((), on_target.mean_error[0]),
        "mass_left_exact": ((), TWO_MODES.mass_below(0.0)),
        **_moments(settings, draws),
        "weight_share_hot": ((), fractions.mean[0]),
        "weight_share_hot_error": ((), fractions.mean_error[0]),
        "hot_fraction": (zeta, hot.mean(axis=1)),
        "hot_fraction_error": (zeta, hot.std(axis=1, ddof=1) / np.sqrt(hot.shape[1])),
        "hot_fraction_exact": (zeta, hot_exact),
        "share_near_end": (("path_end", zeta), near_end.mean(axis=2)),
        "share_near_end_error": (("path_end", zeta), near_end_error),
        "acceptance": ((zeta, chain), tempered.draws["accepted"].mean(axis=-1)),
        "n_not_finite": ((zeta, chain), lost, {"units": "trajectories"}),
        "hmc_switches": ("hmc_chain", switches, {"units": "changes of side"}),
        "hmc_mass_left": ("hmc_chain", sides.mean(axis=1)),
        "base_mean": ((), float(base().mean[0])),
        "base_sd": ((), float(base().scale[0])),
    }
    coords = {
        "moment": _MOMENTS,
        "path_end": ["base", "target"],
        zeta: settings.log_zetas,
        chain: np.arange(len(x)),
        "hmc_chain": np.arange(len(sides)),
    }
    return xr.Dataset(variables, coords=coords)


def _curves(draws: NamedArrays, tempered: Chains, plain: Chains, trajectory: FloatArray) -> xr.Dataset:
    edges = np.linspace(0.0, 1.0, _N_BINS + 1)
    values = 1.0 / (1.0 + np.exp(-tempered.draws["control"]))
    counts = [np.histogram(at_zeta, edges, density=True)[0] for at_zeta in values]
    log_zetas = tempered.axes["log_zeta"]
    centres = 0.5 * (edges[1:] + edges[:-1])
    exact = [np.exp(known_path(float(log_zeta)).log_marginal(centres)) for log_zeta in log_zetas]
    path = known_path()
    shown = np.abs(path.points) <= _SHOWN
    variables: dict[str, Any] = {
        "tempered_x": ("draw", draws["x"][0]),
        "tempered_inverse_temperature": ("draw", 1.0 / (1.0 + np.exp(-draws["control"][0]))),
        "tempered_weight": ("draw", np.exp(draws["log_target_weight"][0])),
        "plain_x": ("draw", plain.draws["x"][0, 0]),
        "trajectory_x": ("point", trajectory[:, 0]),
        "trajectory_control": ("point", trajectory[:, 1]),
        "temperature_density": (("log_zeta", "bin"), counts),
        "temperature_density_exact": (("log_zeta", "bin"), exact),
        "target_energy": ("x", -path.log_target[shown], {"units": "nats"}),
        "base_energy": ("x", -path.log_base[shown], {"units": "nats"}),
    }
    coords = {
        "x": path.points[shown],
        "draw": np.arange(draws["x"].shape[1]),
        "point": np.arange(len(trajectory)),
        "log_zeta": log_zetas,
        "bin": centres,
    }
    return xr.Dataset(variables, coords=coords)
