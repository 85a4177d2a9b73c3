"""Priors of a simulator's inputs: variables of the whole line with unit variance, mapped to the prior.

A kernel that moves on a manifold of inputs needs densities without bounds or corners. Each prior here is a standard
variable u and a smooth map of it; the chain moves u, the generator is given the mapped value. u is normal, logistic or
inverse cosh (PhD thesis, Table D.1), the standardised log of a gamma variable, or the standardised logit of a beta one.

The first argument of each is the shape of the input: () for a number, n for a vector. Parameters go by name; each is a
number, or an array that broadcasts to the input's shape.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import log_ndtr, ndtri
from scipy.special import betaln, digamma, gammaln, polygamma

from auxmc.interface.arguments import check_callable, check_shape, float64_tree
from auxmc.models.input_maps import INPUT_MAPS, INPUTS
from auxmc.numerics.random import standard_normal

Shape = int | Sequence[int]
Parameter = float | np.ndarray | Sequence[Any]


class Prior(NamedTuple):
    """Distribution of an input."""

    shape: tuple[int, ...]  # of the input
    log_density: Callable[[Array], Array]  # maps the standard variable u [*shape] to its log density, in nats
    value: Callable[[Array], Array]  # maps u to the value that the generator is given
    draw: Callable[[Array], Array]  # maps a key to u
    name: str  # for messages


def normal(shape: Shape = (), *, mean: Parameter = 0.0, sd: Parameter = 1.0) -> Prior:
    """Normal distribution with a mean and a standard deviation; `shape` is that of the input, a number for a vector."""
    return _mapped("normal", shape, _place("mean", mean, shape), _width("sd", sd, shape))


def log_normal(shape: Shape = (), *, log_mean: Parameter = 0.0, log_sd: Parameter = 1.0) -> Prior:
    """Distribution whose logarithm is normal with the given mean and standard deviation."""
    return _mapped("log-normal", shape, _place("log_mean", log_mean, shape), _width("log_sd", log_sd, shape))


def exponential(shape: Shape = (), *, rate: Parameter = 1.0) -> Prior:
    """Exponential distribution with a rate."""
    return _mapped("exponential", shape, _width("rate", rate, shape))


def uniform(shape: Any = (), end: Any = None, *, low: Parameter = 0.0, high: Parameter = 1.0) -> Prior:
    """Uniform distribution between two ends: `uniform(-1, 1)`, or `uniform(shape, low=-1, high=1)`."""
    if end is not None:
        low, high, shape = shape, end, np.broadcast_shapes(np.shape(shape), np.shape(end))
    ends = _place("low", low, shape), _place("high", high, shape)
    if not np.all(np.less(*ends)):
        raise ValueError(f"low must be below high, got {low} and {high}")
    return _mapped("uniform", shape, *ends)


def half_cauchy(shape: Shape = (), *, scale: Parameter = 1.0) -> Prior:
    """Positive half of the Cauchy distribution with a scale."""
    return _mapped("half-Cauchy", shape, _width("scale", scale, shape))


def gamma(shape: Shape = (), *, alpha: Parameter = 1.0, rate: Parameter = 1.0) -> Prior:
    """Gamma distribution with mean alpha / rate."""
    rate = _width("rate", rate, shape)
    return _log_gamma("gamma", shape, alpha, lambda log_value: jnp.exp(log_value) / rate)


def inverse_gamma(shape: Shape = (), *, alpha: Parameter = 1.0, scale: Parameter = 1.0) -> Prior:
    """Distribution of scale / x, x being gamma with alpha and rate 1; its mean is scale / (alpha - 1)."""
    scale = _width("scale", scale, shape)
    return _log_gamma("inverse gamma", shape, alpha, lambda log_value: jnp.exp(-log_value) * scale)


def dirichlet(shape: Shape, *, alpha: Parameter = 1.0) -> Prior:
    """Dirichlet distribution of the last axis of the input: positive numbers that sum to one."""
    _last_axis(shape)
    # Gamma variables over their sum: one standard variable more than the input has degrees of freedom.
    return _log_gamma("Dirichlet", shape, alpha, jax.nn.softmax)


def ordered(shape: Shape, *, mean: float = 0.0, sd: float = 1.0) -> Prior:
    """Normal variables in increasing order along the last axis of the input, with one mean and standard deviation."""
    own, middle, width = normal(shape), _place("mean", mean, ()), _width("sd", sd, ())
    powers = np.broadcast_to(np.arange(1.0, _last_axis(shape) + 1.0), own.shape)

    def value(u: Array) -> Array:
        # Of k uniform variables the largest is a further one to the power 1 / k, and the others are uniform below it.
        logs = jax.lax.cumsum(log_ndtr(u) / powers, u.ndim - 1, reverse=True)
        # The distribution function, from the nearer end.
        low, high = ndtri(jnp.exp(jnp.minimum(logs, -0.5))), -ndtri(-jnp.expm1(jnp.maximum(logs, -1.0)))
        return jnp.asarray(middle + width * jnp.where(logs < -0.7, low, high))

    return own._replace(value=value, name="ordered")


def beta(shape: Shape = (), *, alpha: Parameter = 1.0, beta: Parameter = 1.0) -> Prior:
    """Beta distribution with mean alpha / (alpha + beta)."""
    a, b = _width("alpha", alpha, shape), _width("beta", beta, shape)
    return _logit_beta("beta", shape, a, b, jax.nn.sigmoid)


def student_t(
    shape: Shape = (), *, df: Parameter = 5.0, mean: Parameter = 0.0, scale: Parameter = 1.0
) -> Prior:
    """Student-t distribution with degrees of freedom, a location and a scale."""
    nu, middle = _width("df", df, shape), _place("mean", mean, shape)
    width = _width("scale", scale, shape) * np.sqrt(nu)
    # The logit of a beta variable with alpha = beta = df / 2 is twice the inverse hyperbolic sine of t / sqrt(df).
    value = lambda logit: jnp.asarray(middle + width * jnp.sinh(0.5 * logit))  # noqa: E731
    return _logit_beta("Student-t", shape, 0.5 * nu, 0.5 * nu, value)


def custom(shape: Shape, log_density: Callable[[Array], Array], draw: Callable[[Array], Array]) -> Prior:
    """Any smooth distribution on the whole line; the generator is given the variable itself.

    Args:
        shape: of the input.
        log_density: maps the input [*shape] to its log density, in nats; a constant may be missing.
        draw: maps a key to the input, a draw of the distribution.
    """
    check_callable("log_density", log_density, "maps the input to its log density")
    check_callable("draw", draw, "maps a key to a draw of the input")
    return Prior(_shape(shape), log_density, lambda u: u, draw, "custom")


def _log_gamma(name: str, shape: Shape, alpha: Parameter, value: Callable[[Array], Array]) -> Prior:
    """Prior whose value is a function of the log of gamma variables with rate 1."""
    size, a = _shape(shape), _width("alpha", alpha, shape)
    middle, sd = digamma(a), np.sqrt(polygamma(1, a))

    def log_density(u: Array) -> Array:
        log_value = middle + sd * u
        return jnp.sum(a * log_value - jnp.exp(log_value) - gammaln(a) + np.log(sd))

    def draw(key: Array) -> Array:
        return (jax.random.loggamma(key, a, size, jnp.float64) - middle) / sd

    return Prior(size, log_density, lambda u: value(middle + sd * u), draw, name)


def _logit_beta(name: str, shape: Shape, a: Any, b: Any, value: Callable[[Array], Array]) -> Prior:
    """Prior whose value is a function of the logits of beta variables."""
    size, middle = _shape(shape), digamma(a) - digamma(b)
    sd = np.sqrt(polygamma(1, a) + polygamma(1, b))

    def log_density(u: Array) -> Array:
        logit = middle + sd * u
        logs = a * jax.nn.log_sigmoid(logit) + b * jax.nn.log_sigmoid(-logit)
        return jnp.sum(logs - betaln(a, b) + np.log(sd))

    def draw(key: Array) -> Array:
        first, second = jax.random.split(key)
        log_a = jax.random.loggamma(first, a, size, jnp.float64)
        return (log_a - jax.random.loggamma(second, b, size, jnp.float64) - middle) / sd

    return Prior(size, log_density, lambda u: value(middle + sd * u), draw, name)


def _mapped(name: str, shape: Shape, *parameters: float | np.ndarray) -> Prior:
    distribution = INPUT_MAPS[name]
    source, size = INPUTS[distribution.source], _shape(shape)

    def draw(key: Array) -> Array:
        if distribution.source == "normal":
            return standard_normal(key, size)
        fraction = jax.random.uniform(key, size, jnp.float64, minval=1e-12, maxval=1.0 - 1e-12)
        return _QUANTILES[distribution.source](fraction)

    value = lambda u: distribution.forward(u, *parameters)  # noqa: E731
    return Prior(size, lambda u: jnp.sum(source.log_density(u)), value, draw, name)


_QUANTILES: dict[str, Callable[[Array], Array]] = {
    "logistic": lambda fraction: math.sqrt(3.0) / math.pi * (jnp.log(fraction) - jnp.log1p(-fraction)),
    "inverse cosh": lambda fraction: 2.0 / math.pi * jnp.log(jnp.tan(0.5 * math.pi * fraction)),
}


def _place(name: str, value: Any, shape: Shape) -> float | np.ndarray:
    """A finite number, or one for each element of the input."""
    array, size = float64_tree(name, value), _shape(shape)
    fits = isinstance(array, np.ndarray) and array.ndim <= len(size)
    if not fits or any(n not in (1, m) for n, m in zip(array.shape[::-1], size[::-1], strict=False)):
        raise ValueError(f"{name} must broadcast to the shape {size} of the input, got {value!r}")
    return np.broadcast_to(array, size) if array.ndim else float(array)


def _width(name: str, value: Any, shape: Shape) -> float | np.ndarray:
    """A positive number, or one for each element of the input."""
    found = _place(name, value, shape)
    if not np.all(np.greater(found, 0.0)):
        raise ValueError(f"{name} must be positive, got {value!r}")
    return found


def _last_axis(shape: Shape) -> int:
    if not _shape(shape):
        raise ValueError("shape: expected at least one axis, got ()")
    return _shape(shape)[-1]


def _shape(shape: Shape) -> tuple[int, ...]:
    return check_shape("shape, the first argument of a prior,", shape, "parameters go by name")
