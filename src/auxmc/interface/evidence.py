"""Evidence of a model, and draws of it across its modes, by chains that temper between the target and a base."""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy.special import logsumexp

from auxmc.diagnostics.errors_of_means import few_replicates
from auxmc.diagnostics.log_evidence import log_evidence, log_evidence_error
from auxmc.driver.seeds import stream
from auxmc.interface.advice import Advice
from auxmc.interface.bases import Base, Gaussian, find_base
from auxmc.interface.densities import Density, density
from auxmc.interface.layout import named
from auxmc.interface.methods import Method
from auxmc.interface.sampling import run_method
from auxmc.kernels.base import Kernel
from auxmc.kernels.tempering.continuous_tempering import (
    continuously_tempered_hmc,
    gibbs_continuous_tempering,
)
from auxmc.kernels.tempering.simulated_tempering import simulated_tempering
from auxmc.sampling.resampling import systematic_indices

__all__ = ["METHODS", "Evidence", "evidence"]

METHODS = ("gibbs_continuous_tempering", "continuously_tempered_hmc", "simulated_tempering")
"""Ways of moving between the target and the base."""

_LADDER = 50
# Steps of an update beside the longest: each is taken as often.
_SHARES_OF_STEP = (1.0, 0.3, 0.1)


class Evidence(NamedTuple):
    """An evidence, and the posterior that comes with it.

    Attributes:
        log_evidence: log of the integral of the unnormalised density, in nats.
        standard_error: from the spread between chains, widened for few, in nats.
        posterior: ArviZ tree of draws across all modes, resampled by their weights into one chain.
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

    def __str__(self) -> str:
        """The estimate with its error."""
        return f"log evidence {self.log_evidence:.3f} +- {self.standard_error:.3f} nats"


def evidence(
    log_density: Callable[[Any], Array],
    start: Any,
    *,
    base: str | Gaussian = "automatic",
    method: str = "gibbs_continuous_tempering",
    draws: int = 2000,
    warm_up: int = 500,
    chains: int = 16,
    n_steps: int = 10,
    step_size: float = 0.1,
    seed: int = 0,
    cores: int | None = None,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = True,
) -> Evidence:
    """Log evidence of a density on a real space with its error, and draws from all of its modes.

    A Gaussian base is found near the target. Chains start at draws of the base and move at inverse temperatures between
    base and target; the shares of the two ends give the evidence.

    Args:
        log_density: maps the variables, a pytree like `start`, to the log of the unnormalised density, in nats: for an
            evidence, log likelihood plus normalised log prior. Written with `jax.numpy`, differentiable.
        start: variables where the density is positive; the base is sought from there.
        base: "automatic", "advi", "laplace", or `auxmc.gaussian(mean, scale)`.
        method: one of METHODS.
        draws: iterations of each chain.
        warm_up: iterations before them, in which the step size is adapted.
        chains: independent chains; their spread is the error.
        n_steps: leapfrog steps of an update.
        step_size: at the start of the warm-up, in standard deviations of the base.
        seed: of all random numbers.
        cores: chains that run at the same time; all cores by default.
        executor: as for `auxmc.sample`.
        checkpoint: as for `auxmc.sample`.
        progress: as for `auxmc.sample`.

    Raises:
        TypeError: the log density cannot be traced.
        ValueError: it is not finite at the start, no base was found, or a number is out of range.

    Warns:
        SamplingWarning: the estimate must not be trusted as it is; says why and what to do.

    Source: PhD thesis, Algorithms 7, 14 and 15, Eqs. 5.33 to 5.36.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if isinstance(chains, bool) or not isinstance(chains, int) or chains < 2:
        raise ValueError(
            f"chains must be a whole number, at least 2: their spread is the error; got {chains!r}"
        )
    model = density(log_density, start)
    found = find_base(model, base, stream(seed, "evidence", "base"), n_steps)
    tree = run_method(
        _method(method, model, found, step_size, n_steps),
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
    advice = [*found.advice, *_advice(tree, target, value, error, found)]
    texts = tuple(one.text for one in advice)
    tree.attrs["warnings"] = list(texts)
    posterior = _resampled(tree, target, stream(seed, "evidence", "resampling"), draws)
    posterior.attrs |= tree.attrs | {"log_evidence": value, "log_evidence_standard_error": error}
    for one in advice:
        one.warn()
    return Evidence(value, error, posterior, tree, found, texts)


def _method(name: str, model: Density, base: Base, step_size: float, n_steps: int) -> Method:
    if not (step_size > 0.0 and math.isfinite(step_size)):
        raise ValueError(f"step_size must be a positive number, got {step_size}")
    joined = base.bridge

    def of_step(step: Array) -> Kernel:
        if name == "continuously_tempered_hmc":
            return continuously_tempered_hmc(joined, step, n_steps)
        if name == "simulated_tempering":
            return simulated_tempering(joined, np.linspace(0.0, 1.0, _LADDER), step, n_steps)
        return gibbs_continuous_tempering(joined, step, n_steps)

    def build(scale: Array) -> Kernel:
        """Updates with long and short steps in turn, at random: the target may be far narrower than the base."""
        kernel = of_step(scale)

        def draw(key: Array) -> tuple[Any, Array]:
            shares = jnp.asarray(_SHARES_OF_STEP)
            return kernel.draw(key), shares[
                jax.random.randint(jax.random.fold_in(key, 99), (), 0, shares.size)
            ]

        def apply(noise: tuple[Any, Array], state: Any) -> tuple[Any, Any]:
            return of_step(scale * noise[1]).apply(noise[0], state)

        return Kernel(kernel.init, draw, apply)

    def of_state(state: Any) -> dict[str, Array]:
        kept = {"log_target_weight": state.log_target_weight, "log_base_weight": state.log_base_weight}
        temperature = getattr(state, "inverse_temperature", None)
        return kept if temperature is None else kept | {"inverse_temperature": temperature}

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
        step_size,
        "dual averaging",
        0.8,
        lambda point: None,
        draw_start,
        of_state,
    )


def _advice(
    tree: xr.DataTree, target: np.ndarray, value: float, error: float, base: Base
) -> Iterator[Advice]:
    n_chains = len(target)
    per_chain = np.asarray(logsumexp(target, axis=1))
    shares = np.exp(per_chain - logsumexp(per_chain))
    positions = [
        array.to_numpy().reshape(n_chains, target.shape[1], -1) for array in tree["posterior"].values()
    ]
    frozen = np.all([np.all(np.ptp(values, axis=1) == 0.0, axis=1) for values in positions], axis=0)
    if frozen.any():
        yield Advice(
            f"chain {', '.join(map(str, np.flatnonzero(frozen)))} never moved after the warm-up",
            "Give a smaller step_size or a longer warm_up",
        )
    temperatures = tree["sample_stats"].get("inverse_temperature")
    if temperatures is not None:
        values = temperatures.to_numpy()
        crossed = (values.min(axis=1) < 0.1) & (values.max(axis=1) > 0.9)
        if np.mean(crossed) < 0.5:
            yield Advice(
                f"{int(np.sum(~crossed))} of {n_chains} chains did not get from the base to the target",
                "Give a base nearer to the target (base=auxmc.gaussian with its moments), more n_steps, or more draws",
            )
    if shares.max() > 0.5 and n_chains > 3:
        yield Advice(
            f"one chain of {n_chains} carries {100 * shares.max():.0f} % of the weight: the error is not known",
            "Run more draws; if it stays, the base misses the mode that this chain found",
        )
    if math.isfinite(base.log_pilot):
        together = math.hypot(error, base.pilot_error)
        if base.log_pilot - value > 3.0 * max(together, 0.05):
            yield Advice(
                f"annealed importance sampling, which underestimates, found more: {base.log_pilot:.2f} nats",
                "The chains miss a part of the target: run more draws or chains",
            )


def _resampled(tree: xr.DataTree, log_weights: np.ndarray, key: Array, n_draws: int) -> xr.DataTree:
    """Draws of the target: states of all chains chosen with their weights, in the order of the chains."""
    chosen = np.asarray(systematic_indices(key, jnp.asarray(log_weights.ravel()), n_draws))
    dataset = tree["posterior"].to_dataset()
    variables = {}
    for name, array in dataset.data_vars.items():
        values = array.to_numpy().reshape(-1, *array.shape[2:])[chosen]
        variables[name] = (array.dims, values[None])
    posterior = xr.Dataset(variables, coords={"chain": [0], "draw": np.arange(n_draws)})
    return xr.DataTree.from_dict({"posterior": posterior})
