"""The base of an evidence: a Gaussian near the target and a guess of the target's normaliser, found and checked."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.special import logsumexp

from auxmc.approximations.advi import MeanField, decaying_adam, fit_mean_field
from auxmc.diagnostics.log_evidence import annealed_evidence, weighted_moments
from auxmc.interface.advice import Advice
from auxmc.interface.densities import Density
from auxmc.interface.precision import float64_tree
from auxmc.kernels.tempering.annealed_importance import annealed_importance_sampling
from auxmc.models.bridge import Bridge, GaussianBase, bridge, gaussian_base

__all__ = ["BASES", "Base", "Gaussian", "find_base", "gaussian"]

BASES = ("automatic", "advi", "laplace")
"""Bases that are found; `gaussian` makes one that is given."""

_STEPS_OF_FIT = 4000
_RUNS_OF_PILOT = 64
_TEMPERATURES_OF_PILOT = 150
_WIDENED = 1.25
_WIDER = (3.0, 9.0, 27.0)
_STEPS_OF_PILOT = (0.7, 0.1)
_RUNS_TOGETHER = 16
# Nats by which a wider base must find more to be taken for it.
_MORE = 0.3
# Runs of the pilot, in effect, below which its moments and its guess of the normaliser are not used.
_FEWEST_RUNS = 8.0


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
        gaussian: the base itself.
        log_pilot: log of the normaliser by the pilot, in nats.
        pilot_error: its standard error.
        n_effective: effective number of the pilot's runs.
        advice: what is to be said about it.
    """

    bridge: Bridge
    gaussian: GaussianBase
    log_pilot: float
    pilot_error: float
    n_effective: float
    advice: tuple[Advice, ...]

    def position(self, standard: Array) -> Array:
        """The target's variables [dim] from the coordinates of the bridge."""
        return self.gaussian.draw(standard)


def gaussian(mean: Any, scale: Any) -> Gaussian:
    """A Gaussian base.

    Args:
        mean: variables, a pytree like the start.
        scale: standard deviations of the same structure, or the covariance matrix [dim, dim] of all variables in a row.
    """
    return Gaussian(float64_tree("mean", mean), float64_tree("scale", scale))


def find_base(model: Density, base: str | Gaussian, key: Array, n_steps: int) -> Base:
    """A base near the target, and a pilot by annealed importance sampling that says how near.

    "advi" fits a Gaussian with independent coordinates, "laplace" takes mode and curvature, "automatic" the one
    of both with the larger evidence lower bound, wider by the factor with which annealed runs find most, and then their
    weighted moments where they rest on enough runs.

    Args:
        model: the target.
        base: one of BASES, or a Gaussian.
        key: of the fit and the pilot.
        n_steps: leapfrog steps of a transition of the pilot.

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
    pilot = _Pilot(model, n_steps, jax.random.fold_in(key, 1))
    found = pilot.best(first, (1.0,))
    # A base that sits in one mode does not see the others; wider ones do, and none finds more than there is.
    wider = pilot.best(first, _WIDER)
    missed = wider.log_pilot - found.log_pilot > max(3.0 * np.hypot(wider.error, found.error), _MORE)
    if missed and base == "automatic":
        found = wider
    if base == "automatic" and found.moments is not None:
        again = pilot.best(found.moments, (1.0,))
        better = again.n_effective > found.n_effective and again.log_pilot > found.log_pilot - _MORE
        found = again if better else found
    joined = _standardised(model, found.gaussian.mean, found.gaussian.scale, found.log_pilot)
    advice = tuple(_advice(found, missed=bool(missed) and base != "automatic"))
    return Base(joined, found.gaussian, found.log_pilot, found.error, found.n_effective, advice)


def _standardised(model: Density, mean: Array, scale: Array, log_zeta: Array | float) -> Bridge:
    """The target in coordinates in which the base is standard normal."""
    log_volume = jnp.sum(jnp.log(jnp.diagonal(scale)))
    guess = jnp.where(jnp.isfinite(log_zeta), log_zeta, 0.0)
    standard = gaussian_base(jnp.zeros(model.layout.dim), jnp.ones(model.layout.dim))
    return bridge(lambda y: model.log_density(mean + scale @ y) + log_volume, standard, guess)


class _Piloted(NamedTuple):
    gaussian: GaussianBase
    log_pilot: float
    error: float
    n_effective: float
    moments: GaussianBase | None


class _Pilot:
    """Annealed runs from any base to the target, by one compiled program."""

    def __init__(self, model: Density, n_steps: int, key: Array) -> None:
        self._dim, self._key, self._n_calls = model.layout.dim, key, 0
        schedule = np.linspace(0.0, 1.0, _TEMPERATURES_OF_PILOT + 1) ** 2

        def run(mean: Array, scale: Array, step: Array, key: Array) -> tuple[Array, Array]:
            noise = jax.random.normal(jax.random.fold_in(key, 0), (_RUNS_OF_PILOT, self._dim))
            plain = _standardised(model, mean, scale, 0.0)
            terms = jax.vmap(lambda y: jnp.subtract(*plain.log_densities(y)))(noise)
            # Of terms that are not finite, the median of the others is guess enough.
            guess = jnp.nanmedian(jnp.where(jnp.isfinite(terms), terms, jnp.nan))
            kernel = annealed_importance_sampling(
                _standardised(model, mean, scale, guess), schedule, step, n_steps
            )
            begin = kernel.init(key)
            keys = jax.random.split(jax.random.fold_in(key, 1), _RUNS_OF_PILOT)
            ends = jax.lax.map(lambda k: kernel.step(k, begin)[0], keys, batch_size=_RUNS_TOGETHER)
            return ends.log_weight, jax.vmap(lambda y: mean + scale @ y)(ends.position)

        self._run: Callable[..., tuple[Array, Array]] = jax.jit(run)

    def best(self, base: GaussianBase, factors: Sequence[float]) -> _Piloted:
        """What runs from the base, wider by some factors, find at most; each with several sizes of steps."""
        found = []
        for factor in factors:
            scale = factor * (jnp.diag(base.scale) if base.scale.ndim == 1 else base.scale)
            for share in _STEPS_OF_PILOT:
                # The target is about as narrow as the base was before it was widened.
                step = jnp.asarray(share * self._dim**-0.25 / math.sqrt(factor))
                self._n_calls += 1
                ends = self._run(base.mean, scale, step, jax.random.fold_in(self._key, self._n_calls))
                found.append(self._weighed(gaussian_base(base.mean, scale), *map(np.asarray, ends)))
        return max(
            found, key=lambda one: -math.inf if math.isnan(one.log_pilot) else one.log_pilot - one.error
        )

    def _weighed(self, base: GaussianBase, logs: np.ndarray, positions: np.ndarray) -> _Piloted:
        logs = np.where(np.isnan(logs), -np.inf, logs)
        if not np.any(np.isfinite(logs)):
            return _Piloted(base, math.nan, math.nan, 0.0, None)
        estimate = annealed_evidence(logs)
        weights = np.exp(logs - logsumexp(logs))
        n_effective = float(1.0 / np.sum(weights**2))
        moments = None
        if n_effective >= _FEWEST_RUNS:
            found = weighted_moments(logs, positions)
            # Few runs know widths better than directions: correlations shrink as runs are few beside them.
            share = n_effective / (n_effective + self._dim)
            sds = np.sqrt(np.diag(found.covariance)) * _WIDENED
            shrunk = share * found.covariance * _WIDENED**2 + (1.0 - share) * np.diag(sds**2)
            if np.all(sds > 0.0):
                moments = gaussian_base(jnp.asarray(found.mean), jnp.asarray(np.linalg.cholesky(shrunk)))
        return _Piloted(base, estimate.value, estimate.standard_error, n_effective, moments)


def _given(model: Density, base: Gaussian) -> GaussianBase:
    mean = jnp.asarray(model.layout.starts("mean", base.mean, 1)[0])
    scale = base.scale
    dim = model.layout.dim
    if isinstance(scale, np.ndarray) and scale.shape == (dim, dim):
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
        fit = jax.jit(
            lambda key: fit_mean_field(
                model.log_density, start, decaying_adam(0.05, _STEPS_OF_FIT), key, _STEPS_OF_FIT, 4
            )
        )(jax.random.fold_in(key, 0))
        approximation = fit.approximation
        candidates.append(gaussian_base(approximation.mean, jnp.exp(approximation.log_sd)))
    if name in ("automatic", "laplace"):
        candidates += list(_laplace(model, jnp.asarray(model.start)))
        candidates += list(_laplace(model, candidates[0].mean)) if candidates else []
    bounds = [_lower_bound(model, candidate, jax.random.fold_in(key, 1)) for candidate in candidates]
    usable = [(bound, i) for i, bound in enumerate(bounds) if np.isfinite(bound)]
    if not usable:
        raise ValueError(
            "no base was found: the fit left the finite numbers. Give another start, base=auxmc.gaussian(mean, "
            "scale), or a log density that is finite everywhere"
        )
    return candidates[max(usable)[1]]


def _laplace(model: Density, start: Array) -> Iterator[GaussianBase]:
    from jax.scipy.optimize import minimize

    mode = jax.jit(lambda x: minimize(lambda y: -model.log_density(y), x, method="BFGS").x)(start)
    precision = -np.asarray(jax.hessian(model.log_density)(mode))
    if not np.all(np.isfinite(precision)):
        return
    values, vectors = np.linalg.eigh(0.5 * (precision + precision.T))
    if values[0] <= 1e-10 * max(values[-1], 1.0):
        return
    covariance = (vectors / values) @ vectors.T
    yield gaussian_base(mode, jnp.asarray(np.linalg.cholesky(0.5 * (covariance + covariance.T))))


def _lower_bound(model: Density, base: GaussianBase, key: Array) -> float:
    noise = jax.random.normal(key, (256, model.layout.dim))
    terms = jax.jit(jax.vmap(lambda n: model.log_density(base.draw(n)) - base.log_density(base.draw(n))))(
        noise
    )
    return float(jnp.mean(terms))


def _advice(found: _Piloted, *, missed: bool) -> Iterator[Advice]:
    if missed:
        yield Advice(
            "annealed runs from a base several times as wide found more of the target than those from this one",
            'The base lies in one part of the target: give a wider one, or base="automatic"',
        )
    if found.n_effective < _FEWEST_RUNS:
        yield Advice(
            f"the base is far from the target: of {_RUNS_OF_PILOT} annealed runs, {found.n_effective:.1f} count",
            "Give a better start, base=auxmc.gaussian(mean, scale) with the target's moments, or more n_steps",
        )
