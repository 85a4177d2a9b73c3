"""The base of an evidence: a Gaussian near the target and a guess of the target's normaliser, found and checked."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.cluster.vq import kmeans2
from scipy.special import logsumexp

from auxmc.approximations.advi import MeanField, decaying_adam, fit_mean_field
from auxmc.approximations.laplace_density import laplace_density
from auxmc.diagnostics.log_evidence import weighted_moments
from auxmc.interface.advice import Advice
from auxmc.interface.densities import Density
from auxmc.interface.precision import float64_tree
from auxmc.interface.tempered.pilot import Annealed, Pilot, standardised
from auxmc.models.bridge import Bridge, GaussianBase, gaussian_base

__all__ = ["BASES", "Base", "Gaussian", "find_base", "gaussian"]

BASES = ("automatic", "advi", "laplace")
"""Bases that are found; `gaussian` makes one that is given."""

_STEPS_OF_FIT = 4000
_WIDENED = 1.25
_CLUSTERS = 8
_FACTORS = (1.0, 3.0, 9.0, 27.0)
# Runs, in effect, below which their moments and their guess of the normaliser are not used, and above which the base
# need not be better.
_FEWEST_RUNS = 8.0
_ENOUGH_RUNS = 24.0
_TRUSTED_RUNS = 12.0
_ROUNDS = 4


class Gaussian(NamedTuple):
    """A base that a user gives; `gaussian` makes it.

    Attributes:
        mean: variables.
        scale: standard deviations of the same structure, or a covariance matrix of all variables in a row [dim, dim].
    """

    mean: Any
    scale: Any


class Base(NamedTuple):
    """A base that was found.

    Attributes:
        bridge: joins it to the target, with the guess of the log normaliser, in coordinates in which the base is
            standard normal: one step size then fits all directions.
        runs: annealed runs from it to the target.
        scouts: where annealed runs from it and wider ones ended, in the target's variables [point, dim].
        advice: what is to be said about it.
    """

    bridge: Bridge
    runs: Annealed
    scouts: np.ndarray
    advice: tuple[Advice, ...]

    def position(self, standard: Array) -> Array:
        """The target's variables [dim] from the coordinates of the bridge."""
        return self.runs.base.draw(standard)


def gaussian(mean: Any, scale: Any) -> Gaussian:
    """A Gaussian base.

    Args:
        mean: variables, a pytree like the start.
        scale: standard deviations of the same structure, or the covariance matrix [dim, dim] of all variables in a row.
    """
    return Gaussian(float64_tree("mean", mean), float64_tree("scale", scale))


def find_base(model: Density, base: str | Gaussian, key: Array, n_steps: int) -> Base:
    """A base near the target, and what annealed runs from it and from wider ones find.

    "advi" fits a Gaussian with independent coordinates, "laplace" takes mode and curvature. "automatic" takes the one
    of both with the larger evidence lower bound, lets runs from it and from wider ones find the target's modes, and has
    the moments of where these end.

    Args:
        model: the target.
        base: one of BASES, or a Gaussian.
        key: of the fit and the runs.
        n_steps: leapfrog steps of an update of the runs.

    Raises:
        ValueError: there is no such base, its shapes are wrong, or the fit leaves the finite numbers.
    """
    if isinstance(base, Gaussian):
        first = _given(model, base)
    elif base in BASES:
        first = _fitted(model, base, jax.random.fold_in(key, 0))
    else:
        raise ValueError(
            f"base must be one of {', '.join(BASES)}, or auxmc.gaussian(mean, scale), got {base!r}"
        )
    pilot = Pilot(model, n_steps, jax.random.fold_in(key, 1))
    # A base that sits in one mode does not see the others; runs from wider ones end in them.
    runs = [pilot.anneal(first, factor) for factor in _FACTORS]
    found = runs[0]
    if base == "automatic":
        points = _scouts(runs)
        nearer = _of_moments(points, _even(points))
        for _ in range(_ROUNDS):
            if nearer is not None:
                runs.append(pilot.anneal(nearer))
            if runs[-1].n_effective >= _ENOUGH_RUNS and len(runs) > len(_FACTORS) + 1:
                break
            nearer = _nearer(runs)
        found = _best(runs)
    if not math.isfinite(found.log_normaliser):
        raise ValueError(
            "no annealed run reached the target: its log density is not finite near the base. Give another start, or "
            "base=auxmc.gaussian(mean, scale)"
        )
    most = max(run.log_normaliser - 3.0 * max(run.error, 0.1) for run in runs)
    missed = most > found.log_normaliser + 3.0 * found.error
    return Base(
        standardised(model, found.base, found.log_normaliser),
        found,
        _scouts(runs),
        tuple(_advice(found, missed=bool(missed))),
    )


def _best(runs: Sequence[Annealed]) -> Annealed:
    """Of the runs that find no less than others, those of which most count; of these the last, of the most modes."""
    most = max(_at_least(run) for run in runs)
    enough = [run for run in runs if run.log_normaliser + 3.0 * max(run.error, 0.1) >= most]
    trusted = [run for run in enough if run.n_effective >= _ENOUGH_RUNS]
    return trusted[-1] if trusted else max(enough, key=lambda run: run.n_effective)


def _at_least(run: Annealed) -> float:
    """Log normaliser that the target has at least, nearly surely, going by one base's runs.

    Two standard errors below their mean weight; where few runs count such an error says nothing, but a mean weight
    that is right on average exceeds the truth twentyfold in one of twenty cases at most.
    """
    share = 1.0 - 2.0 * max(run.error, 0.1)
    return run.log_normaliser + math.log(max(share, 1.0 / 20.0))


def _scouts(runs: Sequence[Annealed]) -> np.ndarray:
    """Ends of runs [point, dim] that lie where the target's mass can be: not far below the largest density found."""
    ends = np.concatenate([run.ends for run in runs])
    logs = np.concatenate([run.log_densities for run in runs])
    usable = np.isfinite(logs) & np.all(np.isfinite(ends), axis=1)
    if not usable.any():
        return ends[:0]
    # The log density of a Gaussian has the standard deviation sqrt(dim / 2).
    return np.asarray(ends[usable & (logs >= logs[usable].max() - 10.0 - 8.0 * math.sqrt(ends.shape[1] / 2))])


def _nearer(runs: Sequence[Annealed]) -> GaussianBase | None:
    """Gaussian with the moments of two equal parts: the last runs' ends with their weights, and all modes found.

    The second part keeps modes whose weight the few runs of one base miss.
    """
    points, last = _scouts(runs), runs[-1]
    even = _even(points)
    weights = np.exp(last.log_weights - logsumexp(last.log_weights))
    if not np.sum(weights**2) * _FEWEST_RUNS <= 1.0:
        return _of_moments(points, even)
    parts = (even - logsumexp(even), last.log_weights - logsumexp(last.log_weights))
    return _of_moments(np.concatenate([points, last.ends]), np.concatenate(parts))


def _even(points: np.ndarray) -> np.ndarray:
    """Log weights of points [point] by which the clusters that they form count alike, whatever their sizes."""
    if len(points) <= _CLUSTERS:
        return np.zeros(len(points))
    sds = points.std(axis=0)
    _, labels = kmeans2(points / np.where(sds > 0.0, sds, 1.0), _CLUSTERS, minit="++", seed=0)
    return -np.log(np.bincount(labels, minlength=_CLUSTERS)[labels])


def _of_moments(points: np.ndarray, log_weights: np.ndarray) -> GaussianBase | None:
    """Gaussian with the weighted moments of points [point, dim], a little wider; None where too few count."""
    usable = np.isfinite(log_weights) & np.all(np.isfinite(points), axis=1)
    if not usable.any():
        return None
    weights = np.exp(log_weights[usable] - logsumexp(log_weights[usable]))
    n_effective = float(1.0 / np.sum(weights**2))
    if n_effective < _FEWEST_RUNS:
        return None
    found = weighted_moments(log_weights[usable], points[usable])
    # Few points know widths better than directions: correlations shrink as points are few beside them.
    share = n_effective / (n_effective + points.shape[1])
    sds = np.sqrt(np.diag(found.covariance)) * _WIDENED
    if not np.all(sds > 0.0):
        return None
    shrunk = share * found.covariance * _WIDENED**2 + (1.0 - share) * np.diag(sds**2)
    return gaussian_base(jnp.asarray(found.mean), jnp.asarray(np.linalg.cholesky(shrunk)))


def _given(model: Density, base: Gaussian) -> GaussianBase:
    mean = jnp.asarray(model.layout.starts("mean", base.mean, 1)[0])
    scale = base.scale
    dim = model.layout.dim
    if isinstance(scale, np.ndarray) and scale.shape == (dim, dim):
        if not np.allclose(scale, scale.T, rtol=1e-8, atol=0.0):
            raise ValueError("scale is no covariance matrix: it is not symmetric")
        try:
            return gaussian_base(mean, jnp.asarray(np.linalg.cholesky(scale)))
        except np.linalg.LinAlgError:
            raise ValueError("scale is no covariance matrix: it has no Cholesky factor") from None
    widths = model.layout.starts("scale", scale, 1)[0]
    if not np.all(widths > 0.0):
        raise ValueError("scale must hold positive standard deviations")
    return gaussian_base(mean, jnp.asarray(widths))


def _fitted(model: Density, name: str, key: Array) -> GaussianBase:
    candidates = []
    if name in ("automatic", "advi"):
        start = MeanField(jnp.asarray(model.start), jnp.full(model.layout.dim, -1.0))
        # Optax's schedules multiply whole numbers and fractions.
        with jax.numpy_dtype_promotion("standard"):
            fit = jax.jit(
                lambda key: fit_mean_field(
                    model.log_density, start, decaying_adam(0.05, _STEPS_OF_FIT), key, _STEPS_OF_FIT, 4
                )
            )(jax.random.fold_in(key, 0))
        approximation = fit.approximation
        candidates.append(gaussian_base(approximation.mean, jnp.exp(approximation.log_sd)))
    if name in ("automatic", "laplace"):
        starts = [jnp.asarray(model.start), *(candidate.mean for candidate in candidates)]
        candidates += _laplace(model, starts)
    bounds = _lower_bounds(model, candidates, jax.random.fold_in(key, 1))
    usable = [(bound, i) for i, bound in enumerate(bounds) if np.isfinite(bound)]
    if not usable:
        raise ValueError(
            "no base was found: the fit left the finite numbers. Give another start, base=auxmc.gaussian(mean, "
            "scale), or a log density that is finite everywhere"
        )
    return candidates[max(usable)[1]]


def _laplace(model: Density, starts: Sequence[Array]) -> list[GaussianBase]:
    """Mode and curvature from each start, where the search ends at a maximum."""
    found = []
    for start in starts:
        try:
            fit = laplace_density(model.log_density, start)
            root = np.linalg.cholesky(fit.covariance)
        except (ValueError, np.linalg.LinAlgError):
            # No maximum, or a ridge whose curvature is lost in rounding.
            continue
        found.append(gaussian_base(jnp.asarray(fit.mode), jnp.asarray(root)))
    return found


def _lower_bounds(model: Density, bases: Sequence[GaussianBase], key: Array) -> list[float]:
    """Evidence lower bound of each base, by Monte Carlo."""
    noise = jax.random.normal(key, (256, model.layout.dim))

    def bound(base: GaussianBase) -> Array:
        points = jax.vmap(base.draw)(noise)
        return jnp.mean(jax.vmap(model.log_density)(points) - jax.vmap(base.log_density)(points))

    evaluate = jax.jit(bound)
    return [float(evaluate(base)) for base in bases]


def _advice(found: Annealed, *, missed: bool) -> Iterator[Advice]:
    if missed:
        yield Advice(
            "annealed runs from a base several times as wide found more of the target than those from this one",
            'The base lies in one part of the target: give a wider one, or base="automatic"',
        )
    if found.n_effective < _TRUSTED_RUNS:
        yield Advice(
            f"the base is far from the target: of {found.log_weights.size} annealed runs, "
            f"{found.n_effective:.1f} count",
            "Give a better start, base=auxmc.gaussian(mean, scale) with the target's moments, or more n_steps",
        )
