"""The lower rows of an image given its upper ones: constrained HMC and HMC on the inputs of a decoder."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.driver.blocks import Sampler
from auxmc.driver.seeds import stream
from auxmc.kernels.hamiltonian.hmc import HMCInfo, HMCState, hmc
from auxmc.kernels.manifold.constrained_hmc import ConstrainedInfo, ConstrainedState, constrained_hmc
from auxmc.models.conditioned import condition_noisy_generator, noisy_input
from auxmc_pipeline.chains import Chains, RunContext, run_chains
from experiments.image_models.model.autoencoder import logits, to_precision
from experiments.image_models.model.autoencoder_weights import read_autoencoder
from experiments.manifold_illustrations.costs import smallest_sizes
from experiments.manifold_illustrations.model import log_prior
from experiments.manifold_illustrations.settings import Settings

# Numbers of the author's notebook.
_SIDE, _N_ROWS_OBSERVED, _NOISE = 28, 7, 0.05
_CONSTRAINED_STEP, _CONSTRAINED_STEPS, _N_INNER = 0.25, (4, 6), 3
_HMC_STEP, _HMC_STEPS = 0.015, (30, 50)
_N_WARM_UP = {"constrained_hmc": 10, "hmc": 20}
_THINNING = 40  # Iterations of HMC for one of constrained HMC, which the notebook keeps 30 of


def in_painting(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs design in_painting; returns group `statistics`, by chain: acceptance, effective draws, costs."""
    runs = _runs(settings, context)
    n_latent = read_autoencoder("own_digits").n_latent
    parts = []
    for name, part in runs.items():
        kept = {quantity: values[0, :, _N_WARM_UP[name] :] for quantity, values in part.draws.items()}
        passes = part.draws["n_evaluations"][0] + n_latent * part.draws["n_jacobians"][0]
        n_draws = part.draws["accepted"].shape[-1]
        # Chains ran one after the other.
        seconds = np.full(settings.n_chains, part.run_s / settings.n_chains / n_draws)
        measured = {
            "painted_acceptance": ("chain", kept["accepted"].mean(axis=1)),
            "painted_ess_per_iteration": ("chain", smallest_sizes(kept["inked"]) / kept["accepted"].shape[1]),
            "painted_passes_per_iteration": ("chain", passes.mean(axis=1)),
            "painted_seconds_per_iteration": ("chain", seconds),
        }
        parts.append(xr.Dataset(measured))
    coords = {"sampler": list(runs), "chain": range(settings.n_chains)}
    return {"statistics": xr.concat(parts, "sampler").assign_coords(coords)}


def _runs(settings: Settings, context: RunContext) -> dict[str, Chains]:
    """Chains of both methods on one image, which is drawn from the model, from inputs of zero on."""
    decoder = to_precision(read_autoencoder("own_digits"), jnp.dtype("float64"))
    n_latent, n_observed = decoder.n_latent, _N_ROWS_OBSERVED * _SIDE

    def image(latent: Array) -> Array:
        return jax.nn.sigmoid(logits(decoder, latent))

    def generate(latent: Array) -> Array:
        return image(latent)[:n_observed]

    first, second = jax.random.split(stream(context.seed, context.study, "painted image"))
    noise = _NOISE * jax.random.normal(second, (n_observed,), dtype=jnp.float64)
    observed = generate(jax.random.normal(first, (n_latent,), dtype=jnp.float64)) + noise
    model = condition_noisy_generator(generate, log_prior, observed, _NOISE)

    def log_density(latent: Array) -> Array:
        return log_prior(latent) - 0.5 * jnp.sum(jnp.square((generate(latent) - observed) / _NOISE))

    constrained = constrained_hmc(
        model, _CONSTRAINED_STEP, _CONSTRAINED_STEPS, n_latent + n_observed, n_inner_steps=_N_INNER
    )
    unconstrained = hmc(log_density, _HMC_STEP, _HMC_STEPS, n_latent)

    def inked(latent: Array) -> Array:
        """Mean ink of each third of the rows that are not observed, and of all."""
        hidden = image(latent)[n_observed:]
        return jnp.append(hidden.reshape(3, -1).mean(axis=1), hidden.mean())

    def record_constrained(state: ConstrainedState, info: ConstrainedInfo) -> dict[str, Array]:
        # A Jacobian after each sub-step, and a gradient of the determinant a step, which costs as much as two.
        n_jacobians = info.num_integration_steps * (_N_INNER + 2)
        evaluations = info.errors.n_projection_iterations
        return _record(inked(state.position[:n_latent]), info.is_accepted, evaluations, n_jacobians)

    def record_unconstrained(state: HMCState, info: HMCInfo) -> dict[str, Array]:
        # A gradient is a pass forward and one back.
        return _record(inked(state.position), info.is_accepted, 2 * info.n_gradients, jnp.int32(0))

    def start(key: Array, parameters: dict[str, Array]) -> Any:
        return constrained.init(noisy_input(generate, jnp.zeros(n_latent), observed, _NOISE), key=key)

    samplers = {
        "constrained_hmc": Sampler(lambda parameters: constrained, start, record_constrained),
        "hmc": Sampler(
            lambda parameters: unconstrained,
            lambda key, parameters: unconstrained.init(jnp.zeros(n_latent), key=key),
            record_unconstrained,
        ),
    }
    n_kept = {"constrained_hmc": settings.n_painted, "hmc": _THINNING * settings.n_painted}
    run = partial(run_chains, context, settings=settings, sweep={"unused": [0.0]}, vectorise=False)
    return {
        name: run(names=("in-painting", name), sampler=sampler, n_draws=_N_WARM_UP[name] + n_kept[name])
        for name, sampler in samplers.items()
    }


def _record(inked: Array, accepted: Array, evaluations: Array, jacobians: Array) -> dict[str, Array]:
    return {"inked": inked, "accepted": accepted, "n_evaluations": evaluations, "n_jacobians": jacobians}
