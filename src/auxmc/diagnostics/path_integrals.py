"""Log normaliser from mean log ratios along a path of inverse temperatures."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray


class PathIntegral(NamedTuple):
    """Log normaliser, in nats.

    Attributes:
        value: trapezoidal rule, with the correction of its curvature where variances are given.
        standard_error: from those of the means; 0 where none are given.
        lower: left sum, at most the true value where the means are exact.
        upper: right sum, at least the true value where the means are exact.
    """

    value: float
    standard_error: float
    lower: float
    upper: float


def thermodynamic_integration(
    inverse_temperatures: ArrayLike,
    means: ArrayLike,
    *,
    variances: ArrayLike | None = None,
    standard_errors: ArrayLike | None = None,
) -> PathIntegral:
    """Integrates the mean log ratio of target and base over the inverse temperature.

    The log normaliser of the path has the mean log ratio as its slope, which rises with the inverse temperature because
    the variance of the log ratio is its derivative.

    Args:
        inverse_temperatures: strictly increasing from 0 to 1 [temperature].
        means: of log target minus log base density under the path's distribution at each [temperature], in nats; with a
            prior and a posterior this is the log likelihood.
        variances: of the same [temperature]; given, the trapezoidal rule is corrected to fourth order in the steps.
        standard_errors: of the means, independent of each other [temperature].

    Returns:
        Integral with its error and, for exact means, bounds.

    Raises:
        ValueError: temperatures do not rise strictly from 0 to 1, lengths differ, or a value is not finite.

    Must hold: exact for a mean that is linear in the inverse temperature (cubic with variances); lower and upper are
    the expected log weights of annealed importance sampling with perfect transitions in both directions.

    Source: PhD thesis, Eq. 5.16; correction: Friel, Hurn and Wyse 2014.

    >>> thermodynamic_integration([0.0, 0.5, 1.0], [-2.0, -1.0, 0.0])
    PathIntegral(value=-1.0, standard_error=0.0, lower=-1.5, upper=-0.5)
    """
    b = _vector("inverse_temperatures", inverse_temperatures)
    steps = np.diff(b)
    if b.size < 2 or b[0] != 0.0 or b[-1] != 1.0 or not np.all(steps > 0.0):
        raise ValueError("inverse_temperatures must be at least 2 and rise strictly from 0 to 1")
    slope = _vector("means", means, b.size)
    lower, upper = float(steps @ slope[:-1]), float(steps @ slope[1:])
    value = 0.5 * (lower + upper)
    if variances is not None:
        value -= float(np.square(steps) @ np.diff(_vector("variances", variances, b.size))) / 12.0
    error = 0.0
    if standard_errors is not None:
        ends = np.pad(steps, 1)
        coefficients = 0.5 * (ends[1:] + ends[:-1])
        error = float(np.linalg.norm(coefficients * _vector("standard_errors", standard_errors, b.size)))
    return PathIntegral(value, error, lower, upper)


def _vector(name: str, values: ArrayLike, size: int | None = None) -> FloatArray:
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or (size is not None and array.size != size):
        wanted = "a vector" if size is None else f"[{size}], one for each inverse temperature"
        raise ValueError(f"{name} must be {wanted}, got shape {list(array.shape)}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {int(np.sum(~np.isfinite(array)))} that are not")
    return array
