"""What a run asks of a model. Another model is a module with a function from the settings to a `Problem`."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from auxmc.models.estimator import Estimator
from auxmc.numerics.array_types import FloatArray


class Distribution(NamedTuple):
    """A distribution on the line: mean, standard deviation, density and distribution function of values [...]."""

    mean: float
    sd: float
    density: Callable[[FloatArray], FloatArray]
    cumulative: Callable[[FloatArray], FloatArray]


class Known(NamedTuple):
    """Exact answers, each None where there is none: a run records what there is."""

    position: Sequence[Distribution] | None = None  # posterior of each coordinate of x [coordinate]
    # maps the number of importance samples to the distribution of u[0, 0, 0] in a stationary chain
    auxiliary: Callable[[int], Distribution] | None = None
    # (method, number of importance samples, step sizes [point]) to stationary acceptance rates of x [point]
    acceptance_position: Callable[[str, int, FloatArray], FloatArray | None] | None = None
    # (method, number of importance samples) to that of u
    acceptance_auxiliary: Callable[[str, int], float | None] | None = None
    numbers: Callable[[], Mapping[str, float]] | None = None  # others, by name


class Problem(NamedTuple):
    """The data and the model of a case, and what is known exactly of it."""

    observations: FloatArray  # y [observation, coordinate]
    # x that the data were simulated from [coordinate]; None for own data
    generating: FloatArray | None
    reference: FloatArray  # x at which the noise of the log estimate is measured [coordinate]
    # estimate of p(x) p(y | x) from the number of importance samples and whether auxiliary variables must be normal
    estimator: Callable[[int, bool], Estimator]
    known: Known  # what is known exactly; any part of it may be None

    @property
    def dim(self) -> int:
        """Number of coordinates of x."""
        return int(self.observations.shape[1])
