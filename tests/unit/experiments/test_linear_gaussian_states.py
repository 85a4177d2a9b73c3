"""Kalman filter against the joint Gaussian, the fixture's numbers, and draws of states."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from auxmc.numerics.random import standard_normal
from experiments.foundations.evidence.linear_gaussian_states import (
    SINE_OBSERVATIONS,
    TWENTY_STEPS,
    LinearGaussianStates,
    kalman_filter,
)

OTHER = LinearGaussianStates(-0.4, 1.3, 0.2, 2.5)


def joint(model: LinearGaussianStates, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Covariance of the states and of the observations."""
    variances = [model.initial_variance]
    for _ in range(n - 1):
        variances.append(model.coefficient**2 * variances[-1] + model.state_variance)
    first, second = (
        np.minimum.outer(np.arange(n), np.arange(n)),
        np.abs(np.subtract.outer(np.arange(n), np.arange(n))),
    )
    states = np.array(variances)[first] * model.coefficient**second
    return states, states + model.noise_variance * np.eye(n)


@pytest.mark.parametrize("model", [TWENTY_STEPS, OTHER])
@pytest.mark.parametrize("n", [1, 2, 20])
def test_filter_and_likelihood_are_those_of_the_joint_gaussian(model: LinearGaussianStates, n: int) -> None:
    values = SINE_OBSERVATIONS[:n]
    states, observed = joint(model, n)
    found = kalman_filter(model, values)
    exact = stats.multivariate_normal.logpdf(values, np.zeros(n), observed)
    assert found.log_likelihood == pytest.approx(exact, abs=1e-10)
    gain = np.linalg.solve(observed, states[:, -1])
    assert found.mean[-1] == pytest.approx(gain @ values, abs=1e-11)
    assert found.variance[-1] == pytest.approx(states[-1, -1] - gain @ states[:, -1], abs=1e-11)


def test_numbers_of_the_fixture() -> None:
    found = kalman_filter(TWENTY_STEPS, SINE_OBSERVATIONS)
    assert found.log_likelihood == pytest.approx(-26.685529062, abs=1e-9)
    assert found.mean[-1] == pytest.approx(0.205585119, abs=1e-9)
    assert found.variance[-1] == pytest.approx(0.346789125, abs=1e-9)


def test_emissions_are_normal_densities_below_their_largest() -> None:
    states = jnp.linspace(-3.0, 3.0, 7)
    found = OTHER.log_emission(jnp.asarray(0.4), states)
    np.testing.assert_allclose(found, stats.norm.logpdf(0.4, states, math.sqrt(0.2)), rtol=1e-13)
    assert float(found.max()) <= OTHER.log_largest_likelihood(1)
    assert OTHER.log_largest_likelihood(3) == pytest.approx(3.0 * stats.norm.logpdf(0.0, 0.0, math.sqrt(0.2)))


def test_states_are_maps_of_standard_normal_numbers() -> None:
    key = jax.random.key(0)
    normal = np.asarray(standard_normal(key, (5,)))
    states = OTHER.draw_initial(key, 5)
    np.testing.assert_allclose(states, math.sqrt(2.5) * normal, rtol=1e-14)
    np.testing.assert_allclose(
        OTHER.draw_next(key, states), -0.4 * np.asarray(states) + math.sqrt(1.3) * normal, rtol=1e-13
    )
