"""Evidence of a model, and draws of it across its modes, by chains that temper between the target and a base."""

import math
import pathlib
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.diagnostics.errors_of_means import few_replicates
from auxmc.diagnostics.log_evidence import Evidence, log_evidence, log_evidence_error
from auxmc.driver.seeds import stream
from auxmc.interface.densities import Density, density
from auxmc.interface.layout import named
from auxmc.interface.methods import Method
from auxmc.interface.precision import whole_number
from auxmc.interface.sampling import check_run, run_method
from auxmc.interface.tempered.advice import advise_evidence
from auxmc.interface.tempered.bases import Base, Gaussian, find_base
from auxmc.interface.tempered.draws import on_own_scales, target_draws
from auxmc.interface.tempered.pilot import Path, share_of_step
from auxmc.kernels.base import Kernel
from auxmc.kernels.tempering.continuous_tempering import (
    continuously_tempered_hmc,
    gibbs_continuous_tempering,
)
from auxmc.kernels.tempering.simulated_tempering import simulated_tempering
from auxmc.kernels.tempering.tempered_move import check_settings

__all__ = ["METHODS", "TemperedEvidence", "evidence", "method_of"]

METHODS = ("simulated_tempering", "gibbs_continuous_tempering", "continuously_tempered_hmc")
"""Ways of moving between the target and the base."""

_MOST_TEMPERATURES = 100
# Of a chain's time, at the base and at the target each.
_SHARE_OF_ENDS = 0.1
# Steps of a method whose step cannot depend on the temperature: each is taken as often.
_SHARES_OF_STEP = (1.0, 0.3, 0.1)


class TemperedEvidence(NamedTuple):
    """An evidence, and the posterior that comes with it.

    Attributes:
        log_evidence: log of the integral of the unnormalised density, in nats.
        standard_error: from the spread between chains, widened for few, in nats.
        posterior: ArviZ tree of draws across all modes in one chain: states of the chains, resampled by their weights
            and moved on, so that no two are the same. Shares of modes are as uncertain as the evidence.
        chains: ArviZ tree of the tempered chains, with their inverse temperatures and weights.
        base: the base, and what its pilot found.
        warnings: what is to be said about the estimate; empty where nothing is.
    """

    log_evidence: float
    standard_error: float
    posterior: xr.DataTree
    chains: xr.DataTree
    base: Base
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        """The estimate with its error."""
        return f"log evidence {self.log_evidence:.3f} +- {self.standard_error:.3f} nats"


def evidence(
    log_density: Callable[[Any], Array] | Density,
    start: Any = None,
    *,
    base: str | Gaussian = "automatic",
    method: str = "simulated_tempering",
    draws: int = 2000,
    warm_up: int = 500,
    chains: int = 16,
    n_steps: int = 10,
    seed: int = 0,
    cores: int | None = None,
    executor: Executor | str | None = None,
    checkpoint: str | pathlib.Path | None = None,
    progress: bool = True,
) -> TemperedEvidence:
    """Log evidence of a density on a real space with its error, and draws from all of its modes.

    A Gaussian base is found near the target, and annealed runs from it find temperatures whose neighbours overlap,
    their weights, and step sizes for each. Chains start at draws of the base and move at inverse temperatures between
    base and target; the shares of the two ends give the evidence. Modes that neither the runs nor the chains reach are
    missing.

    Args:
        log_density: maps the variables, a pytree like `start`, to the log of the unnormalised density, in nats: for an
            evidence, log likelihood plus normalised log prior. Written with `jax.numpy`, differentiable. Or a model
            that `auxmc.density`, `auxmc.from_numpyro` or `auxmc.from_pymc` made.
        start: variables where the density is positive; the base is sought from there. A model has its own.
        base: "automatic", "advi", "laplace", or `auxmc.gaussian(mean, scale)`.
        method: one of METHODS; the first has the smallest error, as its temperatures are weighed.
        draws: iterations of each chain.
        warm_up: iterations before them, in which the step size is adapted.
        chains: independent chains; their spread is the error.
        n_steps: leapfrog steps of an update.
        seed: of all random numbers.
        cores: chains that run at the same time; all cores by default.
        executor: as for `auxmc.sample`.
        checkpoint: as for `auxmc.sample`.
        progress: as for `auxmc.sample`.

    Raises:
        TypeError: the log density cannot be traced, or the checkpoint or the executor is none.
        ValueError: it is not finite at the start, there is no start, no base was found, a number is out of range, or
            the checkpoint holds a run of something else.

    Warns:
        SamplingWarning: the estimate must not be trusted as it is; says why and what to do.

    Source: PhD thesis, Algorithms 7, 14 and 15, Eqs. 5.33 to 5.36.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    whole_number("chains", chains, 2, "their spread is the error")
    check_run(
        draws=draws,
        warm_up=warm_up,
        chains=chains,
        seed=seed,
        cores=cores,
        executor=executor,
        checkpoint=checkpoint,
    )
    check_settings(n_steps, 1.0, "drift_kick_drift")
    if isinstance(log_density, Density):
        if start is not None:
            raise ValueError("start must be left out where a model is given: it has one")
        model = log_density
    elif not callable(log_density):
        raise TypeError(
            "log_density must be a function, or a model that auxmc.density, auxmc.from_numpyro or auxmc.from_pymc "
            f"made, got {type(log_density).__name__}"
        )
    elif start is None:
        raise ValueError("start is missing: give variables at which the density is positive")
    else:
        model = density(log_density, start)
    found = find_base(model, base, stream(seed, "evidence", "base"), n_steps)
    tree, _ = run_method(
        method_of(method, model, found, n_steps),
        None,
        draws=draws,
        warm_up=warm_up,
        chains=chains,
        seed=seed,
        cores=cores,
        executor=executor,
        checkpoint=checkpoint,
        progress=progress,
    )
    stats = tree["sample_stats"]
    target, base_weight = (stats[name].to_numpy() for name in ("log_target_weight", "log_base_weight"))
    value = log_evidence(target, base_weight)
    error = log_evidence_error(target, base_weight) * few_replicates(chains)
    posterior = target_draws(model, tree, found, n_steps, stream(seed, "evidence", "resampling"), draws)
    advice = [*found.advice, *advise_evidence(model, tree, posterior, found, Evidence(value, error))]
    posterior = on_own_scales(model, posterior)
    texts = (*model.warnings, *(one.text for one in advice))
    tree.attrs["warnings"] = list(texts)
    posterior.attrs |= tree.attrs | {"log_evidence": value, "log_evidence_standard_error": error}
    for one in advice:
        one.warn()
    return TemperedEvidence(value, error, posterior, tree, found, texts)


def method_of(name: str, model: Density, base: Base, n_steps: int) -> Method:
    """Chains that temper between a target and a base, by one of METHODS."""
    joined, path = base.bridge, _thinned(base.runs.path)
    temperatures, sizes = jnp.asarray(path.inverse_temperatures), jnp.asarray(path.step_sizes)
    log_weights = path.inverse_temperatures * base.runs.log_normaliser - path.log_normalisers
    # Modes are exchanged at the base alone where they are zeros of the density apart, and draws come from the target.
    n_between = len(log_weights) - 2
    log_weights[[0, -1]] += math.log(max(1.0, _SHARE_OF_ENDS * n_between / (1.0 - 2.0 * _SHARE_OF_ENDS)))

    def of_step(step: Array) -> Kernel:
        if name == "continuously_tempered_hmc":
            return continuously_tempered_hmc(joined, step, n_steps)
        if name == "simulated_tempering":
            return simulated_tempering(joined, temperatures, step, n_steps, log_weights=log_weights)
        return gibbs_continuous_tempering(joined, step, n_steps)

    def size_at(state: Any, share: Array) -> Array:
        """Step of an update: where the temperature stays as it is meanwhile, the one that the runs found for it."""
        if name == "continuously_tempered_hmc":
            # The temperature moves with the position: a step that depends on either would not be reversible.
            shares = jnp.asarray(_SHARES_OF_STEP)
            return jnp.max(sizes) * shares[jnp.minimum((share * shares.size).astype(int), shares.size - 1)]
        if name == "simulated_tempering":
            return sizes[state.index]
        return jnp.exp(jnp.interp(state.inverse_temperature, temperatures, jnp.log(sizes)))

    def build(scale: Array) -> Kernel:
        kernel = of_step(scale)

        def draw(key: Array) -> tuple[Any, Array, Array]:
            own = jax.random.fold_in(key, 99)
            return kernel.draw(key), share_of_step(own), jax.random.uniform(jax.random.fold_in(own, 1))

        def apply(noise: tuple[Any, Array, Array], state: Any) -> tuple[Any, Any]:
            return of_step(scale * noise[1] * size_at(state, noise[2])).apply(noise[0], state)

        return Kernel(kernel.init, draw, apply)

    def of_state(state: Any) -> dict[str, Array]:
        kept = {"log_target_weight": state.log_target_weight, "log_base_weight": state.log_base_weight}
        own = temperatures[state.index] if name == "simulated_tempering" else state.inverse_temperature
        return kept | {"inverse_temperature": own}

    def draw_start(key: Array) -> np.ndarray:
        for attempt in range(100):
            point = joined.draw_base(jax.random.normal(jax.random.fold_in(key, attempt), (joined.dim,)))
            if bool(jnp.isfinite(joined.log_densities(point)[0])):
                return np.asarray(point)
        raise ValueError(
            "no draw of the base has a finite log density: give base=auxmc.gaussian(mean, scale)"
        )

    return Method(
        name,
        build,
        model.layout,
        lambda vector: named(model.layout.tree(base.position(vector))),
        1.0,
        "dual averaging",
        0.8,
        lambda point: None,
        draw_start,
        of_state,
    )


def _thinned(path: Path) -> Path:
    n = len(path.inverse_temperatures)
    kept = np.unique(np.linspace(0, n - 1, min(n, _MOST_TEMPERATURES)).round().astype(int))
    return Path(*(array[kept] for array in path))
