"""What may be known exactly of a model: a run records what there is, and leaves the rest out."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from auxmc.numerics.array_types import FloatArray


class Distribution(NamedTuple):
    """A distribution on the line: mean, standard deviation, density and distribution function of values [...]."""

    mean: float
    sd: float
    density: Callable[[FloatArray], FloatArray]
    cumulative: Callable[[FloatArray], FloatArray]


class Known(NamedTuple):
    """Exact answers, each None where there is none.

    Attributes:
        position: posterior of each coordinate of x [coordinate].
        auxiliary: maps the number of importance samples to the distribution of u[0, 0, 0] in a stationary chain.
        acceptance_position: maps (method, number of importance samples, step sizes [point]) to the stationary
            acceptance rates of updates of x [point], or to None.
        acceptance_auxiliary: maps (method, number of importance samples) to that of updates of u, or to None.
        numbers: gives other exact numbers by the name under which they are recorded.
    """

    position: Sequence[Distribution] | None = None
    auxiliary: Callable[[int], Distribution] | None = None
    acceptance_position: Callable[[str, int, FloatArray], FloatArray | None] | None = None
    acceptance_auxiliary: Callable[[str, int], float | None] | None = None
    numbers: Callable[[], Mapping[str, float]] | None = None
