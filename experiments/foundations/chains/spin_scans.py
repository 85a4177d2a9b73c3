"""Claims on Gibbs scans: exact transition matrices of a machine of three spins."""

from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy import special

from auxmc.diagnostics.finite_chains import (
    detailed_balance_residual,
    invariance_residual,
    second_eigenvalue,
    transition_matrix,
    uniform_cells,
)
from auxmc.kernels.metropolis.gibbs import spin_blocks
from auxmc.numerics.array_types import FloatArray
from experiments.boltzmann.model.enumeration import sign_table
from experiments.foundations.models.relations import log_weights
from experiments.foundations.models.small_machines import three_units
from experiments.foundations.topic import Lines, Topic, Work

TOPIC = Topic()

_SCANS = ("systematic order 1, 2, 3", "random scan", "random permutation", "palindromic")
_TOGETHER = "synchronous"


@TOPIC.claim("FN-MK-02")
def balance_of_scans(work: Work) -> Lines:
    """Residuals of the exact kernels of the machine of three spins."""
    law, matrices = work.once(_spin_chains)
    found = {}
    for name in _SCANS:
        found[f"{name}, detailed balance"] = detailed_balance_residual(matrices[name], law)
        found[f"{name}, invariance"] = invariance_residual(matrices[name], law)
    return found


@TOPIC.claim("FN-MK-03")
def rates_of_scans(work: Work) -> Lines:
    """Second eigenvalues of the same kernels."""
    _, matrices = work.once(_spin_chains)
    return {name: second_eigenvalue(matrices[name]) for name in _SCANS[:3]}


@TOPIC.claim("FN-MK-04")
def synchronous_updates(work: Work) -> Lines:
    """All spins redrawn at once from the old state."""
    law, matrices = work.once(_spin_chains)
    return {"three spins": invariance_residual(matrices[_TOGETHER], law)}


def _spin_chains(work: Work) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Law of the machine of three spins and the exact matrices of its Gibbs kernels, by running their updates.

    Every update is run in all boxes of its uniform numbers and from all states. A sweep is a product of updates.
    """
    machine = three_units()
    weights, biases = (jnp.asarray(values) for values in machine)

    def log_odds(spins: Array) -> Array:
        return 2.0 * (weights @ spins + biases)

    states = sign_table(3)
    law = np.exp(log_weights(machine, states))
    law /= law.sum()
    # One unit at a time, and all three from the old state.
    update = spin_blocks(log_odds, 3, blocks=[(0,), (1,), (2,), (0, 1, 2)])
    thresholds = special.expit(2.0 * (states @ machine.weights + machine.biases))
    points, volumes = uniform_cells(list(thresholds.T))

    @jax.jit
    def moved(numbers: Array, spins: Array) -> Array:
        from_states = jax.vmap(update.redraw, (None, None, 0))
        in_boxes = jax.vmap(from_states, (0, None, None))
        return jax.vmap(in_boxes, (None, 0, None))(numbers, jnp.arange(4, dtype=jnp.int32), spins)

    ends = ((np.asarray(moved(jnp.asarray(points), jnp.asarray(states))) > 0.0) @ [4, 2, 1]).astype(int)
    first, second, third, together = (transition_matrix(end, volumes) for end in ends)
    singles = (first, second, third)
    orders = [a @ b @ c for a, b, c in permutations(singles)]
    sweeps = (
        first @ second @ third,
        np.mean(singles, axis=0),
        np.mean(orders, axis=0),
        first @ second @ third @ second @ first,
    )
    return law, {**dict(zip(_SCANS, sweeps, strict=True)), _TOGETHER: together}
