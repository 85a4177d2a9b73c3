"""Gaussian mixture relaxation of a Boltzmann machine: a density on real vectors with as many modes as it has states."""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.approximations.expectation_propagation import Tilted, TiltedMoments
from auxmc.approximations.mean_field import MeanFieldFits
from auxmc.models.bridge import Bridge
from auxmc.numerics.array_types import FloatArray
from experiments.boltzmann.model.data import BoltzmannParameters
from experiments.boltzmann.model.enumeration import SpinMoments

# Eigenvalues below this add nothing to the relaxation but directions of pure noise.
LEAST_EIGENVALUE = 1e-4
_FACTORS_A_LOG = 512  # Factors of at most 2 whose product cannot overflow


class Relaxation(NamedTuple):
    """Density of x: given s it is N(Q^T s, I), and s is a Boltzmann machine (PhD thesis, Appendix E)."""

    loadings: FloatArray  # Q [unit, dim], with Q Q^T the shifted weights
    biases: FloatArray  # b [unit]
    log_constant: float  # log normaliser of the density minus that of the machine, in nats

    @property
    def dim(self) -> int:
        """Length of x."""
        return int(self.loadings.shape[1])


class RelaxedMoments(NamedTuple):
    """Log normaliser, in nats, mean [dim] and covariance [dim, dim] of a relaxation, exact or approximate."""

    log_normaliser: float
    mean: FloatArray
    covariance: FloatArray


def relax(
    parameters: BoltzmannParameters, shift: FloatArray, least_eigenvalue: float = LEAST_EIGENVALUE
) -> Relaxation:
    """Relaxation, Q from the eigenvectors of W + diag(shift [unit]) with eigenvalues of `least_eigenvalue` or more."""
    eigenvalues, vectors = np.linalg.eigh(parameters.weights + np.diag(shift))
    kept = eigenvalues > least_eigenvalue
    dim = int(kept.sum())
    if not dim:
        raise ValueError(f"no eigenvalue of the weights exceeds {least_eigenvalue:g}: they are zero")
    loadings = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    n = parameters.n_units
    constant = 0.5 * float(shift.sum()) + 0.5 * dim * math.log(2.0 * math.pi) - n * math.log(2.0)
    return Relaxation(loadings, parameters.biases, constant)


def relaxed_moments(relaxation: Relaxation, moments: SpinMoments) -> RelaxedMoments:
    """Exact log normaliser and moments by PhD thesis, Eqs. 5.52 and E.11, with E[s s^T] in its second one."""
    q = relaxation.loadings
    covariance = q.T @ (moments.second - np.outer(moments.mean, moments.mean)) @ q
    return RelaxedMoments(
        moments.log_normaliser + relaxation.log_constant,
        q.T @ moments.mean,
        covariance + np.eye(relaxation.dim),
    )


def relaxed_samples(relaxation: Relaxation, spins: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Exact draws [draw, dim] of a relaxation, given exact draws of the machine [draw, unit]."""
    noise = rng.normal(size=(len(spins), relaxation.dim))
    return np.asarray(spins @ relaxation.loadings + noise, dtype=np.float64)


def mixture_moments(relaxation: Relaxation, fits: MeanFieldFits) -> RelaxedMoments:
    """Base: mean and covariance of a mixture of mean-field fits, weighted by their objectives.

    A fit is a component N(Q^T m, I). The log normaliser, log zeta, is the log of the sum over fits of exp(objective):
    below the truth if the fits are distinct optima that do not overlap. Source: PhD thesis, Eq. 5.50.
    """
    top = float(fits.objectives.max())
    weights = np.exp(fits.objectives - top)
    total = float(weights.sum())
    centres = fits.means @ relaxation.loadings
    mean = (weights / total) @ centres
    centred = centres - mean
    covariance = (centred * (weights / total)[:, None]).T @ centred + np.eye(relaxation.dim)
    return RelaxedMoments(top + math.log(total) + relaxation.log_constant, mean, covariance)


def cosh_factor(bias: float) -> Tilted:
    """The factor cosh(t + bias) of a projection t: two exponentials, under each of which a Gaussian only shifts."""

    def tilted(mean: float, variance: float) -> TiltedMoments:
        field = mean + bias
        slope = math.tanh(field)
        log_normaliser = 0.5 * variance + abs(field) + math.log1p(math.exp(-2.0 * abs(field))) - math.log(2.0)
        return TiltedMoments(
            log_normaliser, mean + variance * slope, variance + variance**2 * (1.0 - slope**2)
        )

    return tilted


def in_diagonal_basis(relaxation: Relaxation, base: RelaxedMoments) -> tuple[Relaxation, RelaxedMoments]:
    """Rotates x so that the covariance of the base is diagonal.

    The gradient of the base then takes no product of matrices. Normalisers, Hamiltonian dynamics with
    identity mass and norms of errors stay the same.
    """
    variances, basis = np.linalg.eigh(base.covariance)
    rotated = relaxation._replace(loadings=relaxation.loadings @ basis)
    return rotated, RelaxedMoments(base.log_normaliser, base.mean @ basis, np.diag(variances))


def in_basis_of(moments: RelaxedMoments, base: RelaxedMoments) -> RelaxedMoments:
    """Moments rotated as `in_diagonal_basis` rotates x for a base."""
    basis = np.linalg.eigh(base.covariance)[1]
    return RelaxedMoments(moments.log_normaliser, moments.mean @ basis, basis.T @ moments.covariance @ basis)


def relaxation_log_density(relaxation: Relaxation) -> Callable[[Array], Array]:
    """Log density sum_i log cosh(q_i^T x + b_i) - x^T x / 2, not normalised, as a function of x [dim], in nats."""
    loadings, biases = jnp.asarray(relaxation.loadings), jnp.asarray(relaxation.biases)

    def log_density(x: Array) -> Array:
        return -(0.5 * jnp.sum(jnp.square(x)) - _sum_log_cosh(jnp.matmul(x, loadings.T) + biases))

    return log_density


def relaxation_bridge(relaxation: Relaxation, base: RelaxedMoments) -> Bridge:
    """Bridge from a Gaussian base to a relaxation, with gradients by hand; both as from `in_diagonal_basis`."""
    variances = np.diag(base.covariance)
    if np.any(np.abs(base.covariance - np.diag(variances)) > 1e-9 * variances.max()):
        raise ValueError("the covariance of the base must be diagonal: use in_diagonal_basis")
    log_target = relaxation_log_density(relaxation)
    loadings, biases = jnp.asarray(relaxation.loadings), jnp.asarray(relaxation.biases)
    mean, precisions, scale = jnp.asarray(base.mean), jnp.asarray(1.0 / variances), jnp.sqrt(variances)
    dim = relaxation.dim
    constant = 0.5 * float(np.sum(np.log(variances))) + 0.5 * dim * math.log(2.0 * math.pi)

    def log_densities(x: Array) -> tuple[Array, Array]:
        return log_target(x), -(0.5 * jnp.sum(precisions * jnp.square(x - mean)) + constant)

    def log_densities_and_gradients(x: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        # With x on the left of both products, chains side by side make two products of matrices in row order.
        fields = jnp.matmul(x, loadings.T) + biases
        target = 0.5 * jnp.sum(jnp.square(x)) - _sum_log_cosh(fields)
        centred = precisions * (x - mean)
        reference = 0.5 * jnp.sum(centred * (x - mean)) + constant
        return (-target, -reference), (-(x - jnp.matmul(jnp.tanh(fields), loadings)), -centred)

    return Bridge(
        log_densities,
        log_densities_and_gradients,
        lambda noise: mean + scale * noise,
        dim,
        base.log_normaliser,
    )


def _sum_log_cosh(t: Array) -> Array:
    """Sum of log cosh over t [unit], with one logarithm for many factors 1 + exp(-2 |t|), which lie in (1, 2]."""
    size = jnp.abs(t)
    factors = 1.0 + jnp.exp(-2.0 * size)
    groups = [factors[i : i + _FACTORS_A_LOG] for i in range(0, t.shape[0], _FACTORS_A_LOG)]
    logs = sum(jnp.log(jnp.prod(group)) for group in groups)
    return jnp.sum(size) + logs - t.shape[0] * math.log(2.0)
