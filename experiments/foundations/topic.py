"""What a topic of the study is: functions that compute its claims, and functions that compute its curves."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np
import xarray as xr

from auxmc.driver.seeds import generator, stream

Shared = TypeVar("Shared")


class Measured(NamedTuple):
    """A computed value and its Monte Carlo standard error, 0 where there is none."""

    value: float
    error: float = 0.0


class Work:
    """What the functions of a topic are given: named random numbers, the effort, and results that several share.

    Args:
        seed: root seed.
        study: name of the study, first part of every stream's name.
        effort: share of the published numbers of replicates that is run.
    """

    def __init__(self, seed: int, study: str, effort: float) -> None:
        self._seed, self._study, self.effort = seed, study, effort
        self._shared: dict[Callable[..., Any], Any] = {}

    def rng(self, *names: str | int) -> np.random.Generator:
        """NumPy generator that belongs to the names."""
        return generator(self._seed, self._study, *names)

    def key(self, *names: str | int) -> jax.Array:
        """JAX key that belongs to the names."""
        return stream(self._seed, self._study, *names)

    def replicates(self, full: int, least: int = 100) -> int:
        """Number of replicates: the full number times the effort, not below `least`."""
        return max(least, round(full * self.effort))

    def once(self, make: Callable[["Work"], Shared]) -> Shared:
        """Result of a function that several claims and curves need, computed when first asked for."""
        if make not in self._shared:
            self._shared[make] = make(self)
        return self._shared[make]  # type: ignore[no-any-return]


class Topic(NamedTuple):
    """Claims and curves that belong together.

    Attributes:
        claims: for each claim id, a function that returns the measured value of every setting of the claim.
        curves: for each figure, a function that returns its arrays; names of variables and of dimensions begin with
            the name of the figure, so that no two figures share them.
    """

    claims: Mapping[str, Callable[[Work], Mapping[str, Measured]]]
    curves: Mapping[str, Callable[[Work], Mapping[str, xr.DataArray]]]
