"""Mixtures of multivariate Student-t components fitted to points: bases that cover every mode found."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.spatial import cKDTree
from scipy.special import gammaln, logsumexp

from auxmc.interface.methods import LogDensity
from auxmc.kernels.base import select
from auxmc.numerics.programs import at_points

# Components in few dimensions and in many: mixtures are padded, so that one program serves all. It takes components a
# block at a time, and leaves out blocks of padding.
_MOST, _MOST_IN_MANY_DIMENSIONS = 64, 16
_BLOCK, _BLOCK_IN_MANY_DIMENSIONS = 8, 1
_FEW_DIMENSIONS = 10
_DEGREES = (2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0, 200.0, 1e6)
_NORMAL = 1e6
_ITERATIONS = 60
# Relative gain of the log likelihood at which EM stops, in nats a point.
_SETTLED = 1e-4
# A component is never narrower than this fraction of the spread of its points.
_NARROWEST = 1e-6
# Nats below a point by which the density dips on the way to another region.
_DIP = 2.0
_POINTS_OF_LINE = 9
# Points of a region for each dimension, at least, on average over a mode.
_POINTS_OF_REGION = 2
# Closest pairs of points of two regions between which a dip is looked for.
_NEIGHBOURS = 64


class Mixture(NamedTuple):
    """Base of annealed runs, in coordinates y in which x = centre + root y."""

    centre: Any  # [dim]
    root: Any  # lower Cholesky factor [dim, dim] of the covariance within components
    log_weights: Any  # of the components [component]; minus infinity for padding
    means: Any  # in y [component, dim]
    roots: Any  # lower Cholesky factors of the components' scale matrices, in y [component, dim, dim]
    inverse_roots: Any  # their inverses [component, dim, dim]
    degrees: Any  # degrees of freedom [component]

    def position(self, y: Any) -> Any:
        """The target's variables x [..., dim]."""
        return self.centre + y @ self.root.T

    def standard(self, x: np.ndarray) -> np.ndarray:
        """Coordinates y [..., dim] of x."""
        return np.asarray(np.linalg.solve(self.root, (x - self.centre).T).T)

    def log_volume(self) -> Array:
        """Log of the volume of x in that of y."""
        return jnp.sum(jnp.log(jnp.diagonal(self.root)))

    @property
    def log_density(self) -> Callable[[Array], Array]:
        """Maps y [dim] to the log density, in nats; its constants are computed once for all points."""
        dim, nu, lgamma = self.means.shape[-1], self.degrees, jax.scipy.special.gammaln
        volumes = jnp.sum(jnp.log(jnp.diagonal(self.inverse_roots, axis1=1, axis2=2)), axis=-1)
        constant = lgamma(0.5 * (nu + dim)) - lgamma(0.5 * nu) - 0.5 * dim * jnp.log(nu * math.pi)
        # Log weights and log densities at the means [component].
        constants = self.log_weights + constant + volumes
        size = _BLOCK if dim <= _FEW_DIMENSIONS else _BLOCK_IN_MANY_DIMENSIONS
        blocks = jax.tree.map(
            lambda array: jnp.reshape(array, (-1, size, *array.shape[1:])),
            (constants, self.means, self.inverse_roots, nu),
        )
        n_blocks = -(-jnp.sum(self.log_weights > -jnp.inf) // size)
        return lambda y: _log_density_of(y, n_blocks, blocks)

    def draws(self, random: np.random.Generator, n: int) -> np.ndarray:
        """Independent draws of y [n, dim]."""
        weights = np.exp(np.asarray(self.log_weights))
        chosen = random.choice(len(weights), size=n, p=weights / weights.sum())
        normal = random.normal(size=(n, self.means.shape[1]))
        degrees = np.asarray(self.degrees)[chosen]
        normal *= np.sqrt(degrees / random.chisquare(degrees))[:, None]
        for k in np.unique(chosen):
            normal[chosen == k] = self.means[k] + normal[chosen == k] @ np.asarray(self.roots)[k].T
        return normal


@jax.custom_jvp
def _log_density_of(y: Array, n_blocks: Array, blocks: Any) -> Array:
    """Log density at y [dim] of the first blocks of components."""
    return _with_slope(y, n_blocks, blocks)[0]


@_log_density_of.defjvp
def _derivative(primals: Any, tangents: Any) -> tuple[Array, Array]:
    # By y alone. A loop of unknown length has no reverse mode: the gradient comes with the value.
    value, slope = _with_slope(*primals)
    return value, slope @ tangents[0]


def _with_slope(y: Array, n_blocks: Array, blocks: Any) -> tuple[Array, Array]:
    """Log density at y [dim], and its gradient."""
    dim = y.shape[-1]

    def add(i: Array, sums: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        top, total, slope = sums
        constants, means, inverse_roots, nu = jax.tree.map(lambda array: jnp.asarray(array)[i], blocks)
        # One matrix product for all components.
        rows = inverse_roots.reshape(-1, dim)
        scaled = (rows @ y).reshape(means.shape) - jnp.einsum("kij,kj->ki", inverse_roots, means)
        squares = jnp.sum(scaled**2, axis=-1)
        logs = constants - 0.5 * (nu + dim) * jnp.log1p(squares / nu)
        highest = jnp.maximum(top, jnp.max(logs))
        # Far away all are zero, minus infinity in the log.
        level = jnp.where(highest > -jnp.inf, highest, 0.0)
        before, parts = jnp.exp(top - level), jnp.exp(logs - level)
        factors = -parts * (nu + dim) / (nu + squares)
        own = (factors[:, None] * scaled).reshape(-1) @ rows
        return highest, before * total + jnp.sum(parts), before * slope + own

    top, total, slope = jax.lax.fori_loop(
        0, n_blocks, add, (jnp.asarray(-jnp.inf), jnp.zeros(()), jnp.zeros_like(y))
    )
    return jnp.log(total) + jnp.where(total > 0.0, top, 0.0), slope / jnp.where(total > 0.0, total, 1.0)


def gaussian_mixture(mean: np.ndarray, root: np.ndarray) -> Mixture:
    """One normal component with a mean [dim] and a lower Cholesky factor [dim, dim]."""
    dim = len(mean)
    size = _most(dim)
    log_weights = np.where(np.arange(size) == 0, 0.0, -np.inf)
    ones = np.tile(np.eye(dim), (size, 1, 1))
    return Mixture(mean, root, log_weights, np.zeros((size, dim)), ones, ones, np.full(size, _NORMAL))


def _most(dim: int) -> int:
    """Number of components, with padding."""
    return _MOST if dim <= _FEW_DIMENSIONS else _MOST_IN_MANY_DIMENSIONS


def fit_mixture(points: np.ndarray, log_weights: np.ndarray, labels: np.ndarray, like: Mixture) -> Mixture:
    """Fits a Student-t component to the points [point, dim] of each region, numbered by labels [point].

    Importance weights [point] set the components' weights alone. Covariances are shrunk to those of `like`.
    Source: Peel and McLachlan 2000, "Robust mixture modelling using the t distribution".
    """
    z = like.standard(points)
    n, dim = z.shape
    counts = np.bincount(labels)
    fits = [_fit_component(z[labels == k]) for k in range(len(counts))]
    pooled = _shrunk(sum(m * c for m, (_, c, _) in zip(counts, fits, strict=True)) / n, n)
    inflation = (1.0 + 0.25 / math.sqrt(dim)) ** 2
    prior = 2.0 * (dim + 1)
    inner = np.linalg.cholesky(pooled)
    size = _most(dim)
    weights, means = np.zeros(size), np.zeros((size, dim))
    degrees, roots = np.full(size, _NORMAL), np.tile(np.eye(dim), (size, 1, 1))
    measured = np.bincount(labels, np.exp(log_weights - logsumexp(log_weights)))
    # Not by measured weights alone: a mode whose weight few runs underrate is still visited.
    weights[: len(counts)] = 0.5 * measured + 0.25 * counts / n + 0.25 / len(counts)
    middle = weights[: len(counts)] @ np.stack([fit[0] for fit in fits])
    for k, (m, (mean, covariance, nu)) in enumerate(zip(counts, fits, strict=True)):
        own = (m * covariance + prior * pooled) / (m + prior) * inflation
        half = np.linalg.solve(inner, np.linalg.cholesky(own))
        roots[k] = np.linalg.cholesky(half @ half.T)
        means[k], degrees[k] = np.linalg.solve(inner, mean - middle), nu
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
    inverse = np.stack([np.linalg.inv(root) for root in roots])
    return Mixture(like.position(middle), np.asarray(like.root) @ inner, logs, means, roots, inverse, degrees)


def regions(points: np.ndarray, target: LogDensity, like: Mixture) -> tuple[np.ndarray, np.ndarray]:
    """Region and mode [point] of each point [point, dim]: no dip leads to the highest one of a region.

    Points climb in the coordinates of the mixture `like` first. A ring is one mode of several regions, the smallest of
    which are joined where they have too few points. The last region has all points left over.
    """
    tops, heights = at_points(_climber(target), points, like.centre, like.root)
    labels, n_regions = np.full(len(points), -1), 0
    while (labels < 0).any() and n_regions < _most(points.shape[1]) - 1:
        rest = np.flatnonzero(labels < 0)
        top = np.full(len(rest), rest[np.argmax(heights[rest])])
        joined = _has_no_dip(tops, heights, rest, top, target)
        labels[rest[joined]] = n_regions
        n_regions += 1
    labels[labels < 0] = n_regions
    modes = np.arange(labels.max() + 1)
    scaled = like.standard(tops)
    for k in range(len(modes)):
        own, others = np.flatnonzero(labels == k), np.flatnonzero(labels != k)
        if not len(others):
            break
        distances, nearest = cKDTree(scaled[others]).query(scaled[own])
        closest = np.argsort(distances)[:_NEIGHBOURS]
        joined = _has_no_dip(tops, heights, own[closest], others[nearest[closest]], target)
        for other in labels[others[nearest[closest]]][joined]:
            modes[modes == modes[other]] = modes[k]
    of_points = np.unique(modes, return_inverse=True)[1][labels]
    # More components than the points can tell apart cost time and fit no better.
    counts = np.bincount(labels)
    for mode in np.unique(modes):
        own = np.flatnonzero(modes == mode)
        most = max(1, counts[own].sum() // (_POINTS_OF_REGION * scaled.shape[1]))
        rest = own[np.argsort(-counts[own], kind="stable")][most - 1 :]
        labels[np.isin(labels, rest)] = rest.min(initial=len(modes))
    return np.unique(labels, return_inverse=True)[1], of_points


def _has_no_dip(
    tops: np.ndarray, heights: np.ndarray, first: np.ndarray, second: np.ndarray, target: LogDensity
) -> np.ndarray:
    """Whether the density does not dip between points of two lists of indices [pair]."""
    along = np.linspace(0.0, 1.0, _POINTS_OF_LINE + 2)[1:-1, None]
    lines = tops[first][:, None] + along * (tops[second] - tops[first])[:, None]
    lowest = log_densities(target, lines.reshape(-1, tops.shape[1])).reshape(len(first), -1).min(axis=1)
    return np.asarray((lowest >= np.minimum(heights[first], heights[second]) - _DIP) | (first == second))


@lru_cache(maxsize=32)
def _climber(target: LogDensity) -> Callable[..., tuple[Array, Array]]:
    """Steps uphill from a point [dim]: in many dimensions they lie in a shell around a mode, lower than a dip."""

    def climb(x: Array, centre: Array, root: Array) -> tuple[Array, Array]:
        def height(y: Array) -> Array:
            return target(centre + root @ y)

        def step(_: int, loop: tuple[Array, ...]) -> tuple[Array, ...]:
            y, value, slope, length = loop
            size = jnp.linalg.norm(slope)
            new = y + length * slope / jnp.where(size > 0.0, size, 1.0)
            new_value, new_slope = jax.value_and_grad(height)(new)
            better = (new_value > value) & jnp.all(jnp.isfinite(new_slope))
            kept = select(better, (new, new_value, new_slope), (y, value, slope))
            return *kept, length * jnp.where(better, 1.5, 0.3)

        y = jax.scipy.linalg.solve_triangular(root, x - centre, lower=True)
        # The first step evaluates where it starts: the density outside of the loop would be compiled once more.
        first = y, jnp.asarray(-jnp.inf), jnp.zeros_like(y), jnp.asarray(0.1)
        y, value, *_ = jax.lax.fori_loop(0, 100, step, first)
        return centre + root @ y, value

    return climb


def log_densities(target: LogDensity, points: np.ndarray) -> np.ndarray:
    """Log densities at points [point, dim], in nats [point]; minus infinity where they are not a number."""
    values = at_points(target, points)
    return np.where(np.isnan(values), -np.inf, values)


def _fit_component(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Location [dim], scale matrix [dim, dim] and degrees of freedom of points [point, dim], by EM."""
    n, dim = z.shape
    mean = z.mean(axis=0)
    floor = np.diag(np.maximum(z.var(axis=0), _NARROWEST**2))
    if n <= 2:
        return mean, np.eye(dim) * _NARROWEST**2 if n == 1 else floor, _NORMAL
    covariance = _shrunk(np.cov(z.T, bias=True).reshape(dim, dim), n) + _NARROWEST * floor
    nu, last = 10.0, -np.inf
    for _ in range(_ITERATIONS):
        root = np.linalg.cholesky(covariance)
        squares = np.sum(np.linalg.solve(root, (z - mean).T) ** 2, axis=0)
        nu, total = max(
            ((d, float(np.sum(_log_density(squares, d, dim)))) for d in _DEGREES), key=lambda pair: pair[1]
        )
        likelihood = total - n * float(np.sum(np.log(np.diag(root))))
        if likelihood - last < _SETTLED * n:
            break
        last = likelihood
        u = (nu + dim) / (nu + squares)
        mean = (u @ z) / u.sum()
        centred = z - mean
        covariance = _shrunk((centred * u[:, None]).T @ centred / n, n) + _NARROWEST * floor
    return mean, covariance, nu


def _shrunk(covariance: np.ndarray, n: int) -> np.ndarray:
    """Few points know widths better than directions: correlations shrink as the points become few."""
    dim = len(covariance)
    weight = n / (n + dim)
    return np.asarray(weight * covariance + (1.0 - weight) * np.diag(np.diag(covariance)))


def _log_density(squares: np.ndarray, nu: float, dim: int) -> np.ndarray:
    constant = gammaln(0.5 * (nu + dim)) - gammaln(0.5 * nu) - 0.5 * dim * math.log(nu * math.pi)
    return np.asarray(constant - 0.5 * (nu + dim) * np.log1p(squares / nu))
