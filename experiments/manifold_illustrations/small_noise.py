"""Effective draws of constrained HMC and of HMC on the same targets, the noisy fibre of figure 4.3, by noise scale."""

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.diagnostics.convergence import bulk_ess
from auxmc.driver.blocks import Sampler
from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import HMCInfo, HMCState, hmc
from auxmc.kernels.manifold.constrained_hmc import ConstrainedInfo, ConstrainedState, constrained_hmc
from auxmc.models.conditioned import condition_noisy_generator, noisy_input
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chains import RunContext, run_chains
from experiments.manifold_illustrations.costs import smallest_sizes
from experiments.manifold_illustrations.model import START, generate, log_prior
from experiments.manifold_illustrations.settings import Settings

_CONSTRAINED_STEP, _CONSTRAINED_STEPS = 0.4, (2, 4)
_HMC_STEP_OVER_SCALE = 0.3  # Stable below 2 over the slope of the fibre, at most about 4
# Ranges, of which HMC has the best at each scale: the longest paths have a length of 1 to 2 at 0.01.
_HMC_STEPS = ((10, 20), (33, 67), (100, 200), (333, 667))
_HMC_STEPS_PER_DRAW = 75  # For one iteration of constrained HMC, which has more effective draws


def small_noise(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs design small_noise; returns group `statistics`.

    It has effective draws per second and per evaluation, of the generator or a gradient, and acceptance rates
    by noise scale. HMC has the best of several `noise_hmc_steps`, at equal numbers of gradients.
    """
    observed = jnp.zeros(1)

    def constrained(parameters: dict[str, Array]) -> Kernel:
        model = condition_noisy_generator(generate, log_prior, observed, parameters["noise_scale"])
        return constrained_hmc(model, _CONSTRAINED_STEP, _CONSTRAINED_STEPS, 3)

    def constrained_start(key: Array, parameters: dict[str, Array]) -> ConstrainedState:
        start = noisy_input(generate, START, observed, parameters["noise_scale"])
        return constrained(parameters).init(start, key=key)

    def record_constrained(state: ConstrainedState, info: ConstrainedInfo) -> dict[str, Array]:
        work = info.errors.n_projection_iterations
        n = work + info.num_integration_steps
        return {"inputs": state.position[:2], "accepted": info.is_accepted, "work": work, "evaluations": n}

    def record_unconstrained(state: HMCState, info: HMCInfo) -> dict[str, Array]:
        n = info.n_gradients
        return {"inputs": state.position, "accepted": info.is_accepted, "work": n, "evaluations": n}

    def with_steps(n_steps: tuple[int, int]) -> Sampler:
        def unconstrained(parameters: dict[str, Array]) -> Kernel:
            scale = parameters["noise_scale"]

            def log_density(inputs: Array) -> Array:
                return log_prior(inputs) - 0.5 * jnp.sum(jnp.square(generate(inputs) / scale))

            return hmc(log_density, _HMC_STEP_OVER_SCALE * scale, n_steps, 2)

        def start(key: Array, parameters: dict[str, Array]) -> HMCState:
            return unconstrained(parameters).init(START, key=key)

        return Sampler(unconstrained, start, record_unconstrained)

    def measured(sampler: Sampler, n_draws: int, *names: str | int) -> tuple[FloatArray, ...]:
        """Effective draws per second [scale], and per evaluation [scale, chain], and acceptance rates [scale]."""
        sweep, names = {"noise_scale": settings.small_noise_scales}, ("small noise", *names)
        part = run_chains(context, names, sampler, settings, n_draws=n_draws, sweep=sweep, vectorise=False)
        inputs = part.draws["inputs"]
        work = part.draws["work"].sum(axis=(1, 2), dtype=float)
        seconds = part.run_s * work / work.sum()  # Lanes ran one after the other
        sizes = [min(float(bulk_ess(one[..., i])) for i in range(2)) for one in inputs]
        evaluations = part.draws["evaluations"].sum(axis=2, dtype=float)
        by_evaluation = np.array([smallest_sizes(one) for one in inputs]) / evaluations
        return np.asarray(sizes) / seconds, by_evaluation, part.draws["accepted"].mean(axis=(1, 2))

    on_fibre = Sampler(constrained, constrained_start, record_constrained)
    of_constrained = measured(on_fibre, settings.n_draws, "constrained_hmc")
    means = np.array([np.mean(steps) for steps in _HMC_STEPS])
    n_draws = [max(round(settings.n_draws * _HMC_STEPS_PER_DRAW / mean), 20) for mean in means]
    numbers = zip(_HMC_STEPS, n_draws, strict=True)
    by_steps = [measured(with_steps(steps), n, "hmc", steps[0]) for steps, n in numbers]
    best = np.argmax([np.log(found[1]).mean(axis=1) for found in by_steps], axis=0)
    of_hmc = [np.array([by_steps[i][k][scale] for scale, i in enumerate(best)]) for k in range(3)]
    rates, by_evaluation, accepted = (np.array(pair) for pair in zip(of_constrained, of_hmc, strict=True))
    dims = ("sampler", "small_noise")
    statistics = xr.Dataset(
        {
            "noise_ess_per_second": (dims, rates, {"units": "1/s"}),
            "noise_acceptance": (dims, accepted),
            "noise_ess_per_evaluation": ((*dims, "chain"), by_evaluation),
            "noise_hmc_steps": ("small_noise", means[best]),
        },
        coords={
            "sampler": ["constrained_hmc", "hmc"],
            "small_noise": settings.small_noise_scales,
            "chain": range(settings.n_chains),
        },
    )
    return {"statistics": statistics}
