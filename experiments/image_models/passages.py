"""Cost until a curve of estimates stays above a level, and ratios of such costs (PhD thesis, section 5.6.2)."""

import math

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.error_rules import ratio
from auxmc_pipeline.tables import MissingData

__all__ = ["passage", "ratio_of_passages"]


def ratio_of_passages(
    above: tuple[Measurement, bool],
    below: tuple[Measurement, bool],
    names: tuple[str, str],
    low: float,
    high: float = math.inf,
) -> Measurement:
    """Ratio of two costs, of which those of a run that was too short are only bounded from below.

    Args:
        above: cost of the numerator, and whether it came near within its run, as `passage` returns them.
        below: of the denominator.
        names: of the two, for the note.
        low: lower end of the band of the claim.
        high: upper end of the band.

    Returns:
        The ratio. Where it is a bound that leaves the verdict open its error is NaN, unknown.

    Raises:
        MissingData: neither of the two came near.
    """
    (cost, reached), (unit, unit_reached) = above, below
    if not (reached or unit_reached):
        raise MissingData(f"neither {names[0]} nor {names[1]} came near the lower bound within its run")
    found = ratio(cost, unit)
    if reached and unit_reached:
        return found
    # The true ratio lies below what was found, or above it.
    late, most = (names[1], "most") if reached else (names[0], "least")
    edge = high if math.isfinite(high) else low
    decided = found.value < low if reached else found.value > edge
    note = f"{late} did not come near within its run: the ratio is at {most} this"
    return found._replace(error=found.error if decided else math.nan, note=note)


def passage(
    costs: FloatArray, means: FloatArray, errors: FloatArray, level: float
) -> tuple[Measurement, bool]:
    """Cost after which a curve of estimates stays above a level, and whether it does before its end.

    Args:
        costs: seconds or gradients, rising [point].
        means: estimates in nats [point].
        errors: standard errors of their distances from the level, in nats [point].
        level: what is to be reached, in nats.

    Returns:
        The cost, or all of it. Its error is half the distance of the passages of the curve shifted up and down by a
        standard error, and the distance from the point before at least.
    """

    def first(curve: FloatArray) -> int:
        low = np.flatnonzero(curve < level)
        return int(low[-1]) + 1 if low.size else 0

    place, early, late = (first(curve) for curve in (means, means + errors, means - errors))
    ends = np.append(costs, costs[-1])
    spacing = ends[place] - ends[place - 1] if 0 < place < len(costs) else np.diff(costs).max(initial=0.0)
    error = max(0.5 * (ends[late] - ends[early]), spacing)
    return Measurement(float(ends[place]), float(error)), place < len(costs)
