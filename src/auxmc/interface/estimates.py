"""Models whose density is known by an unbiased estimate alone: pseudo-marginal methods and auxiliary ones."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface import arguments
from auxmc.interface.advice import Advice, issue
from auxmc.interface.checks.densities import advise_tails, advise_undefined, examine_density
from auxmc.interface.layout import Layout, layout_of, named, start_variables
from auxmc.interface.methods import Method, evaluated_number, follows_its_key
from auxmc.kernels.base import Kernel, check_choice
from auxmc.kernels.pseudo_marginal.updates import pseudo_marginal_method
from auxmc.models.estimator import Estimator, estimator_of
from auxmc.numerics.random import standard_normal
from auxmc.numerics.values import by_value

# Acceptance rate of a random walk before its covariance is known.
_ACCEPTANCE = 0.25
# Times the square root of the dimension: step, in standard deviations, of the random walk that moves fastest (Sherlock,
# Thiery, Roberts and Rosenthal 2015, for noisy estimates; Roberts, Gelman and Gilks 1997, 2.38, for exact ones).
_FASTEST = 2.56
_UPDATES_OF_U = {"slice": "ss", "independence": "mi"}
_UPDATES_OF_X = {"metropolis": "mh", "slice": "ss"}


@by_value
class Estimated(NamedTuple):
    """A model with an unbiased estimate of its likelihood; `estimated` makes it.

    The estimator is on vectors, as the kernels want it; `is_normal` where its auxiliary variables are standard normal.
    """

    estimator: Estimator
    layout: Layout
    start: np.ndarray
    is_normal: bool
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Its parameters."""
        return f"Estimated likelihood of {', '.join(self.layout.names)} ({self.layout.dim} numbers)"


def estimated(
    log_prior: Callable[[Any], Array],
    log_estimate: Callable[[Any, Any], Array],
    auxiliary: int | tuple[int, ...] | Mapping[str, Any] | Callable[[Array], Any],
    start: Any,
    *,
    checks: str = "basic",
) -> Estimated:
    """A model whose likelihood is estimated without bias from auxiliary random numbers.

    Args:
        log_prior: maps the parameters, a pytree like `start`, to their log prior density, in nats; minus infinity
            off the support.
        log_estimate: maps (parameters, auxiliary variables) to the log of the estimate, whose mean over the auxiliary
            variables is the likelihood. A deterministic function, written with `jax.numpy`.
        auxiliary: shape of standard normal auxiliary variables, or shapes by name; or a function that maps a JAX key to
            variables of any distribution.
        start: parameters to begin at.
        checks: "off" to evaluate nothing but shapes; otherwise both functions are examined around the start.

    Raises:
        TypeError: a function cannot be traced, or is given arrays of another precision.
        ValueError: a shape is wrong, the start has no numbers, the log density at it is not finite, a function is not
            deterministic, `auxiliary` does not follow its key, or the two together do not depend on a parameter, or
            grow without end.

    Warns:
        SamplingWarning: the two together do not fall far out, or are NaN at many points or draws, or the estimate does
            not depend on the auxiliary variables.

    >>> import auxmc
    >>> auxmc.enable_x64()
    >>> model = auxmc.estimated(
    ...     log_prior=lambda p: -0.5 * p["mean"] ** 2,
    ...     log_estimate=lambda p, u: jax.nn.logsumexp(-0.5 * (1.0 - p["mean"] - u) ** 2) - jnp.log(u.size),
    ...     auxiliary=8,
    ...     start={"mean": 0.0},
    ... )
    >>> model.layout.names
    ('mean',)
    """
    arguments.require_x64()
    arguments.check_level(checks)
    arguments.check_callable("log_prior", log_prior, "maps the parameters to their log prior density")
    what = "maps parameters and auxiliary variables to a log estimate"
    arguments.check_callable("log_estimate", log_estimate, what)
    begin, layout = start_variables(start)
    inner = None if callable(auxiliary) else layout_of(_shapes(auxiliary))
    draw: Any = auxiliary if inner is None else lambda key: standard_normal(key, (inner.dim,))
    named_u: Callable[[Any], Any] = (lambda u: u) if inner is None else inner.tree

    def as_given(vector: Array, u: Any) -> Array:
        parameters = layout.tree(vector)
        return log_prior(parameters) + log_estimate(parameters, named_u(u))

    def log_density(vector: Array, u: Any) -> Array:
        value = as_given(vector, u)
        return jnp.where(jnp.isnan(value), -jnp.inf, value)

    vector = layout.starts("start", begin, 1)[0]
    drawn = draw(jax.random.key(0))
    if not isinstance(drawn, jax.Array):
        raise TypeError(f"auxiliary must return one array for a key, got {type(drawn).__name__}")
    if inner is None:
        follows_its_key("auxiliary", draw)
    evaluated_number("log_prior", log_prior, begin)
    evaluated_number("log_estimate", log_estimate, begin, named_u(drawn))
    model = Estimated(estimator_of(log_density, draw), layout, vector, inner is not None)
    if checks == "off":
        return model
    values = _check_start(lambda u: as_given(jnp.asarray(vector), u), draw)
    # What is looked at with one draw must be so with one whose estimate is positive.
    drawn = draw(jax.random.key(int(np.flatnonzero(np.isfinite(values))[0])))
    advise_tails("log_prior", lambda point: log_prior(layout.tree(point)), vector, layout, proper=False)
    both = "log_prior plus log_estimate"
    advice = advise_undefined(both, np.isnan(values), "draws of the auxiliary variables")
    if advice:
        advice += advise_tails(both, lambda point: log_density(point, drawn), vector, layout)
    else:
        advice = examine_density(both, lambda p: as_given(p, drawn), vector, layout, derivatives=False)
    if np.all(values == values[0]):
        problem = f"log_estimate has the same value for {len(values)} draws of the auxiliary variables"
        advice.append(Advice(problem, "Compute it from them; with a key of its own it is a single draw"))
    return model._replace(warnings=issue(advice))


def auxiliary_pseudo_marginal(
    model: Estimated, *, u: str = "slice", x: str = "metropolis", scale: float = 0.5
) -> Method:
    """Auxiliary pseudo-marginal sampling: auxiliary variables and parameters are updated in turn.

    Args:
        model: the model.
        u: update of the auxiliary variables: "slice" (elliptical, for standard normal ones) or "independence".
        x: update of the parameters: "metropolis" (a random walk, whose covariance the warm-up adapts) or "slice".
        scale: of the random walk at the start of the warm-up, or width of the slice's bracket, in their units.

    Raises:
        ValueError: an update is unknown, or the auxiliary variables are not standard normal, as a slice update wants.

    Source: PhD thesis, Algorithm 9 and section 3.5.
    """
    check_choice("u", u, list(_UPDATES_OF_U))
    check_choice("x", x, list(_UPDATES_OF_X))
    arguments.check_instance("model", model, Estimated, "auxmc.estimated")
    if u == "slice" and not model.is_normal:
        advice = 'give their shape as `auxiliary`, or take u="independence"'
        raise ValueError(f'u="slice" is exact for standard normal auxiliary variables alone: {advice}')
    return _method(f"apm_{_UPDATES_OF_U[u]}_{_UPDATES_OF_X[x]}", model, scale)


def pseudo_marginal(model: Estimated, *, scale: float = 0.5) -> Method:
    """Pseudo-marginal Metropolis-Hastings: parameters and fresh auxiliary variables are proposed together.

    Args:
        model: the model.
        scale: of the random walk at the start of the warm-up, in units of the parameters.

    Source: PhD thesis, Algorithm 8.
    """
    return _method("pm_mh", model, scale)


def _method(name: str, model: Estimated, scale: float) -> Method:
    arguments.check_instance("model", model, Estimated, "auxmc.estimated")
    scale = arguments.check_positive("scale", scale)
    is_walk = not name.endswith("_ss")

    def build(step: Array, covariance: Array | None = None) -> Kernel:
        width = step if covariance is None else step * jnp.linalg.cholesky(covariance)
        return pseudo_marginal_method(name, model.estimator, width, model.layout.dim)

    def check(start: np.ndarray) -> None:
        prepare, log_estimate, draw, *_ = model.estimator
        _check_start(lambda u: log_estimate(prepare(jnp.asarray(start)), u), draw)

    return Method(
        name=name,
        build=build,
        layout=model.layout,
        values=lambda vector: named(model.layout.tree(vector)),
        scale=scale,
        check=check,
        kind="estimate",
        adaptation="dense windows" if is_walk else "",
        target=_ACCEPTANCE,
        final_scale=_FASTEST / math.sqrt(model.layout.dim) if is_walk else None,
        draw_start=lambda key: model.start,
        warnings=model.warnings,
    )


def _check_start(log_density: Callable[[Any], Array], draw: Callable[[Array], Any]) -> np.ndarray:
    """Values at a start for some draws of the auxiliary variables [draw], the keys of which are 0, 1 and so on."""
    evaluate = jax.jit(log_density)
    points = [draw(jax.random.key(i)) for i in range(20)]
    values = [float(evaluate(point)) for point in points]
    # Traced once more: numbers that a function draws in Python stand in its program.
    again = float(jax.jit(lambda u: log_density(u))(points[0]))
    alike = np.isclose(values[0], again, rtol=1e-6, atol=1e-6, equal_nan=True)
    if not (alike and np.array_equal(values[0], float(evaluate(points[0])), equal_nan=True)):
        raise ValueError("log_estimate gives other values for the same arguments: draw no numbers in it")
    if math.inf in values:
        raise ValueError("the log density at the start is plus infinity: log densities are wanted, in nats")
    if not any(math.isfinite(value) for value in values):
        raise ValueError(
            "the log density at the start is not finite for 20 draws of the auxiliary variables: give a start where "
            "prior and estimate are positive, and an estimate computed in logs"
        )
    return np.asarray(values)


def _shapes(auxiliary: Any) -> Any:
    def one(name: str, shape: Any) -> jax.ShapeDtypeStruct:
        further = "or give shapes by name, or a function that maps a key to the variables"
        return jax.ShapeDtypeStruct(arguments.check_shape(name, shape, further), jnp.float64)

    if not isinstance(auxiliary, Mapping):
        return one("auxiliary", auxiliary)
    if not auxiliary:
        raise ValueError("auxiliary is empty: give the shapes of the numbers that the estimate is made of")
    return {name: one(f"auxiliary[{name!r}]", shape) for name, shape in auxiliary.items()}
