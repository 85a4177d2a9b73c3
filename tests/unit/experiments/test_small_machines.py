"""Fixtures with known numbers, and relations between machines, by sums over all states."""

import numpy as np
import pytest
from scipy.special import logsumexp

from experiments.boltzmann.model.enumeration import exact_moments, sign_table
from experiments.foundations.models.relations import (
    condition_on_units,
    log_weights,
)
from experiments.foundations.models.restricted_boltzmann import log_normaliser
from experiments.foundations.models.small_machines import five_units, three_by_two, three_units

FIVE = five_units()
STATES = sign_table(5)


def test_five_units_have_their_known_moments() -> None:
    moments = exact_moments(FIVE)
    assert moments.log_normaliser == pytest.approx(5.895045722265, abs=1e-11)
    assert moments.second[0, 1] == pytest.approx(0.57938606, abs=1e-8)
    assert logsumexp(log_weights(FIVE, STATES)) == pytest.approx(moments.log_normaliser, abs=1e-13)


def test_three_units_have_their_known_probabilities() -> None:
    logs = log_weights(three_units(), sign_table(3))
    found = np.exp(logs - logsumexp(logs))
    expected = [0.091168, 0.159298, 0.005132, 0.125812, 0.115724, 0.005284, 0.303273, 0.194310]
    np.testing.assert_allclose(found, expected, atol=5e-7)


def test_the_restricted_machine_has_its_known_normaliser() -> None:
    assert log_normaliser(three_by_two()) == pytest.approx(4.221014123980, abs=1e-11)


@pytest.mark.parametrize("units", [[0, 1], [4], [3, 0, 2]])
def test_conditioning_is_that_of_the_whole_distribution(units: list[int]) -> None:
    logs = log_weights(FIVE, STATES)
    rest = [i for i in range(5) if i not in units]
    for spins in sign_table(len(units)):
        chosen = np.all(STATES[:, units] == spins, axis=1)
        expected = np.exp(logs[chosen] - logsumexp(logs[chosen]))
        found = log_weights(condition_on_units(FIVE, units, spins), STATES[chosen][:, rest])
        np.testing.assert_allclose(np.exp(found - logsumexp(found)), expected, atol=1e-15)
