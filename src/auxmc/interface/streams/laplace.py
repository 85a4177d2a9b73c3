"""Evidence of few rows by importance draws around the mode, with a warning wherever its error would be too small."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from auxmc.approximations import laplace_evidence as laplace
from auxmc.driver.seeds import stream
from auxmc.interface.advice import Advice, issue
from auxmc.interface.arguments import check_integer, check_seed, require_x64
from auxmc.interface.checks.normalisation import advise_constant
from auxmc.interface.streams.rows import RowsModel, checked_model, read_rows
from auxmc.models.row_model import RowModel
from auxmc.numerics.array_types import FloatArray

# Least effective fraction of the draws that is believed, and least distance between copies of a mode, in standard
# deviations: farther ones share none of their mass.
_LEAST_FRACTION = 0.3
# Draws below which their spread says little about the error.
_FEWEST_DRAWS = 200
_LEAST_DISTANCE = 6.0
# Optima whose log densities differ by less are copies of one another, if they lie apart.
_SAME_HEIGHT = 0.01
_APART = 0.5


class CheckedLaplace(NamedTuple):
    """Evidence by importance draws around the mode.

    Attributes:
        log_evidence: in nats.
        standard_error: in nats; covers where there is no warning.
        details: optima, Laplace's approximation, effective fraction of the draws.
        warnings: what is to be said about the estimate; empty where nothing is.
    """

    log_evidence: float
    standard_error: float
    details: laplace.LaplaceEvidence
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        """The estimate with its error."""
        return f"log evidence {self.log_evidence:.3f} +- {self.standard_error:.3f} nats"


def laplace_evidence(
    model: RowsModel | RowModel, rows: Any, *, draws: int = 4096, copies: int = 1, seed: int = 0
) -> CheckedLaplace:
    """Log evidence of rows that fit in memory, where the posterior has one mode, or equal ones that lie apart.

    Args:
        model: `auxmc.row_model(log_likelihood, log_prior, draw_prior)`, or a RowModel on vectors. Its `log_prior` must
            be normalised: a constant that it lacks is missing in the evidence, which is warned of where it is seen.
        rows: an array [row, column].
        draws: importance draws.
        copies: equal modes, such as the orders in which the components of a mixture can be named; one is integrated.
        seed: of all random numbers.

    Raises:
        TypeError: the model or the rows are none, or a function cannot be traced.
        ValueError: a number is out of range, a row is not finite, or the posterior has no peak.

    Warns:
        SamplingWarning: the error is not to be believed; says why and what to do.

    Source: `auxmc.approximations.laplace_evidence`.
    """
    require_x64()
    check_integer("draws", draws, 2, "their spread is the error")
    check_integer("copies", copies, 1)
    check_seed(seed)
    source = read_rows(rows, 500)
    checked, said = checked_model(model, source, stream(seed, "laplace", "checks"))
    data = np.concatenate(list(source.read(0)))
    key = stream(seed, "laplace")
    starts = laplace.prior_starts(checked, data, jax.random.fold_in(key, 0))
    found = laplace.laplace_evidence(checked, data, starts, draws, jax.random.fold_in(key, 1), copies)
    constant = advise_constant(checked.log_prior, checked.draw_prior, checked.dim, jax.random.fold_in(key, 2))
    advice = [*said, *constant, *_advice(found, draws, copies)]
    return CheckedLaplace(found.log_evidence, found.standard_error, found, issue(advice))


def _advice(found: laplace.LaplaceEvidence, draws: int, copies: int) -> Iterator[Advice]:
    fix = "Use auxmc.evidence on log likelihood plus log prior, or auxmc.stream_evidence"
    if draws < _FEWEST_DRAWS:
        problem = f"the error comes from the spread of {draws} draws, and may be far too small"
        yield Advice(problem, f"Take at least {_FEWEST_DRAWS} draws")
    if found.relative_size < _LEAST_FRACTION:
        size = f"their effective fraction is {found.relative_size:.2f}, below {_LEAST_FRACTION}"
        yield Advice(f"the draws do not fit the posterior: {size}, and the stated error is too small", fix)
    if found.n_near:
        yield Advice(f"{found.n_near} further optima are nearly as high as the best, and not integrated", fix)
    distances = _copies(found)
    if len(distances) + 1 > copies:
        problem = f"searches ended at {len(distances) + 1} optima of the same height, but copies is {copies}"
        yield Advice(problem, "Give the number of equal modes as copies (n! for n components of a mixture)")
    if len(distances) and distances.min() < _LEAST_DISTANCE:
        overlap = f"they overlap, and counting one of them {copies} times is not right"
        yield Advice(f"equal modes are {distances.min():.1f} standard deviations apart: {overlap}", fix)
    if found.n_not_finite:
        problem = f"{found.n_not_finite} draws have no finite density"
        yield Advice(problem, "Check log_likelihood and log_prior")


def _copies(found: laplace.LaplaceEvidence) -> FloatArray:
    """Distances, in standard deviations, of the distinct optima that are as high as the best one [copy]."""
    root = np.linalg.cholesky(np.linalg.inv(found.covariance))
    same = found.optima[found.log_densities > found.log_densities[0] - _SAME_HEIGHT]
    distinct: list[FloatArray] = [found.mode]
    for point in same:
        if all(np.linalg.norm((point - other) @ root) > _APART for other in distinct):
            distinct.append(point)
    return np.array([np.linalg.norm((point - found.mode) @ root) for point in distinct[1:]])
