"""What a standard density is here: a family with parameters that are checked, and one with its parameters fixed.

The numbers are SciPy's.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray

__all__ = ["Density", "Distribution", "Fixed", "Parameter", "RealMap"]


class Distribution(Protocol):
    """What is used of a distribution of SciPy, besides its `logpdf` or `logpmf`."""

    def cdf(self, x: FloatArray) -> FloatArray:
        """Distribution function."""

    def rvs(self, size: int, random_state: np.random.Generator) -> FloatArray:
        """Draws."""


class RealMap(NamedTuple):
    """Map between a support and the whole line, elementwise.

    Attributes:
        formula: of the map to the line, in plain text.
        to_real: maps values and the ends of the support to the line.
        from_real: maps points of the line and the ends of the support back.
        log_slope: log of the derivative of `from_real`, in nats.
    """

    formula: str
    to_real: Callable[..., FloatArray]
    from_real: Callable[..., FloatArray]
    log_slope: Callable[..., FloatArray]


class Parameter(NamedTuple):
    """A parameter: what it means, what it may be, in words and as a test, and the value that examples use."""

    meaning: str
    domain: str
    allowed: Callable[[FloatArray], bool]
    example: ArrayLike


class Density(NamedTuple):
    """A family of densities.

    Attributes:
        shorthand: as the documents write it.
        table: where it stands in the PhD thesis.
        formula: the density, in plain text.
        support: where it is positive, in plain text.
        parameters: by name, in the order of the shorthand.
        freeze: maps the parameters to a distribution of SciPy, or to one with the same methods.
        real_map: map to the whole line; none for integers.
        ends: maps the parameters to the ends of the support, which the map to the line takes.
    """

    shorthand: str
    table: str
    formula: str
    support: str
    parameters: Mapping[str, Parameter]
    freeze: Callable[..., Distribution]
    real_map: RealMap | None = None
    ends: Callable[..., tuple[FloatArray, ...]] = lambda **_: ()

    def at(self, **values: ArrayLike) -> "Fixed":
        """The density with these parameters.

        Raises:
            ValueError: a parameter is missing, unknown, or outside its domain.
        """
        if set(values) != set(self.parameters):
            raise ValueError(
                f"{self.shorthand} has the parameters {', '.join(self.parameters)}, got {', '.join(values) or 'none'}"
            )
        given = {name: np.asarray(value, float) for name, value in values.items()}
        for name, value in given.items():
            if not (np.all(np.isfinite(value)) and self.parameters[name].allowed(value)):
                raise ValueError(
                    f"{name} of {self.shorthand} must be {self.parameters[name].domain}, got {value.tolist()}"
                )
        ends = self.ends(**given)
        if len(ends) == 2 and not ends[0] < ends[1]:
            raise ValueError(f"the support of {self.shorthand} must not be empty, got {given}")
        return Fixed(self, self.freeze(**given), ends)

    def example(self) -> "Fixed":
        """The density with the parameters of the examples."""
        return self.at(**{name: parameter.example for name, parameter in self.parameters.items()})


class Fixed(NamedTuple):
    """A density with its parameters.

    Attributes:
        family: where it comes from.
        distribution: SciPy's.
        ends: of the support, as the map to the line takes them.
    """

    family: Density
    distribution: Distribution
    ends: tuple[FloatArray, ...]

    def log_density(self, x: ArrayLike) -> FloatArray:
        """Log density, or log probability of integers, at x [...] or [..., dim], in nats; -inf off the support."""
        method = next(name for name in ("logpdf", "logpmf") if hasattr(self.distribution, name))
        return np.asarray(getattr(self.distribution, method)(np.asarray(x, float)), float)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Probability that no component exceeds that of x [...] or [..., dim]."""
        return np.asarray(self.distribution.cdf(np.asarray(x, float)), float)

    def draw(self, rng: np.random.Generator, n_draws: int) -> FloatArray:
        """Independent draws [draw] or [draw, dim]."""
        return np.asarray(self.distribution.rvs(size=n_draws, random_state=rng), float)

    def to_real(self, x: ArrayLike) -> FloatArray:
        """Values mapped to the whole line, elementwise."""
        return self._real_map().to_real(np.asarray(x, float), *self.ends)

    def from_real(self, t: ArrayLike) -> FloatArray:
        """Points of the whole line mapped to values, elementwise."""
        return self._real_map().from_real(np.asarray(t, float), *self.ends)

    def log_density_real(self, t: ArrayLike) -> FloatArray:
        """Log density of the mapped variable at t [...] or [..., dim]: with the log slope of the map back, in nats."""
        point = np.asarray(t, float)
        slopes = self._real_map().log_slope(point, *self.ends)
        log_density = self.log_density(self.from_real(point))
        return log_density + (slopes.sum(axis=-1) if slopes.ndim > log_density.ndim else slopes)

    def _real_map(self) -> RealMap:
        if self.family.real_map is None:
            raise ValueError(
                f"{self.family.shorthand} is a distribution of integers: none maps to the whole line"
            )
        return self.family.real_map
