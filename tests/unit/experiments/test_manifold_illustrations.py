"""The fibre is the published one, and claims measure what the tables hold."""

import re
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from auxmc.diagnostics.errors_of_means import few_replicates
from auxmc.numerics.jacobians import Jacobian
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.settings import SettingsError
from auxmc_pipeline.tables import Tables
from experiments.manifold_illustrations.claims import MEASURE, _fall_of_changes
from experiments.manifold_illustrations.costs import _dense, _diagonal, _markovian, _solve
from experiments.manifold_illustrations.fibre import fibre_height
from experiments.manifold_illustrations.figures import DRAW
from experiments.manifold_illustrations.identities import _metric_error, _noisy_rank, _rejection
from experiments.manifold_illustrations.operations import count_operations


def measured(claim: str, setting: str, summary: pd.DataFrame) -> Measurement:
    return MEASURE[claim][setting](Tables.of(summary, pd.DataFrame()))


def table(rates: dict[float, list[float]]) -> pd.DataFrame:
    rows = [
        ("branch_changes_per_iteration", noise, v, 4000) for noise, values in rates.items() for v in values
    ]
    return pd.DataFrame(rows, columns=["quantity", "noise", "value", "n_draws"])


def test_the_fibre_passes_through_the_published_points() -> None:
    first = jnp.array([0.15, 0.56, 1.6, 4.0])
    np.testing.assert_allclose(fibre_height(first), [3.9, 0.0, -1.19, -1.17], atol=0.02)


def test_changes_of_branch_become_claims() -> None:
    rows = table({0.0: [0.0, 0.0], 0.5: [0.1, 0.3], 2.0: [0.4, 0.6]})
    never = measured("IM-IL-02", "exact", rows)
    assert never.value == 0.0
    # No change in 8000 iterations is no certainty, but says more than a thousandth.
    assert 0.0 < 2.0 * never.error < 1e-3
    assert measured("IM-IL-02", "noisy", rows).value == pytest.approx(0.5)
    falls = _fall_of_changes(Tables.of(rows, pd.DataFrame()))
    assert falls.value == pytest.approx(0.4)
    # Two chains: the errors of both means are widened.
    assert falls.error == pytest.approx(np.hypot(0.1 / 0.5, 0.4 * 0.1 / 0.5) * few_replicates(2))


def test_without_any_change_the_ratio_is_unknown() -> None:
    rows = table({0.0: [0.0, 0.0], 0.5: [0.0, 0.0], 2.0: [0.0, 0.0]})
    assert np.isnan(_fall_of_changes(Tables.of(rows, pd.DataFrame())).value)


def test_unit_densities_have_unit_variance() -> None:
    panel = DRAW["fig_d_1"](Tables.of(pd.DataFrame(), pd.DataFrame())).axes[0]
    for line in panel.lines:
        u, density = line.get_data()
        assert np.trapezoid(density, u) == pytest.approx(1.0, abs=1e-3)
        assert np.trapezoid(u**2 * density, u) == pytest.approx(1.0, abs=0.02)


def tidy(quantity: str, values: list[float], **columns: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"quantity": quantity, "value": values, "n_simulations": 1_000_000, **columns})


def test_the_exponent_of_rejection_is_read_from_the_worst_dimension() -> None:
    tolerances = [0.1, 0.2, 0.4]
    one = tidy("rejection_accept_rate", tolerances, rejection_tolerance=tolerances, dimension=[1.0] * 3)
    two = one.assign(value=np.array(tolerances) ** 2.4, dimension=2.0)
    rows = pd.concat([one, two])
    exponent = measured("IM-ALG-15", "exponent", rows)
    assert exponent.value == pytest.approx(0.2)
    assert 0.0 < exponent.error < 0.02
    assert exponent.note == "1.2000 in dimension 2"


def test_slopes_are_those_of_the_two_largest_sizes() -> None:
    rows = tidy("gram_dense_seconds", [1.0, 1.1, 8.8], dense_size=[10.0, 100.0, 200.0])
    found = measured("IM-ALG-05", "dense", rows)
    assert found.value == pytest.approx(3.0)
    assert np.isnan(found.error)
    assert not found.exact


@pytest.mark.parametrize(("build", "power"), [(_dense, 3.0), (_diagonal, 1.0), (_markovian, 1.0)])
def test_operations_grow_with_the_power_that_the_algebra_has(
    build: Callable[[jax.Array, jax.Array], Jacobian], power: float
) -> None:
    counts = [count_operations(partial(_solve, build), (n, 4), (n,)) for n in (2000, 4000)]
    assert np.log2(counts[1] / counts[0]) == pytest.approx(power, abs=0.02)


def test_operations_of_loops_are_not_guessed() -> None:
    with pytest.raises(ValueError, match="operations of a loop"):
        count_operations(lambda x: jax.lax.fori_loop(0, 3, lambda _, y: y @ y, x), (2, 2))


def test_inner_steps_are_compared_over_chains() -> None:
    names = ["inner_steps", "chain", "value"]
    efficiency = pd.DataFrame([(1, 0, 0.1), (1, 1, 0.3), (3, 0, 0.5), (3, 1, 0.7)], columns=names)
    found = measured("IM-ALG-08", "gradients", efficiency.assign(quantity="ess_per_gradient"))
    assert found.value == pytest.approx(3.0)
    assert found.error > 1.0
    failed = efficiency.assign(quantity="failed_share", value=[0.0, 0.0, 0.0, 0.1], n_cost_draws=100)
    failures = measured("IM-ALG-08", "failures", failed)
    assert failures.value == pytest.approx(0.05)
    assert failures.error > 0.01


def test_small_noise_is_judged_by_the_worst_scale_up_to_a_twentieth() -> None:
    rows = tidy(
        "noise_ess_per_second",
        [10.0, 10.0, 10.0, 1.0, 5.0, 100.0],
        sampler=["constrained_hmc"] * 3 + ["hmc"] * 3,
        small_noise=[0.01, 0.05, 0.2] * 2,
    )
    found = measured("IM-ALG-13", "small noise", rows)
    assert found.value == pytest.approx(2.0)
    assert "10 at 0.01" in found.note
    chains = pd.concat(
        [rows.assign(chain=chain, value=rows["value"] * (1.0 + 0.1 * chain)) for chain in range(3)]
    )
    by_evaluation = measured(
        "IM-ALG-13", "small noise: evaluations", chains.assign(quantity="noise_ess_per_evaluation")
    )
    assert by_evaluation.value == pytest.approx(2.0)
    assert by_evaluation.error > 0.0


def test_painting_compares_what_effective_draws_cost() -> None:
    names = ["quantity", "sampler", "chain", "value"]
    rows = [
        (quantity, sampler, chain, value * (1.0 + 0.1 * chain))
        for sampler, ess, passes in (("constrained_hmc", 0.4, 800.0), ("hmc", 0.1, 40.0))
        for quantity, value in (("painted_ess_per_iteration", ess), ("painted_passes_per_iteration", passes))
        for chain in range(3)
    ]
    tables = Tables.of(pd.DataFrame(rows, columns=names), pd.DataFrame())
    assert MEASURE["IM-MN-02"]["dearer: passes"](tables).value == pytest.approx(20.0)
    assert MEASURE["IM-MN-02"]["overall: passes"](tables).value == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["inner_steps=[1,4]"], "inner_steps must be factors of 18 (1, 2, 3, 6, 9, 18), got 4"),
        (["dense_sizes=[100,100]"], "dense_sizes must hold at least two different values"),
    ],
)
def test_settings_that_cannot_be_measured_are_rejected(overrides: list[str], message: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(message)):
        load_study("manifold_illustrations").settings(overrides)


def test_noise_gives_full_rank_and_the_metric_is_the_hessian() -> None:
    rank = _noisy_rank(jax.random.key(1), [0.01, 1.0])
    assert float(rank["noise_free_singular_value"]) < 1e-6
    assert float(rank["noisy_singular_value_over_scale"].min()) > 1.0 - 1e-9
    assert float(_metric_error(jax.random.key(2), 0.05)["metric_error"]) < 1e-10


def test_acceptance_rates_of_a_square_are_squares_of_those_of_a_line() -> None:
    exact = _rejection(jax.random.key(3), 10)["rejection_exact_rate"]
    np.testing.assert_allclose(exact.sel(dimension=2), exact.sel(dimension=1) ** 2)
