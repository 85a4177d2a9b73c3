"""Annealed runs from a base to a target, by one compiled program for all bases, seeds and paths."""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.special import logsumexp

from auxmc.diagnostics.tempered_evidence import annealed_evidence
from auxmc.interface.methods import LogDensity
from auxmc.interface.tempered.mixture import Mixture
from auxmc.interface.trajectory_guard import halt_where_steep
from auxmc.kernels.base import select
from auxmc.kernels.tempering.tempered_move import TemperedState, metropolis_decision, proposal
from auxmc.models.bridge import Bridge
from auxmc.numerics.programs import has_open_cost, jit_short
from auxmc.numerics.random import standard_normal

N_RUNS = 128
"""Runs of one call."""

# Effective fraction of the runs that a step along the path leaves: neighbours overlap well, less so where runs explore.
_OVERLAP, EXPLORING_OVERLAP = 0.99, 0.98
# A step along the path is never shorter than this fraction of the inverse temperature, so that the path ends.
_LEAST_GROWTH = 0.05
_FIRST_TEMPERATURE = 1e-7
_MOST_TEMPERATURES = 400
_HALVINGS = 40
_ACCEPTANCE = 0.8


class Path(NamedTuple):
    """Inverse temperatures from above 0 to 1, the path's log normalisers in nats, and step sizes [temperature]."""

    inverse_temperatures: np.ndarray
    log_normalisers: np.ndarray
    step_sizes: np.ndarray


class Annealed(NamedTuple):
    """Annealed runs from a base along a path, or in its coordinates: ends in the target's variables [run, dim].

    Log weights are of the runs, log densities of the target at the ends [run].
    """

    base: Mixture
    path: Path
    ends: np.ndarray
    log_weights: np.ndarray
    log_densities: np.ndarray

    @property
    def value(self) -> float:
        """Log normaliser of the target, in nats."""
        return annealed_evidence(self.log_weights).value

    @property
    def error(self) -> float:
        """Standard error of the log normaliser; infinite where no run counts."""
        return annealed_evidence(self.log_weights).standard_error if np.isfinite(self.value) else math.inf

    @property
    def n_effective(self) -> float:
        """Effective number of runs."""
        if not np.isfinite(self.value):
            return 0.0
        return float(np.exp(2.0 * logsumexp(self.log_weights) - logsumexp(2.0 * self.log_weights)))


def bridge_to(
    target: LogDensity,
    base: Mixture,
    prior: LogDensity | None,
    log_zeta: Any = 0.0,
    guard: Array | None = None,
    from_prior: Any = True,
) -> Bridge:
    """The target and a base, or a prior in its place unless `from_prior` is false, in the base's coordinates.

    Trajectories end before a target of open cost gets steep for `guard`, the step size times the inverse temperature.
    """
    # Out of the loops: the volume and the constants of the mixture are compiled once.
    volume = base.log_volume()
    of_base = base.log_density

    def reference(y: Array) -> Array:
        if prior is None:
            return of_base(y)
        return jax.lax.cond(from_prior, lambda y: prior(base.position(y)) + volume, of_base, y)

    def log_densities(y: Array) -> tuple[Array, Array]:
        value = target(base.position(y)) + volume
        # A density that is not a number counts as zero.
        return jnp.where(jnp.isnan(value), -jnp.inf, value), reference(y)

    def both(y: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        value, slope = jax.value_and_grad(lambda y: -target(base.position(y)))(y)
        if guard is not None:
            slope = halt_where_steep(slope, guard)
        base_value, base_slope = jax.value_and_grad(lambda y: -reference(y))(y)
        return (volume - value, -base_value), (-slope, -base_slope)

    # Traced once for the start and the loop.
    return Bridge(log_densities, jax.jit(both), base.position, base.means.shape[-1], log_zeta)


def fraction_of_step(uniform: Array) -> Array:
    """Fraction of the step size that an update takes: between 0.1 and 1, short ones for where it is narrow."""
    return jnp.exp(math.log(0.1) * uniform)


def anneal(
    target: LogDensity,
    base: Mixture,
    starts: np.ndarray,
    key: Array,
    n_steps: int,
    *,
    prior: LogDensity | None = None,
    from_prior: bool = False,
    path: Path | None = None,
    n_updates: int = 0,
    overlap: float = _OVERLAP,
) -> Annealed:
    """Runs from draws of a base, in its coordinates [N_RUNS, dim], to the target.

    The next temperature is the farthest at which the runs' weights stay even, and the step size follows the runs'
    acceptance rate, as in adaptive sequential Monte Carlo (Zhou, Johansen and Aston 2016, section 3.3). Runs are never
    resampled, so that none of the modes that they found is lost. With a path that is given nothing adapts: the mean
    weight is then right on average. With `from_prior` the base's log density is that of `prior`, in the target's
    variables; weights do not depend on the last `n_updates`, at the target.
    """
    table = np.zeros((3, _MOST_TEMPERATURES))
    n = 0 if path is None else len(path.inverse_temperatures)
    if path is not None:
        table[:, :n] = path
    settings = n, n_updates, from_prior, overlap
    found = _program(target, prior, n_steps)(base, starts, key, table, *settings)
    n_done, table, ends, logs, log_densities = map(np.asarray, found)
    logs = np.where(np.isnan(logs), -np.inf, logs)
    return Annealed(base, Path(*table[:, :n_done]), ends, logs, log_densities)


@lru_cache(maxsize=32)
def _program(target: LogDensity, prior: LogDensity | None, n_steps: int) -> Callable[..., tuple[Array, ...]]:
    @jit_short
    def run(
        base: Mixture,
        begin: Array,
        key: Array,
        given: Array,
        n_given: Array,
        n_updates: Array,
        from_prior: Array,
        overlap: Array,
    ) -> tuple[Array, ...]:
        bridge = partial(bridge_to, target, base, prior, from_prior=from_prior)
        joined = bridge()
        is_open = has_open_cost(target, base.position(begin[0]))
        zeros, nowhere = jnp.zeros(N_RUNS), jnp.zeros_like(begin)
        first_step = jnp.where(n_given > 0, given[2, 0], 0.7 * begin.shape[1] ** -0.25)
        # Iteration -1 evaluates where runs begin: the gradient outside of the loop would be compiled once more.
        loop = (
            jnp.full((), -1, jnp.int32),
            jnp.zeros(()),
            jnp.log(first_step),
            TemperedState(begin, nowhere, zeros, zeros, (nowhere, nowhere), zeros),
            zeros,
            jnp.zeros_like(given),
            jnp.zeros((), jnp.int32),
        )

        def is_unfinished(loop: Any) -> Array:
            return (loop[1] < 1.0) | (loop[6] < n_updates)

        def advance(loop: Any) -> Any:
            k, b, log_step, states, logs, table, n_after = loop
            before, after = k < 0, b >= 1.0
            # Runs that begin outside of the support have no weight and do not move.
            lost = ~jnp.isfinite(states.delta)
            delta = jnp.where(lost, jnp.inf, states.delta)
            stride = jnp.where(k == _MOST_TEMPERATURES - 1, 1.0 - b, _stride(delta, b, overlap))
            new = jnp.where(n_given > 0, given[0, k], jnp.minimum(b + stride, 1.0))
            new = jnp.where(before, 0.0, jnp.where(after, 1.0, new))
            log_step = jnp.where((n_given > 0) & ~after, jnp.log(given[2, k]), log_step)
            logs = jnp.where(lost, -jnp.inf, logs - (new - b) * jnp.where(lost, 0.0, delta))

            # One call draws all random numbers of an iteration: XLA compiles each call separately.
            dim = begin.shape[1]
            numbers = standard_normal(jax.random.fold_in(key, k + n_after), (N_RUNS, dim + 4))

            def one(pair: tuple[Array, TemperedState]) -> tuple[TemperedState, Array]:
                normal, *others = jnp.split(pair[0], (dim, dim + 2))
                # Half the sum of the squares of two normal numbers is exponential.
                log_accept, log_uniform = (-0.5 * jnp.sum(jnp.square(two)) for two in others)
                step = jnp.where(before, 0.0, jnp.exp(log_step) * fraction_of_step(jnp.exp(log_uniform)))
                here, n = bridge(guard=step * new) if is_open else joined, jnp.where(before, 1, n_steps)
                # Every update draws a momentum of its own. Energies come with the gradients of its last step.
                end, change = proposal(here, pair[1], normal, new, step, n, kick_first=True)
                info = metropolis_decision(change, log_accept, n_steps)
                return select(before | info.is_accepted, end, pair[1]), info.acceptance_rate

            # Runs of open cost wait for the slowest of their batch.
            states, accepted = jax.lax.map(one, (numbers, states), batch_size=32 if is_open else N_RUNS)
            normaliser = jax.scipy.special.logsumexp(logs) - math.log(N_RUNS)
            entry = jnp.stack([new, normaliser, jnp.exp(log_step)])
            table = jnp.where(before | after, table, table.at[:, k].set(entry))
            n_usable = jnp.maximum(jnp.sum((~lost).astype(b.dtype)), 1.0)
            mean = jnp.sum(jnp.where(lost, 0.0, accepted)) / n_usable
            log_step = jnp.where(before, log_step, jnp.minimum(log_step + mean - _ACCEPTANCE, math.log(2.0)))
            is_first = after.astype(jnp.int32)
            return k + 1 - is_first, new, log_step, states, logs, table, n_after + is_first

        n, _, _, states, logs, table, _ = jax.lax.while_loop(is_unfinished, advance, loop)
        ends = jax.vmap(base.position)(states.position)
        return n, table, ends, logs, states.target_energy * -1.0 - base.log_volume()

    return run


def _stride(delta: Array, b: Array, overlap: Array) -> Array:
    """Longest step along the path that leaves the runs' weights even, by bisection."""
    lost = ~jnp.isfinite(delta)
    centred = jnp.where(lost, 0.0, delta) - jnp.min(jnp.where(lost, jnp.inf, delta))

    def is_even(stride: Array) -> Array:
        weights = jnp.where(lost, 0.0, jnp.exp(-stride * centred))
        n_usable = jnp.maximum(jnp.sum((~lost).astype(delta.dtype)), 1.0)
        return jnp.sum(weights) ** 2 / (jnp.sum(weights**2) * n_usable) >= overlap

    def halve(_: int, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bracket
        middle = 0.5 * (low + high)
        good = is_even(middle)
        return jnp.where(good, middle, low), jnp.where(good, high, middle)

    whole = 1.0 - b
    low, _ = jax.lax.fori_loop(0, _HALVINGS, halve, (jnp.zeros(()), whole))
    stride = jnp.where(is_even(whole), whole, low)
    return jnp.minimum(jnp.maximum(stride, _LEAST_GROWTH * b + _FIRST_TEMPERATURE), whole)
