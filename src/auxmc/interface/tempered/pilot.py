"""Annealed runs from a base to a target: how much they find, along which temperatures, and by which steps."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.special import logsumexp

from auxmc.diagnostics.log_evidence import annealed_evidence
from auxmc.interface.densities import Density
from auxmc.kernels.tempering.tempered_move import TemperedState, tempered_hmc
from auxmc.models.bridge import Bridge, GaussianBase, bridge, gaussian_base

__all__ = ["Annealed", "Path", "Pilot", "share_of_step", "standardised"]

_RUNS = 128
_RUNS_TOGETHER = 32
# Effective share of the runs that a step along the path leaves: neighbours overlap well.
_OVERLAP = 0.99
# A step along the path is never shorter than this share of the inverse temperature, so that the path ends.
_LEAST_GROWTH = 0.05
_FIRST_TEMPERATURE = 1e-7
_MOST_TEMPERATURES = 400
_HALVINGS = 40
_ACCEPTANCE = 0.8
_SHORTEST_SHARE = 0.1


class Path(NamedTuple):
    """Temperatures between base and target, of which neighbours overlap.

    Attributes:
        inverse_temperatures: from 0 to 1 [temperature].
        log_normalisers: of the path's density at each, in nats [temperature].
        step_sizes: at which trajectories are accepted as often as wanted, in standard deviations of the base
            [temperature].
    """

    inverse_temperatures: np.ndarray
    log_normalisers: np.ndarray
    step_sizes: np.ndarray


class Annealed(NamedTuple):
    """What annealed runs from a base found.

    Attributes:
        base: where they began.
        log_normaliser: of the target, in nats; below the truth more often than above.
        error: its standard error.
        n_effective: effective number of runs.
        path: the temperatures.
        ends: positions at which the runs ended [run, dim].
        log_weights: of the runs [run].
        log_densities: of the target at the ends [run].
    """

    base: GaussianBase
    log_normaliser: float
    error: float
    n_effective: float
    path: Path
    ends: np.ndarray
    log_weights: np.ndarray
    log_densities: np.ndarray


def standardised(model: Density, base: GaussianBase, log_zeta: Array | float) -> Bridge:
    """The target in coordinates in which the base is standard normal: one step size fits all directions."""
    root = base.scale if base.scale.ndim == 2 else jnp.diag(base.scale)
    log_volume = jnp.sum(jnp.log(jnp.abs(jnp.diagonal(root))))
    standard = gaussian_base(jnp.zeros(model.layout.dim), jnp.ones(model.layout.dim))
    return bridge(lambda y: model.log_density(base.mean + root @ y) + log_volume, standard, log_zeta)


def share_of_step(key: Array) -> Array:
    """Share of the step size that an update takes: between 0.1 and 1, short ones for where it is narrow."""
    return jnp.exp(math.log(_SHORTEST_SHARE) * jax.random.uniform(key))


class Pilot:
    """Annealed runs from any base to the target, by one compiled program.

    The next temperature is the farthest at which the runs' weights stay even, and the step size follows the runs'
    acceptance, as in adaptive sequential Monte Carlo (Zhou, Johansen and Aston 2016, section 3.3); runs are never
    resampled, so that none of the modes that they found is lost.

    Args:
        model: the target.
        n_steps: leapfrog steps of an update.
        key: of all runs.
    """

    def __init__(self, model: Density, n_steps: int, key: Array) -> None:
        self._key, self._n_calls = key, 0
        self._run: Callable[..., dict[str, Array]] = jax.jit(_program(model, n_steps))

    def anneal(self, base: GaussianBase, factor: float = 1.0) -> Annealed:
        """Runs from a base, wider by a factor."""
        root = np.asarray(base.scale if base.scale.ndim == 2 else jnp.diag(base.scale)) * factor
        wide = gaussian_base(base.mean, jnp.asarray(root))
        self._n_calls += 1
        found = self._run(wide, jax.random.fold_in(self._key, self._n_calls))
        values = {name: np.asarray(array) for name, array in found.items()}
        n = int(values["n"])
        path = Path(values["inverse_temperatures"][:n], values["log_normalisers"][:n], values["steps"][:n])
        logs = np.where(np.isnan(values["log_weights"]), -np.inf, values["log_weights"])
        rest = (path, values["ends"], logs, values["log_densities"])
        if not np.any(np.isfinite(logs)):
            return Annealed(wide, -math.inf, math.inf, 0.0, *rest)
        estimate = annealed_evidence(logs)
        weights = np.exp(logs - logsumexp(logs))
        return Annealed(wide, estimate.value, estimate.standard_error, float(1.0 / np.sum(weights**2)), *rest)


def _program(model: Density, n_steps: int) -> Callable[[GaussianBase, Array], dict[str, Array]]:
    dim = model.layout.dim

    def run(base: GaussianBase, key: Array) -> dict[str, Array]:
        joined = standardised(model, base, 0.0)
        move = tempered_hmc(joined, 1.0, n_steps)
        begin = jax.random.normal(jax.random.fold_in(key, 0), (_RUNS, dim))
        states = jax.vmap(lambda y: move.init(key, y))(begin)
        keys = jax.random.split(jax.random.fold_in(key, 1), _MOST_TEMPERATURES)
        table = jnp.zeros(_MOST_TEMPERATURES)
        first_step = jnp.asarray(0.7 * dim**-0.25)
        loop = (
            jnp.ones((), jnp.int32),
            jnp.zeros(()),
            jnp.log(first_step),
            states,
            jnp.zeros(_RUNS),
            (table, table, table.at[0].set(first_step)),
        )

        def going(loop: Any) -> Array:
            return (loop[1] < 1.0) & (loop[0] < _MOST_TEMPERATURES)

        def advance(loop: Any) -> Any:
            k, b, log_step, states, logs, (temperatures, normalisers, steps) = loop
            delta = jnp.where(jnp.isnan(states.delta), jnp.inf, states.delta)
            stride = jnp.where(k == _MOST_TEMPERATURES - 1, 1.0 - b, _stride(delta, b))
            logs = logs - stride * delta
            b = jnp.minimum(b + stride, 1.0)

            def one(pair: tuple[Array, TemperedState]) -> tuple[TemperedState, Array]:
                step = jnp.exp(log_step) * share_of_step(jax.random.fold_in(pair[0], 1))
                own = tempered_hmc(joined, step, n_steps)
                moved, info = own.apply(own.draw(pair[0]), pair[1], b)
                return moved, info.acceptance_probability

            states, accepted = jax.lax.map(
                one, (jax.random.split(keys[k], _RUNS), states), batch_size=_RUNS_TOGETHER
            )
            mean = jax.scipy.special.logsumexp(logs) - math.log(_RUNS)
            tables = (
                temperatures.at[k].set(b),
                normalisers.at[k].set(mean),
                steps.at[k].set(jnp.exp(log_step)),
            )
            log_step = jnp.minimum(log_step + jnp.mean(accepted) - _ACCEPTANCE, math.log(2.0))
            return k + 1, b, log_step, states, logs, tables

        n, _, _, states, logs, tables = jax.lax.while_loop(going, advance, loop)
        ends = jax.vmap(lambda y: base.mean + base.scale @ y)(states.position)
        names = ("inverse_temperatures", "log_normalisers", "steps")
        return {
            "n": n,
            "ends": ends,
            "log_weights": logs,
            "log_densities": jax.vmap(model.log_density)(ends),
        } | dict(zip(names, tables, strict=True))

    return run


def _stride(delta: Array, b: Array) -> Array:
    """Longest step along the path that leaves the runs' weights even, by bisection."""
    lost = ~jnp.isfinite(delta)
    centred = jnp.where(lost, 0.0, delta) - jnp.min(jnp.where(lost, jnp.inf, delta))

    def enough(stride: Array) -> Array:
        weights = jnp.where(lost, 0.0, jnp.exp(-stride * centred))
        share = jnp.sum(weights) ** 2 / (
            jnp.sum(weights**2) * jnp.maximum(jnp.sum((~lost).astype(float)), 1.0)
        )
        return share >= _OVERLAP

    def halve(_: int, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bracket
        middle = 0.5 * (low + high)
        good = enough(middle)
        return jnp.where(good, middle, low), jnp.where(good, high, middle)

    whole = 1.0 - b
    low, _ = jax.lax.fori_loop(0, _HALVINGS, halve, (jnp.zeros(()), whole))
    stride = jnp.where(enough(whole), whole, low)
    return jnp.minimum(jnp.maximum(stride, _LEAST_GROWTH * b + _FIRST_TEMPERATURE), whole)
