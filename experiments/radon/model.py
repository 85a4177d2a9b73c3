"""Regression with an intercept for each group: hierarchical prior, sufficient statistics, two parametrisations."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.numerics.array_types import FloatArray
from experiments.radon.exact import Evidence, exact_evidence
from experiments.radon.grouped import RADON_FILE, GroupedData, read_grouped
from experiments.radon.settings import Settings, columns

# First coordinates of the unconstrained vector; those of the coefficients, then those of the groups, follow.
SCALE_NAMES = ("log sigma_a", "mu_a", "log sigma_b", "mu_b", "log epsilon")
_N_SCALES = len(SCALE_NAMES)
LOG_SCALES = np.array([0, 2, 4])
"""Coordinates of the log scales."""


class GroupedRegression(NamedTuple):
    """Hierarchical regression y_i ~ N(a_c(i) + sum_k b_k x_ik, epsilon^2).

    a_j ~ N(mu_a, sigma_a^2), b_k ~ N(mu_b, sigma_b^2), mu_a, mu_b ~ N(0, 1), and sigma_a, sigma_b and epsilon have
    half-Cauchy priors, which suit units in which data vary by about one. The residual sum of squares splits exactly
    into that of the group means and that within groups: a likelihood costs one pass over the groups and loses no digits
    to cancellation. Source: PhD thesis, section 5.6.3; Gelman and Hill 2007, chapter 12.
    """

    n_rows: FloatArray  # number of rows, float64 scalar
    counts: FloatArray  # rows in each group [group]
    mean_outcome: FloatArray  # of each group [group]
    mean_regressors: FloatArray  # of each group [group, regressor]
    scatter: FloatArray  # within-group products of (outcome, regressors) [1 + regressor, 1 + regressor]
    prior_scale: float  # scale of the half-Cauchy priors, in units of the outcome
    is_centred: bool  # whether b and a are coordinates; else n_b in b = mu_b + sigma_b n_b, a alike
    regressor_names: tuple[str, ...]  # of the columns [regressor]

    @property
    def dim(self) -> int:
        """Length of the unconstrained vector."""
        return _N_SCALES + len(self.regressor_names) + len(self.counts)

    @property
    def effect_names(self) -> tuple[str, ...]:
        """Names of the entries of `effects` [effect]."""
        return (*SCALE_NAMES, *(f"b[{name}]" for name in self.regressor_names))

    @property
    def start(self) -> Array:
        """Medians of the scales, means of all else [dim]: where variational fits start."""
        log_scale = jnp.log(jnp.asarray(self.prior_scale, float))
        return jnp.zeros(self.dim).at[LOG_SCALES].set(log_scale)

    def effects(self, position: Array) -> Array:
        """Quantities that mean the same in both parametrisations: the scales and the coefficients [effect]."""
        return jnp.concatenate([position[:_N_SCALES], self._coefficients_and_intercepts(position)[0]])

    def log_density(self, position: Array) -> Array:
        """Log joint density in nats at SCALE_NAMES, coefficients [regressor], groups [group], in one vector [dim]."""
        log_sigma_a, mean_a, log_sigma_b, mean_b, log_noise = position[:_N_SCALES]
        b, a = self._coefficients_and_intercepts(position)
        if self.is_centred:
            spread_b = _normal_energy((b - mean_b) * jnp.exp(-log_sigma_b)) + b.size * log_sigma_b
            spread_a = _normal_energy((a - mean_a) * jnp.exp(-log_sigma_a)) + a.size * log_sigma_a
            local = spread_b + spread_a
        else:
            local = _normal_energy(position[_N_SCALES:])
        logs = (log_sigma_a, log_sigma_b, log_noise)
        scales = sum(_half_cauchy_energy(log, self.prior_scale) for log in logs)
        residual = self.mean_outcome - a - self.mean_regressors @ b
        direction = jnp.concatenate([jnp.ones(1), -b])
        squares = direction @ self.scatter @ direction + jnp.sum(self.counts * residual**2)
        log_norm = log_noise + 0.5 * jnp.log(2 * jnp.pi)
        misfit = 0.5 * squares * jnp.exp(-2.0 * log_noise) + self.n_rows * log_norm
        return -(misfit + local + scales + _normal_energy(jnp.stack([mean_a, mean_b])))

    def _coefficients_and_intercepts(self, position: Array) -> tuple[Array, Array]:
        end = _N_SCALES + len(self.regressor_names)
        b, a = position[_N_SCALES:end], position[end:]
        if not self.is_centred:
            b = position[3] + jnp.exp(position[2]) * b
            a = position[1] + jnp.exp(position[0]) * a
        return b, a


class Problem(NamedTuple):
    """What a run asks of a model."""

    data: GroupedData  # rows and their groups
    log_density: Callable[[Array], Array]  # log joint density of data and position [dim], in nats
    effects: Callable[[Array], Array]  # quantities of interest [effect] at a position [dim]
    effect_names: tuple[str, ...]  # names [effect]
    start: Array  # where variational fits start [dim]
    known: Evidence | None  # evidence and posterior moments of the effects, where they are known

    @property
    def dim(self) -> int:
        """Length of the unconstrained vector."""
        return self.start.size


def intercepts(settings: Settings) -> Problem:
    """The regression with an intercept for each group, with its evidence by quadrature."""
    data = read_grouped(settings.data or RADON_FILE, columns(settings))
    model = grouped_regression(data, settings.prior_scale, is_centred=settings.parametrisation == "centred")
    known = exact_evidence(model)
    return Problem(data, model.log_density, model.effects, model.effect_names, model.start, known)


def grouped_regression(
    data: GroupedData, prior_scale: float = 2.5, *, is_centred: bool = False
) -> GroupedRegression:
    """Makes the model of a data set."""
    rows = np.column_stack([data.outcome, data.regressors])
    counts = np.bincount(data.group).astype(float)
    sums = np.zeros((counts.size, rows.shape[1]))
    np.add.at(sums, data.group, rows)
    means = sums / counts[:, None]
    within = rows - means[data.group]
    return GroupedRegression(
        n_rows=np.asarray(float(len(rows))),
        counts=counts,
        mean_outcome=means[:, 0],
        mean_regressors=means[:, 1:],
        scatter=within.T @ within,
        prior_scale=prior_scale,
        is_centred=is_centred,
        regressor_names=data.regressor_names,
    )


def _normal_energy(values: Array) -> Array:
    return 0.5 * jnp.sum(values**2) + 0.5 * values.size * jnp.log(2 * jnp.pi)


def _half_cauchy_energy(log_value: Array, scale: float) -> Array:
    """Negative log density of the log of a half-Cauchy variable: log(1 + (s/scale)^2) without overflow."""
    ratio = log_value - jnp.log(scale)
    return jax.nn.softplus(2.0 * ratio) - ratio - jnp.log(2.0 / jnp.pi)
