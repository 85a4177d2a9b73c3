"""Models known by a log density and its gradient, and Hamiltonian Monte Carlo on them."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface import arguments
from auxmc.interface.advice import issue
from auxmc.interface.checks.densities import examine_density, first_finite, start_check
from auxmc.interface.layout import Layout, named, start_variables
from auxmc.interface.methods import LogDensity, Method, evaluated_number, follows_its_key
from auxmc.interface.trajectory_guard import first_step_size, guarded
from auxmc.interface.transforms import (
    WHOLE_LINE,
    Transform,
    bound_transforms,
    of_distribution,
    ordered,
    sampled,
)
from auxmc.kernels.base import Kernel, check_choice, check_steps
from auxmc.kernels.hamiltonian.hmc import hmc as hmc_kernel
from auxmc.kernels.hamiltonian.nuts import nuts as nuts_kernel
from auxmc.numerics.programs import has_open_cost
from auxmc.numerics.values import by_value

_MASSES = {"diagonal": "diagonal windows", "dense": "dense windows", "unit": "dual averaging"}


@by_value
class Density(NamedTuple):
    """A model known by its log density; `density` makes it.

    Attributes:
        log_density: maps the vector [dim] to nats.
        layout: of the variables in the vector.
        start: variables that chains begin at [dim].
        constrained: maps the variables to those that are kept with every draw, by name: the same on other scales, and
            what is derived from them; None for the variables themselves.
        spread: maps a key to a start [dim] of its own for a chain; None where all begin at `start`.
        warnings: what is to be said about the log density.
        log_prior: maps the vector [dim] to the log density of the prior, in nats; None where it is not known.
        draw_prior: maps a key to a draw [dim] of the prior.
        unconstrained: maps the variables that are kept, by name, to the vector [dim]; None where they are those of the
            layout.
    """

    log_density: Callable[[Array], Array]
    layout: Layout
    start: np.ndarray
    constrained: Callable[[Any], dict[str, Array]] | None = None
    spread: Callable[[Array], np.ndarray] | None = None
    warnings: tuple[str, ...] = ()
    log_prior: Callable[[Array], Array] | None = None
    draw_prior: Callable[[Array], Array] | None = None
    unconstrained: Callable[[Mapping[str, Array]], Array] | None = None

    def __repr__(self) -> str:
        """Its variables."""
        return f"Density of {', '.join(self.layout.names)} ({self.layout.dim} numbers)"

    @property
    def is_plain(self) -> bool:
        """Whether the kept variables are the numbers of the vector, and evaluation costs the same everywhere."""
        is_open = has_open_cost(self.log_density, self.start)
        return self.constrained is None and not self.layout.transforms and not is_open

    def values(self, vector: Array) -> dict[str, Array]:
        """What is kept of a vector [dim], by name."""
        variables = self.layout.tree(vector)
        return named(variables) if self.constrained is None else self.constrained(variables)

    def draw_start(self, key: Array) -> np.ndarray:
        """Where a chain begins [dim]."""
        return self.start if self.spread is None else self.spread(key)


def density(
    log_density: Callable[[Any], Array] | Density,
    start: Any = None,
    *,
    prior: Any = None,
    bounds: Mapping[str, Any] | None = None,
    periodic: str | Sequence[str] = (),
    exchangeable: str | Sequence[str] = (),
    checks: str = "basic",
) -> Density:
    """A model known by its log density, on a real space or within bounds.

    Chains move on the whole real line: variables with bounds are transformed, the log density is corrected by the log
    volume of the map, and draws are on the variables' own scale.

    Args:
        log_density: maps the variables, a pytree like `start`, to an unnormalised log density in nats; written with
            `jax.numpy` and differentiable. With a prior it is the log likelihood. Or a Density, such as
            `auxmc.from_numpyro` returns, to begin elsewhere.
        start: variables to begin at; a Density has some already, and a prior draws them.
        prior: a mapping from names of variables to distributions of NumPyro or TensorFlow Probability, whose supports
            are the bounds; or a pair of functions (log_prior, draw_prior): the normalised log density of the
            variables in nats, and a map from a key of `jax.random` to a draw of them. `auxmc.evidence` looks for modes
            from draws of it.
        bounds: pairs (low, high) of variables by name, numbers or arrays; None for an open side. "ordered" in place of
            a pair is for vectors whose numbers increase, as those of a start and of draws of a prior must. A single
            array is called "x".
        exchangeable: names of arrays whose first axes carry labels that can be exchanged, all together, without a
            change of the density, such as the means and weights of a mixture's components. The first one is a vector
            without bounds: draws have it in increasing order, and the evidence counts all n! orders.
        periodic: names of variables that return after one period, between their bounds; from -pi to pi without bounds.
        checks: "off" to evaluate nothing but shapes; everything else examines the function around the start.

    Raises:
        TypeError: If the function cannot be traced, returns integers or complex numbers, is given arrays of another
            precision, or the prior or the bounds have a wrong type.
        ValueError: If it returns no scalar, is not finite at the start, or nowhere around it, gives other values for
            the same variables, does not depend on one of them, grows without end, is a step function, has no start, or
            the start is outside of the bounds.

    Warns:
        SamplingWarning: If it does not fall far out, is constant along a line, or is NaN at many points around the
            start.

    >>> import auxmc
    >>> auxmc.enable_x64()
    >>> model = auxmc.density(lambda v: 7.0 * jnp.log(v["rate"]), {"rate": 0.5}, bounds={"rate": (0, 1)})
    >>> model
    Density of rate (1 numbers)
    """
    arguments.require_x64()
    arguments.check_level(checks)
    if isinstance(log_density, Density):
        if prior is not None or bounds is not None or len(periodic):
            raise ValueError("prior, bounds and periodic must be left out: a model has its own")
        if start is None:
            return log_density
        own = log_density.layout.starts("start", start, 1)[0]
        if checks != "off":
            start_check(log_density.log_density)(own)
        return log_density._replace(start=own, spread=None)
    arguments.check_callable("log_density", log_density, "maps the variables to their log density, in nats")
    log_prior, draw_prior, transforms = _prior(prior)
    if start is None and draw_prior is None:
        raise ValueError("start is wanted: variables at which the log density is finite")
    tries: Iterator[Any] = (draw_prior(jax.random.key(i)) for i in range(100)) if draw_prior else iter(())
    labels = (exchangeable,) if isinstance(exchangeable, str) else tuple(exchangeable)
    begin, layout = start_variables(next(tries) if start is None else start)
    transforms |= bound_transforms(layout.named_shapes, bounds or {}, periodic)
    n_orders = 0.0
    if labels:
        n = _n_labels(layout, labels, transforms)
        transforms[labels[0]], n_orders = ordered(n), math.lgamma(n + 1.0)
    layout = layout._replace(transforms=transforms)
    if draw_prior is not None and start is not None:
        layout.starts("draws of the prior", jax.tree.map(np.asarray, _in_order(next(tries), labels)), 1)
    begin = _in_order(begin, labels)
    dtype = evaluated_number("log_density", log_density, begin).dtype
    if not jnp.issubdtype(dtype, jnp.floating):
        raise TypeError(f"log_density must return a real number that has a derivative, got {dtype}")

    def on_line(vector: Array) -> Array:
        variables = layout.tree(vector)
        value = log_density(variables) + layout.log_volume(vector) + n_orders
        return value if log_prior is None else value + log_prior(variables)

    if labels:
        _check_exchange(lambda v: log_density(v) + (log_prior(v) if log_prior else 0.0), begin, labels)
    model = Density(on_line, layout, layout.starts("start", begin, 1)[0])
    if log_prior is not None:
        model = model._replace(
            log_prior=lambda vector: log_prior(layout.tree(vector)) + layout.log_volume(vector) + n_orders,
            draw_prior=lambda key: layout.filled(
                jax.random.fold_in(key, 1), layout.vector(_in_order(draw_prior(key), labels))
            ),
        )
    if start is None:
        draws = (layout.starts("start", jax.tree.map(np.asarray, draw), 1)[0] for draw in tries)
        found = first_finite(model.log_density, chain([model.start], draws))
        model = model if found is None else model._replace(start=found)
    if checks == "off":
        return model
    start_check(model.log_density)(model.start)
    has_prior = log_prior is not None
    advice = examine_density("log_density", model.log_density, model.start, layout, has_prior=has_prior)
    return model._replace(warnings=issue(advice))


def _n_labels(layout: Layout, labels: Sequence[str], transforms: Mapping[str, Transform]) -> int:
    shapes = layout.named_shapes
    if not set(labels) <= set(shapes) or not isinstance(layout.tree(jnp.zeros(layout.dim)), Mapping):
        raise ValueError(f"exchangeable: expected some of {', '.join(shapes)}, got {', '.join(labels)}")
    first = shapes[labels[0]]
    is_bounded = labels[0] in transforms and transforms[labels[0]].name != WHOLE_LINE
    if len(first) != 1 or first[0] < 2 or is_bounded:
        raise ValueError(f"exchangeable: {labels[0]} must be a vector of two or more, without bounds")
    if any(shapes[name][:1] != first for name in labels):
        raise ValueError(f"exchangeable: first axes must be equal, got {[shapes[n] for n in labels]}")
    return first[0]


def _in_order(variables: Any, labels: Sequence[str]) -> Any:
    """Variables with the labels exchanged so that the first one of the exchangeable variables increases."""
    if not labels:
        return variables
    order = jnp.argsort(variables[labels[0]])
    return {name: value[order] if name in labels else value for name, value in variables.items()}


def _check_exchange(log_density: Callable[[Any], Array], begin: Any, labels: Sequence[str]) -> None:
    turned = {name: np.roll(value, 1, axis=0) if name in labels else value for name, value in begin.items()}
    before, after = float(log_density(begin)), float(log_density(turned))
    if not np.isclose(before, after, rtol=1e-9, atol=1e-9, equal_nan=True):
        raise ValueError(
            f"exchangeable: the log density changes from {before:.6g} to {after:.6g} nats when the labels of "
            f"{', '.join(labels)} are exchanged; name all variables that carry them"
        )


def _prior(prior: Any) -> tuple[Any, Any, dict[str, Transform]]:
    """Log density, draws and transforms of a prior; Nones where there is none."""
    if prior is None:
        return None, None, {}
    if isinstance(prior, Mapping):
        transforms = {name: of_distribution(name, own) for name, own in prior.items()}

        def log_prior(variables: Any) -> Array:
            return sum((jnp.sum(own.log_prob(variables[name])) for name, own in prior.items()), jnp.zeros(()))

        def draw_prior(key: Array) -> dict[str, Array]:
            keys = jax.random.split(key, len(prior))
            return {name: sampled(own, one) for one, (name, own) in zip(keys, prior.items(), strict=True)}

        return log_prior, draw_prior, transforms
    if isinstance(prior, Sequence) and len(prior) == 2 and all(map(callable, prior)):
        log_prior, draw_prior = prior
        follows_its_key("draw_prior", draw_prior)
        return log_prior, draw_prior, {}
    raise TypeError(
        "prior: expected a mapping from names to distributions of NumPyro or TensorFlow Probability, or a pair of "
        f"functions (log_prior, draw_prior), got {type(prior).__name__}"
    )


def nuts(
    model: Density,
    *,
    mass: str = "diagonal",
    step_size: float = 0.1,
    target_acceptance: float = 0.8,
    max_depth: int = 10,
) -> Method:
    """The no-U-turn sampler with an adapted mass matrix; what `auxmc.sample` runs on a density.

    Args:
        model: the model.
        mass: "diagonal" or "dense": the warm-up adapts variances or the whole covariance; "unit" keeps unit masses.
        step_size: at the start of the warm-up, which adapts it.
        target_acceptance: mean acceptance probability that the warm-up reaches for.
        max_depth: doublings of a trajectory at most.

    Raises:
        TypeError: If the model is not a density.
        ValueError: If a number is out of range, or there is no such mass.

    Source: Hoffman and Gelman 2014; by BlackJAX.
    """
    max_depth = arguments.check_integer("max_depth", max_depth, 1)

    def build(log_density: LogDensity, *scales: Array) -> Kernel:
        step, inverse_mass = (*scales, jnp.ones(model.layout.dim))[:2]
        return nuts_kernel(log_density, step, inverse_mass, max_depth)

    return _hamiltonian("nuts", model, build, mass, step_size, target_acceptance)


def hmc(
    model: Density,
    *,
    n_steps: int | tuple[int, int] = (5, 15),
    mass: str = "diagonal",
    step_size: float = 0.1,
    target_acceptance: float = 0.8,
) -> Method:
    """Hamiltonian Monte Carlo with a fixed or random number of leapfrog steps.

    Args:
        model: the model.
        n_steps: leapfrog steps of an update: a number, or the smallest and the largest of a uniform draw.
        mass: as for `nuts`.
        step_size: at the start of the warm-up, which adapts it.
        target_acceptance: mean acceptance probability that the warm-up reaches for.

    Raises:
        TypeError: If the model is not a density.
        ValueError: If a number is out of range, or there is no such mass.

    Source: PhD thesis, Algorithm 6.
    """
    n_steps = check_steps(n_steps)

    def build(log_density: LogDensity, *scales: Array) -> Kernel:
        return hmc_kernel(log_density, scales[0], n_steps, model.layout.dim, *scales[1:])

    return _hamiltonian("hmc", model, build, mass, step_size, target_acceptance)


def _hamiltonian(
    name: str, model: Density, kernel: Callable[..., Kernel], mass: str, step_size: float, target: float
) -> Method:
    """A method whose `kernel` maps (log density, step size, inverse mass unless it is the unit) to the kernel."""
    check_density(model)
    step_size = arguments.check_positive("step_size", step_size)
    check_choice("mass", mass, list(_MASSES))
    is_open = has_open_cost(model.log_density, model.start)

    def build(*scales: Array) -> Kernel:
        log_density = guarded(model.log_density, *scales) if is_open else model.log_density
        return kernel(log_density, *scales)

    return density_method(
        model,
        name=name,
        build=build,
        scale=first_step_size(model.log_density, model.start, step_size),
        adaptation=_MASSES[mass],
        target=arguments.check_fraction("target_acceptance", target),
        of_state=lambda state: {"lp": state.log_density},
        log_target=lambda state: state.log_density,
    )


def check_density(model: Any) -> None:
    """Rejects what is not a density (TypeError)."""
    arguments.check_instance("model", model, Density, "auxmc.density, auxmc.from_numpyro or auxmc.from_pymc")


def density_method(model: Density, **fields: Any) -> Method:
    """A method on a density, with what all of them have in common."""
    return Method(
        layout=model.layout,
        values=model.values,
        check=start_check(model.log_density),
        kind="density",
        draw_start=model.draw_start,
        log_density=model.log_density,
        warnings=model.warnings,
        is_plain=model.is_plain,
        **fields,
    )
