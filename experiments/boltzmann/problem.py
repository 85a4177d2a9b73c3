"""What a case estimates: relaxation, base, bridge and, where it can be had, the truth."""

from typing import NamedTuple

import numpy as np

from auxmc.approximations.mean_field import MeanFieldFits, boltzmann_mean_field, distinct_fits
from auxmc.models.bridge import Bridge
from auxmc.numerics.array_types import FloatArray
from experiments.boltzmann.model import machine
from experiments.boltzmann.model.data import (
    BoltzmannParameters,
    generate_parameters,
    published_shift,
    read_parameters,
)
from experiments.boltzmann.model.diagonal_shift import smallest_diagonal_shift
from experiments.boltzmann.model.enumeration import MAX_UNITS, exact_moments
from experiments.boltzmann.settings import Settings

_FIT_SEED = 201702
# The author's solver left some smaller eigenvalues, and he kept them.
_PUBLISHED_LEAST_EIGENVALUE = 1e-6


class Problem(NamedTuple):
    """Target and base of a case, in the basis in which the covariance of the base is diagonal."""

    relaxation: machine.Relaxation  # the target
    base: machine.RelaxedMoments  # moments of the base and log zeta
    # those of the base that errors are compared with, from the fits of the published recipe
    reference: machine.RelaxedMoments
    # exact normaliser and moments; None with more units than can be summed over
    truth: machine.RelaxedMoments | None
    bridge: Bridge  # the path from base to target
    n_fits: int  # distinct fits that make up the base
    residual: float  # largest distance of a mean of these fits from its fixed point


def build_problem(settings: Settings, variational: str) -> Problem:
    """The problem of a case with a variant of the mean-field fits; raises DataError for a file that cannot be used."""
    if settings.data:
        parameters, number = read_parameters(settings.data), 0
    else:
        parameters, number = generate_parameters(settings.n_units)[settings.system], settings.system
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


def relaxation_of(parameters: BoltzmannParameters, shift: str, system: int) -> machine.Relaxation:
    """Relaxation with the optimal diagonal, or with the author's for one of his systems."""
    if shift == "published":
        return machine.relax(parameters, published_shift(system), _PUBLISHED_LEAST_EIGENVALUE)
    return machine.relax(parameters, smallest_diagonal_shift(parameters.weights), machine.LEAST_EIGENVALUE)


def mean_field_starts(system: int, n_fits: int, n_units: int) -> FloatArray:
    """Starts of the fits of a system [fit, unit]: those of all systems come from one stream, in the order of files."""
    rng = np.random.RandomState(_FIT_SEED)
    return np.asarray(rng.normal(size=(system + 1, n_fits, n_units))[system], dtype=np.float64)


def _fits(parameters: BoltzmannParameters, starts: FloatArray, variational: str) -> MeanFieldFits:
    return distinct_fits(boltzmann_mean_field(parameters.weights, parameters.biases, starts, variational))
