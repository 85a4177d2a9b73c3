"""Evidence of rows that fit in memory: particles that meet growing data, and importance draws around the mode."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from auxmc.approximations import laplace_evidence as laplace
from auxmc.diagnostics.errors_of_means import replicated_evidence_error
from auxmc.driver.seeds import stream
from auxmc.interface.advice import Advice, issue
from auxmc.interface.arguments import check_integer, check_seed, require_x64
from auxmc.interface.checks.normalisation import advise_constant
from auxmc.interface.streams.estimate import EXCLUDED, MAX_SD
from auxmc.interface.streams.rows import RowsModel, checked_model, read_rows
from auxmc.kernels.streams.growing_data import GrowingDataSettings, growing_data_evidence
from auxmc.models.row_model import RowModel
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.values import by_value

# Least effective fraction of the draws that is believed, and least distance between copies of a mode, in standard
# deviations: farther ones share none of their mass.
_LEAST_FRACTION = 0.3
# Draws below which their spread says little about the error.
_FEWEST_DRAWS = 200
_LEAST_DISTANCE = 6.0
# Optima whose log densities differ by less are copies of one another, if they lie apart.
_SAME_HEIGHT = 0.01
_APART = 0.5


@by_value
class GrowingDataEvidence(NamedTuple):
    """Evidence from independent runs over growing data.

    Attributes:
        log_evidence: log of the mean of the runs' evidences, in nats.
        standard_error: from the spread between runs, and not below what the weights of their particles lead to expect
            (`diagnostics.errors_of_means.replicated_evidence_error`), in nats.
        replicates: log evidence of each run [run], in nats.
        warnings: what is to be said about the estimate; empty where nothing is.
    """

    log_evidence: float
    standard_error: float
    replicates: FloatArray
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        """The estimate with its error."""
        return f"log evidence {self.log_evidence:.3f} +- {self.standard_error:.3f} nats"


def growing_data(
    model: RowsModel | RowModel,
    rows: Any,
    *,
    replicates: int = 8,
    settings: GrowingDataSettings = GrowingDataSettings(),  # noqa: B008
    seed: int = 0,
) -> GrowingDataEvidence:
    """Log evidence of rows that fit in memory, by particles that meet them in growing chunks.

    Args:
        model: `auxmc.row_model(log_likelihood, log_prior, draw_prior)`, or a RowModel on vectors.
        rows: an array [row, column].
        replicates: independent runs, at least 2.
        settings: of `auxmc.kernels.streams.growing_data`; with a pilot, as by default, the mean of the evidences is
            right on average.
        seed: of all random numbers.

    Raises:
        TypeError: the model or the rows are none, or a function cannot be traced.
        ValueError: a number is out of range, or a row is not finite.

    Warns:
        SamplingWarning: the estimate must not be trusted as it is; says why and what to do.
    """
    require_x64()
    check_integer("replicates", replicates, 2, "their spread is the error")
    check_seed(seed)
    source = read_rows(rows, 500)
    checked, said = checked_model(model, source, stream(seed, "growing data", "checks"))
    data = jnp.asarray(np.concatenate(list(source.read(0))))
    run = growing_data_evidence(checked, settings)
    keys = jax.random.split(stream(seed, "growing data"), replicates)
    found, record = jax.jit(lambda keys: jax.lax.map(lambda key: run(key, data)[:2], keys))(keys)
    values = np.asarray(found)
    value = float(jax.nn.logsumexp(found) - math.log(replicates))
    # Relative variance of the mean weight of each step.
    variances = 1.0 / jnp.maximum(record.increment_size, 1.0) - 1.0 / settings.n_particles
    n_steps = record.n_annealing_steps.astype(variances.dtype)
    expected = math.sqrt(float(jnp.sum(n_steps * variances)) / replicates)
    spread = float(np.std(values, ddof=1))
    error = float(replicated_evidence_error(spread, replicates, expected))
    advice = [*said, *_advise_growing(values, spread, settings)]
    return GrowingDataEvidence(value, error, values, issue(advice))


def _advise_growing(values: FloatArray, spread: float, settings: GrowingDataSettings) -> Iterator[Advice]:
    n_bad = int(np.sum(~np.isfinite(values)))
    if n_bad:
        bad = f"the log evidence of {n_bad} of {values.size} runs is not finite"
        yield Advice(f"{bad}: no particle gives all rows a positive probability", EXCLUDED)
    if not spread <= MAX_SD:
        problem = f"runs differ by {spread:.1f} nats (one standard deviation of {values.size})"
        chunks = "smaller chunks, or use auxmc.stream_evidence"
        fix = f"Give more than {settings.n_particles} particles or {chunks}"
        yield Advice(f"{problem}: the error is rough", fix)
    if not settings.own_pilot:
        problem = "particles that tune their own moves make the evidence too large on average"
        yield Advice(problem, "Leave own_pilot as it is")


def laplace_evidence(
    model: RowsModel | RowModel, rows: Any, *, draws: int = 4096, copies: int = 1, seed: int = 0
) -> laplace.LaplaceEvidence:
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
    advice = [*said, *constant, *_advise_laplace(found, draws, copies)]
    return found._replace(warnings=issue(advice))


def _advise_laplace(found: laplace.LaplaceEvidence, draws: int, copies: int) -> Iterator[Advice]:
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
