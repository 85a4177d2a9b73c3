"""Models of NumPyro and PyMC as densities, and algorithms of BlackJAX as methods."""

import inspect
from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.arguments import check_callable, check_fraction, check_positive, require_x64
from auxmc.interface.checks.densities import first_finite
from auxmc.interface.densities import Density, check_density, density, density_method
from auxmc.interface.layout import named, variables
from auxmc.interface.methods import LogDensity, Method
from auxmc.kernels.base import Kernel

_EXPECTED = "expected an MCMC algorithm of BlackJAX, with init(position) and step(key, state)"


def from_blackjax(
    model: Density,
    make: Callable[[Callable[[Array], Array], Array], Any],
    *,
    step_size: float = 0.1,
    target_acceptance: float = 0.8,
) -> Method:
    """A sampling algorithm of BlackJAX as a method for `auxmc.sample`.

    Args:
        model: `auxmc.density(log_density, start)`, or what `auxmc.from_numpyro` or `auxmc.from_pymc` returns.
        make: maps (log density of a vector, step size) to the algorithm, such as
            `lambda log_density, step: blackjax.nuts(log_density, step, jax.numpy.ones(3))`.
        step_size: at the start of the warm-up, which adapts it where steps have an acceptance rate.
        target_acceptance: mean acceptance rate that the warm-up reaches for.

    Raises:
        TypeError: If `make` does not return an MCMC algorithm, with `init(position)` and `step(key, state)`,
            whose state has a `position`. Those on minibatches (`sgld`) or particles (`tempered_smc`) are not.
        ValueError: the step size is not positive, or the target is not between 0 and 1.
    """
    check_density(model)
    step_size = check_positive("step_size", step_size)
    check_callable("make", make, "maps a log density and a step size to an algorithm of BlackJAX")
    start = jnp.asarray(model.start)
    example, key = make(model.log_density, jnp.asarray(step_size)), jax.random.key(0)
    if not (hasattr(example, "init") and hasattr(example, "step")):
        raise TypeError(f"make: {_EXPECTED}, got {type(example).__name__}")
    _, _, *more = inspect.signature(example.step).parameters.values()
    if needed := [one.name for one in more if one.default is one.empty]:
        raise TypeError(f"make: {_EXPECTED}, got one whose step also needs {', '.join(needed)}")
    try:
        state = jax.eval_shape(lambda key: _initial(example, start, key=key), key)
        _, info = jax.eval_shape(example.step, key, state)
    except Exception as error:
        raise TypeError(f"make: {_EXPECTED}, got one that fails: {error}") from error
    if getattr(getattr(state, "position", None), "shape", None) != start.shape:
        got = ", ".join(getattr(state, "_fields", [type(state).__name__]))
        raise TypeError(f"make: {_EXPECTED}, whose state has a position {list(start.shape)}, got {got}")
    fields = [name for name in info._fields if getattr(getattr(info, name), "shape", None) == ()]
    make_info: Any = namedtuple
    kept = make_info("BlackjaxInfo", fields)

    def build(scale: Array) -> Kernel:
        algorithm = make(model.log_density, scale)

        def apply(key: Array, state: Any) -> tuple[Any, Any]:
            moved, info = algorithm.step(key, state)
            return moved, kept(*(getattr(info, name) for name in fields))

        return Kernel(partial(_initial, algorithm), lambda key: key, apply)

    return density_method(
        model,
        name="blackjax",
        build=build,
        scale=step_size,
        adaptation="dual averaging" if "acceptance_rate" in fields else "",
        target=check_fraction("target_acceptance", target_acceptance),
        of_state=lambda state: {"lp": state.logdensity} if hasattr(state, "logdensity") else {},
    )


def _initial(algorithm: Any, position: Array, *, key: Array) -> Any:
    """The first state of an algorithm, of which some draw a part, such as a momentum."""
    takes_key = len(inspect.signature(algorithm.init).parameters) > 1
    # As integers: the state may keep the key, and checkpoints hold numbers.
    return algorithm.init(position, jax.random.key_data(key)) if takes_key else algorithm.init(position)


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
        from numpyro import handlers
        from numpyro.distributions.transforms import biject_to
        from numpyro.infer.initialization import init_to_uniform
        from numpyro.infer.util import constrain_fn, initialize_model, unconstrain_fn
    except ImportError as error:
        raise ImportError("auxmc.from_numpyro needs NumPyro: pip install numpyro") from error
    check_callable("model", model, "draws sites of NumPyro")
    require_x64()

    def sites(model: Callable[..., Any]) -> dict[str, Any]:
        with handlers.block():
            return dict(handlers.trace(model).get_trace(*args, **kwargs))

    try:
        _check_sites(lambda key: sites(handlers.seed(model, key)))
    except NotImplementedError:
        # An improper prior has no draws: points near zero, of the unconstrained variables, stand for them.
        near = lambda key: handlers.substitute(handlers.seed(model, key), substitute_fn=init_to_uniform)  # noqa: E731
        _check_sites(lambda key: sites(near(key)))
    try:
        info = initialize_model(jax.random.key(0), model, model_args=args, model_kwargs=kwargs)
    except RuntimeError as error:
        raise ValueError(f"NumPyro finds no point to begin at; look for nan: {error}") from error
    start = {name: np.asarray(value, np.float64) for name, value in info.param_info.z.items()}
    made = density(lambda variables: -info.potential_fn(variables), start)
    layout = made.layout

    def values(variables: Mapping[str, Array]) -> dict[str, Array]:
        # A copy: NumPyro's functions may write into what they are given.
        return named(dict(info.postprocess_fn(dict(variables))))

    def unconstrained(values: Mapping[str, Array]) -> Array:
        own = {name: values[name] for name in layout.names}
        return layout.vector(unconstrain_fn(model, args, kwargs, own))

    def log_prior(vector: Array) -> Array:
        free = layout.tree(vector)
        own = constrain_fn(model, args, kwargs, dict(free))
        given = sites(handlers.substitute(handlers.seed(model, 0), data=own))
        total = jnp.zeros(())
        for name, value in free.items():
            site = given[name]
            transform = biject_to(site["fn"].support)
            total += jnp.sum(site["fn"].log_prob(site["value"]))
            total += jnp.sum(transform.log_abs_det_jacobian(value, transform(value)))
        return total

    def draw_prior(key: Array) -> Array:
        drawn = sites(handlers.seed(model, key))
        return unconstrained({name: drawn[name]["value"] for name in layout.names})

    spread = _around(np.zeros(layout.dim), 2.0, made.log_density)
    made = made._replace(constrained=values, unconstrained=unconstrained, spread=spread)
    try:
        jax.eval_shape(draw_prior, jax.random.key(0))
    except (NotImplementedError, ValueError):
        # An improper prior has no draws.
        return made
    return made._replace(log_prior=log_prior, draw_prior=draw_prior)


def _check_sites(draw: Callable[[Array], dict[str, Any]]) -> None:
    """Rejects a model with sites that cannot be kept or moved (ValueError)."""
    sites: dict[str, Any] = {}
    # Kinds and shapes of the sites are looked at alone: nothing is computed.
    jax.eval_shape(lambda key: sites.update(draw(key)), jax.random.key(0))
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


def from_pymc(model: Any) -> Density:
    """A model of PyMC as a density on unconstrained variables, for `auxmc.hmc` and all else that takes a density.

    Chains move PyMC's value variables, such as `sigma_log__`; draws have the variables' own values, such as `sigma`,
    and those of its deterministics. The density is normalised as the model's priors are, derivatives of the
    transforms included, so that its integral is the evidence.

    Args:
        model: `pymc.Model`.

    Raises:
        ImportError: PyMC is not installed.
        TypeError: `model` is none of PyMC.
        ValueError: a free variable is discrete, there is none, a part has no translation to JAX, or the log density is
            not finite at the model's initial point.

    Source: Abril-Pla et al. 2023, "PyMC: a modern and comprehensive probabilistic programming framework in Python",
    PeerJ Computer Science 9:e1516.
    """
    try:
        import pymc
        from pymc.sampling.jax import get_jaxified_graph
        from pymc.util import get_default_varnames
    except ImportError as error:
        raise ImportError("auxmc.from_pymc needs PyMC: pip install pymc") from error
    if not isinstance(model, pymc.Model):
        raise TypeError(f"model must be a pymc.Model, got {type(model).__name__}")
    require_x64()
    variables = model.value_vars
    if not variables:
        raise ValueError("the model has no free variable: there is nothing to draw")
    if discrete := [variable.name for variable in model.discrete_value_vars]:
        advice = "Sum over them in the model, as pymc.Mixture does"
        raise ValueError(f"the variables {', '.join(discrete)} are discrete. {advice}")
    kept = get_default_varnames(model.unobserved_value_vars, include_transformed=False)
    try:
        logp = get_jaxified_graph(inputs=variables, outputs=[model.logp()])
        transform = get_jaxified_graph(inputs=variables, outputs=kept)
    except NotImplementedError as error:
        raise ValueError(f"PyMC has no translation to JAX for a part of the model: {error}") from error
    names, kept_names = [variable.name for variable in variables], [variable.name for variable in kept]

    def log_density(values: Mapping[str, Array]) -> Array:
        return logp(*(values[name] for name in names))[0]

    def constrained(values: Mapping[str, Array]) -> dict[str, Array]:
        found = transform(*(values[name] for name in names))
        return dict(zip(kept_names, map(jnp.asarray, found), strict=True))

    point = model.initial_point()
    made = density(log_density, {name: np.asarray(point[name], np.float64) for name in names})
    return made._replace(constrained=constrained, spread=_around(made.start, 1.0, made.log_density))


def _around(centre: np.ndarray, width: float, log_density: LogDensity) -> Callable[[Array], np.ndarray]:
    """Maps a key to a uniform point [dim], at most `width` off, of finite density; the centre if none of 100 is.

    The width is 2 about zero in NumPyro's `init_to_uniform`, 1 about the initial point in PyMC's `jitter+adapt_diag`.
    """

    def start(key: Array) -> np.ndarray:
        keys = (jax.random.fold_in(key, attempt) for attempt in range(100))
        draw = partial(jax.random.uniform, minval=-width, maxval=width)
        points = (centre + draw(own, centre.shape, jnp.float64) for own in keys)
        found = first_finite(log_density, map(np.asarray, points))
        return centre if found is None else found

    return start
