# Question: why is Hamiltonian Monte Carlo slow near a manifold, and when can a chain on it reach all of it?
# Source: PhD thesis, figures 4.3, 4.4 and D.1.
# One case: python -m auxmc_pipeline.steps.run study=manifold_illustrations design=branches out=x.nc
"""Trajectories near a fibre of two inputs, and chains on a fibre with two branches."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.driver.blocks import Sampler
from auxmc.driver.seeds import stream
from auxmc.kernels.base import Kernel
from auxmc.kernels.manifold.constrained_hmc import ConstrainedInfo, ConstrainedState, constrained_hmc
from auxmc.models import conditioned
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chains import Chains, RunContext, run_chains
from experiments.manifold_illustrations.costs import costs, undivided
from experiments.manifold_illustrations.identities import identities
from experiments.manifold_illustrations.in_painting import in_painting
from experiments.manifold_illustrations.model import START, fibre_height, generate, hyperbola, log_prior
from experiments.manifold_illustrations.oscillation import leapfrog_path, oscillation
from experiments.manifold_illustrations.settings import Settings
from experiments.manifold_illustrations.small_noise import small_noise

_CONSTRAINED_STEPS = 4
_N_STEPS = (2, 4)
_FIBRE_POINTS = 200
_KEPT_DRAWS = 300
_OBSERVED = jnp.ones(1)


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs one case; returns group `statistics`, and for the figures of trajectories and branches `curves`."""
    return _DESIGNS[settings.design](settings, context)


def _trajectories(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    duration = settings.leapfrog_step_size * settings.n_leapfrog_steps
    model = conditioned.condition_generator(generate, log_prior, jnp.zeros(1))

    def unconstrained(momentum: Array) -> Array:
        step_size, n_steps = settings.leapfrog_step_size, settings.n_leapfrog_steps
        return leapfrog_path(START, momentum, settings.tolerance, step_size, n_steps)[0]

    # Chains of one step each that accept whatever comes follow one trajectory.
    kernel = constrained_hmc(model, duration / _CONSTRAINED_STEPS, (_CONSTRAINED_STEPS,) * 2, 2)

    def constrained(key: Array) -> Array:
        noise = kernel.draw(key)._replace(log_uniform=jnp.full((), -jnp.inf))
        first = kernel.init(START, key=key)

        def after(n_steps: Array) -> Array:
            return kernel.apply(noise._replace(n_steps=n_steps), first)[0].position

        later = jax.lax.map(after, jnp.arange(1, _CONSTRAINED_STEPS + 1, dtype=jnp.int32))
        return jnp.concatenate([first.position[None], later])

    keys = jax.random.split(stream(context.seed, context.study, "momenta"), settings.n_momenta)
    momenta = jax.vmap(lambda key: kernel.draw(key).normal)(keys)
    paths = np.asarray(jax.jit(jax.vmap(unconstrained))(momenta))
    along = np.asarray(jax.jit(constrained)(keys[0]))
    distance = paths[..., 1] - np.asarray(fibre_height(jnp.asarray(paths[..., 0])))
    lengths = np.linalg.norm(np.diff(paths, axis=1), axis=-1).sum(axis=1)
    net = np.linalg.norm(paths[:, -1] - paths[:, 0], axis=-1)
    crossings = (np.sign(distance[:, 2:]) != np.sign(distance[:, 1:-1])).sum(axis=1)
    statistics = xr.Dataset(
        {
            "crossings": ("momentum", crossings, {"units": "crossings"}),
            "path_length": ("momentum", lengths),
            "net_displacement": ("momentum", net),
            "net_over_path": ("momentum", net / lengths),
        }
    )
    first = np.linspace(0.1, 3.0, _FIBRE_POINTS)
    curves = xr.Dataset(
        {
            "hmc_path": (("step", "axis"), paths[0]),
            "constrained_path": (("constrained_step", "axis"), along),
            "fibre": ("u1", np.asarray(fibre_height(jnp.asarray(first)))),
        },
        coords={"u1": first, "axis": ["u1", "u2"]},
    )
    return {"statistics": xr.merge([statistics, oscillation(settings, context)]), "curves": curves}


def _branches(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    start = jnp.array([1.0, 0.0])

    def noisy(scale: Array) -> tuple[conditioned.ConditionedModel, Array]:
        model = conditioned.condition_noisy_generator(hyperbola, log_prior, _OBSERVED, scale)
        return model, conditioned.noisy_input(hyperbola, start, _OBSERVED, scale)

    exact = conditioned.condition_generator(hyperbola, log_prior, _OBSERVED)
    # The exact model takes no noise scale: zero stands for it in the table.
    parts = [
        _chains(settings, context, "exact", [0.0], lambda scale: (exact, start), 2),
        _chains(settings, context, "noisy", settings.noise_scales, noisy, 3),
    ]
    dims = ("noise", "chain")
    quantities = {
        "branch_changes_per_iteration": _changes,
        "acceptance": lambda draws: draws["accepted"].mean(axis=-1),
        "n_failures": lambda draws: draws["failed"].sum(axis=-1),
        "n_not_finite": lambda draws: (~np.isfinite(draws["position"])).any(axis=-1).sum(axis=-1),
    }
    found = {name: [measure(part.draws) for part in parts] for name, measure in quantities.items()}
    statistics = xr.Dataset(
        {name: (dims, np.concatenate(values)) for name, values in found.items()},
        coords={"noise": [0.0, *settings.noise_scales], "chain": range(settings.n_chains)},
    )
    draws = parts[0].draws["position"][0, 0]
    kept = draws[:: max(1, len(draws) // _KEPT_DRAWS)][:_KEPT_DRAWS]
    curves = xr.Dataset({"draws": (("draw", "axis"), kept)}, coords={"axis": ["u1", "u2"]})
    return {"statistics": statistics, "curves": curves}


def _chains(
    settings: Settings,
    context: RunContext,
    name: str,
    scales: list[float],
    model_and_start: Callable[[Array], tuple[conditioned.ConditionedModel, Array]],
    dim: int,
) -> Chains:
    def build(parameters: dict[str, Array]) -> Kernel:
        model, _ = model_and_start(parameters["noise_scale"])
        return constrained_hmc(model, settings.step_size, _N_STEPS, dim)

    def initial(key: Array, parameters: dict[str, Array]) -> Any:
        return build(parameters).init(model_and_start(parameters["noise_scale"])[1], key=key)

    def record(state: ConstrainedState, info: ConstrainedInfo) -> dict[str, Array]:
        failed = jnp.isinf(info.energy_change)
        return {"position": state.position[:2], "accepted": info.is_accepted, "failed": failed}

    return run_chains(
        context, (name,), Sampler(build, initial, record), settings, sweep={"noise_scale": scales}
    )


def _changes(draws: dict[str, np.ndarray]) -> FloatArray:
    """Fraction of iterations after which the sign of u1 is another [noise, chain]."""
    signs = np.sign(draws["position"][..., 0])
    changes: FloatArray = (signs[..., 1:] != signs[..., :-1]).mean(axis=-1)
    return changes


_DESIGNS: dict[str, Callable[[Settings, RunContext], dict[str, xr.Dataset]]] = {
    "trajectory": _trajectories,
    "branches": _branches,
    "identities": identities,
    "costs": costs,
    "small_noise": small_noise,
    "undivided": undivided,
    "in_painting": in_painting,
}
