"""The fibre is the published one, and claims measure what the tables hold."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from auxmc.models.conditioned import condition_noisy_generator
from auxmc.numerics.jacobians import diagonal_jacobian
from auxmc_pipeline.chains import RunContext
from auxmc_pipeline.tables import Tables
from experiments.manifold_illustrations import operations
from experiments.manifold_illustrations.claims import MEASURE
from experiments.manifold_illustrations.costs import _dense, _markovian, _solve
from experiments.manifold_illustrations.identities import _formula_errors, _metric_error, _noisy_rank
from experiments.manifold_illustrations.model import fibre_height, hyperbola, log_prior
from experiments.manifold_illustrations.oscillation import oscillation
from experiments.manifold_illustrations.study import STUDY


def test_the_fibre_passes_through_the_published_points():
    first = jnp.array([0.15, 0.56, 1.6, 4.0])
    np.testing.assert_allclose(fibre_height(first), [3.9, 0.0, -1.19, -1.17], atol=0.02)


@pytest.mark.parametrize(("build", "power"), [(_dense, 3.0), (diagonal_jacobian, 1.0), (_markovian, 1.0)])
def test_operations_grow_with_the_power_that_the_algebra_has(build, power):
    counts = [operations.count_operations(partial(_solve, build), (n, 4), (n,)) for n in (2000, 4000)]
    assert np.log2(counts[1] / counts[0]) == pytest.approx(power, abs=0.02)


def test_operations_of_loops_are_not_guessed():
    with pytest.raises(ValueError, match="operations of a loop"):
        operations.count_operations(lambda x: jax.lax.fori_loop(0, 3, lambda _, y: y @ y, x), (2, 2))


def test_operations_are_counted_as_factorisations_run():
    generator = np.random.default_rng(1)
    factor, block = 4.0 * np.eye(6) + np.tri(6), generator.normal(size=(6, 3))
    matrix = factor @ factor.T + block @ block.T
    operations.update_cholesky(factor, block)
    np.testing.assert_allclose(factor, np.linalg.cholesky(matrix), atol=1e-12)
    operations.cholesky(matrix)
    np.testing.assert_allclose(np.tril(matrix), factor, atol=1e-12)
    # A rotation has six operations for each of the 10 entries; a column k of 4 has 4 - k divisions before the rest.
    assert operations.count_updates(4, 3) == 3 * 60
    assert operations.count_cholesky(4) == sum(k + 2 * (k - 1) ** 2 for k in (4, 3, 2, 1))


def test_a_ridge_is_crossed_and_needs_small_steps(tmp_path):
    settings = STUDY.settings(["n_momenta=20"])
    found = oscillation(settings, RunContext("manifold_illustrations", 1, tmp_path, "i", "l"))
    rows = found.assign_coords(repeat=range(20)).to_dataframe().reset_index()
    case = pd.DataFrame([{"case": "trajectory", "tolerance": settings.tolerance}])
    tables, measures = (
        Tables({"ridge_tolerance_leapfrog_step_repeat": rows, "settings": case}),
        MEASURE["IM-IL-01"],
    )
    assert 3.0 < measures["crossings of a ridge"](tables).value < 5.0
    assert 0.0 < measures["usable step"](tables).value < 0.5


def test_noise_gives_full_rank_and_the_metric_is_the_hessian():
    rank = _noisy_rank(jax.random.key(1), [0.01, 1.0])
    assert float(rank["noise_free_singular_value"]) < 1e-6
    assert float(rank["noisy_singular_value_over_scale"].min()) > 1.0 - 1e-9
    assert float(_metric_error(jax.random.key(2), 0.05)["metric_error"]) < 1e-10


def test_equation_4_60_as_printed_is_twice_the_derivative():
    model = condition_noisy_generator(hyperbola, log_prior, jnp.ones(1), 0.5)
    *_, ratio, of_vec = _formula_errors(model, jnp.array([1.2, 0.3, -0.4]))
    assert ratio == pytest.approx(2.0)
    # Of one row both orders of stacking are the same, so that equation 4.62 holds as printed.
    assert of_vec < 1e-12
