"""Draws of the registry, of mapped inputs and of the restricted Boltzmann machine against their distributions."""

import numpy as np
import pytest
from scipy.special import ndtr

from experiments.foundations.models.densities import DENSITIES
from experiments.foundations.models.machines import (
    contrastive_divergence,
    expected_contrastive_divergence,
    hidden_probabilities,
    layer_states,
    log_normaliser,
    log_weights_visible,
    sample_hidden,
    sample_visible,
    three_by_two,
    visible_transition,
)
from tests.statistical.levels import (
    assert_at_least,
    assert_standard_mean,
    assert_uniform,
    expecting_failure,
    seed_for,
)

N_DRAWS = 60_000
MACHINE = three_by_two()
SCALAR = [name for name in DENSITIES if not name.startswith("multivariate")]
VECTOR = [name for name in DENSITIES if name.startswith("multivariate")]


def generator(name: str) -> np.random.Generator:
    return np.random.default_rng(seed_for(f"density_registry/{name}"))


def place_in_jump(below: np.ndarray, upto: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Uniform numbers from the distribution function on both sides of each draw."""
    return below + (upto - below) * rng.random(below.shape)


def visible_distribution() -> np.ndarray:
    return np.exp(log_weights_visible(MACHINE, layer_states(3)) - log_normaliser(MACHINE))


def state_numbers(visible: np.ndarray) -> np.ndarray:
    return (visible @ np.array([4.0, 2.0, 1.0])).astype(int)


def sweep(visible: np.ndarray, rng: np.random.Generator, n_sweeps: int) -> np.ndarray:
    for _ in range(n_sweeps):
        visible = sample_visible(MACHINE, sample_hidden(MACHINE, visible, rng), rng)
    return visible


def distribution_of_states(visible: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    upto = np.cumsum(visible_distribution())[state_numbers(visible)]
    return place_in_jump(upto - visible_distribution()[state_numbers(visible)], upto, rng)


@pytest.mark.parametrize("name", SCALAR)
def test_draws_have_the_distribution_function(name: str) -> None:
    rng, density = generator(name), DENSITIES[name].example()
    draws = density.draw(rng, N_DRAWS)
    upto = density.cdf(draws)
    below = upto if DENSITIES[name].real_map else density.cdf(draws - 1.0)
    assert_uniform(place_in_jump(below, upto, rng), label=name)


@pytest.mark.parametrize("name", VECTOR)
def test_vector_draws_are_normal_along_a_direction(name: str) -> None:
    # The projection on which both the means and the correlation matter, standardised by the parameters alone.
    density, parameters = DENSITIES[name].example(), DENSITIES[name].parameters
    mean, covariance = (np.asarray(parameters[p].example, float) for p in ("mu", "Sigma"))
    along = np.array([1.0, -0.7])
    projected = density.to_real(density.draw(generator(name), N_DRAWS)) @ along
    standard = (projected - mean @ along) / np.sqrt(along @ covariance @ along)
    assert_uniform(ndtr(standard), label=name)


@pytest.mark.parametrize("n_sweeps", [1, 5])
def test_block_sweeps_leave_the_distribution_of_the_machine_unchanged(n_sweeps: int) -> None:
    rng = generator(f"block sweeps/{n_sweeps}")
    start = layer_states(3)[rng.choice(8, size=N_DRAWS, p=visible_distribution())]
    end = sweep(start, rng, n_sweeps)
    assert_uniform(distribution_of_states(end, rng), label=f"{n_sweeps} sweeps")
    # A sweep that never moves would pass, too.
    moved = state_numbers(end) != state_numbers(start)
    assert_at_least(moved, 0.5, detects=0.05, label=f"{n_sweeps} sweeps move")


def test_sweeps_without_biases_do_not() -> None:
    rng = generator("no biases")
    start = layer_states(3)[rng.choice(8, size=N_DRAWS, p=visible_distribution())]
    wrong = MACHINE._replace(visible_biases=np.zeros(3))
    end = sample_visible(wrong, sample_hidden(wrong, start, rng), rng)
    with expecting_failure(), pytest.raises(AssertionError, match="uniform statistic"):
        assert_uniform(distribution_of_states(end, rng))


@pytest.mark.parametrize("n_sweeps", [1, 2])
def test_contrastive_divergence_has_its_expectation(n_sweeps: int) -> None:
    # From this state one and two sweeps differ most, by a fifth of a standard deviation. Standardised by the exact
    # variance: given its end, an estimate is a function of the visible state there.
    rng, data = generator(f"divergence/{n_sweeps}"), np.array([[1.0, 0.0, 0.0]])
    found = np.array(
        [contrastive_divergence(MACHINE, data, n_sweeps, rng).weights.ravel() for _ in range(10_000)]
    )
    states = layer_states(3)
    distribution = np.linalg.matrix_power(visible_transition(MACHINE), n_sweeps)[state_numbers(data)[0]]
    ends = (states[:, :, None] * hidden_probabilities(MACHINE, states)[:, None, :]).reshape(8, -1)
    spreads = np.sqrt(distribution @ np.square(ends) - np.square(distribution @ ends))
    expected = expected_contrastive_divergence(MACHINE, data, n_sweeps).weights.ravel()
    assert_standard_mean((found - expected) / spreads, detects=0.09, label=f"{n_sweeps} sweeps")
