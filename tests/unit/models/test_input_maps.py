"""Inputs of unit variance, and maps of them, against integrals and the registry's distribution functions."""

import jax
import numpy as np
import pytest

from auxmc.models.input_maps import INPUT_MAPS, INPUTS
from experiments.foundations.models.densities import DENSITIES

# Equal steps converge faster than any power for densities that vanish at the ends.
GRID = np.linspace(-60.0, 60.0, 4801)
STEP = GRID[1] - GRID[0]
POINTS = np.linspace(-7.0, 7.0, 57)


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_inputs_have_total_one_and_unit_variance_and_log_densities_that_stay_finite_far_out(name):
    density = np.exp(np.asarray(INPUTS[name].log_density(GRID)))
    assert density.sum() * STEP == pytest.approx(1.0, abs=1e-13)
    assert (GRID * density).sum() * STEP == pytest.approx(0.0, abs=1e-13)
    assert (GRID**2 * density).sum() * STEP == pytest.approx(1.0, abs=1e-12)
    assert np.all(np.isfinite(INPUTS[name].log_density(np.array([-1e4, 1e4]))))


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_distribution_functions_have_the_densities_as_slopes(name):
    slopes = jax.vmap(jax.grad(INPUTS[name].cdf))(POINTS)
    np.testing.assert_allclose(slopes, np.exp(INPUTS[name].log_density(POINTS)), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("name", sorted(INPUT_MAPS))
def test_values_have_the_distribution_of_the_registry(name):
    mapped, family = INPUT_MAPS[name], DENSITIES[name]
    values = [float(np.asarray(family.parameters[p].example)) for p in mapped.parameters]
    found = family.example().cdf(np.asarray(mapped.forward(POINTS, *values)))
    of_input = np.asarray(INPUTS[mapped.source].cdf(POINTS))
    np.testing.assert_allclose(found, of_input if mapped.increasing else 1.0 - of_input, atol=2e-15)
