"""The fibre is the published one, and claims measure what the tables hold."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from auxmc.driver.chains import RunContext
from auxmc.models.conditioned import condition_noisy_generator
from auxmc_pipeline.tables import Tables
from experiments.manifold_illustrations import operations
from experiments.manifold_illustrations.claims import MEASURE
from experiments.manifold_illustrations.costs import _dense, _diagonal, _markovian, _solve
from experiments.manifold_illustrations.identities import _formula_errors, _metric_error, _noisy_rank
from experiments.manifold_illustrations.model import fibre_height, hyperbola, log_prior
from experiments.manifold_illustrations.oscillation import oscillation
from experiments.manifold_illustrations.study import STUDY


def test_the_fibre_passes_through_the_published_points():
    first = jnp.array([0.15, 0.56, 1.6, 4.0])
    np.testing.assert_allclose(fibre_height(first), [3.9, 0.0, -1.19, -1.17], atol=0.02)


@pytest.mark.parametrize(("build", "power"), [(_dense, 3.0), (_diagonal, 1.0), (_markovian, 1.0)])
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


def test_trajectories_cross_a_ridge_more_often_and_reach_less_far_than_constrained_ones(tmp_path):
    settings = STUDY.settings(["n_momenta=20"])
    found = oscillation(settings, RunContext("manifold_illustrations", 1, tmp_path, "i", "l"))
    columns = {
        "ridge_tolerance_leapfrog_step_repeat": ["drawn_crossings", "leapfrog_acceptance", "leapfrog_reach"],
        "constrained_size_repeat": ["constrained_acceptance", "constrained_reach"],
    }
    rows = {
        name: found[quantities].assign_coords(repeat=range(20)).to_dataframe().reset_index()
        for name, quantities in columns.items()
    }
    case = pd.DataFrame([{"case": "trajectory", "tolerance": settings.tolerance}])
    tables, measures = Tables({**rows, "settings": case}), MEASURE["IM-IL-01"]
    assert 3.0 < measures["crossings of a ridge"](tables).value < 5.0
    assert 0.1 < measures["motion along the fibre"](tables).value < 0.5


def test_noise_gives_full_rank_and_the_metric_is_the_hessian():
    rank = _noisy_rank(jax.random.key(1), [0.01, 1.0])
    assert float(rank["noise_free_singular_value"]) < 1e-6
    assert float(rank["noisy_singular_value_over_scale"].min()) > 1.0 - 1e-9
    assert float(_metric_error(jax.random.key(2), 0.05)["metric_error"]) < 1e-10


def test_equation_4_60_as_printed_is_twice_the_derivative():
    model = condition_noisy_generator(hyperbola, log_prior, jnp.ones(1), 0.5)
    assert _formula_errors(model, jnp.array([1.2, 0.3, -0.4]))[-1] == pytest.approx(2.0)


def _tables(settings, **rows):
    """Tables with the given columns and rows, of cases with the given settings."""
    tables = {name: pd.DataFrame(values, columns=names.split()) for name, (names, values) in rows.items()}
    cases = pd.DataFrame([{"case": case, **settings} for case in ("branches", "costs", "identities")])
    return Tables({**tables, "settings": cases})


def test_changes_of_branch_become_claims():
    rates = {0.0: [0.0, 0.0], 0.5: [0.1, 0.3], 2.0: [0.4, 0.6]}
    rows = [(noise, rate) for noise, values in rates.items() for rate in values]
    tables = _tables({"n_draws": 4000}, noise_chain=("noise branch_changes_per_iteration", rows))
    never = MEASURE["IM-IL-02"]["exact"](tables)
    assert never.value == 0.0
    # No change in 8000 iterations is no certainty, but says more than a thousandth.
    assert 0.0 < 2.0 * never.error < 1e-3
    assert MEASURE["IM-IL-02"]["noisy"](tables).value == pytest.approx(0.2)


def check_claim(claim, setting, tables, value, has_error=True):
    found = MEASURE[claim][setting](tables)
    assert found.value == pytest.approx(value)
    assert (found.error > 0.0) == has_error
    assert not found.exact


def test_small_noise_is_that_of_the_least_ratio_of_means_over_chains():
    scales = (0.02, 0.05, 0.2)
    runs = [
        ("small_noise", name, scale, chain, scale**power * np.exp(0.1 * chain))
        for name, power in (("constrained_hmc", 0.0), ("hmc", 1.0))
        for scale in scales
        for chain in (0, 1, 2)
    ]
    tables = _tables(
        {},
        sampler_small_noise_chain=("case sampler small_noise chain noise_ess_per_evaluation", runs),
        small_noise=("case small_noise noise_hmc_steps", [("small_noise", s, 15.0) for s in scales]),
    )
    check_claim("IM-ALG-13", "small noise: evaluations", tables, np.log(20.0))


def test_the_exponent_of_rejection_is_that_of_the_worst_dimension():
    rows = [(dim, t, t**power) for dim, power in ((1, 1.0), (2, 2.4)) for t in (0.1, 0.2, 0.4)]
    names = "dimension rejection_tolerance rejection_accept_rate"
    tables = _tables({"n_simulations": 1_000_000}, dimension_rejection_tolerance=(names, rows))
    check_claim("IM-ALG-15", "exponent", tables, 0.2)


def test_time_with_the_check_is_compared_chain_by_chain():
    times = {"position": (2.0, 6.0, 5.0), "none": (2.0, 3.0, 2.0)}
    rows = [("human pose", check, i, times[check][i]) for check in times for i in range(3)]
    names = "checked_model check repeat check_seconds"
    check_claim("IM-ALG-01", "pose", _tables({}, checked_model_check_repeat=(names, rows)), 11.0 / 6.0)


def test_failures_without_sub_steps_count_from_those_with_most():
    rows = [("costs", n, chain, 0.1 / n, np.nan) for n in (1, 2) for chain in (0, 1)]
    rows += [("undivided", np.nan, chain, np.nan, 0.2 + 0.1 * chain) for chain in (0, 1)]
    names = "case inner_steps chain failed_share undivided_failed"
    check_claim("IM-ALG-08", "undivided steps", _tables({"n_cost_draws": 100}, chain=(names, rows)), 0.2)


def test_slopes_are_those_of_the_two_largest_sizes():
    rows = [(10, 1.0), (100, 1.1), (200, 8.8)]
    tables = _tables({}, dense_size=("dense_size gram_dense_seconds", rows))
    check_claim("IM-ALG-05", "dense", tables, 3.0, has_error=False)
