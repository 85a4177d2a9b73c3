"""Evidence of a model of rows, nearly exact: importance sampling around the mode of its posterior."""

import contextlib
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import NDArray
from scipy import optimize, stats
from scipy.special import logsumexp

from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.linalg import sum_log_diagonal
from auxmc.numerics.row_blocks import BLOCK_ROWS, row_total

_DEGREES = 60
# Draws worked on side by side, and in one call: few enough not to waste many, whatever number is asked for.
_DRAWS_AT_ONCE = 16
_DRAWS_PER_CALL = 128
_MAX_ITERATIONS = 2000
_MAX_NEWTON = 20
# Log densities of one optimum found twice differ by less.
_SAME_OPTIMUM = 0.01


class ModelOfRows(Protocol):
    """What is needed of a model: the fields of these names of `models.row_model.RowModel`."""

    @property
    def dim(self) -> int:
        """Number of unconstrained parameters."""

    @property
    def n_columns(self) -> int:
        """Numbers in a row."""

    @property
    def log_likelihood(self) -> Callable[[Array, Array], Array]:
        """Maps parameters [dim] and rows [row, column] to [row], in nats."""

    @property
    def weighted_gradient(self) -> Callable[[Array, Array, Array], Array]:
        """Maps parameters [dim], rows and weights [row] to the derivative of the weighted sum [dim]."""

    @property
    def log_prior(self) -> Callable[[Array], Array]:
        """Maps parameters [dim] to their normalised log prior density."""

    @property
    def draw_prior(self) -> Callable[[Array], Array]:
        """Maps a key to parameters [dim]."""

    def __hash__(self) -> int:
        """Compiled programs are kept by it."""


class LaplaceEvidence(NamedTuple):
    """Evidence and what tells how far it can be trusted.

    Attributes:
        log_evidence: by importance sampling, in nats.
        standard_error: by the delta method, in nats. With a small relative size it is too small itself.
        relative_size: effective size of the importance weights, as a fraction of the draws. Above 0.3 the posterior is
            covered well.
        laplace: Laplace's approximation of the log evidence, in nats.
        mode: best optimum of the posterior density [dim].
        covariance: inverse of the negative Hessian there [dim, dim].
        optima: end of the search from each start, best first [start, dim].
        log_densities: of these: log likelihood plus log prior [start], in nats; minus infinity for a search that ended
            where they are not finite.
        n_better: distinct optima with a higher density than the one found from the first start.
        n_near: further distinct optima with a density of at least a thousandth of the best one's. What they
            contribute is missing from the evidence.
        n_not_finite: draws without a finite density, which weigh nothing.
        warnings: what is to be said about the estimate; empty where nothing is, or where it was not examined.
    """

    log_evidence: float
    standard_error: float
    relative_size: float
    laplace: float
    mode: FloatArray
    covariance: FloatArray
    optima: FloatArray
    log_densities: FloatArray
    n_better: int
    n_near: int
    n_not_finite: int
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """The estimate with its error."""
        return f"log evidence {self.log_evidence:.3f} +- {self.standard_error:.3f} nats"


def laplace_evidence(
    model: ModelOfRows,
    rows: NDArray[np.floating],
    starts: NDArray[np.floating],
    n_draws: int,
    key: Array,
    n_copies: int = 1,
    block_rows: int = BLOCK_ROWS,
) -> LaplaceEvidence:
    """Importance sampling from a multivariate t distribution, with 60 degrees of freedom, at the mode of the posterior.

    The mode is the best optimum of searches from all starts [start, dim]; other optima, but for its copies, are not
    integrated. Everything is float64. Rows [row, column] are gone through in blocks of `block_rows`, and the
    `n_draws` importance draws, at least 2, are made with `key`.

    `n_copies` is the number of equal modes: one is integrated and multiplied by it. It is the factorial of the number
    of components for a mixture that may be relabelled, and right only while the modes do not overlap.

    Raises:
        ValueError: an argument has the wrong shape or is out of range, no search ended at a finite density, or the
            density has no peak with curvature in all directions there.

    Source: standard importance sampling; the recipe is this project's reference for the streaming estimators.
    """
    data, points = np.asarray(rows, np.float64), np.asarray(starts, np.float64)
    if data.ndim != 2 or data.shape[1] != model.n_columns or not len(data):
        raise ValueError(f"rows must be [row, {model.n_columns}] with a row at least, got {list(data.shape)}")
    if not np.all(np.isfinite(data)):
        bad = int(np.flatnonzero(~np.all(np.isfinite(data), axis=1))[0])
        raise ValueError(f"rows must be finite, row {bad} is not: leave it out")
    if points.ndim != 2 or points.shape[1] != model.dim or not len(points):
        raise ValueError(f"starts must be [start, {model.dim}], got {list(points.shape)}")
    if n_draws < 2 or n_copies < 1:
        raise ValueError(f"n_draws must be at least 2 and n_copies at least 1, got {n_draws} and {n_copies}")
    posterior = _Posterior(model, data, block_rows)
    found = [posterior.optimum(start) for start in points]
    values = np.array([value for _, value in found])
    order = np.argsort(-values, kind="stable")
    optima, log_densities = np.array([point for point, _ in found])[order], values[order]
    if not np.isfinite(log_densities[0]):
        raise ValueError("no search ended at a finite density: give starts at which the likelihood is finite")
    mode, log_density, precision = posterior.polished(optima[0])
    factor = _cholesky(precision, mode)
    laplace = log_density + 0.5 * model.dim * math.log(2.0 * math.pi) - float(np.sum(np.log(np.diag(factor))))
    log_weights = posterior.log_weights(key, mode, factor, n_draws)
    log_weights = np.where(np.isfinite(log_weights), log_weights, -np.inf)
    log_mean = float(logsumexp(log_weights)) - math.log(n_draws)
    weights = np.exp(log_weights - log_mean)
    root = np.linalg.inv(factor)
    usable = log_densities[np.isfinite(log_densities)]
    distinct = usable[np.concatenate([[True], np.diff(usable) < -_SAME_OPTIMUM])]
    return LaplaceEvidence(
        log_mean + math.log(n_copies),
        float(np.std(weights, ddof=1) / math.sqrt(n_draws)),
        float(n_draws / np.sum(np.square(weights))),
        laplace + math.log(n_copies),
        mode,
        root.T @ root,
        optima,
        log_densities,
        int(np.sum(distinct > values[0] + _SAME_OPTIMUM)),
        int(np.sum(distinct > distinct[0] - math.log(1000.0))) - 1,
        int(np.sum(log_weights == -np.inf)),
    )


def prior_starts(
    model: ModelOfRows,
    rows: NDArray[np.floating],
    key: Array,
    n_starts: int = 25,
    n_candidates: int = 200,
    n_rows: int = 500,
) -> FloatArray:
    """Starts for a search [start, dim] that need nothing but the model: likely ones among many draws of the prior.

    A start is the one of `n_candidates` draws with the highest likelihood of `n_rows` rows at equal distances.
    ValueError if a number is not positive.
    """
    if min(n_starts, n_candidates, n_rows) < 1:
        got = f"{n_starts}, {n_candidates} and {n_rows}"
        raise ValueError(f"n_starts, n_candidates and n_rows must be positive, got {got}")
    some = jnp.asarray(np.asarray(rows, np.float64)[:: max(1, len(rows) // n_rows)][:n_rows])

    def best(key: Array) -> Array:
        draws = jax.vmap(model.draw_prior)(jax.random.split(key, n_candidates))
        scores = jax.vmap(lambda draw: jnp.sum(model.log_likelihood(draw, some)))(draws)
        return draws[jnp.argmax(jnp.where(jnp.isfinite(scores), scores, -jnp.inf))]

    return np.asarray(jax.jit(lambda keys: lax.map(best, keys))(jax.random.split(key, n_starts)), np.float64)


@functools.lru_cache(maxsize=8)
def _programs(model: ModelOfRows, block_rows: int) -> tuple[Callable[..., Any], ...]:
    """Log density with gradient, its Hessian, both of (point, rows), and log weights of (keys, mode, factor, rows).

    They are kept, so that a second call for the same model compiles nothing.
    """
    total = row_total(model.log_likelihood, model.weighted_gradient, block_rows)
    origin = np.zeros(model.dim)
    t_constant = float(stats.multivariate_t(origin, np.eye(model.dim), df=_DEGREES).logpdf(origin))
    exponent = 0.5 * (_DEGREES + model.dim)

    def log_density(point: Array, rows: Array) -> Array:
        return total(point, rows, None) + model.log_prior(point)

    def draw(key: Array, mode: Array, factor: Array, rows: Array) -> Array:
        normal_key, scale_key = jax.random.split(key)
        normal = jax.random.normal(normal_key, mode.shape, dtype=jnp.float64)
        scale = 2.0 * jax.random.gamma(scale_key, 0.5 * _DEGREES, dtype=jnp.float64) / _DEGREES
        direction = jax.scipy.linalg.solve_triangular(factor.T, normal, lower=False)
        square = jnp.sum(jnp.square(normal)) / scale
        log_proposal = t_constant + sum_log_diagonal(factor) - exponent * jnp.log1p(square / _DEGREES)
        return log_density(mode + direction / jnp.sqrt(scale), rows) - log_proposal

    def log_weights(keys: Array, mode: Array, factor: Array, rows: Array) -> Array:
        return lax.map(lambda key: draw(key, mode, factor, rows), keys, batch_size=_DRAWS_AT_ONCE)

    hessian = jax.jacfwd(jax.grad(log_density))
    return jax.jit(jax.value_and_grad(log_density)), jax.jit(hessian), jax.jit(log_weights)


class _Posterior:
    """Log density of the parameters given the rows, its optima and curvature, and importance draws."""

    def __init__(self, model: ModelOfRows, rows: FloatArray, block_rows: int) -> None:
        self._value_and_gradient, self._hessian, self._log_weights = _programs(model, block_rows)
        self._rows = jnp.asarray(rows)

    def value_and_gradient(self, point: FloatArray) -> tuple[float, FloatArray]:
        """Log density at a point [dim] and its gradient [dim]."""
        value, gradient = self._value_and_gradient(jnp.asarray(point), self._rows)
        return float(value), np.asarray(gradient)

    def optimum(self, start: FloatArray) -> tuple[FloatArray, float]:
        """End of a search by a quasi-Newton method, and log density there."""

        def descend(point: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self.value_and_gradient(point)
            if not (math.isfinite(value) and np.all(np.isfinite(gradient))):
                # The search turns back from here.
                return math.inf, np.zeros_like(point)
            return -value, -gradient

        options = {"maxiter": _MAX_ITERATIONS, "maxfun": 2 * _MAX_ITERATIONS, "maxcor": 30}
        result = optimize.minimize(descend, start, jac=True, method="L-BFGS-B", options=options)
        return np.asarray(result.x), float(-result.fun)

    def polished(self, point: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        """Newton steps as long as they go up; point, log density and negative Hessian there."""
        value, gradient = self.value_and_gradient(point)
        precision = self._precision(point)
        for _ in range(_MAX_NEWTON):
            # A Hessian that cannot be solved with is rejected later, by name.
            step = np.linalg.lstsq(precision, gradient, rcond=None)[0]
            new_value, new_gradient = self.value_and_gradient(point + step)
            if not new_value > value:
                break
            point, value, gradient = point + step, new_value, new_gradient
            precision = self._precision(point)
        return point, value, precision

    def log_weights(self, key: Array, mode: FloatArray, factor: FloatArray, n_draws: int) -> FloatArray:
        """Log of density over proposal density at draws of the t distribution [draw]."""
        n_calls = -(-n_draws // _DRAWS_PER_CALL)
        keys = jax.random.split(key, n_calls * _DRAWS_PER_CALL)
        given = (jnp.asarray(mode), jnp.asarray(factor), self._rows)
        parts = [np.asarray(self._log_weights(some, *given)) for some in jnp.split(keys, n_calls)]
        return np.concatenate(parts)[:n_draws]

    def _precision(self, point: FloatArray) -> FloatArray:
        hessian = np.asarray(self._hessian(jnp.asarray(point), self._rows))
        return np.asarray(-0.5 * (hessian + hessian.T))


def _cholesky(precision: FloatArray, mode: FloatArray) -> FloatArray:
    if np.all(np.isfinite(precision)):
        with contextlib.suppress(np.linalg.LinAlgError):
            return np.asarray(np.linalg.cholesky(precision))
    where = f"at the optimum {np.array2string(mode, precision=3, threshold=8)}"
    raise ValueError(f"the negative Hessian {where} is not positive definite: give other starts")
