"""What constrained HMC costs: the reversibility check, structured algebra, inner steps, and small noise scales."""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.diagnostics.convergence import bulk_ess
from auxmc.driver.blocks import Sampler
from auxmc.driver.chains import Chains, RunContext, run_chains
from auxmc.driver.seeds import stream
from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import HMCInfo, HMCState, hamiltonian_monte_carlo
from auxmc.kernels.manifold.constrained_hmc import ConstrainedInfo, ConstrainedState, constrained_hmc
from auxmc.models.conditioned import condition_noisy_generator, noisy_input
from auxmc.models.lotka_volterra.conditioning import conditioned_model
from auxmc.models.lotka_volterra.model import initial_inputs, published_model
from auxmc.numerics.jacobians import Jacobian, dense_jacobian, diagonal_jacobian
from experiments.manifold_illustrations.fibre import START, generate, log_prior
from experiments.manifold_illustrations.settings import Settings

_N_DISCARDED = 10
# A sub-step of 0.25/3 and 18 sub-steps: the published settings have three sub-steps a step.
_SUB_STEP_SIZE, _N_SUB_STEPS = 0.25 / 3.0, 18
_N_SHARED = 4
_REPEATS = 5
_CONSTRAINED_STEP, _CONSTRAINED_STEPS = 0.4, (2, 4)
# Leapfrog steps are stable below 2 eps over the slope of the fibre, which is near 4 at its steep end.
_HMC_STEP_OVER_SCALE, _HMC_STEPS = 0.3, (10, 20)


def costs(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs design costs.

    Returns:
        Group `statistics`: time ratio of runs with and without the reversibility check, effective draws per gradient by
        number of inner steps, times of Gram solves by size, and effective draws per second by noise scale.
    """
    checked = {
        n: _rates_chains(settings, context, n, "position_and_constraint") for n in settings.inner_steps
    }
    reference = max(settings.inner_steps)
    unchecked = _rates_chains(settings, context, reference, "none")
    algebra = _gram_times(stream(context.seed, context.study, "gram"), settings)
    statistics = xr.merge(
        [
            _inner_steps(checked),
            xr.Dataset({"check_time_ratio": ((), checked[reference].run_s / unchecked.run_s)}),
            algebra,
            _small_noise(settings, context),
        ]
    )
    return {"statistics": statistics}


def _rates_chains(settings: Settings, context: RunContext, n_inner_steps: int, check: str) -> Chains:
    """Chains on the rates of the published Lotka-Volterra data, with the published constraint."""
    populations = published_model()
    model = conditioned_model(populations, "generator")
    n_steps = _N_SUB_STEPS // n_inner_steps

    def build(parameters: dict[str, Array]) -> Kernel:
        del parameters
        return constrained_hmc(
            model,
            _SUB_STEP_SIZE * n_inner_steps,
            (n_steps, n_steps),
            populations.n_inputs,
            n_inner_steps=n_inner_steps,
            reversibility_check=check,
        )

    def initial(key: Array, parameters: dict[str, Array]) -> Any:
        return build(parameters).init(key, initial_inputs(populations, key))

    def record(state: ConstrainedState, info: ConstrainedInfo) -> dict[str, Array]:
        return {
            "rates": state.position[:4],
            "accepted": info.accepted,
            "failed": jnp.isinf(info.energy_change),
        }

    return run_chains(
        context,
        ("rates", n_inner_steps, check),
        Sampler(build, initial, record),
        n_draws=_N_DISCARDED + settings.n_cost_draws,
        n_chains=2,
        sweep={"unused": [0.0]},
        block_size=settings.block_size,
        # Side by side, lanes would wait for the slowest projection.
        vectorise=False,
    )


def _inner_steps(chains: dict[int, Chains]) -> xr.Dataset:
    rows: dict[str, list[float]] = {"ess_per_gradient": [], "failed_share": [], "inner_acceptance": []}
    for n_inner_steps, part in chains.items():
        kept = {name: values[0, :, _N_DISCARDED:] for name, values in part.draws.items()}
        n_gradients = kept["accepted"].size * (_N_SUB_STEPS // n_inner_steps)
        smallest = min(float(bulk_ess(kept["rates"][..., i])) for i in range(4))
        rows["ess_per_gradient"].append(smallest / n_gradients)
        rows["failed_share"].append(float(kept["failed"].mean()))
        rows["inner_acceptance"].append(float(kept["accepted"].mean()))
    return xr.Dataset(
        {name: ("inner_steps", values) for name, values in rows.items()},
        coords={"inner_steps": list(chains)},
    )


def _gram_times(key: Array, settings: Settings) -> xr.Dataset:
    """Seconds to build a Jacobian's factor and solve with it: dense and diagonal plus low rank."""

    def dense(block: Array, diagonal: Array) -> Jacobian:
        return dense_jacobian(jnp.concatenate([block, jnp.diag(diagonal)], axis=1))

    found = {
        "gram_dense_seconds": [_solve_time(key, n, dense) for n in settings.dense_sizes],
        "gram_structured_seconds": [
            _solve_time(key, n, diagonal_jacobian) for n in settings.structured_sizes
        ],
    }
    return xr.merge(
        [
            xr.Dataset({name: (dim, values, {"units": "s"})}, coords={dim: sizes})
            for (name, values), dim, sizes in zip(
                found.items(),
                ("dense_size", "structured_size"),
                (settings.dense_sizes, settings.structured_sizes),
                strict=True,
            )
        ]
    )


def _solve_time(key: Array, size: int, build: Callable[[Array, Array], Jacobian]) -> float:
    block = jax.random.normal(key, (size, _N_SHARED), dtype=jnp.float64)
    diagonal = 1.0 + jax.random.uniform(jax.random.fold_in(key, 1), (size,), dtype=jnp.float64)

    @jax.jit
    def solve(block: Array, diagonal: Array) -> Array:
        jacobian = build(block, diagonal)
        return jacobian.solve_gram(diagonal) + jacobian.half_log_determinant

    solve(block, diagonal).block_until_ready()
    seconds = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        solve(block, diagonal).block_until_ready()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _small_noise(settings: Settings, context: RunContext) -> xr.Dataset:
    """Effective draws per second of both methods on the same targets: the noisy fibre of figure 4.3."""
    observed = jnp.zeros(1)

    def constrained(parameters: dict[str, Array]) -> Kernel:
        model = condition_noisy_generator(generate, log_prior, observed, parameters["noise_scale"])
        return constrained_hmc(model, _CONSTRAINED_STEP, _CONSTRAINED_STEPS, 3)

    def unconstrained(parameters: dict[str, Array]) -> Kernel:
        scale = parameters["noise_scale"]

        def log_density(inputs: Array) -> Array:
            return log_prior(inputs) - 0.5 * jnp.sum(jnp.square(generate(inputs) / scale))

        return hamiltonian_monte_carlo(log_density, _HMC_STEP_OVER_SCALE * scale, _HMC_STEPS, 2)

    def constrained_start(key: Array, parameters: dict[str, Array]) -> Any:
        start = noisy_input(generate, START, observed, parameters["noise_scale"])
        return constrained(parameters).init(key, start)

    def unconstrained_start(key: Array, parameters: dict[str, Array]) -> Any:
        return unconstrained(parameters).init(key, START)

    def record_constrained(state: ConstrainedState, info: ConstrainedInfo) -> dict[str, Array]:
        work = info.errors.n_projection_iterations
        return {"inputs": state.position[:2], "accepted": info.accepted, "work": work}

    def record_unconstrained(state: HMCState, info: HMCInfo) -> dict[str, Array]:
        return {"inputs": state.position, "accepted": info.accepted, "work": info.n_gradients}

    methods = {
        "constrained_hmc": Sampler(constrained, constrained_start, record_constrained),
        "hmc": Sampler(unconstrained, unconstrained_start, record_unconstrained),
    }
    rates, accepted = [], []
    for name, sampler in methods.items():
        part = run_chains(
            context,
            ("small noise", name),
            sampler,
            n_draws=settings.n_draws,
            n_chains=2,
            sweep={"noise_scale": settings.small_noise_scales},
            block_size=settings.block_size,
            vectorise=False,
        )
        work = part.draws["work"].sum(axis=(1, 2), dtype=float)
        # Lanes ran one after the other: the time of each is its share of the work.
        seconds = part.run_s * work / work.sum()
        inputs = part.draws["inputs"]
        sizes = [min(float(bulk_ess(one[..., i])) for i in range(2)) for one in inputs]
        rates.append(np.asarray(sizes) / seconds)
        accepted.append(part.draws["accepted"].mean(axis=(1, 2)))
    dims = ("sampler", "small_noise")
    return xr.Dataset(
        {
            "noise_ess_per_second": (dims, np.array(rates), {"units": "1/s"}),
            "noise_acceptance": (dims, np.array(accepted)),
        },
        coords={"sampler": list(methods), "small_noise": settings.small_noise_scales},
    )
