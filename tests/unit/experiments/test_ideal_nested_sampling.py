"""Ideal nested sampling: structure of its runs and true masses."""

import numpy as np
from scipy.special import ndtr, ndtri

from experiments.foundations.sampling.ideal_nested_sampling import IdealNestedRuns, ideal_nested_sampling

CENTRE = 2.0


def runs(n_live: int = 6, n_dead: int = 40, n_runs: int = 300) -> IdealNestedRuns:
    rng = np.random.default_rng(n_live)
    return ideal_nested_sampling(rng, ndtr, ndtri, CENTRE, n_live=n_live, n_dead=n_dead, n_runs=n_runs)


def test_points_die_from_the_outside_and_live_ones_are_inside() -> None:
    found = runs()
    distances = np.abs(found.dead - CENTRE)
    assert np.all(np.diff(distances, axis=1) <= 0.0)
    assert np.all(np.abs(found.live - CENTRE) <= distances[:, -1:])
    assert found.dead.shape == found.masses.shape == (300, 40)
    assert found.live.shape == (300, 6)


def test_masses_are_those_of_the_prior_inside_the_contour() -> None:
    found = runs()
    distances = np.abs(found.dead - CENTRE)
    np.testing.assert_allclose(found.masses, ndtr(CENTRE + distances) - ndtr(CENTRE - distances), atol=1e-14)
    assert np.all(np.diff(found.masses, axis=1) <= 0.0)
    assert np.all((found.masses > 0.0) & (found.masses <= 1.0))


def test_the_same_generator_gives_the_same_runs() -> None:
    for first, second in zip(runs(), runs(), strict=True):
        np.testing.assert_array_equal(first, second)
