"""Restricted Boltzmann machine with units 0 and 1: exact sums, block Gibbs sampling and contrastive divergence.

The joint probability of visible units v and hidden units h is proportional to

    exp(v^T W h - b_v^T v - b_h^T h);

a positive bias switches a unit off. Given one layer, the units of the other are independent. NumPy only.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logsumexp

from auxmc.numerics.array_types import FloatArray
from experiments.boltzmann.model.enumeration import sign_table

__all__ = [
    "RestrictedBoltzmann",
    "block_gibbs_matrices",
    "contrastive_divergence",
    "expected_contrastive_divergence",
    "hidden_probabilities",
    "layer_states",
    "likelihood_gradient",
    "log_likelihood",
    "log_normaliser",
    "log_weights_visible",
    "restricted_boltzmann",
    "sample_hidden",
    "sample_visible",
    "visible_probabilities",
    "visible_transition",
]


class RestrictedBoltzmann(NamedTuple):
    """Parameters; build them with `restricted_boltzmann`.

    Attributes:
        weights: W [visible, hidden].
        visible_biases: b_v [visible], which enter the exponent with a minus sign.
        hidden_biases: b_h [hidden], likewise.
    """

    weights: FloatArray
    visible_biases: FloatArray
    hidden_biases: FloatArray


def restricted_boltzmann(
    weights: ArrayLike, visible_biases: ArrayLike, hidden_biases: ArrayLike
) -> RestrictedBoltzmann:
    """Checks parameters and puts them together.

    Args:
        weights: W [visible, hidden].
        visible_biases: b_v [visible].
        hidden_biases: b_h [hidden].

    Source: lecture slides, restricted Boltzmann machines; their sum over pairs counts each pair once.
    """
    w, b, c = (np.asarray(values, dtype=np.float64) for values in (weights, visible_biases, hidden_biases))
    return RestrictedBoltzmann(w, b, c)


def hidden_probabilities(machine: RestrictedBoltzmann, visible: ArrayLike) -> FloatArray:
    """P(h_j = 1 | v) = sigma(sum_i W_ij v_i - b_j) [..., hidden] for visible states [..., visible]."""
    return np.asarray(expit(np.asarray(visible, float) @ machine.weights - machine.hidden_biases), float)


def visible_probabilities(machine: RestrictedBoltzmann, hidden: ArrayLike) -> FloatArray:
    """P(v_i = 1 | h) = sigma(sum_j W_ij h_j - b_i) [..., visible] for hidden states [..., hidden]."""
    return np.asarray(expit(np.asarray(hidden, float) @ machine.weights.T - machine.visible_biases), float)


def sample_hidden(machine: RestrictedBoltzmann, visible: ArrayLike, rng: np.random.Generator) -> FloatArray:
    """Draws the hidden layer given the visible one, zeros and ones [..., hidden].

    Must hold: with `sample_visible` it leaves the distribution of the machine unchanged.
    """
    probabilities = hidden_probabilities(machine, visible)
    return (rng.random(probabilities.shape) < probabilities).astype(np.float64)


def sample_visible(machine: RestrictedBoltzmann, hidden: ArrayLike, rng: np.random.Generator) -> FloatArray:
    """Draws the visible layer given the hidden one, zeros and ones [..., visible]."""
    probabilities = visible_probabilities(machine, hidden)
    return (rng.random(probabilities.shape) < probabilities).astype(np.float64)


def layer_states(n_units: int) -> FloatArray:
    """All states of a layer [2^n, unit] of zeros and ones, first unit most significant.

    >>> layer_states(2).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    return 0.5 * (sign_table(n_units) + 1.0)


def log_weights_visible(machine: RestrictedBoltzmann, visible: ArrayLike) -> FloatArray:
    """Log of the sum over h of the unnormalised probability, -b_v^T v + sum_j log(1 + exp(field of h_j)) [...]."""
    v = np.asarray(visible, float)
    fields = v @ machine.weights - machine.hidden_biases
    return np.asarray(np.logaddexp(0.0, fields).sum(axis=-1) - v @ machine.visible_biases, float)


def log_normaliser(machine: RestrictedBoltzmann) -> float:
    """Log Z, in nats, by a sum over the states of the visible layer.

    Must hold: the sum over all joint states.
    """
    states = layer_states(len(machine.visible_biases))
    return float(logsumexp(log_weights_visible(machine, states)))


def log_likelihood(machine: RestrictedBoltzmann, data: ArrayLike) -> float:
    """Mean over the data [data, visible] of log P(v), in nats."""
    return float(np.mean(log_weights_visible(machine, data)) - log_normaliser(machine))


def likelihood_gradient(machine: RestrictedBoltzmann, data: ArrayLike) -> RestrictedBoltzmann:
    """Gradient of the mean log likelihood: clamped minus unclamped correlations, by enumeration.

    Given v the correlation of v_i and h_j is v_i E[h_j | v]; only given v is it a product.

    Args:
        machine: parameters at which to differentiate.
        data: states of the visible layer [data, visible].

    Returns:
        Derivatives in the shape of the parameters.

    Source: lecture slides, learning in Boltzmann machines.
    Must hold: the derivative of `log_likelihood`.
    """
    states = layer_states(len(machine.visible_biases))
    distribution = np.exp(log_weights_visible(machine, states) - log_normaliser(machine))
    return _clamped_minus_unclamped(machine, np.asarray(data, float), states, distribution)


def block_gibbs_matrices(machine: RestrictedBoltzmann) -> tuple[FloatArray, FloatArray]:
    """P(h | v) [visible state, hidden state] and P(v | h) [hidden state, visible state], states as `layer_states`.

    Must hold: rows sum to 1; their products leave the distributions of both layers unchanged.
    """
    visible = layer_states(len(machine.visible_biases))
    hidden = layer_states(len(machine.hidden_biases))

    def products(probabilities: FloatArray, states: FloatArray) -> FloatArray:
        chosen = np.where(states[None] > 0.5, probabilities[:, None], 1.0 - probabilities[:, None])
        return np.asarray(chosen.prod(axis=-1), float)

    return (
        products(hidden_probabilities(machine, visible), hidden),
        products(visible_probabilities(machine, hidden), visible),
    )


def visible_transition(machine: RestrictedBoltzmann) -> FloatArray:
    """Transition matrix of the visible layer under one sweep v -> h -> v [visible state, visible state]."""
    up, down = block_gibbs_matrices(machine)
    return np.asarray(up @ down, float)


def contrastive_divergence(
    machine: RestrictedBoltzmann, data: ArrayLike, n_sweeps: int, rng: np.random.Generator
) -> RestrictedBoltzmann:
    """One estimate of the likelihood gradient: k block sweeps from each data point replace the unclamped mean.

    The hidden layer is drawn in every sweep; the correlations at both ends use its probabilities instead.

    Args:
        machine: parameters.
        data: states of the visible layer [data, visible].
        n_sweeps: k, at least 1.
        rng: generator.

    Returns:
        Derivatives in the shape of the parameters; biased for every k.

    Source: lecture slides, contrastive divergence; Hinton 2002.
    Must hold: its mean is `expected_contrastive_divergence`.
    """
    start = v = np.asarray(data, float)
    for _ in range(n_sweeps):
        v = sample_visible(machine, sample_hidden(machine, v, rng), rng)
    return _clamped_minus_unclamped(machine, start, v, np.full(len(v), 1.0 / len(v)))


def expected_contrastive_divergence(
    machine: RestrictedBoltzmann, data: ArrayLike, n_sweeps: int
) -> RestrictedBoltzmann:
    """Expectation of `contrastive_divergence`, by powers of the transition matrix of the visible layer.

    Must hold: it tends to `likelihood_gradient` as n_sweeps grows, at the rate of the second largest eigenvalue.
    """
    v = np.asarray(data, float)
    states = layer_states(len(machine.visible_biases))
    start = np.all(v[:, None] == states[None], axis=-1).mean(axis=0)
    distribution = start @ np.linalg.matrix_power(visible_transition(machine), n_sweeps)
    return _clamped_minus_unclamped(machine, v, states, distribution)


def _correlations(
    machine: RestrictedBoltzmann, visible: FloatArray, fractions: FloatArray
) -> RestrictedBoltzmann:
    """E[v h^T], -E[v] and -E[h] for visible states [state, visible] with probabilities [state]."""
    hidden = hidden_probabilities(machine, visible)
    return RestrictedBoltzmann(
        (visible * fractions[:, None]).T @ hidden, -fractions @ visible, -fractions @ hidden
    )


def _clamped_minus_unclamped(
    machine: RestrictedBoltzmann, data: FloatArray, visible: FloatArray, fractions: FloatArray
) -> RestrictedBoltzmann:
    clamped = _correlations(machine, data, np.full(len(data), 1.0 / len(data)))
    unclamped = _correlations(machine, visible, fractions)
    return RestrictedBoltzmann(*(c - u for c, u in zip(clamped, unclamped, strict=True)))
