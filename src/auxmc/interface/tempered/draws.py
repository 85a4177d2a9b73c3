"""Evidence from draws that exist already, by bridge sampling."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.diagnostics.tempered_evidence import bridge_evidence
from auxmc.driver.seeds import generator_of, stream
from auxmc.interface.advice import MIN_DRAWS, Advice, advise_convergence, advise_diverging, issue
from auxmc.interface.arguments import check_level, check_seed, require_x64
from auxmc.interface.densities import Density, density
from auxmc.interface.layout import named
from auxmc.interface.tempered.advice import large_error, missed_modes
from auxmc.interface.tempered.bases import mixture_of_draws, search_around
from auxmc.interface.tempered.mixture import Mixture, log_densities
from auxmc.interface.trees import dataset_of
from auxmc.numerics.programs import at_points

# Draws that the base is fitted to at most, and draws of the base at least.
_MOST_FITTED = 1024
_FEWEST_OF_BASE = 4096
# Leapfrog steps of an update of the annealed runs that look for further modes.
_STEPS = 10
_EXPECTED = "an ArviZ tree with a posterior, a dataset, or a mapping from names to arrays [chain, draw, ...]"


class EvidenceOfDraws(NamedTuple):
    """An evidence from draws.

    Attributes:
        log_evidence: log of the integral of the unnormalised density, in nats.
        standard_error: in nats.
        warnings: why the estimate must not be trusted as it is; empty where nothing is known against it.
    """

    log_evidence: float
    standard_error: float
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        """The estimate with its error."""
        return f"log evidence {self.log_evidence:.3f} +- {self.standard_error:.3f} nats"


def evidence_of(
    draws: Any, log_density: Callable[[Any], Array] | Density, *, seed: int = 0, checks: str = "basic"
) -> EvidenceOfDraws:
    """Log evidence of a density from draws of it, by any sampler, with a standard error.

    A mixture of Student-t components is fitted to the first half of each chain. Bridge sampling between the second
    halves and independent draws of the mixture gives the evidence; its error knows the autocorrelation of the chains.

    Args:
        draws: ArviZ tree with a group `posterior`, dataset, or mapping from names to arrays [chain, draw, ...]; without
            the warm-up.
        log_density: maps a dictionary of all variables in `draws` to the log of the unnormalised density, in nats, on
            the whole real line; or a model of `auxmc.density`, for bounds and priors, or of `auxmc.from_numpyro`, whose
            variables are taken from the draws.
        seed: of all random numbers.
        checks: "basic" looks at R-hat and effective sample sizes, and lets annealed runs look for modes without draws;
            "off" does neither.

    Raises:
        TypeError: If the log density cannot be traced, or a variable is no array of numbers.
        ValueError: If a variable is missing, has another shape, does not vary or is outside of its bounds, there are
            fewer than 8 draws of a chain, or the density is zero at a draw or does not depend on a variable.

    Warns:
        SamplingWarning: If the chains disagree or diverged, too few draws count, or annealed runs found modes without
            draws.

    Source: Meng and Wong 1996, "Simulating ratios of normalizing constants via a simple identity"; Gronau et al. 2017,
    "A tutorial on bridge sampling".
    """
    require_x64()
    check_level(checks)
    check_seed(seed)
    data = _dataset(draws)
    if isinstance(log_density, Density):
        model = log_density
    else:
        last = {str(name): array.to_numpy()[0, -1] for name, array in data.data_vars.items()}
        model = density(log_density, jax.tree.map(lambda a: np.asarray(a, np.float64), last), checks="off")
    vectors = _vectors(model, data, stream(seed, "evidence_of", "fill"))
    dim = vectors.shape[-1]
    if checks != "off" and model is not log_density:
        _check_used(model, vectors[:, -1])
    first, second = np.split(vectors, [vectors.shape[1] // 2], axis=1)
    points = first.reshape(-1, dim)
    mixture = mixture_of_draws(model, points[:: -(-len(points) // _MOST_FITTED)])
    random = generator_of(stream(seed, "evidence_of", "base"))
    of_base = np.asarray(mixture.position(mixture.draws(random, max(_FEWEST_OF_BASE, second[..., 0].size))))
    ratios = _log_ratios(model, mixture, second.reshape(-1, dim)).reshape(second.shape[:2])
    if not np.isfinite(ratios).all():
        raise ValueError("draws: the density is zero or not finite at a draw of something else")
    found = bridge_evidence(ratios, _log_ratios(model, mixture, of_base))
    advice: list[Advice] = []
    if checks != "off":
        stats = getattr(draws, "sample_stats", None)
        advice += advise_diverging(stats) if isinstance(stats, xr.Dataset | xr.DataTree) else []
        advice += advise_convergence("density", data)
        explored, runs = search_around(model, mixture, stream(seed, "evidence_of", "runs"), _STEPS)
        remedy = "Take auxmc.evidence, or draws of chains that reach all modes"
        flat = vectors.reshape(-1, dim)
        advice += missed_modes(model, flat, explored, [(runs.value, runs.error)], found, remedy)
        advice += large_error(found)
    return EvidenceOfDraws(*found, (*model.warnings, *issue(advice)))


def _dataset(draws: Any) -> xr.Dataset:
    """Variables [chain, draw, ...] of a tree, a dataset or a mapping."""
    group = getattr(draws, "posterior", draws)
    group = group.to_dataset() if isinstance(group, xr.DataTree) else group
    if isinstance(group, Mapping) and not isinstance(group, xr.Dataset):
        group = dataset_of({name: np.asarray(array) for name, array in group.items()})
    if not isinstance(group, xr.Dataset) or not {"chain", "draw"} <= set(group.dims):
        raise ValueError(f"draws: expected {_EXPECTED}, got {type(draws).__name__}")
    if group.sizes["draw"] < MIN_DRAWS:
        raise ValueError(f"draws: expected at least {MIN_DRAWS} of each chain, got {group.sizes['draw']}")
    return group.transpose("chain", "draw", ...)


def _vectors(model: Density, data: xr.Dataset, key: Array) -> np.ndarray:
    """Draws in the model's vector [chain, draw, dim]."""
    sizes = data.sizes["chain"], data.sizes["draw"]
    flat = {
        str(name): np.asarray(array.to_numpy(), np.float64).reshape(-1, *array.shape[2:])
        for name, array in data.data_vars.items()
    }
    if model.unconstrained is not None:
        return np.asarray(jax.jit(jax.vmap(model.unconstrained))(flat)).reshape(*sizes, -1)
    if not set(model.layout.names) <= set(flat):
        raise ValueError(f"draws: expected {', '.join(model.layout.names)}, got {', '.join(flat)}")
    tree = jax.tree.unflatten(model.layout.structure, [flat[name] for name in model.layout.names])
    vectors = jnp.asarray(model.layout.starts("draws", tree, sizes[0] * sizes[1]))
    filled = jax.vmap(model.layout.filled)(jax.random.split(key, len(vectors)), vectors)
    return np.asarray(filled).reshape(*sizes, -1)


def _check_used(model: Density, points: np.ndarray) -> None:
    """Rejects variables that a density does not depend on at points [point, dim]: they are made of the others."""
    slopes = jax.jit(jax.vmap(jax.grad(model.log_density)))(points)
    is_used = named(model.layout.tree(jnp.any(slopes != 0.0, axis=0)))
    if unused := [name for name, used in is_used.items() if not np.any(used)]:
        advice = "leave out what follows from other variables"
        raise ValueError(f"draws: log_density does not depend on {', '.join(unused)}: {advice}")


def _log_ratios(model: Density, mixture: Mixture, points: np.ndarray) -> np.ndarray:
    """Log of the target's density over the mixture's at points [point, dim], in nats [point]."""
    of_mixture = at_points(_mixture_density, mixture.standard(points), mixture)
    return log_densities(model.log_density, points) - of_mixture + float(mixture.log_volume())


def _mixture_density(y: Array, mixture: Mixture) -> Array:
    return mixture.log_density(y)
