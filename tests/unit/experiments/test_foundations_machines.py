"""Small Boltzmann machines and restricted ones against sums over all states."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

from experiments.boltzmann.model.enumeration import exact_moments, sign_table
from experiments.foundations.models.machines import (
    LAYER_DATA,
    RestrictedBoltzmann,
    block_gibbs_matrices,
    condition_on_units,
    contrastive_divergence,
    expected_contrastive_divergence,
    five_units,
    hidden_probabilities,
    layer_states,
    likelihood_gradient,
    log_likelihood,
    log_normaliser,
    log_weights,
    log_weights_visible,
    three_by_two,
    three_units,
    visible_probabilities,
    visible_transition,
)

MACHINE = three_by_two()
BIGGER = RestrictedBoltzmann(
    np.random.default_rng(2).normal(size=(4, 3)), np.array([0.3, -0.2, 0.1, 1.0]), np.array([0.5, -1.0, 0.0])
)
MACHINES = pytest.mark.parametrize("machine", [MACHINE, BIGGER], ids=["three by two", "four by three"])


def joint(machine):
    """Probabilities of all joint states [visible state, hidden state], written out."""
    v, h = layer_states(len(machine.visible_biases)), layer_states(len(machine.hidden_biases))
    logs = np.array(
        [
            [a @ machine.weights @ b - machine.visible_biases @ a - machine.hidden_biases @ b for b in h]
            for a in v
        ]
    )
    weights = np.exp(logs)
    return weights / weights.sum()


@MACHINES
def test_sums_are_those_over_joint_states(machine):
    states = layer_states(len(machine.visible_biases))
    distribution = np.exp(log_weights_visible(machine, states) - log_normaliser(machine))
    np.testing.assert_allclose(distribution, joint(machine).sum(axis=1), rtol=1e-12)


@MACHINES
def test_conditional_probabilities_are_those_of_the_joint_distribution(machine):
    p = joint(machine)
    v, h = layer_states(len(machine.visible_biases)), layer_states(len(machine.hidden_biases))
    given_visible = (p / p.sum(axis=1, keepdims=True)) @ h
    given_hidden = (p / p.sum(axis=0)).T @ v
    np.testing.assert_allclose(hidden_probabilities(machine, v), given_visible, rtol=1e-12)
    np.testing.assert_allclose(visible_probabilities(machine, h), given_hidden, rtol=1e-12)


@MACHINES
def test_the_gradient_is_that_of_automatic_differentiation(machine):
    n_visible = len(machine.visible_biases)
    data = layer_states(n_visible)[[1, 2, 2, 5]]

    def mean_log_likelihood(m):
        def log_weight(v):
            fields = jax.nn.softplus(v @ m.weights - m.hidden_biases[None, :])
            return jnp.sum(fields, axis=-1) - v @ m.visible_biases

        return jnp.mean(log_weight(jnp.asarray(data))) - jax.nn.logsumexp(
            log_weight(jnp.asarray(layer_states(n_visible)))
        )

    assert log_likelihood(machine, data) == pytest.approx(float(mean_log_likelihood(machine)), rel=1e-12)
    expected = jax.jit(jax.grad(mean_log_likelihood))(jax.tree.map(jnp.asarray, machine))
    for found, wanted in zip(likelihood_gradient(machine, data), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-13)


@MACHINES
def test_block_sweeps_leave_the_distributions_of_both_layers_unchanged(machine):
    p = joint(machine)
    up, down = block_gibbs_matrices(machine)
    for matrix in (up, down):
        np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-14)
    np.testing.assert_allclose(p.sum(axis=1) @ visible_transition(machine), p.sum(axis=1), atol=1e-14)
    np.testing.assert_allclose(p.sum(axis=0) @ down @ up, p.sum(axis=0), atol=1e-14)
    # One layer after the other from a state of the layer: the chain of one layer is reversible.
    flow = p.sum(axis=1)[:, None] * visible_transition(machine)
    np.testing.assert_allclose(flow, flow.T, atol=1e-14)


def test_the_rows_of_the_matrices_are_conditional_distributions():
    p = joint(MACHINE)
    up, down = block_gibbs_matrices(MACHINE)
    np.testing.assert_allclose(up, p / p.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(down, (p / p.sum(axis=0)).T, rtol=1e-12)


def test_divergence_tends_to_the_gradient_at_the_mixing_rate():
    gradient = likelihood_gradient(MACHINE, LAYER_DATA).weights
    errors = [
        np.abs(expected_contrastive_divergence(MACHINE, LAYER_DATA, k).weights - gradient).max()
        for k in (8, 9, 10)
    ]
    rate = np.sort(np.abs(np.linalg.eigvals(visible_transition(MACHINE))))[-2]
    assert errors[2] < 1e-7
    np.testing.assert_allclose([errors[1] / errors[0], errors[2] / errors[1]], rate, rtol=1e-3)


def test_divergence_at_the_distribution_of_the_machine_is_zero():
    # Data with the machine's own proportions: every sweep leaves them as they are.
    machine = RestrictedBoltzmann(np.zeros((2, 1)), np.zeros(2), np.array([0.4]))
    found = expected_contrastive_divergence(machine, layer_states(2), 3)
    for part in found:
        np.testing.assert_allclose(part, 0.0, atol=1e-15)


def test_one_estimate_uses_probabilities_of_the_hidden_layer():
    rng = np.random.default_rng(0)
    # A machine that cannot leave its state: large fields fix both layers.
    machine = RestrictedBoltzmann(np.array([[400.0]]), np.array([200.0]), np.array([200.0]))
    found = contrastive_divergence(machine, [[1.0], [0.0]], 3, rng)
    np.testing.assert_allclose(found.weights, 0.0, atol=1e-12)
    one = contrastive_divergence(MACHINE, [[1.0, 0.0, 1.0]], 1, rng).weights
    assert np.all(np.abs(one) < 1.0)
    assert len(np.unique(one)) > 2


FIVE = five_units()
STATES = sign_table(5)


def test_five_units_have_their_known_moments():
    moments = exact_moments(FIVE)
    assert moments.log_normaliser == pytest.approx(5.895045722265, abs=1e-11)
    assert moments.second[0, 1] == pytest.approx(0.57938606, abs=1e-8)
    assert logsumexp(log_weights(FIVE, STATES)) == pytest.approx(moments.log_normaliser, abs=1e-13)


def test_three_units_have_their_known_probabilities():
    logs = log_weights(three_units(), sign_table(3))
    found = np.exp(logs - logsumexp(logs))
    expected = [0.091168, 0.159298, 0.005132, 0.125812, 0.115724, 0.005284, 0.303273, 0.194310]
    np.testing.assert_allclose(found, expected, atol=5e-7)


def test_the_restricted_machine_has_its_known_normaliser():
    assert log_normaliser(three_by_two()) == pytest.approx(4.221014123980, abs=1e-11)


@pytest.mark.parametrize("units", [[0, 1], [4], [3, 0, 2]])
def test_conditioning_is_that_of_the_whole_distribution(units):
    logs = log_weights(FIVE, STATES)
    rest = [i for i in range(5) if i not in units]
    for spins in sign_table(len(units)):
        chosen = np.all(STATES[:, units] == spins, axis=1)
        expected = np.exp(logs[chosen] - logsumexp(logs[chosen]))
        found = log_weights(condition_on_units(FIVE, units, spins), STATES[chosen][:, rest])
        np.testing.assert_allclose(np.exp(found - logsumexp(found)), expected, atol=1e-15)
