"""Claims on coupling from the past: exact draws of a chain of two states and of a machine whose spins attract."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.kernels.metropolis.coupling_from_the_past import PerfectDraw, coupling_from_the_past
from auxmc.kernels.metropolis.gibbs import GibbsNoise, GibbsState, gibbs, spin_blocks, systematic_scan
from auxmc.numerics.array_types import BooleanArray
from auxmc_pipeline.error_rules import distance_from_exact, fraction_of_replicates, largest
from experiments.boltzmann.model.data import BoltzmannParameters
from experiments.boltzmann.model.enumeration import exact_moments
from experiments.foundations.chains.inputs import random_keys
from experiments.foundations.models.small_machines import five_units
from experiments.foundations.topic import Lines, Topic, Work

TOPIC = Topic()

_PAIRS = [(i, j) for i in range(5) for j in range(i + 1, 5)]
_MOMENTS = [f"mean of s{i + 1}" for i in range(5)] + [f"mean of s{i + 1} s{j + 1}" for i, j in _PAIRS]


def _next_state(uniform: Any, state: Any) -> Any:
    """P(0, 0) = P(0, 1) = 1/2 and P(1, 0) = 1, state 1 being True; arrays of NumPy or of JAX, of any shape."""
    return ~state & (uniform < 0.5)


@TOPIC.claim("FN-EX-01")
def exact_draws(work: Work) -> Lines:
    """From the past, by the first meeting forward in time, and monotone with attracting spins."""
    n, rng = work.replicates(50_000, 10_000), work.rng("two states")
    past = coupling_from_the_past(jax.random.uniform, _next_state, jnp.array([False, True]))
    drawn = jax.jit(jax.vmap(past))(random_keys(rng, (n,)))
    forward = _first_meetings(rng, n)
    from_past = distance_from_exact(1.0 - np.asarray(drawn.position), 2.0 / 3.0)
    found = _monotone(work, work.replicates(5000, 1000))
    return {
        "state 0 from the past, distance in standard errors": from_past,
        "state 0 at the first meeting forward in time": fraction_of_replicates(~forward),
        "draws that did not coalesce": fraction_of_replicates(~np.asarray(drawn.coalesced)),
        **found,
    }


def _first_meetings(rng: np.random.Generator, n: int) -> BooleanArray:
    """States in which two runs forward in time from both states, with the same numbers, first meet [draw]."""
    low, high = np.zeros(n, bool), np.ones(n, bool)
    while np.any(apart := low != high):
        uniforms = rng.random(n)
        low, high = (np.where(apart, _next_state(uniforms, states), states) for states in (low, high))
    return low


def _monotone(work: Work, n: int) -> Lines:
    """The machine of five spins with the absolute values of its couplings: top and bottom states alone are followed."""
    weights, biases = five_units()
    machine = BoltzmannParameters(np.abs(weights), biases)
    exact = exact_moments(machine)
    couplings, fields = jnp.asarray(machine.weights), jnp.asarray(machine.biases)
    update = spin_blocks(lambda s: 2.0 * (couplings @ s + fields), 5)
    sweep = gibbs(update, systematic_scan(range(5)))
    order = jnp.arange(5, dtype=jnp.int32)

    def swept(uniforms: Array, spins: Array) -> Array:
        # An update reads the number of its own unit alone.
        noise = GibbsNoise(order, jnp.broadcast_to(uniforms[:, None], (5, 5)))
        return sweep.apply(noise, GibbsState(spins))[0].position

    sampler = coupling_from_the_past(
        lambda key: jax.random.uniform(key, (5,)), swept, jnp.stack([-jnp.ones(5), jnp.ones(5)])
    )
    drawn: PerfectDraw = jax.jit(jax.vmap(sampler))(random_keys(work.rng("attracting spins"), (n,)))
    spins = np.asarray(drawn.position)
    first, second = np.transpose(_PAIRS)
    pairs = spins[:, first] * spins[:, second]
    distances = [
        distance_from_exact(column, float(expected))
        for columns, expectations in ((spins, exact.mean), (pairs, exact.second[first, second]))
        for column, expected in zip(columns.T, expectations, strict=True)
    ]
    return {
        "five attracting spins, largest distance of means and products in standard errors": largest(
            [found.value for found in distances], [found.error for found in distances], _MOMENTS
        ),
        "five attracting spins, draws that did not coalesce": fraction_of_replicates(
            ~np.asarray(drawn.coalesced)
        ),
    }
