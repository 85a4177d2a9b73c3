"""Fast draws from the prior predictive distribution, and approximate Bayesian computation by rejection.

Nearly all prior draws of the rates make the populations explode within a few steps: a path is dropped where it leaves a
limit that no accepted path can reach. NumPy, because the number of paths left changes from step to step.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np

from auxmc.kernels.base import check_choice
from auxmc.numerics.array_types import FloatArray
from experiments.lotka_volterra.model.generator import N_RATES, LotkaVolterraModel

DistanceReading = Literal["l2", "l2_squared"]
POPULATION_LIMIT = 1e5  # size above which a path is dropped: data are of order 100
FINITE = 1e300  # limit of paths without overflow
_CHUNK = 2**14  # paths side by side: their arrays stay in the cache


class PriorPaths(NamedTuple):
    """Prior draws whose populations stayed within the limit."""

    rate_inputs: FloatArray  # u1 [path, 4]
    paths: FloatArray  # prey and predators [path, step, 2]


def simulate_prior(
    model: LotkaVolterraModel,
    rng: np.random.Generator,
    n_draws: int,
    limit: float = POPULATION_LIMIT,
    lowest: float | None = None,
) -> PriorPaths:
    """Draws rates and noise from the prior and keeps the paths on which no population exceeds the limit.

    Nor does one fall below the lowest value, by default the limit with a minus sign.
    """
    if n_draws < 1:
        raise ValueError(f"n_draws must be a positive integer, got {n_draws}")
    sizes = (min(_CHUNK, n_draws - start) for start in range(0, n_draws, _CHUNK))
    bounds = (-limit if lowest is None else lowest, limit)
    parts = [_simulate_chunk(model, rng, size, bounds) for size in sizes]
    return PriorPaths(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def prior_distances(
    model: LotkaVolterraModel,
    rng: np.random.Generator,
    n_draws: int,
    distance: Callable[..., FloatArray],
    limit: float = POPULATION_LIMIT,
) -> FloatArray:
    """Distances [path] of prior draws within the limit from the data, for `n_accepted` (thesis, section 4.4)."""
    parts: list[FloatArray] = []
    for start in range(0, n_draws, 64 * _CHUNK):  # a few megabytes of paths at a time
        drawn = simulate_prior(model, rng, min(64 * _CHUNK, n_draws - start), limit)
        with np.errstate(all="ignore"):
            parts.append(distance(drawn.paths))
    return np.nan_to_num(np.concatenate(parts), nan=np.inf, posinf=np.inf)


def n_accepted(distances: FloatArray, tolerance: float, reading: DistanceReading = "l2") -> int:
    """Counts distances [path] within the tolerance; `l2_squared` compares the square, as the author's function does."""
    check_choice("distance", reading, get_args(DistanceReading))
    compared = distances if reading == "l2" else np.square(distances)
    return int(np.count_nonzero(compared <= tolerance))


def _simulate_chunk(
    model: LotkaVolterraModel, rng: np.random.Generator, n_draws: int, bounds: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """One chunk of draws: u1 [path, 4] and paths [path, step, 2] of those that stay within bounds."""
    lowest, highest = bounds
    prey_sd, predator_sd = model.step_sd
    inputs = rng.standard_normal((N_RATES, n_draws))
    rates = model.time_step * np.exp(model.prior_mean + model.prior_sd * inputs)
    rates[0] += 1.0
    np.subtract(1.0, rates[2], out=rates[2])
    prey, predators = np.full((2, n_draws), np.array(model.initial_state)[:, None])
    history: list[FloatArray] = []
    kept = np.arange(n_draws)
    for _ in range(model.n_steps):
        noise = rng.standard_normal((2, len(kept)))
        # Only a limit near the largest double lets values overflow; infinity and NaN are then outside it.
        with np.errstate(over="ignore", invalid="ignore"):
            new_prey = prey * (rates[0] - rates[1] * predators) + prey_sd * noise[0]
            food = new_prey if model.scheme == "code" else prey
            new_predators = predators * (rates[2] + rates[3] * food) + predator_sd * noise[1]
        states = np.stack([new_prey, new_predators])
        inside = np.flatnonzero(np.all((states >= lowest) & (states <= highest), axis=0))
        if len(inside) < len(kept):
            states, rates, kept = states[:, inside], rates[:, inside], kept[inside]
            history = [earlier[:, inside] for earlier in history]
        history.append(states)
        prey, predators = states
        if not len(kept):
            break
    paths = np.empty((len(kept), model.n_steps, 2))
    for step, states in enumerate(history if len(kept) else []):
        paths[:, step] = states.T
    return inputs[:, kept].T, paths
