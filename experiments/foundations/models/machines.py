"""Boltzmann machines small enough for exact sums, contrastive divergence, and the Gaussian relaxation."""

import math
from collections.abc import Iterable
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from numpy.typing import ArrayLike
from scipy.special import entr, expit, logsumexp

from auxmc.diagnostics.finite_chains import second_eigenvalue
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import proportion_of
from experiments.boltzmann.model.data import BoltzmannParameters
from experiments.boltzmann.model.enumeration import exact_moments, sign_table
from experiments.boltzmann.model.machine import Relaxation, relax
from experiments.foundations.measurements import largest_size
from experiments.foundations.topic import Arrays, Found, Lines, Topic, Work


class RestrictedBoltzmann(NamedTuple):
    """Parameters, as in the lecture slides, whose sum over pairs counts each pair once."""

    weights: FloatArray  # W [visible, hidden]
    visible_biases: FloatArray  # b_v [visible], which enter the exponent with a minus sign
    hidden_biases: FloatArray  # b_h [hidden], likewise


def hidden_probabilities(machine: RestrictedBoltzmann, visible: ArrayLike) -> FloatArray:
    """P(h_j = 1 | v) = sigma(sum_i W_ij v_i - b_j) [..., hidden] for visible states [..., visible]."""
    return np.asarray(expit(np.asarray(visible, float) @ machine.weights - machine.hidden_biases), float)


def visible_probabilities(machine: RestrictedBoltzmann, hidden: ArrayLike) -> FloatArray:
    """P(v_i = 1 | h) = sigma(sum_j W_ij h_j - b_i) [..., visible] for hidden states [..., hidden]."""
    return np.asarray(expit(np.asarray(hidden, float) @ machine.weights.T - machine.visible_biases), float)


def _draw_units(probabilities: FloatArray, rng: np.random.Generator) -> FloatArray:
    return (rng.random(probabilities.shape) < probabilities).astype(np.float64)


def layer_states(n_units: int) -> FloatArray:
    """All states of a layer [2^n, unit] of zeros and ones, first unit most significant.

    >>> layer_states(2).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    return 0.5 * (sign_table(n_units) + 1.0)


def visible_transition(machine: RestrictedBoltzmann) -> FloatArray:
    """Transition matrix of the visible layer under one sweep v -> h -> v [visible state, visible state]."""
    logs = _joint_logs(machine)
    return np.asarray(jax.nn.softmax(logs, axis=1) @ jax.nn.softmax(logs, axis=0).T)


def contrastive_divergence(
    machine: RestrictedBoltzmann, data: ArrayLike, n_sweeps: int, rng: np.random.Generator
) -> FloatArray:
    """Biased gradient in the weights: block sweeps from the data replace the unclamped mean.

    Data are [data, visible]. Correlations use probabilities of the hidden layer, not draws
    (lecture slides; Hinton 2002).
    """

    def correlations(visible: FloatArray) -> FloatArray:
        return np.asarray((visible * (1.0 / len(visible))).T @ hidden_probabilities(machine, visible))

    start = v = np.asarray(data, float)
    for _ in range(n_sweeps):
        hidden = _draw_units(hidden_probabilities(machine, v), rng)
        v = _draw_units(visible_probabilities(machine, hidden), rng)
    return correlations(start) - correlations(v)


def expected_contrastive_divergence(
    machine: RestrictedBoltzmann, data: ArrayLike, n_sweeps: int | None
) -> RestrictedBoltzmann:
    """Expected update from data [data, visible], by sums over all states; for None sweeps the exact gradient."""
    states = layer_states(len(machine.visible_biases))
    start = np.all(np.asarray(data)[:, None] == states[None], axis=-1).mean(axis=0)
    return RestrictedBoltzmann(*map(np.asarray, _update(machine, start, n_sweeps)))


@partial(jax.jit, static_argnames="n_sweeps")
def _update(machine: RestrictedBoltzmann, data: Array, n_sweeps: int | None) -> RestrictedBoltzmann:
    """The same from a distribution of data [visible state]."""
    logs, pull = jax.vjp(_joint_logs, machine)
    up, down = jax.nn.softmax(logs, axis=1), jax.nn.softmax(logs, axis=0)
    unclamped = jax.nn.softmax(logs, axis=(0, 1))
    if n_sweeps is not None:
        visible = data
        for _ in range(n_sweeps):
            visible = down @ (visible @ up)
        unclamped = visible[:, None] * up
    (change,) = pull(data[:, None] * up - unclamped)
    return change  # type: ignore[no-any-return]


def learn(start: RestrictedBoltzmann, data: FloatArray, n_sweeps: int | None) -> FloatArray:
    """Mean log likelihoods [replicate] of data [replicate, visible state] after many updates, side by side."""

    @jax.jit
    @jax.vmap
    def log_likelihood(machine: RestrictedBoltzmann, data: Array) -> Array:
        def advance(_: Array, machine: RestrictedBoltzmann) -> Any:
            return jax.tree.map(lambda x, step: x + _RATE * step, machine, _update(machine, data, n_sweeps))

        logs = _joint_logs(jax.lax.fori_loop(0, _N_UPDATES, advance, machine))
        return data @ jax.nn.logsumexp(logs, axis=1) - jax.nn.logsumexp(logs)

    return np.asarray(log_likelihood(start, data))


def _joint_logs(machine: RestrictedBoltzmann) -> Array:
    """Logs of unnormalised probabilities [visible state, hidden state]."""
    v, h = (jnp.asarray(layer_states(len(biases))) for biases in machine[1:])
    of_layers = (v @ machine.visible_biases)[:, None] + (h @ machine.hidden_biases)[None, :]
    return v @ machine.weights @ h.T - of_layers


LAYER_DATA: tuple[tuple[float, ...], ...] = ((1.0, 0.0, 1.0), (1.0, 1.0, 0.0))
"""Two visible states [data, visible] on which `three_by_two` is trained."""


def five_units() -> BoltzmannParameters:
    """Five spins -1 and +1 with two modes: W_ij = cos(3 i j) and b_i = 0.2 sin(i), units counted from 1."""
    units = np.arange(1, 6)
    weights = np.cos(3.0 * np.outer(units, units))
    np.fill_diagonal(weights, 0.0)
    return BoltzmannParameters(weights, 0.2 * np.sin(units))


def three_units() -> BoltzmannParameters:
    """The first three units of `five_units`, small enough for exact transition matrices [8, 8]."""
    weights, biases = five_units()
    return BoltzmannParameters(weights[:3, :3], biases[:3])


def three_by_two() -> RestrictedBoltzmann:
    """Restricted machine of three visible and two hidden units 0 and 1."""
    weights = np.array([[1.0, -0.5], [0.5, 1.0], [-1.5, 0.75]])
    return RestrictedBoltzmann(weights, np.array([0.2, -0.1, 0.0]), np.array([0.1, -0.3]))


def log_weights(parameters: BoltzmannParameters, spins: ArrayLike) -> FloatArray:
    """s^T W s / 2 + s^T b [...] of spins -1 and +1 [..., unit], in nats."""
    s = np.asarray(spins, float)
    return np.asarray(0.5 * np.sum((s @ parameters.weights) * s, axis=-1) + s @ parameters.biases, float)


TOPIC = Topic()

_MOST_SWEEPS = 12
_N_ESTIMATES = 4000
_N_NODES = 44  # Nodes an axis: the largest exponent, the sum of all loadings, is met to 1e-12.
_STEP = 1e-5  # Of central differences, whose error of rounding and of curvature is then some 1e-10.
# Visible and hidden units of random machines, and the standard deviation of their parameters.
_RANDOM_MACHINES = ((3, 2, 1), (6, 4, 1), (3, 2, 2), (6, 4, 2))
# "A few steps": both layers once, or three times; by what the names of lines end with.
_FEW_SWEEPS = {"": 1, ", three sweeps": 3}
_RATE, _N_UPDATES = 0.5, 4000


@TOPIC.claim("FN-EB-01")
def learning_gradient(work: Work) -> Lines:
    """Clamped minus unclamped correlations compared with differences of the likelihood, of three visible spins."""
    machine, states = five_units(), sign_table(5)
    clamps = [np.all(states[:, :3] == 2.0 * np.array(row) - 1.0, axis=1) for row in LAYER_DATA]

    def correlations(chosen: FloatArray) -> FloatArray:
        logs = log_weights(machine, states[chosen])
        return np.asarray((states[chosen] * np.exp(logs - logsumexp(logs))[:, None]).T @ states[chosen])

    def log_likelihood(weights: FloatArray) -> float:
        logs = log_weights(machine._replace(weights=weights), states)
        return float(np.mean([logsumexp(logs[clamp]) for clamp in clamps]) - logsumexp(logs))

    clamped = np.mean([correlations(clamp) for clamp in clamps], axis=0)
    gradient = clamped - correlations(np.full(len(states), True))
    errors = []
    for i, j in combinations(range(5), 2):
        step = np.zeros((5, 5))
        step[i, j] = step[j, i] = _STEP
        high, low = (log_likelihood(machine.weights + sign * step) for sign in (1.0, -1.0))
        errors.append((high - low) / (2.0 * _STEP) - gradient[i, j])
    return {"all pairs, gradient less differences of the log likelihood": largest_size(errors)}


@TOPIC.claim("FN-EB-02")
def divergence_bias(work: Work) -> Lines:
    """What machines learn of random states by one sweep and by three, and errors of updates at normal parameters."""
    found: Found = {}
    # Fewer of the largest machine, by three sweeps alone, as its sums have 65 536 terms; it is judged at full effort.
    largest = 40 if work.effort >= 1.0 else 10
    for n_visible, n_hidden, full, least in ((3, 2, 100, 20), (6, 4, 100, 20), (10, 6, largest, 1)):
        rng, n = work.rng("learning", n_visible, n_hidden), work.replicates(full, least)
        # As many observed states as there are visible units, the others with probability 0.
        fractions = np.where(np.arange(2**n_visible) < n_visible, 1.0 / n_visible, 0.0)
        data = rng.permuted(np.tile(fractions, (n, 1)), axis=1)
        sizes = (n_visible, n_hidden), (n_visible,), (n_hidden,)
        start = RestrictedBoltzmann(*(rng.normal(0.0, 0.1, (n, *size)) for size in sizes))
        on = data @ layer_states(n_visible)
        apart = -(entr(on) + entr(1.0 - on)).sum(axis=1)
        best = learn(start, data, None) - apart
        for name, n_sweeps in _FEW_SWEEPS.items():
            if n_sweeps == 3 or n_visible < 10:
                gain = learn(start, data, n_sweeps) - apart
                found[f"{n_visible} x {n_hidden} units, learning{name}"] = proportion_of(gain > 0.9 * best)
    for n_visible, n_hidden, sd in _RANDOM_MACHINES:
        rng, biases = work.rng("machines", n_visible, n_hidden, sd), []
        for _ in range(work.replicates(400)):
            sizes = (n_visible, n_hidden), (n_visible,), (n_hidden,)
            machine = RestrictedBoltzmann(*(rng.normal(0.0, sd, size) for size in sizes))
            data = rng.permutation(layer_states(n_visible))[:2]
            largest_derivative = largest_size(expected_contrastive_divergence(machine, data, None).weights)
            biases.append(_biases(_FEW_SWEEPS.values(), machine, data) / largest_derivative)
        for name, accurate in zip(_FEW_SWEEPS, np.transpose(biases) < 0.25, strict=True):
            found[f"{n_visible} x {n_hidden} units, sd {sd}{name}"] = proportion_of(accurate)
    return found


@TOPIC.claim("FN-EB-04")
def relaxation(work: Work) -> Lines:
    """Moments of the relaxation by quadrature, and by the relations of the appendix."""
    machine = five_units()
    relaxed = relax(machine, np.full(machine.n_units, -float(np.linalg.eigvalsh(machine.weights)[0])))
    spins = exact_moments(machine)
    mean, second = relaxation_by_quadrature(relaxed)
    q = relaxed.loadings
    related_second = q.T @ spins.second @ q + np.eye(relaxed.dim)
    return {
        "mean by relation E.10": largest_size(mean - q.T @ spins.mean),
        "second moment by relation E.11": largest_size(second - related_second),
    }


def relaxation_by_quadrature(relaxed: Relaxation, n_nodes: int = _N_NODES) -> tuple[FloatArray, FloatArray]:
    """Mean [dim] and second moments [dim, dim] by Gauss and Hermite's rule in every dimension."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    dim = relaxed.dim
    rest = np.stack(np.meshgrid(*(nodes,) * (dim - 1), indexing="ij"), axis=-1).reshape(-1, dim - 1)
    log_rest = np.sum(np.meshgrid(*(np.log(weights),) * (dim - 1), indexing="ij"), axis=0).ravel()
    fields_rest = rest @ relaxed.loadings[:, 1:].T + relaxed.biases
    logs, means, seconds = [], [], []
    # One node of the first dimension after the other: all at once would fill the memory.
    for node, weight in zip(nodes, weights, strict=True):
        fields = fields_rest + node * relaxed.loadings[:, 0]
        log_terms = log_rest + np.sum(np.logaddexp(fields, -fields) - math.log(2.0), axis=1)
        total = float(logsumexp(log_terms))
        distribution = np.exp(log_terms - total)
        mean = distribution @ rest
        logs.append(math.log(weight) + total)
        means.append(np.concatenate([[node], mean]))
        second = np.empty((dim, dim))
        second[0, 0], second[0, 1:], second[1:, 0] = node**2, node * mean, node * mean
        second[1:, 1:] = (rest * distribution[:, None]).T @ rest
        seconds.append(second)
    fractions = np.exp(np.array(logs) - logsumexp(logs))
    return fractions @ np.array(means), np.einsum("n,nij->ij", fractions, np.array(seconds))


@TOPIC.claim("FN-EB-06")
def conditioned(work: Work) -> Lines:
    """Distribution given some spins, by conditioning the whole distribution and by the machine of the others."""
    machine, states = five_units(), sign_table(5)
    (weights, biases), logs = machine, log_weights(machine, states)
    distances = []
    for given in sign_table(5)[1:-1] > 0.0:
        for spins in sign_table(int(given.sum())):
            chosen = np.all(states[:, given] == spins, axis=1)
            whole = np.exp(logs[chosen] - logsumexp(logs[chosen]))
            # The same couplings, and biases b + W s of the units that are given.
            shifted = biases[~given] + weights[np.ix_(~given, given)] @ spins
            rest = BoltzmannParameters(weights[np.ix_(~given, ~given)], shifted)
            smaller = log_weights(rest, states[chosen][:, ~given])
            distances.append(0.5 * np.abs(whole - np.exp(smaller - logsumexp(smaller))).sum())
    return {"30 partitions": max(distances)}


def _biases(sweeps: Iterable[int], machine: RestrictedBoltzmann, data: ArrayLike) -> FloatArray:
    """Largest error over the weights of the expectation of contrastive divergence, for each number of sweeps."""
    gradient = expected_contrastive_divergence(machine, data, None).weights
    expected = (expected_contrastive_divergence(machine, data, k).weights for k in sweeps)
    return np.array([largest_size(weights - gradient) for weights in expected])


@TOPIC.figure("contrastive_divergence")
def divergence_curves(work: Work) -> Arrays:
    """Bias of contrastive divergence against the number of sweeps, with what simulated estimates leave."""
    machine, sweeps, n_copies = three_by_two(), range(1, _MOST_SWEEPS + 1), work.replicates(_N_ESTIMATES)
    gradient = expected_contrastive_divergence(machine, LAYER_DATA, None).weights
    data = np.repeat(np.array(LAYER_DATA), n_copies, axis=0)
    estimates = (contrastive_divergence(machine, data, k, work.rng("divergence", k)) for k in sweeps)
    simulated = [largest_size(weights - gradient) for weights in estimates]
    along = {"sweeps": list(sweeps)}
    return {
        "bias": xr.DataArray(_biases(sweeps, machine, LAYER_DATA), along),
        "simulated": xr.DataArray(simulated, along),
        "rate": xr.DataArray(second_eigenvalue(visible_transition(machine))),
        "n_copies": xr.DataArray(float(n_copies)),
    }
