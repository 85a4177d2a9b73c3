"""Maps between the real line, on which chains move, and variables with bounds or a period."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import erfc, ndtri
from scipy.special import ndtri as scipy_ndtri

WHOLE_LINE = "the whole line"
"""Name of a transform that changes nothing."""


class Transform(NamedTuple):
    """Smooth map from real numbers to a variable.

    Attributes:
        shape: of the real numbers u.
        forward: maps u to the variable.
        inverse: maps the variable, of NumPy or JAX, to u; not finite outside of the bounds.
        log_volume: maps u to the log of the factor by which the map changes volumes, in nats.
        fill: maps a key and u to u in which what the variable does not determine is drawn.
        name: of the bounds, for messages.
        ends: lower and upper number next to the bounds, of the variable's shape, infinite where there is no bound;
            empty if they are not known.
    """

    shape: tuple[int, ...]
    forward: Callable[[Array], Array]
    inverse: Callable[[Any], Any]
    log_volume: Callable[[Array], Array]
    fill: Callable[[Array, Array], Array] = lambda key, u: u
    name: str = ""
    ends: tuple[np.ndarray, ...] = ()


def bounded(shape: tuple[int, ...], low: Any, high: Any) -> Transform:
    """Normal quantiles between two bounds, infinite for none; the exponential above or below one.

    With two bounds a uniform variable becomes exactly standard normal.
    """
    low, high = (np.broadcast_to(np.asarray(end, float), shape) for end in (low, high))
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    both = has_low & has_high
    a, b = np.where(has_low, low, 0.0), np.where(has_high, high, 0.0)
    width = np.where(both, b - a, 1.0)
    # Never the bounds themselves, to which values far out would be rounded: a density may be infinite there.
    tiny = np.finfo(float).tiny
    least = np.where(has_low, np.maximum(np.nextafter(a, np.inf), a + tiny), -np.inf)
    most = np.where(has_high, np.minimum(np.nextafter(b, -np.inf), b - tiny), np.inf)

    def forward(u: Array) -> Array:
        one_sided = jnp.exp(jnp.where(both, 0.0, u))
        # From the nearer end: a variable close to its upper bound keeps its digits there.
        is_lower = u < 0.0
        distance = 0.5 * width * erfc(jnp.where(is_lower, -u, u) * math.sqrt(0.5))
        inside = jnp.where(is_lower, a + distance, b - distance)
        open_ended = jnp.where(has_low, a + one_sided, jnp.where(has_high, b - one_sided, u))
        return jnp.clip(jnp.where(both, inside, open_ended), least, most)

    def inverse(v: Array) -> Array:
        xp = _numpy_of(v)
        quantile = scipy_ndtri if xp is np else ndtri
        with np.errstate(invalid="ignore", divide="ignore"):
            fraction = xp.where(both, (v - a) / width, 0.5)
            rest = xp.where(both, (b - v) / width, 0.5)
            inside = xp.where(fraction < 0.5, quantile(fraction), -quantile(rest))
            one_sided = xp.log(xp.where(has_low, v - a, b - v))
            return xp.where(both, inside, xp.where(has_low | has_high, one_sided, v))

    def log_volume(u: Array) -> Array:
        inside = jnp.log(width) - 0.5 * u**2 - 0.5 * math.log(2.0 * math.pi)
        return jnp.sum(jnp.where(both, inside, jnp.where(has_low | has_high, u, 0.0)))

    ends = {f"({x:g}, {y:g})" for x, y in zip(low.ravel(), high.ravel(), strict=True)}
    name = ends.pop() if len(ends) == 1 else "its bounds"
    return Transform(shape, forward, inverse, log_volume, name=name, ends=(least, most))


def _numpy_of(array: Any) -> Any:
    """NumPy for its arrays: operations of JAX outside of a program are compiled one by one."""
    return np if isinstance(array, (np.ndarray, np.generic)) else jnp


def periodic(shape: tuple[int, ...], low: float, high: float) -> Transform:
    """The direction of a point of the plane: chains go round without an edge.

    The distance of the point from the origin has the density r exp(-r^2 / 2), whatever the direction.
    """
    per_turn = (high - low) / (2.0 * math.pi)

    def forward(u: Array) -> Array:
        return low + per_turn * (jnp.arctan2(u[..., 1], u[..., 0]) + math.pi)

    def inverse(v: Array) -> Array:
        angle, xp = (v - low) / per_turn - math.pi, _numpy_of(v)
        return xp.stack([xp.cos(angle), xp.sin(angle)], axis=-1)

    def log_volume(u: Array) -> Array:
        return -0.5 * jnp.sum(u**2) + math.prod(shape) * math.log(per_turn)

    def fill(key: Array, u: Array) -> Array:
        return u * jnp.sqrt(2.0 * jax.random.exponential(key, shape, u.dtype))[..., None]

    return Transform((*shape, 2), forward, inverse, log_volume, fill, name=f"[{low:g}, {high:g})")


def ordered(n: int) -> Transform:
    """Increasing numbers: the first one, and the logs of the differences that follow."""

    def forward(u: Array) -> Array:
        return u[0] + jnp.concatenate([jnp.zeros(1), jnp.cumsum(jnp.exp(u[1:]))])

    def inverse(v: Array) -> Array:
        xp = _numpy_of(v)
        return xp.concatenate([v[:1], xp.log(xp.diff(v))])

    return Transform((n,), forward, inverse, lambda u: jnp.sum(u[1:]), name="increasing numbers")


def of_distribution(name: str, distribution: Any) -> Transform:
    """Map to the support of a distribution of NumPyro or TensorFlow Probability; rejects others and discrete ones."""
    discrete = ValueError(f"prior: {name} has a discrete distribution: chains move real numbers")
    if hasattr(distribution, "support") and hasattr(distribution, "log_prob"):
        from numpyro.distributions.transforms import biject_to

        support = distribution.support
        if support is None or support.is_discrete:
            raise discrete
        shape = tuple(distribution.shape())
        ends = [getattr(support, end, None) for end in ("lower_bound", "upper_bound")]
        if all(end is not None and np.all(np.isfinite(np.asarray(end))) for end in ends):
            return bounded(shape, *ends)
        transform = biject_to(support)
        return Transform(
            tuple(transform.inverse_shape(shape)),
            transform,
            transform.inv,
            lambda u: jnp.sum(transform.log_abs_det_jacobian(u, transform(u))),
            name=_support_name(getattr(transform, "base_transform", transform)),
        )
    if hasattr(distribution, "experimental_default_event_space_bijector"):
        bijector = distribution.experimental_default_event_space_bijector()
        shape = (*map(int, distribution.batch_shape), *map(int, distribution.event_shape))
        n = len(distribution.event_shape)
        if bijector is None:
            raise discrete
        inner = tuple(np.shape(jax.eval_shape(bijector.inverse, jax.ShapeDtypeStruct(shape, jnp.float64))))
        return Transform(
            inner,
            bijector.forward,
            bijector.inverse,
            lambda u: jnp.sum(bijector.forward_log_det_jacobian(u, event_ndims=len(inner) - len(shape) + n)),
            name=_support_name(bijector),
        )
    got = f"got {type(distribution).__name__}; or give a pair of functions (log_prior, draw_prior)"
    raise TypeError(f"prior: {name}: expected a distribution of NumPyro or TensorFlow Probability, {got}")


def _support_name(own: Any) -> str:
    """Name of the values of a transform of NumPyro or a bijector of TensorFlow Probability."""
    return WHOLE_LINE if type(own).__name__ in ("IdentityTransform", "Identity") else "its support"


def sampled(distribution: Any, key: Array) -> Array:
    """A draw of a distribution of NumPyro or TensorFlow Probability; ValueError where it has none."""
    try:
        return distribution.sample(key) if hasattr(distribution, "support") else distribution.sample(seed=key)
    except NotImplementedError as error:
        name = type(distribution).__name__
        advice = "give a proper prior, or add its log density to log_density and give start="
        raise ValueError(f"prior: {name} has no draws, as improper ones: {advice}") from error


def bound_transforms(shapes: dict[str, tuple[int, ...]], bounds: Any, turning: Any) -> dict[str, Transform]:
    """Maps to variables with bounds, in increasing order or with a period, by name; errors of `density`."""
    if not isinstance(bounds, Mapping):
        raise TypeError(f'bounds: expected a mapping such as {{"x": (0, 1)}}, got {type(bounds).__name__}')
    turning = (turning,) if isinstance(turning, str) else tuple(turning)
    for what, given in (("bounds", bounds), ("periodic", turning)):
        unknown = [name for name in given if name not in shapes]
        if unknown:
            raise ValueError(f"{what}: {unknown[0]!r} is no variable; expected some of {', '.join(shapes)}")
    found = {}
    for name, shape in shapes.items():
        turns = name in turning
        if name not in bounds and not turns:
            continue
        pair = bounds.get(name, (-math.pi, math.pi))
        if isinstance(pair, str) and pair == "ordered":
            if len(shape) != 1 or turns:
                raise ValueError(f'bounds: {name}: expected a vector without period for "ordered"')
            found[name] = ordered(shape[0])
            continue
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f'bounds: {name}: expected a pair (low, high) or "ordered", got {pair!r}')
        low = np.asarray(-np.inf if pair[0] is None else pair[0], float)
        high = np.asarray(np.inf if pair[1] is None else pair[1], float)
        if not np.all(low < high):
            raise ValueError(f"bounds: {name}: the lower bound must be below the upper one, got {pair!r}")
        if turns and (low.ndim or high.ndim or not np.isfinite(high - low)):
            raise ValueError(f"periodic: {name}: bounds must be two finite numbers, one period apart")
        found[name] = periodic(shape, float(low), float(high)) if turns else bounded(shape, low, high)
    return found
