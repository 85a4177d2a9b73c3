"""What a case estimates: relaxation, base, bridge and, where it can be had, the truth."""

import math
from typing import NamedTuple

import jax
import numpy as np

from auxmc.approximations.expectation_propagation import expectation_propagation
from auxmc.approximations.mean_field import MeanFieldFits, boltzmann_mean_field, distinct_fits
from auxmc.approximations.renyi import match_renyi_moments
from auxmc.models.bridge import Bridge
from auxmc.numerics.array_types import FloatArray
from experiments.boltzmann.model import data, machine
from experiments.boltzmann.model.diagonal_shift import smallest_diagonal_shift
from experiments.boltzmann.model.enumeration import MAX_UNITS, exact_moments
from experiments.boltzmann.settings import Settings

_FIT_SEED = 201702
_RENYI_ORDER, _N_RENYI_DRAWS = 0.5, 10_000  # Order between both KL divergences (figure C.2b); draws
_EP_SWEEPS, _EP_DAMPING = 400, 0.1  # Faster changes of the sites end in a cycle on the fifth system
# The author's solver left some smaller eigenvalues, and he kept them.
PUBLISHED_LEAST_EIGENVALUE = 1e-6


class Problem(NamedTuple):
    """Target and base of a case, in the basis in which the covariance of the base is diagonal."""

    relaxation: machine.Relaxation  # the target
    base: machine.RelaxedMoments  # moments of the base and log zeta
    # moments of the base that errors are compared with, by the published fits
    reference: machine.RelaxedMoments
    truth: machine.RelaxedMoments | None  # exact; None with more units than can be summed over
    bridge: Bridge  # the path from base to target
    n_fits: int  # distinct fits that make up the base
    residual: float  # largest distance of a mean of these fits from its fixed point


def build_problem(settings: Settings, variational: str) -> Problem:
    """The problem of a case with a variant of the mean-field fits; raises DataError for a file that cannot be used."""
    if settings.data:
        parameters, number = data.read_parameters(settings.data), 0
    else:
        parameters, number = data.generate_parameters(settings.n_units)[settings.system], settings.system
    relaxation = relaxation_of(parameters, settings.shift, settings.system)
    starts = mean_field_starts(number, settings.n_fits, parameters.n_units)
    fits = _fits(parameters, starts, variational)
    relaxation, base = machine.in_diagonal_basis(relaxation, machine.mixture_moments(relaxation, fits))
    reference = machine.mixture_moments(relaxation, _fits(parameters, starts, "published"))
    truth = None
    if parameters.n_units <= MAX_UNITS:
        truth = machine.relaxed_moments(relaxation, exact_moments(parameters))
    bridge = machine.relaxation_bridge(relaxation, base)
    return Problem(relaxation, base, reference, truth, bridge, len(fits.means), float(fits.residual.max()))


def fitted_moments(problem: Problem, base: str) -> machine.RelaxedMoments:
    """Moments and log zeta of one of the bases that need no chain: renyi, ep or exact."""
    relaxation, start = problem.relaxation, problem.base
    if base == "exact":
        assert problem.truth is not None
        return problem.truth
    dim = relaxation.dim
    if base == "ep":
        factors = [machine.cosh_factor(float(bias)) for bias in relaxation.biases]
        fit = expectation_propagation(
            np.zeros(dim), np.eye(dim), relaxation.loadings, factors, _EP_SWEEPS, _EP_DAMPING
        )
        log_zeta = fit.log_normaliser + 0.5 * dim * math.log(2.0 * math.pi)
        return machine.RelaxedMoments(log_zeta, fit.mean, fit.covariance)
    noise = np.random.default_rng(_FIT_SEED).normal(size=(_N_RENYI_DRAWS // 2, dim))
    log_density = jax.jit(jax.vmap(machine.relaxation_log_density(relaxation)))
    noise = np.concatenate([noise, -noise])
    *moments, bound = match_renyi_moments(log_density, start.mean, start.covariance, _RENYI_ORDER, noise)
    return machine.RelaxedMoments(bound, *moments)


def rebased(problem: Problem, base: machine.RelaxedMoments) -> Problem:
    """The same target with another base, in the basis in which the covariance of this one is diagonal."""
    relaxation, diagonal = machine.in_diagonal_basis(problem.relaxation, base)
    return problem._replace(
        relaxation=relaxation,
        base=diagonal,
        reference=machine.in_basis_of(problem.reference, base),
        truth=problem.truth and machine.in_basis_of(problem.truth, base),
        bridge=machine.relaxation_bridge(relaxation, diagonal),
    )


def relaxation_of(parameters: data.BoltzmannParameters, shift: str, system: int) -> machine.Relaxation:
    """Relaxation with the optimal diagonal, or with the author's for one of his systems."""
    if shift == "published":
        return machine.relax(parameters, data.published_shift(system), PUBLISHED_LEAST_EIGENVALUE)
    return machine.relax(parameters, smallest_diagonal_shift(parameters.weights), machine.LEAST_EIGENVALUE)


def mean_field_starts(system: int, n_fits: int, n_units: int) -> FloatArray:
    """Starts of the fits of a system [fit, unit]: those of all systems come from one stream, in the order of files."""
    rng = np.random.RandomState(_FIT_SEED)
    return np.asarray(rng.normal(size=(system + 1, n_fits, n_units))[system], dtype=np.float64)


def _fits(parameters: data.BoltzmannParameters, starts: FloatArray, variational: str) -> MeanFieldFits:
    return distinct_fits(boltzmann_mean_field(parameters.weights, parameters.biases, starts, variational))
