"""Models of NumPyro: log density and transforms through its public utilities."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.arguments import check_callable, require_x64
from auxmc.interface.densities import Density, density
from auxmc.interface.layout import Layout, named, variables
from auxmc.interface.others.starts import spread_around

# Half the side of the cube of starts about zero, as NumPyro's `init_to_uniform` has it.
_WIDTH = 2.0


def from_numpyro(model: Callable[..., Any], *args: Any, **kwargs: Any) -> Density:
    """A model of NumPyro as a density on unconstrained variables, for `auxmc.hmc` and all else that takes a density.

    Chains move unconstrained variables, under the names of the model's sample sites; draws have the sites' own values,
    and those of its deterministic sites. The density is normalised as the model's priors are, derivatives of the
    transforms included, so that its integral is the evidence.

    Args:
        model: function that draws `numpyro.sample` sites.
        args: of the model, such as data.
        kwargs: of the model.

    Raises:
        ImportError: NumPyro is not installed.
        TypeError: the model is no function.
        ValueError: a site's name cannot be kept, a site is discrete and not observed, a plate takes a part of its rows,
            the model draws nothing, or its log density is not finite anywhere that NumPyro looks.

    Source: Phan, Pradhan and Jankowiak 2019, "Composable effects for flexible and accelerated probabilistic
    programming in NumPyro", arXiv:1912.11554.
    """
    try:
        from numpyro.infer.util import initialize_model, unconstrain_fn
    except ImportError as error:
        raise ImportError("auxmc.from_numpyro needs NumPyro: pip install numpyro") from error
    check_callable("model", model, "draws sites of NumPyro")
    require_x64()
    _check_sites(model, args, kwargs)
    try:
        info = initialize_model(jax.random.key(0), model, model_args=args, model_kwargs=kwargs)
    except RuntimeError as error:
        raise ValueError(f"NumPyro finds no point to begin at; look for nan: {error}") from error

    def log_density(variables: Mapping[str, Array]) -> Array:
        return -info.potential_fn(variables)

    def values(variables: Mapping[str, Array]) -> dict[str, Array]:
        # A copy: NumPyro's functions may write into what they are given.
        return named(dict(info.postprocess_fn(dict(variables))))

    start = {name: np.asarray(value, np.float64) for name, value in info.param_info.z.items()}
    made = density(log_density, start)
    centre = np.zeros(made.layout.dim)

    def unconstrained(values: Mapping[str, Array]) -> Array:
        own = {name: values[name] for name in made.layout.names}
        return made.layout.vector(unconstrain_fn(model, args, kwargs, own))

    made = made._replace(
        constrained=values,
        unconstrained=unconstrained,
        spread=spread_around(centre, _WIDTH, made.log_density),
    )
    log_prior, draw_prior = _prior(model, args, kwargs, made.layout, unconstrained)
    try:
        jax.eval_shape(draw_prior, jax.random.key(0))
    except (NotImplementedError, ValueError):
        # An improper prior has no draws.
        return made
    return made._replace(log_prior=log_prior, draw_prior=draw_prior)


def _prior(
    model: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    layout: Layout,
    unconstrained: Callable[[Mapping[str, Array]], Array],
) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """Log density [dim] of the model's prior on unconstrained variables, and its draws [dim]."""
    from numpyro import handlers
    from numpyro.distributions.transforms import biject_to
    from numpyro.infer.util import constrain_fn

    def log_prior(vector: Array) -> Array:
        free = layout.tree(vector)
        own = constrain_fn(model, args, kwargs, dict(free))
        given = handlers.substitute(handlers.seed(model, 0), data=own)
        with handlers.block():
            trace = handlers.trace(given).get_trace(*args, **kwargs)
        total = jnp.zeros(())
        for name, value in free.items():
            site = trace[name]
            transform = biject_to(site["fn"].support)
            total += jnp.sum(site["fn"].log_prob(site["value"]))
            total += jnp.sum(transform.log_abs_det_jacobian(value, transform(value)))
        return total

    def draw_prior(key: Array) -> Array:
        with handlers.block():
            trace = handlers.trace(handlers.seed(model, key)).get_trace(*args, **kwargs)
        return unconstrained({name: trace[name]["value"] for name in layout.names})

    return log_prior, draw_prior


def _check_sites(model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    from numpyro import handlers

    sites: dict[str, Any] = {}

    def trace(key: Array) -> None:
        with handlers.block():
            sites.update(handlers.trace(handlers.seed(model, key)).get_trace(*args, **kwargs))

    # Kinds and shapes of the sites are looked at alone: nothing is computed.
    jax.eval_shape(trace, jax.random.key(0))
    free = {name: s for name, s in sites.items() if s["type"] == "sample" and not s["is_observed"]}
    kept = free | {name: site for name, site in sites.items() if site["type"] == "deterministic"}
    variables("the model", {name: site["value"] for name, site in kept.items()})
    if not free:
        raise ValueError("the model draws nothing: it has no sample site that is not observed")
    if discrete := [name for name, site in free.items() if site["fn"].support.is_discrete]:
        advice = "Sum over them in the model, as numpyro.distributions.MixtureSameFamily does"
        raise ValueError(f"the sites {', '.join(discrete)} are discrete and not observed. {advice}")
    for name, site in sites.items():
        if site["type"] == "plate" and site["args"][0] != jnp.size(site["value"]):
            part = f"{jnp.size(site['value'])} of {site['args'][0]} rows"
            raise ValueError(f"the plate {name} takes {part}: give it all rows")
