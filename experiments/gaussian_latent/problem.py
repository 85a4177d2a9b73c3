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
    """Exact answers, each None where there is none: a run records what there is.

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


class Problem(NamedTuple):
    """The data and the model of a case, and what is known exactly of it.

    Attributes:
        observations: y [observation, coordinate].
        generating: x that the data were simulated from [coordinate]; None for the user's own data.
        reference: x at which the noise of the log estimate is measured [coordinate].
        estimator: makes the estimate of p(x) p(y | x) from a number of importance samples; where its second argument
            is true, auxiliary variables are standard normal, else a cheaper equivalent may be returned.
        known: what is known exactly; any part of it may be None.
    """

    observations: FloatArray
    generating: FloatArray | None
    reference: FloatArray
    estimator: Callable[[int, bool], Estimator]
    known: Known

    @property
    def dim(self) -> int:
        """Number of coordinates of x."""
        return int(self.observations.shape[1])
