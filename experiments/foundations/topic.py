"""What a topic of the study is: functions that compute its claims, and functions that compute its curves."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

import jax
import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from auxmc.driver.seeds import generator, stream
from auxmc_pipeline.measuring import Measurement, exact

Shared = TypeVar("Shared")

Found = dict[str, ArrayLike | Measurement]  # lines of a claim while they are collected

Lines = Mapping[str, ArrayLike | Measurement]
"""For each setting of a claim a number, which is exact, or a measurement with its Monte Carlo standard error.

A bare number says that no random number enters it: it is the same for every seed.
"""

Arrays = Mapping[str, xr.DataArray]  # arrays of a figure by name


class Work:
    """What the functions of a topic are given: random numbers by name, the effort, and results that several share."""

    def __init__(self, seed: int, study: str, effort: float) -> None:
        self._seed, self._study, self.effort = seed, study, effort
        self._shared: dict[tuple[Callable[..., Any], tuple[Hashable, ...]], Any] = {}

    def rng(self, *names: str | int) -> np.random.Generator:
        """NumPy generator that belongs to the names."""
        return generator(self._seed, self._study, *names)

    def key(self, *names: str | int) -> jax.Array:
        """JAX key that belongs to the names."""
        return stream(self._seed, self._study, *names)

    def replicates(self, full: int, least: int = 100) -> int:
        """Number of replicates: the full number times the effort, not below `least`."""
        return max(least, round(full * self.effort))

    def once(self, make: Callable[..., Shared], *args: Hashable) -> Shared:
        """Result of a function that several claims and curves need, computed when first asked for."""
        if (make, args) not in self._shared:
            self._shared[make, args] = make(self, *args)
        return self._shared[make, args]  # type: ignore[no-any-return]


class Topic:
    """Claims and curves that belong together; each function of a module enters itself, by a decorator."""

    def __init__(self) -> None:
        # For each claim id, a function that returns the value of every setting of the claim.
        self.claims: dict[str, Callable[[Work], Lines]] = {}
        # For each claim id, settings that a finding states and no document does.
        self.numbers: dict[str, Sequence[str]] = {}
        # For each figure, a function that returns its arrays.
        self.curves: dict[str, Callable[[Work], Arrays]] = {}

    def claim(
        self, claim_id: str, numbers: Sequence[str] = ()
    ) -> Callable[[Callable[[Work], Lines]], Callable[[Work], Lines]]:
        """Decorator of the function that measures a claim, and numbers of findings next to it."""
        self.numbers[claim_id] = numbers
        return lambda function: self.claims.setdefault(claim_id, function)

    def figure(self, name: str) -> Callable[[Callable[[Work], Arrays]], Callable[[Work], Arrays]]:
        """Decorator of the function that computes the arrays of a figure."""
        return lambda function: self.curves.setdefault(name, function)


def measurements(lines: Lines) -> dict[str, Measurement]:
    """The same with bare numbers as exact measurements."""
    return {
        setting: found if isinstance(found, Measurement) else exact(float(np.asarray(found)))
        for setting, found in lines.items()
    }
